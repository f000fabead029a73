"""kill -9 at any moment, two writers, a reader beside a writer: the store is always whole, and reading again heals."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ingest.errors import StoreEmptyError, StoreError
from ingest.runner import Request, ingest
from ingest.store import Store
from queries.connection import open_store

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
CONTENT = (
    "SELECT r.run_id, r.rollout_id, r.attempt, r.reward, r.num_tool_calls, count(DISTINCT m.message_index), "
    "count(DISTINCT c.call_index) FROM rollouts r LEFT JOIN messages m ON m.rollout_id = r.rollout_id "
    "LEFT JOIN tool_calls c ON c.rollout_id = r.rollout_id GROUP BY ALL ORDER BY ALL"
)


def write_files(folder: Path, files: int, lines: int) -> None:
    folder.mkdir(parents=True)
    for number in range(files):
        messages = [
            {"role": "user", "content": "q"},
            {"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": "{}"}}]},
            {"role": "tool", "tool_call_id": "c", "content": "o" * 200},
        ]
        rows = (
            {
                "run": f"r{number % 3}",
                "rollout_id": f"{number}-{each}",
                "sample_id": f"s{each % 7}",
                "reward": each / lines,
                "messages": messages,
            }
            for each in range(lines)
        )
        (folder / f"{number}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


PROGRAM = """
import sys
from pathlib import Path
from ingest.runner import Request, ingest
from ingest.store import Store
print("ready", flush=True)
sys.stdin.readline()
ingest(Store(Path(sys.argv[1])), Request([Path(sys.argv[2])], force=True))
"""


def ingesting(store: Path, *folders: Path) -> list[subprocess.Popen[bytes]]:
    """Processes that read a folder each again: all have imported what they need, and begin now, at once."""
    started = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(store), str(folder)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        for folder in folders
    ]
    for process in started:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
    for process in started:
        assert process.stdin is not None
        process.stdin.write(b"go\n")
        process.stdin.flush()
    return started


def content(store: Path) -> list[tuple[object, ...]]:
    return open_store(store).connection.sql(CONTENT).fetchall()


def assert_whole(store: Path, allowed: list[list[tuple[object, ...]]]) -> None:
    """What is published is one of the allowed states, never half of one."""
    try:
        assert content(store) in allowed
    except StoreEmptyError:
        assert [] in allowed


def test_kill_9_at_any_moment_leaves_the_old_or_the_new_state(tmp_path: Path) -> None:
    write_files(tmp_path / "old", 2, 20)
    write_files(tmp_path / "all", 6, 20)
    ingest(Store(tmp_path / "expected"), Request([tmp_path / "all"]))
    store = tmp_path / "store"
    ingest(Store(store), Request([tmp_path / "old"]))
    before, after = content(store), content(tmp_path / "expected")
    merged = tmp_path / "merged"
    ingest(Store(merged), Request([tmp_path / "old"]))
    ingest(Store(merged), Request([tmp_path / "all"]))
    complete = content(merged)
    chance = random.Random(7)
    with ingesting(tmp_path / "timing", tmp_path / "all")[0] as process:
        started = time.monotonic()
        assert process.wait() == 0
        duration = time.monotonic() - started
    for _ in range(12):
        with ingesting(store, tmp_path / "all")[0] as process:
            time.sleep(duration * chance.uniform(0.0, 1.0))
            os.kill(process.pid, signal.SIGKILL)
        assert_whole(store, [before, complete])
    ingest(Store(store), Request([tmp_path / "all"], force=True))
    assert content(store) == complete
    assert len(complete) == len(before) + len(after)


def test_two_ingests_at_once_lose_nothing(tmp_path: Path) -> None:
    write_files(tmp_path / "a", 3, 30)
    write_files(tmp_path / "b", 3, 30)
    store = tmp_path / "store"
    for process in ingesting(store, tmp_path / "a", tmp_path / "b"):
        with process:
            assert process.wait() == 0
    assert len(content(store)) == 180
    attempts = open_store(store).connection.sql(
        "SELECT count(*) FROM (SELECT 1 FROM rollouts GROUP BY run_id, sample_id, attempt HAVING count(*) > 1)"
    )
    assert attempts.fetchall() == [(0,)]


def test_a_reader_never_sees_half_a_commit(tmp_path: Path) -> None:
    write_files(tmp_path / "in", 4, 25)
    store = tmp_path / "store"
    ingest(Store(store), Request([tmp_path / "in"]))
    whole = content(store)
    looks = 0
    with ingesting(store, tmp_path / "in")[0] as process:
        while process.poll() is None:
            assert content(store) == whole
            looks += 1
    assert process.returncode == 0
    assert looks > 1


def test_a_read_only_store_is_read_and_refuses_writing_clearly(tmp_path: Path) -> None:
    write_files(tmp_path / "in", 1, 5)
    store = tmp_path / "store"
    ingest(Store(store), Request([tmp_path / "in"]))
    moved = tmp_path / "moved"
    store.rename(moved)
    for path in [moved, *moved.rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        assert len(content(moved)) == 5
    finally:
        for path in [moved, *moved.rglob("*")]:
            path.chmod(0o755 if path.is_dir() else 0o644)


def test_a_folder_that_cannot_be_written_is_said_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_files(tmp_path / "in", 1, 5)
    store = Store(tmp_path / "store")
    ingest(store, Request([tmp_path / "in"]))

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "mkdir", refuse)  # no test may count on not being root
    with pytest.raises(StoreError, match="cannot write a store here"):
        store.staging()
    monkeypatch.undo()
    monkeypatch.setattr(store._lock, "acquire", refuse)
    with pytest.raises(StoreError, match="cannot write a store here"):
        store.forget(["r0"])
    assert len(content(store.root)) == 5
