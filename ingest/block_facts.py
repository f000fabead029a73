"""The trajectory facts of many plain rollouts at once: `ingest.facts` for `Rollouts`, by column.

The definitions are those of `ingest.facts`; a test holds the two against each other. It knows no format and no store.
"""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ingest.arrays import TIME, Flags, Floats, Ints, coalesced, codes, flags, floats, is_known, micros, nullable
from ingest.block_repeats import block_repeats
from ingest.facts import BYTES_PER_TOKEN
from ingest.repeats import longest_loop
from ingest.sources.base import Children, Rollouts
from ingest.token_streams import SUMMARY
from ingest.tool_errors import error_line, error_lines, kind_of

_LAST = np.iinfo(np.int64).max


def add_block_facts(block: Rollouts) -> None:
    """Fill in the derived columns of rollouts and of their tool calls; what the source itself says is kept."""
    size = len(block.runs)
    calls = block.tool_calls
    if block.messages is None:
        _times(block, size)
        return
    calls.columns["is_executed"] = pa.array(np.ones(len(calls.of), np.bool_))
    calls.columns |= block_repeats(calls.of, calls.columns)
    _message_facts(block.values, block.messages, size)
    _times(block, size)
    _call_facts(block.values, calls, size)
    _output_facts(block.values, calls, size)
    _repeat_facts(block.values, calls, size)
    _turn_facts(block.values, calls, size)


def _count(of: Ints, where: Flags, size: int) -> Ints:
    """How often a flag is true, by rollout."""
    return np.bincount(of[where], minlength=size)


def _sums(of: Ints, values: Any, size: int) -> Any:
    return np.bincount(of, values, minlength=size)


def _message_facts(values: dict[str, Any], messages: Children, size: int) -> None:
    of, columns = messages.of, messages.columns
    is_assistant = flags(pc.equal(columns["role"], "assistant"))
    values["num_messages"] = pa.array(np.bincount(of, minlength=size))
    values["num_turns"] = pa.array(_count(of, is_assistant, size))
    last = np.full(size, -1)
    last[of[is_assistant]] = np.flatnonzero(is_assistant)
    at = nullable(last, last < 0)
    _tell_after_tool(of, columns, is_assistant)
    if "text" in columns:
        said = columns["text"].take(at)
        _fill(values, "final_answer", pc.if_else(pc.equal(said, ""), pa.scalar(None, pa.string()), said))
    counted = ("output_tokens", "latency_s")
    if not any(name in columns for name in counted):
        return
    is_timed = np.zeros(size, np.bool_)
    for name in counted:
        if name in columns:
            is_timed |= is_known(columns[name].take(at))
    sampled = is_assistant
    if "is_sampled" in columns:
        sampled = is_assistant & ~flags(pc.invert(columns["is_sampled"]))
    for name in ("input_tokens", "output_tokens", "reasoning_tokens", "latency_s"):
        if name in columns:
            into = "model_latency_s" if name == "latency_s" else name
            _fill(values, into, _complete_sums(of, sampled, columns[name], is_timed, size))
    if "input_tokens" in columns and "output_tokens" in columns:
        asked, answered = columns["input_tokens"].take(at), columns["output_tokens"].take(at)
        context = pc.if_else(pc.greater(asked, 0), pc.add(asked, answered), pa.scalar(None, pa.int64()))
        _fill(values, "context_tokens", context)


def _tell_after_tool(of: Ints, columns: dict[str, pa.Array], is_assistant: Flags) -> None:
    """Say of every assistant message with token figures whether a tool's answer stands right before it."""
    known = [is_known(columns[name]) for name in SUMMARY if name in columns]
    if not known:
        return
    follows = np.concatenate([[False], (of[1:] == of[:-1]) & flags(pc.equal(columns["role"], "tool"))[:-1]])
    told = nullable(follows, ~(is_assistant & np.logical_or.reduce(known)))
    columns["is_after_tool"] = coalesced(columns.get("is_after_tool"), told)


