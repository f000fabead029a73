"""pass@k, pass^k and best-of-k against every subset counted out."""

from itertools import combinations
from math import comb, inf, nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from queries.attempts import best_of_k, best_of_k_by_sample, best_of_k_weights, pass_at_k, pass_hat_k
from queries.stats import sample_mean


def test_by_hand():
    # 5 attempts, 2 passed, k = 3: all three fail in C(3,3)/C(5,3) = 1/10; all pass in 0 of 10.
    assert pass_at_k(5, 2, 3) == pytest.approx(0.9)
    assert pass_hat_k(5, 2, 3) == 0.0
    # k = 2: 1 − C(3,2)/C(5,2) = 1 − 3/10; C(2,2)/C(5,2) = 1/10
    assert pass_at_k(5, 2, 2) == pytest.approx(0.7)
    assert pass_hat_k(5, 2, 2) == pytest.approx(0.1)
    # 1·C(1,1) + 3·C(2,1) + 8·C(3,1) over C(4,2) = (1 + 6 + 24)/6, the least value never being the best of two
    assert best_of_k([3.0, 0.0, 8.0, 1.0], 2) == pytest.approx(31 / 6)


def test_fewer_than_k_attempts_is_not_a_number():
    assert np.isnan(pass_at_k([2, 0], [2, 0], 3)).all()
    assert np.isnan(pass_hat_k([2, 0], [2, 0], 3)).all()
    assert best_of_k([0.5, nan, inf], 2) is None
    assert best_of_k([0.5, nan, 0.7], 2) == 0.7


def test_mean_over_samples_counts_those_without():
    got = sample_mean(pass_at_k([4, 4, 2], [2, 4, 2], 3))
    assert (got.value, got.num, got.num_missing) == (1.0, 2, 1)


@given(st.lists(st.booleans(), min_size=1, max_size=8), st.integers(1, 8))
def test_passes_are_the_share_of_subsets(passed, k):
    subsets = list(combinations(passed, k))
    at, hat = float(pass_at_k(len(passed), sum(passed), k)), float(pass_hat_k(len(passed), sum(passed), k))
    if k > len(passed):
        assert np.isnan([at, hat]).all()
    else:
        assert at == pytest.approx(np.mean([any(each) for each in subsets]))
        assert hat == pytest.approx(np.mean([all(each) for each in subsets]))


@given(st.lists(st.floats(-100, 100), min_size=1, max_size=8), st.integers(1, 8))
def test_best_is_the_mean_of_subset_maxima(values, k):
    got = best_of_k(values, k)
    if k > len(values):
        assert got is None
    else:
        assert got == pytest.approx(np.mean([max(each) for each in combinations(values, k)]), abs=1e-9)


def test_large_numbers_do_not_overflow():
    expected = 1 - comb(9_000, 500) / comb(10_000, 500)
    assert pass_at_k(10_000, 1_000, 500) == pytest.approx(expected, abs=1e-12)
    assert pass_hat_k(10_000, 9_990, 500) == pytest.approx(comb(9_990, 500) / comb(10_000, 500))
    assert best_of_k_weights(10_000, 500).sum() == pytest.approx(1.0)


def test_all_samples_at_once():
    values = [1.0, 5.0, nan, 2.0, 3.0, 0.0, 8.0, 1.0]
    samples = ["a", "b", "b", "a", "c", "c", "c", "c"]
    got = best_of_k_by_sample(values, samples, 2)
    assert got == pytest.approx([2.0, nan, 31 / 6], nan_ok=True)
    assert best_of_k_by_sample([], [], 2).size == 0


def test_nonsense_is_refused():
    with pytest.raises(ValueError, match="more passed"):
        pass_at_k(3, 4, 1)
    for refuse in (
        lambda: pass_hat_k(3, 1, 0),
        lambda: best_of_k([1.0], 0),
        lambda: best_of_k_by_sample([1.0], [1], 0),
    ):
        with pytest.raises(ValueError, match="at least 1"):
            refuse()
