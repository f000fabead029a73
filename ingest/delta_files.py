"""Makes files that were written elsewhere part of a Delta table, and says whether that is enough."""

import json
from collections.abc import Sequence

import pyarrow as pa
from deltalake import DeltaTable
from deltalake.transaction import AddAction, RemoveAction

from ingest.columns import Table
from ingest.parquet_files import Written


def add(delta: DeltaTable, schema: Table, written: Sequence[Written]) -> None:
    """Make files in a table's folder part of it."""
    actions: list[AddAction | RemoveAction] = [_action(each) for each in written]
    if actions:
        delta.create_write_transaction(actions, "append", schema.arrow, ["run_id"])


def may_hold(delta: DeltaTable, run_ids: Sequence[str], source_ids: Sequence[str] | None) -> bool:
    """Whether a file of these runs may hold rows of these sources, judged by the smallest and the largest it has."""
    actions = pa.table(delta.get_add_actions(flatten=True))
    runs = set(run_ids)
    low, high = "min.source_id", "max.source_id"
    wanted = [name for name in ("partition.run_id", low, high) if name in actions.schema.names]
    for each in actions.select(wanted).to_pylist():  # the others are statistics of every column of every file
        if each["partition.run_id"] in runs and (
            source_ids is None
            or each.get(low) is None
            or each.get(high) is None
            or any(each[low] <= source_id <= each[high] for source_id in source_ids)
        ):
            return True
    return False


def is_current(delta: DeltaTable, contract: Table) -> bool:
    """Whether a table has all columns of its contract."""
    return {field.name for field in delta.schema().fields} >= set(contract.names)


def _action(written: Written) -> AddAction:
    stats = {
        "numRecords": written.num_rows,
        "minValues": {"source_id": written.first_source},
        "maxValues": {"source_id": written.last_source},
        "nullCount": {"source_id": 0},
    }
    stat = written.path.stat()
    return AddAction(
        path=written.relative,
        size=stat.st_size,
        partition_values={"run_id": written.run_id},
        modification_time=int(stat.st_mtime * 1000),
        data_change=True,
        stats=json.dumps(stats),
    )
