"""Two arms on the same samples, by hand and against scipy."""

from math import exp, inf, log, nan, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats
from statsmodels.stats import contingency_tables

from queries.pairing import (
    benjamini_hochberg,
    correlation,
    holm,
    mcnemar,
    paired_difference,
    paired_proportions,
    ratio_of_means,
    unpaired_difference,
)

BASELINE = [0.2, 0.4, 0.6, 0.8, 0.5, nan, nan]
CANDIDATE = [0.3, 0.6, 0.9, 0.8, nan, 0.7, inf]


def test_paired_difference_by_hand():
    # Differences .1, .2, .3, 0: mean .15; deviations −.05, .05, .15, −.15: squares sum to .05; SE = √(.05/3/4)
    # t(.975, 3) = 3.18244631: half width = .06454972·3.18244631 = .20542602
    got = paired_difference(BASELINE, CANDIDATE, seed=0)
    assert got.difference.value == pytest.approx(0.15)
    assert got.difference.standard_error == pytest.approx(sqrt(0.05 / 12))
    assert got.difference.interval.low == pytest.approx(0.15 - 0.20542602, abs=1e-7)
    assert (got.baseline_mean, got.candidate_mean) == pytest.approx((0.5, 0.65))
    assert (got.num_paired, got.num_only_baseline, got.num_only_candidate, got.num_neither) == (4, 1, 1, 1)
    assert (got.difference.num, got.difference.num_missing) == (4, 3)
    # Patterns of ±.1 ±.2 ±.3 (zero adds nothing): 2 of 8 reach .6.
    assert (got.p_value.value, got.p_value.method) == (0.25, "sign flip, exact")
    # Unpaired: .66 over five candidates minus .5 over five baselines.
    assert got.unpaired.value == pytest.approx((0.3 + 0.6 + 0.9 + 0.8 + 0.7) / 5 - 0.5)


def test_correlation_by_hand():
    # Deviations −.3, −.1, .1, .3 and −.35, −.05, .25, .15: products .105 + .005 + .025 + .045 = .18
    # squares .2 and .21: r = .18/√.042
    assert correlation(BASELINE, CANDIDATE) == pytest.approx(0.18 / sqrt(0.042))
    assert correlation([0.1, 0.2], [0.3, 0.9]) is None
    assert correlation([0.5, 0.5, 0.5], [0.1, 0.2, 0.3]) is None


def test_pairing_pays_exactly_when_arms_correlate():
    generator = np.random.default_rng(3)
    level, noise = generator.normal(size=80), generator.normal(size=(3, 80))
    alike = paired_difference(level + 0.3 * noise[0], level + 0.3 * noise[1], seed=0)
    apart = paired_difference(noise[0], -noise[0] + 0.3 * noise[2], seed=0)
    assert alike.correlation > 0.8
    assert alike.difference.standard_error < 0.5 * alike.unpaired.standard_error
    assert apart.correlation < -0.8
    assert apart.difference.standard_error > 1.3 * apart.unpaired.standard_error


def test_arms_without_a_common_sample():
    got = paired_difference([0.1, 0.3, nan, nan], [nan, nan, 0.5, 0.9], seed=0)
    assert (got.difference.value, got.difference.interval.reason) == (None, "nothing scored")
    assert (got.p_value.value, got.correlation, got.baseline_mean) == (None, None, None)
    assert got.unpaired.value == pytest.approx(0.5)
    with pytest.raises(ValueError, match="aligned"):
        paired_difference([0.1], [0.1, 0.2], seed=0)


def test_arms_that_agree_everywhere():
    got = paired_difference([0.1, 0.5, 0.9], [0.1, 0.5, 0.9], seed=0)
    assert (got.difference.value, got.difference.interval.low, got.p_value.value) == (0.0, None, 1.0)


def test_difference_in_clusters():
    # Cluster sums of deviations: (.1−.15)+(.2−.15) = 0 and (.3−.15)+(0−.15) = 0: the two clusters do not differ.
    same = paired_difference(BASELINE, CANDIDATE, seed=0, clusters=list("aabbcde"))
    assert same.difference.interval.reason == "the clusters do not differ: their spread cannot be estimated"
    # {1, 4}: −.05 − .15 = −.2; {2, 3}: +.2. SE = √(2/1·.08)/4 = .1, df 1: t = 12.7062047.
    got = paired_difference(BASELINE, CANDIDATE, seed=0, clusters=list("abbacde"))
    assert got.difference.interval.high == pytest.approx(0.15 + 1.27062047)
    assert got.difference.interval.method == "clustered t"


def test_difference_by_bootstrap_is_named():
    generator = np.random.default_rng(0)
    base, cand = generator.lognormal(size=(2, 50))
    t, percentile, bca = (paired_difference(base, cand, seed=1, method=m) for m in ("t", "percentile", "bca"))
    assert t.difference.value == percentile.difference.value == bca.difference.value
    assert [each.difference.interval.method for each in (t, percentile, bca)] == [
        "t",
        "percentile bootstrap",
        "BCa bootstrap",
    ]
    assert percentile.difference.interval.low == pytest.approx(t.difference.interval.low, abs=0.1)


