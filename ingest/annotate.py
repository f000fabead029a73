"""Writes what readers say of a rollout into the store: labels and notes, by whom and when.

Each annotation is a source of its own: reading data again, or forgetting another source, never touches it. Forgetting
a run removes its annotations too.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final
from uuid import uuid4

import pyarrow as pa
import pyarrow.dataset as ds

from ingest.columns import Table
from ingest.errors import StoreError
from ingest.schema import ANNOTATIONS
from ingest.schema_rollouts import ROLLOUTS
from ingest.store import Store

REAL: Final = "real"
FALSE_ALARM: Final = "false_alarm"
NOTE: Final = "note"
LABELS: Final = (REAL, FALSE_ALARM, NOTE)
"""Labels that questions know: of a finding whether it is real, and a note that judges nothing. Others are kept too."""
MAX_NOTE, MAX_WORD = 10_000, 200
"""Characters of a note, and of a label, rule or author."""
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class Annotation:
    """What a reader says of a rollout, or of one message of it; `rule`: the rule whose finding is judged."""

    run_id: str
    rollout_id: str
    label: str
    author: str
    note: str | None = None
    rule: str | None = None
    message_index: int | None = None


def annotate(store: Store, said: Annotation) -> str:
    """Write an annotation; returns its id.

    Raises:
        StoreError: It says nothing, is too long, speaks of a rollout that is not there, or the store cannot be written.
    """
    words = {name: _word(name, getattr(said, name)) for name in ("label", "author", "rule")}
    note = _cleaned(said.note)
    if words["label"] is None or words["author"] is None:
        raise StoreError("an annotation needs a label and an author")
    if words["label"] == NOTE and note is None:
        raise StoreError("a note needs a text")
    if note is not None and len(note) > MAX_NOTE:
        raise StoreError(f"a note may have {MAX_NOTE:,} characters, not {len(note):,}")
    if said.message_index is not None and said.message_index < 0:
        raise StoreError(f"there is no message {said.message_index}")
    annotation_id = uuid4().hex
    row = {
        "run_id": said.run_id,
        "source_id": _source(annotation_id),
        "rollout_id": said.rollout_id,
        "annotation_id": annotation_id,
        "message_index": said.message_index,
        "note": note,
        "created_at": datetime.now(UTC),
        **words,
    }
    rows = pa.Table.from_pylist([row], schema=ANNOTATIONS.arrow)
    with store.transaction():
        if not _holds(store, ROLLOUTS, said.run_id, "rollout_id", said.rollout_id):
            raise StoreError(f"there is no rollout {said.rollout_id[:80]!r} in run {said.run_id[:80]!r}")
        store.replace("annotations", lambda: rows, [said.run_id], [_source(annotation_id)])
    return annotation_id


def retract(store: Store, run_id: str, annotation_id: str) -> None:
    """Take an annotation back.

    Raises:
        StoreError: There is none of that id in the run, or the store cannot be written.
    """
    with store.transaction():
        if not _holds(store, ANNOTATIONS, run_id, "annotation_id", annotation_id):
            raise StoreError(f"there is no annotation {annotation_id[:80]!r} in run {run_id[:80]!r}")
        store.replace("annotations", ANNOTATIONS.arrow.empty_table, [run_id], [_source(annotation_id)])


def _holds(store: Store, contract: Table, run_id: str, column: str, wanted: str) -> bool:
    """Whether a table holds a row of the run with this id in a column of ours."""
    files = store.files(contract.name, [run_id])
    if not files:
        return False
    return bool(ds.dataset(files, format="parquet").count_rows(filter=ds.field(column) == wanted))


def _source(annotation_id: str) -> str:
    return f"annotation:{annotation_id}"


def _word(name: str, value: str | None) -> str | None:
    found = _cleaned(value)
    if found is not None and len(found) > MAX_WORD:
        raise StoreError(f"{name} may have {MAX_WORD} characters, not {len(found)}")
    return found


def _cleaned(value: str | None) -> str | None:
    """The text without control characters and outer spaces; None where nothing is left."""
    return _CONTROL.sub("", value or "").strip() or None
