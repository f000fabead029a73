"""Writes Parquet for pipelines: documented tables and questions, partitioned by run, with a manifest, in one step."""

import json
import os
import shutil
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from ingest.columns import Column, Table
from ingest.errors import QuestionError, StoreError
from ingest.schema import TABLES, table
from queries.asking import answer, parsed, question, takes_filters
from queries.connection import Reading
from queries.filters import EVERYTHING, Filters
from queries.redaction import REDACTED, SECRET, is_text, redacted_frame

MANIFEST = "manifest.json"
EXPORTED = tuple(each.name for each in TABLES if each.name != "parts")
"""Tables an export holds: all but the fragments that rollouts were joined from."""
ROWS_PER_BATCH = 8_192
_COLLAPSED = {
    "runs": ("one row per run", ("run_id",)),
    "checkpoints": ("one row per run and step", ("run_id", "step")),
    "metrics": ("one row per number a trainer reported", ("run_id", "step", "split", "name", "labels")),
    "samples": ("one row per sample of a run", ("run_id", "environment", "sample_id")),
}
"""Grain and key of what the published views collapse over sources (ingest/catalog.py)."""
_ONLY_STORED = {("runs", "precedence")}
"""Columns that say how to collapse, and are gone afterwards."""


def export(
    store: Reading,
    to: Path,
    *,
    tables: Sequence[str] | None = None,
    questions: Sequence[str] = (),
    filters: Filters = EVERYTHING,
    redact: bool = True,
) -> dict[str, Any]:
    """Export tables (None: all) and answers to questions; returns the manifest.

    A question may carry parameters: `compare?baseline=base&candidate=tuned@50`; asked several times, its files are
    numbered from the second on. Layout: `<to>/<table>/run_id=<run>/part-0.parquet`,
    `<to>/questions/<question>.parquet`, `<to>/manifest.json` with the questions (name, parameters, path), snapshot,
    schema (type, meaning, NULL) and every file with its rows and bytes; a table without rows has no file. Written aside
    and moved: a reader sees the old export or the new one, never half of one. `filters` restrict tables to their runs;
    questions keep to all of them. What looks like a key or a token is removed from texts (not from identifiers) unless
    `redact` is false.

    Raises:
        QuestionError: A table, a question or one of its parameters is unknown.
        StoreError: `to` holds something that is no export, or cannot be written.
    """
    chosen = list(EXPORTED if tables is None else tables)
    unknown = sorted(set(chosen) - set(EXPORTED))
    if unknown:
        raise QuestionError(f"there is no table {', '.join(unknown)}; there are {', '.join(EXPORTED)}")
    asked = _asked(questions)
    to = to.expanduser().resolve()
    _refuse_foreign(to)
    aside = to.with_name(f".{to.name}.{os.getpid()}")
    shutil.rmtree(aside, ignore_errors=True)
    try:
        aside.mkdir(parents=True)
        for name in chosen:
            _write_table(store, table(name), aside / name, filters, redact=redact)
        for each in asked:
            _write_answer(store, each, aside, filters, redact=redact)
        manifest = _manifest(store, aside, chosen, asked, filters) | {"is_redacted": redact}
        (aside / MANIFEST).write_text(json.dumps(manifest, indent=2))
        _swap(aside, to)
    except OSError as error:
        raise StoreError(
            f"the export to {to} could not be written ({error}); what was there before is untouched"
        ) from error
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    return manifest


@dataclass(frozen=True, slots=True)
class _Asked:
    """A question with its parameters as given, and the file of its answer within the export."""

    question: str
    parameters: dict[str, str]
    path: str


def _asked(questions: Sequence[str]) -> list[_Asked]:
    times: Counter[str] = Counter()
    found = []
    for name, given in dict.fromkeys((name, tuple(given.items())) for name, given in map(parsed, questions)):
        times[name] += 1
        number = f"-{times[name]}" if times[name] > 1 else ""
        found.append(_Asked(name, dict(given), f"questions/{name}{number}.parquet"))
    return found


def _refuse_foreign(to: Path) -> None:
    if to.exists() and not to.is_dir():
        raise StoreError(f"{to} is a file; choose a folder to export to")
    if to.is_dir() and any(to.iterdir()) and not (to / MANIFEST).exists():
        raise StoreError(f"{to} holds other files; choose an empty folder, or one that an export was written to before")


