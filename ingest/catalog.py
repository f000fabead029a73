"""Turns table versions into views: the published catalog, pinned snapshots, stores that were moved.

The writer publishes with it; the reader uses it where the published file cannot be trusted (another snapshot is asked
for, or the folder stands elsewhere now). It changes nothing in the lake.
"""

import json
import os
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable
from deltalake.exceptions import TableNotFoundError

from ingest.columns import Column, Table
from ingest.errors import SnapshotError
from ingest.schema import SCHEMA_VERSION, TABLES

CATALOG_FILE = "observatory.duckdb"
SNAPSHOTS = "snapshots"

_DUCKDB_TYPES = {
    "string": "VARCHAR",
    "int": "BIGINT",
    "float": "DOUBLE",
    "bool": "BOOLEAN",
    "time": "TIMESTAMP WITH TIME ZONE",
    "json": "VARCHAR",
}


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One published state of the store: the version of every table at one moment."""

    snapshot_id: int
    created_at: datetime
    versions: dict[str, int]


def lake_path(root: Path, table: str) -> Path:
    """Folder of a Delta table."""
    return root / "lake" / table


def literal(value: str) -> str:
    """A SQL string literal."""
    return "'" + value.replace("'", "''") + "'"


def build(root: Path, snapshot: Snapshot, connection: duckdb.DuckDBPyConnection, known: dict[str, str]) -> None:
    """Create a view per table over the files of a snapshot, and the tables `snapshot` and `snapshot_files`.

    `known` maps file names to the columns they hold (from an earlier catalog): only new files are opened.

    Raises:
        SnapshotError: A file of the snapshot is gone (vacuumed).
    """
    columns_of: dict[str, str] = {}
    for table in TABLES:
        for file in _files(root, table.name, snapshot.versions.get(table.name)):
            relative = os.path.relpath(file, root)
            columns_of[relative] = known.get(relative) or _columns(file)
    views(root, columns_of, connection)
    connection.execute(
        "CREATE TABLE snapshot AS SELECT $id::BIGINT AS snapshot_id, $at::TIMESTAMPTZ AS created_at, $root AS root, "
        "$schema::INTEGER AS schema_version",
        {"id": snapshot.snapshot_id, "at": snapshot.created_at, "root": str(root), "schema": SCHEMA_VERSION},
    )
    connection.execute("CREATE TABLE snapshot_files (file VARCHAR, columns VARCHAR)")
    if columns_of:
        connection.execute(
            "INSERT INTO snapshot_files SELECT unnest($files), unnest($columns)",
            {"files": list(columns_of), "columns": list(columns_of.values())},
        )


def views(root: Path, columns_of: Mapping[str, str], connection: duckdb.DuckDBPyConnection) -> None:
    """Create a view per table over files of the store, given by their paths below `root`, and the columns they hold."""
    for table in TABLES:
        folder = os.path.relpath(lake_path(root, table.name), root) + os.sep
        files = {str(root / file): columns for file, columns in columns_of.items() if file.startswith(folder)}
        connection.execute(f"CREATE VIEW {table.name}_stored AS {over(table, files)}")
        connection.execute(f"CREATE VIEW {table.name} AS {_COLLAPSED.get(table.name, f'FROM {table.name}_stored')}")


def concerns(file: str, run_ids: Collection[str]) -> bool:
    """Whether a file of a table, given by its path, may hold rows of these runs: partitioned tables say so in it."""
    name = Path(file).parent.name
    return not name.startswith("run_id=") or name.removeprefix("run_id=") in run_ids


def publish(root: Path, snapshot: Snapshot) -> None:
    """Build the catalog of a snapshot aside and put it in the place of the old one in one step."""
    target = root / CATALOG_FILE
    aside = root / f".{CATALOG_FILE}.{os.getpid()}"
    aside.unlink(missing_ok=True)
    known = known_columns(target)
    try:
        with duckdb.connect() as connection:
            connection.execute(f"ATTACH {literal(str(aside))} AS catalog (STORAGE_VERSION 'v1.0.0')")
            connection.execute("USE catalog")
            connection.begin()  # one write to the disk, not one a statement
            build(root, snapshot, connection, known)
            connection.commit()
            connection.execute("USE memory; DETACH catalog")
        aside.replace(target)
    finally:
        aside.unlink(missing_ok=True)


def known_columns(catalog: Path) -> dict[str, str]:
    """Columns by file, as an earlier catalog knows them; empty where it holds no snapshot or cannot be read."""
    if not catalog.exists():
        return {}
    try:
        with duckdb.connect() as connection:
            connection.execute(f"ATTACH {literal(str(catalog))} AS catalog (READ_ONLY)")
            rows = connection.sql("SELECT file, columns FROM catalog.snapshot, catalog.snapshot_files").fetchall()
        return {str(file): str(columns) for file, columns in rows}
    except duckdb.Error:
        return {}


def _files(root: Path, table: str, version: int | None) -> list[str]:
    if version is None:
        return []
    path = lake_path(root, table)
    try:
        return sorted(DeltaTable(str(path), version=version).file_uris())
    except Exception as error:
        raise SnapshotError(
            f"the snapshot's version {version} of {table} is no longer in the store ({error}); open the latest instead"
        ) from error


def _columns(file: str) -> str:
    try:
        return ",".join(sorted(pq.read_schema(file).names))
    except (OSError, ValueError) as error:
        raise SnapshotError(f"{file} is missing or damaged ({error}); run `observatory doctor`") from error


def over(table: Table, columns_of: dict[str, str]) -> str:
    """A query over Parquet files of a table, all its columns present: NULL in files of an older schema.

    `columns_of` maps each file to its columns. Files of one schema are read together, then joined BY NAME, which is
    free (`union_by_name` over all of them is not).
    """
    groups: dict[str, list[str]] = {}
    for file, columns in columns_of.items():
        groups.setdefault(columns, []).append(file)
    selects = [_select(table, names, set(columns.split(","))) for columns, names in groups.items()]
    complete = any({"run_id", *columns.split(",")} >= set(table.names) for columns in groups)
    return " UNION ALL BY NAME ".join(selects if complete else [_empty(table), *selects])


def scan(table: Table, files: Iterable[str]) -> str:
    """The same over the files of a table as they are, in parentheses."""
    return f"({over(table, {file: _columns(file) for file in files})})"


def _select(table: Table, files: list[str], present: set[str]) -> str:
    names = ", ".join(name for name in table.names if name == "run_id" or name in present)
    listed = ", ".join(literal(file) for file in files)
    # A partitioned table has the run in the name of a file's folder, a small one in the file itself.
    hive = "" if "run_id" in present else ", hive_partitioning = true, hive_types = {'run_id': 'VARCHAR'}"
    return f"SELECT {names} FROM read_parquet([{listed}]{hive})"  # noqa: S608 - names are ours, paths are quoted


def _empty(table: Table) -> str:
    return f"SELECT {', '.join(unknown(each) for each in table.columns)} WHERE false"


def unknown(column: Column) -> str:
    """A column of which nothing is known: NULL, of its type."""
    return f"CAST(NULL AS {_DUCKDB_TYPES[column.type]}) AS {column.name}"


def _first(column: str) -> str:
    return f"first({column} ORDER BY precedence, source_id) FILTER (WHERE {column} IS NOT NULL) AS {column}"


def _collapsed_runs() -> str:
    names = [column.name for column in TABLES[0].columns if column.name not in ("run_id", "precedence")]
    collapsed = ", ".join(_first(name) for name in names)
    return f"SELECT run_id, {collapsed} FROM runs_stored GROUP BY run_id"  # noqa: S608 - column names of the schema


def _one_per(name: str, key: str, order: str) -> str:
    return f"FROM {name}_stored QUALIFY row_number() OVER (PARTITION BY {key} ORDER BY {order}) = 1"


_COLLAPSED = {
    "runs": _collapsed_runs(),
    "metrics": (
        "FROM metrics_stored QUALIFY row_number() OVER "
        "(PARTITION BY run_id, step, split, name, labels ORDER BY value IS NULL, source_id, position DESC) = 1"
    ),
    "checkpoints": _one_per("checkpoints", "run_id, step", "source_id"),
    "samples": _one_per("samples", "run_id, environment, sample_id", "source_id, length(prompt_text)"),
}
"""Views that collapse what several sources say of one thing. `runs`: the lowest precedence that says something wins,
column by column. `samples`: of several prompts the shortest, the one given explicitly. `metrics`: of one source's rows
of a step the last, of several sources the first that has a value."""


def snapshot(root: Path, snapshot_id: int) -> Snapshot:
    """A snapshot by its number.

    Raises:
        SnapshotError: It was never made, or has been removed.
    """
    try:
        rows = pa.table(DeltaTable(str(lake_path(root, SNAPSHOTS))).to_pyarrow_table()).to_pylist()
    except TableNotFoundError:
        rows = []
    for row in rows:
        if row["snapshot_id"] == snapshot_id:
            return Snapshot(snapshot_id, row["created_at"], json.loads(row["versions"]))
    raise SnapshotError(f"snapshot {snapshot_id} is not in this store; open the latest instead")
