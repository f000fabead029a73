"""Questions about what may be claimed of two arms at a margin, and what it would take to see a difference."""

from math import sqrt
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import special

from ingest.errors import QuestionError
from queries.compare import deviation_of, is_share, number
from queries.compared import REPEATED, Compared, Sides, compared
from queries.compared_samples import COSTS
from queries.comparison import MEASURES, comparison
from queries.connection import Reading
from queries.power import detectable_difference, num_to_detect, num_to_detect_all, variance_between
from queries.stats import Estimate, Floats, Labels, cluster_codes, clustered_mean, clustered_or_plain, sample_mean

ALPHA = 0.025
"""Level of a one-sided claim: it holds where the two-sided 95 % interval lies beyond the margin."""
MARGIN_OF_SHARE, MARGIN_OF_MEAN = 0.02, 0.05
"""Margin where none is given: so much of a reward within 0–1, such a part of the baseline's mean of anything else."""
ATTEMPTS: Final = (1, 2, 3, 4, 5, 8, 16, 32)
CLAIMS: Final = (
    ("better", True, False, False),
    ("not_worse", True, True, False),
    ("cheaper", False, False, False),
    ("not_costlier", False, False, True),
    ("better_and_cheaper", None, False, False),
    ("better_not_costlier", None, False, True),
    ("not_worse_and_cheaper", None, True, False),
    ("not_worse_not_costlier", None, True, True),
)
"""Each claim: of the reward (True), the cost (False) or both (None); with a margin for the reward, for the cost."""


def compare_claims(
    store: Reading,
    *,
    baseline: str,
    candidate: str,
    split: str | None = None,
    environments: tuple[str, ...] | None = None,
    pair_by: str = "sample_id",
    leave_out_failures: bool = False,
    cluster_by: str = "sample",
    cost: str = "tool_calls",
    margin: float | None = None,
    cost_margin: float | None = None,
) -> pd.DataFrame:
    """One row per claim, in the order of `CLAIMS`: may the candidate be called better, no worse, cheaper, no costlier?

    `margin` is how much lower a reward still counts as no worse (default .02 of a reward within 0–1, else 5 % of the
    baseline's mean), `cost_margin` how much more still counts as no costlier (default 5 % of the baseline's mean).
    A claim about both holds where each holds (intersection–union: no correction is needed; Berger 1982), which two
    separate intervals do not say. One-sided t tests over the per-sample differences, clustered by `cluster_by`.
    Columns: claim, is_shown (p_value at most 2.5 %, as the 95 % interval says; NULL where it cannot be tested),
    p_value, reward_p, cost_p (of the parts; NULL where a claim has no such part), cost, margin, cost_margin (in the
    measures' units), num_paired (samples with every measure of the claim known in both arms), num_needed (samples
    for a chance of at least 80 % to show it, all of it, were the truth as observed), reason (why it cannot be tested).

    Raises:
        QuestionError: An arm, `pair_by`, `cluster_by` or `cost` is not one there is, or a margin is negative.
    """
    if cost not in COSTS:
        raise QuestionError(f"cost must be one of {', '.join(COSTS)}, not {cost!r}")
    if any(each is not None and not 0 <= each < np.inf for each in (margin, cost_margin)):
        raise QuestionError("a margin is 0 or more")
    asked = comparison(store, baseline, candidate, split, environments, pair_by, leave_out_failures, cluster_by)
    found = compared(store, asked)
    clusters = found.clusters(cluster_by)
    margins = {True: _margin("reward", found, margin), False: _margin(cost, found, cost_margin)}
    rows = []
    for name, about, on_reward, on_cost in CLAIMS:
        parts = {}
        if about is not False:
            parts["reward"] = _Part(found.sides["reward"], 1, margins[True] if on_reward else 0.0)
        if about is not True:
            parts["cost"] = _Part(found.sides[cost], -1, margins[False] if on_cost else 0.0)
        rows.append({"claim": name} | _claim(parts, clusters))
    frame = pd.DataFrame(rows)
    frame.insert(5, "cost", cost)
    frame.insert(6, "margin", margins[True])
    frame.insert(7, "cost_margin", margins[False])
    return frame.astype({"is_shown": "boolean", "num_needed": "Int64"})


