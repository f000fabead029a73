"""Judges from its structure whether a line of the neutral format is plain, and says as what its fields are read.

A structure is what DuckDB's `json_structure` says of a line: the types of all its fields. Most lines of a file share
one. It knows no values: those are checked by `ingest.neutral_columns`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import orjson

from ingest import neutral_fields as fields
from ingest.neutral_fields import Fields
from ingest.neutral_lines import BULKY

Types = dict[str, str]
"""Type to read a field as, by field."""

_NUMBERS = {"DOUBLE": "DOUBLE", "UBIGINT": "DOUBLE", "BIGINT": "DOUBLE"}
_TEXT = {"VARCHAR": "VARCHAR"}
_READ_AS: dict[str, Types] = {
    "text": _TEXT,
    "word": _TEXT,
    "id": _TEXT | {"UBIGINT": "VARCHAR", "BIGINT": "VARCHAR"},
    "count": {"UBIGINT": "UBIGINT"},
    "number": _NUMBERS,
    "flag": {"BOOLEAN": "BOOLEAN"},
    "time": _NUMBERS | _TEXT,
}
"""By kind of field: the type to read it as for each type it may have been written as."""
_SEEN = frozenset({"id", "name", "output", "error", "started_at", "ended_at", "latency_s"})
"""Fields of what a tool server saw of a call that the messages hold already."""
_TIMED = frozenset({"partial", "time"})


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """As what the fields of a plain line are read. `messages` is None where the line has none."""

    line: Types
    messages: Types | None
    calls: Types
    seen: Types
    extras: tuple[str, ...] = ()
    """Fields without a column."""
    bulky: tuple[str, ...] = ()
    """Fields whose lists are not kept."""
    spec: str = ""
    """The same in the words of DuckDB's `from_json`."""


@lru_cache(maxsize=4096)
def shape_of(structure: str) -> Shape | None:
    """The shape of a line; None if it is not plain."""
    try:
        found = orjson.loads(structure)
    except orjson.JSONDecodeError:  # nested too deeply
        return None
    if not isinstance(found, dict) or not found.keys().isdisjoint(_TIMED):
        return None
    try:
        return _shape({name: of for name, of in found.items() if name not in fields.ROLLOUT or of != "NULL"})
    except _NotPlainError:
        return None


class _NotPlainError(Exception):
    pass


def _shape(found: dict[str, Any]) -> Shape:
    if found.keys().isdisjoint(("rollout_id", "sample_id", "messages")):
        raise _NotPlainError
    messages, seen = found.pop("messages", None), found.pop("tool_calls", None)
    extras = [name for name in found if name not in fields.ROLLOUT]
    bulky = tuple(name for name in extras if isinstance(found[name], list) and BULKY.fullmatch(name))
    line = {name: "JSON" for name in (*extras, "metadata", "scores") if name in found and name not in bulky}
    known = {name: of for name, of in found.items() if name in fields.ROLLOUT and name not in line}
    line |= {name: _read_as("text", known.pop(name)) for name in ("type", "prompt") if name in known}
    line |= _read(fields.ROLLOUT, known)
    if messages is None:
        if seen is not None:
            raise _NotPlainError
        return Shape(line, None, {}, {}, tuple(extras), bulky)
    said = _entries(messages, fields.MESSAGE)
    calls = _calls(said.pop("tool_calls", "NULL"))
    if "role" not in said:
        raise _NotPlainError
    other = {name: of for name, of in said.items() if name != "content"}
    content = {"content": _read_as("text", said["content"])} if "content" in said else {}
    return Shape(
        line, _read(fields.MESSAGE, other) | content, calls, {} if seen is None else _seen(seen), tuple(extras), bulky
    )


def _entries(structure: Any, known: Fields | None = None) -> dict[str, Any]:
    """Types of the fields of a list's objects, those left out that are null everywhere; all must be known."""
    if not isinstance(structure, list) or not isinstance(structure[0], dict):
        raise _NotPlainError
    if known is not None and not structure[0].keys() <= known.keys():
        raise _NotPlainError
    return {name: of for name, of in structure[0].items() if of != "NULL"}


def _read(known: Fields, found: Mapping[str, Any]) -> Types:
    return {name: _read_as(fields.kind(known, name), of) for name, of in found.items()}


def _read_as(kind: str, written: Any) -> str:
    read = _READ_AS.get(kind, {}).get(written) if isinstance(written, str) else None
    if read is None:
        raise _NotPlainError
    return read


def _calls(structure: Any) -> Types:
    """Types of the calls in messages: `name` and `arguments`, and whether they stand within `function`."""
    if structure in ("NULL", ["NULL"]):
        return {}
    found = _entries(structure)
    function = found.get("function", found)
    if not isinstance(function, dict) or found.get("id") != "VARCHAR" or function.get("name") != "VARCHAR":
        raise _NotPlainError
    arguments = function.get("arguments", "VARCHAR")
    if arguments != "VARCHAR" and not isinstance(arguments, dict):
        raise _NotPlainError
    types = {"id": "VARCHAR", "name": "VARCHAR", "arguments": "VARCHAR" if arguments == "VARCHAR" else "JSON"}
    return types | ({"function": "STRUCT"} if "function" in found else {})


def _seen(structure: Any) -> Types:
    if structure == ["NULL"]:  # an empty list, or one with null in it
        return {"id": "VARCHAR"}
    found = _entries(structure, fields.CALL)
    if "id" not in found or not found.keys() <= _SEEN:
        raise _NotPlainError
    return _read(fields.CALL, found)


def together(shapes: Iterable[Shape]) -> Shape | None:
    """The shape that lines of several shapes have in common; None where they write one field in different ways."""
    line, messages, calls, seen = Types(), Types(), Types(), Types()
    extras: dict[str, None] = {}
    has_messages = set()
    for each in shapes:
        has_messages.add(each.messages is not None)
        for into, types in ((line, each.line), (messages, each.messages or {}), (calls, each.calls), (seen, each.seen)):
            if any(into.get(name, of) != of for name, of in types.items()):
                return None
            if into is calls and into and types and into.keys() != types.keys():
                return None
            into |= types
        extras |= dict.fromkeys(each.extras)
    if len(has_messages) != 1:
        return None
    spec: dict[str, Any] = dict(line)
    if True in has_messages:
        inner = {name: calls[name] for name in ("name", "arguments") if calls}
        call = {"id": "VARCHAR"} | ({"function": inner} if "function" in calls else inner)
        spec["messages"] = [messages | {"tool_calls": [call]}]
    if seen:
        spec["tool_calls"] = [seen]
    return Shape(line, messages if True in has_messages else None, calls, seen, tuple(extras), (), _spec(spec))


def _spec(types: dict[str, Any]) -> str:
    return orjson.dumps(types).decode()
