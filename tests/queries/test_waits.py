"""What the last rollouts of a step hold up, and who is slow again and again, against what was planted."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ingest.errors import QuestionError
from ingest.sources.base import Rollout
from queries.filters import Filters
from queries.waits import step_waits, stragglers
from tests.stores import build_store, call, rollout

T0 = datetime(2026, 1, 1, tzinfo=UTC)


def spanned(start: float, end: float, **values: Any) -> Rollout:
    """A rollout from so many seconds to so many seconds after the first."""
    started, ended = (T0 + timedelta(seconds=each) for each in (start, end))
    return rollout(started_at=started, ended_at=ended, latency_s=end - start, **values)


def test_how_long_the_last_rollout_holds_a_batch_up(tmp_path: Path) -> None:
    # 19 of 10 s, all at once, and one of 50 s: 95 % have ended at 10, the last holds the step up for 40 s.
    rows = [spanned(0, 10, sample_id=str(each), step=1, split="train") for each in range(19)]
    row = step_waits(build_store(tmp_path, [*rows, spanned(0, 50, sample_id="s", step=1, split="train")])).iloc[0]
    assert (row["step"], row["num_timed"], row["span_s"], row["busy_s"]) == (1, 20, 50.0, 240.0)
    assert (row["is_batch"], row["early_share"], row["peak_in_flight"]) == (True, 1.0, 20)
    assert (row["num_last"], row["held_s"], row["held_share"]) == (1, 40.0, 0.8)
    # 20 at once for 50 s could have done 1 000 s; 240 were used.
    assert (row["idle_s"], row["idle_share"]) == (760.0, 0.76)
    assert row["reason"] is None


def test_workers_that_take_the_next_rollout_are_no_more_workers(tmp_path: Path) -> None:
    # Two workers: 0–10 and 0–4, then 4–10 at once.
    rows = [spanned(0, 10, sample_id="a"), spanned(0, 4, sample_id="b"), spanned(4, 10, sample_id="c")]
    row = step_waits(build_store(tmp_path, rows)).iloc[0]
    assert (row["peak_in_flight"], row["idle_s"], row["early_share"]) == (2, 0.0, 1.0)
    assert np.isnan(row["held_s"])
    assert row["reason"] == "with fewer than 20 rollouts in a step, its last 5 % are less than one"


def test_rollouts_that_start_as_others_end_are_no_batch(tmp_path: Path) -> None:
    rows = [spanned(10 * each, 10 * each + 10.5, sample_id=str(each)) for each in range(30)]
    row = step_waits(build_store(tmp_path, rows)).iloc[0]
    assert row["early_share"] == pytest.approx(2 / 30)
    assert (bool(row["is_batch"]), row["span_s"]) == (False, 300.5)
    assert row["reason"] == "rollouts start as others end: no batch that waits for its last"
    assert np.isnan(row["held_s"])
    assert np.isnan(row["idle_s"])


def test_steps_without_times_and_single_rollouts_say_so(tmp_path: Path) -> None:
    backwards = rollout(step=3, started_at=T0, ended_at=T0 - timedelta(seconds=1))
    frame = step_waits(build_store(tmp_path, [rollout(step=1), spanned(0, 5, step=2), backwards]))
    assert frame["step"].tolist() == [1, 2, 3]
    said = ["no rollout has a start and an end", "one rollout waits for no other", "no rollout has a start and an end"]
    assert frame["reason"].tolist() == said
    assert frame["num_timed"].tolist() == [0, 1, 0]
    assert step_waits(build_store(tmp_path / "none", [rollout()]), Filters(run_ids=("x",))).empty


def test_idle_time_costs_what_environments_do(tmp_path: Path) -> None:
    store = build_store(tmp_path, [spanned(0, 10, environment="e"), spanned(0, 4, environment="e")])
    assert np.isnan(step_waits(store)["idle_usd"].iloc[0])
    (tmp_path / "prices.toml").write_text('[[environments]]\npattern = "e"\nusd_per_second = 0.5\n')
    assert step_waits(store)["idle_usd"].tolist() == pytest.approx([3.0])  # 6 s free at .5


def steps_of(slow: set[str], seed: int = 1) -> list[Rollout]:
    """Ten steps of 30 samples with two attempts each, of 10 to 20 s; the slow ones take a minute more, every time."""
    generator = np.random.default_rng(seed)
    return [
        rollout(
            sample_id=name,
            step=step,
            split="train",
            messages=[],
            latency_s=float(took) + 60 * (name in slow),
            tool_calls=[call("crawl" if name in slow else "look")],
            host=f"h{number % 3}",
        )
        for step in range(10)
        for number in range(30)
        for name in (f"s{number:02}",)
        for took in generator.uniform(10, 20, 2)
    ]


def test_a_planted_straggler_is_found(tmp_path: Path) -> None:
    store = build_store(tmp_path, steps_of({"s07"}))
    frame = stragglers(store)
    found = frame[frame["is_beyond_chance"]]
    assert found["name"].tolist() == ["s07"]
    row = found.iloc[0]
    # Three of 60 rollouts are above a step's P95, the two of s07 among them.
    assert (row["num_rollouts"], row["num_slow"], row["rate"], row["num_tested"]) == (20, 20, 1.0, 30)
    assert row["chance"] == pytest.approx(0.05)
    assert row["p_value"] == pytest.approx(0.05**20)
    tools = stragglers(store, by="tool").set_index("name")
    assert tools.loc["crawl", ["num_rollouts", "num_slow"]].tolist() == [20, 20]
    assert not stragglers(store, by="host")["is_beyond_chance"].any()


def test_nobody_is_slow_beyond_chance_where_nothing_is_planted(tmp_path: Path) -> None:
    frame = stragglers(build_store(tmp_path, steps_of(set())))
    assert len(frame) == 30
    assert not frame["is_beyond_chance"].any()
    assert frame["num_slow"].sum() == 30


def test_few_rollouts_equal_latencies_and_nothing_known(tmp_path: Path) -> None:
    few = build_store(tmp_path / "few", [rollout(sample_id=str(each), latency_s=float(each)) for each in range(19)])
    assert stragglers(few).empty
    equal = stragglers(
        build_store(tmp_path / "equal", [rollout(sample_id=str(e % 5), latency_s=1.0) for e in range(40)])
    )
    assert equal["num_slow"].tolist() == [0] * 5
    assert not equal["is_beyond_chance"].any()
    assert stragglers(few, by="tool").empty
    with pytest.raises(QuestionError):
        stragglers(few, by="model")
