"""Where the seconds of a rollout go: the model, tools, a simulated user, queueing, set-up, grading, and the rest."""

from typing import Final

import numpy as np
import pandas as pd

from queries.connection import Reading
from queries.filters import EVERYTHING, Filters
from queries.frames import floats, mean_intervals
from queries.measures import check_grouping

PARTS: Final = ("model", "tools", "user", "queue", "setup", "grading", "rest")
"""In the order in which they are given; `rest` is what no part accounts for."""
_REASONS: Final = {
    "model": "no rollout has seconds of the model",
    "tools": "no rollout has seconds of its tools",
    "user": "no rollout waits for a simulated user whose seconds are known",
    "queue": "no rollout has seconds of queueing",
    "setup": "no rollout says how long its environment took to set up, and none starts before its first message",
    "grading": "no rollout has seconds of grading",
    "rest": "no rollout has a latency",
}
NO_LATENCY: Final = "no rollout has a latency"


def time_shares(
    store: Reading, filters: Filters = EVERYTHING, *, by: str = "run", by_environment: bool = False
) -> pd.DataFrame:
    """Seven rows per run (split, step, as `by` says; and environment), ordered by them: where do its seconds go?

    A row a part: `model`, `tools` (calls side by side count as the slowest of them), `user` (waiting for a simulated
    user), `queue`, `setup` (of the environment), `grading`, `rest` (what none accounts for, never negative). Columns:
    run_id, split, step, environment, part, num_rollouts (with a latency), num_without_latency, latency_mean_s (seconds,
    over these rollouts), seconds_mean (of the part, over these rollouts; where it is not known its seconds are in the
    rest), share (of all their seconds, 0–1), share_ci_low, share_ci_high (95 % t interval, clustered by sample),
    num_known, num_missing (rollouts with a latency that lack the part), num_overlapping (rollouts whose parts exceed
    their latency, as they ran side by side or grading came after the end), overlap_mean_s (by how much, over all
    rollouts: the parts and the rest together are latency_mean_s + overlap_mean_s), reason (why there are no seconds).

    Raises:
        QuestionError: There is no such grouping.
    """
    check_grouping(by)
    frame = store.ask("time_shares", {**filters.parameters(), "by": by, "by_environment": by_environment})
    known, total = floats(frame, "num_known"), floats(frame, "latency_s")
    num = floats(frame, "num_rollouts")
    is_there = (known > 0) & (num > 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        frame["latency_mean_s"] = np.where(num > 0, total / num, np.nan)
        frame["seconds_mean"] = np.where(is_there, floats(frame, "seconds") / num, np.nan)
        frame["share"] = np.where(is_there & (total > 0), floats(frame, "seconds") / total, np.nan)
        frame["overlap_mean_s"] = np.where(num > 0, floats(frame, "overlap_s") / num, np.nan)
    low, high = mean_intervals(frame, "share", "share_sd", "num_samples")
    frame["share_ci_low"], frame["share_ci_high"] = np.clip(low, 0, None), high
    frame["num_without_latency"] = frame["num_all"] - frame["num_rollouts"]
    frame["num_missing"] = frame["num_rollouts"] - frame["num_known"]
    reasons = np.where(num > 0, frame["part"].map(_REASONS), NO_LATENCY)
    frame["reason"] = pd.Series(reasons, dtype=object).where(~is_there, None)
    return frame[[*_COLUMNS]]


_COLUMNS: Final = (
    *("run_id", "split", "step", "environment", "part", "num_rollouts", "num_without_latency", "latency_mean_s"),
    *("seconds_mean", "share", "share_ci_low", "share_ci_high", "num_known", "num_missing"),
    *("num_overlapping", "overlap_mean_s", "reason"),
)
