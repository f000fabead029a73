"""Why rollouts are without success, by the rules in force: given rows against causes named by hand."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from ingest.errors import QuestionError
from queries.failures import failed_rollouts, failure_causes, failure_rulebook
from queries.filters import Filters
from tests.stores import build_store, call, rollout

SAID = {"final_answer": "42", "messages": [{"role": "assistant", "text": "42"}]}
BROKEN = {"status": "error", "is_error_flagged": True, "error_kind": "error"}


def failing(tool: str, output: str, **values: Any) -> dict[str, Any]:
    """A call that failed with this answer."""
    return call(tool, output_text=output, **{**BROKEN, **values})


CASES: list[tuple[str, dict[str, Any]]] = [
    ("grader_error", {"status": "grader_error", "error_message": "judge timed out"}),
    ("cancelled", {"status": "cancelled", "reward": None}),
    ("context_overflow", {"status": "truncated", "error_type": "context_length_exceeded"}),
    ("context_overflow", {"status": "infra_error", "error_message": "This model's maximum context length is 8192"}),
    ("budget", {"status": "budget_exceeded", "stop_reason": "call budget"}),
    ("truncation", {"status": "truncated", "stop_reason": "length"}),
    ("no_answer", {"status": "truncated", "stop_reason": "no final message"}),
    (
        "timeout",
        {"status": "infra_error", "error_type": "TimeoutError", "error_message": "the sandbox did not respond"},
    ),
    ("timeout", {"status": "infra_error", "stop_reason": "timeout"}),
    ("dead_environment", {"status": "infra_error", "error_type": "SandboxError", "error_message": "did not answer"}),
    ("model_error", {"status": "infra_error", "error_type": "APIStatusError", "error_message": "529 overloaded"}),
    ("infrastructure_error", {"status": "infra_error"}),
    ("tool_server_error", {**SAID, "tool_calls": [failing("search", "Error: 503 Service Unavailable")]}),
    ("tool_timeout", {**SAID, "tool_calls": [failing("run", "Error: timeout after 10 s")]}),
    ("malformed_call", {**SAID, "tool_calls": [failing("run", "x", error_kind="parsing")]}),
    ("wrong", {**SAID, "tool_calls": [failing("search", "Error: HTTP 503"), call("search", output_text="found")]}),
    ("wrong", {**SAID, "tool_calls": [failing("book", "Error: Not enough seats on flight HAT139")]}),
    ("not_scored", {"status": "completed", "reward": None}),
    ("no_answer", {"status": "completed", "messages": [{"role": "user", "text": "hi"}]}),
    ("refusal", {"final_answer": "I'm sorry, but I can't help with that.", "messages": SAID["messages"]}),
    ("wrong", {"final_answer": "I can't find a 2019 figure; it is 42.", "messages": SAID["messages"]}),
    ("wrong", {"status": "completed", "reward": 0.65, "passed": False}),
    ("wrong", {}),
]


def test_the_first_rule_that_fits_gives_the_cause(tmp_path: Path) -> None:
    rows = [rollout(**{"reward": 0.0, "sample_id": f"{at:02}", **values}) for at, (_, values) in enumerate(CASES)]
    found = failed_rollouts(build_store(tmp_path, rows)).sort_values("sample_id")
    assert found["cause"].tolist() == [cause for cause, _ in CASES]


def test_success_has_no_cause_whatever_went_wrong_on_the_way(tmp_path: Path) -> None:
    cases: list[dict[str, Any]] = [
        {"passed": True, "tool_calls": [failing("search", "Error: 503 Service Unavailable")], "messages": []},
        {"passed": True, "reward": 0.0},
        {"reward": 0.1, "status": "truncated"},
        {"passed": True, "reward": None},
    ]
    store = build_store(tmp_path, [rollout(**{"reward": 1.0, "sample_id": "a", **values}) for values in cases])
    assert failed_rollouts(store).empty
    row = failure_causes(store).iloc[0]
    assert pd.isna(row["cause"])
    assert (row["num"], row["num_rollouts"], row["share"]) == (0, 4, 0.0)


def test_causes_are_counted_by_step_with_intervals_over_samples(tmp_path: Path) -> None:
    rows = [rollout(sample_id=each, step=0, split="train", reward=float(each == "a")) for each in "abcd"]
    rows += [rollout(sample_id=each, step=1, split="train", reward=1.0) for each in "abcd"]
    rows += [rollout(sample_id="a", step=0, split="train", status="infra_error", error_type="VM died")]
    frame = failure_causes(build_store(tmp_path, rows), by="step")
    assert frame[["step", "num", "num_zero", "num_rollouts", "num_samples"]].values.tolist() == [
        [0, 3, 3, 5, 4],
        [0, 1, 0, 5, 4],
        [1, 0, 0, 4, 4],
    ]
    assert frame["cause"].iloc[:2].tolist() == ["wrong", "dead_environment"]
    assert frame["whose"].iloc[:2].tolist() == ["policy", "infrastructure"]
    assert frame["share"].tolist() == pytest.approx([0.6, 0.2, 0.0])
    # Counts x = 0,1,1,1 of n = 2,1,1,1: Σ(x − .6n)² = 1.44 + 3·.16 = 1.92, SE² = 4/3·1.92/25 = .1024: .24/.1024 = 2.34
    # independent rollouts, but at least the 4 samples. Wilson of 2.4 in 4: (4.3208 ± 1.96·√1.9204)/7.8415.
    assert frame["num_effective"].iloc[0] == 4
    assert frame[["ci_low", "ci_high"]].iloc[0].tolist() == pytest.approx([0.2046, 0.8974], abs=1e-4)


def test_a_rulebook_of_the_store_replaces_floor_and_rules(tmp_path: Path) -> None:
    rows = [
        rollout(sample_id="a", environment="chess", reward=-1.0),
        rollout(sample_id="b", environment="chess", reward=-0.5),
        rollout(sample_id="c", environment="go", reward=0.0),
    ]
    store = build_store(tmp_path, rows)
    assert failed_rollouts(store)["cause"].tolist() == ["wrong"] * 3
    (store.root / "failures.toml").write_text(
        '[zero.environments]\nchess = -1\n[causes.lost]\ntitle = "lost"\nwhose = "policy"\nmeaning = "lost"\n'
        '[[rules]]\ncause = "lost"\nenvironment = ["chess"]\n'
    )
    found = failed_rollouts(store).sort_values("sample_id")
    assert found[["sample_id", "cause", "whose"]].values.tolist() == [
        ["a", "lost", "policy"],
        ["c", "unclassified", "unknown"],
    ]
    book = failure_rulebook(store)
    assert book[["cause", "conditions", "origin"]].values.tolist() == [["lost", "environment is chess", "file"]]
    (store.root / "failures.toml").write_text("[zero]\nreward = true")
    with pytest.raises(QuestionError, match="line 2"):
        failure_causes(store)


def test_the_failures_of_others_come_first_in_pages(tmp_path: Path) -> None:
    rows = [rollout(sample_id=str(each), step=each, reward=0.0, host="h1") for each in range(3)]
    rows.append(rollout(sample_id="x", step=3, status="infra_error", error_type="VM died", host="h2"))
    store = build_store(tmp_path, rows)
    assert failed_rollouts(store, limit=2)["step"].tolist() == [3, 0]
    assert failed_rollouts(store, limit=2, offset=2)["step"].tolist() == [1, 2]
    assert failed_rollouts(store, cause="dead_environment")["num_total"].tolist() == [1]
    assert failed_rollouts(store, host="h1")["num_total"].tolist() == [3] * 3
    assert failed_rollouts(store, Filters(run_ids=("none",))).empty
    with pytest.raises(QuestionError, match="there is no cause 'boredom'"):
        failed_rollouts(store, cause="boredom")


def test_hostile_texts_and_rewards_that_are_no_numbers(tmp_path: Path) -> None:
    evil = "'; DROP TABLE rollouts; -- \x00 \ud7ff" + "x" * 5_000
    rows = [
        rollout(sample_id="a", status="infra_error", error_type=evil, error_message=evil, stop_reason=evil),
        rollout(sample_id="b", reward=float("nan"), environment=evil),
        rollout(sample_id="c", reward=float("inf")),
        rollout(sample_id="d", reward=-7.0),
    ]
    found = failed_rollouts(build_store(tmp_path, rows)).sort_values("sample_id")
    assert found["cause"].tolist() == ["infrastructure_error", "not_scored", "not_scored", "wrong"]
    assert found["error_message"].str.len().max() == 300


def test_an_empty_answer_has_the_same_columns(tmp_path: Path) -> None:
    store = build_store(tmp_path, [rollout(sample_id="a", reward=1.0)])
    nothing = Filters(run_ids=("none",))
    assert failure_causes(store, nothing).columns.tolist() == failure_causes(store).columns.tolist()
    assert failure_causes(store, nothing).empty
