"""Tokens, hours and dollars, and what a solved sample costs, against sums done by hand."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ingest.errors import QuestionError
from ingest.sources.base import Rollout
from queries.connection import Reading
from queries.costs import cost_effect, costs
from queries.filters import Filters
from tests.stores import build_store, call, rollout

PRICES = """
[[models]]
pattern = "m"
input_usd_per_million = 2.0
cached_input_usd_per_million = 0.5
output_usd_per_million = 8.0
[[tools]]
pattern = "search"
usd_per_call = 0.5
usd_per_second = 0.25
[[graders]]
pattern = "judge"
usd_per_call = 0.125
[[environments]]
pattern = "box"
usd_per_second = 0.01
"""


def priced(root: Path, rollouts: list[Rollout], text: str = PRICES) -> Reading:
    store = build_store(root, rollouts)
    (root / "prices.toml").write_text(text)
    return store


def full(**values: Any) -> Rollout:
    """Tokens at 600 000 · 2, 400 000 · .5 and 100 000 · 8 a million cost 1.2 + .2 + .8 = 2.2 dollars."""
    given = {"model": "m", "environment": "box", "latency_s": 10.0, "input_tokens": 1_000_000, "cached_tokens": 400_000}
    calls = [call("search", latency_s=2.0), call("search", latency_s=1.0)]
    graded = [{"grader": "judge", "value": 1.0, "kind": "reward"}]
    return rollout(
        **given
        | {"reward": 1.0, "output_tokens": 100_000, "messages": [], "tool_calls": calls, "scores": graded}
        | values
    )


def test_every_part_has_its_price(tmp_path: Path) -> None:
    row = costs(priced(tmp_path, [full(sample_id="a")])).iloc[0]
    parts = ["model_usd", "tools_usd", "graders_usd", "environment_usd"]
    assert row[parts].tolist() == pytest.approx([2.2, 1.75, 0.125, 0.1])
    assert row["usd"] == pytest.approx(4.175)
    assert (row["num_costed"], row["num_reported"], row["is_lower_bound"], row["unpriced"]) == (1, 0, False, None)
    assert (row["input_tokens"], row["cached_tokens"], row["num_calls"]) == (1_000_000, 400_000, 2)
    assert row["hours"] == pytest.approx(10 / 3600)


def test_a_reported_cost_is_taken_and_nothing_added(tmp_path: Path) -> None:
    rows = [full(sample_id="a", cost_usd=1.0), full(sample_id="b")]
    row = costs(priced(tmp_path, rows)).iloc[0]
    assert row["usd"] == pytest.approx(1 + 4.175)
    assert (row["reported_usd"], row["num_reported"], row["num_costed"]) == (1.0, 1, 2)
    assert row["model_usd"] == pytest.approx(2.2)
    (tmp_path / "prices.toml").write_text('prefer = "computed"\n' + PRICES)
    assert costs(priced(tmp_path / "other", rows, 'prefer = "computed"\n' + PRICES))["usd"].tolist() == pytest.approx(
        [2 * 4.175]
    )


def test_no_price_is_not_zero(tmp_path: Path) -> None:
    row = costs(build_store(tmp_path, [full(sample_id="a")])).iloc[0]
    assert np.isnan(row["usd"])
    assert (row["num_costed"], row["is_lower_bound"]) == (0, False)
    assert row["unpriced"] == "tokens, tools, graders, environment time"


def test_what_has_no_price_makes_a_lower_bound(tmp_path: Path) -> None:
    only_model = PRICES.split("[[tools]]")[0]
    rows = [full(sample_id="a"), full(sample_id="b", output_tokens=None), full(sample_id="c", model="other")]
    row = costs(priced(tmp_path, rows, only_model)).iloc[0]
    assert row["usd"] == pytest.approx(2.2 + 1.4)
    assert (row["num_costed"], row["is_lower_bound"]) == (2, True)
    assert row["unpriced"] == "tokens, tools, graders, environment time"
    by_model = costs(priced(tmp_path / "by", rows, only_model), by="model")
    assert by_model["model"].tolist() == ["m", "other"]
    assert by_model["usd"].isna().tolist() == [False, True]


def test_what_costs_nothing_is_said_to(tmp_path: Path) -> None:
    free = PRICES.split("[[graders]]")[0] + "[[tools]]\npattern = '.*'\nusd_per_call = 0\n"
    free += "[[graders]]\npattern = '.*'\nusd_per_call = 0\n[[environments]]\npattern = '.*'\nusd_per_hour = 0\n"
    rows = [full(sample_id="a", tool_calls=[call("ls")], latency_s=1.0)]
    row = costs(priced(tmp_path, rows, free)).iloc[0]
    assert row["usd"] == pytest.approx(2.2)
    assert (row["is_lower_bound"], row["unpriced"]) == (False, None)


def test_by_tool_and_grader(tmp_path: Path) -> None:
    calls = [call("search", latency_s=2.0), call("ls", latency_s=7.2), call("ls", is_executed=False)]
    store = priced(tmp_path, [full(sample_id="a", tool_calls=calls, cost_usd=3.0)])
    tools = costs(store, by="tool").set_index("tool")
    assert tools.loc["search", ["num_calls", "num_costed", "usd"]].tolist() == [1, 1, 1.0]
    assert tools.loc["ls", "num_calls"] == 1
    assert tools.loc["ls", "hours"] == pytest.approx(0.002)
    assert np.isnan(tools.loc["ls", "usd"])
    assert tools["unpriced"].tolist() == [None if name == "search" else "tool without a price" for name in tools.index]
    graders = costs(store, by="grader")
    assert graders[["grader", "num_calls", "usd"]].values.tolist() == [["judge", 1, 0.125]]


def test_groups_of_costs(tmp_path: Path) -> None:
    rows = [
        full(sample_id="a", split="train", step=step, environment=name) for step in (0, 0, 1) for name in ("box", "x")
    ]
    store = priced(tmp_path, rows)
    assert costs(store, by="step")["num_rollouts"].tolist() == [4, 2]
    assert costs(store, by="environment")["environment_usd"].isna().tolist() == [False, True]
    assert costs(store, Filters(environments=("box",)), by="split")["usd"].tolist() == pytest.approx([3 * 4.175])
    with pytest.raises(QuestionError):
        costs(store, by="attempt")


def attempts(solved: list[int], cost: float = 1.0, **values: Any) -> list[Rollout]:
    """Two attempts a sample, of which so many pass."""
    return [
        rollout(
            sample_id=f"s{at:02}",
            cost_usd=cost,
            input_tokens=80,
            output_tokens=20,
            latency_s=36.0,
            passed=attempt < num,
            **values,
        )
        for at, num in enumerate(solved)
        for attempt in range(2)
    ]


def test_cost_of_a_solved_sample(tmp_path: Path) -> None:
    # Ten samples, two attempts of 1 dollar, 100 tokens and .01 h each; four are solved, by one attempt or both.
    row = cost_effect(build_store(tmp_path, attempts([2, 1, 1, 1, 0, 0, 0, 0, 0, 0]))).iloc[0]
    assert (row["num_samples"], row["num_solved"], row["num_rollouts"], row["success"]) == (10, 4, 20, "passed")
    assert row["usd_per_solved"] == 5.0
    assert row["tokens_per_solved"] == 500.0
    assert row["hours_per_solved"] == pytest.approx(0.05)
    assert row["rollouts_per_solved"] == 5.0
    # 20 dollars by as many samples as a resample solves: the 2.5th and 97.5th percentiles of Bin(10, .4) are 1 and 7.
    assert row["usd_per_solved_ci_low"] == pytest.approx(20 / 7)
    assert row["usd_per_solved_ci_high"] == 20.0
    assert row["reason"] is None


def test_the_interval_is_the_same_for_everyone(tmp_path: Path) -> None:
    store = build_store(tmp_path, attempts([1] * 30 + [0] * 10))
    first, again = cost_effect(store), cost_effect(store)
    assert first.equals(again)
    assert cost_effect(store, Filters(run_ids=("r",))).equals(first)
    assert first["usd_per_solved_ci_low"].notna().all()


def test_samples_that_are_all_alike_have_no_interval(tmp_path: Path) -> None:
    row = cost_effect(build_store(tmp_path, attempts([1] * 8))).iloc[0]
    assert row["usd_per_solved"] == 2.0
    assert np.isnan(row["usd_per_solved_ci_low"])
    assert row["reason"] == "all resamples agree: they say nothing about the next sample"


def test_success_by_a_bound_or_by_rewards(tmp_path: Path) -> None:
    graded = [rollout(sample_id=str(at), reward=at / 10, cost_usd=1.0) for at in range(10)]
    store = build_store(tmp_path / "graded", graded)
    unknown = cost_effect(store).iloc[0]
    assert (unknown["num_samples"], unknown["num_unknown"]) == (0, 10)
    assert np.isnan(unknown["usd_per_solved"])
    assert unknown["reason"].startswith("it is not known which samples are solved")
    bound = cost_effect(store, reward_at_least=0.8).iloc[0]
    assert (bound["num_solved"], bound["usd_per_solved"], bound["success"]) == (2, 5.0, "reward")
    binary = build_store(tmp_path / "binary", [rollout(sample_id=str(at), reward=float(at % 2)) for at in range(8)])
    row = cost_effect(binary).iloc[0]
    assert (row["num_solved"], row["rollouts_per_solved"], row["success"]) == (4, 2.0, "reward 0 or 1")
    assert np.isnan(row["usd_per_solved"])
    with pytest.raises(QuestionError):
        cost_effect(store, reward_at_least=float("nan"))


def test_nothing_solved_one_sample_and_nameless_rollouts(tmp_path: Path) -> None:
    none = cost_effect(build_store(tmp_path / "none", attempts([0] * 8))).iloc[0]
    assert (none["num_solved"], none["reason"]) == (0, "no sample is solved")
    assert np.isnan(none["usd_per_solved"])
    one = cost_effect(build_store(tmp_path / "one", attempts([1]))).iloc[0]
    assert (one["usd_per_solved"], one["reason"]) == (2.0, "n too small for a bootstrap: 6 samples needed")
    nameless = cost_effect(build_store(tmp_path / "nameless", [*attempts([1]), rollout(cost_usd=9.0)])).iloc[0]
    assert (nameless["usd_per_solved"], nameless["num_without_sample"]) == (2.0, 1)


def test_a_sample_whose_cost_is_not_known_counts_in_neither_part(tmp_path: Path) -> None:
    rows = [*attempts([1, 1, 0, 0]), rollout(sample_id="s00", passed=True)]
    row = cost_effect(build_store(tmp_path, rows)).iloc[0]
    assert (row["num_costed"], row["num_solved"], row["usd_per_solved"]) == (3, 2, 6.0)
    assert row["rollouts_per_solved"] == 4.5
