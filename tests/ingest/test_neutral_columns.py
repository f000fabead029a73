"""Many lines at once say the same as line by line: the fast way of the neutral format against the slow one."""

import gzip
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pytest

from ingest.arrow_files import ArrowFile, TableWriter
from ingest.errors import UnreadableError
from ingest.finish import rows
from ingest.schema import TABLES, table
from ingest.sources import observatory_jsonl
from ingest.sources.base import Options, Part, Reject, Rollouts
from ingest.staging import Overrides, PartStager, Stager

Line = dict[str, Any]


def _call(number: int, name: str, arguments: Any) -> Line:
    return {"id": f"c{number}", "type": "function", "function": {"name": name, "arguments": arguments}}


def _line(number: int, rng: random.Random) -> Line:
    """A rollout with up to five calls, in turns of one or two."""
    messages: list[Line] = [
        {"role": "system", "content": "Use the tools."},
        {"role": "user", "content": f"Q{number % 7}"},
    ]
    seen, clock, count = [], 1_760_000_000.25 + number, rng.randrange(6)
    for at in range(0, count, 2):
        asked = [
            _call(each, rng.choice(("search", "functions.edit", "bash")), rng.choice(_ARGUMENTS))
            for each in range(at, min(at + 2, count))
        ]
        messages.append({"role": "assistant", "content": rng.choice((None, "", "Let me see.")), "tool_calls": asked})
        for call in asked:
            answer = rng.choice(("ok", "Error: no such file", "naïve é", "", '{"error": "down"}', "TimeoutError: slow"))
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": answer})
            seen.append({"id": call["id"], "started_at": clock, "latency_s": round(rng.random(), 3)})
            clock += 0.1234567
    messages.append({"role": "assistant", "content": rng.choice(("The answer is 4.", "", None))})
    return {
        "run": f"run {number % 3}",
        "rollout_id": f"r{number % 90}",  # some of them twice
        "sample_id": f"s{number % 7}",
        "attempt": number,
        "step": number // 20,
        "split": rng.choice(("train", "valid")),
        "reward": rng.choice((0, 1, 0.25, None)),
        "passed": rng.choice((True, False, None)),
        "scores": rng.choice(({"a": 1.0, "b": None, "ok": True}, {}, None)),
        "messages": messages,
        "tool_calls": seen,
        "worker": rng.choice((None, 3, {"b": 1, "a": [1.50]})),
    }


_ARGUMENTS = (
    '{"query": "acme revenue 2023"}',
    '{"query": "acme total revenue 2023"}',
    '{"limit": 1, "query": "a"}',
    '{"query": "a", "limit": 1}',
    "ls -la",
    "",
    '{"path": "src/a.py", "lines": [1, 2]}',
    '{"query": "Größe"}',
)


def _lines(change: Callable[[Line, random.Random], object] | None = None) -> list[bytes]:
    rng = random.Random(7)
    found = []
    for number in range(120):
        line = _line(number, rng)
        if change is not None:
            change(line, rng)
        found.append(orjson.dumps(line))
    return found


def _staged(path: Path, into: Path) -> dict[str, list[Line]]:
    """Everything that comes of a file, by table."""
    into.mkdir()
    stager = Stager(into)
    part = PartStager(stager, "source", "observatory_jsonl", "default", Overrides())
    for record in observatory_jsonl.read(Part(path), Options()):
        part.add(record)
    stager.close()
    tables: dict[str, list[Line]] = {"notes": [dict(part.tally.notes)], "rows": [dict(part.tally.rows)]}
    for contract in TABLES:
        found = rows([into], contract.name)
        tables[contract.name] = (found if isinstance(found, pa.Table) else found.read_all()).to_pylist()
    return tables


def _both(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, Any]:
    together = _staged(path, tmp_path / "together")
    monkeypatch.setattr("ingest.neutral_columns.FEWEST_LINES", 10**9)
    return together, _staged(path, tmp_path / "alone")


