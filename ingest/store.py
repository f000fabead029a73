"""The only writer of the store: commits staged rows, publishes snapshots, forgets, compacts.

    <root>/lake/<table>/          Delta tables, partitioned by run_id (but for small ones, `WHOLE`): the record
    <root>/observatory.duckdb     published catalog: what is opened
    <root>/staging/  landed/      rows on their way in; raw answers of services

Commits are serialised by a lock across all tables and the publish. A commit that was cut off (kill -9) is rolled back
by the next one from `lake/_pending.json`, so a snapshot never shows half of it.
"""

import json
import os
import platform
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa
from deltalake import BloomFilterProperties, ColumnProperties, DeltaTable, WriterProperties, write_deltalake
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError
from filelock import FileLock, Timeout

from ingest import catalog
from ingest.catalog import Snapshot, lake_path, literal
from ingest.columns import Table
from ingest.delta_files import add, is_current, may_hold
from ingest.errors import StoreError
from ingest.parquet_files import BY_ROLLOUT, RunFiles, Written, row_group
from ingest.schema import TABLES, table

RETENTION_DAYS = 30
"""How long files of old snapshots are kept for pinned links."""
WHOLE = frozenset({"runs", "run_summaries", "ingests", "metrics", "checkpoints"})
"""Small tables, read for all runs at once: not partitioned, or 2 000 runs would be 2 000 files of a few rows each."""
MAX_WHOLE_FILES = 64
"""Files of such a table are joined when there are this many (every ingest adds one)."""
LOCK_SECONDS = 600.0
FOREIGN_STAGING_SECONDS = 7 * 24 * 3600
"""Age at which a staging folder of another machine counts as left behind."""

_SNAPSHOTS = pa.schema(
    [
        pa.field("snapshot_id", pa.int64()),
        pa.field("created_at", pa.timestamp("us", tz="UTC")),
        pa.field("versions", pa.string()),
    ]
)
_CONFIGURATION = {
    "delta.deletedFileRetentionDuration": f"interval {RETENTION_DAYS} days",
    "delta.logRetentionDuration": f"interval {2 * RETENTION_DAYS} days",
}

Rows: TypeAlias = pa.RecordBatchReader | pa.Table
MakeRows: TypeAlias = Callable[[], Rows]
"""Rows of a table, made anew for every attempt at writing them: a reader can be read only once."""


