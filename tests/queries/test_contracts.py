"""Tail contracts against rows computed by hand: shares over limits, verdicts, stops, costs, penalties."""

from pathlib import Path

import pandas as pd
import pytest

from ingest.errors import QuestionError
from ingest.sources.base import Rollout
from queries.contracts import contract_costs, contract_penalties, contract_shares, judged
from queries.filters import Filters
from queries.limits import parsed
from tests.stores import build_store, call, rollout


def of(sample: str, calls: int | None = None, **values: object) -> Rollout:
    made = {} if calls is None else {"messages": [], "tool_calls": [call("t", f'{{"q": {n}}}') for n in range(calls)]}
    return rollout(sample_id=sample, **made, **values)


def test_shares_over_with_stops_and_failures_apart(tmp_path: Path) -> None:
    rows = [
        of("a", 4, status="completed"),
        of("b", 3, status="budget_exceeded"),
        of("c", 3, status="completed"),
        of("d", 5, status="infra_error"),
        of("e", 1, status="truncated"),
        of("f", 0),
        of("g", None, status="budget_exceeded"),
    ]
    row = contract_shares(build_store(tmp_path, rows), limits="tool_calls<=3").iloc[0]
    assert (row["limit"], row["verdict"], row["reason"]) == ("tool_calls<=3", "broken", "2 of 6 rollouts are over it")
    assert (row["num_rollouts"], row["num_missing"], row["num_samples"], row["num_over"]) == (6, 1, 6, 2)
    # Wilson of 2 in 6, single attempts.
    assert row["share_over"] == pytest.approx(1 / 3)
    assert row[["ci_low", "ci_high"]].tolist() == pytest.approx([0.0968, 0.7000], abs=1e-4)
    assert (row["num_at"], row["num_failed_over"], row["num_status_known"]) == (2, 1, 5)
    assert (row["num_stopped"], row["num_stopped_at"], row["num_stopped_over"]) == (2, 1, 0)
    assert row["stopped_share"] == pytest.approx(2 / 5)
    assert row[["percentile_value", "percentile_ci_low", "percentile_ci_high"]].isna().all()


def test_a_limit_nobody_is_over_is_kept_with_its_upper_bound(tmp_path: Path) -> None:
    row = contract_shares(build_store(tmp_path, [of(each, 3) for each in "abcdefghij"]), limits="tool_calls<=3").iloc[0]
    assert (row["verdict"], row["share_over"], row["ci_low"]) == ("kept", 0.0, 0.0)
    assert row["ci_high"] == pytest.approx(0.2775, abs=1e-4)
    assert row["reason"] == "none of 10 rollouts is over it; up to 28 % could be"
    assert (row["num_at"], row["num_stopped"]) == (10, 0)
    assert pd.isna(row["stopped_share"])


def test_attempts_that_are_alike_widen_the_interval(tmp_path: Path) -> None:
    rows = [of(each, 9 if each == "a" else 1) for each in "abcd" for _ in range(5)]
    row = contract_shares(build_store(tmp_path, rows), limits="tool_calls<=5").iloc[0]
    assert (row["num_rollouts"], row["num_over"], row["num_effective"]) == (20, 5, 4)
    assert row[["ci_low", "ci_high"]].tolist() == pytest.approx([0.0456, 0.6994], abs=1e-4)


def test_percentile_limits_are_judged_by_the_share_over(tmp_path: Path) -> None:
    store = build_store(tmp_path, [of(f"s{each}", latency_s=float(each)) for each in range(1, 101)])
    limits = "; ".join(f"{each[:3]}(latency_s)<={each[4:]}" for each in ("p95 101", "p95 80", "p95 95", "p99 101"))
    frame = contract_shares(store, limits=limits)
    assert frame["verdict"].tolist() == ["kept", "broken", "cannot be said", "cannot be said"]
    assert frame["num_over"].tolist() == [0, 20, 5, 0]
    # P95 of 1 … 100 is 95.05; ranks from Bin(100, .95).
    assert frame["percentile_value"].tolist() == pytest.approx([95.05, 95.05, 95.05, 99.01])
    assert frame["percentile_ci_low"].iloc[0] == 90.0
    assert frame["percentile_ci_high"].iloc[0] == 100.0
    assert frame["percentile_reason"].iloc[3] == "n too small: 368 needed for P99"
    assert frame["reason"].iloc[1] == "20 % [13 %, 29 %] of rollouts are over 80 s of latency; 5 % may be"
    assert frame["reason"].iloc[3].endswith("holds the 1 % that may be; n too small: 368 needed for P99")


def test_verdicts_follow_the_interval() -> None:
    (p95,) = parsed("p95(latency_s)<=30")
    assert judged(p95, 300, 5, 0.007, 0.038)[0] == "kept"
    assert judged(p95, 300, 15, 0.03, 0.05)[0] == "kept"
    assert judged(p95, 300, 40, 0.10, 0.18)[0] == "broken"
    assert judged(p95, 300, 15, 0.03, 0.08)[0] == "cannot be said"
    assert judged(p95, 0, 0, float("nan"), float("nan")) == ("cannot be said", "no rollout tells latency_s")
    (share,) = parsed("share(messages<=100)>=0.9")
    assert judged(share, 50, 1, 0.004, 0.105) == (
        "cannot be said",
        "2 % [0.4 %, 10 %] of rollouts are over 100 messages, and the interval holds the 10 % that may be",
    )


