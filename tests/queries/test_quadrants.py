"""Dead-bands, quadrants and null shares: by hand, by enumeration of every split, and by simulation."""

from itertools import combinations
from math import inf, nan, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from queries import quadrants
from queries.quadrants import (
    BETTER_NOT_MORE,
    QUADRANTS,
    Attempts,
    dead_band,
    joint_share,
    null_share,
    quadrant,
    quadrant_codes,
    quadrant_shares,
)
from queries.stats import share


def noisy_arm(generator, num_samples, attempts):
    """An arm whose attempts differ by chance alone around a level per sample."""
    samples = np.repeat(np.arange(num_samples), attempts)
    level = np.random.default_rng(0).normal(size=num_samples)[samples]
    size = samples.size
    return Attempts(samples, level + generator.normal(0, 0.5, size), 10 * level + generator.normal(0, 2.0, size))


@pytest.mark.parametrize(
    ("reward", "cost", "name"),
    [
        (0.2, -2, "better_fewer"),
        (0.2, 0, "better_same"),
        (0.2, 2, "better_more"),
        (0.0, -2, "same_fewer"),
        (0.0, 0, "same_same"),
        (0.0, 2, "same_more"),
        (-0.2, -2, "worse_fewer"),
        (-0.2, 0, "worse_same"),
        (-0.2, 2, "worse_more"),
        (nan, 1, None),
        (1, inf, None),
    ],
)
def test_nine_quadrants(reward, cost, name):
    assert quadrant(reward, cost, 0.1, 1.0) == name


def test_the_edge_of_a_dead_band_is_same():
    assert quadrant(0.1, -1.0, 0.1, 1.0) == "same_same"
    assert quadrant(0.1001, -1.001, 0.1, 1.0) == "better_fewer"
    # The means of the same three numbers in two orders differ by 5e-17: no difference, even without a dead-band.
    assert quadrant((0.1 + 0.2 + 0.3) / 3 - (0.3 + 0.2 + 0.1) / 3, 0.0) == "same_same"
    with pytest.raises(ValueError, match="dead-band"):
        quadrant(0.0, 0.0, -0.1, 0.0)
    with pytest.raises(ValueError, match="dead-band"):
        quadrant(0.0, 0.0, 0.0, nan)


deltas = st.floats(-5, 5) | st.just(nan)


@given(st.lists(st.tuples(deltas, deltas), max_size=30), st.floats(0, 2), st.floats(0, 2))
def test_swapping_the_arms_mirrors_the_quadrants(pairs, eps_reward, eps_cost):
    delta = np.array(pairs).reshape(-1, 2)
    codes = quadrant_codes(delta[:, 0], delta[:, 1], eps_reward, eps_cost)
    mirrored = quadrant_codes(-delta[:, 0], -delta[:, 1], eps_reward, eps_cost)
    assert np.where(codes < 0, -1, 8 - codes).tolist() == mirrored.tolist()
    assert (codes < 0).tolist() == np.isnan(delta).any(axis=1).tolist()


def test_dead_band_by_hand():
    # Baseline a: 1, 3 (s² = 2), b: 5, 5 (s² = 0); candidate a: 2 (single), b: 4, 6, 8 (s² = 4); c is not paired.
    # Baseline: a 2·(1/2 + 1/1) = 3, b 0: mean 1.5. Candidate: b 4·(1/2 + 1/3) = 10/3. Width √((1.5 + 10/3)/2).
    # Unscaled halves: a 2·(1/1 + 1/1) = 4, b 0: mean 2; b 4·(1/1 + 1/2) = 6: √((2 + 6)/2) = 2.
    got = dead_band([1, 3, 5, 5, 9, 7], list("aabbcc"), [2, 4, 6, 8, nan], list("abbbb"))
    assert got.width == pytest.approx(sqrt((1.5 + 10 / 3) / 2))
    assert got.half_sd == pytest.approx(2.0)
    assert (got.num_samples, got.num_repeated, got.note) == (2, 2, None)


@given(st.lists(st.floats(-10, 10, width=16), min_size=2, max_size=7))
def test_half_sd_is_exact_over_all_splits(values):
    low = len(values) // 2
    squares = []
    for chosen in combinations(range(len(values)), low):
        rest = [value for index, value in enumerate(values) if index not in chosen]
        squares.append((np.mean([values[index] for index in chosen]) - np.mean(rest)) ** 2)
    label = ["a"] * len(values)
    got = dead_band(values, label, values, label)
    assert got.half_sd == pytest.approx(sqrt(np.mean(squares)), abs=1e-6)
    # Scaled to two whole arms of K attempts each: √(2/K over 1/a + 1/b).
    high = len(values) - low
    assert got.width == pytest.approx(got.half_sd * sqrt((2 / len(values)) / (1 / low + 1 / high)), abs=1e-6)


