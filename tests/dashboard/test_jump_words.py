"""Sudden jumps and changed graders in words, and on the pages that show them."""

from pathlib import Path

import pytest

from dashboard import jump_words, money_words
from queries.gains import cost_of_gain, when_to_stop
from queries.jumps import reward_jump_looks, reward_jumps
from tests.dashboard.test_integrity_pages import page, shown
from tests.dashboard.test_markup import EVIL
from tests.queries.test_jumps import STEP, stored
from tests.stores import build_store, rollout


def test_a_jump_in_words(tmp_path: Path) -> None:
    store = build_store(tmp_path, stored(STEP, {"grader_version": "1"}, {"grader_version": "2"}, 4))
    (said,) = jump_words.jumps(reward_jumps(store))
    assert said.startswith("The validation reward falls by 0.")
    assert " between steps 3 and 4 on 20 samples, more than noise and trend explain" in said
    assert said.endswith("where the grader goes from version 1 to 2: it is the grader's, not the policy's.")
    assert jump_words.looked(reward_jump_looks(store)) == (
        "Validation reward: 1 jump at 5 places between two steps, 20 samples."
    )


def test_a_jump_without_a_known_change_says_so(tmp_path: Path) -> None:
    (said,) = jump_words.jumps(reward_jumps(build_store(tmp_path, stored(STEP, {}, {}, 4))))
    assert "; nothing that was recorded changes there: what it is, the rollouts on both sides must tell." in said


def test_a_grader_that_jumps_alone_is_said_beside_the_reward(tmp_path: Path) -> None:
    rows = stored([0.5] * 8, {}, {}, 4)
    for each in rows:
        value = each.values["reward"] + 0.3 * (each.values["step"] >= 4)
        each.scores.append({"grader": "judge", "value": value, "kind": "metric"})
    (said,) = jump_words.jumps(reward_jumps(build_store(tmp_path, rows)))
    assert said.startswith("The score of judge rises by 0.")
    assert said.endswith("The reward does not jump there.")


def test_too_little_to_look_at_is_said(tmp_path: Path) -> None:
    looks = reward_jump_looks(build_store(tmp_path, [rollout(sample_id="a", reward=1.0, step=0, split="valid")]))
    assert jump_words.looked(looks) == "Validation reward: fewer than 4 steps, so no jump could be shown."
    assert jump_words.looked(looks.iloc[:0]).startswith("No step has a reward")


def test_the_page_warns_and_opens_both_sides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = build_store(tmp_path, stored(STEP, {"grader_version": "1"}, {"grader_version": EVIL}, 4))
    found = page(monkeypatch, store.root, "reward_integrity")
    assert "between steps 3 and 4 on 20 samples" in shown(found)
    assert "Table of sudden jumps" in {each.label for each in found.expander}


def test_gains_across_a_changed_grader_are_told(tmp_path: Path) -> None:
    rows = stored(STEP, {"grader_version": "1"}, {"grader_version": "2"}, 4)
    rows += [rollout(sample_id="t", split="train", step=each, reward=0.5) for each in range(8)]
    store = build_store(tmp_path, rows)
    stops = when_to_stop(store)
    assert stops[["num_regraded", "regraded_step", "version_before", "version_after"]].values.tolist() == [
        [1, 4, "1", "2"]
    ]
    assert cost_of_gain(store)["is_regraded"].tolist() == [False] * 4 + [True] * 4
    assert cost_of_gain(store)["grader_version"].tolist() == ["1"] * 4 + ["2"] * 4
    said = money_words.regraded(stops, {"r": "Run"})
    assert said.startswith("Run: before the validation of step 4 the grader goes from version 1 to 2: ")


def test_one_grader_or_none_known_is_no_warning(tmp_path: Path) -> None:
    one = when_to_stop(build_store(tmp_path / "one", stored(STEP, {"grader_version": "1"}, {"grader_version": "1"}, 4)))
    none = when_to_stop(build_store(tmp_path / "none", stored(STEP, {}, {}, 4)))
    assert one["num_regraded"].tolist() == [0]
    assert none["num_regraded"].isna().all()
    assert [money_words.regraded(each, {}) for each in (one, none)] == ["", ""]
