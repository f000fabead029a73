"""Small tables are not partitioned: few files however many runs there are, and still replaced run by run."""

from pathlib import Path

import pytest
from deltalake import DeltaTable, write_deltalake

from ingest import store as stores
from ingest.catalog import lake_path
from ingest.schema import RUN_SUMMARIES
from ingest.store import Store
from queries.connection import open_store
from queries.runs import runs
from tests.stores import rollout, write_store


def rewards(root: Path) -> dict[str, float]:
    found = runs(open_store(root))
    return dict(zip(found["run_id"], found["reward_last"], strict=True))


def test_files_are_joined_and_each_run_is_replaced_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stores, "MAX_WHOLE_FILES", 3)
    for number in range(5):
        write_store(tmp_path, [rollout(f"r{number}", sample_id="a", reward=number / 10)], f"file:///{number}")
    write_store(tmp_path, [rollout("r1", sample_id="a", reward=0.9)], "file:///1")
    assert len(Store(tmp_path).all_files("run_summaries")) <= 3
    assert rewards(tmp_path) == {"r0": 0.0, "r1": 0.9, "r2": 0.2, "r3": 0.3, "r4": 0.4}
    Store(tmp_path).forget(["r3"])
    assert sorted(rewards(tmp_path)) == ["r0", "r1", "r2", "r4"]


def test_a_table_that_is_partitioned_already_stays_so(tmp_path: Path) -> None:
    path = lake_path(tmp_path, "run_summaries")
    DeltaTable.create(str(path), schema=RUN_SUMMARIES.arrow, partition_by=["run_id"])
    write_deltalake(str(path), RUN_SUMMARIES.arrow.empty_table(), mode="append")
    write_store(tmp_path, [rollout("1", sample_id="a", reward=0.5), rollout("2", sample_id="a", reward=0.25)])
    assert DeltaTable(str(path)).metadata().partition_columns == ["run_id"]
    assert rewards(tmp_path) == {"1": 0.5, "2": 0.25}
