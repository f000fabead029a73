"""The page Several arms: what it opens with, its sentences and plots on given rows, and every view as a whole page."""

from pathlib import Path

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from dashboard import compare_arms, several_cautions, several_charts, several_choices, several_words
from dashboard.charts_curves import Looks
from ingest.sources.base import Row
from queries.arms import arms
from queries.base_models import base_model_change
from queries.connection import Reading
from queries.frontiers import frontier
from queries.runs import runs
from queries.setting_effects import setting_effect
from queries.several_arms import arm_facts, compare_several
from tests.conftest import ROOT
from tests.stores import build_store, call, rollout

ROLES = {"old_base": "old", "old_tuned": "old-ft", "new_base": "new", "new_tuned": "new-ft"}
KINDS = {
    "old": ("baseline", "m1", "m1", 0.1),
    "old-ft": ("evaluation", "m1", "ft:m1", 0.4),
    "new": ("baseline", "m2", "m2", 0.2),
    "new-ft": ("evaluation", "m2", "ft:m2", 0.5),
}


def of(run: str, sample: str, reward: float | None, calls: int = 2, **values: object):
    made = [call("search", f'{{"q": {n}}}') for n in range(calls)]
    return rollout(run, sample_id=sample, split="valid", reward=reward, messages=[], tool_calls=made, **values)


