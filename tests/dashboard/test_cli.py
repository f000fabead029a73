"""The command line where it does more than parse: the demo reads the sample data, then opens the dashboard."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from dashboard import cli
from ingest.errors import UnrecognisedError
from queries.connection import open_store
from queries.scope import run_names


def test_the_demo_reads_the_sample_data_and_then_serves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    served: list[Path] = []
    monkeypatch.setattr(cli, "serve", lambda store, port, address: served.append(store))
    result = CliRunner().invoke(cli.app, ["demo", "--store", str(tmp_path)])
    assert result.exit_code == 0
    assert served == [tmp_path]
    assert (tmp_path / "observatory.duckdb").exists()


def test_the_demo_reads_case_studies_by_name(tmp_path: Path) -> None:
    names = ["--scenario", "slides", "--scenario", "underwriting"]
    result = CliRunner().invoke(cli.app, ["demo", "--store", str(tmp_path), "--no-serve", *names])
    assert result.exit_code == 0
    assert set(run_names(open_store(tmp_path))["run_id"]) == {
        *(f"slides-{arm}" for arm in ("baseline", "rft", "tuned")),
        *(f"underwriting-model-{letter}" for letter in "abcde"),
    }


def test_a_case_study_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UnrecognisedError, match="no case study 'zava'; there are file_selection, "):
        CliRunner().invoke(cli.app, ["demo", "--store", str(tmp_path), "--scenario", "zava"], catch_exceptions=False)


def test_an_ingest_with_rejects_exits_with_3(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"run": "r", "sample_id": "s", "reward": 1}\nbroken\n')
    result = CliRunner().invoke(
        cli.app, ["ingest", str(tmp_path / "a.jsonl"), "--store", str(tmp_path / "store"), "--json"]
    )
    assert result.exit_code == 3
