"""The tool behaviour page: its sentences, and every view of it as a whole page."""

from pathlib import Path

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from dashboard import opposite_words, tool_charts, tool_words
from dashboard.tool_panels import VIEWS
from ingest.sources.base import Rollout
from queries.opposite import opposite_movements
from queries.sequence_rules import sequence_rule
from queries.tool_behaviour import tool_profile, unknown_tools
from queries.tool_calls import tool_outputs, unstable_tools
from queries.tool_shift import tool_mix_moves, tool_mix_shift
from tests.conftest import ROOT
from tests.dashboard.test_markup import EVIL
from tests.stores import build_store, call, rollout

FAILED = {"status": "error", "is_error_flagged": True, "error_kind": "timeout"}


def of(sample: int, step: int = 0, tool: str = "test", environment: str = "e", gain: float = 0.0) -> Rollout:
    """Two parallel calls of which one fails, and one alone; samples differ a little in reward and calls."""
    calls = [call("edit", agent="lead"), call(tool, output_text="x", agent="w", **FAILED)]
    calls += [
        call(tool, f'{{"cmd":"rm -rf {n}"}}', turn=n + 1, output_text="y", agent="w") for n in range(1 + sample % 2)
    ]
    said = [{"role": "assistant", "turn": turn} for turn in range(4)]
    facts = {"split": "valid", "step": step, "environment": environment, "status": "completed"}
    reward = 0.5 + step * (gain + sample % 5 / 100)
    return rollout(sample_id=str(sample), messages=said, tool_calls=calls, reward=reward, **facts)


def page(root: Path, monkeypatch: pytest.MonkeyPatch, name: str = "tool_behaviour", **link: str) -> str:
    monkeypatch.setenv("OBSERVATORY_STORE", str(root))
    app = AppTest.from_file(str(ROOT / "dashboard" / "app.py"), default_timeout=120)
    app.switch_page(f"app_pages/{name}.py")
    for key, value in link.items():
        app.query_params[key] = value
    app.run()
    assert not app.exception
    assert not any("unexpected" in each.value for each in app.subheader)
    said = " ".join(str(each.value) for each in [*app.markdown, *app.caption, *app.error])
    return said.replace("\\", "").replace("\u2060", "").replace("\u00a0", " ")


@pytest.mark.parametrize("view", [*VIEWS])
def test_every_view_is_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, view: str) -> None:
    build_store(tmp_path, [of(sample, step) for sample in range(6) for step in (0, 1)])
    link = {"view": view, "rule": "test before answer", "tools_by": "step", "apart": "agent"}
    assert "parallel" in page(tmp_path, monkeypatch, **link)


