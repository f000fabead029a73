"""The questions about runs as a whole, and about what there is to ask about."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pandas as pd
import pytest

from ingest.sources.base import Row
from queries.connection import Reading
from queries.filters import Filters
from queries.runs import runs
from queries.scope import coverage, filter_choices, filter_counts, run_names
from tests.stores import build_store, call, rollout

START = datetime(2026, 5, 1, tzinfo=UTC)


@pytest.fixture
def store(tmp_path: Path) -> Reading:
    """Run `late` began first but has no times on `runs`; `odd` is hostile by name and has no steps."""
    messages = [{"role": "assistant", "text": "a", "turn": 0}]
    calls = [call("search"), call("cat")]
    job = [
        rollout("job", sample_id="a", step=0, split="valid", reward=0.0, status="completed", started_at=START),
        rollout("job", sample_id="a", step=0, split="valid", reward=1.0, status="infra_error"),
        rollout("job", sample_id="b", step=0, split="valid", reward=0.0, status="completed"),
        rollout("job", sample_id="a", step=5, split="valid", reward=1.0, output_tokens=100, environment="web"),
        rollout("job", sample_id="b", step=5, split="valid", reward=0.5, messages=messages, tool_calls=calls),
        rollout("job", sample_id="b", step=9, split="valid", reward=None),
        rollout("job", sample_id="t", step=9, split="train", reward=0.9, subset="effective"),
    ]
    odd = [rollout("'; DROP TABLE runs; --", sample_id="z", reward=None, started_at=START - timedelta(days=1))]
    described = Row("runs", {"name": "job", "kind": "training", "source_format": "test", "precedence": 1}, run="job")
    return build_store(tmp_path, [*job, *odd], [described])


def test_figures_come_from_the_last_scored_step_of_the_validation_split(store: Reading) -> None:
    job = runs(store).set_index("run_id").loc["job"]
    assert (job["num_rollouts"], job["num_steps"], job["first_step"], job["last_step"]) == (7, 3, 0, 9)
    assert job["kind"] == "training"
    assert list(job["splits"]) == ["train", "valid"]
    assert list(job["environments"]) == ["web"]
    assert (job["reward_split"], job["reward_step"], job["reward_num_samples"]) == ("valid", 5, 2)
    assert job["reward_last"] == pytest.approx(0.75)
    assert job["reward_first"] == pytest.approx(0.25)  # sample a: (0 + 1) / 2, sample b: 0
    assert job["reward_change"] == pytest.approx(0.5)
    assert list(job["reward_by_step"]) == pytest.approx([0.25, 0.75])
    assert (job["tool_calls_mean"], job["output_tokens_mean"]) == (2.0, 100.0)
    assert job["failure_share"] == pytest.approx(1 / 3)
    assert job["health"] == ["33 % of rollouts failed", "1 not scored"]


def test_a_run_without_rewards_or_steps_has_no_figures(store: Reading) -> None:
    odd = runs(store).set_index("name").loc["'; DROP TABLE runs; --"]
    assert (odd["num_rollouts"], odd["num_steps"]) == (1, 0)
    assert pd.isna(odd["reward_last"])
    assert pd.isna(odd["reward_change"])
    assert pd.isna(odd["failure_share"])
    assert odd["health"] == ["nothing scored"]


def test_without_validation_the_reward_is_of_the_split_that_has_one(tmp_path: Path) -> None:
    store = build_store(
        tmp_path,
        [
            rollout("r", sample_id="a", split="valid", step=1, reward=None),
            rollout("r", sample_id="a", split="train", step=1, reward=0.25),
        ],
    )
    found = runs(store).iloc[0]
    assert (found["reward_split"], found["reward_last"]) == ("train", 0.25)
    assert pd.isna(found["reward_change"])


def test_only_the_runs_asked_for(store: Reading) -> None:
    assert runs(store, Filters(run_ids=("job",)))["run_id"].tolist() == ["job"]
    assert runs(store, Filters(run_ids=("none",))).empty


def test_names_in_the_order_in_which_runs_began(store: Reading) -> None:
    assert run_names(store)["name"].tolist() == ["'; DROP TABLE runs; --", "job"]


def test_choices_and_counts_of_filters(store: Reading) -> None:
    choices = filter_choices(store)
    assert choices[["field", "choice", "num"]].to_numpy().tolist() == [
        ["environments", "web", 2],
        ["tools", "cat", 1],
        ["tools", "search", 1],
    ]
    assert filter_counts(store).to_numpy().tolist() == [[8, 8]]
    assert filter_counts(store, Filters(splits=("valid",), step_from=5)).to_numpy().tolist() == [[3, 8]]
    assert filter_counts(store, Filters(run_ids=("job",), step_to=0, subset="all")).to_numpy().tolist() == [[3, 8]]
    assert filter_counts(store, Filters(step_from=5, subset="effective")).to_numpy().tolist() == [[1, 8]]
    assert filter_counts(store, Filters(tools=("cat",))).to_numpy().tolist() == [[1, 8]]
    assert filter_counts(store, Filters(statuses=("truncated",))).to_numpy().tolist() == [[0, 8]]


def test_a_tool_filter_looks_for_the_agents_own_calls(tmp_path: Path) -> None:
    others = [call("cat", requestor="user"), call("cat", status="orphan")]
    rollouts = [rollout(sample_id="a", tool_calls=[call("cat")]), rollout(sample_id="b", tool_calls=others)]
    store = build_store(tmp_path, rollouts)
    assert filter_counts(store, Filters(tools=("cat",))).to_numpy().tolist() == [[1, 2]]


def test_coverage_says_which_fields_are_filled(store: Reading) -> None:
    job = coverage(store).set_index("run_id").loc["job"]
    assert (job["num_rollouts"], job["num_reward"], job["num_status"], job["num_step"]) == (7, 6, 3, 7)
    assert (job["num_tool_calls"], job["num_tokens"], job["num_latency"], job["num_subset"]) == (1, 1, 0, 1)
    assert (job["num_scores"], job["num_metrics"], job["num_checkpoints"]) == (0, 0, 0)
