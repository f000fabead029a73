"""verifiers, both generations: hand-built records with hand-computed rows, broken ones, and the real files' figures."""

import json
from pathlib import Path
from typing import Any

import pytest

from ingest.discover import discover, recognise
from ingest.reading import Peek
from ingest.schema import STATUSES, table
from ingest.sources import verifiers, verifiers_legacy
from ingest.sources.base import FIELDS, Options, Part, Record, Reject, Rollout, Row

Values = dict[str, Any]


def write(path: Path, *rows: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(row if isinstance(row, str) else json.dumps(row) + "\n" for row in rows))
    return path


def records(path: Path, source: Any = verifiers) -> list[Record]:
    return list(source.read(Part(path), Options()))


def rollouts(path: Path, source: Any = verifiers) -> list[Rollout]:
    return [each for each in records(path, source) if isinstance(each, Rollout)]


def rejects(path: Path, source: Any = verifiers) -> list[Reject]:
    return [each for each in records(path, source) if isinstance(each, Reject)]


def node(
    role: str, content: str | None = None, parent: int | None = None, *, sampled: bool = False, **more: Any
) -> Values:
    message = {"role": role, "content": content, **more.pop("message", {})}
    found: Values = {"message": message, "sampled": sampled, **more}
    return found if parent is None else {"parent": parent, **found}


def asks(*ids: str, name: str = "sql", arguments: str = '{"q": 1}') -> Values:
    return {"tool_calls": [{"id": each, "type": "function", "name": name, "arguments": arguments} for each in ids]}


def answer(call_id: str, content: str, parent: int, **more: Any) -> Values:
    return node("tool", content, parent, message={"tool_call_id": call_id}, **more)


def trace(nodes: list[Values], **more: Any) -> Values:
    return {
        "version": 1,
        "id": "t1",
        "agent": {"config": {"model": "m"}, "name": "solver", "trainable": True},
        "nodes": nodes,
        "calls": [],
        "rewards": {"right": {"score": 1.0, "weight": 1.0}},
        "metrics": {},
        "is_completed": True,
        "ok": True,
        "stop_condition": "agent_completed",
        "errors": [],
        **more,
    }


def episode(*traces: Values, **more: Any) -> Values:
    return {
        "id": "e1",
        "env": {"id": "base+coding", "name": "coding"},
        "task": {"type": "T", "data": {"prompt": "q", "answer": "7"}, "key": "k1", "hash": "h1"},
        "group": {"id": "g1"},
        "run": {"type": "train", "id": "r", "work": {"type": "train", "step": 3, "policy": {"start": 2, "end": 4}}},
        "ok": True,
        "errors": [],
        "traces": list(traces),
        **more,
    }


def one(tmp_path: Path, *traces: Values, **more: Any) -> Rollout:
    (found,) = rollouts(write(tmp_path / "traces.jsonl", episode(*traces, **more)))
    return found


PARALLEL = [
    node("system", "be brief"),
    node("user", "count", 0),
    node("assistant", None, 1, sampled=True, message=asks("c1", "c2")),
    answer("c1", "7", 2),
    answer("c2", "Error: no such table", 3),
    node("assistant", "7", 4, sampled=True, message={"reasoning_content": "easy"}),
]


