"""Questions about what was read: sources, bad records, and what a run holds after it."""

import pandas as pd

from queries.connection import Reading
from queries.filters import EVERYTHING, Filters


def run_overview(store: Reading, filters: Filters = EVERYTHING) -> pd.DataFrame:
    """One row per run and split, ordered by them: what does the store hold of each run?

    Columns: run_id, name, split, kind, source_format, reward_name, num_steps, first_step, last_step, environments
    (list), num_samples_max, num_rollouts, num_effective, num_scored, first_reward, last_reward (means over samples),
    num_rejects.
    """
    return store.ask("run_overview", filters.parameters())


def ingest_health(store: Reading, filters: Filters = EVERYTHING) -> pd.DataFrame:
    """One row per source and run, newest first: what was read, from where, and how much of it was bad?

    Columns: run_id, source_format, path, num_rollouts, num_rejects, num_bytes (bytes), num_rows (JSON by table), notes
    (JSON list), fills (JSON list of fields the format can fill), started_at, ended_at, source_id.
    """
    return store.ask("ingest_health", filters.parameters())


def rejects(store: Reading, filters: Filters = EVERYTHING, *, limit: int | None = None) -> pd.DataFrame:
    """One row per bad record, ordered by run, file and position: which records could not be read, and why?

    Columns: run_id, reason, file, position, snippet (first 200 characters), source_id.
    """
    return store.ask("rejects", {**filters.parameters(), "limit": limit})


def reject_reasons(store: Reading, filters: Filters = EVERYTHING) -> pd.DataFrame:
    """One row per run and reason, most frequent first: which faults are the most frequent among the bad records?

    Columns: run_id, reason, num_rejects, num_files, example_file, example_position.
    """
    return store.ask("reject_reasons", filters.parameters())


def table_sizes(store: Reading, filters: Filters = EVERYTHING) -> pd.DataFrame:
    """One row per table that holds something, in the order of the contract: how many rows does each table hold?

    Columns: table_name, num_rows, num_runs (of the runs asked for).
    """
    return store.ask("table_sizes", {"run_ids": filters.parameters()["run_ids"]})
