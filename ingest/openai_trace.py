"""Trace spans of OpenAI's agentic rollouts → messages and tool calls of one conversation.

`GENERATION` spans are sampled messages whose `recipient` says to whom they speak: `all` (the user), `functions.<tool>`
or `multi_tool_use.parallel`. `FUNCTION` spans are what was executed. The two are joined here; nothing else of an output
item is looked at. Three habits of real traces decide the rules:

- A recipient that is no tool (`multi_tool_use.parallelThus`) is refused by the runtime without any `FUNCTION` span:
  the message is kept, it is no tool call, and the name is listed in `Trace.refused`.
- A `FUNCTION` span can stand there without the generation that asked for it, its input empty: the call is counted, in
  a turn of its own (it ran after the one before), its arguments unknown (`Trace.num_unrecorded_turns`).
- One sampling that speaks and calls is written as two spans of the same times: it is one message.
"""

import json
import re
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, cast

from ingest.dialects import PARALLEL_WRAPPER, Conversation, Values, chat, content_text, inferred_error, tool_name
from ingest.reading import parse_json, seconds_between, text, timestamp, whole

_USER = "all"
_BETWEEN = re.compile(r"[\s,]*")
_DECODER = json.JSONDecoder()
_MULTIMODAL = re.compile(r"\AMultimodalText\n\* ")


@dataclass(slots=True)
class Trace:
    """What the spans of one rollout say."""

    talk: Conversation = field(default_factory=Conversation)
    trace_id: str | None = None
    model: str | None = None
    final_text: str | None = None
    """Text of the last span, where that speaks to the user; None where the rollout ended without a final message."""
    started_at: datetime | None = None
    ended_at: datetime | None = None
    model_latency_s: float | None = None
    refused: list[str] = field(default_factory=list)
    num_unrecorded_turns: int = 0
    num_bad_spans: int = 0
    num_generations: int = 0
    usages: list[Values] = field(default_factory=list)


def spans_of(item: Values) -> list[Any] | None:
    """The spans of an output item's trace; None where it has no trace."""
    row = item.get("datasource_item")
    for holder in (row, item, item.get("sample")):
        trace = holder.get("trace") if isinstance(holder, dict) else None
        spans = trace.get("spans") if isinstance(trace, dict) else None
        if isinstance(spans, list):
            return spans
    return None


def read_trace(spans: list[Any], prompt: list[Any]) -> Trace:
    """Read the spans in the order in which they began. `prompt` are the messages of the dataset row, said first."""
    return _Reader(prompt).read(spans)


def prompt_messages(messages: list[Any]) -> Conversation:
    """The messages of a prompt: not sampled, and calls in them are history, not calls of this rollout."""
    talk = chat(messages, is_sampled=False)
    talk.forget_calls()
    return talk


def usage_tokens(usage: Any) -> Values:
    """Tokens of a usage object of either API; nothing where input and output are both 0 (that means not reported)."""
    if not isinstance(usage, dict):
        return {}
    details = usage.get("completion_tokens_details") or usage.get("output_tokens_details")
    inputs = usage.get("prompt_tokens_details") or usage.get("input_tokens_details")
    cached = usage.get("cached_tokens", inputs.get("cached_tokens") if isinstance(inputs, dict) else None)
    tokens = {
        "input_tokens": whole(usage.get("prompt_tokens", usage.get("input_tokens"))),
        "cached_tokens": whole(cached),
        "output_tokens": whole(usage.get("completion_tokens", usage.get("output_tokens"))),
        "reasoning_tokens": whole(details.get("reasoning_tokens")) if isinstance(details, dict) else None,
    }
    if not tokens["input_tokens"] and not tokens["output_tokens"]:
        return {}
    return {name: count for name, count in tokens.items() if count is not None and count >= 0}


@dataclass(slots=True)
class _Span:
    data: Values
    span_id: str | None
    started_at: datetime | None
    ended_at: datetime | None
    error: Any

    @property
    def times(self) -> tuple[datetime, datetime] | None:
        """Start and end, where both are known."""
        return (self.started_at, self.ended_at) if self.started_at and self.ended_at else None


