"""Sentences and lists of the Trajectory page. Pure functions from frames to text."""

from collections.abc import Iterable

import pandas as pd

from dashboard.words import NOTHING, number, plural, seconds, size, whole

MESSAGES_A_PAGE = 60
_FACTS: tuple[tuple[str, str, str], ...] = (
    ("Run", "run_name", ""),
    ("Step", "step", "whole"),
    ("Split", "split", ""),
    ("Sample", "sample_id", ""),
    ("Attempt", "attempt", "whole"),
    ("Environment", "environment", ""),
    ("Agent", "agent", ""),
    ("Model", "model", ""),
    ("Trained on", "subset", ""),
    ("Ended as", "stop_reason", ""),
    ("Error", "error_type", ""),
    ("Error text", "error_message", ""),
    ("Advantage", "advantage", "number"),
    ("Input tokens", "input_tokens", "whole"),
    ("of them cached", "cached_tokens", "whole"),
    ("Output tokens", "output_tokens", "whole"),
    ("of them reasoning", "reasoning_tokens", "whole"),
    ("Tool output", "tool_output_bytes", "size"),
    ("Duration", "latency_s", "seconds"),
    ("Waiting for tools", "tool_critical_path_s", "seconds"),
    ("Tool calls", "num_tool_calls", "whole"),
    ("of them failed", "num_tool_errors", "whole"),
    ("Exact repeats", "num_exact_repeats", "whole"),
    ("of them wasted", "num_wasted_calls", "whole"),
    ("Widest parallel turn", "max_parallel_calls", "whole"),
    ("Began, UTC", "started_at", "time"),
    ("Cost, US$", "cost_usd", "number"),
    ("Read from", "raw_ref", ""),
    ("Native id", "native_id", ""),
)


def verdict(facts: pd.Series) -> str:
    """Which rollout it is and how it went."""
    reward = "was not scored" if pd.isna(facts["reward"]) else f"was rewarded {number(facts['reward'])}"
    if pd.notna(facts["passed"]):
        reward += " (passed)" if facts["passed"] else " (not passed)"
    return f"{where(facts)} {reward}. {_ending(facts['status'])}{_behaviour(facts)}."


def where(facts: pd.Series) -> str:
    """The rollout by its run, step, split, sample and attempt."""
    parts = [str(facts["run_name"] if pd.notna(facts["run_name"]) else facts["run_id"])[:60]]
    if pd.notna(facts["step"]):
        parts.append(f"step {whole(facts['step'])}")
    if pd.notna(facts["split"]):
        parts.append(str(facts["split"]))
    if pd.notna(facts["sample_id"]):
        parts.append(f"sample {str(facts['sample_id'])[:60]}")
    if pd.notna(facts["attempt"]):
        parts.append(f"attempt {whole(facts['attempt'])}")
    return ", ".join(parts)


def _ending(status: object) -> str:
    if not isinstance(status, str):
        return "How it ended is unknown"
    words = {"completed": "It completed", "truncated": "It was cut off", "cancelled": "It was cancelled"}
    return words.get(status, f"It ended with {status.replace('_', ' ')}")


def _behaviour(facts: pd.Series) -> str:
    if pd.isna(facts["num_messages"]):
        return ""
    said = []
    if pd.notna(facts["num_tool_calls"]):
        said.append(plural(facts["num_tool_calls"], "tool call"))
    said.append(f"{plural(facts['num_turns'], 'turn')}")
    if pd.notna(facts["output_tokens"]):
        said.append(plural(facts["output_tokens"], "output token"))
    if pd.notna(facts["latency_s"]):
        said.append(seconds(facts["latency_s"]))
    return " after " + ", ".join(said)


def caution(facts: pd.Series) -> str:
    """What could mislead in this rollout, or what went wrong."""
    parts = []
    if pd.notna(facts["num_tool_errors"]) and facts["num_tool_errors"] > 0:
        guessed = facts["num_tool_errors_inferred"]
        note = f", {whole(guessed)} recognised only from the text" if pd.notna(guessed) and guessed > 0 else ""
        parts.append(f"{plural(facts['num_tool_errors'], 'tool call')} failed{note}.")
    if pd.notna(facts["num_wasted_calls"]) and facts["num_wasted_calls"] > 0:
        parts.append(f"{plural(facts['num_wasted_calls'], 'call')} repeated an earlier one for the same output.")
    if str(facts["status"]) in ("infra_error", "grader_error") and pd.notna(facts["reward"]):
        parts.append("It failed for no fault of the policy, and was scored all the same.")
    return " ".join(parts)


def nothing_said(facts: pd.Series) -> str:
    """That there is no trajectory, and whether the source has none or this rollout brought none."""
    if pd.isna(facts["num_messages"]):
        return f"No messages and no tool calls of this rollout were kept by its source ({facts['source_format']})."
    return "This rollout ended before a message was written."


def facts_shown(facts: pd.Series) -> Iterable[tuple[str, str]]:
    """Facts worth a line each, those that are known."""
    for label, column, form in _FACTS:
        value = facts[column]
        if pd.isna(value):
            continue
        if form == "whole":
            yield label, whole(value)
        elif form == "number":
            yield label, number(value)
        elif form == "size":
            yield label, size(value)
        elif form == "seconds":
            yield label, seconds(value)
        elif form == "time":
            yield label, f"{value:%Y-%m-%d %H:%M:%S}"
        else:
            yield label, str(value)[:600]


def scores_shown(scores: pd.DataFrame) -> Iterable[tuple[str, str, str]]:
    """Grader, what it said (value, weight, passed), and its reasons."""
    for row in scores.to_dict("records"):
        value = (
            str(row["text_value"]) if pd.isna(row["value"]) and pd.notna(row["text_value"]) else number(row["value"])
        )
        said = ["not scored" if value == NOTHING else value[:200]]
        if pd.notna(row["passed"]):
            said.append("passed" if row["passed"] else "not passed")
        if pd.notna(row["weight"]):
            said.append(f"weight {number(row['weight'])}")
        yield str(row["grader"]), " · ".join(said), str(row["explanation"]) if pd.notna(row["explanation"]) else ""


def windows(outline: pd.DataFrame, size: int = MESSAGES_A_PAGE) -> list[tuple[int, int]]:
    """First and last message of each page: `size` messages, more where answers to the last one's calls follow."""
    found: list[tuple[int, int]] = []
    first: int | None = None
    count, last = 0, 0
    for index, role in zip(outline["message_index"], outline["role"], strict=True):
        if first is not None and (count >= 2 * size or (count >= size and role != "tool")):
            found.append((first, last))
            first, count = None, 0
        first = int(index) if first is None else first
        last, count = int(index), count + 1
    return [*found, (first, last)] if first is not None else found


def window_of(pages: list[tuple[int, int]], message: int | None) -> int:
    """Number of the page that holds a message, from 0; the first where there is none."""
    if message is None:
        return 0
    return next((number for number, (_, last) in enumerate(pages) if message <= last), max(0, len(pages) - 1))


def error_places(calls: pd.DataFrame) -> list[int]:
    """Messages that asked for calls that failed, in order."""
    return sorted({int(each) for each in calls.loc[calls["is_error"], "message_index"].dropna()})


def next_place(places: list[int], current: int | None, *, back: bool = False) -> int | None:
    """The place after the current one (or before it), None where there is none."""
    if back:
        earlier = [each for each in places if current is not None and each < current]
        return earlier[-1] if earlier else None
    return next((each for each in places if current is None or each > current), None)
