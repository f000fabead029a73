"""The question how two arms differ, measure by measure, paired by sample."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import pandas as pd

from ingest.errors import QuestionError
from queries.comparison import MEASURES, Comparison, comparison
from queries.connection import Reading
from queries.pairing import Method, holm, num_for_half_width, paired_difference, ratio_of_means
from queries.quadrants import ROUNDING
from queries.resampling import PValue, sign_flips
from queries.stats import Floats, Labels

METHODS: Final = ("t", "clustered", "percentile", "bca")
"""How an interval is had: t on the per-sample differences, t on clusters of samples, or a bootstrap over samples."""
MARGIN = 0.05
"""Half width that counts as "precise" for a measure between 0 and 1; for the others a tenth of the larger mean."""
NUM_FLIPS = 1_999
_BOUNDS = ("reward_if_failures_zero", "reward_if_failures_one")


def compare(
    store: Reading,
    *,
    baseline: str,
    candidate: str,
    split: str | None = None,
    environments: tuple[str, ...] | None = None,
    pair_by: str = "sample_id",
    leave_out_failures: bool = False,
    method: str = "t",
) -> pd.DataFrame:
    """One row per measure, in the order of `MEASURES`: how do two arms differ, paired by sample?

    A sample counts with its mean over attempts in which the measure is known. `leave_out_failures` drops rollouts that
    ended in an infrastructure or grader error. `method` is one of `METHODS`.
    Columns: measure, unit, num_paired, num_only_baseline, num_only_candidate (samples with the measure known in both,
    in one), baseline_mean, candidate_mean, delta_mean (over paired samples), ci_low, ci_high (95 %; NULL with
    ci_reason), ci_method, p_value (sign flip), p_value_holm (adjusted for the measures), correlation (of the arms over
    samples), unpaired_delta, unpaired_ci_low, unpaired_ci_high (all samples, Welch), ratio, ratio_ci_low, ratio_ci_high
    (candidate mean / baseline mean), num_up, num_down (samples whose mean rose, fell), num_missing_baseline,
    num_missing_candidate (samples of that arm without the measure), margin, num_needed (samples for an interval of ±
    margin), bound_low, bound_high (reward within 0–1: the difference had failures been graded at worst, at best).

    Raises:
        QuestionError: An arm, `pair_by` or `method` is not one there is.
    """
    if method not in METHODS:
        raise QuestionError(f"method must be one of {', '.join(METHODS)}, not {method!r}")
    asked = comparison(store, baseline, candidate, split, environments, pair_by, leave_out_failures)
    found = _aligned(store, asked)
    seed = asked.seed("compare")
    clusters = found["reward"].clusters if method == "clustered" else None
    deltas = np.column_stack([each.candidate - each.baseline for each in found.values()])
    p_values = sign_flips(deltas, seed=seed, clusters=clusters, num_resamples=NUM_FLIPS)
    frame = pd.DataFrame(
        [
            {"measure": name, "unit": MEASURES[name]} | _row(name, found[name], method, seed, p_value)
            for name, p_value in zip(found, p_values, strict=True)
            if name in MEASURES
        ]
    )
    frame.insert(list(frame.columns).index("p_value") + 1, "p_value_holm", holm(frame["p_value"].to_numpy(float)))
    everything = _aligned(store, replace(asked, leave_out_failures=False)) if leave_out_failures else found
    low, high = _bounds(everything)
    is_reward = frame["measure"] == "reward"
    return frame.assign(
        num_needed=frame["num_needed"].astype("Int64"),
        bound_low=np.where(is_reward, low, np.nan),
        bound_high=np.where(is_reward, high, np.nan),
    )


@dataclass(frozen=True, slots=True)
class _Sides:
    """One measure's mean per sample in both arms, aligned, NaN where not known, and counts of what is missing."""

    baseline: Floats
    candidate: Floats
    clusters: Labels
    num_missing: tuple[int, int]


