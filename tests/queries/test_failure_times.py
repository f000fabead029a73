"""Failures that are not the policy's: their cost, their bursts, their load; given rows and a planted case."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ingest.runner import Request, ingest
from ingest.store import Store
from queries.attrition import attrition_speed
from queries.connection import Reading, open_store
from queries.failure_times import (
    failure_bounds,
    failure_bursts,
    failure_places,
    failure_timeline,
    failures_in_flight,
)
from queries.filters import Filters
from queries.scanning import bursts, windows
from sample_data.scenarios import dead_host, seeded
from tests.stores import build_store, call, rollout

START = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Reading:
    root = tmp_path_factory.mktemp("dead_host")
    file = root / "dead_host.jsonl"
    file.write_text("\n".join(json.dumps(each) for each in dead_host.lines(seeded(dead_host.NAME))))
    report = ingest(Store(root / "store"), Request([file]))
    assert (report.rejects, report.failed) == (0, [])
    return open_store(root / "store")


def test_bounds_give_failures_the_lowest_and_the_highest_reward(tmp_path: Path) -> None:
    rows = [
        rollout(sample_id="a", step=0, reward=0.5),
        rollout(sample_id="a", step=0, reward=0.0, status="infra_error"),
        rollout(sample_id="b", step=0, reward=0.2),
        rollout(sample_id="c", step=0, status="grader_error"),
        rollout(sample_id="d", step=0, status="completed"),
    ]
    row = failure_bounds(build_store(tmp_path, rows)).iloc[0]
    assert (row["num_rollouts"], row["num_scored"], row["num_left_out"]) == (5, 3, 2)
    assert (row["num_samples_scored"], row["num_samples_kept"], row["num_samples_bounded"]) == (2, 2, 3)
    assert row["reward_mean"] == pytest.approx((0.25 + 0.2) / 2)
    assert row["reward_kept_mean"] == pytest.approx(0.35)
    assert row["bound_low"] == pytest.approx((0.25 + 0.2 + 0.0) / 3)
    assert row["bound_high"] == pytest.approx((0.75 + 0.2 + 1.0) / 3)
    # Bounds' own intervals: mean ± t(2)·s/√3 of .25, .2, 0 and of .75, .2, 1.
    assert row["bound_ci_low"] == pytest.approx(0.15 - 4.302653 * np.std([0.25, 0.2, 0.0], ddof=1) / np.sqrt(3))
    assert row["bound_ci_high"] == pytest.approx(0.65 + 4.302653 * np.std([0.75, 0.2, 1.0], ddof=1) / np.sqrt(3))


def test_rewards_outside_of_the_rulebooks_reach_stretch_the_bounds(tmp_path: Path) -> None:
    rows = [rollout(sample_id="a", reward=-3.0), rollout(sample_id="b", reward=2.0)]
    rows.append(rollout(sample_id="c", status="infra_error"))
    row = failure_bounds(build_store(tmp_path, rows)).iloc[0]
    assert (row["lowest"], row["highest"]) == (-3.0, 2.0)
    assert row[["bound_low", "bound_high"]].tolist() == pytest.approx([-4 / 3, 1 / 3])


def test_load_is_what_runs_when_a_rollout_begins(tmp_path: Path) -> None:
    times = [(0, 10, None), (1, 4, None), (2, 3, "infra_error"), (5, 6, None), (20, 21, None)]
    rows = [
        rollout(
            sample_id=str(first),
            reward=1.0,
            status=status,
            started_at=START + timedelta(seconds=first),
            ended_at=START + timedelta(seconds=last),
        )
        for first, last, status in times
    ]
    found = failures_in_flight(build_store(tmp_path, [*rows, rollout(sample_id="x")]))
    assert found[["in_flight_from", "num", "num_failed"]].values.tolist() == [[1, 2, 0], [2, 2, 0], [3, 1, 1]]
    assert found["share"].tolist() == [0.0, 0.0, 1.0]


def test_places_and_slices_count_rollouts_and_calls_of_tools(tmp_path: Path) -> None:
    broken = {"status": "error", "is_error_flagged": True, "error_kind": "error", "output_text": "HTTP 503"}
    calls = [call("search", started_at=START, **broken), call("search", started_at=START, output_text="ok")]
    rows = [
        rollout(sample_id="a", host="h1", reward=1.0, started_at=START, messages=[], tool_calls=calls),
        rollout(sample_id="b", host="h1", status="infra_error", started_at=START + timedelta(hours=48)),
        rollout(sample_id="c", host="h2", reward=1.0, started_at=START),
        rollout(sample_id="d", host="h3", status="infra_error"),
    ]
    store = build_store(tmp_path, rows)
    hosts = failure_places(store)
    assert hosts[["place", "num", "num_failed", "share"]].values.tolist() == [["h1", 2, 1, 0.5], ["h2", 1, 0, 0.0]]
    assert failure_places(store, kind="tool")[["place", "num", "num_failed"]].values.tolist() == [["search", 2, 1]]
    slices = failure_timeline(store)
    assert slices[["slice", "num", "num_failed"]].values.tolist() == [[0, 2, 0], [47, 1, 1]]
    assert slices["from_at"].tolist() == [pd.Timestamp(START), pd.Timestamp(START + timedelta(hours=47))]
    assert failure_bursts(store).empty


def test_nothing_timed_has_no_bursts(tmp_path: Path) -> None:
    store = build_store(tmp_path, [rollout(sample_id="a", status="infra_error")])
    for found in (failure_bursts(store), failure_timeline(store), failure_places(store), failures_in_flight(store)):
        assert found.empty
    assert failure_bounds(store, Filters(run_ids=("none",))).empty


def test_windows_are_sums_of_neighbours() -> None:
    values = np.array([[1, 2, 3, 4]])
    assert windows(values, 2).tolist() == [[3, 5, 7]]
    assert windows(values, 9).tolist() == [[10]]


def test_a_planted_burst_is_found_where_it_is_and_chance_names_none() -> None:
    trials = np.full((4, 48), 20)
    events = np.zeros((4, 48), dtype=np.int64)
    events[2, 10:14] = 8
    (found,) = bursts(trials, events, np.zeros(4, dtype=np.int64), seed=1)
    assert (found.place, found.first, found.length, found.num_events, found.num_trials) == (2, 10, 4, 32, 80)
    assert found.expected == pytest.approx(80 * 32 / 3840)
    assert found.p_value == 1 / 200
    rng = np.random.default_rng(5)
    named = sum(
        bool(bursts(trials, rng.binomial(trials, 0.03), np.zeros(4, dtype=np.int64), seed=each)) for each in range(40)
    )
    assert named <= 2  # 1 % each: more than 2 of 40 would be a chance of 0.8 %


def test_the_dead_host_is_named_and_the_clean_run_is_not(planted: Reading) -> None:
    found = failure_bursts(planted)
    assert found["run_id"].tolist() == ["dead_host-planted"] * len(found)
    first = found.iloc[0]
    assert (first["kind"], first["place"]) == ("host", dead_host.PLANTED["host"])
    steps = [
        (each - pd.Timestamp(dead_host.START)) / pd.Timedelta(dead_host.STEP_TIME)
        for each in first[["from_at", "to_at"]]
    ]
    assert 13 < steps[0] < 15
    assert 17 < steps[1] < 19
    assert first["share"] > 0.8


def test_slow_rollouts_that_vanish_are_told_from_those_lost_by_chance(planted: Reading) -> None:
    found = attrition_speed(planted)
    found = found[found["num_samples"] >= 5].set_index(["run_id", "reason"])
    assert found.loc[("dead_host-planted", "cancelled"), "ci_low"] > 0.6
    others = found.drop(index=[("dead_host-planted", "cancelled")])
    assert len(others) >= 3
    assert ((others["ci_low"] < 0.5) & (others["ci_high"] > 0.5)).all()
