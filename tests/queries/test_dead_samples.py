"""Which samples give nothing, why, and what would wake them, against rows computed by hand."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from ingest.sources.base import Rollout
from queries.dead_samples import ADVICE, dead_samples
from tests.stores import build_store, rollout


def attempts(sample: str, rewards: list[float | None], **values: Any) -> list[Rollout]:
    return [rollout(sample_id=sample, split="valid", reward=each, **values) for each in rewards]


def parts(*values: float) -> list[dict[str, Any]]:
    return [{"grader": f"g{number}", "value": each, "kind": "subscore"} for number, each in enumerate(values)]


def test_every_reason_and_its_evidence(tmp_path: Path) -> None:
    rows = [
        *attempts("broken", [None, None], status="infra_error"),
        *attempts("cut", [0, 0, 0], status="truncated"),
        rollout(sample_id="part", split="valid", reward=0.0, scores=parts(0.0, 0.5)),
        rollout(sample_id="part", split="valid", reward=0.0, scores=parts(0.0, 1.0)),
        *[rollout(sample_id="near", split="valid", reward=0.0, scores=parts(0.9, 1.0)) for _ in range(2)],
        *attempts("few", [0, 0, 0]),
        *attempts("hard", [0] * 40),
        *attempts("solved", [1] * 40),
        *attempts("mixed", [0, 1]),
        *attempts("once", [0]),
    ]
    frame = dead_samples(build_store(tmp_path, rows), arm="r").set_index("sample_id")
    assert frame["reason"].to_dict() == {
        "cut": "hits a limit",
        "part": "partial credit",
        "near": "near miss",
        "few": "few attempts",
        "hard": "too hard",
        "solved": "solved",
        "broken": "only failures",
    }
    assert frame.index.tolist() == ["cut", "part", "near", "few", "hard", "solved", "broken"]
    assert frame["advice"].tolist() == [ADVICE[each] for each in frame["reason"]]
    assert frame["side"].tolist() == ["low"] * 5 + ["high", "not scored"]
    assert frame.loc["part", ["varying_subscore", "best_partial"]].tolist() == ["g1", 0.5]
    assert frame.loc["part", "varying_subscore_sd"] == pytest.approx(0.5 / 2**0.5)
    assert frame.loc["near", "best_partial"] == pytest.approx(0.95)
    assert pd.isna(frame.loc["near", "varying_subscore"])
    # Eight samples with two attempts fit no prior: Beta(1, 1). n failures: none of m passes with (n+1)/(n+1+m).
    assert frame["attempts_needed"].tolist()[:6] == [4, 3, 3, 4, 41, 41]
    assert frame.loc["few", "success_chance"] == pytest.approx(1 / 5)
    assert frame.loc["cut", ["num_attempts", "num_limited"]].tolist() == [3, 3]
    assert pd.isna(frame.loc["broken", "attempts_needed"])
    assert frame.loc["broken", ["num_scored", "num_failed"]].tolist() == [0, 2]


def test_what_is_far_from_the_lowest_pass_is_no_near_miss(tmp_path: Path) -> None:
    def graded(sample: str, reward: float, *, passed: bool) -> list[Rollout]:
        return [rollout(sample_id=sample, split="valid", reward=reward, passed=passed) for _ in range(40)]

    rows = [*graded("far", 0.1, passed=False), *graded("near", 0.65, passed=False), *graded("good", 0.7, passed=True)]
    frame = dead_samples(build_store(tmp_path, rows), arm="r").set_index("sample_id")
    assert frame["gap_to_pass"].to_dict() == pytest.approx(
        {"near": 0.05, "far": 0.6, "good": float("nan")}, nan_ok=True
    )
    assert frame["reason"].to_dict() == {"near": "near miss", "far": "too hard", "good": "solved"}


def test_without_a_rule_of_success_sides_are_told_by_reward(tmp_path: Path) -> None:
    rows = [*attempts("a", [0.2, 0.2]), *attempts("b", [0.9, 0.9]), *attempts("c", [0.5, 0.5])]
    frame = dead_samples(build_store(tmp_path, rows), arm="r")
    assert frame[["sample_id", "side", "reason"]].values.tolist() == [
        ["a", "low", "too hard"],
        ["b", "high", "solved"],
        ["c", "same", "one reward"],
    ]
    assert frame[["attempts_needed", "success_chance", "gap_to_pass"]].isna().all().all()


def test_rewards_that_differ_are_not_dead_though_all_fail(tmp_path: Path) -> None:
    rows = [rollout(sample_id="a", reward=each, passed=False) for each in (0.1, 0.2)]
    assert dead_samples(build_store(tmp_path, rows), arm="r").empty
    assert dead_samples(build_store(tmp_path / "none", [rollout(reward=1.0)]), arm="r").empty
