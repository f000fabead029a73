"""Questions about repeated calls: which, how often, at what cost, in which patterns and loops."""

import pandas as pd

from queries.connection import Reading
from queries.filters import EVERYTHING, Filters


def repeats_by_tool(store: Reading, filters: Filters = EVERYTHING) -> pd.DataFrame:
    """One row per run and tool, the most repeats first: which tools are called again, and what does it cost?

    Columns: run_id, tool, num_calls (whose repeats can be told), num_calls_unknown (the source kept no arguments),
    num_exact_repeats, and of these num_same_output, num_different_output, num_unknown_output; num_near_repeats;
    num_wasted_calls (same output, and nothing between could have changed it), wasted_tokens_estimate (tokens, bytes of
    their outputs / 4), wasted_latency_s (seconds, NULL where none is known); repeat_rate, near_repeat_rate,
    wasted_call_rate (of num_calls, 0–1).
    """
    return store.ask("repeats_by_tool", filters.parameters())


def repeats_by_step(store: Reading, filters: Filters = EVERYTHING) -> pd.DataFrame:
    """One row per run, split and step, ordered by them: how often does the agent repeat itself?

    Columns: run_id, split, step, num_rollouts (whose repeats can be told), num_rollouts_unknown, then as
    `repeats_by_tool`, and rollouts_repeating_rate (rollouts with an exact repeat, 0–1), rollouts_looping_rate (with a
    loop of four calls or more, 0–1).
    """
    return store.ask("repeats_by_step", filters.parameters())


def repeat_patterns(store: Reading, filters: Filters = EVERYTHING, *, limit: int = 50) -> pd.DataFrame:
    """One row per run and pattern of calls alike, the most repeats first: what is repeated most within rollouts?

    Columns: run_id, tool, num_repeats (exact and near), num_exact_repeats, num_near_repeats, num_same_output,
    num_different_output, num_wasted_calls, num_rollouts (it is repeated in), most_in_rollout (repeats in the worst of
    them), example_arguments (of a repeat there, its first 500 characters), example_rollout_id, example_call_index,
    pattern (id).
    """
    return store.ask("repeat_patterns", {**filters.parameters(), "limit": limit})


def tool_transitions(store: Reading, filters: Filters = EVERYTHING) -> pd.DataFrame:
    """One row per run and pair of consecutive tools, the most frequent first: which tool follows which?

    Columns: run_id, from_tool (NULL = before the first call), to_tool (NULL = after the last), num_transitions, share
    (of all that follows from_tool, 0–1). Parallel calls count in the order they were requested.
    """
    return store.ask("tool_transitions", filters.parameters())


def loops(store: Reading, filters: Filters = EVERYTHING, *, limit: int = 50, offset: int = 0) -> pd.DataFrame:
    """One row per rollout with a loop, the longest first, a page of them: which rollouts go round in circles?

    Columns: run_id, rollout_id, sample_id, attempt, split, step, status, longest_loop (calls in the longest series that
    goes through a cycle of one to four calls at least twice), num_exact_repeats, num_near_repeats, num_wasted_calls,
    num_tool_calls, reward, latency_s (seconds), num_total (rollouts with a loop in all).
    """
    return store.ask("loops", {**filters.parameters(), "limit": limit, "offset": offset})
