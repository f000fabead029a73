"""The neutral format: both layouts, mixed, in several files, mapped, broken; and schema and reader in agreement."""

import json
from pathlib import Path
from typing import Any

import duckdb
import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest import dialects
from ingest import schema as contract
from ingest.errors import SourceError
from ingest.facts import add_facts
from ingest.reading import Peek
from ingest.runner import Request, ingest
from ingest.sources import observatory_jsonl as source
from ingest.sources.base import Fragment, Note, Options, Part, Record, Reject, Rollout, Row
from ingest.staging import Overrides
from ingest.store import Store

SCHEMA = json.loads(Path(source.__file__).with_suffix(".schema.json").read_text())
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
CHAT: list[dict[str, Any]] = [
    {"role": "user", "content": "What is the total of invoice 17?"},
    {
        "role": "assistant",
        "content": "I look it up.",
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "lookup", "arguments": '{"n": 17}'}}],
    },
    {"role": "tool", "tool_call_id": "c1", "content": '{"total": 420}'},
    {"role": "assistant", "content": "420"},
]


def read(tmp_path: Path, *lines: Any, name: str = "my_run.jsonl", **mapping: str) -> list[Record]:
    path = tmp_path / name
    path.write_text("".join((each if isinstance(each, str) else json.dumps(each)) + "\n" for each in lines))
    return list(source.read(Part(path), Options(mapping)))


def rollout(tmp_path: Path, line: Any, **mapping: str) -> Rollout:
    (record,) = [each for each in read(tmp_path, line, **mapping) if not isinstance(each, Note)]
    assert isinstance(record, Rollout), record
    return record


def reason(tmp_path: Path, line: Any) -> str:
    (record,) = read(tmp_path, line)
    assert isinstance(record, Reject), record
    return record.reason


def fits(record: Record) -> None:
    """Assert that a record has only columns of the contract."""
    if isinstance(record, Row):
        assert set(record.values) <= set(contract.table(record.table).names)
    if isinstance(record, Rollout):
        add_facts(record)
        assert set(record.values) <= set(contract.ROLLOUTS.names)
        assert set(record.sample or ()) <= set(contract.SAMPLES.names)
        for name, rows in (
            ("messages", record.messages or []),
            ("tool_calls", record.tool_calls),
            ("scores", record.scores),
        ):
            assert all(set(row) <= set(contract.table(name).names) for row in rows)


def test_a_whole_rollout(tmp_path: Path) -> None:
    found = rollout(
        tmp_path,
        {
            "run": "zava",
            "rollout_id": "r1",
            "sample_id": 17,
            "attempt": 2,
            "step": 20,
            "split": "train",
            "subset": "effective",
            "reward": 0.75,
            "passed": False,
            "status": "completed",
            "started_at": "2026-03-01T10:00:00Z",
            "ended_at": 1772359209.5,
            "messages": CHAT,
            "tool_calls": [{"id": "c1", "latency_s": 0.25, "exit_code": 0}],
            "scores": {"answer": 1.0, "format": False, "note": "fine"},
            "reference": {"total": 420},
            "cluster_key": "doc-1",
            "seed": 7,
            "metadata": {"worker": 3},
        },
    )
    fits(found)
    values = found.values
    assert found.run == "zava"
    assert (values["native_id"], values["sample_id"], values["native_attempt"], values["step"]) == ("r1", "17", 2, 20)
    assert (values["split"], values["subset"], values["reward"], values["passed"]) == (
        "train",
        "effective",
        0.75,
        False,
    )
    assert values["latency_s"] == 9.5
    assert values["final_answer"] == "420"
    assert json.loads(values["metadata"]) == {"seed": 7, "worker": 3}
    assert values["raw_ref"] == "my_run.jsonl@0"
    assert (values["num_messages"], values["num_turns"], values["num_tool_calls"]) == (4, 2, 1)
    (call,) = found.tool_calls
    assert (call["tool"], call["arguments"], call["output_text"]) == ("lookup", '{"n":17}', '{"total": 420}')
    assert (call["status"], call["latency_s"], call["latency_source"], call["exit_code"]) == ("ok", 0.25, "reported", 0)
    assert call["is_error_flagged"] is False
    assert [(row["grader"], row.get("value"), row.get("passed"), row.get("text_value")) for row in found.scores] == [
        ("answer", 1.0, None, None),
        ("format", 0.0, False, None),
        ("note", None, None, "fine"),
    ]
    assert found.sample is not None
    assert found.sample["prompt_text"] == "user: What is the total of invoice 17?"
    assert (found.sample["reference"], found.sample["cluster_key"]) == ('{"total":420}', "doc-1")


