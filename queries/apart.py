"""Two independent sets of samples: how far apart a measure or a mix lies in them, and how far chance would put it.

Arrays in, a small frozen dataclass out; knows neither SQL nor pages. Either set is given as sums by unit: a unit is a
sample (every sample weighs 1, however often it was attempted), or of many samples a batch of them drawn at random.

A distance between two sets is never 0 by chance and is larger in small ones, so what chance alone gives stands beside
it: its mean, its 95th percentile, and the p-value.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from queries.resampling import units_needed
from queries.stats import Codes, Floats

NUM_DRAWS: Final = 999
MAX_UNITS: Final = 1_000
"""Of more samples than this in a set, batches are drawn: the figures stay, and so does the time they take."""
MAX_CELLS: Final = 200_000
"""Numbers of the summed curves at most (units times points): 60 points a curve for the most units."""
MIN_POINTS: Final = 60
MIN_BINS: Final = 10
"""Of so many shares the population stability index of a measure is had (deciles)."""
TOO_FEW: Final = "a selection has fewer than two samples"


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """One set: by unit, sums of weights by point or category, shape (units, columns), and in all, shape (units,)."""

    parts: Floats
    totals: Floats

    @property
    def shares(self) -> Floats:
        """Share of each point or category in the whole set, shape (columns,)."""
        return np.asarray(self.parts.sum(axis=0) / self.totals.sum())


@dataclass(frozen=True, slots=True)
class Apart:
    """How far apart two sets are (0 = alike, 1 = nothing in common), beside what chance alone gives."""

    value: float
    low: float
    high: float
    chance_mean: float
    chance_p95: float
    p_value: float
    method: str
    reason: str | None = None

    @classmethod
    def none(cls, reason: str, value: float = float("nan")) -> "Apart":
        """No statement beside the distance, because of `reason`."""
        nan = float("nan")
        return cls(value, nan, nan, nan, nan, nan, "", reason)


def apart(first: Sums, second: Sums, *, is_curve: bool, is_exchangeable: bool, seed: int) -> Apart:
    """Distance of two sets: Kolmogorov–Smirnov of curves (the largest gap), total variation of mixes (½·Σ|p − q|).

    What chance gives: where samples are exchangeable (equally many attempts at each, or attempts that are all equal)
    samples are dealt out to the sets anew, which is exact; else each set's samples are drawn with replacement, and the
    distance is had of how the two differences from their own sets differ, n/(n − 1) times as wide. The interval is the
    basic bootstrap's, 2·distance − quantile, within 0 and 1: a distance is biased upwards, in resamples once more, and
    the difference of the two takes that off.
    Source: Fisher 1935 and Phipson and Smyth 2010 (permutation, added one); Efron and Tibshirani 1993, chapter 13
    (basic bootstrap); Præstgaard 1995 (Scand. J. Stat. 22) for both with empirical distribution functions.
    """
    sizes = len(first.totals), len(second.totals)
    if not (first.totals.sum() > 0 and second.totals.sum() > 0):
        return Apart.none("nothing is known in a selection")
    difference = second.shares - first.shares
    value = float(_distance(difference, is_curve=is_curve))
    if min(sizes) < 2:
        return Apart.none(TOO_FEW, value)
    resampled = [
        _resampled(each, _weights(len(each.totals), seed + place)) for place, each in enumerate((first, second))
    ]
    if is_exchangeable:
        chance = _distance(_dealt(first, second, seed), is_curve=is_curve)
        method = f"samples dealt out anew, {NUM_DRAWS} draws"
    elif min(sizes) < units_needed():
        return Apart.none(f"{units_needed()} samples needed where attempts are not equally many", value)
    else:
        wide = [np.sqrt(size / (size - 1)) for size in sizes]
        moved = [(drawn - own.shares) * by for drawn, own, by in zip(resampled, (first, second), wide, strict=True)]
        chance = _distance(moved[1] - moved[0], is_curve=is_curve)
        method = f"samples drawn with replacement, {NUM_DRAWS} draws"
    chance = chance[np.isfinite(chance)]
    if not chance.size:
        return Apart.none("in no draw is anything known in both selections", value)
    drawn = _distance(resampled[1] - resampled[0], is_curve=is_curve)
    low, high = _bounds(value, drawn[np.isfinite(drawn)], min(sizes))
    return Apart(
        value=value,
        low=low,
        high=high,
        chance_mean=float(chance.mean()),
        chance_p95=float(np.quantile(chance, 0.95)),
        p_value=float((1 + (chance >= value - 1e-12).sum()) / (1 + chance.size)),
        method=method,
    )


def _bounds(value: float, drawn: Floats, size: int) -> tuple[float, float]:
    if size < units_needed() or not drawn.size:
        return float("nan"), float("nan")
    low, high = np.quantile(drawn, (0.025, 0.975))
    return float(np.clip(2 * value - high, 0, 1)), float(np.clip(2 * value - low, 0, 1))


def _distance(difference: Floats, *, is_curve: bool) -> Floats:
    size = np.abs(difference)
    if not size.shape[-1]:
        return np.zeros(size.shape[:-1])
    return np.asarray(size.max(axis=-1) if is_curve else size.sum(axis=-1) / 2)


def _dealt(first: Sums, second: Sums, seed: int) -> Floats:
    """Differences of the shares when the units are dealt out at random to sets of the same sizes, one row a draw."""
    parts = np.vstack((first.parts, second.parts))
    totals = np.concatenate((first.totals, second.totals))
    masks = _masks(len(first.totals), len(second.totals), seed)
    later, later_total = masks @ parts, masks @ totals
    with np.errstate(divide="ignore", invalid="ignore"):
        earlier = (parts.sum(axis=0) - later) / (totals.sum() - later_total)[:, None]
        return np.asarray(later / later_total[:, None] - earlier)


def _resampled(own: Sums, weights: Floats) -> Floats:
    """Shares when the units are drawn with replacement, one row a draw; NaN where nothing drawn is known."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray((weights @ own.parts) / (weights @ own.totals)[:, None])


