"""Frames taken apart for sentences and figures: by run, by several columns, row by row. No Streamlit, no questions."""

from collections.abc import Iterator
from typing import Any, Final

import pandas as pd

MAX_RUNS: Final = 12
"""Runs drawn in one figure at most."""


def by_run(frame: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """The rows of each run, in order of appearance."""
    return {str(run_id): rows for run_id, rows in frame.groupby("run_id", sort=False)}


def by(frame: pd.DataFrame, *columns: str) -> Iterator[tuple[tuple[str, ...], pd.DataFrame]]:
    """The rows of each combination of texts in some columns, in order of appearance."""
    for keys, rows in frame.groupby(list(columns), sort=False):
        yield tuple(str(each) for each in keys), rows


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows as dictionaries, None where a value is missing."""
    rows = frame.astype(object).to_dict("records")
    return [{str(name): None if _is_missing(value) else value for name, value in row.items()} for row in rows]


def _is_missing(value: Any) -> bool:
    return pd.api.types.is_scalar(value) and bool(pd.isna(value))


def texts(column: "pd.Series[Any]") -> list[str]:
    """The distinct texts of a column, in order of appearance, without missing ones."""
    return [str(each) for each in dict.fromkeys(column.dropna())]


def drawn_runs(frame: pd.DataFrame, at_most: int = MAX_RUNS) -> pd.DataFrame:
    """The rows of the first runs of a frame, as many as one figure holds."""
    return frame[frame["run_id"].isin(texts(frame["run_id"])[:at_most])]
