"""The page Time and money: what it says of planted seconds and prices, and that it stands odd stores."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from dashboard import money_charts, money_words
from dashboard.charts_curves import Looks
from dashboard.rows import records
from ingest.sources.base import Rollout
from queries.costs import cost_effect, costs
from queries.gains import cost_of_gain, when_to_stop
from queries.prices import prices
from queries.time_shares import time_shares
from queries.waits import step_waits, stragglers
from tests.conftest import ROOT
from tests.dashboard.test_markup import EVIL
from tests.queries.test_gains import run
from tests.queries.test_waits import spanned
from tests.stores import build_store, rollout, write_store


def planted() -> list[Rollout]:
    """A step of 20 rollouts, one of which takes 50 s instead of 10; 6 s of each are the model's, half of them pass."""
    known = {"split": "train", "step": 1, "model_latency_s": 6.0, "input_tokens": 900, "output_tokens": 100}
    return [
        spanned(0, 50 if each == 19 else 10, sample_id=f"s{each:02}", passed=each % 2 == 0, cost_usd=0.5, **known)
        for each in range(20)
    ]


def test_what_is_said_of_planted_seconds(tmp_path: Path) -> None:
    store = build_store(tmp_path, planted())
    said = money_words.shares(records(time_shares(store)))
    assert said.startswith("Of a rollout's 12 s (mean of 20 rollouts), 50 % [")
    assert "are the model and 50 % are not accounted for." in said
    assert money_words.waits(step_waits(store)) == "The last 5 % of rollouts alone hold a step up by 40 s (of 50 s)."
    assert money_words.spent(costs(store, by="step")) == "20.0 k tokens a step and $10.00 a step."
    solved = money_words.solved(records(cost_effect(store))[0])
    assert solved.startswith("$1.00 [")
    assert solved.endswith("per solved sample (10 of 20 samples solved).")
    (tools,) = money_words.cautions(time_shares(store), step_waits(store), costs(store, by="step"), {})
    assert tools == "r: no seconds of tools; they are in what is not accounted for."
    assert money_words.prices(prices(store), costs(store)) == (
        "The cost of 20 rollouts is as the source reports it; nothing is added to it."
    )


def test_what_is_said_where_nothing_is_known(tmp_path: Path) -> None:
    store = build_store(tmp_path, [rollout(sample_id="a"), rollout(sample_id="b")])
    assert money_words.shares(records(time_shares(store))) == (
        "Of 2 rollouts none has a latency: where time goes is not known."
    )
    assert "no rollout has a start and an end" in money_words.waits(step_waits(store))
    assert money_words.spent(costs(store, by="step")) == ""
    assert money_words.solved(records(cost_effect(store))[0]).startswith(
        "What a solved sample costs is not told: it is"
    )
    assert money_words.prices(prices(store), costs(store)) == (
        "No dollars: the source reports no cost, and no price is stated. Without a price: not named."
    )
    assert "is not told" in money_words.stragglers(stragglers(store), "sample")


@pytest.mark.parametrize(
    ("means", "said"),
    [
        ([0.1, 0.2, 0.3, 0.4, 0.5], "The reward still rises: +0.20 ["),
        ([0.1, 0.4, 0.7, 0.7, 0.7, 0.7], "The last 30 steps bought nothing that can be told from noise: "),
        ([0.5, 0.4, 0.3, 0.2, 0.1], "The reward fell: −0.40 ["),
        ([0.1, 0.2], "When to stop is not told: 4 validations are needed, 2 here."),
    ],
)
def test_when_to_stop_in_words(tmp_path: Path, means: list[float], said: str) -> None:
    assert money_words.stop(records(when_to_stop(build_store(tmp_path, run(means, noise=0.02))))[0]).startswith(said)


@pytest.mark.parametrize(
    ("value", "unit", "said"),
    [
        (0.42, "usd", "$0.420"),
        (1_900_000, "tokens", "1.90 M tokens"),
        (12_400, "tokens", "12.4 k tokens"),
        (1, "rollouts", "1 rollout"),
        (1_600, "rollouts", "1\u202f600 rollouts"),
        (24.5, "hours", "24.5 rollout-hours"),
        (None, "usd", "–"),
    ],
)
def test_amounts(value: float | None, unit: str, said: str) -> None:
    assert money_words.amount(value, unit) == said


def test_what_is_not_told_stands_apart_from_the_verdict() -> None:
    waits, spent = "Whether steps wait for their last rollouts is not told: no times.", "19.6 k tokens a step."
    assert money_words.told([waits, "", spent, "The reward fell."]) == (f"{spent} The reward fell.", [waits])


