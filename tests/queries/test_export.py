import json
from pathlib import Path

import duckdb
import pandas as pd
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from ingest.errors import QuestionError, StoreError
from ingest.runs import run_slug
from queries import export as module
from queries.compare import compare
from queries.connection import Reading
from queries.export import EXPORTED, MANIFEST, export
from queries.filters import Filters
from queries.redaction import REDACTED, SECRET, redacted
from tests.stores import build_store, call, rollout

HOSTILE = ("'; DROP TABLE rollouts; --", "../../x", "🚀" * 80, "1", "2024-01-01", "a b/c=d")


@pytest.fixture
def store(tmp_path: Path) -> Reading:
    rollouts = [
        rollout(
            "plain",
            native_id="0",
            sample_id="a",
            step=0,
            split="valid",
            reward=0.25,
            messages=[{"role": "user", "text": "x"}],
        ),
        rollout("plain", native_id="1", sample_id="a", step=1, split="valid", reward=None, tool_calls=[call("cat")]),
        *(rollout(name, native_id=str(number), step=2, reward=1.0) for number, name in enumerate(HOSTILE)),
    ]
    return build_store(tmp_path / "store", rollouts)


def test_read_back_with_pandas_duckdb_and_pyarrow(store: Reading, tmp_path: Path) -> None:
    export(store, tmp_path / "out")
    folder = tmp_path / "out" / "rollouts"
    slugs = sorted({"plain", *map(run_slug, HOSTILE)})

    one = pd.read_parquet(folder / "run_id=plain")
    assert one.sort_values("position")["reward"].tolist()[0] == 0.25
    assert one["reward"].isna().sum() == 1

    sql = f"SELECT run_id, count(*) FROM read_parquet('{folder}/**/*.parquet', hive_partitioning = true, "
    sql += "hive_types = {'run_id': 'VARCHAR'}) GROUP BY run_id ORDER BY run_id"
    counts = duckdb.sql(sql).fetchall()
    assert counts == [(slug, 2 if slug == "plain" else 1) for slug in slugs]

    dataset = ds.dataset(folder, partitioning=ds.partitioning(flavor="hive", schema=None))
    assert dataset.count_rows() == 2 + len(HOSTILE)
    assert str(dataset.schema.field("started_at").type) == "timestamp[us, tz=UTC]"
    assert str(dataset.schema.field("num_tool_calls").type) == "int64"


def test_hostile_run_names_stay_inside_and_are_kept(store: Reading, tmp_path: Path) -> None:
    export(store, tmp_path / "deep" / "out")
    inside = [each.relative_to(tmp_path / "deep" / "out") for each in (tmp_path / "deep").rglob("*.parquet")]
    assert all(each.parts[0] in EXPORTED for each in inside)
    names = pd.concat(pd.read_parquet(each) for each in (tmp_path / "deep/out/runs").rglob("*.parquet"))["name"]
    assert set(names) == {"plain", *HOSTILE}


def test_manifest_figures_are_the_files(store: Reading, tmp_path: Path) -> None:
    told = export(store, tmp_path / "out", tables=("rollouts", "messages"), questions=("reward_curve",))
    written = json.loads((tmp_path / "out" / MANIFEST).read_text())
    assert written == told
    assert written["snapshot_id"] == store.snapshot_id
    expected = {"question": "reward_curve", "parameters": {}, "path": "questions/reward_curve.parquet"}
    assert written["questions"] == [expected]
    assert set(written["schema"]) == {"rollouts", "messages"}
    reward = next(each for each in written["schema"]["rollouts"]["columns"] if each["name"] == "reward")
    assert reward["null"] == "not scored (NaN, infinite and beyond ±1e50 count as not scored)"
    on_disk = sorted(each.relative_to(tmp_path / "out").as_posix() for each in (tmp_path / "out").rglob("*.parquet"))
    assert sorted(each["path"] for each in written["files"]) == on_disk
    for each in written["files"]:
        file = tmp_path / "out" / each["path"]
        assert (each["num_rows"], each["num_bytes"]) == (pq.read_metadata(file).num_rows, file.stat().st_size)
    assert sum(each["num_rows"] for each in written["files"] if each["path"].startswith("rollouts/")) == 8


