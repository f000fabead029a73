"""One normal form for the message lists that agents and trainers write.

Chat Completions (and its variants: legacy `function_call`, tool calls as JSON strings, verifiers' flat calls, τ²'s
arguments as objects), and calls recovered from plain text. Result: rows of `messages` and `tool_calls`.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from ingest.chat_template import blocks, segments
from ingest.reading import dump_json, parse_json, text

Values = dict[str, Any]

PARALLEL_WRAPPER = "multi_tool_use.parallel"
_ERROR_PATTERNS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("parsing", re.compile(r"^content_type='system_error' name='\w*Pars\w*'", re.A)),
    ("system_error", re.compile(r"^content_type='system_error'")),
    ("timeout", re.compile(r"^\W*(?:error\b.{0,80}\btimed? ?out|timeout(?:error|expired)?\b)", re.I | re.S)),
    ("exception", re.compile(r"^(?:Traceback \(most recent call last\)|[A-Za-z_.]{1,60}(?:Error|Exception): )")),
    ("error", re.compile(r"^\W{0,3}(?:tool )?error\b(?! ?(?:rate|bars?|margin))", re.I)),
)
_ERROR_WORD = re.compile("error|exception|timeout|traceback", re.I)
"""One of these stands in whatever the patterns match: looking for them first spares most outputs the rest."""


def inferred_error(output: str | None) -> str | None:
    """Kind of error an output's text speaks of (`parsing`, `system_error`, `timeout`, `exception`, `error`), or None.

    Only the beginning of the text counts: a document that mentions an error is not one.
    """
    if not output:
        return None
    head = output[:400].lstrip()
    if head.startswith(('{"error"', "{'error'", '{"Error"')):
        return None if head[8:].lstrip(" \"':").startswith(("null", "None", "false", '""')) else "error"
    if not _ERROR_WORD.search(head):
        return None
    for kind, pattern in _ERROR_PATTERNS:
        if pattern.match(head):
            return kind
    return None


def tool_name(raw: str) -> str:
    """The tool's name without the prefixes that dialects put before it (`functions.search` → `search`)."""
    name = raw.strip()
    return name.removeprefix("functions.") or raw


def content_text(content: Any) -> str | None:
    """Visible text of a message: text parts joined by line breaks, other parts as `[image]` and the like."""
    if content is None or isinstance(content, str):
        return text(content)
    if isinstance(content, list):
        pieces: list[str] = []
        for part in content:
            if isinstance(part, str):
                pieces.append(part)
            elif isinstance(part, dict):
                kind = part.get("type")
                if isinstance(part.get("text"), str):
                    pieces.append(part["text"])
                elif isinstance(part.get("refusal"), str):
                    pieces.append(part["refusal"])
                elif kind not in ("reasoning", "thinking", "redacted_thinking", None):
                    pieces.append(f"[{str(kind).removeprefix('input_').removesuffix('_url')}]")
        return text("\n".join(pieces))
    return text(content)


def reasoning_text(message: Values) -> str | None:
    """Reasoning of a message, wherever the vendor keeps it."""
    for key in ("reasoning_content", "reasoning"):
        if isinstance(message.get(key), str) and message[key]:
            return text(message[key])
    content = message.get("content")
    if isinstance(content, list):
        found = [
            part.get("reasoning") or part.get("thinking") or part.get("text")
            for part in content
            if isinstance(part, dict) and part.get("type") in ("reasoning", "thinking")
        ]
        kept = [piece for piece in found if isinstance(piece, str)]
        return text("\n".join(kept)) if kept else None
    return None


