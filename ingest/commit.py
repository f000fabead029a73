"""Commits a batch of staged sources: joins fragments, finishes what crosses sources, writes every table, publishes."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
import pyarrow as pa

from ingest.catalog import scan
from ingest.finish import Finish, connected, rows, staged, summaries
from ingest.later_scores import LaterScores
from ingest.parquet_files import read_written
from ingest.reading import parse_json
from ingest.schema import INGESTS, PARTS, TABLES
from ingest.schema_runs import RUNS
from ingest.sources import source as source_named
from ingest.sources.base import Fragment, Reject, Source
from ingest.staging import AS_PARQUET, Overrides, PartStager, Stager, Tally
from ingest.store import Store

READER_VERSION = "4"
"""Raised when what is read from the same bytes changes: unchanged files are then read again."""
FEW_FILES = 8
"""More small staged files than this a run are joined when they are written."""
FEW_ROWS = 10_000
PARTS_ROWS = 2_048
"""Fragments taken at a time: each may be a long text."""
JOINED = "joined:"
"""Prefix of the source_id of rollouts that were joined from fragments of several sources."""


@dataclass(slots=True)
class ReadSource:
    """A source that was read (or is about to be): its identity, and what each of its parts brought."""

    source: Source
    path: Path
    source_id: str
    fingerprint: str
    content_hash: str
    size: int
    earlier_runs: tuple[str, ...] = ()
    tallies: list[Tally] = field(default_factory=list)

    @property
    def run_names(self) -> dict[str, str]:
        """Names of the runs it spoke of, by run id."""
        return {run_id: name for tally in self.tallies for run_id, name in tally.run_names.items()}


@dataclass(slots=True)
class Batch:
    """Staged folders and the sources whose rows they hold, each of them complete."""

    folders: list[Path]
    sources: dict[str, ReadSource]
    staging: Path


@dataclass(frozen=True, slots=True)
class Entry:
    """What the ledger says of one source."""

    source_id: str
    path: str
    fingerprint: str
    content_hash: str
    run_ids: tuple[str, ...]


def ledger(store: Store) -> dict[str, Entry]:
    """The ingest ledger by source id."""
    files = store.all_files("ingests")
    if not files:
        return {}
    columns = "source_id, any_value(path), any_value(fingerprint), any_value(content_hash), list(DISTINCT run_id)"
    with duckdb.connect() as connection:
        sql = f"SELECT {columns} FROM {scan(INGESTS, files)} GROUP BY source_id"  # noqa: S608 - file names of the lake, quoted
        found = connection.sql(sql).fetchall()
    return {row[0]: Entry(row[0], row[1], row[2], row[3], tuple(sorted(row[4]))) for row in found}


@dataclass(slots=True)
class Outcome:
    """What a commit adds to what its sources brought: notes, and rows of the rollouts joined from fragments."""

    notes: list[str] = field(default_factory=list)
    rows: Counter[str] = field(default_factory=Counter)


def commit(store: Store, batch: Batch, started: datetime) -> Outcome:
    """Write a batch in one snapshot.

    Raises:
        StoreError: It could not be written; the store is as it was before.
    """
    outcome = Outcome()
    source_ids = list(batch.sources)
    run_ids = sorted({run for each in batch.sources.values() for run in (*each.run_names, *each.earlier_runs)})
    if not run_ids:  # a job that has only begun: there is a file, and nothing in it yet
        return outcome
    with store.transaction(), TemporaryDirectory(dir=batch.staging) as own:
        folders = [*batch.folders, Path(own, "ledger")]
        _stage_ledger(batch, started, Path(own, "ledger"))
        if _join(store, batch, run_ids, outcome, Path(own)):
            folders.append(Path(own, "joined"))
            source_ids += [JOINED + run_id for run_id in run_ids]
        finish = Finish(folders, store.files("rollouts", run_ids), source_ids, Path(own, "spill"))
        if renamed := finish.resolve_collisions():
            outcome.notes.append(
                f"{renamed} rollouts have an id that another source of the run uses already; all were kept, "
                'under ids of their own. In the neutral format, pieces of one rollout say `"partial": true`.'
            )
        with ThreadPoolExecutor(1) as pool:  # beside the rollouts, whose columns take as long as all else
            concerned = _concerned(store, folders, run_ids)
            others = [pool.submit(_write, store, folders, name, run_ids, source_ids) for name in concerned]
            also = finish.number_attempts()
            store.replace("rollouts", partial(finish.rollouts, also), run_ids, [*source_ids, *also])
            files = store.files("rollouts", run_ids)
            store.replace("run_summaries", partial(summaries, files), run_ids, None)
            for each in others:
                each.result()
    return outcome


def _concerned(store: Store, folders: Sequence[Path], run_ids: Sequence[str]) -> list[str]:
    """Tables written as they were staged: those that get rows, or may hold rows to be replaced."""
    others = [each.name for each in TABLES if each.name not in ("rollouts", "run_summaries", "annotations")]
    return [name for name in others if _has(folders, name) or store.files(name, run_ids)]


def _has(folders: Sequence[Path], name: str) -> bool:
    return any((folder / (name if name in AS_PARQUET else f"{name}.arrow")).exists() for folder in folders)


def _write(store: Store, folders: Sequence[Path], name: str, run_ids: Sequence[str], source_ids: Sequence[str]) -> None:
    """Write a table; staged files that are large enough and replace nothing become part of it as they are.

    A source that failed as a whole has left the batch, but what it staged until then (its reject, its run) is there.
    """
    if name in AS_PARQUET:
        files = [each for folder in folders for each in read_written(folder / name)]
        are_many = len(files) > FEW_FILES * len({each.run_id for each in files})
        are_small = sum(each.num_rows for each in files) < FEW_ROWS * len(files)
        if files and not (are_many and are_small) and store.adopt(name, files, run_ids, source_ids):
            return
    known = None if name in AS_PARQUET else source_ids
    store.replace(name, partial(rows, folders, name, known), run_ids, source_ids)


def _stage_ledger(batch: Batch, started: datetime, folder: Path) -> None:
    """The batch's rows of `ingests`, and a row of `runs` for every run a source spoke of."""
    folder.mkdir()
    stager = Stager(folder)
    described = _described(batch.folders)
    for each in batch.sources.values():
        counts: Counter[tuple[str, str]] = sum((tally.rows for tally in each.tallies), Counter())
        notes = list(dict.fromkeys(note for tally in each.tallies for note in tally.notes))
        for run_id, name in each.run_names.items():
            by_table = {table: count for (run, table), count in counts.items() if run == run_id}
            stager.add(
                INGESTS.name,
                {
                    "run_id": run_id,
                    "source_id": each.source_id,
                    "source_format": each.source.NAME,
                    "path": str(each.path),
                    "fingerprint": each.fingerprint,
                    "content_hash": each.content_hash,
                    "num_bytes": each.size,
                    "num_rollouts": by_table.get("rollouts", 0),
                    "num_rejects": by_table.get("rejects", 0),
                    "num_rows": json.dumps(by_table, sort_keys=True),
                    "notes": json.dumps(notes),
                    "fills": json.dumps(sorted(each.source.FILLS)),
                    "reader_version": READER_VERSION,
                    "started_at": started,
                    "ended_at": datetime.now(UTC),
                },
            )
            if (run_id, each.source_id) not in described:
                row = {"run_id": run_id, "source_id": each.source_id, "name": name, "precedence": 100}
                stager.add(RUNS.name, {**row, "source_format": each.source.NAME})
    stager.close()


