"""The store: one snapshot a commit, twice equals once, cut-off commits leave no trace."""

import json
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from deltalake.exceptions import CommitFailedError

from ingest import catalog
from ingest import store as store_module
from ingest.errors import SnapshotError, StoreEmptyError, StoreError
from ingest.forget import forget
from ingest.runs import run_slug
from ingest.schema import TABLES, table
from ingest.sources.base import Rollout, Row
from queries.connection import open_store
from tests.stores import call, rollout, write_store


def rows(root: Path, sql: str, snapshot_id: int | None = None) -> list[tuple[object, ...]]:
    return open_store(root, snapshot_id).connection.sql(sql).fetchall()


def one(reward: float | None = 1.0, sample_id: str = "s", **values: object) -> Rollout:
    return rollout(reward=reward, sample_id=sample_id, messages=[{"role": "assistant", "text": "x"}], **values)


def test_a_commit_is_read_back_with_every_table(tmp_path: Path) -> None:
    write_store(tmp_path, [one(tool_calls=[call("search")], scores=[{"grader": "g", "value": 0.5, "kind": "reward"}])])
    assert rows(tmp_path, "SELECT run_id, reward, attempt, num_tool_calls FROM rollouts") == [("r", 1.0, 0, 1)]
    assert rows(tmp_path, "SELECT tool, status FROM tool_calls") == [("search", "ok")]
    assert rows(tmp_path, "SELECT grader, value FROM scores") == [("g", 0.5)]
    assert rows(tmp_path, "SELECT run_id, num_rollouts, reward_mean FROM run_summaries") == [("r", 1, 1.0)]


def test_every_table_of_the_schema_is_a_view_with_its_columns(tmp_path: Path) -> None:
    write_store(tmp_path, [one()])
    store = open_store(tmp_path)
    for each in TABLES:
        described = store.connection.sql(f"DESCRIBE {each.name}").fetchall()
        names = [row[0] for row in described]
        expected = [name for name in each.names if each.name != "runs" or name != "precedence"]
        assert names == expected


def test_writing_the_same_source_again_replaces_it(tmp_path: Path) -> None:
    write_store(tmp_path, [one(1.0), one(0.0)])
    write_store(tmp_path, [one(0.25)])
    assert rows(tmp_path, "SELECT reward FROM rollouts") == [(0.25,)]
    assert rows(tmp_path, "SELECT num_rollouts FROM run_summaries") == [(1,)]


def test_another_source_of_the_run_adds_to_it_and_attempts_count_on(tmp_path: Path) -> None:
    write_store(tmp_path, [one(0.0), one(1.0)], "file:///a")
    write_store(tmp_path, [one(0.5)], "file:///b")
    found = rows(tmp_path, "SELECT source_id, attempt, reward FROM rollouts ORDER BY source_id, attempt")
    assert found == [("file:///a", 0, 0.0), ("file:///a", 1, 1.0), ("file:///b", 2, 0.5)]


def test_an_earlier_source_that_comes_later_renumbers_the_stored_attempts(tmp_path: Path) -> None:
    write_store(tmp_path, [one(0.5)], "file:///b")
    write_store(tmp_path, [one(0.0), one(1.0)], "file:///a")
    found = rows(tmp_path, "SELECT source_id, attempt FROM rollouts ORDER BY source_id, attempt")
    assert found == [("file:///a", 0), ("file:///a", 1), ("file:///b", 2)]


def test_attempt_numbers_of_the_source_stand_unless_two_are_the_same(tmp_path: Path) -> None:
    write_store(
        tmp_path,
        [
            one(native_attempt=3),
            one(native_attempt=7),
            one(sample_id="t", native_attempt=1),
            one(sample_id="t", native_attempt=1),
        ],
    )
    found = rows(tmp_path, "SELECT sample_id, attempt FROM rollouts ORDER BY sample_id, attempt")
    assert found == [("s", 3), ("s", 7), ("t", 0), ("t", 1)]


def test_attempts_are_counted_apart_by_split_and_step(tmp_path: Path) -> None:
    write_store(tmp_path, [one(step=0, split="valid"), one(step=1, split="valid"), one(step=1, split="train")])
    assert rows(tmp_path, "SELECT DISTINCT attempt FROM rollouts") == [(0,)]


