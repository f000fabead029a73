"""verifiers up to 0.1.x: hand-built rows with hand-computed results, broken ones, and the real files' figures."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ingest.discover import discover
from ingest.errors import UnreadableError
from ingest.reading import Peek
from ingest.schema import table
from ingest.sources import verifiers, verifiers_legacy
from ingest.sources.base import FIELDS, NOT_SCORED, Options, Part, Record, Reject, Rollout, Row

Values = dict[str, Any]


def write(path: Path, *rows: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(row if isinstance(row, str) else json.dumps(row) + "\n" for row in rows))
    return path


def records(path: Path) -> list[Record]:
    return list(verifiers_legacy.read(Part(path), Options()))


def rollouts(path: Path) -> list[Rollout]:
    return [each for each in records(path) if isinstance(each, Rollout)]


def rejects(path: Path) -> list[Reject]:
    return [each for each in records(path) if isinstance(each, Reject)]


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
    (found,) = rollouts(write(tmp_path / "rows.jsonl", row(**more)))
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
        (found,) = rollouts(write(tmp_path / "results.jsonl", flat))
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
        (found,) = rollouts(path)
        assert found.values["reward"] is None

    def test_a_row_without_reward_or_messages(self, tmp_path: Path) -> None:
        path = write(tmp_path / "results.jsonl", {"example_id": 0, "error": "x"})
        (found,) = rollouts(path)
        assert found.values["reward"] is None
        assert found.messages is None

    def test_wrong_types_are_read_as_missing(self, tmp_path: Path) -> None:
        odd = {"example_id": [1], "prompt": 5, "completion": {"role": "assistant", "content": 3}, "metrics": "m",
               "timing": [], "token_usage": 1, "trajectory": "t", "info": 2, "tool_defs": 9}  # fmt: skip
        (found,) = rollouts(write(tmp_path / "results.jsonl", odd))
        assert found.values["sample_id"] == "[1]"
        assert [each["text"] for each in found.messages or ()] == ["5", "3"]

    def test_bad_lines_are_rejects(self, tmp_path: Path) -> None:
        path = write(tmp_path / "results.jsonl", row(), {"hello": 1}, '{"example_id": 1, "pro')
        assert len(rollouts(path)) == 1
        first = len(json.dumps(row())) + 1
        found = [(each.file, each.position) for each in rejects(path)]
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
        assert records(folder) == records(folder / "results.jsonl")
        run, *metrics, rollout = records(folder)
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
    whole = records(tmp_path)
    monkeypatch.setattr("ingest.sources.verifiers_folder.PIECE_BYTES", 1000)
    parts = verifiers_legacy.split(tmp_path)
    assert len(parts) > 5
    assert [each for part in parts for each in verifiers_legacy.read(part, Options())] == whole


def test_rows_fit_the_schema(tmp_path: Path) -> None:
    found = legacy(tmp_path)
    assert found.values.keys() <= set(table("rollouts").names)
    assert all(row.keys() <= set(table("messages").names) for row in found.messages or ())
    assert all(row.keys() <= set(table("tool_calls").names) for row in found.tool_calls)
    assert all(row.keys() <= set(table("scores").names) for row in found.scores)
    assert (found.sample or {}).keys() <= set(table("samples").names)
    assert FIELDS.keys() >= verifiers_legacy.FILLS


PLATFORM = {
    "run_id": "job-7",
    "step": 12,
    "tag": "train",
    "problem_id": 4,
    "sample_id": 1,
    "prompt": json.dumps(SAID),
    "completion": json.dumps([{"role": "assistant", "content": None, "tool_calls": [NESTED]}]),
    "answer": "7",
    "env_name": "count",
    "reward": 0.5,
    "advantage": -0.25,
    "metrics": '{"right": 1.0}',
    "timing": '{"generation_ms": 1500.0, "scoring_ms": 500.0}',
    "num_input_tokens": 30,
    "num_output_tokens": 12,
}


class TestParquet:
    def test_a_data_set_pushed_to_the_hub(self, tmp_path: Path) -> None:
        path = tmp_path / "count-m" / "data" / "train-00000-of-00001.parquet"
        path.parent.mkdir(parents=True)
        called = [{"role": "assistant", "content": None, "tool_calls": [NESTED]}, {"role": "tool", "content": "7"}]
        pq.write_table(
            pa.Table.from_pylist([row(metrics={"a": 1.0}), row(completion=called, metrics={"b": 2.0})]), path
        )
        assert verifiers_legacy.matches(Peek(path))
        assert verifiers_legacy.default_run(path) == "count-m"
        first, second = rollouts(path)
        assert (first.values["sample_id"], first.values["reward"], first.values["split"]) == ("4", 0.5, "valid")
        assert [[(each["grader"], each["value"]) for each in one.scores] for one in (first, second)] == [
            [("a", 1.0)],
            [("b", 2.0)],
        ]
        assert [(call["tool"], call["output_text"]) for call in second.tool_calls] == [("sql", "7")]
        assert (second.values["position"], second.values["raw_ref"]) == (1, "train-00000-of-00001.parquet:1")

    def test_what_prime_rl_uploads(self, tmp_path: Path) -> None:
        path = tmp_path / "upload.parquet"
        pq.write_table(pa.Table.from_pylist([PLATFORM]), path)
        (found,) = discover([path]).found
        assert found.source.NAME == "verifiers_legacy"
        (one,) = rollouts(path)
        kept = ("sample_id", "step", "split", "environment", "advantage", "input_tokens", "output_tokens", "latency_s")
        assert [one.values[name] for name in kept] == ["4", 12, None, "count", -0.25, 30, 12, 2.0]
        assert (one.run, one.tool_calls[0]["tool"], one.scores[0]["grader"]) == ("job-7", "sql", "right")
        assert json.loads(one.values["metadata"])["tag"] == "train"

    def test_other_parquet_is_not_claimed_and_a_broken_one_is_unreadable(self, tmp_path: Path) -> None:
        path = tmp_path / "x.parquet"
        pq.write_table(
            pa.table({"step": [1], "prompt": ["a"], "completion": ["b"], "f": [1.0], "advantage": [0.0]}), path
        )
        assert not verifiers_legacy.matches(Peek(path))
        path.write_bytes(path.read_bytes()[:-1])
        with pytest.raises(UnreadableError, match="not a whole Parquet file"):
            records(path)


@pytest.mark.parametrize(
    ("stated", "kept"), [("1.0", "1.0"), ([1], "[1]"), (float("nan"), "nan"), (True, None), (None, None)]
)
def test_a_reward_that_is_stated_and_no_number_is_said(tmp_path: Path, stated: Any, kept: str | None) -> None:
    found = records(write(tmp_path / "rows.jsonl", row(reward=stated)))
    (one,) = [each for each in found if isinstance(each, Rollout)]
    assert json.loads(one.values["metadata"] or "{}").get("reward") == kept
    assert (NOT_SCORED in found) is (kept is not None)


class TestRealFiles:
    def test_legacy_eval(self, real_data: Path) -> None:
        folder = real_data / "verifiers_prime_rl" / "rolloutscope" / "verifiers_eval_run"
        found = rollouts(folder)
        assert [each.values["sample_id"] for each in found] == ["0", "0", "0", "1", "1"]
        rewards = [each.values["reward"] for each in found]
        assert rewards == [1.0, 0.2, 0.8, 0.2, 1.0]
        (mean,) = [each for each in records(folder) if isinstance(each, Row) and each.table == "metrics"]
        assert sum(rewards) / 5 == pytest.approx(mean.values["value"])
        assert {each.values["environment"] for each in found} == {"synthetic-arith"}
        assert [len(each.scores) for each in found] == [2] * 5

    def test_legacy_files(self, real_data: Path) -> None:
        folder = real_data / "verifiers_prime_rl" / "rolloutscope"
        counts = {
            each.path.name: len(rollouts(each.path))
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
        found = rollouts(folder / "length_inflation_hacked.jsonl")
        assert [each.values["step"] for each in found] == list(range(10))
        assert [each.values["reward"] for each in found] == pytest.approx([0.05 + 0.1 * number for number in range(10)])
        assert {each.scores[0]["value"] for each in found} == {0.5}

    def test_multi_turn(self, real_data: Path) -> None:
        path = real_data / "verifiers_prime_rl" / "rolloutscope" / "multi_turn_rollout.jsonl"
        (found,) = rollouts(path)
        (call,) = found.tool_calls
        assert (call["tool"], call["output_text"], call["status"]) == ("python", "55", "ok")
        assert (found.values["input_tokens"], found.values["output_tokens"]) == (210, 58)
