"""A verifiers v1 trace as messages and tool calls: the node tree, its branches, and what each model call took.

Nodes form a tree, stored in the order they arose; every root-to-leaf path is a branch. When a harness rewrites its
context (compaction, stripped reasoning), a new branch *restates* earlier messages as nodes that were not sampled: those
stay messages, but their tool calls were requested once and are counted once, on the sampled node.
Token ids and per-token streams are summarised per message here and kept nowhere.
"""

import hashlib
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from ingest.dialects import Conversation, Values, content_text, reasoning_text
from ingest.reading import number, seconds_between, text, timestamp, whole
from ingest.token_streams import stream_summary

ROLES = {"developer": "system", "human": "user", "ai": "assistant", "model": "assistant", "function": "tool"}


def objects_in(value: Any) -> list[Values]:
    """The objects of a list; of anything else, none."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def object_of(value: Any) -> Values:
    """The value where it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def digest(value: str | None) -> str | None:
    """A 16-character hash of a text."""
    return hashlib.sha256(value.encode("utf-8", "replace")).hexdigest()[:16] if value else None


def prompt_of(messages: Iterable[Values]) -> str | None:
    """The task as the policy saw it: roles and texts of the messages before the first that was sampled."""
    lines = []
    for row in messages:
        if row["role"] == "assistant" and row.get("is_sampled") is not False:
            break
        lines.append(f"{row['role']}: {row['text'] or ''}")
    return "\n\n".join(lines) or None


def told_text(message: Values) -> str | None:
    """Text of an assistant message that was supplied, not sampled: its calls are told in words, they are not calls."""
    pieces = [piece for piece in (content_text(message.get("content")),) if piece]
    for call in objects_in(message.get("tool_calls")):
        inner = object_of(call.get("function")) or call
        pieces.append(f"[calls {inner.get('name')}({text(inner.get('arguments')) or ''})]")
    return "\n".join(pieces) or None


class Tree:
    """Parents and branches of a trace's nodes. A parent must stand before its child: others count as none."""

    def __init__(self, nodes: Sequence[Values]) -> None:
        self.parents: list[int | None] = []
        for index, node in enumerate(nodes):
            parent = node.get("parent")
            is_valid = isinstance(parent, int) and not isinstance(parent, bool) and 0 <= parent < index
            self.parents.append(parent if is_valid else None)
        inner = {parent for parent in self.parents if parent is not None}
        self.leaves = [index for index in range(len(nodes)) if index not in inner]

    def path(self, index: int) -> list[int]:
        """Indexes from the root to a node, the node included."""
        found: list[int] = []
        current: int | None = index
        while current is not None:
            found.append(current)
            current = self.parents[current]
        return found[::-1]

    def branches(self) -> list[str | None]:
        """By node: number of the first branch it belongs to; None throughout where there is one branch."""
        labels: list[str | None] = [None] * len(self.parents)
        if len(self.leaves) < 2:
            return labels
        for number_of, leaf in enumerate(self.leaves):
            current: int | None = leaf
            while current is not None and labels[current] is None:
                labels[current] = str(number_of)
                current = self.parents[current]
        return labels


