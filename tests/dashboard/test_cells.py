"""Numbers in tables are written as in sentences."""

import pandas as pd
import pytest
from pandas.io.formats.style import Styler

from dashboard import cells


def shown(frame: pd.DataFrame, formats: dict[str, cells.Format] | None = None) -> list[list[str]]:
    drawn = cells.written(frame, formats)
    assert isinstance(drawn, Styler)
    return [
        [each["display_value"] for each in row if each["type"] == "td"]
        for row in drawn._translate(sparse_index=True, sparse_cols=True)["body"]
    ]


def test_thousands_are_apart_and_nothing_is_a_dash() -> None:
    frame = pd.DataFrame(
        {
            "num_rollouts": pd.array([2700, None], dtype="Int64"),
            "tokens_mean": [1618.25, None],
            "reward": [0.52438, -0.5],
            "run": ["<b>a</b>", None],
            "is_best": [True, False],
        },
        index=[7, 7],
    )
    assert shown(frame) == [
        ["2\u202f700", "1\u202f618", "0.5244", "<b>a</b>", "True"],
        ["–", "–", "−0.5000", "–", "False"],
    ]


def test_a_column_may_have_its_own_format() -> None:
    frame = pd.DataFrame({"reward": [0.65649, None], "change": [0.1411, -0.0004], "same": [0.0, 2.5]})
    formats = {"reward": cells.fixed(3), "change": cells.change, "same": cells.change}
    assert shown(frame, formats) == [["0.656", "+0.141", "0.000"], ["–", "0.000", "+2.500"]]


def test_values_stay_values_and_large_tables_stay_as_they_are() -> None:
    frame = pd.DataFrame({"num_rollouts": [2700, 3]})
    drawn = cells.written(frame)
    assert isinstance(drawn, Styler)
    assert drawn.data["num_rollouts"].tolist() == [2700, 3]
    large = pd.DataFrame({"a": range(cells.MAX_CELLS + 1)})
    assert cells.written(large) is large


@pytest.mark.parametrize(("value", "text"), [(1618.4, "1\u202f618"), (-0.2, "0"), (None, "–")])
def test_fixed_decimals(value: float | None, text: str) -> None:
    assert cells.fixed(0)(value) == text