def test_a_rule_that_is_none_says_where(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build_store(tmp_path, [of(1)])
    assert "here comes before, then or after" in page(tmp_path, monkeypatch, rule="test beside answer")
    assert "No tool in this store is called tset (near it: test)." in page(tmp_path, monkeypatch, rule="tset then edit")


def test_hostile_names_are_shown_as_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build_store(tmp_path, [of(1, tool=EVIL, environment=EVIL)])
    for view in ("mix", "errors"):
        assert "parallel" in page(tmp_path, monkeypatch, view=view, apart="environment")


def test_without_calls_the_page_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build_store(tmp_path, [rollout(sample_id="a", reward=1.0)])
    assert "so there is nothing to draw" in page(tmp_path, monkeypatch)


def test_movements_that_cancel_are_said_where_rewards_are_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [
        of(n, s, environment=e, gain=g) for n in range(8) for s in (0, 1) for e, g in (("up", 0.3), ("down", -0.35))
    ]
    store = build_store(tmp_path, rows)
    (said,) = opposite_words.opposite(opposite_movements(store), {"r": "zava"})
    assert said.startswith(
        "zava: the reward of environments moves in opposite directions from step 0 to 1: down −0.334 [−0.346, −0.322], "
        "up +0.316 [0.304, 0.328]; in the total 97 % of this cancels"
    )
    for name in ("reward_curves", "tool_behaviour"):
        assert "moves in opposite directions" in page(tmp_path, monkeypatch, name)
    assert "moves in opposite directions" in page(tmp_path, monkeypatch, "compare", baseline="r@0", candidate="r@1")


def test_the_verdict_compares_parallel_calls_with_single_ones(tmp_path: Path) -> None:
    frame = tool_profile(build_store(tmp_path, [of(sample) for sample in range(6)]))
    assert tool_words.verdict(frame, ["zava"]) == (
        "zava: 57 % of 21 calls in 6 rollouts are parallel; 50 % of these fail, 0 % of the others (too few samples for "
        "an interval)."
    )
    refused = frame.assign(num_wrappers=3, num_wrappers_refused=1, num_not_executed=4, num_unknown=2)
    assert tool_words.cautions(refused, of_own_agents=True) == [
        "1 of 3 parallel wrappers was refused as a whole: 4 calls reached no tool and count as failed.",
        "Of 2 rollouts the source kept no messages: nothing is known of their calls.",
        "Turns, rounds and times of agents that share a rollout cannot be told apart and are left out.",
    ]
    none = frame.assign(num_calls=0)
    assert tool_words.verdict(none, ["zava"]) == "No rollout shown here makes a tool call whose turn is known."
    single = frame.assign(num_parallel_calls=0)
    assert tool_words.verdict(single, ["zava"]) == "zava: none of 21 calls in 6 rollouts is parallel; 0 % fail."


def test_a_rule_in_words(tmp_path: Path) -> None:
    rows = [of(sample, tool=tool) for sample in range(3) for tool in ("test", "other")]
    frame = sequence_rule(build_store(tmp_path, rows), rule="test before answer")
    assert tool_words.rule(frame, ["zava"], "test before answer") == (
        "Rule “test before answer”. zava: 50 % [13 %, 87 %] of 6 rollouts keep it; 3 samples with both and rewards: "
        "too few, or too alike, for an interval."
    )
    told = frame.assign(difference_mean=0.2, difference_ci_low=0.1, difference_ci_high=0.3)
    assert "reward differs by +0.200 [0.100, 0.300] where it is kept, within 3 samples." in tool_words.rule(
        told, ["z"], "x"
    )
    nothing = frame.assign(num_kept=0, num_broken=0)
    assert tool_words.rule(nothing, ["z"], "x") == "Rule “x”. z: it says nothing of any of 6 rollouts."


def test_other_sentences(tmp_path: Path) -> None:
    store = build_store(tmp_path, [of(sample, step, tool=f"t{step}") for sample in range(8) for step in (0, 1)])
    ends = {"baseline": "r@0", "candidate": "r@1"}
    said = tool_words.shift(tool_mix_shift(store, **ends), tool_mix_moves(store, **ends), "r@0", "r@1")
    assert said.startswith("The mix shifted from r@0 to r@1: 71 %")
    assert tool_words.unknown(unknown_tools(store)) == ""
    assert tool_words.outputs(tool_outputs(store)).startswith("0 of 40 outputs are huge (40\u202f000 bytes or more)")
    assert tool_words.unstable(unstable_tools(store)).startswith("No call is made by two attempts")
    made_up = pd.DataFrame({"tool": ["x"], "num_calls": [3], "is_offered": [None]})
    assert tool_words.unknown(made_up) == "3 calls go to tools that were never offered, or never once answered: x."


def test_figures_show_intervals_and_hand_back_their_group(tmp_path: Path) -> None:
    frame = tool_profile(build_store(tmp_path, [of(sample) for sample in range(6)]), apart="environment")
    figure = tool_charts.failure_figure(frame, ["a < b"])
    assert [trace.name for trace in figure.data] == ["parallel calls", "single calls"]
    assert figure.data[0].customdata[0]["environment"] == "e"
    assert "a &lt; b" in figure.layout.yaxis.ticktext[0]
    assert figure.data[0].error_x.array[0] > 0
    assert [trace.y[0] for trace in figure.data] == [-0.14, 0.14]
    alone = tool_charts.failure_figure(frame.assign(parallel_error_rate=None), ["e"])
    assert list(alone.data[1].y) == [0]
