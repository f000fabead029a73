"""Two arms on the same samples: paired difference, ratio of means, McNemar, and several measures at once.

Arrays of both arms are aligned: position i is the same sample in both, NaN where an arm has nothing scored there.
Differences are candidate minus baseline. Beside the paired figure stands the unpaired one, and who is in neither.
"""

from dataclasses import dataclass, replace
from math import sqrt
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from queries.cautious import studentised, with_added_samples
from queries.resampling import PValue, bootstrap, bootstrap_mean, bootstrap_name, sign_flip
from queries.stats import (
    NOTHING,
    TOO_LARGE,
    Estimate,
    Floats,
    Interval,
    Labels,
    cluster_codes,
    clustered_or_plain,
    no_spread,
    sample_mean,
    scored,
    t_estimate,
)

Method = Literal["t", "percentile", "bca", "cautious"]
PASS_OR_FAIL = "Bonett–Price"
"""Name of the interval for single attempts that pass or fail."""


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """Candidate minus baseline over the samples both have, and what stands beside it.

    `correlation` of the arms over paired samples: pairing pays exactly when it is above 0.
    """

    difference: Estimate
    baseline_mean: float | None
    candidate_mean: float | None
    p_value: PValue
    correlation: float | None
    unpaired: Estimate
    num_paired: int
    num_only_baseline: int
    num_only_candidate: int
    num_neither: int


def paired_difference(
    baseline: ArrayLike,
    candidate: ArrayLike,
    *,
    seed: int,
    clusters: Labels | None = None,
    method: Method = "t",
    confidence: float = 0.95,
    p_value: PValue | None = None,
    pass_or_fail: bool = False,
    within_one: bool = False,
) -> PairedDifference:
    """Mean over samples of candidate minus baseline; both arms hold per-sample means, aligned, shape (n,).

    Interval by `method`: t on the differences (clustered where `clusters`, shape (n,), is given), or bootstrap over
    samples or clusters. Of a measure that may be `pass_or_fail`, where every value is 0 or 1 and samples stand for
    themselves, t gives way to `paired_proportions`, and the p-value is McNemar's. Else the p-value is the sign flip's,
    unless one is given. `cautious` is for few samples, skew and rare changes: `with_added_samples` of a measure
    `within_one` (both arms lie within 0 and 1), `studentised` of any other. `difference.num_missing` counts samples not
    in both arms.
    Source: Miller 2024 (arXiv 2411.00640), section 4; small n after Bowyer et al. 2025 (arXiv 2503.01747).

    Raises:
        ValueError: The arms are not aligned.
    """
    base, cand = _aligned(baseline, candidate)
    has_base, has_cand = np.isfinite(base), np.isfinite(cand)
    both = has_base & has_cand
    with np.errstate(over="ignore", invalid="ignore"):
        deltas = np.where(both, cand - base, np.nan)
    estimate = clustered_or_plain(deltas, clusters, confidence=confidence)
    if pass_or_fail and clusters is None and is_pass_or_fail(base[both], cand[both]):
        gained, lost = int((deltas > 0).sum()), int((deltas < 0).sum())
        p_value = PValue(mcnemar(gained, lost), "exact McNemar", int(both.sum()))
        if method in ("t", "cautious"):
            interval = paired_proportions(gained, lost, int(both.sum()), confidence=confidence)
            estimate = replace(estimate, interval=interval)
    elif method == "cautious":
        added = with_added_samples(deltas, clusters, confidence=confidence) if within_one else None
        estimate = added or studentised(deltas, seed=seed, clusters=clusters, confidence=confidence)
    if method in ("percentile", "bca"):
        interval = bootstrap_mean(deltas, seed=seed, clusters=clusters, method=method, confidence=confidence)
        estimate = replace(estimate, interval=interval)
    return PairedDifference(
        difference=estimate,
        baseline_mean=sample_mean(base[both]).value,
        candidate_mean=sample_mean(cand[both]).value,
        p_value=p_value or sign_flip(deltas, seed=seed, clusters=clusters),
        correlation=correlation(base, cand),
        unpaired=unpaired_difference(base, cand, confidence=confidence),
        num_paired=int(both.sum()),
        num_only_baseline=int((has_base & ~has_cand).sum()),
        num_only_candidate=int((has_cand & ~has_base).sum()),
        num_neither=int((~has_base & ~has_cand).sum()),
    )