@dataclass(slots=True)
class Conversation:
    """Builds the `messages` and `tool_calls` rows of one rollout in order, pairing answers with calls.

    Call ids are not unique in real files: an answer is paired with the latest unanswered call of its id, else (no or
    unknown id) with the first unanswered call. Unanswered calls end as `no_result`, answers without call as `orphan`.
    """

    messages: list[Values] = field(default_factory=list)
    tool_calls: list[Values] = field(default_factory=list)
    turn: int = -1
    _open: list[Values] = field(default_factory=list)

    def say(self, role: str, content: str | None, **values: Any) -> Values:
        """Append a message; an assistant message starts a new turn. Returns the row, to be filled further."""
        if role == "assistant":
            self.turn += 1
        row: Values = {"message_index": len(self.messages), "role": role, "text": content, **values}
        if self.turn >= 0:
            row["turn"] = self.turn
        self.messages.append(row)
        return row

    def call(self, name: str, arguments: Any, **values: Any) -> list[Values]:
        """Append a tool call of the latest message (a parallel wrapper: all the calls in it). Returns the rows.

        `arguments` is a JSON string, an object, or free text.
        """
        if name.strip().startswith(PARALLEL_WRAPPER):
            inner = wrapped_calls(arguments)
            if inner:
                wrapper = f"w{len(self.tool_calls)}"
                return [self._call(each, args, wrapper_id=wrapper, **values) for each, args in inner]
        return [self._call(name, arguments, **values)]

    def _call(self, name: str, arguments: Any, **values: Any) -> Values:
        raw = arguments if isinstance(arguments, str) else dump_json(arguments)
        row: Values = {
            "call_index": len(self.tool_calls),
            "turn": max(self.turn, 0),
            "message_index": len(self.messages) - 1 if self.messages else None,
            "tool": tool_name(name),
            "tool_raw": name,
            "arguments_raw": text(raw),
            "requestor": "agent",
            "parse_source": "structured",
            "status": "no_result",
            **values,
        }
        self.tool_calls.append(row)
        self._open.append(row)
        return row

    def answer(
        self,
        output: str | None,
        call_id: str | None = None,
        *,
        result_index: int | None = None,
        flagged: bool | None = None,
        error_kind: str | None = None,
        tool: str | None = None,
        calls: list[Values] | None = None,
        **values: Any,
    ) -> list[Values]:
        """Join an answer to its call (or to all calls of its wrapper). Returns the calls it was joined to.

        `flagged` is what the source says (None = the source flags nothing): only then is the text looked at.
        `calls` are the calls it answers, where the source tells more than an id.
        """
        if calls:
            self._open = [row for row in self._open if not any(row is each for each in calls)]
        else:
            calls = self._take(call_id)
        if not calls:
            orphan = self._call(tool or "unknown", None, status="orphan", tool_call_id=call_id)
            self._open.remove(orphan)
            calls = [orphan]
        inferred = inferred_error(output) if flagged is None else None
        for position, row in enumerate(calls):
            row["result_index"] = result_index
            row["output_text"] = output
            row["is_error_flagged"] = flagged
            row["is_error_inferred"] = inferred is not None
            if flagged or inferred:
                row["error_kind"] = error_kind or inferred or "error"
                row["status"] = "error" if row["status"] != "orphan" else "orphan"
            elif row["status"] != "orphan":
                row["status"] = "ok"
            if position == 0:
                row.update(values)
            else:
                row.update({key: each for key, each in values.items() if key != "latency_s"})
        return calls

    def forget_calls(self) -> None:
        """Drop the calls so far, not the messages: calls in a prompt are history, and no calls of this rollout."""
        self.tool_calls.clear()
        self._open.clear()

    def _take(self, call_id: str | None) -> list[Values]:
        chosen: Values | None = None
        if call_id:
            chosen = next((row for row in reversed(self._open) if row.get("tool_call_id") == call_id), None)
        if chosen is None and self._open and not call_id:
            chosen = self._open[0]
        if chosen is None and call_id:
            chosen = next((row for row in self._open if not row.get("tool_call_id")), None)
        if chosen is None:
            return []
        wrapper = chosen.get("wrapper_id")
        taken = [row for row in self._open if row is chosen or (wrapper and row.get("wrapper_id") == wrapper)]
        self._open = [row for row in self._open if not any(row is each for each in taken)]
        return taken


def wrapped_calls(arguments: Any) -> list[tuple[str, Any]]:
    """Calls inside a parallel wrapper: `{"tool_uses": [{"recipient_name", "parameters"}]}`; empty when malformed."""
    if isinstance(arguments, str):
        try:
            arguments = parse_json(arguments)
        except ValueError:
            return []
    uses = arguments.get("tool_uses") if isinstance(arguments, dict) else None
    if not isinstance(uses, list):
        return []
    return [
        (str(use.get("recipient_name") or use.get("name") or "unknown"), use.get("parameters", use.get("arguments")))
        for use in uses
        if isinstance(use, dict)
    ]


def chat(
    messages: Iterable[Any], conversation: Conversation | None = None, *, is_sampled: bool | None = None
) -> Conversation:
    """Read Chat Completions messages (and the variants named above) into a conversation.

    Entries that are JSON strings are parsed; entries that are no objects become user messages with their text.
    """
    talk = conversation or Conversation()
    for entry in messages:
        message = _as_object(entry)
        role = str(message.get("role") or "user")
        if role in ("tool", "function"):
            _tool_message(talk, message)
            continue
        role = {"developer": "system", "human": "user", "ai": "assistant", "model": "assistant"}.get(role, role)
        role = role if role in ("system", "user", "assistant") else "user"
        row = talk.say(role, content_text(message.get("content")))
        if role == "assistant":
            row["reasoning_text"] = reasoning_text(message)
            row["is_sampled"] = is_sampled
        for call in _calls(message):
            name, arguments, call_id = call
            talk.call(name, arguments, tool_call_id=call_id, requestor="agent" if role == "assistant" else "user")
    return talk


def _tool_message(talk: Conversation, message: Values) -> None:
    nested = message.get("tool_messages")
    for each in nested if isinstance(nested, list) else [message]:
        if not isinstance(each, dict):
            continue
        output = content_text(each.get("content"))
        call_id = each.get("tool_call_id") or each.get("id")
        name = each.get("name")
        row = talk.say(
            "tool", output, tool_call_id=text(call_id), tool=tool_name(name) if isinstance(name, str) else None
        )
        flagged = each.get("error") if isinstance(each.get("error"), bool) else None
        calls = talk.answer(output, text(call_id), result_index=row["message_index"], flagged=flagged, tool=row["tool"])
        row["tool"] = row["tool"] or calls[0]["tool"]


