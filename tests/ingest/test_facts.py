"""Trajectory facts against values counted by hand."""

import json
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.dialects import chat
from ingest.facts import add_facts
from ingest.schema import ROLLOUTS, TOOL_CALLS
from ingest.sources.base import Rollout

START = datetime(2026, 3, 1, 10, tzinfo=UTC)
FACTS = [column.name for column in ROLLOUTS.columns if column.name.startswith(("num_", "max_", "longest_"))]


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def call(tool: str, arguments: str | None = "{}", output: str | None = "ok", **values: Any) -> dict[str, Any]:
    status = "no_result" if output is None else "ok"
    return {
        "tool": tool,
        "tool_raw": tool,
        "arguments_raw": arguments,
        "output_text": output,
        "status": status,
    } | values


def facts(calls: list[dict[str, Any]], messages: list[dict[str, Any]] | None = None, **values: Any) -> dict[str, Any]:
    rollout = Rollout(values, messages, calls)
    add_facts(rollout)
    return rollout.values


def test_without_messages_and_calls_nothing_is_counted() -> None:
    found = facts([], None, started_at=at(0), ended_at=at(2.5))
    assert found["latency_s"] == 2.5
    assert all(found.get(name) is None for name in FACTS)
    assert "tool_output_bytes" not in found


def test_turns_with_token_figures_know_whether_a_tool_answered_before_them() -> None:
    messages: list[dict[str, Any]] = [
        {"role": "user"},
        {"role": "assistant", "mismatch_mean": 0.1},
        {"role": "tool"},
        {"role": "tool"},
        {"role": "assistant", "entropy_mean": 0.5},
        {"role": "tool"},
        {"role": "assistant"},  # nothing is known of its tokens
        {"role": "tool"},
        {"role": "assistant", "logprob_mean": -1.0, "is_after_tool": False},  # the source says so itself
    ]
    facts([], messages)
    assert [each.get("is_after_tool") for each in messages] == [
        *(None, False, None, None, True, None, None, None, False)
    ]


def test_empty_messages_count_as_zero() -> None:
    found = facts([], [])
    assert {name: found[name] for name in FACTS} == dict.fromkeys(FACTS, 0)
    assert found["tool_output_bytes"] == 0
    assert found["wasted_tokens_estimate"] == 0
    assert found.get("tool_latency_s") is None
    assert found.get("wasted_latency_s") is None


def test_calls_without_messages_leave_messages_null() -> None:
    found = facts([call("search"), call("search", '{"q": 1}')])
    assert found.get("num_messages") is None
    assert found.get("num_turns") is None
    assert found["num_tool_calls"] == 2
    assert found["num_tool_rounds"] == 2  # no turn is known: each is a round of its own


def test_messages_turns_and_final_answer() -> None:
    messages = [
        {"role": "user", "text": "hi"},
        {"role": "assistant", "text": "first"},
        {"role": "tool", "text": "x"},
        {"role": "assistant", "text": "last"},
    ]
    found = facts([], messages)
    assert (found["num_messages"], found["num_turns"], found["final_answer"]) == (4, 2, "last")
    assert facts([], messages, final_answer="submitted")["final_answer"] == "submitted"
    assert facts([], [{"role": "assistant", "text": ""}])["final_answer"] is None


def test_token_sums_need_every_sampled_message() -> None:
    few_shot = {"role": "assistant", "text": "e", "is_sampled": False}
    one = {"role": "assistant", "input_tokens": 100, "output_tokens": 10, "latency_s": 1.5}
    two = {"role": "assistant", "input_tokens": 150, "output_tokens": 20, "latency_s": 0.5}
    found = facts([], [few_shot, one, two])
    assert (found["input_tokens"], found["output_tokens"], found["context_tokens"]) == (250, 30, 170)
    assert found["model_latency_s"] == 2.0
    assert facts([], [one, {"role": "assistant"}, two]).get("output_tokens") is None
    assert facts([], [one, two], output_tokens=7)["output_tokens"] == 7


def test_arguments_are_canonical() -> None:
    calls = [
        call("a", '{"b": 1, "a": [2]}'),
        call("a", '{"a":[2],"b":1}'),
        call("a", "{broken"),
        call("a", None),
        call("a", ""),
        call("a", '{"x": NaN}'),
    ]
    facts(calls)
    assert [row.get("arguments") for row in calls] == ['{"a":[2],"b":1}'] * 2 + [None, None, None, '{"x":null}']
    assert [row.get("is_parsed") for row in calls] == [True, True, False, None, None, True]
    assert calls[0]["arguments_hash"] == calls[1]["arguments_hash"] != calls[2]["arguments_hash"]
    assert [row.get("repeat_of") for row in calls] == [None, 0, None, None, None, None]
    assert all(row["arguments_hash"] and row["near_key"] for row in calls)


