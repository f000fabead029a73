"""The app as a whole, without a browser: empty store, filters that survive, damage that becomes a sentence."""

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from dashboard import actions
from dashboard.sample import case_studies
from dashboard.site import PAGES
from ingest.catalog import CATALOG_FILE
from tests.conftest import ROOT
from tests.stores import rollout, write_store

HOSTILE = ("'; DROP TABLE runs; --", "x" * 300, "🙂 run", "1", "2024-01-01", "![x](http://evil.example/x.png)")


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("OBSERVATORY_STORE", str(tmp_path))
    return tmp_path


def fill(store: Path, *names: str) -> None:
    steps = (0, 9)
    splits = ("train", "valid")
    write_store(
        store,
        [
            rollout(name, sample_id=sample, split=split, step=step, reward=0.1 * step, status="completed")
            for name in names
            for split in splits
            for step in steps
            for sample in ("a", "b")
        ],
    )


def opened(**parameters: str | list[str]) -> AppTest:
    app = AppTest.from_file(str(ROOT / "dashboard" / "app.py"), default_timeout=60)
    for name, value in parameters.items():
        app.query_params[name] = value
    return app.run()


def texts(app: AppTest) -> str:
    shown = [*app.title, *app.subheader, *app.markdown, *app.caption, *app.error, *app.warning]
    return "\n".join(str(each.value).replace("\\", "").replace("\u00a0", " ") for each in shown)


def test_an_empty_store_says_what_fills_it(store: Path) -> None:
    app = opened()
    assert not app.exception
    assert app.title[0].value == "Nothing has been read yet"
    assert app.code[0].value == "observatory ingest PATH"
    assert [each.label for each in app.button] == ["Read the sample data", *["Read it"] * len(case_studies())]


def test_case_studies_are_offered_with_what_they_are(store: Path) -> None:
    fill(store, "zava")
    app = opened()
    (offered,) = (each for each in app.expander if each.label == "Published case studies, as synthetic data")
    said = "\n".join(str(each.value).replace("\\", "") for each in [*offered.markdown, *offered.caption])
    assert "nothing in them is real" in said
    assert "observatory forget RUN" in said
    for each in case_studies():
        assert each.title in said.replace("\u00a0", " ")
    assert [each.label for each in offered.button] == ["Read it"] * len(case_studies())


def test_a_case_study_that_was_read_is_not_offered_again(store: Path) -> None:
    first = case_studies()[0]
    fill(store, *first.runs)
    app = opened()
    assert not app.exception
    assert sum(each.label == "Read it" for each in app.button) == len(case_studies()) - 1
    assert f"read_{first.name}" not in {each.key for each in app.button}


def test_the_button_reads_a_case_study_into_the_store(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths: list[Path] = []
    monkeypatch.setattr(actions, "read", paths.append)
    fill(store, "zava")
    opened().button(key="read_slides").click().run()
    assert [path.name for path in paths] == ["slides.jsonl.zst"]


def test_a_damaged_store_is_a_sentence(store: Path) -> None:
    fill(store, "zava")
    (store / CATALOG_FILE).write_bytes(b"no database")
    app = opened()
    assert not app.exception
    assert "is damaged" in texts(app)
    assert "observatory doctor" in texts(app)


def test_a_pinned_snapshot_that_is_gone_is_a_sentence_with_a_way_out(store: Path) -> None:
    fill(store, "zava")
    app = opened(snapshot="77")
    assert "snapshot 77 is not in this store" in texts(app)
    app.button[0].click().run()
    assert app.title[0].value == "Runs"


def test_one_run_says_its_verdict(store: Path) -> None:
    fill(store, "zava")
    app = opened()
    assert not app.exception
    assert "1 run, 8 rollouts. Validation reward of zava: 0.900 at step 9 (n = 2 samples), +0.900" in texts(app)


def test_filters_of_a_link_hold_and_are_said_in_words(store: Path) -> None:
    fill(store, "zava", "other")
    app = opened(run=["zava"], split=["valid"], **{"from": "1", "to": "9"})
    assert not app.exception
    assert "zava · valid · steps 1–9" in texts(app)
    assert "2 of 16 rollouts" in texts(app)
    app.multiselect(key="split").set_value([]).run()
    assert "zava · steps 1–9" in texts(app)
    assert "4 of 16 rollouts" in texts(app)
    next(each for each in app.button if each.label == "Reset").click().run()
    assert "Everything" in texts(app)
    assert "16 rollouts" in texts(app)


def test_filters_stay_from_page_to_page(store: Path) -> None:
    fill(store, "zava", "other")
    app = opened(run=["zava"])
    for page in PAGES:
        app.switch_page(page.path).run()
        assert not app.exception, page.title
        assert app.multiselect(key="run").value == ["zava"], page.title


def test_a_filter_that_leaves_nothing_is_named(store: Path) -> None:
    fill(store, "zava")
    app = opened(status=["truncated"], split=["valid"])
    assert "Without the filter on status some would be." in texts(app)


def test_a_run_the_store_does_not_hold_is_named(store: Path) -> None:
    fill(store, "zava")
    assert "runs that this store does not hold: nosuch" in texts(opened(run=["nosuch"]))


def test_hostile_names_are_only_names(store: Path) -> None:
    fill(store, *HOSTILE)
    app = opened()
    assert not app.exception
    options = app.multiselect(key="run").options
    assert len(options) == len(HOSTILE)
    for run_id in options:
        app.multiselect(key="run").set_value([run_id]).run()
        assert not app.exception
        assert "8 of 48 rollouts" in texts(app)


def test_the_link_pins_the_snapshot_and_writes_filters_out(store: Path) -> None:
    fill(store, "zava")
    app = opened(run=["zava"])
    link = next(each.value for each in app.code if "snapshot=" in each.value)
    assert "run=zava" in link
    assert link.endswith("snapshot=0")


def test_a_new_snapshot_is_seen_at_the_next_run(store: Path) -> None:
    fill(store, "zava")
    app = opened()
    assert "1 run, 8 rollouts" in texts(app)
    fill(store, "zava", "later")
    assert "2 runs, 16 rollouts" in texts(app.run())


def test_a_single_step_is_compared_with_nothing(store: Path) -> None:
    write_store(store, [rollout("zava", sample_id="a", split="valid", step=20, reward=0.75)])
    app = opened().switch_page("app_pages/reward_curves.py").run()
    assert not app.exception
    assert [(each.label, each.delta) for each in app.metric] == [
        ("Validation reward at step 20", "the only step"),
        ("Rollouts a step", "n = 1 sample"),
    ]
