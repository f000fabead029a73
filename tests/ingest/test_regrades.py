"""A re-grade stands beside the first score: nothing is lost, nothing is replaced, and no rollout is made up."""

import json
from pathlib import Path
from typing import Any

import pytest

from ingest.regrades import named_apart
from ingest.runner import Request, ingest
from ingest.store import Store
from queries.connection import open_store

WHOLE = [
    {
        "run": "zava",
        "rollout_id": "r1",
        "sample_id": "s1",
        "reward": 1.0,
        "split": "valid",
        "scores": [{"grader": "answer", "value": 1.0, "kind": "reward", "grader_version": "1"}],
    },
    {"run": "zava", "rollout_id": "r2", "sample_id": "s2", "reward": 0.0, "split": "valid", "scores": {"answer": 0.0}},
]
AGAIN = [
    {"type": "score", "run": "zava", "rollout_id": "r1", "grader": "answer", "grader_version": "2", "value": 0.25},
    {"type": "score", "run": "zava", "rollout_id": "r1", "grader": "answer", "grader_version": "2", "value": 0.5},
    {"type": "score", "run": "zava", "rollout_id": "r2", "grader": "expert", "value": 1, "kind": "label"},
]


def scores(root: Path) -> list[tuple[Any, ...]]:
    with open_store(root).connection.cursor() as cursor:
        return cursor.sql(
            "SELECT r.native_id, s.grader, s.value, s.kind, s.grader_version "
            "FROM scores s JOIN rollouts r USING (run_id, rollout_id) ORDER BY ALL"
        ).fetchall()


def counted(root: Path) -> tuple[Any, ...]:
    with open_store(root).connection.cursor() as cursor:
        return cursor.sql("SELECT count(*), count(sample_id), sum(reward) FROM rollouts").fetchall()[0]


def read(root: Path, *files: tuple[str, list[dict[str, Any]]]) -> None:
    for name, lines in files:
        path = root.parent / f"{name}.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        assert ingest(Store(root), Request([path])).exit_code == 0


def test_names_say_which_version_graded_again() -> None:
    rows = [
        {"grader": "g", "value": 1.0, "kind": "reward", "grader_version": "1"},
        {"grader": "g", "value": 0.5, "kind": "reward", "grader_version": "2"},
        {"grader": "g", "value": 0.6, "grader_version": "2"},
        {"grader": "g", "value": 0.9, "grader_version": "1"},
        {"grader": "h", "value": 0.1},
        {"grader": "h", "value": 0.2, "kind": "label"},
    ]
    found = [(row["grader"], row["value"], row["kind"]) for row in named_apart(rows)]
    assert found == [
        ("g", 1.0, "reward"),
        ("g@2", 0.5, "metric"),
        ("g@2#2", 0.6, "metric"),
        ("g#2", 0.9, "metric"),
        ("h", 0.1, "subscore"),
        ("h#2", 0.2, "label"),
    ]


def test_the_version_that_the_reward_came_from_comes_first() -> None:
    rows = [{"grader": "g", "value": 0.5, "grader_version": "2"}, {"grader": "g", "value": 1.0, "grader_version": "1"}]
    assert [row["grader"] for row in named_apart(rows, "1")] == ["g@2", "g"]


def test_earlier_scores_keep_their_names() -> None:
    rows = [{"grader": "g", "value": 0.5, "grader_version": "1"}]
    named_apart(rows, "1", [{"grader": "g", "grader_version": None, "kind": "reward"}, {"grader": "g@1"}])
    assert (rows[0]["grader"], rows[0]["kind"]) == ("g@1#2", "metric")


@pytest.mark.parametrize("turned", [False, True])
def test_scores_that_come_later_stand_beside_those_of_whole_rollouts(tmp_path: Path, turned: bool) -> None:  # noqa: FBT001 - parametrised
    files = [("rollouts", WHOLE), ("judge", AGAIN)]
    root = tmp_path / "store"
    read(root, *(reversed(files) if turned else files))
    expected = [
        ("r1", "answer", 1.0, "reward", "1"),
        ("r1", "answer@2", 0.25, "metric", "2"),
        ("r1", "answer@2#2", 0.5, "metric", "2"),
        ("r2", "answer", 0.0, "subscore", None),
        ("r2", "expert", 1.0, "label", None),
    ]
    assert scores(root) == expected
    assert counted(root) == (2, 2, 1.0)
    read(root, *files)
    assert scores(root) == expected


def test_a_third_file_and_a_changed_one_leave_the_others_as_they_are(tmp_path: Path) -> None:
    root = tmp_path / "store"
    third = [{**AGAIN[0], "grader_version": "3", "value": 0.75}]
    read(root, ("rollouts", WHOLE), ("judge", AGAIN[:1]), ("other", third))
    assert [row[1:3] for row in scores(root) if row[0] == "r1"] == [
        ("answer", 1.0),
        ("answer@2", 0.25),
        ("answer@3", 0.75),
    ]
    read(root, ("rollouts", [{**WHOLE[0], "reward": 0.5}, WHOLE[1]]))
    assert [row[1] for row in scores(root) if row[0] == "r1"] == ["answer", "answer@2", "answer@3"]
    assert counted(root) == (2, 2, 0.5)


def test_a_rollout_may_be_named_by_its_id_in_the_store(tmp_path: Path) -> None:
    root = tmp_path / "store"
    read(root, ("rollouts", [{**WHOLE[0], "rollout_id": None, "sample_id": "s"}]))
    with open_store(root).connection.cursor() as cursor:
        ((rollout_id,),) = cursor.sql("SELECT rollout_id FROM rollouts").fetchall()
    read(root, ("judge", [{**AGAIN[0], "rollout_id": rollout_id}]))
    assert [row[1:3] for row in scores(root)] == [("answer", 1.0), ("answer@2", 0.25)]


def test_scores_of_an_unknown_rollout_are_a_rollout_as_before(tmp_path: Path) -> None:
    root = tmp_path / "store"
    read(root, ("rollouts", WHOLE), ("judge", [{**AGAIN[0], "rollout_id": "r9"}]))
    assert counted(root) == (3, 2, 1.0)


def test_pieces_of_a_rollout_keep_both_versions(tmp_path: Path) -> None:
    root = tmp_path / "store"
    piece = {"type": "rollout", "partial": True, "run": "zava", "rollout_id": "r1", "sample_id": "s", "reward": 0.25}
    first = {**AGAIN[0], "grader_version": "1", "value": 1.0, "kind": "reward"}
    read(root, ("pieces", [piece | {"grader_version": "2"}, first, {**AGAIN[0], "kind": "reward"}]))
    assert [row[1:] for row in scores(root)] == [("answer", 0.25, "reward", "2"), ("answer@1", 1.0, "metric", "1")]
