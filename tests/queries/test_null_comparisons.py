"""One model against itself claims nothing: attempts 0, 1 against 2, 3 of the same rollouts, many times over."""

from math import sqrt

import numpy as np
import pytest

from ingest.sources.base import Row
from queries.claims import ALPHA, _Part, compare_claims
from queries.compare import NUM_FLIPS, compare
from queries.compared import Sides
from queries.compared_samples import compare_quadrants, compare_samples
from queries.pairing import benjamini_hochberg, holm
from queries.permutation import p_values_by_sample
from queries.quadrants import QUADRANTS, Attempts, dead_band, null_share, quadrant_codes
from queries.resampling import sign_flips
from queries.slices import compare_slices
from tests.queries.test_compare import ARMS, attempts
from tests.stores import build_store

NUM, TRIALS, FEWER, SLICES = 100, 500, 200, 5
LEVEL = 0.05


def one_model(generator, trials=TRIALS, num_attempts=4):
    """Rewards, numbers of calls and seconds, each of shape (trials, samples, attempts): a sample has its own level."""
    shape = (trials, NUM, num_attempts)
    rate = generator.beta(1, 1, (trials, NUM, 1))
    effort = generator.lognormal(1.5, 0.5, (trials, NUM, 1))
    calls = generator.poisson(np.broadcast_to(effort, shape)).astype(float)
    return (
        generator.binomial(1, np.broadcast_to(rate, shape)).astype(float),
        calls,
        effort * generator.lognormal(0, 1, shape),
    )


@pytest.fixture(scope="module")
def measures():
    return one_model(np.random.default_rng(11))


@pytest.fixture(scope="module")
def deltas(measures):
    """Differences of the later two attempts' mean and the earlier two's, shape (measures, trials, samples)."""
    return np.stack([each[..., 2:].mean(-1) - each[..., :2].mean(-1) for each in measures])


def at_most(level, trials=TRIALS):
    """The largest share that chance has once in a thousand times or so, were the level kept exactly."""
    return level + 3 * sqrt(level * (1 - level) / trials)


def p_values(deltas):
    """Sign-flip p-values of many means at once, deltas of shape (…, samples)."""
    columns = np.moveaxis(deltas, -1, 0).reshape(deltas.shape[-1], -1)
    found = sign_flips(columns, seed=3, num_resamples=NUM_FLIPS)
    return np.array([each.value for each in found], dtype=float).reshape(deltas.shape[:-1])


def test_no_measure_differs_more_often_than_it_may(deltas):
    found = p_values(deltas)
    assert ((found <= LEVEL).mean(axis=1) <= at_most(LEVEL)).all()
    adjusted = np.array([holm(each) for each in found.T])
    assert (adjusted <= LEVEL).any(axis=1).mean() <= at_most(LEVEL)
    # The tests are not merely blind: p-values lie evenly between 0 and 1.
    assert found.mean() == pytest.approx(0.5, abs=0.03)


def test_nothing_is_called_better_or_cheaper_more_often_than_it_may(measures):
    reward, calls, _ = measures
    shown = {"better": 0, "cheaper": 0, "both": 0}
    for at in range(TRIALS):
        sides = [Sides(each[at, :, :2].mean(-1), each[at, :, 2:].mean(-1)) for each in (reward, calls)]
        better, cheaper = (
            _Part(own, sign, 0.0).test(None)[0] <= ALPHA for own, sign in zip(sides, (1, -1), strict=True)
        )
        shown["better"] += better
        shown["cheaper"] += cheaper
        shown["both"] += better and cheaper
    assert max(shown.values()) / TRIALS <= at_most(ALPHA)
    assert shown["both"] / TRIALS <= at_most(ALPHA**2)


def test_the_worst_slice_is_not_called_worse_more_often_than_it_may(deltas):
    members = np.arange(NUM) % SLICES == np.arange(SLICES)[:, None]
    sliced = np.where(members, deltas[0, :FEWER, None, :], np.nan)
    means, found = np.nanmean(sliced, axis=-1), p_values(sliced)
    adjusted = np.array([benjamini_hochberg(each) for each in found])
    worst = means.argmin(axis=1)
    is_worse = (np.take_along_axis(adjusted, worst[:, None], axis=1)[:, 0] <= LEVEL) & (means.min(axis=1) < 0)
    assert is_worse.mean() <= at_most(LEVEL, FEWER)
    # Unadjusted, one of five slices would seem to differ far more often.
    assert (found <= LEVEL).any(axis=1).mean() > 1.5 * LEVEL


