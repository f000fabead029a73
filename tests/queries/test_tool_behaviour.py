"""How tools are used, against rows computed by hand, and against the parallel wrappers of real runs."""

from pathlib import Path

import pandas as pd
import pytest

from ingest.errors import QuestionError
from ingest.runner import Request, ingest
from ingest.sources.base import Rollout, Row
from ingest.store import Store
from queries.connection import Reading, open_store
from queries.filters import Filters
from queries.questions import QUESTIONS
from queries.tool_behaviour import after_errors, first_calls, tool_errors, tool_mix, tool_profile, unknown_tools
from queries.tool_calls import (
    destructive_calls,
    destructive_rates,
    rollouts_after_error,
    rollouts_calling,
    tool_outputs,
    unstable_calls,
    unstable_tools,
)
from queries.tool_shift import tool_mix_moves, tool_mix_shift
from tests.stores import build_store, call, rollout

FAILED = {"status": "error", "is_error_flagged": True, "error_kind": "nonzero_exit"}
REFUSED = {"status": "error", "is_error_flagged": True, "error_kind": "parsing", "is_executed": False}


def talk(sample: str, *calls: dict[str, object], **values: object) -> Rollout:
    turns = max((int(str(each["turn"])) for each in calls), default=-1) + 2
    said = [{"role": "assistant", "turn": turn} for turn in range(turns)]
    return rollout(sample_id=sample, messages=said, tool_calls=list(calls), **{"status": "completed", **values})


@pytest.fixture
def store(tmp_path: Path) -> Reading:
    """Sample a: two parallel calls, one failed, then one; sample b: one call at a time, none fails; c without calls."""
    rows = [
        talk("a", call("s", latency_s=2.0), call("t", latency_s=1.0, **FAILED), call("t", turn=1, latency_s=1.0)),
        talk("b", call("s", '{"q":1}', latency_s=3.0), call("u", turn=1, latency_s=1.0)),
        talk("c"),
        rollout(sample_id="d"),
    ]
    return build_store(tmp_path, rows)


def test_the_profile_tells_parallel_calls_from_single_ones(store: Reading) -> None:
    row = tool_profile(store).iloc[0]
    assert (row["num_rollouts"], row["num_unknown"], row["num_calls"], row["num_failed"]) == (3, 1, 5, 1)
    assert row["calls_per_turn"] == 5 / 7
    assert (row["rounds_mean"], row["num_rounds"], row["calls_per_round"]) == (pytest.approx(4 / 3), 4, 1.25)
    assert (row["parallel_turn_rate"], row["max_parallel_calls"]) == (0.25, 2)
    assert (row["num_parallel_calls"], row["parallel_call_share"]) == (2, 0.4)
    assert (row["parallel_error_rate"], row["single_error_rate"], row["error_rate_difference"]) == (0.5, 0.0, 0.5)
    # Of 4 s in sample a, the 1 s beside the slower call is saved: 7 of 8 s are left on the critical path.
    assert (row["critical_path_s"], row["tool_latency_s"], row["time_share"]) == (7.0, 8.0, 0.875)
    assert row["parallel_call_share_ci_low"] < 0.4 < row["parallel_call_share_ci_high"]


def test_rollouts_without_a_call_have_counts_of_zero_and_no_rates(tmp_path: Path) -> None:
    row = tool_profile(build_store(tmp_path, [talk("a"), talk("b")])).iloc[0]
    assert (row["num_rollouts"], row["num_calls"], row["num_parallel_calls"], row["rounds_mean"]) == (2, 0, 0, 0.0)
    assert row[["parallel_call_share", "single_error_rate", "time_share", "parallel_turn_rate"]].isna().all()


def test_agents_are_told_apart_with_the_same_totals(tmp_path: Path) -> None:
    calls = [call("plan", agent="lead"), call("e", agent="w", turn=1), call("e", agent="w", turn=1, **FAILED)]
    store = build_store(tmp_path, [talk("a", *calls), talk("b", call("plan", agent="lead"))])
    frame = tool_profile(store, apart="agent").dropna(subset="agent").set_index("agent")
    assert frame["num_calls"].to_dict() == {"lead": 2, "w": 2}
    assert frame["num_rollouts"].to_dict() == {"lead": 2, "w": 1}
    assert frame.loc["w", "parallel_error_rate"] == 0.5
    assert tool_profile(store, Filters(agents=("w",)))["num_calls"].tolist() == [2]