def test_output_size_counts_bytes_and_user_calls_are_apart() -> None:
    calls = [
        call("search", "{}", "été"),  # 5 bytes
        call("search", "{}", None),
        call("phone", "{}", "x" * 100, requestor="user", is_error_flagged=True),
    ]
    found = facts(calls, [])
    assert [row.get("output_bytes") for row in calls] == [5, None, 100]
    assert (found["tool_output_bytes"], found["tool_output_tokens_estimate"]) == (5, 1)
    assert (found["num_tool_calls"], found["num_user_tool_calls"], found["num_tool_errors"]) == (2, 1, 0)
    assert found["num_distinct_tools"] == 1


def test_outputs_that_were_not_kept_are_null() -> None:
    found = facts([call("search", "{}", None, status="ok")], [])
    assert found.get("tool_output_bytes") is None
    assert found.get("tool_output_tokens_estimate") is None


def test_errors_flagged_inferred_and_not_executed() -> None:
    calls = [
        call("a", '{"n":1}', is_error_flagged=True, status="error"),
        call("a", '{"n":2}', is_error_inferred=True, status="error"),
        call("a", '{"n":3}', is_executed=False),
        call("a", '{"n":4}', is_error_flagged=False),
        call("a", '{"n":5}', None),
    ]
    found = facts(calls, [])
    assert found["num_tool_calls"] == 5
    assert found["num_tool_errors"] == 3
    assert found["num_tool_calls_succeeded"] == 2
    assert found["num_tool_errors_flagged"] == 1
    assert found["num_tool_errors_inferred"] == 1
    assert found["num_tool_calls_executed"] == 4


def test_orphan_answers_are_no_calls_but_bring_bytes() -> None:
    found = facts([call("unknown", None, "abcd", status="orphan"), call("unknown", None, "efgh", status="orphan")], [])
    assert (found["num_tool_calls"], found["num_tool_rounds"], found["tool_output_bytes"]) == (0, 0, 8)


@pytest.mark.parametrize(
    ("between", "output", "wasted", "kind"),
    [
        ([], "same", True, "same"),
        ([call("read_page", '{"p": 2}')], "same", True, "same"),
        ([call("write_file", '{"p": 2}')], "same", False, "same"),
        ([call("python", "print(1)")], "same", False, "same"),
        ([call("write_file", "{}", is_executed=False)], "same", True, "same"),
        ([call("write_file", "{}", requestor="user")], "same", False, "same"),
        ([], "other", False, "different"),
        ([], None, None, "unknown"),
    ],
)
def test_waste(*, between: list[dict[str, Any]], output: str | None, wasted: bool | None, kind: str) -> None:
    calls = [call("search", '{"q": "a"}', "same"), *[dict(each) for each in between]]
    calls.append(call("search", '{ "q":"a" }', output, latency_s=2.0))
    found = facts(calls, [])
    assert calls[-1]["repeat_of"] == 0
    assert calls[-1]["is_wasted"] is wasted
    assert calls[-1]["repeat_output"] == kind
    assert found["num_exact_repeats"] == 1
    assert found["num_wasted_calls"] == (wasted is True)
    assert found["num_repeats_same_output"] == (kind == "same")
    assert found["num_repeats_changed_output"] == (kind == "different")
    assert found["wasted_tokens_estimate"] == (1 if wasted else 0)
    assert found["wasted_latency_s"] == (2.0 if wasted else 0.0)


@pytest.mark.parametrize(
    ("tool", "wasted"),
    [
        ("press_key", False),
        ("scrollDown", False),
        ("bash", True),
        ("get_order_details", True),
        ("search_and_replace", False),
    ],
)
def test_an_act_done_twice_is_no_waste(*, tool: str, wasted: bool) -> None:
    calls = [call(tool, "{}", "ok"), call(tool, "{}", "ok")]
    facts(calls)
    assert calls[1]["is_wasted"] is wasted


