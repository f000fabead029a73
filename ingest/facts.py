"""The trajectory facts: what is counted about a rollout once, at ingest, for every source alike.

`add_facts` completes a rollout in place: its tool calls (canonical arguments, repeats, output sizes), the fact columns
of `rollouts`, and what the source left out although it follows from the rest (latency, final answer, token sums).
Definitions: STATISTICS "Measures"; the columns' meanings stand in `ingest.schema`. It knows no format and no store.

Whose calls: facts count the agent's calls. A simulated user's are counted in `num_user_tool_calls` and nowhere else;
answers without a call (`orphan`) bring bytes but are no calls. What the source did not keep is NULL, never 0.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from ingest.reading import seconds_between
from ingest.repeats import longest_loop, mark_repeats
from ingest.sources.base import Rollout
from ingest.token_streams import SUMMARY
from ingest.tool_errors import error_line, error_lines, kind_of

Values = dict[str, Any]

BYTES_PER_TOKEN = 4
"""Rule of thumb behind the columns named `…_estimate`."""


def add_facts(rollout: Rollout) -> None:
    """Fill in the derived columns of a rollout and of its tool calls; what the source itself says is kept."""
    values, messages, calls = rollout.values, rollout.messages, rollout.tool_calls
    if messages is not None:
        _message_facts(values, messages)
    _times(values, messages or (), calls)
    if messages is None and not calls:
        return
    for index, row in enumerate(calls):
        _complete(row, index)
    mark_repeats(calls)
    agents = [row for row in calls if row["requestor"] != "user"]
    requested = [row for row in agents if row["status"] != "orphan"]
    values["num_user_tool_calls"] = len(calls) - len(agents)
    _call_facts(values, requested)
    _repeat_facts(values, requested)
    _turn_facts(values, requested)
    _output_facts(values, agents)


_DEFAULTS = (
    ("requestor", "agent"),
    ("tool", "unknown"),
    ("status", "no_result"),
    ("is_executed", True),
    ("is_error_inferred", False),
)
"""What a call is taken for where the source says nothing of it."""
_COUNTED = ("is_error_flagged", "arguments_raw", "latency_s", "output_bytes", "repeat_of", "near_repeat_of")
"""Keys every row has once it is complete."""


def _complete(row: Values, index: int) -> None:
    row.setdefault("call_index", index)
    for key, default in _DEFAULTS:
        if row.get(key) is None:
            row[key] = default
    for key in _COUNTED:
        row.setdefault(key)
    if row["latency_s"] is None and row.get("started_at") is not None and row.get("wrapper_id") is None:
        latency = seconds_between(row["started_at"], row.get("ended_at"))
        if latency is not None:
            row["latency_s"] = latency
            row["latency_source"] = row.get("latency_source") or "span"


def _message_facts(values: Values, messages: list[Values]) -> None:
    """Count messages; take the final answer and the token sums from the assistant's."""
    assistants = [row for row in messages if row.get("role") == "assistant"]
    values["num_messages"] = len(messages)
    values["num_turns"] = len(assistants)
    if not assistants:
        return
    if any(name in row for row in assistants for name in SUMMARY):
        _tell_after_tool(messages)
    last = assistants[-1]
    if values.get("final_answer") is None:
        values["final_answer"] = last.get("text") or None
    if last.get("output_tokens") is None and last.get("latency_s") is None:
        return
    sampled = [row for row in assistants if row.get("is_sampled") is not False]
    for name in ("input_tokens", "output_tokens", "reasoning_tokens"):
        _sum(values, name, sampled, name)
    _sum(values, "model_latency_s", sampled, "latency_s")
    if values.get("context_tokens") is None and last.get("input_tokens") and last.get("output_tokens") is not None:
        values["context_tokens"] = last["input_tokens"] + last["output_tokens"]


def _tell_after_tool(messages: list[Values]) -> None:
    """Say of every assistant message with token figures whether a tool's answer stands right before it."""
    before = None
    for row in messages:
        if row.get("role") == "assistant" and any(row.get(name) is not None for name in SUMMARY):
            row.setdefault("is_after_tool", before == "tool")
        before = row.get("role")


def _sum(values: Values, into: str, rows: list[Values], name: str) -> None:
    """Sum a column into the rollout's, where the source left it out and every row has it."""
    found = [row[name] for row in rows if row.get(name) is not None]
    if values.get(into) is None and found and len(found) == len(rows):
        values[into] = sum(found)


