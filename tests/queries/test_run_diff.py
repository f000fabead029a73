"""What differs between runs: values, prompts, tools, graders and data of given runs against rows written by hand."""

import json

import pandas as pd
import pytest

from ingest.errors import QuestionError
from ingest.runner import Request, ingest
from ingest.sources.base import Row
from ingest.store import Store
from queries.connection import open_store
from queries.run_diff import MAX_TEXT, prompt_differences, run_diff, varying_settings
from tests.stores import build_store, call, rollout, write_store

PAIR = {"baseline": "p", "candidate": "q"}


def of(run, name, **values):
    return rollout(run, sample_id=name, split="valid", **values)


def described(run, hyperparameters=None, config=None, **values):
    texts = {"hyperparameters": hyperparameters, "config": config}
    given = {name: each if each is None or isinstance(each, str) else json.dumps(each) for name, each in texts.items()}
    return Row("runs", given | values, run=run)


def rows(frame):
    return {
        (row["section"], row["name"]): row
        for row in frame.astype(object).where(frame.notna(), None).to_dict("records")
    }  # fmt: skip


def changed(frame):
    found = frame[frame["is_changed"] & ~frame["section"].isin(["identity", "results"])]
    return {
        f"{row.section}/{row.name_}": (row.baseline_value, row.candidate_value)
        for row in found.rename(columns={"name": "name_"})
        .astype(object)
        .where(found.notna().to_numpy(), None)
        .itertuples()
    }


def test_equal_runs_differ_in_no_setting_however_they_are_written(tmp_path):
    store = build_store(
        tmp_path,
        [of(run, "a", environment="e", tool_calls=[call("x")]) for run in "pq"],
        [described("p", {"a": 1, "b": {"c": 2.0, "d": []}}), described("q", '{"b": {"d": [], "c": 2}, "a": 1.0}')],
    )
    frame = run_diff(store, **PAIR)
    assert changed(frame) == {}
    assert len(frame[frame["section"] == "hyperparameters"]) == 3
    assert run_diff(store, **PAIR, changed_only=True)["section"].unique().tolist() == ["identity"]
    itself = run_diff(store, baseline="p", candidate="p")
    assert not itself["is_changed"].any()


def test_what_changed_comes_first_with_difference_and_ratio(tmp_path):
    store = build_store(
        tmp_path,
        [],
        [
            described("p", {"lr": 1e-5, "zero": 0, "flag": True, "gone": 1, "same": 3}, model="m1"),
            described("q", {"lr": 2e-5, "zero": 1, "flag": "true", "new": None, "same": 3}, model="m2"),
        ],
    )
    frame = run_diff(store, **PAIR)
    assert frame["is_changed"].tolist() == sorted(frame["is_changed"], reverse=True)
    assert changed(frame) == {
        "configuration/model": ("m1", "m2"),
        "hyperparameters/flag": ("true", '"true"'),
        "hyperparameters/gone": ("1", None),
        "hyperparameters/lr": ("1e-05", "2e-05"),
        "hyperparameters/new": (None, "null"),
        "hyperparameters/zero": ("0", "1"),
    }
    found = rows(frame)
    rate = found["hyperparameters", "lr"]
    assert (rate["difference"], rate["ratio"], rate["change"]) == (pytest.approx(1e-5), pytest.approx(2.0), "changed")
    assert (found["hyperparameters", "zero"]["difference"], found["hyperparameters", "zero"]["ratio"]) == (1.0, None)
    assert (found["hyperparameters", "gone"]["change"], found["hyperparameters", "new"]["change"]) == (
        "only_baseline",
        "only_candidate",
    )
    assert found["hyperparameters", "same"]["change"] == "same"


def test_several_sources_of_one_run_are_put_together(tmp_path):
    write_store(tmp_path, [described("p", {"lr": 1}, precedence=1)], "file:///one")
    write_store(tmp_path, [described("p", {"lr": 2, "seed": 3}, {"max_turns": 4}, precedence=2)], "file:///two")
    write_store(tmp_path, [described("q", {"lr": 1, "seed": 3}, {"max_turns": 5})], "file:///three")
    assert changed(run_diff(open_store(tmp_path), **PAIR)) == {"limits/max_turns": ("4", "5")}


