"""Histograms, summaries, cumulative distributions and tool usage, against rows computed by hand."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from ingest.errors import QuestionError
from ingest.sources.base import Rollout
from queries.distributions import bins, distribution, distribution_summary, ecdf, rollouts_between, thinned, tool_usage
from queries.filters import Filters
from tests.stores import build_store, call, rollout


def timed(*seconds: float | None, **values: Any) -> list[Rollout]:
    return [rollout(latency_s=each, **values) for each in seconds]


def test_whole_numbers_lie_in_the_middle_of_bins_of_one() -> None:
    assert bins(0, 4, 4, whole=True) == (-0.5, 1.0, 5)
    assert bins(3, 3, 3, whole=True) == (2.5, 1.0, 1)


def test_other_numbers_get_round_widths() -> None:
    assert bins(0.0, 1.0, 1.0, whole=False) == (0.0, 0.05, 20)
    assert bins(13.0, 400.0, 420.0, whole=False) == (0.0, 20.0, 21)


def test_a_long_tail_goes_into_one_open_bin() -> None:
    assert bins(0.0, 10.0, 500.0, whole=False) == (0.0, 0.5, 21)
    assert bins(0, 10, 500, whole=True) == (-0.5, 1.0, 12)


def test_wide_whole_numbers_share_bins() -> None:
    origin, width, num = bins(0, 1000, 1000, whole=True)
    assert (origin, width) == (-0.5, 50.0)
    assert origin + num * width > 1000


def test_groups_share_their_bins(tmp_path: Path) -> None:
    rows = timed(1.0, 1.0, 2.0, None, run="a") + timed(4.0, run="b")
    frame = distribution(build_store(tmp_path, rows), measure="latency_s")
    assert frame[["run_id", "bin", "bin_low", "bin_high", "num_rollouts"]].values.tolist() == [
        ["a", 0, 0.5, 1.5, 2],
        ["a", 1, 1.5, 2.5, 1],
        ["b", 3, 3.5, 4.5, 1],
    ]
    assert frame["share"].tolist() == pytest.approx([2 / 3, 1 / 3, 1.0])
    assert not frame["is_open"].any()


def test_edges_of_tenths_are_where_they_belong(tmp_path: Path) -> None:
    rows = [rollout(reward=each / 10) for each in range(11)]
    frame = distribution(build_store(tmp_path, rows), measure="reward")
    assert frame["bin_low"].tolist() == pytest.approx([0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95])
    assert frame["num_rollouts"].sum() == 11


def test_the_open_bin_says_how_far_it_reaches(tmp_path: Path) -> None:
    rows = timed(*[float(each % 10) for each in range(300)], 9_000.0)
    frame = distribution(build_store(tmp_path, rows), measure="latency_s")
    assert frame["is_open"].tolist() == [False] * 10 + [True]
    assert frame["value_max"].iloc[-1] == 9_000
    assert frame["num_rollouts"].iloc[-1] == 1


def test_nothing_known_gives_no_bins(tmp_path: Path) -> None:
    store = build_store(tmp_path, timed(None, None))
    assert distribution(store, measure="latency_s").empty
    assert ecdf(store, measure="latency_s").empty
    row = distribution_summary(store, measure="latency_s").iloc[0]
    assert (row["num_rollouts"], row["num_missing"]) == (0, 2)
    assert pd.isna(row["mean"])


def test_summary_in_numbers(tmp_path: Path) -> None:
    rows = timed(1.0, 2.0, 3.0, 10.0, None, split="valid", step=1) + timed(5.0, split="train", step=2)
    store = build_store(tmp_path, rows)
    pooled = distribution_summary(store, measure="latency_s").iloc[0]
    assert (pooled["num_rollouts"], pooled["num_splits"], pooled["num_steps"]) == (5, 2, 2)
    assert pd.isna(pooled["split"])
    row = distribution_summary(store, Filters(splits=("valid",)), measure="latency_s", by="step").iloc[0]
    assert (row["split"], row["step"], row["num_missing"]) == ("valid", 1, 1)
    assert (row["mean"], row["min"], row["p50"], row["max"]) == (4.0, 1.0, 2.5, 10.0)
    assert (row["p25"], row["p75"], row["p90"]) == (1.75, 4.75, pytest.approx(7.9))
    assert row["sd"] == pytest.approx(np.sqrt((9 + 4 + 1 + 36) / 3))


def test_cumulative_shares_are_exact(tmp_path: Path) -> None:
    frame = ecdf(build_store(tmp_path, timed(1.0, 1.0, 5.0, 2.0)), measure="latency_s")
    assert frame["value"].tolist() == [1.0, 2.0, 5.0]
    assert frame["share_at_most"].tolist() == [0.5, 0.75, 1.0]


def test_many_points_are_thinned_out_and_stay_exact(tmp_path: Path) -> None:
    frame = ecdf(build_store(tmp_path, timed(*map(float, range(1, 1001)))), measure="latency_s")
    assert len(frame) <= 200
    assert frame["value"].iloc[-1] == 1000
    assert (frame["share_at_most"] * 1000).tolist() == pytest.approx(frame["value"].tolist())
    assert thinned(np.array([0.2, 0.9]), 200).tolist() == [0, 1]


def test_the_rollouts_of_a_bin(tmp_path: Path) -> None:
    store = build_store(tmp_path, timed(1.0, 2.0, 2.5, 3.0, None))
    frame = rollouts_between(store, at_least=2.0, below=3.0, measure="latency_s")
    assert frame["value"].tolist() == [2.0, 2.5]
    assert rollouts_between(store, at_least=2.5, measure="latency_s", limit=1)["num_total"].tolist() == [2]


def test_unknown_measures_and_groupings_are_errors(tmp_path: Path) -> None:
    store = build_store(tmp_path, timed(1.0))
    with pytest.raises(QuestionError, match="measure must be one of"):
        distribution(store, measure="'; DROP TABLE")
    with pytest.raises(QuestionError, match="by must be one of"):
        ecdf(store, by="host")


def test_tools_by_step(tmp_path: Path) -> None:
    calls = [
        call("search", '{"q":1}', latency_s=1.0),
        call("search", '{"q":1}', latency_s=3.0),
        call("cat", '{"f":1}', status="error"),
        call("cat", '{"f":2}', requestor="user"),
        call("cat", None, status="orphan"),
    ]
    rows = [
        rollout(step=1, sample_id="a", messages=[], tool_calls=calls),
        rollout(step=1, sample_id="b", messages=[], tool_calls=[call("search", '{"q":2}', is_executed=False)]),
        rollout(step=1, sample_id="c"),
    ]
    frame = tool_usage(build_store(tmp_path, rows), reach=True)
    names = ["tool", "num_calls", "num_errors", "num_repeats", "num_rollouts", "num_latency_known"]
    assert frame[names].values.tolist() == [["search", 3, 1, 1, 2, 2], ["cat", 1, 1, 0, 1, 0]]
    assert frame["error_rate"].tolist() == pytest.approx([1 / 3, 1.0])
    assert frame["share"].tolist() == [0.75, 0.25]
    assert frame["latency_p50_s"].iloc[0] == 2.0
    assert pd.isna(frame["latency_p50_s"].iloc[1])


def test_counting_the_rollouts_of_a_tool_is_by_choice(tmp_path: Path) -> None:
    store = build_store(tmp_path, [rollout(messages=[], tool_calls=[call("t")])])
    assert tool_usage(store)["num_rollouts"].isna().all()
    assert tool_usage(store, reach=True)["num_rollouts"].tolist() == [1]
