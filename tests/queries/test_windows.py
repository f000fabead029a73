"""Windows of series: medians, noise, spikes and gaps, against numbers computed by hand."""

import numpy as np
import pytest

from queries.health_rules import Windows
from queries.windows import best_and_last, change, held_from, noise, rolling_median, size_of, spiking, trailing_gap

WINDOWS = Windows(0.2, 3, 20, 10, 4.0)


def test_windows_are_a_share_within_bounds() -> None:
    assert [size_of(num, WINDOWS) for num in (10, 50, 1000)] == [3, 10, 20]


def test_medians_of_the_ends_are_compared_and_gaps_left_out() -> None:
    values = [1.0, 2.0, 3.0, np.nan, 5.0, 5.0, 5.0, 5.0, 5.0, 9.0, 8.0, np.inf, 100.0]
    moved = change(range(13), values, WINDOWS)
    assert moved is not None
    assert (moved.before, moved.after, moved.size, moved.values.size) == (2.0, 9.0, 3, 11)
    assert moved.steps.tolist() == [0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 12]


def test_too_few_steps_give_no_change() -> None:
    assert change(range(9), np.arange(9.0), WINDOWS) is None
    assert change([], [], WINDOWS) is None


def test_noise_is_that_of_neighbours_whatever_the_trend() -> None:
    rng = np.random.default_rng(1)
    draws = rng.normal(0, 0.5, 4_000)
    assert noise(draws) == pytest.approx(0.5, rel=0.05)
    assert noise(draws + np.linspace(0, 100, 4_000)) == pytest.approx(0.5, rel=0.05)
    rare = (rng.random(4_000) < 0.1).astype(float)  # most neighbours are equal
    assert 0.05 < noise(rare) < 0.3
    assert noise(np.zeros(5)) == noise(np.zeros(1)) == 0.0


def test_a_flat_noisy_series_hardly_ever_changes() -> None:
    rng = np.random.default_rng(2)
    moved = [change(range(30), rng.normal(1, 0.3, 30), WINDOWS) for _ in range(500)]
    assert sum(each is not None and each.is_beyond(WINDOWS.noise) for each in moved) <= 5  # one in a hundred


def test_shares_of_few_are_noisy_even_where_neighbours_are_equal() -> None:
    shares = [0.0] * 16 + [0.5] * 4
    alone = change(range(20), shares, WINDOWS)
    of_few = change(range(20), shares, WINDOWS, counts=[3] * 20)
    assert alone is not None
    assert of_few is not None
    # Pooled .25 of 12 and 12: √(.25·.75·(1/12 + 1/12)).
    assert of_few.error == pytest.approx(0.176777, abs=1e-5)
    assert not of_few.is_beyond(4)


def test_rolling_medians_spikes_and_what_holds_until_the_end() -> None:
    values = np.array([1.0, 9.0, 2.0, 3.0, 4.0])
    assert rolling_median(values, 3).tolist() == [1.0, 5.0, 2.0, 3.0, 3.0]
    assert spiking(np.array([1.0, 1.0, 1.0, 9.0, 1.0, 1.5]), 3, 8.0).tolist() == [False] * 3 + [True, False, False]
    assert not spiking(np.array([0.0, 0.0, 5.0]), 2, 8.0).any()  # no times as much of nothing
    steps = np.array([10.0, 20.0, 30.0, 40.0])
    assert held_from(steps, np.array([True, False, True, True])) == 30
    assert held_from(steps, np.array([True] * 4)) == 10
    assert held_from(steps, np.array([True, True, True, False])) is None
    assert held_from(steps[:0], np.array([], dtype=bool)) is None


def test_the_best_window_and_the_last() -> None:
    best, highest, last, spread = best_and_last(np.array([0.0, 1.0, 2.0, 3.0, 4.0, 1.0, 0.0, 0.0]), 3)
    assert (best, highest, last) == (4, 3.0, 0.0)
    assert spread == pytest.approx(3.65)  # P95 of these eight: .65 of the way from 3 to 4


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1, 2, None, None, None], (3, 0)),
        ([1, None, None, 2, None], (1, 2)),
        ([None, None, 1], (0, 0)),  # before the first value nothing was due
        ([None, None], (0, 0)),
        ([1, None, None, 2, None, None], (2, 2)),
    ],
)
def test_gaps_at_the_end(values: list[float | None], expected: tuple[int, int]) -> None:
    assert trailing_gap(np.array(values, dtype=float)) == expected