@pytest.mark.parametrize(("step", "wrappers", "failed"), [(0, 4, 2), (3, 3, 2), (9, 8, 7), (18, 38, 50)])
def test_wrappers_that_fail_to_parse_are_failed_calls_never_executed(
    real_data: Path, tmp_path: Path, step: int, wrappers: int, failed: int
) -> None:
    ingest(Store(tmp_path), Request([real_data / "openai_evals_rft_zava" / f"Step_{step}.json"]))
    store = open_store(tmp_path)
    row = tool_profile(store).iloc[0]
    assert (row["num_wrappers"], row["num_failed"], row["num_not_executed"]) == (wrappers, failed, failed)
    assert row["single_error_rate"] == 0
    errors = tool_errors(store)
    assert (set(errors["kind"]), errors["num_errors"].sum()) == ({"not_executed"}, failed)


def test_shares_of_tools_and_of_first_calls(store: Reading) -> None:
    mix = tool_mix(store)
    assert mix[["tool", "num_calls", "num_failed"]].values.tolist() == [["s", 2, 0], ["t", 2, 1], ["u", 1, 0]]
    assert mix["share"].tolist() == [0.4, 0.4, 0.2]
    assert set(mix["num_samples"]) == {2}
    first = first_calls(store)
    assert [(None if pd.isna(t) else t, n) for t, n in first[["tool", "num_first"]].values] == [("s", 2), (None, 1)]
    assert first["share"].tolist() == pytest.approx([2 / 3, 1 / 3])
    assert set(first["num_rollouts"]) == {3}


def test_kinds_of_errors(tmp_path: Path) -> None:
    def failing(text: str, **values: object) -> dict[str, object]:
        return call("t", output_text=text, **{**FAILED, "error_kind": None, **values})

    calls = [
        failing("Unknown tool: t"),
        failing("x", error_kind="InvalidArguments"),
        call("t", "{no json", **FAILED),
        failing("Timed out after 30 s"),
        failing("exit 1"),
        call("t", **REFUSED),
        call("t"),
    ]
    frame = tool_errors(build_store(tmp_path, [talk("a", *calls)]))
    kinds = frame.groupby("kind")["num_errors"].sum().to_dict()
    assert kinds == {"unknown_tool": 1, "invalid_arguments": 2, "timeout": 1, "other": 1, "not_executed": 1}
    assert frame["share"].sum() == pytest.approx(1.0)
    assert set(frame["rate"].round(6)) == {round(1 / 7, 6)}


def test_tools_that_were_made_up(tmp_path: Path) -> None:
    rows = [
        talk("a", call("ok"), call("never", **FAILED), call("never", **FAILED)),
        rollout("q", sample_id="b", messages=[], tool_calls=[call("ok"), call("else")]),
    ]
    about = Row("runs", {"name": "q", "precedence": 1, "config": '{"tools": [{"name": "ok"}, "plain"]}'}, run="q")
    frame = unknown_tools(build_store(tmp_path, rows, [about]))
    found = [[None if pd.isna(each) else each for each in row] for row in frame.drop(columns="run_id").values.tolist()]
    assert sorted(found, key=str) == [["else", 1, 0, 1, False], ["never", 2, 2, 1, None]]


def test_what_follows_an_error(tmp_path: Path) -> None:
    one, two = '{"a":1}', '{"a":2}'
    rows = [
        talk("again", call("t", one, **FAILED), call("t", one, turn=1)),
        talk(
            "changed", call("t", one, **FAILED), call("u", turn=0), call("t", two, turn=1, **FAILED), call("v", turn=2)
        ),
        talk("answers", call("t", one, **FAILED)),
        talk("up", call("t", one, **FAILED), status="truncated"),
    ]
    store = build_store(tmp_path, rows)
    frame = after_errors(store).set_index("what_follows")
    counts = frame["num_errors"].to_dict()
    assert counts == {"same call": 1, "changed arguments": 1, "another tool": 1, "answers": 1, "gives up": 1}
    assert frame["num_recovered_next"].to_dict() == {
        "same call": 1,
        "changed arguments": 0,
        "another tool": 1,
        "answers": 0,
        "gives up": 0,
    }
    assert frame.loc["same call", "recovered_later_rate"] == 1.0
    assert frame["num_recovered_later"].sum() == 1
    assert set(frame["num_all_errors"]) == {5}
    assert rollouts_after_error(store, what_follows="gives up")["sample_id"].tolist() == ["up"]
    with pytest.raises(QuestionError, match="what_follows must be one of"):
        rollouts_after_error(store, what_follows="sulks")


