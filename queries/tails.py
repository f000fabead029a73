"""The far end of a distribution: percentiles with intervals, survival curves, and what the tail costs.

Values here are per rollout (latency, calls, tokens of a rollout), so the intervals take rollouts as independent draws:
attempts at the same sample resemble one another, which makes them somewhat too narrow where samples differ much.
"""

from dataclasses import dataclass
from math import ceil, isfinite, log, sqrt
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from queries.stats import NOTHING, TOO_LARGE, Estimate, Floats, Interval, scored


@dataclass(frozen=True, slots=True)
class Curve:
    """Empirical distribution: at each distinct value `x`, the share of rollouts at most `x`, and its DKW band."""

    x: Floats
    at_most: Floats
    half_width: float | None
    num: int
    num_missing: int

    @property
    def above(self) -> Floats:
        """Survival: share of rollouts above each `x`, shape of `x`; the band around it is equally wide."""
        return 1.0 - self.at_most

    def band(self, curve: Floats) -> tuple[Floats, Floats]:
        """Lower and upper band around `at_most` or `above`, kept within 0 and 1."""
        half = self.half_width or 0.0
        return np.clip(curve - half, 0.0, 1.0), np.clip(curve + half, 0.0, 1.0)


@dataclass(frozen=True, slots=True)
class TailShare:
    """How much of a total is spent in the rollouts above a threshold; shares are None where `reason` says why."""

    num: int
    num_tail: int
    rollout_share: float | None
    total: float
    tail_total: float
    total_share: float | None
    num_missing: int
    reason: str | None = None


def percentile(values: ArrayLike, p: float, *, confidence: float = 0.95) -> Estimate:
    """The p-quantile (0 < p < 1) of values, shape (n,), with its distribution-free order-statistic interval.

    The point is interpolated linearly (as DuckDB's `quantile_cont`). The interval [x₍l₎, x₍u₎] has the innermost ranks
    with P(Bin(n,p) < l) ≤ α/2 and P(Bin(n,p) ≥ u) ≤ α/2, so it covers at least 1−α whatever the distribution, and more
    with ties. No interval where no such ranks exist (`num_needed`), e.g. n < 72 for P95.
    Source: David and Nagaraja 2003, Order Statistics, section 7.1.

    Raises:
        ValueError: p is not between 0 and 1.
    """
    kept, missing = scored(values)
    needed = num_needed(p, confidence=confidence)
    if kept.size == 0:
        return Estimate(None, Interval.none("order statistics", NOTHING), 0, missing)
    kept.sort()
    point = float(np.quantile(kept, p))
    if kept.size < needed:
        reason = f"n too small: {needed} needed for P{round(100 * p, 6):g}"
        return Estimate(point, Interval.none("order statistics", reason), kept.size, missing)
    low, high = _ranks(kept.size, p, (1 - confidence) / 2)
    return Estimate(
        point, Interval(float(kept[low - 1]), float(kept[high - 1]), "order statistics"), kept.size, missing
    )


def _ranks(n: int, p: float, tail: float) -> tuple[int, int]:
    """Innermost ranks (from 1) that leave at most `tail` on either side; they exist when n ≥ `num_needed`."""
    cumulative = special.bdtr(np.arange(n, dtype=np.float64), n, p)
    low = int(np.searchsorted(cumulative, tail, side="right"))
    high = int(np.searchsorted(cumulative, 1 - tail, side="left")) + 1
    # Rounding at the very smallest n must not step outside the values.
    return max(low, 1), min(high, n)


def num_needed(p: float, *, confidence: float = 0.95, sides: Literal[1, 2] = 2) -> int:
    """Smallest n for which the p-quantile has a distribution-free interval: 72 for P95, one-sided 59.

    Two-sided both ends must exist: max(p, 1−p)ⁿ ≤ α/2. One-sided means the bound on the far side (upper for p ≥ ½):
    max(p, 1−p)ⁿ ≤ α.

    Raises:
        ValueError: p is not between 0 and 1.
    """
    if not 0 < p < 1:
        raise ValueError(f"a quantile lies between 0 and 1, not at {p}")
    tail, far = (1 - confidence) / sides, max(p, 1 - p)
    n = max(1, ceil(log(tail) / log(far)) - 1)
    while far**n > tail:
        n += 1
    return n


def dkw_half_width(n: int, *, confidence: float = 0.95) -> float | None:
    """Half width of the band that holds a whole distribution function: √(ln(2/α)/2n); None for n = 0.

    Source: Dvoretzky, Kiefer, Wolfowitz 1956 with Massart's constant, 1990.
    """
    return sqrt(log(2 / (1 - confidence)) / (2 * n)) if n else None


def distribution(values: ArrayLike, *, confidence: float = 0.95) -> Curve:
    """Empirical distribution of values, shape (n,), and the half width of its DKW band (None without values)."""
    kept, missing = scored(values)
    x, counts = np.unique(kept, return_counts=True)
    at_most = np.cumsum(counts) / max(kept.size, 1)
    return Curve(x, at_most, dkw_half_width(kept.size, confidence=confidence), kept.size, missing)


def tail_share(measure: ArrayLike, cost: ArrayLike, threshold: float) -> TailShare:
    """Share of all `cost` (calls, tokens, seconds) spent in rollouts whose `measure` lies above `threshold`.

    `measure` and `cost` have shape (n,), one entry per rollout, and may be the same array. A rollout of which either is
    missing is left out and counted. No share of a total of zero, nor where a cost is negative.

    Raises:
        ValueError: The arrays differ in shape.
    """
    measured, costs = np.asarray(measure, dtype=np.float64), np.asarray(cost, dtype=np.float64)
    if measured.shape != costs.shape:
        raise ValueError("measure and cost need one value each per rollout")
    known = np.isfinite(measured) & np.isfinite(costs)
    costs, in_tail = costs[known], measured[known] > threshold
    with np.errstate(over="ignore"):
        total, tail_total = float(costs.sum()), float(costs[in_tail].sum())
    num, num_tail = costs.size, int(in_tail.sum())
    reason = NOTHING if num == 0 else "the total is zero" if not costs.any() else None
    if not isfinite(total):
        reason = TOO_LARGE
    if num and costs.min() < 0:
        reason = "some costs are negative: parts of the total are no shares"
    return TailShare(
        num=num,
        num_tail=num_tail,
        rollout_share=num_tail / num if num else None,
        total=total,
        tail_total=tail_total,
        total_share=tail_total / total if reason is None else None,
        num_missing=measured.size - num,
        reason=reason,
    )
