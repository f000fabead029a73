"""Checks a store and says what to do about what it finds. Changes nothing."""

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import duckdb
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError, TableNotFoundError

from ingest import catalog
from ingest.repair import is_whole, one_line, trouble
from ingest.schema import TABLES

REPAIR = "`observatory doctor --repair` sets it aside, then ingest what was lost again with --force"
SMALL_FILES = 200
"""More files than this in one table are worth compacting."""
LOW_DISK_BYTES = 1024**3


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was checked."""

    check: str
    text: str
    is_problem: bool = False


def examine(root: Path) -> list[Finding]:
    """Check a store at `root`: folder, interrupted commits, tables, files, catalog, disk."""
    root = root.expanduser().resolve()
    if not (root / "lake").is_dir():
        return [
            Finding(
                "store",
                f"there is none at {root}: run `observatory ingest PATH` or `observatory demo`",
                is_problem=True,
            )
        ]
    return [*_folder(root), *_commits(root), *_tables(root), *_catalog(root)]


def _folder(root: Path) -> Iterator[Finding]:
    writable = os.access(root, os.W_OK)
    yield Finding("store", f"{root}" + ("" if writable else " (read-only: pages work, ingest does not)"))
    free = shutil.disk_usage(root).free
    text = f"{free / 1e9:,.1f} GB free"
    yield Finding(
        "disk", text + (": free some before ingesting" if free < LOW_DISK_BYTES else ""), free < LOW_DISK_BYTES
    )


def _commits(root: Path) -> Iterator[Finding]:
    if (root / "lake" / "_pending.json").exists():
        yield Finding(
            "commit", "one is under way or was cut off; the next ingest rolls it back, nothing published is lost"
        )
    try:
        snapshots = DeltaTable(str(catalog.lake_path(root, catalog.SNAPSHOTS))).file_uris()
        if not all(map(is_whole, snapshots)):
            yield Finding("snapshots", f"some of their files are gone or damaged: {REPAIR}", is_problem=True)
    except TableNotFoundError:
        pass
    except (DeltaError, OSError) as error:
        yield Finding("snapshots", f"their log is damaged ({one_line(error)}): {REPAIR}", is_problem=True)
    left = list((root / "staging").iterdir()) if (root / "staging").is_dir() else []
    if left:
        yield Finding(
            "staging", f"{len(left)} folders of running or cut-off ingests; the next ingest removes dead ones"
        )


def _tables(root: Path) -> Iterator[Finding]:
    for table in TABLES:
        found = trouble(root, table.name)
        if found is not None:
            yield Finding(table.name, f"{found}: {REPAIR}", is_problem=True)
            continue
        try:
            files = DeltaTable(str(catalog.lake_path(root, table.name))).file_uris()
        except TableNotFoundError:
            continue
        damaged = [file for file in files if not is_whole(file)]
        if damaged:
            text = f"{len(damaged)} of {len(files)} files are gone or damaged, e.g. {damaged[0]}: {REPAIR}"
            yield Finding(table.name, text, is_problem=True)
        elif len(files) > SMALL_FILES:
            yield Finding(table.name, f"{len(files):,} files: `observatory compact` makes questions faster")
        else:
            yield Finding(table.name, f"{len(files):,} files")


def _catalog(root: Path) -> Iterator[Finding]:
    path = root / catalog.CATALOG_FILE
    if not path.exists():
        yield Finding("catalog", "nothing is published: `observatory doctor --repair` publishes it", is_problem=True)
        return
    try:
        with duckdb.connect() as connection:
            connection.execute(f"ATTACH {catalog.literal(str(path))} AS store (READ_ONLY)")
            found = connection.sql("SELECT snapshot_id, root FROM store.snapshot").fetchall()
    except duckdb.Error as error:
        yield Finding(
            "catalog",
            f"it cannot be opened ({one_line(error)}): `observatory doctor --repair` publishes it again",
            is_problem=True,
        )
        return
    if not found:
        yield Finding(
            "catalog", "it holds no snapshot: `observatory doctor --repair` publishes it again", is_problem=True
        )
        return
    snapshot_id, published_root = found[0]
    moved = (
        ""
        if Path(published_root) == root
        else f"; the store was moved from {published_root}: pages follow by themselves"
    )
    yield Finding("catalog", f"snapshot {snapshot_id}{moved}")