def unpaired_difference(baseline: ArrayLike, candidate: ArrayLike, *, confidence: float = 0.95) -> Estimate:
    """Mean of all candidate samples minus mean of all baseline samples, with Welch's t interval.

    The arms may differ in length. No interval where an arm has fewer than two samples, or where neither arm varies.
    Source: Welch 1947, as `scipy.stats.ttest_ind(equal_var=False)`.
    """
    (base, missing_base), (cand, missing_cand) = scored(baseline), scored(candidate)
    num, missing = base.size + cand.size, missing_base + missing_cand
    if not base.size or not cand.size:
        return Estimate(None, Interval.none("Welch t", NOTHING + " in one arm"), num, missing)
    with np.errstate(over="ignore", invalid="ignore"):
        value = float(cand.mean() - base.mean())
        small, flat = min(base.size, cand.size) < 2, _is_flat(base) and _is_flat(cand)
        if small or flat:
            reason = "one sample in an arm has no spread" if small else "no sample of either arm differs from its mean"
            return Estimate(value, Interval.none("Welch t", reason), num, missing)
        error, degrees = _welch(base, cand)
        return t_estimate(value, error, degrees, num, missing, "Welch t", confidence)


def welch_p_value(baseline: ArrayLike, candidate: ArrayLike) -> float:
    """Two-sided p-value of the difference `unpaired_difference` estimates; NaN where that has no interval."""
    found = unpaired_difference(baseline, candidate)
    if found.value is None or found.interval.low is None:
        return float("nan")
    error, degrees = _welch(scored(baseline)[0], scored(candidate)[0])
    return float(2 * special.stdtr(degrees, -abs(found.value) / error))


def _welch(baseline: Floats, candidate: Floats) -> tuple[float, float]:
    """Standard error of the difference of two means, and its degrees of freedom."""
    parts = np.array([each.var(ddof=1) / each.size for each in (baseline, candidate)])
    degrees = parts.sum() ** 2 / (parts**2 / np.array([baseline.size - 1, candidate.size - 1])).sum()
    return sqrt(parts.sum()), float(degrees)


def correlation(baseline: ArrayLike, candidate: ArrayLike) -> float | None:
    """Pearson correlation of the arms over the samples both have; None under three of them or where an arm is flat."""
    base, cand = _aligned(baseline, candidate)
    both = np.isfinite(base) & np.isfinite(cand)
    base, cand = base[both], cand[both]
    if base.size < 3 or _is_flat(base) or _is_flat(cand):
        return None
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        r = float(np.corrcoef(base, cand)[0, 1])
    return r if np.isfinite(r) else None


def is_pass_or_fail(baseline: Floats, candidate: Floats) -> bool:
    """Whether all values are 0 or 1, as single attempts that pass or fail are; not for nothing at all."""
    return bool(baseline.size and np.isin(baseline, (0.0, 1.0)).all() and np.isin(candidate, (0.0, 1.0)).all())


def paired_proportions(num_gained: int, num_lost: int, num: int, *, confidence: float = 0.95) -> Interval:
    """Interval of the difference of two pass rates on the same `num` samples, one attempt each.

    Adjusted Wald: one discordant sample is added to either side. Unlike t it stands where no sample, or every sample,
    changed, and holds at small n. Source: Bonett and Price 2012 (J. Educ. Behav. Stat. 37), equation 10.
    """
    gained, lost = (num_gained + 1) / (num + 2), (num_lost + 1) / (num + 2)
    half = float(special.ndtri((1 + confidence) / 2)) * sqrt((gained + lost - (gained - lost) ** 2) / (num + 2))
    value = (num_gained - num_lost) / num
    low, high = min(gained - lost - half, value), max(gained - lost + half, value)
    return Interval(max(low, -1.0), min(high, 1.0), PASS_OR_FAIL)


def mcnemar(num_gained: int, num_lost: int) -> float:
    """Exact McNemar p-value on samples one arm passed and the other failed: 2·P(Bin(b+c, ½) ≤ min(b, c)), at most 1.

    `num_gained` passed only by the candidate, `num_lost` only by the baseline. 1 where no sample is discordant.
    Source: McNemar 1947; exact form as recommended for small n by Bowyer et al. 2025.
    """
    return min(1.0, 2.0 * float(special.bdtr(min(num_gained, num_lost), num_gained + num_lost, 0.5)))