@pytest.mark.parametrize(("attempts", "others"), [(2, 2), (4, 4), (5, 3), (4, 1)])
def test_dead_band_is_the_sd_of_differences_between_equal_arms(attempts, others):
    generator = np.random.default_rng(9)
    base, cand = noisy_arm(generator, 4_000, attempts), noisy_arm(generator, 4_000, others)
    delta = cand.reward.reshape(-1, others).mean(axis=1) - base.reward.reshape(-1, attempts).mean(axis=1)
    got = dead_band(base.reward, base.samples, cand.reward, cand.samples)
    assert got.width == pytest.approx(delta.std(), rel=0.04)
    assert got.width == pytest.approx(0.5 * sqrt(1 / attempts + 1 / others), rel=0.04)


@pytest.mark.parametrize(
    ("base", "cand", "note"),
    [
        (([1, 2], "ab"), ([3, 4], "ab"), "single attempts: their noise cannot be measured"),
        (([1, 1], "aa"), ([2, 2], "aa"), "attempts at a sample never differ"),
        (([0.1, 0.1, 0.1], "aaa"), ([0.7, 0.7, 0.7], "aaa"), "attempts at a sample never differ"),
        (([1, 2], "aa"), ([3, 4], "bb"), "no sample is scored in both arms"),
        (([], ""), ([], ""), "no sample is scored in both arms"),
    ],
)
def test_no_dead_band_and_why(base, cand, note):
    got = dead_band(base[0], list(base[1]), cand[0], list(cand[1]))
    assert (got.width, got.note) == (0.0, note)


def test_a_dead_band_from_some_samples_says_so():
    got = dead_band([1, 3, 5], list("aab"), [2, 4], list("ab"))
    assert got.note == "from the 1 of 2 samples tried repeatedly"
    assert got.width == pytest.approx(sqrt(2 * (1 / 2 + 1)))


def test_shares_by_hand():
    codes = quadrant_codes([0.5, 0.5, 0.0, -0.5, nan], [-3, -3, 0, 4, 1], 0.1, 1.0)
    got = {each.name: each for each in quadrant_shares(codes)}
    assert tuple(got) == QUADRANTS
    assert [each.num_samples for each in got.values()] == [2, 0, 0, 0, 1, 0, 0, 0, 1]
    assert got["better_fewer"].share.value == 0.5
    assert got["better_fewer"].share.interval == share(2, 4).interval
    assert (got["better_more"].share.value, got["better_more"].share.interval.low) == (0.0, 0.0)
    assert (got["same_same"].share.num, got["same_same"].share.num_missing) == (4, 1)
    assert got["same_same"].null_share is None


def test_joint_share_counts_a_sample_once():
    codes = quadrant_codes([1, 1, 1, 0, -1, 1, 1, 1], [-1, 0, 1, -1, -1, -1, 0, 0])
    got = joint_share(codes, BETTER_NOT_MORE)
    assert (got.value, got.num) == (5 / 8, 8)
    by_bootstrap = joint_share(codes, BETTER_NOT_MORE, method="bootstrap", seed=1)
    assert by_bootstrap.interval.method == "percentile bootstrap"
    assert by_bootstrap.interval.low < 5 / 8 < by_bootstrap.interval.high
    clustered = joint_share(codes, BETTER_NOT_MORE, clusters=np.arange(8))
    assert clustered.interval.reason == "samples in clusters are not independent: ask for the bootstrap"


def test_no_samples_no_shares():
    for method in ("Wilson", "bootstrap"):
        for each in quadrant_shares(np.array([-1], dtype=np.int8), method=method):
            assert (each.num_samples, each.share.value, each.share.interval.low) == (0, None, None)


