"""What the shell prints: lists, times and missing values mean the same in every format."""

import io
import json
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from dashboard.show import encoded, frame

CURVE = [0.1 + 0.2, 1 / 3, 2.0]
ANSWER = pd.DataFrame(
    {
        "run_id": ["job", "empty"],
        "splits": [np.array(["train", "valid"], dtype=object), None],
        "reward_by_step": [np.array(CURVE), None],
        "health": [["run failed"], []],
        "first_at": pd.to_datetime(["2026-03-03 08:00:00.5+00:00", None], utc=True, format="ISO8601"),
        "num_steps": pd.array([2, None], dtype="Int64"),
    }
)


def test_json_keeps_lists_times_and_nulls() -> None:
    job, empty = json.loads(encoded(ANSWER, "json"))
    assert job == {
        "run_id": "job",
        "splits": ["train", "valid"],
        "reward_by_step": CURVE,
        "health": ["run failed"],
        "first_at": "2026-03-03T08:00:00.500000Z",
        "num_steps": 2,
    }
    assert empty == {
        "run_id": "empty",
        "splits": None,
        "reward_by_step": None,
        "health": [],
        "first_at": None,
        "num_steps": None,
    }


def test_lists_in_csv_are_json_with_every_digit() -> None:
    read = pd.read_csv(io.BytesIO(encoded(ANSWER, "csv")))
    assert json.loads(read["splits"][0]) == ["train", "valid"]
    assert json.loads(read["reward_by_step"][0]) == CURVE
    assert json.loads(read["health"][1]) == []
    assert pd.isna(read["splits"][1])


def test_a_list_of_thousands_is_not_cut_in_csv() -> None:
    steps = np.arange(5_000) / 7
    read = pd.read_csv(io.BytesIO(encoded(pd.DataFrame({"steps": [steps]}), "csv")))
    assert json.loads(read["steps"][0]) == steps.tolist()


def test_parquet_holds_the_same_lists() -> None:
    job, empty = pq.read_table(io.BytesIO(encoded(ANSWER, "parquet"))).to_pylist()
    assert (job["splits"], job["reward_by_step"], empty["splits"]) == (["train", "valid"], CURVE, None)


def test_numbers_stand_right_and_null_is_a_dash(capsys: pytest.CaptureFixture[str]) -> None:
    values = [1.5, None, Decimal("12.25")]
    answer = pd.DataFrame(
        {"name": ["a", None, "c"], "value": pd.Series(values, dtype=object), "is_on": [True, False, None]}
    )
    frame(answer, "table", None)
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert lines == ["name  value  is_on", "a       1.5  True", "–         –  False", "c     12.25  –"]
    assert encoded(answer, "csv").decode().splitlines()[2] == ",,False"
    assert json.loads(encoded(answer, "json"))[1] == {"name": None, "value": None, "is_on": False}