def _changed(**values: Any) -> Callable[[Line, random.Random], object]:
    return lambda line, _: line.update(values)


def _each_message(change: Callable[[Line, random.Random], object]) -> Callable[[Line, random.Random], object]:
    return lambda line, rng: [change(message, rng) for message in line["messages"]]


def _each_call(change: Callable[[Line], object]) -> Callable[[Line, random.Random], object]:
    return lambda line, _: [change(call) for m in line["messages"] for call in m.get("tool_calls", ())]


def _flat(call: Line) -> None:
    call |= call.pop("function")


def _with_objects(call: Line) -> None:
    call["function"]["arguments"] = {"b": [1, {"d": 2.0, "c": None}], "a": call["id"]}


def _timed(message: Line, rng: random.Random) -> None:
    if message["role"] == "assistant":
        message["latency_s"] = rng.choice((0.5, 1.25, None))
        message["output_tokens"] = rng.choice((10, 20))
        message["input_tokens"] = rng.choice((100, 0, None))
        message["is_sampled"] = rng.choice((True, True, False))
        message["started_at"] = "2026-01-02T03:04:05Z"


def _with_token_figures(message: Line, rng: random.Random) -> None:
    if message["role"] == "assistant":
        message["mismatch_mean"] = rng.choice((0.5, -0.25, None))
        message["entropy_p95"] = rng.choice((1.0, None))
        message["is_after_tool"] = rng.choice((True, None, None))


def _named(message: Line, rng: random.Random) -> None:
    message["name"] = rng.choice(("ann", None))
    if message["role"] == "tool":
        message["error"] = rng.choice((True, False, None))
        message["error_kind"] = rng.choice(("down", None))


def _seen(line: Line, rng: random.Random) -> None:
    for call in line["tool_calls"]:
        call["ended_at"] = call["started_at"] + rng.choice((-1, 0.5))
        call["latency_s"] = rng.choice((None, 0.125))
        call["error"] = rng.choice((True, False, None))
        call["output"] = "as the server saw it"


def _unanswered(line: Line, rng: random.Random) -> None:
    line["messages"] = [m for m in line["messages"] if m["role"] != "tool" or rng.random() < 0.5]
    line["tool_calls"] = [call for call in line["tool_calls"] if rng.random() < 0.5]


def _without_talk(line: Line, _: random.Random) -> None:
    del line["messages"], line["tool_calls"]


PLAIN: dict[str, Callable[[Line, random.Random], object] | None] = {
    "as most lines": None,
    "no messages": _without_talk,
    "no calls": lambda line, _: line.update(messages=line["messages"][:2], tool_calls=[]),
    "no tool server": lambda line, _: line.pop("tool_calls"),
    "flat calls": _each_call(_flat),
    "arguments as objects": _each_call(_with_objects),
    "timed messages": _each_message(_timed),
    "named messages": _each_message(_named),
    "token figures": _each_message(_with_token_figures),
    "errors of the server": _seen,
    "calls without answer": _unanswered,
    "reasoning": _each_message(
        lambda m, _: m.update(reasoning_content="thinking") if m["role"] == "assistant" else None
    ),
    "other roles": _each_message(lambda m, _: m.update(role={"system": "developer"}.get(m["role"], m["role"]))),
    "ids as numbers": lambda line, rng: line.update(sample_id=rng.randrange(5), rollout_id=line["attempt"]),
    "times as text": _changed(started_at="2026-01-02T03:04:05.678Z", ended_at="2026-01-02 03:05:00"),
    "times as numbers": _changed(started_at=1_767_000_000, ended_at=1_767_000_010.5),
    "own counts": _changed(output_tokens=5, latency_s=1.5, final_answer="said", context_tokens=7, cost_usd=1),
    "about the sample": _changed(reference="4", cluster_key="c", environment="env", prompt="What is 2 + 2?"),
    "metadata and more": _changed(metadata={"b": 1, "a": "x"}, tags_of_mine=["x"], token_ids=[1, 2], empty=None),
    "scores as a list": _changed(scores=[{"grader": "g", "value": 1, "weight": 0.5}, {"grader": "g", "value": "bad"}]),
    "line separators": _each_message(lambda m, _: m.update(content='a\u2028b\u0000c\\d"e')),
}