class TestEpisode:
    def test_says_what_the_episode_says(self, tmp_path: Path) -> None:
        values = one(tmp_path, trace(PARALLEL, info={"advantage": 0.25, "note": "x"})).values
        expected = {
            "native_id": "t1",
            "sample_id": "k1",
            "sample_id_source": "native",
            "environment": "coding",
            "agent": "solver",
            "group_id": "g1",
            "step": 3,
            "split": "train",
            "policy_version_start": 2,
            "policy_version_end": 4,
            "model": "m",
            "status": "completed",
            "stop_reason": "agent_completed",
            "reward": 1.0,
            "advantage": 0.25,
            "position": 0,
            "raw_ref": "traces.jsonl:0#0",
        }
        assert {key: values[key] for key in expected} == expected
        assert json.loads(values["metadata"])["info"] == {"note": "x"}
        assert "subset" not in values
        assert "passed" not in values

    def test_sample_has_prompt_and_reference(self, tmp_path: Path) -> None:
        sample = one(tmp_path, trace(PARALLEL)).sample
        assert sample is not None
        assert sample["prompt_text"] == "system: be brief\n\nuser: count"
        assert sample["reference"] == "7"

    @pytest.mark.parametrize(
        ("task", "expected"),
        [({"key": "k", "hash": "h"}, "k"), ({"hash": "h"}, "h"), ({"key": "", "hash": "h"}, "h"), ({}, "k1")],
    )
    def test_sample_is_key_else_hash_else_the_episodes(self, tmp_path: Path, task: Values, expected: str) -> None:
        assert one(tmp_path, trace(PARALLEL, task=task)).values["sample_id"] == expected

    def test_reward_is_the_weighted_sum_of_what_was_scored(self, tmp_path: Path) -> None:
        rewards = {"right": {"score": 1.0, "weight": 1.0}, "form": {"score": 0.5, "weight": 0.2}, "judge": None}
        found = one(tmp_path, trace(PARALLEL, rewards=rewards, metrics={"turns": 2.0, "form": 9.0, "late": None}))
        assert found.values["reward"] == pytest.approx(1.1)
        assert [(row["grader"], row["value"], row.get("weight"), row["kind"]) for row in found.scores] == [
            ("right", 1.0, 1.0, "subscore"),
            ("form", 0.5, 0.2, "subscore"),
            ("judge", None, None, "subscore"),
            ("turns", 2.0, None, "metric"),
            ("metrics/form", 9.0, None, "metric"),
            ("late", None, None, "metric"),
        ]

    @pytest.mark.parametrize("rewards", [{}, None, {"judge": None}, [1], {"a": {"score": None, "weight": 1.0}}])
    def test_nothing_scored_is_null_and_not_zero(self, tmp_path: Path, rewards: Any) -> None:
        assert one(tmp_path, trace(PARALLEL, rewards=rewards)).values["reward"] is None

    @pytest.mark.parametrize("score", ["NaN", "Infinity", '"1.0"'])
    def test_a_score_that_is_no_number_leaves_the_reward_unscored(self, tmp_path: Path, score: str) -> None:
        line = json.dumps(episode(trace(PARALLEL, rewards={"a": {"score": 1}, "b": {"score": "@"}})))
        (found,) = rollouts(write(tmp_path / "traces.jsonl", line.replace('"@"', score)))
        assert found.values["reward"] is None
        assert [row["value"] for row in found.scores] == [1.0, None]

    def test_zero_traces_are_a_failed_rollout(self, tmp_path: Path) -> None:
        found = one(tmp_path, ok=False, errors=[{"type": "TimeoutError", "message": "no sandbox"}])
        assert found.values["status"] == "infra_error"
        assert found.values.get("reward") is None
        assert (found.values["native_id"], found.values["sample_id"], found.values["group_id"]) == ("e1", "k1", "g1")
        assert (found.values["error_type"], found.values["error_message"]) == ("TimeoutError", "no sandbox")
        assert found.messages is None
        assert found.sample is not None
        assert found.sample["prompt_text"] == "user: q"

    def test_each_trace_is_a_rollout(self, tmp_path: Path) -> None:
        judge = trace(PARALLEL, id="t2", agent={"name": "judge", "trainable": False}, rewards={})
        path = write(tmp_path / "traces.jsonl", episode(trace(PARALLEL), judge))
        found = [each.values for each in rollouts(path)]
        assert [(each["native_id"], each["agent"], each["reward"]) for each in found] == [
            ("t1", "solver", 1.0),
            ("t2", "judge", None),
        ]
        assert [each["raw_ref"] for each in found] == ["traces.jsonl:0#0", "traces.jsonl:0#1"]

    def test_eval_work_is_valid(self, tmp_path: Path) -> None:
        run = {"type": "train", "id": "r", "work": {"type": "eval", "step": 5}}
        assert one(tmp_path, trace(PARALLEL), run=run).values["split"] == "valid"
        assert one(tmp_path, trace(PARALLEL), run={"type": "eval", "id": "r"}).values["split"] == "valid"
        assert one(tmp_path, trace(PARALLEL), run=None).values["split"] is None

    @pytest.mark.parametrize(
        ("change", "status"),
        [
            ({}, "completed"),
            ({"stop_condition": "max_turns"}, "truncated"),
            ({"stop_condition": "max_total_tokens"}, "truncated"),
            ({"calls": [{"node": 2, "finish_reason": "length"}]}, "truncated"),
            ({"calls": [{"node": 2, "finish_reason": "length"}, {"node": 5, "finish_reason": "stop"}]}, "completed"),
            ({"stop_condition": "agent_timeout", "is_timeout": True}, "infra_error"),
            ({"stop_condition": "scoring_timeout", "is_timeout": True}, "grader_error"),
            ({"ok": False, "stop_condition": "sandbox_error", "errors": [{"type": "SandboxError"}]}, "infra_error"),
            ({"ok": False, "stop_condition": "task_error", "errors": [{"type": "TaskError"}]}, "infra_error"),
            (
                {
                    "ok": False,
                    "stop_condition": "task_error",
                    "errors": [{"type": "TaskError"}],
                    "timing": {"agent": {"start": 1.0, "end": 2.0}},
                },
                "grader_error",
            ),
            ({"errors": [{"type": "ProviderError"}]}, "completed"),
            ({"ok": False, "is_completed": False, "stop_condition": None}, None),
        ],
    )
    def test_status(self, tmp_path: Path, change: Values, status: str | None) -> None:
        found = one(tmp_path, trace(PARALLEL, **change)).values
        assert found["status"] == status
        assert status is None or status in STATUSES
        assert (found.get("error_type") is not None) == (
            status in ("infra_error", "grader_error") and "errors" in change
        )

    def test_bare_trace_is_read_as_an_episode_of_one(self, tmp_path: Path) -> None:
        info = {"prime_rl": {"env_name": "math", "step": 6, "kind": "train", "group_id": 4}}
        bare = trace(PARALLEL, task={"key": "k9"}, info=info)
        (found,) = rollouts(write(tmp_path / "x.jsonl", bare))
        assert verifiers.matches(Peek(tmp_path / "x.jsonl"))
        assert {key: found.values[key] for key in ("environment", "step", "split", "group_id", "sample_id")} == {
            "environment": "math",
            "step": 6,
            "split": "train",
            "group_id": "4",
            "sample_id": "k9",
        }


