"""What speaks against the best checkpoint: each warning with its evidence, and none in flat noise."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from ingest.sources.base import Rollout, Row
from queries.checkpoint_warnings import checkpoint_warnings
from tests.stores import build_store, call, rollout


def run(
    means: dict[int, float], *, split: str = "valid", samples: int = 24, name: str = "r", **values: Any
) -> list[Rollout]:
    """Samples that differ from a step's mean by the same amounts everywhere, but for a little noise of their own."""
    spread = np.linspace(-0.05, 0.05, samples)
    noise = np.random.default_rng(4).normal(0, 0.01, (len(means), samples))
    return [
        rollout(
            name, step=step, sample_id=f"s{n}", split=split, reward=float(mean + spread[n] + noise[at, n]), **values
        )
        for at, (step, mean) in enumerate(means.items())
        for n in range(samples)
    ]


def found(tmp_path: Path, rollouts: Sequence[Rollout], rows: Sequence[Row] = ()) -> dict[str, dict[str, Any]]:
    frame = checkpoint_warnings(build_store(tmp_path, rollouts, rows))
    names = frame["warning"] + np.where(frame["measure"] == "train_reward", " (train)", "")
    return dict(zip(names, frame.to_dict("records"), strict=True))


def test_a_rise_that_goes_on_is_said_with_what_was_gained(tmp_path: Path) -> None:
    said = found(tmp_path, run({0: 0.3, 5: 0.5, 10: 0.7}))
    assert list(said) == ["last_is_best"]
    row = said["last_is_best"]
    assert (row["step"], row["reference_step"], row["num_samples"]) == (10, 0, 24)
    assert row["difference"] == pytest.approx(0.4, abs=0.01)
    assert 0 < row["ci_low"] < row["difference"] < row["ci_high"]


def test_overfitting_is_a_fall_while_the_train_reward_holds(tmp_path: Path) -> None:
    train = run({step: 0.4 + 0.02 * step for step in range(20)}, split="train", samples=4)
    said = found(tmp_path, [*run({0: 0.3, 8: 0.7, 19: 0.6}), *train])
    assert list(said) == ["overfit", "overfit (train)"]
    fall, rise = said["overfit"], said["overfit (train)"]
    assert (fall["step"], fall["reference_step"]) == (19, 8)
    assert fall["difference"] == pytest.approx(-0.1, abs=0.01)
    assert fall["ci_high"] < 0
    # Steps 0–8 average .48, of the later ones the last ten .69.
    assert (rise["reference_value"], rise["value"]) == (pytest.approx(0.48, abs=0.01), pytest.approx(0.69, abs=0.01))
    assert rise["ci_low"] > 0


def test_a_fall_of_both_is_no_overfitting(tmp_path: Path) -> None:
    train = run({step: 0.4 + 0.02 * min(step, 18 - step) for step in range(20)}, split="train", samples=4)
    falling = run({step: (0.8 if step < 9 else 0.3) for step in range(20)}, split="train", samples=4)
    assert list(found(tmp_path / "a", [*run({0: 0.3, 8: 0.7, 19: 0.6}), *falling])) == ["fallen"]
    assert list(found(tmp_path / "b", run({0: 0.3, 8: 0.7, 19: 0.6}))) == ["fallen"]
    assert "overfit" in found(tmp_path / "c", [*run({0: 0.3, 8: 0.7, 19: 0.6}), *train])


def test_train_batches_do_not_overfit_beside_themselves(tmp_path: Path) -> None:
    frame = checkpoint_warnings(build_store(tmp_path, run({0: 0.3, 8: 0.7, 19: 0.6}, split="train")), split="train")
    assert frame["warning"].tolist() == ["fallen"]


def test_a_collapse_is_below_the_first_or_loses_most_of_the_gain(tmp_path: Path) -> None:
    below = found(tmp_path / "a", run({0: 0.5, 5: 0.6, 10: 0.2}))["collapse"]
    assert (below["step"], below["reference_step"]) == (10, 0)
    assert below["difference"] == pytest.approx(-0.3, abs=0.01)
    assert below["reference_value"] == pytest.approx(0.5, abs=0.01)
    most = found(tmp_path / "b", run({0: 0.3, 5: 0.7, 10: 0.4}))["collapse"]
    assert (most["step"], most["reference_step"]) == (10, 5)
    assert most["difference"] == pytest.approx(-0.3, abs=0.01)
    assert "collapse" not in found(tmp_path / "c", run({0: 0.3, 5: 0.7, 10: 0.6}))


def calls(number: int) -> dict[str, Any]:
    return {
        "messages": [{"role": "assistant", "text": "x"}],
        "tool_calls": [call("t", f'{{"n": {n}}}') for n in range(number)],
    }


