"""Bootstrap and sign flip: exact where they can be, equal to scipy's where scipy has them, and the same every time."""

from math import nan
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from queries import resampling
from queries.resampling import bootstrap, bootstrap_mean, mean_of, resample, sign_flip, sign_flips

SKEWED = np.random.default_rng(5).lognormal(size=60)


def columns(values):
    return np.column_stack((values, np.ones(len(values))))


def test_same_seed_same_interval_and_other_seed_another():
    assert bootstrap_mean(SKEWED, seed=1) == bootstrap_mean(SKEWED, seed=1)
    assert bootstrap_mean(SKEWED, seed=1) != bootstrap_mean(SKEWED, seed=2)


def test_draws_do_not_change_with_the_release():
    # Pinned, as shared links rely on it: sums of three draws from 0, 1 and 3.
    drawn = resample(columns([0.0, 1.0, 3.0]), lambda sums: sums[..., 0], seed=7, num_resamples=8)
    assert drawn.tolist() == [7.0, 7.0, 3.0, 3.0, 4.0, 6.0, 4.0, 1.0]


def test_resampled_means_have_the_moments_of_the_bootstrap():
    # Exactly: mean x̄ and variance Σ(x−x̄)²/n². For 0..9: 4.5 and 82.5/100 = .825.
    drawn = resample(columns(np.arange(10.0)), mean_of, seed=3, num_resamples=20_000)
    assert drawn.mean() == pytest.approx(4.5, abs=0.02)
    assert drawn.var() == pytest.approx(0.825, rel=0.03)


def test_percentile_interval_reads_the_resamples():
    drawn = resample(columns(SKEWED), mean_of, seed=11, num_resamples=2_000)
    got = bootstrap_mean(SKEWED, seed=11)
    assert (got.low, got.high) == tuple(np.quantile(drawn, [0.025, 0.975]))
    assert got.method == "percentile bootstrap"


@pytest.mark.parametrize("seed", range(5))
def test_bca_is_scipys_on_the_same_resamples(seed):
    drawn = resample(columns(SKEWED), mean_of, seed=seed, num_resamples=2_000)
    expected = scipy_stats.bootstrap(
        (SKEWED,),
        np.mean,
        n_resamples=0,
        method="BCa",
        bootstrap_result=SimpleNamespace(bootstrap_distribution=drawn),
    ).confidence_interval
    got = bootstrap_mean(SKEWED, seed=seed, method="bca")
    assert (got.low, got.high) == pytest.approx((expected.low, expected.high), rel=1e-9)
    assert got.method == "BCa bootstrap"


def test_blocks_only_bound_the_memory(monkeypatch):
    whole = bootstrap_mean(SKEWED, seed=1)
    monkeypatch.setattr(resampling, "CELLS", 600)
    assert bootstrap_mean(SKEWED, seed=1) == whole


def test_clusters_are_drawn_whole():
    # Every sample four times: as samples the interval is half as wide as it may be, as clusters it is as of 60.
    repeated, clusters = np.repeat(SKEWED, 4), np.repeat(np.arange(60), 4)
    once = bootstrap_mean(SKEWED, seed=1)
    clustered = bootstrap_mean(repeated, seed=1, clusters=clusters)
    assert (clustered.low, clustered.high) == pytest.approx((once.low, once.high))
    assert clustered.method == "percentile cluster bootstrap"


def test_missing_values_leave_their_cluster():
    values = np.append(SKEWED, [nan, np.inf])
    assert bootstrap_mean(values, seed=1) == bootstrap_mean(SKEWED, seed=1)
    assert bootstrap_mean(values, seed=1, clusters=np.arange(62)).low == bootstrap_mean(SKEWED, seed=1).low


@pytest.mark.parametrize(
    ("values", "clusters", "reason"),
    [
        ([nan], None, "nothing scored"),
        ([1.0, 2.0, 3.0, 4.0, 5.0], None, "n too small for a bootstrap: 6 needed"),
        ([1.0] * 30, None, "all resamples agree: the values say nothing about the next one"),
        (np.arange(38.0), np.repeat(np.arange(19), 2), "20 clusters needed for a bootstrap, 19 here"),
    ],
)
def test_no_bootstrap_interval_and_why(values, clusters, reason):
    got = bootstrap_mean(values, seed=1, clusters=clusters)
    assert (got.low, got.high, got.reason) == (None, None, reason)