def test_a_name_in_both_places_is_one_setting_unless_they_disagree(tmp_path):
    store = build_store(
        tmp_path,
        [],
        [described("p", {"max_tokens": 5}, {"max_tokens": 5}), described("q", {"max_tokens": 5}, {"max_tokens": 6})],
    )
    assert changed(run_diff(store, **PAIR)) == {"limits/max_tokens (config)": (None, "6")}


def test_runs_without_configuration_and_with_other_json_are_no_error(tmp_path):
    store = build_store(tmp_path, [of("p", "a")], [described("q", "[1, 2]", '"only a text"')])
    assert changed(run_diff(store, **PAIR)) | {} == {
        "configuration/(config)": (None, "only a text"),
        "hyperparameters/(hyperparameters)": (None, "[1,2]"),
        "data/attempts per sample, valid": ("1", None),
        "data/sample ids, valid": ("digest 0cc175b9", None),
        "data/samples, valid": ("1", None),
    }


def test_five_thousand_keys_and_hostile_names(tmp_path):
    many = {f"k{n}": n for n in range(5_000)}
    evil = "<img src=x> [a](http://evil) sk-abcdefghijklmnopqrstuvwx\n"
    store = build_store(
        tmp_path, [], [described("p", many), described("q", many | {"k7": "seven", evil: 1, "api_key": "hunter2"})]
    )
    found = run_diff(store, **PAIR, changed_only=True)
    found = found[found["section"] == "hyperparameters"].set_index("name")
    assert found.index.tolist() == ["<img src=x> [a](http://evil) [redacted]\n", "api_key", "k7"]
    assert found["candidate_value"].tolist() == ["1", "[redacted]", "seven"]


def test_a_very_long_text_is_cut_after_it_was_compared(tmp_path):
    text = "x" * (MAX_TEXT + 10)
    store = build_store(
        tmp_path, [], [described("p", {"system_prompt": text}), described("q", {"system_prompt": text + "y"})]
    )
    row = rows(run_diff(store, **PAIR))["prompts", "system_prompt"]
    assert row["is_changed"]
    assert row["candidate_value"].endswith(f"x … ({MAX_TEXT + 11} letters)")


def test_tools_graders_and_versions_by_step(tmp_path):
    def graded(run, step, version, weight):
        score = {"grader": "answer", "value": 1.0, "kind": "reward", "weight": weight, "grader_version": version}
        return of(run, "a", step=step, tools_version=version, tool_calls=[call("x"), call(run)], scores=[score])

    made = [graded("p", 0, "v1", 1.0), graded("p", 4, "v1", 1.0), graded("p", 5, "v2", 1.0), graded("q", 0, "v1", 0.5)]
    found = rows(run_diff(build_store(tmp_path, made), **PAIR))
    assert found["grader", "answer.version"]["baseline_value"] == '["v1 (steps 0–4)","v2 (steps 5–5)"]'
    assert found["grader", "answer.version"]["candidate_value"] == "v1"
    assert found["tools", "tools offered, version"]["baseline_value"] == '["v1 (steps 0–4)","v2 (steps 5–5)"]'
    assert (found["grader", "answer.weight"]["baseline_value"], found["grader", "answer.weight"]["ratio"]) == ("1", 0.5)
    assert found["tools", "tools called"]["baseline_value"] == '["p","x"]'
    assert (found["results", "calls of x"]["baseline_value"], found["results", "calls of x"]["difference"]) == (
        "3",
        -2.0,
    )
    assert found["results", "steps, valid"]["baseline_value"] == "3"


