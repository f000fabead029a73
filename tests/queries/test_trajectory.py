from pathlib import Path

import pytest

from ingest.sources.base import Row
from queries.connection import Reading
from queries.filters import Filters
from queries.trajectory import (
    rollout_run,
    trajectory_facts,
    trajectory_messages,
    trajectory_neighbours,
    trajectory_scores,
    trajectory_search,
    trajectory_tool_calls,
)
from tests.stores import build_store, call, rollout

MESSAGES = [
    {"role": "user", "text": "Hé!"},
    {"role": "assistant", "turn": 0, "text": None, "reasoning_text": "think"},
    {"role": "tool", "turn": 0, "text": "12345"},
]
CALLS = [
    call("cat", '{"path":"a"}', message_index=1, result_index=2, output_text="12345"),
    call("cat", '{"path":"a"}', message_index=1, status="error", output_text="Error: no such file"),
    call("late", "{}"),
]
SCORES = [
    {"grader": "style", "value": 0.5, "weight": 2.0, "kind": "subscore"},
    {"grader": "all", "value": 1.0, "kind": "reward", "explanation": "e" * 30_000},
]


@pytest.fixture
def store(tmp_path: Path) -> Reading:
    one = {"step": 3, "split": "valid", "environment": "env"}
    return build_store(
        tmp_path,
        [
            rollout(
                "Run A",
                native_id="a0",
                sample_id="a",
                reward=0.5,
                messages=MESSAGES,
                tool_calls=CALLS,
                scores=SCORES,
                **one,
            ),
            rollout("Run A", native_id="a1", sample_id="a", reward=0.1, status="infra_error", **one),
            rollout("Run A", native_id="b0", sample_id="b", reward=0.2, **one),
            rollout("Run A", native_id="a-later", sample_id="a", reward=0.9, **{**one, "step": 5}),
            rollout("Run A", native_id="a-far", sample_id="a", reward=0.9, **{**one, "step": 90}),
            rollout("other", native_id="a0", sample_id="a", reward=0.3, **one),
        ],
    )


def ids(store: Reading) -> dict[str, str]:
    frame = store.connection.sql("SELECT native_id || '@' || run_id AS k, rollout_id AS v FROM rollouts").fetchall()
    return {key.partition("@")[0] if "other" not in key else "other": value for key, value in frame}


def test_the_run_is_found_from_the_id_alone(store: Reading) -> None:
    known = ids(store)
    run = rollout_run(store, rollout_id=known["a0"])["run_id"].tolist()
    assert len(run) == 1
    assert rollout_run(store, rollout_id=known["other"])["run_id"].tolist() == ["other"]
    assert rollout_run(store, rollout_id="' OR true --").empty
    by_run = trajectory_facts(store, rollout_id=known["a0"], run_id=run[0])
    assert by_run.equals(trajectory_facts(store, rollout_id=known["a0"]))
    assert trajectory_facts(store, rollout_id=known["a0"], run_id="other").empty


def test_facts_are_the_row_and_its_run(store: Reading) -> None:
    found = trajectory_facts(store, rollout_id=ids(store)["a0"]).iloc[0]
    assert (found["run_name"], found["sample_id"], found["reward"], found["num_tool_calls"]) == ("Run A", "a", 0.5, 3)
    assert trajectory_facts(store, rollout_id="nothing").empty
    assert "num_wasted_calls" in trajectory_facts(store, rollout_id="nothing").columns


def test_messages_in_order_cut_and_windowed(store: Reading) -> None:
    rollout_id = ids(store)["a0"]
    found = trajectory_messages(store, rollout_id=rollout_id, max_chars=2)
    assert found["role"].tolist() == ["user", "assistant", "tool"]
    assert found["text"].iloc[0] == "Hé"
    assert found["text"].isna().tolist() == [False, True, False]
    assert found["num_text_bytes"].iloc[0] == 4  # é is two bytes
    assert found["num_text_bytes"].isna().tolist() == [False, True, False]
    assert found["reasoning_text"].iloc[1] == "th"
    assert trajectory_messages(store, rollout_id=rollout_id)["text"].iloc[2] == "12345"
    assert trajectory_messages(store, rollout_id=rollout_id, first=1, last=1)["message_index"].tolist() == [1]
    assert trajectory_messages(store, rollout_id=ids(store)["b0"]).empty


def test_calls_with_errors_repeats_and_windows(store: Reading) -> None:
    rollout_id = ids(store)["a0"]
    found = trajectory_tool_calls(store, rollout_id=rollout_id, max_chars=6)
    assert found["tool"].tolist() == ["cat", "cat", "late"]
    assert found["is_error"].tolist() == [False, True, False]
    assert found["repeat_of"].tolist()[1] == 0
    assert found["output_text"].tolist()[1] == "Error:"
    assert found["output_bytes"].tolist()[1] == 19
    assert found["arguments"].tolist()[0] == '{"path'
    # a window has the calls of its messages, and those that no message asked for
    assert trajectory_tool_calls(store, rollout_id=rollout_id, first=2)["call_index"].tolist() == [2]