def test_the_same_call_with_other_answers_in_other_attempts(tmp_path: Path) -> None:
    def attempt(sample: str, time: str, page: str) -> Rollout:
        calls = [call("current_time", output_text=time), call("read", output_text=page), call("read", output_text="z")]
        return talk(sample, *calls, environment="e")

    store = build_store(tmp_path, [attempt("a", "1", "x"), attempt("a", "2", "x"), attempt("b", "3", "y")])
    tools = unstable_tools(store).set_index("tool")
    assert tools["num_calls_shared"].to_dict() == {"current_time": 1, "read": 1}
    assert tools["share"].to_dict() == {"current_time": 1.0, "read": 0.0}
    assert tools["is_volatile"].to_dict() == {"current_time": True, "read": False}
    assert tools["is_reading"].to_dict() == {"current_time": False, "read": True}
    calls = unstable_calls(store)
    assert calls[["sample_id", "tool", "num_rollouts", "num_outputs", "num_total"]].values.tolist() == [
        ["a", "current_time", 2, 2, 1]
    ]
    assert calls.iloc[0]["rollout_id"] != calls.iloc[0]["other_rollout_id"]


def test_sizes_of_outputs_huge_ones_and_those_cut_off(tmp_path: Path) -> None:
    (tmp_path / "tools.toml").write_text(
        "[outputs]\nhuge_bytes = 100\nread_bytes = 10\ntruncated = '(?i)\\[truncated\\]'\n"
    )
    texts = ("x" * 100, "y" * 20 + "[Truncated]", "[truncated]"[:9], None)
    calls = [call("t", output_text=each) for each in texts]
    store = build_store(tmp_path, [talk("a", *calls)])
    row = tool_outputs(store).iloc[0]
    assert (row["num_calls"], row["num_outputs"], row["max_bytes"]) == (4, 3, 100)
    assert (row["num_huge"], row["num_rollouts_huge"], row["num_read"], row["num_truncated"]) == (1, 1, 2, 1)
    assert (row["huge_share"], row["truncated_share"]) == (pytest.approx(1 / 3), 0.5)
    found = rollouts_calling(store, at_least_bytes=100)
    assert found[["sample_id", "num_found"]].values.tolist() == [["a", 1]]


@pytest.mark.parametrize(
    ("tool", "arguments", "rule"),
    [
        ("shell", '{"cmd":"rm -rf /tmp/x"}', "deletes files"),
        ("shell", '{"cmd":"cd a && rm -v -fr b"}', "deletes files"),
        ("shell", '{"cmd":"git push origin main --force"}', "rewrites history"),
        ("sql", '{"query":"DROP TABLE users"}', "drops or empties tables"),
        ("sql", '{"query":"delete from users"}', "drops or empties tables"),
        ("delete_order", '{"id":3}', "deletes by tool"),
        ("shell", '{"cmd":"rm a.txt"}', None),
        ("sql", '{"query":"delete from users where id = 3"}', None),
        ("shell", '{"cmd":"git push origin main"}', None),
        ("undelete_order", '{"id":3}', None),
    ],
)
def test_calls_that_cannot_be_taken_back(tmp_path: Path, tool: str, arguments: str, rule: str | None) -> None:
    store = build_store(tmp_path, [talk("a", call(tool, arguments)), talk("b", call("cat"))])
    frame, rates = destructive_calls(store), destructive_rates(store)
    assert frame["rule"].tolist() == ([] if rule is None else [rule])
    if rule is not None:
        assert rates[["num_rollouts", "num_rollouts_hit", "share", "num_ok"]].values.tolist() == [[2, 1, 0.5, 1]]
        assert frame.iloc[0]["arguments"] == arguments
        assert destructive_calls(store, rule=rule)["num_total"].tolist() == [1]
    with pytest.raises(QuestionError, match="there is no destructive rule 'other'; there are deletes files"):
        destructive_calls(store, rule="other")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "[[destructive]]\nname = 'x'\ntools = ['*']\narguments = '(?=a)'",
            "line 4: arguments is no regular expression",
        ),
        ("[[destructive]]\ntools = ['*']", "line 1: every destructive rule needs a name"),
        ("[[destructive]]\nname = 'x'\ntools = 'shell'", "tools is a list of names"),
        ("[outputs]\nhuge_bytes = -1", "line 2: huge_bytes is a whole number of bytes, not -1"),
        ("[outputs]\nhuge = 1", "line 2: outputs have no 'huge'"),
        ("[errors]\ntimeout = 3", "line 2: timeout is a regular expression in quotes"),
        ("surprise = 1", "line 1: rules of tools have no 'surprise'"),
    ],
)
def test_a_fault_in_the_rules_names_its_line(tmp_path: Path, text: str, said: str) -> None:
    store = build_store(tmp_path, [talk("a", call("t"))])
    (tmp_path / "tools.toml").write_text(text)
    with pytest.raises(QuestionError) as raised:
        destructive_calls(store)
    assert said in str(raised.value)
    (tmp_path / "tools.toml").write_text("# nothing is destructive\n")
    assert destructive_calls(store).empty
    assert tool_errors(store).empty