class _Part:
    """One side of a claim: differences turned so that more is better, plus what they may fall short by."""

    def __init__(self, sides: Sides, sign: int, margin: float) -> None:
        self.values = sign * sides.deltas + margin

    def test(self, clusters: Labels | None) -> tuple[float, Estimate]:
        """One-sided p-value of a mean above zero (NaN where there is no spread), and the mean."""
        mean = clustered_or_plain(self.values, clusters)
        if mean.value is None or not mean.standard_error:
            return np.nan, mean
        kept = np.isfinite(self.values)
        units = int(kept.sum()) if clusters is None else int(np.unique(cluster_codes(clusters)[kept]).size)
        return float(special.stdtr(units - 1, -mean.value / mean.standard_error)), mean


def _claim(parts: dict[str, _Part], clusters: Labels | None) -> dict[str, Any]:
    tested = {name: part.test(clusters) for name, part in parts.items()}
    p_values = [p_value for p_value, _ in tested.values()]
    unknown = bool(np.isnan(p_values).any())
    reasons = [f"{name}: {mean.interval.reason}" for name, (_, mean) in tested.items() if mean.interval.reason]
    known = np.logical_and.reduce([np.isfinite(part.values) for part in parts.values()])
    return {
        "is_shown": None if unknown else max(p_values) <= ALPHA,
        "p_value": np.nan if unknown else max(p_values),
        "reward_p": tested["reward"][0] if "reward" in tested else np.nan,
        "cost_p": tested["cost"][0] if "cost" in tested else np.nan,
        "num_paired": int(known.sum()),
        "num_needed": num_to_detect_all([_observed(mean) for _, mean in tested.values()]),
        "reason": "; ".join(reasons) or None,
    }


def _observed(mean: Estimate) -> tuple[float, float]:
    """Deviation of the differences and their mean, as if the truth; zeros, which no samples find, where not known."""
    if mean.value is None or not mean.standard_error:
        return 0.0, 0.0
    return mean.standard_error * sqrt(mean.num), mean.value


def _margin(name: str, found: Compared, given: float | None) -> float:
    if given is not None:
        return given
    sides = found.sides[name]
    if name == "reward" and is_share(sides):
        return MARGIN_OF_SHARE
    mean = sample_mean(sides.baseline[np.isfinite(sides.deltas)]).value
    return np.nan if mean is None else MARGIN_OF_MEAN * abs(mean)


