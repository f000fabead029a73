"""Exact tests of one sample's attempts: does this sample differ between the arms, or is it the luck of its attempts?"""

from collections.abc import Iterator
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import ArrayLike, NDArray

from queries.resampling import CELLS
from queries.stats import Floats, Labels, cluster_codes

MAX_DIVISIONS = 2_000
"""Up to this many divisions of a sample's attempts all are tried (seven against seven are 3 432: too many)."""


def p_values_by_sample(values: ArrayLike, samples: Labels, is_candidate: ArrayLike, *, seed: int) -> Floats:
    """Two-sided p-value of each sample's difference of means, under "its attempts could as well be the other arm's".

    `values`, `samples` and `is_candidate` have shape (attempts,); values that are not finite are left out. Result:
    shape (distinct samples,), in the order of `stats.cluster_codes`. All divisions of a sample's attempts into arms of
    the same sizes are tried, or `MAX_DIVISIONS` random ones; NaN where an arm has no attempt, or there are only two.
    Source: Fisher 1935; Phipson and Smyth 2010 for the added one.
    """
    array, codes = np.asarray(values, dtype=np.float64), cluster_codes(samples)
    second = np.asarray(is_candidate, dtype=bool)
    size = int(codes.max()) + 1 if codes.size else 0
    kept = np.isfinite(array)
    array, codes, second = array[kept], codes[kept], second[kept]
    order = np.lexsort((second, codes))
    array, codes, second = array[order], codes[order], second[order]
    total, later = np.bincount(codes, minlength=size), np.bincount(codes[second], minlength=size)
    starts = np.cumsum(total) - total
    found = np.full(size, np.nan)
    generator = np.random.default_rng(seed)
    pairs = np.unique(np.column_stack((total, later)), axis=0)
    for num, num_candidate in pairs.tolist():
        if 0 < num_candidate < num and num > 2:
            rows = np.flatnonzero((total == num) & (later == num_candidate))
            attempts = array[starts[rows][:, None] + np.arange(num)]
            found[rows] = _p_values(attempts, num_candidate, generator)
    return found


def _p_values(attempts: Floats, num_candidate: int, generator: np.random.Generator) -> Floats:
    """P-values of samples with equally many attempts, shape (samples, attempts), the candidate's last."""
    num = attempts.shape[1]
    exact = comb(num, num_candidate) <= MAX_DIVISIONS
    divisions = _all(num, num_candidate) if exact else _random(num, num_candidate, generator)
    sums = attempts.sum(axis=1, keepdims=True)
    observed = _difference(attempts[:, num - num_candidate :].sum(axis=1, keepdims=True), sums, num, num_candidate)
    # The same numbers added in another order differ by rounding: those count as equally extreme.
    slack = 1e-12 * np.abs(attempts).sum(axis=1, keepdims=True)
    hits = np.zeros(attempts.shape[0])
    for block in _blocks(divisions, attempts.shape[0]):
        drawn = _difference(attempts @ block.T, sums, num, num_candidate)
        hits += (np.abs(drawn) >= np.abs(observed) - slack).sum(axis=1)
    return hits / len(divisions) if exact else (1 + hits) / (1 + len(divisions))


def _difference(candidate_sums: Floats, sums: Floats, num: int, num_candidate: int) -> Floats:
    return candidate_sums / num_candidate - (sums - candidate_sums) / (num - num_candidate)


def _all(num: int, num_candidate: int) -> Floats:
    """Every choice of the candidate's attempts, one row each, shape (divisions, attempts)."""
    chosen = np.array(list(combinations(range(num), num_candidate)))
    made = np.zeros((len(chosen), num))
    np.put_along_axis(made, chosen, 1.0, axis=1)
    return made


def _random(num: int, num_candidate: int, generator: np.random.Generator) -> Floats:
    ranks: NDArray[np.intp] = np.argsort(generator.random((MAX_DIVISIONS, num)), axis=1)
    return (ranks < num_candidate).astype(np.float64)


def _blocks(divisions: Floats, num_samples: int) -> Iterator[Floats]:
    size = max(1, CELLS // max(num_samples, 1))
    for start in range(0, len(divisions), size):
        yield divisions[start : start + size]