class TraceReader:
    """Reads the nodes of one trace into a conversation."""

    def __init__(self, nodes: list[Values], calls: Sequence[Values], agent: str | None) -> None:
        self.nodes = nodes
        self.tree = Tree(nodes)
        self.branches = self.tree.branches()
        self.has_sampled = any(node.get("sampled") is True for node in nodes)
        self.agent = agent
        self.talk = Conversation()
        self.by_node = {call["node"]: call for call in calls if isinstance(call.get("node"), int)}
        self._requests: dict[int, dict[str, list[list[Values]]]] = {}
        self._answered_at: dict[int, datetime] = {}

    def read(self) -> Conversation:
        """Messages in the order they arose, and the calls requested in sampled ones."""
        for index, node in enumerate(self.nodes):
            message = object_of(node.get("message"))
            role = str(message.get("role") or "user")
            role = ROLES.get(role, role)
            if role == "tool":
                self._tool(index, message)
            elif role == "assistant":
                self._assistant(index, node, message)
            else:
                role = role if role in ("system", "user") else "user"
                self._say(index, role, content_text(message.get("content")))
        self._time_calls()
        return self.talk

    def _say(self, index: int, role: str, content: str | None, **values: Any) -> Values:
        row = self.talk.say(role, content, branch=self.branches[index], **values)
        if self.agent and role == "assistant":
            row["agent"] = self.agent
        return row

    def _assistant(self, index: int, node: Values, message: Values) -> None:
        is_sampled = node.get("sampled") is True if self.has_sampled else None
        if is_sampled is False:
            self._say(index, "assistant", told_text(message), is_sampled=False)
            return
        row = self._say(index, "assistant", content_text(message.get("content")), is_sampled=is_sampled)
        row["reasoning_text"] = reasoning_text(message)
        if summary := stream_summary(node):
            row.update(summary, is_after_tool=self._role_before(index) == "tool")
        row.update(self._call_facts(index))
        requests = self._requests[index] = {}
        for call in objects_in(message.get("tool_calls")):
            inner = object_of(call.get("function")) or call
            name = str(inner.get("name") or "unknown")
            if isinstance(call.get("namespace"), str) and call["namespace"]:
                name = f"{call['namespace']}.{name}"
            call_id = text(call.get("id"))
            made = self.talk.call(
                name, inner.get("arguments"), tool_call_id=call_id, branch=self.branches[index], agent=self.agent
            )
            requests.setdefault(call_id or "", []).append(made)

    def _tool(self, index: int, message: Values) -> None:
        """Join an answer to the call of its id that stands nearest above it; a restated answer answers nothing."""
        output, call_id = content_text(message.get("content")), text(message.get("tool_call_id"))
        row = self._say(index, "tool", output, tool_call_id=call_id, tool=text(message.get("name")))
        owner = self._owner(index, call_id or "")
        if owner is None:
            if not self._is_told(index):
                self.talk.answer(output, call_id, result_index=row["message_index"], tool=row["tool"])
            return
        groups = self._requests[owner][call_id or ""]
        asked = next((each for each in groups if each[0]["status"] == "no_result"), None)
        row["turn"] = groups[0][0]["turn"]
        row["tool"] = row["tool"] or groups[0][0]["tool"]
        if asked is not None:
            self.talk.answer(output, call_id, result_index=row["message_index"], calls=asked)
            when = stamp(self.nodes[index])
            if when is not None:
                self._answered_at[owner] = max(when, self._answered_at.get(owner, when))

    def _owner(self, index: int, call_id: str) -> int | None:
        current = self.tree.parents[index]
        while current is not None:
            if call_id in self._requests.get(current, ()):
                return current
            current = self.tree.parents[current]
        return None

    def _is_told(self, index: int) -> bool:
        """Whether the answer follows an assistant message that was supplied, so that its call is not in the trace."""
        current = self.tree.parents[index]
        while current is not None:
            if ROLES.get(role := str(object_of(self.nodes[current].get("message")).get("role")), role) == "assistant":
                return self.has_sampled and self.nodes[current].get("sampled") is not True
            current = self.tree.parents[current]
        return False

    def _role_before(self, index: int) -> str | None:
        parent = self.tree.parents[index]
        role = None if parent is None else str(object_of(self.nodes[parent].get("message")).get("role"))
        return None if role is None else ROLES.get(role, role)

    def _call_facts(self, index: int) -> Values:
        """Tokens, times and finish reason of the model call behind a sampled node."""
        call = self.by_node.get(index)
        if call is None:
            return token_counts(self.nodes, self.tree.path(index))
        started, ended = span(call.get("time"))
        return {
            **usage(call.get("usage")),
            "started_at": started,
            "ended_at": ended,
            "latency_s": seconds_between(started, ended),
            "finish_reason": text(call.get("finish_reason")),
        }

    def _time_calls(self) -> None:
        """Bound each turn's tool time by its neighbours: end of the model call, start of the next one.

        Where calls have no times, node timestamps bound it. Nothing tells the parallel calls of a turn apart, so that
        the bound is stored once, on the first: each carrying it would multiply the total.
        """
        following: dict[int, int] = {}
        for index, node in enumerate(self.nodes):
            parent = self.tree.parents[index]
            while parent is not None and parent not in self._requests:
                parent = self.tree.parents[parent]
            if parent is not None and (node.get("sampled") is True) and parent not in following:
                following[parent] = index
        for owner, requests in self._requests.items():
            made = [row for groups in requests.values() for group in groups for row in group]
            rows = [row for row in made if row["status"] in ("ok", "error")]
            if not rows:
                continue
            first = min(rows, key=lambda row: row["call_index"])
            started = self._end_of(owner)
            ended = self._start_of(following.get(owner)) or self._answered_at.get(owner)
            latency = seconds_between(started, ended)
            if latency is not None:
                first.update(started_at=started, ended_at=ended, latency_s=latency, latency_source="timestamps")

    def _end_of(self, index: int) -> datetime | None:
        return span(object_of(self.by_node.get(index)).get("time"))[1] or stamp(self.nodes[index])

    def _start_of(self, index: int | None) -> datetime | None:
        return None if index is None else span(object_of(self.by_node.get(index)).get("time"))[0]


def stamp(node: Values) -> datetime | None:
    """When a node was created."""
    return timestamp(number(node.get("timestamp")))


def span(value: Any) -> tuple[datetime | None, datetime | None]:
    """Start and end of a time span; 0 stands for "never" in both."""
    times = object_of(value)
    return timestamp(number(times.get("start"))), timestamp(number(times.get("end")))


def usage(value: Any) -> Values:
    """Tokens of one model call, cached ones added to the input; 0 in and 0 out means not reported."""
    found = object_of(value)
    fresh, output = whole(found.get("prompt_tokens")), whole(found.get("completion_tokens"))
    cached, reasoning = whole(found.get("cached_input_tokens")), whole(found.get("reasoning_tokens"))
    if fresh is None or (not fresh and not cached and not output):
        return {}
    return {"input_tokens": fresh + (cached or 0), "output_tokens": output, "reasoning_tokens": reasoning}


def token_counts(nodes: Sequence[Values], path: Sequence[int]) -> Values:
    """Tokens of a sampled node counted from its token ids, where its model call reported none.

    Its input is everything above it plus its own scaffold, known only where every node above has its tokens.
    """
    own = nodes[path[-1]]
    mask = own.get("mask")
    ids = own.get("token_ids")
    if not isinstance(ids, list) or not ids:
        return {}
    sampled = sum(each is True for each in mask) if isinstance(mask, list) and len(mask) == len(ids) else len(ids)
    above = [nodes[index].get("token_ids") for index in path[:-1]]
    known = [len(each) for each in above if isinstance(each, list) and each]
    counts: Values = {"output_tokens": sampled}
    if known and len(known) == len(above):
        counts["input_tokens"] = sum(known) + len(ids) - sampled
    return counts