def compare_power(
    store: Reading,
    *,
    baseline: str,
    candidate: str,
    split: str | None = None,
    environments: tuple[str, ...] | None = None,
    pair_by: str = "sample_id",
    leave_out_failures: bool = False,
    cluster_by: str = "sample",
    measure: str = "reward",
    difference: float | None = None,
    power: float = 0.8,
) -> pd.DataFrame:
    """One row per number of attempts at a sample, as it is now first: what difference could be seen, with how much?

    `difference` is the one to be found (default .05 of what lies within 0–1, else 10 % of the baseline's mean);
    `cluster_by`: what samples that are alike share, as in `compare`: a deviation is then √n times the clustered
    standard error, and more attempts leave what clusters share as it is. Columns: attempts (per sample and arm; NULL
    for as it is now, which may differ by sample), is_now, num_paired, num_clusters (their number without clusters),
    deviation (of the per-sample differences with so many attempts), deviation_between (of the samples' true
    differences), deviation_within_baseline, deviation_within_candidate (between attempts at a sample; NULL where no
    sample has two), mde (smallest true difference found with `power` by num_paired samples), difference, num_needed
    (samples to find it), num_rollouts_needed (of both arms together). Two-sided 5 % t test.

    Raises:
        QuestionError: An arm, `pair_by`, `cluster_by` or `measure` is not one there is, or a number is out of range.
    """
    if measure not in REPEATED:
        raise QuestionError(f"measure must be one of {', '.join(REPEATED)}, not {measure!r}")
    if not 0 < power < 1 or (difference is not None and not 0 < difference < np.inf):
        raise QuestionError("power lies between 0 and 1, and a difference is above 0")
    asked = comparison(store, baseline, candidate, split, environments, pair_by, leave_out_failures, cluster_by)
    found = compared(store, asked)
    paired = np.isfinite(found.sides[measure].deltas)
    deltas = found.sides[measure].deltas[paired]
    wanted = difference or _difference(measure, found)
    total, num_clusters = _variance(deltas, found.clusters(cluster_by), paired)
    nums = (deltas.size, num_clusters)
    within = [_within(spread.variance[paired]) for spread in found.spreads[measure]]
    now = [_harmonic(spread.num[paired]) for spread in found.spreads[measure]]
    rows = [_power_row(None, total, sum(now), nums, wanted, power)]
    between = np.nan
    if np.isfinite(total) and np.isfinite(within).all():
        between = variance_between(total, (within[0], within[1]), (now[0], now[1]))
        for attempts in ATTEMPTS:
            variance = between + sum(within) / attempts
            rows.append(_power_row(attempts, variance, 2 * attempts, nums, wanted, power))
    frame = pd.DataFrame(rows).astype({"attempts": "Int64", "num_needed": "Int64", "num_rollouts_needed": "Int64"})
    spread = {"deviation_between": between} | {
        f"deviation_within_{arm}": each for arm, each in zip(("baseline", "candidate"), within, strict=True)
    }
    for offset, (name, value) in enumerate(spread.items()):
        frame.insert(5 + offset, name, float(np.sqrt(value)))
    return frame


def _variance(deltas: Floats, clusters: Labels | None, paired: NDArray[np.bool_]) -> tuple[float, int]:
    """Variance of the differences (n times that of their mean, by cluster), and how many clusters they are in."""
    alone = deviation_of(deltas) ** 2
    if clusters is None or np.isnan(alone):
        return alone, deltas.size
    codes = cluster_codes(np.asarray(clusters)[paired])
    error = clustered_mean(deltas, codes).standard_error
    return np.nan if error is None else deltas.size * error**2, np.unique(codes).size


def _power_row(
    attempts: int | None, variance: float, rollouts: float, nums: tuple[int, int], wanted: float, power: float
) -> dict[str, Any]:
    num, num_clusters = nums
    deviation = sqrt(variance) if np.isfinite(variance) else np.nan
    needed = num_to_detect(deviation, wanted, power=power, per_cluster=num / max(num_clusters, 1))
    return {
        "attempts": attempts,
        "is_now": attempts is None,
        "num_paired": num,
        "num_clusters": num_clusters,
        "deviation": deviation,
        "mde": number(detectable_difference(deviation, num, power=power, degrees=num_clusters - 1)),
        "difference": wanted,
        "num_needed": needed,
        "num_rollouts_needed": None if needed is None else round(needed * rollouts),
    }


def _difference(measure: str, found: Compared) -> float:
    if MEASURES[measure] == "0–1" or (measure == "reward" and is_share(found.sides[measure])):
        return 0.05
    mean = sample_mean(found.sides[measure].baseline).value
    return np.nan if mean is None else abs(mean) / 10 or np.nan


def _within(variances: Any) -> float:
    """Mean variance between attempts over the samples that have two, NaN where none has."""
    known = variances[np.isfinite(variances)]
    return float(known.mean()) if known.size else np.nan


def _harmonic(nums: Any) -> float:
    """Harmonic mean of the numbers of attempts: what the mean of σ²/K divides by."""
    return float(nums.size / (1 / nums).sum()) if nums.size and (nums > 0).all() else np.nan
