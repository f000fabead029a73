"""Which rollouts are lost on the way to training: given rows against stages counted by hand."""

from pathlib import Path
from typing import Any

import pytest

from ingest.errors import QuestionError
from ingest.sources.base import Row
from queries.attrition import attrition, attrition_losses, attrition_rollouts, attrition_speed
from queries.filters import Filters
from tests.stores import build_store, rollout


def train(sample: str, **values: Any) -> Any:
    return rollout(**{"sample_id": sample, "split": "train", "step": 0, "environment": "e", **values})


KEPT: dict[str, Any] = {"status": "completed", "reward": 1.0, "advantage": 0.5, "subset": "effective"}
LOST: dict[str, Any] = {**KEPT, "subset": "all"}
ROWS = [
    train("a", **KEPT),
    train("a", **{**KEPT, "status": "infra_error", "reward": 0.0}),
    train("b", **{**LOST, "advantage": 0.0}),
    train("b", **LOST),
    train("c", **{**LOST, "status": "infra_error", "error_type": "SandboxError", "reward": None, "advantage": None}),
    train("c", **{**LOST, "status": "cancelled", "reward": None, "advantage": None}),
    train("d", **{**LOST, "reward": None, "advantage": None}),
    train("d", **{**LOST, "status": "grader_error", "reward": None, "advantage": None}),
    train("e", **{**LOST, "advantage": None}),
]


def test_every_stage_counts_what_reached_it_and_names_what_did_not(tmp_path: Path) -> None:
    store = build_store(
        tmp_path, ROWS, [Row("runs", {"run_id": "r", "hyperparameters": {"batch_size": 5, "attempts": 2}})]
    )
    row = attrition(store).iloc[0]
    names = ("num_asked", "num_dispatched", "num_finished", "num_scored", "num_admitted", "num_trained_on")
    assert [row[each] for each in names] == [10, 9, 7, 5, 4, 2]
    assert (row["num_trained_failed"], row["asked_by"]) == (1, "batch_size × attempts")
    losses = attrition_losses(store)
    assert losses[["lost_at", "reason", "num"]].astype(object).where(losses.notna(), None).values.tolist() == [
        [None, None, 2],
        ["finished", "cancelled", 1],
        ["finished", "dead_environment", 1],
        ["scored", "grader_error", 1],
        ["scored", "not_scored", 1],
        ["admitted", "no_advantage", 1],
        ["trained_on", "left_out", 1],
        ["trained_on", "no_signal", 1],
    ]
    listed = attrition_rollouts(store, lost_at="finished")
    assert listed["num_total"].tolist() == [2, 2]
    assert attrition_rollouts(store, reason="no_signal")["sample_id"].tolist() == ["b"]
    assert len(attrition_rollouts(store, limit=3, offset=6)) == 1
    with pytest.raises(QuestionError, match="lost_at must be one of"):
        attrition_rollouts(store, lost_at="nowhere")


def test_what_a_source_does_not_tell_is_not_known_and_loses_nothing(tmp_path: Path) -> None:
    rows = [rollout(sample_id="a", split="valid", reward=1.0), rollout(sample_id="b", split="valid", reward=0.0)]
    rows += [rollout("bare", sample_id="a", step=0), rollout("bare", sample_id="b", step=0)]
    frame = attrition(build_store(tmp_path, rows)).set_index("run_id")
    stages = ["num_finished", "num_scored", "num_admitted", "num_trained_on"]
    assert frame["num_dispatched"].tolist() == [2, 2]
    assert frame.loc["bare", stages].isna().all()
    assert frame.loc["r", stages].isna().tolist() == [True, False, True, True]
    assert frame.loc["r", "num_scored"] == 2
    assert frame["num_asked"].isna().all()


def test_validation_is_never_trained_on_whatever_its_subset_says(tmp_path: Path) -> None:
    frame = attrition(build_store(tmp_path, [rollout(sample_id="a", split="valid", reward=1.0, subset="all")]))
    assert frame["num_trained_on"].isna().all()
    assert (
        attrition_losses(build_store(tmp_path / "again", [rollout(sample_id="a", split="valid", reward=1.0)]))[
            "lost_at"
        ]
        .isna()
        .all()
    )


def test_environments_are_counted_apart(tmp_path: Path) -> None:
    rows = [train("a", **KEPT), train("b", **{**LOST, "environment": "f"})]
    frame = attrition(build_store(tmp_path, rows), by_environment=True)
    assert frame[["environment", "num_dispatched", "num_trained_on"]].values.tolist() == [["e", 1, 1], ["f", 1, 0]]
    assert frame["num_asked"].isna().all()


def test_lost_rollouts_are_placed_among_those_kept_at_their_step(tmp_path: Path) -> None:
    rows = [train(f"k{each}", **KEPT, latency_s=float(each)) for each in range(25)]
    rows += [train(f"k{each}", **LOST, latency_s=100.0) for each in range(3)]
    rows += [train("k24", **LOST), train("never", **LOST)]
    rows += [train("k0", **{**LOST, "advantage": 0.0}, latency_s=0.0)]
    row = attrition_speed(build_store(tmp_path, rows)).iloc[0]
    # Three are slower than every one kept; k24's own mean, 24, is above all 24 percentiles but ties none; one has none.
    assert (row["num_lost"], row["num_placed"], row["num_guessed"], row["num_samples"]) == (5, 4, 1, 4)
    assert row["slower"] == pytest.approx(1.0)
    assert row["ci_low"] == pytest.approx(4 / (4 + 1.959964**2))  # all alike: Wilson of 4 in 4


def test_nothing_left_has_the_same_columns(tmp_path: Path) -> None:
    store = build_store(tmp_path, ROWS)
    nothing = Filters(run_ids=("none",))
    for question in (attrition, attrition_losses, attrition_speed, attrition_rollouts):
        assert question(store, nothing).empty
        assert question(store, nothing).columns.tolist() == question(store).columns.tolist()