@pytest.mark.parametrize(("num_attempts", "trials"), [(4, 200), (16, 40)])
def test_no_sample_is_flagged_more_often_than_it_may(num_attempts, trials):
    """Two attempts against two can flag none; eight against eight could."""
    _, _, seconds = one_model(np.random.default_rng(num_attempts), trials, num_attempts)
    samples, is_candidate = (
        np.repeat(np.arange(NUM), num_attempts),
        np.tile(np.arange(num_attempts) >= num_attempts // 2, NUM),
    )
    flagged, smallest = 0, 1.0
    for at in range(trials):
        found = p_values_by_sample(seconds[at].ravel(), samples, is_candidate, seed=at)
        flagged += bool((benjamini_hochberg(found) <= LEVEL).any())
        smallest = min(smallest, found.min())
    assert flagged / trials <= (0 if num_attempts == 4 else at_most(LEVEL, trials))
    assert smallest == pytest.approx(2 / 6) if num_attempts == 4 else smallest < 0.01


def test_quadrants_hold_what_chance_gives_them():
    """Of two attempts, whose noise is normal."""
    generator, trials = np.random.default_rng(5), 200
    samples = np.repeat(np.arange(NUM), 2)
    observed, expected = np.zeros(len(QUADRANTS)), np.zeros(len(QUADRANTS))
    for seed in range(trials):
        level = np.repeat(generator.normal(size=NUM), 2)
        arms = [
            Attempts(samples, level + generator.normal(size=2 * NUM), 9 * level + generator.normal(0, 3, 2 * NUM))
            for _ in range(2)
        ]
        bands = [
            dead_band(*own)
            for own in (
                (arms[0].reward, samples, arms[1].reward, samples),
                (arms[0].cost, samples, arms[1].cost, samples),
            )
        ]
        widths = {"eps_reward": bands[0].width, "eps_cost": bands[1].width}
        null = null_share(*arms, **widths, seed=seed, num_splits=20)
        expected += np.array([null.shares[name] for name in QUADRANTS]) / trials
        reward, cost = (
            (getattr(arms[1], name) - getattr(arms[0], name)).reshape(NUM, 2).mean(axis=1)
            for name in ("reward", "cost")
        )
        codes = quadrant_codes(reward, cost, *widths.values())
        observed += np.bincount(codes, minlength=len(QUADRANTS)) / NUM / trials
    noise = np.sqrt(expected * (1 - expected) / NUM / trials)
    assert (np.abs(observed - expected) <= 4 * noise).all()


def store_of(root, seed):
    """A hundred samples of one model; attempts 0 and 1 are step 0, attempts 2 and 3 step 1."""
    reward, calls, _ = one_model(np.random.default_rng(seed), trials=1)
    rollouts, rows = [], []
    for n in range(NUM):
        for step in (0, 1):
            own = slice(2 * step, 2 * step + 2)
            rollouts += attempts(f"s{n:03}", step, reward[0, n, own].tolist(), calls[0, n, own].astype(int).tolist())
        rows.append(Row("samples", {"sample_id": f"s{n:03}", "tags": f'["t{n % SLICES}"]'}, run="r"))
    return build_store(root, rollouts, rows)


def false_claims(store, arms):
    """What the questions would have a reader believe."""
    found = compare(store, **arms)
    slices = compare_slices(store, **arms)
    claims = compare_claims(store, **arms)
    # A claim with a margin is no false one: an equal model is, indeed, not worse by more than that.
    return {
        "measure": int((found["p_value_holm"] <= LEVEL).sum()),
        "claim": int(claims.set_index("claim").loc[["better", "cheaper", "better_and_cheaper"], "is_shown"].sum()),
        "slice": int((slices["is_worst"] & (slices["p_value_bh"] <= LEVEL) & (slices["delta_mean"] < 0)).sum()),
        "sample": int((compare_samples(store, **arms)["p_value_bh"] <= LEVEL).sum()),
    }


def test_a_store_of_one_model_claims_nothing(tmp_path):
    for seed in (1, 2, 3):
        store = store_of(tmp_path / str(seed), seed)
        found = false_claims(store, ARMS)
        assert found == dict.fromkeys(found, 0), seed
    quadrants = compare_quadrants(store, **ARMS).set_index("quadrant")
    better, worse = (quadrants.filter(like=name, axis="index") for name in ("better", "worse"))
    # What chance gives to gains it gives to losses, and it is what the samples show.
    assert better["null_share"].sum() == pytest.approx(worse["null_share"].sum(), abs=0.02)
    assert better["share"].sum() == pytest.approx(better["null_share"].sum(), abs=0.12)


def test_an_arm_against_itself_claims_nothing(tmp_path):
    store = store_of(tmp_path, 4)
    arms = {"baseline": "r@0", "candidate": "r@0"}
    assert set(false_claims(store, arms).values()) == {0}
    reward = compare(store, **arms).set_index("measure").loc["reward"]
    assert (reward["delta_mean"], reward["p_value"], reward["num_up"], reward["num_down"]) == (0.0, 1.0, 0, 0)
    assert reward["ci_reason"].startswith("all values are equal")
    quadrants = compare_quadrants(store, **arms).set_index("quadrant")
    assert quadrants["num_samples"].to_dict() == dict.fromkeys(QUADRANTS, 0) | {"same_same": NUM}
    cautious = compare(store, **arms, method="cautious").set_index("measure").loc["reward"]
    assert -0.04 < cautious["ci_low"] < 0 < cautious["ci_high"] < 0.04
