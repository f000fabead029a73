"""The run diff page: its sentences, its differences of texts, and the page as a whole with hostile names."""

import json

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from dashboard import run_diff_words
from ingest.sources.base import Row
from queries.run_diff import prompt_differences, run_diff, varying_settings
from tests.conftest import ROOT
from tests.dashboard.test_markup import EVIL
from tests.stores import build_store, call, rollout, write_store

PAIR = {"baseline": "p", "candidate": "q"}


def described(run, **settings):
    return Row("runs", {"hyperparameters": json.dumps(settings)}, run=run)


@pytest.fixture(scope="module")
def diffs(tmp_path_factory):
    runs = [
        described("p", lr=1e-5, batch=8, seed=1, prompt="Be brief."),
        described("q", lr=2e-5, batch=8, n=3, prompt="Be brief."),
    ]
    return run_diff(build_store(tmp_path_factory.mktemp("diff"), [], runs), **PAIR)


def test_the_verdict_counts_settings_and_names_them(diffs):
    assert run_diff_words.verdict(diffs, "p", "q") == "q and p differ in 3 of 5 settings: lr, n and seed."
    same = diffs[~diffs["is_changed"]]
    assert run_diff_words.verdict(same, "p", "q") == "q and p do not differ in any of 2 settings that are known."
    assert run_diff_words.verdict(diffs[:0], "p", "q") == "Nothing is known of how q and p were made."
    many = pd.concat([diffs[diffs["name"] == "lr"]] * 8)
    assert run_diff_words.verdict(many, "p", "q").endswith("8 of 8 settings: lr, lr, lr, lr, lr and 3 more.")


def test_what_only_one_run_says_is_no_finding(diffs):
    assert run_diff_words.silences(diffs, "p", "q") == ""
    lacking = diffs.assign(baseline_value=None)
    assert run_diff_words.silences(lacking, "p", "q") == (
        "p says nothing of its hyperparameters and prompts. What the other run says there counts as different."
    )


def test_the_table_says_what_changed(diffs):
    shown = run_diff_words.table(diffs).set_index("setting")
    assert shown["what changed"][["lr", "n", "seed", "batch"]].tolist() == [
        "+1e-05, × 2.00",
        "only in the candidate",
        "only in the baseline",
        "the same",
    ]
    assert [each.value for each in run_diff_words.figures(diffs)] == ["1", "1", "1", "2"]


def test_rows_are_listed_by_kind(diffs):
    assert run_diff_words.listed(diffs, "settings", changed_only=True)["name"].tolist() == ["lr", "n", "seed"]
    assert run_diff_words.listed(diffs, "prompts", changed_only=False)["name"].tolist() == ["prompt"]
    assert run_diff_words.listed(diffs, "identity", changed_only=True)["name"].tolist() == ["run"]
    assert len(run_diff_words.listed(diffs, "all", changed_only=False)) == len(diffs)


def test_long_lines_are_compared_sentence_by_sentence():
    before = "You answer questions about reports. Use the tools that you are given. Be brief and give your sources."
    after = before.replace("Be brief", "Be thorough")
    assert run_diff_words.text_diff(before, after).splitlines() == [
        "--- baseline",
        "+++ candidate",
        "@@ -1,3 +1,3 @@",
        " You answer questions about reports.",
        " Use the tools that you are given.",
        "-Be brief and give your sources.",
        "+Be thorough and give your sources.",
    ]
    assert run_diff_words.text_diff('["a","b"]', '["a","c"]').splitlines()[3:] == [
        " [",
        '  "a",',
        '- "b"',
        '+ "c"',
        " ]",
    ]
    assert "the same" in run_diff_words.text_diff("a", "a\n")
    assert run_diff_words.text_diff("x\n" * 3_000, "y\n" * 3_000).endswith("(only the first 2000 lines were compared)")


