"""Environments and agents that move in opposite directions: planted, told, and not seen where nothing moves."""

from pathlib import Path

import pandas as pd
import pytest

from ingest.errors import QuestionError
from queries.connection import Reading
from queries.filters import Filters
from queries.opposite import compare_opposite, opposite_movements
from tests.stores import build_store, call, rollout


def noise(sample: int) -> float:
    """A little spread between samples, mean 0 over ten of them."""
    return (sample % 10 - 4.5) / 100


@pytest.fixture
def store(tmp_path: Path) -> Reading:
    """Ten samples each: the reward of `up` rises by .3, that of `down` falls by .3, and calls move the other way."""
    rows = []
    for step in (0, 5):
        for name, sign in (("up", 1), ("down", -1)):
            for sample in range(10):
                reward = 0.5 + (sign * 0.3 + noise(sample) if step else 0.0)
                calls = [call("t")] * (3 - sign + sample % 2 if step else 3)
                facts = {"environment": name, "split": "valid", "step": step, "reward": reward}
                rows.append(rollout(sample_id=str(sample), messages=[], tool_calls=[dict(c) for c in calls], **facts))
    return build_store(tmp_path, rows)


def test_movements_that_cancel_in_the_total_are_told(store: Reading) -> None:
    frame = opposite_movements(store)
    reward = frame[frame["measure"] == "reward"].set_index("part")
    assert reward.loc["up", "delta_mean"] == pytest.approx(0.3)
    assert reward.loc["down", "delta_mean"] == pytest.approx(-0.3)
    assert reward["moves"].to_dict() == {"down": "down", "up": "up"}
    assert reward["total_delta"].tolist() == pytest.approx([0.0, 0.0], abs=1e-12)
    assert reward["cancelled"].tolist() == pytest.approx([1.0, 1.0])
    assert reward["is_cancelling"].all()
    # sd of the noise .030277 over ten samples, t(9) = 2.2622.
    assert reward.loc["up", "delta_ci_low"] == pytest.approx(0.3 - 2.26216 * 0.0302765 / 10**0.5, abs=1e-5)
    calls = frame[frame["measure"] == "tool_calls"].set_index("part")
    assert calls["delta_mean"].to_dict() == {"down": 1.5, "up": -0.5}
    assert calls["is_opposite"].all()
    assert calls["cancelled"].iloc[0] == pytest.approx(0.5)
    assert (frame["p_value_holm"] >= frame["p_value"]).all()


def test_arms_are_compared_alike(store: Reading) -> None:
    frame = compare_opposite(store, baseline="r@0", candidate="r@5")
    same = opposite_movements(store)
    names = ["measure", "part", "num_paired", "delta_mean", "moves", "total_delta", "cancelled", "is_cancelling"]
    order = ["measure", "part"]
    pd.testing.assert_frame_equal(
        frame[names].sort_values(order, ignore_index=True),
        same[names].sort_values(order, ignore_index=True),
        check_dtype=False,
    )
    assert compare_opposite(store, baseline="r@0", candidate="r@5", environments=("up",)).empty


def test_agents_of_one_rollout_have_calls_of_their_own(tmp_path: Path) -> None:
    rows = []
    for step in (0, 1):
        for sample in range(8):
            lead, worker = (3, 1) if step == 0 else (1, 3 + sample % 2)
            calls = [call("plan", agent="lead")] * lead + [call("edit", agent="worker")] * worker
            facts = {"split": "valid", "step": step, "reward": 0.5}
            rows.append(rollout(sample_id=str(sample), messages=[], tool_calls=[dict(c) for c in calls], **facts))
            rows.append(rollout(sample_id=str(sample), messages=[], tool_calls=[], **facts))
    frame = opposite_movements(build_store(tmp_path, rows), apart="agent").set_index("part")
    # Per rollout, and half of the rollouts have no call: the lead loses 1, the worker gains 1.25, together .25.
    assert frame["delta_mean"].to_dict() == {"lead": -1.0, "worker": 1.25}
    assert frame["total_delta"].tolist() == [0.25, 0.25]
    assert set(frame["measure"]) == {"tool_calls"}
    # Every sample's lead lost as much: without a spread there is no test, and nothing is said to move.
    assert frame.loc["worker", "moves"] == "up"
    assert pd.isna(frame.loc["lead", "moves"])
    assert not frame["is_opposite"].any()


def test_nothing_is_told_without_two_parts_or_two_steps(tmp_path: Path) -> None:
    one = build_store(tmp_path / "a", [rollout(sample_id="a", environment="x", split="valid", step=s) for s in (0, 1)])
    flat = build_store(tmp_path / "b", [rollout(sample_id="a", environment=e, split="valid", reward=1) for e in "xy"])
    for store in (one, flat):
        frame = opposite_movements(store)
        assert frame.empty
        assert "is_cancelling" in frame
        assert opposite_movements(store, Filters(run_ids=("other",)), apart="agent").empty
    with pytest.raises(QuestionError, match="apart must be one of"):
        opposite_movements(one, apart="tool")
