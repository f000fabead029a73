"""Known bad patterns: found where they are planted, silent on healthy runs, and unsaid where too little is known."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from ingest.sources.base import Row
from queries.connection import Reading
from queries.filters import Filters
from queries.health_patterns import health_patterns
from tests.stores import build_store, rollout

NOW = datetime.now(UTC)


def reported(name: str, values: Any, run: str = "r", **more: Any) -> list[Row]:
    return [
        Row(
            "metrics",
            {"name": name, "value": None if value is None else float(value), "step": step, "position": step, **more},
            run=run,
        )
        for step, value in enumerate(values)
    ]


def verdicts(store: Reading, filters: Filters | None = None) -> pd.DataFrame:
    return health_patterns(store, filters or Filters()).set_index("pattern")


def found(store: Reading) -> list[str]:
    frame = health_patterns(store)
    return frame.loc[frame["verdict"] == "found", "pattern"].tolist()


def noisy(level: Any, num: int = 30, by: float = 0.05, seed: int = 0) -> Any:
    return np.broadcast_to(level, num) * np.random.default_rng(seed).normal(1, by, num)


def test_a_collapse_says_from_when_and_by_how_much(tmp_path: Path) -> None:
    entropy = [1.0] * 10 + [0.3] * 10
    row = verdicts(build_store(tmp_path, rows=reported("entropy", entropy))).loc["entropy_collapse"]
    assert (row["verdict"], row["before"], row["after"], row["num_steps"]) == ("found", 1.0, 0.3, 20)
    assert row["threshold"] == pytest.approx(0.35)
    # Windows of 4: the median of the last four is .65 at step 11, and .3 from step 12 on.
    assert (row["from_step"], row["to_step"], row["name"], row["source"]) == (12, 19, "entropy", "reported")


FOUND = {
    "entropy_collapse": ("entropy", np.linspace(1, 0.1, 30)),
    "length_explosion": ("response_length/mean", np.linspace(500, 1500, 30)),
    "mismatch_growth": ("mismatch_kl/all/mean", np.linspace(0.002, 0.05, 30)),
    "kl_blow_up": ("kl", np.concatenate([np.full(22, 0.02), np.linspace(0.5, 4, 8)])),
    "gradient_spikes": ("optim/grad_norm", np.where(np.arange(30) % 12 == 11, 20, 0.5)),
    "clip_fraction_high": ("actor/pg_clipfrac", np.linspace(0.05, 0.6, 30)),
    "stale_policy": ("async/staleness_mean", np.linspace(1, 14, 30)),
    "zero_variance_rising": ("frac_reward_zero_std", np.linspace(0.2, 0.8, 30)),
    "truncation_rising": ("completions/clipped_ratio", np.linspace(0.0, 0.4, 30)),
    "errors_rising": ("error_rate", np.linspace(0.0, 0.2, 30)),
}


def test_each_pattern_is_found_through_noise_and_no_other(tmp_path: Path) -> None:
    rows = [
        row
        for pattern, (name, values) in FOUND.items()
        for seed in range(3)
        for row in reported(name, noisy(values, seed=seed), run=f"{pattern}.{seed}")
    ]
    frame = health_patterns(build_store(tmp_path, rows=rows))
    bad = frame[frame["verdict"] == "found"]
    assert bad["pattern"].tolist() == bad["run_id"].str.partition(".")[0].tolist()
    assert len(bad) == 3 * len(FOUND)


HEALTHY = {
    "entropy": np.linspace(0.9, 0.5, 30),
    "response_length/mean": np.linspace(500, 800, 30),
    "mismatch_kl/all/mean": np.full(30, 0.004),
    "kl": np.linspace(0.001, 0.15, 30),
    "grad_norm": np.where(np.arange(30) == 17, 2.5, 0.5),
    "clip_ratio/region_mean": np.full(30, 0.1),
    "async/staleness_mean": np.full(30, 2.0),
    "frac_reward_zero_std": np.linspace(0.2, 0.45, 30),
    "completions/clipped_ratio": np.full(30, 0.03),
    "error_rate": np.full(30, 0.02),
    "reward": np.linspace(0.3, 0.7, 30),
}


def test_healthy_runs_show_nothing(tmp_path: Path) -> None:
    rows = [
        row
        for seed in range(8)
        for at, (name, values) in enumerate(HEALTHY.items())
        for row in reported(name, noisy(values, by=0.15, seed=100 * seed + at), run=f"r{seed}")
    ]
    assert found(build_store(tmp_path, rows=rows)) == []


def test_too_few_steps_cannot_be_said(tmp_path: Path) -> None:
    rows = reported("entropy", [1.0, 0.9, 0.01])
    frame = verdicts(build_store(tmp_path, rows=rows))
    assert frame.loc["entropy_collapse", "reason"] == "3 steps with a value, 10 needed"
    assert frame.loc["kl_blow_up", "reason"] == "not reported, and nothing to compute it from"
    assert set(frame["verdict"]) <= {"cannot be said", "not found"}


def test_growth_that_earns_reward_is_no_explosion(tmp_path: Path) -> None:
    rows = reported("response_length", np.linspace(500, 2000, 30))
    assert found(build_store(tmp_path / "alone", rows=rows)) == ["length_explosion"]
    rows += reported("eval/reward", noisy(np.linspace(0.2, 0.8, 30)))
    row = verdicts(build_store(tmp_path / "earning", rows=rows)).loc["length_explosion"]
    assert (row["verdict"], row["reason"]) == ("not found", "the reward rose with it")


RISING = np.linspace(0.3, 0.8, 30)


def rewards(valid: Any, train: Any = RISING, **more: Any) -> list[Any]:
    rng = np.random.default_rng(3)
    rows = []
    for step, value in enumerate(train):
        draws = rng.normal(value, 0.05, 6)
        rows += [
            rollout(sample_id=f"t{step}-{n}", step=step, split="train", reward=each, **more)
            for n, each in enumerate(draws)
        ]
    for step in (0, 29):
        draws = rng.normal(0, 0.02, 30) + (np.arange(30) / 60 + valid * step / 29)
        rows += [
            rollout(sample_id=f"v{n}", step=step, split="valid", reward=each, **more) for n, each in enumerate(draws)
        ]
    return rows


def test_train_reward_up_while_validation_is_flat(tmp_path: Path) -> None:
    row = verdicts(build_store(tmp_path, rewards(valid=0.0))).loc["flat_validation"]
    assert row["verdict"] == "found"
    assert row["before"] == pytest.approx(0.42, abs=0.05)  # windows of six of thirty steps from .3 to .8
    assert row["threshold"] == pytest.approx(row["before"] / 2)
    assert row["ci_low"] < 0
    assert row["ci_high"] < row["threshold"]


def test_validation_that_rises_too_is_fine(tmp_path: Path) -> None:
    frame = verdicts(build_store(tmp_path, rewards(valid=0.3)))
    assert frame.loc["flat_validation", "verdict"] == "not found"
    assert frame.loc["no_learning", "verdict"] == "not found"


def test_a_wide_interval_is_no_flat_validation(tmp_path: Path) -> None:
    rows = [each for each in rewards(valid=0.0) if each.values["split"] == "train"]
    rng = np.random.default_rng(4)
    rows += [
        rollout(sample_id=f"v{n}", step=step, split="valid", reward=float(rng.normal(0.5, 0.5)))
        for step in (0, 29)
        for n in range(5)
    ]
    row = verdicts(build_store(tmp_path, rows)).loc["flat_validation"]
    assert row["verdict"] == "cannot be said"
    assert row["reason"] == "its interval holds both no rise and half of the train batch's"


def test_no_rise_in_reward(tmp_path: Path) -> None:
    flat = rewards(valid=0.0, train=np.full(30, 0.5))
    row = verdicts(build_store(tmp_path, flat)).loc["no_learning"]
    assert row["verdict"] == "found"
    assert row["ci_high"] < row["threshold"]


def test_a_reward_that_falls_back(tmp_path: Path) -> None:
    values = np.concatenate([np.linspace(0.2, 0.8, 20), np.linspace(0.7, 0.2, 10)])
    row = verdicts(build_store(tmp_path, rows=reported("reward", noisy(values)))).loc["reward_collapse"]
    assert row["verdict"] == "found"
    assert row["before"] > 0.7 > 0.4 > row["after"]
    assert 22 <= row["from_step"] <= 29


def test_a_new_grader_makes_rewards_incomparable(tmp_path: Path) -> None:
    rows = []
    for step in range(30):
        old = step < 15
        rows += [
            rollout(
                sample_id=f"{n}",
                step=step,
                split="train",
                reward=(0.8 if old else 0.3) + n / 100,
                grader_version="1" if old else "2",
            )
            for n in range(4)
        ]
    frame = verdicts(build_store(tmp_path, rows))
    assert frame.loc["reward_collapse", ["verdict", "reason"]].tolist() == [
        "cannot be said",
        "the grader changed at step 15, so rewards before and after do not compare",
    ]


def test_mismatch_that_grows_after_tool_results(tmp_path: Path) -> None:
    def spoken(step: int, *, everywhere: bool) -> list[dict[str, Any]]:
        grown = 0.002 * (1 + step)
        first = grown if everywhere else 0.002
        return [
            {"role": "user"},
            {"role": "assistant", "mismatch_mean": -first, "mismatch_abs_mean": first},
            {"role": "tool"},
            {"role": "assistant", "mismatch_mean": grown, "mismatch_abs_mean": grown},
        ]

    for everywhere in (False, True):
        rows = [
            rollout(sample_id="a", step=step, split="train", messages=spoken(step, everywhere=everywhere))
            for step in range(20)
        ]
        row = verdicts(build_store(tmp_path / str(everywhere), rows)).loc["mismatch_after_tools"]
        assert row["verdict"] == ("not found" if everywhere else "found")
        assert row["other"] == pytest.approx(0.037 if everywhere else 0.002)  # of the last four steps


def test_metrics_that_become_null(tmp_path: Path) -> None:
    rows = reported("loss", [0.1] * 7 + [None] * 3) + reported("eval/reward", [0.5, None, None, None, 0.6, None, None])
    row = verdicts(build_store(tmp_path, rows=rows)).loc["nulls"]
    assert row[["verdict", "measure", "after", "from_step"]].tolist() == ["found", "loss", 3.0, 7]
    fine = reported("loss", [0.1] * 9 + [None]) + reported(
        "eval/reward", [0.5, None, None, None, 0.6, None, None, None]
    )
    assert verdicts(build_store(tmp_path / "fine", rows=fine)).loc["nulls", "verdict"] == "not found"


SILENT: dict[str, tuple[dict[str, Any], float, str]] = {
    "training": ({"kind": "training"}, 5, "found"),
    "unknown": ({}, 5, "found"),
    "going": ({"kind": "training"}, 0.2, "not found"),
    "long-ago": ({"kind": "training"}, 24 * 30, "not found"),  # so long that it is over
    "succeeded": ({"kind": "training", "status": "Succeeded"}, 5, "not found"),
    "ended": ({"kind": "training", "ended_at": NOW}, 5, "not found"),
    "evaluation": ({"kind": "evaluation"}, 5, "not found"),
}


def test_runs_that_take_no_new_step(tmp_path: Path) -> None:
    now = datetime.now(UTC)
    rows = []
    for run, (about, hours, _) in SILENT.items():
        rows.append(Row("runs", {"name": run, "precedence": 1, **about}, run=run))
        for step in range(12):
            at = now - timedelta(hours=hours, minutes=5 * (11 - step))
            rows += [
                replace(each, values=each.values | {"step": step})
                for each in reported("loss", [1.0], run, recorded_at=at)
            ]
    frame = health_patterns(build_store(tmp_path, rows=rows))
    silent = frame[frame["pattern"] == "not_alive"].set_index("run_id")
    assert silent["verdict"].to_dict() == {run: verdict for run, (_, _, verdict) in SILENT.items()}
    assert silent.loc["training", "before"] == pytest.approx(300)
    assert silent.loc["training", "after"] == pytest.approx(5 * 3600, rel=0.05)
    assert silent.loc["training", "threshold"] == 3000.0  # ten steps, which is more than half an hour


def test_runs_come_apart_and_filters_hold(tmp_path: Path) -> None:
    rows = reported("entropy", np.linspace(1, 0.1, 30), run="a") + reported("entropy", np.full(30, 1.0), run="b")
    store = build_store(tmp_path, rows=rows)
    frame = health_patterns(store)
    bad = frame[frame["verdict"] == "found"]
    assert bad[["run_id", "pattern"]].values.tolist() == [["a", "entropy_collapse"]]
    assert frame["run_id"].iloc[0] == "a"
    assert frame["pattern"].iloc[0] == "entropy_collapse"  # what was found comes first
    assert set(health_patterns(store, Filters(run_ids=("b",)))["run_id"]) == {"b"}


def test_runs_without_steps_have_no_patterns(tmp_path: Path) -> None:
    frame = health_patterns(build_store(tmp_path, [rollout(sample_id="a", reward=1.0)]))
    assert frame.empty
    assert "verdict" in frame
