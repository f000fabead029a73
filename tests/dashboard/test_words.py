"""Numbers and sentences."""

import pandas as pd
import pytest

from dashboard import words
from queries.filters import Filters


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.7214, "0.721"),
        (5.2249, "5.22"),
        (1929.4, "1\u202f929"),
        (-0.0312, "−0.0312"),
        (0, "0"),
        (None, "–"),
        (float("nan"), "–"),
        (pd.NA, "–"),
    ],
)
def test_three_significant_digits(value: float | None, text: str) -> None:
    assert words.number(value) == text


def test_differences_carry_their_sign() -> None:
    assert [words.signed(each) for each in (0.2914, -1.2, 0.0, None)] == ["+0.291", "−1.20", "0", "–"]


def test_shares_are_percent() -> None:
    assert [words.percent(each) for each in (0.1234, 0.0041, 0.0, 1.0, None)] == ["12 %", "0.4 %", "0 %", "100 %", "–"]


def test_counts_of_what_filters_leave() -> None:
    assert words.counted(1240, 9600) == "1\u202f240 of 9\u202f600 rollouts"
    assert words.counted(1, 1) == "1 rollout"


def test_what_leaves_nothing_is_named() -> None:
    chosen = Filters(statuses=("truncated",), step_from=99)
    assert words.nothing_left(chosen, ["step_from"]).endswith("Without the filter on first step some would be.")
    assert "status truncated" in words.nothing_left(chosen, [])


def test_what_a_link_asks_for_in_vain_is_named() -> None:
    assert "runs that this store does not hold: a, b, c and 1 more" in words.unknown("run_ids", ["a", "b", "c", "d"])


def test_a_long_name_keeps_both_its_ends() -> None:
    assert words.shortened("x" * 60) == "x" * 60
    assert words.shortened("a" * 100 + "lr-3e-5", 10) == "aaaaaa…e-5"
    assert len(words.shortened("é" * 300)) == 60


def test_both_ends_of_an_interval_have_the_same_decimals() -> None:
    assert words.ends(0.069, 0.5) == ("0.069", "0.500")
    assert words.ends(-0.0301, 0.0012) == ("−0.0301", "0.0012")
    assert words.ends(1618.2, 12.4) == ("1\u202f618", "12")
    assert words.ends(0.0, 0.0) == ("0", "0")
    assert words.ends(0.0, 0.25, 2) == ("0.00", "0.25")
