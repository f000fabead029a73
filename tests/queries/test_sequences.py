"""Rules on the order of calls: how they are read, what they mean, their rate and their relation to reward, by hand."""

from pathlib import Path

import pandas as pd
import pytest

from ingest.errors import QuestionError
from ingest.sources.base import Rollout
from queries.connection import Reading
from queries.filters import Filters
from queries.sequence_rules import VERDICTS, rollouts_by_rule, sequence_rule, unknown_names
from queries.sequences import rule_of
from tests.stores import build_store, call, rollout


def told(name: str, *tools: str, status: str = "completed", **values: object) -> Rollout:
    """A rollout of these calls; one written with ! failed, what stands after = are its arguments."""
    calls = []
    for turn, each in enumerate(tools):
        tool, _, arguments = each.rstrip("!").partition("=")
        is_failed = each.endswith("!")
        answer = {"status": "error", "error_kind": "error", "is_error_flagged": True} if is_failed else {}
        calls.append(call(tool, f'{{"at":"{arguments}"}}', turn=turn, **answer))
    return rollout(native_id=name, sample_id=name, status=status, messages=[], tool_calls=calls, **values)


@pytest.fixture
def store(tmp_path: Path) -> Reading:
    """Rollouts of calls e(dit), t(est), s(earch), d(elete)."""
    rows = [
        told("tested", "edit", "test"),
        told("untested", "edit", "edit"),
        told("retested", "edit", "test", "edit"),
        told("late", "edit", "search", "search", "test"),
        told("cut", "edit", "test", status="truncated"),
        told("failing", "test!", "delete_a=/src"),
        told("none"),
        rollout(native_id="unseen", sample_id="unseen"),
    ]
    return build_store(tmp_path, rows)


def verdicts(store: Reading, rule: str) -> dict[str, set[str]]:
    found = {each: set(rollouts_by_rule(store, rule=rule, verdict=each)["sample_id"]) for each in VERDICTS}
    assert found.pop("unknown") == {"unseen"}
    return found


EVERY = {"tested", "untested", "retested", "late", "cut", "failing", "none"}


@pytest.mark.parametrize(
    ("rule", "broken", "kept"),
    [
        ("test", {"untested", "none"}, EVERY - {"untested", "none"}),
        ("not delete_*", {"failing"}, EVERY - {"failing"}),
        ("test before answer", {"untested", "none"}, {"tested", "retested", "late", "failing"}),
        ("test(status=ok) before answer", {"untested", "none", "failing"}, {"tested", "retested", "late"}),
        ("test directly before answer", {"untested", "none", "retested", "failing"}, {"tested", "late"}),
        ("edit then test", {"untested", "retested"}, {"tested", "late", "cut"}),
        ("edit then test within 2", {"untested", "retested", "late"}, {"tested", "cut"}),
        ("edit then test within 3", {"untested", "retested"}, {"tested", "late", "cut"}),
        ("edit directly then test", {"untested", "retested", "late"}, {"tested", "cut"}),
        ("edit then edit", {"tested", "untested", "retested", "late", "cut"}, set()),
        ("search within_2", None, None),
        ("edit before test", {"failing"}, {"tested", "retested", "late", "cut"}),
        ("edit before test within 1", {"failing", "late"}, {"tested", "retested", "cut"}),
        ("test after edit", {"failing"}, {"tested", "retested", "late", "cut"}),
        ("not delete_* after error", {"failing"}, set()),
        ("not edit before test", {"tested", "retested", "late", "cut"}, {"untested"}),
        ("not edit then test within 2", {"tested", "retested", "cut"}, {"untested", "late"}),
        ('not delete_*(has="/SRC")', {"failing"}, EVERY - {"failing"}),
        ('not delete_*(has="/tmp")', set(), EVERY),
        ("error", EVERY - {"failing"}, {"failing"}),
        ("* before answer", {"none"}, {"tested", "untested", "retested", "late", "failing"}),
    ],
)
def test_what_a_rule_says(store: Reading, rule: str, broken: set[str] | None, kept: set[str] | None) -> None:
    if broken is None or kept is None:
        with pytest.raises(QuestionError, match="before, then or after"):
            rule_of(rule)
        return
    found = verdicts(store, rule)
    assert (found["broken"], found["kept"]) == (broken, kept)
    assert found["not applicable"] == EVERY - broken - kept
    row = sequence_rule(store, rule=rule).iloc[0]
    assert (row["num_broken"], row["num_kept"], row["num_unknown"]) == (len(broken), len(kept), 1)
    assert row["num_rollouts"] == 8


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("", "character 1: here comes a tool, error or answer, not the end"),
        ("not", "character 4: here comes a tool"),
        ("before answer", "character 1: here comes a tool, error or answer, not 'before'"),
        ("test before", "character 12: here comes a tool, error or answer, not the end"),
        ("test beside answer", "character 6: here comes before, then or after"),
        ("test then edit within soon", "character 23: here comes a whole number from 1 to 100, not 'soon'"),
        ("test then edit within 101", "a whole number from 1 to 100"),
        ("test then edit within ٣", "a whole number from 1 to 100"),
        ("test directly then edit within 3", "directly already says"),
        ("test then edit then search", "character 16: here comes within N, or the end of the rule, not 'then'"),
        ("answer before test", "nothing comes after the answer"),
        ("test(status=maybe)", "ok or error, not 'maybe'"),
        ("test(colour=red)", "status=, agent= or has=, not 'colour'"),
        ("test(status=ok", "a comma or )"),
        ("test(status=ok,status=ok)", "status once only"),
        ("error(status=ok)", "an error is never status=ok"),
        ("answer(status=ok) ", "an answer takes no conditions"),
        ('"run tests before answer', "character 1: a quotation mark is not closed"),
        ('"" before answer', "the name of a tool"),
        ("x" * 301, "at most 300 characters"),
    ],
)
def test_what_is_no_rule_says_where_and_why(rule: str, said: str) -> None:
    with pytest.raises(QuestionError) as raised:
        rule_of(rule)
    assert said in str(raised.value)