def test_rewards_only(tmp_path: Path) -> None:
    found = rollout(tmp_path, {"rollout_id": "r1", "reward": 1})
    fits(found)
    assert found.messages is None
    assert found.values["reward"] == 1.0
    assert found.values.get("num_tool_calls") is None
    assert found.scores == []


@pytest.mark.parametrize("literal", ["NaN", "Infinity", "-Infinity", "null"])
def test_a_reward_that_is_no_number_is_not_scored(tmp_path: Path, literal: str) -> None:
    found = rollout(tmp_path, f'{{"sample_id": "s", "reward": {literal}}}')
    assert found.values.get("reward") is None


def test_message_fields(tmp_path: Path) -> None:
    messages = [
        {"role": "developer", "content": [{"type": "text", "text": "be"}, {"type": "text", "text": "brief"}]},
        {"role": "user", "content": "q", "name": "Ann"},
        {
            "role": "assistant",
            "content": None,
            "reasoning_content": "hm",
            "output_tokens": 5,
            "is_sampled": True,
            "finish_reason": "tool_calls",
            "token_ids": [1, 2, 3],
            "tool_calls": [{"id": "a", "name": "functions.f", "arguments": {"y": 1, "x": 2}}, {"name": "g"}],
        },
        {
            "role": "tool",
            "tool_call_id": "a",
            "content": "boom",
            "error": True,
            "error_kind": "timeout",
            "latency_s": 3,
        },
        {"role": "tool", "content": "fine", "name": "g", "error": False},
    ]
    records = read(tmp_path, {"sample_id": "s", "messages": messages})
    found = records[0]
    assert isinstance(found, Rollout)
    fits(found)
    assert found.messages is not None
    assert [row["role"] for row in found.messages] == ["system", "user", "assistant", "tool", "tool"]
    assert found.messages[0]["text"] == "be\nbrief"
    assert found.messages[1]["agent"] == "Ann"
    assert (found.messages[2]["reasoning_text"], found.messages[2]["output_tokens"]) == ("hm", 5)
    first, second = found.tool_calls
    assert (first["tool"], first["tool_raw"], first["arguments"]) == ("f", "functions.f", '{"x":2,"y":1}')
    assert (first["status"], first["error_kind"], first["latency_s"]) == ("error", "timeout", 3.0)
    assert (second["tool"], second["status"], second["error_kind"], second["turn"]) == ("g", "ok", None, 0)
    assert records[1:] == [Note("`messages[].token_ids` has no column and was not kept.")]


def test_explicit_calls_enrich_or_stand_alone(tmp_path: Path) -> None:
    explicit = [
        {"id": "c1", "name": "other", "output": "longer", "error": True, "turn": 5},
        {
            "id": "zz",
            "name": "extra",
            "arguments": {"b": 1, "a": 2},
            "turn": 0,
            "output": "Error: no",
            "requestor": "user",
        },
        {"name": "late", "arguments": "free text", "exit_code": 3},
    ]
    found = rollout(tmp_path, {"sample_id": "s", "messages": CHAT, "tool_calls": explicit})
    fits(found)
    assert [(row["call_index"], row["tool"], row.get("turn")) for row in found.tool_calls] == [
        (0, "lookup", 0),
        (1, "extra", 0),
        (2, "late", None),
    ]
    lookup, extra, late = found.tool_calls
    assert (lookup["output_text"], lookup["status"], lookup["error_kind"]) == ('{"total": 420}', "error", "error")
    assert (extra["arguments"], extra["requestor"], extra["is_error_inferred"]) == ('{"a":2,"b":1}', "user", True)
    assert (late["is_parsed"], late["status"], late["error_kind"]) == (False, "error", "nonzero_exit")
    assert (found.values["num_tool_calls"], found.values["num_user_tool_calls"]) == (2, 1)


