"""Chance that a group differs, against enumeration; variance parts, against sums done by hand and against numpy."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from queries.variation import chance_of_difference, variance_parts


def counted(samples: list[list[float]]) -> tuple[np.ndarray, np.ndarray]:
    counts, codes = [], []
    for number, rewards in enumerate(samples):
        found = np.unique(rewards, return_counts=True)[1] if rewards else []
        counts += list(found)
        codes += [number] * len(found)
    return np.array(counts, dtype=float), np.array(codes, dtype=np.intp)


def test_four_attempts_of_which_two_are_equal() -> None:
    counts, codes = counted([[0.0, 0.5, 0.5, 1.0], [1.0, 1.0], [0.0]])
    found = chance_of_difference(counts, codes, 4, 2)
    # One of the six pairs is equal; the pair of the second is; the third has one attempt, the fourth none.
    assert found[:2].tolist() == pytest.approx([5 / 6, 0.0])
    assert np.isnan(found[2:]).all()


@given(st.lists(st.sampled_from([0.0, 0.25, 1.0]), min_size=2, max_size=9), st.integers(2, 5))
def test_every_group_enumerated(rewards: list[float], size: int) -> None:
    (found,) = chance_of_difference(*counted([rewards]), 1, size)
    groups = list(combinations(rewards, size))
    if not groups:
        assert np.isnan(found)
    else:
        assert found == pytest.approx(np.mean([len(set(each)) > 1 for each in groups]))


def test_variance_between_and_within() -> None:
    # {1, 3} and {2, 4, 6}: MSB = 4.8, MSW = 10/3, n₀ = (5 − 13/5)/1 = 2.4.
    found = variance_parts([2, 3], [2.0, 4.0], [np.std([1, 3], ddof=1), np.std([2, 4, 6], ddof=1)])
    assert found.within == pytest.approx(10 / 3)
    assert found.between == pytest.approx((4.8 - 10 / 3) / 2.4)
    assert found.icc == pytest.approx(0.611111 / 3.944444, rel=1e-5)


def test_samples_that_differ_less_than_chance_have_no_negative_variance() -> None:
    found = variance_parts([2, 2], [0.5, 0.5], [0.7, 0.7])
    assert (found.between, found.icc) == (0.0, 0.0)


def test_what_cannot_be_told_is_none() -> None:
    single = variance_parts([1, 1, 1], [0.1, 0.2, 0.3], [np.nan] * 3)
    assert (single.between, single.within, single.icc) == (None, None, None)
    one = variance_parts([3, 0], [0.5, np.nan], [0.5, np.nan])
    assert (one.between, one.within) == (None, 0.25)
    flat = variance_parts([2, 2], [1.0, 1.0], [0.0, 0.0])
    assert (flat.between, flat.within, flat.icc) == (0.0, 0.0, None)
