"""How far apart two sets are: against scipy and by hand, and what chance alone gives."""

import numpy as np
import pytest
from scipy import stats

from queries.apart import (
    MAX_UNITS,
    NUM_DRAWS,
    Apart,
    Sums,
    apart,
    curve_sums,
    decile_shares,
    mix_sums,
    points,
    stability_index,
    weighted_median,
)
from queries.shares_apart import share_differences
from queries.stats import Floats


def gap(first: Floats, second: Floats, *, seed: int = 1, is_exchangeable: bool = True) -> Apart:
    """The distance of two sets of single values."""
    at = points(np.concatenate((first, second)), len(first) + len(second))
    sides = (curve_sums(each, np.ones(each.size), np.arange(each.size), each.size, at) for each in (first, second))
    return apart(*sides, is_curve=True, is_exchangeable=is_exchangeable, seed=seed)


def test_the_gap_is_that_of_scipy_ties_and_all() -> None:
    generator = np.random.default_rng(3)
    for first, second in (
        (generator.normal(size=40), generator.normal(0.5, size=60)),
        (generator.poisson(2, 50).astype(float), generator.poisson(3, 30).astype(float)),
    ):
        found = gap(first, second)
        assert found.value == pytest.approx(stats.ks_2samp(first, second).statistic)
        assert 0 < found.chance_mean < found.chance_p95 < 1


def test_the_p_value_is_near_the_exact_one() -> None:
    generator = np.random.default_rng(5)
    first, second = generator.normal(size=30), generator.normal(0.6, size=40)
    exact = stats.ks_2samp(first, second, method="exact").pvalue
    assert gap(first, second).p_value == pytest.approx(exact, abs=0.02)


def test_attempts_share_the_weight_of_their_sample() -> None:
    # Sample 0: values 1 and 3, half each; sample 1: 3. At most 1: (1/2 + 0) / 2.
    sums = curve_sums(
        np.array([1.0, 3.0, 3.0]), np.array([0.5, 0.5, 1.0]), np.array([0, 0, 1]), 2, np.array([1.0, 2.0, 3.0])
    )
    assert sums.shares.tolist() == [0.25, 0.25]
    assert sums.totals.tolist() == [1.0, 1.0]


def test_total_variation_is_what_would_have_to_move() -> None:
    first = Sums(np.array([[1.0, 0, 0]] * 5 + [[0, 1.0, 0]] * 5), np.ones(10))
    second = Sums(np.array([[1.0, 0, 0]] * 2 + [[0, 0, 1.0]] * 8), np.ones(10))
    found = apart(first, second, is_curve=False, is_exchangeable=True, seed=1)
    assert found.value == pytest.approx((0.3 + 0.5 + 0.8) / 2)
    assert 1 / (1 + NUM_DRAWS) <= found.p_value <= 0.01
    assert found.low < found.value


def test_alike_sets_are_apart_by_what_chance_gives() -> None:
    generator = np.random.default_rng(7)
    found = gap(generator.normal(size=100), generator.normal(size=100))
    assert found.value < found.chance_p95
    assert found.low == 0
    assert found.p_value > 0.05


@pytest.mark.parametrize("is_exchangeable", [True, False])
def test_halves_of_one_set_claim_nothing_at_the_nominal_rate(*, is_exchangeable: bool) -> None:
    generator = np.random.default_rng(11)
    hits = 0
    for seed in range(120):
        # Attempts of unequal number: 1 to 3 on one side, 1 on the other.
        num, spread = 30, generator.normal(size=60)
        attempts = generator.integers(1, 4, 60) if not is_exchangeable else np.full(60, 2)
        attempts[num:] = 1 if not is_exchangeable else 2
        samples = np.repeat(np.arange(60), attempts)
        values = spread[samples] + generator.normal(size=samples.size)
        weights, at = 1 / attempts[samples], points(values, 60)
        sides = [
            curve_sums(values[own], weights[own], samples[own] % num, num, at)
            for own in (samples < num, samples >= num)
        ]
        hits += apart(*sides, is_curve=True, is_exchangeable=is_exchangeable, seed=seed).p_value <= 0.05
    assert hits <= 14  # P(Bin(120, .05) > 14) < .002