def _complete_sums(of: Ints, sampled: Flags, column: pa.Array, wanted: Flags, size: int) -> pa.Array:
    """Sums of a column over the sampled messages, where every one of them has it."""
    known = sampled & is_known(column)
    missing = ~wanted | (_count(of, known, size) == 0) | (_count(of, sampled & ~known, size) > 0)
    sums = _sums(of[known], floats(column)[known], size)
    return nullable(sums, missing).cast(column.type)


def _fill(values: dict[str, Any], name: str, found: pa.Array) -> None:
    """Fill in a column where the source says nothing."""
    values[name] = pc.coalesce(values[name], found) if name in values else found


def _call_facts(values: dict[str, Any], calls: Children, size: int) -> None:
    of, columns = calls.of, calls.columns
    total = np.bincount(of, minlength=size)
    flagged = _count(of, flags(columns["is_error_flagged"]), size)
    inferred = _count(of, flags(columns["is_error_inferred"]), size)
    coded = columns["tool"].dictionary_encode()
    base = len(coded.dictionary) + 1
    pairs = np.unique(of * base + coded.indices.to_numpy(zero_copy_only=False))
    executed = pa.array(total)
    values |= {
        "num_user_tool_calls": pa.array(np.zeros(size, np.int64)),
        "num_tool_calls": executed,
        "num_tool_calls_executed": executed,
        "num_tool_calls_succeeded": pa.array(total - flagged - inferred),
        "num_tool_errors": pa.array(flagged + inferred),
        "num_tool_errors_flagged": pa.array(flagged),
        "num_tool_errors_inferred": pa.array(inferred),
        "num_distinct_tools": pa.array(np.bincount(pairs // base, minlength=size)),
        "unrecovered_errors": _unrecovered(of, columns, of * base + coded.indices.to_numpy(zero_copy_only=False), size),
    }


def _unrecovered(of: Ints, columns: dict[str, Any], tools: Ints, size: int) -> pa.Array:
    """By rollout, the errors of tools whose last call failed; kinds of error that say little are told by the text."""
    failed = flags(columns["is_error_flagged"]) | flags(columns["is_error_inferred"])
    places = np.flatnonzero(failed)
    if not len(places):
        return pa.array([""] * size, pa.string())
    kinds = columns["error_kind"].to_pylist()
    for at in places.tolist():
        kinds[at] = kind_of(kinds[at], columns["output_text"][at].as_py())
    columns["error_kind"] = pa.array(kinds, columns["error_kind"].type)
    _, from_the_end = np.unique(tools[::-1], return_index=True)
    last = np.sort(len(tools) - 1 - from_the_end)
    exits = columns["exit_code"].to_pylist() if "exit_code" in columns else [None] * len(kinds)
    lines: dict[int, list[str]] = {}
    for at in last[failed[last]].tolist():
        line = error_line(columns["tool"][at].as_py(), kinds[at], exits[at])
        lines.setdefault(int(of[at]), []).append(line)
    return pa.array([error_lines(lines.get(rollout, ())) for rollout in range(size)], pa.string())


def _output_facts(values: dict[str, Any], calls: Children, size: int) -> None:
    of = calls.of
    sizes = calls.columns["output_bytes"]
    has_output = is_known(sizes)
    sums = _sums(of, sizes.fill_null(0).to_numpy(zero_copy_only=False), size).astype(np.int64)
    ended = _count(of, flags(pc.not_equal(calls.columns["status"], "no_result")), size)
    unknown = (_count(of, has_output, size) == 0) & (ended > 0)
    values["tool_output_bytes"] = nullable(sums, unknown)
    values["tool_output_tokens_estimate"] = nullable(sums // BYTES_PER_TOKEN, unknown)


def _repeat_facts(values: dict[str, Any], calls: Children, size: int) -> None:
    of, columns = calls.of, calls.columns
    known = is_known(columns["arguments_raw"])
    is_repeat, is_near = is_known(columns["repeat_of"]), is_known(columns["near_repeat_of"])
    is_wasted = flags(columns["is_wasted"])
    wasted_bytes = _sums(of[is_wasted], columns["output_bytes"].filter(columns["is_wasted"]).to_numpy(), size)
    loops = np.zeros(size, np.int64)
    (hashes,) = codes(columns["arguments_hash"])
    for rollout in np.unique(of[is_repeat]).tolist():
        here = slice(*np.searchsorted(of, [rollout, rollout + 1]).tolist())
        loops[rollout] = longest_loop(hashes[here][known[here]].tolist())
    latencies = floats(columns["latency_s"])
    is_unknown = (_count(of, known, size) == 0) & (np.bincount(of, minlength=size) > 0)
    counts = {
        "num_exact_repeats": _count(of, is_repeat, size),
        "num_near_repeats": _count(of, is_near, size),
        "num_repeats_same_output": _count(of, flags(pc.equal(columns["repeat_output"], "same")), size),
        "num_repeats_changed_output": _count(of, flags(pc.equal(columns["repeat_output"], "different")), size),
        "num_wasted_calls": _count(of, is_wasted, size),
        "wasted_tokens_estimate": wasted_bytes.astype(np.int64) // BYTES_PER_TOKEN,
        "longest_loop": loops,
    }
    values |= {name: nullable(count, is_unknown) for name, count in counts.items()}
    untimed = is_unknown | (_count(of, ~np.isnan(latencies), size) == 0)
    values["wasted_latency_s"] = nullable(_sums(of[is_wasted], np.nan_to_num(latencies[is_wasted]), size), untimed)


def _turn_facts(values: dict[str, Any], calls: Children, size: int) -> None:
    of = calls.of
    turns = calls.columns["turn"].to_numpy(zero_copy_only=False)
    is_first = np.ones(len(of), np.bool_)
    is_first[1:] = (of[1:] != of[:-1]) | (turns[1:] != turns[:-1])
    rounds = np.cumsum(is_first) - 1
    round_of = of[is_first]
    widths = np.bincount(rounds, minlength=len(round_of))
    widest = np.zeros(size, np.int64)
    np.maximum.at(widest, round_of, widths)
    latencies: Floats = floats(calls.columns["latency_s"])
    timed = latencies >= 0.0
    slowest = np.zeros(len(round_of))
    np.maximum.at(slowest, rounds[timed], latencies[timed])
    untimed = _count(of, timed, size) == 0
    values |= {
        "max_parallel_calls": pa.array(widest),
        "num_tool_rounds": pa.array(np.bincount(round_of, minlength=size)),
        "num_parallel_turns": pa.array(_count(round_of, widths > 1, size)),
        "tool_latency_s": nullable(_sums(of[timed], latencies[timed], size), untimed),
        "tool_critical_path_s": nullable(_sums(round_of, slowest, size), untimed),
    }


def _times(block: Rollouts, size: int) -> None:
    """Fill in the rollout's start, end and latency from what is timed in it."""
    values = block.values
    children = [rows for rows in (block.messages, block.tool_calls) if rows is not None]
    for name, choose, first in (("started_at", np.minimum, _LAST), ("ended_at", np.maximum, -_LAST)):
        found = np.full(size, first)
        for rows in children:
            if name in rows.columns:
                known = is_known(rows.columns[name])
                choose.at(found, rows.of[known], micros(rows.columns[name])[known])
        _fill(values, name, nullable(found, found == first).cast(TIME))
    starts, ends = values["started_at"], values["ended_at"]
    spans = (micros(ends) - micros(starts)) / 1e6
    is_span = is_known(starts) & is_known(ends) & (spans >= 0)
    _fill(values, "latency_s", nullable(np.where(is_span, spans, 0.0), ~is_span))