def test_questions_are_answered_under_the_same_filters(store: Reading, tmp_path: Path) -> None:
    filters = Filters(run_ids=("plain",), step_from=1)
    told = export(
        store, tmp_path / "out", tables=("rollouts",), questions=("rollouts", "reward_curve"), filters=filters
    )
    assert told["restriction"] == "plain · from step 1"
    curve = pd.read_parquet(tmp_path / "out/questions/reward_curve.parquet")
    assert curve[["run_id", "step", "num_rollouts", "num_scored"]].values.tolist() == [["plain", 1, 1, 0]]
    assert [each.name for each in (tmp_path / "out/rollouts").iterdir()] == ["run_id=plain"]
    # whole runs: both rollouts of it, whatever the steps asked for
    assert len(pd.read_parquet(tmp_path / "out/rollouts/run_id=plain")) == 2
    kinds = pq.read_schema(tmp_path / "out/questions/rollouts.parquet")
    assert "string" in str(kinds.field("stop_reason").type)  # without a single value, and still with a type


def test_an_earlier_export_is_replaced_whole(store: Reading, tmp_path: Path) -> None:
    export(store, tmp_path / "out")
    export(store, tmp_path / "out", tables=("runs",), filters=Filters(run_ids=("plain",)))
    assert sorted(each.name for each in (tmp_path / "out").iterdir()) == [MANIFEST, "runs"]
    assert sorted(each.name for each in tmp_path.iterdir()) == ["out", "store"]


def test_a_folder_with_other_files_is_refused(store: Reading, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    with pytest.raises(StoreError, match="holds other files"):
        export(store, tmp_path / "mine")
    with pytest.raises(StoreError, match="is a file"):
        export(store, tmp_path / "mine" / "thesis.txt")
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "years of work"
    (tmp_path / "empty").mkdir()
    export(store, tmp_path / "empty", tables=("runs",))
    assert (tmp_path / "empty" / MANIFEST).exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"tables": ("secrets",)}, "no table secrets"),
        ({"tables": ("parts",)}, "no table parts"),
        ({"questions": ("secrets",)}, "no question 'secrets'"),
        ({"questions": ("sample_attempts",)}, "needs --sample-id"),
    ],
)
def test_what_does_not_exist_leaves_no_trace(
    store: Reading, tmp_path: Path, options: dict[str, tuple[str]], said: str
) -> None:
    with pytest.raises(QuestionError, match=said):
        export(store, tmp_path / "out", **options)
    assert [each.name for each in tmp_path.iterdir()] == ["store"]


def test_a_failed_export_leaves_the_earlier_one(
    store: Reading, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    export(store, tmp_path / "out", tables=("runs",))
    before = (tmp_path / "out" / MANIFEST).read_bytes()

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module, "_write_table", full)
    with pytest.raises(StoreError, match="No space left"):
        export(store, tmp_path / "out")
    monkeypatch.undo()
    monkeypatch.setattr(Path, "rename", _failing_second_time(Path.rename))
    with pytest.raises(StoreError, match="untouched"):
        export(store, tmp_path / "out")
    monkeypatch.undo()
    assert (tmp_path / "out" / MANIFEST).read_bytes() == before
    assert sorted(each.name for each in tmp_path.iterdir()) == ["out", "store"]


def _failing_second_time(rename):
    calls = []

    def renamed(self: Path, target: Path) -> Path:
        calls.append(target)
        if len(calls) == 2:
            raise OSError(5, "Input/output error")
        return rename(self, target)

    return renamed


