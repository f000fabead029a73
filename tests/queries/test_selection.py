"""The best of several steps: its optimism against enumerated resamples, its interval and chances against simulation."""

from itertools import product

import numpy as np
import pytest

from queries import selection
from queries.selection import ONE_STEP, against, choose, comparable, held_out, is_told_apart

NAN = float("nan")
EXPECTED_MAX_OF_8 = 1.42360
"""Of eight independent standard normals (Harter 1961)."""


def test_optimism_of_two_samples_by_hand() -> None:
    # Means .5 and .25. Drawn aa (¼): .5 above; ab (½): as it is; bb (¼): the second step is chosen, .25 above.
    found = choose(np.array([[1.0, 0.0], [0.0, 0.5]]), seed=1, num_resamples=40_000)
    assert found.best == 0
    assert found.means.tolist() == [0.5, 0.25]
    assert found.optimism == pytest.approx(0.1875, abs=0.005)
    assert found.expected.value == pytest.approx(0.3125, abs=0.005)
    assert found.chances == pytest.approx([0.75, 0.25], abs=0.01)
    assert found.expected.interval.reason == "n too small for a bootstrap: 6 needed"


def enumerated(rewards: np.ndarray, groups: list[list[int]]) -> tuple[float, float]:
    """Optimism, and optimism were all steps equal, over every equally likely draw of whole groups of samples."""
    means = rewards.mean(axis=0)
    plain, equal = [], []
    for drawn in product(groups, repeat=len(groups)):
        resampled = rewards[[row for group in drawn for row in group]].mean(axis=0)
        chosen = int(np.argmax(np.round(resampled, 12)))
        plain.append(resampled[chosen] - means[chosen])
        equal.append(max(resampled - means))
    return float(np.mean(plain)), float(np.mean(equal))


def test_optimism_agrees_with_every_resample_there_is() -> None:
    rewards = np.array([[0.0, 1.0, 0.5], [1.0, 0.0, 0.5], [0.25, 0.75, 0.0], [1.0, 1.0, 1.0]])
    for groups, clusters in (([[0], [1], [2], [3]], None), ([[0, 1], [2, 3]], ["x", "x", "y", "y"])):
        plain, equal = enumerated(rewards, groups)
        found = choose(rewards, seed=3, clusters=clusters, num_resamples=60_000)
        assert found.optimism == pytest.approx(plain, abs=0.004)
        assert found.optimism_if_equal == pytest.approx(equal, abs=0.004)
    assert found.expected.interval.reason == "20 clusters needed for a bootstrap, 2 here"


def test_the_same_seed_gives_the_same_and_of_equal_steps_the_first_is_best() -> None:
    rewards = np.random.default_rng(0).random((30, 4))
    rewards[:, 3] = rewards[:, 1]
    first, again = choose(rewards, seed=7), choose(rewards, seed=7)
    assert (first.optimism, first.expected) == (again.optimism, again.expected)
    assert first.chances[3] == 0
    assert first.chances.sum() == pytest.approx(1)


def test_where_nothing_was_chosen_or_nothing_varies_there_is_no_interval() -> None:
    assert choose(np.array([[1.0], [0.0]]), seed=1).expected.interval.reason == ONE_STEP
    assert choose(np.array([[1.0, 0.0]]), seed=1).expected.interval.reason == "one value has no spread"
    flat = choose(np.full((9, 3), 0.5), seed=1)
    assert (flat.best, flat.optimism, flat.expected.value) == (0, 0.0, 0.5)
    assert flat.expected.interval.reason == "all resamples agree: the values say nothing about the next one"
    with pytest.raises(ValueError, match="every step needs a scored sample"):
        choose(np.array([[1.0, NAN]]), seed=1)
    with np.errstate(over="ignore"):
        assert choose(np.full((9, 2), 1e308), seed=1).expected.interval.reason == "the values are too large to average"


def test_a_step_that_a_resample_leaves_without_samples_is_not_chosen_there() -> None:
    found = choose(np.array([[0.2, NAN], [0.3, NAN], [NAN, 0.9], [0.1, NAN]]), seed=1, num_resamples=20_000)
    assert found.best == 1
    # The sample of the second step is in a draw of four with probability 1 − (3/4)⁴.
    assert found.chances[1] == pytest.approx(1 - 0.75**4, abs=0.01)


def test_samples_scored_at_every_step_are_compared_and_thin_steps_are_left_out() -> None:
    full = np.random.default_rng(1).random((10, 3))
    full[0, 1] = NAN
    plan = comparable(full)
    assert (plan.is_common, plan.samples.sum(), plan.steps.tolist()) == (True, 9, [True, True, True])
    full[4:, 2] = NAN  # a validation under way: four of ten samples
    plan = comparable(full)
    assert (plan.is_common, plan.samples.sum(), plan.steps.tolist()) == (True, 9, [True, True, False])
    apart = np.full((6, 2), NAN)
    apart[:3, 0], apart[3:, 1] = 0.5, 0.6  # train batches share no sample
    plan = comparable(apart)
    assert (plan.is_common, plan.samples.sum(), plan.steps.all()) == (False, 6, True)


def test_a_choice_on_one_half_is_judged_on_the_other() -> None:
    # Step 1 beats step 0 by 1 at every sample: it is always chosen, and the other half's mean is on average all's.
    rewards = np.column_stack((np.arange(6.0), np.arange(6.0) + 1))
    found = held_out(rewards, seed=1, num_splits=4_000)
    assert found == pytest.approx(3.5, abs=0.05)
    assert held_out(rewards, seed=1) == held_out(rewards, seed=1)
    assert held_out(rewards[:, :1], seed=1) is None
    assert held_out(rewards[:5], seed=1) is None
    assert held_out(rewards, seed=1, clusters=[0, 0, 0, 1, 1, 1]) is None


