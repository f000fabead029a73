"""Checks the values of many lines of the neutral format at once, by column: `ingest.neutral_fields` for columns."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ingest import neutral_fields as fields
from ingest.arrays import TIME, floats, micros, times
from ingest.neutral_fields import Fields
from ingest.neutral_shapes import Types

_LATEST = 4e9
"""Seconds from 1970. Microseconds between earlier times are exact as floats; much larger ones are no seconds."""
_MOST = 2**32
"""Sums of smaller counts are exact as floats."""


class Unusual(Exception):
    """A line is not plain."""


def ensure(condition: bool) -> None:  # noqa: FBT001 - reads as a sentence
    """Raise `Unusual` unless the condition holds."""
    if not condition:
        raise Unusual


def columns(rows: pa.StructArray, types: Types, known: Fields, apart: frozenset[str] = frozenset()) -> dict[str, Any]:
    """Checked columns of a table, by name of the column, of the fields that have one.

    Raises:
        Unusual: A value is not plain.
        FieldError: A value breaks a rule of the format.
    """
    found: dict[str, Any] = {}
    for name in types:
        if name in known and name not in apart:
            column, check = known[name]
            checked = _CHECKS.get(fields.kind(known, name), _as_is)
            found[column] = checked(rows.field(name), partial(check, name))
    return found


def _as_is(values: pa.Array, _: Callable[[Any], Any]) -> pa.Array:
    return values


def _words(values: pa.Array, check: Callable[[Any], Any]) -> pa.Array:
    for each in values.unique().to_pylist():
        if each is not None:
            check(each)
    return values


def _ids(values: pa.Array, _: Callable[[Any], Any]) -> pa.Array:
    ensure(not pc.any(pc.equal(values, "")).as_py())
    return values


def _numbers(values: pa.Array, _: Callable[[Any], Any]) -> pa.Array:
    return pc.if_else(pc.is_finite(values), values, pa.scalar(None, pa.float64()))


def _times(values: pa.Array, check: Callable[[Any], Any]) -> pa.Array:
    if pa.types.is_string(values.type):
        found = pa.array([None if each is None else check(each) for each in values.to_pylist()], TIME)
        ensure(bool((np.abs(micros(found)) <= _LATEST * 1e6).all()))
        return found
    seconds = floats(values)
    ensure(bool(np.all((seconds > 0.0) & (seconds <= _LATEST) | np.isnan(seconds))))
    ensure(int(np.isnan(seconds).sum()) == values.null_count)
    return times(seconds)


def _counts(values: pa.Array, _: Callable[[Any], Any]) -> pa.Array:
    ensure((pc.max(values).as_py() or 0) < _MOST)
    return values.cast(pa.int64())


_CHECKS: dict[str, Callable[[pa.Array, Callable[[Any], Any]], pa.Array]] = {
    "word": _words,
    "id": _ids,
    "count": _counts,
    "number": _numbers,
    "time": _times,
}
"""How the values of a kind of field are checked and brought to their column's type; others are as they should be."""
