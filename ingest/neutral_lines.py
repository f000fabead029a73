"""Turns lines of the neutral format into records: whole rollouts, pieces of rollouts, rows about the run.

One function a line type, in `LINES`; `joined` builds a rollout from its pieces by writing them out as one whole line
and reading that. It reads no file.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from hashlib import sha1
from typing import Any

from ingest import neutral_fields as fields
from ingest.neutral_fields import FieldError, Fields, Values, take
from ingest.neutral_trajectory import Trajectory, scores
from ingest.reading import dump_json, number, timestamp
from ingest.sources.base import Fragment, Record, Rollout, Row

BULKY = re.compile(r"(?:\w+_)?(?:(?:token|prompt|completion|response|input|output)_ids|logprobs|mask|routed_experts)")
"""Extra keys whose lists are dropped, not kept in `metadata`: per-token arrays are most of a file's bytes."""


class Place:
    """Where a line stands, and what has been seen on the way there."""

    __slots__ = ("file", "position", "samples", "told", "unknown")

    def __init__(self, file: str) -> None:
        self.file = file
        self.position = 0
        self.samples: set[tuple[str | None, str | None, str]] = set()
        """Samples (run, environment, id) whose prompt has been taken from messages."""
        self.told: set[tuple[str | None, str | None, str]] = set()
        """Samples of which something has been said."""
        self.unknown: set[str] = set()
        """Fields that had no column."""


def _rollout(line: Values, place: Place) -> list[Record]:
    if "rollout_id" not in line and "sample_id" not in line and "messages" not in line:
        raise FieldError("a rollout's rollout_id, sample_id or messages", "given", None)
    extras: Values = {}
    values = take(fields.ROLLOUT, line, extras)
    run = values.pop("run", None)
    values.pop("type", None)
    moment = values.pop("time", None) or _moment(values)
    messages, calls, given = values.pop("messages", None), values.pop("tool_calls", None), values.pop("scores", None)
    if values.pop("partial", False):
        if "native_id" not in values:
            raise FieldError("rollout_id", "given where `partial` is true", None)
        _trajectory(messages, calls, place)
        scores(given or [], place.unknown)
        _prompt(values.get("prompt"))
        return [Fragment(values["native_id"], line, place.position, moment, run)]
    talk = _trajectory(messages, calls, place)
    sample = sample_of(values, run, messages, place)
    rows = scores(given, place.unknown, values.get("grader_version")) if given else []
    values["metadata"] = metadata_of(values.pop("metadata", None), extras, place)
    values["position"] = place.position
    values["raw_ref"] = f"{place.file}@{place.position}"
    if "sample_id" in values:
        values["sample_id_source"] = "native"
    return [Rollout(values, None if messages is None else talk.messages, talk.tool_calls, rows, sample, run)]


def _trajectory(messages: Any, calls: Any, place: Place) -> Trajectory:
    talk = Trajectory()
    if messages:
        talk.read(messages)
    if calls:
        talk.enrich(calls)
    talk.conclude()
    if talk.unknown:
        place.unknown |= talk.unknown
    return talk


def sample_of(values: Values, run: str | None, messages: Any, place: Place) -> Values | None:
    """What a rollout line says of its sample; a prompt that is not given is taken from the messages, once a sample."""
    sample = {name: values.pop(name) for name in fields.SAMPLE_COLUMNS if name in values}
    prompt, sample_id = values.pop("prompt", None), values.get("sample_id")
    key = None if sample_id is None else (run, values.get("environment"), sample_id)
    if prompt is None and messages and key is not None and key not in place.samples:
        prompt = []
        for message in messages:
            if message["role"] == "assistant":
                break
            prompt.append(message)
    if key is not None:
        place.samples.add(key)
    return sample | _prompt(prompt) if sample or prompt else None


def _prompt(prompt: Any) -> Values:
    if not prompt:
        return {}
    talk = Trajectory()
    talk.read(prompt if isinstance(prompt, list) else [{"role": "user", "content": prompt}])
    said = [[row["role"], row.get("text")] for row in talk.messages]
    full = "\n\n".join(f"{role}: {content or ''}" for role, content in said)
    data = (dump_json(said) or "").encode("utf-8", "replace")
    return {
        "prompt_text": prompt if isinstance(prompt, str) else full,
        "prompt_hash": sha1(data, usedforsecurity=False).hexdigest()[:16],
    }