def test_data_and_prompts_of_the_samples_both_runs_have(tmp_path):
    def sampled(run, name, prompt, version):
        return of(run, name, sample={"prompt_text": prompt, "dataset_version": version, "tags": '["easy"]'})

    made = [
        sampled("p", "a", "one", "1"),
        sampled("p", "b", "two", "1"),
        sampled("q", "b", "zwei", "2"),
        sampled("q", "c", "x", "2"),
    ]
    store = build_store(tmp_path, made)
    found = rows(run_diff(store, **PAIR))
    assert found["data", "data set version"]["candidate_value"] == '["2"]'
    assert found["data", "samples in both runs"]["baseline_value"] == "1"
    assert found["prompts", "prompts of samples in both runs"]["candidate_value"] == "1 known, 1 of them others"
    prompts = prompt_differences(store, **PAIR)
    assert prompts[["sample_id", "baseline_prompt", "candidate_prompt"]].values.tolist() == [["b", "two", "zwei"]]
    assert prompts[["num_shared", "num_known", "num_different"]].values.tolist() == [[1, 1, 1]]
    none = prompt_differences(store, baseline="p", candidate="p")
    assert none["sample_id"].isna().tolist() == [True]
    assert none[["num_shared", "num_known", "num_different"]].values.tolist() == [[2, 2, 0]]


def test_the_system_prompt_is_that_of_the_same_samples(tmp_path):
    def asked(run, name, text):
        return of(run, name, messages=[{"role": "system", "text": text}])

    own = [
        asked("p", "a", "You solve a."),
        asked("p", "b", "You solve b."),
        asked("q", "b", "You solve b."),
        asked("q", "c", "You solve c."),
    ]
    row = rows(run_diff(build_store(tmp_path / "own", own), **PAIR))["prompts", "system prompt"]
    assert (row["baseline_value"], row["change"]) == ("You solve b.", "same")
    other = [asked("p", "a", "Be brief."), asked("q", "a", "Be long.")]
    row = rows(run_diff(build_store(tmp_path / "other", other), **PAIR))["prompts", "system prompt"]
    assert (row["baseline_value"], row["candidate_value"]) == ("Be brief.", "Be long.")
    several = [asked(run, name, f"You solve {name}.") for run in "pq" for name in "ab"]
    row = rows(run_diff(build_store(tmp_path / "several", several), **PAIR))["prompts", "system prompts"]
    assert row["change"] == "same"
    assert row["baseline_value"].startswith("2 in 2 samples, digest ")


def test_what_varies_among_several_runs(tmp_path):
    given = {"p": {"lr": 1, "seed": 1}, "q": {"lr": 2, "seed": 1}, "s": {"seed": 1.0}}
    store = build_store(tmp_path, [], [described(run, each) for run, each in given.items()])
    frame = varying_settings(store, runs=("s", "p", "q"))
    assert frame[["name", "run_id"]].values.tolist() == [["lr", "s"], ["lr", "p"], ["lr", "q"]]
    assert frame["value"].astype(object).where(frame["value"].notna(), None).tolist() == [None, "1", "2"]
    every = varying_settings(store, runs=("p", "q"), varying_only=False)
    assert every.loc[every["name"] == "seed", "is_varying"].tolist() == [False, False]
    with pytest.raises(QuestionError, match="too many"):
        varying_settings(
            build_store(tmp_path / "many", [of(f"r{n}", "a") for n in range(51)]),
            runs=tuple(f"r{n}" for n in range(51)),
        )


def test_runs_go_by_id_or_name(tmp_path):
    store = build_store(tmp_path, [], [described("späte Läufe", {"a": 1}), described("q", {"a": 2})])
    assert changed(run_diff(store, baseline="späte Läufe", candidate="q")) == {"hyperparameters/a": ("1", "2")}
    with pytest.raises(QuestionError, match="there is no run 'zz'"):
        run_diff(store, baseline="zz", candidate="q")


def test_real_evaluations(tmp_path, real_data):
    root = tmp_path / "store"
    ingest(Store(root), Request([real_data / "tau2"]))
    store = open_store(root)
    names = store.ask("run_names", {})["run_id"]
    first, second = (
        next(each for each in names if each.startswith(start)) for start in ("airline__grok-3", "telecom-workflow")
    )
    found = rows(run_diff(store, baseline=first, candidate=second))
    assert (found["data", "environment"]["is_changed"], found["limits", "max_steps"]["change"]) == (True, "same")
    assert pd.notna(found["code", "code reference"]["baseline_value"])