def _call_facts(values: Values, calls: list[Values]) -> None:
    """Count calls, failed ones and different tools. A call that was not executed has failed."""
    executed = flagged = inferred = failed = 0
    last: dict[str, Values | None] = {}
    for row in calls:
        is_flagged, is_executed = row["is_error_flagged"], row["is_executed"]
        if is_executed:
            executed += 1
        if is_flagged:
            flagged += 1
        elif row["is_error_inferred"]:
            inferred += 1
        elif is_executed and row["status"] != "error":
            last[row["tool"]] = None
            continue
        failed += 1
        row["error_kind"] = kind_of(row.get("error_kind"), row.get("output_text"))
        last[row["tool"]] = row
    values["num_tool_calls"] = len(calls)
    values["num_tool_calls_executed"] = executed
    values["num_tool_calls_succeeded"] = len(calls) - failed
    values["num_tool_errors"] = failed
    values["num_tool_errors_flagged"] = flagged
    values["num_tool_errors_inferred"] = inferred
    values["num_distinct_tools"] = len(last)
    unrecovered = [row for row in last.values() if row is not None] if failed else []
    unrecovered.sort(key=lambda row: row["call_index"])
    lines = [error_line(row["tool"], row["error_kind"], row.get("exit_code")) for row in unrecovered]
    values["unrecovered_errors"] = error_lines(lines)


def _repeat_facts(values: Values, calls: list[Values]) -> None:
    """Count repeats, waste and loops; NULL where the source kept no call's arguments."""
    known = [row for row in calls if row["arguments_raw"] is not None]
    if calls and not known:
        return
    repeats = [row for row in known if row["repeat_of"] is not None]
    outputs = [row["repeat_output"] for row in repeats]
    wasted = [row for row in repeats if row["is_wasted"]]
    values["num_exact_repeats"] = len(repeats)
    values["num_near_repeats"] = len([True for row in known if row["near_repeat_of"] is not None])
    values["num_repeats_same_output"] = outputs.count("same")
    values["num_repeats_changed_output"] = outputs.count("different")
    values["num_wasted_calls"] = len(wasted)
    values["wasted_tokens_estimate"] = sum([row["output_bytes"] for row in wasted]) // BYTES_PER_TOKEN
    values["longest_loop"] = longest_loop([row["arguments_hash"] for row in known]) if repeats else 0
    if any(row["latency_s"] is not None for row in calls):
        values["wasted_latency_s"] = sum([row["latency_s"] or 0.0 for row in wasted], 0.0)


def _turn_facts(values: Values, calls: list[Values]) -> None:
    """Count rounds and parallel turns; add up latencies, a wrapper's once, and the slowest of each turn.

    A call whose turn is not known is a round of its own.
    """
    widths: dict[Any, int] = {}
    slowest: dict[Any, float] = {}
    wrappers: dict[Any, tuple[Any, float]] = {}
    total = 0.0
    for row in calls:
        turn = row.get("turn")
        branch = row.get("branch")
        key = (branch, turn) if branch is not None else ("alone", row["call_index"]) if turn is None else turn
        widths[key] = widths.get(key, 0) + 1
        latency = row["latency_s"]
        if latency is None or not latency >= 0.0:
            continue
        wrapper = row.get("wrapper_id")
        if wrapper is None:
            total += latency
        else:
            key, counted = wrappers.get(wrapper, (key, 0.0))
            wrappers[wrapper] = key, max(counted, latency)
            total += max(0.0, latency - counted)
        slowest[key] = max(slowest.get(key, 0.0), latency)
    values["max_parallel_calls"] = max(widths.values(), default=0)
    values["num_tool_rounds"] = len(widths)
    values["num_parallel_turns"] = len([True for width in widths.values() if width > 1])
    if slowest:
        values["tool_latency_s"] = total
        values["tool_critical_path_s"] = sum(slowest.values())


def _output_facts(values: Values, calls: list[Values]) -> None:
    """Add up the bytes of tool outputs; NULL where calls were answered but no answer was kept."""
    sizes = [row["output_bytes"] for row in _answered_once(calls) if row["output_bytes"] is not None]
    if not sizes and any(row["status"] != "no_result" for row in calls):
        return
    values["tool_output_bytes"] = sum(sizes)
    values["tool_output_tokens_estimate"] = sum(sizes) // BYTES_PER_TOKEN


def _answered_once(calls: Iterable[Values]) -> Iterator[Values]:
    """Calls whose answer is their own: what a parallel wrapper answered as a whole counts for its first call only."""
    seen: set[tuple[Any, Any, Any]] = set()
    for row in calls:
        wrapper = row.get("wrapper_id")
        if wrapper is not None:
            answer = (wrapper, row.get("result_index"), row.get("output_hash"))
            if answer in seen:
                continue
            seen.add(answer)
        yield row


def _times(values: Values, messages: Iterable[Values], calls: Iterable[Values]) -> None:
    """Fill in the rollout's start, end and latency from what is timed in it."""
    for name, choose in (("started_at", min), ("ended_at", max)):
        if values.get(name) is None:
            found = [row[name] for rows in (messages, calls) for row in rows if row.get(name) is not None]
            if found:
                values[name] = choose(found)
    if values.get("latency_s") is None:
        values["latency_s"] = seconds_between(values.get("started_at"), values.get("ended_at"))
