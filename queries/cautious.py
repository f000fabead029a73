"""Intervals of a mean that hold where t falls short: few samples, skewed differences, samples that hardly ever differ.

Both are wider than t where little is known, and agree with it where much is; `coverage` says by how much and where even
they fall short.
"""

from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from queries.resampling import MIN_CLUSTERS, bootstrap_name, cluster_sums, resample, units_needed
from queries.stats import Estimate, Floats, Interval, Labels, cluster_codes, clustered_or_plain

ADDED: Final = "t with two samples added"
"""Name of the interval of `with_added_samples`."""
MAX_RESAMPLED = 2_000
"""With more samples (clusters) t holds by itself (`COVERAGE.md`), and resampling them would take seconds a measure."""


def with_added_samples(values: ArrayLike, clusters: Labels | None = None, *, confidence: float = 0.95) -> Estimate:
    """Mean over samples of differences within −1 and 1, with t as if one sample more had gained all and one lost all.

    `values`, and `clusters` where samples are alike, have shape (n,); a sample added is a cluster by itself. Mean and
    standard error are those of the values alone. Stands where no sample differs, too, since samples that would are
    merely rare. Source: Bonett and Price 2012 add the same two to single attempts; so do Agresti and Caffo 2000 (Am.
    Stat. 54) to unpaired ones.

    Raises:
        ValueError: A value lies beyond −1 or 1.
    """
    array = np.asarray(values, dtype=np.float64)
    kept = np.isfinite(array)
    array = array[kept]
    codes = None if clusters is None else cluster_codes(clusters)[kept]
    if array.size and np.abs(array).max() > 1 + 1e-9:
        raise ValueError("differences of what lies within 0 and 1 lie within −1 and 1")
    found = replace(clustered_or_plain(array, codes, confidence=confidence), num_missing=int((~kept).sum()))
    method = ADDED if clusters is None else f"clustered {ADDED}"
    if found.value is None or np.unique(np.arange(array.size) if codes is None else codes).size < 2:
        return replace(found, interval=Interval.none(method, str(found.interval.reason)))
    more = None if codes is None else np.append(codes, codes.max() + np.array([1, 2]))
    added = clustered_or_plain(np.append(array, (1.0, -1.0)), more, confidence=confidence).interval
    if added.low is None or added.high is None:
        return replace(found, interval=Interval.none(method, str(added.reason)))
    low, high = max(min(added.low, found.value), -1.0), min(max(added.high, found.value), 1.0)
    return replace(found, interval=Interval(low, high, method))


def studentised(
    values: ArrayLike,
    *,
    seed: int,
    clusters: Labels | None = None,
    num_resamples: int = 1_999,
    confidence: float = 0.95,
) -> Estimate:
    """Mean over samples, values of shape (n,), with the wider of the t interval and the studentised bootstrap's.

    The bootstrap's is x̄ − t*·SE, with t* the quantiles of (x̄* − x̄)/SE* over resamples of samples (whole clusters, where
    `clusters` is given), which are as skewed as the values: it reaches further towards a long tail. No interval where t
    has none, with fewer than 6 samples or 20 clusters, or where so few samples differ that too many resamples have no
    spread. Of more than `MAX_RESAMPLED` samples it is t's alone, and so named.
    Source: Efron and Tibshirani 1993, chapter 12; Hall 1988 (Ann. Stat. 16).
    """
    found = clustered_or_plain(values, clusters, confidence=confidence)
    name = bootstrap_name("studentised", clusters)
    if found.value is None or not found.standard_error or found.interval.low is None or found.interval.high is None:
        return replace(found, interval=Interval.none(name, str(found.interval.reason)))
    array = np.asarray(values, dtype=np.float64)
    kept = np.isfinite(array)
    columns = np.column_stack((array[kept] - found.value, np.ones(found.num)))
    units = columns if clusters is None else cluster_sums(columns, cluster_codes(cluster_codes(clusters)[kept]))
    if len(units) > MAX_RESAMPLED:
        return found
    needed, what = (units_needed(confidence), "samples") if clusters is None else (MIN_CLUSTERS, "clusters")
    if len(units) < needed:
        return replace(
            found, interval=Interval.none(name, f"{needed} {what} needed for a bootstrap, {len(units)} here")
        )
    ratios = resample(_products(units), student_ratios, seed=seed, num_resamples=num_resamples)
    lowest, highest = student_tails(ratios, confidence=confidence)
    low, high = (float(found.value - each * found.standard_error) for each in (highest, lowest))
    if not np.isfinite((low, high)).all():
        reason = "too few samples differ: in many resamples none does"
        return replace(found, interval=Interval.none(name, reason))
    return replace(found, interval=Interval(min(low, found.interval.low), max(high, found.interval.high), name))


def _products(units: Floats) -> Floats:
    """Columns that `student_ratios` sums, of sums of deviations and numbers of values by unit, shape (units, 2)."""
    deviation, num = units.T
    return np.column_stack((deviation, num, deviation**2, deviation * num, num**2, np.ones(len(num))))


def student_ratios(sums: Floats) -> Floats:
    """Mean deviation over its standard error, of sums over the drawn units of x, m, x², x·m, m² and 1, shape (…, 6).

    x is the sum of a unit's deviations from the mean, m its number of values (1 for a sample by itself). Infinite where
    a resample has no spread.
    """
    x, num, squares, cross, num_squares, units = np.moveaxis(sums, -1, 0)
    mean = x / num
    spread = squares - 2 * mean * cross + mean**2 * num_squares
    flat = spread <= 1e-12 * squares
    error = np.sqrt(units / (units - 1) * np.where(flat, 0.0, spread)) / num
    endless = np.where(mean == 0, 0.0, np.copysign(np.inf, mean))
    return np.where(flat, endless, mean / np.where(flat, 1.0, error))


def student_tails(ratios: Floats, *, confidence: float = 0.95) -> tuple[Floats, Floats]:
    """The outer quantiles of ratios, shape (resamples, …), as order statistics: infinite ones need no interpolation."""
    num = ratios.shape[0]
    place = max(int((1 - confidence) / 2 * (num + 1) + 1e-9), 1)
    ordered = np.sort(ratios, axis=0)
    return ordered[place - 1], ordered[num - place]