def test_an_id_used_twice_pairs_in_order(tmp_path: Path) -> None:
    asked = {"id": "c", "function": {"name": "f", "arguments": "{}"}}
    messages = [
        {"role": "assistant", "content": "", "tool_calls": [asked]},
        {"role": "tool", "tool_call_id": "c", "content": "1"},
        {"role": "assistant", "content": "", "tool_calls": [asked]},
        {"role": "tool", "tool_call_id": "c", "content": "2"},
        {"role": "tool", "tool_call_id": "never asked", "content": "3"},
    ]
    explicit = [{"id": "c", "latency_s": 1}, {"id": "c", "latency_s": 2}]
    found = rollout(tmp_path, {"sample_id": "s", "messages": messages, "tool_calls": explicit})
    assert [(row["output_text"], row["status"], row.get("latency_s")) for row in found.tool_calls] == [
        ("1", "ok", 1.0),
        ("2", "ok", 2.0),
        ("3", "orphan", None),
    ]


def test_a_parallel_wrapper_is_expanded(tmp_path: Path) -> None:
    uses = [
        {"recipient_name": "functions.a", "parameters": {"x": 1}},
        {"recipient_name": "functions.b", "parameters": {}},
    ]
    call = {"id": "w", "function": {"name": "multi_tool_use.parallel", "arguments": json.dumps({"tool_uses": uses})}}
    messages = [
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "w", "content": "both", "latency_s": 2},
    ]
    found = rollout(tmp_path, {"sample_id": "s", "messages": messages})
    fits(found)
    assert [(row["tool"], row["wrapper_id"], row["output_text"]) for row in found.tool_calls] == [
        ("a", "w0", "both"),
        ("b", "w0", "both"),
    ]
    assert (found.values["tool_latency_s"], found.values["num_parallel_turns"]) == (2.0, 1)


names = st.sampled_from(["f", "functions.g"])
ids = st.sampled_from(["a", "b", "c"])
requests = st.lists(
    st.builds(lambda i, n: {"id": i, "type": "function", "function": {"name": n, "arguments": "{}"}}, ids, names),
    max_size=3,
)
plain = st.lists(
    st.builds(
        lambda text, calls: {"role": "assistant", "content": text, "tool_calls": calls}, st.text(max_size=3), requests
    )
    | st.builds(
        lambda text, i: {"role": "tool", "content": text, "tool_call_id": i}, st.sampled_from(["", "Error: x"]), ids
    )
    | st.builds(lambda text: {"role": "user", "content": text}, st.text(max_size=3)),
    max_size=8,
)


@given(plain)
def test_answers_pair_with_calls_as_everywhere(tmp_path_factory: Any, messages: list[dict[str, Any]]) -> None:
    (found,) = source.neutral_lines.records({"messages": messages}, source.neutral_lines.Place("f"))
    assert isinstance(found, Rollout)
    theirs = dialects.chat(messages)
    keys = ("tool", "tool_call_id", "status", "turn", "result_index", "output_text", "error_kind", "message_index")
    ours = [[row.get(key) for key in keys[:-1]] for row in found.tool_calls]
    assert ours == [[row.get(key) for key in keys[:-1]] for row in theirs.tool_calls]
    assert [row["text"] for row in found.messages or []] == [row["text"] for row in theirs.messages]


