"""Bootstrap intervals and sign-flip p-values, always seeded: `stats.seed_of` the question and its filters.

Whole samples (or clusters) are drawn, with everything that belongs to them, both arms included. A statistic is given
as a function of column sums, so that a resample is a sum of rows and never a copy of the rollouts.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import ceil, log2
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from queries.stats import NOTHING, TOO_LARGE, Codes, Floats, Interval, Labels, cluster_codes, no_spread, scored

Statistic: TypeAlias = Callable[[Floats], Floats]
"""From sums of columns, shape (…, columns), to values of shape (…)."""

MIN_CLUSTERS = 20
"""Below about this many clusters the cluster bootstrap is known to fall short (STATISTICS: five, small n)."""
MAX_EXACT = 16
"""Up to this many differences all 2ⁿ sign patterns are tried."""
CELLS = 2_000_000
"""Numbers held at once while resampling: 16 MB however large n is."""


@dataclass(frozen=True, slots=True)
class PValue:
    """A p-value and how it was had; None with the reason where there is nothing to test."""

    value: float | None
    method: str
    num: int
    reason: str | None = None


def mean_of(sums: Floats) -> Floats:
    """The statistic Σx/n, for columns (x, 1)."""
    return np.asarray(sums[..., 0] / sums[..., 1])


def bootstrap_mean(
    values: ArrayLike,
    *,
    seed: int,
    clusters: Labels | None = None,
    method: Literal["percentile", "bca"] = "percentile",
    num_resamples: int = 2_000,
    confidence: float = 0.95,
) -> Interval:
    """Bootstrap interval of a mean over samples, values of shape (n,); values not scored are dropped.

    See `bootstrap` for the methods and for where there is no interval.
    """
    array = np.asarray(values, dtype=np.float64)
    kept = np.isfinite(array)
    columns = np.column_stack((array[kept], np.ones(int(kept.sum()))))
    codes = None if clusters is None else cluster_codes(clusters)[kept]
    return bootstrap(
        columns, mean_of, seed=seed, clusters=codes, method=method, num_resamples=num_resamples, confidence=confidence
    )


def bootstrap(
    columns: Floats,
    statistic: Statistic,
    *,
    seed: int,
    clusters: Labels | None = None,
    method: Literal["percentile", "bca"] = "percentile",
    num_resamples: int = 2_000,
    confidence: float = 0.95,
) -> Interval:
    """Bootstrap interval of a statistic of column sums; `columns` has shape (samples, columns), all finite.

    Percentile by default, BCa for skewed measures (tokens, latency). Samples are drawn with replacement, or whole
    clusters if `clusters`, shape (samples,), is given. No interval: with fewer than 20 clusters; with so few samples
    that even their range covers less than asked (1 − 2^(1−n) for a median: n < 6 at 95 %); where all resamples agree;
    where a resample has no value (a zero denominator).
    Source: Efron and Tibshirani 1993, chapters 13 and 14. BCa by hand because the jackknife of `scipy.stats.bootstrap`,
    against which it is tested, costs n² and ours, being of sums, n.
    """
    name = bootstrap_name(method, clusters)
    totals = columns if clusters is None else cluster_sums(columns, cluster_codes(clusters))
    with np.errstate(over="ignore"):
        if totals.shape[0] == 0 or not np.isfinite(np.abs(totals).sum()):
            return Interval.none(name, TOO_LARGE if totals.size else NOTHING)
    if clusters is not None and totals.shape[0] < MIN_CLUSTERS:
        return Interval.none(name, f"{MIN_CLUSTERS} clusters needed for a bootstrap, {totals.shape[0]} here")
    if totals.shape[0] < (needed := units_needed(confidence)):
        return Interval.none(name, f"n too small for a bootstrap: {needed} needed")
    resampled = resample(totals, statistic, seed=seed, num_resamples=num_resamples)
    if undefined := int(num_resamples - np.isfinite(resampled).sum()):
        return Interval.none(name, f"{undefined} of {num_resamples} resamples have no value: a denominator is zero")
    if no_spread(resampled.min(), resampled.max()):
        return Interval.none(name, "all resamples agree: the values say nothing about the next one")
    tails = np.array([(1 - confidence) / 2, (1 + confidence) / 2])
    if method == "bca":
        tails = _bca_tails(totals, statistic, resampled, tails)
        if not np.isfinite(tails).all():
            return Interval.none(name, "the correction is undefined: the estimate lies outside all resamples")
    low, high = np.quantile(resampled, tails)
    return Interval(float(low), float(high), name)


def units_needed(confidence: float = 0.95) -> int:
    """Samples below which even their whole range covers less than asked: 1 − 2^(1−n) of the time for a median."""
    return ceil(1 - log2(1 - confidence))


def bootstrap_name(method: str, clusters: Labels | None) -> str:
    """The method as an interval names it, e.g. "BCa cluster bootstrap"."""
    return f"{'BCa' if method == 'bca' else method}{' cluster' if clusters is not None else ''} bootstrap"


def resample(totals: Floats, statistic: Statistic, *, seed: int, num_resamples: int) -> Floats:
    """The statistic on each of `num_resamples` draws of rows of `totals`, shape (units, columns), with replacement.

    NaN or infinite where the statistic has no value. In blocks, so that memory stays flat: the same seed and the same
    rows give the same draws.
    """
    units = totals.shape[0]
    generator = np.random.default_rng(seed)
    sums = []
    for size in _blocks(num_resamples, units):
        drawn = generator.integers(0, units, size=(size, units))
        drawn += np.arange(size)[:, None] * units
        weights = np.bincount(drawn.ravel(), minlength=size * units).reshape(size, units)
        sums.append(weights.astype(np.float64) @ totals)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return statistic(np.concatenate(sums))


def sign_flip(
    differences: ArrayLike, *, seed: int, clusters: Labels | None = None, num_resamples: int = 9_999
) -> PValue:
    """Two-sided p-value of a mean of paired differences, shape (n,), under "either sign was as likely".

    Exact over all 2ⁿ patterns up to 16 non-zero differences (zeros change nothing), else (1 + hits)/(1 + B) over B
    random patterns. With clusters the signs of whole clusters flip. None where no difference is scored.
    Source: Fisher 1935; Phipson and Smyth 2010 for the added one; Miller 2024 recommends pairing by sample.
    """
    array, _ = np.asarray(differences, dtype=np.float64), scored(differences)
    return sign_flips(array[:, None], seed=seed, clusters=clusters, num_resamples=num_resamples)[0]


def sign_flips(
    differences: Floats, *, seed: int, clusters: Labels | None = None, num_resamples: int = 9_999
) -> list[PValue]:
    """`sign_flip` of several measures at once, shape (n, measures): the same random patterns serve them all."""
    finite = np.isfinite(differences)
    units = np.where(finite, differences, 0.0)
    if clusters is not None:
        units = cluster_sums(units, cluster_codes(clusters))
    with np.errstate(over="ignore", invalid="ignore"):
        sizes = np.abs(units).sum(axis=0)
        # Sums of the same numbers in another order differ by rounding: those count as equally extreme.
        observed = np.abs(units.sum(axis=0)) - 1e-12 * sizes
    num_scored, num_signs = finite.sum(axis=0), (units != 0).sum(axis=0)
    many = np.flatnonzero((num_signs > MAX_EXACT) & np.isfinite(sizes))
    hits = dict(zip(many.tolist(), _hits(units[:, many], observed[many], seed, num_resamples), strict=True))
    found = []
    for column, num in enumerate(num_scored.tolist()):
        if num == 0 or not np.isfinite(sizes[column]):
            found.append(PValue(None, "sign flip", num, TOO_LARGE if num else NOTHING))
        elif column in hits:
            p_value = (1 + hits[column]) / (1 + num_resamples)
            found.append(PValue(p_value, f"sign flip, {num_resamples} draws", num))
        else:
            kept = units[units[:, column] != 0, column]
            patterns = (np.arange(2**kept.size)[:, None] >> np.arange(kept.size)) & 1
            extreme = np.abs((2.0 * patterns - 1.0) @ kept) >= observed[column]
            found.append(PValue(float(extreme.mean()), "sign flip, exact", num))
    return found


def _hits(units: Floats, observed: Floats, seed: int, num_resamples: int) -> list[int]:
    """How many random sign patterns give each column of `units` a sum at least as far from 0 as observed."""
    count = np.zeros(units.shape[1], dtype=np.int64)
    if not count.size:
        return []
    generator = np.random.default_rng(seed)
    for size in _blocks(num_resamples, units.shape[0]):
        # One random bit a sign: drawing whole numbers takes several times as long.
        drawn = np.frombuffer(generator.bytes(size * units.shape[0] // 8 + 1), dtype=np.uint8)
        patterns = np.unpackbits(drawn, count=size * units.shape[0]).reshape(size, units.shape[0])
        sums = 2.0 * (patterns.astype(np.float64) @ units) - units.sum(axis=0)
        count += (np.abs(sums) >= observed).sum(axis=0)
    return [int(each) for each in count]


def cluster_sums(columns: Floats, codes: Codes) -> Floats:
    """Columns summed over each cluster, shape (clusters, columns)."""
    return np.column_stack([np.bincount(codes, weights=column) for column in columns.T])


def _blocks(rows: int, width: int) -> Iterator[int]:
    """Sizes of blocks of rows that together hold about `CELLS` numbers."""
    size = max(1, CELLS // max(width, 1))
    for start in range(0, rows, size):
        yield min(size, rows - start)


def _bca_tails(totals: Floats, statistic: Statistic, resampled: Floats, tails: Floats) -> Floats:
    """Percentiles to read the resamples at: corrected for bias z₀ and acceleration a (Efron 1987)."""
    everything = totals.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        estimate = statistic(everything)
        left_out = statistic(everything - totals)
        below = ((resampled < estimate).mean() + (resampled <= estimate).mean()) / 2
        influence = left_out.mean() - left_out
        acceleration = (influence**3).sum() / (6 * (influence**2).sum() ** 1.5)
        z0 = special.ndtri(below)
        shifted = z0 + special.ndtri(tails)
        return np.asarray(special.ndtr(z0 + shifted / (1 - acceleration * shifted)))