def metadata_of(given: Any, extras: Values, place: Place) -> str | None:
    """A JSON column: what the line gives for it, and the keys that have no column."""
    bulky = {key for key, value in extras.items() if isinstance(value, list) and BULKY.fullmatch(key)}
    if bulky:
        place.unknown |= bulky
        extras = {key: value for key, value in extras.items() if key not in bulky}
    if extras and given is not None:
        return dump_json((given if isinstance(given, dict) else {"metadata": given}) | extras)
    return dump_json(extras or given)


def _moment(values: Values) -> Any:
    return values.get("ended_at") or values.get("started_at")


def _piece(known: Fields, required: str | None) -> Callable[[Values, Place], list[Record]]:
    """A builder for lines that are pieces of a rollout: checked here, kept as written, joined later."""

    def build(line: Values, place: Place) -> list[Record]:
        values = take(known, line, {})
        for name in ("rollout_id", required):
            if name is not None and name not in values:
                raise FieldError(name, "given", None)
        _check_piece(line, place)
        moment = values.get("time") or _moment(values)
        return [Fragment(values["rollout_id"], line, place.position, moment, values.get("run"))]

    return build


def _check_piece(line: Values, place: Place) -> None:
    talk, kind = Trajectory(), line["type"]
    body = {key: value for key, value in line.items() if key not in _ENVELOPE}
    if kind == "message":
        talk.read([body])
    elif kind == "tool_call":
        talk.enrich([body])
    else:
        scores([body], talk.unknown)
    place.unknown |= talk.unknown


_ENVELOPE = frozenset({"type", "run", "rollout_id", "time", "index"})


def _row(name: str, known: Fields, extras_into: str, line: Values, place: Place) -> Row:
    """One row of a table; keys that have no column go into a JSON column of it."""
    extras: Values = {}
    values = take(known, line, extras)
    run = values.pop("run", None)
    values.pop("type", None)
    values[extras_into] = metadata_of(values.pop(extras_into, None), extras, place)
    return Row(name, values, run)


def _run(line: Values, place: Place) -> list[Record]:
    row = _row("runs", fields.RUN, "config", line, place)
    name = row.values.pop("name", None)
    row.values = {key: value for key, value in row.values.items() if value is not None}
    row.run = row.run or name
    return [row]


def _sample_line(line: Values, place: Place) -> list[Record]:
    row = _row("samples", fields.SAMPLE, "metadata", line, place)
    if "sample_id" not in row.values:
        raise FieldError("sample_id", "given", None)
    row.values |= _prompt(row.values.pop("prompt", None))
    return [row]


def _checkpoint(line: Values, place: Place) -> list[Record]:
    if "step" not in line:
        raise FieldError("step", "given", None)
    return [_row("checkpoints", fields.CHECKPOINT, "metrics", line, place)]


def _event(line: Values, place: Place) -> list[Record]:
    row = _row("events", fields.EVENT, "data", line, place)
    row.values.setdefault("event_id", f"{place.file}@{place.position}")
    row.values["type"] = row.values.pop("event_type", None)
    return [row]


def _metric(line: Values, place: Place) -> list[Record]:
    """One row a number; other leaves of `metrics` and extra keys become labels."""
    for key in ("name", "metrics"):
        if key in line and line[key] is None:
            raise FieldError(key, "given", None)
    if "metrics" not in line and not ("name" in line and "value" in line):
        raise FieldError("a metric's `name` and `value`, or `metrics`,", "given", None)
    extras: Values = {}
    values = take(fields.METRIC, line, extras)
    run = values.pop("run", None)
    values.pop("type", None)
    many = values.pop("metrics", {})
    name, value, labels = values.pop("name", None), values.pop("value", None), values.pop("labels", None)
    leaves: dict[str, float | None] = {}
    _flatten(many, "", leaves, extras)
    if name is not None and "value" in line:
        leaves[name] = value
    values["labels"] = metadata_of(labels, extras, place)
    return [
        Row("metrics", {**values, "name": each, "value": leaf, "position": place.position}, run)
        for each, leaf in leaves.items()
    ]


