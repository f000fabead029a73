"""How numbers stand in tables: as in the sentences beside them. Values stay values, so that a column can be sorted.

Formats of Streamlit's own columns follow the reader's browser, or set no thousands apart; so cells are written here.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

import pandas as pd
from pandas.io.formats.style import Styler

from dashboard.words import NOTHING, decimals, number, whole

MAX_CELLS: Final = 20_000
"""Larger tables go to the browser as they are: writing a cell takes 20 µs."""
Format = Callable[[Any], str]


def fixed(digits: int) -> Format:
    """Always so many decimals, for a column that is compared from row to row."""
    return lambda value: decimals(value, digits)


def change(value: float | None) -> str:
    """A difference to three decimals, always with its sign."""
    text = decimals(value, 3)
    return text if text == NOTHING or text.startswith("−") or not text.strip("0.") else f"+{text}"


def four(value: float | None) -> str:
    """Four significant digits."""
    return number(value, 4)


def written(frame: pd.DataFrame, formats: Mapping[str, Format] | None = None) -> "pd.DataFrame | Styler":
    """A frame whose numbers `st.dataframe` shows as `formats` says; else counts whole, and four significant digits.

    Missing values are "–". A column that has a format in its `st.column_config` keeps that one.
    """
    if frame.size > MAX_CELLS or not frame.columns.is_unique:
        return frame
    given = formats or {}
    known = {name: given.get(str(name)) or _by_type(frame[name]) for name in frame.columns}
    return frame.reset_index(drop=True).style.format({name: each for name, each in known.items() if each})


def _by_type(values: "pd.Series[Any]") -> Format | None:
    if pd.api.types.is_bool_dtype(values.dtype) or not pd.api.types.is_numeric_dtype(values.dtype):
        return _text
    return whole if (values.dropna() % 1 == 0).all() else four


def _text(value: Any) -> str:
    is_missing = pd.api.types.is_scalar(value) and bool(pd.isna(value))
    return NOTHING if is_missing else str(value)