class TestTree:
    def test_parallel_calls_are_paired_and_errors_inferred(self, tmp_path: Path) -> None:
        found = one(tmp_path, trace(PARALLEL))
        assert [(row["role"], row.get("turn")) for row in found.messages or ()] == [
            ("system", None),
            ("user", None),
            ("assistant", 0),
            ("tool", 0),
            ("tool", 0),
            ("assistant", 1),
        ]
        assert [(row["tool_call_id"], row["output_text"], row["status"]) for row in found.tool_calls] == [
            ("c1", "7", "ok"),
            ("c2", "Error: no such table", "error"),
        ]
        assert [row["is_error_flagged"] for row in found.tool_calls] == [None, None]
        assert [row.get("branch") for row in found.messages or ()] == [None] * 6
        assert (found.messages or [])[5]["reasoning_text"] == "easy"

    def test_tool_time_is_bounded_by_the_model_calls_and_stored_once_per_turn(self, tmp_path: Path) -> None:
        calls = [{"node": 2, "time": {"start": 10.0, "end": 12.0}}, {"node": 5, "time": {"start": 15.0, "end": 16.5}}]
        found = one(
            tmp_path, trace(PARALLEL, calls=calls, timing={"start": 9.0, "scoring": {"start": 17.0, "end": 18.0}})
        )
        assert [row.get("latency_s") for row in found.tool_calls] == [3.0, None]
        assert [row.get("latency_source") for row in found.tool_calls] == ["timestamps", None]
        assert [row.get("latency_s") for row in found.messages or ()] == [None, None, 2.0, None, None, 1.5]
        values = found.values
        assert (values["latency_s"], values["model_latency_s"], values["grading_latency_s"]) == (9.0, 3.5, 1.0)

    def test_node_timestamps_bound_it_where_calls_have_no_times(self, tmp_path: Path) -> None:
        nodes = [dict(each, timestamp=stamp) for each, stamp in zip(PARALLEL, (1, 1, 2, 4, 5, 5), strict=True)]
        found = one(tmp_path, trace(nodes))
        assert [row.get("latency_s") for row in found.tool_calls] == [3.0, None]
        assert found.values["latency_s"] == 4.0

    def test_tokens_add_what_was_cached_and_count_every_call_once(self, tmp_path: Path) -> None:
        calls = [
            {"node": 2, "usage": {"prompt_tokens": 100, "completion_tokens": 10, "cost": 0.5}},
            {"node": None, "error": {"type": "ProviderError"}},
            {
                "node": 5,
                "usage": {
                    "prompt_tokens": 5,
                    "completion_tokens": 7,
                    "cached_input_tokens": 110,
                    "reasoning_tokens": 3,
                },
            },
        ]
        found = one(tmp_path, trace(PARALLEL, calls=calls))
        names = ("input_tokens", "cached_tokens", "output_tokens", "reasoning_tokens", "context_tokens", "cost_usd")
        assert [found.values[name] for name in names] == [215, 110, 17, 3, 122, 0.5]
        assert [row.get("input_tokens") for row in found.messages or ()] == [None, None, 100, None, None, 115]
        assert json.loads(found.values["metadata"])["failed_calls"] == 1

    def test_zero_usage_is_not_reported(self, tmp_path: Path) -> None:
        calls = [{"node": 2, "usage": {"prompt_tokens": 0, "completion_tokens": 0}}]
        found = one(tmp_path, trace(PARALLEL, calls=calls))
        assert found.values.get("input_tokens") is None
        assert found.values.get("output_tokens") is None

    def test_tokens_are_counted_from_ids_without_usage(self, tmp_path: Path) -> None:
        nodes = [
            node("user", "q", token_ids=[1, 2, 3], mask=[False] * 3),
            node("assistant", "a", 0, sampled=True, token_ids=[4, 5, 6], mask=[False, True, True]),
        ]
        found = one(tmp_path, trace(nodes))
        assert (found.values["input_tokens"], found.values["output_tokens"]) == (4, 2)

    def test_streams_are_summarised_and_dropped(self, tmp_path: Path) -> None:
        streams = {"logprobs": [-0.1, -0.3], "trainer_logprobs": [-0.2, -0.5], "entropies": [1.0, 3.0]}
        nodes = [
            node("user", "q"),
            node("assistant", "a", 0, sampled=True, token_ids=[8, 9], mask=[True, True], **streams),
        ]
        found = one(tmp_path, trace(nodes))
        (_, row) = found.messages or ()
        assert row["logprob_mean"] == pytest.approx(-0.2)
        assert row["logprob_p05"] == pytest.approx(-0.29)
        assert row["entropy_mean"] == pytest.approx(2.0)
        assert row["mismatch_mean"] == pytest.approx(-0.15)
        assert not {"token_ids", "logprobs", "entropies", "mask"} & row.keys()

    def test_streams_of_unequal_length_give_no_mismatch(self, tmp_path: Path) -> None:
        streams = {"logprobs": [-0.1, None, "x"], "trainer_logprobs": [-0.2], "entropies": []}
        nodes = [node("user", "q"), node("assistant", "a", 0, sampled=True, **streams)]
        (_, row) = one(tmp_path, trace(nodes)).messages or ()
        assert row["logprob_mean"] == pytest.approx(-0.1)
        assert not {"mismatch_mean", "entropy_mean"} & row.keys()

    def test_a_compacted_context_restates_messages_but_no_calls(self, tmp_path: Path) -> None:
        nodes = [
            node("user", "count"),
            node("assistant", None, 0, sampled=True, message=asks("c1")),
            answer("c1", "7", 1),
            node("user", "summary"),
            node("assistant", "before", 3, message=asks("c1")),
            answer("c1", "7", 4),
            node("assistant", "7", 5, sampled=True),
        ]
        found = one(tmp_path, trace(nodes))
        assert [row["branch"] for row in found.messages or ()] == ["0", "0", "0", "1", "1", "1", "1"]
        assert [(row["tool_call_id"], row["status"]) for row in found.tool_calls] == [("c1", "ok")]
        told = (found.messages or [])[4]
        assert told["is_sampled"] is False
        assert told["text"] == 'before\n[calls sql({"q": 1})]'

    def test_interleaved_branches_with_the_same_ids_pair_with_their_own_calls(self, tmp_path: Path) -> None:
        nodes = [
            node("user", "left"),
            node("user", "right"),
            node("assistant", None, 0, sampled=True, message=asks("c1", name="left")),
            node("assistant", None, 1, sampled=True, message=asks("c1", name="right")),
            answer("c1", "from left", 2),
            answer("c1", "from right", 3),
        ]
        found = one(tmp_path, trace(nodes))
        assert [(row["tool"], row["output_text"]) for row in found.tool_calls] == [
            ("left", "from left"),
            ("right", "from right"),
        ]
        assert [row.get("turn") for row in found.messages or ()] == [None, None, 0, 1, 0, 1]

    def test_a_second_rendering_of_an_answer_is_no_second_call(self, tmp_path: Path) -> None:
        nodes = [
            node("user", "q"),
            node("assistant", None, 0, sampled=True, message=asks("c1")),
            answer("c1", "long", 1),
            node("assistant", "a", 2, sampled=True),
            answer("c1", "cut", 1),
            node("assistant", "b", 4, sampled=True),
        ]
        (call,) = one(tmp_path, trace(nodes)).tool_calls
        assert (call["output_text"], call["status"], call["result_index"]) == ("long", "ok", 2)

    def test_unanswered_calls_and_answers_without_call_are_kept(self, tmp_path: Path) -> None:
        nodes = [
            node("user", "q"),
            node("assistant", None, 0, sampled=True, message=asks("c1", arguments="{broken")),
            answer("other", "?", 1),
        ]
        found = one(tmp_path, trace(nodes))
        assert [(row["status"], row["arguments_raw"]) for row in found.tool_calls] == [
            ("no_result", "{broken"),
            ("orphan", None),
        ]

    @pytest.mark.parametrize("parent", [7, -1, 1, "0", True, 1.5])
    def test_an_impossible_parent_counts_as_none(self, tmp_path: Path, parent: Any) -> None:
        nodes = [node("user", "q"), {**node("assistant", "a", sampled=True), "parent": parent}]
        assert [row["branch"] for row in one(tmp_path, trace(nodes)).messages or ()] == ["0", "1"]


