"""What crosses the sources of a run, done inside the commit: unique ids, numbered attempts, per-run summaries.

Reads staged Arrow files and the store's current Parquet files with DuckDB; writes nothing itself but staged files.
"""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds

from ingest.catalog import scan
from ingest.parquet_files import RunFiles, read_written
from ingest.schema import RUN_SUMMARIES, table
from ingest.schema_rollouts import ROLLOUTS
from ingest.staging import AS_PARQUET, own_id

MEMORY_LIMIT = "512MB"
"""Memory in which rollouts are numbered and fragments are sorted, however many they are."""


def staged(folders: Sequence[Path], name: str) -> ds.Dataset | None:
    """All staged rows of a table, None where there are none."""
    schema = table(name).arrow
    if name in AS_PARQUET:
        runs = ds.partitioning(pa.schema([schema.field("run_id")]), flavor="hive")
        parts = [
            ds.dataset(
                [str(each.path) for each in written], schema, "parquet", partitioning=runs, partition_base_dir=base
            )
            for base, written in ((str(folder / name), read_written(folder / name)) for folder in folders)
            if written
        ]
        return ds.dataset(parts) if parts else None
    files = [str(folder / f"{name}.arrow") for folder in folders if (folder / f"{name}.arrow").exists()]
    return ds.dataset(files, schema, "ipc") if files else None


def rows(
    folders: Sequence[Path], name: str, source_ids: Sequence[str] | None = None
) -> pa.RecordBatchReader | pa.Table:
    """All staged rows of a table (or those of some sources) as a stream; an empty table where there are none."""
    dataset = staged(folders, name)
    if dataset is None:
        return table(name).arrow.empty_table()
    if source_ids is not None:
        dataset = dataset.filter(ds.field("source_id").isin(source_ids))
    return pa.RecordBatchReader.from_batches(table(name).arrow, dataset.to_batches(batch_size=8_192))


def connected(spill: Path) -> duckdb.DuckDBPyConnection:
    """DuckDB in limited memory; what does not fit goes to the folder `spill`."""
    connection = duckdb.connect(config={"memory_limit": MEMORY_LIMIT, "temp_directory": str(spill)})
    connection.execute("SET TimeZone = 'UTC'")
    return connection


