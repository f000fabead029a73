"""Reading other people's Parquet files row by row: damaged pages, texts that are no UTF-8, two columns of one name.

Shared by the sources that find rollouts in Parquet. Nothing here knows a format.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from ingest.errors import UnreadableError
from ingest.sources.base import Reject, Values

BATCH_ROWS = 256
DAMAGE = (OSError, pa.ArrowException)
"""What reading a damaged Parquet file raises."""
NOT_UTF8 = "a text of the row is not UTF-8"


def opened(path: Path) -> pq.ParquetFile:
    """The file.

    Raises:
        UnreadableError: It is not a whole Parquet file.
    """
    try:
        return pq.ParquetFile(path)
    except DAMAGE as error:
        raise UnreadableError(f"{path}: not a whole Parquet file ({' '.join(str(error).split())})") from None


def column_names(path: Path) -> frozenset[str]:
    """Names of a file's columns; none where it is not a whole Parquet file."""
    try:
        return frozenset(pq.read_schema(path).names)
    except DAMAGE:
        return frozenset()


def unique(names: Sequence[str]) -> list[str]:
    """Column names, a second one of a name as `…#2`."""
    seen: Counter[str] = Counter()
    found = []
    for name in names:
        seen[name] += 1
        found.append(name if seen[name] == 1 else f"{name}#{seen[name]}")
    return found


def rows(parquet: pq.ParquetFile, columns: Sequence[str] | None = None) -> Iterator[Values | None]:
    """Rows in order, of all columns or of those; None stands for a row whose text is not UTF-8.

    Raises:
        OSError: The file is damaged.
        ArrowException: The file is damaged.
    """
    for batch in parquet.iter_batches(BATCH_ROWS, columns=columns):
        named = batch.rename_columns(unique(batch.schema.names))
        try:
            yield from named.to_pylist()
        except UnicodeDecodeError:
            yield from (_row(named.slice(at, 1)) for at in range(len(named)))


def _row(batch: pa.RecordBatch) -> Values | None:
    try:
        row: Values = batch.to_pylist()[0]
    except UnicodeDecodeError:
        return None
    return row


def damaged(parquet: pq.ParquetFile, error: Exception, position: int, file: str) -> Reject:
    """What stands for all rows from a position on, where the file is damaged there."""
    missing = parquet.metadata.num_rows - position
    reason = f"damaged: {' '.join(str(error).split())}; {missing} rows are missing from here on"
    return Reject(reason, str(position), file=file)


def objects(path: Path, file: str) -> Iterator[tuple[int, Values] | Reject]:
    """Rows with their numbers, what is null inside their columns left out; what cannot be read is a `Reject`.

    Raises:
        UnreadableError: It is not a whole Parquet file.
    """
    parquet = opened(path)
    position = 0
    try:
        for row in rows(parquet):
            yield Reject(NOT_UTF8, str(position), file=file) if row is None else (position, without_nulls(row))
            position += 1
    except DAMAGE as error:
        yield damaged(parquet, error, position, file)


def without_nulls(value: Any) -> Any:
    """Drop what is null inside an object: Parquet gives every struct the keys of all of its column."""
    if isinstance(value, dict):
        return {key: without_nulls(each) for key, each in value.items() if each is not None}
    return [without_nulls(each) for each in value] if isinstance(value, list) else value
