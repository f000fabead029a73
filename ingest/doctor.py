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
from ingest.schema import TABLES

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
    left = list((root / "staging").iterdir()) if (root / "staging").is_dir() else []
    if left:
        yield Finding(
            "staging", f"{len(left)} folders of running or cut-off ingests; the next ingest removes dead ones"
        )


def _tables(root: Path) -> Iterator[Finding]:
    for table in TABLES:
        try:
            files = DeltaTable(str(catalog.lake_path(root, table.name))).file_uris()
        except TableNotFoundError:
            continue
        except (DeltaError, OSError) as error:
            text = f"its log is damaged ({error}): forget and ingest again, or restore a backup"
            yield Finding(table.name, text, is_problem=True)
            continue
        missing = [file for file in files if not Path(file).exists()]
        if missing:
            text = (
                f"{len(missing)} of {len(files)} files are gone, e.g. {missing[0]}: ingest their sources with --force"
            )
            yield Finding(table.name, text, is_problem=True)
        elif len(files) > SMALL_FILES:
            yield Finding(table.name, f"{len(files):,} files: `observatory compact` makes questions faster")
        else:
            yield Finding(table.name, f"{len(files):,} files")


def _catalog(root: Path) -> Iterator[Finding]:
    path = root / catalog.CATALOG_FILE
    if not path.exists():
        yield Finding("catalog", "nothing is published: run `observatory ingest` once more", is_problem=True)
        return
    try:
        with duckdb.connect() as connection:
            connection.execute(f"ATTACH {catalog.literal(str(path))} AS store (READ_ONLY)")
            found = connection.sql("SELECT snapshot_id, root FROM store.snapshot").fetchall()
    except duckdb.Error as error:
        yield Finding(
            "catalog", f"it cannot be opened ({error}): delete {path} and ingest anything again", is_problem=True
        )
        return
    snapshot_id, published_root = found[0]
    moved = (
        ""
        if Path(published_root) == root
        else f"; the store was moved from {published_root}: pages follow by themselves"
    )
    yield Finding("catalog", f"snapshot {snapshot_id}{moved}")
