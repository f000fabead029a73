"""Repeats found by column are those found call by call."""

import json
import random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.block_repeats import block_repeats
from ingest.block_words import Words
from ingest.repeats import NEEDED, repeats, words_of
from ingest.schema_rollouts import TOOL_CALLS

FOUND = (
    "arguments",
    "is_parsed",
    "arguments_hash",
    "near_key",
    "output_bytes",
    "output_hash",
    "repeat_of",
    "near_repeat_of",
    "repeat_output",
    "is_wasted",
)

WORDS = ("Acme revenue 2023", "acme total revenue 2023", "null", "a-b", "-", "é", "İ", "src/app.py:12", "a--b", "1.5")
ODD = ('say "n"\\', "\\\\n", "\n", "\x00", "x" * 10_001, "", " ")
leaves = st.sampled_from(WORDS + ODD) | st.one_of(
    st.none(), st.booleans(), st.sampled_from([5, -3, 1.5, 1e22, -2.5e-7, 10**30, float("nan")])
)
values = st.recursive(leaves, lambda each: st.lists(each, max_size=2) | st.dictionaries(leaves.map(str), each))
raws = st.none() | st.sampled_from(["", " ", "\u00a0", "ls -la", "ls -la src", "{", "NaN"]) | values.map(json.dumps)
calls = st.fixed_dictionaries(
    {
        "tool": st.sampled_from(["search", "run", "press"]),
        "requestor": st.sampled_from(["agent", "user"]),
        "arguments_raw": raws,
        "output_text": st.sampled_from([None, "", "ok", "no é"]),
        "is_executed": st.booleans(),
        "status": st.sampled_from(["ok", "error", "orphan", "no_result"]),
    }
)


def check(rollouts: list[int], rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """What both ways find, which has to be the same."""
    types = {column.name: column.arrow for column in TOOL_CALLS.columns}
    rows = [row | {"call_index": at} for at, row in enumerate(rows)]
    wanted = repeats(rollouts, {name: [row.get(name) for row in rows] for name in NEEDED})
    given_names = [name for name in NEEDED if name not in ("arguments", "is_parsed")]
    columns = {name: pa.array([row[name] for row in rows], types[name]) for name in given_names}
    found = block_repeats(pa.array(rollouts, pa.int64()).to_numpy(), columns)
    assert found.keys() == set(FOUND) == wanted.keys()
    listed = {name: array.to_pylist() for name, array in found.items()}
    assert listed == wanted
    return listed


@given(st.lists(calls, max_size=20), st.data())
def test_both_ways_agree(rows: list[dict[str, Any]], data: st.DataObject) -> None:
    check(sorted(data.draw(st.lists(st.integers(0, 2), min_size=len(rows), max_size=len(rows)))), rows)


@pytest.mark.parametrize("vocabulary", [6, 12, 40])
def test_both_ways_agree_on_long_rollouts(vocabulary: int) -> None:
    chance = random.Random(vocabulary)
    words = [f"w{number}" for number in range(vocabulary)]
    rows = [
        {
            "tool": chance.choice(["search", "edit"]),
            "requestor": "agent",
            "arguments_raw": json.dumps({"q": " ".join(chance.choices(words, k=chance.randint(1, 8)))}),
            "output_text": chance.choice("abc"),
            "is_executed": True,
            "status": "ok",
        }
        for _ in range(400)
    ]
    found = check([at // 150 for at in range(400)], rows)
    assert any(each is not None for each in found["near_repeat_of"])
    assert any(each is None for each in found["near_repeat_of"])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"query": "Acme Revenue"}, {"acme", "revenue"}),
        ({"query": 'a "quoted" tab\there', "null": None}, {"a", "quoted", "tab", "here"}),
        ({"query": "null", "other": [None, True, {"n": -1.5}]}, {"null", "true", "1.5"}),
        ({"path": "src/app.py", "range": "3--4", "end": "/a/"}, {"src/app.py", "3", "4", "a"}),
        ({"path": "C:\\new\\\\n", "bell": "x\u0007y"}, {"c", "new", "n", "x", "y"}),
    ],
)
def test_words(arguments: dict[str, Any], words: set[str]) -> None:
    raw = json.dumps(arguments, sort_keys=True, separators=(",", ":"))
    both = pa.array([raw, json.dumps({"q": " ".join(sorted(words))})])
    assert words_of(" ".join(words)) == words
    found = Words.of(both, both)
    assert found.counts.tolist() == [len(words), len(words)]
    assert found.codes[: len(words)].tolist() == found.codes[len(words) :].tolist()


def test_a_block_without_calls() -> None:
    assert check([], []) == {name: [] for name in FOUND}