@dataclass(slots=True)
class _Request:
    """A call that a generation asked for and nothing has answered yet."""

    key: str
    tool: str
    arguments: str | None
    span_id: str | None
    rows: list[Values]


class _Reader:
    def __init__(self, prompt: list[Any]) -> None:
        self.trace = Trace(prompt_messages(prompt))
        self.prompted = bool(prompt)
        self.opening: set[tuple[str, str | None]] = set()
        self.requests: list[_Request] = []
        self.said: Values | None = None
        self.said_at: tuple[datetime, datetime] | None = None
        self.addressed: str | None = None

    def read(self, raw: list[Any]) -> Trace:
        spans = [span for span in map(_span, raw) if span is not None]
        self.trace.num_bad_spans = len(raw) - len(spans)
        if all(span.started_at for span in spans):
            spans.sort(key=lambda span: (span.started_at, span.ended_at or span.started_at))
        self.trace.trace_id = next((text(each["trace_id"]) for each in raw if _has(each, "trace_id")), None)
        for span in spans:
            if span.data.get("type") == "GENERATION":
                self._generation(span)
            elif span.data.get("type") == "FUNCTION":
                self._function(span)
            else:
                self.trace.num_bad_spans += 1
        for request in self.requests:
            _settle(request.rows, request.span_id, executed=False)
        self.trace.started_at = min((span.started_at for span in spans if span.started_at), default=None)
        self.trace.ended_at = max((span.ended_at for span in spans if span.ended_at), default=None)
        return self.trace

    def _generation(self, span: _Span) -> None:
        self._new_inputs(span.data.get("input"))
        message = self._message(span)
        outputs = span.data.get("output")
        self.trace.final_text = None
        for output in outputs if isinstance(outputs, list) else []:
            if not isinstance(output, dict):
                continue
            recipient = text(output.get("recipient")) or _USER
            content = content_text(output.get("content"))
            if recipient == PARALLEL_WRAPPER or recipient.startswith("functions."):
                self._request(recipient, content, span.span_id)
                continue
            message["text"] = "\n".join(piece for piece in (message["text"], content) if piece) or content
            if recipient == _USER:
                self.trace.final_text = content
            else:
                self.trace.refused.append(recipient)
                self.addressed = recipient

    def _message(self, span: _Span) -> Values:
        """The assistant message of a generation: a new one, unless it is another half of the sampling before."""
        if span.times and span.times == self.said_at and self.said is self.trace.talk.messages[-1]:
            return self.said
        seconds = seconds_between(span.started_at, span.ended_at)
        if seconds is not None:
            self.trace.model_latency_s = (self.trace.model_latency_s or 0.0) + seconds
        usage = usage_tokens(span.data.get("usage"))
        self.trace.num_generations += 1
        if usage:
            self.trace.usages.append(usage)
        self.trace.model = text(span.data.get("model")) or self.trace.model
        self.said_at, self.addressed = span.times, None
        self.said = self.trace.talk.say(
            "assistant",
            None,
            is_sampled=True,
            started_at=span.started_at,
            ended_at=span.ended_at,
            latency_s=seconds,
            **{name: count for name, count in usage.items() if name != "cached_tokens"},
        )
        return self.said

    def _new_inputs(self, inputs: Any) -> None:
        """Say what a generation was given beyond what stands there already: the prompt once, a user's later words."""
        entries = [each for each in inputs if isinstance(each, dict)] if isinstance(inputs, list) else []
        for index in range(len(entries) - 1, -1, -1):
            if entries[index].get("role") in ("assistant", "tool", "function"):
                entries = entries[index + 1 :]
                break
        pairs = [_input(entry) for entry in entries]
        talk = self.trace.talk
        if self.said is not None and pairs and pairs[0] in self.opening:
            pairs = [pair for pair in pairs if pair not in self.opening]
        if self.said is not None or not self.prompted:
            for role, content in pairs:
                talk.say(role, content, is_sampled=False)
        if self.said is None:
            self.opening = {(row["role"], row["text"]) for row in talk.messages}

    def _request(self, recipient: str, arguments: str | None, span_id: str | None) -> None:
        key = f"request {len(self.requests)} {len(self.trace.talk.tool_calls)}"
        rows = self.trace.talk.call(recipient, arguments, tool_call_id=key)
        self.requests.append(_Request(key, tool_name(recipient), arguments, span_id, rows))

    def _function(self, span: _Span) -> None:
        name = text(span.data.get("name")) or "unknown"
        arguments = text(span.data.get("input"))
        request = self._requested(name, arguments)
        self.requests.remove(request)
        output = text(span.data.get("output"))
        seconds = seconds_between(span.started_at, span.ended_at)
        times: Values = {"started_at": span.started_at, "ended_at": span.ended_at, "latency_s": seconds}
        row = self.trace.talk.say("tool", output, tool=tool_name(name), tool_call_id=span.span_id, **times)
        calls = self.trace.talk.answer(
            output,
            request.key,
            result_index=row["message_index"],
            flagged=True if span.error else None,
            error_kind=_error_kind(span.error),
            latency_source="span" if seconds is not None else None,
            **times,
        )
        for call in calls[1:]:
            call.pop("latency_source", None)
        refused = calls[0].get("error_kind") == "parsing"  # what failed to parse was handed to no tool
        _settle(calls, span.span_id, executed=not refused)
        if not refused and not span.error:
            _share_output(calls, output)
        self.trace.final_text = None

    def _requested(self, name: str, arguments: str | None) -> _Request:
        """The open request a function span answers; where the trace kept none, one in a turn of its own."""
        tool = tool_name(name)
        alike = [request for request in self.requests if request.tool == tool]
        exact = [request for request in alike if request.arguments == arguments]
        if exact or alike:
            return (exact or alike)[0]
        if self.addressed is not None and tool_name(self.addressed) == tool:
            self.trace.refused.remove(self.addressed)
            self.addressed = None
            if self.said is not None and self.said["text"] == arguments:
                self.said["text"] = None
        else:
            self.trace.num_unrecorded_turns += 1
            self.said = self.trace.talk.say("assistant", None, is_sampled=True)
            self.said_at = None
        self._request(name, arguments or None, None)
        return self.requests[-1]


