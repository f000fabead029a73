"""Intervals for few samples, skew and rare changes: by hand, by enumeration, and against scipy."""

from itertools import product
from math import inf, nan, sqrt

import numpy as np
import pytest
from scipy import stats as scipy_stats

from queries.cautious import student_ratios, student_tails, studentised, with_added_samples
from queries.pairing import paired_difference, paired_proportions
from queries.stats import clustered_mean, sample_mean

SKEWED = np.array([0.1, 0.2, 0.3, 0.5, 0.9, 7.0])


def test_two_samples_added_by_hand():
    # .5, 0, 0, .1 and 1, −1: mean .1; squares of deviations .16 + .01 + .01 + 0 + .81 + 1.21 = 2.2; s² = .44;
    # SE √(.44/6) = .27080128; t(.975, 5) = 2.57058184: half width .69611685.
    got = with_added_samples([0.5, 0.0, nan, 0.0, 0.1])
    assert (got.interval.low, got.interval.high) == pytest.approx((0.1 - 0.69611685, 0.1 + 0.69611685))
    assert (got.interval.method, got.num, got.num_missing) == ("t with two samples added", 4, 1)
    # The mean and its error stay those of the values.
    assert got.value == pytest.approx(0.15)
    assert got.standard_error == sample_mean([0.5, 0.0, 0.0, 0.1]).standard_error


def test_two_samples_added_are_scipys_t_of_more_values():
    values = np.random.default_rng(1).uniform(-1, 1, 30)
    expected = scipy_stats.ttest_1samp([*values, 1.0, -1.0], 0.0).confidence_interval()
    got = with_added_samples(values).interval
    assert (got.low, got.high) == pytest.approx((expected.low, expected.high))


def test_where_nothing_changed_something_rare_still_may():
    # 18 zeros and ±1: mean 0, s² = 2/19, SE √(2/19/20), t(19) = 2.09302405.
    got = with_added_samples(np.zeros(18))
    assert got.value == 0.0
    assert got.interval.high == pytest.approx(2.09302405 * sqrt(2 / 19 / 20))
    assert got.interval.low == -got.interval.high


def test_an_interval_holds_its_mean_and_keeps_within_one():
    got = with_added_samples([1.0, 1.0, 1.0])
    assert (got.value, got.interval.high) == (1.0, 1.0)
    assert got.interval.low < 1.0


def test_samples_added_to_clusters_stand_by_themselves():
    values, clusters = [0.2, 0.4, 0.0, 0.1, -0.3], [1, 1, 2, 2, 3]
    expected = clustered_mean([*values, 1.0, -1.0], [1, 1, 2, 2, 3, 4, 5]).interval
    got = with_added_samples([*values, inf], clusters=[*clusters, 9]).interval
    assert (got.low, got.high) == (expected.low, expected.high)
    assert got.method == "clustered t with two samples added"


def test_single_attempts_agree_with_bonett_and_price_but_for_t():
    values = np.repeat([1.0, -1.0, 0.0], [12, 5, 283])
    got, expected = with_added_samples(values).interval, paired_proportions(12, 5, 300)
    assert (got.low, got.high) == pytest.approx((expected.low, expected.high), abs=5e-4)


@pytest.mark.parametrize(
    ("values", "clusters", "reason"),
    [([], None, "nothing scored"), ([0.5], None, "one value has no spread"), ([0.1, 0.2], [1, 1], "one cluster has")],
)
def test_no_interval_with_samples_added_and_why(values, clusters, reason):
    assert with_added_samples(values, clusters).interval.reason.startswith(reason)


def test_what_is_not_within_one_is_refused():
    with pytest.raises(ValueError, match="within"):
        with_added_samples([0.5, 1.5])


def test_ratio_of_one_resample_by_hand():
    # Values 0, 1, 2; the resample 0, 0, 2 has deviations −1, −1, 1: mean −1/3, variance 4/3, SE 2/3.
    assert student_ratios(np.array([-1.0, 3.0, 3.0, -1.0, 3.0, 3.0])) == pytest.approx(-0.5)
    # 2, 2, 2: deviations 1, 1, 1 without spread; and 1, 1, 1, which says nothing at all.
    assert student_ratios(np.array([[3.0, 3.0, 3.0, 3.0, 3.0, 3.0], [0.0, 3.0, 0.0, 0.0, 3.0, 3.0]])).tolist() == [
        inf,
        0,
    ]


