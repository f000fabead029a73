"""Small things done to answers: columns as arrays, and new columns beside the ones they belong to."""

import numpy as np
import pandas as pd

from queries.stats import Floats, t_intervals


def floats(frame: pd.DataFrame, column: str) -> Floats:
    """A column as floating point numbers, shape (rows,), NaN where it is NULL."""
    return frame[column].to_numpy(dtype=np.float64, na_value=np.nan)


def insert_after(frame: pd.DataFrame, column: str, new: dict[str, Floats]) -> None:
    """Put new columns right behind another one, in place."""
    at = list(frame.columns).index(column)
    for offset, (name, values) in enumerate(new.items(), start=1):
        frame.insert(at + offset, name, values)


def mean_intervals(
    frame: pd.DataFrame, mean: str, deviation: str, count: str, *, confidence: float = 0.95
) -> tuple[Floats, Floats]:
    """Bounds of the t intervals of a column of means, from columns of deviations and numbers of samples."""
    return t_intervals(
        floats(frame, mean), floats(frame, deviation), np.nan_to_num(floats(frame, count)), confidence=confidence
    )
