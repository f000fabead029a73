"""Files of runs: every row once, in its run's folder, and row groups as large as they may be."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ingest import parquet_files
from ingest.parquet_files import RunFiles, read_written
from ingest.schema import table

SCORES = table("scores")


def _batch(runs: list[str], first: int = 0) -> pa.RecordBatch:
    size = len(runs)
    columns = {
        "run_id": runs,
        "source_id": [f"s{number % 2}" for number in range(first, first + size)],
        "rollout_id": [f"r{number}" for number in range(first, first + size)],
        "grader": ["g"] * size,
        "kind": ["subscore"] * size,
    }
    arrays = [pa.array(columns.get(each.name, [None] * size), each.type) for each in SCORES.arrow]
    return pa.record_batch(arrays, schema=SCORES.arrow)


def _rows(folder: Path, run_id: str) -> list[str]:
    files = sorted((folder / f"run_id={run_id}").glob("*.parquet"))
    return sorted(each for file in files for each in pq.ParquetFile(file).read()["rollout_id"].to_pylist())


@pytest.mark.parametrize("beside", [False, True])
def test_rows_of_runs_in_any_order_go_to_their_run(beside: bool, tmp_path: Path) -> None:  # noqa: FBT001 - parametrised
    files = RunFiles(SCORES, tmp_path, beside=beside)
    files.write_batch(_batch(["b", "a", "b"]))
    files.write_batch(_batch(["a", "a"], first=3))
    files.close()
    assert _rows(tmp_path, "a") == ["r1", "r3", "r4"]
    assert _rows(tmp_path, "b") == ["r0", "r2"]
    written = {each.run_id: (each.num_rows, each.first_source, each.last_source) for each in files.written}
    assert written == {"a": (3, "s0", "s1"), "b": (2, "s0", "s0")}
    assert sorted(read_written(tmp_path), key=str) == sorted(files.written, key=str)


def test_more_runs_than_files_may_be_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_files, "MAX_OPEN", 2)
    files = RunFiles(SCORES, tmp_path)
    files.write_batch(_batch(["a", "b", "c", "a"]))
    files.write_batch(_batch(["a"], first=4))
    files.close()
    assert _rows(tmp_path, "a") == ["r0", "r3", "r4"]
    assert sum(each.num_rows for each in files.written) == 5
    assert len(files.written) == 4  # the file of `a` was closed for that of `c`, and another opened


def test_rows_wait_for_a_full_row_group_however_long_it_takes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_files, "MAX_WAITING_BYTES", 20_000)
    files = RunFiles(SCORES, tmp_path)
    files.row_group = 100
    for first in range(0, 2_000, 10):
        files.write_batch(_batch(["a"] * 10, first))
    files.close()
    (file,) = (tmp_path / "run_id=a").glob("*.parquet")
    metadata = pq.read_metadata(file)
    assert [metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)] == [100] * 20


def test_too_much_that_waits_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_files, "MAX_WAITING_BYTES", 1_000)
    files = RunFiles(SCORES, tmp_path)
    for first in range(0, 200, 50):
        files.write_batch(_batch(["a"] * 50, first))
    files.close()
    (file,) = (tmp_path / "run_id=a").glob("*.parquet")
    assert pq.read_metadata(file).num_row_groups == 4
