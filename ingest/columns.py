"""Columns and tables as data: what the contract in `ingest.schema` is written in."""

from dataclasses import dataclass
from typing import Literal

import pyarrow as pa

Type = Literal["string", "int", "float", "bool", "time", "json"]

_ARROW: dict[str, pa.DataType] = {
    "string": pa.string(),
    "int": pa.int64(),
    "float": pa.float64(),
    "bool": pa.bool_(),
    "time": pa.timestamp("us", tz="UTC"),
    "json": pa.string(),
}


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its type, what it means (with its unit), and what NULL means in it."""

    name: str
    type: Type
    meaning: str
    null: str = "not reported by the source"

    @property
    def arrow(self) -> pa.DataType:
        """The Arrow type this column is stored as."""
        return _ARROW[self.type]


@dataclass(frozen=True, slots=True)
class Table:
    """One table: what one row stands for, the columns that identify it, and all its columns."""

    name: str
    grain: str
    key: tuple[str, ...]
    columns: tuple[Column, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Column names, in stored order."""
        return tuple(column.name for column in self.columns)

    @property
    def arrow(self) -> pa.Schema:
        """Arrow schema of the stored table, `run_id` (the partition) first."""
        return pa.schema([pa.field(column.name, column.arrow) for column in self.columns])


NEVER = "never NULL"
NO_MESSAGES = "the source has no messages, so nothing could be counted"
RUN_ID = Column("run_id", "string", "run this row belongs to: a safe short slug of `runs.name`", NEVER)
SOURCE_ID = Column("source_id", "string", "URI of the file or folder the row was read from", NEVER)
ROLLOUT_ID = Column(
    "rollout_id", "string", "hash of run and native id (or source and position): stable over re-export", NEVER
)


def count_column(name: str, meaning: str) -> Column:
    """A count of things in a trajectory: NULL where the source has no messages, never 0 instead."""
    return Column(name, "int", meaning, NO_MESSAGES)
