"""Scores that come by themselves for rollouts that were read whole: a second grader, a re-grade, labels of people.

They are put beside what the rollout's own source brought, whatever format that was, and make no rollout of their own.
"""

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import duckdb

from ingest.catalog import scan
from ingest.dialects import Values
from ingest.finish import staged
from ingest.schema_rollouts import ROLLOUTS, SCORES
from ingest.staging import short_hash
from ingest.store import Store

Key = tuple[str, str]
"""A run's id, and a rollout as the scores name it."""


class LaterScores:
    """Which fragments are later scores, of which rollouts, and what was said of these before.

    A rollout goes by the id its source gave it, or by its id in the store. The connection has a view `fragments` of all
    fragments of the runs concerned, and a table `replaced` of the sources whose stored rows the staged folders replace.
    """

    def __init__(
        self, store: Store, folders: Sequence[Path], run_ids: Sequence[str], connection: duckdb.DuckDBPyConnection
    ) -> None:
        self.rollout_ids: dict[Key, str] = {}
        self.earlier: dict[Key, list[Values]] = defaultdict(list)
        keys = connection.sql(
            "SELECT run_id, rollout_key FROM fragments GROUP BY ALL HAVING bool_and(payload->>'$.type' = 'score')"
        ).fetchall()
        if not keys:
            return
        named = {(run, name): (run, key) for run, key in keys for name in (short_hash(run, key), key)}
        connection.execute("CREATE TABLE named (run_id VARCHAR, rollout_id VARCHAR)")
        connection.executemany("INSERT INTO named VALUES (?, ?)", [*named])
        for place in ("rollouts", "scores"):
            dataset = staged(folders, place)
            table = ROLLOUTS if place == "rollouts" else SCORES
            connection.register(f"new_{place}", dataset if dataset is not None else table.arrow.empty_table())
            kept = store.files(place, run_ids)
            connection.execute(_whole(place, scan(table, kept) if kept else None))
        whole = connection.sql("SELECT DISTINCT run_id, rollout_id FROM whole_rollouts").fetchall()
        self.rollout_ids = {named[run, rollout]: rollout for run, rollout in sorted(whole)}
        columns = ("grader", "grader_version", "kind")
        said = connection.sql(
            "SELECT DISTINCT run_id, rollout_id, grader, grader_version, kind FROM whole_scores ORDER BY ALL"
        )
        for run, rollout, *values in said.fetchall():
            self.earlier[run, rollout].append(dict(zip(columns, values, strict=True)))

    def of(self, run_id: str, key: str) -> tuple[str, list[Values]] | None:
        """The rollout that scores under this key come later for, and what was said of it before; else None."""
        rollout_id = self.rollout_ids.get((run_id, key))
        return None if rollout_id is None else (rollout_id, self.earlier[run_id, rollout_id])


def _whole(name: str, stored: str | None) -> str:
    """A view of the rows of a table that are of rollouts named here and were not joined from fragments."""
    columns = "run_id, rollout_id, source_id" + (", grader, grader_version, kind" if name == "scores" else "")
    # Names of columns are ours, files of the lake are quoted.
    old = f"UNION ALL SELECT {columns} FROM {stored} WHERE source_id NOT IN (FROM replaced)" if stored else ""  # noqa: S608 - as said above
    new = f"SELECT {columns} FROM new_{name}"  # noqa: S608 - as said above
    is_wanted = "NOT starts_with(source_id, 'joined:') AND (run_id, rollout_id) IN (FROM named)"
    return f"CREATE VIEW whole_{name} AS FROM ({new} {old}) WHERE {is_wanted}"
