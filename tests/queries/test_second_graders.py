"""Reward against a grader beside it: when they part, against rows computed by hand."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from ingest.errors import QuestionError
from queries.second_graders import second_grader
from tests.stores import build_store, rollout


def judged(sample: int, step: int, reward: float, second: float, grader: str = "expert", **values: Any) -> Any:
    scores = [{"grader": grader, "value": second, "kind": "label"}]
    return rollout(sample_id=f"s{sample}", step=step, reward=reward, split="valid", scores=scores, **values)


def steps(rises: tuple[float, ...], grader: str = "expert") -> list[Any]:
    """Ten samples at each step: the reward rises as given, the grader stays, turned around from step to step."""
    return [
        judged(each, step, each / 10 + rise + (each % 2 - 0.5) * step / 100, each / 10, grader)
        for step, rise in enumerate(rises)
        for each in range(10)
    ]


def test_a_reward_that_leaves_its_grader_behind_parts_from_it(tmp_path: Path) -> None:
    frame = second_grader(build_store(tmp_path, steps((0.0, 0.0, 0.5, 0.8))))
    assert frame["reading"].tolist() == ["together", "together", "the reward rises more", "the reward rises more"]
    assert set(frame["first_parting_step"]) == {2}
    last = frame.iloc[3]
    rewards = np.array(
        [
            each / 10 + rise + (each % 2 - 0.5) * step / 100
            for step, rise in enumerate((0.0, 0.0, 0.5, 0.8))
            for each in range(10)
        ]
    )
    changes = np.array([0.8 + (each % 2 - 0.5) * 0.03 for each in range(10)]) / rewards.std(ddof=1)
    assert last["gap"] == pytest.approx(changes.mean())
    half = stats.t.ppf(1 - 0.05 / 3 / 2, 9) * changes.std(ddof=1) / 10**0.5
    assert last["gap_ci_low"] == pytest.approx(changes.mean() - half)
    assert last[["reward_change", "second_change"]].tolist() == pytest.approx([changes.mean(), 0.0])


def test_a_grader_whose_high_values_are_bad_is_turned(tmp_path: Path) -> None:
    frame = second_grader(build_store(tmp_path, steps((0.0, 0.0), "hallucination")))
    assert frame["is_turned"].all()
    assert frame["second_mean"].tolist() == pytest.approx([0.45, 0.45])  # its own sign
    assert frame["second_ci_low"].iloc[0] < 0.45 < frame["second_ci_high"].iloc[0]
    kept = second_grader(build_store(tmp_path / "b", steps((0.0, 0.0), "hallucination")), lower_is_better=False)
    assert not kept["is_turned"].any()


def test_where_nothing_can_be_compared_it_is_said(tmp_path: Path) -> None:
    store = build_store(tmp_path, [judged(each, step, 1.0, 0.5) for step in (0, 1) for each in range(3)])
    frame = second_grader(store)
    assert frame["reason"].iloc[1] == "one of the two never differs: they cannot be compared"
    assert frame["first_parting_step"].isna().all()
    with pytest.raises(QuestionError, match="no rollout with a reward has a score of the grader 'other'"):
        second_grader(store, grader="other")


def test_without_a_grader_beside_the_reward_there_is_no_row(tmp_path: Path) -> None:
    scores = [{"grader": "r", "value": 1.0, "kind": "reward"}, {"grader": "num_calls", "value": 3.0, "kind": "metric"}]
    frame = second_grader(build_store(tmp_path, [rollout(sample_id="a", reward=1.0, step=0, scores=scores)]))
    assert frame.empty
    assert "gap" in frame


def test_steps_that_share_no_samples_are_compared_as_independent(tmp_path: Path) -> None:
    rows = [judged(each, 0, each / 10, each / 10) for each in range(6)]
    rows += [judged(each, 1, each / 10 % 0.6, (each * 7 % 6) / 10) for each in range(20, 26)]
    frame = second_grader(build_store(tmp_path, rows))
    assert pd.notna(frame["gap_ci_low"].iloc[1])
