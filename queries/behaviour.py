"""Questions about behaviour over training steps: calls, turns, tokens, seconds, and how rollouts end."""

import pandas as pd

from queries.connection import Reading
from queries.filters import EVERYTHING, Filters
from queries.frames import insert_after, mean_intervals

_WITH_INTERVAL = {
    "tool_calls": "tool_calls_mean",
    "turns": "turns_mean",
    "output_tokens": "output_tokens_mean",
    "reasoning_tokens": "reasoning_tokens_mean",
    "latency": "latency_mean_s",
}


def behaviour_by_step(store: Reading, filters: Filters = EVERYTHING) -> pd.DataFrame:
    """One row per run, split and step, ordered by them: how does the agent's behaviour change over training?

    Columns: run_id, split, step, num_rollouts, num_samples; over rollouts tool_calls_mean, tool_calls_p95, turns_mean,
    input_tokens_mean, output_tokens_mean, reasoning_tokens_mean (tokens), latency_mean_s, latency_p50_s, latency_p95_s
    (seconds), each with the rollouts it is known of (num_…_known); …_ci_low and …_ci_high of the means of tool_calls,
    turns, output_tokens, reasoning_tokens and latency (95 % t interval, clustered by sample); rates 0–1:
    tool_error_rate, repeat_rate, near_repeat_rate, wasted_call_rate (of num_calls, the last three of
    num_calls_repeats_known), parallel_turn_rate (of num_tool_rounds), truncation_rate (of num_status_known),
    no_tool_call_rate (of num_tool_calls_known). NULL where the source does not say.
    """
    frame = store.ask("behaviour_by_step", filters.parameters())
    spread = store.ask("behaviour_spread", filters.parameters())
    frame.insert(4, "num_samples", spread["num_samples"])
    for name, mean in _WITH_INTERVAL.items():
        spread[mean] = frame[mean]
        low, high = mean_intervals(spread, mean, f"{name}_sd", f"{name}_num_samples")
        insert_after(frame, mean, {f"{name}_ci_low": low, f"{name}_ci_high": high})
    return frame


def stop_reasons_by_step(store: Reading, filters: Filters = EVERYTHING) -> pd.DataFrame:
    """One row per run, split, step, status and stop reason, the most frequent first: how do rollouts end?

    Columns: run_id, split, step, status (NULL = not known how it ended), stop_reason (the source's own word),
    num_rollouts, share (of the step's rollouts, 0–1).
    """
    return store.ask("stop_reasons_by_step", filters.parameters())
