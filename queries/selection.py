"""Choosing the best of several steps on the samples that judge it: what the choice flatters, and who else may be best.

Arrays in, small frozen dataclasses out. Rewards have shape (samples, steps): a sample's mean reward at a step, NaN
where it was not scored. Everything here speaks of these checkpoints on samples like these, never of the training
method: another training run would differ by more.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from queries.resampling import MIN_CLUSTERS, cluster_sums, resample
from queries.stats import (
    ONE_VALUE,
    TOO_LARGE,
    Estimate,
    Floats,
    Interval,
    Labels,
    cluster_codes,
    clustered_mean,
    no_spread,
    sample_mean,
)

NUM_RESAMPLES = 2_000
NUM_SPLITS = 400
MAX_DRAWN = 4_000_000
"""Random numbers for the splits into halves: of many samples fewer splits say as much."""
MAX_RESAMPLED = 2_000
"""Up to so many samples are drawn one by one; means of more are as good as normal, and drawn from that limit."""
MIN_SAMPLES = 6
"""Fewer cover less than 95 % even by their whole range (as in `resampling.bootstrap`)."""
FEW = 0.5
"""Below this share of the samples of the fullest step a step is no candidate; below this share of all samples those
that the candidates have in common are too few to stand for them."""
ONE_STEP = "one step: nothing was chosen"


@dataclass(frozen=True, slots=True)
class Comparable:
    """What a fair choice can be made of: which steps are candidates, and which samples they are compared on.

    `is_common`: only samples scored at every candidate; else each step has its own, and part of a difference may be
    theirs.
    """

    samples: NDArray[np.bool_]
    steps: NDArray[np.bool_]
    is_common: bool


@dataclass(frozen=True, slots=True)
class Choice:
    """The best of several steps, by index, and what its own number is worth.

    `optimism`: by how much the mean of the chosen step flatters it; `optimism_if_equal`: by how much it would if all
    steps were equally good, which is the most it can be. `expected`: its mean less the optimism, with an interval.
    `chances`, shape (steps,): share of resamples in which each step is chosen, NaN where none were drawn.
    """

    best: int
    means: Floats
    num: int
    optimism: float | None
    optimism_if_equal: float | None
    expected: Estimate
    chances: Floats


def comparable(rewards: Floats) -> Comparable:
    """Which steps and samples a choice is made of, from rewards of shape (samples, steps).

    Steps with few samples (a validation under way) are no candidates: one lucky sample would win. Of the others the
    samples scored at every step are compared, so that easy samples missing elsewhere decide nothing; where these are
    few (train batches share none), each step keeps its own.
    """
    known = np.isfinite(rewards)
    counts = known.sum(axis=0)
    steps = counts >= max(FEW * counts.max(initial=0), 1)
    num_known = known[:, steps].sum(axis=1)
    anywhere, everywhere = num_known > 0, num_known == max(steps.sum(), 1)
    is_common = bool(everywhere.sum() >= FEW * anywhere.sum())
    return Comparable(everywhere if is_common else anywhere, steps, is_common)


def choose(
    rewards: Floats,
    *,
    seed: int,
    clusters: Labels | None = None,
    num_resamples: int = NUM_RESAMPLES,
    confidence: float = 0.95,
) -> Choice:
    """The step with the highest mean, of equal ones the first, and its optimism: the choice is made in every resample.

    Samples (or whole clusters, labels of shape (samples,)) are drawn with replacement, with all steps; the best step of
    the resample is compared with its own mean in the original data, and the mean of these differences is the optimism.
    Where steps are equally good the resamples, whose means spread wider than the true ones, find about 0.7 of the
    optimism; `optimism_if_equal` takes the largest deviation of any step instead and is never too small. The interval
    is basic, its upper end from the differences, its lower end, to hold whatever the steps are, from the largest
    deviations; both expanded to the width of t for small n.
    Source: Efron and Tibshirani 1993, chapters 13 and 17; Simon and Simon 2013 (arXiv 1311.3709) on means chosen for
    being largest; Hesterberg 2015 (arXiv 1411.5279) for the expansion.

    Raises:
        ValueError: A step has no scored sample, or there is none.
    """
    known = np.isfinite(rewards)
    if not known.size or not known.any(axis=0).all():
        raise ValueError("every step needs a scored sample")
    totals, num_steps = _totals(rewards, clusters), rewards.shape[1]
    means = _means(totals.sum(axis=0), num_steps)
    best, units, num = int(_highest(means)), totals.shape[0], int(known.any(axis=1).sum())
    reason = ONE_STEP if num_steps == 1 else ONE_VALUE if units < 2 else None
    if reason is None and not np.isfinite(means).all():
        reason = TOO_LARGE
    if reason is not None:
        nothing = Estimate(None, Interval.none("basic bootstrap", reason), num, 0)
        return Choice(best, means, num, None, None, nothing, np.full(num_steps, np.nan))
    drawn, method = _drawn(totals, means, seed, num_resamples)
    chosen, deviations = _highest(drawn), drawn - means
    differences, largest = deviations[np.arange(num_resamples), chosen], np.nanmax(deviations, axis=1)
    name = method if clusters is None else method.replace("bootstrap", "cluster bootstrap")
    if reason := _no_interval(means[best] + differences, units, is_clustered=clusters is not None):
        interval = Interval.none(name, reason)
    else:
        interval = _interval(float(means[best]), differences, largest, units, name, confidence)
    return Choice(
        best=best,
        means=means,
        num=num,
        optimism=float(differences.mean()),
        optimism_if_equal=float(largest.mean()),
        expected=Estimate(float(means[best] - differences.mean()), interval, num, 0),
        chances=np.bincount(chosen, minlength=num_steps) / num_resamples,
    )


def held_out(
    rewards: Floats, *, seed: int, clusters: Labels | None = None, num_splits: int = NUM_SPLITS
) -> float | None:
    """What a step chosen on one half of the samples has on the other, mean over seeded splits into halves.

    No luck of the choice is in it, and no model of that luck; but it speaks of a step chosen on half as many samples,
    which is worse, if anything. Rewards and clusters as in `choose`; None for one step, or below `MIN_SAMPLES` samples
    (clusters).
    """
    totals, num_steps = _totals(rewards, clusters), rewards.shape[1]
    units = totals.shape[0]
    if num_steps == 1 or units < MIN_SAMPLES or not np.isfinite(totals).all():
        return None
    generator = np.random.default_rng(seed)
    splits = min(num_splits, max(2, MAX_DRAWN // units))
    is_chooser = np.argsort(generator.random((splits, units)), axis=1) < units // 2
    of_choosers = is_chooser.astype(np.float64) @ totals
    best = _highest(_means(of_choosers, num_steps))
    found = _means(totals.sum(axis=0) - of_choosers, num_steps)[np.arange(splits), best]
    return float(found[np.isfinite(found)].mean()) if np.isfinite(found).any() else None


def against(
    rewards: Floats, best: int, *, clusters: Labels | None = None, confidence: float = 0.95
) -> tuple[Estimate, ...]:
    """Every step's mean difference from the best one, over the samples scored at both; intervals hold together.

    Bonferroni over the other steps, t on the paired differences (clustered where labels of shape (samples,) are given).
    A step whose interval holds 0 cannot be told from the best. Although the best was chosen on these numbers, the step
    that is truly best is among those with at least the confidence asked.
    Source: Gupta 1965; Hsu 1984, on comparisons with the best.
    """
    others = max(rewards.shape[1] - 1, 1)
    together = 1 - (1 - confidence) / others
    with np.errstate(over="ignore", invalid="ignore"):
        differences = (rewards - rewards[:, [best]]).T
    if clusters is None:
        return tuple(sample_mean(each, confidence=together) for each in differences)
    codes = cluster_codes(clusters)
    return tuple(
        clustered_mean(each, codes, confidence=together) if np.isfinite(each).any() else sample_mean(each)
        for each in differences
    )


def is_told_apart(estimate: Estimate) -> bool:
    """Whether the interval of a difference excludes 0; not where there is none."""
    interval = estimate.interval
    return interval.low is not None and interval.high is not None and not interval.low <= 0 <= interval.high


def _totals(rewards: Floats, clusters: Labels | None) -> Floats:
    """Sum and count of every step, a row a sample or cluster: shape (units, 2 · steps)."""
    known = np.isfinite(rewards)
    columns = np.hstack((np.where(known, rewards, 0.0), known.astype(np.float64)))
    return columns if clusters is None else cluster_sums(columns, cluster_codes(clusters))


def _means(sums: Floats, num_steps: int) -> Floats:
    """Means of every step from its sums and counts, shape (…, 2 · steps); NaN where a step has no sample."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.asarray(sums[..., :num_steps] / sums[..., num_steps:])