def test_the_latest_earlier_call_counts_and_only_of_the_same_requestor_and_tool() -> None:
    calls = [
        call("a", '{"q":1}'),
        call("b", '{"q":1}'),
        call("a", '{"q":1}', requestor="user"),
        call("a", '{"q":1}'),
        call("a", '{"q":1}'),
    ]
    facts(calls)
    assert [row.get("repeat_of") for row in calls] == [None, None, None, 0, 3]


def test_near_repeats() -> None:
    calls = [
        call("search", '{"query": "Acme revenue 2023"}'),
        call("search", '{"query": "acme total revenue 2023"}'),  # 3 of 4 words: alike
        call("search", '{"query": "acme revenue 2024"}'),  # 2 of 4 and 2 of 5: not alike
        call("read", '{"query": "acme revenue 2023"}'),  # another tool
        call("search", '{"query": "2023 revenue (Acme)"}'),  # the same words as the first, 3 of 4 of the second
        call("search", '{"query": "Acme revenue 2023"}'),  # an exact repeat is not a near repeat too
    ]
    found = facts(calls, [])
    assert [row.get("near_repeat_of") for row in calls] == [None, 0, None, None, 1, None]
    assert calls[5]["repeat_of"] == 0
    assert found["num_near_repeats"] == 2
    assert calls[0]["near_key"] == calls[1]["near_key"] == calls[4]["near_key"] == calls[5]["near_key"]
    assert calls[2]["near_key"] == calls[2]["arguments_hash"] != calls[0]["near_key"]


def test_near_repeats_ignore_keys_and_read_free_text() -> None:
    calls = [
        call("f", '{"first_long_key": "a", "second_long_key": "b"}'),
        call("f", '{"first_long_key": "c", "second_long_key": "d"}'),
        call("g", "ls -la src/app"),
        call("g", "ls -la src/app/"),
        call("h", "{}"),
        call("h", '{"a": null}'),
    ]
    facts(calls)
    assert [row.get("near_repeat_of") for row in calls] == [None, None, None, 2, None, None]


def test_near_repeats_look_back_on_fifty_calls() -> None:
    filler = [call("search", f'{{"query": "filler{number} word{number}"}}') for number in range(50)]
    calls = [call("search", '{"query": "a b c"}'), *filler, call("search", '{"query": "c b a"}')]
    facts(calls)
    assert calls[-1].get("near_repeat_of") is None
    calls = [call("search", '{"query": "a b c"}'), *filler[:49], call("search", '{"query": "c b a"}')]
    facts(calls)
    assert calls[-1]["near_repeat_of"] == 0


@pytest.mark.parametrize(
    ("sequence", "longest"),
    [("abc", 0), ("aa", 2), ("aaab", 3), ("abab", 4), ("xababay", 5), ("aba", 0), ("abcdabcd", 8), ("abcdeabcde", 0)],
)
def test_loops(sequence: str, longest: int) -> None:
    assert facts([call("t", f'{{"q":"{letter}"}}') for letter in sequence], [])["longest_loop"] == longest


def test_unknown_arguments_are_no_repeats() -> None:
    calls = [call("search", None), call("search", None)]
    found = facts(calls, [])
    assert found["num_tool_calls"] == 2
    assert found.get("num_exact_repeats") is None
    assert found.get("longest_loop") is None
    assert calls[1].get("is_wasted") is None


def test_rounds_and_latencies() -> None:
    calls = [
        call("a", '{"n":1}', turn=0, latency_s=1.0),
        call("b", '{"n":2}', turn=0, latency_s=3.0),
        call("a", '{"n":3}', turn=2, latency_s=4.0, wrapper_id="w2"),
        call("b", '{"n":4}', turn=2, latency_s=4.0, wrapper_id="w2"),
        call("c", '{"n":5}', turn=3),
        call("u", "{}", turn=0, latency_s=100.0, requestor="user"),
    ]
    found = facts(calls, [])
    assert found["num_tool_rounds"] == 3
    assert found["num_parallel_turns"] == 2
    assert found["max_parallel_calls"] == 2
    assert found["tool_latency_s"] == 8.0  # 1 + 3 + the wrapper once
    assert found["tool_critical_path_s"] == 7.0  # 3 + 4


