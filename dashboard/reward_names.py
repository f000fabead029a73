"""Which reward a number of a run's split is: a trainer's own name for one split is not given to another. Pure."""

from typing import Any

import pandas as pd

from dashboard.rows import records


def by_split(overview: pd.DataFrame, reported: pd.DataFrame) -> pd.DataFrame:
    """The overview of runs with `reward_name` as it holds for each row's split.

    A run has one `reward_name`. Where that is a metric the trainer reports of one split (`train_reward_mean`), the
    rewards of another split are named by that split's own metric, or not at all. `reported` holds the rows of
    `reported_metrics` that are a reward.
    """
    metrics = {(row["run_id"], row["split"] or "train"): str(row["name"]) for row in records(reported)}
    names = [_name(row, metrics) for row in records(overview)]
    return overview.assign(reward_name=pd.Series(names, index=overview.index, dtype=object))


def _name(row: dict[str, Any], metrics: dict[tuple[str, str], str]) -> str | None:
    given = row["reward_name"]
    if given is None:
        return None
    own = metrics.get((row["run_id"], row["split"]))
    others = [name for (run_id, split), name in metrics.items() if run_id == row["run_id"] and split != row["split"]]
    is_anothers = any(_is(given, name) for name in others) and not (own is not None and _is(given, own))
    return own if is_anothers else str(given)


def _is(given: str, metric: str) -> bool:
    return given == metric or given.startswith(f"{metric} ")
