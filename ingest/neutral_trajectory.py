"""Builds the messages, tool calls and scores of a rollout line of the neutral format.

This is the path most rollouts take, so it builds rows directly; how answers are paired with calls is the same as in
`ingest.dialects` (a test compares the two). It knows no file and no store.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

import orjson

from ingest.dialects import PARALLEL_WRAPPER, inferred_error, reasoning_text, tool_name, wrapped_calls
from ingest.neutral_fields import CALL, MESSAGE, SCORE, FieldError, Values, take_nth
from ingest.reading import dump_json, number, text
from ingest.regrades import named_apart
from ingest.token_streams import STREAMS, stream_summary

ROLES = {"developer": "system", "function": "tool"}
"""Roles that other writers use, by ours."""
_PLAIN_ROLES = {"system": "", "user": "", "assistant": "tool_calls", "tool": "tool_call_id"}
"""What a plain message of the role may hold beside its text."""
_tool_name = lru_cache(maxsize=4096)(tool_name)


class Trajectory:
    """The rows of one rollout. Fields without a column are named in `unknown` and not kept."""

    def __init__(self) -> None:
        self.messages: list[Values] = []
        self.tool_calls: list[Values] = []
        self.unknown: set[str] = set()
        self._turn = -1
        self._open: list[Values] = []

    def read(self, messages: Iterable[Any]) -> None:
        """Append Chat Completions messages.

        Raises:
            FieldError: One of them breaks a rule of the format.
        """
        for index, message in enumerate(messages):
            row = self._message(message, index)
            role = row["role"]
            if role == "assistant":
                self._turn += 1
            if self._turn >= 0:
                row["turn"] = self._turn
            self.messages.append(row)
            calls = row.pop("tool_calls", None)
            if role == "tool":
                self._answer(row)
            elif "tool" in row or "error" in row or "error_kind" in row:
                _unlike_tool(row)
            for call in calls or ():
                self._request(call, row)

    def _message(self, message: Any, index: int) -> Values:
        if message.__class__ is not dict:
            raise FieldError(f"messages[{index}]", "an object", message)
        role, content, size = message.get("role"), message.get("content"), len(message)
        extra = _PLAIN_ROLES.get(role) if isinstance(role, str) else None
        if extra is not None and content.__class__ is str:  # most messages are as plain as this
            row: Values = {"message_index": index, "role": role, "text": content}
            if size == 2:
                return row
            third = message.get(extra)
            if size == 3 and third and third.__class__ is (str if role == "tool" else list):
                row[extra] = third
                return row
        row = take_nth(MESSAGE, "messages", index, message, self.unknown)
        if "role" not in row:
            raise FieldError(f"messages[{index}].role", "given", None)
        row["message_index"] = index
        row["role"] = ROLES.get(row["role"], row["role"])
        if content.__class__ is list and "reasoning_text" not in row:
            row["reasoning_text"] = reasoning_text(message)
        streams: Values = {name: row.pop(name) for name in STREAMS if name in row}
        return row if not streams else {**stream_summary(streams), **row}

    def _request(self, call: Any, message: Values) -> None:
        where = f"messages[{message['message_index']}].tool_calls"
        function = call.get("function", call) if call.__class__ is dict else None
        if function.__class__ is not dict:
            raise FieldError(where, "a list of objects with `function` or `name`", call)
        name, arguments, call_id = function.get("name"), function.get("arguments"), call.get("id")
        if not isinstance(name, str):
            raise FieldError(f"{where}[].name", "text", name)
        if call_id is not None and (call_id.__class__ is not str or not call_id):
            call_id = CALL["id"][1](f"{where}[].id", call_id)
        inner = wrapped_calls(arguments) if name.startswith(PARALLEL_WRAPPER) else ()
        wrapper = f"w{len(self.tool_calls)}" if inner else None
        for each_name, each_arguments in inner or ((name, arguments),):
            row = self.add(each_name, each_arguments)
            row["turn"] = max(self._turn, 0)
            row["message_index"] = message["message_index"]
            row["tool_call_id"] = call_id
            if wrapper:
                row["wrapper_id"] = wrapper
            if message["role"] != "assistant":
                row["requestor"] = "user"
            self._open.append(row)

    def add(self, name: str, arguments: Any) -> Values:
        """Append a call that nothing has answered yet."""
        row: Values = {
            "call_index": len(self.tool_calls),
            "requestor": "agent",
            "tool": _tool_name(name),
            "tool_raw": name,
            "arguments_raw": arguments,
            "status": "no_result",
            "parse_source": "structured",
        }
        if arguments.__class__ is not str and arguments is not None:
            row["arguments_raw"] = row["arguments"] = _canonical(arguments)
        self.tool_calls.append(row)
        return row

    def _answer(self, message: Values) -> None:
        call_id = message.get("tool_call_id")
        rows = self._take(call_id)
        if not rows:
            orphan = self.add(message.get("tool") or "unknown", None)
            orphan |= {"status": "orphan", "tool_call_id": call_id, "turn": max(self._turn, 0)}
            rows = [orphan]
        if "tool" not in message:
            message["tool"] = rows[0]["tool"]
        flagged, kind = message.pop("error", None), message.pop("error_kind", None)
        for row in rows:
            row["result_index"] = message["message_index"]
            row["output_text"] = message.get("text")
            row["is_error_flagged"], row["error_kind"] = flagged, kind
            if row["status"] == "no_result":
                row["status"] = "ok"
        if len(message) > 6:
            _time(rows[0], message)

    def _take(self, call_id: str | None) -> list[Values]:
        """The calls an answer belongs to: the latest open one of its id, else the first open one without an id."""
        waiting = self._open
        if len(waiting) == 1 and waiting[0]["tool_call_id"] == call_id:
            self._open = []
            return waiting
        chosen = None
        if call_id is not None:
            chosen = next((row for row in reversed(waiting) if row["tool_call_id"] == call_id), None)
            if chosen is None:
                chosen = next((row for row in waiting if row["tool_call_id"] is None), None)
        elif waiting:
            chosen = waiting[0]
        if chosen is None:
            return []
        wrapper = chosen.get("wrapper_id")
        taken = [row for row in waiting if row is chosen or (wrapper and row.get("wrapper_id") == wrapper)]
        self._open = [row for row in waiting if not any(row is each for each in taken)]
        return taken

    def enrich(self, calls: Iterable[Any]) -> None:
        """Add what a tool server saw: to the call of the same id (the nth to the nth of it), else as a call of its own.

        Raises:
            FieldError: One of them breaks a rule of the format.
        """
        by_id: dict[str, list[Values]] = {}
        for row in self.tool_calls:
            if row.get("tool_call_id") is not None:
                by_id.setdefault(row["tool_call_id"], []).append(row)
        is_alone = False
        for index, call in enumerate(calls):
            seen = take_nth(CALL, "tool_calls", index, call, self.unknown)
            if "id" not in call and "name" not in call:
                raise FieldError(f"tool_calls[{index}]", "an object with `id` or `name`", call)
            same = by_id.get(seen.get("tool_call_id", ""))
            if same:
                row = same.pop(0)
                seen.pop("turn", None)
            else:
                row, is_alone = self.add(seen.get("tool_raw") or "unknown", seen.get("arguments")), True
            _merge(row, seen)
        if is_alone:
            self._sort()

    def _sort(self) -> None:
        """Order calls by turn, those that say none last, and number them again."""
        self.tool_calls.sort(key=lambda row: (row.get("turn") is None, row.get("turn") or 0))
        for index, row in enumerate(self.tool_calls):
            row["call_index"] = index

    def conclude(self) -> None:
        """Say of every answered call whether it failed: as the source says, else by the text of the answer."""
        for row in self.tool_calls:
            if row["status"] == "no_result":
                continue
            flagged, kind = row.get("is_error_flagged"), row.get("error_kind")
            if flagged is None:
                inferred = inferred_error(row.get("output_text"))
                row["is_error_inferred"] = inferred is not None
                kind = (kind or inferred) if inferred else None
            else:
                kind = (kind or "error") if flagged else None
            row["error_kind"] = kind
            if kind and row["status"] == "ok":
                row["status"] = "error"


def _unlike_tool(row: Values) -> None:
    """Drop what only a tool's message may say; the name of another's is who wrote it."""
    row.pop("error", None)
    row.pop("error_kind", None)
    if "tool" in row:
        row.setdefault("agent", row.pop("tool"))


def _canonical(arguments: Any) -> str | None:
    try:
        return orjson.dumps(arguments, option=orjson.OPT_SORT_KEYS).decode()
    except TypeError:
        return dump_json(arguments)


def _merge(row: Values, seen: Values) -> None:
    """Complete a call with what the tool server saw; the arguments and the answer that the messages hold stay."""
    _time(row, seen)
    arguments, output = seen.pop("arguments", None), seen.pop("output_text", None)
    if arguments is not None and row["arguments_raw"] is None:
        row["arguments_raw"] = arguments if isinstance(arguments, str) else _canonical(arguments)
    if row.get("output_text") is not None:
        output = row["output_text"]
    seen.pop("tool_raw", None)
    for name in ("started_at", "ended_at", "latency_s"):
        seen.pop(name, None)
    if "exit_code" in seen and "is_error_flagged" not in seen:
        seen["is_error_flagged"] = seen["exit_code"] != 0
        seen.setdefault("error_kind", "nonzero_exit")
    row |= seen
    row["output_text"] = output
    if row["status"] == "no_result" and (
        output is not None or "is_error_flagged" in seen or "ended_at" in row or "latency_s" in row
    ):
        row["status"] = "ok"


def _time(row: Values, timed: Values) -> None:
    """Take over times: a stated latency is `reported`, one between a start and an end is a `span`."""
    start, end, latency = timed.get("started_at"), timed.get("ended_at"), timed.get("latency_s")
    if start is not None:
        row["started_at"] = start
    if end is not None:
        row["ended_at"] = end
    if latency is not None:
        row["latency_s"], row["latency_source"] = latency, "reported"
    elif start is not None and end is not None and end >= start:
        row["latency_s"], row["latency_source"] = (end - start).total_seconds(), "span"


def scores(given: Any, unknown: set[str], version: str | None = None, earlier: Sequence[Values] = ()) -> list[Values]:
    """Rows of `scores` from a list of objects or from {grader: value}; a grader named twice has graded again.

    `version`: that of the grader the reward came from; `earlier`: what was read before (see `ingest.regrades`).

    Raises:
        FieldError: One of them breaks a rule of the format.
    """
    rows: list[Values] = []
    entries = given if isinstance(given, list) else [{"grader": key, "value": value} for key, value in given.items()]
    for index, entry in enumerate(entries):
        row = take_nth(SCORE, "scores", index, entry, unknown)
        if "grader" not in row:
            raise FieldError(f"scores[{index}].grader", "given", None)
        value = row.pop("value", None)
        if isinstance(value, str):
            row["text_value"] = text(value)
        else:
            row["value"] = number(value)
        if isinstance(value, bool):
            row.setdefault("passed", value)
        rows.append(row)
    return named_apart(rows, version, earlier)