def test_the_same_sample_id_in_two_environments_is_two_samples(tmp_path: Path) -> None:
    write_store(tmp_path, [one(1.0, environment="a"), one(1.0, environment="a"), one(0.0, environment="b")])
    assert rows(tmp_path, "SELECT environment, attempt FROM rollouts ORDER BY ALL") == [("a", 0), ("a", 1), ("b", 0)]
    assert rows(tmp_path, "SELECT num_samples, reward_mean FROM run_summaries") == [(2, 0.5)]


def test_the_same_native_id_in_two_sources_keeps_both_rollouts(tmp_path: Path) -> None:
    write_store(tmp_path, [one(0.0, native_id="x")], "file:///a")
    before = rows(tmp_path, "SELECT rollout_id FROM rollouts")
    write_store(tmp_path, [one(1.0, native_id="x")], "file:///b")
    found = rows(
        tmp_path, "SELECT source_id, count(DISTINCT rollout_id), min(rollout_id) FROM rollouts GROUP BY 1 ORDER BY 1"
    )
    assert [each[:2] for each in found] == [("file:///a", 1), ("file:///b", 1)]
    assert found[0][2] == before[0][0] != found[1][2]
    joined = rows(
        tmp_path,
        "SELECT count(*) FROM messages m JOIN rollouts r ON m.rollout_id = r.rollout_id AND m.source_id = r.source_id",
    )
    assert joined == [(2,)]


def test_the_same_native_id_twice_in_one_source_keeps_both(tmp_path: Path) -> None:
    write_store(tmp_path, [one(0.0, native_id="x"), one(1.0, native_id="x")])
    assert rows(tmp_path, "SELECT count(*), count(DISTINCT rollout_id) FROM rollouts") == [(2, 2)]


def test_reward_that_is_not_finite_is_not_scored(tmp_path: Path) -> None:
    write_store(tmp_path, [one(float("nan")), one(float("inf")), one(None), one(0.0)])
    assert rows(tmp_path, "SELECT count(*), count(reward), avg(reward) FROM rollouts") == [(4, 1, 0.0)]


@pytest.mark.parametrize(
    "name",
    [
        "'; DROP TABLE runs; --",
        "../../x",
        "🚀" * 90,
        "x" * 300,
        "1",
        "2024-01-01",
        "a b",
        ".",
        "CON",
        "__HIVE_DEFAULT_PARTITION__",
    ],
)
def test_hostile_run_names_are_only_names(tmp_path: Path, name: str) -> None:
    write_store(tmp_path, [rollout(name, reward=1.0, sample_id="s")])
    slug = run_slug(name)
    assert rows(tmp_path, "SELECT run_id, name FROM runs") == [(slug, name)]
    assert rows(tmp_path, "SELECT run_id FROM rollouts") == [(slug,)]
    assert len(slug) <= 64
    assert sorted(each.name for each in tmp_path.iterdir()) == ["lake", "observatory.duckdb", "staging", "store.lock"]


def test_safe_names_are_their_own_slug_and_a_slug_stays_itself() -> None:
    assert run_slug("zava") == "zava"
    assert run_slug("step_3.b-2") == "step_3.b-2"
    assert run_slug(run_slug("a b")) == run_slug("a b") != run_slug("a  b")


def test_a_failed_commit_leaves_the_store_as_it_was(tmp_path: Path) -> None:
    store = write_store(tmp_path, [one(1.0)])
    before = store.versions()

    def half_way() -> None:
        with store.transaction():
            store.replace("rollouts", table("rollouts").arrow.empty_table, ["r"], None)
            raise RuntimeError("half way")

    with pytest.raises(RuntimeError, match="half way"):
        half_way()
    assert rows(tmp_path, "SELECT count(*) FROM rollouts") == [(1,)]
    assert store.version("rollouts") == before["rollouts"] + 2  # the write, and its restoration
    store.republish()
    assert rows(tmp_path, "SELECT count(*) FROM rollouts") == [(1,)]