@pytest.mark.filterwarnings("ignore:Precision loss:RuntimeWarning")  # scipy's, of arms that hardly vary
@given(
    st.lists(st.floats(-100, 100, width=16), min_size=2, max_size=20),
    st.lists(st.floats(-100, 100, width=16), min_size=2, max_size=20),
)
def test_unpaired_difference_is_welchs(base, cand):
    got = unpaired_difference(base, cand)
    if max(np.ptp(base), np.ptp(cand)) < 1e-6:
        assert got.standard_error is None or got.standard_error < 1e-6
        return
    expected = scipy_stats.ttest_ind(cand, base, equal_var=False).confidence_interval()
    assert (got.interval.low, got.interval.high) == pytest.approx((expected.low, expected.high), rel=1e-6, abs=1e-6)


def test_no_unpaired_interval_and_why():
    assert unpaired_difference([], [0.5]).interval.reason == "nothing scored in one arm"
    assert unpaired_difference([0.1], [0.5, 0.6]).interval.reason == "one sample in an arm has no spread"
    flat = unpaired_difference([0.1, 0.1], [0.5, 0.5])
    assert (flat.value, flat.interval.reason) == (0.4, "no sample of either arm differs from its mean")


def test_mcnemar_by_hand():
    # b = 1, c = 8: 2·(C(9,0) + C(9,1))/2⁹ = 20/512
    assert mcnemar(8, 1) == mcnemar(1, 8) == pytest.approx(20 / 512)
    assert mcnemar(3, 3) == 1.0
    assert mcnemar(0, 0) == 1.0
    assert mcnemar(0, 5) == pytest.approx(2 / 32)


@given(st.integers(0, 60), st.integers(0, 60))
def test_mcnemar_is_the_binomial_test(gained, lost):
    if gained + lost:
        assert mcnemar(gained, lost) == pytest.approx(scipy_stats.binomtest(gained, gained + lost).pvalue)


def test_sign_flip_and_mcnemar_agree_on_passes():
    # Two-sided and symmetric: flipping signs of ±1 differences is the exact McNemar test.
    base, cand = np.array([0] * 8 + [1] * 1 + [1] * 20), np.array([1] * 8 + [0] * 1 + [1] * 20)
    assert paired_difference(base, cand, seed=0).p_value.value == pytest.approx(mcnemar(8, 1))


def test_ratio_is_of_means_not_a_mean_of_ratios():
    # Means 10 and 5: ratio .5. The mean of the per-sample ratios 2, .5, .25 … would be another number.
    base, cand = [1, 4, 16, 19, nan], [2, 2, 4, 12, 3]
    got = ratio_of_means(base, cand, seed=0, method="log")
    assert (got.value, got.num, got.num_missing) == (0.5, 4, 1)
    # u = cand/5 − base/10 = .3, 0, −.8, .5; s² = (.09 + .64 + .25)/3, SE = √(.98/12) = .28577380
    # t(.975, 3)·SE = .90945978; bounds .5·e^∓.90945978
    half = 3.18244631 * sqrt(0.98 / 12)
    assert (got.interval.low, got.interval.high) == pytest.approx((0.5 * exp(-half), 0.5 * exp(half)))


def test_ratio_by_bootstrap_agrees_with_the_log_interval():
    generator = np.random.default_rng(8)
    base = generator.gamma(5.0, 2.0, size=300)
    cand = 0.6 * base * generator.gamma(20.0, 0.05, size=300)
    by_log = ratio_of_means(base, cand, seed=1, method="log").interval
    for method in ("percentile", "bca"):
        got = ratio_of_means(base, cand, seed=1, method=method).interval
        assert log(got.low) == pytest.approx(log(by_log.low), abs=0.02)
        assert log(got.high) == pytest.approx(log(by_log.high), abs=0.02)
    clustered = ratio_of_means(base, cand, seed=1, method="log", clusters=np.arange(300)).interval
    assert (clustered.low, clustered.high) == pytest.approx((by_log.low, by_log.high))


@pytest.mark.parametrize(
    ("base", "cand", "method", "value", "reason"),
    [
        ([0, 0, 0], [1, 2, 3], "log", None, "the baseline mean is not above zero"),
        ([-1, -2, 1], [1, 2, 3], "percentile", None, "the baseline mean is not above zero"),
        ([nan], [1.0], "log", None, "nothing scored in both arms"),
        ([1, 2, 3], [0, 0, 0], "log", 0.0, "the candidate mean is not above zero"),
        ([1, 2, 3], [2, 4, 6], "log", 2.0, "every sample has the same ratio: nothing says how the next one differs"),
        ([1, 2, 3], [2, 4, 7], "percentile", 13 / 6, "n too small for a bootstrap: 6 needed"),
    ],
)
def test_no_ratio_and_why(base, cand, method, value, reason):
    got = ratio_of_means(base, cand, seed=0, method=method)
    assert got.value == (value if value is None else pytest.approx(value))
    assert got.interval.reason == reason


