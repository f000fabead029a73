"""How far graders agree beyond chance: Cohen's κ, Krippendorff's α, limits of agreement, and noise of re-grading.

Everything is a function of sums over rollouts, so that whole samples can be drawn anew (`intervals`): what one sample
brings is one row of columns, its rollouts added up. Arrays in, numbers out; knows neither SQL nor pages.
"""

from collections.abc import Callable, Mapping
from typing import Final, Literal

import numpy as np
from numpy.typing import ArrayLike

from queries.resampling import resample, units_needed
from queries.stats import Floats, Interval, no_spread

Level = Literal["nominal", "ordinal", "interval"]
Weights = Literal["linear", "quadratic"]
METHOD: Final = "percentile bootstrap"
RESAMPLES: Final = 2_000
CELLS: Final = ("both_right", "only_first", "only_second", "neither")
"""Columns of a table of two verdicts: both say right, the first or the second alone, neither."""
PAIRS: Final = ("num", "sum_first", "sum_second", "sum_first_squared", "sum_second_squared", "sum_product")
"""Columns of pairs of numbers."""
ONE_VALUE_EACH: Final = "both give one and the same verdict throughout: there is nothing to agree on beyond chance"
ONE_SIDED: Final = "in {} of {} resamples there is one verdict only: it is too one-sided for an interval"


def kappa_of(table: Floats) -> Floats:
    """Cohen's κ of tables of two verdicts, shape (…, 4) as `CELLS`: (p_o − p_e)/(1 − p_e); NaN where p_e is 1.

    Source: Cohen 1960.
    """
    both, first, second, neither = np.moveaxis(np.asarray(table, dtype=np.float64), -1, 0)
    total = both + first + second + neither
    with np.errstate(divide="ignore", invalid="ignore"):
        observed = (both + neither) / total
        expected = ((both + first) * (both + second) + (neither + first) * (neither + second)) / total**2
        return np.where(1 - expected > 1e-12, (observed - expected) / (1 - expected), np.nan)


def alpha_of(coincidences: Floats) -> Floats:
    """Krippendorff's nominal α of two verdicts, from coincidences, shape (…, 3): both right, one each, both wrong.

    A unit with m verdicts, r of them right, brings r(r−1)/(m−1), 2r(m−r)/(m−1) and (m−r)(m−r−1)/(m−1), which sum to m.
    NaN where there is one verdict only. Source: Krippendorff 2011, "Computing Krippendorff's alpha-reliability".
    """
    right, mixed, wrong = np.moveaxis(np.asarray(coincidences, dtype=np.float64), -1, 0)
    ones, zeros = right + mixed / 2, wrong + mixed / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        expected = 2 * ones * zeros / (ones + zeros - 1)
        return np.where(expected > 1e-12, 1 - mixed / expected, np.nan)


def coincidences_of(table: Floats) -> Floats:
    """Coincidences of two raters from their tables of verdicts, shapes (…, 3) and (…, 4)."""
    both, first, second, neither = np.moveaxis(np.asarray(table, dtype=np.float64), -1, 0)
    return np.stack((2 * both, 2 * (first + second), 2 * neither), axis=-1)


def interval_alpha_of(sums: Floats) -> Floats:
    """Krippendorff's interval α of two raters from sums over pairs of numbers, shape (…, 6) as `PAIRS`.

    1 − D_o/D_e with D_o the mean squared difference in a pair and D_e that between any two of all numbers.
    """
    n, a, b, aa, bb, ab = np.moveaxis(np.asarray(sums, dtype=np.float64), -1, 0)
    values = 2 * n
    with np.errstate(divide="ignore", invalid="ignore"):
        observed = (aa + bb - 2 * ab) / n
        expected = 2 * (values * (aa + bb) - (a + b) ** 2) / (values * (values - 1))
        return np.where(expected > 1e-12, 1 - observed / expected, np.nan)


