"""Graders against people, against one another and against themselves: given rows, answers by hand."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from ingest.annotate import Annotation, annotate
from ingest.errors import QuestionError
from ingest.sources.base import Rollout
from queries.connection import Reading, open_store
from queries.filters import Filters
from queries.graders import grader_agreement, grader_confusion, grader_disagreements, graders
from queries.regrades import grader_version_changes, grader_versions, regrades
from queries.reviews import reviewers, rule_precision, zero_but_right
from tests.stores import build_store, rollout, write_store


def score(grader: str, value: float | None, kind: str = "subscore", **values: Any) -> dict[str, Any]:
    return {"grader": grader, "value": value, "kind": kind, **values}


def judged(sample: str, reward: float, label: float | None, **values: Any) -> Rollout:
    """A rollout with a reward and, where one is given, a person's label."""
    scores = [score("answer", reward, "reward")] + ([] if label is None else [score("expert", label, "label")])
    return rollout(sample_id=sample, split="valid", reward=reward, scores=scores, **values)


def table(both: int, first: int, second: int, neither: int) -> list[Rollout]:
    cells = [(1.0, 1.0)] * both + [(1.0, 0.0)] * first + [(0.0, 1.0)] * second + [(0.0, 0.0)] * neither
    return [judged(f"s{at:03}", *each) for at, each in enumerate(cells)]


def test_kappa_and_agreement_by_hand(tmp_path: Path) -> None:
    rows = [*table(20, 5, 10, 15), judged("unlabelled", 1.0, None)]
    row = grader_agreement(build_store(tmp_path, rows)).iloc[0]
    assert row[["first_grader", "second_grader", "relation"]].tolist() == ["answer", "expert", "human"]
    counts = ["num_rollouts", "num_samples", "both_right", "only_first", "only_second", "neither"]
    assert row[counts].tolist() == [50, 50, 20, 5, 10, 15]
    # p_o = 35/50 and p_e = ½, so κ = .4; 55 "right" and 45 not, of 100 verdicts, 30 of them in mixed pairs.
    assert row["kappa"] == pytest.approx(0.4)
    assert row["alpha"] == pytest.approx(1 - 30 / (2 * 55 * 45 / 99))
    assert row[["agreement", "agreement_low", "agreement_high"]].tolist() == pytest.approx(
        [0.7, 0.5625, 0.809], abs=1e-3
    )
    assert row["bias"] == pytest.approx(0.1)
    assert row["kappa_low"] < 0.4 < row["kappa_high"]
    assert (row["reason"], row["verdict"]) == (None, "agree beyond chance")


def test_one_verdict_only_has_no_kappa_and_says_so(tmp_path: Path) -> None:
    row = grader_agreement(build_store(tmp_path, table(12, 0, 0, 0))).iloc[0]
    assert row[["kappa", "alpha", "kappa_low"]].isna().all()
    assert row["agreement"] == 1.0
    assert row["agreement_high"] == 1.0
    assert "one and the same verdict" in row["reason"]
    assert row["verdict"] == "cannot be said: one verdict only"
    few = grader_agreement(build_store(tmp_path / "few", table(1, 1, 0, 1))).iloc[0]
    assert few["verdict"] == "cannot be said: no interval"
    assert few["reason"] == "n too small for a bootstrap: 6 samples needed, 3 here"


def test_attempts_at_a_sample_are_drawn_together(tmp_path: Path) -> None:
    alone = grader_agreement(build_store(tmp_path / "a", table(20, 5, 10, 15))).iloc[0]
    thrice = [
        judged(each.values["sample_id"], each.scores[0]["value"], each.scores[1]["value"])
        for each in table(20, 5, 10, 15)
        for _ in range(3)
    ]
    row = grader_agreement(build_store(tmp_path / "b", thrice)).iloc[0]
    assert (row["num_rollouts"], row["num_samples"]) == (150, 50)
    assert row["kappa"] == pytest.approx(alone["kappa"])
    width = row["agreement_high"] - row["agreement_low"]
    assert width == pytest.approx(alone["agreement_high"] - alone["agreement_low"], rel=0.05)
    assert row["kappa_high"] - row["kappa_low"] == pytest.approx(alone["kappa_high"] - alone["kappa_low"], rel=0.15)


