"""Turns staged rows of one table into Arrow record batches; what does not fit its column becomes NULL, not an error.

Rows of a rollout's messages, tool calls and scores come in groups that share run, source and rollout, so that these
three columns are made per group and not per row. Chunks are small: turning rows into columns is fastest while the rows
are still in the processor's cache.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from ingest.columns import Column, Table
from ingest.reading import number, text, timestamp, whole
from ingest.sources.base import Values

CHUNK_BYTES = 24 * 1024 * 1024
CHUNK_ROWS = 1_000
_LONG = {"messages": "text", "tool_calls": "output_text", "parts": "payload", "samples": "prompt_text"}
"""The column by whose length a chunk is measured."""


class Sink(Protocol):
    """Where record batches go."""

    def write_batch(self, batch: pa.RecordBatch) -> None:
        """Add rows."""

    def close(self) -> None:
        """Finish."""


class ArrowFile:
    """One Arrow file."""

    def __init__(self, contract: Table, path: Path) -> None:
        self._file = pa.OSFile(str(path), "wb")
        self._writer = pa.ipc.new_file(self._file, contract.arrow)

    def write_batch(self, batch: pa.RecordBatch) -> None:
        """Add rows."""
        self._writer.write_batch(batch)

    def close(self) -> None:
        """Finish the file."""
        self._writer.close()
        self._file.close()


class TableWriter:
    """Collects rows of one table and hands them on chunk by chunk, so that memory stays flat."""

    def __init__(self, contract: Table, sink: Sink) -> None:
        self.contract = contract
        self.schema = contract.arrow
        self._names = frozenset(contract.names)
        self._long = _LONG.get(contract.name)
        self._rows: list[Values] = []
        self._groups: list[tuple[str, str, str]] = []
        self._sizes: list[int] = []
        self._bytes = 0
        self._sink = sink

    def add(self, values: Values) -> None:
        """Add one row with all its columns."""
        self._rows.append(values)
        if self._long is not None:
            self._bytes += len(values.get(self._long) or "")
        if len(self._rows) >= CHUNK_ROWS or self._bytes >= CHUNK_BYTES:
            self.flush()

    def extend(self, group: tuple[str, str, str], rows: Sequence[Values]) -> None:
        """Add the rows of one rollout, which lack (run_id, source_id, rollout_id): `group` holds them."""
        if not rows:
            return
        self._rows.extend(rows)
        self._groups.append(group)
        self._sizes.append(len(rows))
        long = self._long
        if long is not None:
            self._bytes += sum([len(row.get(long) or "") for row in rows])
        if len(self._rows) >= CHUNK_ROWS or self._bytes >= CHUNK_BYTES:
            self.flush()

    def flush(self) -> None:
        """Write what has been collected."""
        rows = self._rows
        if not rows:
            return
        shared = self._shared()
        columns = {name: [row.get(name) for row in rows] for name in set().union(*rows) - shared.keys()}
        self._batch(columns | shared, len(rows))
        self._rows, self._groups, self._sizes, self._bytes = [], [], [], 0

    def write(self, columns: dict[str, Any], size: int) -> None:
        """Write rows given by column (arrays or lists)."""
        self.flush()
        self._batch(columns, size)

    def _batch(self, columns: dict[str, Any], size: int) -> None:
        if not columns.keys() <= self._names:
            unknown = ", ".join(sorted(map(str, columns.keys() - self._names)))
            raise KeyError(f"{self.contract.name} has no column {unknown}")
        arrays = []
        for column in self.contract.columns:
            values = columns.get(column.name)
            arrays.append(pa.nulls(size, column.arrow) if values is None else _array(column, values))
        self._sink.write_batch(pa.record_batch(arrays, schema=self.schema))

    def _shared(self) -> dict[str, pa.Array]:
        if not self._groups:
            return {}
        names = ("run_id", "source_id", "rollout_id")
        at = np.repeat(np.arange(len(self._sizes)), self._sizes)
        columns = zip(*self._groups, strict=True)
        return {name: pa.array(values, pa.string()).take(at) for name, values in zip(names, columns, strict=True)}

    def close(self) -> None:
        """Write the rest and finish the file."""
        self.flush()
        self._sink.close()


def _array(column: Column, values: Any) -> pa.Array:
    if isinstance(values, pa.Array):
        return values if values.type == column.arrow else values.cast(column.arrow)
    try:
        if values[0].__class__ is str and values.count(values[0]) == len(values):  # as many columns of one source are
            return pa.repeat(pa.scalar(values[0], column.arrow), len(values))
        return pa.array(values, column.arrow, from_pandas=False)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, UnicodeEncodeError, TypeError):
        return pa.array([_fitted(column, value) for value in values], column.arrow)


def _fitted(column: Column, value: Any) -> Any:
    """A value as its column's type, None where it is none."""
    if value is None:
        return None
    if column.type in ("string", "json"):
        return text(value)
    if column.type == "int":
        return whole(value)
    if column.type == "float":
        return number(value)
    if column.type == "bool":
        return value if isinstance(value, bool) else None
    return value if hasattr(value, "tzinfo") else timestamp(value)