def test_of_equal_steps_a_held_out_mean_has_no_luck_of_the_choice() -> None:
    generator, chosen, left_out = np.random.default_rng(4), [], []
    for seed in range(150):
        rewards = generator.normal(size=(40, 8))
        chosen.append(rewards.mean(axis=0).max())
        left_out.append(held_out(rewards, seed=seed))
    # The mean of the best of eight is 1.42/√40 = .225 too high.
    assert np.mean(chosen) == pytest.approx(0.225, abs=0.02)
    assert np.mean(left_out) == pytest.approx(0.0, abs=0.04)


def test_differences_from_the_best_hold_together() -> None:
    rewards = np.array([[0.0, 0.7, 0.8], [0.1, 0.9, 0.8], [0.0, 0.8, 0.7], [0.1, 0.8, 1.0]])
    zero, five, best = against(rewards, 2)
    assert zero.value == pytest.approx(-0.775)
    # Differences −.8, −.7, −.7, −.9; s = .0957427; two others, so t(3) at 98.75 % = 4.17653.
    assert zero.interval.low == pytest.approx(-0.775 - 4.17653 * 0.0957427 / 2, abs=1e-4)
    assert [is_told_apart(each) for each in (zero, five, best)] == [True, False, False]
    (clustered, *_) = against(rewards, 2, clusters=["x", "x", "y", "z"])
    assert clustered.interval.method == "clustered t"
    assert clustered.value == zero.value


def test_many_samples_are_drawn_from_the_normal_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(5)
    rewards = generator.normal(size=(3_000, 1)) + generator.normal(size=(3_000, 5))
    limit = choose(rewards, seed=1)
    monkeypatch.setattr(selection, "MAX_RESAMPLED", 10_000)
    drawn = choose(rewards, seed=1)
    assert (limit.expected.interval.method, drawn.expected.interval.method) == (
        "basic bootstrap, normal limit",
        "basic bootstrap",
    )
    error = float(rewards[:, drawn.best].std()) / np.sqrt(3_000)
    assert limit.optimism == pytest.approx(drawn.optimism, abs=0.1 * error)
    assert limit.chances == pytest.approx(drawn.chances, abs=0.05)
    for mine, theirs in zip(
        (limit.expected.interval.low, limit.expected.interval.high),
        (drawn.expected.interval.low, drawn.expected.interval.high),
        strict=True,
    ):
        assert mine == pytest.approx(theirs, abs=0.25 * error)


def simulated(
    num: int, steps: int, *, alike: float, rise: float, times: int, is_binary: bool = False
) -> tuple[float, float, float, float]:
    """Means of optimism, of the most it can be, of the true one, and coverage, over simulated validations."""
    generator = np.random.default_rng(20)
    worth = rise * np.linspace(0, 1, steps)
    rows = []
    for _ in range(times):
        rewards = worth + np.sqrt(alike) * generator.normal(size=(num, 1))
        rewards = rewards + np.sqrt(1 - alike) * generator.normal(size=(num, steps))
        true = worth
        if is_binary:  # passed where above 0: without a rise half of the time
            rewards, true = (rewards > 0).astype(float), np.full(steps, 0.5)
        found = choose(rewards, seed=int(generator.integers(1 << 60)), num_resamples=400)
        low, high = found.expected.interval.low, found.expected.interval.high
        assert low is not None
        assert high is not None
        of_best = float(true[found.best])
        rows.append(
            (found.optimism, found.optimism_if_equal, found.means[found.best] - of_best, low <= of_best <= high)
        )
    plain, equal, real, covered = np.mean(np.array(rows, dtype=float), axis=0)
    return float(plain), float(equal), float(real), float(covered)


def test_optimism_of_equal_steps_is_that_of_the_largest_of_normals() -> None:
    plain, equal, real, covered = simulated(50, 8, alike=0.0, rise=0.0, times=120)
    expected = EXPECTED_MAX_OF_8 / np.sqrt(50)
    assert real == pytest.approx(expected, rel=0.1)
    assert equal == pytest.approx(expected, rel=0.05)
    # Resampled means spread √2 wider than the true ones, which are equal: 1/√2 of the optimism is found.
    assert plain == pytest.approx(expected / np.sqrt(2), rel=0.08)
    assert covered >= 0.92


@pytest.mark.slow
@pytest.mark.parametrize(
    ("num", "steps", "alike", "rise", "is_binary"),
    [
        (100, 11, 0.5, 0.0, False),
        (100, 11, 0.5, 0.3, False),
        (100, 11, 0.8, 0.3, False),
        (30, 4, 0.5, 0.3, False),
        (100, 11, 0.5, 0.0, True),
        (30, 11, 0.5, 0.0, True),
        (10, 4, 0.5, 0.3, False),
    ],
)
def test_intervals_cover_what_the_chosen_step_is_worth(
    num: int, steps: int, alike: float, rise: float, *, is_binary: bool
) -> None:
    plain, equal, real, covered = simulated(num, steps, alike=alike, rise=rise, times=500, is_binary=is_binary)
    # 95 % wanted; the error of a simulated share is .01, and more than that is conservative.
    assert covered >= 0.93
    error = 0.25 / np.sqrt(num)
    assert plain - error <= real <= equal + error
