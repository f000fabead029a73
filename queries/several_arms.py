"""Questions about several arms against one baseline: how each differs, and what could mislead in it."""

from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ingest.errors import QuestionError
from queries.comparison import MEASURES
from queries.connection import Reading
from queries.pairing import holm, ratio_of_means
from queries.several import (
    SHOWN,
    ArmMeans,
    Several,
    arm_means,
    check,
    difference,
    flips,
    found_arms,
    labels,
    mean_of,
    number,
    verdicts,
)
from queries.stats import Floats

_COLUMNS: Final = (
    *("arm", "run_id", "split", "step", "is_baseline", "measure", "unit", "num_rollouts", "num_samples"),
    *("mean", "mean_ci_low", "mean_ci_high", "num_shared", "shared_mean", "num_paired", "delta_mean", "ci_low"),
    *("ci_high", "ci_reason", "p_value", "p_value_holm", "p_value_holm_all", "ratio", "ratio_ci_low"),
    *("ratio_ci_high", "verdict"),
)


def compare_several(
    store: Reading,
    *,
    baseline: str,
    candidates: tuple[str, ...],
    split: str | None = None,
    environments: tuple[str, ...] | None = None,
    pair_by: str = "sample_id",
    leave_out_failures: bool = False,
    cluster_by: str = "sample",
    measures: tuple[str, ...] = SHOWN,
) -> pd.DataFrame:
    """One row per measure and arm, the baseline first: how do several arms differ from one, paired by sample?

    A sample counts with its mean over attempts in which the measure is known. An arm that is named twice counts once.
    `cluster_by` says what samples that are alike share: `cluster_key`,
    `environment` or `metadata.KEY` of the samples; `sample` takes each for itself.
    Columns: arm, run_id, split, step, is_baseline, measure, unit, num_rollouts (of the arm), num_samples (of the arm,
    with the measure known), mean (over these), mean_ci_low, mean_ci_high (95 %), num_shared (samples in which every arm
    knows the measure), shared_mean (over these: arms can be read against each other); of candidates: num_paired (with
    the baseline), delta_mean, ci_low, ci_high (95 %, of the mean difference; NULL with ci_reason), p_value (sign flip),
    p_value_holm (adjusted for the candidates of the measure), p_value_holm_all (for all candidates and measures),
    ratio, ratio_ci_low, ratio_ci_high (candidate mean / baseline mean), verdict (`higher`, `lower`, or `not shown`:
    p_value_holm above 0.05 or 0 within the interval; NULL where nothing pairs).

    Raises:
        QuestionError: An arm, a measure, `pair_by` or `cluster_by` is not one there is, or no candidate is left.
    """
    check(measures, pair_by, cluster_by)
    arms = found_arms(store, (baseline, *candidates), split)
    if len(arms) < 2:
        raise QuestionError("there is no candidate beside the baseline")
    asked = Several(arms, environments, pair_by, leave_out_failures, cluster_by)
    measures = tuple(dict.fromkeys(measures))
    found = arm_means(store, asked)
    seed = asked.seed("compare_several")
    deltas = [found.means[name][1:] - found.means[name][0] for name in measures]
    p_values = iter(flips(np.concatenate(deltas).T, seed=seed, clusters=found.clusters))
    rows: list[dict[str, Any]] = []
    for name in measures:
        means, shared = found.means[name], found.shared(name)
        for place, who in enumerate(labels(asked)):
            about = who | {"is_baseline": place == 0, "measure": name, "unit": MEASURES[name]}
            about |= _own(means[place], shared, found) | {"num_rollouts": int(found.num_attempts[place].sum())}
            if place:
                about |= difference(means[0], means[place], next(p_values), found, seed)
                about |= _ratio(means[0], means[place], found, seed)
            rows.append(about)
    return _judged(pd.DataFrame(rows, columns=_COLUMNS))


def _own(means: Floats, shared: NDArray[np.bool_], found: ArmMeans) -> dict[str, Any]:
    """What is said of one arm by itself."""
    got = mean_of(means, found.clusters)
    return {
        "num_samples": got.num,
        "mean": number(got.value),
        "mean_ci_low": number(got.interval.low),
        "mean_ci_high": number(got.interval.high),
        "num_shared": int(shared.sum()),
        "shared_mean": float(means[shared].mean()) if shared.any() else np.nan,
    }


def _ratio(baseline: Floats, candidate: Floats, found: ArmMeans, seed: int) -> dict[str, Any]:
    got = ratio_of_means(baseline, candidate, seed=seed, clusters=found.clusters, method="log")
    low, high = number(got.interval.low), number(got.interval.high)
    return {"ratio": number(got.value), "ratio_ci_low": low, "ratio_ci_high": high}


def _judged(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows with adjusted p-values and verdicts."""
    p_values = frame["p_value"].to_numpy(float)
    for measure in frame["measure"].unique():
        rows = (frame["measure"] == measure).to_numpy()
        frame.loc[rows, "p_value_holm"] = holm(p_values[rows])
    frame["p_value_holm_all"] = holm(p_values)
    frame["verdict"] = pd.Series(verdicts(frame), dtype=object)
    return frame.astype({"step": "Int64", "num_paired": "Int64", "p_value_holm": float, "ci_reason": object})


def arm_facts(
    store: Reading,
    *,
    arms: tuple[str, ...],
    split: str | None = None,
    environments: tuple[str, ...] | None = None,
    pair_by: str = "sample_id",
) -> pd.DataFrame:
    """One row per arm, as given: what is each made of, and what could mislead when they are compared?

    The first arm is what the others are held against.
    Columns: arm, run_id, split, step, num_rollouts, num_samples, num_with_sample (rollouts whose sample is known),
    num_scored (rollouts with a reward), num_shared (samples every arm attempted), num_shared_with_first,
    num_environments, num_status_known, num_failed (infra_error or grader_error), failure_rate, truncation_rate (0–1
    over rollouts whose status is known), and lists of the distinct values of environments, agents, models,
    grader_versions, prompt_versions, tools_versions.

    Raises:
        QuestionError: An arm or `pair_by` is not one there is.
    """
    check((), pair_by)
    asked = Several(found_arms(store, arms, split), environments, pair_by)
    frame = store.ask("arm_facts", asked.parameters())
    who = pd.DataFrame(labels(asked)).astype({"step": "Int64"})
    return pd.concat([who, frame.drop(columns="arm")], axis=1)
