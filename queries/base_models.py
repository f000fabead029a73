"""The question what a new base model changes: four arms, old and new base model, each before and after fine-tuning."""

from typing import Any, Final

import numpy as np
import pandas as pd

from ingest.errors import QuestionError
from queries.comparison import MEASURES
from queries.connection import Reading
from queries.pairing import holm
from queries.resampling import PValue
from queries.several import (
    SHOWN,
    ArmMeans,
    Several,
    arm_means,
    bounds,
    check,
    flips,
    found_arms,
    mean_of,
    number,
    verdicts,
)
from queries.stats import Floats

ROLES: Final = ("old_base", "old_tuned", "new_base", "new_tuned")
CONTRASTS: Final = {
    "old_gain": (-1, 1, 0, 0),
    "new_gain": (0, 0, -1, 1),
    "gain_change": (1, -1, -1, 1),
    "base_change": (-1, 0, 1, 0),
    "tuned_change": (0, -1, 0, 1),
    "new_base_for_old_tuned": (0, -1, 1, 0),
}
"""Each contrast as weights of the four arms in the order of `ROLES`."""
_COLUMNS: Final = (
    *("measure", "unit", "contrast", "num_samples", "delta_mean", "ci_low", "ci_high", "ci_reason", "p_value"),
    *("p_value_holm", "verdict", *(f"{each}_mean" for each in ROLES)),
)


def base_model_change(
    store: Reading,
    *,
    old_base: str,
    old_tuned: str,
    new_base: str,
    new_tuned: str,
    split: str | None = None,
    environments: tuple[str, ...] | None = None,
    pair_by: str = "sample_id",
    leave_out_failures: bool = False,
    cluster_by: str = "sample",
    measures: tuple[str, ...] = SHOWN,
) -> pd.DataFrame:
    """One row per measure and contrast of four arms: does tuning gain as much on a new base model, and is it needed?

    All figures are over the samples in which all four arms know the measure; each contrast is had per sample, then
    averaged. `cluster_by` says what samples that are alike share: `cluster_key`,
    `environment` or `metadata.KEY` of the samples; `sample` takes each for itself.
    Columns: measure, unit, contrast (`old_gain`: old tuned − old base; `new_gain`: new tuned − new base; `gain_change`:
    new gain − old gain; `base_change`: new base − old base; `tuned_change`: new tuned − old tuned;
    `new_base_for_old_tuned`: new base − old tuned, whether the fine-tune can be dropped), num_samples, delta_mean,
    ci_low, ci_high (95 % t over samples; NULL with ci_reason), p_value (sign flip), p_value_holm (adjusted for the
    contrasts of the measure), verdict (`higher`, `lower`, `not shown`; NULL without samples), old_base_mean,
    old_tuned_mean, new_base_mean, new_tuned_mean (in the measure's unit, the same in all rows of a measure).

    Raises:
        QuestionError: An arm, a measure, `pair_by` or `cluster_by` is not one there is, or two arms are the same.
    """
    check(measures, pair_by, cluster_by)
    arms = found_arms(store, (old_base, old_tuned, new_base, new_tuned), split)
    if len(arms) < len(ROLES):
        raise QuestionError("a change of base model needs four different arms")
    asked = Several(arms, environments, pair_by, leave_out_failures, cluster_by)
    measures = tuple(dict.fromkeys(measures))
    found = arm_means(store, asked)
    weights = np.array(list(CONTRASTS.values()), dtype=np.float64)
    values = {name: weights @ found.means[name] for name in measures}
    seed = asked.seed("base_model_change")
    p_values = flips(np.concatenate(list(values.values())).T, seed=seed, clusters=found.clusters)
    rows: list[dict[str, Any]] = []
    for place, name in enumerate(measures):
        own = p_values[place * len(CONTRASTS) : (place + 1) * len(CONTRASTS)]
        rows += _rows(name, values[name], own, found)
    frame = pd.DataFrame(rows, columns=_COLUMNS).astype({"ci_reason": object})
    return frame.assign(verdict=pd.Series(verdicts(frame), dtype=object))


def _rows(measure: str, values: Floats, p_values: list[PValue], found: ArmMeans) -> list[dict[str, Any]]:
    """What is said of one measure: values of each contrast and sample, NaN where not all four arms know it."""
    shared = found.shared(measure)
    means = found.means[measure][:, shared].mean(axis=1) if shared.any() else np.full(len(ROLES), np.nan)
    about = {f"{role}_mean": float(mean) for role, mean in zip(ROLES, means, strict=True)}
    adjusted = holm([number(each.value) for each in p_values])
    rows = []
    for place, contrast in enumerate(CONTRASTS):
        got = mean_of(values[place], found.clusters)
        rows.append(
            {
                "measure": measure,
                "unit": MEASURES[measure],
                "contrast": contrast,
                "num_samples": got.num,
                "delta_mean": number(got.value),
                **bounds(got.interval),
                "p_value": number(p_values[place].value),
                "p_value_holm": adjusted[place],
                **about,
            }
        )
    return rows