class TestBrokenEpisodes:
    def test_half_a_line_other_objects_and_other_values_are_rejects(self, tmp_path: Path) -> None:
        path = write(
            tmp_path / "traces.jsonl",
            episode(trace(PARALLEL)),
            {"hello": 1},
            [1, 2],
            episode(trace(PARALLEL), "no trace"),
            '{"id": "e9", "tra',
        )
        assert len(rollouts(path)) == 2
        found = rejects(path)
        assert [each.reason.split(":")[0] for each in found] == [
            "neither an episode nor a trace",
            "a line must hold a JSON object, not list",
            "a trace must be an object",
            "not JSON",
        ]
        assert {each.file for each in found} == {"traces.jsonl"}

    def test_wrong_types_everywhere_are_read_as_missing(self, tmp_path: Path) -> None:
        odd = {
            "env": "x", "task": 3, "group": [], "run": "r", "errors": 1,
            "traces": [{"id": 5, "agent": [], "nodes": [None, 1, {"message": 2}], "calls": {}, "rewards": 1,
                        "metrics": [], "timing": "t", "info": None, "tools": 3, "stop_condition": {"a": 1}}],
        }  # fmt: skip
        (found,) = rollouts(write(tmp_path / "traces.jsonl", odd))
        assert found.values["native_id"] == "5"
        assert found.values["reward"] is None
        assert len(found.messages or ()) == 3

    def test_an_empty_file_beside_a_configuration_has_no_rollouts(self, tmp_path: Path) -> None:
        write(tmp_path / "traces.jsonl")
        write(tmp_path / "configs" / "resolved" / "eval.json", {"model": "org/m", "env": {"taskset": {"id": "e"}}})
        assert verifiers.matches(Peek(tmp_path))
        (run,) = records(tmp_path)
        assert isinstance(run, Row)
        assert (run.values["kind"], run.values["model"]) == ("evaluation", "org/m")

    def test_a_first_line_longer_than_what_is_peeked_at_is_recognised(self, tmp_path: Path) -> None:
        big = episode(trace([node("user", "x" * 1_200_000)]))
        assert verifiers.matches(Peek(write(tmp_path / "any.jsonl", big, big)))

    def test_one_id_on_two_traces_keeps_both(self, tmp_path: Path) -> None:
        path = write(tmp_path / "traces.jsonl", episode(trace(PARALLEL)), episode(trace(PARALLEL)))
        assert [each.values["native_id"] for each in rollouts(path)] == ["t1", "t1"]
        assert len({each.values["raw_ref"] for each in rollouts(path)}) == 2


