"""Means, shares and their intervals, against arithmetic done by hand and against scipy."""

import subprocess
import sys
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from math import inf, nan, sqrt
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats as scipy_stats

from queries.stats import (
    Interval,
    cluster_codes,
    clustered_mean,
    factorize,
    sample_mean,
    scored,
    seed_of,
    share,
    t_intervals,
    wilson,
)

rewards = arrays(np.float64, st.integers(2, 40), elements=st.floats(-1e6, 1e6, width=32))


@dataclass(frozen=True)
class Choice:
    splits: tuple[str, ...] | None
    since: datetime | None = None


def test_interval_says_why_it_is_none():
    none = Interval.none("t", "one value has no spread")
    assert (none.low, none.high, none.method, none.reason) == (None, None, "t", "one value has no spread")


@pytest.mark.parametrize(
    "bounds", [(None, None, "t"), (0.0, None, "t", "half"), (1.0, 0.0, "t"), (nan, nan, "t"), (0.0, 1.0, "t", "why")]
)
def test_interval_refuses_what_is_neither(bounds):
    with pytest.raises(ValueError, match="interval"):
        Interval(*bounds)


def test_mean_by_hand():
    # mean 0.5; deviations −.3, −.1, .1, .3: squares sum to .2, s² = .2/3, SE = √(.2/3/4) = .12909944
    # t(.975, 3) = 3.18244631, half width = .41085205
    got = sample_mean([0.2, 0.4, 0.6, 0.8])
    assert got.value == pytest.approx(0.5)
    assert got.standard_error == pytest.approx(sqrt(0.2 / 12))
    assert got.interval.low == pytest.approx(0.5 - 0.41085205, abs=1e-7)
    assert got.interval.high == pytest.approx(0.5 + 0.41085205, abs=1e-7)
    assert (got.num, got.num_missing, got.interval.method) == (4, 0, "t")


def test_not_scored_is_dropped_and_counted_never_averaged():
    got = sample_mean([0.2, None, 0.4, nan, 0.6, inf, 0.8, -inf])
    assert (got.num, got.num_missing) == (4, 4)
    assert got == replace(sample_mean([0.2, 0.4, 0.6, 0.8]), num_missing=4)
    assert scored([inf, 0.0, None])[0].tolist() == [0.0]


@pytest.mark.parametrize(
    ("values", "value", "reason"),
    [
        ([], None, "nothing scored"),
        ([nan, inf], None, "nothing scored"),
        ([0.7], 0.7, "one value has no spread"),
        ([0.1, 0.1, (0.1 + 0.1 + 0.1) / 3], 0.1, "all values are equal: their spread says nothing about the next one"),
        ([1e308, 1e308, 1.5e308], None, "the values are too large to average"),
    ],
)
def test_no_mean_interval_and_why(values, value, reason):
    got = sample_mean(values)
    assert (got.value, got.interval.low, got.interval.reason) == (value, None, reason)


@pytest.mark.filterwarnings("ignore:Precision loss:RuntimeWarning")  # scipy's, of values that hardly vary
@given(rewards)
def test_mean_interval_is_scipys(values):
    got = sample_mean(values)
    if got.interval.reason is None:
        low, high = scipy_stats.ttest_1samp(values, 0.0).confidence_interval(0.95)
        assert (got.interval.low, got.interval.high) == pytest.approx((low, high), rel=1e-6, abs=1e-6)
    else:
        assert np.ptp(values) <= 1e-12 * np.abs(values).max()


def test_values_of_another_shape_are_refused():
    with pytest.raises(ValueError, match="one value per sample"):
        sample_mean([[0.1, 0.2], [0.3, 0.4]])


def test_clustered_mean_by_hand():
    # mean 0.5; deviations −.5, −.3, .1, .3, .4; by cluster a: −.8, b: .4, c: .4; squares .64+.16+.16 = .96
    # SE = √(3/2·.96)/5 = 1.2/5 = .24; df = 2, t(.975, 2) = 4.30265273, half width = 1.03263666
    got = clustered_mean([0.0, 0.2, 0.6, 0.8, 0.9], ["a", "a", "b", "b", "c"])
    assert got.value == pytest.approx(0.5)
    assert got.standard_error == pytest.approx(0.24)
    assert got.interval.high == pytest.approx(0.5 + 0.24 * 4.30265273)


@given(rewards)
def test_clusters_of_one_give_the_plain_interval(values):
    plain, clustered = sample_mean(values), clustered_mean(values, np.arange(values.size))
    assert clustered.value == plain.value
    if plain.standard_error is not None and clustered.standard_error is not None:
        assert clustered.standard_error == pytest.approx(plain.standard_error, rel=1e-9)
        assert clustered.interval.high == pytest.approx(plain.interval.high, rel=1e-9, abs=1e-9)


def test_duplicated_rows_in_clusters_gain_no_certainty():
    # Each sample four times over: 1/√n would halve the error; clustered by sample it stays that of five samples.
    values, once = np.repeat([0.1, 0.3, 0.4, 0.8, 0.9], 4), sample_mean([0.1, 0.3, 0.4, 0.8, 0.9])
    clustered = clustered_mean(values, np.repeat(np.arange(5), 4))
    assert clustered.standard_error == pytest.approx(once.standard_error)
    assert clustered.interval.low == pytest.approx(once.interval.low)


