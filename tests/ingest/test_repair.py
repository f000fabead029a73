"""Damaged stores: reading and writing say so in a sentence, `doctor` names it, and a repair keeps what can be kept."""

import contextlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from ingest import store as store_module
from ingest.doctor import examine
from ingest.errors import ObservatoryError, StoreError
from ingest.repair import repair
from ingest.runner import Request, ingest
from ingest.store import Store
from queries.connection import open_store


def line(number: int, run: str) -> str:
    row = {"run": run, "rollout_id": str(number), "sample_id": "s", "reward": 1.0, "scores": {"a": 0.5}}
    return json.dumps({**row, "messages": [{"role": "user", "content": "q"}]}) + "\n"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of three rollouts in two runs, read from two files in two ingests."""
    folder = tmp_path_factory.mktemp("whole")
    (folder / "in").mkdir()
    (folder / "in" / "a.jsonl").write_text(line(1, "r") + line(2, "r"))
    (folder / "in" / "b.jsonl").write_text(line(3, "q"))
    for name in ("a", "b"):
        ingest(Store(folder / "store"), Request([folder / "in" / f"{name}.jsonl"], workers=1))
    return folder


@pytest.fixture
def store(whole: Path, tmp_path: Path) -> Path:
    shutil.copytree(whole, tmp_path / "copy")
    Store(tmp_path / "copy" / "store").republish()
    return tmp_path / "copy" / "store"


@pytest.fixture
def inputs(whole: Path) -> Path:
    """The folder that the store's rollouts were read from."""
    return whole / "in"


def num_rollouts(store: Path) -> int:
    with open_store(store).connection.cursor() as cursor:
        return int(cursor.sql("SELECT count(*) FROM rollouts").fetchall()[0][0])


def problems(store: Path) -> list[str]:
    return [each.check for each in examine(store) if each.is_problem]


def parquet(store: Path, table: str) -> Path:
    return min((store / "lake" / table).rglob("*.parquet"))


def log(store: Path, table: str) -> list[Path]:
    return sorted((store / "lake" / table / "_delta_log").glob("*.json"))


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def without_snapshot(store: Path) -> None:
    with duckdb.connect(str(store / "observatory.duckdb")) as connection:
        connection.execute("DELETE FROM snapshot")


def other_database(store: Path) -> None:
    (store / "observatory.duckdb").unlink()
    with duckdb.connect(str(store / "observatory.duckdb")) as connection:
        connection.execute("CREATE TABLE x (a INTEGER)")


DAMAGE: dict[str, tuple[Callable[[Path], object], list[str], int]] = {
    "a file deleted": (lambda store: parquet(store, "rollouts").unlink(), ["rollouts"], 2),
    "a file cut": (lambda store: cut(parquet(store, "rollouts")), ["rollouts"], 2),
    "a file empty": (lambda store: empty(parquet(store, "messages")), ["messages"], 3),
    "the ledger cut": (lambda store: cut(parquet(store, "ingests")), ["ingests"], 3),
    "the end of a log deleted": (lambda store: log(store, "rollouts")[-1].unlink(), ["rollouts"], 3),
    "the end of a log cut": (lambda store: cut(log(store, "rollouts")[-1]), ["rollouts"], 3),
    "a log deleted": (lambda store: shutil.rmtree(store / "lake" / "rollouts" / "_delta_log"), ["rollouts"], 3),
    "a table deleted": (lambda store: shutil.rmtree(store / "lake" / "rollouts"), ["rollouts"], 0),
    "snapshots cut": (lambda store: cut(log(store, "snapshots")[-1]), ["snapshots"], 3),
    "catalog deleted": (lambda store: (store / "observatory.duckdb").unlink(), ["catalog"], 3),
    "catalog cut": (lambda store: cut(store / "observatory.duckdb"), ["catalog"], 3),
    "catalog empty": (lambda store: empty(store / "observatory.duckdb"), ["catalog"], 3),
    "another database": (other_database, ["catalog"], 3),
    "no snapshot in it": (without_snapshot, ["catalog"], 3),
}
"""What is damaged, which checks find it, and how many of the three rollouts a repair can keep."""


@pytest.mark.parametrize("damage", DAMAGE)
def test_damage_is_named_and_what_can_be_kept_is_kept(store: Path, inputs: Path, damage: str) -> None:
    break_it, found, kept = DAMAGE[damage]
    break_it(store)
    if damage != "catalog cut":  # what DuckDB keeps in the last bytes of a file is its own affair
        seen = [each for each in examine(store) if each.is_problem]
        assert [each.check for each in seen] == found
        assert all("doctor --repair" in each.text for each in seen)
    with contextlib.suppress(ObservatoryError):  # nothing else may come of asking a damaged store
        num_rollouts(store)
    repair(store)
    assert problems(store) == []
    assert num_rollouts(store) == kept
    if kept == 3 and found != ["ingests"]:
        return
    ingest(Store(store), Request([inputs], workers=1, force=True))
    assert num_rollouts(store) == 3
    assert problems(store) == []


def test_a_whole_store_is_left_alone(store: Path) -> None:
    before = open_store(store).snapshot_id
    assert repair(store) == []
    assert open_store(store).snapshot_id == before
    assert not (store / "damaged").exists()


def test_a_repair_waits_for_a_commit_under_way(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "LOCK_SECONDS", 0.05)
    with Store(store).locked(), pytest.raises(StoreError, match="another process has been writing"):
        repair(store)


def test_bytes_changed_in_the_middle_are_found_by_a_repair(store: Path) -> None:
    path = parquet(store, "messages")
    data = path.read_bytes()
    path.write_bytes(data[:4] + bytes(200) + data[204:])
    assert any("messages: 1 damaged" in each for each in repair(store))
    assert (store / "damaged").is_dir()


@pytest.mark.parametrize("table", ["rollouts", "ingests", "snapshots"])
def test_nothing_is_written_over_a_table_that_went_back(store: Path, inputs: Path, table: str) -> None:
    log(store, table)[-1].write_bytes(b"{")
    before = (store / "observatory.duckdb").read_bytes()
    with pytest.raises(StoreError, match=f"{table} is damaged .*observatory doctor"):
        ingest(Store(store), Request([inputs], workers=1, force=True))
    assert (store / "observatory.duckdb").read_bytes() == before


def test_a_log_that_lost_its_end_is_not_published_by_an_ingest_of_nothing_new(store: Path, inputs: Path) -> None:
    log(store, "rollouts")[-1].unlink()
    with pytest.raises(StoreError, match="version 2 was published, 1 is its last"):
        ingest(Store(store), Request([inputs], workers=1))
    assert num_rollouts(store) == 3


@pytest.mark.parametrize("note", ["", "garbage", "[1]", '{"rollouts": "x"', '{"nosuch": 3}'])
def test_a_damaged_note_of_a_commit_falls_back_to_what_was_published(store: Path, inputs: Path, note: str) -> None:
    (store / "lake" / "_pending.json").write_text(note)
    ingest(Store(store), Request([inputs], workers=1, force=True))
    assert num_rollouts(store) == 3
    assert not (store / "lake" / "_pending.json").exists()


def test_leftovers_of_dead_processes_go_with_the_next_ingest(store: Path, inputs: Path) -> None:
    dead = store / "staging" / f"999999999-1-{os.uname().nodename}"
    dead.mkdir()
    (store / "staging" / "a file").write_text("x")
    ingest(Store(store), Request([inputs], workers=1, force=True))
    assert list((store / "staging").iterdir()) == []