@pytest.mark.parametrize("name", PLAIN)
def test_plain_lines_together_say_what_they_say_alone(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "rollouts.jsonl"
    file.write_bytes(b"\n".join(_lines(PLAIN[name])))
    kinds = {type(record) for record in observatory_jsonl.read(Part(file), Options())}
    together, alone = _both(file, tmp_path, monkeypatch)
    assert Rollouts in kinds
    assert Reject not in kinds
    assert together == alone
    assert len(together["rollouts"]) == 120


def _at(number: int, change: Callable[[Line], object]) -> Callable[[Line, random.Random], object]:
    return lambda line, _: change(line) if line["attempt"] == number else None


UNUSUAL: dict[str, Callable[[Line, random.Random], object]] = {
    "unknown role": _at(40, lambda line: line["messages"][0].update(role="robot")),
    "role is a list": _at(39, lambda line: line["messages"][0].update(role=["user"])),
    "no role": _at(41, lambda line: line["messages"][0].pop("role")),
    "message is text": _at(42, lambda line: line["messages"].append("hello")),
    "content in parts": _at(43, lambda line: line["messages"][1].update(content=[{"type": "text", "text": "Hi"}])),
    "reward is text": _at(44, lambda line: line.update(reward="high")),
    "split is unknown": _at(45, lambda line: line.update(split="holdout")),
    "count is negative": _at(46, lambda line: line.update(step=-1)),
    "count is huge": _at(47, lambda line: line.update(output_tokens=2**63)),
    "time is too early": _at(48, lambda line: line.update(started_at=0)),
    "time in milliseconds": _at(49, lambda line: line.update(started_at=1_767_000_000_000)),
    "time is no time": _at(50, lambda line: line.update(started_at="yesterday")),
    "id is empty": _at(51, lambda line: line.update(rollout_id="")),
    "no id": _at(52, lambda line: [line.pop(key) for key in ("rollout_id", "sample_id", "messages")]),
    "user calls": _at(53, lambda line: line["messages"][1].update(tool_calls=[_call(9, "search", "{}")])),
    "call id twice": _at(54, lambda line: line["messages"].extend([_asks("c0"), _asks("c0"), _answers("c0")])),
    "answer first": _at(55, lambda line: line["messages"].insert(0, _answers("c0"))),
    "answered twice": _at(56, lambda line: line["messages"].extend([_asks("x"), _answers("x"), _answers("x")])),
    "answer to nothing": _at(57, lambda line: line["messages"].append(_answers("nobody"))),
    "wrapper": _at(58, lambda line: line["messages"].append(_asks("w", "multi_tool_use.parallel"))),
    "seen alone": _at(59, lambda line: line["tool_calls"].append({"id": "elsewhere", "name": "search"})),
    "other type": _at(60, lambda line: line.update(type="metric")),
    "partial": _at(61, lambda line: line.update(partial=True)),
    "score is a list": _at(62, lambda line: line.update(scores={"a": [1]})),
    "duplicate case": _at(63, lambda line: line.update(Worker=1)),
    "messages are null": _at(64, lambda line: line.update(messages=None)),
    "arguments differ": _at(65, lambda line: line["messages"].append(_asks("o", arguments={"a": 1}))),
    "timed answer": _at(66, lambda line: line["messages"].extend([_asks("t"), _answers("t") | {"latency_s": 2}])),
    "a call is null": _at(67, lambda line: line["messages"].append(_asks("n") | {"tool_calls": [None]})),
    "nothing but null calls": lambda line, _: line.update(
        messages=[*line["messages"][:2], {"role": "assistant", "content": "", "tool_calls": [None]}], tool_calls=[]
    ),
    "nothing but null seen": lambda line, _: line.update(messages=line["messages"][:2], tool_calls=[None]),
    "an unknown field is null": _at(68, lambda line: line["messages"][0].update(colour=None)),
    "counts no float holds": _each_message(lambda m, _: m.update(output_tokens=2**53 + 1, input_tokens=2**62)),
    "centuries between times": lambda line, _: line.update(
        tool_calls=[{**call, "started_at": "0001-01-01", "ended_at": 90_000_000_000.1} for call in line["tool_calls"]]
    ),
    "every other line": lambda line, _: line.update(reward="bad") if line["attempt"] % 2 else None,
}


def _asks(call_id: str, name: str = "search", arguments: Any = "{}") -> Line:
    call = {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
    return {"role": "assistant", "content": "", "tool_calls": [call]}


def _answers(call_id: str) -> Line:
    return {"role": "tool", "tool_call_id": call_id, "content": "found"}


@pytest.mark.parametrize("name", UNUSUAL)
def test_an_unusual_line_among_plain_ones_is_read_as_if_alone(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "rollouts.jsonl"
    file.write_bytes(b"\n".join(_lines(UNUSUAL[name])))
    together, alone = _both(file, tmp_path, monkeypatch)
    assert together == alone


BROKEN = {
    "half a line": b'{"rollout_id": "half", "messages": [',
    "no object": b"[1, 2]",
    "not UTF-8": b'{"rollout_id": "\xff\xfe", "reward": 1}',
    "lone surrogate": b'{"rollout_id": "x", "reward": 1, "final_answer": "\\ud800"}',
    "not a number": b'{"rollout_id": "nan", "reward": NaN}',
    "infinite": b'{"rollout_id": "inf", "reward": 1e400, "scores": {"a": -Infinity}}',
    "beyond any reward": b'{"rollout_id": "huge", "reward": -1e308}',
    "not a number, kept": b'{"rollout_id": "kept", "reward": 1, "mine": [NaN, {"a": Infinity}]}',
    "blank": b" \t\r",
    "a long blank": b" " * 100,
    "nested deeply": b'{"rollout_id": "deep", "reward": 1, "x": ' + b"[" * 3_000 + b"]" * 3_000 + b"}",
    "nothing": b"{}",
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_line_among_plain_ones_is_read_as_if_alone(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = _lines()
    file = tmp_path / "rollouts.jsonl"
    file.write_bytes(b"\xef\xbb\xbf" + b"\r\n".join([*lines[:50], BROKEN[name], *lines[50:]]))
    together, alone = _both(file, tmp_path, monkeypatch)
    assert together == alone


@pytest.mark.parametrize("num_lines", [1, 200])
def test_a_number_beyond_any_reward_is_no_score(
    num_lines: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "rollouts.jsonl"
    file.write_bytes(b"\n".join(b'{"rollout_id": "%d", "reward": %s}' % (n, b"1e308") for n in range(num_lines)))
    for staged in _both(file, tmp_path, monkeypatch):
        assert {row["reward"] for row in staged["rollouts"]} == {None}


def test_lines_before_a_damage_are_kept(tmp_path: Path) -> None:
    file = tmp_path / "rollouts.jsonl.gz"
    file.write_bytes(gzip.compress(b"\n".join(_lines()))[:-2_000])
    records = observatory_jsonl.read(Part(file), Options())
    first = next(iter(records))
    assert isinstance(first, Rollouts)
    assert len(first.runs) > 20
    with pytest.raises(UnreadableError, match="what came before it was kept"):
        list(records)


def test_columns_the_contract_lacks_are_refused(tmp_path: Path) -> None:
    writer = TableWriter(table("scores"), ArrowFile(table("scores"), tmp_path / "scores.arrow"))
    with pytest.raises(KeyError, match="scores has no column colour"):
        writer.write({"colour": ["red"]}, 1)
