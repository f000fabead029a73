"""Far percentiles, survival, and what lies above a threshold, against rows computed by hand."""

from pathlib import Path

import pandas as pd
import pytest

from queries.filters import Filters
from queries.long_tail import survival, tail_percentiles, tail_rollouts, tail_share
from queries.tails import dkw_half_width
from tests.stores import build_store, call, rollout


def test_percentiles_say_when_there_are_too_few(tmp_path: Path) -> None:
    rows = [rollout(latency_s=float(each)) for each in range(1, 101)] + [rollout(latency_s=None)]
    frame = tail_percentiles(build_store(tmp_path, rows), measure="latency_s")
    assert frame["percentile"].tolist() == [50, 90, 95, 99]
    assert frame["value"].tolist() == pytest.approx([50.5, 90.1, 95.05, 99.01])
    assert set(frame["num_rollouts"]) == {100}
    assert set(frame["num_missing"]) == {1}
    # Ranks 40 and 61 of 100 for the median: P(Bin(100, ½) < 40) = .0176.
    assert frame[["ci_low", "ci_high"]].iloc[0].tolist() == [40.0, 61.0]
    assert frame["ci_low"].isna().tolist() == [False, False, False, True]
    assert frame["reason"].iloc[3] == "n too small: 368 needed for P99"


def test_survival_is_the_share_of_at_least_so_much(tmp_path: Path) -> None:
    frame = survival(
        build_store(tmp_path, [rollout(latency_s=each) for each in (1.0, 1.0, 2.0, 9.0)]), measure="latency_s"
    )
    assert frame["value"].tolist() == [1.0, 2.0, 9.0]
    assert frame["share_at_least"].tolist() == [1.0, 0.5, 0.25]
    assert frame["num_at_least"].tolist() == [4, 2, 1]
    half = dkw_half_width(4)
    assert half is not None
    assert frame["band_high"].tolist() == pytest.approx([1.0, 1.0, min(1, 0.25 + half)])
    assert frame["band_low"].tolist() == pytest.approx([max(0, 1 - half), 0.0, 0.0])


def test_survival_keeps_the_far_end_when_thinned(tmp_path: Path) -> None:
    frame = survival(build_store(tmp_path, [rollout(latency_s=float(x)) for x in range(2_000)]), measure="latency_s")
    assert len(frame) <= 300
    assert frame["value"].iloc[[0, -1]].tolist() == [0.0, 1999.0]
    assert frame["num_at_least"].iloc[-1] == 1
    assert (frame["num_at_least"] + frame["value"]).tolist() == [2000.0] * len(frame)


def test_what_the_tail_costs(tmp_path: Path) -> None:
    rows = [
        rollout(sample_id="a", latency_s=1.0, output_tokens=10, messages=[], tool_calls=[call("t")] * 0),
        rollout(sample_id="b", latency_s=2.0, output_tokens=10, messages=[], tool_calls=[call("t")]),
        rollout(
            sample_id="c", latency_s=7.0, output_tokens=30, messages=[], tool_calls=[call("t"), call("t"), call("t")]
        ),
        rollout(sample_id="d", latency_s=None, output_tokens=50),
    ]
    row = tail_share(build_store(tmp_path, rows), threshold=2.0, measure="latency_s").iloc[0]
    assert (row["num_rollouts"], row["num_missing"], row["num_tail"]) == (3, 1, 1)
    assert row["share"] == pytest.approx(1 / 3)
    assert row["tool_calls_share"] == 0.75
    assert row["latency_share"] == 0.7
    assert row["output_tokens_share"] == 0.3
    assert pd.isna(row["input_tokens_share"])
    # Single attempts: Wilson of 1 in 3.
    assert row["num_effective"] == 3
    assert row[["ci_low", "ci_high"]].tolist() == pytest.approx([0.0615, 0.7923], abs=1e-4)


def test_attempts_that_are_alike_count_as_their_samples(tmp_path: Path) -> None:
    # Four samples, five attempts each, alike within a sample: 1 of 4 samples in the tail, not 5 of 20 rollouts.
    rows = [rollout(sample_id=each, latency_s=9.0 if each == "a" else 1.0) for each in "abcd" for _ in range(5)]
    row = tail_share(build_store(tmp_path, rows), threshold=5.0, measure="latency_s").iloc[0]
    assert (row["num_rollouts"], row["num_samples"], row["num_tail"]) == (20, 4, 5)
    assert row["num_effective"] == 4
    assert row[["ci_low", "ci_high"]].tolist() == pytest.approx([0.0456, 0.6994], abs=1e-4)


def test_percentiles_of_alike_attempts_have_wider_intervals(tmp_path: Path) -> None:
    # 20 samples with 5 attempts of 0, 1, … 19 s: see `test_tails` for the ranks, 29 and 77 of 100.
    rows = [rollout(sample_id=str(each), latency_s=float(each)) for each in range(20) for _ in range(5)]
    frame = tail_percentiles(build_store(tmp_path, rows), measure="latency_s")
    first = frame.iloc[0]
    assert (first["num_rollouts"], first["num_samples"]) == (100, 20)
    assert first["num_effective"] == pytest.approx(17.54, abs=0.01)
    assert first[["value", "ci_low", "ci_high"]].tolist() == [9.5, 5.0, 15.0]
    assert frame["reason"].iloc[2] == "n too small: 36 samples needed for P95, 20 here"


def test_a_tail_that_is_empty_or_everything_still_has_an_interval(tmp_path: Path) -> None:
    store = build_store(tmp_path, [rollout(sample_id=each, latency_s=5.0) for each in "abcdefghij"])
    none = tail_share(store, threshold=5.0, measure="latency_s").iloc[0]
    assert (none["share"], none["ci_low"]) == (0.0, 0.0)
    assert none["ci_high"] == pytest.approx(0.2775, abs=1e-4)
    every = tail_share(store, threshold=4.0, measure="latency_s").iloc[0]
    assert (every["share"], every["ci_high"], every["latency_share"]) == (1.0, 1.0, 1.0)


def test_nothing_known_has_no_share(tmp_path: Path) -> None:
    store = build_store(tmp_path, [rollout(sample_id="a")])
    row = tail_share(store, threshold=1.0, measure="latency_s").iloc[0]
    assert (row["num_rollouts"], row["num_missing"], row["num_tail"]) == (0, 1, 0)
    assert row[["share", "ci_low", "ci_high", "latency_share"]].isna().all()
    assert tail_percentiles(store, measure="latency_s").empty
    assert survival(store, measure="latency_s").empty
    assert tail_share(store, Filters(run_ids=("x",)), threshold=1.0).empty


def test_the_tail_comes_worst_first_in_pages(tmp_path: Path) -> None:
    rows = [rollout(sample_id=str(each), latency_s=float(each), step=each, split="valid") for each in range(6)]
    store = build_store(tmp_path, rows)
    first = tail_rollouts(store, threshold=1.0, measure="latency_s", limit=3)
    rest = tail_rollouts(store, threshold=1.0, measure="latency_s", limit=3, offset=3)
    assert first["value"].tolist() == [5.0, 4.0, 3.0]
    assert rest[["value", "step", "split"]].values.tolist() == [[2.0, 2, "valid"]]
    assert set(first["num_total"]) == {4}