def _span(raw: Any) -> _Span | None:
    data = raw.get("span_data") if isinstance(raw, dict) else None
    if not isinstance(data, dict):
        return None
    times = timestamp(raw.get("started_at")), timestamp(raw.get("ended_at"))
    return _Span(data, text(raw.get("id")), *times, raw.get("error"))


def _input(entry: Values) -> tuple[str, str | None]:
    content = content_text(entry.get("content"))
    return "user" if entry.get("role") == "user" else "system", _MULTIMODAL.sub("", content) if content else content


def _has(raw: Any, key: str) -> bool:
    return isinstance(raw, dict) and bool(raw.get(key))


def _error_kind(error: Any) -> str | None:
    if isinstance(error, dict):
        return text(error.get("code") or error.get("type") or error.get("name"))
    return None


def _settle(calls: list[Values], span_id: str | None, *, executed: bool) -> None:
    for call in calls:
        call["tool_call_id"] = span_id
        call["is_executed"] = executed


def _share_output(calls: list[Values], output: str | None) -> None:
    """Give each call of a parallel wrapper its own part of the wrapper's answer, a JSON list in the calls' order."""
    if not calls[0].get("wrapper_id") or not output or not output.startswith("["):
        return
    try:
        pieces = parse_json(output)
    except ValueError:
        return
    if not isinstance(pieces, list) or len(pieces) != len(calls):
        return
    for call, piece in zip(calls, _as_written(output, pieces), strict=True):
        call["output_text"] = text(piece)
        kind = inferred_error(call["output_text"])
        call["is_error_inferred"] = kind is not None
        call["error_kind"] = kind
        call["status"] = "error" if kind else "ok"


def _as_written(output: str, pieces: list[Any]) -> list[Any]:
    """The elements of a JSON list, objects and lists as they are written: so does the tool answer a call alone."""
    found: list[Any] = []
    end = 1
    for piece in pieces:
        start = cast(re.Match[str], _BETWEEN.match(output, end)).end()
        try:
            _, end = _DECODER.raw_decode(output, start)
        except (ValueError, RecursionError):
            return pieces
        found.append(piece if isinstance(piece, str) or piece is None else output[start:end])
    return found