SAID = [{"role": "user", "content": "How many?"}]
NESTED = {"id": "c1", "type": "function", "function": {"name": "sql", "arguments": '{"q": 1}'}}


def row(**more: Any) -> Values:
    return {
        "example_id": 4,
        "prompt": SAID,
        "completion": [{"role": "assistant", "content": "7"}],
        "reward": 0.5,
        "metrics": {"right": 1.0},
        "error": None,
        "is_completed": True,
        "is_truncated": False,
        **more,
    }


def legacy(tmp_path: Path, **more: Any) -> Rollout:
    (found,) = rollouts(write(tmp_path / "rows.jsonl", row(**more)), verifiers_legacy)
    return found


class TestLegacy:
    @pytest.mark.parametrize("call", [NESTED, json.dumps(NESTED), {"id": "c1", "name": "sql", "arguments": '{"q": 1}'}])
    def test_tool_calls_as_objects_or_as_text(self, tmp_path: Path, call: Any) -> None:
        completion = [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": "7"},
            {"role": "assistant", "content": "7"},
        ]
        found = legacy(tmp_path, completion=completion)
        (made,) = found.tool_calls
        assert (made["tool"], made["arguments_raw"], made["output_text"], made["status"]) == (
            "sql",
            '{"q": 1}',
            "7",
            "ok",
        )
        assert [row["role"] for row in found.messages or ()] == ["user", "assistant", "tool", "assistant"]

    def test_calls_in_the_prompt_are_history(self, tmp_path: Path) -> None:
        prompt = [
            *SAID,
            {"role": "assistant", "tool_calls": [NESTED]},
            {"role": "tool", "tool_call_id": "c1", "content": "7"},
        ]
        found = legacy(tmp_path, prompt=prompt)
        assert found.tool_calls == []
        assert [row.get("is_sampled") for row in found.messages or ()] == [None, False, None, True]

    def test_prompt_and_completion_as_text(self, tmp_path: Path) -> None:
        found = legacy(tmp_path, prompt="How many?", completion="<think>well</think>7")
        assert [(row["role"], row["text"]) for row in found.messages or ()] == [
            ("user", "How many?"),
            ("assistant", "7"),
        ]
        assert (found.messages or [])[1]["reasoning_text"] == "well"
        assert found.sample is not None
        assert found.sample["prompt_text"] == "user: How many?"

    def test_messages_written_as_json_text(self, tmp_path: Path) -> None:
        assert [row["text"] for row in legacy(tmp_path, prompt=json.dumps(SAID)).messages or ()] == ["How many?", "7"]

    @pytest.mark.parametrize(
        ("timing", "latency", "grading", "model"),
        [
            ({"generation_ms": 1200.0, "scoring_ms": 3.0, "total_ms": 1203.0}, 1.203, 0.003, None),
            ({"generation_ms": 1200.0, "scoring_ms": 3.0}, 1.203, 0.003, None),
            (
                {
                    "start_time": 100.0,
                    "setup": {"start": 100.0, "end": 100.5, "duration": 0.5},
                    "generation": {"start": 100.5, "end": 102.0, "duration": 1.5},
                    "scoring": {"start": 102.0, "end": 102.25, "duration": 0.25},
                    "model": {"spans": [{"start": 100.5, "end": 101.5, "duration": 1.0}]},
                    "total": 2.0,
                },
                2.25,
                0.25,
                1.0,
            ),
            ({}, None, None, None),
            ("soon", None, None, None),
        ],
    )
    def test_timing_in_milliseconds_or_spans(
        self, tmp_path: Path, timing: Any, latency: float | None, grading: float | None, model: float | None
    ) -> None:
        values = legacy(tmp_path, timing=timing).values
        found = (values["latency_s"], values["grading_latency_s"], values.get("model_latency_s"))
        assert found == (latency, grading, model)

    @pytest.mark.parametrize(
        ("change", "expected"),
        [
            ({}, ("completed", None, None)),
            ({"error": "RuntimeError('x')"}, ("infra_error", "RuntimeError", "RuntimeError('x')")),
            ({"error": "sandbox is gone"}, ("infra_error", "error", "sandbox is gone")),
            ({"error": {"error": "InfraError", "message": "gone"}}, ("infra_error", "InfraError", "gone")),
            (
                {"error": {"error": "ModelError", "error_chain_str": "a -> b", "error_chain_repr": "x"}},
                ("infra_error", "ModelError", "a -> b"),
            ),
            (
                {"error": {"error": "OverlongPromptError"}, "is_truncated": True},
                ("truncated", "OverlongPromptError", None),
            ),
            ({"is_truncated": True}, ("truncated", None, None)),
            ({"stop_condition": "max_turns_reached"}, ("truncated", None, None)),
            ({"stop_condition": "timeout_reached"}, ("infra_error", None, None)),
            ({"is_completed": None}, (None, None, None)),
        ],
    )
    def test_status_and_error(self, tmp_path: Path, change: Values, expected: tuple[Any, ...]) -> None:
        values = legacy(tmp_path, **change).values
        assert (values["status"], values.get("error_type"), values.get("error_message")) == expected

    def test_metrics_are_taken_once_where_they_stand_twice(self, tmp_path: Path) -> None:
        found = legacy(tmp_path, right=1.0, sampler_seed=7)
        assert [(each["grader"], each["value"], each["kind"]) for each in found.scores] == [("right", 1.0, "metric")]
        assert json.loads(found.values["metadata"]) == {"sampler_seed": 7}

    def test_metrics_at_top_level_only_are_told_from_state_columns(self, tmp_path: Path) -> None:
        flat = row(right=1.0, form=0.25, sampler_seed=7, note="n")
        del flat["metrics"]
        write(tmp_path / "metadata.json", {"env_id": "e", "model": "m", "state_columns": ["sampler_seed"]})
        (found,) = rollouts(write(tmp_path / "results.jsonl", flat), verifiers_legacy)
        assert [(each["grader"], each["value"]) for each in found.scores] == [("form", 0.25), ("right", 1.0)]
        assert json.loads(found.values["metadata"]) == {"note": "n", "sampler_seed": 7}

    def test_rollout_id_numbers_the_attempt(self, tmp_path: Path) -> None:
        values = legacy(tmp_path, rollout_id="4:1").values
        assert (values["native_id"], values["native_attempt"], values["sample_id"]) == ("4:1", 1, "4")
        assert legacy(tmp_path, rollout_id="al-1").values["native_attempt"] is None

    def test_without_example_the_prompt_identifies_the_sample(self, tmp_path: Path) -> None:
        first, second = (legacy(tmp_path, example_id=None, answer=each).values for each in ("1", "2"))
        assert first["sample_id"] == second["sample_id"]
        assert first["sample_id_source"] == "prompt_hash"

    def test_token_usage(self, tmp_path: Path) -> None:
        usage = {"input_tokens": 50.0, "output_tokens": 9.0, "final_input_tokens": 30.0, "final_output_tokens": 4.0}
        values = legacy(tmp_path, token_usage=usage).values
        assert (values["input_tokens"], values["output_tokens"], values["context_tokens"]) == (50, 9, 34)
        assert "input_tokens" not in legacy(tmp_path, token_usage={"input_tokens": 0.0, "output_tokens": 0.0}).values

    def test_trajectory_steps_describe_the_turns(self, tmp_path: Path) -> None:
        step = {
            "reward": 0.5,
            "response": {"usage": {"prompt_tokens": 11, "completion_tokens": 2}},
            "tokens": {"completion_ids": [1, 2], "completion_logprobs": [-1.0, -3.0]},
        }
        found = legacy(tmp_path, trajectory=[step])
        last = (found.messages or [])[1]
        assert (last["input_tokens"], last["output_tokens"], last["turn_reward"]) == (11, 2, 0.5)
        assert last["logprob_mean"] == -2.0
        assert "completion_ids" not in (found.values["metadata"] or "")

    @pytest.mark.parametrize("reward", ["NaN", "-Infinity", "null", '"0.5"', "[1]"])
    def test_a_reward_that_is_no_number_is_null(self, tmp_path: Path, reward: str) -> None:
        path = write(tmp_path / "rows.jsonl", json.dumps(row(reward="@")).replace('"@"', reward))
        (found,) = rollouts(path, verifiers_legacy)
        assert found.values["reward"] is None

    def test_a_row_without_reward_or_messages(self, tmp_path: Path) -> None:
        path = write(tmp_path / "results.jsonl", {"example_id": 0, "error": "x"})
        (found,) = rollouts(path, verifiers_legacy)
        assert found.values["reward"] is None
        assert found.messages is None

    def test_wrong_types_are_read_as_missing(self, tmp_path: Path) -> None:
        odd = {"example_id": [1], "prompt": 5, "completion": {"role": "assistant", "content": 3}, "metrics": "m",
               "timing": [], "token_usage": 1, "trajectory": "t", "info": 2, "tool_defs": 9}  # fmt: skip
        (found,) = rollouts(write(tmp_path / "results.jsonl", odd), verifiers_legacy)
        assert found.values["sample_id"] == "[1]"
        assert [each["text"] for each in found.messages or ()] == ["5", "3"]

    def test_bad_lines_are_rejects(self, tmp_path: Path) -> None:
        path = write(tmp_path / "results.jsonl", row(), {"hello": 1}, '{"example_id": 1, "pro')
        assert len(rollouts(path, verifiers_legacy)) == 1
        first = len(json.dumps(row())) + 1
        found = [(each.file, each.position) for each in rejects(path, verifiers_legacy)]
        assert found == [("results.jsonl", str(first)), ("results.jsonl", str(first + len('{"hello": 1}') + 1))]

    def test_metadata_beside_the_file_describes_the_run_and_a_folder_is_the_same(self, tmp_path: Path) -> None:
        folder = tmp_path / "outputs" / "evals" / "e--org--m" / "ab12cd34"
        write(folder / "results.jsonl", row())
        settings = {
            "env_id": "e",
            "model": "org/m",
            "date": "2026-07-05",
            "num_examples": 1,
            "sampling_args": {"temperature": 1.0},
            "avg_reward": 0.5,
            "avg_metrics": {"right": 1.0},
            "pass_at_k": {"1": None},
        }
        write(folder / "metadata.json", settings)
        assert records(folder, verifiers_legacy) == records(folder / "results.jsonl", verifiers_legacy)
        run, *metrics, rollout = records(folder, verifiers_legacy)
        assert isinstance(run, Row)
        assert (run.values["kind"], run.values["model"], run.values["provider"]) == ("evaluation", "org/m", "verifiers")
        assert json.loads(run.values["hyperparameters"]) == {"num_examples": 1, "sampling_args": {"temperature": 1.0}}
        assert [(each.values["name"], each.values["value"]) for each in metrics if isinstance(each, Row)] == [
            ("avg_reward", 0.5),
            ("avg_metrics/right", 1.0),
            ("pass_at_k/1", None),
        ]
        assert isinstance(rollout, Rollout)
        assert {key: rollout.values[key] for key in ("split", "environment", "model", "step")} == {
            "split": "valid",
            "environment": "e",
            "model": "org/m",
            "step": None,
        }

    def test_two_evals_of_one_model_keep_apart(self, tmp_path: Path) -> None:
        for name in ("ab12cd34", "ff00ff00"):
            write(tmp_path / "outputs" / "evals" / "e--m" / name / "results.jsonl", row())
        found = discover([tmp_path]).found
        assert [(each.source.NAME, each.source.default_run(each.path)) for each in found] == [
            ("verifiers_legacy", "e--m--ab12cd34"),
            ("verifiers_legacy", "e--m--ff00ff00"),
        ]

    @pytest.mark.parametrize(
        ("name", "expected"),
        [("e--m--bash--x1/traces.jsonl", "e--m--bash--x1"), ("plain/traces.jsonl", "plain"), ("plain/t.jsonl", "t")],
    )
    def test_default_run_of_a_file(self, tmp_path: Path, name: str, expected: str) -> None:
        assert verifiers.default_run(write(tmp_path / name, episode(trace(PARALLEL)))) == expected

    def test_default_run_from_metadata(self, tmp_path: Path) -> None:
        write(tmp_path / "eval7" / "metadata.json", {"env_id": "e", "model": "org/m"})
        file = write(tmp_path / "eval7" / "results.jsonl", row())
        assert verifiers_legacy.default_run(file) == verifiers_legacy.default_run(file.parent) == "e--org--m--eval7"

    @pytest.mark.parametrize(
        "record",
        [{"prompt": "p", "completion": "c", "reward": 1.0}, {"messages": []}, {"example_id": 1}, {"traces": []}],
    )
    def test_other_rows_are_not_claimed(self, tmp_path: Path, record: Values) -> None:
        peek = Peek(write(tmp_path / "x.jsonl", record))
        assert not verifiers_legacy.matches(peek)
        assert not verifiers.matches(peek)


