"""TRL output directories: files built as its writer builds them (pandas to Parquet), rows computed by hand."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ingest.errors import UnreadableError
from ingest.reading import Peek
from ingest.sources import trl
from ingest.sources.base import Note, Options, Part, Record, Reject, Rollout, Row


def records(path: Path, **mapping: str) -> list[Record]:
    return list(trl.read(Part(path), Options(mapping)))


def rollouts(path: Path, **mapping: str) -> list[Rollout]:
    return [each for each in records(path, **mapping) if isinstance(each, Rollout)]


def rewards(path: Path, **mapping: str) -> list[float | None]:
    return [each.values["reward"] for each in rollouts(path, **mapping)]


def notes(path: Path) -> str:
    return " ".join(each.text for each in records(path) if isinstance(each, Note))


def completions(output: Path, step: int, rows: list[dict[str, Any]]) -> Path:
    path = output / "completions" / f"completions_{step:05d}.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    pd.DataFrame([{"step": step, **row} for row in rows]).to_parquet(path)
    return path


def row(prompt: str, completion: str, advantage: float = 0.5, **more: Any) -> dict[str, Any]:
    said = {
        "prompt": [{"role": "user", "content": prompt}],
        "completion": [{"role": "assistant", "content": completion}],
    }
    return {**said, **more, "advantage": advantage}


def state(folder: Path, step: int, log: list[Any]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "trainer_state.json"
    path.write_text(json.dumps({"global_step": step, "max_steps": 9, "best_metric": None, "log_history": log}))
    return path


def logged(step: int, reward: float, prefix: str = "", **means: float) -> dict[str, Any]:
    named = {f"{prefix}rewards/{name}/mean": mean for name, mean in means.items()}
    return {"step": step, f"{prefix}reward": reward, **named}


def test_tool_calls_in_message_lists(tmp_path: Path) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "sql", "arguments": {"q": "x"}}}
    other = {"id": "c2", "type": "function", "function": {"name": "sql", "arguments": {"table": "t"}}}
    said = [
        {"role": "assistant", "content": "", "tool_calls": [call, other]},
        {"role": "tool", "name": "sql", "content": "7"},
        {"role": "tool", "name": "sql", "content": "{'error': 'no table'}"},
        {"role": "assistant", "content": "7"},
    ]
    output = tmp_path / "run"
    completions(output, 10, [{**row("How many?", ""), "completion": said, "accuracy": 1.0}])
    assert trl.matches(Peek(output))
    (rollout,) = rollouts(output)
    values = rollout.values
    assert (values["step"], values["split"], values["reward"], values["advantage"]) == (10, "train", 1.0, 0.5)
    assert (values["sample_id_source"], values["final_answer"]) == ("prompt_hash", "7")
    assert values["raw_ref"] == "completions/completions_00010.parquet#0"
    assert [(c["tool"], c["arguments_raw"], c["status"], c["output_text"]) for c in rollout.tool_calls] == [
        ("sql", '{"q":"x"}', "ok", "7"),
        ("sql", '{"table":"t"}', "error", "{'error': 'no table'}"),
    ]
    assert rollout.messages is not None
    assert [m["role"] for m in rollout.messages] == ["user", "assistant", "tool", "tool", "assistant"]
    assert [m.get("is_sampled") for m in rollout.messages if m["role"] == "assistant"] == [True, True]
    assert rollout.sample == {"prompt_text": "user: How many?", "prompt_hash": values["sample_id"]}


def test_strings_of_older_releases(tmp_path: Path) -> None:
    text = '<think>count</think><tool_call>{"name": "sql", "arguments": {}}</tool_call>'
    completions(tmp_path, 5, [{"prompt": "2+2?", "completion": text, "f": 1.0, "advantage": 0.0}])
    (rollout,) = rollouts(tmp_path)
    assert rollout.messages is not None
    assert [(m["role"], m["text"], m.get("reasoning_text")) for m in rollout.messages] == [
        ("user", "2+2?", None),
        ("assistant", "", "count"),
    ]
    assert [(c["tool"], c["parse_source"]) for c in rollout.tool_calls] == [("sql", "text")]


def test_groups_are_runs_of_equal_prompts(tmp_path: Path) -> None:
    completions(tmp_path, 1, [row("a", "1", f=0.0), row("a", "2", f=1.0), row("b", "3", f=1.0), row("a", "4", f=1.0)])
    found = rollouts(tmp_path)
    assert [each.values["group_id"] for each in found] == ["1/0", "1/0", "1/1", "1/2"]
    ids = [each.values["sample_id"] for each in found]
    assert ids[0] == ids[1] == ids[3] != ids[2]
    assert [each.values["position"] for each in found] == [1000000, 1000001, 1000002, 1000003]


def test_several_functions_without_weights_leave_the_reward_open(tmp_path: Path) -> None:
    completions(tmp_path, 1, [row("a", "1", f=1.0, g=0.5)])
    assert rewards(tmp_path) == [None]
    assert "weights of f, g are not known" in notes(tmp_path)
    assert [(s["grader"], s["value"], s["weight"], s["kind"]) for s in rollouts(tmp_path)[0].scores] == [
        ("f", 1.0, None, "subscore"),
        ("g", 0.5, None, "subscore"),
    ]
    assert rewards(tmp_path, reward="g") == [0.5]


def test_weights_of_a_configuration_beside(tmp_path: Path) -> None:
    rows = [row("a", "1", f=1.0, g=0.5), row("a", "2", f=None, g=2.0), row("a", "3", f=None, g=float("nan"))]
    completions(tmp_path, 1, rows)
    (tmp_path / "training_args.json").write_text('{"reward_weights": [2, 0.5]}')
    assert rewards(tmp_path) == [2.25, 1.0, None]
    run = next(each for each in records(tmp_path) if isinstance(each, Row) and each.table == "runs")
    assert run.values["reward_name"] == "2 × f + 0.5 × g"
    assert [s["value"] for s in rollouts(tmp_path)[1].scores] == [None, 2.0]


@pytest.mark.parametrize(("mean", "expected"), [(2.0, [1.5, 2.5]), (1.5, [None, None])])
def test_the_log_can_show_that_weights_are_one(tmp_path: Path, mean: float, expected: list[float | None]) -> None:
    completions(tmp_path, 1, [row("a", "1", f=1.0, g=0.5), row("a", "2", f=2.0, g=0.5)])
    state(tmp_path, 1, [logged(1, mean, f=1.5, g=0.5)])
    assert rewards(tmp_path) == expected


def test_a_function_that_was_always_zero_shows_no_weight(tmp_path: Path) -> None:
    completions(tmp_path, 1, [row("a", "1", f=1.0, g=0.0)])
    state(tmp_path, 1, [logged(1, 1.0, f=1.0, g=0.0)])
    assert rewards(tmp_path) == [None]


def test_columns_that_the_log_does_not_name_are_metrics(tmp_path: Path) -> None:
    completions(tmp_path, 1, [row("a", "1", f=1.0, num_chars=9, kind="x")])
    state(tmp_path, 1, [logged(1, 1.0, f=1.0)])
    (rollout,) = rollouts(tmp_path)
    assert rollout.values["reward"] == 1.0
    assert rollout.values["metadata"] == '{"kind":"x"}'
    assert [(s["grader"], s["value"], s["kind"]) for s in rollout.scores] == [
        ("f", 1.0, "reward"),
        ("num_chars", 9.0, "metric"),
    ]


def test_evaluation_rows_are_told_apart_by_the_logs_means(tmp_path: Path) -> None:
    train, evaluation = [row("a", "1", f=0.0), row("a", "2", f=1.0)], [row("b", "3", f=3.0), row("b", "4", f=5.0)]
    completions(tmp_path, 1, train)
    completions(tmp_path, 2, evaluation)  # the evaluation pushed all training rows out of the buffer
    completions(tmp_path, 3, [*train, *evaluation])  # … half of them
    completions(tmp_path, 4, evaluation)  # … more rows than the buffer holds: the means are of others
    log = [logged(1, 0.5, f=0.5)]
    for step, mean in ((2, 4.0), (3, 4.0), (4, 9.0)):
        log += [logged(step, 0.25, f=0.25), logged(step, mean, "eval_", f=mean)]
    state(tmp_path, 4, log)
    splits = [(each.values["step"], each.values["split"]) for each in rollouts(tmp_path)]
    assert splits[:4] == [(1, "train"), (1, "train"), (2, "valid"), (2, "valid")]
    assert splits[4:8] == [(3, "train"), (3, "train"), (3, "valid"), (3, "valid")]
    assert splits[8:] == [(4, None), (4, None)]
    assert "their split is NULL" in notes(tmp_path)


def test_a_buffer_written_twice_is_read_once(tmp_path: Path) -> None:
    rows = [row("a", "1", f=0.0), row("a", "2", f=1.0)]
    for step in (1, 2):
        completions(tmp_path, step, rows)
    assert [each.values["step"] for each in rollouts(tmp_path)] == [1, 1]
    assert "2 logged completions repeat" in notes(tmp_path)


def test_equal_completions_sampled_anew_are_all_kept(tmp_path: Path) -> None:
    rows = [row("a", "1", f=1.0), row("a", "1", f=1.0)]
    for step in (1, 2):
        completions(tmp_path, step, rows)
    state(tmp_path, 2, [logged(1, 1.0, f=1.0), logged(2, 1.0, f=1.0)])
    assert [each.values["step"] for each in rollouts(tmp_path)] == [1, 1, 2, 2]


def test_the_newest_state_is_read_once(tmp_path: Path) -> None:
    log = [
        {"step": 3, "loss": float("nan"), "tools/call_frequency": 1.5, "epoch": 0.5},
        {"step": 3, "eval_reward": 0.25, "eval_loss": None, "text": "x"},
        {"step": 6, "loss": 0.125},
    ]
    state(tmp_path / "checkpoint-3", 3, log[:2])
    state(tmp_path / "checkpoint-20", 6, log)
    assert trl.matches(Peek(tmp_path))
    rows = [each for each in records(tmp_path) if isinstance(each, Row)]
    metrics = [
        tuple(each.values[k] for k in ("step", "split", "name", "value")) for each in rows if each.table == "metrics"
    ]
    assert metrics == [
        (3, "train", "loss", None),
        (3, "train", "tools/call_frequency", 1.5),
        (3, "train", "epoch", 0.5),
        (3, "valid", "eval_reward", 0.25),
        (3, "valid", "eval_loss", None),
        (6, "train", "loss", 0.125),
    ]
    saved = [(each.values["step"], each.values["metrics"]) for each in rows if each.table == "checkpoints"]
    assert saved == [(3, '{"eval_loss":null,"eval_reward":0.25}'), (20, None)]
    state(tmp_path, 7, log[2:])
    assert sum(isinstance(each, Row) and each.table == "metrics" for each in records(tmp_path)) == 1


def test_base_model_from_adapter_or_model_card(tmp_path: Path) -> None:
    state(tmp_path, 1, [])
    (tmp_path / "README.md").write_text("---\nbase_model: Qwen/Qwen3-4B\n---\n")
    run = next(each for each in records(tmp_path) if isinstance(each, Row))
    assert (run.values["base_model"], run.values["kind"]) == ("Qwen/Qwen3-4B", "training")
    (tmp_path / "adapter_config.json").write_text('{"base_model_name_or_path": "m"}')
    assert next(each for each in records(tmp_path) if isinstance(each, Row)).values["base_model"] == "m"


def test_names_of_runs_and_what_is_claimed(tmp_path: Path) -> None:
    output = tmp_path / "runs" / "grpo"
    file = completions(output, 1, [row("a", "1", f=1.0)])
    checkpoint = state(output / "checkpoint-1", 1, [])
    for path in (output, file, file.parent, checkpoint, checkpoint.parent):
        assert trl.matches(Peek(path))
        assert trl.default_run(path) == "grpo"
    assert not trl.matches(Peek(tmp_path))
    assert not trl.matches(Peek(output.parent))
    assert rewards(file) == rewards(file.parent) == [1.0]


def test_other_parquet_is_not_claimed(tmp_path: Path) -> None:
    path = tmp_path / "completions" / "completions_00001.parquet"
    path.parent.mkdir()
    pd.DataFrame({"step": [1], "text": ["x"]}).to_parquet(path)
    assert not trl.matches(Peek(path))
    assert not trl.matches(Peek(tmp_path))
    with pytest.raises(UnreadableError, match="columns"):
        records(path)


def test_what_is_cut_off_is_known_by_its_name_and_said_to_be_broken(tmp_path: Path) -> None:
    path = completions(tmp_path, 1, [row("a", "1", f=1.0)])
    path.write_bytes(path.read_bytes()[:-1])
    assert trl.matches(Peek(path))
    assert trl.matches(Peek(tmp_path))
    with pytest.raises(UnreadableError, match="not a whole Parquet file"):
        records(path)
    completions(tmp_path, 2, [row("a", "2", f=0.5)])
    assert rewards(tmp_path) == [0.5]
    nameless = tmp_path / "x.parquet"
    nameless.write_bytes(b"PAR1 cut off")
    assert not trl.matches(Peek(nameless))


def test_what_is_broken_inside_a_folder_is_counted(tmp_path: Path) -> None:
    completions(tmp_path, 1, [row("a", "1", f=1.0), {**row("a", "2", f=float("inf")), "completion": None}])
    completions(tmp_path, 2, [row("a", "1", f=float("inf"))])
    completions(tmp_path, 3, []).write_bytes(b"PAR1")
    (tmp_path / "trainer_state.json").write_text('{"global_step": 2, "log_history": [')
    found = records(tmp_path)
    assert [each.values["reward"] for each in found if isinstance(each, Rollout)] == [1.0, None]
    reasons = [each.reason for each in found if isinstance(each, Reject)]
    assert len(reasons) == 3
    assert "completion is missing" in reasons[1]


def test_a_state_that_is_none_says_so(tmp_path: Path) -> None:
    path = state(tmp_path, 1, ["odd", {"step": "x", "loss": 1}])
    found = records(path)
    assert sum(isinstance(each, Reject) for each in found) == 1
    path.write_text('{"global_step": 1, "log_history": 5}')
    with pytest.raises(UnreadableError, match="log_history"):
        records(path)


def test_an_empty_completions_file_holds_nothing(tmp_path: Path) -> None:
    path = completions(tmp_path, 1, [row("a", "1", f=1.0)])
    pd.read_parquet(path).iloc[:0].to_parquet(path)
    assert rollouts(tmp_path) == []


def test_one_message_stands_for_a_list_and_other_prompts_are_kept_as_text(tmp_path: Path) -> None:
    one = {"prompt": {"role": "user", "content": "q"}, "completion": {"role": "assistant", "content": "a"}}
    completions(tmp_path, 1, [{**one, "f": 1.0, "advantage": 0.0}])
    completions(tmp_path, 2, [{"prompt": 7, "completion": "a", "f": 1.0, "advantage": 0.0}])
    found = rollouts(tmp_path)
    assert [[(m["role"], m["text"]) for m in each.messages or ()] for each in found] == [
        [("user", "q"), ("assistant", "a")],
        [("user", "7"), ("assistant", "a")],
    ]


@pytest.mark.parametrize("completion", [3, b"x", ["text"], [[{"role": "assistant"}]]])
def test_a_completion_that_is_no_talk_is_rejected(tmp_path: Path, completion: Any) -> None:
    completions(tmp_path, 1, [{**row("q", "a", f=1.0), "completion": completion}])
    (found,) = [each for each in records(tmp_path) if isinstance(each, Reject)]
    assert found.reason == f"the completion must be text or messages, not {type(completion).__name__}"


def test_a_text_that_is_not_utf8_costs_its_own_row(tmp_path: Path) -> None:
    path = completions(tmp_path, 1, [{**row("q", "a", f=1.0), "completion": each} for each in ("xx", "y", "z")])
    table = pq.read_table(path)
    offsets = b"".join(each.to_bytes(4, "little") for each in (0, 2, 3, 4))
    broken = pa.Array.from_buffers(pa.string(), 3, [None, pa.py_buffer(offsets), pa.py_buffer(b"\xff\xfeyz")])
    pq.write_table(table.set_column(table.schema.get_field_index("completion"), "completion", broken), path)
    found = records(tmp_path)
    assert [(each.values["final_answer"], each.values["group_id"]) for each in found if isinstance(each, Rollout)] == [
        ("y", "1/0"),
        ("z", "1/0"),
    ]
    assert [(each.reason, each.position) for each in found if isinstance(each, Reject)] == [
        ("a text of the row is not UTF-8", "0")
    ]


def test_damaged_pages_are_counted_and_do_not_stop_the_next_file(tmp_path: Path) -> None:
    path = completions(tmp_path, 1, [row("a", "1", f=1.0, g=1.0), row("a", "2", f=0.0, g=1.0)])
    completions(tmp_path, 2, [row("a", "3", f=0.5, g=1.0)])
    state(tmp_path, 2, [logged(2, 1.5, f=0.5, g=1.0), logged(1, 1.5, "eval_", f=0.5, g=1.0)])
    path.write_bytes(path.read_bytes()[:4] + bytes(300) + path.read_bytes()[304:])
    found = records(tmp_path)
    assert [each.values["reward"] for each in found if isinstance(each, Rollout)] == [1.5]
    (damage,) = [each for each in found if isinstance(each, Reject)]
    assert damage.reason.endswith("; 2 rows are missing from here on")


def test_columns_that_are_no_numbers_are_said_and_kept(tmp_path: Path) -> None:
    completions(tmp_path, 1, [row("a", "1", f="1.0", g=True)])
    (found,) = rollouts(tmp_path)
    assert (found.values["reward"], json.loads(found.values["metadata"])) == (None, {"f": "1.0", "g": True})
    assert "g (bool): not numbers, so that they are no rewards" in notes(tmp_path)


def test_decimals_are_numbers_and_a_function_that_always_gave_none_is_one(tmp_path: Path) -> None:
    completions(tmp_path, 1, [row("a", "1", f=Decimal("1.5"), g=None)])
    state(tmp_path, 1, [{**logged(1, 1.5, f=1.5), "rewards/g/mean": None}])
    (found,) = rollouts(tmp_path)
    assert [(each["grader"], each["value"]) for each in found.scores] == [("f", 1.5), ("g", None)]


def test_two_columns_of_one_name_are_both_kept(tmp_path: Path) -> None:
    path = completions(tmp_path, 1, [row("a", "1", f=1.0)])
    pq.write_table(pq.read_table(path).append_column("f", pa.array([9.0])), path)
    (found,) = rollouts(tmp_path)
    assert [(each["grader"], each["value"]) for each in found.scores] == [("f", 1.0), ("f#2", 9.0)]


@pytest.mark.parametrize(
    "name", ["'; DROP TABLE runs; --", "../../x", "😀", "a" * 300, "1", "2024-01-01", "a.b", "f#2"]
)
def test_a_reward_function_may_have_any_name(tmp_path: Path, name: str) -> None:
    completions(tmp_path, 1, [row("q", "1", **{name: 0.5}), row("q", "2", **{name: 1.0})])
    state(tmp_path, 1, [logged(1, 0.75, **{name: 0.75})])
    assert rewards(tmp_path) == [0.5, 1.0]


def test_a_reward_column_that_is_not_there_is_said(tmp_path: Path) -> None:
    completions(tmp_path, 1, [row("a", "1", f=1.0)])
    found = records(tmp_path, reward="typo")
    assert [each.values["reward"] for each in found if isinstance(each, Rollout)] == [None]
    assert "There is no reward function typo: there are f. Rewards are NULL." in [
        each.text for each in found if isinstance(each, Note)
    ]


def test_what_the_log_holds_besides_numbers_is_said(tmp_path: Path) -> None:
    state(tmp_path, 1, [{"step": 1, "loss": "0.5", "sampling": [1], "kl": 0.1}])
    assert [each.values["name"] for each in records(tmp_path) if isinstance(each, Row) and each.table == "metrics"] == [
        "kl"
    ]
    assert "loss, sampling" in notes(tmp_path)