@pytest.fixture
def store(tmp_path: Path) -> Reading:
    """Four runs on 20 samples, a base and a fine-tuned one of two base models."""
    rows = [
        Row("runs", {"kind": kind, "base_model": base, "model": model, "hyperparameters": f'{{"size": {n}}}'}, run=run)
        for n, (run, (kind, base, model, _)) in enumerate(KINDS.items(), start=1)
    ]
    rollouts = [
        of(run, f"s{n:02}", reward + 0.01 * (n % (3 + place)), calls=6 - 2 * place // 2 + n % 2)
        for place, (run, (*_, reward)) in enumerate(KINDS.items())
        for n in range(20)
    ]
    return build_store(tmp_path, rollouts, rows)


def test_the_page_opens_with_every_run_against_the_baseline(store: Reading) -> None:
    offered = compare_arms.choices(arms(store), None)
    names = ["old", "old-ft", "new", "new-ft"]
    found = several_choices.opening(offered, names, None, runs(store))
    assert found == ("old", ["old-ft", "new", "new-ft"])
    assert several_choices.opening(offered, names, ("new", "new-ft"), runs(store)) == ("new", ["new-ft"])
    many = pd.DataFrame({"run_id": [f"r{n}" for n in range(20)], "arm": [f"r{n}@3" for n in range(20)], "kind": None})
    about = pd.DataFrame({"run_id": many["run_id"], "environments": [["air"]] * 10 + [["shop", "air"]] * 9 + [["x"]]})
    # r19 is judged against r18, the last of the others; it is of another environment than that.
    opened = several_choices.opening(many, list(many["run_id"]), None, about)
    assert opened == ("r18@3", [f"r{n}@3" for n in range(10, 18)])


def test_base_models_are_told_by_what_runs_say(store: Reading) -> None:
    offered = compare_arms.choices(arms(store), None)
    found = several_choices.base_models(offered, runs(store))
    assert set(found.values()) == set(ROLES.values())
    pairs = {(found["old_base"], found["old_tuned"]), (found["new_base"], found["new_tuned"])}
    assert pairs == {("old", "old-ft"), ("new", "new-ft")}
    assert several_choices.base_models(offered, runs(store).iloc[:2]) == {}


def test_a_verdict_names_what_was_shown_and_what_not(store: Reading) -> None:
    frame = compare_several(store, baseline="old", candidates=("old-ft", "new", "new-ft"))
    said = several_words.against_baseline(frame, "reward")
    assert said.startswith("Reward against old (0.110): higher in 3 of 3 arms (new-ft +0.")
    assert said.endswith("over 20 paired samples.")
    assert several_words.against_baseline(frame, "latency_s").startswith("Nothing can be compared in latency")
    flat = frame.assign(verdict="not shown")
    assert "no difference could be shown for any of 3 arms, over 20" in several_words.against_baseline(flat, "reward")
    figures = several_words.figures(frame, "reward")
    assert [each.label for each in figures] == ["old", "old-ft", "new", "new-ft"]
    assert (figures[0].value, figures[0].change) == ("0.110", None)
    cells = several_words.overview(frame)
    assert cells["reward"].iloc[0] == "0.110"
    assert cells["reward"].iloc[1].startswith("0.415 (▲ +0.")
    assert "latency, s" not in cells


def test_the_gain_of_tuning_is_compared_in_words(store: Reading) -> None:
    frame = base_model_change(store, **ROLES)
    said = several_words.base_model(frame, "reward")
    assert said.startswith("Fine-tuning changed reward by +0.3")
    assert "The new base model, without tuning, is lower than the old fine-tuned (−0.20" in said
    assert said.endswith("All over the 20 samples of all four arms.")
    assert "no sample is known in all four arms" in several_words.base_model(frame, "latency_s")
    assert [each.label for each in several_words.base_figures(frame, "reward", ROLES)] == list(ROLES.values())
    drawn = several_charts.contrasts(frame, "reward")
    assert len(drawn.data) == 6
    assert drawn.data[0].customdata[0] == {"kind": "new_base_for_old_tuned"}


def test_a_setting_is_told_by_its_ends(store: Reading) -> None:
    frame = setting_effect(store, setting="hyperparameters.size")
    said = several_words.setting(frame, "reward")
    assert said.startswith("hyperparameters.size: reward 0.110 at 1 and 0.5")
    assert "a difference could be shown for 3 of 3 runs; the largest is new-ft at 4 against old: +0.41 [" in said
    one = several_words.setting(frame.assign(value=["1", "1", "1", None], number=None), "reward")
    assert one.endswith("have 1: nothing to compare. 1 run does not say it.")
    assert several_words.value_of({"value": "1.1000000000000001e-05", "number": 1.1000000000000001e-05}) == "1.1e-05"
    drawn = several_charts.along(frame, "reward", Looks({"old": "old"}), log_x=True)
    assert drawn.layout.xaxis.type == "log"
    assert [trace.x[0] for trace in drawn.data] == pytest.approx([1, 2, 3, 4])
    words = several_charts.along(frame.assign(number=None, value=list("aabb")), "reward", Looks({}), log_x=True)
    assert list(words.layout.xaxis.ticktext) == ["a", "b"]
    # Runs of one value stand a little apart, around it.
    assert words.data[0].x[0] < 0 < words.data[1].x[0]


def test_the_frontier_is_told_with_its_chances(store: Reading) -> None:
    frame = frontier(store, arms=tuple(ROLES.values()))
    said = several_words.frontier(frame)
    assert "over the 20 samples that all 4 arms share: " in said
    assert "new-ft is worth its cost" in said
    few = frame.assign(frontier_chance=None, chance_reason="n too small", is_on_frontier=[True, False, False, False])
    assert several_words.frontier(few).startswith("Worth their cost here: old, over the 20 samples")
    nothing = several_words.frontier(frame.assign(num_samples=0))
    assert nothing == "The arms share no sample of which both reward and tool calls are known."
    points = several_charts.frontier(frame, Looks({})).data[1:]
    assert {point.marker.symbol for point in points} == {"circle", "circle-open"}
    # Of many runs colours come again, and other markers tell those apart.
    looks = Looks({f"other-{n}": "" for n in range(6)} | dict.fromkeys(frame["run_id"], ""))
    again = several_charts.frontier(frame, looks).data[1:]
    assert {point.marker.symbol for point in again} == {"square", "square-open"}


def test_cautions_name_samples_versions_and_failures(tmp_path: Path) -> None:
    rollouts = [
        of("a", "s", 0.5, status="completed", grader_version="1"),
        of("a", "t", None, status="completed", grader_version="1"),
        of("b", "s", 0.5, status="infra_error", grader_version="2"),
        of("c", "x", 0.5, status="completed", environment="shop"),
        of("c", "x", 0.5, status="completed", environment="air"),
        rollout("c", split="valid", reward=0.5),
    ]
    said = several_cautions.cautions(arm_facts(build_store(tmp_path, rollouts), arms=("a", "b", "c")))
    assert said == [
        "2 environments are pooled here: choose one in the sidebar.",
        "Only 0 samples were attempted by all 3 arms; the largest has 3.",
        "No sample of a was attempted by c.",
        "Some rollouts of c name no sample and cannot be paired.",
        "The graders are not the same in all arms: 1 in a, 2 in b.",
        "Infrastructure and grader failures end 0 % of a and 100 % of b (shares of rollouts): part of a difference may "
        "be that.",
        "Rollouts without a reward are left out of it: 1 of a.",
    ]


def test_hostile_names_stay_text_in_plots(tmp_path: Path) -> None:
    rows = [Row("runs", {"name": "<img src=x>"}, run="x")]
    rollouts = [of(run, f"s{n}", 0.1 * n) for run in ("x", "y") for n in range(3)]
    found = build_store(tmp_path, rollouts, rows)
    frame = compare_several(found, baseline="y", candidates=("x",))
    drawn = several_charts.deltas(frame, "reward", Looks({}))
    assert "<img" not in str([(trace.y, trace.text) for trace in drawn.data])


def page(root: Path, monkeypatch: pytest.MonkeyPatch, **link: str) -> AppTest:
    monkeypatch.setenv("OBSERVATORY_STORE", str(root))
    app = AppTest.from_file(str(ROOT / "dashboard" / "app.py"), default_timeout=120)
    app.switch_page("app_pages/several_arms.py")
    for name, value in link.items():
        app.query_params[name] = value
    app.run()
    assert not app.exception
    assert not any("could not be shown" in each.value or "unexpected" in each.value for each in app.subheader)
    return app


def texts(app: AppTest) -> str:
    joined = " ".join(each.value for each in [*app.markdown, *app.caption, *app.warning])
    return joined.replace("\\", "").replace("\u2060", "").replace("\u00a0", " ")


def test_every_view_opens_with_its_verdict(store: Reading, monkeypatch: pytest.MonkeyPatch) -> None:
    app = page(store.root, monkeypatch)
    assert "Reward against old (0.110): higher in 3 of 3 arms" in texts(app)
    assert len(app.metric) == 4
    linked = page(store.root, monkeypatch, arms="new-ft", baseline="old-ft")
    assert "Reward against old-ft (0.4" in texts(linked)
    assert "higher in 1 of 1 arm" in texts(linked)
    assert "Fine-tuning changed reward by" in texts(page(store.root, monkeypatch, view="base_model"))
    assert "hyperparameters.size: reward" in texts(page(store.root, monkeypatch, view="setting"))
    assert "that all 4 arms share" in texts(page(store.root, monkeypatch, view="frontier"))


def test_what_cannot_be_shown_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    alone = build_store(tmp_path / "one", [of("a", "s", 0.5)]).root
    assert "A comparison needs two arms" in texts(page(alone, monkeypatch))
    assert "Choose four different arms" in texts(page(alone, monkeypatch, view="base_model"))
    assert "No run says a setting" in texts(page(alone, monkeypatch, view="setting"))
    unscored = build_store(tmp_path / "two", [of(run, f"s{n}", None, n) for run in "ab" for n in range(3)]).root
    assert "Tool calls against a (1.00): no difference could be shown" in texts(page(unscored, monkeypatch))
    assert "share no sample of which both reward and tool calls" in texts(page(unscored, monkeypatch, view="frontier"))
    assert "An arm of the link is not used: there is no run 'q'" in texts(page(unscored, monkeypatch, arms="q@2"))
