"""Questions about reward over training steps: the curve, its graders, its best step."""

import numpy as np
import pandas as pd

from ingest.errors import QuestionError
from queries.connection import Reading
from queries.filters import EVERYTHING, Filters
from queries.frames import insert_after, mean_intervals


def reward_curve(store: Reading, filters: Filters = EVERYTHING, *, by_environment: bool = False) -> pd.DataFrame:
    """One row per run, split and step (and environment), ordered by them: how does the reward change over training?

    Columns: run_id, split, step, environment, num_rollouts, num_scored, num_samples, num_samples_scored, reward_mean
    (mean over samples of their mean reward), reward_ci_low, reward_ci_high (95 % t interval over samples, NULL with
    fewer than two), reward_sd; the same with infrastructure and grader failures left out: reward_masked_mean,
    reward_masked_ci_low, reward_masked_ci_high, reward_masked_sd, num_samples_masked; num_failed, num_failed_scored,
    num_passed, num_passed_known, pass_rate (0–1).
    """
    frame = store.ask("reward_curve", {**filters.parameters(), "by_environment": by_environment})
    low, high = mean_intervals(frame, "reward_mean", "reward_sd", "num_samples_scored")
    insert_after(frame, "reward_mean", {"reward_ci_low": low, "reward_ci_high": high})
    low, high = mean_intervals(frame, "reward_masked_mean", "reward_masked_sd", "num_samples_masked")
    insert_after(frame, "reward_masked_mean", {"reward_masked_ci_low": low, "reward_masked_ci_high": high})
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


def step_deltas(
    store: Reading, filters: Filters = EVERYTHING, *, split: str = "valid", reference: str = "first"
) -> pd.DataFrame:
    """One row per run and step, ordered by them: how does each step's reward differ from the `first` (or `best`) one's?

    Columns: run_id, step, reference_step, num_samples_scored, reward_mean, reward_ci_low, reward_ci_high (95 % t
    interval over samples), reward_sd, num_paired (samples scored at both steps), delta_mean (this step minus the
    reference, over them), delta_ci_low, delta_ci_high (95 % t interval; NULL at the reference), delta_sd. Steps without
    a scored rollout have no row.

    Raises:
        QuestionError: `reference` is neither `first` nor `best`.
    """
    if reference not in ("first", "best"):
        raise QuestionError(f"reference must be first or best, not {reference!r}")
    frame = store.ask("step_deltas", {**filters.parameters(), "split": split, "reference": reference})
    low, high = mean_intervals(frame, "reward_mean", "reward_sd", "num_samples_scored")
    insert_after(frame, "reward_mean", {"reward_ci_low": low, "reward_ci_high": high})
    low, high = mean_intervals(frame, "delta_mean", "delta_sd", "num_paired")
    insert_after(frame, "delta_mean", {"delta_ci_low": low, "delta_ci_high": high})
    return frame


def best_step(store: Reading, filters: Filters = EVERYTHING, *, split: str = "valid") -> pd.DataFrame:
    """One row per run and step, the highest reward first: which step is best, and which can be told apart from it?

    Columns: as `step_deltas` with the best step as reference, and is_best, is_tied. Here the intervals of the
    differences hold together at 95 % (Bonferroni over the other steps); is_tied: the interval holds 0, or there is
    none, so the step cannot be told apart from the best. The best of several is chosen on these very numbers, so its
    own reward is optimistic.
    """
    frame = step_deltas(store, filters, split=split, reference="best")
    others = frame.groupby("run_id")["step"].transform("size").to_numpy(dtype=np.float64) - 1
    for number in np.unique(others[others > 0]):
        rows = others == number
        low, high = mean_intervals(frame[rows], "delta_mean", "delta_sd", "num_paired", confidence=1 - 0.05 / number)
        frame.loc[rows, "delta_ci_low"], frame.loc[rows, "delta_ci_high"] = low, high
    told_apart = (frame["delta_ci_low"] > 0) | (frame["delta_ci_high"] < 0)
    frame["is_best"] = (frame["step"] == frame["reference_step"]).astype(bool)
    frame["is_tied"] = ~frame["is_best"] & ~told_apart
    ordered = frame.assign(rank=frame["reward_mean"].round(12)).sort_values(
        ["run_id", "is_best", "rank", "step"], ascending=[True, False, False, True]
    )
    return ordered.drop(columns="rank").reset_index(drop=True)