def test_ratio_with_a_mostly_zero_baseline_has_no_bootstrap_interval():
    got = ratio_of_means([0.0] * 9 + [1.0], np.arange(10.0), seed=0)
    assert got.value == pytest.approx(45.0)
    assert got.interval.reason.endswith("resamples have no value: a denominator is zero")


def test_holm_by_hand():
    # Sorted .01, .02, .03, .2 times 4, 3, 2, 1: .04, .06, .06, .2 (made monotone); NaN is no test.
    assert holm([0.03, 0.01, nan, 0.2, 0.02]) == pytest.approx([0.06, 0.04, nan, 0.2, 0.06], nan_ok=True)
    assert holm([0.6, 0.9]).tolist() == [1.0, 1.0]
    assert holm([]).size == 0


def test_benjamini_hochberg_by_hand():
    # Sorted .01, .02, .03, .2 times 4/1, 4/2, 4/3, 4/4: .04, .04, .04, .2.
    assert benjamini_hochberg([0.03, 0.01, nan, 0.2, 0.02]) == pytest.approx([0.04, 0.04, nan, 0.2, 0.04], nan_ok=True)
    assert np.isnan(benjamini_hochberg([nan])).all()


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_adjusted_values_are_ordered_and_no_smaller(p):
    p, by_holm, by_bh = np.array(p), holm(p), benjamini_hochberg(p)
    assert (by_bh >= p - 1e-12).all()
    assert (by_holm >= by_bh - 1e-12).all()
    assert (by_holm <= 1).all()
    assert by_bh == pytest.approx(scipy_stats.false_discovery_control(p, method="bh"))
    order = np.argsort(p, kind="stable")
    assert (np.diff(by_holm[order]) >= 0).all()


@pytest.mark.parametrize("adjust", [holm, benjamini_hochberg])
def test_what_is_no_p_value_is_refused(adjust):
    with pytest.raises(ValueError, match="between 0 and 1"):
        adjust([0.5, 1.5])


def test_numbers_too_large_to_add_are_said_not_a_crash():
    base, cand = np.zeros(30), np.full(30, 1.5e308)
    got = paired_difference(base + np.arange(30), cand, seed=0, method="percentile")
    assert got.difference.value == 1.5e308
    assert got.difference.interval.reason == got.p_value.reason == "the values are too large to average"
    assert ratio_of_means(base + 1, cand, seed=0).interval.reason == "the values are too large to average"


def test_pass_or_fail_has_an_interval_even_where_nothing_changed():
    # Bonett–Price: (b+1)/(n+2) and (c+1)/(n+2), b = c = 0, n = 8: 0 ± 1.96·√(.2/10).
    got = paired_proportions(0, 0, 8)
    assert (got.low, got.high) == pytest.approx((-1.959964 * 0.02**0.5, 1.959964 * 0.02**0.5))
    # b = 6, c = 1, n = 18: .35 and .1, .25 ± 1.96·√((.45 − .0625)/20).
    got = paired_proportions(6, 1, 18)
    assert (got.low, got.high) == pytest.approx((0.25 - 1.959964 * 0.019375**0.5, 0.25 + 1.959964 * 0.019375**0.5))
    assert paired_proportions(5, 0, 5).high == 1.0


def test_single_attempts_that_pass_or_fail_are_tested_by_mcnemar():
    base = [0.0] * 9 + [1.0] * 3 + [1.0] * 5
    cand = [1.0] * 9 + [0.0] * 3 + [1.0] * 5
    got = paired_difference(base, cand, seed=0, pass_or_fail=True)
    assert got.difference.interval.method == "Bonett–Price"
    assert got.difference.value == pytest.approx(6 / 17)
    # 2·P(Bin(12, ½) ≤ 3) = 2·299/4096.
    assert (got.p_value.method, got.p_value.value) == ("exact McNemar", pytest.approx(2 * 299 / 4096))
    assert got.p_value.value == pytest.approx(contingency_tables.mcnemar([[5, 3], [9, 0]], exact=True).pvalue)
    # One value between makes it no pass or fail.
    mixed = paired_difference([*base, 0.5], [*cand, 1.0], seed=0, pass_or_fail=True)
    assert mixed.difference.interval.method == "t"
    clustered = paired_difference(base, cand, seed=0, clusters=list(range(17)), pass_or_fail=True)
    assert clustered.p_value.method.startswith("sign flip")
    # One call against none is no grade.
    assert paired_difference(base, cand, seed=0).difference.interval.method == "t"