def test_panels_of_several_runs_share_their_seconds(tmp_path: Path) -> None:
    rows = [rollout(run, sample_id="a", step=len(run), latency_s=float(9 * len(run))) for run in ("r", "rr")]
    figure = money_charts.time_parts(time_shares(build_store(tmp_path, rows), by="step"), Looks({}), "step")
    assert list(figure.layout.yaxis.range) == list(figure.layout.yaxis2.range) == [0, pytest.approx(18.9)]
    assert figure.layout.xaxis.range is None  # the range of one step would cut the other run's


def test_parts_are_told_apart_by_pattern_as_well_as_colour(tmp_path: Path) -> None:
    store = build_store(tmp_path, planted())
    frame = time_shares(store, by="step")
    figure = money_charts.time_parts(frame, Looks({"r": "r"}), "step")
    assert [trace.name for trace in figure.data] == ["the model", "not accounted for"]
    looks = [(each.marker.color, each.marker.pattern.shape) for each in figure.data]
    assert len(set(looks)) == len(looks)
    assert sum(each.y[0] for each in figure.data) == pytest.approx(12.0)
    known = [shape for part, (_, shape) in money_charts.PART_LOOKS.items() if part != "rest"]
    assert len(set(known)) == len(known)
    waits = money_charts.waits(step_waits(store), Looks({"r": "r"}))
    assert [each.y[0] for each in waits.data] == [10.0, 40.0]


def test_a_validation_opens_its_own_rollouts(tmp_path: Path) -> None:
    frame = cost_of_gain(build_store(tmp_path, run([0.1, 0.3, 0.5], noise=0.05)))
    points = money_charts.gain(frame, Looks({"r": "r"}), "usd").data[-1].customdata
    assert [(each["split"], each["step"]) for each in points] == [("valid", 0), ("valid", 10), ("valid", 20)]


def opened(store: Path, monkeypatch: pytest.MonkeyPatch, **parameters: str) -> AppTest:
    monkeypatch.setenv("OBSERVATORY_STORE", str(store))
    app = AppTest.from_file(str(ROOT / "dashboard" / "app.py"), default_timeout=60)
    for name, value in parameters.items():
        app.query_params[name] = value
    app.run()
    app.switch_page("app_pages/time_and_money.py").run()
    assert not app.exception
    assert not any("unexpected" in each.value or "could not" in each.value for each in app.subheader)
    return app


def texts(app: AppTest) -> str:
    shown = [*app.title, *app.markdown, *app.caption, *app.error]
    return "\n".join(str(each.value).replace("\\", "").replace("\u00a0", " ") for each in shown)


def odd() -> dict[str, list[Any]]:
    return {
        "one": [rollout(sample_id="a", latency_s=3.0, reward=1.0)],
        "nothing": [rollout()],
        "hostile": [
            spanned(0, 5, run=EVIL, sample_id=EVIL, environment=EVIL, model=EVIL, reward=float("nan"), split="valid"),
            spanned(0, 9, run="b", sample_id="x", reward=float("inf"), split="train", step=2, cost_usd=-1.0),
        ],
        "run": run([0.1, 0.3, 0.3, 0.3], noise=0.05),
    }


@pytest.mark.parametrize("name", list(odd()))
def test_odd_stores_are_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    write_store(tmp_path, odd()[name])
    app = opened(tmp_path, monkeypatch)
    assert app.title[0].value == "Time and money"
    assert "<img" not in "".join(each.proto.body for each in app.get("html"))


def test_the_page_of_a_planted_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_store(tmp_path, planted())
    said = texts(opened(tmp_path, monkeypatch))
    assert "The last 5 % of rollouts alone hold a step up by 40 s (of 50 s)." in said
    assert "per solved sample (10 of 20 samples solved)" in said
    (tmp_path / "prices.toml").write_text('prefer = "computed"\n[[models]]\npattern = "("\n')
    assert "prices.toml, line 3" in texts(_failed(tmp_path, monkeypatch))


def _failed(store: Path, monkeypatch: pytest.MonkeyPatch) -> AppTest:
    monkeypatch.setenv("OBSERVATORY_STORE", str(store))
    app = AppTest.from_file(str(ROOT / "dashboard" / "app.py"), default_timeout=60).run()
    return app.switch_page("app_pages/time_and_money.py").run()


def test_no_frame_is_changed_by_a_sentence(tmp_path: Path) -> None:
    frame = costs(build_store(tmp_path, planted()), by="step")
    before = frame.copy()
    money_words.spent(frame)
    pd.testing.assert_frame_equal(frame, before)
