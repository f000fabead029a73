"""Downloads hold the numbers shown, with units, and can be read back."""

import io
from datetime import UTC, datetime

import pandas as pd
import pyarrow.parquet as pq
import pytest

from dashboard import tables


@pytest.mark.parametrize(
    ("column", "text"),
    [
        ("latency_p95_s", "latency p95, s"),
        ("reasoning_tokens_mean", "reasoning tokens mean"),
        ("tool_error_rate", "tool error rate, 0–1"),
        ("num_tool_calls", "tool calls"),
        ("cost_usd", "cost, US$"),
        ("last_at", "last, UTC"),
        ("lost_at", "stage not reached"),
        ("num", "number"),
        ("s", "s"),
        ("'; DROP TABLE", "'; DROP TABLE"),
    ],
)
def test_headings_have_units(column: str, text: str) -> None:
    assert tables.heading(column) == text


FRAME = pd.DataFrame(
    {
        "run_id": ["a", '=cmd|"x"'],
        "latency_s": [1.5, None],
        "num_turns": pd.array([3, None], dtype="Int64"),
        "last_at": pd.to_datetime([datetime(2026, 5, 1, 2, 3, 4, tzinfo=UTC), None]),
        "splits": [["train", "valid"], None],
    }
)


def test_csv_has_units_utc_times_and_empty_cells_for_nothing() -> None:
    text = tables.csv_bytes(FRAME).decode()
    assert text.splitlines()[0] == '"run id","latency, s","turns","last, UTC","splits"'
    read = pd.read_csv(io.StringIO(text))
    assert read.loc[0, "last, UTC"] == "2026-05-01T02:03:04Z"
    assert read.loc[0, "splits"] == '["train", "valid"]'
    assert read.loc[1, "run id"] == '=cmd|"x"'
    assert read.iloc[1, 1:].isna().all()


def test_parquet_reads_back_equal() -> None:
    read = pq.read_table(io.BytesIO(tables.parquet_bytes(FRAME))).to_pylist()
    assert read[0]["splits"] == ["train", "valid"]
    assert read[0]["num_turns"] == 3
    assert read[1]["latency_s"] is None


def test_columns_of_the_same_heading_do_not_collide() -> None:
    frame = pd.DataFrame({"num_scored": [1], "scored": [2]})
    assert tables.csv_bytes(frame).decode().splitlines() == ['"scored","scored"', "1,2"]


def test_addresses_are_relative_so_that_a_base_path_holds() -> None:
    assert tables.trajectory_address("a/b c&d") == "trajectory?rollout=a%2Fb+c%26d"
