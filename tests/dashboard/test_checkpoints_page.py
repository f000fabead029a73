"""The checkpoints page: its sentences from rows given by hand, its plot, and the page on odd stores."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from dashboard import checkpoint_charts, checkpoint_words
from dashboard.checkpoint_controls import offered
from dashboard.picks import token
from dashboard.rows import records
from ingest.sources.base import Rollout, Row
from queries.checkpoint_choices import checkpoint_choice, checkpoint_figures
from queries.checkpoint_warnings import checkpoint_warnings
from tests.conftest import ROOT
from tests.dashboard.test_markup import EVIL
from tests.stores import build_store, call, rollout, write_store

CHOICE: dict[str, Any] = {
    "split": "valid",
    "num_steps": 11,
    "num_steps_left_out": 0,
    "num_samples": 100,
    "num_samples_left_out": 0,
    "is_common": True,
    "best_step": 40,
    "reward_mean": 0.6585,
    "optimism": 0.0101,
    "optimism_if_equal": 0.0216,
    "reward_expected": 0.6484,
    "ci_low": 0.582,
    "ci_high": 0.707,
    "chance_best": 0.467,
    "reason": None,
}
NO_WARNINGS = pd.DataFrame(columns=["warning", "measure"])


def steps(*tied: int, best: int = 40, apart: Sequence[int] = (0,)) -> pd.DataFrame:
    every = sorted({best, *tied, *apart})
    rows = [
        {
            "run_id": "r",
            "split": "valid",
            "step": each,
            "is_best": each == best,
            "is_tied": each in tied,
            "reward_mean": 0.6,
            "reward_ci_low": 0.5,
            "reward_ci_high": 0.7,
            "delta_mean": -0.1,
            "delta_ci_low": -0.2,
            "delta_ci_high": -0.05,
            "chance_best": 0.2,
            "tool_calls_mean": 4.0 + each,
            "latency_p95_s": None,
            "p95_reason": None,
            "num_samples_scored": 100,
            "is_saved": None,
            "checkpoint_id": None,
        }
        for each in every
    ]
    return pd.DataFrame(rows)


def test_the_verdict_says_what_the_choice_is_worth_and_who_is_tied() -> None:
    assert checkpoint_words.verdict(CHOICE, steps(25, 35, 45), "finqa") == (
        "finqa: step 40 has the highest validation reward, 0.66 (n = 100 samples). Chosen as the best of 11 steps it "
        "flatters itself by about 0.01 (at most 0.02, were all steps equally good): expect 0.65 [0.58, 0.71]. With "
        "other samples like these it would be chosen again about 47 % of the time. Steps 25, 35 and 45 cannot be told "
        "from it."
    )


def test_the_held_out_figure_stands_beside_what_is_expected() -> None:
    assert checkpoint_words.held_out(CHOICE | {"reward_held_out": 0.6412}) == (
        "Held out: a step chosen on one half of the samples has 0.64 on the other, against 0.65 expected of one chosen "
        "on all."
    )
    assert checkpoint_words.held_out(CHOICE | {"reward_held_out": None}) == ""


def test_ties_are_listed_counted_or_none() -> None:
    assert checkpoint_words.ties(steps(5)) == "Step 5 cannot be told from it."
    assert checkpoint_words.ties(steps()) == "It can be told from every other step."
    assert checkpoint_words.ties(steps(*range(1, 13))) == "12 of the 13 other steps cannot be told from it."
    assert checkpoint_words.ties(steps(apart=())) == ""


def test_what_cannot_be_had_is_said() -> None:
    none = CHOICE | {"ci_low": None, "ci_high": None, "reason": "n too small for a bootstrap: 6 needed"}
    said = checkpoint_words.verdict(none, steps(5), "r")
    assert "by about 0.010 (at most 0.022, were all" in said
    assert "expect 0.648, without an interval (n too small for a bootstrap: 6 needed)." in said
    often = checkpoint_words.verdict(CHOICE | {"chance_best": 1.0}, steps(), "r")
    assert "it would be chosen again over 99 % of the time." in often
    sure = CHOICE | {"optimism": 0.0001, "optimism_if_equal": 0.001}
    assert "flatters itself by less than 0.01: expect" in checkpoint_words.verdict(sure, steps(), "r")
    one = none | {"optimism": None, "optimism_if_equal": None, "reward_expected": None, "chance_best": None}
    one_sample = one | {"reason": "one value has no spread"}
    assert "How much the choice flatters it cannot be told: one value has no spread." in checkpoint_words.verdict(
        one_sample, steps(5), "r"
    )
    alone = checkpoint_words.verdict(one | {"num_steps": 1}, steps(apart=()), "r")
    assert alone == (
        "r: only step 40 can be judged, so there is nothing to choose. Its validation reward is 0.600 [0.500, 0.700] "
        "(n = 100 samples)."
    )


def test_how_samples_were_compared_is_a_caution() -> None:
    assert checkpoint_words.cautions(CHOICE, NO_WARNINGS, ["one"]) == []
    left = CHOICE | {"num_samples_left_out": 1, "num_steps_left_out": 2}
    assert checkpoint_words.cautions(left, NO_WARNINGS, []) == [
        "1 sample is not scored at every step and is left out of the choice.",
        "2 steps have under half of the samples of the fullest one and cannot be chosen.",
    ]
    (trained,) = checkpoint_words.cautions(CHOICE | {"split": "train"}, NO_WARNINGS, [])
    assert trained.startswith("Train batches hold the very samples")
    (own, pooled) = checkpoint_words.cautions(CHOICE | {"is_common": False}, NO_WARNINGS, ["a", "b"])
    assert own.startswith("Too few samples are scored at every step")
    assert pooled == "The reward pools 2 environments (a, b): choose one in the sidebar."


def warning(name: str, **values: Any) -> dict[str, Any]:
    common = {
        "warning": name,
        "measure": "reward",
        "step": 50,
        "value": 0.6,
        "reference_step": 40,
        "reference_value": 0.7,
        "difference": -0.1,
        "ci_low": -0.2,
        "ci_high": -0.05,
        "num_samples": 30,
    }
    return common | values


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (
            warning("collapse"),
            "Collapse: at the last step, 50, validation reward is 0.600, against 0.700 at step 40: −0.100 [−0.200, "
            "−0.050] (n = 30 samples).",
        ),
        (
            warning("fallen"),
            "From its best, step 40, to the last step, 50, validation reward fell: −0.100 [−0.200, −0.050] (n = 30 "
            "samples).",
        ),
        (
            warning("calls_gone", value=0.0, reference_value=3.2, num_samples=None),
            "The agent has all but stopped calling tools: 0 calls a rollout at the last step, 50, against 3.20 at step "
            "40.",
        ),
        (
            warning("output_gone", value=21.4, reference_value=1900.0, num_samples=None),
            "Output has all but vanished: 21 tokens a rollout at the last step, 50, against 1\u202f900 at step 40.",
        ),
        (
            warning("no_calls", value=0.62, reference_value=0.02),
            "At the last step, 50, 62 % of rollouts call no tool; at step 40 it was 2.0 % (n = 30 samples).",
        ),
        (
            warning("attempts_alike", value=1.0, reference_value=0.4),
            "At the last step, 50, all attempts have the same reward on 100 % of samples, against 40 % at step 40 (n = "
            "30 samples): little is left to learn from them, or the policy has collapsed onto one answer.",
        ),
        (
            warning("failures_decide", value=0.72),
            "With infrastructure and grader failures left out step 50 is highest, 0.720 against 0.700 of step 40: "
            "failures may decide the choice; read the failed rollouts of both first.",
        ),
        (
            warning("not_saved", difference=0.1, ci_low=-0.05, ci_high=0.2),
            "Step 50 was not saved as a checkpoint; the nearest that was is step 40, with 0.700, which cannot be told "
            "from it: −0.100 [−0.200, 0.050].",
        ),
        (
            warning("not_saved", difference=0.1, ci_low=0.05, ci_high=0.2),
            "Step 50 was not saved as a checkpoint; the nearest that was is step 40, with 0.700, which is lower: "
            "−0.100 [−0.200, −0.050].",
        ),
        (
            warning("last_is_best", difference=0.1, ci_low=0.05, ci_high=0.2),
            "The best step is the last: since step 40 validation reward rose by +0.100 [0.050, 0.200] (n = 30 "
            "samples), and it may go on rising. Training may not have been finished.",
        ),
        (
            warning("few_samples", num_samples=1),
            "Only 1 sample: where rewards are skewed, intervals from so few are somewhat too narrow.",
        ),
    ],
    ids=lambda each: each["warning"] if isinstance(each, dict) else "",
)
def test_every_warning_gives_its_evidence(row: dict[str, Any], said: str) -> None:
    assert checkpoint_words.cautions(CHOICE, pd.DataFrame([row]), []) == [said]


@pytest.mark.parametrize(("low", "how"), [(0.1, "rose"), (-0.1, "held (no fall could be shown)"), (None, "held")])
def test_overfitting_says_where_the_train_reward_went(low: float | None, how: str) -> None:
    train = warning("overfit", measure="train_reward", value=0.8, reference_value=0.5, ci_low=low, num_samples=None)
    (said,) = checkpoint_words.cautions(CHOICE, pd.DataFrame([warning("overfit"), train]), [])
    assert said.startswith(
        "Overfitting: from step 40 to the last step, 50, validation reward fell by −0.100 [−0.200, −0.050] (n = 30 "
        f"samples), while the train reward {how}"
    )
    assert said.endswith(": 0.500 up to step 40, 0.800 at the end.")


def test_figures_on_top() -> None:
    found = {each.label: each for each in checkpoint_words.figures(CHOICE, steps(5))}
    assert (found["Expected of step 40"].value, found["Expected of step 40"].change) == ("0.65", "0.58 to 0.71")
    assert (found["Chosen again"].value, found["Chosen again"].change) == ("47 %", "1 of 2 others may be as good")
    assert (found["Gain since step 0"].value, found["Gain since step 0"].change) == ("+0.100", "[0.050, 0.200]")
    assert (found["Tool calls"].value, found["Tool calls"].change) == ("44.0", "4.00 at step 0")
    assert "Latency, P95" not in found


def test_the_plot_tells_standings_by_shape_and_hands_back_steps() -> None:
    train = pd.DataFrame(
        {"run_id": "r", "split": "train", "step": [0, 1], "reward_mean": [0.3, 0.4], "num_samples_scored": 8}
    )
    saved = steps(25).assign(is_saved=[False, True, False], checkpoint_id=["", "<b>c</b>", ""])
    drawn = checkpoint_charts.reward_by_step(saved, CHOICE, train, "#0072B2")
    by_name = {trace.name: trace for trace in drawn.data if trace.name}
    assert [*by_name] == ["train batch", "best", "cannot be told from it", "lower", "expected of the best", "saved"]
    assert len({by_name[name].marker.symbol for name in ("best", "cannot be told from it", "lower")}) == 3
    point = by_name["best"].customdata[0]
    assert (point["run_id"], point["split"], point["step"], point["chance"]) == ("r", "valid", 40, "20 %")
    assert by_name["saved"].text[0] == "&lt;b&gt;c&lt;/b&gt;"
    assert checkpoint_words.selected([point], CHOICE) == 40
    assert checkpoint_words.selected([{"split": "train", "step": 3}, {"split": "valid", "step": 25}], CHOICE) == 25


def at(step: int | None, name: str, reward: float | None, **values: Any) -> Rollout:
    return rollout(
        values.pop("run", "job"), step=step, sample_id=name, reward=reward, split=values.pop("split", "valid"), **values
    )


def opened(root: Path, monkeypatch: pytest.MonkeyPatch, **parameters: str) -> AppTest:
    monkeypatch.setenv("OBSERVATORY_STORE", str(root))
    app = AppTest.from_file(str(ROOT / "dashboard" / "app.py"), default_timeout=90)
    for name, value in parameters.items():
        app.query_params[name] = value
    app.switch_page("app_pages/checkpoints.py").run()
    assert not app.exception
    assert not any("unexpected" in each.value for each in app.subheader)
    return app


def said(app: AppTest) -> str:
    shown = [*app.title, *app.subheader, *app.markdown, *app.caption, *app.error, *app.warning]
    return "\n".join(str(each.value).replace("\\", "").replace("\u00a0", " ").replace("\u2060", "") for each in shown)


def test_the_page_gives_its_verdict_and_a_link_to_compare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rewards = {0: 0.2, 5: 0.6, 10: 0.58}
    rows = [
        at(step, f"s{n}", mean + 0.01 * (n % 3 + step % 2), tool_calls=[call("t")], messages=[])
        for step, mean in rewards.items()
        for n in range(24)
    ]
    rows += [at(0, f"s{n}", 0.5, run="other") for n in range(3)]
    write_store(tmp_path, [*rows, Row("checkpoints", {"step": 10, "checkpoint_id": EVIL}, run="job")])
    app = opened(tmp_path, monkeypatch)
    assert "job: step 5 has the highest validation reward, 0.62" in said(app)
    assert "Step 5 was not saved as a checkpoint; the nearest that was is step 10" in said(app)
    order = [each.type for each in app.main]
    assert order.index("metric") < order.index("selectbox")
    links = "".join(each.proto.body for each in app.get("html"))
    assert "compare?baseline=job%400&amp;candidate=job%405" in links
    assert "http://evil" not in "".join(each.value for each in app.markdown)
    assert "Intervals are about this checkpoint on samples like these, not about the method" in said(app)
    point = token({"run_id": "job", "split": "valid", "step": 10})
    picked = opened(tmp_path, monkeypatch, pick=f"checkpoint_rewards.{point}")
    assert "24 rollouts behind the selection." in said(picked)
    assert "Compare step 10 with step 0" in "".join(each.proto.body for each in picked.get("html"))
    other = opened(tmp_path, monkeypatch, checkpoints_run="other")
    assert "other: only step 0 can be judged, so there is nothing to choose." in said(other)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([at(None, "a", 1.0)], "says anything about"),
        ([at(1, "a", None)], "says anything about"),
        ([at(1, "a", 0.4)], "only step 1 can be judged"),
        ([at(1, "a", 0.4), at(2, "a", 0.5)], "one value has no spread"),
        ([at(s, n, 0.5) for s in (1, 2) for n in "abcdefg"], "all resamples agree"),
        ([at(s, f"{s}{n}", s / 9, split="train") for s in (1, 2) for n in "abc"], "each step counts with its own"),
    ],
    ids=["no steps", "no reward", "one step", "one sample", "all equal", "train only"],
)
def test_odd_stores_get_a_plain_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: list[Rollout], expected: str
) -> None:
    write_store(tmp_path, rows)
    assert expected in said(opened(tmp_path, monkeypatch))


def test_splits_without_a_name_and_runs_without_steps_are_not_offered() -> None:
    rows = {
        "run_id": ["a", "b", "c"],
        "split": ["valid", None, "test"],
        "num_steps": [3, 3, 0],
        "num_scored": [9, 9, 9],
    }
    assert offered(pd.DataFrame(rows))["run_id"].tolist() == ["a"]


def test_sentences_and_plot_of_a_real_answer(tmp_path: Path) -> None:
    store = build_store(
        tmp_path, [at(step, f"s{n}", n / 40 + step / 10 + n * step % 5 / 100) for step in range(4) for n in range(24)]
    )
    figures, (choice,) = checkpoint_figures(store), records(checkpoint_choice(store))
    text = checkpoint_words.verdict(choice, figures, "job")
    assert text.startswith("job: step 3 has the highest validation reward")
    assert checkpoint_words.cautions(choice, checkpoint_warnings(store), [])[0].startswith("The best step is the last")
    assert len(checkpoint_charts.reward_by_step(figures, choice, figures.iloc[:0], "#0072B2").data) >= 4
    assert checkpoint_words.alt(choice, figures).startswith("validation reward of 4 steps with intervals")
