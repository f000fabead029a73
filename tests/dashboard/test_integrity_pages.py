"""Reward integrity and reward parts in words, drawn, and as whole pages."""

from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from dashboard import integrity_charts, integrity_words
from ingest.sources.base import Row
from queries.integrity import integrity_findings, integrity_rules, integrity_verdicts
from queries.reward_parts import reward_gates, reward_waterfall
from queries.second_graders import second_grader
from queries.whatif import reward_whatif
from tests.conftest import ROOT
from tests.dashboard.test_markup import EVIL
from tests.queries.test_reward_parts import graded
from tests.queries.test_second_graders import steps
from tests.stores import build_store, call, rollout


def hacked(step: int | None, share: float, **values: Any) -> list[Any]:
    rows = []
    for each in range(40):
        arguments = '{"command": "rm tests/test_a.py"}' if each < share * 40 else '{"command": "ls"}'
        calls = [call("sh", arguments)]
        rows.append(
            rollout(sample_id=f"s{each}", step=step, split="valid", reward=1.0, messages=[], tool_calls=calls, **values)
        )
    return rows


def test_the_verdict_names_what_rises_from_where_to_where(tmp_path: Path) -> None:
    store = build_store(tmp_path, [*hacked(0, 0.0), *hacked(1, 0.0), *hacked(2, 0.5)])
    said = integrity_words.verdict(integrity_verdicts(store), "zava")
    assert said[0] == (
        "zava: “Tests or grading tampered with” rises from 0 % in its first steps to 50 % at step 2 (20 of 40 "
        "rollouts, validation)."
    )
    assert said[1] == "Nothing is named by 3 other rules that apply (up to 120 rollouts)."
    assert said[2] == "Named is not guilty: read the rollouts."


def test_without_a_rise_what_is_named_is_still_said(tmp_path: Path) -> None:
    store = build_store(tmp_path / "a", hacked(None, 0.1))
    assert integrity_words.verdict(integrity_verdicts(store), "r")[0] == (
        "r: no rule rises beyond noise. Named without a rise that could be shown: “Tests or grading tampered with” 4 "
        "of 40 rollouts (validation)."
    )
    clean = build_store(tmp_path / "b", hacked(None, 0.0))
    assert integrity_words.verdict(integrity_verdicts(clean), "r") == [
        "r: nothing is named by 4 rules that apply (up to 40 rollouts)."
    ]
    assert integrity_words.verdict(integrity_verdicts(clean).iloc[:0], "r") == [
        "r: no rule applies to anything that was recorded."
    ]
    rules = integrity_rules(clean)
    said = integrity_words.cautions(integrity_verdicts(clean), rules, num_left=90, most=50, origin="file")
    assert said[0] == "The rules looked at about 50 rollouts of 90, the same ones every time."
    assert any("neither a baseline run nor an earlier step" in each for each in said)
    assert said[-1].startswith("The rules are not the default")


def test_a_second_grader_in_words(tmp_path: Path) -> None:
    said = integrity_words.second(second_grader(build_store(tmp_path, steps((0.0, 0.0, 0.5, 0.8)))))
    assert said.startswith("From step 2 on the reward has risen more than expert (validation): at step 3 by ")
    assert said.endswith("standard deviations (n = 10 samples).")
    frame = second_grader(build_store(tmp_path / "b", steps((0.0, 0.0, 0.5, 0.8))))
    frame["grader_version"] = ["1", "1", "2", "2"]
    assert "the reward's grader changes from version 1 to 2, so it is the grader" in integrity_words.second(frame)