def test_a_zero_denominator_is_said():
    got = bootstrap(
        np.array([[1.0, 1.0]] + [[1.0, 0.0]] * 9), lambda sums: sums[..., 0] / sums[..., 1], seed=1, num_resamples=500
    )
    # A draw misses the one non-zero row with probability .9¹⁰ = .349: about 174 of 500.
    assert got.reason is not None
    count, rest = got.reason.split(" ", 1)
    assert rest == "of 500 resamples have no value: a denominator is zero"
    assert 140 < int(count) < 210


def test_sign_flip_by_hand():
    # Sums over the eight patterns of ±1 ±2 ±4: ±7, ±5, ±3, ±1; |sum| ≥ 7 in 2 of 8.
    got = sign_flip([1.0, 2.0, 4.0], seed=0)
    assert (got.value, got.num, got.method) == (0.25, 3, "sign flip, exact")
    # −1 + 2 + 4 = 5: four of the eight are as extreme.
    assert sign_flip([-1.0, 2.0, 4.0], seed=0).value == 0.5


def test_ties_by_rounding_count_as_extreme():
    # .1 + .2 − .3 differs from 0 only by rounding; every pattern is at least as extreme as a sum of zero.
    assert sign_flip([0.1, 0.2, -0.3], seed=0).value == 1.0
    assert sign_flip([0.3, 0.2, 0.1, 0.1, 0.2, 0.3], seed=0).value == 2 / 64


@given(st.lists(st.integers(-20, 20), min_size=2, max_size=9))
def test_sign_flip_is_scipys_exact_one(differences):
    expected = scipy_stats.permutation_test(
        (np.array(differences, dtype=float),), np.sum, permutation_type="samples", n_resamples=np.inf, vectorized=False
    )
    assert sign_flip(differences, seed=0).value == pytest.approx(expected.pvalue)


def test_zeros_change_nothing_but_are_counted():
    assert sign_flip([1.0, 2.0, 4.0] + [0.0] * 500, seed=0).value == 0.25
    assert sign_flip([0.0] * 5, seed=0).value == 1.0
    assert sign_flip([nan, 1.0], seed=0).num == 1
    assert sign_flip([nan], seed=0).value is None
    assert sign_flip([], seed=0).reason == "nothing scored"


def test_random_patterns_come_close_to_the_exact_value():
    differences = np.random.default_rng(2).normal(0.4, 1.0, size=16)
    exact = sign_flip(differences, seed=0)
    assert exact.method == "sign flip, exact"
    # Two tiny differences take it over the limit and cannot move the p-value by much.
    drawn = sign_flip(np.append(differences, [1e-9, -1e-9]), seed=0)
    assert drawn.method == "sign flip, 9999 draws"
    assert drawn.value == pytest.approx(exact.value, abs=4 * np.sqrt(exact.value * (1 - exact.value) / 9_999))


def test_p_is_never_zero_and_seeded():
    sure = np.full(40, 1.0)
    assert sign_flip(sure, seed=0).value == 1 / 10_000
    noise = np.random.default_rng(1).normal(size=50)
    assert sign_flip(noise, seed=4) == sign_flip(noise, seed=4)


def test_signs_of_whole_clusters_flip():
    # Cluster sums 3 and 4: |±3 ±4| ≥ 7 in 2 of 4, however many samples are in them.
    assert sign_flip([1.0, 2.0, 3.0, 1.0], seed=0, clusters=["a", "a", "b", "b"]).value == 0.5


def test_sign_flips_of_several_measures_are_those_of_each():
    generator = np.random.default_rng(3)
    few, many = np.full(40, np.nan), generator.normal(0.2, 1.0, 40)
    few[:3] = [1.0, 2.0, 4.0]
    columns = np.column_stack((few, many, np.full(40, np.nan), np.full(40, 1e308)))
    got = sign_flips(columns, seed=7)
    assert [each.value for each in got[:2]] == [0.25, sign_flip(many, seed=7).value]
    assert got[2] == sign_flip(np.full(40, np.nan), seed=7)
    assert (got[3].value, got[3].reason) == (None, "the values are too large to average")
