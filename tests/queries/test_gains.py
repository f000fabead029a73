"""What spending buys: cumulative, per point, over the last validations, and after which step no gain is shown."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ingest.errors import QuestionError
from ingest.sources.base import Rollout
from queries.connection import Reading
from queries.gains import cost_of_gain, when_to_stop
from tests.stores import build_store, rollout


def run(means: list[float], noise: float = 0.0, samples: int = 20, seed: int = 3, **values: Any) -> list[Rollout]:
    """Validations at steps 0, 10, 20 …, and between them ten train rollouts of 1 dollar and 100 tokens, one a step.

    Every sample's reward is the mean plus its own level and noise; levels and noise sum to 0 over the samples.
    """
    generator = np.random.default_rng(seed)
    level = generator.normal(0, 0.1, samples)
    found = []
    for at, mean in enumerate(means):
        drawn = generator.normal(0, noise, samples) if noise else np.zeros(samples)
        for sample, each in enumerate(mean + level - level.mean() + drawn - drawn.mean()):
            found.append(rollout(sample_id=f"s{sample}", split="valid", step=10 * at, reward=float(each)))
    trained = {"split": "train", "cost_usd": 1.0, "input_tokens": 60, "output_tokens": 40, "latency_s": 36.0} | values
    return found + [rollout(sample_id="t", step=step, **trained) for step in range(10 * (len(means) - 1))]


def written(root: Path, *args: Any, **values: Any) -> Reading:
    return build_store(root, run(*args, **values))


def test_spending_counts_the_steps_before_a_validation(tmp_path: Path) -> None:
    frame = cost_of_gain(written(tmp_path, [0.2, 0.3, 0.5], noise=0.05))
    assert frame["step"].tolist() == [0, 10, 20]
    assert frame["usd"].tolist() == [0.0, 10.0, 20.0]
    assert frame["tokens"].tolist() == [0.0, 1_000.0, 2_000.0]
    assert frame["rollouts"].tolist() == [0.0, 10.0, 20.0]
    assert frame["hours"].tolist() == pytest.approx([0.0, 0.1, 0.2])
    assert set(frame["unit"]) == {"usd"}
    assert frame["reward_mean"].tolist() == pytest.approx([0.2, 0.3, 0.5])
    assert frame["gain_mean"].tolist()[1:] == pytest.approx([0.1, 0.3])
    # 20 dollars for .3 of reward: 30 points at 2/3 of a dollar.
    assert frame["spent_per_point"].iloc[2] == pytest.approx(20 / 30)
    assert frame["spent_per_point_ci_low"].iloc[2] == pytest.approx(20 * 0.01 / frame["gain_ci_high"].iloc[2])
    # The straight line through .2, .3, .5 at 0, 10, 20 rises by .015 a dollar: .3 in all.
    assert frame["marginal_gain"].iloc[2] == pytest.approx(0.3)
    assert frame["marginal_spent"].iloc[2] == 20.0
    assert frame["reason"].tolist()[:2] == ["fewer than 3 validations so far"] * 2


def test_units_are_what_is_known_of_all_train_rollouts(tmp_path: Path) -> None:
    means = [0.2, 0.3, 0.4]
    assert set(cost_of_gain(written(tmp_path / "a", means, noise=0.1, cost_usd=None))["unit"]) == {"tokens"}
    bare = written(tmp_path / "b", means, noise=0.1, cost_usd=None, input_tokens=None, output_tokens=None)
    assert set(cost_of_gain(bare)["unit"]) == {"rollouts"}
    assert cost_of_gain(bare, unit="usd").empty
    alone = build_store(tmp_path / "c", [each for each in run(means, noise=0.1) if each.values["split"] == "valid"])
    frame = cost_of_gain(alone)
    assert (frame["unit"].tolist(), frame["spent"].tolist()) == (["steps"] * 3, [0.0, 10.0, 20.0])
    with pytest.raises(QuestionError):
        cost_of_gain(bare, unit="euro")
    with pytest.raises(QuestionError):
        when_to_stop(bare, window=1)


def test_a_plateau_is_found(tmp_path: Path) -> None:
    means = [0.1, 0.3, 0.5, 0.7, 0.7, 0.7, 0.7, 0.7]
    row = when_to_stop(written(tmp_path, means, noise=0.02)).iloc[0]
    assert (row["verdict"], row["stop_after_step"], row["num_validations"]) == ("no gain shown", 30, 8)
    assert row["num_looks"] == 6
    assert row["confidence"] == pytest.approx(1 - 0.05 / 6)
    assert (row["window_from_step"], row["window_spent"]) == (50, 20.0)
    assert row["window_ci_low"] < 0 < row["window_ci_high"]
    assert row["since_gain"] == pytest.approx(0.0, abs=1e-9)
    assert row["since_spent"] == 40.0


def test_a_run_that_still_gains_has_no_step_to_stop_after(tmp_path: Path) -> None:
    row = when_to_stop(written(tmp_path, [0.1, 0.2, 0.3, 0.4, 0.5], noise=0.02)).iloc[0]
    assert row["verdict"] == "gain"
    assert np.isnan(float(row["since_gain"]))
    assert row["window_gain"] == pytest.approx(0.2, abs=1e-9)


def test_a_run_that_only_loses_says_so(tmp_path: Path) -> None:
    row = when_to_stop(written(tmp_path, [0.5, 0.4, 0.3, 0.2, 0.1], noise=0.02)).iloc[0]
    assert (row["verdict"], row["stop_after_step"]) == ("loss", 0)


def test_too_few_validations_or_samples_are_said(tmp_path: Path) -> None:
    few = when_to_stop(written(tmp_path / "few", [0.1, 0.5, 0.9], noise=0.02)).iloc[0]
    assert (few["verdict"], few["reason"]) == ("too few", "4 validations are needed, 3 here")
    one = when_to_stop(written(tmp_path / "one", [0.1, 0.3, 0.5, 0.7], samples=1)).iloc[0]
    assert (one["verdict"], one["reason"]) == ("too few", "one value has no spread")
    rows = [rollout(sample_id=f"s{step}", split="valid", step=step, reward=0.5) for step in range(5)]
    apart = when_to_stop(build_store(tmp_path / "apart", rows)).iloc[0]
    assert apart["reason"] == "no sample is scored at all of these validations"
    assert when_to_stop(build_store(tmp_path / "none", [rollout(reward=1.0)])).empty


def test_noise_alone_shows_a_gain_no_more_often_than_it_may(tmp_path: Path) -> None:
    flat = [each for seed in range(40) for each in _named(run([0.5] * 7, noise=0.1, seed=seed), f"r{seed:02}")]
    frame = when_to_stop(build_store(tmp_path, flat))
    assert len(frame) == 40
    # Means are made equal exactly, so that what is left to chance is smaller still: no run claims anything.
    assert not frame["verdict"].isin(["gain", "loss"]).any()


def _named(rollouts: list[Rollout], name: str) -> list[Rollout]:
    for each in rollouts:
        each.run = name
    return rollouts
