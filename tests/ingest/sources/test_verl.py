"""verl dumps and metrics: small files as verl writes them, rows computed by hand."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from ingest.errors import UnreadableError
from ingest.reading import Peek
from ingest.sources import verl
from ingest.sources.base import Note, Options, Part, Record, Reject, Rollout, Row, parts_of


def records(path: Path) -> list[Record]:
    return list(verl.read(Part(path), Options()))


def rollouts(path: Path) -> list[Rollout]:
    return [each for each in records(path) if isinstance(each, Rollout)]


def write(path: Path, *rows: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return path


def row(**more: Any) -> dict[str, Any]:
    return {"input": "user\nq\nassistant\n", "output": "7", "gts": "7", "score": 1.0, "step": 12, **more}


TOOL_TURN = (
    "<think>\nlook\n</think>\n\nI ask.\n<tool_call>\n"
    '{"name": "sql", "arguments": {"q": "x"}}\n</tool_call>\n'
    '<tool_call>\n{"name": "sql", "arguments": {"q": "y"}}\n</tool_call>\n'
    "user\n<tool_response>\n7\n</tool_response>\n<tool_response>\nError: no y\n</tool_response>\nassistant\nIt is 7."
)


def messages(rollout: Rollout) -> list[tuple[str, str | None]]:
    assert rollout.messages is not None
    return [(each["role"], each["text"]) for each in rollout.messages]


def test_turns_and_calls_are_recovered_from_text_without_markers(tmp_path: Path) -> None:
    path = write(
        tmp_path / "rollout_data" / "12.jsonl",
        row(input="system\nBe brief.\nuser\nq\nassistant\n", output=TOOL_TURN, uid="u1_3_0"),
    )
    assert verl.matches(Peek(path))
    (rollout,) = rollouts(path)
    values = rollout.values
    assert (values["step"], values["split"], values["reward"]) == (12, "train", 1.0)
    assert (values["native_id"], values["group_id"], values["native_attempt"]) == ("u1_3", "u1", 3)
    assert (values["final_answer"], values["sample_id_source"]) == ("It is 7.", "prompt_hash")
    assert values["raw_ref"] == "rollout_data/12.jsonl@0"
    assert messages(rollout) == [
        ("system", "Be brief."),
        ("user", "q"),
        ("assistant", "I ask."),
        ("tool", "7"),
        ("tool", "Error: no y"),
        ("assistant", "It is 7."),
    ]
    assert rollout.messages is not None
    assert rollout.messages[2]["reasoning_text"] == "look"
    calls = [(c["tool"], c["arguments_raw"], c["status"], c["turn"], c["parse_source"]) for c in rollout.tool_calls]
    assert calls == [("sql", '{"q":"x"}', "ok", 0, "text"), ("sql", '{"q":"y"}', "error", 0, "text")]
    assert rollout.sample is not None
    assert rollout.sample["prompt_text"] == "system: Be brief.\n\nuser: q"
    assert rollout.sample["reference"] == "7"


def test_template_markers_are_followed_where_they_remain(tmp_path: Path) -> None:
    prompt = "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\nq<|im_end|>\n<|im_start|>assistant\n<think>\n"
    answer = "hm</think>\n<function=sql>\n<parameter=q>\nx\n</parameter>\n</function><|im_end|>"
    (rollout,) = rollouts(write(tmp_path / "1.jsonl", row(input=prompt, output=answer)))
    assert messages(rollout) == [("system", "S"), ("user", "q"), ("assistant", "")]
    assert rollout.messages is not None
    assert rollout.messages[2]["reasoning_text"] == "hm"
    assert [(c["tool"], c["arguments_raw"]) for c in rollout.tool_calls] == [("sql", '{"q":"x"}')]


@pytest.mark.parametrize("plain", ["What is 2+2?", "Sort:\nuser\nadmin", ""])
def test_plain_input_is_one_user_message(tmp_path: Path, plain: str) -> None:
    (rollout,) = rollouts(write(tmp_path / "1.jsonl", row(input=plain, output="")))
    assert messages(rollout) == ([("user", plain)] if plain else []) + [("assistant", "")]
    assert (rollout.values["sample_id"] is None) == (plain == "")


def test_rows_without_uid_group_by_equal_input(tmp_path: Path) -> None:
    found = rollouts(
        write(
            tmp_path / "1.jsonl", row(input="a", step=1), row(input="b", step=1), row(input="a", step=1, request_id="r")
        )
    )
    groups = [each.values["group_id"] for each in found]
    assert groups[0] == groups[2] != groups[1]
    assert [each.values["native_id"] for each in found] == [None, None, "r"]


def test_segments_of_a_session_are_one_rollout(tmp_path: Path) -> None:
    path = write(
        tmp_path / "1.jsonl",
        row(uid="u_0_0", output="one"),
        row(
            uid="u_0_10",
            input="user\nq\nassistant\none\nuser\ngo on\nassistant\ntwo\nuser\nmore\nassistant\n",
            output="three",
        ),
        row(uid="u_0_2", input="user\nq\nassistant\none\nuser\ngo on\nassistant\n", output="two"),
        row(uid="u_1_0", output="other", score=0.0),
    )
    first, second = rollouts(path)
    assert messages(first) == [
        ("user", "q"),
        ("assistant", "one"),
        ("user", "go on"),
        ("assistant", "two"),
        ("user", "more"),
        ("assistant", "three"),
    ]
    assert (first.values["native_id"], first.values["reward"]) == ("u_0", 1.0)
    assert json.loads(first.values["metadata"]) == {"num_segments": 3}
    assert (second.values["native_id"], second.values["reward"]) == ("u_1", 0.0)
    assert first.values["sample_id"] == second.values["sample_id"]


def test_a_segment_with_another_context_adds_its_output_only(tmp_path: Path) -> None:
    rows = [row(uid="u_0_0", output="one"), row(uid="u_0_1", input="user\nsummary\nassistant\n", output="two")]
    (rollout,) = rollouts(write(tmp_path / "1.jsonl", *rows))
    assert messages(rollout) == [("user", "q"), ("assistant", "one"), ("assistant", "two")]
    assert "left out" in rollout.values["metadata"]


def test_extra_columns_become_scores_or_metadata(tmp_path: Path) -> None:
    extra = row(
        acc=True, format=0.5, pred="seven", reward=float("nan"), ids=list(range(99)), data_source="gsm8k", none=None
    )
    path = write(tmp_path / "1.jsonl", extra, row(acc=1.0), row(acc="False"))
    first, second, third = rollouts(path)
    assert [(s["grader"], s["value"], s["passed"], s["kind"]) for s in first.scores] == [
        ("acc", 1.0, True, "metric"),
        ("format", 0.5, None, "metric"),
        ("reward", None, None, "metric"),
    ]
    assert json.loads(first.values["metadata"]) == {"pred": "seven", "none": None}
    assert first.values["environment"] == "gsm8k"
    assert [each.values["passed"] for each in (first, second, third)] == [True, None, False]
    assert any("not stored" in each.text for each in records(path) if isinstance(each, Note))


@pytest.mark.parametrize(
    ("score", "expected"), [(float("nan"), None), (None, None), ([1.0], None), (0, 0.0), (-2.5, -2.5)]
)
def test_rewards_that_are_none(tmp_path: Path, score: Any, expected: float | None) -> None:
    (rollout,) = rollouts(write(tmp_path / "1.jsonl", row(score=score)))
    assert rollout.values["reward"] == expected


@pytest.mark.parametrize(
    ("folder", "split"),
    [
        ("validation_data", "valid"),
        ("val", "valid"),
        ("eval_rollouts", "valid"),
        ("rollout_data", "train"),
        ("values", "train"),
    ],
)
def test_the_folder_gives_the_split(tmp_path: Path, folder: str, split: str) -> None:
    write(tmp_path / "exp" / folder / "7.jsonl", {key: value for key, value in row().items() if key != "step"})
    (rollout,) = rollouts(tmp_path / "exp" / folder)
    assert (rollout.values["split"], rollout.values["step"]) == (split, 7)


def test_what_is_claimed_and_its_run(tmp_path: Path) -> None:
    run = tmp_path / "outputs" / "exp"
    train = write(run / "rollout_data" / "10.jsonl", row(step=10))
    write(run / "rollout_data" / "9.jsonl", row(step=9))
    valid = write(run / "validation_data" / "10.jsonl", row(step=10))
    write(
        run / "metrics.jsonl",
        {"step": 9, "data": {"critic/score/mean": 0.5, "val-core/gsm8k/acc/mean@1": None, "t": "x"}},
    )
    (run / "global_step_9").mkdir()
    for path in (run, train.parent, train, valid.parent, valid, run / "metrics.jsonl"):
        assert verl.matches(Peek(path))
        assert verl.default_run(path) == "exp"
    assert not verl.matches(Peek(run.parent))
    found = records(run)
    assert [(r.values["step"], r.values["split"]) for r in found if isinstance(r, Rollout)] == [
        (9, "train"),
        (10, "train"),
        (10, "valid"),
    ]
    rows = [(r.table, r.values) for r in found if isinstance(r, Row)]
    assert [values for table, values in rows if table == "checkpoints"] == [
        {"step": 9, "checkpoint_id": "global_step_9"}
    ]
    metrics = [(v["step"], v["split"], v["name"], v["value"]) for table, v in rows if table == "metrics"]
    assert metrics == [(9, "train", "critic/score/mean", 0.5), (9, "valid", "val-core/gsm8k/acc/mean@1", None)]
    write(tmp_path / "outputs" / "two" / "a" / "1.jsonl", row())
    write(tmp_path / "outputs" / "two" / "b" / "1.jsonl", row())
    assert not verl.matches(Peek(tmp_path / "outputs" / "two"))


def test_parts_of_a_folder_give_what_the_folder_gives(tmp_path: Path) -> None:
    for step in (1, 2):
        write(tmp_path / "rollouts" / f"{step}.jsonl", row(step=step), row(step=step, input="b"))
    folder = tmp_path / "rollouts"
    pieces = [record for part in parts_of(verl, folder) for record in verl.read(part, Options())]
    assert pieces == records(folder)
    (folder / "3.jsonl.gz").write_bytes(gzip.compress(json.dumps(row(step=3)).encode()))
    assert len(parts_of(verl, folder)) == 1
    assert [each.values["step"] for each in rollouts(folder)] == [1, 1, 2, 2, 3]


def test_bad_rows_are_rejected_and_the_rest_kept(tmp_path: Path) -> None:
    path = write(
        tmp_path / "1.jsonl",
        row(uid="u_0_0"),
        "[1]",
        row(uid="u_0_1", output="two"),
        row(output=None),
        row(uid="w_0_0"),
        row(uid="u_0_2"),
        '{"input": "a", "outp',
    )
    found = records(path)
    assert [each.values["native_id"] for each in found if isinstance(each, Rollout)] == ["u_0", "w_0"]
    reasons = [each.reason for each in found if isinstance(each, Reject)]
    assert len(reasons) == 4
    assert any("stands apart" in reason for reason in reasons)


def test_other_files_are_not_claimed(tmp_path: Path) -> None:
    for content in (
        {"input": "a", "output": "b", "score": 1},
        {"step": 1, "data": [1]},
        {"step": 1, "data": {"a/b": 1}, "x": 1},
    ):
        assert not verl.matches(Peek(write(tmp_path / "1.jsonl", content)))
    assert not verl.matches(Peek(tmp_path))
    empty = tmp_path / "2.jsonl"
    empty.touch()
    assert not verl.matches(Peek(empty))


def test_a_damaged_file_in_a_folder_is_a_reject(tmp_path: Path) -> None:
    write(tmp_path / "1.jsonl", row())
    damaged = tmp_path / "2.jsonl.gz"
    damaged.write_bytes(gzip.compress(json.dumps(row()).encode())[:20])
    assert sum(isinstance(each, Reject) for each in records(tmp_path)) == 1
    with pytest.raises(UnreadableError):
        records(damaged)


def test_fields_that_no_column_takes_are_kept(tmp_path: Path) -> None:
    (found,) = rollouts(write(tmp_path / "7.jsonl", row(step="late", uid="plain")))
    assert (found.values["step"], found.values["native_id"]) == (7, None)
    assert json.loads(found.values["metadata"]) == {"step": "late", "uid": "plain"}


def test_what_is_no_metric_is_said(tmp_path: Path) -> None:
    path = write(tmp_path / "metrics.jsonl", {"step": 1, "data": {"critic/rewards/mean": 0.5, "run/name": "x"}})
    found = records(path)
    assert [each.values["name"] for each in found if isinstance(each, Row) and each.table == "metrics"] == [
        "critic/rewards/mean"
    ]
    assert Note("No numbers, and so no metrics: run/name.") in found