def test_rows_about_the_run(tmp_path: Path) -> None:
    records = read(
        tmp_path,
        {"type": "run", "run": "zava", "kind": "training", "base_model": "b", "tags": ["x"], "cluster": "h100"},
        {"type": "run", "run": "zava", "status": "done"},
        {"type": "sample", "run": "zava", "sample_id": 1, "prompt": "2 + 2?", "reference": 4, "level": "easy"},
        {"type": "metric", "step": 3, "name": "loss", "value": 0.5, "host": "a"},
        {
            "type": "metric",
            "step": 3,
            "split": "train",
            "metrics": {"kl": {"mean": 0.1, "max": 2}, "bad": None, "s": "x"},
        },
        {"type": "checkpoint", "step": 3, "checkpoint_id": 9, "model": "m@3", "loss": 0.5},
        {"type": "event", "step": 3, "level": "info", "event_type": "saved", "message": "saved", "took": 2},
    )
    for record in records:
        fits(record)
    rows = [record for record in records if isinstance(record, Row)]
    assert [row.table for row in rows] == [
        "samples",
        "metrics",
        "metrics",
        "metrics",
        "metrics",
        *("checkpoints", "events", "runs"),
    ]
    sample, loss, mean, largest, bad, checkpoint, event, run = rows
    assert run.run == "zava"
    assert run.values["status"] == "done"
    assert (run.values["kind"], run.values["tags"], run.values["config"]) == ("training", '["x"]', '{"cluster":"h100"}')
    assert (sample.values["sample_id"], sample.values["prompt_text"], sample.values["reference"]) == (
        "1",
        "2 + 2?",
        "4",
    )
    assert sample.values["metadata"] == '{"level":"easy"}'
    assert (loss.values["name"], loss.values["value"], loss.values["labels"]) == ("loss", 0.5, '{"host":"a"}')
    assert [(row.values["name"], row.values["value"]) for row in (mean, largest, bad)] == [
        ("kl/mean", 0.1),
        ("kl/max", 2.0),
        ("bad", None),
    ]
    assert mean.values["labels"] == '{"s":"x"}'
    assert (checkpoint.values["checkpoint_id"], checkpoint.values["metrics"]) == ("9", '{"loss":0.5}')
    assert (event.values["type"], event.values["data"]) == ("saved", '{"took":2}')
    assert event.values["event_id"].startswith("my_run.jsonl@")


def pieces() -> list[dict[str, Any]]:
    return [
        {"type": "rollout", "partial": True, "rollout_id": "r", "sample_id": "s", "step": 1, "metadata": {"a": 1}},
        {"type": "message", "rollout_id": "r", "index": 0, **CHAT[0]},
        {"type": "message", "rollout_id": "r", "index": 1, **CHAT[1]},
        {"type": "message", "rollout_id": "r", "index": 2, **CHAT[2]},
        {"type": "message", "rollout_id": "r", "index": 3, **CHAT[3]},
        {
            "type": "tool_call",
            "rollout_id": "r",
            "id": "c1",
            "time": "2026-03-01T10:00:02Z",
            "latency_s": 0.5,
            "error": False,
        },
        {"type": "score", "rollout_id": "r", "grader": "answer", "value": 0.5, "time": "2026-03-01T11:00:00Z"},
        {"type": "score", "rollout_id": "r", "grader": "answer", "value": 1.0, "time": "2026-03-01T11:00:01Z"},
        {"type": "rollout", "partial": True, "rollout_id": "r", "reward": 0.0, "time": "2026-03-01T10:00:00Z", "b": 2},
        {"type": "rollout", "partial": True, "rollout_id": "r", "reward": 1.0, "ended_at": "2026-03-01T10:00:09Z"},
    ]


@given(st.permutations(range(len(pieces()))))
def test_pieces_join_in_any_order(order: list[int]) -> None:
    place = source.neutral_lines.Place("f")
    lines = pieces()
    fragments: list[Fragment] = []
    for index in order:
        place.position = index
        (fragment,) = source.neutral_lines.records(lines[index], place)
        assert isinstance(fragment, Fragment)
        fragments.append(fragment)
    (found,) = source.join("r", fragments)
    assert isinstance(found, Rollout)
    fits(found)
    assert [row["text"] for row in found.messages or []] == [each["content"] for each in CHAT]
    assert found.values["reward"] == 1.0  # the later line wins
    assert (found.values["native_id"], found.values["sample_id"], found.values["step"]) == ("r", "s", 1)
    assert json.loads(found.values["metadata"]) == {"a": 1, "b": 2}
    assert [(row["grader"], row["value"]) for row in found.scores] == [("answer", 0.5), ("answer#2", 1.0)]
    (call,) = found.tool_calls
    assert (call["latency_s"], call["status"], call["output_text"]) == (0.5, "ok", '{"total": 420}')


def test_scores_or_calls_alone_are_a_rollout(tmp_path: Path) -> None:
    for line in (
        {"type": "score", "rollout_id": "r", "grader": "g", "value": 1},
        {"type": "tool_call", "rollout_id": "r", "name": "f", "arguments": {}, "output": "x"},
    ):
        (fragment,) = read(tmp_path, line, name="log.jsonl")
        assert isinstance(fragment, Fragment)
        (found,) = source.join("r", [fragment])
        assert isinstance(found, Rollout)
        fits(found)
        assert found.messages is None
        assert len(found.scores) + len(found.tool_calls) == 1
        assert found.values.get("reward") is None


