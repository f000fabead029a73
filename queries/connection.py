"""The only reader of the store: opens one snapshot, locks it down, runs questions from `queries/sql/`.

The published catalog is attached read-only to a private in-memory database, in which `queries/views/*.sql` define what
questions share. After that external access is off and the configuration locked; statements come only from our files.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, TypeVar

import duckdb
import pandas as pd
import pyarrow as pa

from ingest import catalog
from ingest.errors import QuestionError, SnapshotError, StoreEmptyError, StoreError
from ingest.schema import SCHEMA_VERSION, TABLES

_HERE = Path(__file__).parent
_PARAMETER = re.compile(r"\$([a-z_]+)")
MANY_FILES = 500
"""Files of a store from which questions about a few runs are asked of the files of these runs alone: to plan a query
over the files of 2 000 runs takes longer than to read those of two."""
FEW_RUNS = 50
AT_ONCE = 4
"""Statements asked at the same time at most."""
Item = TypeVar("Item")
Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class Reading:
    """One snapshot of a store, opened for reading. Safe to share between threads: every call has its own cursor."""

    root: Path
    snapshot_id: int
    created_at: datetime
    connection: duckdb.DuckDBPyConnection

    def ask(self, question: str, parameters: Mapping[str, Any]) -> pd.DataFrame:
        """The answer of `queries/sql/<question>.sql`, its `$name` parameters taken from `parameters`.

        Raises:
            QuestionError: A parameter the question needs is missing, or a file of the snapshot is gone.
        """
        return to_pandas(self.arrow(question, parameters))

    def arrow(self, question: str, parameters: Mapping[str, Any]) -> pa.Table:
        """Like `ask`, as an Arrow table."""
        text = statement(question)
        needed = set(_PARAMETER.findall(_without_comments(text)))
        missing = needed - set(parameters)
        if missing:
            raise QuestionError(f"{question} needs {', '.join(sorted(missing))}")
        try:
            with self._connection({name: parameters[name] for name in needed}).cursor() as cursor:
                relation = cursor.sql(text, params={name: parameters[name] for name in needed})
                return relation.to_arrow_table()
        except duckdb.IOException as error:
            raise StoreError(
                f"a file of snapshot {self.snapshot_id} is gone ({_first_line(error)}); open the latest snapshot, "
                "or run `observatory doctor`"
            ) from error
        except duckdb.Error as error:
            raise QuestionError(f"{question} could not be answered: {_first_line(error)}") from error

    def _connection(self, parameters: Mapping[str, Any]) -> duckdb.DuckDBPyConnection:
        """The connection to ask with these parameters: that of the runs they name, where these are few of many."""
        named = [parameters["run_id"]] if parameters.get("run_id") is not None else []
        named += parameters.get("run_ids") or ()
        several = [value if isinstance(value, list) else [value] for value in parameters.values()]
        structs = [each for values in several for each in values if isinstance(each, Mapping)]
        named += [each["run_id"] for each in structs if "run_id" in each]  # the arms
        if not named or len(named) > FEW_RUNS:
            return self.connection
        return _narrowed(self, tuple(sorted(set(named))))


@lru_cache(maxsize=8)
def _narrowed(store: Reading, run_ids: tuple[str, ...]) -> duckdb.DuckDBPyConnection:
    """A connection to the files of some runs alone; that of the whole store where it has few files."""
    with store.connection.cursor() as cursor:
        columns_of = dict(cursor.sql("SELECT file, columns FROM snapshot_files").fetchall())
    if len(columns_of) < MANY_FILES:
        return store.connection
    connection = duckdb.connect()
    kept = {file: columns for file, columns in columns_of.items() if catalog.concerns(file, run_ids)}
    catalog.views(store.root, kept, connection)
    _share_and_lock(connection, store.root)
    return connection


def at_once(asked: Callable[[Item], Found], items: Sequence[Item]) -> list[Found]:
    """What a function that asks finds for each item, asked at the same time: planning a statement takes one core only.

    Raises:
        QuestionError: As the function, for the first item that fails.
    """
    with ThreadPoolExecutor(max_workers=max(1, min(len(items), AT_ONCE))) as pool:
        return list(pool.map(asked, items))


def to_pandas(table: pa.Table) -> pd.DataFrame:
    """A frame that keeps integers with NULLs as integers, and NULL apart from NaN."""
    mapping = {pa.int64(): pd.Int64Dtype(), pa.int32(): pd.Int64Dtype(), pa.bool_(): pd.BooleanDtype()}
    frame: pd.DataFrame = table.to_pandas(types_mapper=mapping.get)
    return frame


@cache
def statement(question: str) -> str:
    """Text of a question's statement.

    Raises:
        QuestionError: There is no such question.
    """
    path = _HERE / "sql" / f"{question}.sql"
    if not re.fullmatch(r"[a-z_]+", question) or not path.exists():
        raise QuestionError(f"there is no question {question!r}")
    return path.read_text()


def _without_comments(text: str) -> str:
    return re.sub(r"--[^\n]*", "", text)


def open_store(root: Path, snapshot_id: int | None = None) -> Reading:
    """Open a store's latest snapshot, or a pinned one.

    Raises:
        StoreEmptyError: There is no store at `root`, or nothing was ever committed.
        SnapshotError: The pinned snapshot is no longer there.
        StoreError: The catalog is damaged, or of a newer version.
    """
    root = root.expanduser().resolve()
    published = root / catalog.CATALOG_FILE
    if not published.exists():
        raise StoreEmptyError(
            f"{root}: nothing has been ingested yet; run `observatory ingest PATH` or `observatory demo`"
        )
    connection = duckdb.connect()
    try:
        connection.execute(f"ATTACH {catalog.literal(str(published))} AS store (READ_ONLY)")
        found = connection.sql("SELECT snapshot_id, created_at, root, schema_version FROM store.snapshot").fetchall()
    except duckdb.Error as error:
        raise StoreError(f"{published} is damaged ({_first_line(error)}); run `observatory doctor`") from error
    if not found:
        raise StoreError(f"{published} holds no snapshot; run `observatory doctor`")
    latest, created_at, published_root, version = found[0]
    if version > SCHEMA_VERSION:
        raise StoreError(
            f"{root} was written by a newer version (schema {version}, this one reads up to {SCHEMA_VERSION}); "
            "update Rollout Observatory"
        )
    if snapshot_id in (None, latest) and Path(published_root) == root:
        _views(connection, published)
    else:
        snapshot = catalog.snapshot(root, latest if snapshot_id is None else snapshot_id)
        catalog.build(root, snapshot, connection, {})
        latest, created_at = snapshot.snapshot_id, snapshot.created_at
    _share_and_lock(connection, root)
    return Reading(root, latest, created_at, connection)


def _views(connection: duckdb.DuckDBPyConnection, published: Path) -> None:
    try:
        found = connection.sql("SELECT table_name, column_name FROM duckdb_columns() WHERE database_name = 'store'")
        held = set(found.fetchall())
        for table in TABLES:
            # What an older version had no column for is not known of any of its rows.
            own = (table.name, f"{table.name}_stored")
            added = [catalog.unknown(each) for each in table.columns if not any((of, each.name) in held for of in own)]
            columns = ", ".join(["*", *added])
            connection.execute(f"CREATE VIEW {table.name} AS SELECT {columns} FROM store.{table.name}")  # noqa: S608 - ours
        for name in ("runs_stored", "snapshot_files"):
            connection.execute(f"CREATE VIEW {name} AS FROM store.{name}")
    except duckdb.Error as error:  # a file is missing or damaged, or the catalog is another version's
        raise StoreError(f"{published} cannot be read ({_first_line(error)}); run `observatory doctor`") from error


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]


def _share_and_lock(connection: duckdb.DuckDBPyConnection, root: Path) -> None:
    for view in sorted((_HERE / "views").glob("*.sql")):
        connection.execute(view.read_text())
    connection.execute("SET GLOBAL TimeZone = 'UTC'")
    connection.execute("SET GLOBAL parquet_metadata_cache = true")
    connection.execute(f"SET GLOBAL allowed_directories = [{catalog.literal(str(root / 'lake'))}]")
    connection.execute("SET GLOBAL enable_external_access = false")
    connection.execute("SET GLOBAL lock_configuration = true")


__all__ = ["Reading", "SnapshotError", "open_store", "statement", "to_pandas"]
