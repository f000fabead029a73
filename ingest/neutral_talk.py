"""Messages and tool calls of many plain rollout lines of the neutral format, by column.

The rules are those of `ingest.neutral_trajectory`, which reads the lines that are not plain; a test holds the two
against each other.
"""

from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from ingest import neutral_fields as fields
from ingest.arrays import TIME, Flags, Ints, coalesced, codes, constant, flags, is_known, mapped, micros, nullable
from ingest.dialects import PARALLEL_WRAPPER, inferred_error, tool_name
from ingest.neutral_shapes import Shape, Types
from ingest.neutral_trajectory import ROLES
from ingest.neutral_values import columns, ensure
from ingest.reading import dump_json
from ingest.sources.base import Children

_TEXT = pa.string()
_SUSPECT = "error|exception|timeout|traceback"
"""Whatever `inferred_error` finds has one of these words."""
_TIMES = ("started_at", "ended_at", "latency_s")


def messages_and_calls(lines: pa.StructArray, shape: Shape) -> tuple[Children | None, Children]:
    """Rows of `messages` (None where the lines have none) and of `tool_calls`.

    Raises:
        Unusual: A value is not plain.
    """
    if shape.messages is None:
        return None, Children(np.zeros(0, np.int64), {})
    talk = _Talk(lines.field("messages"), shape.messages)
    calls = _Calls(talk, shape.calls)
    calls.answer(talk)
    if shape.seen:
        calls.enrich(lines.field("tool_calls"), shape.seen)
    calls.conclude()
    return talk.children(), Children(calls.of, calls.columns)


def _entries(lists: pa.ListArray) -> tuple[Ints, pa.StructArray]:
    """All entries of lists beside one another, with the number of the list that each is from."""
    sizes = pc.list_value_length(lists).fill_null(0).to_numpy(zero_copy_only=False)
    entries = lists.flatten()
    ensure(entries.null_count == 0)
    return np.repeat(np.arange(len(lists)), sizes), entries


def _within(of: Ints) -> Ints:
    """The place of each row among those of its list."""
    found: Ints = np.arange(len(of)) - np.searchsorted(of, of)
    return found


class _Talk:
    """Messages, beside one another."""

    def __init__(self, lists: pa.ListArray, types: Types) -> None:
        ensure(lists.null_count == 0)
        self.of, self.entries = _entries(lists)
        self.index = _within(self.of)
        self.columns = columns(self.entries, types, fields.MESSAGE)
        roles = self.columns["role"]
        ensure(roles.null_count == 0)
        self.columns["role"] = mapped(
            roles, {each: ROLES.get(each, each) for each in roles.unique().to_pylist()}, _TEXT
        )
        self.is_assistant = flags(pc.equal(self.columns["role"], "assistant"))
        self.is_tool = flags(pc.equal(self.columns["role"], "tool"))
        ensure(not any(is_known(self.columns[name])[self.is_tool].any() for name in _TIMES if name in self.columns))
        turns = np.cumsum(self.is_assistant)
        before = np.concatenate([[0], turns])[np.searchsorted(self.of, self.of)]
        self.turns: Ints = turns - before - 1
        self.errors = {name: self.columns.pop(name, None) for name in ("error", "error_kind")}
        self._names()

    def _names(self) -> None:
        """A tool message's name is its tool, another's who wrote it."""
        names = self.columns.pop("tool", None)
        if names is not None:
            is_tool = pa.array(self.is_tool)
            self.columns["tool"] = pc.if_else(is_tool, names, pa.scalar(None, _TEXT))
            self.columns["agent"] = coalesced(
                self.columns.get("agent"), pc.if_else(is_tool, pa.scalar(None, _TEXT), names)
            )

    def children(self) -> Children:
        own = {"message_index": pa.array(self.index), "turn": nullable(self.turns, self.turns < 0)}
        return Children(self.of, self.columns | own)


