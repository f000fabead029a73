"""Failures and attrition in words, and as whole pages."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from dashboard import attrition_words, curve_words, failure_words
from queries.attrition import attrition, attrition_losses
from queries.failures import failure_causes, failure_coverage, failure_rulebook
from queries.measures import ROLLOUT_MEASURES
from tests.conftest import ROOT
from tests.dashboard.test_markup import EVIL
from tests.stores import build_store, rollout

START = datetime(2026, 1, 1, tzinfo=UTC)


def ten(run: str = "r", *, failed: int = 1, **values: Any) -> list[Any]:
    """Ten samples at two steps: some that a dead machine failed, two wrong ones, the rest passes."""
    return [
        rollout(
            run,
            sample_id=f"s{each}",
            step=step,
            split="train",
            host=EVIL,
            environment=EVIL,
            started_at=START + timedelta(minutes=each + 20 * step),
            ended_at=START + timedelta(minutes=each + 20 * step + 5),
            **(
                {"status": "infra_error", "error_type": "SandboxError", "subset": "all"}
                if each < failed
                else {"status": "completed", "reward": float(each < 8), "subset": "effective", "advantage": 0.5}
            ),
            **values,
        )
        for each in range(10)
        for step in (0, 1)
    ]


def titles_of(book: pd.DataFrame) -> dict[str, str]:
    return dict(zip(book["cause"], book["title"], strict=True))


def test_the_verdict_counts_and_names_the_most_frequent_cause(tmp_path: Path) -> None:
    store = build_store(tmp_path, ten())
    titles = titles_of(failure_rulebook(store))
    said = failure_words.verdict(failure_causes(store), titles, {"r": "zava"})
    # Attempts at a sample are alike, so that 20 rollouts count as 10: Wilson of 2 in 10.
    assert said == (
        "zava: 6 of 20 rollouts are without success (n = 10 samples). Most often: simply wrong, 20 % [5.7 %, 51 %] of "
        "all rollouts. Infrastructure or grader failed 2 rollouts (10 % of all)."
    )
    assert failure_words.verdict(failure_causes(store).iloc[:0], titles, {}) == "The filters leave no rollout."


def test_runs_that_failed_at_unlike_rates_are_not_compared_in_silence(tmp_path: Path) -> None:
    rows = [each for name, failed in (("a", 0), ("b", 7)) for each in ten(name, failed=failed)]
    store = build_store(tmp_path, rows)
    causes = failure_causes(store)
    assert failure_words.unlike(causes, {"b": "tuned"}).startswith(
        "Runs failed at different rates for reasons that are not the policy's: tuned 70 % of its rollouts, a 0 %."
    )
    assert not failure_words.unlike(causes[causes["run_id"] == "a"], {})
    said = failure_words.cautions(causes, failure_coverage(store), failure_rulebook(store), 0.0, {})
    assert any("more than 5 % of the rollouts of b (70 %)" in each for each in said)


def test_what_sources_do_not_tell_is_said(tmp_path: Path) -> None:
    store = build_store(tmp_path, [rollout(sample_id="a", reward=0.4), rollout(sample_id="b", reward=0.7)])
    coverage = failure_coverage(store)
    said = failure_words.cautions(failure_causes(store), coverage, failure_rulebook(store), 0.0, {})
    assert said == [
        "No reward is 0 or lower (the lowest is 0.400), so no rollout counts as a failure by its reward.",
        "How 2 rollouts ended is not known: what failed there can pass for wrong.",
    ]
    assert failure_words.bursts(pd.DataFrame(), coverage, {}) == [
        "No rollout has a time, so whether failures came in bursts cannot be told."
    ]


def test_attrition_in_words(tmp_path: Path) -> None:
    store = build_store(
        tmp_path,
        [*ten(), rollout(sample_id="x", step=0, split="train", status="infra_error", reward=0.0, subset="effective")],
    )
    frame, losses = attrition(store), attrition_losses(store)
    titles = titles_of(failure_rulebook(store))
    assert attrition_words.verdict(frame, losses, titles, "zava") == (
        "zava: of 21 rollouts dispatched over 2 steps, 19 (90 %) were trained on. Lost: 2 not finished: dead "
        "environment."
    )
    said = attrition_words.cautions(frame, None)
    assert said[0].startswith("1 rollout that an error ended was trained on all the same")
    assert said[1].startswith("How many rollouts were asked for is not known")
    assert [each.value for each in attrition_words.figures(frame)] == ["21", "19", "19", "19", "19"]


def test_the_slow_ones_are_named_only_where_it_can_be_shown() -> None:
    row = {
        "run_id": "r",
        "split": "train",
        "lost_at": "finished",
        "reason": "cancelled",
        "num_lost": 30,
        "num_placed": 30,
        "num_guessed": 4,
        "num_samples": 12,
        "slower": 0.93,
        "ci_low": 0.81,
        "ci_high": 1.0,
        "lost_median": 90.0,
    }
    latency = ROLLOUT_MEASURES["latency_s"]
    is_worse, said = attrition_words.slow(pd.DataFrame([row]), latency, {}, {"r": "zava"})
    assert is_worse
    assert said == (
        "The slow ones vanish: in zava a rollout lost as “not finished: cancelled” has more latency than one kept at "
        "the same step with a chance of 0.93 [0.81, 1.00], 0.5 = no difference (n = 12 samples that lost some); for 4 "
        "of them the sample's own mean stands in. What is left looks faster, and easier, than the task is."
    )
    same = attrition_words.slow(pd.DataFrame([row | {"slower": 0.55, "ci_low": 0.4}]), latency, {}, {})
    assert (same[0], same[1][:36]) == (False, "No difference between lost and kept ")
    few = attrition_words.slow(pd.DataFrame([row | {"num_samples": 2}]), latency, {}, {})
    assert (few[0], few[1][:46]) == (False, "Whether slow rollouts are the ones that are lo")


@pytest.mark.parametrize("view", ["causes", "reward", "time", "load"])
def test_every_view_of_the_failures_page_is_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, view: str) -> None:
    build_store(tmp_path, ten() + ten("q", failed=3))
    page = shown(tmp_path, monkeypatch, "failures", view=view, by="step", place_kind="host")
    assert any("without success" in each.value for each in page.markdown)


def test_the_attrition_page_and_stores_of_one_bare_rollout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build_store(tmp_path / "many", ten())
    page = shown(tmp_path / "many", monkeypatch, "attrition", by_environment="true")
    assert [each.value for each in page.metric] == ["20", "18", "18", "18", "18"]
    build_store(tmp_path / "bare", [rollout(sample_id="a")])
    assert shown(tmp_path / "bare", monkeypatch, "attrition").metric[1].value == "not known"
    assert shown(tmp_path / "bare", monkeypatch, "failures").markdown


def shown(store: Path, monkeypatch: pytest.MonkeyPatch, page: str, **parameters: str) -> AppTest:
    monkeypatch.setenv("OBSERVATORY_STORE", str(store))
    found = AppTest.from_file(str(ROOT / "dashboard" / "app.py"), default_timeout=120).run()
    for name, value in parameters.items():
        found.query_params[name] = value
    found.switch_page(f"app_pages/{page}.py").run()
    assert not found.exception, found.exception[0].message
    return found


def test_curves_of_runs_that_failed_at_unlike_rates_say_so() -> None:
    curve = pd.DataFrame({"run_id": ["a", "a", "b"], "num_failed": [10, 10, 1], "num_rollouts": [100, 100, 200]})
    # Wilson of 20 in 200 is [6.6 %, 15 %], of 1 in 200 [0.1 %, 2.8 %].
    assert curve_words.unlike_failures(curve, {"a": "zava"}).startswith(
        "Infrastructure and grader errors end zava 10 % of the rollouts and b 0.5 %: runs that fail at different rates"
    )
    assert not curve_words.unlike_failures(curve[curve["run_id"] == "a"], {})
    assert not curve_words.unlike_failures(curve.assign(num_failed=[10, 10, 18]), {})


def test_the_cause_that_differs_between_runs_is_named_with_its_intervals() -> None:
    rows = [("a", "environment_died", "infrastructure", 24), ("a", "wrong_answer", "policy", 90)]
    rows += [("b", "environment_died", "infrastructure", 2), ("b", "grader_down", "grader", 1)]
    causes = pd.DataFrame(rows, columns=["run_id", "cause", "whose", "num"]).assign(num_rollouts=200)
    # Wilson of 24 in 200 is [8.2 %, 17 %], of 2 in 200 [0.3 %, 3.6 %]; of the grader's 1 against 0 nothing is sure.
    said = curve_words.unlike_cause(causes, {"environment_died": "dead environment"}, {"a": "zava"})
    assert (
        said == " The cause that differs most: dead environment 12 % [8.2 %, 17 %] of zava, 1.0 % [0.3 %, 3.6 %] of b."
    )
    assert not curve_words.unlike_cause(causes[causes["cause"] != "environment_died"], {}, {})


def test_the_page_of_curves_names_the_cause_that_differs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build_store(tmp_path, [*ten("a", failed=6), *ten("b", failed=0)])
    text = " ".join(each.value for each in shown(tmp_path, monkeypatch, "reward_curves").markdown).replace("\\", "")
    assert "runs that fail at different rates" in text
    assert "The cause that differs most:" in text


@pytest.mark.parametrize("name", ["reward_curves", "learnability", "tool_behaviour", "long_tail", "distributions"])
def test_pages_over_rollouts_trained_on_say_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    build_store(tmp_path, ten())
    page = shown(tmp_path, monkeypatch, name)
    assert not any(_says_trained_on(each.value) for each in page.caption)
    page.selectbox("subset").select("effective").run()
    assert any(_says_trained_on(each.value) for each in page.caption)


def _says_trained_on(text: str) -> bool:
    return "Only rollouts that were trained on" in text.replace("\\", "")