class Store:
    """A store at a local folder, opened for writing; `patience`: seconds to wait while another process writes.

    Raises:
        StoreError: The folder cannot be made or written.
    """

    def __init__(self, root: Path, patience: float = LOCK_SECONDS) -> None:
        self.root = root.expanduser().resolve()
        self.patience = patience
        try:
            (self.root / "lake").mkdir(parents=True, exist_ok=True)
            (self.root / "staging").mkdir(exist_ok=True)
        except OSError as error:
            raise self._unwritable(error) from error
        self._lock = FileLock(str(self.root / "store.lock"))

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the store's lock. Re-entrant.

        Raises:
            StoreError: Another process held it too long, or the folder is not writable.
        """
        try:
            held = self._lock.acquire(timeout=self.patience)
        except Timeout as error:
            raise StoreError(
                f"{self.root}: another process has been writing for {self.patience:.0f} s; try again"
            ) from error
        except OSError as error:
            raise self._unwritable(error) from error
        with held:
            yield

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the store's lock, a cut-off commit rolled back first. Not to be entered within a transaction.

        Raises:
            StoreError: As `held`.
        """
        with self.held():
            self._roll_back()
            yield

    def _unwritable(self, error: OSError) -> StoreError:
        return StoreError(f"{self.root}: cannot write a store here ({error}); choose another --store")

    def version(self, name: str) -> int | None:
        """Current version of a table, None where it does not exist yet."""
        try:
            return int(DeltaTable(str(lake_path(self.root, name))).version())
        except TableNotFoundError:
            return None
        except (DeltaError, OSError) as error:
            raise _damaged(self.root, name, error) from error

    def versions(self) -> dict[str, int]:
        """Current version of every table that exists."""
        found = {each.name: self.version(each.name) for each in TABLES}
        return {name: version for name, version in found.items() if version is not None}

    def files(self, name: str, run_ids: Iterable[str]) -> list[str]:
        """Parquet files of a table that may hold rows of the given runs, at its current version."""
        try:
            delta = DeltaTable(str(lake_path(self.root, name)))
        except TableNotFoundError:
            return []
        except (DeltaError, OSError) as error:
            raise _damaged(self.root, name, error) from error
        if not delta.metadata().partition_columns:
            return sorted(delta.file_uris())
        wanted = set(run_ids)
        actions = pa.table(delta.get_add_actions(flatten=True)).select(["path", "partition.run_id"]).to_pylist()
        base = lake_path(self.root, name)
        return sorted(str(base / each["path"]) for each in actions if each["partition.run_id"] in wanted)

    def all_files(self, name: str) -> list[str]:
        """Parquet files of a table at its current version."""
        try:
            return sorted(DeltaTable(str(lake_path(self.root, name))).file_uris())
        except TableNotFoundError:
            return []
        except (DeltaError, OSError) as error:
            raise _damaged(self.root, name, error) from error

    def replace(self, name: str, rows: MakeRows, run_ids: Sequence[str], source_ids: Sequence[str] | None) -> None:
        """Replace what the given sources hold of a table's runs (None: whatever source) by new rows, in one commit.

        Must be called inside `transaction`.
        """
        _retried(lambda: self._write(table(name), rows(), run_ids, source_ids))

    def _created(self, schema: Table) -> Path:
        path = lake_path(self.root, schema.name)
        if not (path / "_delta_log").exists():
            parts = None if schema.name in WHOLE else ["run_id"]
            DeltaTable.create(str(path), schema=schema.arrow, partition_by=parts, configuration=_CONFIGURATION)
        return path

    def _write(self, schema: Table, rows: Rows, run_ids: Sequence[str], source_ids: Sequence[str] | None) -> None:
        path = self._created(schema)
        delta = DeltaTable(str(path))
        parts = delta.metadata().partition_columns or None
        if parts and not may_hold(delta, run_ids, source_ids) and is_current(delta, schema):
            self._append(delta, schema, rows)
            return
        if parts is None:
            _join_many(delta, schema.name)
        predicate = f"run_id IN ({', '.join(map(literal, run_ids))})"
        if source_ids is not None:
            predicate += f" AND source_id IN ({', '.join(map(literal, source_ids))})"
        write_deltalake(
            str(path),
            rows,
            partition_by=parts,
            mode="overwrite",
            predicate=predicate,
            schema_mode="merge",
            writer_properties=_properties(schema.name),
        )

    def _append(self, delta: DeltaTable, schema: Table, rows: Rows) -> None:
        """Add rows of which none replaces another."""
        files = RunFiles(schema, lake_path(self.root, schema.name))
        for batch in rows.to_batches() if isinstance(rows, pa.Table) else rows:
            files.write_batch(batch)
        files.close()
        add(delta, schema, files.written)

    def adopt(self, name: str, staged: Sequence[Written], run_ids: Sequence[str], source_ids: Sequence[str]) -> bool:
        """Make staged files part of a table as they are, if their rows replace none; returns whether it was so.

        Must be called inside `transaction`.
        """
        schema = table(name)
        path = self._created(schema)
        delta = DeltaTable(str(path))
        if may_hold(delta, run_ids, source_ids) or not is_current(delta, schema):
            return False
        moved = [replace(each, path=path / each.relative) for each in staged]
        for before, after in zip(staged, moved, strict=True):
            after.path.parent.mkdir(exist_ok=True)
            before.path.replace(after.path)
        _retried(lambda: add(delta, schema, moved))
        return True

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All writes inside become one snapshot: published together at the end, or rolled back together."""
        with self.locked():
            before = {each.name: self.version(each.name) for each in TABLES}
            self._refuse_loss(before)
            pending = self.root / "lake" / "_pending.json"
            aside = pending.with_suffix(".aside")
            aside.write_text(json.dumps(before))
            aside.replace(pending)
            try:
                yield
            except BaseException:
                self._roll_back()
                raise
            pending.unlink()  # from here on the commit holds; a publish that is cut off is caught up by the next
            self._publish()

    def _publish(self) -> Snapshot:
        path = lake_path(self.root, catalog.SNAPSHOTS)
        previous = self.version(catalog.SNAPSHOTS)
        snapshot = Snapshot(0 if previous is None else previous + 1, datetime.now(UTC), self.versions())
        row = pa.Table.from_pylist(
            [
                {
                    "snapshot_id": snapshot.snapshot_id,
                    "created_at": snapshot.created_at,
                    "versions": json.dumps(snapshot.versions),
                }
            ],
            schema=_SNAPSHOTS,
        )
        catalog.publish(self.root, snapshot)
        write_deltalake(str(path), row, mode="append", configuration=_CONFIGURATION if previous is None else None)
        _join_many(DeltaTable(str(path)), catalog.SNAPSHOTS)
        return snapshot

    def catch_up(self) -> bool:
        """Publish what was committed but not published (a process was cut off). Returns whether it was needed."""
        with self.locked():
            published = self.snapshots()
            self._refuse_loss(self.versions())
            behind = self.versions() != (published[-1].versions if published else {})
            if behind or (published and not (self.root / catalog.CATALOG_FILE).exists()):
                self._publish()
                return True
            return False

    def _refuse_loss(self, now: Mapping[str, int | None]) -> None:
        """Stop before a table that went back (its log was cut or deleted) is published: its rows would be gone."""
        published = self.snapshots()[-1:]
        for name, version in published[0].versions.items() if published else ():
            found = now.get(name)
            if found is None or found < version:
                raise _damaged(self.root, name, f"version {version} was published, {found} is its last")

    def republish(self) -> Snapshot:
        """Publish the current versions again (a moved store, a damaged catalog)."""
        with self.locked():
            return self._publish()

    def _roll_back(self) -> None:
        pending = self.root / "lake" / "_pending.json"
        if not pending.exists():
            return
        for name, version in self._before(pending).items():
            now = self.version(name)
            if now is None or now == version:
                continue
            if version is None:
                shutil.rmtree(lake_path(self.root, name))
            else:
                DeltaTable(str(lake_path(self.root, name))).restore(version)
        pending.unlink()

    def _before(self, pending: Path) -> dict[str, int | None]:
        """Versions to go back to: as noted before the commit; where the note is damaged, as last published."""
        try:
            noted = json.loads(pending.read_text())
            return {each.name: noted[each.name] for each in TABLES if each.name in noted}
        except (ValueError, TypeError):
            published = self.snapshots()[-1:]
            return {each.name: published[0].versions.get(each.name) for each in TABLES} if published else {}

    def snapshots(self) -> list[Snapshot]:
        """All snapshots, oldest first."""
        try:
            rows = pa.table(DeltaTable(str(lake_path(self.root, catalog.SNAPSHOTS))).to_pyarrow_table()).to_pylist()
        except TableNotFoundError:
            return []
        except (DeltaError, OSError, pa.ArrowException) as error:
            raise _damaged(self.root, catalog.SNAPSHOTS, error) from error
        found = [Snapshot(each["snapshot_id"], each["created_at"], json.loads(each["versions"])) for each in rows]
        return sorted(found, key=lambda each: each.snapshot_id)

    def staging(self) -> Path:
        """A fresh folder for rows on their way in; folders of processes that are gone are removed.

        Raises:
            StoreError: The folder is not writable.
        """
        for old in (self.root / "staging").iterdir():
            if not old.is_dir():
                with suppress(PermissionError):
                    old.unlink(missing_ok=True)
            elif not _in_use(old):
                shutil.rmtree(old, ignore_errors=True)
        path = self.root / "staging" / f"{os.getpid()}-{time.time_ns()}-{platform.node()}"
        try:
            path.mkdir()
        except OSError as error:
            raise self._unwritable(error) from error
        return path

    def forget(self, run_ids: Sequence[str]) -> None:
        """Remove runs, whatever source they came from, in one snapshot."""
        with self.transaction():
            for each in TABLES:
                if self.files(each.name, run_ids):
                    self.replace(each.name, each.arrow.empty_table, run_ids, None)

    def compact(self, retention_days: int = RETENTION_DAYS) -> dict[str, int]:
        """Join small files, drop those that only old snapshots need. Returns the number of files joined by table."""
        joined: dict[str, int] = {}
        with self.locked():  # to the end: what another commit has written but not yet logged would count as unused
            with self.transaction():
                for name in self.versions():
                    delta = DeltaTable(str(lake_path(self.root, name)))
                    metrics = delta.optimize.compact(writer_properties=_properties(name))
                    joined[name] = int(metrics["numFilesRemoved"])
            for name in (*self.versions(), catalog.SNAPSHOTS):
                delta = DeltaTable(str(lake_path(self.root, name)))
                enforce = retention_days >= RETENTION_DAYS
                delta.vacuum(retention_days * 24, dry_run=False, enforce_retention_duration=enforce, full=True)
        return joined


def _join_many(delta: DeltaTable, name: str) -> None:
    """Join the files of a small table once there are too many."""
    if len(delta.file_uris()) >= MAX_WHOLE_FILES:
        delta.optimize.compact(writer_properties=_properties(name))


def _properties(name: str) -> WriterProperties:
    """How delta-rs writes Parquet (rows that replace others, joined files): as `ingest.parquet_files` does."""
    bloom = BloomFilterProperties(set_bloom_filter_enabled=True, fpp=0.01, ndv=row_group(name) // 4)
    by_rollout = {"rollout_id": ColumnProperties(bloom_filter_properties=bloom)}
    return WriterProperties(
        max_row_group_size=row_group(name),
        compression="ZSTD",
        column_properties=by_rollout if name in BY_ROLLOUT else None,
    )


def _damaged(root: Path, name: str, error: object) -> StoreError:
    first = str(error).partition("\n")[0]
    return StoreError(f"{root}: table {name} is damaged ({first}); run `observatory doctor`")


def _in_use(staging: Path) -> bool:
    pid, _, node = staging.name.partition("-")
    if node.split("-", 1)[-1] != platform.node() or not pid.isdigit():
        return time.time() - staging.stat().st_mtime < FOREIGN_STAGING_SECONDS
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _retried(write: Callable[[], None], attempts: int = 6) -> None:
    for attempt in range(attempts):
        try:
            write()
        except CommitFailedError as error:
            if attempt == attempts - 1:
                raise StoreError(f"the store could not be written: {error}") from error
            time.sleep(0.05 * 2**attempt)
        except (OSError, DeltaError) as error:
            first = str(error).partition("\n")[0]
            raise StoreError(
                f"the store could not be written ({first}); nothing was changed. If its files are damaged, "
                "`observatory doctor --repair` sets those aside"
            ) from error
        else:
            return
