"""The page Drift and the notices of drift: what is said of planted drift, of none, and of odd stores."""

from pathlib import Path

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from dashboard import drift_charts, drift_words
from ingest.runner import Request, ingest
from ingest.store import Store
from queries.connection import Reading, open_store
from queries.drift import drift, drift_selections, production_drift
from queries.drift_slices import drift_overlap, drift_slices
from sample_data import production_drift as planted
from tests.dashboard.test_markup import EVIL
from tests.dashboard.test_trace_pages import opened, texts
from tests.stores import build_store, call, rollout, write_store


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Reading:
    root = tmp_path_factory.mktemp("drift_page")
    ingest(Store(root), Request([planted.DATA], workers=1))
    return open_store(root)


def test_planted_drift_in_words(store: Reading) -> None:
    sides = {"first": planted.UNLIKE, "first_split": "valid"}
    selections, frame = drift_selections(store, **sides), drift(store, **sides)
    said = drift_words.verdict(selections, frame)
    assert said.startswith(
        "drift_unlike_production, production (n = 160 samples), beside drift_unlike, validation, step 10 "
        "(n = 80 samples). What goes in: prompt length is 2."
    )
    assert "tags: complaint 6" in said
    assert "What the agent does: tools called: search 4" in said
    (policies,) = drift_words.cautions(selections, frame, drift_overlap(store, **sides))
    assert policies.startswith("Runs that may have used different policies acted in the two selections")
    slices = drift_words.slices(drift_slices(store, **sides))
    assert slices.startswith("Slices whose share changed: long prompts 3")
    assert "tag complaint 2" in slices
    assert [each.label for each in drift_words.figures(frame)][:2] == ["prompt length, bytes", "tools called"]
    assert "beyond chance: prompt length, tags, tools called" in drift_words.alt(frame)


def test_nothing_found_in_words(store: Reading) -> None:
    sides = {"first": planted.ALIKE, "first_split": "valid"}
    selections, frame = drift_selections(store, **sides), drift(store, **sides)
    assert ": no difference could be shown in " in drift_words.verdict(selections, frame)
    assert drift_words.cautions(selections, frame, drift_overlap(store, **sides)) == []
    assert drift_words.slices(drift_slices(store, **sides)).startswith("No slice of ")


def test_samples_trained_on_are_named(store: Reading) -> None:
    sides = {"first": planted.UNLIKE, "first_split": "train"}
    (leak, small) = drift_words.cautions(
        drift_selections(store, **sides), drift(store, **sides), drift_overlap(store, **sides)
    )
    assert leak == (
        "3 of 80 samples of validation have a prompt that stands word for word in train (valid-000, valid-001, "
        "valid-002), whatever the step: what was learned by heart counts as solved."
    )
    assert small.endswith("train, step 10 has only 20 samples: only a large shift can be shown.")


def test_what_a_checkpoint_was_judged_on(store: Reading) -> None:
    unlike = production_drift(store, arm=planted.UNLIKE)
    said = drift_words.judged(unlike)
    assert said.startswith(
        "Judged on validation samples unlike production (drift_unlike_production, n = 80 and 160): prompt length is 2."
    )
    assert "tools called: search 4" in said
    assert "of the calls instead of 2" in said
    assert drift_words.is_unlike(unlike)
    assert drift_words.address(unlike) == {
        "first": "drift_unlike · valid",
        "second": "drift_unlike_production · production",
        "first_steps": "10",
    }
    alike = production_drift(store, arm=planted.ALIKE)
    assert drift_words.judged(alike) == (
        "Between the validation samples judged on and production (drift_alike_production, n = 80 and 160) "
        "no difference could be shown."
    )
    assert not drift_words.is_unlike(alike)
    assert drift_words.judged(alike.iloc[:0]) == ""


def test_the_main_plot_has_a_row_for_all_that_can_be_told(store: Reading) -> None:
    frame = drift(store, first=planted.UNLIKE, first_split="valid")
    drawn = drift_charts.overview(frame)
    bars, data, behaviour = drawn.data
    assert len(bars.x) == frame["chance_p95"].notna().sum() == len(data.x) + len(behaviour.x)
    assert [each["value"] for each in data.customdata] == ["tag", "prompt_bytes"]
    assert set(data.marker.symbol) == {"circle"}


def test_the_page_says_it_and_draws_the_measure_asked_for(store: Reading, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OBSERVATORY_STORE", str(store.root))
    unlike = {"first": f"{planted.UNLIKE} · valid", "second": f"{planted.UNLIKE}_production · production"}
    app = opened("drift", **unlike)
    assert "What goes in: prompt length is 2." in texts(app)
    assert "Prompt length" in [each.value for each in app.subheader]
    wrong = opened("drift", **unlike, first_steps="77")
    assert "has no rollouts at step 77" in texts(wrong)


def test_the_checkpoints_page_warns(store: Reading, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OBSERVATORY_STORE", str(store.root))
    assert "Judged on validation samples unlike production" in texts(opened("checkpoints", run=planted.UNLIKE))
    assert "no difference could be shown" in texts(opened("checkpoints", run=planted.ALIKE))


def test_hostile_names_are_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OBSERVATORY_STORE", str(tmp_path))
    rows = [
        rollout(
            EVIL,
            sample_id=f"{split}{each}",
            split=split,
            environment=EVIL,
            messages=[],
            tool_calls=[call(EVIL if split == "valid" else "t")],
            sample={"prompt_text": EVIL, "prompt_hash": "h"},
        )
        for split in ("train", "valid")
        for each in range(12)
    ]
    write_store(tmp_path, rows)
    app = opened("drift")
    assert "12 of 12 samples of validation have a prompt" in texts(app)
    assert "http://evil" not in "".join(each.value for each in app.markdown)


def test_a_store_without_two_selections_says_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OBSERVATORY_STORE", str(tmp_path))
    write_store(tmp_path, [rollout("job", sample_id="a", split="valid", reward=1.0)])
    assert "Drift needs two selections" in texts(opened("drift"))


def test_one_rollout_on_either_side_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OBSERVATORY_STORE", str(tmp_path))
    write_store(tmp_path, [rollout("job", sample_id=each, split=each, reward=1.0) for each in ("train", "valid")])
    app: AppTest = opened("drift")
    assert "nothing can be compared" in texts(app)


def test_what_is_missing_on_one_side_is_said(tmp_path: Path) -> None:
    rows = [
        rollout(
            "job", sample_id=f"{split}{each}", split=split, latency_s=None if split == "valid" and each % 2 else each
        )
        for split in ("train", "valid")
        for each in range(40)
    ]
    store = build_store(tmp_path, rows)
    (said,) = drift_words.cautions(drift_selections(store), drift(store), pd.DataFrame())
    assert said == ("Not known of equally many samples in both: latency (0 % and 50 %). What is missing may differ.")
