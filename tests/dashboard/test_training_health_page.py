"""The page Training health: what it says of a collapse and of its twin, its cursor, and that it stands odd stores."""

from pathlib import Path

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from dashboard import training_charts, training_words
from ingest.runner import Request, ingest
from ingest.sources.base import Row
from ingest.store import Store
from queries.connection import open_store
from queries.filters import Filters
from queries.health import health_series
from queries.health_patterns import health_patterns
from sample_data import training_health
from tests.conftest import ROOT
from tests.dashboard.test_markup import EVIL
from tests.stores import rollout, write_store


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("collapse")
    ingest(Store(folder), Request([training_health.DATA], workers=1))
    return folder


def opened(store: Path, monkeypatch: pytest.MonkeyPatch, **address: str) -> AppTest:
    monkeypatch.setenv("OBSERVATORY_STORE", str(store))
    app = AppTest.from_file(str(ROOT / "dashboard" / "app.py"), default_timeout=180)
    app.switch_page("app_pages/health.py")
    for name, value in address.items():
        app.query_params[name] = value
    return app.run()


def told(app: AppTest) -> str:
    return "\n".join(each.value for each in app.markdown).replace("\\", "")


def test_the_collapse_is_named_with_its_evidence_and_a_cursor(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app = opened(root, monkeypatch, health_run="training_collapse", at="20")
    assert not app.exception
    text = told(app)
    assert "training_collapse shows 9 of 16 known bad patterns" in text
    assert "It learns its train batches, and nothing that could be shown on samples held out." in text
    assert "Entropy collapse: from 0.872 nats to 0.0856 nats" in text
    assert "The evidence of 6 more patterns stands under" in text
    assert [each.value for each in app.subheader] == ["Step 20"]
    assert "36 rollouts behind the selection" in "\n".join(each.value for each in app.caption)
    app.number_input(key="at").set_value(28).run()  # validated at 25 and at 29
    assert [each.value for each in app.subheader] == ["Step 28"]
    assert "12 rollouts behind the selection" in "\n".join(each.value for each in app.caption)


def test_the_twin_is_healthy_and_the_last_step_is_shown(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app = opened(root, monkeypatch, health_run="training_healthy")
    assert "training_healthy shows none of the 16 known bad patterns that can be judged." in told(app)
    assert [each.value for each in app.subheader] == ["Step 29"]


def test_odd_stores_are_stood(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_store(tmp_path / "none", [rollout(sample_id="a", reward=1.0)])
    app = opened(tmp_path / "none", monkeypatch)
    assert not app.exception
    assert "so there is nothing to draw" in told(app)
    rows = [Row("metrics", {"name": name, "value": 1.0, "step": 0, "position": 0}, run="r") for name in ("loss", EVIL)]
    write_store(tmp_path / "one", [Row("runs", {"name": EVIL, "kind": "training", "precedence": 1}, run="r"), *rows])
    app = opened(tmp_path / "one", monkeypatch)
    assert not app.exception
    assert "known bad pattern" in told(app)


def test_the_figure_has_a_panel_a_measure_and_a_cursor_through_all(root: Path) -> None:
    store, one = open_store(root), Filters(run_ids=("training_collapse",))
    series, patterns = health_series(store, one), health_patterns(store, one)
    figure = training_charts.health_figure(series, patterns, 20, "#0072B2")
    panels = series["panel"].nunique()
    cursors = [each for each in figure.layout.shapes if each.type == "line"]
    assert len(cursors) == panels
    assert {each.x0 for each in cursors} == {20}
    assert sum(each.type == "rect" for each in figure.layout.shapes) == len(training_health.PLANTED)
    assert sum(len(trace.x) for trace in figure.data) == len(series)
    assert {each["step"] for trace in figure.data for each in trace.customdata} == set(range(30))


def test_long_lines_are_thinned_and_keep_their_spikes() -> None:
    rows = pd.DataFrame({"value": [0.0] * 500 + [99.0] + [1.0] * 499, "step": range(1000)})
    kept = training_charts.thinned(rows, 40)
    assert len(kept) <= 42
    assert 99.0 in kept["value"].tolist()
    assert kept["step"].iloc[[0, -1]].tolist() == [0, 999]
    assert len(training_charts.thinned(rows, 1000)) == 1000


def test_a_fall_is_no_missing_rise_and_a_changed_grader_forbids_both(root: Path) -> None:
    patterns = health_patterns(open_store(root), Filters(run_ids=("training_healthy",)))
    still = patterns["kind"] == "still"

    def said(**values: object) -> str:
        columns = list(values)
        rows = patterns.astype(dict.fromkeys(columns, object))
        rows.loc[still, columns] = list(values.values())
        return training_words.verdict(rows, "r")

    assert "It is learning: " in said(ci_low=0.1, ci_high=0.3, reason=None)
    assert "No rise in reward could be shown: " in said(ci_low=-0.1, ci_high=0.1, reason=None)
    assert "The reward fell: " in said(ci_low=-0.3, ci_high=-0.1, reason=None)
    changed = said(ci_low=-0.3, ci_high=-0.1, reason="the grader changed at step 15")
    assert "Whether it learns cannot be said: " in changed
    assert changed.count("; the grader changed at step 15.") == 1


def test_a_level_line_has_an_axis_of_its_size(root: Path) -> None:
    series = health_series(open_store(root), Filters(run_ids=("training_healthy",))).assign(value=1e-6)
    figure = training_charts.health_figure(series, pd.DataFrame({"verdict": [], "measure": []}), 0, "#0072B2")
    assert list(figure.layout.yaxis.range) == [0, 2e-6]


def test_values_have_their_units() -> None:
    given = ((0.5, "share"), (90.0, "s"), (1234.4, "tokens"), (0.5, "nats"))
    expected = ["50 %", "90 s", "1\u202f234 tokens", "0.500 nats"]
    assert [training_words.valued(*each) for each in given] == expected
    assert training_words.valued(None, "nats") == "–"
    assert training_words.valued(2.0, "") == "2.00"