def _as_object(entry: Any) -> Values:
    if isinstance(entry, str) and entry.lstrip()[:1] == "{":
        try:
            entry = parse_json(entry)
        except ValueError:
            return {"role": "user", "content": entry}
    return entry if isinstance(entry, dict) else {"role": "user", "content": text(entry)}


def _calls(message: Values) -> list[tuple[str, Any, str | None]]:
    found: list[tuple[str, Any, str | None]] = []
    calls = message.get("tool_calls")
    for entry in calls if isinstance(calls, list) else []:
        call = _as_object(entry)
        inner = call.get("function") or call.get("custom") or call
        if isinstance(inner, str):
            inner = {"name": inner, "arguments": call.get("arguments")}
        if isinstance(inner, dict):
            arguments = inner.get("arguments", inner.get("input"))
            found.append((str(inner.get("name") or "unknown"), arguments, text(call.get("id"))))
    legacy = message.get("function_call")
    if isinstance(legacy, dict) and legacy.get("name"):
        found.append((str(legacy["name"]), legacy.get("arguments"), None))
    return found


def prompt_text(messages: Iterable[Values]) -> str | None:
    """The task as the policy saw it: role and text of each prompt message; None without any."""
    return "\n\n".join(f"{row['role']}: {row['text'] or ''}" for row in messages) or None


def prompt_hash(messages: Iterable[Values]) -> str:
    """Hash of the roles and texts of prompt messages, by which equal prompts are one sample."""
    asked = dump_json([[row["role"], row["text"]] for row in messages]) or ""
    return blake2b(asked.encode("utf-8", "replace"), digest_size=8).hexdigest()


_THINK = re.compile(r"<think>(.*?)(?:</think>|\Z)", re.S)


def from_text(output: str, conversation: Conversation | None = None) -> Conversation:
    """Recover turns, calls and answers from decoded text (`<tool_call>`, `<function=…>`, `<tool_response>`, `<think>`).

    Best effort: every call is marked `parse_source = "text"`. Text before a call, and the call, are one assistant
    message; a response is a tool message; consecutive calls without text between them are parallel. Messages of other
    roles between two turns of the assistant are kept (`segments`). Empty text is one empty assistant message.
    """
    talk = conversation or Conversation()
    before = len(talk.messages)
    for role, piece in segments(output, "assistant"):
        _read_segment(talk, role, piece)
    if len(talk.messages) == before:
        _say_text(talk, "")
    return talk


def _read_segment(talk: Conversation, role: str, piece: str) -> None:
    position, spoke = 0, False
    for start, end, kind, body in blocks(piece):
        between, position = piece[position:start], end
        if kind == "tool_response":
            _say_between(talk, role, between)
            row = talk.say("tool", text(body.strip()))
            row["tool"] = talk.answer(row["text"], result_index=row["message_index"])[0]["tool"]
            spoke = False
        else:
            if not spoke or between.strip():
                _say_text(talk, between)
            spoke = True
            _text_call(talk, body)
    _say_between(talk, role, piece[position:])


def _say_between(talk: Conversation, role: str, piece: str) -> None:
    if not piece.strip():
        return
    if role == "assistant":
        _say_text(talk, piece)
    elif role == "tool":
        row = talk.say("tool", text(piece.strip()))
        row["tool"] = talk.answer(row["text"], result_index=row["message_index"])[0]["tool"]
    else:
        talk.say(role, text(piece.strip()))


def _say_text(talk: Conversation, piece: str) -> None:
    if "</think>" in piece and "<think>" not in piece.split("</think>", 1)[0]:
        piece = f"<think>{piece}"  # templates that open the reasoning in the prompt leave only its end
    thoughts = "\n".join(each.strip() for each in _THINK.findall(piece)).strip()
    row = talk.say("assistant", text(_THINK.sub("", piece).strip()), is_sampled=True)
    if thoughts:
        row["reasoning_text"] = text(thoughts)


def _text_call(talk: Conversation, body: str) -> None:
    try:
        call = parse_json(body.strip())
    except ValueError:
        call = None
    if isinstance(call, dict) and isinstance(call.get("name"), str):
        talk.call(call["name"], call.get("arguments", call.get("parameters")), parse_source="text")
        return
    xml = re.match(r"\s*<function=([^>]{1,200})>(.*?)(?:</function>|$)", body, re.S)
    if xml:
        closed = xml[2][: xml[2].rfind("</parameter>") + 12]  # so that every opening tag finds a closing one
        pairs = re.findall(r"<parameter=([^>]{1,200})>(.*?)</parameter>", closed, re.S)
        inner = {key.strip(): each.strip() for key, each in pairs} if pairs else xml[2].strip() or {}
        talk.call(xml[1], inner, parse_source="text")
        return
    talk.call("unknown", body.strip(), parse_source="text")