def test_joined_calls_come_in_order_of_time(tmp_path: Path) -> None:
    lines = [
        {
            "type": "tool_call",
            "rollout_id": "r",
            "name": name,
            "arguments": {},
            "started_at": start,
            "ended_at": start + 1,
        }
        for name, start in (("second", 1_772_359_205), ("first", 1_772_359_200))
    ]
    (found,) = source.join("r", [each for each in read(tmp_path, *lines) if isinstance(each, Fragment)])
    assert isinstance(found, Rollout)
    fits(found)
    assert [row["tool"] for row in found.tool_calls] == ["first", "second"]
    assert (found.values["latency_s"], found.values["tool_latency_s"]) == (6.0, 2.0)


def test_layouts_may_be_mixed(tmp_path: Path) -> None:
    records = read(tmp_path, {"sample_id": "s", "reward": 1}, *pieces(), {"type": "metric", "name": "x", "value": 1})
    kinds = [type(record) for record in records]
    assert kinds == [Rollout, *[Fragment] * len(pieces()), Row]
    assert {record.key for record in records if isinstance(record, Fragment)} == {"r"}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ({"sample_id": "s", "step": "3"}, "step must be a whole number, not '3'"),
        ({"sample_id": "s", "attempt": 1.5}, "attempt must be a whole number, not 1.5"),
        ({"sample_id": "s", "attempt": -1}, "attempt must be a whole number from 0, not -1"),
        ({"sample_id": "s", "step": True}, "step must be a whole number, not True"),
        ({"sample_id": "s", "reward": "1"}, "reward must be a number, not '1'"),
        ({"sample_id": "s", "split": "validation"}, "split must be one of train, valid, test, production"),
        ({"sample_id": "", "reward": 1}, "sample_id must be text (not empty) or a whole number"),
        ({"sample_id": "s", "started_at": "yesterday"}, "started_at must be a time"),
        ({"sample_id": "s", "messages": "hi"}, "messages must be a list, not 'hi'"),
        ({"sample_id": "s", "messages": [1]}, "messages[0] must be an object, not 1"),
        ({"messages": [{"role": "robot"}]}, "messages[0].role must be one of"),
        ({"messages": [{"content": "x"}]}, "messages[0].role must be given"),
        (
            {"messages": [{"role": "assistant", "tool_calls": [{"id": "x"}]}]},
            "messages[0].tool_calls[].name must be text",
        ),
        ({"sample_id": "s", "tool_calls": [{}]}, "tool_calls[0] must be an object with `id` or `name`"),
        ({"sample_id": "s", "scores": [{"value": 1}]}, "scores[0].grader must be given"),
        ({"sample_id": "s", "scores": {"g": [1]}}, "scores[0].value must be a number, true, false or text"),
        ({"reward": 1}, "a rollout's rollout_id, sample_id or messages must be given"),
        ({"type": "what"}, "type must be one of"),
        ({"type": "rollout", "partial": True, "sample_id": "s"}, "rollout_id must be given where `partial` is true"),
        ({"type": "message", "role": "user"}, "rollout_id must be given"),
        ({"type": "metric", "name": "loss"}, "a metric's `name` and `value`, or `metrics`,"),
        ({"type": "checkpoint"}, "step must be given"),
    ],
)
def test_a_broken_rule_is_a_reject_with_its_reason(tmp_path: Path, line: dict[str, Any], expected: str) -> None:
    assert expected in reason(tmp_path, line)
    assert not VALIDATOR.is_valid(line) or "time" in expected


