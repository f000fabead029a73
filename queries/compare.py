"""The question how two arms differ, measure by measure, paired by sample."""

from collections.abc import Mapping
from dataclasses import replace
from math import sqrt
from typing import Any, Final, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ingest.errors import QuestionError
from queries.compared import BOUNDS, Compared, Sides, compared, objects
from queries.comparison import MEASURES, comparison
from queries.connection import Reading
from queries.pairing import Method, PairedDifference, holm, paired_difference, ratio_of_means
from queries.power import detectable_difference, num_for_half_width
from queries.quadrants import ROUNDING
from queries.resampling import PValue, sign_flips
from queries.stats import Floats, Labels, cluster_codes, clustered_mean, no_spread, sample_mean, skewness

METHODS: Final = ("t", "percentile", "bca", "cautious")
"""How an interval is had: t on the per-sample differences, or a bootstrap over samples (clusters: `cluster_by`).

`cautious` is for few samples, skewed differences and rare changes, see `queries.cautious`; `queries.coverage` says how
often each holds the true value.
"""
MARGIN = 0.05
"""Half width that counts as "precise" for a measure between 0 and 1; for the others a tenth of the larger mean."""
NUM_FLIPS = 1_999


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
    cluster_by: str = "sample",
) -> pd.DataFrame:
    """One row per measure, in the order of `MEASURES`: how do two arms differ, paired by sample?

    A sample counts with its mean over attempts in which the measure is known (tool_error_rate: its failed calls over
    all its calls). `leave_out_failures` drops rollouts that ended in an infrastructure or grader error.
    `method` is one of `METHODS`; `cluster_by` (one of `CLUSTER_BY`, or `metadata.KEY` of the samples) says what samples
    that are alike share.
    Columns: measure, unit, num_paired, num_only_baseline, num_only_candidate (samples with the measure known in both,
    in one), num_clusters (of the paired samples; their number without clusters), baseline_mean, candidate_mean,
    delta_mean (over paired samples), ci_low, ci_high (95 %; NULL with ci_reason), ci_method (Bonett–Price where single
    attempts pass or fail), p_value (p_method: sign flip, or exact McNemar), p_value_holm (adjusted for the measures),
    correlation (of the arms over samples), unpaired_delta, unpaired_ci_low, unpaired_ci_high (all samples, Welch),
    ratio, ratio_ci_low, ratio_ci_high (candidate mean / baseline mean), num_up, num_down (samples whose mean rose,
    fell), skewness (of the per-sample differences, above 0 where a few rise far; NULL under three or where all are
    equal), num_missing_baseline, num_missing_candidate (samples of that arm without the measure), margin, num_needed
    (samples for an interval of ± margin), mde (smallest true difference found with 80 % power), num_cluster_keys
    (different `cluster_key`s of the paired samples) and design_effect (variance of the difference by those clusters
    over that by samples; both NULL where no sample has one), bound_low, bound_high (reward within 0–1: the difference
    had failures been graded at worst, at best).

    Raises:
        QuestionError: An arm, `pair_by`, `method` or `cluster_by` is not one there is.
    """
    if method not in METHODS:
        raise QuestionError(f"method must be one of {', '.join(METHODS)}, not {method!r}")
    asked = comparison(store, baseline, candidate, split, environments, pair_by, leave_out_failures, cluster_by)
    found = compared(store, asked)
    seed = asked.seed("compare")
    clusters = found.clusters(cluster_by)
    deltas = np.column_stack([found.sides[name].deltas for name in MEASURES])
    p_values = sign_flips(deltas, seed=seed, clusters=clusters, num_resamples=NUM_FLIPS)
    frame = pd.DataFrame(
        [
            {"measure": name, "unit": MEASURES[name]} | _row(name, found, clusters, method, seed, p_value)
            for name, p_value in zip(MEASURES, p_values, strict=True)
        ]
    )
    frame.insert(list(frame.columns).index("p_method") + 1, "p_value_holm", holm(frame["p_value"].to_numpy(float)))
    everything = compared(store, replace(asked, leave_out_failures=False)) if leave_out_failures else found
    low, high = _bounds(everything.sides)
    is_reward = frame["measure"] == "reward"
    return frame.assign(
        num_needed=frame["num_needed"].astype("Int64"),
        num_cluster_keys=frame["num_cluster_keys"].astype("Int64"),
        bound_low=np.where(is_reward, low, np.nan),
        bound_high=np.where(is_reward, high, np.nan),
    )


def difference_of(
    name: str,
    sides: Sides,
    *,
    seed: int,
    clusters: Labels | None = None,
    method: str = "t",
    p_value: PValue | None = None,
) -> PairedDifference:
    """The paired difference of a measure by name, with the interval that a reader chose."""
    how: Method = next((each for each in get_args(Method) if each == method), "t")
    base, cand = sides.baseline, sides.candidate
    is_graded = name in ("reward", "pass_rate")
    return paired_difference(
        base,
        cand,
        seed=seed,
        clusters=clusters,
        method=how,
        p_value=p_value,
        pass_or_fail=is_graded,
        within_one=is_within_one(name, sides),
    )