def test_null_share_by_hand():
    # One sample, two attempts each; each dealt arm gets one of the baseline's (0, 9 or 1, 5) and one of the candidate's
    # (1, 7): rewards (0 + 1)/2 against (1 + 1)/2, costs 8 against 6, or the other way round.
    base, cand = Attempts([0, 0], [0, 1], [9, 5]), Attempts([0, 0], [1, 1], [7, 7])
    got = null_share(base, cand, eps_reward=0.4, eps_cost=1.5, seed=1, num_splits=4_000)
    assert got.shares["better_fewer"] + got.shares["worse_more"] == pytest.approx(1.0)
    assert got.shares["better_fewer"] == pytest.approx(0.5, abs=0.03)
    assert (got.num_samples, got.num_splits, got.reason) == (1, 4_000, None)
    # Differences of exactly .5 and 2 are within dead-bands as wide.
    assert null_share(base, cand, eps_reward=0.5, eps_cost=2.0, seed=1).shares["same_same"] == 1.0


def test_what_arms_truly_differ_by_is_no_chance():
    # Of two attempts 0 and 10 are in either dealt arm; of three 10/3 are left over, which is taken off.
    ask = {"eps_reward": 0.0, "eps_cost": 0.0, "seed": 1}
    for attempts in (2, 3):
        base, cand = (Attempts([0] * attempts, [level] * attempts, [level] * attempts) for level in (0, 10))
        assert null_share(base, cand, **ask).shares["same_same"] == 1.0


def test_chance_favours_no_direction_where_halves_differ_in_size():
    # Of 0, 0, 3 twice each dealt arm has three, two of one and one of the other: both 3s are in the first (2/3 · 1/3),
    # in the second (as often), which is a difference of 2 to either side, or one in each.
    arm = Attempts([0, 0, 0], [0, 0, 3], [5, 5, 5])
    got = null_share(arm, arm, eps_reward=1.5, eps_cost=0.0, seed=1, num_splits=8_000).shares
    assert got["better_same"] == pytest.approx(2 / 9, abs=0.015)
    assert got["worse_same"] == pytest.approx(2 / 9, abs=0.015)


def discrete_arm(generator, rate, calls, num_samples, attempts):
    size = num_samples * attempts
    samples = np.repeat(np.arange(num_samples), attempts)
    return Attempts(samples, generator.binomial(1, rate, size).astype(float), generator.poisson(calls, size))


@pytest.mark.parametrize(
    ("rates", "calls", "attempts", "tolerance"),
    [
        *(((rate, rate), (5, 5), attempts, 0.015) for rate in (0.2, 0.5, 0.8) for attempts in (2, 4)),
        ((0.5, 0.5), (5, 5), 3, 0.015),
        # The arms' noise differs: its mean over both is not quite the noise of their difference.
        *(((0.5, 0.7), (20, 8), attempts, 0.03) for attempts in (2, 3)),
    ],
)
def test_null_share_of_passes_and_calls_is_what_chance_gives(rates, calls, attempts, tolerance):
    """Of rewards of 0 or 1 and of few calls, whether the arms differ or not: what each arm shows against itself."""
    generator, num = np.random.default_rng(8), 3_000
    arms = [discrete_arm(generator, *each, num, attempts) for each in zip(rates, calls, strict=True)]
    widths = [
        dead_band(getattr(arms[0], name), arms[0].samples, getattr(arms[1], name), arms[1].samples).width
        for name in ("reward", "cost")
    ]
    truth = np.zeros(len(QUADRANTS))
    for each in zip(rates, calls, strict=True):
        one, other = (discrete_arm(generator, *each, 8 * num, attempts) for _ in range(2))
        delta = [
            (np.asarray(getattr(other, name)) - np.asarray(getattr(one, name))).reshape(-1, attempts).mean(axis=1)
            for name in ("reward", "cost")
        ]
        truth += np.bincount(quadrant_codes(*delta, *widths), minlength=len(QUADRANTS)) / (16 * num)
    got = null_share(*arms, eps_reward=widths[0], eps_cost=widths[1], seed=2, num_splits=20).shares
    found = np.array([got[name] for name in QUADRANTS]).reshape(3, 3)
    assert found.sum(axis=1) == pytest.approx(truth.reshape(3, 3).sum(axis=1), abs=tolerance)
    assert found.sum(axis=0) == pytest.approx(truth.reshape(3, 3).sum(axis=0), abs=tolerance)
    assert found.ravel() == pytest.approx(truth, abs=tolerance)