def test_times_are_taken_from_what_is_timed() -> None:
    calls = [call("a", "{}", started_at=at(1), ended_at=at(3)), call("b", "{}", started_at=at(4), ended_at=at(9))]
    found = facts(calls, [{"role": "user", "text": "q", "started_at": at(0)}])
    assert (found["started_at"], found["ended_at"], found["latency_s"]) == (at(0), at(9), 9.0)
    assert [(row["latency_s"], row["latency_source"]) for row in calls] == [(2.0, "span"), (5.0, "span")]
    assert facts([], None, started_at=at(5), ended_at=at(1))["latency_s"] is None


texts = st.none() | st.sampled_from(["", "{}", '{"q": "a b"}', '{"q": "b a"}', "[1", "NaN", '"\\ud800"', "\ud800", "5"])
rows = st.fixed_dictionaries(
    {"tool": st.sampled_from(["search", "bash", "unknown", ""]) | st.none(), "arguments_raw": texts},
    optional={
        "output_text": texts,
        "status": st.sampled_from(["ok", "error", "no_result", "orphan"]) | st.none(),
        "requestor": st.sampled_from(["agent", "user"]) | st.none(),
        "is_executed": st.booleans() | st.none(),
        "is_error_flagged": st.booleans() | st.none(),
        "is_error_inferred": st.booleans() | st.none(),
        "turn": st.integers(0, 3) | st.none(),
        "wrapper_id": st.sampled_from(["w1"]) | st.none(),
        "latency_s": st.floats(0, 10) | st.none() | st.just(float("nan")),
        "started_at": st.just(at(0)) | st.none(),
        "ended_at": st.just(at(1)) | st.none(),
    },
)


@given(st.lists(rows, max_size=12), st.none() | st.just([]) | st.just([{"role": "assistant", "text": None}]))
def test_counts_agree_with_one_another(calls: list[dict[str, Any]], messages: list[dict[str, Any]] | None) -> None:
    found = facts(calls, messages)
    assert all(set(row) <= set(TOOL_CALLS.names) for row in calls)
    assert set(found) <= set(ROLLOUTS.names)
    if messages is None and not calls:
        return
    total = found["num_tool_calls"]
    orphans = sum(row["status"] == "orphan" and row["requestor"] == "agent" for row in calls)
    assert total + found["num_user_tool_calls"] + orphans == len(calls)
    assert found["num_tool_calls_succeeded"] + found["num_tool_errors"] == total
    assert found["num_tool_errors_flagged"] + found["num_tool_errors_inferred"] <= found["num_tool_errors"]
    assert found["num_tool_calls_executed"] <= total
    assert found["num_parallel_turns"] <= found["num_tool_rounds"] <= total
    if found.get("num_exact_repeats") is not None:
        outputs = found["num_repeats_same_output"] + found["num_repeats_changed_output"]
        assert found["num_wasted_calls"] <= found["num_repeats_same_output"]
        assert outputs <= found["num_exact_repeats"]
        assert found["num_exact_repeats"] + found["num_near_repeats"] <= max(total - 1, 0)
        assert found["longest_loop"] <= total
    if found.get("tool_latency_s") is not None:
        assert found["tool_critical_path_s"] <= found["tool_latency_s"] + 1e-9
    for row in calls:
        assert row.get("repeat_of") is None or row["repeat_of"] < row["call_index"]
        assert row.get("repeat_of") is None or row.get("near_repeat_of") is None


def test_in_real_coding_traces_most_repeats_return_something_new(real_data: Path) -> None:
    totals: Counter[str] = Counter()
    for path in sorted((real_data / "mini_swe_agent").rglob("*.json")):
        document = json.loads(path.read_text())
        messages = document.get("messages") if isinstance(document, dict) else None
        if messages:
            talk = chat(messages)
            totals.update(
                {name: value for name, value in facts(talk.tool_calls, talk.messages).items() if name in FACTS}
            )
    assert totals["num_exact_repeats"] == 94
    assert totals["num_repeats_changed_output"] == 52
    assert totals["num_repeats_same_output"] == 42
    assert totals["num_wasted_calls"] == 0  # each had another shell command before it, which may have changed a file


def test_what_a_wrapper_answered_as_a_whole_brings_its_bytes_once() -> None:
    whole = {"wrapper_id": "w0", "result_index": 2, "output_text": "could not parse", "status": "error"}
    apart = {"wrapper_id": "w1", "result_index": 4}
    calls = [
        call("a", **whole),
        call("b", **whole),
        call("a", output="12345", **apart),
        call("b", output="123", **apart),
    ]
    assert facts(calls)["tool_output_bytes"] == len("could not parse") + 5 + 3
