"""Intervals of shares of calls and rollouts, whose samples' attempts are alike; and what questions by group share."""

from typing import Final

import numpy as np
import pandas as pd

from ingest.errors import QuestionError
from queries.frames import floats, insert_after
from queries.long_tail import effective_number
from queries.measures import check_grouping
from queries.stats import wilson

APART: Final = ("environment", "agent")
"""What a run's rollouts and calls may be told apart by."""
KEYS: Final = ["run_id", "split", "step", "environment", "agent"]


def check_groups(by: str, apart: str | None) -> dict[str, str | None]:
    """A grouping and what is told apart in it, as parameters of the SQL.

    Raises:
        QuestionError: There is no such grouping.
    """
    check_grouping(by)
    if apart is not None and apart not in APART:
        raise QuestionError(f"apart must be one of {', '.join(APART)}, not {apart!r}")
    return {"by": by, "apart": apart}


def add_share_interval(frame: pd.DataFrame, share: str, deviation: str, num: str, samples: str, name: str = "") -> None:
    """Put Wilson's 95 % interval of a share, as `<name>ci_low` and `<name>ci_high`, behind it, in place.

    `deviation` (as `clustered_sd` gives it; the column is dropped) and the number of `samples` say how many independent
    ones the `num` counted are worth. NaN where nothing was counted.
    """
    value, counted = floats(frame, share), np.nan_to_num(floats(frame, num))
    worth = effective_number(value, floats(frame, deviation), counted, np.nan_to_num(floats(frame, samples)))
    low, high = wilson(np.where(counted > 0, np.nan_to_num(value) * worth, 0.0), np.where(counted > 0, worth, 0.0))
    insert_after(frame, share, {f"{name}ci_low": low, f"{name}ci_high": high})
    frame.pop(deviation)
