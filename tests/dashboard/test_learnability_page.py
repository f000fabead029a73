"""The learnability page: which arm it opens with, what it says, what it draws, and that it stands odd stores."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from dashboard import compare_arms, learnability_charts, learnability_controls, learnability_words
from dashboard.rows import records
from ingest.sources.base import Rollout, Row
from queries.arms import arms
from queries.connection import Reading
from queries.dead_samples import dead_samples
from queries.learnability import learnability, learnability_summary
from queries.learning_curves import attempt_curve, signal_by_group_size, signal_by_step
from tests.conftest import ROOT
from tests.dashboard.test_markup import EVIL
from tests.stores import build_store, rollout, write_store

BASELINE = Row("runs", {"kind": "baseline", "base_model": "m"}, "r")


def attempts(sample: str, rewards: list[float | None], run: str = "r", **values: Any) -> list[Rollout]:
    return [rollout(run, **{"sample_id": sample, "split": "valid", "reward": each, **values}) for each in rewards]


def pass_fail() -> list[Rollout]:
    """Twelve samples with four attempts: six never pass, four always, two in one of two."""
    kinds = [[0, 0, 0, 0]] * 6 + [[1, 1, 1, 1]] * 4 + [[0, 1, 0, 1]] * 2
    return [each for number, rewards in enumerate(kinds) for each in attempts(f"s{number:02}", rewards, model="m")]


def summary(store: Reading, **asked: Any) -> dict[str, Any]:
    return records(learnability_summary(store, arm="r", **asked))[0]


def test_the_verdict_of_pass_and_fail(tmp_path: Path) -> None:
    store = build_store(tmp_path, pass_fail(), [BASELINE])
    row = summary(store)
    share, low, high = (100 * row[f"signal_share{end}"] for end in ("", "_ci_low", "_ci_high"))
    assert learnability_words.verdict(row, 8, 64) == (
        "10 of 12 samples never vary over 4 attempts: 6 always fail, 4 always pass; 2 are mixed. A group of 8 is "
        f"expected to carry signal on {share:.0f} % [{low:.1f} %, {high:.0f} %] of prompts: about "
        f"{row['signal_groups']:.0f} of 64 a batch."
    )
    assert learnability_words.origin(row) == (
        "This is the raw model m, before any tuning, with the prompt as it stood: a better prompt may give part of "
        "what training gains from here."
    )
    (few,) = learnability_words.cautions(row, dead_samples(store, arm="r"))
    assert few.startswith(
        "Few attempts mislabel: with 4 attempts, a sample that passes 3 times in 10 always fails in 24 %"
    )
    labels = [each.label for each in learnability_words.figures(row, 8, 64)]
    assert labels == ["mixed samples", "groups of 8 with signal", "such groups a batch", "mean reward", "best of 4"]


def test_graded_rewards_are_said_to_be(tmp_path: Path) -> None:
    rows = [*attempts("a", [0.1, 0.2], passed=False), *attempts("b", [0.9, 0.9], passed=True)]
    store = build_store(tmp_path, rows)
    row = summary(store)
    assert learnability_words.cautions(row, dead_samples(store, arm="r"))[1] == (
        "How chances of success differ between samples could not be fitted (10 samples with two attempts needed, 2 "
        "here): each sample's chance rests on an assumption, and what groups would hold is not told. Attempt more "
        "samples, or each as often as a group has attempts."
    )
    assert learnability_words.verdict(row, 8, 64) == (
        "Of 2 samples with 2 attempts each, 1 always fails, 1 always passes and 0 are mixed. Rewards are graded: 1 of "
        "2 samples got the same reward every time. In a group of 8 rewards differ, by however little, on at least 50 % "
        "of prompts."
    )
    graded = build_store(tmp_path / "untold", [*attempts("a", [0.1, 0.2]), *attempts("b", [0.9, 0.9])])
    untold = summary(graded)
    assert not any(
        "3 times in 10" in each for each in learnability_words.cautions(untold, dead_samples(graded, arm="r"))
    )
    assert learnability_words.verdict(untold, 2, 10) == (
        "1 of 2 samples got the same reward every time, of 2 attempts each; nothing says which attempts pass. "
        "In a group of 2 rewards differ, by however little, on at least 50 % of prompts."
    )


def test_what_could_mislead_is_said(tmp_path: Path) -> None:
    rows = [*attempts("a", [0, 1] * 4, environment="x"), *attempts("b", [None], environment="y")]
    rows += [*attempts("c", [None], status="infra_error"), rollout(reward=1.0, split="valid")]
    store = build_store(tmp_path, rows)
    text = " ".join(learnability_words.cautions(summary(store), dead_samples(store, arm="r")))
    assert "1 rollout of 11 ended in an infrastructure or grader failure" in text
    assert "1 sample only ever failed so. They are 9.1 % of all" in text
    assert "repeat them, or count them as graded under Options." in text
    assert "2 of 11 rollouts are not scored: grade them" in text
    assert "1 of 11 rollouts is left out: no sample is named. Name it where rollouts are logged." in text
    assert "2 samples with fewer than two scored attempts cannot vary." in text
    assert "2 environments are pooled" in text


def test_sizes_say_where_they_come_from() -> None:
    defaults = {"group_size": 8, "batch_size": 64}
    said = {"group_size": 4, "group_size_setting": "hyperparameters.attempts", "group_size_said_by": "run"}
    said |= {"batch_size": 1024, "batch_size_setting": "config.data.train_batch_size", "batch_size_said_by": "parent"}
    nothing = dict.fromkeys(said)
    own = {"group_size": 16, "batch_size": None}
    assert learnability_words.where_from(dict.fromkeys(own), said, defaults) == (
        "Groups of 4 attempts, as hyperparameters.attempts of this run says; batches of 1\u202f024 prompts, as "
        "config.data.train_batch_size of the run it evaluates says."
    )
    assert learnability_words.where_from(own, nothing, defaults) == (
        "Groups of 16 attempts as chosen here; batches of 64 prompts, since no setting says."
    )
    others = said | {"batch_size_said_by": "other runs"}
    assert "train_batch_size of the other runs says" in learnability_words.where_from(own, others, defaults)


def test_nothing_to_tell_is_a_sentence(tmp_path: Path) -> None:
    unnamed = summary(build_store(tmp_path / "a", [rollout(reward=1.0)]))
    assert learnability_words.verdict(unnamed, 8, 64) == (
        "No rollout of r names its sample, so nothing can be told of samples."
    )
    unscored = summary(build_store(tmp_path / "b", attempts("a", [None])))
    assert learnability_words.verdict(unscored, 8, 64) == "Nothing of r is scored, so nothing can be learned from it."
    single = summary(build_store(tmp_path / "c", attempts("a", [0.5])))
    assert learnability_words.verdict(single, 8, 64).startswith("No sample of r has two scored attempts")
    assert learnability_words.ceiling(single) == ""


def test_the_ceiling_and_where_variance_lies(tmp_path: Path) -> None:
    row = summary(build_store(tmp_path, [*attempts("a", [0, 0]), *attempts("b", [0, 1]), *attempts("c", [1, 1])]))
    # Best of two: 0, 1, 1; headroom 0, ½, 0: 1/6 ± 4.303·.2887/√3. ICC ½.
    assert learnability_words.ceiling(row) == (
        "If the best of 2 attempts were always found, the mean reward would be 0.667 instead of 0.500 (0.167 [−0.550, "
        "0.884] more, over 3 samples): within reach of what the model does already. Training may go beyond it. 50 % of "
        "the reward's variance lies between samples, which no group sees, and 50 % between attempts at one sample, "
        "which is what a group learns from."
    )


def test_dead_samples_sizes_and_curves_in_words(tmp_path: Path) -> None:
    store = build_store(tmp_path, [*pass_fail(), *attempts("t", [0, 1])])
    told = learnability_words.dead(dead_samples(store, arm="r", group_size=2))
    assert told[0] == "10 samples never vary."
    assert told[1].startswith("Too hard (6): Give hints")
    assert told[2].startswith("Solved (4): Nothing is left to learn")
    assert learnability_words.dead(dead_samples(store, arm="r").iloc[:0]) == [
        "Every sample with two scored attempts got more than one reward."
    ]
    sizes = signal_by_group_size(store, arm="r")
    assert learnability_words.sizes(sizes).startswith(
        "Groups of 2 spend the fewest rollouts for a group whose rewards differ"
    )
    assert learnability_words.attempts(attempt_curve(store, arm="r")) == (
        "Points further right are over fewer samples (12 of 13), so they may jump."
    )


def test_steps_say_whether_the_filter_can_be_seen(tmp_path: Path) -> None:
    def group(rewards: list[float], subset: str | None, step: int) -> list[Rollout]:
        return attempts("a", list(rewards), split="train", subset=subset, step=step)

    both = signal_by_step(build_store(tmp_path / "a", [*group([0, 0], "all", 1), *group([0, 1], "effective", 2)]))
    assert learnability_words.steps(both, {"r": "zava"}) == (
        "zava: 1 of 2 groups (50 %) had one reward for all their attempts, over 2 steps. 1 group of 2 was not trained "
        "on."
    )
    kept = signal_by_step(build_store(tmp_path / "b", group([0, 1], "effective", 1)))
    assert "the share before its filter is not known" in learnability_words.steps(kept, {})
    unknown = signal_by_step(build_store(tmp_path / "c", group([0, 1], None, 1)))
    assert learnability_words.steps(unknown, {}).endswith("Nothing says which of them were trained on.")


def test_it_opens_with_the_baseline_else_with_a_first_step(tmp_path: Path) -> None:
    rows = [each for step in (0, 9) for each in attempts("a", [0, 1], "job", step=step)]
    store = build_store(tmp_path, [*rows, *attempts("a", [0, 1])], [BASELINE])
    offered = compare_arms.choices(arms(store), None)
    assert learnability_controls.opening(offered) == "r"
    assert learnability_controls.opening(offered, ("job",)) == "job@0"
    assert learnability_controls.opening(offered, ("other",)) is None


def test_marks_and_bars_open_their_samples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = learnability(build_store(tmp_path, pass_fail()), arm="r")
    drawn = learnability_charts.samples(frame)
    assert [each.name for each in drawn.data] == ["always fails", "mixed", "always passes"]
    points = [dict(each) for each in drawn.data[1].customdata]
    assert learnability_charts.picked(frame, points[:1])["sample_id"].tolist() == ["s10"]
    assert learnability_charts.picked(frame, []).empty
    monkeypatch.setattr(learnability_charts, "MAX_DOTS", 5)
    bars = learnability_charts.samples(frame)
    assert [sum(each.y) for each in bars.data] == [6, 2, 4]
    (mixed,) = [point for point, num in zip(bars.data[1].customdata, bars.data[1].y, strict=True) if num]
    assert learnability_charts.picked(frame, [dict(mixed)])["sample_id"].tolist() == ["s10", "s11"]


def test_figures_leave_out_what_is_not_known(tmp_path: Path) -> None:
    graded = build_store(tmp_path, [*attempts("a", [0.1, 0.2, 0.4]), *attempts("b", [0.9, 0.9])])
    assert [each.name for each in learnability_charts.samples(learnability(graded, arm="r")).data] == [
        "rewards differ",
        "always the highest reward",
    ]
    shown = learnability_charts.group_sizes(signal_by_group_size(graded, arm="r")).data
    assert {each.name for each in shown if each.name} == {"rewards differ", "rewards differ, at least"}
    curves = learnability_charts.attempt_curve(attempt_curve(graded, arm="r")).data
    assert {each.name for each in curves if each.name} == {"best of k: mean best reward"}


def opened(store: Path, monkeypatch: pytest.MonkeyPatch, **parameters: str) -> AppTest:
    monkeypatch.setenv("OBSERVATORY_STORE", str(store))
    app = AppTest.from_file(str(ROOT / "dashboard" / "app.py"), default_timeout=120)
    for name, value in parameters.items():
        app.query_params[name] = value
    app.switch_page("app_pages/learnability.py").run()
    assert not app.exception
    assert not any("unexpected" in each.value or "could not" in each.value for each in app.subheader)
    return app


def texts(app: AppTest) -> str:
    shown = [*app.title, *app.subheader, *app.markdown, *app.caption, *app.error, *app.warning]
    return "\n".join(str(each.value).replace("\\", "").replace("\u00a0", " ") for each in shown)


def test_the_page_with_every_plot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    train = [each for step in (1, 2) for each in attempts("a", [0, step - 1], "job", split="train", step=step)]
    write_store(tmp_path, [*pass_fail(), *train, BASELINE])
    app = opened(tmp_path, monkeypatch)
    assert "10 of 12 samples never vary over 4 attempts" in texts(app)
    assert "This is the raw model m" in texts(app)
    assert "job: 1 of 2 groups (50 %)" in texts(app)
    assert app.metric[0].value == "17 %"
    for plot in ("groups", "attempts"):
        opened(tmp_path, monkeypatch, plot=plot, group_size="4")
    assert "The link's arm is not used" in texts(opened(tmp_path, monkeypatch, arm="nothing@3"))


@pytest.mark.parametrize(
    "rows",
    [
        [rollout(reward=1.0)],
        [rollout(sample_id=EVIL, environment=EVIL, reward=0.5, model=EVIL)],
        attempts(EVIL, [float("nan"), float("inf"), None], model=EVIL),
        [*attempts("a", [0.5, 0.5], environment=EVIL), *attempts("a", [0.1, 0.7], environment="y")],
    ],
    ids=["no sample", "one attempt", "nothing scored", "graded, two environments"],
)
def test_odd_stores_are_sentences(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: list[Rollout]) -> None:
    write_store(tmp_path, rows)
    app = opened(tmp_path, monkeypatch)
    assert "http://evil" not in "".join(each.value for each in app.markdown)
    for plot in ("groups", "attempts"):
        assert texts(opened(tmp_path, monkeypatch, plot=plot)).startswith("Learnability")


def test_a_store_of_no_arm_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_store(tmp_path, [Row("metrics", {"name": "loss", "step": 1, "value": 1.0, "position": 0}, "r")])
    assert "Learnability is told of one run" in texts(opened(tmp_path, monkeypatch))


def test_buckets_have_words_and_looks() -> None:
    assert set(learnability_words.BUCKETS) == set(learnability_charts._LOOKS)
    assert pd.Series(learnability_words.BUCKETS).is_unique