def test_too_few_samples_say_so() -> None:
    assert gap(np.array([1.0]), np.array([2.0, 3.0])).reason == "a selection has fewer than two samples"
    assert gap(np.zeros(3), np.ones(3), is_exchangeable=False).reason is not None
    nothing = Sums(np.zeros((0, 1)), np.zeros(0))
    assert apart(nothing, nothing, is_curve=True, is_exchangeable=True, seed=1).reason is not None


def test_the_same_seed_draws_the_same() -> None:
    first, second = np.arange(20.0), np.arange(10.0, 35.0)
    assert gap(first, second, seed=4) == gap(first, second, seed=4)


def test_very_many_values_are_compared_at_points_spread_in_rank() -> None:
    at = points(np.arange(100_000.0), 2 * MAX_UNITS)
    assert at.size == 100
    assert (at[0], at[-1]) == (0, 99_999)


def test_the_stability_index_by_hand() -> None:
    found = stability_index([0.5, 0.5], [0.25, 0.75], 100, 100)
    assert found == pytest.approx(-0.25 * np.log(0.5) + 0.25 * np.log(1.5))
    assert stability_index([1.0, 0.0], [0.0, 1.0], 10, 10) == pytest.approx(2 * 0.95 * np.log(20))


def test_bins_are_the_first_set_s_deciles() -> None:
    tens = {"values": np.arange(1.0, 101), "weights": np.ones(100)}
    first, second = decile_shares(tens, {"values": np.array([5.0, 10, 11, 500]), "weights": np.ones(4)})
    assert first.tolist() == pytest.approx([0.1] * 10)
    assert second.tolist() == [0.5, 0.25, 0, 0, 0, 0, 0, 0, 0, 0.25]


def test_the_median_weighs_samples_alike() -> None:
    assert weighted_median(np.array([1.0, 2, 9]), np.array([0.25, 0.25, 0.5])) == 5.5
    assert weighted_median(np.array([3.0, 1, 2]), np.ones(3)) == 2


def test_shares_of_single_attempts_have_agresti_and_caffo_s_interval() -> None:
    # 2 of 10 against 7 of 10: (8/12 − 3/12) ± t·√((8/12·4/12 + 3/12·9/12)/12), all but for n + 1 in place of n + 2.
    codes = [np.array([0] * num + [1] * (10 - num)) for num in (2, 7)]
    sides = [mix_sums(each, np.ones(10), np.arange(10), 10, 2) for each in codes]
    found = share_differences(sides[0], sides[1])
    assert found["difference"].tolist() == pytest.approx([0.5, -0.5])
    low, high = found["ci_low"][0], found["ci_high"][0]
    assert (low + high) / 2 == pytest.approx(5 / 12)
    error = np.sqrt((8 / 12 * 4 / 12 + 3 / 12 * 9 / 12) / 12)
    assert (high - low) / 2 == pytest.approx(stats.t.ppf(0.975, 22) * error, rel=0.12)
    assert 0.02 < found["p_value"][0] < 0.05


def test_a_value_that_nobody_has_is_not_certain_to_be_nowhere() -> None:
    sides = [mix_sums(np.zeros(num, dtype=np.intp), np.ones(num), np.arange(num), num, 2) for num in (20, 30)]
    found = share_differences(sides[0], sides[1])
    assert found["difference"].tolist() == [0, 0]
    assert found["ci_low"][1] < 0 < found["ci_high"][1]
    alone = share_differences(sides[0], mix_sums(np.zeros(1, dtype=np.intp), np.ones(1), np.arange(1), 1, 2))
    assert np.isnan(alone["ci_low"]).all()