def test_pairs_that_are_offered_and_those_that_must_be_named(tmp_path: Path) -> None:
    said = [
        score("answer", 1.0, "reward"),
        score("answer/style", 0.5),
        score("answer@2", 0.5, "metric", grader_version="2"),
        score("format", 1.0),
        score("length", 40.0, "metric"),
        score("expert", 1.0, "label"),
        score("hack", 0.0, "label"),
        score("check", None, "assertion", passed=True),
    ]
    store = build_store(tmp_path, [rollout(sample_id="s", reward=1.0, scores=said)])
    known = graders(store).set_index("grader")
    assert known.loc["answer@2", ["origin", "is_again"]].tolist() == ["answer", True]
    assert known.loc["answer/style", "is_part"]
    assert known.loc["hack", "marks_wrong"]
    found = grader_agreement(store)
    assert found[["first_grader", "second_grader", "relation"]].values.tolist() == [
        ["answer", "expert", "human"],
        ["answer", "hack", "human"],
        ["expert", "hack", "humans"],
        ["answer", "answer@2", "again"],
        ["answer", "length", "graders"],
    ]
    # A label that marks what is wrong says "right" where it is 0.
    assert found["both_right"].tolist()[:3] == [1, 1, 1]
    assert found["is_opposite"].tolist() == [False, True, True, False, False]
    assert found["bias"].isna().tolist() == [False, True, True, False, False]
    named = grader_agreement(store, first="format", second="answer").iloc[0]
    assert named[["first_grader", "second_grader", "relation"]].tolist() == ["format", "answer", "chosen"]
    with pytest.raises(QuestionError, match="there is no grader 'x'; there is answer, expert"):
        grader_agreement(store, first="x")


def test_the_rollouts_own_reward_stands_in_where_no_score_is_the_reward(tmp_path: Path) -> None:
    given = [(0.2, True, 1.0), (0.9, None, 0.0), (float("nan"), None, 1.0)]
    rows = [
        rollout(sample_id=f"s{at}", reward=reward, passed=passed, scores=[score("expert", label, "label")])
        for at, (reward, passed, label) in enumerate(given)
    ]
    row = grader_agreement(build_store(tmp_path, rows)).iloc[0]
    assert row[["first_grader", "num_rollouts", "both_right", "only_first"]].tolist() == ["reward", 2, 1, 1]


def test_thresholds_and_patterns_are_rules(tmp_path: Path) -> None:
    store = build_store(tmp_path, [judged(f"s{at}", 0.6, 1.0) for at in range(8)])
    assert grader_agreement(store)["both_right"].tolist() == [8]
    (tmp_path / "graders.toml").write_text('[verdict.thresholds]\nanswer = 0.8\n[wrong]\nname = "expert"\n')
    assert grader_agreement(store)["neither"].tolist() == [8]
    (tmp_path / "graders.toml").write_text("[verdict]\nthreshhold = 1\n")
    with pytest.raises(QuestionError, match=r"graders.toml, line 2: 'threshhold' is not known here"):
        graders(store)
    (tmp_path / "graders.toml").write_text('[wrong]\nname = "("\n')
    with pytest.raises(QuestionError, match=r"line 2: name of .wrong. is no pattern"):
        graders(store)


def test_cells_of_scores_open_their_rollouts(tmp_path: Path) -> None:
    rows = [
        rollout(sample_id=f"s{at}", scores=[score("a", at / 10, "reward"), score("b", float(at > 4), "label")])
        for at in range(11)
    ]
    store = build_store(tmp_path, rows)
    cells = grader_confusion(store, first="a", second="b", bins=5)
    assert cells["num_rollouts"].sum() == 11
    assert cells["second_low"].isin([0, 1]).all()
    last = cells.iloc[-1]
    bounds = {name: float(last[name]) for name in ("first_low", "first_high", "second_low", "second_high")}
    found = grader_disagreements(store, first="a", second="b", which="all", **bounds)
    assert found["first_value"].tolist() == [0.8, 0.9, 1.0]
    exact = grader_disagreements(store, first="a", second="b", which="all", second_low=0.0, second_high=0.0)
    assert len(exact) == 5
    differ = grader_disagreements(store, first="a", second="b")
    assert differ.empty
    only = grader_disagreements(store, first="a", second="b", which="both_right", limit=2)
    assert (only["num_total"].tolist(), only["difference"].tolist()) == ([6, 6], [0.5, 0.4])
    with pytest.raises(QuestionError, match="which must be one of"):
        grader_disagreements(store, first="a", second="b", which="x")
    with pytest.raises(QuestionError, match="bins must be 2 to 100"):
        grader_confusion(store, first="a", second="b", bins=1)