def test_a_commit_cut_off_by_kill_is_rolled_back_by_the_next(tmp_path: Path) -> None:
    store = write_store(tmp_path, [one(1.0)], "file:///a")
    pending = {each.name: store.version(each.name) for each in TABLES}
    (tmp_path / "lake" / "_pending.json").write_text(json.dumps(pending))
    store.replace("rollouts", table("rollouts").arrow.empty_table, ["r"], None)  # as a killed process leaves it
    write_store(tmp_path, [one(0.5)], "file:///b")
    assert rows(tmp_path, "SELECT reward FROM rollouts ORDER BY 1") == [(0.5,), (1.0,)]
    assert not (tmp_path / "lake" / "_pending.json").exists()


def test_a_commit_that_was_not_published_is_caught_up(tmp_path: Path) -> None:
    store = write_store(tmp_path, [one(1.0)])
    store.replace("rollouts", table("rollouts").arrow.empty_table, ["r"], None)
    assert rows(tmp_path, "SELECT count(*) FROM rollouts") == [(1,)]
    assert store.catch_up()
    assert rows(tmp_path, "SELECT count(*) FROM rollouts") == [(0,)]
    assert not store.catch_up()


def test_a_commit_that_conflicts_is_tried_again_with_all_its_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = store_module.write_deltalake
    refused: list[str] = []

    def conflicting(path: str, rows: pa.RecordBatchReader, **values: Any) -> None:
        if Path(path).name == "metrics" and not refused:
            refused.append(path)
            rows.read_all()
            raise CommitFailedError("another writer was there first")
        write(path, rows, **values)

    monkeypatch.setattr(store_module, "write_deltalake", conflicting)
    write_store(tmp_path, [one(), Row("metrics", {"step": 1, "name": "loss", "value": 0.5}, "r")])
    assert len(refused) == 1
    assert rows(tmp_path, "SELECT name, value FROM metrics") == [("loss", 0.5)]


def test_a_pinned_snapshot_shows_what_it_showed(tmp_path: Path) -> None:
    write_store(tmp_path, [one(1.0)])
    first = open_store(tmp_path).snapshot_id
    write_store(tmp_path, [one(0.0)])
    assert rows(tmp_path, "SELECT reward FROM rollouts", first) == [(1.0,)]
    assert rows(tmp_path, "SELECT reward FROM rollouts") == [(0.0,)]
    with pytest.raises(SnapshotError, match="snapshot 99"):
        open_store(tmp_path, 99)


def test_the_list_of_snapshots_stays_in_few_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "MAX_WHOLE_FILES", 3)
    store = write_store(tmp_path, [one(1.0)])
    first = store.snapshots()[0].snapshot_id
    for _ in range(4):
        store.republish()
    found = [each.snapshot_id for each in store.snapshots()]
    assert len(found) == len(set(found)) == 5
    assert len(DeltaTable(str(tmp_path / "lake" / catalog.SNAPSHOTS)).file_uris()) < 3
    assert rows(tmp_path, "SELECT reward FROM rollouts", first) == [(1.0,)]


def test_a_reader_keeps_its_snapshot_while_a_writer_publishes(tmp_path: Path) -> None:
    write_store(tmp_path, [one(1.0)])
    old = open_store(tmp_path)
    write_store(tmp_path, [one(0.0)])
    assert old.connection.cursor().sql("SELECT reward FROM rollouts").fetchall() == [(1.0,)]
    assert rows(tmp_path, "SELECT reward FROM rollouts") == [(0.0,)]


def test_a_moved_store_opens_where_it_stands_now(tmp_path: Path) -> None:
    write_store(tmp_path / "old", [one(1.0)])
    (tmp_path / "old").rename(tmp_path / "new")
    assert rows(tmp_path / "new", "SELECT reward FROM rollouts") == [(1.0,)]


def test_compaction_keeps_every_row_and_forgets_old_files(tmp_path: Path) -> None:
    for number in range(5):
        store = write_store(tmp_path, [one(number / 4)], f"file:///{number}")
    assert len(store.all_files("rollouts")) > 1
    assert store.compact(0)["rollouts"] == 5
    assert len(store.all_files("rollouts")) == 1
    assert rows(tmp_path, "SELECT count(*), sum(reward) FROM rollouts") == [(5, 2.5)]


