"""Questions about rollouts lost on the way to training: how many at which stage, why, and whether the slow ones are."""

from collections.abc import Mapping
from math import prod
from typing import Any, Final

import numpy as np
import pandas as pd

from ingest.errors import QuestionError
from queries.connection import Reading
from queries.failure_rules import FailureRules, failure_rules
from queries.failures import book_of
from queries.filters import EVERYTHING, Filters
from queries.frames import floats, insert_after, mean_intervals
from queries.measures import check
from queries.settings import number, settings_of
from queries.stats import wilson

STAGES: Final[Mapping[str, str]] = {
    "finished": "is_status_known",
    "scored": "is_reward_known",
    "admitted": "is_advantage_known",
    "trained_on": "is_subset_known",
}
"""Stages after `dispatched`, in order, and what must be known of a step for them to be told."""
_KEYS: Final = ["run_id", "split", "step", "environment"]
_NOT_TRAINED: Final = ("valid", "test", "production")


def attrition(store: Reading, filters: Filters = EVERYTHING, *, by_environment: bool = False) -> pd.DataFrame:
    """One row per run, split and step (and environment), ordered by them: how many rollouts reach which stage?

    Columns: run_id, split, step, environment, num_asked (as the run's configuration says, see asked_by; NULL where it
    does not), num_dispatched (in the store), num_finished (not ended by an infrastructure error or cancelled),
    num_scored (with a reward), num_admitted (with an advantage), num_trained_on (NULL: the source does not tell this
    stage of this step; what was trained on counts as having reached every stage), num_trained_failed (trained on, yet
    an error ended it), asked_by (the settings multiplied).

    Raises:
        QuestionError: The rules in `failures.toml` cannot be read.
    """
    losses = attrition_losses(store, filters, by_environment=by_environment)
    group = losses.groupby(_KEYS, sort=False, dropna=False).ngroup().to_numpy()
    frame = losses[[*_KEYS, "num_dispatched"]][~losses[_KEYS].duplicated()].reset_index(drop=True)
    left = frame["num_dispatched"].to_numpy(np.int64)
    for stage, known in STAGES.items():
        lost = losses["num"].where(losses["lost_at"] == stage, 0).to_numpy(np.int64)
        left = left - np.bincount(group, lost, len(frame)).astype(np.int64)
        told = np.bincount(group, losses[known].to_numpy(bool), len(frame)) > 0
        frame[f"num_{stage}"] = pd.Series(left, dtype="Int64").where(told)
    failed = np.bincount(group, losses["num_trained_failed"].to_numpy(np.int64), len(frame))
    is_told = frame["num_trained_on"].notna()
    frame["num_trained_failed"] = pd.Series(failed.astype(np.int64), dtype="Int64").where(is_told)
    asked = _asked(store, frame, failure_rules(store), by_environment=by_environment)
    frame.insert(4, "num_asked", pd.Series([each for each, _ in asked], dtype="Int64"))
    return frame.assign(asked_by=pd.Series([by for _, by in asked], dtype=object))


def attrition_losses(store: Reading, filters: Filters = EVERYTHING, *, by_environment: bool = False) -> pd.DataFrame:
    """One row per run, split, step (and environment), stage and reason, ordered by them: where is what lost, and why?

    Columns: run_id, split, step, environment, lost_at (finished, scored, admitted, trained_on: the stage it did not
    reach; NULL for those not lost), reason (finished: the cause by the rules in force; scored: grader_error or
    not_scored; admitted: no_advantage; trained_on: no_signal = its advantage is 0, left_out = no reason is told,
    not_known), num, num_dispatched (of the group), num_trained_failed (trained on although an error ended them),
    is_status_known, is_reward_known, is_advantage_known, is_subset_known (told of this step at all).

    Raises:
        QuestionError: The rules in `failures.toml` cannot be read.
    """
    own = {**book_of(failure_rules(store)), "by_environment": by_environment}
    return store.ask("attrition_losses", {**filters.parameters(), **own})


