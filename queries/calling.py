"""Questions about which rollouts make certain calls: repeats of a pattern or tool, one tool after another."""

import pandas as pd

from queries.connection import Reading
from queries.filters import EVERYTHING, Filters


def rollouts_repeating(
    store: Reading,
    filters: Filters = EVERYTHING,
    *,
    pattern: str | None = None,
    tool: str | None = None,
    limit: int = 50,
    offset: int = 0,
) -> pd.DataFrame:
    """One row per rollout with repeated calls, the most first, a page of them: which rollouts repeat themselves?

    Only repeats of a `pattern` (id, as `repeat_patterns` gives it) or of a `tool` count where these are given.
    Columns: run_id, rollout_id, sample_id, attempt, split, step, status, reward, num_repeats (exact and near),
    num_tool_calls, latency_s (seconds), num_total (rollouts in all).
    """
    own = {"pattern": pattern, "tool": tool, "limit": limit, "offset": offset}
    return store.ask("rollouts_repeating", {**filters.parameters(), **own})


def rollouts_with_transition(
    store: Reading,
    filters: Filters = EVERYTHING,
    *,
    from_tool: str | None = None,
    to_tool: str | None = None,
    limit: int = 50,
    offset: int = 0,
) -> pd.DataFrame:
    """One row per rollout where `to_tool` follows `from_tool`, most often first: in which does a tool follow another?

    None stands for the beginning (`from_tool`) and the end (`to_tool`), as in `tool_transitions`. Columns: run_id,
    rollout_id, sample_id, attempt, split, step, status, reward, num_transitions, num_tool_calls, latency_s (seconds),
    num_total (rollouts in all).
    """
    own = {"from_tool": from_tool, "to_tool": to_tool, "limit": limit, "offset": offset}
    return store.ask("rollouts_with_transition", {**filters.parameters(), **own})
