"""How rewards vary between samples and between attempts at one, and the chance that a group of attempts differs."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from queries.attempts import pass_hat_k
from queries.stats import Codes, Floats


@dataclass(frozen=True, slots=True)
class VarianceParts:
    """Variance of a reward, taken apart; None where it cannot be had. `icc`: the share between samples, 0–1."""

    between: float | None
    within: float | None
    icc: float | None


def chance_of_difference(counts: ArrayLike, samples: Codes, num_samples: int, size: int) -> Floats:
    """Chance that `size` of a sample's attempts do not all have one reward: 1 − Σ_v C(c_v, G)/C(n, G), unbiased.

    One row per sample and reward v: `counts` (c_v, how often) and `samples` (whose, 0 to num_samples − 1), shape
    (rows,). Returns shape (num_samples,); NaN where fewer than `size` attempts are scored.
    Source: U-statistic of the indicator that a group differs; for rewards 0 and 1 it is pass@k minus pass^k.

    Raises:
        ValueError: A group has fewer than one attempt.
    """
    c = np.asarray(counts, dtype=np.float64)
    n = np.bincount(samples, weights=c, minlength=num_samples)
    alike = np.bincount(samples, weights=pass_hat_k(n[samples], c, size), minlength=num_samples)
    return np.where(n >= size, 1.0 - alike, np.nan)


def variance_parts(num_attempts: ArrayLike, means: ArrayLike, deviations: ArrayLike) -> VarianceParts:
    """Variance between and within samples from each sample's attempts, mean and standard deviation (n − 1).

    The analysis-of-variance estimator for unequal numbers: σ²_within = MSW, σ²_between = (MSB − MSW)/n₀ with
    n₀ = (N − Σn²/N)/(samples − 1), at least 0; ICC = σ²_between/(σ²_between + σ²_within). All of shape (samples,).
    Source: Donner 1986, equation 2.1.
    """
    n, mean = np.asarray(num_attempts, dtype=np.float64), np.asarray(means, dtype=np.float64)
    known = n > 0
    n, mean = n[known], mean[known]
    sd = np.nan_to_num(np.asarray(deviations, dtype=np.float64)[known])
    total, samples = n.sum(), n.size
    if total <= samples:
        return VarianceParts(None, None, None)
    within = float(((n - 1) * sd**2).sum() / (total - samples))
    if samples < 2:
        return VarianceParts(None, within, None)
    grand = float((n * mean).sum() / total)
    spread = float((n * (mean - grand) ** 2).sum() / (samples - 1))
    usual = float((total - (n**2).sum() / total) / (samples - 1))
    between = max(0.0, (spread - within) / usual)
    whole = between + within
    return VarianceParts(between, within, between / whole if whole > 0 else None)