def attrition_speed(store: Reading, filters: Filters = EVERYTHING, *, measure: str = "latency_s") -> pd.DataFrame:
    """One row per run, split, stage and reason, ordered by them: are the slow (or long) rollouts the ones lost?

    Lost and kept rollouts are compared at the same step; groups without signal, which trainers drop on purpose, are
    neither. Columns: run_id, split, lost_at, reason, num_lost, num_placed (that could be compared), num_guessed (of
    these, without a value of their own: their sample's mean over kept rollouts stands for it), num_samples (that lost
    some), slower (chance that a lost rollout lies above one kept, 0–1, to about 0.02, mean over samples; 0.5 = no
    difference), ci_low, ci_high (t interval over samples, Wilson's where all are alike; those of all rows hold together
    at 95 %, Bonferroni), lost_median (of the samples' medians, in the measure's unit).

    Raises:
        QuestionError: There is no such measure, or the rules in `failures.toml` cannot be read.
    """
    check(measure, "run")
    own = {**book_of(failure_rules(store)), "measure": measure}
    frame = store.ask("attrition_speed", {**filters.parameters(), **own})
    num_intervals = max(int((frame["num_samples"] > 1).sum()), 1)
    confidence = 1 - 0.05 / num_intervals
    low, high = mean_intervals(frame, "slower", "slower_sd", "num_samples", confidence=confidence)
    num = floats(frame, "num_samples")
    # Nothing between 0 and 1 varies more than passes and failures do: where all samples are alike, theirs holds.
    widest = wilson(np.nan_to_num(floats(frame, "slower")) * num, num, confidence=confidence)
    is_alike = np.isnan(low) & (num > 1)
    low, high = (np.where(is_alike, wide, own) for wide, own in zip(widest, (low, high), strict=True))
    insert_after(frame, "slower", {"ci_low": np.maximum(low, 0.0), "ci_high": np.minimum(high, 1.0)})
    return frame.drop(columns="slower_sd")


def attrition_rollouts(
    store: Reading,
    filters: Filters = EVERYTHING,
    *,
    lost_at: str | None = None,
    reason: str | None = None,
    limit: int = 50,
    offset: int = 0,
) -> pd.DataFrame:
    """One row per lost rollout, the earliest stage first, a page of them: which rollouts were lost?

    Columns: run_id, rollout_id, sample_id, environment, attempt, split, step, status, lost_at, reason (as
    `attrition_losses`), reward, advantage, num_tool_calls, output_tokens (tokens), latency_s (seconds), num_total.

    Raises:
        QuestionError: There is no such stage, or the rules in `failures.toml` cannot be read.
    """
    if lost_at is not None and lost_at not in STAGES:
        raise QuestionError(f"lost_at must be one of {', '.join(STAGES)}, not {lost_at!r}")
    own = {"lost_at": lost_at, "reason": reason, "limit": limit, "offset": offset}
    return store.ask("attrition_rollouts", {**filters.parameters(), **book_of(failure_rules(store)), **own})


def _asked(
    store: Reading, frame: pd.DataFrame, rules: FailureRules, *, by_environment: bool
) -> list[tuple[int | None, str | None]]:
    """How many rollouts each row was to have, and the settings that say so; none of an environment of several."""
    if by_environment or frame.empty:
        return [(None, None)] * len(frame)
    described = store.ask("run_descriptions", {"run_ids": sorted(set(frame["run_id"]))})
    settings = {
        run_id: settings_of([*rows["hyperparameters"].dropna(), *rows["config"].dropna()], "config")
        for run_id, rows in described.groupby("run_id")
    }
    per_step = {run_id: _product(own, rules.per_step) for run_id, own in settings.items()}
    per_run = {run_id: _product(own, rules.per_run) for run_id, own in settings.items()}
    alone = frame.groupby("run_id")["run_id"].transform("size") == 1
    is_training = ~frame["split"].isin(_NOT_TRAINED) & frame["step"].notna()
    nothing = (None, None)
    return [
        (per_step if training else per_run if single else {}).get(run_id, nothing)
        for run_id, training, single in zip(frame["run_id"], is_training, alone, strict=True)
    ]


def _product(settings: Mapping[str, Any], products: tuple[tuple[str, ...], ...]) -> tuple[int | None, str | None]:
    """The first product whose settings are all numbers above 0, and how it is written."""
    for names in products:
        values = [number(settings.get(name)) or 0.0 for name in names]
        if all(0 < value < 1e12 for value in values):
            return round(prod(values)), " × ".join(names)
    return None, None