def test_forget_removes_a_run_or_a_source(tmp_path: Path) -> None:
    write_store(tmp_path, [one(1.0)], "file:///a")
    store = write_store(tmp_path, [one(0.0), rollout("other", reward=0.5, sample_id="s")], "file:///b")
    assert "file:///a" in forget(store, "file:///a")
    assert rows(tmp_path, "SELECT run_id, reward FROM rollouts ORDER BY 1") == [("other", 0.5), ("r", 0.0)]
    assert rows(tmp_path, "SELECT run_id, num_rollouts FROM run_summaries ORDER BY 1") == [("other", 1), ("r", 1)]
    forget(store, "r")
    assert rows(tmp_path, "SELECT run_id FROM rollouts") == [("other",)]
    with pytest.raises(StoreError, match="neither a run nor a source"):
        forget(store, "nobody")


@pytest.mark.parametrize(("version", "is_read"), [(0, True), (99, False)])
def test_a_catalog_of_another_version(version: int, is_read: bool, tmp_path: Path) -> None:  # noqa: FBT001 - parametrised
    """An older one is read table by table; a newer one may mean other things by the same names."""
    write_store(tmp_path, [one(1.0)], "file:///a")
    with duckdb.connect(str(tmp_path / catalog.CATALOG_FILE)) as connection:
        connection.execute(f"UPDATE snapshot SET schema_version = {version}")
    if is_read:
        assert rows(tmp_path, "SELECT reward FROM rollouts") == [(1.0,)]
    else:
        with pytest.raises(StoreError, match="newer version"):
            open_store(tmp_path)


def test_a_catalog_without_a_newer_column_reads_it_as_null(tmp_path: Path) -> None:
    write_store(tmp_path, [rollout(sample_id="s", messages=[{"role": "user", "text": "hi"}])], "file:///a")
    with duckdb.connect(str(tmp_path / catalog.CATALOG_FILE)) as connection:
        connection.execute("UPDATE snapshot SET schema_version = 1")
        connection.execute("ALTER VIEW messages_stored RENAME TO messages_new")
        connection.execute("CREATE VIEW messages_stored AS SELECT * EXCLUDE (is_after_tool) FROM messages_new")
        connection.execute("CREATE OR REPLACE VIEW messages AS FROM messages_stored")
    opened = open_store(tmp_path).connection
    assert opened.sql("SELECT text, is_after_tool FROM messages").fetchall() == [("hi", None)]
    assert (
        opened.sql("DESCRIBE messages").df().set_index("column_name").loc["is_after_tool", "column_type"] == "BOOLEAN"
    )


def test_an_empty_folder_is_no_store(tmp_path: Path) -> None:
    with pytest.raises(StoreEmptyError, match="observatory ingest"):
        open_store(tmp_path)


def test_a_damaged_catalog_is_said_so(tmp_path: Path) -> None:
    write_store(tmp_path, [one()])
    (tmp_path / catalog.CATALOG_FILE).write_bytes(b"no database")
    with pytest.raises(StoreError, match="observatory doctor"):
        open_store(tmp_path)


def test_files_of_an_older_schema_read_as_null(tmp_path: Path) -> None:
    store = write_store(tmp_path, [one(1.0)], "file:///a")
    delta = DeltaTable(str(catalog.lake_path(tmp_path, "rollouts")))
    old_file = Path(delta.file_uris()[0])
    old = duckdb.sql(f"SELECT * EXCLUDE (host, run_id) FROM '{old_file}'").to_arrow_table()
    pq.write_table(old, old_file)
    (tmp_path / catalog.CATALOG_FILE).unlink()
    store.republish()
    write_store(tmp_path, [one(0.0, host="h")], "file:///b")
    assert rows(tmp_path, "SELECT reward, host FROM rollouts ORDER BY 1") == [(0.0, "h"), (1.0, None)]


def test_the_reader_is_locked_down(tmp_path: Path) -> None:
    write_store(tmp_path / "store", [one()])
    (tmp_path / "secret.csv").write_text("a\n1\n")
    store = open_store(tmp_path / "store")
    for statement in (
        f"SELECT * FROM read_csv('{tmp_path / 'secret.csv'}')",
        f"COPY (SELECT 1) TO '{tmp_path / 'out.csv'}'",
        "SET GLOBAL enable_external_access = true",
        f"ATTACH '{tmp_path / 'x.duckdb'}' AS x",
    ):
        with pytest.raises(duckdb.Error):
            store.connection.cursor().execute(statement)
