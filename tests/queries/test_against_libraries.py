"""The same numbers from statsmodels and scipy, where one of them has the statistic."""

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats
from statsmodels.stats.contingency_tables import mcnemar as statsmodels_mcnemar
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint
from statsmodels.stats.weightstats import CompareMeans, DescrStatsW

from queries.pairing import benjamini_hochberg, correlation, holm, mcnemar, ratio_of_means, unpaired_difference
from queries.stats import clustered_mean, skewness, wilson
from queries.tails import distribution, percentile

p_values = st.lists(st.floats(0, 1), min_size=1, max_size=20)


@pytest.mark.parametrize("seed", range(5))
def test_clustered_interval_is_that_of_a_regression_on_a_constant(seed):
    generator = np.random.default_rng(seed)
    clusters = generator.integers(0, 12, 60)
    values = generator.normal(size=12)[clusters] + generator.normal(size=60)
    fit = sm.OLS(values, np.ones(60)).fit(cov_type="cluster", cov_kwds={"groups": clusters}, use_t=True)
    got = clustered_mean(values, clusters)
    assert (got.value, got.standard_error) == pytest.approx((fit.params[0], fit.bse[0]))
    assert (got.interval.low, got.interval.high) == pytest.approx(tuple(fit.conf_int()[0]))


def test_log_ratio_is_that_of_two_regressions_with_joint_clustered_errors():
    """The delta method from the clustered covariance of both means, stacked in one regression on the arm."""
    generator = np.random.default_rng(2)
    base, cand = generator.lognormal(size=(2, 50))
    stacked, arm = np.concatenate((base, cand)), np.repeat([0.0, 1.0], 50)
    design, groups = np.column_stack((1 - arm, arm)), np.tile(np.arange(50), 2)
    fit = sm.OLS(stacked, design).fit(cov_type="cluster", cov_kwds={"groups": groups, "use_correction": False})
    gradient = np.array([-1 / base.mean(), 1 / cand.mean()])
    error = np.sqrt(gradient @ fit.cov_params() @ gradient * 50 / 49)
    got = ratio_of_means(base, cand, seed=0, method="log").interval
    half = scipy_stats.t.ppf(0.975, 49) * error
    middle = np.log(cand.mean() / base.mean())
    assert (got.low, got.high) == pytest.approx((np.exp(middle - half), np.exp(middle + half)))


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_is_statsmodels(counts):
    got, expected = wilson(*counts), proportion_confint(*counts, method="wilson")
    assert (float(got[0]), float(got[1])) == pytest.approx(expected, abs=1e-12)


@given(p_values)
def test_adjusted_p_values_are_statsmodels(p):
    assert holm(p) == pytest.approx(multipletests(p, method="holm")[1])
    assert benjamini_hochberg(p) == pytest.approx(multipletests(p, method="fdr_bh")[1])


@given(st.integers(0, 40), st.integers(0, 40))
def test_mcnemar_is_statsmodels(gained, lost):
    if gained + lost:
        expected = statsmodels_mcnemar([[7, lost], [gained, 9]], exact=True).pvalue
        assert mcnemar(gained, lost) == pytest.approx(expected)


def test_unpaired_interval_is_statsmodels():
    generator = np.random.default_rng(3)
    base, cand = generator.normal(size=12), generator.normal(0.5, 3.0, 31)
    expected = CompareMeans(DescrStatsW(cand), DescrStatsW(base)).tconfint_diff(usevar="unequal")
    got = unpaired_difference(base, cand).interval
    assert (got.low, got.high) == pytest.approx(expected)


@pytest.mark.parametrize("p", [0.5, 0.9, 0.95])
@pytest.mark.parametrize("num", [72, 100, 333])
def test_percentile_interval_is_scipys(p, num):
    values = np.random.default_rng(num).lognormal(size=num)
    expected = scipy_stats.quantile_test(values, p=p).confidence_interval(0.95)
    got = percentile(values, p).interval
    assert (got.low, got.high) == (expected.low, expected.high)


@given(st.lists(st.integers(0, 9), min_size=3, max_size=30))
def test_skewness_is_scipys(values):
    got = skewness(values)
    if got is None:
        assert len(set(values)) == 1
    else:
        assert got == pytest.approx(scipy_stats.skew(values), abs=1e-9)


def test_skewness_by_hand():
    # 0, 0, 3: deviations −1, −1, 2; m₂ = 2, m₃ = (−1 − 1 + 8)/3 = 2: 2/2^1.5 = .70710678.
    assert skewness([0.0, 0.0, np.nan, 3.0]) == pytest.approx(0.70710678)
    assert skewness([0.0, 3.0]) is None
    assert skewness([0.1, 0.1, 0.1]) is None
    assert skewness([1e200, 2e200, -1e200]) is None


def test_distribution_is_scipys():
    values = np.random.default_rng(4).poisson(3, 60)
    got, expected = distribution(values), scipy_stats.ecdf(values)
    assert got.x.tolist() == expected.cdf.quantiles.tolist()
    assert got.at_most == pytest.approx(expected.cdf.probabilities)
    assert got.above == pytest.approx(expected.sf.probabilities)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=3, max_size=30))
def test_correlation_is_scipys(pairs):
    base, cand = np.array(pairs, dtype=float).T
    got = correlation(base, cand)
    if got is not None:
        assert got == pytest.approx(scipy_stats.pearsonr(base, cand).statistic)
    else:
        assert min(np.ptp(base), np.ptp(cand)) == 0
