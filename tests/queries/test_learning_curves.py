"""More attempts, larger groups and training steps, against rows computed by hand."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from ingest.sources.base import Rollout
from queries.filters import Filters
from queries.learning_curves import attempt_curve, signal_by_group_size, signal_by_step
from tests.stores import build_store, rollout


def attempts(sample: str, rewards: list[float | None], **values: Any) -> list[Rollout]:
    return [rollout(**{"sample_id": sample, "split": "valid", "reward": each, **values}) for each in rewards]


def test_what_k_attempts_would_give(tmp_path: Path) -> None:
    rows = [*attempts("a", [0, 0, 1]), *attempts("b", [1, 1, 0]), *attempts("c", [1, 1])]
    frame = attempt_curve(build_store(tmp_path, rows), arm="r").set_index("k")
    assert frame.index.tolist() == [1, 2, 3]
    # pass@2: of a's three pairs two hold a pass, b's and c's all; pass^2: 0, ⅓, 1.
    assert frame["pass_at_k"].tolist() == pytest.approx([2 / 3, (2 / 3 + 1 + 1) / 3, 1])
    assert frame["pass_hat_k"].tolist() == pytest.approx([2 / 3, (0 + 1 / 3 + 1) / 3, 0])
    assert frame["best_of_k"].tolist() == pytest.approx(frame["pass_at_k"].tolist())
    assert frame[["num_samples", "num_missing"]].values.tolist() == [[3, 0], [3, 0], [2, 1]]
    # Sample means ⅓, ⅔, 1: sd = ⅓, t(2) = 4.303, cut off at 1.
    assert frame.loc[1, "pass_at_k_ci_low"] == pytest.approx(max(0, 2 / 3 - 4.3027 / 3 / 3**0.5), abs=1e-4)
    assert frame.loc[1, "pass_at_k_ci_high"] == 1.0
    assert frame.loc[1, "best_of_k_ci_high"] == pytest.approx(2 / 3 + 4.3027 / 3 / 3**0.5, abs=1e-4)
    assert frame.loc[3, "pass_at_k_reason"].startswith("all values are equal")


def test_graded_rewards_have_a_best_of_k_only(tmp_path: Path) -> None:
    frame = attempt_curve(build_store(tmp_path, attempts("a", [0.2, 0.4, 0.9])), arm="r").set_index("k")
    # Best of two: .4, .9, .9 over the three pairs.
    assert frame["best_of_k"].tolist() == pytest.approx([0.5, 2.2 / 3, 0.9])
    assert frame[["pass_at_k", "pass_hat_k"]].isna().all().all()
    assert frame[["num_samples", "num_samples_scored"]].values.tolist() == [[0, 1]] * 3


def test_many_attempts_are_asked_at_few_k(tmp_path: Path) -> None:
    store = build_store(tmp_path, [*attempts("a", [0, 1] * 10), *attempts("b", [0, 1] * 10)])
    assert attempt_curve(store, arm="r")["k"].tolist() == [1, 2, 3, 4, 5, 6, 7, 8, 16, 20]
    assert attempt_curve(build_store(tmp_path / "none", attempts("a", [None])), arm="r").empty


def test_pass_fail_groups_of_every_size(tmp_path: Path) -> None:
    store = build_store(tmp_path, [*attempts("a", [0, 0]), *attempts("b", [0, 1]), *attempts("c", [1, 1])])
    frame = signal_by_group_size(store, arm="r", batch_size=30).set_index("group_size")
    assert frame.index.tolist() == [2, 4, 8, 16, 32]
    # Beta(1, 3), (2, 2), (3, 1): 1 − E[p²] − E[(1−p)²] is .3, .4, .3.
    assert frame.loc[2, ["signal_share", "both_share"]].tolist() == pytest.approx([1 / 3, 1 / 3])
    assert frame.loc[2, ["signal_groups", "signal_rollouts"]].tolist() == pytest.approx([10, 6])
    # Larger groups than there are attempts would say what a flat prior assumes.
    assert frame["signal_share"].isna().tolist() == [False, True, True, True, True]
    assert frame["num_samples"].tolist() == [3] * 5
    # Too few samples for a prior: no interval, and from counts alone where there are enough attempts.
    assert frame.loc[2, "signal_reason"] == "n too small for a bootstrap: 6 needed"
    assert frame.loc[8, "signal_reason"] == "prior not fitted: 10 samples with two attempts needed, 3 here"


def test_without_a_prior_groups_are_counted(tmp_path: Path) -> None:
    rows = [*attempts("a", [0, 0, 0, 0]), *attempts("b", [0, 1, 0, 0]), *attempts("c", [1, 1, 1, 1])]
    frame = signal_by_group_size(build_store(tmp_path, rows), arm="r").set_index("group_size")
    # Half of b's pairs are mixed, and its only four.
    assert frame.loc[[2, 4], "both_share"].tolist() == pytest.approx([0.5 / 3, 1 / 3])
    # Groups of 8 would say what a flat prior assumes: 62 % of them with a pass where no attempt passed.
    assert frame.loc[8, ["both_share", "signal_share", "both_rollouts"]].isna().all()


def test_graded_groups_need_as_many_attempts(tmp_path: Path) -> None:
    rows = [*attempts("a", [0.1, 0.2, 0.3, 0.3]), *attempts("b", [0.5, 0.5, 0.5, 0.5]), *attempts("c", [0.1, 0.2])]
    frame = signal_by_group_size(build_store(tmp_path, rows), arm="r").set_index("group_size")
    # Pairs that differ: 5 of 6, none, the only one.
    assert frame.loc[2, "signal_share"] == pytest.approx((5 / 6 + 0 + 1) / 3)
    assert frame.loc[4, ["signal_share", "num_samples", "num_too_few"]].tolist() == [0.5, 2, 1]
    assert pd.isna(frame.loc[8, "signal_share"])
    assert frame.loc[8, "signal_reason"] == "no sample has 8 scored attempts"
    # As many as there are differ in a and c, not in b.
    assert frame["at_least_share"].tolist() == pytest.approx([11 / 18, 2 / 3, 2 / 3, 2 / 3, 2 / 3])
    assert frame[["both_share", "both_rollouts"]].isna().all().all()


def test_intervals_of_shares_are_the_same_for_everyone(tmp_path: Path) -> None:
    generator = np.random.default_rng(5)
    rows = [each for n in range(30) for each in attempts(f"s{n}", list(generator.integers(0, 2, 4).astype(float)))]
    store = build_store(tmp_path, rows)
    first, second = (signal_by_group_size(store, arm="r") for _ in range(2))
    pd.testing.assert_frame_equal(first, second)
    assert (first["signal_share_ci_low"] < first["signal_share"]).all()
    assert (first["signal_share"] < first["signal_share_ci_high"]).all()


def test_groups_by_step_before_and_after_the_filter(tmp_path: Path) -> None:
    def group(name: str, rewards: list[float | None], subset: str | None, **values: Any) -> list[Rollout]:
        own = {"split": "train", "step": 1, "group_id": name, "subset": subset}
        return attempts(f"of-{name}", rewards, **{**own, **values})

    rows = [
        *group("a", [0, 0], "all"),
        *group("b", [1, 1], "all"),
        *group("c", [0, 1], "effective"),
        *group("d", [0.5, 0.5, None], "effective"),
        *group("e", [1, None], "effective"),
        *group("f", [1, 1], "effective"),
        rollout(
            sample_id="of-f", split="train", step=1, group_id="f", subset="effective", reward=0, status="infra_error"
        ),
        *group("g", [0, 1], "effective", split="valid"),
    ]
    store = build_store(tmp_path, rows)
    every, kept = (signal_by_step(store).iloc[row] for row in (0, 1))
    assert (every["scope"], kept["scope"]) == ("all", "effective")
    names = ["num_groups", "num_too_few", "num_zero_variance", "num_all_zero", "num_all_one", "num_all_other"]
    assert every[names].tolist() == [5, 1, 3, 1, 1, 1]
    assert kept[names].tolist() == [3, 1, 1, 0, 0, 1]
    assert every[["num_mixed", "num_by_failures", "num_known", "num_not_trained_on"]].tolist() == [2, 1, 6, 2]
    assert every["zero_variance_share"] == pytest.approx(0.6)
    assert every["zero_variance_share_ci_low"] == pytest.approx(0.2307, abs=1e-4)  # Wilson, 3 of 5
    # Within c ±√½, within f (0, 1, 1) √⅓, else 0.
    assert every["reward_sd_mean"] == pytest.approx((0.5**0.5 + (1 / 3) ** 0.5) / 5)
    left_out = signal_by_step(store, leave_out_failures=True).iloc[0]
    assert left_out[["num_zero_variance", "num_all_one", "num_by_failures"]].tolist() == [4, 2, 0]
    assert signal_by_step(store, Filters(splits=("valid",)))["split"].tolist() == ["valid"] * 2


def test_groups_without_an_id_are_attempts_at_a_sample(tmp_path: Path) -> None:
    rows = [*attempts("a", [0, 1], split="train", step=1), *attempts("a", [1, 1], split="train", step=2)]
    rows += [rollout(split="train", step=3, reward=1.0), *attempts("a", [1, 0], split="train")]
    frame = signal_by_step(build_store(tmp_path, rows))
    # Rollouts that name neither sample nor group, and those of no step, make no group. Nothing says what was used.
    assert frame[["step", "scope", "num_zero_variance", "num_known"]].values.tolist() == [
        [1, "all", 0, 0],
        [2, "all", 1, 0],
    ]
    assert signal_by_step(build_store(tmp_path / "none", [rollout(reward=1.0)])).empty
