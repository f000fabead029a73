"""Which selections are compared: how they are written, what stands where nothing is given, which pairs are offered."""

from pathlib import Path

import pytest

from ingest.errors import QuestionError
from ingest.sources.base import Rollout, Row
from queries.arms import arms
from queries.connection import Reading
from queries.drift import drift_selections
from queries.drift_selections import drift_pairs, selection
from tests.stores import build_store, rollout


def steps(run: str, split: str | None, *numbers: int | None, environment: str = "e") -> list[Rollout]:
    """Two samples at each step of a split."""
    return [
        rollout(run, sample_id=f"{split}-{name}", step=number, split=split, environment=environment)
        for number in numbers
        for name in "ab"
    ]


@pytest.fixture
def store(tmp_path: Path) -> Reading:
    rows = [*steps("job", "train", *range(12)), *steps("job", "valid", 0, 5, 10), *steps("live", "production", None)]
    return build_store(
        tmp_path,
        [*rows, *steps("other", None, None, environment="x")],
        [
            Row("runs", {"name": "job", "kind": "training"}, run="job"),
            Row("runs", {"name": "live", "kind": "production", "parent_run": "job"}, run="live"),
        ],
    )


def test_train_without_steps_is_what_came_since_the_last_validation_but_one(store: Reading) -> None:
    found = selection(arms(store), "job", "train")
    assert (found.step_from, found.step_to, found.written) == (6, 10, "job@6..10")


@pytest.mark.parametrize(
    ("text", "split", "expected"),
    [
        ("job", None, ("valid", 10, 10, False)),
        ("job@5", "valid", ("valid", 5, 5, False)),
        ("job@0..3", "train", ("train", 0, 3, False)),
        ("job@all", "train", ("train", None, None, True)),
        ("live", None, ("production", None, None, False)),
        ("other@none", "none", (None, None, None, False)),
    ],
)
def test_how_selections_are_written(store: Reading, text: str, split: str | None, expected: tuple[object, ...]) -> None:
    found = selection(arms(store), text, split)
    assert (found.split, found.step_from, found.step_to, found.every_step) == expected


@pytest.mark.parametrize(
    ("text", "split", "message"),
    [
        ("job@40..50", "train", "has no rollouts at steps 40 to 50"),
        ("job@7", "valid", "has no rollouts at step 7"),
        ("job", "test", "has no rollouts in 'test'"),
        ("jib", None, "there is no run 'jib'"),
    ],
)
def test_what_is_not_there_is_said(store: Reading, text: str, split: str | None, message: str) -> None:
    with pytest.raises(QuestionError, match=message):
        selection(arms(store), text, split)


def test_pairs_worth_comparing(store: Reading) -> None:
    rows = drift_pairs(store)[["about", "first", "first_split", "second", "second_split", "related_by"]]
    assert rows.astype(object).where(rows.notna(), None).values.tolist() == [
        ["valid_production", "job@10", "valid", "live", "production", "family"],
        ["train_valid", "job@6..10", "train", "job@10", "valid", None],
    ]


def test_production_without_family_is_found_by_its_environment(tmp_path: Path) -> None:
    rows = [
        *steps("job", "valid", 1),
        *steps("live", "production", None),
        *steps("far", "production", None, environment="x"),
    ]
    pairs = drift_pairs(build_store(tmp_path, rows))
    assert pairs[["second", "related_by"]].values.tolist() == [["live", "environment"]]


def test_a_run_that_is_its_own_ancestor_ends(tmp_path: Path) -> None:
    runs = [
        Row("runs", {"name": "job", "parent_run": "live"}, run="job"),
        Row("runs", {"name": "live", "parent_run": "job"}, run="live"),
    ]
    store = build_store(tmp_path, [*steps("job", "valid", 1), *steps("live", "production", None)], runs)
    assert len(drift_pairs(store)) <= 1


def test_without_anything_given_the_first_pair_is_compared(store: Reading) -> None:
    frame = drift_selections(store)
    assert frame["run_id"].tolist() == ["job", "live"]
    frame = drift_selections(store, first="job", first_split="train")
    assert frame[["split", "step_from", "step_to", "num_rollouts", "num_samples"]].values.tolist() == [
        ["train", 6, 10, 10, 2],
        ["valid", 10, 10, 2, 2],
    ]


def test_two_equal_or_no_selections_are_refused(store: Reading, tmp_path: Path) -> None:
    with pytest.raises(QuestionError, match="both selections are job@5"):
        drift_selections(store, first="job@5", second="job@5")
    with pytest.raises(QuestionError, match="nothing to compare by default"):
        drift_selections(build_store(tmp_path / "one", steps("r", None, None)))
