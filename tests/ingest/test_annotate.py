"""Annotations: written, taken back, kept when data is read again; refused where they say or concern nothing."""

from pathlib import Path

import pytest

from ingest.annotate import MAX_NOTE, Annotation, annotate, retract
from ingest.errors import StoreError
from ingest.store import Store
from queries.annotations import annotations
from queries.connection import open_store
from queries.filters import Filters
from queries.rollouts import rollouts
from tests.stores import rollout, write_store

ROLLOUTS = [rollout("job", native_id=name, sample_id=name, step=3, reward=0.5) for name in "ab"]


def made(root: Path) -> tuple[Store, list[str]]:
    store = write_store(root, ROLLOUTS)
    return store, rollouts(open_store(root))["rollout_id"].tolist()


def said(root: Path) -> list[list[object]]:
    found = annotations(open_store(root))
    chosen = found[["label", "rule", "note", "author", "is_latest", "sample_id", "reward"]].astype(object)
    return chosen.where(chosen.notna(), None).values.tolist()


def test_labels_and_notes_are_kept_newest_first_and_the_latest_label_of_an_author_counts(tmp_path: Path) -> None:
    store, (first, second) = made(tmp_path)
    annotate(store, Annotation("job", first, "real", "ada", rule="echo"))
    annotate(store, Annotation("job", first, "false_alarm", "ada", " on second thought\x00 ", rule="echo"))
    annotate(store, Annotation("job", first, "real", "bob", rule="echo"))
    annotate(store, Annotation("job", second, "note", "bob", "odd", message_index=4))
    assert said(tmp_path) == [
        ["note", None, "odd", "bob", False, "b", 0.5],
        ["real", "echo", None, "bob", True, "a", 0.5],
        ["false_alarm", "echo", "on second thought", "ada", True, "a", 0.5],
        ["real", "echo", None, "ada", False, "a", 0.5],
    ]
    reading = open_store(tmp_path)
    assert annotations(reading, rollout_id=second)["message_index"].tolist() == [4]
    assert len(annotations(reading, Filters(run_ids=("job",), step_from=3))) == 4
    assert annotations(reading, Filters(step_from=4)).empty
    assert annotations(reading, Filters(run_ids=("other",))).empty


def test_an_annotation_can_be_taken_back_once(tmp_path: Path) -> None:
    store, (first, _) = made(tmp_path)
    kept = annotate(store, Annotation("job", first, "real", "ada"))
    gone = annotate(store, Annotation("job", first, "mine", "ada"))
    retract(store, "job", gone)
    assert annotations(open_store(tmp_path))["annotation_id"].tolist() == [kept]
    with pytest.raises(StoreError, match="there is no annotation"):
        retract(store, "job", gone)


def test_reading_again_and_compacting_keep_annotations_forgetting_the_run_does_not(tmp_path: Path) -> None:
    store, (first, _) = made(tmp_path)
    annotate(store, Annotation("job", first, "real", "ada"))
    write_store(tmp_path, ROLLOUTS)
    write_store(tmp_path, [rollout("job", native_id="c", sample_id="c")], source_id="file:///more")
    store.compact()
    assert said(tmp_path) == [["real", None, None, "ada", True, "a", 0.5]]
    store.forget(["job"])
    assert said(tmp_path) == []


def test_what_is_said_of_a_rollout_that_is_gone_stays_and_says_so(tmp_path: Path) -> None:
    store, (first, _) = made(tmp_path)
    annotate(store, Annotation("job", first, "real", "ada"))
    write_store(tmp_path, ROLLOUTS[1:])
    assert annotations(open_store(tmp_path))[["label", "sample_id"]].isna().values.tolist() == [[False, True]]
    assert annotations(open_store(tmp_path), Filters(step_from=0)).empty


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (Annotation("job", "nowhere", "real", "ada"), "there is no rollout 'nowhere' in run 'job'"),
        (Annotation("nojob", "x", "real", "ada"), "there is no rollout"),
        (Annotation("job", "x", " ", "ada"), "needs a label and an author"),
        (Annotation("job", "x", "real", ""), "needs a label and an author"),
        (Annotation("job", "x", "note", "ada", "\n"), "a note needs a text"),
        (Annotation("job", "x", "note", "ada", "n" * (MAX_NOTE + 1)), "a note may have 10,000 characters, not 10,001"),
        (Annotation("job", "x", "l" * 201, "ada"), "label may have 200 characters, not 201"),
        (Annotation("job", "x", "real", "ada", message_index=-1), "there is no message -1"),
    ],
)
def test_an_annotation_that_says_nothing_or_speaks_of_nothing_is_refused(
    tmp_path: Path, wrong: Annotation, reason: str
) -> None:
    store, _ = made(tmp_path)
    before = store.snapshots()
    with pytest.raises(StoreError, match=reason):
        annotate(store, wrong)
    assert store.snapshots() == before


def test_a_store_that_another_process_writes_is_not_waited_for_long(tmp_path: Path) -> None:
    _, (first, _) = made(tmp_path)
    with Store(tmp_path).held(), pytest.raises(StoreError, match="another process has been writing for 0 s"):
        annotate(Store(tmp_path, patience=0.1), Annotation("job", first, "real", "ada"))