def test_large_files_are_read_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "metadata.json", {"env_id": "e", "model": "m"})
    write(tmp_path / "results.jsonl", *[row(example_id=number) for number in range(40)])
    whole = records(tmp_path, verifiers_legacy)
    monkeypatch.setattr("ingest.sources.verifiers_folder.PIECE_BYTES", 1000)
    parts = verifiers_legacy.split(tmp_path)
    assert len(parts) > 5
    assert [each for part in parts for each in verifiers_legacy.read(part, Options())] == whole


def test_rows_fit_the_schema(tmp_path: Path) -> None:
    found = [one(tmp_path, trace(PARALLEL)), legacy(tmp_path)]
    for each in found:
        assert each.values.keys() <= set(table("rollouts").names)
        assert all(row.keys() <= set(table("messages").names) for row in each.messages or ())
        assert all(row.keys() <= set(table("tool_calls").names) for row in each.tool_calls)
        assert all(row.keys() <= set(table("scores").names) for row in each.scores)
        assert (each.sample or {}).keys() <= set(table("samples").names)
    assert FIELDS.keys() >= (verifiers.FILLS | verifiers_legacy.FILLS)


class TestRealFiles:
    def test_legacy_eval(self, real_data: Path) -> None:
        folder = real_data / "verifiers_prime_rl" / "rolloutscope" / "verifiers_eval_run"
        found = rollouts(folder, verifiers_legacy)
        assert [each.values["sample_id"] for each in found] == ["0", "0", "0", "1", "1"]
        rewards = [each.values["reward"] for each in found]
        assert rewards == [1.0, 0.2, 0.8, 0.2, 1.0]
        (mean,) = [
            each for each in records(folder, verifiers_legacy) if isinstance(each, Row) and each.table == "metrics"
        ]
        assert sum(rewards) / 5 == pytest.approx(mean.values["value"])
        assert {each.values["environment"] for each in found} == {"synthetic-arith"}
        assert [len(each.scores) for each in found] == [2] * 5

    def test_legacy_files(self, real_data: Path) -> None:
        folder = real_data / "verifiers_prime_rl" / "rolloutscope"
        counts = {
            each.path.name: len(rollouts(each.path, each.source))
            for each in discover([folder]).found
            if each.source is verifiers_legacy
        }
        assert counts == {
            "demo": 10,
            "verifiers_eval_run": 5,
            "multi_turn_rollout.jsonl": 1,
            "answer_leakage_echo_clean.jsonl": 2,
            "answer_leakage_echo_hacked.jsonl": 2,
            "degenerate_repetition_clean.jsonl": 2,
            "degenerate_repetition_hacked.jsonl": 2,
            "length_inflation_clean.jsonl": 10,
            "length_inflation_hacked.jsonl": 10,
        }

    def test_reward_hacking_pairs(self, real_data: Path) -> None:
        folder = real_data / "verifiers_prime_rl" / "rolloutscope" / "labeled"
        found = rollouts(folder / "length_inflation_hacked.jsonl", verifiers_legacy)
        assert [each.values["step"] for each in found] == list(range(10))
        assert [each.values["reward"] for each in found] == pytest.approx([0.05 + 0.1 * number for number in range(10)])
        assert {each.scores[0]["value"] for each in found} == {0.5}

    def test_multi_turn(self, real_data: Path) -> None:
        path = real_data / "verifiers_prime_rl" / "rolloutscope" / "multi_turn_rollout.jsonl"
        (found,) = rollouts(path, verifiers_legacy)
        (call,) = found.tool_calls
        assert (call["tool"], call["output_text"], call["status"]) == ("python", "55", "ok")
        assert (found.values["input_tokens"], found.values["output_tokens"]) == (210, 58)

    def test_v1_eval(self, real_data: Path) -> None:
        folder = real_data / "verifiers_prime_rl" / "upstream_v1" / "verifiers-0.3.1-eval"
        assert recognise(folder) is verifiers
        found = rollouts(folder)
        assert [each.values.get("reward") for each in found] == pytest.approx([1.2, 1.2, 0.2, None])
        assert [each.values["status"] for each in found] == ["completed"] * 3 + ["infra_error"]
        assert [each.values["native_id"] for each in found] == [
            "trace-0001",
            "trace-0002",
            "trace-0003",
            "episode-0003",
        ]
        assert [each.values["group_id"] for each in found] == ["group-0001", "group-0001", "group-0002", "group-0002"]
        assert [each.values.get("advantage") for each in found] == [0.5, -0.5, -0.5, None]
        assert [each.values.get("output_tokens") for each in found] == [4, 4, 4, None]
        assert [len(each.tool_calls) for each in found] == [1, 1, 1, 0]
