"""Ingest of the neutral format against `orjson.loads` of the same lines, in one run, interleaved.

    python -m pytest -m bench tests/benchmarks/test_ingest.py -s

OBSERVATORY_BENCH_MEGABYTES sets the size of the file (600); memory is measured on one of 2 000 MB.
"""

import os
import sys
import time
from pathlib import Path

import orjson
import psutil
import pytest

from ingest.runner import Request, ingest
from ingest.store import Store
from tests.benchmarks.generate import write

MEGABYTES = float(os.environ.get("OBSERVATORY_BENCH_MEGABYTES", "600"))
REPEATS = 2
LIMITS = {1: 8.0, 2: 5.0}
"""Times `orjson.loads`, by number of processes."""
LARGE_BYTES = 2_000_000_000
MEMORY_LIMIT = 1024**3

pytestmark = pytest.mark.bench


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of rollout lines."""
    path = tmp_path_factory.mktemp("lines") / "rollouts.jsonl"
    write(path, int(MEGABYTES * 1e6))
    return path


def _parse(path: Path) -> float:
    """Seconds that `orjson.loads` needs for the lines."""
    start = time.perf_counter()
    with path.open("rb") as file:
        for line in file:
            orjson.loads(line)
    return time.perf_counter() - start


@pytest.mark.parametrize("workers", [1, 2])
def test_ingest_takes_a_few_times_what_parsing_takes(workers: int, lines: Path, tmp_path: Path) -> None:
    ratios = []
    before = _parse(lines)
    for number in range(REPEATS):
        start = time.perf_counter()
        report = ingest(Store(tmp_path / str(number)), Request([lines], workers=workers))
        took = time.perf_counter() - start
        after = _parse(lines)
        assert report.rejects == 0
        ratios.append(took / ((before + after) / 2))
        print(f"{workers} process(es): {took:.2f} s for {report.rollouts} rollouts, {ratios[-1]:.1f} x orjson.loads")  # noqa: T201 - figures are what a benchmark is for
        before = after
    assert min(ratios) <= LIMITS[workers]


_READ = """
import sys
from pathlib import Path
from ingest.runner import Request, ingest
from ingest.store import Store
ingest(Store(Path(sys.argv[2])), Request([sys.argv[1]], workers=int(sys.argv[3])))
"""


def _peak(path: Path, store: Path, workers: int) -> int:
    """Bytes of memory of a process that ingests a file and of its workers, at the most, sampled every 50 ms.

    Pages of files that are mapped do not count: the system takes them back when it needs them.
    """
    process = psutil.Popen([sys.executable, "-c", _READ, str(path), str(store), str(workers)])
    peak = 0
    while process.poll() is None:
        family = [process, *process.children(recursive=True)]
        peak = max(peak, sum(_anonymous(each) for each in family))
        time.sleep(0.05)
    assert process.returncode == 0
    return peak


def _anonymous(process: psutil.Process) -> int:
    try:
        memory = process.memory_info()
    except psutil.Error:
        return 0
    return int(memory.rss - getattr(memory, "shared", 0))


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file far larger than the memory it may take to read it."""
    path = tmp_path_factory.mktemp("large") / "rollouts.jsonl"
    write(path, LARGE_BYTES)
    return path


@pytest.mark.parametrize("workers", [1, 2])
def test_memory_does_not_grow_with_the_file(workers: int, large: Path, tmp_path: Path) -> None:
    peak = _peak(large, tmp_path / "store", workers)
    print(f"{workers} process(es): {peak / 1e6:.0f} MB at the most for {LARGE_BYTES / 1e6:.0f} MB")  # noqa: T201 - figures are what a benchmark is for
    assert peak < MEMORY_LIMIT