def test_calls_and_output_that_fall_to_nothing(tmp_path: Path) -> None:
    rows = [
        *run({0: 0.5}, output_tokens=900, **calls(3)), *run({1: 0.5}, output_tokens=700, **calls(2)),
        *run({2: 0.5}, output_tokens=20, **calls(0)),
    ]  # fmt: skip
    said = found(tmp_path, rows)
    assert list(said) == ["calls_gone", "output_gone", "no_calls"]
    row = said["calls_gone"]
    assert (row["step"], row["value"], row["reference_step"], row["reference_value"]) == (2, 0.0, 0, 3.0)
    assert (said["output_gone"]["value"], said["output_gone"]["reference_value"]) == (20.0, 900.0)
    assert (said["no_calls"]["value"], said["no_calls"]["reference_value"]) == (1.0, 0.0)


def test_attempts_that_all_agree_where_they_did_not(tmp_path: Path) -> None:
    def repeated(step: int, apart: float) -> list[Rollout]:
        rewards = [(n, attempt) for n in range(30) for attempt in range(2)]
        return [
            rollout("r", step=step, sample_id=f"s{n}", split="valid", reward=n / 100 + apart * attempt)
            for n, attempt in rewards
        ]

    said = found(tmp_path, [*repeated(0, 0.1), *repeated(1, 0.0)])
    assert "attempts_alike" in said
    row = said["attempts_alike"]
    assert (row["value"], row["reference_value"], row["num_samples"]) == (1.0, 0.0, 30)


def test_failures_may_decide_which_is_best(tmp_path: Path) -> None:
    good = run({0: 0.50, 1: 0.52})
    failed = [
        rollout("r", step=1, sample_id=f"f{n}", split="valid", reward=0.0, status="infra_error") for n in range(4)
    ]
    also = [rollout("r", step=0, sample_id=f"f{n}", split="valid", reward=0.5) for n in range(4)]
    row = found(tmp_path, [*good, *failed, *also])["failures_decide"]
    assert (row["step"], row["reference_step"]) == (1, 0)
    assert (row["value"], row["reference_value"]) == (pytest.approx(0.52, abs=0.005), pytest.approx(0.5, abs=0.005))


def test_the_nearest_saved_checkpoint_is_named_where_the_best_was_not_saved(tmp_path: Path) -> None:
    saved = [Row("checkpoints", {"step": step, "checkpoint_id": f"c{step}"}, run="r") for step in (0, 8, 99)]
    rollouts = run({0: 0.3, 5: 0.7, 8: 0.66, 10: 0.69})
    row = found(tmp_path / "a", rollouts, saved)["not_saved"]
    assert (row["step"], row["reference_step"]) == (5, 8)
    assert row["difference"] == pytest.approx(0.04, abs=0.01)
    assert 0 < row["ci_low"] < row["ci_high"]
    assert "not_saved" not in found(tmp_path / "b", rollouts)
    own = [*saved, Row("checkpoints", {"step": 5, "checkpoint_id": "c5"}, run="r")]
    assert "not_saved" not in found(tmp_path / "c", rollouts, own)


def test_few_samples_and_single_steps(tmp_path: Path) -> None:
    assert found(tmp_path / "a", run({3: 0.5}, samples=5))["few_samples"]["num_samples"] == 5
    assert found(tmp_path / "b", run({3: 0.5}, samples=1, status=None))["few_samples"]["value"] == pytest.approx(
        0.45, abs=0.05
    )
    assert found(tmp_path / "c", [rollout("r", step=1, sample_id="a", split="valid")]) == {}


def test_flat_noise_is_warned_of_in_nothing(tmp_path: Path) -> None:
    generator = np.random.default_rng(11)
    rollouts = []
    for number in range(30):
        drawn = (generator.random((11, 30)) < 0.5).astype(float)
        calls_of = generator.poisson(4, (11, 30))
        for step in range(11):
            rollouts += [
                rollout(f"r{number}", step=5 * step, sample_id=f"s{n}", split="valid", reward=float(drawn[step, n]),
                        output_tokens=int(900 + 50 * drawn[step, n]), **calls(int(calls_of[step, n])))
                for n in range(30)
            ]  # fmt: skip
            rollouts += [
                rollout(f"r{number}", step=5 * step, sample_id=f"t{step}-{n}", split="train",
                        reward=float(generator.random()))
                for n in range(4)
            ]  # fmt: skip
    frame = checkpoint_warnings(build_store(tmp_path, rollouts))
    assert isinstance(frame, pd.DataFrame)
    # Thirty runs: one false alarm in forty is allowed for, so two are likely to be an error.
    assert frame["run_id"].nunique() <= 1
