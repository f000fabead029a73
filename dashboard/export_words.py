"""Sentences of the Export page. Pure functions from frames to text."""

import pandas as pd

from dashboard.words import plural


def verdict(sizes: pd.DataFrame, restriction: str) -> str:
    """What an export would hold."""
    rows = dict(zip(sizes["table_name"], sizes["num_rows"], strict=True))
    held = f"{plural(rows.get('rollouts', 0), 'rollout')}, {plural(rows.get('messages', 0), 'message')} and "
    held += plural(rows.get("tool_calls", 0), "tool call")
    runs = plural(rows.get("runs", 0), "run")
    scope = "" if restriction == "everything" else f" (of {restriction})"
    return f"An export holds {runs}{scope} with {held}, in {plural(len(sizes), 'table')} of documented Parquet files."