@pytest.mark.parametrize("attempts", [2, 4, 7])
def test_null_share_is_what_two_equal_arms_show(attempts):
    generator = np.random.default_rng(4)
    base, cand = noisy_arm(generator, 4_000, attempts), noisy_arm(generator, 4_000, attempts)
    eps_reward = dead_band(base.reward, base.samples, cand.reward, cand.samples).width
    eps_cost = dead_band(base.cost, base.samples, cand.cost, cand.samples).width
    delta = [
        getattr(cand, name).reshape(-1, attempts).mean(axis=1) - getattr(base, name).reshape(-1, attempts).mean(axis=1)
        for name in ("reward", "cost")
    ]
    codes = quadrant_codes(*delta, eps_reward, eps_cost)
    got = null_share(base, cand, eps_reward=eps_reward, eps_cost=eps_cost, seed=2, num_splits=20)
    for index, name in enumerate(QUADRANTS):
        assert got.shares[name] == pytest.approx(np.mean(codes == index), abs=0.025)
    # Normal noise and a dead-band of one sd: .683² stays inside both.
    assert got.shares["same_same"] == pytest.approx(0.683**2, abs=0.02)


def test_null_share_is_seeded_and_sums_to_one():
    generator = np.random.default_rng(6)
    base, cand = noisy_arm(generator, 30, 3), noisy_arm(generator, 30, 4)
    ask = {"eps_reward": 0.2, "eps_cost": 1.0}
    assert null_share(base, cand, **ask, seed=1) == null_share(base, cand, **ask, seed=1)
    assert null_share(base, cand, **ask, seed=1) != null_share(base, cand, **ask, seed=2)
    assert sum(null_share(base, cand, **ask, seed=1).shares.values()) == pytest.approx(1.0)


def test_blocks_only_bound_the_memory(monkeypatch):
    generator = np.random.default_rng(6)
    base, cand = noisy_arm(generator, 30, 3), noisy_arm(generator, 30, 4)
    whole = null_share(base, cand, eps_reward=0.2, eps_cost=1.0, seed=1)
    monkeypatch.setattr(quadrants, "CELLS", 900)
    assert null_share(base, cand, eps_reward=0.2, eps_cost=1.0, seed=1) == whole


def test_rows_in_any_order_and_rows_not_scored():
    generator = np.random.default_rng(6)
    base, cand = noisy_arm(generator, 200, 3), noisy_arm(generator, 200, 3)
    order = generator.permutation(600)
    shuffled = Attempts(
        np.append(base.samples[order], 5), np.append(base.reward[order], nan), np.append(base.cost[order], 1e9)
    )
    ask = {"eps_reward": 0.3, "eps_cost": 1.0, "seed": 1}
    straight, mixed = null_share(base, cand, **ask), null_share(shuffled, cand, **ask)
    assert [mixed.shares[name] for name in QUADRANTS] == pytest.approx(
        [straight.shares[name] for name in QUADRANTS], abs=0.02
    )


def test_samples_pair_by_label_and_unknown_ones_with_nothing():
    ask = {"eps_reward": 0.0, "eps_cost": 0.0, "seed": 0}
    base, cand = [0.0, 1.0, 0.0, 1.0], [1.0, 1.0, 0.0, 1.0]
    named = null_share(Attempts(["b", "b", None, None], base, base), Attempts(["b", "b", "a", "a"], cand, cand), **ask)
    coded = null_share(Attempts([7, 7, 8, 8], base, base), Attempts([7, 7, 9, 9], cand, cand), **ask)
    assert named == coded
    assert named.num_samples == 1


def test_no_null_share_and_why():
    ask = {"eps_reward": 0.0, "eps_cost": 0.0, "seed": 0}
    single = null_share(Attempts([0, 1], [0, 1], [1, 2]), Attempts([0, 1], [1, 1], [2, 2]), **ask)
    assert (single.shares, single.reason) == (None, "single attempts: their noise cannot be measured")
    apart = null_share(Attempts([0, 0], [0, 1], [1, 2]), Attempts([1, 1], [1, 1], [2, 2]), **ask)
    assert (apart.shares, apart.reason) == (None, "no sample is scored in both arms")
    empty = null_share(Attempts([], [], []), Attempts([], [], []), **ask)
    assert empty.shares is None


def test_absurd_numbers_count_as_not_scored():
    reward, samples = [0.0, 1.0, 1e308, -1.5e308], [1, 1, 1, 1]
    assert dead_band(reward, samples, reward, samples) == dead_band(reward[:2], [1, 1], reward[:2], [1, 1])
    ask = {"eps_reward": 0.0, "eps_cost": 0.0, "seed": 0}
    absurd, sound = Attempts(samples, reward, reward), Attempts([1, 1], reward[:2], reward[:2])
    assert null_share(absurd, absurd, **ask) == null_share(sound, sound, **ask)
