"""Questions over training steps: reward and behaviour."""

import numpy as np
import pandas as pd

from queries.connection import Reading
from queries.filters import EVERYTHING, Filters
from queries.stats import t_intervals


def reward_curve(store: Reading, filters: Filters = EVERYTHING, *, by_environment: bool = False) -> pd.DataFrame:
    """One row per run, split and step (and environment), ordered by them: how does the reward change over training?

    Columns: run_id, split, step, environment, num_rollouts, num_scored, num_samples, num_samples_scored, reward_mean
    (mean over samples of their mean reward), reward_ci_low, reward_ci_high (95 % t interval over samples, NULL with
    fewer than two), reward_sd, reward_masked_mean (failures left out), num_failed, num_failed_scored, num_passed,
    num_passed_known, pass_rate (0–1).
    """
    frame = store.ask("reward_curve", {**filters.parameters(), "by_environment": by_environment})
    low, high = t_intervals(
        frame["reward_mean"].to_numpy(float, na_value=np.nan),
        frame["reward_sd"].to_numpy(float, na_value=np.nan),
        frame["num_samples_scored"].to_numpy(int),
    )
    at = frame.columns.get_loc("reward_mean")
    frame.insert(int(at) + 1, "reward_ci_low", low)
    frame.insert(int(at) + 2, "reward_ci_high", high)
    return frame
