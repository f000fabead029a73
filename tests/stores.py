"""Stores for tests, built from rows through the real runner's staging and commit."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from ingest.commit import Batch, ReadSource, commit
from ingest.sources.base import FIELDS, Record, Rollout, Source
from ingest.staging import Overrides, PartStager, Stager
from ingest.store import Store
from queries.connection import Reading, open_store

FAKE = cast(Source, SimpleNamespace(NAME="test", TITLE="Test", FILLS=frozenset(FIELDS), HINT="rows of a test"))


def rollout(run: str = "r", **values: Any) -> Rollout:
    """A rollout with the given columns; `messages`, `tool_calls`, `scores` and `sample` may be given as well."""
    parts = {name: values.pop(name) for name in ("messages", "tool_calls", "scores", "sample") if name in values}
    return Rollout(values, run=run, **parts)


def call(tool: str, arguments: str = "{}", **values: Any) -> dict[str, Any]:
    """A tool call row with what every source fills."""
    return {
        "tool": tool,
        "tool_raw": tool,
        "arguments_raw": arguments,
        "requestor": "agent",
        "parse_source": "structured",
        "status": "ok",
        "turn": 0,
        **values,
    }


def write_store(root: Path, records: Iterable[Record], source_id: str = "file:///test") -> Store:
    """Commit records as one source into the store at `root`."""
    store = Store(root)
    staging = store.staging()
    (staging / "0").mkdir()
    stager = Stager(staging / "0")
    part = PartStager(stager, source_id, FAKE.NAME, "r", Overrides())
    for position, record in enumerate(records):
        if isinstance(record, Rollout):
            record.values.setdefault("position", position)
            record.values.setdefault("raw_ref", f"test#{position}")
            for index, row in enumerate(record.messages or ()):
                row.setdefault("message_index", index)
            for index, row in enumerate(record.tool_calls):
                row.setdefault("call_index", index)
        part.add(record)
    stager.close()
    source = ReadSource(FAKE, Path("/test"), source_id, "fingerprint", "content", 1, tallies=[part.tally])
    commit(store, Batch([staging / "0"], {source_id: source}, staging), datetime.now(UTC))
    return store


def build_store(root: Path, rollouts: Sequence[Rollout] = (), rows: Sequence[Record] = ()) -> Reading:
    """A store that holds these rollouts and rows, opened for reading."""
    return open_store(write_store(root, [*rollouts, *rows]).root)
