"""Percentiles, survival curves and the cost of the tail."""

from math import inf, log, nan, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from queries.tails import distribution, dkw_half_width, num_needed, percentile, tail_share


def test_known_minimum_sizes():
    assert num_needed(0.95) == 72
    assert num_needed(0.95, sides=1) == 59
    assert num_needed(0.05) == 72
    assert num_needed(0.5) == 6
    assert num_needed(0.99, sides=1) == 299
    for p in (0.0, 1.0, nan):
        with pytest.raises(ValueError, match="quantile"):
            num_needed(p)


@given(st.floats(0.01, 0.995))
def test_minimum_is_the_binomials(p):
    n = num_needed(p)

    def exists(size: int) -> bool:
        binomial = scipy_stats.binom(size, p)
        return binomial.pmf(0) <= 0.025 * (1 + 1e-9) and binomial.pmf(size) <= 0.025 * (1 + 1e-9)

    assert exists(n)
    assert n == 1 or not exists(n - 1)


def test_p95_has_no_interval_at_71_and_its_maximum_at_72():
    short, enough = percentile(np.arange(71.0), 0.95), percentile(np.arange(72.0), 0.95)
    assert short.interval.reason == "n too small: 72 needed for P95"
    assert short.value == pytest.approx(0.95 * 70)
    assert enough.interval.high == 71.0
    assert enough.interval.method == "order statistics"


def test_median_of_ten_by_hand():
    # Bin(10, ½): P(≤ 1) = 11/1024 = .0107 ≤ .025 < P(≤ 2) = .0547, so l = 2 and by symmetry u = 9.
    got = percentile([10, 20, 30, 40, 50, 60, 70, 80, 90, 100], 0.5)
    assert (got.value, got.interval.low, got.interval.high) == (55.0, 20.0, 90.0)


@given(st.integers(72, 400), st.sampled_from([0.5, 0.75, 0.9, 0.95]))
def test_ranks_cover_what_they_claim(n, p):
    interval = percentile(np.arange(1.0, n + 1), p).interval
    low, high = int(interval.low), int(interval.high)
    below, above = scipy_stats.binom.cdf(low - 1, n, p), scipy_stats.binom.sf(high - 1, n, p)
    assert below <= 0.025 + 1e-12
    assert above <= 0.025 + 1e-12
    # One rank further in on either side would claim too much.
    assert scipy_stats.binom.cdf(low, n, p) > 0.025
    assert scipy_stats.binom.sf(high - 2, n, p) > 0.025


def test_attempts_that_are_alike_have_the_ranks_of_their_samples():
    # 20 samples of 5 equal attempts: worth 20, shrunk by (1.960/2.093)² = .8769 for 20 samples, so 17. Of 17 values the
    # median lies between the 5th (Bin(17, ½) ≤ 4: .0245) and the 13th; of 100, ⌊5·100/17⌋ = 29 and ⌈13·100/17⌉ = 77.
    values, samples = np.repeat(np.arange(20.0), 5), np.repeat(np.arange(20), 5)
    got = percentile(values, 0.5, samples=samples)
    assert got.num_effective == pytest.approx(20 * 0.8769, abs=0.01)
    assert (got.value, got.interval.low, got.interval.high) == (9.5, 5.0, 15.0)
    assert (percentile(values, 0.5).interval.low, percentile(values, 0.5).interval.high) == (7.0, 12.0)


def test_single_attempts_are_independent():
    values = np.random.default_rng(0).normal(size=100)
    alone = percentile(values, 0.95)
    assert percentile(values, 0.95, samples=np.arange(100)) == alone
    assert alone.num_effective == 100


def test_attempts_that_differ_as_much_as_samples_are_worth_nearly_all():
    # Every sample has both values once: the share up to the median is ½ of each, whatever samples are drawn.
    got = percentile(np.tile([1.0, 2.0], 50), 0.5, samples=np.repeat(np.arange(50), 2))
    assert got.num_effective == pytest.approx(100 * (1.959964 / 2.009575) ** 2)


def test_unequal_samples_of_one_value_count_as_kish_has_it():
    # (10 + 1 + 1)² / (100 + 1 + 1) = 1.41, times (1.960/4.303)² for three samples: less than one, so one.
    assert percentile([1.0] * 12, 0.5, samples=[0] * 10 + [1, 2]).num_effective == 1.0
    # 60 samples, half of them with 3 attempts: 120²/(30·9 + 30) = 48.
    samples = np.concatenate((np.arange(60), np.repeat(np.arange(30), 2)))
    assert percentile(np.ones(120), 0.5, samples=samples).num_effective == pytest.approx(
        48 * (1.959964 / 2.000995) ** 2
    )


