"""What k attempts at a sample would give: pass@k, pass^k and best-of-k, unbiased, from n attempts each.

Never the maximum over all n attempts as "best of k", and never a number for k above n. `stats.sample_mean` of a result
is the mean over the samples that have one, and counts the others as missing.
"""

import numpy as np
from numpy.typing import ArrayLike

from queries.stats import Codes, Floats, Labels, cluster_codes, scored


def pass_at_k(num_attempts: ArrayLike, num_passed: ArrayLike, k: int) -> Floats:
    """Probability that at least one of k attempts passes, per sample: 1 − C(n−c,k)/C(n,k).

    `num_attempts` (n, those with a known verdict) and `num_passed` (c) broadcast to one shape, which the result has;
    NaN where n < k. Source: Chen et al. 2021 (arXiv 2107.03374), equation 1.

    Raises:
        ValueError: k < 1, or not 0 ≤ passed ≤ attempts.
    """
    n, c = _counts(num_attempts, num_passed, k)
    return 1.0 - _chance_of_all(n, n - c, k)


def pass_hat_k(num_attempts: ArrayLike, num_passed: ArrayLike, k: int) -> Floats:
    """Probability that all of k attempts pass (pass^k), per sample: C(c,k)/C(n,k). Shapes and NaN as `pass_at_k`.

    Source: Yao et al. 2024, τ-bench (arXiv 2406.12045), section 3.
    """
    n, c = _counts(num_attempts, num_passed, k)
    return _chance_of_all(n, c, k)


def best_of_k(values: ArrayLike, k: int) -> float | None:
    """Expected best score of k attempts drawn from this sample's n scored ones: Σ_{i=k..n} C(i−1,k−1)/C(n,k)·x₍ᵢ₎.

    `values` has shape (attempts,); values not scored are left out of n; None where n < k.
    Source: Chen et al. 2021's estimator carried over to ordered scores.
    """
    kept, _ = scored(values)
    if k < 1:
        raise ValueError(f"k is at least 1, not {k}")
    return float(best_of_k_weights(kept.size, k) @ np.sort(kept)) if kept.size >= k else None


def best_of_k_by_sample(values: ArrayLike, samples: Labels, k: int) -> Floats:
    """`best_of_k` of every sample at once: values and samples of shape (rollouts,), result (distinct samples,).

    Samples come in order of first appearance, or sorted where labels are integers; NaN where fewer than k are scored.
    """
    if k < 1:
        raise ValueError(f"k is at least 1, not {k}")
    array = np.asarray(values, dtype=np.float64)
    codes = cluster_codes(samples)
    num_samples = int(codes.max()) + 1 if codes.size else 0
    finite = np.isfinite(array)
    array, codes = array[finite], codes[finite]
    order = np.lexsort((array, codes))
    array, codes = array[order], codes[order]
    counts = np.bincount(codes, minlength=num_samples)
    weighted = array * _weights_of_rows(codes, counts, k)
    best = np.asarray(np.bincount(codes, weights=weighted, minlength=num_samples), dtype=np.float64)
    best[counts < k] = np.nan
    return best


def best_of_k_weights(n: int, k: int) -> Floats:
    """Weight of each of n ascending order statistics in the expected maximum of k of them, shape (n,); they sum to 1.

    w_n = k/n and w_i = w_{i+1}·(i−k+1)/i, which is C(i−1,k−1)/C(n,k) without large numbers.
    """
    ranks = np.arange(n - 1, 0, -1, dtype=np.float64)
    factors = np.concatenate(([k / n], np.maximum(ranks - k + 1, 0.0) / ranks))
    return np.asarray(np.cumprod(factors)[::-1], dtype=np.float64)


def _counts(num_attempts: ArrayLike, num_passed: ArrayLike, k: int) -> tuple[Floats, Floats]:
    n, c = np.broadcast_arrays(np.asarray(num_attempts, dtype=np.float64), np.asarray(num_passed, dtype=np.float64))
    if k < 1:
        raise ValueError(f"k is at least 1, not {k}")
    if np.any((c < 0) | (c > n)):
        raise ValueError("more passed than were attempted")
    return n, c


def _chance_of_all(n: Floats, c: Floats, k: int) -> Floats:
    """C(c,k)/C(n,k) as a product of k ratios, each at most 1, so that nothing overflows; NaN where n < k."""
    enough = n >= k
    chance = np.ones(n.shape)
    for drawn in range(k):
        chance = chance * np.maximum(c - drawn, 0.0) / np.where(enough, n - drawn, 1.0)
    return np.where(enough, chance, np.nan)


def _weights_of_rows(codes: Codes, counts: Codes, k: int) -> Floats:
    """Best-of-k weight of each row, rows sorted by sample and value; 0 in samples with fewer than k."""
    weights = np.zeros(codes.size)
    starts = np.cumsum(counts) - counts
    for n in np.unique(counts[counts >= k]):
        rows = starts[counts == n][:, None] + np.arange(n)
        weights[rows] = best_of_k_weights(int(n), k)
    return weights
