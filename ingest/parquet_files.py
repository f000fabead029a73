"""Writes rows of a table as the Parquet files of its runs: a folder a run, in the layout of a partitioned Delta table.

Written here and not by delta-rs because new rows are most of what an ingest writes: this takes half its time, keeps
long texts out of the table's log, and lets go of the interpreter, so that tables are written beside one another. The
transaction that makes the files part of the table stays delta-rs's.
"""

from collections import deque
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ingest.columns import Table

ROW_GROUP = 50_000
"""Rows in a row group. With 2 000, a column of 7 000 000 calls took 200 ms of CPU to scan."""
LONG_ROW_GROUP = 20_000
"""The same where rows are long and read rollout by rollout: with 50 000, those of one take twice as long to find."""
LONG = frozenset({"messages", "parts"})
BY_ROLLOUT = frozenset({"messages", "tool_calls", "scores"})
"""Tables with a Bloom filter on the rollout: 10 to 40 ms for one rollout's rows among 800 000 messages."""
MAX_OPEN = 100
"""Runs whose files are open at a time."""
MAX_WAITING_BYTES = 64 * 1024 * 1024
"""Rows that wait for their row group to fill, in all runs together."""
MAX_PENDING = 2
"""Row groups that wait for the thread that writes them."""


@dataclass(frozen=True, slots=True)
class Written:
    """A file of rows of one run, and the smallest and the largest source in it."""

    run_id: str
    path: Path
    num_rows: int
    first_source: str
    last_source: str

    @property
    def relative(self) -> str:
        """Its place within the table."""
        return f"run_id={self.run_id}/{self.path.name}"


def read_written(folder: Path) -> list[Written]:
    """The files below a folder, in order, as `RunFiles` wrote them."""
    found = []
    for path in sorted(folder.glob("run_id=*/*.parquet")):
        metadata = pq.read_metadata(path)
        at = metadata.schema.to_arrow_schema().get_field_index("source_id")
        groups = [metadata.row_group(number).column(at).statistics for number in range(metadata.num_row_groups)]
        first, last = min(each.min for each in groups), max(each.max for each in groups)
        found.append(Written(path.parent.name.removeprefix("run_id="), path, metadata.num_rows, first, last))
    return found


def row_group(name: str) -> int:
    """Rows in a row group of a table."""
    return LONG_ROW_GROUP if name in LONG else ROW_GROUP


class RunFiles:
    """Collects rows of a table, whatever their runs, and writes them to files of its folder.

    `beside`: compress in a thread of its own.
    """

    def __init__(self, contract: Table, folder: Path, *, beside: bool = False) -> None:
        self.folder = folder
        self.contract = contract
        self.schema = pa.schema([each for each in contract.arrow if each.name != "run_id"])
        self.row_group = row_group(contract.name)
        self.written: list[Written] = []
        self._open: dict[str, _RunFile] = {}
        self._waiting_bytes = 0
        self._thread = ThreadPoolExecutor(1) if beside else None
        self._pending: deque[Future[None]] = deque()

    def write_batch(self, batch: pa.RecordBatch) -> None:
        """Add rows."""
        for run_id, rows in _by_run(batch):
            rows = rows.select(self.schema.names)
            self._waiting_bytes += rows.nbytes
            self._file(run_id).add(rows)
        if self._waiting_bytes > MAX_WAITING_BYTES:
            for file in self._open.values():
                file.flush()

    def _file(self, run_id: str) -> "_RunFile":
        file = self._open.pop(run_id, None)
        if file is None:
            if len(self._open) >= MAX_OPEN:
                self._finish(next(iter(self._open)))
            file = _RunFile(self, run_id)
        self._open[run_id] = file  # the latest used last
        return file

    def put(self, writer: pq.ParquetWriter, rows: pa.Table) -> None:
        """Write a row group, in the order of the calls."""
        self._waiting_bytes -= rows.nbytes
        if self._thread is None:
            writer.write_table(rows, row_group_size=self.row_group)
            return
        while len(self._pending) >= MAX_PENDING:
            self._pending.popleft().result()
        self._pending.append(self._thread.submit(writer.write_table, rows, row_group_size=self.row_group))

    def settle(self) -> None:
        """Wait for what is being written."""
        while self._pending:
            self._pending.popleft().result()

    def _finish(self, run_id: str) -> None:
        self.written.append(self._open.pop(run_id).finish())

    def close(self) -> None:
        """Finish all files."""
        for run_id in list(self._open):
            self._finish(run_id)
        if self._thread is not None:
            self._thread.shutdown()


class _RunFile:
    def __init__(self, owner: RunFiles, run_id: str) -> None:
        self.owner = owner
        self.run_id = run_id
        self.path = owner.folder / f"run_id={run_id}" / f"part-{uuid4()}.zstd.parquet"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._waiting: list[pa.RecordBatch] = []
        self._rows = self._total = 0
        self._sources: set[str] = set()
        self._writer = pq.ParquetWriter(str(self.path), owner.schema, **_options(owner))

    def add(self, rows: pa.RecordBatch) -> None:
        self._waiting.append(rows)
        self._rows += len(rows)
        self._sources.update(rows.column("source_id").unique().to_pylist())
        if self._rows >= self.owner.row_group:
            self.flush()

    def flush(self) -> None:
        if self._waiting:
            self.owner.put(self._writer, pa.Table.from_batches(self._waiting, self.owner.schema))
        self._total += self._rows
        self._waiting, self._rows = [], 0

    def finish(self) -> Written:
        self.flush()
        self.owner.settle()
        self._writer.close()
        sources = sorted(self._sources)
        return Written(self.run_id, self.path, self._total, sources[0], sources[-1])


def _options(owner: RunFiles) -> dict[str, Any]:
    texts = [each.name for each in owner.schema if pa.types.is_string(each.type)]
    bloom = {"rollout_id": {"ndv": owner.row_group // 4, "fpp": 0.01}}
    return {
        "compression": {name: "zstd" if name in _TEXTS else "lz4" for name in owner.schema.names},
        "compression_level": {name: 1 for name in owner.schema.names if name in _TEXTS} or None,
        "store_schema": False,
        "use_dictionary": [name for name in texts if name not in _TEXTS | _HASHES],
        "write_statistics": [name for name in owner.schema.names if name not in _TEXTS],
        "bloom_filter_options": bloom if owner.contract.name in BY_ROLLOUT else None,
    }


_TEXTS = frozenset(
    "text reasoning_text output_text arguments arguments_raw prompt_text payload final_answer metadata".split()  # noqa: SIM905 - a list literal would take a line a word
)
"""Columns of long texts that are seldom the same: no dictionary, and compressed well (zstd). The others are compressed
lightly (lz4): columns that questions read take a quarter less CPU so, and files of texts are a tenth larger at most."""

_HASHES = frozenset({"arguments_hash", "near_key", "output_hash"})
"""Columns that are seldom the same twice, though short: a dictionary of them is as large as they are."""


def _by_run(batch: pa.RecordBatch) -> Iterable[tuple[str, pa.RecordBatch]]:
    coded = batch.column("run_id").dictionary_encode()
    runs = coded.dictionary.to_pylist()
    if len(runs) == 1:
        return [(runs[0], batch)]
    codes = coded.indices.to_numpy(zero_copy_only=False)
    if (np.diff(codes) < 0).any():
        order = np.argsort(codes, kind="stable")
        batch, codes = batch.take(pa.array(order)), codes[order]
    bounds = np.searchsorted(codes, np.arange(len(runs) + 1))
    return [
        (run_id, batch.slice(start, end - start))
        for run_id, start, end in zip(runs, bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)
    ]