def test_prompts_are_counted_in_words(tmp_path):
    def sampled(run, name, prompt=None):
        sample = {} if prompt is None else {"sample": {"prompt_text": prompt}}
        return rollout(run, sample_id=name, **sample)

    made = [
        sampled("p", "a", "1"),
        sampled("q", "a", "2"),
        sampled("q", "b", "2"),
        sampled("r", "a", "1"),
        sampled("s", "z"),
    ]
    store = build_store(tmp_path, made)

    def said(baseline, candidate):
        return run_diff_words.prompts(prompt_differences(store, baseline=baseline, candidate=candidate))

    assert said("p", "q") == "1 of 1 shared sample has another prompt in the candidate."
    assert said("p", "r") == "None of 1 shared sample whose prompt is known has another prompt in the candidate."
    assert said("p", "s") == "The two runs share no sample."


def test_several_runs_stand_side_by_side(tmp_path):
    runs = [described("p", lr=1), described("q", lr=2, seed=1), described("r", lr=1)]
    found = varying_settings(build_store(tmp_path, [], runs), runs=("r", "p", "q"))
    wide = run_diff_words.matrix(found, ("r", "p", "q"))
    assert wide.columns.tolist() == ["section", "setting", "r", "p", "q"]
    assert wide.values.tolist() == [
        ["hyperparameters", "lr", "1", "1", "2"],
        ["hyperparameters", "seed", None, None, "1"],
    ]
    assert run_diff_words.varying(found, 3) == "2 settings vary among 3 runs."
    assert run_diff_words.varying(found[:0], 3) == "No setting varies among 3 runs."


def opened(root, monkeypatch, **link):
    monkeypatch.setenv("OBSERVATORY_STORE", str(root))
    app = AppTest.from_file(str(ROOT / "dashboard" / "app.py"), default_timeout=90)
    app.switch_page("app_pages/run_diff.py")
    for name, value in link.items():
        app.query_params[name] = value
    app.run()
    assert not app.exception
    assert not any("unexpected" in each.value for each in app.subheader)
    return app


def texts(app):
    return (
        "\n".join(str(each.value) for each in [*app.markdown, *app.caption, *app.warning])
        .replace("\\", "")
        .replace("\u2060", "")
    )


def test_the_page_with_hostile_names_and_links(tmp_path, monkeypatch):
    made = []
    for run in ("p", EVIL, "s"):
        talk = [{"role": "system", "text": f"{EVIL} {run}"}]
        made.append(rollout(run, sample_id=EVIL, reward=1.0, tool_calls=[call(EVIL)], messages=talk))
    runs = [described("p", **{EVIL: EVIL}), described(EVIL, **{EVIL: 1}), described("s", lr=1)]
    write_store(tmp_path, [*made, *runs])
    app = opened(tmp_path, monkeypatch, baseline="p", candidate=EVIL, same="true")
    assert " differ in " in texts(app)
    assert "](http" not in "".join(each.value for each in [*app.markdown, *app.caption])
    assert "The link's candidate is not used" in texts(opened(tmp_path, monkeypatch, candidate="zz"))
    several = opened(
        tmp_path, monkeypatch, run=["p", "s", next(each for each in app.selectbox[0].options if each not in "ps")]
    )
    assert "What varies among the chosen runs" in [each.value for each in several.subheader]


def test_one_run_alone_is_not_compared(tmp_path, monkeypatch):
    write_store(tmp_path, [rollout("p", sample_id="a")])
    assert "It takes two runs" in texts(opened(tmp_path, monkeypatch))


def test_results_are_written_as_numbers_and_settings_as_given():
    row = {"section": "results", "name": "last reward, valid", "change": "changed", "difference": 0.13, "ratio": 1.25}
    rows = [
        row | {"baseline_value": "0.5243333333333333", "candidate_value": "0.65"},
        row
        | {"section": "configuration", "baseline_value": "0.50", "candidate_value": None, "change": "only_baseline"},
        row | {"baseline_value": "0–18", "candidate_value": None},
        row | {"baseline_value": "850", "candidate_value": "1039"},
    ]
    table = run_diff_words.table(pd.DataFrame(rows))
    assert table["baseline"].tolist() == ["0.5243", "0.50", "0–18", "850"]
    assert table["candidate"].tolist()[0] == "0.6500"
