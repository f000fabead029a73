"""verifiers v1: hand-built episodes with hand-computed rows, broken ones, and the real files' figures."""

import json
from pathlib import Path
from typing import Any

import pytest

from ingest.discover import recognise
from ingest.reading import Peek
from ingest.schema import STATUSES, table
from ingest.sources import verifiers
from ingest.sources.base import FIELDS, Options, Part, Record, Reject, Rollout, Row

Values = dict[str, Any]


def write(path: Path, *rows: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(row if isinstance(row, str) else json.dumps(row) + "\n" for row in rows))
    return path


def records(path: Path) -> list[Record]:
    return list(verifiers.read(Part(path), Options()))


def rollouts(path: Path) -> list[Rollout]:
    return [each for each in records(path) if isinstance(each, Rollout)]


def rejects(path: Path) -> list[Reject]:
    return [each for each in records(path) if isinstance(each, Reject)]


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
        assert row["entropy_p95"] == pytest.approx(2.9)
        assert row["mismatch_mean"] == pytest.approx(-0.15)
        assert row["mismatch_abs_mean"] == pytest.approx(0.15)
        assert row["mismatch_p95"] == pytest.approx(0.195)  # of .1 and .2
        assert row["is_after_tool"] is False
        assert not {"token_ids", "logprobs", "entropies", "mask"} & row.keys()

    def test_a_turn_knows_whether_a_tool_answered_right_before_it(self, tmp_path: Path) -> None:
        tokens = {"logprobs": [-0.1], "trainer_logprobs": [-0.3]}
        call = {"id": "c1", "type": "function", "name": "f", "arguments": "{}"}
        nodes = [
            node("user", "q"),
            node("assistant", "", 0, sampled=True, message={"tool_calls": [call]}, **tokens),
            node("tool", "7", 1, message={"tool_call_id": "c1"}),
            node("assistant", "again", 0, sampled=True, **tokens),  # another branch, from before the call
            node("assistant", "a", 2, sampled=True, **tokens),
        ]
        found = [row for row in one(tmp_path, trace(nodes)).messages or () if row["role"] == "assistant"]
        assert [row["is_after_tool"] for row in found] == [False, False, True]

    def test_streams_of_unequal_length_give_no_mismatch(self, tmp_path: Path) -> None:
        streams = {"logprobs": [-0.1, None, "x"], "trainer_logprobs": [-0.2], "entropies": []}
        nodes = [node("user", "q"), node("assistant", "a", 0, sampled=True, **streams)]
        (_, row) = one(tmp_path, trace(nodes)).messages or ()
        assert row["logprob_mean"] == pytest.approx(-0.1)
        assert not {"mismatch_mean", "entropy_mean"} & row.keys()

    def test_a_log_probability_of_minus_infinity_is_left_out(self, tmp_path: Path) -> None:
        streams = {"logprobs": [-0.5, "@"], "trainer_logprobs": [-0.75, "@"], "entropies": [[1.0]]}
        nodes = [node("user", "q"), node("assistant", "a", 0, sampled=True, **streams)]
        line = json.dumps(episode(trace(nodes))).replace('"@"', "-Infinity")
        (found,) = rollouts(write(tmp_path / "traces.jsonl", line))
        row = (found.messages or [])[1]
        assert (row["logprob_mean"], row["mismatch_mean"]) == (-0.5, -0.25)
        assert "entropy_mean" not in row

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


@pytest.mark.parametrize(
    ("name", "expected"),
    [("e--m--bash--x1/traces.jsonl", "e--m--bash--x1"), ("plain/traces.jsonl", "plain"), ("plain/t.jsonl", "t")],
)
def test_default_run_of_a_file(tmp_path: Path, name: str, expected: str) -> None:
    assert verifiers.default_run(write(tmp_path / name, episode(trace(PARALLEL)))) == expected


def test_rows_fit_the_schema(tmp_path: Path) -> None:
    found = one(tmp_path, trace(PARALLEL))
    assert found.values.keys() <= set(table("rollouts").names)
    assert all(row.keys() <= set(table("messages").names) for row in found.messages or ())
    assert all(row.keys() <= set(table("tool_calls").names) for row in found.tool_calls)
    assert all(row.keys() <= set(table("scores").names) for row in found.scores)
    assert (found.sample or {}).keys() <= set(table("samples").names)
    assert FIELDS.keys() >= verifiers.FILLS


class TestRealFiles:
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