def ratio_of_means(
    baseline: ArrayLike,
    candidate: ArrayLike,
    *,
    seed: int,
    clusters: Labels | None = None,
    method: Literal["log", "percentile", "bca"] = "percentile",
    confidence: float = 0.95,
) -> Estimate:
    """Candidate mean divided by baseline mean over the samples both have ("calls −39 %" is a ratio of 0.61).

    Not the mean of per-sample ratios, which is another question. Arms as in `paired_difference`. `log` is the delta
    method on log(ȳ/x̄): log r ± t·SE of the mean of yᵢ/ȳ − xᵢ/x̄ (clustered where `clusters` is given).
    No ratio where the baseline mean is zero or below; no log interval where the candidate's is; no bootstrap interval
    where a resample's baseline mean is zero or below. Source: Franz 2007 (arXiv 0710.2024).
    """
    base, cand = _aligned(baseline, candidate)
    both = np.isfinite(base) & np.isfinite(cand)
    base, cand, missing = base[both], cand[both], int((~both).sum())
    codes = None if clusters is None else cluster_codes(clusters)[both]
    name = "log ratio" if method == "log" else bootstrap_name(method, clusters)
    with np.errstate(over="ignore", invalid="ignore"):
        mean = float(base.mean()) if base.size else 0.0
        value = float(cand.mean()) / mean if mean > 0 else np.nan
    if not np.isfinite(value):
        reason = NOTHING + " in both arms" if not base.size else TOO_LARGE
        reason = "the baseline mean is not above zero" if base.size and mean <= 0 else reason
        return Estimate(None, Interval.none(name, reason), base.size, missing)
    if method == "log":
        return Estimate(value, _log_interval(base, cand, codes, confidence), base.size, missing)
    columns = np.column_stack((cand, base))
    interval = bootstrap(columns, _ratio, seed=seed, clusters=codes, method=method, confidence=confidence)
    return Estimate(value, interval, base.size, missing)


def holm(p_values: ArrayLike) -> Floats:
    """Holm's adjusted p-values, shape (m,): for a handful of measures. NaN (no test) stays NaN and does not count.

    Source: Holm 1979; p₍ᵢ₎·(m−i+1), made monotone, at most 1.

    Raises:
        ValueError: A value is no p-value.
    """
    p = np.asarray(p_values, dtype=np.float64)
    if np.any((p < 0) | (p > 1)):
        raise ValueError("p-values lie between 0 and 1")
    tested = np.flatnonzero(~np.isnan(p))
    order = tested[np.argsort(p[tested], kind="stable")]
    adjusted = np.full(p.shape, np.nan)
    adjusted[order] = np.minimum(np.maximum.accumulate(p[order] * np.arange(order.size, 0, -1)), 1.0)
    return adjusted


def benjamini_hochberg(p_values: ArrayLike) -> Floats:
    """Benjamini–Hochberg adjusted p-values, shape (m,): for flags on many samples. NaN stays NaN and does not count.

    Source: Benjamini and Hochberg 1995. By hand because importing `scipy.stats`, against which it is tested, takes
    longer than most questions do.

    Raises:
        ValueError: A value is no p-value.
    """
    p = np.asarray(p_values, dtype=np.float64)
    tested = np.flatnonzero(~np.isnan(p))
    if ((p[tested] < 0) | (p[tested] > 1)).any():
        raise ValueError("a p-value lies between 0 and 1")
    largest_first = tested[np.argsort(-p[tested], kind="stable")]
    scaled = p[largest_first] * tested.size / np.arange(tested.size, 0, -1)
    adjusted = np.full(p.shape, np.nan)
    adjusted[largest_first] = np.minimum(np.minimum.accumulate(scaled), 1.0)
    return adjusted


def _ratio(sums: Floats) -> Floats:
    return np.where(sums[..., 1] > 0, sums[..., 0] / sums[..., 1], np.nan)


def _log_interval(base: Floats, cand: Floats, codes: Labels | None, confidence: float) -> Interval:
    """Exponentiated t interval of the log of a ratio of positive means."""
    if cand.mean() <= 0:
        return Interval.none("log ratio", "the candidate mean is not above zero")
    residuals = cand / cand.mean() - base / base.mean()
    if np.abs(residuals).max() <= 1e-12:
        return Interval.none("log ratio", "every sample has the same ratio: nothing says how the next one differs")
    spread = clustered_or_plain(residuals, codes, confidence=confidence)
    if spread.standard_error is None:
        return Interval.none("log ratio", str(spread.interval.reason))
    units = residuals.size if codes is None else np.unique(np.asarray(codes)).size
    half = float(special.stdtrit(units - 1, (1 + confidence) / 2)) * spread.standard_error
    middle = float(np.log(cand.mean() / base.mean()))
    low, high = np.exp(middle - half), np.exp(min(middle + half, 700.0))
    return Interval(float(low), float(high), "log ratio")


def _is_flat(values: Floats) -> bool:
    return bool(no_spread(values.min(), values.max()))


def _aligned(baseline: ArrayLike, candidate: ArrayLike) -> tuple[Floats, Floats]:
    base, cand = np.asarray(baseline, dtype=np.float64), np.asarray(candidate, dtype=np.float64)
    if base.shape != cand.shape or base.ndim != 1:
        raise ValueError("the arms are not aligned: one value each per sample is needed")
    return base, cand