def test_parts_and_other_weights_in_words(tmp_path: Path) -> None:
    rows = [graded(f"s{each}", 0.0, 0.8, reward=0.0, step=0) for each in range(24)]
    rows += [graded(f"s{each}", 1.0, 0.6, step=0) for each in range(24, 40)]
    rows += [graded(f"s{each}", 0.2 + each / 100, 1.0, step=1) for each in range(40)]
    store = build_store(tmp_path, rows)
    said = integrity_words.parts_verdict(reward_waterfall(store), reward_gates(store), "r")
    assert said[0].startswith("r (validation): of 1.00 the reward keeps 0.")
    assert said[1].startswith("r/answer is a gate: in all 24 rollouts in which it is below 0.20")
    changed = reward_whatif(store, weights=("style=1",))
    assert integrity_words.whatif(changed).startswith("Validation: step 1 ")
    one = reward_whatif(store, weights=("style=1",)).iloc[:1]
    assert "there is one checkpoint" in integrity_words.whatif(one)


def test_figures_draw_every_rule_with_its_rollouts_behind_it(tmp_path: Path) -> None:
    store = build_store(tmp_path / "a", [*hacked(0, 0.25), *hacked(1, 0.5)])
    drawn = integrity_charts.rates(integrity_findings(store), ["tampering"])
    line = next(each for each in drawn.data if each.customdata is not None)
    assert list(line.y) == [0.25, 0.5]
    assert line.customdata[1]["rule"] == "tampering"
    bars = integrity_charts.rates(integrity_findings(build_store(tmp_path / "b", hacked(None, 0.5))), ["tampering"])
    assert list(bars.data[0].x) == [0.5]
    assert bars.data[0].customdata[0]["rule"] == "tampering"
    fall = integrity_charts.waterfall(reward_waterfall(build_store(tmp_path / "c", [graded("a", 0.5, 1.0)])))
    assert list(fall.data[0].text) == ["1.000", "0.000", "−0.375", "0.000", "0.000", "0.625"]


def page(monkeypatch: pytest.MonkeyPatch, root: Path, name: str, **query: str) -> AppTest:
    monkeypatch.setenv("OBSERVATORY_STORE", str(root))
    found = AppTest.from_file(str(ROOT / "dashboard" / "app.py"), default_timeout=120)
    found.query_params.update(query)
    found.run()
    found.switch_page(f"app_pages/{name}.py").run()
    assert not found.exception, found.exception
    return found


def shown(found: AppTest) -> str:
    return " ".join(each.value for each in [*found.markdown, *found.caption]).replace("\\", "")


def test_the_page_lists_five_to_read_with_their_evidence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    about = [Row("runs", {"name": EVIL}, "r")]
    evil = [
        rollout(
            sample_id=EVIL,
            reward=1.0,
            step=1,
            split="valid",
            messages=[],
            final_answer=EVIL,
            tool_calls=[call("sh", f'{{"command": "rm tests/test_a.py {EVIL}"}}')],
        )
    ]
    store = build_store(tmp_path, [*hacked(0, 0.0), *hacked(1, 0.5), *evil], about)
    text = shown(page(monkeypatch, store.root, "reward_integrity"))
    assert "Tests or grading tampered with” rises from 0 %" in text.replace("\u00a0", " ")
    assert "5 to read of 21 rollouts" in text.replace("\u00a0", " ")
    assert "tests deleted or moved away" in text


def test_pages_say_what_is_lacking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = build_store(tmp_path, [rollout(sample_id="a")])
    assert "no rule applies" in shown(page(monkeypatch, store.root, "reward_integrity"))
    assert "nothing to draw" in shown(page(monkeypatch, store.root, "reward_parts"))


def test_the_page_of_parts_weighs_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [graded(f"s{each}", each / 10, 1 - each / 10, step=step) for step in (0, 1) for each in range(8)]
    store = build_store(tmp_path, rows)
    found = page(monkeypatch, store.root, "reward_parts", weights="answer=1")
    assert "of 1.00 the reward keeps 0." in shown(found)
    found.text_input(key="weights").set_value("answer=1").run()
    assert not found.exception
    assert "stays the best of 2" in shown(found)
    found.text_input(key="weights").set_value("quality=1").run()
    assert "there is no grader 'quality'" in " ".join(
        [shown(found), *(each.value.replace("\\", "") for each in found.error)]
    )