def test_scores_reward_first_and_explanations_cut(store: Reading) -> None:
    found = trajectory_scores(store, rollout_id=ids(store)["a0"])
    assert found["grader"].tolist() == ["all", "style"]
    assert len(found["explanation"].iloc[0]) == 20_000


def test_neighbours_by_sample_and_attempt_within_step_and_split(store: Reading) -> None:
    known = ids(store)
    names = {value: key for key, value in known.items()}

    def around(native: str, filters: Filters = Filters(), **own: int) -> dict[str, list[str]]:  # noqa: B008 - filters are frozen
        frame = trajectory_neighbours(store, filters, rollout_id=known[native], **own)
        return {key: [names[each] for each in part["rollout_id"]] for key, part in frame.groupby("relation")}

    assert around("a0") == {"attempt": ["a1", "a-later", "a-far"], "next": ["a1"]}
    assert around("a1") == {"attempt": ["a0", "a-later", "a-far"], "next": ["b0"], "previous": ["a0"]}
    assert around("b0") == {"previous": ["a1"]}
    assert around("a0", max_attempts=1) == {"attempt": ["a1"], "next": ["a1"]}
    # filters on single rollouts are kept to, also from a rollout that they leave out
    assert around("b0", Filters(statuses=("infra_error",))) == {"previous": ["a1"]}
    assert around("a0", Filters(statuses=("infra_error",)))["next"] == ["a1"]


def test_an_unknown_rollout_has_no_trajectory(store: Reading) -> None:
    assert trajectory_messages(store, rollout_id="x").empty
    assert trajectory_tool_calls(store, rollout_id="x").empty
    assert trajectory_neighbours(store, rollout_id="x").empty


def test_a_text_is_found_wherever_it_stands(tmp_path: Path) -> None:
    messages = [
        {"role": "user", "text": "Where is ACME?"},
        {"role": "assistant", "turn": 0, "text": "I look.", "reasoning_text": "acme, acme"},
        {"role": "tool", "turn": 0, "text": "Acme Ltd"},
        {"role": "assistant", "turn": 1, "text": "In the north."},
    ]
    calls = [
        call("find", '{"name":"acme"}', message_index=1, result_index=2),
        call("look", "{}", message_index=1, output_text="x" * 200 + " 50% of acme_ltd " + "y" * 200),
    ]
    store = build_store(tmp_path, [rollout(sample_id="a", messages=messages, tool_calls=calls)])
    rollout_id = str(store.connection.sql("SELECT rollout_id FROM rollouts").fetchall()[0][0])
    found = trajectory_search(store, rollout_id=rollout_id, text="ACME")
    places = zip(found["message_index"], found["place"], found["num_matches"], strict=True)
    assert list(places) == [(0, "user", 1), (1, "reasoning", 2), (1, "call", 1), (1, "output", 1), (1, "output", 1)]
    assert found["snippet"].iloc[4].strip("x y") == "50% of acme_ltd"
    assert len(trajectory_search(store, rollout_id=rollout_id, text="50% of")) == 1
    assert trajectory_search(store, rollout_id=rollout_id, text="5_% of").empty
    assert trajectory_search(store, rollout_id=rollout_id, text="").empty


def test_a_sample_is_described_by_its_environment(tmp_path: Path) -> None:
    said = [
        Row("samples", {"sample_id": "s", "environment": "air", "cluster_key": "flights"}, run="r"),
        Row("samples", {"sample_id": "s", "environment": "shop", "cluster_key": "orders"}, run="r"),
        Row("samples", {"sample_id": "t", "cluster_key": "any"}, run="r"),
    ]
    asked = [("s", "air"), ("s", "shop"), ("s", "bank"), ("s", None), ("t", "air"), ("t", None)]
    rollouts = [
        rollout(sample_id=sample, environment=environment, native_id=str(n))
        for n, (sample, environment) in enumerate(asked)
    ]
    store = build_store(tmp_path, rollouts, said)
    known, wanted = ids(store), ["flights", "orders", None, "flights", "any", "any"]
    facts = [trajectory_facts(store, rollout_id=known[str(n)])["cluster_key"] for n in range(len(asked))]
    assert [None if each.isna()[0] else each[0] for each in facts] == wanted
    arms = "[{'run_id': 'r', 'split': NULL::VARCHAR, 'step': NULL::BIGINT, 'arm': 'a'}]"
    sql = f"SELECT cluster_key FROM rollouts_of_arms({arms}, NULL, 'sample_id') ORDER BY native_id"
    compared = store.connection.sql(sql)
    assert [row[0] for row in compared.fetchall()] == wanted