def test_a_reader_that_lists_the_folder_sees_whole_files_only(
    store: Reading, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    export(store, out, tables=("runs",))
    seen = []
    write = module._write_table

    def watched(*given: object, **options: object) -> None:
        write(*given, **options)
        seen.append(sorted(each.relative_to(out).parts[0] for each in out.rglob("*.parquet")))

    monkeypatch.setattr(module, "_write_table", watched)
    export(store, out, tables=("runs", "rollouts", "messages"))
    assert seen == [["runs"] * 7] * 3
    for file in out.rglob("*.parquet"):
        assert pq.read_metadata(file).num_rows > 0


def test_secrets_leave_as_redacted_and_identifiers_stay(tmp_path: Path) -> None:
    key, token = "sk-proj-" + "a1B2" * 6, "ghp_" + "Z9" * 18
    opened = build_store(
        tmp_path / "store",
        [
            rollout(
                "r",
                sample_id=key,
                messages=[{"role": "user", "text": f"use {key}, not task-force-of-long-words"}],
                tool_calls=[call("curl", f'{{"header":"Bearer {token}"}}', output_text=f"key={token}.")],
            )
        ],
    )
    written = export(opened, tmp_path / "out", questions=["repeat_patterns"])
    read = {
        name: pq.read_table(tmp_path / "out" / name).to_pylist()[0] for name in ("messages", "tool_calls", "rollouts")
    }
    assert read["messages"]["text"] == "use [redacted], not task-force-of-long-words"
    assert read["tool_calls"]["output_text"] == "key=[redacted]."
    assert token not in str(read["tool_calls"])
    assert read["rollouts"]["sample_id"] == key
    assert written["is_redacted"] is True
    assert export(opened, tmp_path / "whole", redact=False)["is_redacted"] is False
    assert token in str(pq.read_table(tmp_path / "whole" / "tool_calls").to_pylist())


@pytest.mark.parametrize(
    "text",
    [
        "AKIA" + "A1" * 8,
        "hf_" + "aB3" * 9,
        "xoxb-" + "1234567890-abc",
        "eyJhbGciOiJI.eyJzdWIiOiIx.c2lnbmF0dXJl",
        "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----",
    ],
)
def test_keys_of_known_kinds_are_recognised_by_both_engines(text: str) -> None:
    said = f"before {text} after"
    assert redacted(said) == "before [redacted] after"
    sql = "SELECT regexp_replace($text, $secret, $redacted, 'g')"
    found = duckdb.sql(sql, params={"text": said, "secret": SECRET, "redacted": REDACTED}).fetchall()
    assert found == [("before [redacted] after",)]
    for innocent in ("risk-adjusted-return-of-many-years", "task-0123456789abcdefgh", "0123456789abcdef" * 4):
        assert redacted(innocent) == innocent


def test_a_question_with_parameters_is_exported_as_the_shell_answers_it(tmp_path: Path) -> None:
    rollouts = [
        rollout(run=run, sample_id=f"s{n}", split="valid", step=step, reward=0.1 * n + 0.2 * step)
        for run in ("a", "b")
        for n in range(4)
        for step in (0, 1)
    ]
    opened = build_store(tmp_path / "store", rollouts)
    asked = [
        "compare?baseline=a%400&candidate=a@1",
        "compare?baseline=a@0&candidate=b@1&method=bca",
        "compare_power?baseline=a@0&candidate=a@1",
    ]
    told = export(opened, tmp_path / "out", tables=("runs",), questions=asked, filters=Filters(run_ids=("a",)))
    assert [each["path"] for each in told["questions"]] == [
        "questions/compare.parquet",
        "questions/compare-2.parquet",
        "questions/compare_power.parquet",
    ]
    assert told["questions"][0]["parameters"] == {"baseline": "a@0", "candidate": "a@1"}
    found = pd.read_parquet(tmp_path / "out/questions/compare.parquet")
    pd.testing.assert_series_equal(found["delta_mean"], compare(opened, baseline="a@0", candidate="a@1")["delta_mean"])
    for wrong, why in (
        ("compare?baseline", "name=value"),
        ("compare?baseline=a&baseline=b", "twice"),
        ("compare?x=1", "does not take"),
    ):
        with pytest.raises(QuestionError, match=why):
            export(opened, tmp_path / "other", tables=(), questions=[wrong])
