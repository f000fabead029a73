"""Which rollouts repeat calls, and in which one tool follows another, against rows computed by hand."""

from pathlib import Path

import pytest

from queries.calling import rollouts_repeating, rollouts_with_transition
from queries.connection import Reading
from queries.filters import Filters
from queries.repeats import repeat_patterns, tool_transitions
from tests.stores import build_store, call, rollout


@pytest.fixture
def store(tmp_path: Path) -> Reading:
    """`much` searches x three times and reads; `little` searches x twice; `none` reads twice something else."""
    x, y, z = (f'{{"q":"{each} {each}"}}' for each in ("alpha", "beta", "gamma"))
    much = [call("search", x), call("search", x), call("read", y), call("search", x)]
    little = [call("search", x), call("search", x)]
    none = [call("read", y), call("read", z)]
    told = {"much": much, "little": little, "none": none}
    return build_store(
        tmp_path,
        [
            rollout("r", native_id=name, sample_id=name, step=1, split="valid", messages=[], tool_calls=calls)
            for name, calls in told.items()
        ],
    )


def told(frame, count: str) -> list[tuple[str, int]]:
    return list(zip(frame["sample_id"], frame[count], strict=True))


def test_rollouts_of_a_pattern_are_those_the_pattern_counts(store: Reading) -> None:
    pattern = repeat_patterns(store).iloc[0]
    found = rollouts_repeating(store, pattern=pattern["pattern"])
    assert told(found, "num_repeats") == [("much", 2), ("little", 1)]
    assert found["num_total"].tolist() == [2, 2]
    assert (found["num_repeats"].sum(), len(found)) == (pattern["num_repeats"], pattern["num_rollouts"])


def test_rollouts_repeating_a_tool(store: Reading) -> None:
    assert told(rollouts_repeating(store, tool="search"), "num_repeats") == [("much", 2), ("little", 1)]
    assert rollouts_repeating(store, tool="read").empty
    assert told(rollouts_repeating(store), "num_repeats") == [("much", 2), ("little", 1)]
    assert rollouts_repeating(store, Filters(step_from=2)).empty


@pytest.mark.parametrize(
    ("pair", "expected"),
    [
        (("search", "search"), [("little", 1), ("much", 1)]),
        (("search", "read"), [("much", 1)]),
        ((None, "search"), [("little", 1), ("much", 1)]),
        (("read", None), [("none", 1)]),
        (("read", "read"), [("none", 1)]),
        ((None, None), []),
    ],
)
def test_rollouts_of_a_transition(
    store: Reading, pair: tuple[str | None, str | None], expected: list[tuple[str, int]]
) -> None:
    found = rollouts_with_transition(store, from_tool=pair[0], to_tool=pair[1])
    assert sorted(told(found, "num_transitions")) == expected


def test_transitions_of_rollouts_add_up_to_those_of_the_run(store: Reading) -> None:
    for row in tool_transitions(store).astype(object).to_dict("records"):
        names = {name: row[name] if isinstance(row[name], str) else None for name in ("from_tool", "to_tool")}
        assert rollouts_with_transition(store, **names)["num_transitions"].sum() == row["num_transitions"]
