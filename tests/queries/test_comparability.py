"""Whether two arms can be compared at all: every check against rows made so that it holds, fails, or cannot be told."""

import json

import pytest

from ingest.errors import QuestionError
from ingest.runner import Request, ingest
from ingest.sources.base import Row
from ingest.staging import Overrides
from ingest.store import Store
from queries.comparability import CHECKS, comparability
from queries.connection import open_store
from tests.stores import build_store, call, rollout

ARMS = {"baseline": "p", "candidate": "q"}


def of(run, name, **values):
    return rollout(run, sample_id=name, split=values.pop("split", "valid"), **values)


def checked(store, **parameters):
    frame = comparability(store, **(ARMS | parameters))
    assert tuple(frame["check"]) == CHECKS
    return {row["check"]: row for row in frame.astype(object).where(frame.notna(), None).to_dict("records")}


def sides(row):
    return row["baseline_value"], row["candidate_value"]


def numbers(row):
    return row["num_baseline"], row["num_candidate"], row["num_shared"]


def described(run, **settings):
    return Row("runs", {"hyperparameters": json.dumps(settings), "code_reference": f"code-{run}"}, run=run)


def test_equal_arms_differ_in_nothing(tmp_path):
    values = {
        "reward": 1.0, "status": "completed", "environment": "e", "agent": "a", "model": "m", "tools_version": "t",
        "prompt_version": "1", "messages": [{"role": "system", "text": "be brief"}], "tool_calls": [call("search")],
    }  # fmt: skip
    score = {"grader": "g", "value": 1.0, "kind": "reward", "weight": 1.0, "grader_version": "1"}
    rows = [of(run, name, **values, scores=[dict(score)]) for run in "pq" for name in ("x", "y")]
    runs = [Row("runs", {"hyperparameters": '{"max_turns": 8, "temperature": 1}'}, run=run) for run in "pq"]
    found = checked(build_store(tmp_path, rows, runs))
    assert [name for name, row in found.items() if row["is_same"] is False] == []
    assert [name for name, row in found.items() if row["is_same"] is None] == ["prompts", "dataset_version", "code"]
    assert {row["severity"] for row in found.values()} == {None}
    assert sides(found["graders"]) == ("g (reward, weight 1)", "g (reward, weight 1)")
    assert numbers(found["system_prompt"]) == (2, 2, 2)
    assert sides(found["limits"]) == ("max_turns 8", "max_turns 8")


def test_a_split_that_is_not_named_cannot_be_told(tmp_path):
    found = checked(build_store(tmp_path, [of(run, "x", split=None) for run in "pq"]))
    assert (found["split"]["is_same"], sides(found["split"])) == (None, (None, None))


def test_every_difference_is_named(tmp_path):
    def arm(run, **values):
        score = {"grader": f"g{run}", "value": 1.0, "kind": "reward", "weight": 0.5, "grader_version": run}
        about = dict.fromkeys(("environment", "agent", "model", "prompt_version", "tools_version"), run)
        text = [{"role": "system", "text": f"you are {run}"}]
        sample = {"prompt_hash": run, "dataset_version": run}
        return of(run, "x", **about, messages=text, scores=[score], tool_calls=[call(run)], sample=sample, **values)

    rows = [arm("p", split="valid"), arm("q", split="test", step=3)]
    runs = [
        described("p", max_turns=8, sampling={"temperature": 0}),
        described("q", max_turns=9, sampling={"temperature": 1}),
    ]
    found = checked(build_store(tmp_path, rows, runs))
    same = {name for name, row in found.items() if row["is_same"]}
    assert same == {"samples", "unknown_samples", "attempts", "missing_rewards", "tool_error_rate"}
    assert {name for name, row in found.items() if row["is_same"] is None} == {
        "failure_rate",
        "truncation_rate",
        "budget_rate",
    }
    assert {name for name, row in found.items() if row["severity"] == "notes"} == {"step_kind", "model", "code"}
    assert sides(found["graders"]) == ("gp (reward, weight 0.5)", "gq (reward, weight 0.5)")
    assert sides(found["grader_version"]) == ("gp p", "gq q")
    assert sides(found["limits"]) == ("max_turns 8", "max_turns 9")
    assert sides(found["decoding"]) == ("sampling.temperature 0", "sampling.temperature 1")
    assert sides(found["split"]) == ("valid", "test")
    assert sides(found["step_kind"]) == ("no step", "a step")
    assert sides(found["tools_used"]) == ("p", "q")
    assert sides(found["dataset_version"]) == ("p", "q")


