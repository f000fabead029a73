"""Answers that pages ask for: several at the same time are the same answers, and a fault is said where it is asked."""

from pathlib import Path

import pandas as pd
import pytest

from dashboard import data
from ingest.errors import QuestionError
from queries.curves import reward_curve, scores_by_step
from queries.filters import EVERYTHING
from tests.stores import build_store, rollout


def test_answers_asked_ahead_are_those_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scores = [{"grader": "g", "kind": "reward", "value": 0.25}]
    store = build_store(tmp_path, [rollout(step=step, sample_id="a", reward=0.5, scores=scores) for step in (0, 1)])
    asked: list[str] = []
    named = data.named
    monkeypatch.setenv("OBSERVATORY_STORE", str(tmp_path))
    monkeypatch.setattr(data, "named", lambda name: asked.append(name) or named(name))
    data.ask_ahead(EVERYTHING, "reward_curve", "scores_by_step", "no_such_question")
    pd.testing.assert_frame_equal(data.ask("reward_curve", EVERYTHING), reward_curve(store))
    pd.testing.assert_frame_equal(data.ask("scores_by_step", EVERYTHING), scores_by_step(store))
    assert sorted(asked) == ["no_such_question", "reward_curve", "scores_by_step"]
    with pytest.raises(QuestionError, match="no question"):
        data.ask("no_such_question", EVERYTHING)
