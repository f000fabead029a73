"""The beta prior, its posterior and what a group is worth, against scipy and numbers computed by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, stats

from queries.shrinkage import (
    Prior,
    attempts_until,
    chance_of_all,
    chance_of_both,
    credible_interval,
    fit_prior,
    signal_interval,
)

FLAT = Prior(1.0, 1.0, 0, "given")


def likelihood(alpha: float, beta: float, n: np.ndarray, c: np.ndarray) -> float:
    return float(stats.betabinom.logpmf(c, n, alpha, beta).sum())


@pytest.mark.parametrize(("alpha", "beta", "attempts"), [(0.3, 0.4, 3), (2.0, 5.0, 8), (1.0, 1.0, 5)])
def test_the_prior_is_the_most_likely_one(alpha: float, beta: float, attempts: int) -> None:
    generator = np.random.default_rng(7)
    n = generator.integers(2, attempts + 1, 200)
    c = generator.binomial(n, generator.beta(alpha, beta, 200))
    found = fit_prior(n, c)
    best = optimize.minimize(lambda at: -likelihood(*np.exp(at), n, c), np.log([1.0, 1.0]), method="Nelder-Mead")
    assert found.note is None
    assert likelihood(found.alpha, found.beta, n, c) >= -best.fun - 1e-4
    assert (found.alpha, found.beta) == pytest.approx(np.exp(best.x), rel=0.02)


def test_counts_that_say_too_little_leave_the_prior_flat() -> None:
    few = fit_prior([3] * 9, [1] * 9)
    assert (few.alpha, few.beta) == (1.0, 1.0)
    assert few.note == "not fitted: 10 samples with two attempts needed, 9 here"
    single = fit_prior([1] * 50, [0, 1] * 25)
    assert single.note == "not fitted: 10 samples with two attempts needed, 0 here"
    assert fit_prior([], []).num_samples == 0


def test_many_failures_are_not_taken_for_hope() -> None:
    nothing, everything = fit_prior([3] * 20, [0] * 20), fit_prior([3] * 20, [3] * 20)
    assert nothing.note == "not fitted: nothing passed"
    assert everything.note == "not fitted: everything passed"
    # Half a pass in 60 attempts: a mean of .5/61, one attempt strong.
    assert (nothing.alpha, nothing.beta) == pytest.approx((0.5 / 61, 60.5 / 61))
    assert (everything.alpha, everything.beta) == pytest.approx((60.5 / 61, 0.5 / 61))


def test_samples_that_are_never_mixed_still_leave_room_for_it() -> None:
    found = fit_prior([3] * 20, [0, 3] * 10)
    assert found.note is None
    assert found.alpha + found.beta == pytest.approx(0.05, rel=1e-6)
    assert found.alpha == pytest.approx(found.beta, rel=1e-3)


def test_a_posterior_under_a_flat_prior() -> None:
    a, b = FLAT.posterior([2, 2, 0], [0, 1, 0])
    assert a.tolist()[:2] == [1.0, 2.0]
    assert b.tolist()[:2] == [3.0, 2.0]
    assert np.isnan(a[2])
    # Beta(1, 3): E[p²] = 1·2/(4·5) = .1, E[(1−p)²] = 3·4/(4·5) = .6; Beta(2, 2): 2·3/(4·5) = .3 each.
    assert chance_of_both(a, b, 2).tolist()[:2] == pytest.approx([0.3, 0.4])
    assert chance_of_all(a, b, 2).tolist()[:2] == pytest.approx([0.1, 0.3])
    assert np.isnan(chance_of_both(a, b, 2)[2])
    # Beta(1, 3) has the distribution function 1 − (1−x)³.
    low, high = credible_interval(a, b)
    assert (low[0], high[0]) == pytest.approx((1 - 0.975 ** (1 / 3), 1 - 0.025 ** (1 / 3)))


@given(st.floats(0.05, 20), st.floats(0.05, 20), st.integers(1, 40))
def test_the_chance_of_both_is_what_scipy_counts(alpha: float, beta: float, size: int) -> None:
    expected = 1 - stats.betabinom.pmf([0, size], size, alpha, beta).sum() if size > 1 else 0.0
    assert float(chance_of_both(alpha, beta, size)) == pytest.approx(expected, abs=1e-9)


def test_attempts_until_an_even_chance() -> None:
    # Beta(1, 4), three failures under a flat prior: none of m passes with 4/(4+m), which is ½ at m = 4.
    assert attempts_until([1.0, np.nan], [4.0, np.nan])[0] == 4
    assert np.isnan(attempts_until([np.nan], [1.0])[0])
    assert attempts_until([0.01], [10.0])[0] == np.inf
    assert attempts_until([1.0], [4.0], chance=0.75)[0] == 12


def test_a_group_has_an_attempt() -> None:
    with pytest.raises(ValueError, match="at least one attempt, not 0"):
        chance_of_both(1.0, 1.0, 0)


def test_the_interval_is_seeded_and_holds_the_share() -> None:
    generator = np.random.default_rng(3)
    n = np.full(80, 4)
    c = generator.binomial(n, generator.beta(0.5, 0.5, 80))
    prior = fit_prior(n, c)
    first, second = (signal_interval(n, c, prior, [2, 8], seed=11) for _ in range(2))
    assert first == second
    for size, found in zip((2, 8), first, strict=True):
        share = float(chance_of_both(*prior.posterior(n, c), size).mean())
        assert found.low is not None
        assert found.high is not None
        assert found.low < share < found.high
    assert first != signal_interval(n, c, prior, [2, 8], seed=12)


def test_an_interval_needs_samples_that_differ() -> None:
    assert signal_interval([3] * 50, [1] * 50, FLAT, [8], seed=1)[0].reason == "prior given"
    alike = signal_interval([3] * 12, [1] * 12, Prior(1, 2, 12), [8], seed=1)[0]
    assert alike.reason == "all resamples agree: the values say nothing about the next one"
