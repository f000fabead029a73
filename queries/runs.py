"""The question about runs as a whole."""

from collections.abc import Hashable, Mapping
from typing import Any

import pandas as pd

from queries.connection import Reading
from queries.filters import EVERYTHING, Filters

HIGH_FAILURE_SHARE = 0.05
"""Failures above this share of rollouts earn a badge: they move a mean reward by as much as a checkpoint does."""


def runs(store: Reading, filters: Filters = EVERYTHING) -> pd.DataFrame:
    """One row per run, the latest activity first: which runs are there, and how did they go?

    Only the runs of `filters` are used: a summary of a run knows nothing of the rest.

    Columns: run_id, name, kind, num_rollouts, provider, source_format, environments (list), model, base_model,
    num_steps, first_step, last_step, splits (list), reward_split (the split all figures come from: valid where scored,
    else test, train, production, unknown), reward_step, reward_last (mean over samples), reward_num_samples,
    reward_first_step, reward_first, reward_change, reward_by_step (list), tool_calls_mean, output_tokens_mean (at
    reward_step), failure_share (0–1 over known endings), num_status_known, num_scored, first_at, last_at (UTC), status,
    num_rejects, health (list of remarks in words, empty when there is none).
    """
    frame = store.ask("runs", filters.parameters())
    frame["health"] = [_health(row) for row in frame.to_dict("records")]
    return frame


def _health(run: Mapping[Hashable, Any]) -> list[str]:
    """What a reader should know of a run before trusting its figures."""
    remarks = []
    if str(run["status"]).lower() in ("failed", "error", "errored", "crashed", "cancelled", "canceled", "killed"):
        remarks.append(f"run {run['status']}")
    total, bad = int(run["num_rollouts"]), int(run["num_rejects"])
    scored = 0 if pd.isna(run["num_scored"]) else int(run["num_scored"])
    if bad:
        remarks.append(f"{bad:,} bad record{'s' if bad > 1 else ''}".replace(",", "\u202f"))
    if total == 0:
        return [*remarks, "no rollouts"]
    share = run["failure_share"]
    if pd.notna(share) and share > HIGH_FAILURE_SHARE:
        remarks.append(f"{100 * share:.0f} % of rollouts failed")
    if scored == 0:
        remarks.append("nothing scored")
    elif scored < total:
        remarks.append(f"{total - scored:,} not scored".replace(",", "\u202f"))
    return remarks
