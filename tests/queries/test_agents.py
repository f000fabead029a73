"""Filtering on agents: those that share a rollout, one that has it to itself, one that only talks."""

import re
from pathlib import Path

import pytest

from queries.behaviour import behaviour_by_step
from queries.connection import Reading
from queries.distributions import tool_usage
from queries.filters import Filters
from queries.rollouts import rollouts
from queries.scope import filter_choices, filter_counts
from tests.stores import build_store, call, rollout

SQL = Path(__file__).parents[2] / "queries" / "sql"
SHARED = re.compile(r"\b(?:filtered_rollouts|filtered_calls|measured_rollouts)\(([^()]*)\)")


@pytest.fixture
def store(tmp_path: Path) -> Reading:
    """Lead and worker in one rollout, a rollout of the worker's own, one where the critic only talks, one of nobody."""
    together = [call("plan", agent="lead"), call("edit", agent="worker", turn=1), call("edit", "[1]", agent="worker")]
    rows = [
        rollout(native_id="together", sample_id="a", messages=[{"role": "assistant"}], tool_calls=together),
        rollout(native_id="own", sample_id="b", agent="worker", messages=[], tool_calls=[call("cat")]),
        rollout(native_id="talk", sample_id="c", messages=[{"role": "assistant", "agent": "critic"}]),
        rollout(native_id="none", sample_id="d", messages=[], tool_calls=[call("cat")]),
    ]
    return build_store(tmp_path, rows)


@pytest.mark.parametrize(
    ("agents", "expected"),
    [(("lead",), {"a"}), (("worker",), {"a", "b"}), (("critic", "lead"), {"a", "c"}), (("nobody",), set())],
)
def test_rollouts_in_which_an_agent_took_part(store: Reading, agents: tuple[str, ...], expected: set[str]) -> None:
    chosen = Filters(agents=agents)
    assert set(rollouts(store, chosen)["sample_id"]) == expected
    assert filter_counts(store, chosen).iloc[0].tolist() == [len(expected), 4]
    assert behaviour_by_step(store, chosen)["num_rollouts"].sum() == len(expected)


def test_of_calls_only_the_agents_own_count(store: Reading) -> None:
    frame = tool_usage(store, Filters(agents=("worker",)))
    assert frame[["tool", "num_calls"]].values.tolist() == [["edit", 2], ["cat", 1]]
    assert tool_usage(store)["num_calls"].sum() == 5


def test_agents_are_a_choice_and_stand_in_the_sentence(store: Reading) -> None:
    choices = filter_choices(store)
    agents = choices[choices["field"] == "agents"]
    assert agents[["choice", "num"]].values.tolist() == [["worker", 3], ["critic", 1], ["lead", 1]]
    assert Filters(agents=("lead", "critic")).sentence() == "agent lead or critic"


def test_every_question_that_takes_the_filters_takes_the_one_on_agents() -> None:
    found = {path.name: SHARED.findall(path.read_text()) for path in SQL.glob("*.sql")}
    given = [(name, each) for name, uses in found.items() for each in uses if "$environments" in each]
    assert given
    assert [name for name, each in given if "$agents" not in each] == []
