"""Sentences and tables of the Ingest health page. Pure functions from frames to text."""

import json
from collections.abc import Mapping

import pandas as pd

from dashboard.parts import Figure
from dashboard.words import plural, size, whole

COVERED = {
    "sample": "num_sample",
    "step": "num_step",
    "split": "num_split",
    "subset": "num_subset",
    "reward": "num_reward",
    "status": "num_status",
    "messages": "num_messages",
    "tool_calls": "num_tool_calls",
    "tool_latency": "num_tool_latency",
    "tokens": "num_tokens",
    "reasoning_tokens": "num_reasoning_tokens",
    "latency": "num_latency",
    "cost": "num_cost",
    "subscores": "num_scores",
    "metrics": "num_metrics",
    "checkpoints": "num_checkpoints",
}
"""Column of the question `coverage` by field of the sources; the last three count rows of their own tables."""
_OWN_TABLES = ("subscores", "metrics", "checkpoints")


ONE_LINE = 100
"""Characters of a remark that fit into its column."""
JOINED = "lines joined by rollout_id"
"""Heading of the lines of event logs: none is a rollout, several make one up together."""


def num_rollouts(sizes: pd.DataFrame) -> int:
    """Rollouts in the store, by `table_sizes`: those that several sources make up together belong to none of them."""
    return int(sizes.loc[sizes["table_name"] == "rollouts", "num_rows"].sum())


def sources(health: pd.DataFrame) -> pd.DataFrame:
    """The sources as they are listed: where any brought lines that are joined, how many stands after its rollouts."""
    pieces = health["num_rows"].map(_pieces)
    if not pieces.any():
        return health
    shown = health.copy()
    shown.insert(health.columns.tolist().index("num_rollouts") + 1, JOINED, pieces)
    return shown


def _pieces(by_table: object) -> int:
    found = json.loads(by_table) if isinstance(by_table, str) else {}
    return int(found.get("parts", 0))


def verdict(health: pd.DataFrame, rollouts: int) -> str:
    """What was read, and how much of it was bad."""
    read = f"{plural(health['source_id'].nunique(), 'source')} read"
    into = f"{plural(rollouts, 'rollout')} in {plural(health['run_id'].nunique(), 'run')}"
    bad = int(health["num_rejects"].sum())
    if bad == 0:
        return f"{read}: {into}, and not one bad record."
    hit = int((health["num_rejects"] > 0).sum())
    return f"{read}: {into}. {plural(bad, 'record')} of {plural(hit, 'source')} could not be read."


def caution(health: pd.DataFrame, coverage: pd.DataFrame) -> str:
    """Sources that brought nothing, and what is missing that most pages need."""
    parts = []
    brought = health["num_rollouts"] + health["num_rows"].map(_pieces)
    barren = int(((brought == 0) & (health["num_rejects"] > 0)).sum())
    if barren:
        parts.append(f"{plural(barren, 'source')} brought bad records and no rollout.")
    lacking = [each for each in absent(coverage) if each in ("sample", "step", "reward")]
    if lacking:
        parts.append(f"No rollout says its {' or its '.join(lacking)}: pages that need it stay empty.")
    return " ".join(parts)


def figures(health: pd.DataFrame, rollouts: int) -> list[Figure]:
    """The totals."""
    notes = sum(len(texts(each)) for each in health["notes"])
    return [
        Figure("Sources", whole(health["source_id"].nunique())),
        Figure("Rollouts", whole(rollouts)),
        Figure("Bad records", whole(health["num_rejects"].sum())),
        Figure("Warnings", whole(notes), help="Remarks of the reader, listed below."),
        Figure(
            "Read", size(health.drop_duplicates("source_id")["num_bytes"].sum()), help="Size of the files as given."
        ),
    ]


def texts(value: object) -> list[str]:
    """A JSON list of texts; empty where it is none."""
    try:
        found = json.loads(value) if isinstance(value, str) else []
    except ValueError:
        return []
    return [str(each) for each in found] if isinstance(found, list) else []


def notes(health: pd.DataFrame, names: Mapping[str, str]) -> pd.DataFrame:
    """One row per remark, the most frequent first: remark, num_sources, runs."""
    rows = [
        {"remark": text, "source_id": row["source_id"], "run": names.get(row["run_id"], row["run_id"])}
        for row in health.to_dict("records")
        for text in texts(row["notes"])
    ]
    frame = pd.DataFrame(rows, columns=["remark", "source_id", "run"])
    found = frame.groupby("remark", as_index=False).agg(
        num_sources=("source_id", "nunique"), runs=("run", lambda each: ", ".join(sorted(set(each))[:6]))
    )
    return found.sort_values(["num_sources", "remark"], ascending=[False, True], ignore_index=True)


def filled(coverage: pd.DataFrame, names: Mapping[str, str]) -> pd.DataFrame:
    """One row per run: the share of its rollouts that have each field, 0–1 (own tables: rows)."""
    shares = {
        field.replace("_", " "): coverage[column] / coverage["num_rollouts"]
        for field, column in COVERED.items()
        if field not in _OWN_TABLES
    }
    counts = {f"{field}, rows": coverage[COVERED[field]] for field in _OWN_TABLES}
    return pd.DataFrame(
        {
            "run": coverage["run_id"].map(dict(names)).fillna(coverage["run_id"]),
            "rollouts": coverage["num_rollouts"],
            **{name: share.astype(float) for name, share in shares.items()},
            **counts,
        }
    )


def absent(coverage: pd.DataFrame) -> list[str]:
    """Fields that nothing in the store says anything about."""
    return [field for field, column in COVERED.items() if not coverage[column].sum()]


def absence(field_words: str, titles: list[str]) -> str:
    """That a field is missing, and which formats bring it."""
    brought = f"brought by {', '.join(titles)}" if titles else "no known format brings it"
    return f"{field_words}: {brought}"