@lru_cache(maxsize=8)
def _masks(num_first: int, num_second: int, seed: int) -> Floats:
    """Which units are dealt to the second set, 1 or 0, shape (draws, units): drawn once for measures of equal n."""
    dealt = np.zeros((NUM_DRAWS, num_first + num_second))
    dealt[:, num_first:] = 1.0
    return np.random.default_rng(seed).permuted(dealt, axis=1)


@lru_cache(maxsize=16)
def _weights(num: int, seed: int) -> Floats:
    """How often each unit is drawn, shape (draws, units)."""
    drawn = np.random.default_rng(seed).integers(0, num, size=(NUM_DRAWS, num))
    drawn += np.arange(NUM_DRAWS)[:, None] * num
    return np.bincount(drawn.ravel(), minlength=NUM_DRAWS * num).reshape(NUM_DRAWS, num).astype(np.float64)


def points(values: Floats, num_units: int) -> Floats:
    """Where curves are compared, ascending: at every distinct value, of very many at some evenly spread in rank."""
    distinct = np.unique(values)
    room = max(MIN_POINTS, MAX_CELLS // max(num_units, 1))
    if distinct.size <= room:
        return distinct
    ordered = np.sort(values)
    return np.unique(ordered[np.linspace(0, ordered.size - 1, room).astype(np.intp)])


def curve_sums(values: Floats, weights: Floats, units: Codes, num_units: int, at: Floats) -> Sums:
    """Of one set, by unit: the weight of its values at most each of the points, rows of shape (values,)."""
    sums = mix_sums(np.searchsorted(at, values, side="left"), weights, units, num_units, at.size + 1)
    # Beyond the last point nothing lies; at it every curve is 1.
    return Sums(np.cumsum(sums.parts, axis=1)[:, : max(at.size - 1, 0)], sums.totals)


def mix_sums(codes: Codes, weights: Floats, units: Codes, num_units: int, num_codes: int) -> Sums:
    """Of one set, by unit: the weight of each category, rows of shape (values,). Units without any are left out."""
    flat = np.bincount(units * num_codes + codes, weights=weights, minlength=num_units * num_codes)
    parts = flat.reshape(num_units, num_codes)
    totals = parts.sum(axis=1)
    return Sums(parts[totals > 0], totals[totals > 0])


def stability_index(first: ArrayLike, second: ArrayLike, num_first: int, num_second: int) -> float:
    """Population stability index of two mixes, Σ(q − p)·ln(q/p), shapes (bins,); an empty bin counts as half a sample.

    Source: Siddiqi 2006, Credit Risk Scorecards. It has no test and grows as n falls, so no claim is made by it.
    """
    shares = [
        np.maximum(np.asarray(each, dtype=np.float64), 0.5 / max(num, 1))
        for each, num in ((first, num_first), (second, num_second))
    ]
    return float(((shares[1] - shares[0]) * np.log(shares[1] / shares[0])).sum())


def decile_shares(first: Mapping[str, Floats], second: Mapping[str, Floats]) -> tuple[Floats, Floats]:
    """Shares of both sets in the bins between the first one's deciles; `values` and `weights` of each, shape (n,)."""
    order = np.argsort(first["values"], kind="stable")
    held = np.cumsum(first["weights"][order]) / first["weights"].sum()
    places = np.searchsorted(held, np.arange(1, MIN_BINS) / MIN_BINS - 1e-9)
    edges = np.unique(first["values"][order][np.minimum(places, order.size - 1)])
    found = []
    for each in (first, second):
        bins = np.searchsorted(edges, each["values"], side="left")
        found.append(np.bincount(bins, weights=each["weights"], minlength=edges.size + 1) / each["weights"].sum())
    return found[0], found[1]


def weighted_median(values: Floats, weights: Floats) -> float:
    """The value at which half of the weight is reached, shape (n,); the middle of two where it falls between them."""
    order = np.argsort(values, kind="stable")
    held = np.cumsum(weights[order]) / weights.sum()
    at = int(np.searchsorted(held, 0.5 - 1e-9))
    after = at + 1 if abs(held[at] - 0.5) < 1e-9 and at + 1 < order.size else at
    return float((values[order[at]] + values[order[after]]) / 2)
