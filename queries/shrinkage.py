"""A sample's chance of success, shrunk towards what all samples tell: a beta prior fitted to counts, and its posterior.

Few attempts mislabel: three at a sample with a chance of .3 all fail in one of three cases. Here no sample is taken to
be hopeless or solved because of few attempts; how far it is pulled, the other samples say. The prior is taken as known
in a sample's own interval, which is therefore somewhat narrow; `signal_interval` fits it anew in every resample.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log
from typing import Final

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from queries.stats import Floats, Interval, no_spread

MIN_SAMPLES: Final = 10
"""Fewer samples with two attempts say too little of how samples differ."""
MAX_ATTEMPTS: Final = 1_000
"""Further attempts are not promised to anyone."""
_MEANS: Final = (log(0.005 / 0.995), log(0.995 / 0.005))
_SIZES: Final = (log(0.05), log(1_000))
_POINTS: Final = 41
_ZOOMS: Final = 8
_METHOD: Final = "bootstrap, prior fitted anew"


@dataclass(frozen=True, slots=True)
class Prior:
    """The beta distribution that samples' chances of success are taken to come from; `note`: why it is not fitted.

    `is_assumed`: nothing but an assumption, so that a mean over samples would say what was assumed (half of all groups
    of samples that never passed once hold a pass, by a uniform prior).
    """

    alpha: float
    beta: float
    num_samples: int
    note: str | None = None
    is_assumed: bool = False

    def posterior(self, num_attempts: ArrayLike, num_passed: ArrayLike) -> tuple[Floats, Floats]:
        """Parameters of the beta posterior of each sample, one shape; NaN where nothing was attempted."""
        n, c = np.asarray(num_attempts, dtype=np.float64), np.asarray(num_passed, dtype=np.float64)
        a, b = self.alpha + c, self.beta + n - c
        return np.where(n > 0, a, np.nan), np.where(n > 0, b, np.nan)


def fit_prior(num_attempts: ArrayLike, num_passed: ArrayLike) -> Prior:
    """Fit the beta prior to counts by maximum likelihood of the beta-binomial; both of shape (samples,).

    Searched on a grid of mean (.005 to .995) and concentration α + β (.05 to 1 000), then refined. Beta(1, 1) where
    fewer than ten samples have two attempts. Where nothing passed, or everything, no maximum exists: the mean is then
    half a pass (or failure) in all attempts, the concentration 1, so that many failures are not taken for hope.
    Source: Carlin and Louis 2000, Bayes and Empirical Bayes Methods, section 3.3. By hand because importing
    `scipy.optimize` and `scipy.stats`, against which it is tested, takes longer than most questions do.
    """
    n, c = np.asarray(num_attempts, dtype=np.float64), np.asarray(num_passed, dtype=np.float64)
    several = int((n >= 2).sum())
    if several < MIN_SAMPLES:
        note = f"not fitted: {MIN_SAMPLES} samples with two attempts needed, {several} here"
        return Prior(1.0, 1.0, several, note, is_assumed=True)
    if c.sum() in (0, n.sum()):
        mean = float((c.sum() + 0.5) / (n.sum() + 1))
        return Prior(mean, 1 - mean, several, f"not fitted: {'everything' if c.sum() else 'nothing'} passed")
    patterns, counts = np.unique(np.column_stack((n, c)), axis=0, return_counts=True)
    means, sizes = np.linspace(*_MEANS, num=_POINTS), np.linspace(*_SIZES, num=_POINTS)
    for _ in range(_ZOOMS):
        alpha, beta = _grid(means, sizes)
        best = int(np.argmax(_likelihoods(alpha, beta, patterns) @ counts))
        chosen = means[best // sizes.size], sizes[best % sizes.size]
        means = _around(chosen[0], means, _MEANS)
        sizes = _around(chosen[1], sizes, _SIZES)
    return Prior(float(alpha[best]), float(beta[best]), several)


def chance_of_both(alpha: ArrayLike, beta: ArrayLike, size: int) -> Floats:
    """Chance that `size` attempts hold a pass and a failure: 1 − E[p^G] − E[(1−p)^G], p of Beta(alpha, beta).

    Any shape; NaN stays NaN. E[p^G] = B(α+G, β)/B(α, β): no p is plugged in, so its uncertainty counts.
    Source: the signal of a group in group-relative policy optimisation, 1 − p^G − (1−p)^G, averaged over p.

    Raises:
        ValueError: A group has fewer than one attempt.
    """
    return np.clip(1.0 - chance_of_all(alpha, beta, size) - chance_of_all(beta, alpha, size), 0.0, 1.0)


def chance_of_all(alpha: ArrayLike, beta: ArrayLike, size: int) -> Floats:
    """Chance that `size` attempts all pass, E[p^size] for p of Beta(alpha, beta); swap the two for all failing.

    Raises:
        ValueError: A group has fewer than one attempt.
    """
    if size < 1:
        raise ValueError(f"a group has at least one attempt, not {size}")
    a, b = np.asarray(alpha, dtype=np.float64), np.asarray(beta, dtype=np.float64)
    return np.asarray(np.exp(special.betaln(a + size, b) - special.betaln(a, b)))


def credible_interval(alpha: ArrayLike, beta: ArrayLike, *, confidence: float = 0.95) -> tuple[Floats, Floats]:
    """Equal-tailed bounds of Beta(alpha, beta), any shape; NaN stays NaN."""
    tail = (1 - confidence) / 2
    a, b = np.asarray(alpha, dtype=np.float64), np.asarray(beta, dtype=np.float64)
    low, high = (np.asarray(special.betaincinv(a, b, each), dtype=np.float64) for each in (tail, 1 - tail))
    return low, high


def attempts_until(alpha: ArrayLike, beta: ArrayLike, *, chance: float = 0.5) -> Floats:
    """Fewest further attempts of which one passes with at least this chance, p of Beta(alpha, beta); shape (samples,).

    Infinite where more than a thousand are needed; NaN stays NaN. Swap the two for one that fails.
    """
    a, b = np.asarray(alpha, dtype=np.float64), np.asarray(beta, dtype=np.float64)
    tried = np.arange(1, MAX_ATTEMPTS + 1, dtype=np.float64)
    # Many samples share few counts: each pair is looked up once.
    pairs, rows = np.unique(np.column_stack((a, b)), axis=0, return_inverse=True)
    found = np.full(len(pairs), np.nan)
    for place, (alpha_of, beta_of) in enumerate(pairs):
        none = special.betaln(alpha_of, beta_of + tried) - special.betaln(alpha_of, beta_of)
        enough = np.flatnonzero(np.exp(none) <= 1 - chance + 1e-12)
        if not np.isnan(alpha_of):
            found[place] = tried[enough[0]] if enough.size else np.inf
    return found[rows.reshape(-1)]


def signal_interval(
    num_attempts: ArrayLike,
    num_passed: ArrayLike,
    prior: Prior,
    sizes: Sequence[int],
    *,
    seed: int,
    num_resamples: int = 2_000,
    confidence: float = 0.95,
) -> list[Interval]:
    """Percentile bootstrap over samples of the mean `chance_of_both`, one interval a group size; counts (samples,).

    Samples with equal counts are one pattern, so that a resample is a multinomial draw of patterns, and the prior is
    fitted to each on the grid of `fit_prior`. None for a prior that was not fitted, which would pass for knowledge.
    """
    n, c = np.asarray(num_attempts, dtype=np.float64), np.asarray(num_passed, dtype=np.float64)
    patterns, counts = np.unique(np.column_stack((n, c))[n > 0], axis=0, return_counts=True)
    total = int(counts.sum())
    if prior.note is not None:
        return [Interval.none(_METHOD, f"prior {prior.note}")] * len(sizes)
    alpha, beta = _grid(np.linspace(*_MEANS, num=_POINTS), np.linspace(*_SIZES, num=_POINTS))
    weights = np.random.default_rng(seed).multinomial(total, counts / total, num_resamples).astype(np.float64)
    best = np.argmax(weights @ _likelihoods(alpha, beta, patterns).T, axis=1)
    found = []
    for size in sizes:
        a, b = alpha[:, None] + patterns[:, 1], beta[:, None] + patterns[:, 0] - patterns[:, 1]
        drawn = np.einsum("bp,bp->b", weights, chance_of_both(a, b, size)[best]) / total
        found.append(_percentiles(drawn, confidence))
    return found


def _percentiles(drawn: Floats, confidence: float) -> Interval:
    if no_spread(drawn.min(), drawn.max()):
        return Interval.none(_METHOD, "all resamples agree: the values say nothing about the next one")
    low, high = np.quantile(drawn, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Interval(float(low), float(high), _METHOD)


def _grid(means: Floats, sizes: Floats) -> tuple[Floats, Floats]:
    """α and β of every pair of a mean (given as logit) and a concentration (as logarithm), each of shape (pairs,)."""
    mean, size = (each.ravel() for each in np.meshgrid(special.expit(means), np.exp(sizes), indexing="ij"))
    return mean * size, (1 - mean) * size


def _likelihoods(alpha: Floats, beta: Floats, patterns: Floats) -> Floats:
    """Log-likelihood of every pattern (n, c) under every prior but for a constant: shape (priors, patterns)."""
    n, c = patterns[:, 0], patterns[:, 1]
    posterior = special.betaln(alpha[:, None] + c, beta[:, None] + n - c)
    return np.asarray(posterior - special.betaln(alpha, beta)[:, None])


def _around(chosen: float, tried: Floats, limits: tuple[float, float]) -> Floats:
    """A finer grid around the best point of the last, within the limits."""
    step = tried[1] - tried[0]
    return np.linspace(max(chosen - step, limits[0]), min(chosen + step, limits[1]), 9)
