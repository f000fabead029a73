"""Questions about what there is to ask about: runs by name, choices of filters, what filters leave, filled fields."""

import pandas as pd

from queries.connection import Reading
from queries.filters import EVERYTHING, Filters


def run_names(store: Reading) -> pd.DataFrame:
    """One row per run, ordered by when it began (unknown last) and id: which runs are there?

    Columns: run_id, name, kind.
    """
    return store.ask("run_names", {})


def filter_choices(store: Reading) -> pd.DataFrame:
    """One row per field and choice, ordered by field and frequency: by what can rollouts be restricted?

    Columns: field (`agents`, `environments`, `tools`), choice, num (rollouts, or calls).
    """
    return store.ask("filter_choices", {})


def filter_counts(store: Reading, filters: Filters = EVERYTHING) -> pd.DataFrame:
    """One row: how many rollouts do the filters leave?

    Columns: num_rollouts, num_all.
    """
    finer = (filters.statuses, filters.tools, filters.environments, filters.agents)
    by_cell = not any(each is not None for each in finer) and filters.subset in (None, "all")
    return store.ask("filter_counts_of_cells" if by_cell else "filter_counts", filters.parameters())


def coverage(store: Reading, filters: Filters = EVERYTHING) -> pd.DataFrame:
    """One row per run, ordered by id: which fields are filled at all?

    Columns: run_id, num_rollouts, and of them those with num_sample, num_step, num_split, num_subset, num_reward,
    num_status, num_messages, num_tool_calls, num_tool_latency, num_tokens, num_reasoning_tokens, num_latency, num_cost;
    num_scores, num_metrics, num_checkpoints (rows of these tables).
    """
    return store.ask("coverage", filters.parameters())