def test_regrades_tell_noise_from_change(tmp_path: Path) -> None:
    generator = np.random.default_rng(5)
    rows = []
    for sample in range(60):
        for _ in range(4):
            truth = generator.normal(0.5, 0.3)
            first, again, other = truth + generator.normal(0, [0.1, 0.1, 0.1]) + [0, 0, -0.2]
            scores = [
                score("judge", first, "reward", grader_version="1"),
                score("judge#2", again, "metric", grader_version="1"),
            ]
            scores.append(score("judge@2", other, "metric", grader_version="2"))
            rows.append(rollout(sample_id=f"s{sample}", split="valid", reward=first, scores=scores))
    found = regrades(build_store(tmp_path, rows)).set_index("second_grader")
    assert found["is_other_version"].to_dict() == {"judge#2": False, "judge@2": True}
    assert found.loc["judge#2", "retest_sd"] == pytest.approx(0.1, abs=0.015)
    assert found.loc["judge@2", "retest_sd"] == pytest.approx(0.1, abs=0.015)
    # Variance between attempts: .3² + .1²; noise is a tenth of it.
    assert found.loc["judge#2", "noise_share_low"] < 0.1 < found.loc["judge#2", "noise_share_high"]
    assert found.loc["judge@2", "change_high"] < -0.15
    assert found.loc["judge#2", "change_low"] < 0 < found.loc["judge#2", "change_high"]
    assert found["share_changed"].tolist() == [1.0, 1.0]


def test_a_grader_that_repeats_itself_exactly_has_no_noise(tmp_path: Path) -> None:
    rows = [
        rollout(sample_id=f"s{at // 2}", scores=[score("g", at % 2, "reward"), score("g#2", at % 2, "metric")])
        for at in range(16)
    ]
    row = regrades(build_store(tmp_path, rows)).iloc[0]
    assert row[["share_changed", "num_flipped", "change_mean", "retest_sd", "noise_share"]].tolist() == [0, 0, 0, 0, 0]


def test_where_another_version_took_over(tmp_path: Path) -> None:
    rows = [
        rollout(
            sample_id=sample,
            split="valid",
            step=step,
            reward=value,
            scores=[score("g", value, "reward", grader_version=version)],
        )
        for step, version, values in ((0, "1", (0.9, 0.9, 0.9)), (5, "1", (0.8, 0.6, 0.7)), (10, "2", (0.5, 0.4)))
        for sample, value in zip("abc", values, strict=False)
    ]
    store = build_store(tmp_path, rows)
    row = grader_version_changes(store).iloc[0]
    assert row[["earlier_version", "grader_version", "before_step", "first_step", "num_samples"]].tolist() == [
        "1",
        "2",
        5,
        10,
        2,
    ]
    assert row[["before_mean", "after_mean", "change_mean"]].tolist() == pytest.approx([0.7, 0.45, -0.25])
    by_step = grader_versions(store)
    assert by_step["score_mean"].tolist() == pytest.approx([0.9, 0.7, 0.45])
    assert by_step["ci_low"].isna().tolist() == [True, False, False]
    plain = build_store(tmp_path / "own", [rollout(sample_id="a", step=1, reward=0.5, grader_version="7")])
    assert grader_versions(plain)[["grader", "grader_version", "score_mean"]].values.tolist() == [["reward", "7", 0.5]]


def test_right_answers_scored_zero_name_their_witnesses(tmp_path: Path) -> None:
    def zero(sample: str, *scores: dict[str, Any], reference: str | None = None, **values: Any) -> Rollout:
        about = {} if reference is None else {"sample": {"reference": reference}}
        return rollout(sample_id=sample, reward=0.0, scores=[score("g", 0.0, "reward"), *scores], **about, **values)

    rows = [
        zero("verdict", passed=True),
        zero("label", score("expert", 1.0, "label"), score("hack", 0.0, "label")),
        zero("grader", score("other", 0.4, passed=True), score("g@2", 0.3, "metric", grader_version="2")),
        zero("assertions", *(score(f"check {at}", None, "assertion", passed=True) for at in range(2))),
        zero(
            "some", score("check 1", None, "assertion", passed=True), score("check 2", None, "assertion", passed=False)
        ),
        zero("number", reference="1000", final_answer="So the answer is $1,000.00."),
        zero("text", reference='"Net Income"', final_answer=" net   income. "),
        zero("wrong", score("hack", 0.0, "label"), reference="12", final_answer="The answer is 13."),
        rollout(sample_id="paid", reward=1.0, passed=True),
    ]
    store = build_store(tmp_path, rows)
    found = zero_but_right(store)
    assert {row["sample_id"]: list(row["witnesses"]) for row in found.to_dict("records")} == {
        "verdict": ["verdict"],
        "label": ["label: expert"],
        "grader": ["grader: g@2", "grader: other"],
        "assertions": ["assertions"],
        "number": ["reference"],
        "text": ["reference"],
    }
    assert (set(found["num_zero"]), set(found["num_total"]), found["sample_id"].iloc[0]) == ({8}, {6}, "grader")
    assert zero_but_right(store, witness="label")["sample_id"].tolist() == ["label"]
    assert zero_but_right(store, witness="grader: other")["sample_id"].tolist() == ["grader"]


