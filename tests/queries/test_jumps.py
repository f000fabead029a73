"""Sudden jumps of rewards: found where they are, with what else changes there, and not where a curve merely rises."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from ingest.errors import QuestionError
from ingest.sources.base import Record, Rollout, Row
from queries.breaks import BreakRules, Series, breaks, candidates
from queries.jumps import reward_jump_looks, reward_jumps
from tests.stores import build_store, rollout

RULES = BreakRules(window=5, min_steps=2, min_samples=10, confidence=0.99, min_size=0.25)


def series(levels: list[float], *, samples: int = 40, shared: bool = True, noise: float = 0.1, seed: int = 1) -> Series:
    """Samples that differ by themselves, scored at every step (or new ones at each), around a level for each step."""
    rng = np.random.default_rng(seed)
    steps = np.arange(len(levels))
    place = np.repeat(steps, samples)
    sample = np.tile(np.arange(samples), steps.size) if shared else np.arange(place.size)
    own = rng.normal(0, 0.2, place.size)[sample]
    return Series(steps.astype(float), place, sample, np.array(levels)[place] + own + rng.normal(0, noise, place.size))


def found(given: Series) -> list[int]:
    return [each.place for each in breaks(given, RULES, candidates(given, RULES))]


def stored(levels: list[float], before: dict[str, Any], after: dict[str, Any], at: int) -> list[Rollout]:
    """Twenty samples at each step, what is given before and from step `at` on; noise that is the same every time."""
    rng = np.random.default_rng(3)
    return [
        rollout(
            sample_id=f"s{each}",
            split="valid",
            step=step,
            reward=level + each / 40 + float(rng.normal(0, 0.05)),
            rollout_id=f"r{step}-{each}",
            **{"status": "completed", **(before if step < at else after)},
        )
        for step, level in enumerate(levels)
        for each in range(20)
    ]


STEP = [0.5] * 4 + [0.2] * 4


@pytest.mark.parametrize("shared", [True, False])
def test_a_change_of_level_is_found_between_its_two_steps(*, shared: bool) -> None:
    given = series(STEP, shared=shared)
    (only,) = breaks(given, RULES, candidates(given, RULES))
    assert (only.place, only.is_paired) == (4, shared)
    low, high = only.interval(0.99)
    assert low < -0.3 < high < 0


@pytest.mark.parametrize(
    "levels",
    [
        [0.5] * 12,
        [0.3 + 0.05 * step for step in range(12)],
        [0.3 + 0.4 * (1 - np.exp(-step / 3)) for step in range(12)],
        [0.3 + 0.4 / (1 + np.exp(-(step - 6) / 2)) for step in range(12)],
        [0.5] * 6 + [0.1] + [0.5] * 5,
    ],
    ids=["level", "steady rise", "fast at first", "slow, fast, slow", "one odd step"],
)
def test_a_rise_a_bend_or_an_odd_step_is_no_jump(levels: list[float]) -> None:
    assert [found(series(levels, seed=seed)) for seed in range(5)] == [[]] * 5


def test_on_a_rise_only_what_exceeds_it_is_a_jump() -> None:
    given = series([0.2 + 0.03 * step - 0.3 * (step >= 6) for step in range(12)])
    (only,) = breaks(given, RULES, candidates(given, RULES))
    assert only.place == 6
    assert only.size == pytest.approx(-0.3, abs=0.08)


def test_several_jumps_are_told_apart() -> None:
    assert found(series([0.5] * 5 + [0.1] * 5 + [0.6] * 5)) == [5, 10]


def test_of_a_complete_panel_it_is_the_mean_of_each_samples_contrast() -> None:
    """With every sample at each step, least squares within samples is a t test of one number a sample."""
    given = series([0.5, 0.5, 0.1, 0.1])
    (only,) = breaks(given, RULES, 1)
    panel = given.value.reshape(4, 40)
    design = np.column_stack([np.ones(4), [0, 0, 1, 1], [-1.5, -0.5, 0.5, 1.5]])
    contrasts = np.linalg.pinv(design)[1] @ panel
    assert only.size == pytest.approx(contrasts.mean())
    expected = stats.ttest_1samp(contrasts, 0).confidence_interval(0.99)
    assert only.interval(0.99) == pytest.approx((expected.low, expected.high))


def test_few_false_alarms_where_nothing_jumps() -> None:
    alarms = sum(
        bool(found(series([0.5] * 8, samples=12, shared=shared, seed=seed)))
        for seed in range(60)
        for shared in (True, False)
    )
    assert alarms <= 4


def test_a_grader_that_changes_at_the_jump_is_suspect(tmp_path: Path) -> None:
    store = build_store(tmp_path, stored(STEP, {"grader_version": "1"}, {"grader_version": "2"}, 4))
    frame = reward_jumps(store)
    assert frame[["score", "from_step", "to_step", "grader_version", "suspect", "num_samples"]].values.tolist() == [
        ["reward", 3, 4, "1 → 2", "grader", 20]
    ]
    only = frame.iloc[0]
    assert only["ci_low"] < only["jump"] < only["ci_high"] < 0
    assert only["mean_after"] - only["mean_before"] == pytest.approx(-0.3, abs=0.06)
    looks = reward_jump_looks(store)
    assert looks[["score", "num_steps", "num_looked_at", "num_samples", "num_jumps", "reason"]].values.tolist() == [
        ["reward", 8, 5, 20, 1, None]
    ]


@pytest.mark.parametrize(
    ("after", "column", "said", "suspect"),
    [
        ({"prompt_version": "b"}, "prompt_version", "a → b", "inputs"),
        ({"tools_version": "y"}, "tools_version", "x → y", "inputs"),
        ({"model": "n"}, "model", "m → n", "model"),
        ({"status": "infra_error"}, "failures", "0% → 100%", "failures"),
        ({"subset": "all"}, "trained_on", "100% → 0%", "mix"),
        ({"policy_version_start": 0}, "policy_lag", "0.0 → 1.0", "unknown"),
        ({}, "grader_version", None, "unknown"),
    ],
    ids=["prompt", "tools", "model", "failures", "subset", "policy", "nothing"],
)
def test_what_else_changes_at_the_jump_is_told(
    tmp_path: Path, after: dict[str, Any], column: str, said: str | None, suspect: str
) -> None:
    usual = {"prompt_version": "a", "tools_version": "x", "model": "m", "subset": "effective", "grader_version": "1"}
    rows = stored(STEP, usual, usual | after, 4)
    for each in rows:
        start = each.values["step"] - (1 if "policy_version_start" in after and each.values["step"] >= 4 else 0)
        each.values["policy_version_start"] = start
    (row,) = reward_jumps(build_store(tmp_path, rows)).to_dict("records")
    assert (row[column], row["suspect"]) == (said, suspect)


def test_what_changes_at_every_step_says_nothing_of_one(tmp_path: Path) -> None:
    rows = stored(STEP, {}, {}, 4)
    for each in rows:
        each.values["model"] = f"policy-{each.values['step']}"
    (row,) = reward_jumps(build_store(tmp_path, rows)).to_dict("records")
    assert (row["model"], row["suspect"]) == (None, "unknown")


def test_environments_that_take_over_are_named(tmp_path: Path) -> None:
    rows = stored(STEP, {"environment": "easy"}, {"environment": "hard"}, 4)
    (row,) = reward_jumps(build_store(tmp_path, rows)).to_dict("records")
    assert (row["environments"], row["suspect"], row["is_paired"]) == ("hard: 0% → 100%", "mix", False)


def test_a_grader_jumps_with_its_own_version(tmp_path: Path) -> None:
    rows = stored([0.5] * 8, {}, {}, 4)
    for each in rows:
        is_after = each.values["step"] >= 4
        value = each.values["reward"] - 0.3 * is_after
        judge = {"grader": "judge", "value": value, "kind": "metric", "grader_version": "2" if is_after else "1"}
        each.scores.append(judge)
        each.scores.append({"grader": "num_facts", "value": 100.0 * is_after, "kind": "metric"})
    (row,) = reward_jumps(build_store(tmp_path, rows)).to_dict("records")
    assert (row["score"], row["kind"], row["to_step"]) == ("judge", "metric", 4)
    assert (row["grader_version"], row["suspect"]) == ("1 → 2", "grader")


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ([Row("runs", {"name": "r"}, "r")], None),
        ([rollout(reward=1.0, step=0, split="train")], "fewer than 4 steps"),
        ([rollout(reward=1.0, step=each, split="train", sample_id="a") for each in range(9)], "fewer than 10 samples"),
        ([rollout(step=each, split="train", sample_id="a") for each in range(9)], None),
        ([rollout(reward=each / 9, sample_id=f"s{each}") for each in range(9)], None),
    ],
    ids=["empty", "one rollout", "one sample", "no reward", "no steps"],
)
def test_where_nothing_can_be_looked_at_it_is_said(tmp_path: Path, rows: list[Record], reason: str | None) -> None:
    store = build_store(tmp_path, rows=rows)
    assert reward_jumps(store).empty
    assert reward_jump_looks(store)["reason"].tolist() == ([reason] if reason else [])


def test_rewards_that_never_differ_have_no_jump(tmp_path: Path) -> None:
    rows = [rollout(reward=1.0, step=step, sample_id=f"s{each}") for step in range(8) for each in range(12)]
    assert reward_jumps(build_store(tmp_path, rows)).empty


def test_thresholds_are_the_rulebooks_and_may_be_left_out_of_it(tmp_path: Path) -> None:
    rows = stored(STEP, {}, {}, 4)
    store = build_store(tmp_path, rows)
    default = (Path(__file__).parents[2] / "queries/rules/integrity.toml").read_text(encoding="utf-8")
    own = tmp_path / "integrity.toml"
    own.write_text(default.replace("min_samples = 10", "min_samples = 21"), encoding="utf-8")
    assert reward_jumps(store).empty
    start, end = default.index("[jumps]"), default.index("[second_grader]\n")
    own.write_text(default[:start] + default[end:], encoding="utf-8")
    assert len(reward_jumps(store)) == 1
    own.write_text(default.replace("min_size = 0.25", "min_size = -1"), encoding="utf-8")
    with pytest.raises(QuestionError, match="min_size must lie between 0 and 100, not -1"):
        reward_jumps(store)
