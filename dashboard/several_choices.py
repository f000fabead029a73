"""Which arms the page Several arms opens with. Pure functions on the answers to `arms` and `runs`."""

from collections.abc import Sequence
from typing import Final

import pandas as pd

from dashboard import compare_arms
from queries.base_models import ROLES

MAX_OPENED: Final = 8
"""Arms the page opens with: more can be chosen, but are hard to tell apart."""


def opening(
    offered: pd.DataFrame, run_ids: Sequence[str], chosen: tuple[str, ...] | None, runs: pd.DataFrame
) -> tuple[str, list[str]] | None:
    """The baseline and the candidates to open with: each run's last step, against what a comparison opens with.

    `offered` is of `compare_arms.choices`, `run_ids` all runs, the oldest first, `chosen` those of the sidebar, `runs`
    the answer to `runs`. Runs of other environments than the baseline's share no samples with it and are left to be
    chosen; of many the youngest are taken. None where there are no two arms.
    """
    found = compare_arms.opening(offered, chosen, runs) or compare_arms.opening(offered, None, runs)
    if found is None:
        return None
    last = last_of_run(offered)
    left = [each for each in run_ids if each in last and (chosen is None or each in chosen)]
    alike = compare_arms.of_same_environment(runs, offered.loc[offered["arm"] == found[0], "run_id"].iloc[0])
    candidates = [last[each] for each in left if last[each] != found[0] and (chosen is not None or each in alike)]
    return found[0], candidates[-MAX_OPENED:] or [found[1]]


def last_of_run(offered: pd.DataFrame) -> dict[str, str]:
    """Each run's arm: its last step."""
    last = offered.drop_duplicates("run_id", keep="last")
    return dict(zip(last["run_id"].astype(str), last["arm"].astype(str), strict=True))


def base_models(offered: pd.DataFrame, runs: pd.DataFrame) -> dict[str, str]:
    """What is likely to be each of `ROLES`, of two base models that have a base and a fine-tuned arm; else nothing.

    `runs` is the answer to `runs`, the latest activity first: the two latest base models are taken, the older as old.
    Base: a run of kind `baseline`, or whose model is its base model; fine-tuned: an evaluation, else a training run.
    """
    last = last_of_run(offered)
    known = runs[runs["base_model"].notna() & runs["run_id"].isin(list(last))]
    pairs: list[tuple[str, str]] = []
    for _, rows in known.groupby("base_model", sort=False):
        is_base = (rows["kind"] == "baseline") | (rows["model"] == rows["base_model"]).fillna(value=False)
        bases, others = rows[is_base.astype(bool)], rows[~is_base.astype(bool)]
        tuned = pd.concat([others[others["kind"] == "evaluation"], others])
        if len(bases) and len(tuned):
            pairs.append((last[str(bases["run_id"].iloc[0])], last[str(tuned["run_id"].iloc[0])]))
    if len(pairs) < 2:
        return {}
    new, old = pairs[0], pairs[1]
    return dict(zip(ROLES, (*old, *new), strict=True))
