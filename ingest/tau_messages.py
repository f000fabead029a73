"""τ² conversations: message lists of text simulations and ticks of voice simulations, with calls, times and tokens.

Part of the source `tau_bench`; reads nothing itself. `raw_data`, which repeats every message, is looked at for the
reasoning and the finish reason and then dropped. A message's time is when it was complete, so what passed since the
message before it is its latency; the same difference between a call and its answer is the tool's.
"""

from datetime import datetime
from typing import Any

from ingest.dialects import Conversation, Values, content_text
from ingest.reading import number, seconds_between, text, timestamp, whole

GREETING = "Hi! How can I help you today?"
"""The agent's first message, which τ²'s orchestrator says for it: nobody sampled it."""


def read_messages(messages: list[Any], started: datetime | None) -> Conversation:
    """The conversation of a text simulation; several tool answers may come in one `tool_messages` envelope."""
    talk = Conversation()
    before = started
    for message in messages:
        if not isinstance(message, dict):
            continue
        nested = message.get("tool_messages")
        answers = nested if isinstance(nested, list) else [message] if message.get("role") == "tool" else []
        for answer in answers:
            if isinstance(answer, dict):
                _answer(talk, answer)
        if not answers and nested is None:
            _say(talk, message, before)
        before = timestamp(message.get("timestamp")) or _last_end(talk) or before
    return talk


def _last_end(talk: Conversation) -> datetime | None:
    ended: datetime | None = talk.messages[-1].get("ended_at") if talk.messages else None
    return ended


def _say(talk: Conversation, message: Values, before: datetime | None) -> None:
    role = message.get("role") if message.get("role") in ("system", "assistant") else "user"
    ended = timestamp(message.get("timestamp"))
    generated = number(message.get("generation_time_seconds"))
    kept = message.get("raw_data")
    raw: Values = kept if isinstance(kept, dict) else {}
    row = talk.say(str(role), content_text(message.get("content")), started_at=before, ended_at=ended)
    row["latency_s"] = generated if generated is not None else seconds_between(before, ended)
    row["input_tokens"], row["output_tokens"] = tokens(message.get("usage"))
    row["finish_reason"] = text(raw.get("finish_reason"))
    inner = raw.get("message")
    reasoning = inner.get("reasoning_content") if isinstance(inner, dict) else None
    row["reasoning_text"] = text(reasoning) if isinstance(reasoning, str) and reasoning else None
    if role == "assistant":
        row["is_sampled"] = not (row["message_index"] == 0 and row["text"] == GREETING and not raw)
    calls = message.get("tool_calls")
    _calls(talk, calls, row, "agent" if role == "assistant" else "user", ended)


def _calls(talk: Conversation, calls: Any, row: Values, speaker: str, asked: datetime | None) -> None:
    for call in calls if isinstance(calls, list) else []:
        if not isinstance(call, dict):
            continue
        requestor = {"assistant": "agent", "user": "user"}.get(str(call.get("requestor")), speaker)
        talk.call(
            str(call.get("name") or "unknown"),
            call.get("arguments"),
            tool_call_id=text(call.get("id")),
            requestor=requestor,
            message_index=row["message_index"],
            started_at=asked,
        )


def _answer(talk: Conversation, answer: Values) -> None:
    output = content_text(answer.get("content"))
    call_id = text(answer.get("id"))
    ended = timestamp(answer.get("timestamp"))
    row = talk.say("tool", output, tool_call_id=call_id, ended_at=ended)
    error = answer.get("error")
    calls = talk.answer(
        output,
        call_id,
        result_index=row["message_index"],
        flagged=error if isinstance(error, bool) else None,
        ended_at=ended,
    )
    row["tool"] = calls[0]["tool"]
    row["started_at"] = calls[0].get("started_at")
    latency = seconds_between(row["started_at"], ended)
    if latency is not None:
        row["latency_s"] = latency
        calls[0].update(latency_s=latency, latency_source="timestamps")


def read_ticks(ticks: list[Any]) -> Conversation:
    """The conversation of a voice simulation: chunks of one utterance make one message, silent ticks none.

    A side's chunks belong together while it goes on speaking, or while they name the same utterance.
    """
    talk = Conversation()
    speakers = {"agent": _Speaker("assistant"), "user": _Speaker("user")}
    for tick in ticks:
        if not isinstance(tick, dict):
            continue
        at = timestamp(tick.get("timestamp"))
        for side, speaker in speakers.items():
            chunk = tick.get(f"{side}_chunk")
            speaker.hear(talk, chunk if isinstance(chunk, dict) else {}, at)
            calls = tick.get(f"{side}_tool_calls")
            if isinstance(calls, list) and calls:
                row = speaker.row or talk.say(speaker.role, "", ended_at=at)
                _calls(talk, calls, row, side, at)
                speaker.row = None
            answers = tick.get(f"{side}_tool_results")
            for answer in answers if isinstance(answers, list) else []:
                if isinstance(answer, dict):
                    _answer(talk, answer)
    return talk


class _Speaker:
    """One side of a voice call: the message it is in the middle of, if any."""

    def __init__(self, role: str) -> None:
        self.role = role
        self.row: Values | None = None
        self._utterances: frozenset[str] = frozenset()

    def hear(self, talk: Conversation, chunk: Values, at: datetime | None) -> None:
        """Take in one tick's chunk of this side."""
        content = chunk.get("content")
        if chunk.get("is_audio") or not isinstance(content, str) or not content:
            if not chunk.get("contains_speech"):
                self.row = self.row if self._utterances else None
            return
        ids = chunk.get("utterance_ids")
        named = frozenset(map(str, ids)) if isinstance(ids, list) else frozenset[str]()
        if self.row is None or (named and self._utterances and not named & self._utterances):
            self.row = talk.say(self.role, "", started_at=at)
            if self.role == "assistant":
                self.row["is_sampled"] = True
        self.row["text"] = text(self.row["text"] + content)
        self.row["ended_at"] = at
        self._utterances = named


def tokens(usage: Any) -> tuple[int | None, int | None]:
    """Prompt and completion tokens of one message; both zero counts as not reported."""
    if not isinstance(usage, dict):
        return None, None
    prompt, completion = whole(usage.get("prompt_tokens")), whole(usage.get("completion_tokens"))
    return (None, None) if not prompt and not completion else (prompt, completion)


def agent_usage(simulation: Values, talk: Conversation | None) -> Values:
    """The agent's tokens, cost and model seconds; a total is NULL where a sampled message does not report its part."""
    spoken = [row for row in talk.messages if row["role"] == "assistant" and row.get("is_sampled")] if talk else []
    counted = [(row.get("input_tokens"), row.get("output_tokens")) for row in spoken]
    known = bool(counted) and all(prompt is not None and output is not None for prompt, output in counted)
    cost = number(simulation.get("agent_cost"))
    waits = [row["latency_s"] for row in spoken if row.get("latency_s") is not None]
    found: Values = {
        "cost_usd": cost if cost or known else None,  # 0.0 beside no usage means that nothing was metered
        "model_latency_s": sum(waits) if waits and len(waits) == len(spoken) else None,
    }
    if known:
        found["input_tokens"] = sum(prompt or 0 for prompt, _ in counted)
        found["output_tokens"] = sum(output or 0 for _, output in counted)
        found["context_tokens"] = (counted[-1][0] or 0) + (counted[-1][1] or 0)
    return found
