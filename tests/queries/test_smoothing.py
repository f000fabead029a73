"""The moving average keeps gaps, corrects its start and never looks ahead."""

from math import inf, nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from queries.smoothing import ema


def test_by_hand():
    # w = .5: s₁ = .5, /.5 = 1; s₂ = .25 + 1 = 1.25, /.75 = 5/3; s₃ = .625 + 2 = 2.625, /.875 = 3
    assert ema([1.0, 2.0, 4.0], 0.5) == pytest.approx([1.0, 5 / 3, 3.0])


def test_gaps_stay_gaps_and_do_not_decay():
    got = ema([1.0, None, inf, 2.0, nan, 4.0], 0.5)
    assert np.isnan(got).tolist() == [False, True, True, False, True, False]
    assert got[[0, 3, 5]] == pytest.approx([1.0, 5 / 3, 3.0])


@given(st.floats(-1e6, 1e6), st.integers(1, 300), st.floats(0, 0.999))
def test_a_constant_stays_constant(value, length, weight):
    assert ema([value] * length, weight) == pytest.approx([value] * length, rel=1e-9)


@given(st.lists(st.floats(-1e3, 1e3) | st.just(nan), max_size=30), st.floats(0, 0.99))
def test_recursion_and_no_look_ahead(values, weight):
    total, scale, expected = 0.0, 0.0, []
    for value in values:
        if not np.isnan(value):
            total, scale = weight * total + (1 - weight) * value, weight * scale + (1 - weight)
        expected.append(nan if np.isnan(value) else total / scale)
    got = ema(values, weight)
    assert got == pytest.approx(np.array(expected), nan_ok=True, abs=1e-9)
    assert ema(values[:7], weight) == pytest.approx(got[:7], nan_ok=True, abs=1e-9)


def test_no_weight_is_the_raw_series():
    assert ema([3.0, 1.0], 0.0).tolist() == [3.0, 1.0]
    assert ema([], 0.9).size == 0
    for weight in (1.0, -0.1, nan):
        with pytest.raises(ValueError, match="weight"):
            ema([1.0], weight)
