"""The grader audit in words, and as a whole page."""

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from dashboard import grader_charts, grader_words
from dashboard.rows import records
from queries.graders import grader_agreement, grader_confusion, graders
from tests.conftest import ROOT
from tests.dashboard.test_markup import EVIL
from tests.queries.test_graders import score, table
from tests.stores import build_store, rollout


def page(root: Path, monkeypatch: pytest.MonkeyPatch, **link: str) -> AppTest:
    monkeypatch.setenv("OBSERVATORY_STORE", str(root))
    app = AppTest.from_file(str(ROOT / "dashboard" / "app.py"), default_timeout=120)
    app.switch_page("app_pages/grader_audit.py")
    for name, value in link.items():
        app.query_params[name] = value
    app.run()
    assert not app.exception
    assert not any("unexpected" in each.value for each in app.subheader)
    return app


def texts(app: AppTest) -> str:
    said = " ".join(str(each.value) for each in [*app.markdown, *app.caption, *app.error])
    return said.replace("\\", "").replace("\u2060", "").replace("\u00a0", " ")


def test_the_verdict_says_in_which_direction_they_differ(tmp_path: Path) -> None:
    store = build_store(tmp_path, table(20, 5, 10, 15))
    row = records(grader_agreement(store))[0]
    said = grader_words.verdict(row)
    assert said.startswith("answer agrees with expert on 70 % [56 %, 81 %] of 50 rollouts (κ 0.40 [")
    assert said.endswith("50 samples): it passes 5 answers that expert calls wrong and fails 10 that it calls right.")
    assert grader_words.cautions(row, graders(store)) == []
    one = records(grader_agreement(build_store(tmp_path / "one", table(12, 0, 0, 0))))[0]
    assert "(κ undefined, 12 samples)" in grader_words.verdict(one)
    assert "cannot be said: both give one and the same verdict throughout" in grader_words.verdict(one)
    cautions = grader_words.cautions(one, graders(store))
    assert cautions[0].startswith("100 % of all verdicts are the same")
    assert cautions[1].startswith("12 samples only")


def test_cells_can_be_clicked(tmp_path: Path) -> None:
    store = build_store(tmp_path, table(20, 5, 10, 15))
    cells = grader_confusion(store, first="answer", second="expert")
    drawn = grader_charts.confusion(cells, "answer", "expert")
    assert drawn.data[0].z.tolist() == [[15, 5], [10, 20]]
    assert {each["place"] for each in drawn.data[1].customdata} == {"0|0", "0|1", "1|0", "1|1"}


def test_the_page_audits_and_lists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build_store(tmp_path, table(20, 5, 10, 15))
    app = page(tmp_path, monkeypatch)
    assert "answer agrees with expert on 70 %" in texts(app)
    assert "15 rollouts with opposite verdicts, the widest gap first." in texts(app)
    assert "10 of 25 rollouts without reward are called right" in texts(app)
    turned = page(tmp_path, monkeypatch, grader="expert", against="answer", which="only_first")
    assert "expert agrees with answer on 70 %" in texts(turned)
    assert "10 rollouts that the first alone calls right" in texts(turned)


def test_pages_of_little_or_hostile_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build_store(tmp_path / "plain", [rollout(sample_id="s")])
    assert "No rollout that is left was judged by two graders" in texts(page(tmp_path / "plain", monkeypatch))
    scores = [score(EVIL, 1.0, "reward"), score("hack", 0.0, "label")]
    build_store(tmp_path / "evil", [rollout(sample_id=f"s{at}", reward=1.0, scores=list(scores)) for at in range(3)])
    said = texts(page(tmp_path / "evil", monkeypatch))
    assert "hack marks what is wrong" in said