def test_samples_are_told_apart_by_key_never_by_place(tmp_path):
    rows = [of("p", "a"), of("p", "b"), of("q", "b"), of("q", "c"), of("q", None)]
    store = build_store(tmp_path, rows)
    found = checked(store)
    assert numbers(found["samples"]) == (2, 2, 1)
    assert sides(found["samples"]) == ("a", "c")
    assert (found["samples"]["is_same"], found["samples"]["severity"]) == (False, "warns")
    assert numbers(found["unknown_samples"]) == (0, 1, 0)
    by_place = checked(store, pair_by="position")["samples"]
    assert (by_place["is_same"], by_place["severity"], by_place["num_shared"]) == (None, "warns", 2)


def test_no_shared_sample_stops_and_versions_are_those_of_all(tmp_path):
    rows = [of("p", "a", grader_version="1"), of("q", "b", grader_version="2")]
    found = checked(build_store(tmp_path, rows))
    assert found["samples"]["severity"] == "stops"
    assert sides(found["grader_version"]) == ("1", "2")
    assert found["failure_rate"]["p_value"] is None


def test_versions_are_those_of_the_samples_both_attempted(tmp_path):
    rows = [of("p", "a", tools_version="1"), of("p", "b", tools_version="2"), of("q", "a", tools_version="1")]
    assert checked(build_store(tmp_path, rows))["tools_offered"]["is_same"] is True


def test_a_version_that_only_one_arm_tells_cannot_be_told(tmp_path):
    rows = [of("p", "a", grader_version="1"), of("q", "a")]
    runs = [described("p", max_turns=8), described("q", top_p=0.5)]
    found = checked(build_store(tmp_path, rows, runs))
    assert (found["grader_version"]["is_same"], sides(found["grader_version"])) == (None, ("1", None))
    assert found["limits"]["is_same"] is None


def test_a_version_that_is_only_sometimes_the_same_differs(tmp_path):
    rows = [of("p", "a", grader_version="1"), of("p", "a", grader_version="2"), of("q", "a", grader_version="2")]
    row = checked(build_store(tmp_path, rows))["grader_version"]
    assert (row["is_same"], sides(row), numbers(row)) == (False, ("1", None), (2, 1, 1))


def test_a_prompt_that_names_the_sample_is_compared_sample_by_sample(tmp_path):
    def asked(run, name, text):
        return of(run, name, messages=[{"role": "system", "text": text}, {"role": "user", "text": "?"}])

    rows = [asked(run, name, f"You solve {name}.") for run in "pq" for name in ("a", "b")]
    assert checked(build_store(tmp_path / "same", rows))["system_prompt"]["is_same"] is True
    rows[-1] = of("q", "b", messages=[{"role": "user", "text": "?"}])
    row = checked(build_store(tmp_path / "lost", rows))["system_prompt"]
    assert (row["is_same"], numbers(row), row["candidate_value"]) == (False, (2, 2, 1), "none")
    silent = [of(run, "a", messages=[{"role": "user", "text": "?"}]) for run in "pq"]
    assert checked(build_store(tmp_path / "silent", silent))["system_prompt"]["is_same"] is None


def test_a_tool_that_is_not_used_may_still_be_offered(tmp_path):
    rows = [of("p", "a", tool_calls=[call("x"), call("y")]), of("q", "a", tool_calls=[call("x")])]
    row = checked(build_store(tmp_path, rows))["tools_used"]
    assert (row["severity"], sides(row)) == ("notes", ("y", None))


