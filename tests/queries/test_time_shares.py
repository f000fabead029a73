"""Where seconds go, against rows computed by hand: the parts, the rest, what is missing, and what runs side by side."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.errors import QuestionError
from queries.connection import Reading
from queries.filters import Filters
from queries.time_shares import PARTS, time_shares
from tests.stores import build_store, call, rollout

T0 = datetime(2026, 1, 1, tzinfo=UTC)


def parts(store: Reading, **asked: Any) -> pd.DataFrame:
    return time_shares(store, **asked).set_index("part")


def test_parts_and_the_rest_are_the_whole(tmp_path: Path) -> None:
    # 10 s: model 4, tools max(2, 1) = 2 on the clock (3 in total), queue 1, grading .5, set-up .5; the rest is 2.
    calls = [call("a", latency_s=2.0), call("b", latency_s=1.0)]
    first = rollout(
        sample_id="a",
        latency_s=10.0,
        model_latency_s=4.0,
        queue_latency_s=1.0,
        grading_latency_s=0.5,
        metadata=json.dumps({"timing": {"setup": {"duration": 0.5}}}),
        messages=[],
        tool_calls=calls,
    )
    # 30 s: model 6, no call, nothing else is known: 24 s are not accounted for.
    second = rollout(sample_id="b", latency_s=30.0, model_latency_s=6.0, messages=[], tool_calls=[])
    frame = parts(build_store(tmp_path, [first, second, rollout(sample_id="c", model_latency_s=7.0)]))
    assert list(frame.index) == list(PARTS)
    assert set(frame["num_rollouts"]) == {2}
    assert set(frame["num_without_latency"]) == {1}
    assert set(frame["latency_mean_s"]) == {20.0}
    expected = {"model": 5.0, "tools": 1.0, "queue": 0.5, "setup": 0.25, "grading": 0.25, "rest": 13.0}
    assert frame["seconds_mean"].dropna().to_dict() == pytest.approx(expected)
    assert frame["share"].dropna().to_dict() == pytest.approx({name: each / 20 for name, each in expected.items()})
    assert frame["num_missing"].to_dict() == {
        "model": 0,
        "tools": 0,
        "user": 2,
        "queue": 1,
        "setup": 1,
        "grading": 1,
        "rest": 0,
    }
    assert frame.loc["user", "reason"] == "no rollout waits for a simulated user whose seconds are known"
    assert frame["reason"].isna().sum() == 6
    assert set(frame["overlap_mean_s"]) == {0.0}


def test_the_interval_of_a_share_is_clustered_by_sample(tmp_path: Path) -> None:
    # Model 2 of 10 s and 6 of 10 s: ratio .4; linearised residuals ∓2, SD √8, SE = √8/√2/10 = .2; t(1) = 12.706.
    rows = [rollout(sample_id=name, latency_s=10.0, model_latency_s=each) for name, each in (("a", 2.0), ("b", 6.0))]
    row = parts(build_store(tmp_path, rows)).loc["model"]
    assert row["share"] == pytest.approx(0.4)
    assert (row["share_ci_low"], row["share_ci_high"]) == (0.0, pytest.approx(0.4 + 12.7062 * 0.2, abs=1e-3))


def test_parts_side_by_side_exceed_the_latency(tmp_path: Path) -> None:
    rows = [
        rollout(sample_id="a", latency_s=10.0, model_latency_s=9.0, grading_latency_s=4.0),
        rollout(sample_id="b", latency_s=10.0, model_latency_s=8.0),
    ]
    frame = parts(build_store(tmp_path, rows))
    assert frame.loc["rest", "seconds_mean"] == 1.0
    assert set(frame["num_overlapping"]) == {1}
    assert set(frame["overlap_mean_s"]) == {1.5}


def test_set_up_is_what_lies_before_the_first_message(tmp_path: Path) -> None:
    def begun(after: float, **values: Any) -> Any:
        says = {"role": "assistant", "turn": 0, "started_at": T0 + timedelta(seconds=after)}
        says["ended_at"] = T0 + timedelta(seconds=10)
        return rollout(started_at=T0, ended_at=T0 + timedelta(seconds=10), messages=[says], **values)

    store = build_store(
        tmp_path,
        [
            begun(3.0, sample_id="a"),
            begun(3.0, sample_id="b", queue_latency_s=2.0),
            begun(0.0, sample_id="c"),
            begun(3.0, sample_id="d", metadata='{"setup_latency_s": 2.5}'),
        ],
    )
    row = parts(store).loc["setup"]
    assert row["seconds_mean"] == pytest.approx((3 + 1 + 2.5) / 4)
    assert (row["num_known"], row["num_missing"]) == (3, 1)


def test_waiting_for_a_simulated_user_is_a_part(tmp_path: Path) -> None:
    talk = [
        {"role": "user", "latency_s": 9.0},
        {"role": "assistant", "turn": 0, "latency_s": 2.0},
        {"role": "user", "turn": 0, "latency_s": 5.0},
    ]
    frame = parts(build_store(tmp_path, [rollout(sample_id="a", latency_s=8.0, messages=talk)]))
    assert frame["seconds_mean"].dropna().to_dict() == {"model": 2.0, "tools": 0.0, "user": 5.0, "rest": 1.0}


def test_groups_and_environments(tmp_path: Path) -> None:
    rows = [
        rollout(sample_id="a", split="train", step=step, environment=name, latency_s=float(10 + step))
        for step in (0, 1)
        for name in ("x", "y")
    ]
    store = build_store(tmp_path, rows)
    by_step = time_shares(store, by="step")
    assert by_step.groupby("step")["latency_mean_s"].first().to_dict() == {0: 10.0, 1: 11.0}
    assert len(time_shares(store, by="step", by_environment=True)) == 4 * len(PARTS)
    assert time_shares(store, Filters(environments=("y",)), by_environment=True)["environment"].unique().tolist() == [
        "y"
    ]
    with pytest.raises(QuestionError):
        time_shares(store, by="tool")


def test_nothing_known_is_said(tmp_path: Path) -> None:
    store = build_store(tmp_path, [rollout(sample_id="a", latency_s=float("nan")), rollout(sample_id="b")])
    frame = parts(store)
    assert frame["seconds_mean"].isna().all()
    assert set(frame["reason"]) == {"no rollout has a latency"}
    assert set(frame["num_without_latency"]) == {2}
    assert time_shares(store, Filters(run_ids=("x",))).empty


seconds = st.one_of(st.none(), st.floats(-5, 100, allow_nan=False))


@settings(max_examples=6, deadline=None)
@given(st.lists(st.tuples(st.one_of(st.none(), st.floats(0, 100)), seconds, seconds, seconds), min_size=1, max_size=6))
def test_whatever_is_known_the_parts_sum_to_the_whole(
    tmp_path_factory: pytest.TempPathFactory, drawn: list[tuple[float | None, ...]]
) -> None:
    rows = [
        rollout(sample_id=str(at), latency_s=whole, model_latency_s=model, queue_latency_s=queue, grading_latency_s=end)
        for at, (whole, model, queue, end) in enumerate(drawn)
    ]
    frame = time_shares(build_store(tmp_path_factory.mktemp("store"), rows))
    if any(each[0] is not None for each in drawn):
        whole = frame["latency_mean_s"].iloc[0] + frame["overlap_mean_s"].iloc[0]
        assert frame["seconds_mean"].sum() == pytest.approx(whole, abs=1e-6)
        assert (frame["seconds_mean"].dropna() >= 0).all()
