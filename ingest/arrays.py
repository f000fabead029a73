"""Small conversions between NumPy and Arrow. Nothing here knows a table or a format."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
TIME = pa.timestamp("us", "UTC")


def nullable(values: NDArray[Any], missing: Flags) -> pa.Array:
    """An Arrow array that is NULL where `missing` holds."""
    return pa.array(values, mask=missing)


def flags(values: pa.Array) -> Flags:
    """A Boolean Arrow array as NumPy, NULL as False."""
    found: Flags = values.fill_null(False).to_numpy(zero_copy_only=False)  # noqa: FBT003 - Arrow's own parameter
    return found


def is_known(values: pa.Array) -> Flags:
    """Where an array is not NULL."""
    return flags(values.is_valid())


def floats(values: pa.Array) -> Floats:
    """Numbers as NumPy, NULL as NaN."""
    found: Floats = values.cast(pa.float64()).to_numpy(zero_copy_only=False)
    return found


def micros(values: pa.Array) -> Ints:
    """Times as microseconds since 1970, 0 where they are NULL."""
    found: Ints = values.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    return found


def times(seconds: Floats) -> pa.Array:
    """Times from seconds since 1970, rounded to microseconds as `datetime.fromtimestamp` rounds them; NaN is NULL."""
    missing = np.isnan(seconds)
    fractions, whole = np.modf(np.where(missing, 0.0, seconds))
    found = whole.astype(np.int64) * 1_000_000 + np.rint(fractions * 1e6).astype(np.int64)
    return pa.array(found, mask=missing).cast(TIME)


def mapped(values: pa.Array, words: dict[Any, Any], into: pa.DataType) -> pa.Array:
    """Every value by its word in a dictionary (NULL stays NULL); few different values are assumed."""
    coded = values.dictionary_encode()
    return pa.array([words[each] for each in coded.dictionary.to_pylist()], into).take(coded.indices)


def codes(*columns: pa.Array) -> Sequence[Ints]:
    """Whole numbers for texts, equal where the texts are equal, in any of the columns; NULL is -1."""
    together = pa.chunked_array(columns).combine_chunks().dictionary_encode()
    numbers = together.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    return np.split(numbers, np.cumsum([len(each) for each in columns])[:-1])


def constant(value: Any, size: int, into: pa.DataType) -> pa.Array:
    """An array of one value."""
    return pa.repeat(pa.scalar(value, into), size)


def coalesced(first: pa.Array | None, second: pa.Array | None) -> pa.Array | None:
    """The first where it is known, else the second."""
    if first is None or second is None:
        return second if first is None else first
    return pc.coalesce(first, second)
