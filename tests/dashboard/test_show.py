"""What the shell prints: lists, times and missing values mean the same in every format."""

import io
import json
from collections import Counter
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from dashboard.show import encoded, frame, report, split_sentence
from ingest.runner import Report

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


def split_row(**values: object) -> dict[str, object]:
    row = {"split": "valid", "num_steps": 0, "first_step": None, "last_step": None, "num_samples_max": 1,
           "num_rollouts": 1, "num_effective": 0, "environments": ["airline"], "first_reward": 0.5, "last_reward": 0.5,
           "reward_name": None, "source_format": "tau_bench"}  # fmt: skip
    return row | values


def test_an_ingest_names_the_environment_and_counts_several() -> None:
    rest = "1 sample, 1 rollout, reward 0.500, mean over samples as its source reports it"
    assert split_sentence(split_row()) == f"valid: no steps, environment airline, {rest}"
    assert split_sentence(split_row(environments=["a", "b"])) == f"valid: no steps, 2 environments, {rest}"
    assert split_sentence(split_row(environments=[None])) == f"valid: no steps, {rest}"
    assert split_sentence(split_row(num_rollouts=0)) == "no rollouts (read as tau_bench)"


def test_one_source_is_no_plural(capsys: pytest.CaptureFixture[str]) -> None:
    report(Report(sources=1, rows=Counter(rollouts=1)), None, as_json=False)
    assert capsys.readouterr().out == "1 source read, 1 rollout, 0 rejects.\n"


def test_lines_that_make_up_rollouts_are_counted_beside_them(capsys: pytest.CaptureFixture[str]) -> None:
    report(Report(sources=3, rows=Counter(parts=5, rollouts=2)), None, as_json=False)
    expected = "3 sources read, 2 rollouts (5 lines joined by `rollout_id`), 0 rejects."
    assert capsys.readouterr().out.splitlines() == [expected]