class Finish:
    """The finish step of one commit: staged folders in, the rows of `rollouts` and `run_summaries` out.

    `kept` are the files of `rollouts` of the runs concerned, as they are now; `replaced` the sources whose rows in them
    are about to be replaced; what does not fit in memory goes to the folder `spill`.
    """

    def __init__(self, folders: Sequence[Path], kept: Sequence[str], replaced: Sequence[str], spill: Path) -> None:
        self.folders = folders
        self.connection = connected(spill)
        names = ", ".join(ROLLOUTS.names)
        new = staged(folders, "rollouts")
        self.connection.register("staged_rollouts", new if new is not None else ROLLOUTS.arrow.empty_table())
        self.connection.execute(
            "CREATE TABLE replaced AS SELECT unnest($ids::VARCHAR[]) AS source_id", {"ids": list(replaced)}
        )
        old = "FROM staged_rollouts LIMIT 0"
        if kept:
            old = f"SELECT {names} FROM {scan(ROLLOUTS, kept)} WHERE source_id NOT IN (FROM replaced)"  # noqa: S608 - schema, quoted
        self.connection.execute(f"CREATE VIEW kept AS {old}")

    def resolve_collisions(self) -> int:
        """Give rollouts whose id is taken already (another file, another source) an id of their own.

        Returns how many ids were changed. Within one staged folder ids are unique already.
        """
        self.connection.execute(
            "CREATE OR REPLACE TABLE shared AS "
            "SELECT rollout_id FROM (SELECT run_id, rollout_id FROM kept UNION ALL "
            "SELECT run_id, rollout_id FROM staged_rollouts) GROUP BY run_id, rollout_id HAVING count(*) > 1"
        )
        seen: dict[str, Counter[str]] = {row[0]: Counter() for row in self.connection.sql("FROM shared").fetchall()}
        if not seen:
            return 0
        stored = "SELECT rollout_id, source_id FROM kept WHERE rollout_id IN (FROM shared)"
        for rollout_id, source_id in self.connection.sql(stored).fetchall():
            seen[rollout_id][source_id] += 1
        changed = 0
        for folder in self.folders:
            if mapping := _own_ids(_ids(folder), seen):
                changed += len(mapping)
                _rename(folder / "rollouts.arrow", mapping)
                for name in AS_PARQUET:
                    _rename_all(folder, name, mapping)
        self.connection.unregister("staged_rollouts")
        self.connection.register("staged_rollouts", staged(self.folders, "rollouts"))
        return changed

    def number_attempts(self) -> list[str]:
        """Number the attempts of all rollouts of the runs; returns sources already stored whose numbers change.

        Where a source numbered every attempt at a sample and no two are the same, its numbers stand; else they are
        numbered from 0 in order of (native number, source, position).
        """
        self.connection.execute(
            """
            CREATE OR REPLACE TABLE numbered AS
            WITH everything AS (
                SELECT * RENAME (attempt AS stored) FROM kept
                UNION ALL BY NAME
                SELECT * RENAME (attempt AS stored) FROM staged_rollouts
            ),
            counted AS (
                SELECT run_id, rollout_id, source_id, sample_id, native_attempt, stored,
                    count(native_attempt) OVER sample = count(*) OVER sample
                    AND count(DISTINCT native_attempt) OVER sample = count(*) OVER sample AS is_native,
                    row_number() OVER (
                        PARTITION BY run_id, split, step, environment, sample_id
                        ORDER BY native_attempt NULLS LAST, source_id, position, rollout_id
                    ) - 1 AS nth
                FROM everything
                WINDOW sample AS (PARTITION BY run_id, split, step, environment, sample_id)
            )
            SELECT run_id, rollout_id, source_id, stored,
                CASE WHEN sample_id IS NULL OR is_native THEN native_attempt ELSE nth END AS attempt
            FROM counted
            """
        )
        changed = self.connection.sql(
            "SELECT DISTINCT n.source_id FROM numbered n JOIN kept USING (run_id, rollout_id) "
            "WHERE n.stored IS DISTINCT FROM n.attempt ORDER BY 1"
        )
        return [row[0] for row in changed.fetchall()]

    def rollouts(self, also: Sequence[str]) -> pa.RecordBatchReader | pa.Table:
        """Rows of `rollouts` to write: the staged ones, and stored ones of the sources in `also`, attempts numbered."""
        if not self.connection.sql("FROM numbered WHERE stored IS DISTINCT FROM attempt LIMIT 1").fetchall():
            return rows(self.folders, "rollouts")  # their sources numbered all of them, and as we do
        columns = ", ".join("n.attempt" if name == "attempt" else f"r.{name}" for name in ROLLOUTS.names)
        self.connection.execute(
            "CREATE OR REPLACE TABLE also AS SELECT unnest($ids::VARCHAR[]) AS source_id", {"ids": list(also)}
        )
        written = "FROM staged_rollouts UNION ALL BY NAME FROM kept WHERE source_id IN (FROM also)"
        relation = self.connection.sql(
            f"SELECT {columns} FROM ({written}) r LEFT JOIN numbered n USING (run_id, rollout_id)"  # noqa: S608 - schema
        )
        return _cast(relation.to_arrow_reader(20_000), ROLLOUTS.arrow)


def _own_ids(ids: Sequence[tuple[str, str]], seen: dict[str, Counter[str]]) -> dict[str, str]:
    """New ids for a folder's rollouts whose ids are taken, given what `ids` (with their sources) it has, in order.

    `seen` counts by id and source how often an id was used before, and is brought up to date. Within a folder the
    uses of an id are numbered from 0 by source already (`PartStager`): here they are numbered on, so that a source's
    rollouts have the same ids however it was divided.
    """
    present = {rollout_id for rollout_id, _ in ids}
    sources = dict.fromkeys(source_id for _, source_id in ids)
    mapping: dict[str, str] = {}
    for plain, owner in ids:
        if plain not in seen or plain in mapping or plain not in present:
            continue
        is_taken = seen[plain].total() > 0
        for source_id in sources:
            before, number = seen[plain][source_id], 1 if source_id == owner else 0
            if number and is_taken:
                mapping[plain] = own_id(plain, source_id, before)
            while (numbered := own_id(plain, source_id, number)) in present:
                present.discard(numbered)
                if before:
                    mapping[numbered] = own_id(plain, source_id, before + number)
                number += 1
            seen[plain][source_id] += number
    return mapping