def _described(folders: Sequence[Path]) -> set[tuple[str, str]]:
    dataset = staged(folders, "runs")
    if dataset is None:
        return set()
    found = dataset.to_table(columns=["run_id", "source_id"])
    return set(zip(found["run_id"].to_pylist(), found["source_id"].to_pylist(), strict=True))


def _join(store: Store, batch: Batch, run_ids: Sequence[str], outcome: Outcome, own: Path) -> bool:
    """Build the rollouts that several sources' fragments make up together; returns whether the runs have fragments."""
    fresh = staged(batch.folders, "parts")
    kept = store.files("parts", run_ids)
    if fresh is None and not kept:
        return False
    connection = connected(own / "spill-parts")
    connection.register("fresh", fresh if fresh is not None else PARTS.arrow.empty_table())
    connection.execute(
        "CREATE TABLE replaced AS SELECT unnest($ids::VARCHAR[]) AS source_id", {"ids": list(batch.sources)}
    )
    old = f"UNION ALL BY NAME FROM {scan(PARTS, kept)} WHERE source_id NOT IN (FROM replaced)" if kept else ""
    connection.execute(f"CREATE VIEW fragments AS FROM fresh {old}")
    later = LaterScores(store, batch.folders, run_ids, connection)
    ordered = connection.sql(
        "FROM fragments ORDER BY run_id, source_format, rollout_key, time NULLS LAST, source_id, position"
    )
    (own / "joined").mkdir()
    stager = Stager(own / "joined")
    for (run_id, source_format, key), fragments in _grouped(ordered.to_arrow_reader(PARTS_ROWS)):
        part = PartStager(stager, JOINED + run_id, source_format, run_id, Overrides(run=run_id))
        joined = source_named(source_format)
        try:
            if (found := later.of(run_id, key)) is not None:
                part.add_scores(run_id, found[0], joined.later_scores(fragments, found[1]))  # type: ignore[attr-defined]  # as `join`
                continue
            for record in joined.join(key, fragments):  # type: ignore[attr-defined]  # sources with fragments have `join`
                part.add(record)
        except MemoryError:
            raise
        except Exception as error:  # one rollout's hostile pieces must not take the others down
            part.reject(Reject(f"unexpected {type(error).__name__}: {error}", key))
        finally:
            outcome.notes += part.tally.notes
            for (_, name), count in part.tally.rows.items():
                outcome.rows[name] += count
    stager.close()
    return True


def _grouped(reader: pa.RecordBatchReader) -> Iterator[tuple[tuple[str, str, str], list[Fragment]]]:
    current: tuple[str, str, str] | None = None
    fragments: list[Fragment] = []
    for batch in reader:
        for row in batch.to_pylist():
            key = (row["run_id"], row["source_format"], row["rollout_key"])
            if key != current and current is not None:
                yield current, fragments
                fragments = []
            current = key
            fragments.append(Fragment(row["rollout_key"], parse_json(row["payload"]), row["position"], row["time"]))
    if current is not None:
        yield current, fragments