class _Calls:
    """Tool calls in the order in which they were requested, every one with an id of its own in its rollout."""

    def __init__(self, talk: _Talk, types: Types) -> None:
        self.talk = talk
        self.asked, entries = _entries(talk.entries.field("tool_calls"))
        ensure(bool(talk.is_assistant[self.asked].all()))
        self.size, self.of = len(self.asked), talk.of[self.asked]
        self.ids = names = arguments = entries.field("id")
        if types:
            functions = entries.field("function") if "function" in types else entries
            names, arguments = functions.field("name"), functions.field("arguments")
        ensure(self.ids.null_count == 0 and names.null_count == 0)
        tools = {name: tool_name(name) for name in names.unique().to_pylist()}
        ensure(not any(name.startswith(PARALLEL_WRAPPER) for name in tools))
        self.columns: dict[str, Any] = {
            "call_index": pa.array(_within(self.of)),
            "turn": pa.array(talk.turns[self.asked]),
            "message_index": pa.array(talk.index[self.asked]),
            "tool_call_id": self.ids,
            "requestor": constant("agent", self.size, _TEXT),
            "tool": mapped(names, tools, _TEXT),
            "tool_raw": names,
            "parse_source": constant("structured", self.size, _TEXT),
            "arguments_raw": arguments,
        }
        if types.get("arguments") == "JSON":
            said = [None if each is None else dump_json(orjson.loads(each)) for each in arguments.to_pylist()]
            self.columns["arguments_raw"] = self.columns["arguments"] = pa.array(said, _TEXT)
        none = np.zeros(self.size, np.bool_)
        self.is_answered: Flags = none
        self.is_seen: Flags = none
        self.flags = pa.nulls(self.size, pa.bool_())
        self.kinds = pa.nulls(self.size, _TEXT)
        self.outputs = pa.nulls(self.size, _TEXT)

    def _calls_of(self, of: Ints, ids: pa.Array) -> Ints:
        """The call of each id in a rollout; everyone has to have one, and no two the same."""
        ensure(ids.null_count == 0 and not pc.any(pc.equal(ids, "")).as_py())
        mine, theirs = codes(self.ids, ids)
        base = int(max(mine.max(initial=0), theirs.max(initial=0))) + 1
        keys, wanted = self.of * base + mine, of * base + theirs
        order = np.argsort(keys, kind="stable")
        ordered = keys[order]
        ensure(not (ordered[1:] == ordered[:-1]).any())
        places = np.searchsorted(ordered, wanted)
        ensure(not len(wanted) or bool(len(keys) and (places < len(keys)).all() and (ordered[places] == wanted).all()))
        calls: Ints = order[places]
        ensure(len(np.unique(calls)) == len(calls))
        return calls

    def _spread(self, calls: Ints, values: pa.Array) -> pa.Array:
        """Values of some calls for all of them, NULL for the others."""
        at = np.full(self.size, -1)
        at[calls] = np.arange(len(calls))
        return values.take(nullable(at, at < 0))

    def answer(self, talk: _Talk) -> None:
        """Pair the tool messages with the calls they answer."""
        answers = np.flatnonzero(talk.is_tool)
        ids = talk.columns.get("tool_call_id", pa.nulls(len(talk.of), _TEXT)).take(pa.array(answers))
        calls = self._calls_of(talk.of[answers], ids)
        ensure(bool((self.asked[calls] < answers).all()))
        at = np.full(self.size, -1)
        at[calls] = answers
        where = nullable(at, at < 0)
        self.is_answered = at >= 0
        self.columns["result_index"] = pa.array(talk.index).take(where)
        self.outputs = talk.columns.get("text", pa.nulls(len(talk.of), _TEXT)).take(where)
        flagged, kinds = talk.errors["error"], talk.errors["error_kind"]
        self.flags = self.flags if flagged is None else flagged.take(where)
        self.kinds = self.kinds if kinds is None else kinds.take(where)
        back = np.full(len(talk.of), -1)
        back[answers] = calls
        answered = self.columns["tool"].take(nullable(back, back < 0))
        talk.columns["tool"] = coalesced(talk.columns.get("tool"), answered)

    def enrich(self, lists: pa.ListArray, types: Types) -> None:
        """Add what a tool server saw of the calls; what the messages say of arguments and answers stays."""
        of, entries = _entries(lists)
        seen = columns(entries, types, fields.CALL)
        calls = self._calls_of(of, seen["tool_call_id"])
        for name in ("started_at", "ended_at", "latency_s"):
            if name in seen:
                self.columns[name] = self._spread(calls, seen[name])
        if "is_error_flagged" in seen:
            self.flags = coalesced(self._spread(calls, seen["is_error_flagged"]), self.flags)
        if "output_text" in seen:
            self.outputs = coalesced(self.outputs, self._spread(calls, seen["output_text"]))
        self.is_seen = np.zeros(self.size, np.bool_)
        self.is_seen[calls] = True

    def conclude(self) -> None:
        """Say how long every call took and how it ended: as the source says, else by the text of its answer."""
        self._timed()
        is_flagged = is_known(self.flags)
        ended = self.is_answered | (self.is_seen & (is_known(self.outputs) | is_flagged))
        for name in ("ended_at", "latency_s"):
            if name in self.columns:
                ended |= self.is_seen & is_known(self.columns[name])
        guesses = self._guessed(ended & ~is_flagged)
        stated = pc.if_else(self.flags, coalesced(self.kinds, constant("error", self.size, _TEXT)), None)
        guessed = pc.if_else(guesses.is_valid(), coalesced(self.kinds, guesses), None)
        kinds = pc.if_else(pa.array(is_flagged), stated, guessed)
        unended = pc.if_else(pa.array(ended), constant("ok", self.size, _TEXT), "no_result")
        self.columns |= {
            "output_text": self.outputs,
            "is_error_flagged": self.flags,
            "is_error_inferred": guesses.is_valid(),
            "error_kind": kinds,
            "status": pc.if_else(kinds.is_valid(), "error", unended),
        }

    def _guessed(self, where: Flags) -> pa.Array:
        """The kind of error that the answers of some calls speak of."""
        found: list[str | None] = [None] * self.size
        places = np.flatnonzero(where & is_known(self.outputs))
        heads = pc.utf8_slice_codeunits(self.outputs.take(pa.array(places)), 0, 400)
        suspect = flags(pc.match_substring_regex(heads, _SUSPECT, ignore_case=True))
        for at in places[suspect].tolist():
            found[at] = inferred_error(self.outputs[at].as_py())
        return pa.array(found, _TEXT)

    def _timed(self) -> None:
        """A stated latency is `reported`, one between a start and an end is a `span`."""
        stated = self.columns.get("latency_s", pa.nulls(self.size, pa.float64()))
        sources = pc.if_else(stated.is_valid(), constant("reported", self.size, _TEXT), None)
        if "started_at" in self.columns and "ended_at" in self.columns:
            starts, ends = (self.columns[name].cast(TIME) for name in ("started_at", "ended_at"))
            spans = (micros(ends) - micros(starts)) / 1e6
            is_span = is_known(starts) & is_known(ends) & (spans >= 0) & ~is_known(stated)
            stated = pc.if_else(pa.array(is_span), pa.array(spans), stated)
            sources = pc.if_else(pa.array(is_span), constant("span", self.size, _TEXT), sources)
        self.columns |= {"latency_s": stated, "latency_source": sources}
