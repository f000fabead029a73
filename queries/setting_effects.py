"""The question how a measure goes along a setting of the runs."""

from typing import Any, Final

import numpy as np
import pandas as pd

from ingest.errors import QuestionError
from queries.arms import Arm, arms, last_arms
from queries.connection import Reading
from queries.filters import EVERYTHING, Filters
from queries.pairing import holm
from queries.run_settings import run_settings, said_of
from queries.several import (
    MAX_ARMS,
    ArmMeans,
    Several,
    arm_means,
    bounds,
    check,
    difference,
    flips,
    labels,
    mean_of,
    number,
    verdicts,
)
from queries.stats import Floats

_SHOWN = 20
_COLUMNS: Final = (
    *("run_id", "run_name", "arm", "split", "step", "setting", "value", "number", "said_by", "num_rollouts"),
    *(
        "num_samples",
        "mean",
        "mean_ci_low",
        "mean_ci_high",
        "mean_ci_reason",
        "reference",
        "num_paired",
        "delta_mean",
        "ci_low",
        "ci_high",
    ),
    *("ci_reason", "p_value", "p_value_holm", "verdict", "num_runs"),
)


def setting_effect(
    store: Reading,
    filters: Filters = EVERYTHING,
    *,
    setting: str,
    measure: str = "reward",
    pair_by: str = "sample_id",
    leave_out_failures: bool = False,
) -> pd.DataFrame:
    """One row per run, ordered by its setting, unknown last: how does a measure go along a setting of the runs?

    A run stands at its last step, in the split that comparisons take (`valid`, else `test`, else its only one). Only
    the filters on runs, splits, steps and environments apply. An evaluation's hyperparameters are those of the run it
    evaluates, unless it has its own. More than 50 runs are cut, those that do not say the setting first.
    Columns: run_id, run_name, arm, split, step, setting, value (as text; NULL = the run does not say), number (where
    all values are numbers), said_by (`run` or `parent`), num_rollouts, num_samples (with the measure known), mean (over
    these), mean_ci_low, mean_ci_high (95 %; NULL with mean_ci_reason); against `reference` (the first of the rows above
    that shares samples with it): num_paired, delta_mean, ci_low, ci_high (95 %; NULL with ci_reason), p_value (sign
    flip), p_value_holm (adjusted for the runs), verdict (`higher`, `lower`, `not shown`); num_runs (that the filters
    leave, also where rows are cut).

    Raises:
        QuestionError: There is no such measure, no run says such a setting, or `pair_by` is none there is.
    """
    check((measure,), pair_by)
    chosen = last_arms(arms(store), filters)
    placed, own = _placed(store, chosen, setting, filters)
    asked = Several(tuple(own), filters.environments, pair_by, leave_out_failures)
    if not own:
        return pd.DataFrame(columns=_COLUMNS)
    found = arm_means(store, asked)
    seed = asked.seed("setting_effect", setting, measure)
    says = placed["value"].notna().to_numpy()
    rows = _rows(asked, found, measure, np.flatnonzero(says)[1:].tolist(), seed)
    frame = pd.concat([pd.DataFrame(rows), placed], axis=1).assign(setting=setting, num_runs=len(chosen))
    frame = frame.astype(dict.fromkeys(("delta_mean", "ci_low", "ci_high", "p_value"), float))
    frame["p_value_holm"] = holm(frame["p_value"].to_numpy(float))
    frame["verdict"] = pd.Series(verdicts(frame), dtype=object)
    return frame[list(_COLUMNS)].astype(
        {"step": "Int64", "num_paired": "Int64", "ci_reason": object, "reference": object}
    )


def _rows(asked: Several, found: ArmMeans, measure: str, compared: list[int], seed: int) -> list[dict[str, Any]]:
    """What is said of each arm by itself, and of those at the places `compared` against the first."""
    means = found.means[measure]
    against = {place: first for place in compared if (first := _reference(means, place)) is not None}
    deltas = means[list(against)] - means[list(against.values())]
    p_values = dict(zip(against, flips(deltas.T, seed=seed, clusters=None), strict=True))
    nothing = dict.fromkeys(("reference", "num_paired", "delta_mean", "ci_low", "ci_high", "ci_reason", "p_value"))
    rows = []
    for place, (each, who) in enumerate(zip(asked.arms, labels(asked), strict=True)):
        own = mean_of(means[place], None)
        rows.append(
            {
                **who,
                "run_name": each.name,
                "num_rollouts": int(found.num_attempts[place].sum()),
                "num_samples": own.num,
                "mean": number(own.value),
                **bounds(own.interval, "mean_"),
                **nothing,
            }
        )
        if place in against:
            base = against[place]
            told = difference(means[base], means[place], p_values[place], found, seed)
            rows[-1] |= {"reference": asked.arms[base].label, **told}
    return rows


def _reference(means: Floats, place: int) -> int | None:
    """The first arm that shares a sample with the one at a place, of those before it; None where there is none."""
    shared = (np.isfinite(means[:place]) & np.isfinite(means[place])).any(axis=1)
    return int(shared.argmax()) if shared.any() else None


def _placed(store: Reading, chosen: list[Arm], setting: str, filters: Filters) -> tuple[pd.DataFrame, list[Arm]]:
    """Value, number and said_by of the setting, in the order of the rows, and the arm of each row."""
    said = said_of(store, [each.run_id for each in chosen], setting)
    if chosen and not said:
        there = run_settings(store, filters)["setting"].tolist()
        more = f" and {len(there) - _SHOWN} more" if len(there) > _SHOWN else ""
        raise QuestionError(f"no run says {setting!r}; there is {', '.join(there[:_SHOWN]) or 'no setting'}{more}")
    is_numeric = all(each.number is not None for each in said.values())
    rows = [
        (each.value, each.number if is_numeric else None, each.said_by) if each is not None else (None, None, None)
        for each in (said.get(arm.run_id) for arm in chosen)
    ]
    placed = pd.DataFrame(rows, columns=["value", "number", "said_by"], dtype=object).astype({"number": float})
    placed = placed.sort_values(["number", "value"], kind="stable", na_position="last").head(MAX_ARMS)
    return placed.reset_index(drop=True), [chosen[place] for place in placed.index]