def _write_table(store: Reading, contract: Table, folder: Path, filters: Filters, *, redact: bool) -> None:
    for run_id in _runs(store, contract, filters):
        target = folder / f"run_id={run_id}"
        target.mkdir(parents=True)
        columns = [each for each in _columns(contract) if each.name != "run_id"]
        names = [each.name for each in columns]
        read = [_redacted(each) if redact and is_text(each) else each.name for each in columns]
        schema = pa.schema([contract.arrow.field(name) for name in names])
        with store.connection.cursor() as cursor:
            sql = f"SELECT {', '.join(read)} FROM {contract.name} WHERE run_id = $run_id"  # noqa: S608 - schema names
            reader = cursor.sql(sql, params={"run_id": run_id, **_bound(read)}).to_arrow_reader(ROWS_PER_BATCH)
            with pq.ParquetWriter(target / "part-0.parquet", schema, compression="zstd") as writer:
                for batch in reader:
                    writer.write_batch(batch.cast(schema))


def _redacted(column: Column) -> str:
    return f"regexp_replace({column.name}, $secret, $redacted, 'g') AS {column.name}"


def _bound(read: Sequence[str]) -> dict[str, str]:
    is_used = any("$secret" in each for each in read)
    return {"secret": SECRET, "redacted": REDACTED} if is_used else {}


def _columns(contract: Table) -> list[Column]:
    return [each for each in contract.columns if (contract.name, each.name) not in _ONLY_STORED]


def _runs(store: Reading, contract: Table, filters: Filters) -> Iterable[str]:
    with store.connection.cursor() as cursor:
        sql = f"SELECT DISTINCT run_id FROM {contract.name} ORDER BY run_id"  # noqa: S608 - a name of the schema
        found = [str(row[0]) for row in cursor.sql(sql).fetchall()]
    return [each for each in found if filters.run_ids is None or each in filters.run_ids]


def _write_answer(store: Reading, asked: _Asked, folder: Path, filters: Filters, *, redact: bool) -> None:
    # A question that names its arms is restricted by them: the runs chosen for the tables are not its.
    own = EVERYTHING if asked.parameters and not takes_filters(question(asked.question)) else filters
    frame = answer(store, asked.question, own, asked.parameters)
    found = pa.Table.from_pandas(redacted_frame(frame) if redact else frame, preserve_index=False)
    # A column without a single value has no type of its own: as text it can be read together with other exports.
    typed = [pa.field(each.name, pa.string()) if pa.types.is_null(each.type) else each for each in found.schema]
    (folder / asked.path).parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(found.cast(pa.schema(typed)), folder / asked.path, compression="zstd")


def _manifest(
    store: Reading, folder: Path, tables: Sequence[str], asked: Sequence[_Asked], filters: Filters
) -> dict[str, Any]:
    files = []
    for file in sorted(folder.rglob("*.parquet")):
        rows = pq.read_metadata(file).num_rows
        files.append({"path": file.relative_to(folder).as_posix(), "num_rows": rows, "num_bytes": file.stat().st_size})
    return {
        "format": "rollout-observatory-export/1",
        "snapshot_id": store.snapshot_id,
        "snapshot_at": store.created_at.astimezone(UTC).isoformat(),
        "exported_at": datetime.now(UTC).isoformat(),
        "restriction": filters.sentence(),
        "questions": [asdict(each) for each in asked],
        "files": files,
        "schema": {name: _described(table(name)) for name in tables},
    }


def _described(contract: Table) -> dict[str, Any]:
    columns = [
        {"name": each.name, "type": str(each.arrow), "meaning": each.meaning, "null": each.null}
        for each in _columns(contract)
    ]
    grain, key = _COLLAPSED.get(contract.name, (contract.grain, contract.key))
    return {"grain": grain, "key": list(key), "columns": columns}


def _swap(aside: Path, to: Path) -> None:
    """Put the new export in the place of the old one; the old one stays where the new one cannot be moved."""
    to.parent.mkdir(parents=True, exist_ok=True)
    old = to.with_name(f".{to.name}.{os.getpid()}.old")
    if not to.exists():
        aside.rename(to)
        return
    to.rename(old)
    try:
        aside.rename(to)
    except OSError:
        old.rename(to)
        raise
    shutil.rmtree(old, ignore_errors=True)


__all__ = ["EXPORTED", "MANIFEST", "export"]
