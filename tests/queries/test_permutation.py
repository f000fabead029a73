import numpy as np
import pytest
from scipy import stats as scipy_stats

from queries.permutation import p_values_by_sample


def p_of(baseline, candidate, seed=1):
    values = [*baseline, *candidate]
    is_candidate = [False] * len(baseline) + [True] * len(candidate)
    return p_values_by_sample(values, ["s"] * len(values), is_candidate, seed=seed)[0]


def test_every_division_of_the_attempts_counts_by_hand():
    # 0, 0, 0 against 1, 1, 1: of C(6,3) = 20 divisions this one and its mirror are as far apart.
    assert p_of([0, 0, 0], [1, 1, 1]) == pytest.approx(2 / 20)
    # 0, 0 against 1: C(3,1) = 3 divisions; differences 1, −.5, −.5: only this one reaches 1.
    assert p_of([0, 0], [1]) == pytest.approx(1 / 3)
    assert p_of([0.5, 0.5, 0.5], [0.5, 0.5, 0.5]) == 1.0


def test_it_agrees_with_an_independent_permutation_test():
    rng = np.random.default_rng(3)
    for sizes in ((4, 4), (3, 6), (5, 5)):
        base, cand = rng.normal(size=sizes[0]), rng.normal(0.8, size=sizes[1])
        expected = scipy_stats.permutation_test(
            (base, cand),
            lambda a, b, axis: np.abs(b.mean(axis) - a.mean(axis)),
            vectorized=True,
            n_resamples=np.inf,
            alternative="greater",
        ).pvalue
        assert p_of(base, cand) == pytest.approx(expected)


def test_passed_and_failed_attempts_give_fishers_exact_test():
    base, cand = [1, 0, 0, 0, 0], [1, 1, 1, 1, 0, 1]
    assert p_of(base, cand) == pytest.approx(scipy_stats.fisher_exact([[1, 4], [5, 1]]).pvalue)


def test_many_attempts_are_divided_at_random_and_alike_for_everyone():
    rng = np.random.default_rng(5)
    base, cand = rng.normal(size=12), rng.normal(1.5, size=12)
    assert p_of(base, cand, seed=7) == p_of(base, cand, seed=7)
    assert p_of(base, cand) == pytest.approx(scipy_stats.ttest_ind(base, cand).pvalue, abs=0.01)


def test_samples_without_enough_attempts_have_none():
    nan = float("nan")
    found = p_values_by_sample([0, 1, 0, 0, nan, 1, 1, 0], list("aabbbccc"), [0, 1, 0, 0, 1, 1, 1, 1], seed=1)
    # a has two attempts in all, b's only candidate is not scored, c has no baseline.
    assert np.isnan(found).tolist() == [True, True, True]
    assert p_values_by_sample([], [], [], seed=1).size == 0


def test_under_the_null_it_is_no_finding_more_often_than_it_says():
    rng = np.random.default_rng(11)
    values = rng.integers(0, 2, size=(2_000, 10)).astype(float)
    samples = np.repeat(np.arange(2_000), 10)
    found = p_values_by_sample(values.ravel(), samples, np.tile([0] * 5 + [1] * 5, 2_000), seed=1)
    for level in (0.01, 0.05, 0.2):
        assert (found <= level).mean() <= level + 3 * (level * (1 - level) / 2_000) ** 0.5
