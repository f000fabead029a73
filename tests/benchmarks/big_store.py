"""Builds a big store: `python -m tests.benchmarks.big_store --out DIR` (1 000 000 rollouts, 7 000 000 tool calls).

The rows of `big_rows` go through the only writer of the store, some runs at a time, so that memory stays flat and the
store is what an ingest would have left. Beside it the same tables as native ones of one DuckDB file, to compare with.
"""

import argparse
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa

from ingest import catalog
from ingest.finish import summaries
from ingest.schema import TABLES
from ingest.store import Store
from tests.benchmarks.big_rows import Rollouts, Shape, as_table, known, run_id, texts

NATIVE = "native.duckdb"
"""File beside the lake with the same tables, native."""
AT_ONCE = 50_000
"""Rollouts made and written together."""
_METRICS = ("reward", "eval_reward", "loss", "kl")
_BEGAN = datetime(2026, 6, 1, tzinfo=UTC)


def build(root: Path, shape: Shape) -> Path:
    """Write the store and the native file; returns the root."""
    store = Store(root)
    with store.transaction():
        for numbers in _chunks(shape):
            rollouts = Rollouts(shape, numbers)
            run_ids = [run_id(each) for each in numbers]
            sources = [f"file:///bench/{each}.jsonl" for each in run_ids]
            for name, rows in {**rollouts.tables(), **about_runs(shape, run_ids)}.items():
                store.replace(name, partial(_same, rows), run_ids, sources)
            files = store.files("rollouts", run_ids)
            store.replace("run_summaries", partial(summaries, files), run_ids, None)
    write_native(root)
    return root


def _same(rows: pa.Table) -> pa.Table:
    return rows


def _chunks(shape: Shape) -> Iterator[np.ndarray]:
    at_once = max(AT_ONCE // shape.per_run, 1)
    for first in range(0, shape.runs, at_once):
        yield np.arange(first, min(first + at_once, shape.runs))


def about_runs(shape: Shape, run_ids: list[str]) -> dict[str, pa.Table]:
    """What a source says of the runs themselves: their description, metrics and checkpoints, and the ledger's row."""
    num = len(run_ids)
    runs = pa.array(run_ids)
    sources = pa.array([f"file:///bench/{each}.jsonl" for each in run_ids])
    common = {"run_id": runs, "source_id": sources, "source_format": pa.array(["observatory_jsonl"] * num)}
    settings = json.dumps({"max_tool_calls": 40, "learning_rate": 1e-5})
    described = {
        **common,
        **{"name": runs, "kind": ["training"] * num, "hyperparameters": [settings] * num, "precedence": [100] * num},
    }
    read = {
        **common,
        **{"path": sources, "fingerprint": runs, "content_hash": runs, "reader_version": ["1"] * num},
        **{"num_bytes": [1] * num, "num_rollouts": [shape.per_run] * num, "num_rejects": [0] * num},
        **{"num_rows": [f'{{"rollouts": {shape.per_run}}}'] * num, "notes": ["[]"] * num, "fills": ["[]"] * num},
        **{"started_at": [_BEGAN] * num, "ended_at": [_BEGAN] * num},
    }
    return {
        "runs": as_table("runs", described, num),
        "ingests": as_table("ingests", read, num),
        **_by_step(shape, runs, sources),
    }


def _by_step(shape: Shape, runs: pa.Array, sources: pa.Array) -> dict[str, pa.Table]:
    names = len(_METRICS)
    each = np.repeat(np.arange(len(runs)), shape.steps * names)
    step, name = np.divmod(np.tile(np.arange(shape.steps * names), len(runs)), names)
    metrics = {
        **{"run_id": runs.take(each), "source_id": sources.take(each), "step": step, "position": step * names + name},
        **{"name": texts(_METRICS, name), "value": known(0.3 + 0.4 * step / shape.steps, step % 17 != 16)},
    }
    each = np.repeat(np.arange(len(runs)), -(-shape.steps // 10))
    step = np.tile(np.arange(0, shape.steps, 10), len(runs))
    saved = {"run_id": runs.take(each), "source_id": sources.take(each), "step": step}
    return {
        "metrics": as_table("metrics", metrics, len(metrics["step"])),
        "checkpoints": as_table("checkpoints", saved, len(step)),
    }


def write_native(root: Path) -> None:
    """The published tables once more as native tables, the views that collapse several sources over them."""
    path = root / NATIVE
    path.unlink(missing_ok=True)
    with duckdb.connect(str(path)) as connection:
        connection.execute("SET memory_limit = '2GB'; SET TimeZone = 'UTC'")
        connection.execute(f"ATTACH {catalog.literal(str(root / catalog.CATALOG_FILE))} AS store (READ_ONLY)")
        for each in TABLES:
            connection.execute(f"CREATE TABLE {each.name}_stored AS FROM store.{each.name}_stored")
            (text,) = connection.execute(
                "SELECT sql FROM duckdb_views() WHERE database_name = 'store' AND view_name = $name",
                {"name": each.name},
            ).fetchall()[0]
            connection.execute(text)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--rollouts", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    build(given.out, Shape(given.rollouts, given.runs, seed=given.seed))


if __name__ == "__main__":
    main()
