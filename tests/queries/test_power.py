from math import sqrt

import pytest
from scipy import stats as scipy_stats
from statsmodels.stats.power import TTestPower

from queries.power import (
    detectable_difference,
    num_for_half_width,
    num_to_detect,
    num_to_detect_all,
    variance_between,
)


def test_samples_needed_for_an_interval_of_a_given_width():
    # t(9)·1/√10 = .7154 and t(10)·1/√11 = .6718: eleven are the first within .7.
    assert num_for_half_width(1.0, 0.7) == 11
    assert num_for_half_width(1.0, 0.05) == 1_540
    assert num_for_half_width(0.0, 0.05) == 2
    assert num_for_half_width(1.0, 0.0) is None
    assert num_for_half_width(float("nan"), 0.05) is None
    assert num_for_half_width(1.0, 1e-9) is None


@pytest.mark.parametrize(("num", "power"), [(5, 0.8), (20, 0.8), (100, 0.9), (3_000, 0.5)])
def test_detectable_differences_are_those_of_an_independent_library(num, power):
    expected = TTestPower().solve_power(effect_size=None, nobs=num, alpha=0.05, power=power)
    # The library adds the chance of a finding in the wrong direction, which is tiny.
    assert detectable_difference(2.0, num, power=power) == pytest.approx(2 * expected, rel=2e-3)


def test_two_clusters_can_show_less_than_their_samples():
    # t(1) needs 12.7 standard errors where t(199) needs 1.97.
    assert detectable_difference(1.0, 200, degrees=1) > 4 * detectable_difference(1.0, 200)


@pytest.mark.parametrize(("deviation", "num"), [(0.0, 50), (float("nan"), 50), (1.0, 1), (1.0, 0)])
def test_nothing_is_detectable_without_spread_or_samples(deviation, num):
    assert detectable_difference(deviation, num) is None


def test_samples_to_detect_are_the_fewest_that_do():
    assert num_to_detect(1.0, 0.25) == 128  # TTestPower says 127.52
    assert detectable_difference(1.0, 127) > 0.25 >= detectable_difference(1.0, 128)
    assert num_to_detect(1.0, 1_000.0) == 2
    assert num_to_detect(1.0, 0.0) is None
    assert num_to_detect(0.0, 0.1) is None
    assert num_to_detect(1.0, 1e-9) is None


def test_attempts_shrink_only_what_lies_within_samples():
    # Var(d) = ω² + σ²_A/K_A + σ²_B/K_B: .06 = ω² + .09/3 + .04/2.
    assert variance_between(0.06, (0.09, 0.04), (3, 2)) == pytest.approx(0.01)
    assert variance_between(0.02, (0.09, 0.04), (3, 2)) == 0.0


def test_samples_for_several_claims_at_once_are_more_than_for_the_hardest():
    def power_of(deviation, difference, n):
        crit = scipy_stats.t.ppf(0.975, n - 1)
        return scipy_stats.nct.sf(crit, n - 1, difference * sqrt(n) / deviation)

    alike = num_to_detect_all([(1.0, 0.5), (1.0, 0.5)])
    # What the chances of missing each add up to is the most that both can miss.
    assert 2 * (1 - power_of(1.0, 0.5, alike)) <= 0.2 < 2 * (1 - power_of(1.0, 0.5, alike - 1))
    assert alike > num_to_detect(1.0, 0.5)
    # A part that is sure anyway asks for nothing.
    assert num_to_detect_all([(1.0, 0.5), (0.1, 0.5)]) == num_to_detect_all([(1.0, 0.5)]) == num_to_detect(1.0, 0.5)
    assert num_to_detect_all([(1.0, 0.5), (1.0, -0.5)]) is None