def _aligned(store: Reading, asked: Comparison) -> dict[str, _Sides]:
    """Both arms by measure, in the order of `MEASURES`, then the bounds of the reward; empty arrays without samples."""
    nothing = _Sides(np.empty(0), np.empty(0), [], (0, 0))
    found = {
        row["measure"]: _Sides(
            np.asarray(row["baseline_means"], dtype=np.float64),
            np.asarray(row["candidate_means"], dtype=np.float64),
            row["cluster_keys"],
            (row["num_missing_baseline"], row["num_missing_candidate"]),
        )
        for row in store.arrow("compare", asked.parameters()).to_pylist()
    }
    return {name: found.get(name, nothing) for name in (*MEASURES, *_BOUNDS)}


def _row(name: str, sides: _Sides, method: str, seed: int, p_value: PValue) -> dict[str, Any]:
    """What `compare` says of one measure."""
    base, cand = sides.baseline, sides.candidate
    clusters = sides.clusters if method == "clustered" else None
    how: Method = "percentile" if method == "percentile" else "bca" if method == "bca" else "t"
    got = paired_difference(base, cand, seed=seed, clusters=clusters, method=how, p_value=p_value)
    ratio = ratio_of_means(base, cand, seed=seed, method="log")
    deltas = (cand - base)[np.isfinite(base) & np.isfinite(cand)]
    margin = _margin(name, sides, (got.baseline_mean or 0.0, got.candidate_mean or 0.0))
    deviation = float(deltas.std(ddof=1)) if deltas.size > 1 else np.nan
    return {
        "num_paired": got.num_paired,
        "num_only_baseline": got.num_only_baseline,
        "num_only_candidate": got.num_only_candidate,
        "baseline_mean": _number(got.baseline_mean),
        "candidate_mean": _number(got.candidate_mean),
        "delta_mean": _number(got.difference.value),
        "ci_low": _number(got.difference.interval.low),
        "ci_high": _number(got.difference.interval.high),
        "ci_reason": got.difference.interval.reason,
        "ci_method": got.difference.interval.method,
        "p_value": _number(got.p_value.value),
        "correlation": _number(got.correlation),
        "unpaired_delta": _number(got.unpaired.value),
        "unpaired_ci_low": _number(got.unpaired.interval.low),
        "unpaired_ci_high": _number(got.unpaired.interval.high),
        "ratio": _number(ratio.value),
        "ratio_ci_low": _number(ratio.interval.low),
        "ratio_ci_high": _number(ratio.interval.high),
        "num_up": int((deltas > ROUNDING).sum()),
        "num_down": int((deltas < -ROUNDING).sum()),
        "num_missing_baseline": sides.num_missing[0],
        "num_missing_candidate": sides.num_missing[1],
        "margin": margin,
        "num_needed": num_for_half_width(deviation, margin),
    }


def _margin(name: str, sides: _Sides, means: tuple[float, float]) -> float:
    """Half width that counts as precise: see `MARGIN`."""
    if MEASURES[name] == "0–1" or (name == "reward" and _is_share(sides)):
        return MARGIN
    return max(map(abs, means)) / 10 or np.nan


def _is_share(sides: _Sides) -> bool:
    values = np.concatenate((sides.baseline, sides.candidate))
    values = values[np.isfinite(values)]
    return bool(values.size and values.min() >= 0 and values.max() <= 1)


def _bounds(found: Mapping[str, _Sides]) -> tuple[float, float]:
    """Mean difference of the reward had all failures been graded against the candidate, and for it (Manski bounds)."""
    zero, one = (found[name] for name in _BOUNDS)
    if not _is_share(found["reward"]):
        return np.nan, np.nan
    low, high = zero.candidate - one.baseline, one.candidate - zero.baseline
    known = np.isfinite(low) & np.isfinite(high)
    return (float(low[known].mean()), float(high[known].mean())) if known.any() else (np.nan, np.nan)


def _number(value: float | None) -> float:
    return np.nan if value is None else value
