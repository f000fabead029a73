"""Hostile and damaged input: whatever a file holds, it is counted and explained, and the lines beside it are read."""

import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ingest.discover import discover
from ingest.doctor import examine
from ingest.errors import UnreadableError, UnrecognisedError
from ingest.reading import MAX_DEPTH, Peek, dump_json, parse_json, whole
from ingest.runner import Report, Request, ingest
from ingest.sources import source as named
from ingest.sources.base import Options, Part, Reject, Rollout
from ingest.staging import Overrides, PartStager, Stager
from ingest.store import Store
from queries.connection import open_store

VALUES = {
    "null": "null",
    "text": '"x"',
    "number": "-7.5",
    "flag": "true",
    "list": "[]",
    "object": '{"a": [1]}',
    "nan": "NaN",
    "infinite": "1e400",
    "400 digits": "9" * 400,
    "5 000 digits": "9" * 5000,
    "lone surrogate": '"\\ud800"',
    "zero byte": '"a\\u0000b"',
    "superscript": '"\u00b2"',
    "1 000 deep": "[" * 1000 + "]" * 1000,
    "2 000 deep": "[" * 2000 + "]" * 2000,
}
"""What stands in the place of a value, as it is written in JSON."""

CALL = {"id": "c1", "type": "function", "function": {"name": "sql", "arguments": '{"q": 1}'}}
CHAT: list[Any] = [
    {"role": "user", "content": "q"},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": "7"},
    {"role": "assistant", "content": [{"type": "text", "text": "7"}]},
]
NODES: list[Any] = [
    {"message": CHAT[0], "sampled": False, "timestamp": 1.0, "token_ids": [1], "mask": [False], "logprobs": []},
    {"parent": 0, "message": CHAT[1], "sampled": True, "token_ids": [2], "mask": [True], "logprobs": [-0.1]},
]
TRACE = {
    "id": "t1",
    "task": {"key": "k", "data": {"prompt": "q"}},
    "agent": {"name": "a", "config": {"model": "m"}},
    "nodes": NODES,
    "calls": [{"node": 1, "usage": {"prompt_tokens": 3, "completion_tokens": 4}, "time": {"start": 1.0, "end": 2.0}}],
    "rewards": {"ok": {"score": 1.0, "weight": 1.0}},
    "timing": {"start": 1.0},
}
SPANS = [
    {
        "id": "s0",
        "trace_id": "t",
        "started_at": "2026-01-01T00:00:00Z",
        "ended_at": "2026-01-01T00:00:01Z",
        "span_data": {"type": "GENERATION", "output": [{"content": "{}", "recipient": "functions.sql"}]},
    },
    {"id": "s1", "trace_id": "t", "span_data": {"type": "FUNCTION", "name": "sql", "input": "{}", "output": "7"}},
]
RECORDS: dict[str, tuple[str, Any]] = {
    "tau_bench": (
        "tau.json",
        [{"task_id": 0, "trial": 0, "reward": 1.0, "traj": CHAT, "info": {"reward_info": {"info": {"r_actions": 1}}}}],
    ),
    "openai_fine_tuning": (
        "job.json",
        {
            "object": "fine_tuning.job",
            "id": "ftjob-x",
            "created_at": 1760000000,
            "method": {"type": "reinforcement", "reinforcement": {"grader": {"name": "g"}}},
            "metadata": {"a": "b"},
        },
    ),
    "openai_evals": (
        "items.json",
        {
            "object": "list",
            "data": [
                {
                    "object": "eval.run.output_item",
                    "id": "i",
                    "run_id": "r",
                    "datasource_item": {"messages": CHAT[:1], "reference": "7", "trace": {"spans": SPANS}},
                    "results": [{"name": "g", "score": 1.0, "sample": {"output": CHAT[3:]}}],
                    "sample": {"output": CHAT[3:], "usage": {"prompt_tokens": 3, "completion_tokens": 4}},
                }
            ],
        },
    ),
    "verifiers": (
        "traces.jsonl",
        {"id": "e", "env": {"id": "v"}, "task": TRACE["task"], "ok": True, "traces": [TRACE]},
    ),
    "verifiers_legacy": (
        "results.jsonl",
        {
            "example_id": 0,
            "rollout_id": "0:1",
            "prompt": CHAT[:1],
            "completion": CHAT[1:],
            "reward": 1.0,
            "metrics": {"m": 1.0},
            "timing": {"generation": {"start": 1.0, "end": 2.0}, "model": {"spans": [{"start": 1, "end": 2}]}},
            "token_usage": {"input_tokens": 5.0, "output_tokens": 9.0},
        },
    ),
    "prime_rl": (
        "traces/stream/00000.jsonl",
        {
            "id": "e",
            "env": {"id": "v"},
            "group": {"id": "g"},
            "task": TRACE["task"],
            "run": {"work": {"step": 3}},
            "ok": True,
            "traces": [TRACE],
        },
    ),
    "verl": (
        "12.jsonl",
        {"input": "user\nq\nassistant\n", "output": "7", "gts": "7", "score": 1.0, "step": 12, "uid": "u_0_0"},
    ),
    "trl": (
        "trainer_state.json",
        {"global_step": 1, "log_history": [{"step": 1, "reward": 1.0, "rewards/f/mean": 1.0, "deep": {"a": 1.0}}]},
    ),
    "observatory_jsonl": (
        "n.jsonl",
        {"run": "r", "rollout_id": "1", "sample_id": "s", "reward": 1.0, "scores": {"a": 1.0}, "metadata": {"k": "v"}},
    ),
}


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where every value of a record stands."""
    if path:
        yield path
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from leaves(inner, (*path, key))


def changed(record: Any, path: tuple[Any, ...], raw: str) -> str:
    """The record as JSON, the value at a path written as given."""
    copied = json.loads(json.dumps(record))
    holder = copied
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = "@here@"
    return json.dumps(copied).replace('"@here@"', raw)


def staged(file: Path, source: str, stager: Stager) -> int:
    """Read a file as the runner does, up to its rows; how many records came."""
    module = named(source)
    part = PartStager(stager, "file:///x", source, module.default_run(file), Overrides())
    count = 0
    try:
        for record in module.read(Part(file), Options()):
            part.add(record)
            count += 1
    except UnreadableError:
        count += 1
    return count


@pytest.mark.parametrize("source", RECORDS)
def test_any_value_in_any_place_is_read_or_explained(tmp_path: Path, source: str) -> None:
    name, record = RECORDS[source]
    file = tmp_path / "run" / name
    file.parent.mkdir(parents=True)
    places = list(leaves(record))
    values = list(VALUES.values())
    stager = Stager(tmp_path)
    for number, path in enumerate(places):
        for offset in range(4):  # a quarter of the values at each place, all of them at each source
            file.write_text(changed(record, path, values[(number + offset * 4) % len(values)]) + "\n")
            named(source).matches(Peek(file))
            assert staged(file, source, stager) > 0, (path, offset)
    stager.close()


@pytest.mark.parametrize("source", RECORDS)
def test_a_file_cut_anywhere_is_read_or_explained(tmp_path: Path, source: str) -> None:
    name, record = RECORDS[source]
    file = tmp_path / "run" / name
    file.parent.mkdir(parents=True)
    data = json.dumps(record).encode()
    stager = Stager(tmp_path)
    for size in range(1, len(data), max(7, len(data) // 40)):
        file.write_bytes(data[:size])
        named(source).matches(Peek(file))
        assert staged(file, source, stager) > 0, size
    stager.close()


def read_lines(tmp_path: Path, *lines: str) -> Report:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "n.jsonl").write_text("".join(line + "\n" for line in lines))
    return ingest(Store(tmp_path / "store"), Request([tmp_path / "in"], workers=1))


def test_a_deep_record_does_not_take_the_next_ones_with_it(tmp_path: Path) -> None:
    def line(number: int, extra: str) -> str:
        return f'{{"run": "r", "rollout_id": "{number}", "sample_id": "s", "reward": 1.0, "metadata": {extra}}}'

    deep = '{"a": ' * 990 + "1" + "}" * 990
    deeper = '{"a": ' * 1100 + "NaN" + "}" * 1100
    report = read_lines(tmp_path, line(1, "{}"), line(2, deep), line(3, deeper), line(4, '{"n": NaN}'))
    assert (report.failed, report.rollouts, report.rejects, report.exit_code) == ([], 3, 1, 3)
    assert not [each for each in examine(tmp_path / "store") if each.is_problem]


def test_json_columns_are_json_that_a_database_reads(tmp_path: Path) -> None:
    odd = {"a": float("nan"), "b": 10**400, "c": ["\ud800", float("inf")], "d": {3: True}, "e\udfff": None}
    (tmp_path / "in").mkdir()
    line = {"run": "r", "rollout_id": "1", "sample_id": "s", "reward": 1.0, "metadata": odd}
    (tmp_path / "in" / "n.jsonl").write_text(json.dumps(line) + "\n")
    ingest(Store(tmp_path / "store"), Request([tmp_path / "in"], workers=1))
    connection = open_store(tmp_path / "store").connection
    found = connection.sql("SELECT json_valid(metadata), metadata->>'$.b', metadata->'$.a' FROM rollouts").fetchall()
    assert found == [(True, "1" + "0" * 400, "null")]


def test_depth_has_one_limit_whichever_parser_reads() -> None:
    assert parse_json("[" * MAX_DEPTH + "]" * MAX_DEPTH) is not None
    nan_inside = "[" * MAX_DEPTH + "NaN" + "]" * MAX_DEPTH
    for text in (f"[{nan_inside}]", "[" * 100_000, "[" * 3_000 + "NaN" + "]" * 3_000):
        with pytest.raises(ValueError, match=r"nested too deeply|not JSON"):
            parse_json(text)


@pytest.mark.parametrize(
    ("value", "expected"),
    [("\u00b2", None), ("--3", None), ("-3", -3), ("\u0663", 3), ("9" * 30, None), (" 7 ", 7), ("", None)],
)
def test_digits_that_are_no_number_are_none(value: str, expected: int | None) -> None:
    assert whole(value) == expected


def test_dump_json_of_a_huge_number_is_text() -> None:
    assert dump_json({"b": 2**70, "a": 1}) == '{"a":1,"b":"1180591620717411303424"}'


def test_pipes_sockets_and_rings_of_links_neither_hang_nor_vanish(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    good = {"run": "r", "rollout_id": "1", "sample_id": "s", "reward": 1.0}
    (folder / "good.jsonl").write_text(json.dumps(good) + "\n")
    for name in ("job.json", "traces.jsonl", "results.jsonl", "metadata.json", "completions_1.parquet"):
        os.mkfifo(folder / name)
    (folder / "ring").symlink_to(folder / "ring2")
    (folder / "ring2").symlink_to(folder / "ring")
    (folder / "self").symlink_to(folder)
    (folder / "zero").symlink_to("/dev/zero")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(os.path.relpath(folder / "socket"))
    found = discover([folder])
    assert [each.path.name for each in found.found] == ["good.jsonl"]
    assert {"job.json", "traces.jsonl", "ring", "ring2", "zero", "socket"} <= {each.name for each in found.skipped}
    with pytest.raises(UnrecognisedError, match="neither a file nor a folder"):
        ingest(Store(tmp_path / "store"), Request([folder / "job.json"]))


@pytest.mark.parametrize("path", ["", " ", "x" * 300, "y" * 5_000, "~nobody-of-that-name/x", "a\tb", "[", "*"])
def test_a_path_that_cannot_be_one_is_an_error_and_not_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (error,) = discover([path]).errors
    assert error.endswith(": there is no such file or folder")
    assert len(error) < 250


@pytest.mark.parametrize("name", ["fifo", "gone"])
def test_a_part_that_is_no_file_is_unreadable(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(UnreadableError):
        list(named("observatory_jsonl").read(Part(tmp_path / name), Options()))


def test_a_document_that_breaks_off_in_a_deep_head_is_unreadable(tmp_path: Path) -> None:
    file = tmp_path / "items.json"
    file.write_text('{"x": ' + "[" * 9_000 + ', "data": [{"object": "eval.run.output_item", "id": "1"}')
    with pytest.raises(UnreadableError):
        list(named("openai_evals").read(Part(file), Options()))


def test_records_are_rollouts_or_rejects_whatever_their_ids(tmp_path: Path) -> None:
    ids = ["'; DROP TABLE runs; --", "../../x", "\x1b[31m", "\u202e", "n" * 10_000, "NULL", "{{x}}", "a/b=c", "%2e%2e"]
    lines = [json.dumps({"run": each, "rollout_id": each, "sample_id": each, "reward": 1.0}) for each in ids]
    report = read_lines(tmp_path, *lines, *lines)
    assert (report.rollouts, len(report.runs), report.failed) == (2 * len(ids), len(ids), [])
    folders = {each.name for each in (tmp_path / "store" / "lake" / "rollouts").iterdir()} - {"_delta_log"}
    assert folders == {f"run_id={run_id}" for run_id in report.runs}
    assert {each.name for each in tmp_path.iterdir()} == {"in", "store"}
    names = open_store(tmp_path / "store").connection.sql("SELECT name FROM runs").fetchall()
    assert {name for (name,) in names} == set(ids)


def test_rejects_are_whole_sentences(tmp_path: Path) -> None:
    file = tmp_path / "n.jsonl"
    file.write_text('{"rollout_id": "1", "sample_id": "s", "reward": 1.0}\n{"a": \n[1]\n"\\ud800"\n')
    records = list(named("observatory_jsonl").read(Part(file), Options()))
    assert [type(each) for each in records] == [Rollout, Reject, Reject, Reject]
    assert all(each.reason and each.position for each in records if isinstance(each, Reject))
