"""What the reward is made of: parts, gates, losses and other weights, against rows computed by hand."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from ingest.errors import QuestionError
from queries.connection import Reading
from queries.filters import Filters
from queries.reward_parts import reward_gates, reward_parts, reward_waterfall
from queries.whatif import kendall_tau, reward_whatif
from tests.stores import build_store, rollout

WEIGHTS = {"answer": 0.75, "style": 0.25}


def graded(sample: str, answer: float, style: float, reward: float | None = None, **values: Any) -> Any:
    """A rollout of two weighted parts; its reward is their sum unless given."""
    parts = {"answer": answer, "style": style}
    scores = [
        {"grader": f"r/{name}", "value": value, "kind": "subscore", "weight": WEIGHTS[name]}
        for name, value in parts.items()
    ]
    total = sum(WEIGHTS[name] * value for name, value in parts.items()) if reward is None else reward
    scores.append({"grader": "r", "value": total, "kind": "reward", "weight": 1.0})
    return rollout(sample_id=sample, reward=total, scores=scores, split=values.pop("split", "valid"), **values)


@pytest.fixture
def summed(tmp_path: Path) -> Reading:
    return build_store(tmp_path, [graded("a", 1.0, 0.0), graded("a", 0.0, 1.0), graded("b", 1.0, 1.0)])


def gated(tmp_path: Path) -> Reading:
    """Without an answer nothing is paid, 24 times of 40."""
    rows = [graded(f"s{each}", 0.0, 0.8, reward=0.0) for each in range(24)]
    return build_store(tmp_path, rows + [graded(f"s{each}", 1.0, 0.4 + 0.4 * (each % 2)) for each in range(24, 40)])


def test_parts_and_what_each_contributes(summed: Reading) -> None:
    frame = reward_parts(summed).set_index("grader")
    answer = frame.loc["r/answer"]
    # Mean over samples: (½ + 1) / 2, deviation √⅛.
    assert answer[["score_mean", "num_rollouts", "num_samples", "weight"]].tolist() == [0.75, 3, 2, 0.75]
    assert answer["score_ci_high"] == pytest.approx(0.75 + stats.t.ppf(0.975, 1) * 0.125**0.5 / 2**0.5)
    assert answer[["share_low", "share_high"]].tolist() == pytest.approx([1 / 3, 2 / 3])
    # Within sample a: answer (1, 0), reward (.75, .25); style the other way round.
    assert answer["correlation"] == pytest.approx(1.0)
    assert frame.loc["r/style", "correlation"] == pytest.approx(-1.0)
    assert frame.loc[["r/answer", "r/style"], "variance_share"].sum() == pytest.approx(1.0)
    assert answer["r_squared"] == pytest.approx(np.corrcoef([1, 0, 1], [0.75, 0.25, 1.0])[0, 1] ** 2)
    assert frame["is_total"].tolist() == [True, False, False]


def test_losses_sum_from_the_ideal_to_the_reward(summed: Reading) -> None:
    frame = reward_waterfall(summed)
    assert frame["loss"].tolist() == ["failures", "r/answer", "r/style", "rest"]
    # Sample a loses .375 of the answer and .125 of the style on average, b nothing.
    assert frame["lost_mean"].tolist() == pytest.approx([0.0, 0.1875, 0.0625, 0.0])
    assert frame["left_mean"].tolist() == pytest.approx([1.0, 0.8125, 0.75, 0.75])
    assert set(frame["actual_mean"]) == {0.75}
    assert set(frame["num_rollouts"]) == {3}
    assert pd.isna(frame["lost_ci_low"].iloc[0])  # nobody failed: no spread


def test_a_gate_is_found_and_takes_all(tmp_path: Path) -> None:
    store = gated(tmp_path)
    gates = reward_gates(store).set_index("grader")
    row = gates.loc["r/answer"]
    assert row[["is_gate", "bound", "num_below", "num_held", "num_above", "num_above_low"]].tolist() == [
        True,
        1.0,
        24,
        24,
        16,
        0,
    ]
    assert row["chance"] == pytest.approx(0.6**24)
    assert not gates.loc["r/style", "is_gate"]
    frame = reward_waterfall(store)
    assert frame[["loss", "kind"]].iloc[1].tolist() == ["r/answer", "gate"]
    # 24 of 40 lose 1 at the gate, the others .25 · .4 on average for style.
    assert frame["lost_mean"].tolist() == pytest.approx([0.0, 0.6, 0.0, 0.04, 0.0])


def test_few_held_rollouts_are_no_gate(tmp_path: Path) -> None:
    rows = [graded("a", 0.0, 0.8, reward=0.0), *(graded(f"s{each}", 1.0, 0.5) for each in range(9))]
    assert not reward_gates(build_store(tmp_path, rows))["is_gate"].any()


def test_a_formula_that_is_not_told_leaves_a_rest(tmp_path: Path) -> None:
    rows = [graded(each, 0.5, 0.5, reward=0.9) for each in "ab"]
    frame = reward_waterfall(build_store(tmp_path, rows))
    assert frame.set_index("loss")["lost_mean"].to_dict() == pytest.approx(
        {"failures": 0.0, "r/answer": 0.375, "r/style": 0.125, "rest": -0.4}
    )


def test_failures_lose_all_to_failures(tmp_path: Path) -> None:
    store = build_store(tmp_path, [graded("a", 1.0, 1.0), graded("b", 0.0, 0.0, status="infra_error")])
    assert reward_waterfall(store)["lost_mean"].tolist() == pytest.approx([0.5, 0.0, 0.0, 0.0])


def test_other_weights_change_the_best(tmp_path: Path) -> None:
    rows = [graded(f"s{each}", 0.2 + each / 40, 1.0, step=0) for each in range(10)]
    rows += [graded(f"s{each}", 0.6 + each / 50, 0.0, step=5) for each in range(10)]
    rows += [graded("s0", 0.4, 0.4, step=5, split="train")]
    frame = reward_whatif(build_store(tmp_path, rows), Filters(splits=("valid",)), weights=("answer=1", "style=0"))
    assert frame["step"].tolist() == [0, 5]
    assert frame["stored_mean"].tolist() == pytest.approx([0.75 * 0.3125 + 0.25, 0.75 * 0.69])
    assert frame["new_mean"].tolist() == pytest.approx([0.3125, 0.69])
    assert frame["new_rank"].tolist() == [2, 1]
    assert frame["stored_rank"].tolist() == [2, 1]
    assert frame["kendall_tau"].tolist() == [1.0, 1.0]
    turned = reward_whatif(build_store(tmp_path / "b", rows), Filters(splits=("valid",)), weights=("style=1",))
    row = turned.iloc[0]
    assert row[["new_rank", "kendall_tau", "best_changes", "best_delta"]].tolist() == [1, -1.0, True, 1.0]
    assert not row["is_beyond_noise"]  # every difference is 1: no spread, no interval


def test_a_gate_of_the_readers_own_and_missing_parts(tmp_path: Path) -> None:
    rows = [
        graded("a", 0.4, 1.0),
        graded("b", 0.8, 1.0),
        rollout(
            sample_id="c", reward=1.0, split="valid", scores=[{"grader": "r/answer", "value": 1.0, "kind": "subscore"}]
        ),
    ]
    store = build_store(tmp_path, rows)
    row = reward_whatif(store, weights=("answer=1", "style=1"), gates=("answer>=0.5",)).iloc[0]
    assert row[["new_mean", "num_samples", "num_rollouts", "num_missing"]].tolist() == pytest.approx([0.9, 2, 2, 1])


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        ((), "needs weights"),
        (("answer",), "a weight is written GRADER=NUMBER, not 'answer'"),
        (("answer=x",), "a weight is written GRADER=NUMBER"),
        (("answer=nan",), "a weight is written GRADER=NUMBER"),
        (("quality=1",), "there is no grader 'quality'; there are r, r/answer, r/style"),
        (("answer=1", "r/answer=2"), "'r/answer' is given twice"),
    ],
)
def test_weights_that_are_not_understood(summed: Reading, weights: tuple[str, ...], said: str) -> None:
    with pytest.raises(QuestionError, match=said):
        reward_whatif(summed, weights=weights)


def test_nothing_scored_has_no_parts(tmp_path: Path) -> None:
    store = build_store(tmp_path, [rollout(sample_id="a"), rollout(sample_id="b", reward=1.0)])
    for empty in (reward_parts(store), reward_gates(store), reward_waterfall(store)):
        assert empty.empty
    assert reward_whatif(store, weights=("answer=1",)).empty
    with pytest.raises(QuestionError, match="by must be one of"):
        reward_parts(store, by="month")


def test_kendalls_tau_is_that_of_scipy() -> None:
    first, second = np.array([0.1, 0.5, 0.5, 0.9, np.nan]), np.array([0.2, 0.1, 0.6, 0.7, 1.0])
    assert kendall_tau(first, second) == pytest.approx(stats.kendalltau(first[:4], second[:4]).statistic)
    assert kendall_tau(first[:1], second[:1]) is None


def test_a_failed_rollout_without_parts_is_a_loss_and_a_part_that_is_missing(tmp_path: Path) -> None:
    dead = rollout(sample_id="a", reward=0.0, status="infra_error", split="valid")
    store = build_store(tmp_path, [graded("a", 1.0, 1.0), dead, graded("b", 1.0, 0.0)])
    frame = reward_waterfall(store).set_index("loss")
    # Sample a loses (0 + 1) / 2 to the failure, sample b nothing; of style b loses ¼.
    assert frame.loc["failures", ["num_rollouts", "lost_mean", "actual_mean"]].tolist() == [3, 0.25, 0.625]
    assert frame["lost_mean"].sum() == pytest.approx(1 - 0.625)
    assert reward_whatif(store, weights=("r/answer=1", "r/style=0"))["num_missing"].tolist() == [1]
