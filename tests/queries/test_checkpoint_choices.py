"""Checkpoints side by side: which is best, what it is worth, what each costs, against rows computed by hand."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from ingest.sources.base import Rollout, Row
from queries.checkpoint_choices import checkpoint_choice, checkpoint_figures
from queries.curves import best_step
from queries.filters import Filters
from tests.stores import build_store, call, rollout

REWARDS = {0: (0.0, 0.1, 0.0, 0.1), 5: (0.7, 0.9, 0.8, 0.8), 9: (0.8, 0.8, 0.7, 1.0)}


def at(step: int | None, name: str, reward: float | None, **values: Any) -> Rollout:
    return rollout(
        values.pop("run", "r"), step=step, sample_id=name, reward=reward, split=values.pop("split", "valid"), **values
    )


def grid(rewards: dict[int, tuple[float, ...]] = REWARDS, **values: Any) -> list[Rollout]:
    return [at(step, f"s{n}", each, **values) for step, row in rewards.items() for n, each in enumerate(row)]


def noise(run: str, steps: tuple[int, ...], samples: int, seed: int) -> list[Rollout]:
    drawn = np.random.default_rng(seed).random((samples, len(steps)))
    return [at(step, f"s{n}", float(drawn[n, s]), run=run) for s, step in enumerate(steps) for n in range(samples)]


def only(frame: pd.DataFrame) -> dict[str, Any]:
    assert len(frame) == 1
    return {name: None if pd.isna(value) else value for name, value in frame.iloc[0].items()}


def test_the_best_step_its_neighbours_and_why_there_is_no_interval(tmp_path: Path) -> None:
    row = only(checkpoint_choice(build_store(tmp_path, grid())))
    assert (row["run_id"], row["split"], row["num_steps"], row["num_samples"]) == ("r", "valid", 3, 4)
    assert (row["best_step"], row["reward_mean"]) == (9, pytest.approx(0.825))
    assert (row["step_before"], row["step_after"], row["chance_after"]) == (5, None, None)
    assert row["chance_best"] + row["chance_before"] == pytest.approx(1)
    assert row["reward_expected"] == pytest.approx(0.825 - row["optimism"])
    assert row["optimism_if_equal"] >= row["optimism"] > 0
    assert (row["ci_low"], row["reason"]) == (None, "n too small for a bootstrap: 6 needed")


def test_attempts_are_averaged_before_samples_are_drawn(tmp_path: Path) -> None:
    rows = [at(0, "a", 1.0), at(0, "a", 0.0), at(0, "b", 0.2), at(1, "a", 0.5), at(1, "b", 0.3), at(1, "b", None)]
    row = only(checkpoint_choice(build_store(tmp_path, rows)))
    # Step 0: a .5, b .2; step 1: a .5, b .3.
    assert (row["best_step"], row["reward_mean"], row["num_samples"]) == (1, pytest.approx(0.4), 2)
    # Drawn aa (¼): both .5, so the first, .15 above its .35; bb: .1 below the .4 of step 1; ab: as it is.
    assert row["optimism"] == pytest.approx(0.25 * 0.15 - 0.25 * 0.1, abs=0.006)


def test_one_step_or_one_sample_is_no_choice(tmp_path: Path) -> None:
    one_step = only(checkpoint_choice(build_store(tmp_path / "a", [at(3, each, 0.5) for each in "abc"])))
    assert (one_step["best_step"], one_step["optimism"]) == (3, None)
    assert one_step["reason"] == "one step: nothing was chosen"
    one_sample = only(checkpoint_choice(build_store(tmp_path / "b", [at(0, "a", 0.1), at(1, "a", 0.2)])))
    assert (one_sample["best_step"], one_sample["chance_best"]) == (1, None)
    assert one_sample["reason"] == "one value has no spread"


def test_nothing_to_choose_gives_the_same_columns_and_no_rows(tmp_path: Path) -> None:
    store = build_store(tmp_path, [at(None, "a", 1.0), at(0, "a", None), at(0, "a", 1.0, split="train")])
    assert checkpoint_choice(store).empty
    assert list(checkpoint_choice(store).columns) == list(checkpoint_choice(store, split="train").columns)
    unscored = only(checkpoint_figures(store))
    assert (unscored["step"], unscored["reward_mean"], unscored["is_best"]) == (0, None, False)
    nothing = checkpoint_figures(store, Filters(run_ids=("other",)))
    assert nothing.empty
    assert list(nothing.columns) == list(checkpoint_figures(store).columns)


def test_samples_missing_at_some_steps_decide_nothing(tmp_path: Path) -> None:
    # The hard sample is missing at step 5: over all of its own samples that step would look best.
    rows = [at(step, each, 0.6 if step == 9 else 0.5) for step in (0, 5, 9) for each in "abc"]
    rows += [at(0, "hard", 0.0), at(9, "hard", 0.0)]
    store = build_store(tmp_path, rows)
    row = only(checkpoint_choice(store))
    assert (row["best_step"], row["num_samples"], row["num_samples_left_out"], row["is_common"]) == (9, 3, 1, True)
    assert row["reward_mean"] == pytest.approx(0.6)
    figures = checkpoint_figures(store).set_index("step")
    assert figures.loc[[5, 9], "reward_mean"].tolist() == pytest.approx([0.5, 0.45])
    assert figures["is_best"].tolist() == [False, False, True]
    assert figures["num_paired"].tolist() == [4, 3, 4]


def test_a_step_under_way_is_no_candidate(tmp_path: Path) -> None:
    store = build_store(tmp_path, [*grid(), at(12, "s0", 1.0)])
    row = only(checkpoint_choice(store))
    assert (row["best_step"], row["num_steps"], row["num_steps_left_out"]) == (9, 3, 1)
    last = checkpoint_figures(store).iloc[-1]
    assert (last["step"], last["num_samples_scored"], last["is_tied"]) == (12, 1, True)
    assert pd.isna(last["chance_best"])


def test_steps_that_share_no_samples_keep_their_own(tmp_path: Path) -> None:
    rows = [at(step, f"{step}-{n}", 0.1 * step + 0.01 * n, split="train") for step in range(4) for n in range(3)]
    row = only(checkpoint_choice(build_store(tmp_path, rows), split="train"))
    assert (row["best_step"], row["is_common"], row["num_samples"], row["num_samples_left_out"]) == (3, False, 12, 0)


def test_whole_clusters_are_drawn_where_asked(tmp_path: Path) -> None:
    rows = [
        at(step, f"s{n}", n % 5 / 10 + step / 100, sample={"cluster_key": f"c{n // 2}"})
        for step in range(2)
        for n in range(44)
    ]
    store = build_store(tmp_path, rows)
    plain, clustered = only(checkpoint_choice(store)), only(checkpoint_choice(store, clusters=True))
    assert (plain["ci_method"], clustered["ci_method"]) == ("basic bootstrap", "basic cluster bootstrap")
    assert plain["num_samples"] == clustered["num_samples"] == 44
    assert plain["ci_low"] != clustered["ci_low"]
    one = [at(step, f"s{n}", n / 9 + step, sample={"cluster_key": "c"}) for step in (0, 1) for n in range(8)]
    few = build_store(tmp_path / "few", one)
    assert only(checkpoint_choice(few, clusters=True))["reason"] == "one value has no spread"


def test_a_run_has_the_same_answer_alone_and_beside_others(tmp_path: Path) -> None:
    store = build_store(tmp_path, [*noise("a", (0, 1, 2), 12, 1), *noise("b", (0, 1, 2), 12, 2)])
    both, alone = checkpoint_choice(store), checkpoint_choice(store, Filters(run_ids=("b",)))
    pd.testing.assert_frame_equal(both[both["run_id"] == "b"].reset_index(drop=True), alone)
    assert both["ci_low"].notna().all()


def test_differences_are_those_of_best_step(tmp_path: Path) -> None:
    store = build_store(tmp_path, [*grid(), *noise("b", (0, 2, 4, 6), 15, 3)])
    mine, theirs = (
        each.sort_values(["run_id", "step"]).reset_index(drop=True)
        for each in (checkpoint_figures(store), best_step(store))
    )
    columns = ["run_id", "step", "is_best", "is_tied", "reward_mean", "delta_mean", "delta_ci_low", "delta_ci_high"]
    pd.testing.assert_frame_equal(mine[columns], theirs[columns], check_dtype=False)


def test_what_each_checkpoint_costs(tmp_path: Path) -> None:
    turn = {"role": "assistant", "text": "x"}
    rows = [
        at(1, "a", 1.0, status="completed", passed=True, latency_s=10.0, output_tokens=100, messages=[turn, turn],
           tool_calls=[call("t"), call("u")]),
        at(1, "a", 1.0, status="truncated", passed=False, latency_s=20.0, output_tokens=200, messages=[turn]),
        at(1, "b", 0.0, status="infra_error", passed=False, latency_s=30.0, messages=[turn], tool_calls=[call("t")]),
        at(1, "b", 0.5, status="budget_exceeded", messages=[turn], tool_calls=[call("t")]),
        at(1, "c", 0.4, status=None),
        at(1, "a", 0.7, split="train"),
    ]  # fmt: skip
    row = only(checkpoint_figures(build_store(tmp_path, rows)))
    assert (row["num_rollouts"], row["num_samples_scored"], row["num_status_known"]) == (5, 3, 4)
    # a 1, b .25, c .4; with the failure left out b is .5.
    assert row["reward_mean"] == pytest.approx(0.55)
    assert row["reward_masked_mean"] == pytest.approx(1.9 / 3)
    assert row["pass_rate"] == pytest.approx(1 / 3)
    assert (row["failure_rate"], row["truncation_rate"], row["budget_exceeded_rate"]) == (0.25, 0.25, 0.25)
    assert (row["tool_calls_mean"], row["turns_mean"], row["no_tool_call_rate"]) == (1.0, 1.25, 0.25)
    assert (row["output_tokens_mean"], row["num_samples_calls_known"]) == (150.0, 2)
    assert row["latency_p50_s"] == 20.0
    assert row["latency_p95_s"] == pytest.approx(29.0)
    assert (row["tool_calls_p95_ci_low"], row["p95_reason"]) == (None, "n too small: 72 needed for P95")
    # a's two attempts agree, b's do not, c has one.
    assert (row["num_samples_repeated"], row["agree_share"]) == (2, 0.5)
    assert (row["train_reward_mean"], row["train_num_samples"]) == (pytest.approx(0.7), 1)


def test_far_percentiles_have_intervals_from_72_rollouts_on(tmp_path: Path) -> None:
    row = only(checkpoint_figures(build_store(tmp_path, [at(0, str(n), 0.5, latency_s=float(n)) for n in range(100)])))
    assert row["latency_p95_s"] == pytest.approx(94.05)
    # Ranks 90 and 99 of 100: P(Bin(100, .95) < 90) = .0115, P(Bin(100, .95) ≥ 99) = .0371 is too much, so rank 100.
    assert row["latency_p95_ci_low_s"] == 89.0
    assert row["latency_p95_ci_high_s"] == 99.0
    assert (row["tool_calls_p95"], row["p95_reason"]) == (None, None)


def test_which_steps_were_saved(tmp_path: Path) -> None:
    saved = [Row("checkpoints", {"step": 5, "checkpoint_id": "c5", "model": "m5"}, run="r")]
    frame = checkpoint_figures(build_store(tmp_path, [*grid(), *grid(run="unsaved")], saved))
    assert frame.loc[frame["run_id"] == "r", "is_saved"].tolist() == [False, True, False]
    assert frame.loc[frame["is_saved"].fillna(value=False), ["checkpoint_id", "model"]].values.tolist() == [
        ["c5", "m5"]
    ]
    assert frame.loc[frame["run_id"] == "unsaved", "is_saved"].isna().all()


def test_of_equal_checkpoints_the_earliest_is_best(tmp_path: Path) -> None:
    store = build_store(tmp_path, [at(step, each, 0.3) for step in (4, 2, 7) for each in "abcdefg"])
    row = only(checkpoint_choice(store))
    assert (row["best_step"], row["step_before"], row["step_after"], row["chance_best"]) == (2, None, 4, 1.0)
    assert row["reason"] == "all resamples agree: the values say nothing about the next one"


@pytest.mark.parametrize("reward", [float("nan"), float("inf")])
def test_a_reward_that_is_no_number_is_not_scored(tmp_path: Path, reward: float) -> None:
    row = only(checkpoint_choice(build_store(tmp_path, [*grid(), at(0, "odd", reward)])))
    assert (row["best_step"], row["num_samples"], row["num_samples_left_out"]) == (9, 4, 0)
