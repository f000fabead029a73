"""Sets damaged files of a store aside and publishes what is left. Deletes nothing: they stay below `<root>/damaged`.

What the set-aside files held comes back by reading its sources again (`--force`); everything else keeps its rows.
"""

import os
import shutil
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from ingest import catalog
from ingest.columns import Table
from ingest.schema import TABLES
from ingest.store import Store


def is_whole(file: Path | str, *, every_row: bool = False) -> bool:
    """Whether a Parquet file is there and has its end, by which it is read; with `every_row`, whether all can be."""
    try:
        with pq.ParquetFile(file) as found:
            for _ in found.iter_batches(8_192) if every_row else ():
                pass
    except (OSError, ValueError, pa.ArrowException):
        return False
    return True


def trouble(root: Path, name: str) -> str | None:
    """What is wrong with a table's log, as one line: it cannot be read, or is behind what was published of it."""
    published = [root / file for file in catalog.known_columns(root / catalog.CATALOG_FILE) if _table(file) == name]
    path = catalog.lake_path(root, name)
    if not (path / "_delta_log").is_dir():
        return "it is gone, though rows of it were published" if published else None
    try:
        held = {Path(file) for file in DeltaTable(str(path)).file_uris()}
    except (DeltaError, OSError) as error:
        return f"its log is damaged ({one_line(error)})"
    forgotten = [file for file in published if file not in held]
    if forgotten:
        logged = "".join(each.read_text("utf-8", "replace") for each in (path / "_delta_log").glob("*.json"))
        forgotten = [file for file in forgotten if file.name not in logged]
    return "its log lacks the end: files that were published are not in it" if forgotten else None


def one_line(error: Exception) -> str:
    """The first line of an error: what follows in delta-rs' is a backtrace."""
    return (str(error) or type(error).__name__).splitlines()[0]


def repair(root: Path) -> list[str]:
    """Set aside what cannot be read, rebuild tables whose log is damaged from their Parquet files, publish.

    Returns one sentence per thing done; nothing for a store that is whole.

    Raises:
        StoreError: The store cannot be written.
    """
    store = Store(root)
    with store.held():  # a commit under way looks like damage
        return _repair(store)


def _repair(store: Store) -> list[str]:
    aside = store.root / "damaged" / f"{datetime.now(UTC):%Y%m%dT%H%M%S}"
    pending = store.root / "lake" / "_pending.json"
    done: list[str] = []
    sick = {each.name: found for each in TABLES if (found := trouble(store.root, each.name))}
    if sick or not _is_listed(store.root):  # versions begin anew, so that older snapshots mean nothing any more
        published = catalog.known_columns(store.root / catalog.CATALOG_FILE)
        for name in (*sick, catalog.SNAPSHOTS):
            _move(catalog.lake_path(store.root, name), aside)
        if pending.exists():
            _move(pending, aside)
        for each in TABLES:
            if each.name in sick:
                files = [aside / Path(file).relative_to("lake") for file in published if _table(file) == each.name]
                kept = [file for file in files if is_whole(file, every_row=True)]
                _rebuild(store, each, kept)
                done.append(f"{each.name}: {sick[each.name]}; rebuilt from {len(kept)} of {len(files)} Parquet files.")
        done.append("Links pinned to earlier snapshots have ended.")
    done += _without_damaged_files(store, aside)
    if (store.root / catalog.CATALOG_FILE).is_dir():
        _move(store.root / catalog.CATALOG_FILE, aside)
    if done or not _opens(store.root):
        store.republish()
        done.append("What is left was published.")
    return done


def _table(file: str) -> str:
    return Path(file).parts[1]


def _is_listed(root: Path) -> bool:
    path = catalog.lake_path(root, catalog.SNAPSHOTS)
    try:
        return not path.exists() or all(is_whole(file) for file in DeltaTable(str(path)).file_uris())
    except (DeltaError, OSError):
        return False


def _opens(root: Path) -> bool:
    return bool(catalog.known_columns(root / catalog.CATALOG_FILE))


def _move(path: Path, aside: Path) -> None:
    if path.exists():
        aside.mkdir(parents=True, exist_ok=True)
        shutil.move(str(path), str(aside / path.name))


def _rebuild(store: Store, contract: Table, files: Sequence[Path]) -> None:
    """Write a table anew from its files."""
    runs = sorted({run_id for file in files for run_id in _run_ids(file)})
    if runs:
        with store.transaction():
            store.replace(contract.name, lambda: _rows(contract, files), runs, None)


def _run_ids(file: Path) -> set[str]:
    if file.parent.name.startswith("run_id="):
        return {file.parent.name.removeprefix("run_id=")}
    return set(pq.read_table(file, columns=["run_id"], partitioning=None)["run_id"].to_pylist())


def _rows(contract: Table, files: Sequence[Path]) -> pa.RecordBatchReader:
    return pa.RecordBatchReader.from_batches(contract.arrow, _batches(contract, files))


def _batches(contract: Table, files: Sequence[Path]) -> Iterator[pa.RecordBatch]:
    for file in files:
        for batch in pq.ParquetFile(file).iter_batches(8_192):
            present = dict(zip(batch.schema.names, batch.columns, strict=True))
            if "run_id" not in present:
                present["run_id"] = pa.array([file.parent.name.removeprefix("run_id=")] * len(batch), pa.string())
            arrays = [
                present[each.name].cast(each.type) if each.name in present else pa.nulls(len(batch), each.type)
                for each in contract.arrow
            ]
            yield pa.record_batch(arrays, schema=contract.arrow)


def _without_damaged_files(store: Store, aside: Path) -> Iterator[str]:
    """Take files that are missing or damaged out of their tables."""
    for each in TABLES:
        path = catalog.lake_path(store.root, each.name)
        if not (path / "_delta_log").is_dir():
            continue
        table = DeltaTable(str(path))
        broken = [Path(file) for file in table.file_uris() if not is_whole(file, every_row=True)]
        for file in broken:
            _move(file, aside / each.name / os.path.relpath(file.parent, path))
        if broken:
            table.repair(dry_run=False)
            runs = sorted({file.parent.name.removeprefix("run_id=") for file in broken if file.parent != path})
            yield f"{each.name}: {len(broken)} damaged or missing files taken out (runs: {', '.join(runs) or 'all'})."
