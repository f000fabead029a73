"""Questions about what the trainer itself reported: its metrics, its reward, its checkpoints."""

import numpy as np
import pandas as pd

from queries.connection import Reading
from queries.filters import EVERYTHING, Filters
from queries.frames import floats

TOLERANCE = 0.005
"""Difference up to which a reported reward and a mean of rollouts count as the same number (reports are rounded)."""

_MEANS = {"all": "all_mean", "effective": "effective_mean", "samples": "sample_mean"}


def reported_metrics(
    store: Reading,
    filters: Filters = EVERYTHING,
    *,
    names: tuple[str, ...] | None = None,
    only_reward: bool = False,
) -> pd.DataFrame:
    """One row per run, split, step, metric (and labels), the reward first: which numbers did the trainer report?

    Columns: run_id, split (as reported, else as its name says; NULL = of no split), step, name, labels (JSON), value
    (in the metric's own unit), recorded_at (UTC), is_reward (the trainer's mean reward of that split: the run's
    `reward_name`, else the first of the names known trainers use). Filters on rollouts do not apply, only runs, splits
    and steps.
    """
    own = {"names": None if names is None else list(names), "only_reward": only_reward}
    return store.ask("reported_metrics", {**filters.parameters(), **own})


def reward_agreement(store: Reading, filters: Filters = EVERYTHING) -> pd.DataFrame:
    """One row per run, split, step and reported reward, ordered by them: do reported rewards match the rollouts?

    Columns: run_id, split, step, name (of the metric), reported; means of the rollouts that are here: all_mean (over
    scored rollouts), effective_mean (over those trained on), sample_mean (over samples); num_scored, num_effective;
    agrees_with (`all`, `effective` or `samples`: the nearest mean, NULL where none is within 0.005), difference
    (reported minus the nearest). Only steps that have both; only the filters on runs, splits and steps apply.
    """
    frame = store.ask("reward_agreement", filters.parameters())
    reported = floats(frame, "reported")
    differences = reported[:, None] - np.column_stack([floats(frame, each) for each in _MEANS.values()])
    nearest = np.nanargmin(np.abs(differences), axis=1) if len(frame) else np.zeros(0, dtype=np.intp)
    difference = differences[np.arange(len(frame)), nearest]
    words = [*_MEANS]
    agrees = np.abs(difference) <= TOLERANCE
    frame["agrees_with"] = pd.Series(
        [words[which] if yes else None for which, yes in zip(nearest, agrees, strict=True)], dtype=object
    )
    frame["difference"] = difference
    return frame


def checkpoints(store: Reading, filters: Filters = EVERYTHING) -> pd.DataFrame:
    """One row per saved policy, ordered by run and step: which policies were saved?

    Columns: run_id, step, checkpoint_id, model (the name under which it can be called), created_at (UTC), metrics
    (JSON). Only the filters on runs and steps apply.
    """
    return store.ask("checkpoints", filters.parameters())


def run_limits(store: Reading, filters: Filters = EVERYTHING) -> pd.DataFrame:
    """One row per run and limit in its configuration, ordered by them: which limits were runs configured with?

    Columns: run_id, name (as configured: numbers whose name begins with `max`), value (in the limit's own unit),
    measure (what it limits, named as `distribution` does; NULL = none of its measures). Only the filter on
    runs applies.
    """
    return store.ask("run_limits", filters.parameters())