def _flatten(value: Values, prefix: str, leaves: dict[str, float | None], others: Values) -> None:
    for key, each in value.items():
        name = f"{prefix}{key}"
        if isinstance(each, dict):
            _flatten(each, f"{name}/", leaves, others)
        elif each is None or isinstance(each, bool | int | float):
            leaves[name] = number(each)
        else:
            others[name] = each


LINES: dict[str, Callable[[Values, Place], list[Record]]] = {
    "rollout": _rollout,
    "message": _piece(fields.MESSAGE_LINE, "role"),
    "tool_call": _piece(fields.CALL_LINE, None),
    "score": _piece(fields.SCORE_LINE, "grader"),
    "run": _run,
    "sample": _sample_line,
    "metric": _metric,
    "checkpoint": _checkpoint,
    "event": _event,
}
"""Builders by line type."""


def records(line: Values, place: Place) -> list[Record]:
    """The records of one line.

    Raises:
        FieldError: The line breaks a rule of the format.
    """
    kind = line.get("type", "rollout")
    build = LINES.get(kind) if isinstance(kind, str) else None
    if build is None:
        raise FieldError("type", "one of " + ", ".join(LINES), kind)
    return build(line, place)


def joined(key: str, pieces: Sequence[Fragment], place: Place) -> list[Record]:
    """The rollout that pieces make up; among themselves they come in order of time, then as they were written.

    Raises:
        FieldError: Together they break a rule of the format.
    """
    whole: Values = {}
    messages: list[tuple[Any, Values]] = []
    calls: list[Values] = []
    given: list[Values] = []
    for piece in _in_time(pieces):
        line, kind, body = piece.payload, piece.payload.get("type", "rollout"), _body(piece)
        if kind == "message":
            messages.append((line.get("index"), body))
        elif kind == "tool_call":
            calls.append(body)
        elif kind == "score":
            given.append(body)
        else:
            messages += [(None, each) for each in body.pop("messages", ())]
            calls += body.pop("tool_calls", ())
            more = body.pop("scores", [])
            given += (
                more if isinstance(more, list) else [{"grader": name, "value": each} for name, each in more.items()]
            )
            earlier = whole.get("metadata")
            whole |= body
            if isinstance(earlier, dict) and isinstance(whole.get("metadata"), dict):
                whole["metadata"] = earlier | whole["metadata"]
    if messages and all(index is not None for index, _ in messages):
        messages.sort(key=lambda each: each[0])
    whole |= _span(whole, pieces) | {"partial": False, "rollout_id": key, "tool_calls": calls, "scores": given}
    if messages:
        whole["messages"] = [message for _, message in messages]
    place.position = min(piece.position for piece in pieces)
    found = _rollout(whole, place)
    for record in found:
        if isinstance(record, Rollout):
            record.values["raw_ref"] = f"parts:{key}"
    return found


def score_lines(pieces: Iterable[Fragment]) -> list[Values]:
    """What lines of scores say, in the same order as `joined` takes pieces."""
    return [_body(each) for each in _in_time(pieces)]


def _in_time(pieces: Iterable[Fragment]) -> list[Fragment]:
    return sorted(pieces, key=lambda each: (each.time is None, each.time.timestamp() if each.time else 0.0))


def _body(piece: Fragment) -> Values:
    return {name: value for name, value in piece.payload.items() if name not in _ENVELOPE and value is not None}


def _span(whole: Values, pieces: Sequence[Fragment]) -> Values:
    """First and last time of what was acted (not graded), where no line states the rollout's start and end."""
    times = [each.time for each in pieces if each.time is not None and each.payload.get("type") != "score"]
    if len(times) < 2 or "started_at" in whole or "ended_at" in whole:
        return {}
    starts = [timestamp(each.payload.get("started_at")) for each in pieces]
    return {
        "started_at": min([*times, *(start for start in starts if start)]).isoformat(),
        "ended_at": max(times).isoformat(),
    }