def _highest(means: Floats) -> NDArray[np.intp]:
    """Index of the highest mean along the last axis; of equal ones (but for rounding) the first."""
    return np.asarray(np.where(np.isnan(means), -np.inf, np.round(means, 12)).argmax(axis=-1))


def _drawn(totals: Floats, means: Floats, seed: int, num_resamples: int) -> tuple[Floats, str]:
    """Means of every step in resamples, shape (resamples, steps), and how they were had."""
    num_steps = means.size
    if totals.shape[0] <= MAX_RESAMPLED:
        drawn = resample(totals, lambda sums: _means(sums, num_steps), seed=seed, num_resamples=num_resamples)
        return drawn, "basic bootstrap"
    sums, counts = totals[:, :num_steps], totals[:, num_steps:]
    influence = (sums - means * counts) / counts.sum(axis=0)
    covariance = influence.T @ influence * totals.shape[0] / (totals.shape[0] - 1)
    generator = np.random.default_rng(seed)
    drawn = generator.multivariate_normal(means, covariance, size=num_resamples, method="eigh", check_valid="ignore")
    return np.asarray(drawn), "basic bootstrap, normal limit"


def _no_interval(resampled: Floats, units: int, *, is_clustered: bool) -> str | None:
    """Why there is no interval, where there is none."""
    if is_clustered and units < MIN_CLUSTERS:
        return f"{MIN_CLUSTERS} clusters needed for a bootstrap, {units} here"
    if units < MIN_SAMPLES:
        return f"n too small for a bootstrap: {MIN_SAMPLES} needed"
    if no_spread(resampled.min(), resampled.max()):
        return "all resamples agree: the values say nothing about the next one"
    return None


def _interval(mean: float, differences: Floats, largest: Floats, units: int, name: str, confidence: float) -> Interval:
    """Mean less the far ends of what it may be off by, these at the levels that a t interval of so few units has."""
    wider = np.sqrt(units / (units - 1)) * special.stdtrit(units - 1, (1 + confidence) / 2)
    low = mean - float(np.quantile(largest, special.ndtr(wider)))
    return Interval(low, mean - float(np.quantile(differences, special.ndtr(-wider))), name)
