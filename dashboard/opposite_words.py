"""That environments, or cooperating agents, move in opposite directions. Pure functions from frames to text."""

from collections.abc import Mapping
from typing import Final

import pandas as pd

from dashboard.rows import records
from dashboard.words import number, percent, signed, whole

MAX_NAMED: Final = 3
MAX_PARTS: Final = 4


def opposite(frame: pd.DataFrame, names: Mapping[str, str]) -> list[str]:
    """Parts that move in opposite directions, a sentence for each run and measure; those that cancel are said so."""
    found = []
    for (run_id, measure), rows in frame[frame["is_opposite"]].groupby(["run_id", "measure"], sort=False):
        parts = [
            f"{row['part']} {signed(row['delta_mean'])} [{number(row['delta_ci_low'])}, {number(row['delta_ci_high'])}]"
            for row in records(rows[rows["moves"].notna()])[:MAX_PARTS]
        ]
        row = records(rows)[0]
        what = {"reward": "the reward", "tool_calls": "tool calls per rollout"}[str(measure)]
        apart = {"environment": "environments", "agent": "agents"}[str(row["apart"])]
        steps = (
            "" if row["first_step"] is None else f" from step {whole(row['first_step'])} to {whole(row['last_step'])}"
        )
        hidden = f"; in the total {percent(row['cancelled'])} of this cancels ({signed(row['total_delta'])} is left)"
        found.append(
            f"{names.get(str(run_id), str(run_id))}: {what} of {apart} moves in opposite directions{steps}: "
            f"{', '.join(parts)}{hidden if row['is_cancelling'] else ''}."
        )
    return found[:MAX_NAMED]