def test_attempts_warn_where_their_median_differs(tmp_path):
    rows = [of("p", name) for name in "aab"] + [of("q", name) for name in "aaabbb"]
    row = checked(build_store(tmp_path, rows))["attempts"]
    assert (row["baseline_number"], row["candidate_number"], row["num_shared"]) == (1.5, 3.0, 0)
    assert (sides(row), row["severity"]) == (("1–2", "3"), "warns")


def test_rates_are_over_rollouts_and_tested_over_samples(tmp_path):
    # Ten samples; in the candidate every one fails its only attempt. Signs of ten differences: p = 2/2¹⁰, times four,
    # for one rate of the five cannot be told (there are no calls).
    rows = [of("p", f"s{n}", status="completed", reward=1.0) for n in range(10)]
    rows += [of("q", f"s{n}", status="infra_error", reward=0.0) for n in range(10)]
    found = checked(build_store(tmp_path, rows))
    row = found["failure_rate"]
    assert (row["baseline_number"], row["candidate_number"], row["num_baseline"]) == (0.0, 1.0, 10)
    assert (row["severity"], row["p_value"]) == ("warns", pytest.approx(4 * 2 / 2**10))
    assert found["truncation_rate"]["is_same"] is True
    assert (found["tool_error_rate"]["is_same"], found["tool_error_rate"]["p_value"]) == (None, None)


def test_one_failure_of_ten_may_be_chance_and_is_still_said(tmp_path):
    rows = [of(run, f"s{n}", status="completed") for run in "pq" for n in range(9)]
    rows += [of("p", "s9", status="completed"), of("q", "s9", status="grader_error")]
    row = checked(build_store(tmp_path, rows))["failure_rate"]
    assert (row["is_same"], row["severity"], row["p_value"]) == (False, "warns", 1.0)


def test_fewer_failed_calls_are_no_fault(tmp_path):
    bad = call("x", status="error", is_error_flagged=True)
    rows = [of("p", "a", tool_calls=[bad], messages=[]), of("q", "a", tool_calls=[call("x")], messages=[])]
    assert checked(build_store(tmp_path, rows))["tool_error_rate"]["severity"] == "notes"


def test_assertions_of_single_samples_are_no_graders(tmp_path):
    def scored(run, name):
        return of(run, name, scores=[{"grader": f"check {run}", "value": 1.0, "kind": "assertion"}])

    assert checked(build_store(tmp_path, [scored("p", "a"), scored("q", "a")]))["graders"]["is_same"] is None


def test_two_steps_of_one_run_share_its_settings(tmp_path):
    rows = [of("p", "a", step=step, split="valid") for step in (0, 5)]
    found = checked(
        build_store(tmp_path, rows, [described("p", max_tokens=4, temperature=1)]), baseline="p@0", candidate="p@5"
    )
    assert (found["limits"]["is_same"], found["decoding"]["is_same"], found["code"]["is_same"]) == (True, True, True)


def test_arms_that_are_not_there_are_errors(tmp_path):
    with pytest.raises(QuestionError, match="no run 'z'"):
        comparability(build_store(tmp_path, [of("p", "a")]), baseline="z", candidate="p")


def test_the_real_job(tmp_path, real_data):
    root = tmp_path / "store"
    ingest(Store(root), Request([real_data / "openai_evals_rft_zava"], overrides=Overrides(run="zava")))
    found = checked(open_store(root), baseline="zava@0", candidate="zava@18")
    assert numbers(found["samples"]) == (10, 10, 10)
    assert [found[name]["is_same"] for name in ("prompts", "system_prompt", "tools_offered", "grader_version")] == [
        True
    ] * 4
    assert [name for name, row in found.items() if row["severity"] == "warns"] == ["truncation_rate", "tool_error_rate"]