def reviewed(root: Path, said: list[tuple[str, str, str, str | None]]) -> Reading:
    """A store with six samples of two rollouts; `said` are rollout, author, label and rule, in order of time."""
    store = write_store(root, [rollout(sample_id=f"s{at // 2}", native_id=f"r{at}") for at in range(12)])
    ids = dict(open_store(root).connection.sql("SELECT native_id, rollout_id FROM rollouts").fetchall())
    for native, author, label, rule in said:
        annotate(store, Annotation("r", ids[native], label, author, rule=rule))
    return open_store(root)


def test_labels_of_readers_make_a_rules_precision(tmp_path: Path) -> None:
    said: list[tuple[str, str, str, str | None]] = [
        ("r0", "ann", "false_alarm", "echo"),
        ("r0", "ann", "real", "echo"),  # she thought again
        ("r2", "ann", "real", "echo"),
        ("r4", "bob", "false_alarm", "echo"),
        ("r6", "ann", "real", "echo"),
        ("r6", "bob", "false_alarm", "echo"),
        ("r8", "ann", "real", "other"),
        ("r9", "ann", "right", None),
    ]
    store = reviewed(tmp_path, said)
    found = rule_precision(store).set_index("rule")
    counts = ["num_judged", "num_real", "num_false_alarm", "num_conflicting", "num_reviewers", "num_rollouts"]
    assert found.loc["echo", counts].tolist() == [4, 2, 1, 1, 2, 3]
    # Wilson of 2 in 3.
    assert found.loc["echo", ["precision", "ci_low", "ci_high"]].tolist() == pytest.approx(
        [2 / 3, 0.2077, 0.9385], abs=1e-4
    )
    assert found.loc["other", "precision"] == 1.0
    assert rule_precision(store, Filters(run_ids=("x",))).empty


def test_readers_against_one_another_and_against_the_reward(tmp_path: Path) -> None:
    said: list[tuple[str, str, str, str | None]] = []
    for at in range(12):
        said += [(f"r{at}", "ann", "real" if at % 2 else "false_alarm", "echo")]
        said += [(f"r{at}", "bob", "real" if at % 2 or at == 0 else "false_alarm", "echo")]
    said += [("r0", "ann", "right", None), ("r0", "bob", "wrong", None)]
    found = reviewers(reviewed(tmp_path, said))
    row = found[found["rule"] == "echo"].iloc[0]
    assert row[["num_items", "num_samples"]].tolist() == [12, 6]
    assert row["reviewers"] == ["ann", "bob"]
    assert row["agreement"] == pytest.approx(11 / 12)
    # 13 "real" and 11 "false alarm" of 24: α = 1 − 2·23/(2·13·11).
    assert row["alpha"] == pytest.approx(1 - 2 * 23 / (2 * 13 * 11))
    assert found["rule"].isna().tolist() == [True, False]
    assert found["alpha"].tolist()[0] == pytest.approx(0.0)


def test_readers_are_graders_too(tmp_path: Path) -> None:
    store = reviewed(
        tmp_path, [("r0", "ann", "Right", None), ("r0", "ann", "wrong", None), ("r1", "ann", "unclear", None)]
    )
    assert graders(store)["grader"].tolist() == ["reward", "reader: ann"]
    named = grader_agreement(store, first="reader: ann")
    assert named.empty  # its rollout has no reward


@pytest.mark.parametrize("rows", [[], [rollout(sample_id="s")], [rollout(reward=1.0)]])
def test_stores_with_nothing_to_compare(tmp_path: Path, rows: list[Rollout]) -> None:
    store = build_store(tmp_path, [rollout("other", sample_id="s"), *rows])
    for asked in (grader_agreement, regrades, grader_versions, grader_version_changes, rule_precision, reviewers):
        found = asked(store)
        assert isinstance(found, pd.DataFrame)
        assert found.empty
    assert zero_but_right(store).empty