def test_broken_lines_do_not_stop_the_rest(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    good = b'{"sample_id": "s", "reward": 1}'
    path.write_bytes(b"\xef\xbb\xbf" + good + b"\r\n\r\n[1]\r\nnot json\r\n" + good + b"\r\n" + good[:20])
    kinds = [type(record) for record in source.read(Part(path), Options())]
    assert kinds == [Rollout, Reject, Reject, Rollout, Reject]


def test_an_empty_file_has_no_records(tmp_path: Path) -> None:
    assert read(tmp_path) == []
    assert not source.matches(Peek(tmp_path / "my_run.jsonl"))


def test_hostile_text_and_lone_surrogates_are_only_data(tmp_path: Path) -> None:
    found = rollout(
        tmp_path, '{"sample_id": "a\\ud800", "messages": [{"role": "user", "content": "<img src=x>\\ud800"}]}'
    )
    fits(found)
    assert found.messages is not None
    assert found.messages[0]["text"].startswith("<img src=x>")
    assert found.sample is not None
    assert found.sample["prompt_hash"]


def test_per_token_lists_are_not_kept(tmp_path: Path) -> None:
    records = read(tmp_path, {"sample_id": "s", "completion_ids": [1, 2], "logprobs": [-0.1], "kept": [1]})
    assert isinstance(records[0], Rollout)
    assert records[0].values["metadata"] == '{"kept":[1]}'
    assert [record.text for record in records if isinstance(record, Note)] == [
        "`completion_ids` has no column and was not kept.",
        "`logprobs` has no column and was not kept.",
    ]


def test_token_streams_of_a_message_are_summarised(tmp_path: Path) -> None:
    streams = {"logprobs": [-1.0, -2.0], "trainer_logprobs": [-1.5, -1.9], "entropies": [0.5, 1.5]}
    line = {"rollout_id": "r", "messages": [*CHAT[:3], {**CHAT[3], **streams, "mismatch_mean": -0.75}]}
    last = (rollout(tmp_path, line).messages or [])[3]
    assert not streams.keys() & last.keys()
    assert (last["logprob_mean"], last["entropy_mean"]) == (-1.5, 1.0)
    assert last["mismatch_mean"] == -0.75  # what is given is kept
    assert last["mismatch_abs_mean"] == pytest.approx(0.3)  # (.5 + .1) / 2


def test_mapping(tmp_path: Path) -> None:
    raw = {
        "meta": {"task": 7, "seed": 1},
        "results": [{"r": "0.5"}],
        "log": json.dumps(CHAT),
        "phase": "validation",
        "n": "4",
    }
    found = rollout(
        tmp_path,
        raw,
        sample_id="meta.task",
        reward="results.0.r",
        messages="log",
        split="phase",
        step="n",
        model="no.where",
    )
    fits(found)
    assert (found.values["sample_id"], found.values["reward"], found.values["split"]) == ("7", 0.5, "valid")
    assert found.values["step"] == 4
    assert found.values["num_tool_calls"] == 1
    assert json.loads(found.values["metadata"]) == {"meta": {"seed": 1}, "results": [{"r": "0.5"}]}
    (reject,) = read(tmp_path, {"other": 1}, sample_id="meta.task")
    assert isinstance(reject, Reject)
    with pytest.raises(SourceError, match="there is no field foo"):
        read(tmp_path, raw, foo="meta.task")


def test_a_list_of_objects_is_read_by_element(tmp_path: Path) -> None:
    path = tmp_path / "export.json"
    path.write_text(json.dumps([{"task": 1, "score": 0.5}, 3, {"task": 2, "score": "NaN"}], indent=1))
    records = list(source.read(Part(path), Options({"sample_id": "task", "reward": "score"})))
    assert [type(record) for record in records] == [Rollout, Reject, Rollout]
    assert [record.values.get("reward") for record in records if isinstance(record, Rollout)] == [0.5, None]


def test_files_of_a_tool_server_a_grader_and_a_trainer_join_in_the_store(tmp_path: Path) -> None:
    files = {
        "trainer": {"type": "rollout", "partial": True, "rollout_id": "r", "sample_id": "s", "reward": 1.0},
        "tool_server": {"type": "tool_call", "rollout_id": "r", "name": "f", "arguments": {"a": 1}, "output": "x"},
        "grader": {"type": "score", "rollout_id": "r", "grader": "g", "value": 0.5},
    }
    folder = tmp_path / "job"
    folder.mkdir()
    store = Store(tmp_path / "store")
    for name, line in files.items():  # they arrive one by one, as they do from three processes
        (folder / f"{name}.jsonl").write_text(json.dumps(line) + "\n")
        report = ingest(store, Request([folder]))
        assert (report.exit_code, list(report.runs)) == (0, ["job"])
    with duckdb.connect(str(tmp_path / "store" / "observatory.duckdb"), read_only=True) as connection:
        found = connection.sql("SELECT run_id, native_id, sample_id, reward, num_tool_calls FROM rollouts").fetchall()
        assert found == [("job", "r", "s", 1.0, 1)]
        assert connection.sql("SELECT grader, value FROM scores").fetchall() == [("g", 0.5)]
        assert connection.sql("SELECT tool, arguments FROM tool_calls").fetchall() == [("f", '{"a":1}')]


@pytest.mark.parametrize(
    ("line", "matches"),
    [
        ({"sample_id": "s", "reward": 1}, True),
        ({"rollout_id": "r", "messages": []}, True),
        ({"type": "rollout", "sample_id": "s"}, True),
        ({"type": "metric", "name": "x", "value": 1}, True),
        ({"type": "message", "rollout_id": "r", "role": "user"}, True),
        ({"type": "message", "role": "user", "content": "x"}, False),
        ({"sample_id": "s"}, False),
        ({"reward": 1}, False),
        ({"example_id": 1, "sample_id": "s", "reward": 1}, False),
        ({"type": "x", "sample_id": "s", "reward": 1}, False),
        ([{"sample_id": "s", "reward": 1}], False),
    ],
)
def test_matches(tmp_path: Path, line: Any, matches: bool) -> None:  # noqa: FBT001 - parametrised
    path = tmp_path / "f.txt"
    path.write_text(json.dumps(line) + "\n")
    assert source.matches(Peek(path)) is matches


@pytest.mark.parametrize(
    ("name", "run"),
    [
        ("zava_rft.jsonl.gz", "zava_rft"),
        ("rollouts.jsonl", "job7"),
        ("step_12.jsonl", "job7"),
        ("3.jsonl", "job7"),
        ("tool_server.log.jsonl", "job7"),
        ("Grader-2024-01-01.jsonl", "job7"),
        ("toolserver3.jsonl", "job7"),
        ("grader_b.jsonl", "grader_b"),
        ("2024-01-01.jsonl", "2024-01-01"),
        ("日本.jsonl", "日本"),
        ("1_2.jsonl", "1_2"),
    ],
)
def test_default_run(tmp_path: Path, name: str, run: str) -> None:
    folder = tmp_path / "job7"
    folder.mkdir()
    (folder / name).touch()
    assert source.default_run(folder / name) == run


SERVED = {"type": "tool_call", "rollout_id": "r", "id": "c1", "name": "lookup", "output": "420"}
GRADED = {"type": "score", "rollout_id": "r", "grader": "answer", "value": 1.0}


def events(folder: Path, **files: Any) -> Path:
    folder.mkdir()
    for name, line in files.items():
        (folder / f"{name}.jsonl").write_text(json.dumps(line) + "\n")
    return folder


def test_files_of_pieces_join_by_their_folder(tmp_path: Path) -> None:
    trained = {"type": "rollout", "partial": True, "rollout_id": "r", "sample_id": "s", "reward": 1.0}
    folder = events(tmp_path / "zava", trainer=trained, tool_server=SERVED, grader_log=GRADED)
    report = ingest(Store(tmp_path / "store"), Request([folder], workers=1))
    assert (report.runs, report.notes) == ({"zava": "zava"}, [])
    with duckdb.connect(str(tmp_path / "store" / "observatory.duckdb"), read_only=True) as connection:
        found = connection.sql("SELECT native_id, reward, num_tool_calls FROM rollouts").fetchall()
    assert found == [("r", 1.0, 1)]


def test_pieces_in_files_of_other_names_say_how_to_join_them(tmp_path: Path) -> None:
    folder = events(tmp_path / "zava", sql_server=SERVED, strict_grader=GRADED)
    report = ingest(Store(tmp_path / "store"), Request([folder], workers=1))
    assert set(report.runs) == {"sql_server", "strict_grader"}
    assert len(report.notes) == 2
    assert "sql_server.jsonl holds only tool_call lines and no run: they are of the run" in report.notes[0]
    assert "run `strict_grader`" in report.notes[1]
    overrides = Overrides(run="zava")
    report = ingest(Store(tmp_path / "joined"), Request([folder], overrides=overrides, workers=1))
    assert (set(report.runs), report.notes, report.rollouts) == ({"zava"}, [], 1)


def test_pieces_that_name_their_run_need_no_note(tmp_path: Path) -> None:
    assert not [each for each in read(tmp_path, GRADED | {"run": "zava"}) if isinstance(each, Note)]
    assert not [each for each in read(tmp_path, GRADED, SERVED, *pieces()) if isinstance(each, Note)]