def _ids(folder: Path) -> list[tuple[str, str]]:
    dataset = staged([folder], "rollouts")
    if dataset is None:
        return []
    found = dataset.to_table(columns=["rollout_id", "source_id"])
    return list(zip(found["rollout_id"].to_pylist(), found["source_id"].to_pylist(), strict=True))


def _rename(file: Path, mapping: dict[str, str]) -> None:
    if not file.exists():
        return
    aside = file.with_suffix(".renamed")
    with pa.memory_map(str(file)) as source, pa.OSFile(str(aside), "wb") as sink:
        reader = pa.ipc.open_file(source)
        with pa.ipc.new_file(sink, reader.schema) as writer:
            at = reader.schema.get_field_index("rollout_id")
            for number in range(reader.num_record_batches):
                batch = reader.get_batch(number)
                ids = [mapping.get(each, each) for each in batch.column(at).to_pylist()]
                writer.write_batch(batch.set_column(at, reader.schema.field(at), pa.array(ids, pa.string())))
    aside.replace(file)


def _rename_all(folder: Path, name: str, mapping: dict[str, str]) -> None:
    """The same of a table staged as Parquet."""
    before = read_written(folder / name)
    after = RunFiles(table(name), folder / name)
    for batch in rows([folder], name) if before else ():
        at = batch.schema.get_field_index("rollout_id")
        ids = [mapping.get(each, each) for each in batch.column(at).to_pylist()]
        after.write_batch(batch.set_column(at, batch.schema.field(at), pa.array(ids, pa.string())))
    after.close()
    for each in before:
        each.path.unlink()


def _cast(reader: pa.RecordBatchReader, schema: pa.Schema) -> pa.RecordBatchReader:
    return pa.RecordBatchReader.from_batches(schema, (batch.cast(schema) for batch in reader))


def summaries(rollout_files: Sequence[str]) -> pa.Table:
    """Rows of `run_summaries` for the runs whose `rollouts` files these are."""
    if not rollout_files:
        return RUN_SUMMARIES.arrow.empty_table()
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    found = connection.sql(
        f"""
        WITH r AS (FROM {scan(ROLLOUTS, rollout_files)}),
        per_sample AS (
            SELECT run_id, split, step, environment, coalesce(sample_id, rollout_id) AS unit, avg(reward) AS reward
            FROM r WHERE reward IS NOT NULL GROUP BY ALL
        ),
        rewards AS (SELECT run_id, split, step, avg(reward) AS reward_mean FROM per_sample GROUP BY ALL),
        counts AS (
            SELECT run_id, split, step,
                count(*) AS num_rollouts,
                count(*) FILTER (subset = 'effective') AS num_effective,
                count(reward) AS num_scored,
                count(DISTINCT (environment, sample_id)) FILTER (sample_id IS NOT NULL) AS num_samples,
                count(*) FILTER (status IN ('infra_error', 'grader_error')) AS num_failed,
                count(status) AS num_status_known,
                avg(passed::INT) AS pass_rate,
                avg(num_tool_calls) AS tool_calls_mean,
                sum(num_tool_errors) / nullif(sum(num_tool_calls), 0) AS tool_error_rate,
                sum(num_exact_repeats)
                / nullif(sum(num_tool_calls) FILTER (num_exact_repeats IS NOT NULL), 0) AS repeat_rate,
                avg(output_tokens) AS output_tokens_mean,
                median(latency_s) AS latency_p50_s,
                min(started_at) AS first_at,
                max(ended_at) AS last_at,
                to_json(list_sort(list_distinct(list(environment)))) ::VARCHAR AS environments
            FROM r GROUP BY ALL
        )
        SELECT c.*, w.reward_mean, 'summary' AS source_id
        FROM counts AS c LEFT JOIN rewards AS w
            ON c.run_id = w.run_id AND c.split IS NOT DISTINCT FROM w.split AND c.step IS NOT DISTINCT FROM w.step
        """  # noqa: S608 - file names of the lake, quoted
    ).to_arrow_table()
    return found.select(list(RUN_SUMMARIES.names)).cast(RUN_SUMMARIES.arrow)
