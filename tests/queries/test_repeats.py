"""Repeated calls, patterns, transitions and loops, against rows computed by hand."""

from pathlib import Path

import pandas as pd
import pytest

from ingest.sources.base import Rollout
from queries.filters import Filters
from queries.repeats import loops, repeat_patterns, repeats_by_step, repeats_by_tool, tool_transitions
from tests.stores import build_store, call, rollout

FIRST = '{"query":"acme revenue 2023"}'
ALIKE = '{"query":"acme total revenue 2023"}'


def searching() -> Rollout:
    """Four searches (one again for the same, one again for something new, one alike) and a `cat`."""
    calls = [
        call("search", FIRST, output_text="page", latency_s=1.0),
        call("search", FIRST, output_text="page", latency_s=2.0, turn=1),
        call("search", FIRST, output_text="other", latency_s=4.0, turn=2),
        call("search", ALIKE, output_text="page", turn=3),
        call("cat", '{"file":"x"}', turn=4),
    ]
    return rollout(sample_id="a", step=1, split="valid", messages=[], tool_calls=calls)


def test_repeats_are_told_apart_by_what_came_back(tmp_path: Path) -> None:
    frame = repeats_by_tool(build_store(tmp_path, [searching()]))
    search, cat = (frame.iloc[row] for row in range(2))
    assert (search["tool"], search["num_calls"], search["num_exact_repeats"]) == ("search", 4, 2)
    assert (search["num_same_output"], search["num_different_output"], search["num_unknown_output"]) == (1, 1, 0)
    assert (search["num_near_repeats"], search["num_wasted_calls"]) == (1, 1)
    assert (search["wasted_tokens_estimate"], search["wasted_latency_s"]) == (1, 2.0)
    assert search["repeat_rate"] == 0.5
    assert search["near_repeat_rate"] == search["wasted_call_rate"] == 0.25
    assert (cat["num_calls"], cat["num_exact_repeats"], cat["repeat_rate"]) == (1, 0, 0.0)
    assert pd.isna(cat["wasted_latency_s"])


def test_without_outputs_a_repeat_is_unknown_and_not_wasted(tmp_path: Path) -> None:
    row = repeats_by_tool(build_store(tmp_path, [rollout(messages=[], tool_calls=[call("t"), call("t")])])).iloc[0]
    assert (row["num_exact_repeats"], row["num_unknown_output"], row["num_wasted_calls"]) == (1, 1, 0)


def test_calls_whose_arguments_were_not_kept_are_no_repeats(tmp_path: Path) -> None:
    bare = call("t") | {"arguments_raw": None}
    store = build_store(tmp_path, [rollout(messages=[], tool_calls=[dict(bare), dict(bare)])])
    row = repeats_by_tool(store).iloc[0]
    assert (row["num_calls"], row["num_calls_unknown"], row["num_exact_repeats"]) == (0, 2, 0)
    assert pd.isna(row["repeat_rate"])
    by_step = repeats_by_step(store).iloc[0]
    assert (by_step["num_rollouts"], by_step["num_rollouts_unknown"]) == (0, 1)
    assert pd.isna(by_step["repeat_rate"])


def test_repeats_by_step_add_up_to_those_by_tool(tmp_path: Path) -> None:
    quiet = rollout(sample_id="b", step=1, split="valid", messages=[], tool_calls=[call("cat", '{"file":"y"}')])
    row = repeats_by_step(build_store(tmp_path, [searching(), quiet, rollout(step=1, split="valid")])).iloc[0]
    assert (row["num_rollouts"], row["num_rollouts_unknown"], row["num_calls"]) == (2, 1, 6)
    assert (row["num_exact_repeats"], row["num_same_output"], row["num_different_output"]) == (2, 1, 1)
    assert (row["num_unknown_output"], row["num_near_repeats"], row["num_wasted_calls"]) == (0, 1, 1)
    assert row["repeat_rate"] == pytest.approx(2 / 6)
    assert row["rollouts_repeating_rate"] == 0.5
    assert row["rollouts_looping_rate"] == 0.0


def test_the_most_repeated_pattern_has_an_example(tmp_path: Path) -> None:
    twice = rollout(native_id="twice", messages=[], tool_calls=[call("search", FIRST), call("search", FIRST)])
    other = rollout(native_id="other", messages=[], tool_calls=[call("cat", '{"f":1}'), call("cat", '{"f":1}')])
    store = build_store(tmp_path, [searching(), twice, other])
    frame = repeat_patterns(store)
    names = ["tool", "num_repeats", "num_exact_repeats", "num_near_repeats", "num_rollouts", "most_in_rollout"]
    assert frame[names].values.tolist() == [["search", 4, 3, 1, 2, 3], ["cat", 1, 1, 0, 1, 1]]
    assert frame["example_arguments"].iloc[0] == FIRST
    assert frame["example_call_index"].iloc[0] == 1
    shown = tool_transitions(store, Filters())
    assert frame["example_rollout_id"].nunique() == 2
    assert len(repeat_patterns(store, limit=1)) == 1
    assert not shown.empty


def test_transitions_begin_and_end(tmp_path: Path) -> None:
    calls = [call("a", call_index=0), call("b", call_index=1), call("a", call_index=2), call("a", call_index=3)]
    frame = tool_transitions(build_store(tmp_path, [rollout(messages=[], tool_calls=calls), rollout(messages=[])]))
    rows = [[None if pd.isna(each) else each for each in row] for row in frame.drop(columns="run_id").values.tolist()]
    third = pytest.approx(1 / 3)
    assert rows == [
        [None, "a", 1, 1.0],
        ["a", "a", 1, third],
        ["a", "b", 1, third],
        ["a", None, 1, third],
        ["b", "a", 1, 1.0],
    ]


def test_the_longest_loop_comes_first(tmp_path: Path) -> None:
    def cycle(native_id: str, *tools: str) -> Rollout:
        return rollout(native_id=native_id, messages=[], tool_calls=[call(each) for each in tools])

    store = build_store(tmp_path, [cycle("aa", *"xaa"), cycle("abab", *"ababx"), cycle("none", *"abc")])
    frame = loops(store)
    assert frame["longest_loop"].tolist() == [4, 2]
    assert frame["num_exact_repeats"].tolist() == [2, 1]
    assert set(frame["num_total"]) == {2}
    assert repeats_by_step(store).iloc[0]["rollouts_looping_rate"] == pytest.approx(1 / 3)


def test_nothing_in_gives_the_same_columns_and_no_rows(tmp_path: Path) -> None:
    store, nothing = build_store(tmp_path, [searching()]), Filters(run_ids=("other",))
    for question in (repeats_by_tool, repeats_by_step, repeat_patterns, tool_transitions, loops):
        assert question(store, nothing).empty
        assert list(question(store, nothing).columns) == list(question(store).columns)
