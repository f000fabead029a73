"""The far end of a distribution: percentiles with intervals, survival curves, and what the tail costs.

Values here are per rollout (latency, calls, tokens of a rollout). Attempts at the same sample resemble one another, so
that n rollouts say less than n independent ones: how many they are worth (`effective_at`) is what an interval is of.
"""

from dataclasses import dataclass
from functools import lru_cache
from math import ceil, isfinite, log, sqrt
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from queries.stats import NOTHING, TOO_LARGE, Codes, Estimate, Floats, Interval, Labels, cluster_codes

ROUNDING = 1e-9
"""A number of rollouts this close below a whole one is that one."""


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


def percentile(values: ArrayLike, p: float, *, samples: Labels | None = None, confidence: float = 0.95) -> Estimate:
    """The p-quantile (0 < p < 1) of values, shape (n,), with its distribution-free order-statistic interval.

    The point is interpolated linearly (as DuckDB's `quantile_cont`). The interval [x₍l₎, x₍u₎] has the innermost ranks
    with P(Bin(n,p) < l) ≤ α/2 and P(Bin(n,p) ≥ u) ≤ α/2, so it covers at least 1−α whatever the distribution, and more
    with ties. No interval where no such ranks exist (`num_needed`), e.g. n < 72 for P95. Of several attempts at a
    sample (`samples`, labels of shape (n,)) it takes the ranks of as many independent values, m, as they are worth
    (`effective_at`), spread out to n: ⌊l·n/m⌋ and ⌈u·n/m⌉; then half as many samples are needed as values, without
    which the few intervals there are would be those whose m is put too high.
    Source: David and Nagaraja 2003, Order Statistics, section 7.1; Woodruff 1952 on medians of clustered surveys.

    Raises:
        ValueError: p is not between 0 and 1.
    """
    array = np.asarray(values, dtype=np.float64)
    known = np.isfinite(array)
    kept, missing = array[known], int((~known).sum())
    needed = num_needed(p, confidence=confidence)
    if kept.size == 0:
        return Estimate(None, Interval.none("order statistics", NOTHING), 0, missing)
    point = float(np.quantile(kept, p))
    attempts, effective = np.ones(kept.size), float(kept.size)
    if samples is not None:
        codes = cluster_codes(np.asarray(samples)[known])
        attempts = np.bincount(codes).astype(np.float64)
        effective = _effective(kept <= point, codes, attempts)
    reason = _too_few(p, needed, kept.size, attempts.size, int(effective + ROUNDING))
    interval = Interval.none("order statistics", reason) if reason else _between(kept, p, effective, confidence)
    return Estimate(point, interval, kept.size, missing, num_effective=effective)


def _too_few(p: float, needed: int, num: int, num_samples: int, worth: int) -> str | None:
    """Why there is no interval for a percentile, if there is none."""
    name = f"P{round(100 * p, 6):g}"
    if num < needed:
        return f"n too small: {needed} needed for {name}"
    if num_samples < min(num, needed / 2):
        return f"n too small: {ceil(needed / 2)} samples needed for {name}, {num_samples} here"
    if worth < needed:
        return f"n too small: {needed} needed for {name}; attempts at a sample are alike, all are worth {worth}"
    return None


def _between(values: Floats, p: float, effective: float, confidence: float) -> Interval:
    """The order-statistic interval of values that are worth so many independent ones."""
    num, worth = values.size, int(effective + ROUNDING)
    low, high = _ranks(worth, p, (1 - confidence) / 2)
    places = low * num // worth - 1, -(-high * num // worth) - 1
    ordered = np.partition(values, places)
    return Interval(float(ordered[places[0]]), float(ordered[places[1]]), "order statistics")


def _effective(within: NDArray[np.bool_], codes: Codes, attempts: Floats) -> float:
    """How many independent rollouts these are worth for the share `within`, shape (n,), by sample codes and sizes.

    Single attempts are worth n. Else as many as give the share the error that it has by sample, p(1−p)/SE²: at most n,
    at least (Σm)²/Σm² for samples of m attempts (all of a sample alike), which is also taken where all are within.
    Times (z/t)² for the few samples that the error was estimated from.
    Source: Korn and Graubard 1998, on proportions in clustered surveys; Kish 1965 for unequal samples.
    """
    if attempts.size == within.size:
        return float(within.size)
    if attempts.size == 1:
        return 1.0
    share = float(within.mean())
    residuals = np.bincount(codes, weights=within) - share * attempts
    variance = attempts.size / (attempts.size - 1) * float(residuals @ residuals) / within.size**2
    fewest, independent = within.size**2 / float(attempts @ attempts), share * (1 - share)
    worth = min(max(independent / variance, fewest), within.size) if variance > 0 else float(within.size)
    few = special.ndtri(0.975) / special.stdtrit(attempts.size - 1, 0.975)
    return max(1.0, float((worth if independent else fewest) * few**2))


@lru_cache(maxsize=4096)
def _ranks(n: int, p: float, tail: float) -> tuple[int, int]:
    """Innermost ranks (from 1) that leave at most `tail` on either side; they exist when n ≥ `num_needed`."""
    # Far more than `tail` lies within ten deviations of the middle: beyond, nothing has to be looked at.
    reach = 10 * sqrt(n * p * (1 - p)) + 10
    first, last = max(0, int(n * p - reach)), min(n, int(n * p + reach))
    cumulative = special.bdtr(np.arange(first, last, dtype=np.float64), n, p)
    low = first + int(np.searchsorted(cumulative, tail, side="right"))
    high = first + int(np.searchsorted(cumulative, 1 - tail, side="left")) + 1
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


def dkw_half_width(n: float, *, confidence: float = 0.95) -> float | None:
    """Half width of the band that holds a whole distribution function: √(ln(2/α)/2n); None for n = 0.

    Source: Dvoretzky, Kiefer, Wolfowitz 1956 with Massart's constant, 1990.
    """
    return sqrt(log(2 / (1 - confidence)) / (2 * n)) if n else None


def distribution(values: ArrayLike, *, samples: Labels | None = None, confidence: float = 0.95) -> Curve:
    """Empirical distribution of values, shape (n,), and the half width of its DKW band (None without values).

    With `samples` (labels of shape (n,)) the band is for as many independent values as attempts are worth at that
    quartile where they are worth least: it is in the middle of a distribution that a band needs its width.
    """
    array = np.asarray(values, dtype=np.float64)
    known = np.isfinite(array)
    kept, missing = array[known], int((~known).sum())
    worth = float(kept.size)
    if samples is not None and kept.size:
        codes = cluster_codes(np.asarray(samples)[known])
        attempts = np.bincount(codes).astype(np.float64)
        worth = min(_effective(kept <= each, codes, attempts) for each in np.quantile(kept, (0.25, 0.5, 0.75)))
    x, counts = np.unique(kept, return_counts=True)
    at_most = np.cumsum(counts) / max(kept.size, 1)
    return Curve(x, at_most, dkw_half_width(worth, confidence=confidence), kept.size, missing)


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