def test_alike_attempts_without_interval_say_why():
    many = percentile(np.repeat(np.arange(40.0), 10), 0.95, samples=np.repeat(np.arange(40), 10))
    assert many.interval.reason == "n too small: 72 needed for P95; attempts at a sample are alike, all are worth 37"
    few = percentile(np.arange(400.0), 0.95, samples=np.repeat(np.arange(20), 20))
    assert few.interval.reason == "n too small: 36 samples needed for P95, 20 here"
    one = percentile(np.arange(400.0), 0.5, samples=np.zeros(400, dtype=int))
    assert (one.num_effective, one.interval.reason) == (1.0, "n too small: 3 samples needed for P50, 1 here")


@pytest.mark.parametrize(("p", "variance_between"), [(0.5, 0.5), (0.5, 0.9), (0.95, 0.5)])
def test_percentiles_of_attempts_that_are_alike_are_covered(p, variance_between):
    """Of 400 seeded data sets of 100 samples with 4 attempts, 93 % or more; taken as independent far fewer."""
    generator, held, ignored = np.random.default_rng(5), 0, 0
    samples, truth = np.repeat(np.arange(100), 4), scipy_stats.norm.ppf(p)
    for _ in range(400):
        common = generator.normal(size=100)[samples]
        values = sqrt(variance_between) * common + sqrt(1 - variance_between) * generator.normal(size=400)
        interval, alone = percentile(values, p, samples=samples).interval, percentile(values, p).interval
        held += interval.low <= truth <= interval.high
        ignored += alone.low <= truth <= alone.high
    assert held / 400 >= 0.93
    assert ignored / 400 < 0.92


def test_bands_of_attempts_that_are_alike_are_covered():
    generator, held, ignored = np.random.default_rng(6), 0, 0
    samples, steps = np.repeat(np.arange(50), 8), np.arange(401) / 400
    for _ in range(200):
        values = (generator.normal(size=50)[samples] + generator.normal(size=400)) / sqrt(2)
        places = scipy_stats.norm.cdf(np.sort(values))
        off = max((steps[1:] - places).max(), (places - steps[:-1]).max())
        held += off <= distribution(values, samples=samples).half_width
        ignored += off <= distribution(values).half_width
    assert held / 200 >= 0.95
    assert ignored / 200 < 0.8


def test_percentile_names_and_missing():
    assert percentile([1.0, nan], 0.999).interval.reason == "n too small: 3688 needed for P99.9"
    assert percentile([1.0, nan], 0.07).interval.reason == "n too small: 51 needed for P7"
    empty = percentile([None, inf], 0.5)
    assert (empty.value, empty.num, empty.num_missing, empty.interval.reason) == (None, 0, 2, "nothing scored")


def test_the_caller_s_array_is_not_sorted():
    values = np.array([3.0, 1.0, 2.0])
    percentile(values, 0.5)
    assert values.tolist() == [3.0, 1.0, 2.0]


def test_distribution_by_hand():
    got = distribution([1.0, 3.0, 3.0, 9.0, nan])
    assert got.x.tolist() == [1.0, 3.0, 9.0]
    assert got.at_most.tolist() == [0.25, 0.75, 1.0]
    assert got.above.tolist() == [0.75, 0.25, 0.0]
    assert (got.num, got.num_missing) == (4, 1)
    # √(ln 40 / 8) = √(3.688879/8) = .679050
    assert got.half_width == pytest.approx(0.679050, abs=1e-6)
    low, high = got.band(got.above)
    assert low == pytest.approx([0.75 - 0.679050, 0.0, 0.0], abs=1e-6)
    assert high == pytest.approx([1.0, 0.25 + 0.679050, 0.679050], abs=1e-6)


def test_band_width():
    assert dkw_half_width(1000) == pytest.approx(sqrt(log(40) / 2000))
    assert dkw_half_width(0) is None
    assert distribution([]).half_width is None
    assert distribution([]).x.size == 0


def test_tail_share_by_hand():
    # Above 10 calls: 20 and 70 of 100 in all, two of five rollouts.
    got = tail_share([2, 3, 5, 20, 70, nan], [2, 3, 5, 20, 70, 50], threshold=10)
    assert (got.num, got.num_tail, got.num_missing) == (5, 2, 1)
    assert (got.rollout_share, got.total, got.tail_total, got.total_share) == (0.4, 100.0, 90.0, 0.9)
    assert got.reason is None


def test_tail_is_strictly_above():
    assert tail_share([10, 11], [1, 3], threshold=10).total_share == 0.75


@pytest.mark.parametrize(
    ("measure", "cost", "reason"),
    [
        ([], [], "nothing scored"),
        ([5.0, 20.0], [0, 0], "the total is zero"),
        ([5.0, 20.0], [1.5e308, 1.5e308], "the values are too large to average"),
        ([5.0, 20.0], [-1, 2], "some costs are negative: parts of the total are no shares"),
    ],
)
def test_no_tail_share_and_why(measure, cost, reason):
    got = tail_share(measure, cost, threshold=10)
    assert (got.total_share, got.reason) == (None, reason)


def test_tail_share_needs_pairs():
    with pytest.raises(ValueError, match="one value each"):
        tail_share([1.0], [1.0, 2.0], threshold=0)
