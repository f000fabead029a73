"""Questions about single rollouts: lists of them."""

import pandas as pd

from ingest.errors import QuestionError
from queries.connection import Reading
from queries.filters import EVERYTHING, Filters

SORTS = ("run", "reward", "tool_calls", "turns", "latency", "output_tokens", "repeats", "tool_errors")
"""`reward` lists the lowest first, the others the highest first; `run` by run, step, sample and attempt."""


def rollouts(
    store: Reading,
    filters: Filters = EVERYTHING,
    *,
    sample_ids: tuple[str, ...] | None = None,
    rollout_ids: tuple[str, ...] | None = None,
    sort: str = "run",
    limit: int | None = None,
    offset: int = 0,
) -> pd.DataFrame:
    """One row per rollout, ordered as `sort` (one of `SORTS`) says: which rollouts are these?

    Columns: run_id, rollout_id, sample_id, attempt, split, step, status, reward, passed, num_tool_calls,
    num_tool_errors, num_turns, num_exact_repeats, num_near_repeats, num_wasted_calls, input_tokens, output_tokens,
    reasoning_tokens (tokens), latency_s (seconds), cost_usd, subset, environment, stop_reason, error_type, native_id.

    Raises:
        QuestionError: `sort` is none of `SORTS`.
    """
    if sort not in SORTS:
        raise QuestionError(f"sort must be one of {', '.join(SORTS)}, not {sort!r}")
    own = {"sort": sort, "limit": limit, "offset": offset}
    ids = {
        "sample_ids": None if sample_ids is None else list(sample_ids),
        "rollout_ids": None if rollout_ids is None else list(rollout_ids),
    }
    return store.ask("rollouts", {**filters.parameters(), **own, **ids})