def test_the_mix_shifts_by_what_moves_and_by_chance(tmp_path: Path) -> None:
    def arm(step: int, sample: int, *tools: str) -> Rollout:
        calls = [call(each, f'{{"n":{n}}}') for n, each in enumerate(tools)]
        return rollout(sample_id=str(sample), split="valid", step=step, messages=[], tool_calls=calls)

    rows = [arm(0, each, *"ab", *("a" if each % 2 else "b")) for each in range(10)]
    rows += [arm(1, each, *"ccc", *("a" if each % 2 else "b")) for each in range(10)]
    store = build_store(tmp_path, rows)
    shift = tool_mix_shift(store, baseline="r@0", candidate="r@1").iloc[0]
    assert shift["total_variation"] == pytest.approx(0.75)
    assert (shift["num_samples_both"], shift["num_calls_baseline"], shift["num_calls_candidate"]) == (10, 30, 40)
    assert shift["p_value"] < 0.01
    assert shift["chance_mean"] < shift["chance_p95"] < 0.75
    assert shift["ci_low"] <= 0.75 <= shift["ci_high"] or pd.notna(shift["ci_reason"])
    moves = tool_mix_moves(store, baseline="r@0", candidate="r@1").set_index("tool")
    assert moves["difference"].to_dict() == pytest.approx({"a": -0.375, "b": -0.375, "c": 0.75})
    assert moves.loc["a", "ci_low"] < -0.375 < moves.loc["a", "ci_high"] < 0
    same = tool_mix_shift(store, baseline="r@0", candidate="r@0").iloc[0]
    assert (same["total_variation"], same["p_value"]) == (0.0, 1.0)


def test_an_arm_without_calls_has_no_mix(tmp_path: Path) -> None:
    rows = [
        rollout(sample_id="a", split="valid", step=each, messages=[], tool_calls=[call("t")] * each) for each in (0, 1)
    ]
    store = build_store(tmp_path, rows)
    row = tool_mix_shift(store, baseline="r@0", candidate="r@1").iloc[0]
    assert pd.isna(row["total_variation"])
    assert row["ci_reason"] == "an arm has no calls"


def test_lists_of_rollouts(store: Reading) -> None:
    assert rollouts_calling(store, which="parallel")[["sample_id", "num_found"]].values.tolist() == [["a", 2]]
    assert rollouts_calling(store, tool="t", which="failed")["sample_id"].tolist() == ["a"]
    assert rollouts_calling(store, tool="u")["sample_id"].tolist() == ["b"]
    assert rollouts_calling(store, which="not executed").empty
    with pytest.raises(QuestionError, match="which must be one of"):
        rollouts_calling(store, which="odd")


BY_GROUP = (
    "tool_profile",
    "tool_mix",
    "first_calls",
    "tool_errors",
    "after_errors",
    "tool_outputs",
    "destructive_rates",
)


@pytest.mark.parametrize("name", BY_GROUP)
def test_groups_nothing_and_what_is_no_group(store: Reading, name: str) -> None:
    asked = QUESTIONS[name]
    whole = asked(store)
    for by in ("split", "step"):
        assert len(asked(store, by=by)) == len(whole)
    nothing = asked(store, Filters(run_ids=("other",)), by="step", apart="environment")
    assert nothing.empty
    assert list(nothing.columns) == list(whole.columns)
    with pytest.raises(QuestionError, match="by must be one of"):
        asked(store, by="week")
    with pytest.raises(QuestionError, match="apart must be one of"):
        asked(store, apart="week")
