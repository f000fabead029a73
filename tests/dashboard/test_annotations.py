"""Labels and notes on the trajectory page and from the shell; hostile texts stay texts."""

import re
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest
from typer.testing import CliRunner

from dashboard import actions, cli
from ingest.annotate import Annotation, annotate
from ingest.store import Store
from queries.annotations import annotations
from queries.connection import open_store
from queries.rollouts import rollouts
from tests.conftest import ROOT
from tests.dashboard.test_markup import EVIL
from tests.stores import rollout, write_store


@pytest.fixture
def chosen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("OBSERVATORY_STORE", str(tmp_path))
    monkeypatch.setattr(actions, "reader_name", lambda: "ada")
    messages = [{"role": "user", "text": "hello"}, {"role": "assistant", "turn": 0, "text": "well"}]
    write_store(tmp_path, [rollout("job", sample_id="a", reward=1.0, messages=messages)])
    return str(rollouts(open_store(tmp_path))["rollout_id"].iloc[0])


def page(rollout_id: str, **query: str) -> AppTest:
    app = AppTest.from_file(str(ROOT / "dashboard" / "app.py"), default_timeout=30)
    app.query_params["rollout"] = rollout_id
    for name, value in query.items():
        app.query_params[name] = value
    app.switch_page("app_pages/trajectory.py").run()
    assert not app.exception
    return app


def test_a_reader_labels_a_finding_sees_it_and_takes_it_back(tmp_path: Path, chosen: str) -> None:
    app = page(chosen, rule="echoed_answer", message="1")
    app.segmented_control[0].set_value("real")
    app.text_area[0].set_value("It only repeats the key.")
    app.checkbox[0].set_value(True)
    next(each for each in app.button if each.label == "Save").click().run()
    assert not app.exception
    found = annotations(open_store(tmp_path))
    assert found[["label", "rule", "note", "author", "message_index"]].values.tolist() == [
        ["real", "echoed_answer", "It only repeats the key.", "ada", 1]
    ]
    lines = [each.value for each in app.markdown if "echoed" in each.value]
    assert len(lines) == 1
    assert "ada, 20" in lines[0]
    next(each for each in app.button if each.label == "✕").click().run()
    assert annotations(open_store(tmp_path)).empty


def test_a_note_without_text_is_refused_in_words(tmp_path: Path, chosen: str) -> None:
    app = page(chosen)
    next(each for each in app.button if each.label == "Save").click().run()
    assert [each.value for each in app.error] == ["a note needs a text"]
    assert annotations(open_store(tmp_path)).empty


def test_hostile_texts_of_annotations_are_shown_as_texts(tmp_path: Path, chosen: str) -> None:
    annotate(Store(tmp_path), Annotation("job", chosen, EVIL, EVIL, EVIL, EVIL))
    said = [each.value for each in page(chosen).markdown if "script" in each.value]
    assert said
    unescaped = [re.sub(r"\\.", "", each) for each in said]
    assert all(mark not in each for each in unescaped for mark in "<>[]`*")


def test_the_shell_annotates_lists_and_takes_back(tmp_path: Path, chosen: str) -> None:
    def run(*words: str) -> str:
        done = CliRunner().invoke(cli.app, [*words, "--store", str(tmp_path)])
        assert done.exit_code == 0, done.output
        return done.stdout.strip()

    written = run("annotate", chosen, "--label", "false_alarm", "--rule", "echo", "--by", "bob", "--note", "fine")
    assert "false_alarm" in run("query", "annotations", "--format", "csv")
    assert run("annotate", chosen, "--retract", written) == f"Annotation {written} taken back."
    assert annotations(open_store(tmp_path)).empty
