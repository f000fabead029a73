"""The runner, end to end on files: counts, idempotence, skipping, rejects, hostile input, several processes."""

import gzip
import json
import os
from collections.abc import Iterator
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import pytest
import zstandard

from ingest import runner
from ingest.errors import SourceError, UnrecognisedError
from ingest.runner import Progress, Report, Request, ingest
from ingest.sources import observatory_jsonl
from ingest.sources.base import Fragment, Options, Record
from ingest.staging import Overrides, Tally
from ingest.store import Store
from ingest.tasks import Task, read_task
from queries.connection import open_store
from tests.benchmarks import generate


def line(number: int, **values: Any) -> dict[str, Any]:
    messages = [
        {"role": "user", "content": "question"},
        {"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "search", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "c", "content": "found"},
    ]
    return {
        "run": "r",
        "rollout_id": f"x{number}",
        "sample_id": f"s{number % 5}",
        "reward": number / 10,
        "messages": messages,
        **values,
    }


def write(path: Path, lines: list[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(each) + "\n" for each in lines))
    return path


def read(store: Path, *paths: Path | str, **values: Any) -> Report:
    return ingest(Store(store), Request([str(path) for path in paths], **values))


def rows(store: Path, sql: str) -> list[tuple[Any, ...]]:
    return open_store(store).connection.sql(sql).fetchall()


def test_a_file_becomes_a_run(tmp_path: Path) -> None:
    report = read(tmp_path / "store", write(tmp_path / "a.jsonl", [line(n) for n in range(10)]))
    assert (report.sources, report.rollouts, report.rejects, report.exit_code) == (1, 10, 0, 0)
    assert rows(
        tmp_path / "store", "SELECT count(*), count(DISTINCT sample_id), sum(num_tool_calls) FROM rollouts"
    ) == [(10, 5, 10)]
    assert rows(tmp_path / "store", "SELECT source_format, num_rollouts, num_rejects FROM ingests") == [
        ("observatory_jsonl", 10, 0)
    ]


def test_reading_again_is_skipped_and_changes_nothing(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", [line(n) for n in range(10)])
    read(tmp_path / "store", path)
    before = rows(tmp_path / "store", "SELECT * EXCLUDE (metadata) FROM rollouts ORDER BY rollout_id")
    again = read(tmp_path / "store", path)
    assert (again.sources, again.unchanged, again.exit_code) == (0, 1, 0)
    forced = read(tmp_path / "store", path, force=True)
    assert (forced.sources, forced.unchanged) == (1, 0)
    assert rows(tmp_path / "store", "SELECT * EXCLUDE (metadata) FROM rollouts ORDER BY rollout_id") == before


def test_a_changed_file_replaces_what_it_brought(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", [line(n) for n in range(10)])
    read(tmp_path / "store", path)
    write(path, [line(n, reward=1.0) for n in range(4)])
    read(tmp_path / "store", path)
    assert rows(tmp_path / "store", "SELECT count(*), avg(reward) FROM rollouts") == [(4, 1.0)]
    assert rows(tmp_path / "store", "SELECT count(*) FROM messages") == [(12,)]


def test_a_source_that_moves_to_another_run_leaves_the_old_one(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", [line(0)])
    read(tmp_path / "store", path)
    read(tmp_path / "store", path, overrides=Overrides(run="other"))
    assert rows(tmp_path / "store", "SELECT run_id, count(*) FROM rollouts GROUP BY 1") == [("other", 1)]
    assert rows(tmp_path / "store", "SELECT run_id FROM runs") == [("other",)]


@pytest.mark.parametrize("content", ["", "\n\n", "[]"])
def test_a_file_with_nothing_in_it_yet_changes_nothing(tmp_path: Path, content: str) -> None:
    store, empty = tmp_path / "store", tmp_path / "b.jsonl"
    read(store, write(tmp_path / "a.jsonl", [line(0)]))
    empty.write_text(content)
    report = read(store, empty, source="observatory_jsonl")
    assert (report.rollouts, report.rejects, report.exit_code) == (0, 0, 0)
    assert rows(store, "SELECT count(*) FROM rollouts") == [(1,)]


def test_split_and_step_may_be_given_for_all(tmp_path: Path) -> None:
    read(tmp_path / "store", write(tmp_path / "a.jsonl", [line(0)]), overrides=Overrides("named", "valid", 7))
    assert rows(tmp_path / "store", "SELECT run_id, split, step FROM rollouts") == [("named", "valid", 7)]


def test_the_same_content_from_elsewhere_is_noted_and_kept(tmp_path: Path) -> None:
    content = [line(0)]
    read(tmp_path / "store", write(tmp_path / "a.jsonl", content))
    report = read(tmp_path / "store", write(tmp_path / "copy" / "b.jsonl", content))
    assert any("same content" in note for note in report.notes)
    assert rows(tmp_path / "store", "SELECT count(*), count(DISTINCT rollout_id) FROM rollouts") == [(2, 2)]


def test_two_copies_in_one_ingest_are_noted(tmp_path: Path) -> None:
    for name in ("a.jsonl", "copy of a.jsonl"):
        write(tmp_path / "in" / name, [line(0, run=None)])
    report = read(tmp_path / "store", tmp_path / "in")
    assert report.rollouts == 2
    folder = tmp_path / "in"
    assert report.notes == [
        f"{folder / 'copy of a.jsonl'}: the same content was read already, as {folder / 'a.jsonl'}; both are kept."
    ]


def test_a_file_that_cannot_be_read_disturbs_no_other_however_often(tmp_path: Path) -> None:
    good = write(tmp_path / "a.jsonl", [line(0)])
    broken = tmp_path / "completions_5.parquet"
    broken.write_bytes(b"PAR1, and no more")
    for _ in range(2):
        report = read(tmp_path / "store", good, broken, overrides=Overrides(run="r"), force=True)
        assert (report.rollouts, len(report.failed), report.exit_code) == (1, 1, 3)
        assert rows(tmp_path / "store", "SELECT count(*) FROM rollouts") == [(1,)]
        assert rows(tmp_path / "store", "SELECT path FROM ingests") == [(str(good),)]


def pieces(run: str, count: int) -> list[dict[str, Any]]:
    of = [{"run": run, "rollout_id": f"{run}{number}"} for number in range(count)]
    said = [{**each, "type": "message", "index": 0, "role": "user", "content": "q"} for each in of]
    return [{**each, "type": "rollout", "partial": True, "sample_id": "s"} for each in of] + said


def test_several_commits_of_one_ingest_do_not_mix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for run, count in (("a", 3), ("b", 2)):
        write(tmp_path / "in" / f"{run}.jsonl", pieces(run, count))
    write(tmp_path / "in" / "c.jsonl", [{"type": "run", "run": "c", "kind": "baseline"}, line(0, run="c")])
    monkeypatch.setattr(runner, "TASK_PARTS", 1)
    monkeypatch.setattr(runner, "COMMIT_BYTES", 1)
    read(tmp_path / "store", tmp_path / "in")
    assert len(Store(tmp_path / "store").snapshots()) == 3
    counts = "SELECT run_id, count(*) FROM messages GROUP BY run_id ORDER BY run_id"
    assert rows(tmp_path / "store", counts) == [("a", 3), ("b", 2), ("c", 3)]
    assert rows(tmp_path / "store", "SELECT run_id, kind FROM runs ORDER BY run_id") == [
        ("a", None),
        ("b", None),
        ("c", "baseline"),
    ]


def test_a_killed_reader_is_said_in_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a", "b"):
        write(tmp_path / "in" / f"{name}.jsonl", [line(0)])

    def killed(task: Task) -> list[Tally]:
        raise BrokenProcessPool(f"a child process died over {len(task.units)} parts")

    monkeypatch.setattr(runner, "read_task", killed)
    with pytest.raises(SourceError, match="--workers 1"):
        read(tmp_path / "store", tmp_path / "in")
    assert not list((tmp_path / "store" / "staging").iterdir())


def test_bad_lines_are_rejects_and_the_rest_is_read(tmp_path: Path) -> None:
    good = json.dumps(line(0))
    text = "\n".join(
        [good, "not json", "[1, 2]", json.dumps({"reward": 1.0}), json.dumps(line(1, step="soon")), good[:40]]
    )
    (tmp_path / "a.jsonl").write_text(text)
    report = read(tmp_path / "store", tmp_path / "a.jsonl")
    assert (report.rollouts, report.rejects, report.exit_code) == (1, 5, 3)
    found = rows(tmp_path / "store", "SELECT position, reason, snippet FROM rejects ORDER BY position::BIGINT")
    assert len(found) == 5
    assert found[0][0] == str(len(good) + 1)
    assert all(reason for _, reason, _ in found)


def test_gzip_zstd_bom_and_crlf_are_read_alike(tmp_path: Path) -> None:
    data = "".join(json.dumps(line(n)) + "\r\n" for n in range(3)).encode()
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.jsonl").write_bytes(b"\xef\xbb\xbf" + data)
    (tmp_path / "in" / "b.jsonl.gz").write_bytes(gzip.compress(data))
    (tmp_path / "in" / "c.jsonl.zst").write_bytes(zstandard.compress(data))
    report = read(tmp_path / "store", tmp_path / "in")
    assert (report.sources, report.rollouts, report.rejects) == (3, 9, 0)


def test_a_cut_off_gzip_file_keeps_what_came_before(tmp_path: Path) -> None:
    data = "".join(json.dumps(line(n, noise=os.urandom(400).hex())) + "\n" for n in range(200)).encode()
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(data)[:60_000])
    report = read(tmp_path / "store", tmp_path / "a.jsonl.gz")
    assert 0 < report.rollouts < 200
    assert report.exit_code == 3
    assert any("damaged" in each for each in report.failed)


def test_a_folder_of_rubbish_skips_what_nobody_knows(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    write(folder / "good.jsonl", [line(0)])
    (folder / "empty.jsonl").write_bytes(b"")
    (folder / "picture.png").write_bytes(os.urandom(300))
    (folder / "text.txt").write_text("hello")
    (folder / "loop").symlink_to(folder)
    (folder / "dangling").symlink_to(folder / "nothing")
    os.mkfifo(folder / "pipe")
    report = read(tmp_path / "store", folder)
    assert (report.sources, report.rollouts, report.exit_code) == (1, 1, 0)
    names = ["dangling", "empty.jsonl", "picture.png", "pipe", "text.txt"]
    assert sorted(Path(each).name for each in report.skipped) == names


def test_an_unknown_file_is_an_error_that_names_the_nearest_formats(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text('{"colour": "red"}\n')
    with pytest.raises(UnrecognisedError, match=r"no source recognises it .*colour.* Nearest formats: .*--map"):
        read(tmp_path / "store", tmp_path / "x.jsonl")
    with pytest.raises(UnrecognisedError, match="no such file"):
        read(tmp_path / "store", tmp_path / "nowhere")


def test_one_unknown_file_among_good_ones_fails_alone(tmp_path: Path) -> None:
    (tmp_path / "x.bin").write_bytes(b"\x00\x01")
    report = read(tmp_path / "store", write(tmp_path / "a.jsonl", [line(0)]), tmp_path / "x.bin")
    assert (report.rollouts, len(report.failed), report.exit_code) == (1, 1, 3)


def test_globs_are_expanded(tmp_path: Path) -> None:
    write(tmp_path / "in" / "a1.jsonl", [line(0)])
    write(tmp_path / "in" / "a2.jsonl", [line(1)])
    write(tmp_path / "in" / "b.jsonl", [line(2)])
    assert read(tmp_path / "store", f"{tmp_path}/in/a*.jsonl").rollouts == 2


def test_a_wrong_mapping_is_said_before_anything_is_read(tmp_path: Path) -> None:
    file = tmp_path / "rollouts.jsonl"
    file.write_text('{"id": "a", "reward": 1}\n')
    with pytest.raises(SourceError, match="there is no field colour"):
        ingest(Store(tmp_path / "store"), Request([file], options=Options({"colour": "id"})))


def test_fields_may_be_mapped_by_hand(tmp_path: Path) -> None:
    write(tmp_path / "x.jsonl", [{"meta": {"task": "t1"}, "result": {"score": 0.5}}])
    mapping = {"sample_id": "meta.task", "reward": "result.score"}
    read(tmp_path / "store", tmp_path / "x.jsonl", options=Options(mapping))
    assert rows(tmp_path / "store", "SELECT sample_id, reward FROM rollouts") == [("t1", 0.5)]


def test_hostile_texts_are_only_data(tmp_path: Path) -> None:
    evil = "'; DROP TABLE rollouts; --"
    hostile = line(
        0, run=evil, sample_id="../../x", environment="<script>alert(1)</script>", **{"col'umn\"; --": "🚀" * 300}
    )
    hostile["messages"][1]["tool_calls"][0]["function"]["name"] = evil
    path = write(tmp_path / "it's; DROP 🚀.jsonl", [hostile, line(1, run="2024-01-01"), line(2, run="1")])
    report = read(tmp_path / "store", path)
    assert (report.rollouts, report.rejects) == (3, 0)
    assert rows(tmp_path / "store", "SELECT tool FROM tool_calls ORDER BY 1 LIMIT 1") == [(evil,)]
    assert rows(tmp_path / "store", "SELECT name FROM runs ORDER BY name") == [(evil,), ("1",), ("2024-01-01",)]


def test_lone_surrogates_and_nul_bytes_are_stored(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(
        '{"run": "r", "sample_id": "s", "messages": [{"role": "user", "content": "a\\ud800b\\u0000c"}]}\n'
    )
    report = read(tmp_path / "store", tmp_path / "a.jsonl")
    assert (report.rollouts, report.rejects) == (1, 0)


def test_a_fifty_megabyte_line_is_read(tmp_path: Path) -> None:
    big = line(0)
    big["messages"][2]["content"] = "x" * 50_000_000
    write(tmp_path / "a.jsonl", [big, line(1)])
    assert read(tmp_path / "store", tmp_path / "a.jsonl").rollouts == 2
    assert rows(tmp_path / "store", "SELECT max(tool_output_bytes) FROM rollouts") == [(50_000_000,)]


def content(store: Path) -> dict[str, list[tuple[Any, ...]]]:
    """All rows of the tables that hold what was read."""
    names = ("runs", "rollouts", "messages", "tool_calls", "scores", "samples", "rejects")
    return {name: rows(store, f"FROM {name} ORDER BY ALL") for name in names}


@pytest.mark.parametrize("task_bytes", [7_001, 30_001])
def test_byte_ranges_give_the_same_rows_as_one_piece(
    task_bytes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "a.jsonl", [line(n, noise="x" * (n % 97)) for n in range(300)])
    read(tmp_path / "one", path)
    monkeypatch.setattr(runner, "TASK_BYTES", task_bytes)
    tasks: list[Task] = []

    def counted(task: Task) -> list[Tally]:
        tasks.append(task)
        return read_task(task)

    monkeypatch.setattr(runner, "read_task", counted)
    report = read(tmp_path / "many", path, workers=1)
    assert len(tasks) == -(-path.stat().st_size // task_bytes) > 2
    assert report.rollouts == 300
    assert content(tmp_path / "many") == content(tmp_path / "one")


@pytest.mark.parametrize("copies", [1, 20])
def test_the_same_id_in_another_environment_is_another_sample(copies: int, tmp_path: Path) -> None:
    def asked(environment: str | None, question: str) -> dict[str, Any]:
        named = {} if environment is None else {"environment": environment}
        return line(0, rollout_id=None, messages=[{"role": "user", "content": question}], tags=[question]) | named

    lines = [asked(name, question) for name, question in (("air", "fly?"), ("shop", "buy?"), (None, "what?"))]
    read(tmp_path / "store", write(tmp_path / "a.jsonl", lines * copies))
    sql = "SELECT environment, sample_id, prompt_text, tags FROM samples ORDER BY environment NULLS LAST"
    assert rows(tmp_path / "store", sql) == [
        ("air", "s0", "user: fly?", '["fly?"]'),
        ("shop", "s0", "user: buy?", '["buy?"]'),
        (None, "s0", "user: what?", '["what?"]'),
    ]


def test_a_sample_described_without_an_environment_is_not_described_again(tmp_path: Path) -> None:
    described = {"type": "sample", "run": "r", "sample_id": "s0", "prompt": "the task"}
    lines = [described, line(0, environment="air"), line(0, environment="shop")]
    read(tmp_path / "store", write(tmp_path / "a.jsonl", lines))
    assert rows(tmp_path / "store", "SELECT environment, prompt_text FROM samples") == [(None, "the task")]


def test_pieces_that_cannot_be_joined_are_a_reject(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    join = observatory_jsonl.join

    def failing(key: str, fragments: list[Fragment]) -> Iterator[Record]:
        if key == "x1":
            raise ZeroDivisionError("no such piece")
        yield from join(key, fragments)

    monkeypatch.setattr(observatory_jsonl, "join", failing)
    pieces = [line(n, partial=True) for n in range(3)]
    report = read(tmp_path / "store", write(tmp_path / "a.jsonl", pieces))
    assert (report.rollouts, report.rejects) == (2, 1)
    assert rows(tmp_path / "store", "SELECT position, reason FROM rejects") == [
        ("x1", "unexpected ZeroDivisionError: no such piece")
    ]


@pytest.mark.parametrize("task_bytes", [900, 7_001])
def test_ids_used_several_times_are_the_same_however_a_file_is_divided(
    task_bytes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [line(n, rollout_id=f"x{n * n % 7}", tool_calls=[{"id": "c", "latency_s": n}]) for n in range(60)]
    path, other = write(tmp_path / "a.jsonl", lines), write(tmp_path / "b.jsonl", lines[:9])
    read(tmp_path / "one", path, other)
    monkeypatch.setattr(runner, "TASK_BYTES", task_bytes)
    report = read(tmp_path / "many", path, other, workers=1)
    assert report.rollouts == 69
    assert rows(tmp_path / "many", "SELECT count(*), count(DISTINCT rollout_id) FROM rollouts") == [(69, 69)]
    assert content(tmp_path / "many") == content(tmp_path / "one")
    joined = "FROM rollouts AS r JOIN tool_calls AS t USING (run_id, rollout_id) WHERE r.reward * 10 <> t.latency_s"
    assert rows(tmp_path / "many", f"SELECT count(*) {joined}") == [(0,)]


def test_parts_of_a_folder_that_use_an_id_twice_keep_both(tmp_path: Path) -> None:
    for step in (10, 20):
        dumped = [
            {
                "input": "user\nq\nassistant\n",
                "output": "7",
                "gts": "7",
                "score": reward,
                "step": step,
                "request_id": name,
            }
            for name, reward in (("a", 1.0), ("b", 0.0))
        ]
        write(tmp_path / "run" / "rollout_data" / f"{step}.jsonl", dumped)
    assert read(tmp_path / "store", tmp_path / "run", workers=1).rollouts == 4
    sql = "SELECT step, count(*), count(DISTINCT rollout_id), avg(reward) FROM rollouts GROUP BY step ORDER BY step"
    assert rows(tmp_path / "store", sql) == [(10, 2, 2, 0.5), (20, 2, 2, 0.5)]


@pytest.mark.slow
def test_several_processes_give_the_same_rows_as_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(2):
        write(tmp_path / "in" / f"{number}.jsonl", [line(n, run=f"r{number}") for n in range(50)])
    large = b"".join(each + b"\n" for each in generate.lines(200))
    (tmp_path / "in" / "large.jsonl").write_bytes(large)
    read(tmp_path / "one", tmp_path / "in", workers=1)
    monkeypatch.setattr(runner, "POOL_BYTES", 0)
    monkeypatch.setattr(runner, "TASK_BYTES", len(large) // 5)
    assert read(tmp_path / "two", tmp_path / "in", workers=2).rollouts == 300
    assert content(tmp_path / "two") == content(tmp_path / "one")


def test_progress_counts_up_to_all_bytes(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", [line(n) for n in range(10)])
    seen: list[Progress] = []
    ingest(Store(tmp_path / "store"), Request([path]), seen.append)
    assert seen[0].done_bytes == 0
    assert seen[-1].done_bytes == seen[-1].total_bytes == path.stat().st_size
    assert seen[-1].rollouts == 10


def test_a_tool_server_and_a_grader_join_in_any_order(tmp_path: Path) -> None:
    trainer = {"type": "rollout", "partial": True, "run": "r", "rollout_id": "x", "sample_id": "s", "reward": 1.0}
    tool = {
        "type": "tool_call",
        "run": "r",
        "rollout_id": "x",
        "id": "c",
        "name": "search",
        "arguments": {"q": 1},
        "output": "o",
    }
    grade = {"type": "score", "run": "r", "rollout_id": "x", "grader": "g", "value": 0.5}
    read(tmp_path / "store", write(tmp_path / "grader.jsonl", [grade]))
    read(tmp_path / "store", write(tmp_path / "tools.jsonl", [tool]))
    report = read(tmp_path / "store", write(tmp_path / "trainer.jsonl", [trainer]))
    assert (report.rollouts, report.rows["parts"], report.rows["tool_calls"]) == (1, 1, 1)
    assert rows(tmp_path / "store", "SELECT sample_id, reward, num_tool_calls FROM rollouts") == [("s", 1.0, 1)]
    assert rows(tmp_path / "store", "SELECT grader, value FROM scores") == [("g", 0.5)]
    write(tmp_path / "grader.jsonl", [{**grade, "value": 0.75}])
    read(tmp_path / "store", tmp_path / "grader.jsonl")
    assert rows(tmp_path / "store", "SELECT grader, value FROM scores") == [("g", 0.75)]
    assert rows(tmp_path / "store", "SELECT count(*) FROM tool_calls") == [(1,)]
