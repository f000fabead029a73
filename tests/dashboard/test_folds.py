"""Folded parts that cost time are asked for only once they are open, which the address says."""

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from dashboard import data, measured
from queries.filters import Filters
from tests.conftest import ROOT
from tests.stores import call, rollout, write_store


class Asked(list[str]):
    """Names of questions, and the filters they were asked with."""

    def __init__(self) -> None:
        super().__init__()
        self.filters: list[tuple[str, Filters]] = []


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Asked:
    """Names of the questions that pages ask of a small store."""
    monkeypatch.setenv("OBSERVATORY_STORE", str(tmp_path))
    scores = [{"grader": "style", "value": 0.5, "kind": "subscore"}]
    calls = [call("search"), call("open"), call("search"), call("open")]
    common = {"split": "valid", "scores": scores, "tool_calls": calls}
    write_store(
        tmp_path,
        [
            rollout(f"run-{run:02d}", native_id=f"{run}-{step}", sample_id="a", step=step, reward=0.1 * step, **common)
            for run in range(14)
            for step in (0, 5)
        ],
    )
    names = Asked()
    ask = data.ask

    def noted(question: str, *args: object, **parameters: object) -> object:
        names.append(question)
        names.filters += [(question, each) for each in args if isinstance(each, Filters)]
        return ask(question, *args, **parameters)

    monkeypatch.setattr(data, "ask", noted)
    return names


def page(name: str, **query: str) -> AppTest:
    app = AppTest.from_file(str(ROOT / "dashboard" / "app.py"), default_timeout=60)
    for key, value in query.items():
        app.query_params[key] = value
    app.switch_page(f"app_pages/{name}.py").run()
    assert not app.exception
    return app


@pytest.mark.parametrize(
    ("name", "key", "question"),
    [
        ("reward_curves", "scores_open", "scores_by_step"),
        ("repeated_calls", "loops_open", "loops"),
        ("repeated_calls", "transitions_open", "tool_transitions"),
        ("tail_contracts", "table_contract_costs", "contract_costs"),
        ("health", "table_health_turns", "health_turns"),
    ],
)
def test_a_folded_part_is_asked_for_once_it_is_open(asked: Asked, name: str, key: str, question: str) -> None:
    page(name, limits="tool_calls<=3")
    assert question not in asked
    page(name, limits="tool_calls<=3", **{key: "true"})
    assert question in asked


def test_curves_are_asked_of_the_runs_that_are_drawn(asked: Asked) -> None:
    said = [each.value for each in page("reward_curves").markdown]
    assert any("12 of 14 runs are drawn" in each for each in said)
    drawn = tuple(f"run-{run:02d}" for run in range(12))
    assert {each.run_ids for name, each in asked.filters if name == "step_deltas"} == {drawn}


def test_every_run_is_judged_once_that_part_is_open(asked: Asked) -> None:
    page("health")
    assert {each.run_ids for name, each in asked.filters if name == "health_patterns"} == {("run-00",)}
    page("health", every_run="true")
    assert ("health_patterns", Filters()) in asked.filters


@pytest.mark.parametrize("name", ["tool_behaviour", "time_and_money", "failures", "attrition", "repeated_calls"])
def test_of_many_rollouts_a_page_opens_on_the_newest_run(
    asked: Asked, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = ("tool_profile", "time_shares", "failure_causes", "attrition_losses", "repeats_by_tool")

    def runs() -> set[tuple[str, ...] | None]:
        found = {each.run_ids for question, each in asked.filters if question in own}
        asked.filters.clear()
        return found

    page(name)
    assert None in runs()  # few rollouts: all runs
    monkeypatch.setattr(measured, "MANY", 27)
    app = page(name)
    assert runs() == {("run-13",)}
    assert app.selectbox(key="one_run").value == "run-13"
    assert any("The newest run, as there are many rollouts" in each.value for each in app.caption)
    page(name, one_run="run-03")
    assert runs() == {("run-03",)}
    page(name, one_run="*")
    assert None in runs()
    page(name, run="run-05")  # one run of two rollouts
    assert runs() == {("run-05",)}
