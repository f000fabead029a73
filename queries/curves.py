"""Questions about reward over training steps: the curve, its graders, its best step."""

import numpy as np
import pandas as pd

from queries.connection import Reading
from queries.filters import EVERYTHING, Filters
from queries.frames import insert_after, mean_intervals


def reward_curve(store: Reading, filters: Filters = EVERYTHING, *, by_environment: bool = False) -> pd.DataFrame:
    """One row per run, split and step (and environment), ordered by them: how does the reward change over training?

    Columns: run_id, split, step, environment, num_rollouts, num_scored, num_samples, num_samples_scored, reward_mean
    (mean over samples of their mean reward), reward_ci_low, reward_ci_high (95 % t interval over samples, NULL with
    fewer than two), reward_sd, reward_masked_mean (failures left out), num_failed, num_failed_scored, num_passed,
    num_passed_known, pass_rate (0–1).
    """
    frame = store.ask("reward_curve", {**filters.parameters(), "by_environment": by_environment})
    low, high = mean_intervals(frame, "reward_mean", "reward_sd", "num_samples_scored")
    insert_after(frame, "reward_mean", {"reward_ci_low": low, "reward_ci_high": high})
    return frame


def scores_by_step(store: Reading, filters: Filters = EVERYTHING) -> pd.DataFrame:
    """One row per run, split, step and grader, ordered by kind and grader first: how do the graders' scores change?

    Columns: run_id, split, step, grader, kind, num_rollouts, num_scored, num_samples_scored, score_mean (mean over
    samples of their mean score), score_ci_low, score_ci_high (95 % t interval over samples), score_sd. A grader
    without a number at a step has no row there.
    """
    frame = store.ask("scores_by_step", filters.parameters())
    low, high = mean_intervals(frame, "score_mean", "score_sd", "num_samples_scored")
    insert_after(frame, "score_mean", {"score_ci_low": low, "score_ci_high": high})
    return frame


def best_step(store: Reading, filters: Filters = EVERYTHING, *, split: str = "valid") -> pd.DataFrame:
    """One row per run and step, the highest reward first: which step is best, and which can be told apart from it?

    Columns: run_id, step, is_best, num_samples_scored, reward_mean, reward_ci_low, reward_ci_high (95 % t interval over
    samples), num_paired, delta_mean (this step minus the best, over the samples scored at both), delta_ci_low,
    delta_ci_high (t intervals that hold together at 95 %, Bonferroni over the other steps), is_tied (the interval holds
    0, or there is none: it cannot be told apart from the best). The best of several is chosen on these very numbers, so
    its own reward is optimistic.
    """
    frame = store.ask("best_step", {**filters.parameters(), "split": split})
    low, high = mean_intervals(frame, "reward_mean", "reward_sd", "num_samples_scored")
    others = frame.groupby("run_id")["step"].transform("size").to_numpy(dtype=np.float64) - 1
    delta_low, delta_high = np.full(len(frame), np.nan), np.full(len(frame), np.nan)
    for number in np.unique(others[others > 0]):
        rows = others == number
        delta_low[rows], delta_high[rows] = mean_intervals(
            frame[rows], "delta_mean", "delta_sd", "num_paired", confidence=1 - 0.05 / number
        )
    is_best = frame["is_best"].to_numpy(bool)
    delta_low[is_best] = delta_high[is_best] = np.nan
    frame = frame.drop(columns=["reward_sd", "delta_sd"])
    insert_after(frame, "reward_mean", {"reward_ci_low": low, "reward_ci_high": high})
    frame["delta_ci_low"], frame["delta_ci_high"] = delta_low, delta_high
    frame["is_tied"] = ~is_best & ~((delta_low > 0) | (delta_high < 0))
    return frame
