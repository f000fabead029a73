"""Means, shares and their intervals: the statistics every question is built from.

Arrays in, small frozen dataclasses out; knows neither SQL nor pages. The unit of inference is the sample: an array here
holds one number per sample, unless a docstring says otherwise. NaN and infinite values are "not scored": they are
dropped and counted, never averaged. An interval that cannot be had honestly is no interval, with the reason in words.

Beside it: `resampling` (bootstrap, permutation), `pairing` (two arms on the same samples), `quadrants` (reward against
cost), `attempts` (pass@k and its kin), `tails` (percentiles, survival), `smoothing` (EMA).
"""

import dataclasses
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from math import isfinite, sqrt
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

Floats: TypeAlias = NDArray[np.float64]
Codes: TypeAlias = NDArray[np.intp]
Labels: TypeAlias = ArrayLike | Sequence[object]

NOTHING = "nothing scored"
ONE_VALUE = "one value has no spread"
ALL_EQUAL = "all values are equal: their spread says nothing about the next one"
TOO_LARGE = "the values are too large to average"


@dataclass(frozen=True, slots=True)
class Interval:
    """A confidence interval and the method it comes from; without one, `low` and `high` are None and `reason` says why.

    Raises:
        ValueError: The bounds are not finite, not in order, or do not go with the reason.
    """

    low: float | None
    high: float | None
    method: str
    reason: str | None = None

    def __post_init__(self) -> None:
        if self.low is None or self.high is None:
            if self.low is not self.high or not self.reason:
                raise ValueError("without an interval both bounds are None and a reason is given")
        elif self.reason is not None or not (isfinite(self.low) and isfinite(self.high) and self.low <= self.high):
            raise ValueError(f"an interval has finite bounds in order and no reason: {self}")

    @classmethod
    def none(cls, method: str, reason: str) -> "Interval":
        """No interval, because of `reason`."""
        return cls(None, None, method, reason)


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with its interval, how many values it is over, and how many were dropped as not scored.

    `num_effective`: how many independent values these are worth, where the interval allows for that.
    """

    value: float | None
    interval: Interval
    num: int
    num_missing: int
    standard_error: float | None = None
    num_effective: float | None = None


def seed_of(*parts: object) -> int:
    """Seed derived from a question's name and its filters: the same link shows the same interval to everyone.

    Stable across processes, machines and versions (SHA-256 of canonical JSON, not `hash`). Strings, numbers, booleans,
    None, dates, lists and tuples (alike), sets, mappings and dataclasses are understood. Returns 63 bits.

    Raises:
        TypeError: A part has no canonical form.
    """
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"), default=_canonical)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1


def _canonical(part: object) -> object:
    if dataclasses.is_dataclass(part) and not isinstance(part, type):
        fields = {field.name: getattr(part, field.name) for field in dataclasses.fields(part)}
        return {"": type(part).__name__, **fields}
    if isinstance(part, set | frozenset):
        return sorted(part, key=lambda each: (type(each).__name__, str(each)))
    if isinstance(part, date):
        return part.isoformat()
    if isinstance(part, np.generic | np.ndarray):
        return part.tolist()
    raise TypeError(f"a seed cannot be derived from {type(part).__name__}")


def scored(values: ArrayLike) -> tuple[Floats, int]:
    """The finite values of a one-dimensional array, in order, and how many were dropped (None, NaN, infinite).

    Raises:
        ValueError: The array has not one dimension.
    """
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise ValueError(f"one value per sample is expected, not an array of shape {array.shape}")
    finite = np.isfinite(array)
    return array[finite], int(array.size - finite.sum())


def sample_mean(values: ArrayLike, *, confidence: float = 0.95) -> Estimate:
    """Mean over samples with its t interval, x̄ ± t(n−1)·s/√n; `values` holds one mean per sample, shape (n,).

    No interval for fewer than two values, nor where all are equal (a width of zero would claim certainty).
    Source: Miller 2024 (arXiv 2411.00640), section 2; t for small n after Bowyer et al. 2025 (arXiv 2503.01747).
    """
    kept, missing = scored(values)
    if kept.size == 0 or no_spread(kept.min(), kept.max()):
        reason = NOTHING if kept.size == 0 else ONE_VALUE if kept.size == 1 else ALL_EQUAL
        value = float(kept[0]) if kept.size else None
        return Estimate(value, Interval.none("t", reason), kept.size, missing)
    with np.errstate(over="ignore", invalid="ignore"):
        error = float(kept.std(ddof=1)) / sqrt(kept.size)
        return t_estimate(float(kept.mean()), error, kept.size - 1, kept.size, missing, "t", confidence)


def clustered_mean(values: ArrayLike, clusters: Labels, *, confidence: float = 0.95) -> Estimate:
    """Mean over samples where samples of a cluster (document, repository) are alike: clustered SE, t with C−1 degrees.

    SE = (1/N)·√(C/(C−1)·Σ_c (Σ_{i∈c}(x_i − x̄))²); with clusters of one it is s/√n. `values` and `clusters` have shape
    (n,); a sample whose cluster is None or NaN is a cluster by itself. No interval with fewer than two clusters.
    Source: Miller 2024, appendix A; finite-cluster factor as in inspect_ai `std.py`, which returns 0 for one cluster.
    """
    method = "clustered t"
    array = np.asarray(values, dtype=np.float64)
    codes = cluster_codes(clusters)
    if array.shape != codes.shape:
        raise ValueError("every value needs one cluster")
    codes, (kept, missing) = codes[np.isfinite(array)], scored(array)
    num_clusters = np.unique(codes).size
    if num_clusters < 2 or no_spread(kept.min(), kept.max()):
        reason = NOTHING if kept.size == 0 else "one cluster has no spread" if num_clusters < 2 else ALL_EQUAL
        return Estimate(sample_mean(kept).value, Interval.none(method, reason), kept.size, missing)
    with np.errstate(over="ignore", invalid="ignore"):
        mean = float(kept.mean())
        deviations = kept - mean
        sums = np.bincount(codes, weights=deviations)
        if np.abs(sums).max() <= 1e-12 * np.abs(deviations).sum():
            reason = "the clusters do not differ: their spread cannot be estimated"
            return Estimate(mean, Interval.none(method, reason), kept.size, missing)
        error = sqrt(num_clusters / (num_clusters - 1) * float(sums @ sums)) / kept.size
    return t_estimate(mean, error, num_clusters - 1, kept.size, missing, method, confidence)


def clustered_or_plain(values: ArrayLike, clusters: Labels | None, *, confidence: float = 0.95) -> Estimate:
    """Mean over samples with its t interval: by clusters where labels, shape (n,), are given, else by sample."""
    if clusters is None:
        return sample_mean(values, confidence=confidence)
    return clustered_mean(values, clusters, confidence=confidence)


def t_estimate(
    value: float, error: float, degrees: float, num: int, missing: int, method: str, confidence: float
) -> Estimate:
    """Value ± t(degrees)·error as an estimate; none where the arithmetic overflowed."""
    half = float(special.stdtrit(degrees, (1 + confidence) / 2)) * error
    if not (isfinite(value) and isfinite(half)):
        return Estimate(None, Interval.none(method, TOO_LARGE), num, missing)
    return Estimate(value, Interval(value - half, value + half, method), num, missing, error)


def skewness(values: ArrayLike) -> float | None:
    """How lopsided values are, shape (n,): m₃/m₂^1.5, above 0 for a long tail upwards; None under 3 or without spread.

    Source: Joanes and Gill 1998, g₁; by hand because importing `scipy.stats`, against which it is tested, takes long.
    """
    kept, _ = scored(values)
    if kept.size < 3 or no_spread(kept.min(), kept.max()):
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        deviations = kept - kept.mean()
        found = float((deviations**3).mean() / (deviations**2).mean() ** 1.5)
    return found if isfinite(found) else None


def t_intervals(
    means: ArrayLike, deviations: ArrayLike, counts: ArrayLike, *, confidence: float = 0.95
) -> tuple[Floats, Floats]:
    """Bounds of many t intervals at once, from means, standard deviations (n−1) and numbers of samples, one shape.

    For figures that were aggregated elsewhere; NaN exactly where `sample_mean` has no interval: fewer than two samples,
    a deviation of zero (but for rounding), or nothing finite.
    """
    mean, deviation = np.asarray(means, dtype=np.float64), np.asarray(deviations, dtype=np.float64)
    n = np.asarray(counts, dtype=np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        half = special.stdtrit(np.maximum(n - 1, 1), (1 + confidence) / 2) * deviation / np.sqrt(np.maximum(n, 1))
        known = (n >= 2) & np.isfinite(mean) & np.isfinite(half) & (deviation > 1e-12 * np.abs(mean))
        return np.where(known, mean - half, np.nan), np.where(known, mean + half, np.nan)


def share(successes: int, total: int, *, confidence: float = 0.95) -> Estimate:
    """Share of `total` independent trials (samples, not their rollouts) with its Wilson interval; none of nothing.

    Source: Wilson 1927; never Wald's, which is [0, 0] at 0 of n.

    Raises:
        ValueError: Not 0 ≤ successes ≤ total.
    """
    if not 0 <= successes <= total:
        raise ValueError(f"{successes} of {total} is no share")
    if total == 0:
        return Estimate(None, Interval.none("Wilson", "nothing to take a share of"), 0, 0)
    low, high = wilson(successes, total, confidence=confidence)
    return Estimate(successes / total, Interval(float(low), float(high), "Wilson"), total, 0)


def wilson(successes: ArrayLike, totals: ArrayLike, *, confidence: float = 0.95) -> tuple[Floats, Floats]:
    """Wilson bounds of many shares at once (pass rates by step), shapes broadcast; NaN where a total is 0.

    By hand because `scipy.stats.binomtest`, against which it is tested, takes one share per call.
    """
    z = float(special.ndtri((1 + confidence) / 2))
    k, n = np.broadcast_arrays(np.asarray(successes, dtype=np.float64), np.asarray(totals, dtype=np.float64))
    with np.errstate(invalid="ignore", divide="ignore"):
        center = (k + z * z / 2) / (n + z * z)
        half = z / (n + z * z) * np.sqrt(k * (n - k) / n + z * z / 4)
    # At 0 and at n the bound is exactly 0 or 1; rounding must not move it past the share itself.
    low = np.where(k == 0, 0.0, np.maximum(center - half, 0.0))
    high = np.where(k == n, 1.0, np.minimum(center + half, 1.0))
    return np.where(n > 0, low, np.nan), np.where(n > 0, high, np.nan)


def no_spread(low: ArrayLike, high: ArrayLike) -> NDArray[np.bool_]:
    """Whether smallest and largest value are equal but for the rounding of a mean (3·0.1/3 is not 0.1)."""
    smallest, largest = np.asarray(low), np.asarray(high)
    return np.asarray(largest - smallest <= 1e-12 * np.maximum(np.abs(smallest), np.abs(largest)))


def factorize(labels: Labels) -> tuple[NDArray[np.generic], Codes]:
    """Distinct labels in order, and for each row the index of its label: shapes (distinct,) and (n,)."""
    array = np.asarray(labels)
    if array.size and np.issubdtype(array.dtype, np.integer):
        low = array.min()
        shifted = (array - low).astype(np.intp)
        # A table over the labels' range is several times faster than sorting, as long as the range is not sparse.
        if int(array.max()) - int(low) <= 4 * array.size + 1_000:
            present = np.bincount(shifted) > 0
            return np.flatnonzero(present).astype(array.dtype) + low, (np.cumsum(present) - 1)[shifted]
    names, codes = np.unique(array, return_inverse=True)
    return names, codes


def cluster_codes(clusters: Labels) -> Codes:
    """Integer code of each row's cluster, shape (n,); None and NaN are clusters of one row each."""
    array = np.asarray(clusters)
    if np.issubdtype(array.dtype, np.integer):
        return factorize(array)[1]
    known: dict[object, int] = {}
    keys = ((None, row) if label is None or label != label else (label, 0) for row, label in enumerate(array.tolist()))
    return np.fromiter((known.setdefault(key, len(known)) for key in keys), dtype=np.intp, count=array.size)