@pytest.mark.parametrize(
    ("values", "clusters", "reason"),
    [
        ([0.1, 0.9], ["a", "a"], "one cluster has no spread"),
        ([0.1, nan], ["a", "b"], "one cluster has no spread"),
        ([nan], ["a"], "nothing scored"),
        ([0.5, 0.5], ["a", "b"], "all values are equal: their spread says nothing about the next one"),
        ([0.1, 0.9, 0.1, 0.9], [1, 1, 2, 2], "the clusters do not differ: their spread cannot be estimated"),
    ],
)
def test_no_clustered_interval_and_why(values, clusters, reason):
    assert clustered_mean(values, clusters).interval.reason == reason


def test_unknown_clusters_stand_alone():
    assert cluster_codes(["x", None, "x", None]).tolist() == [0, 1, 0, 2]
    assert cluster_codes([3.0, nan, 3.0, nan]).tolist() == [0, 1, 0, 2]
    assert cluster_codes([7, 5, 7]).tolist() == [1, 0, 1]
    with pytest.raises(ValueError, match="one cluster"):
        clustered_mean([0.1, 0.2], ["a"])


def test_wilson_by_hand():
    # 8 of 10, z = 1.959964, z² = 3.841459: centre (8 + 1.920729)/13.841459 = .716739,
    # half 1.959964/13.841459·√(8·2/10 + .960365) = .141600·1.600114 = .226577
    got = share(8, 10)
    assert (got.value, got.num) == (0.8, 10)
    assert (got.interval.low, got.interval.high) == pytest.approx((0.490162, 0.943318), abs=1e-5)


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_is_scipys_and_holds_its_share(counts):
    got, expected = share(*counts), scipy_stats.binomtest(*counts).proportion_ci(0.95, method="wilson")
    assert (got.interval.low, got.interval.high) == pytest.approx((expected.low, expected.high), abs=1e-12)
    assert 0 <= got.interval.low <= got.value <= got.interval.high <= 1


def test_share_of_nothing_and_of_nonsense():
    assert share(0, 0).value is None
    assert share(0, 0).interval.reason == "nothing to take a share of"
    assert share(0, 20).interval.low == 0.0
    assert share(0, 20).interval.high == pytest.approx(3.841459 / 23.841459, abs=1e-6)
    with pytest.raises(ValueError, match="no share"):
        share(3, 2)


def test_wilson_of_many_shares():
    low, high = wilson([8, 0, 0], [10, 20, 0])
    assert low[:2] == pytest.approx([share(8, 10).interval.low, 0.0])
    assert high[:2] == pytest.approx([share(8, 10).interval.high, share(0, 20).interval.high])
    assert np.isnan([low[2], high[2]]).all()


def test_intervals_from_aggregates():
    low, high = t_intervals([0.5, 0.5, 0.5, nan], [sqrt(0.2 / 3), 0.0, nan, nan], [4, 9, 1, 0])
    assert (low[0], high[0]) == pytest.approx((0.5 - 0.41085205, 0.5 + 0.41085205), abs=1e-7)
    assert np.isnan(low[1:]).all()
    assert np.isnan(high[1:]).all()


@given(st.lists(st.integers(-(2**62), 2**62) | st.integers(-50, 50), max_size=30))
def test_factorize_integers_is_unique(labels):
    names, codes = factorize(np.array(labels, dtype=np.int64))
    assert names.tolist() == sorted(set(labels))
    assert names[codes].tolist() == labels


def test_seed_is_the_same_in_another_process_and_for_ever():
    parts = ("compare_samples", {"run_ids": ["zava"], "split": None}, 40, True)
    again = f"from queries.stats import seed_of; print(seed_of(*{parts!r}))"
    told = subprocess.run(
        [sys.executable, "-c", again], capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2]
    )
    # The literal pins links that were shared: with another seed they would show other intervals.
    assert seed_of(*parts) == int(told.stdout) == 3743427489946737029


def test_seed_tells_filters_apart():
    since = datetime(2026, 1, 1, tzinfo=UTC)
    seeds = [
        seed_of("q", "ab", "c"),
        seed_of("q", "a", "bc"),
        seed_of("q", None),
        seed_of("q", "None"),
        seed_of("q", 0),
        seed_of("q", Choice(None)),
        seed_of("q", Choice(())),
        seed_of("q", Choice(("valid",))),
        seed_of("q", Choice(("valid",), since)),
    ]
    assert len(set(seeds)) == len(seeds)
    assert all(0 <= seed < 2**63 for seed in seeds)


def test_seed_ignores_order_where_order_means_nothing():
    assert seed_of({"a": 1, "b": 2}) == seed_of({"b": 2, "a": 1})
    assert seed_of({"x", "y"}) == seed_of(frozenset(["y", "x"]))
    assert seed_of(("a", "b")) == seed_of(["a", "b"]) != seed_of(["b", "a"])
    assert seed_of(np.int64(3), np.array([1, 2])) == seed_of(3, [1, 2])
    with pytest.raises(TypeError, match="object"):
        seed_of(object())