def test_names_with_blanks_reserved_words_and_signs_can_be_quoted(tmp_path: Path) -> None:
    store = build_store(tmp_path, [told("a", "run (all) tests", "then"), told("b", "then")])
    found = sequence_rule(store, rule='"run (all) tests" before "then"').iloc[0]
    assert (found["num_kept"], found["num_broken"]) == (1, 1)
    assert sequence_rule(store, rule='"a.c"').iloc[0]["num_kept"] == 0


def test_the_rate_counts_samples_and_the_reward_is_compared_within_them(tmp_path: Path) -> None:
    # Sample a: kept .8 and .6, broken .5; sample b: kept 1, broken .4; sample c: broken 0 only; d does not apply.
    def attempt(sample: str, reward: float | None, *tools: str, status: str = "completed", step: int = 1) -> Rollout:
        calls = [call(each, turn=turn) for turn, each in enumerate(tools)]
        facts = {"split": "valid", "step": step, "status": status, "reward": reward}
        return rollout(sample_id=sample, messages=[], tool_calls=calls, **facts)

    rows = [
        attempt("a", 0.8, "test"),
        attempt("a", 0.6, "test"),
        attempt("a", 0.5, "edit"),
        attempt("b", 1.0, "test"),
        attempt("b", 0.4),
        attempt("c", 0.0, "edit"),
        attempt("d", 1.0, status="truncated"),
        attempt("c", 1.0, "test", step=2),
    ]
    store = build_store(tmp_path, rows)
    first, second = (row for _, row in sequence_rule(store, rule="test before answer", by="step").iterrows())
    assert (first["num_kept"], first["num_broken"], first["num_not_applicable"], first["num_samples"]) == (3, 3, 1, 3)
    assert first["rate"] == 0.5
    assert first["ci_low"] < 0.5 < first["ci_high"]
    assert first["kept_reward_mean"] == pytest.approx((0.7 + 1.0) / 2)
    assert first["broken_reward_mean"] == pytest.approx((0.5 + 0.4 + 0.0) / 3)
    assert first["pooled_difference"] == pytest.approx(0.85 - 0.3)
    # Within a .2, within b .6: mean .4, sd .2828, t(1) = 12.706.
    assert (first["difference_mean"], first["num_samples_both"]) == (pytest.approx(0.4), 2)
    assert first["difference_ci_high"] == pytest.approx(0.4 + 12.7062 * 0.282843 / 2**0.5, abs=1e-3)
    assert (second["rate"], second["num_samples_both"]) == (1.0, 0)
    assert pd.isna(second["difference_mean"])
    # Over both steps, c is not compared across them: the step may have made the difference.
    assert sequence_rule(store, rule="test before answer").iloc[0]["num_samples_both"] == 2


def test_rules_know_agents_and_are_told_apart_by_them(tmp_path: Path) -> None:
    calls = [call("edit", agent="worker"), call("test", agent="lead", turn=1)]
    store = build_store(tmp_path, [rollout(sample_id="a", environment="x", messages=[], tool_calls=calls)])
    assert sequence_rule(store, rule="edit(agent=worker) then test(agent=lead)").iloc[0]["num_kept"] == 1
    assert sequence_rule(store, rule="edit(agent=lead)", apart="environment").iloc[0]["num_broken"] == 1


def test_names_that_no_tool_has_are_told_with_their_neighbours(store: Reading) -> None:
    assert unknown_names(store, rule_of("tests before answer")) == {"tests": ["test"]}
    assert unknown_names(store, rule_of("not delete_* after error")) == {}
    # A tool that was never called is no fault: the rule is kept, or broken, without it.
    assert sequence_rule(store, rule="not purge").iloc[0]["num_kept"] == 7


def test_faults_are_told_and_an_empty_answer_keeps_its_columns(store: Reading) -> None:
    with pytest.raises(QuestionError, match="verdict must be one of broken, kept"):
        rollouts_by_rule(store, rule="test", verdict="bad")
    with pytest.raises(QuestionError, match="apart must be one of environment, agent"):
        sequence_rule(store, rule="test", apart="tool")
    nothing = sequence_rule(store, Filters(run_ids=("other",)), rule="test")
    assert nothing.empty
    assert list(nothing.columns) == list(sequence_rule(store, rule="test").columns)


def test_a_very_long_rollout_is_judged_in_linear_time(tmp_path: Path) -> None:
    store = build_store(tmp_path, [told("long", *["edit", "search"] * 3_000)])
    assert sequence_rule(store, rule="edit then test within 100").iloc[0]["num_broken"] == 1
    assert sequence_rule(store, rule="search before edit within 100").iloc[0]["num_broken"] == 1