def test_steps_splits_and_runs_are_rows_of_their_own(tmp_path: Path) -> None:
    rows = [of("a", 2, step=0, split="valid"), of("a", 5, step=1, split="valid"), of("b", 5, step=1, split="train")]
    store = build_store(tmp_path, rows)
    by_step = contract_shares(store, limits="tool_calls<=3; turns<=1", by="step")
    assert by_step[["limit", "split", "step", "num_over"]].values.tolist()[:3] == [
        ["tool_calls<=3", "train", 1, 1],
        ["tool_calls<=3", "valid", 0, 0],
        ["tool_calls<=3", "valid", 1, 1],
    ]
    assert contract_shares(store, limits="tool_calls<=3", by="split")["num_over"].tolist() == [1, 1]
    assert contract_shares(store, Filters(step_from=0, step_to=0), limits="tool_calls<=3")["num_over"].tolist() == [0]
    with pytest.raises(QuestionError, match="by must be one of"):
        contract_shares(store, limits="tool_calls<=3", by="week")


def test_without_limits_it_says_where_to_set_them(tmp_path: Path) -> None:
    with pytest.raises(QuestionError, match=r"--limits .*limits\.toml"):
        contract_shares(build_store(tmp_path, [of("a", 2)]))


def test_nothing_known_or_nothing_left(tmp_path: Path) -> None:
    store = build_store(tmp_path, [of("a")])
    row = contract_shares(store, limits="p95(latency_s)<=3").iloc[0]
    assert (row["verdict"], row["num_rollouts"], row["num_missing"]) == ("cannot be said", 0, 1)
    assert row[["share_over", "ci_low", "ci_high", "percentile_value"]].isna().all()
    assert contract_shares(store, Filters(run_ids=("x",)), limits="tool_calls<=3; p95(turns)<=3").empty
    assert contract_costs(store, Filters(run_ids=("x",)), limits="tool_calls<=3").empty


def test_what_the_tail_costs_and_what_stopping_would_save(tmp_path: Path) -> None:
    rows = [
        of("a", 2, latency_s=10.0, output_tokens=100, cost_usd=0.1),
        of("b", 8, latency_s=30.0, output_tokens=300, cost_usd=0.3),
        of("c", 0, latency_s=None, output_tokens=None),
        of("d", None, latency_s=99.0),
    ]
    row = contract_costs(build_store(tmp_path, rows), limits="tool_calls<=4").iloc[0]
    assert (row["num_rollouts"], row["num_over"], row["excess_mean"]) == (3, 1, 4.0)
    assert row["tool_calls_share"] == pytest.approx(0.8)
    assert row[["latency_share", "output_tokens_share", "cost_share"]].tolist() == pytest.approx([0.75] * 3)
    assert pd.isna(row["input_tokens_share"])
    # 8 calls instead of 4: four calls over three rollouts; half of 30 s, 300 tokens and 0.3 US$ over the two known.
    assert row["tool_calls_saved"] == pytest.approx(4 / 3)
    saved = ["latency_saved_s", "output_tokens_saved", "cost_saved_usd"]
    assert row[saved].tolist() == pytest.approx([7.5, 75.0, 0.075])
    assert pd.isna(row["input_tokens_saved"])


def test_nobody_over_costs_nothing(tmp_path: Path) -> None:
    row = contract_costs(build_store(tmp_path, [of("a", 2), of("b", 0)]), limits="tool_calls<=4").iloc[0]
    assert (row["num_over"], row["tool_calls_share"], row["tool_calls_saved"]) == (0, 0.0, 0.0)
    assert pd.isna(row["excess_mean"])


def score(grader: str, value: float, kind: str = "subscore") -> dict[str, object]:
    return {"grader": grader, "value": value, "kind": kind}


def test_penalties_are_recognised_and_compared(tmp_path: Path) -> None:
    def scores(over: float, answer: float) -> list[dict[str, object]]:
        return [
            score("answer", answer, "reward"),
            score("Step_Penalty", 2 * over),
            score("brevity", -over),
            score("length_bonus", 0.5 - over),
            score("answer_length", 5.0),
            score("margin", 1.0 - 2 * over),
        ]

    rows = [of("a", 9, scores=scores(1.0, -1.0)), of("b", 9, scores=scores(0.8, -1.0))]
    rows += [of("c", 1, scores=scores(0.0, -1.0)), of("d", 1, scores=scores(0.2, -1.0)), of("e", 1)]
    frame = contract_penalties(build_store(tmp_path, rows), limits="tool_calls<=5")
    # Never above 0, named so, or named after a length and below 0; not the reward, nor a score of either sign.
    assert frame["grader"].tolist() == ["Step_Penalty", "brevity", "length_bonus"]
    row = frame.iloc[1]
    assert (row["num_over"], row["num_samples_over"], row["num_rest"], row["num_samples_rest"]) == (2, 2, 2, 2)
    assert row[["over_mean", "rest_mean"]].tolist() == pytest.approx([-0.9, -0.1])
    # t(1) = 12.706 times .1414 / √2.
    assert row[["over_ci_low", "over_ci_high"]].tolist() == pytest.approx([-0.9 - 1.2706, -0.9 + 1.2706], abs=1e-4)
    none = contract_penalties(build_store(tmp_path / "none", [of("a", 1)]), limits="tool_calls<=5")
    assert none.empty
    assert none.columns.tolist() == frame.columns.tolist()