def _row(
    name: str, found: Compared, clusters: Labels | None, method: str, seed: int, p_value: PValue
) -> dict[str, Any]:
    """What `compare` says of one measure."""
    sides = found.sides[name]
    got = difference_of(name, sides, seed=seed, clusters=clusters, method=method, p_value=p_value)
    ratio = ratio_of_means(sides.baseline, sides.candidate, seed=seed, clusters=clusters, method="log")
    paired = np.isfinite(sides.deltas)
    deltas = sides.deltas[paired]
    num_clusters = deltas.size if clusters is None else int(np.unique(cluster_codes(clusters)[paired]).size)
    margin = margin_of(name, sides, (got.baseline_mean or 0.0, got.candidate_mean or 0.0))
    deviation = deviation_of(deltas)
    error = got.difference.standard_error
    spread = deviation if error is None or clusters is None else error * sqrt(deltas.size)
    return {
        "num_paired": got.num_paired,
        "num_only_baseline": got.num_only_baseline,
        "num_only_candidate": got.num_only_candidate,
        "num_clusters": num_clusters,
        "baseline_mean": number(got.baseline_mean),
        "candidate_mean": number(got.candidate_mean),
        "delta_mean": number(got.difference.value),
        "ci_low": number(got.difference.interval.low),
        "ci_high": number(got.difference.interval.high),
        "ci_reason": got.difference.interval.reason,
        "ci_method": got.difference.interval.method,
        "p_value": number(got.p_value.value),
        "p_method": got.p_value.method,
        "correlation": number(got.correlation),
        "unpaired_delta": number(got.unpaired.value),
        "unpaired_ci_low": number(got.unpaired.interval.low),
        "unpaired_ci_high": number(got.unpaired.interval.high),
        "ratio": number(ratio.value),
        "ratio_ci_low": number(ratio.interval.low),
        "ratio_ci_high": number(ratio.interval.high),
        "num_up": int((deltas > ROUNDING).sum()),
        "num_down": int((deltas < -ROUNDING).sum()),
        "skewness": number(skewness(deltas)),
        "num_missing_baseline": _missing(found, "baseline", sides.baseline),
        "num_missing_candidate": _missing(found, "candidate", sides.candidate),
        "margin": margin,
        "num_needed": num_for_half_width(spread, margin),
        "mde": number(detectable_difference(spread, deltas.size, degrees=num_clusters - 1)),
        **_alike(found, paired, deltas),
    }


def deviation_of(deltas: Floats) -> float:
    """Standard deviation of differences; NaN where these are equal but for rounding, which says nothing of the next."""
    is_flat = deltas.size < 2 or no_spread(deltas.min(), deltas.max())
    return np.nan if is_flat else float(deltas.std(ddof=1))


def _alike(found: Compared, paired: NDArray[np.bool_], deltas: Floats) -> dict[str, Any]:
    """How many cluster keys the paired samples have, and how much wider intervals by these would be."""
    keys = objects(found.about["cluster_key"])[paired]
    known = {each for each in keys.tolist() if each is not None}
    if not known:
        return {"num_cluster_keys": None, "design_effect": np.nan}
    alone, together = sample_mean(deltas).standard_error, clustered_mean(deltas, keys).standard_error
    effect = np.nan if not alone or together is None else (together / alone) ** 2
    return {"num_cluster_keys": len(known), "design_effect": effect}


def _missing(found: Compared, arm: str, values: Floats) -> int:
    """Samples that the arm attempted without the measure being known."""
    return int((found.about[f"num_attempts_{arm}"].to_numpy() > 0)[~np.isfinite(values)].sum())


def margin_of(name: str, sides: Sides, means: tuple[float, float]) -> float:
    """Half width that counts as precise: see `MARGIN`."""
    if is_within_one(name, sides):
        return MARGIN
    return max(map(abs, means)) / 10 or np.nan


def is_within_one(name: str, sides: Sides) -> bool:
    """Whether a measure by name lies between 0 and 1: by nature, or, of a reward, as it is here."""
    return MEASURES[name] == "0–1" or (name == "reward" and is_share(sides))


def is_share(sides: Sides) -> bool:
    """Whether all values lie between 0 and 1."""
    values = np.concatenate((sides.baseline, sides.candidate))
    values = values[np.isfinite(values)]
    return bool(values.size and values.min() >= 0 and values.max() <= 1)


def _bounds(found: Mapping[str, Sides]) -> tuple[float, float]:
    """Mean difference of the reward had all failures been graded against the candidate, and for it (Manski bounds)."""
    zero, one = (found[name] for name in BOUNDS)
    if not is_share(found["reward"]):
        return np.nan, np.nan
    low, high = zero.candidate - one.baseline, one.candidate - zero.baseline
    known = np.isfinite(low) & np.isfinite(high)
    return (float(low[known].mean()), float(high[known].mean())) if known.any() else (np.nan, np.nan)


def number(value: float | None) -> float:
    """A number for a frame: NaN for none."""
    return np.nan if value is None else value