def pearson_of(sums: Floats) -> Floats:
    """Correlation of the numbers of two raters from sums over pairs, shape (…, 6) as `PAIRS`; NaN without spread."""
    n, a, b, aa, bb, ab = np.moveaxis(np.asarray(sums, dtype=np.float64), -1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = (n * aa - a * a) * (n * bb - b * b)
        return np.where(spread > 1e-12 * np.maximum(1, n**4), (n * ab - a * b) / np.sqrt(np.abs(spread)), np.nan)


def limits_of_agreement(sums: Floats) -> tuple[float, float] | None:
    """Within which 95 % of the differences second − first lie if they are normal: mean ± 1.96 sd; None under 2 pairs.

    Source: Bland and Altman 1986.
    """
    n, a, b, aa, bb, ab = (float(each) for each in sums)
    if n < 2:
        return None
    mean = (b - a) / n
    half = 1.959963984540054 * np.sqrt(max(0.0, aa + bb - 2 * ab - n * mean**2) / (n - 1))
    return mean - half, mean + half


def weighted_kappa(table: ArrayLike, weights: Weights = "quadratic") -> float | None:
    """Weighted κ of a square table of counts whose categories are in order and evenly spaced; None where undefined.

    1 − Σ w·p/Σ w·e with w = |i − j| or (i − j)². Source: Cohen 1968.
    """
    counts = np.asarray(table, dtype=np.float64)
    places = np.arange(counts.shape[0])
    distance = np.abs(places[:, None] - places[None, :]).astype(np.float64)
    weight = distance if weights == "linear" else distance**2
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / max(counts.sum(), 1.0)
    disagreement = float((weight * expected).sum())
    return None if disagreement <= 1e-12 else float(1 - (weight * counts).sum() / disagreement)


def krippendorff_alpha(ratings: ArrayLike, level: Level = "nominal") -> float | None:
    """Krippendorff's α of any number of raters, values of shape (raters, units), NaN = not rated; None where undefined.

    Units with fewer than two values count for nothing. Source: Krippendorff 2011.
    """
    values = np.asarray(ratings, dtype=np.float64)
    values = values[:, np.isfinite(values).sum(axis=0) >= 2]
    known = np.isfinite(values)
    categories, codes = np.unique(values[known], return_inverse=True)
    if categories.size < 2:
        return None
    counts = np.zeros((values.shape[1], categories.size))
    np.add.at(counts, (np.nonzero(known)[1], codes), 1.0)
    shares = counts / (counts.sum(axis=1, keepdims=True) - 1)
    coincidences = counts.T @ shares - np.diag(shares.sum(axis=0))
    marginals = coincidences.sum(axis=1)
    distance = _distances(categories, marginals, level)
    observed = float((coincidences * distance).sum())
    expected = float((np.outer(marginals, marginals) * distance).sum()) / (marginals.sum() - 1)
    return float(1 - observed / expected)


def _distances(categories: Floats, marginals: Floats, level: Level) -> Floats:
    """Squared distances between categories: 1 for any two, by values, or by how many values lie between."""
    if level == "nominal":
        return 1.0 - np.eye(categories.size)
    places = categories if level == "interval" else np.cumsum(marginals) - marginals / 2
    return np.asarray((places[:, None] - places[None, :]) ** 2)


def intervals(
    columns: Floats, statistics: Mapping[str, Callable[[Floats], Floats]], *, seed: int
) -> dict[str, Interval]:
    """95 % bootstrap interval of each statistic of column sums, all from the same draws of samples.

    `columns` has shape (samples, columns). None where there are too few samples, where a statistic has no value in some
    resample, or where all resamples agree.
    """
    needed = units_needed()
    if columns.shape[0] < needed:
        reason = f"n too small for a bootstrap: {needed} samples needed, {columns.shape[0]} here"
        return {name: Interval.none(METHOD, reason) for name in statistics}
    drawn = resample(columns, lambda sums: sums, seed=seed, num_resamples=RESAMPLES)
    return {name: _interval(statistic(drawn)) for name, statistic in statistics.items()}


def _interval(values: Floats) -> Interval:
    undefined = int((~np.isfinite(values)).sum())
    if undefined:
        return Interval.none(METHOD, ONE_SIDED.format(undefined, values.size))
    if no_spread(values.min(), values.max()):
        return Interval.none(METHOD, "all resamples agree: the values say nothing about the next one")
    low, high = np.quantile(values, (0.025, 0.975))
    return Interval(float(low), float(high), METHOD)