def test_ratio_of_drawn_clusters_is_that_of_their_mean():
    values, sizes = np.array([-0.5, 0.1, 0.3, -0.2, 0.4, 0.6]), np.array([1, 2, 3])
    drawn = np.array([2, 0, 2])
    pieces = np.split(values, np.cumsum(sizes)[:-1])
    expected = clustered_mean(np.concatenate([pieces[each] for each in drawn]), np.repeat(np.arange(3), sizes[drawn]))
    x, m = np.array([each.sum() for each in pieces])[drawn], sizes[drawn].astype(float)
    sums = np.array([x.sum(), m.sum(), (x * x).sum(), (x * m).sum(), (m * m).sum(), 3.0])
    assert student_ratios(sums) == pytest.approx(expected.value / expected.standard_error)


def test_tails_are_order_statistics():
    # Of 1 … 99: the ⌊.025·100⌋ = 2nd from either end.
    assert student_tails(np.arange(99.0, 0.0, -1.0)) == (2.0, 98.0)
    assert student_tails(np.array([inf] * 5 + list(range(94)))) == (1.0, inf)


def test_studentised_is_that_of_all_resamples_there_are():
    mean = sample_mean(SKEWED)
    every = SKEWED[np.array(list(product(range(6), repeat=6)))]
    errors = every.std(axis=1, ddof=1) / sqrt(6)
    known = errors > 1e-9
    ratios = np.sort((every.mean(axis=1)[known] - mean.value) / errors[known])
    got = studentised(SKEWED, seed=0, num_resamples=99_999).interval
    assert got.high == pytest.approx(mean.value - np.quantile(ratios, 0.025) * mean.standard_error, rel=0.05)
    # Towards the short tail t reaches further, and the wider one counts.
    assert got.low == mean.interval.low
    assert got.high > mean.interval.high
    assert got.method == "studentised bootstrap"


def test_studentised_turns_with_its_values():
    values = np.random.default_rng(3).lognormal(size=40)
    got, turned = (studentised(each, seed=1).interval for each in (values, -values))
    assert (got.low, got.high) == pytest.approx((-turned.high, -turned.low))
    larger = studentised(1000 * values + 5, seed=1).interval
    assert (larger.low, larger.high) == pytest.approx((1000 * got.low + 5, 1000 * got.high + 5))


def test_clusters_of_one_are_samples():
    values = np.random.default_rng(4).lognormal(size=30)
    alone, clustered = studentised(values, seed=2), studentised(values, seed=2, clusters=np.arange(30))
    assert (clustered.interval.low, clustered.interval.high) == pytest.approx((alone.interval.low, alone.interval.high))
    assert clustered.interval.method == "studentised cluster bootstrap"


def test_a_cluster_of_which_nothing_is_known_is_none():
    values = np.random.default_rng(7).lognormal(size=60)
    clusters = np.repeat(np.arange(30), 2)
    more = studentised([nan, nan, *values], seed=1, clusters=[-1, -1, *clusters])
    alone = studentised(values, seed=1, clusters=clusters)
    assert (more.interval.low, more.interval.high) == pytest.approx((alone.interval.low, alone.interval.high))
    assert more.num_missing == 2


def test_of_very_many_samples_t_is_enough():
    values = np.random.default_rng(6).lognormal(size=2_001)
    assert studentised(values, seed=0) == sample_mean(values)
    assert studentised(values[1:], seed=0).interval.method == "studentised bootstrap"


@pytest.mark.parametrize(
    ("values", "clusters", "reason"),
    [
        ([], None, "nothing scored"),
        ([3.0] * 9, None, "all values are equal: their spread says nothing about the next one"),
        ([1.0, 2.0, 4.0], None, "6 samples needed for a bootstrap, 3 here"),
        ([1.0, 2.0, 4.0, 5.0], [1, 1, 2, 3], "20 clusters needed for a bootstrap, 3 here"),
        ([0.0] * 19 + [1.0], None, "too few samples differ: in many resamples none does"),
    ],
)
def test_no_studentised_interval_and_why(values, clusters, reason):
    got = studentised(values, seed=0, clusters=clusters)
    assert (got.interval.low, got.interval.reason) == (None, reason)


def test_a_cautious_difference_takes_what_fits_the_measure():
    base, cand = np.full(30, 0.5), 0.5 + 0.3 * np.random.default_rng(5).random(30)
    within = paired_difference(base, cand, seed=0, method="cautious", within_one=True)
    beyond = paired_difference(base, cand, seed=0, method="cautious")
    single = paired_difference(np.zeros(9), [1.0, *[0.0] * 8], seed=0, method="cautious", pass_or_fail=True)
    assert [each.difference.interval.method for each in (within, beyond, single)] == [
        "t with two samples added",
        "studentised bootstrap",
        "Bonett–Price",
    ]
    assert within.difference.value == beyond.difference.value
    assert paired_difference(base, [*cand[:-1], nan], seed=0, method="cautious").difference.num_missing == 1
