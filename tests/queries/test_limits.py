"""Limits as they are written: what they read as, where they come from, and what is said of a wrong one."""

from pathlib import Path

import pytest

from ingest.errors import QuestionError
from ingest.sources.base import Row
from queries.contracts import contract_limits
from queries.filters import Filters
from queries.limits import LIMITED, Limit, parsed
from queries.measures import ROLLOUT_MEASURES
from tests.stores import build_store, rollout


@pytest.mark.parametrize(
    ("written", "text", "sentence", "allowed"),
    [
        ("tool_calls<=10", "tool_calls<=10", "at most 10 tool calls", 0.0),
        (" Tool_Calls ≤ 1 calls ", "tool_calls<=1", "at most 1 tool call", 0.0),
        ("P95( latency_s ) <= 30 s", "p95(latency_s)<=30", "P95 at most 30 s of latency", 0.05),
        ("p99.9(cost_usd)<=0.5", "p99.9(cost_usd)<=0.5", "P99.9 at most 0.5 US$ of cost", 0.001),
        ("output_tokens<=8_000", "output_tokens<=8000", "at most 8\u202f000 tokens of output", 0.0),
        (
            "tool_output_bytes<=1e6",
            "tool_output_bytes<=1000000",
            "at most 1\u202f000\u202f000 bytes of tool output",
            0.0,
        ),
        ("share(messages<=100)>=95%", "share(messages<=100)>=0.95", "at most 100 messages in 95 % of rollouts", 0.05),
        ("share(turns<=3)>=1", "turns<=3", "at most 3 turns", 0.0),
    ],
)
def test_a_limit_reads_as_a_sentence(written: str, text: str, sentence: str, allowed: float) -> None:
    (found,) = parsed(written)
    assert (found.text, found.sentence, found.allowed) == (text, sentence, allowed)
    assert parsed(found.text) == (found,)


def test_every_measure_but_the_reward_can_be_limited() -> None:
    assert set(LIMITED) == set(ROLLOUT_MEASURES) - {"reward"}
    assert all(parsed(f"{each}<=2")[0].measure == each for each in LIMITED)


def test_several_limits_are_told_apart_and_each_counts_once() -> None:
    found = parsed("tool_calls<=10; turns<=5 # a remark; with a semicolon\n\n;tool_calls<=10\nmessages<=9")
    assert [each.text for each in found] == ["tool_calls<=10", "turns<=5", "messages<=9"]
    assert parsed(" ;\n# nothing\n") == ()


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("tool_calls<10", "'tool_calls<10' is no limit; limits are written tool_calls<=10, p95"),
        ("tool_calls<=-1", "is no limit"),
        ("tool_calls<=nan", "is no limit"),
        ("<script>alert(1)</script>", "is no limit"),
        ("latency<=3", r"no limit on 'latency' \(did you mean latency_s\?\); there is tool_calls,"),
        ("reward<=1", "no limit on 'reward'"),
        ("p100(turns)<=1", "a percentile lies between 0 and 100"),
        ("p0(turns)<=1", "a percentile lies between 0 and 100"),
        ("share(turns<=1)>=2", "a share lies above 0 and is at most 1"),
        ("share(turns<=1)>=0", "a share lies above 0 and is at most 1"),
        ("latency_s<=30 ms", "latency_s is given in s, not in ms"),
        ("turns<=1e999", "too large"),
        (";".join(f"turns<={each}" for each in range(13)), "at most 12 limits"),
    ],
)
def test_a_wrong_limit_is_refused_in_words(written: str, said: str) -> None:
    with pytest.raises(QuestionError, match=said):
        parsed(written)


def configured(tmp_path: Path) -> list[Row]:
    settings = {
        "a": '{"max_tool_calls": 10, "max_steps": 50}',
        "b": '{"max_tool_calls": 10, "max_turns": 4}',
        "c": "{}",
    }
    return [Row("runs", {"name": run, "precedence": 1, "config": each}, run=run) for run, each in settings.items()]


def test_limits_come_from_the_viewer_else_the_file_else_the_configuration(tmp_path: Path) -> None:
    store = build_store(tmp_path, [rollout(run, sample_id="s") for run in "abc"], configured(tmp_path))
    columns = ["limit", "origin", "name", "run_id", "num_runs"]
    # `max_steps` counts a trainer's updates: it limits no rollout. Those of the most runs come first.
    assert contract_limits(store)[columns].values.tolist() == [
        ["tool_calls<=10", "configuration", "max_tool_calls", "a", 2],
        ["turns<=4", "configuration", "max_turns", "b", 1],
    ]
    assert contract_limits(store, Filters(run_ids=("b",)))["run_id"].tolist() == ["b", "b"]
    assert contract_limits(store, Filters(run_ids=("c",))).empty
    (tmp_path / "limits.toml").write_text('limits = ["messages <= 100", "p95(latency_s) <= 30; turns<=2"]\n')
    assert contract_limits(store)[["limit", "origin", "num_runs"]].values.tolist() == [
        ["messages<=100", "file", 0],
        ["p95(latency_s)<=30", "file", 0],
        ["turns<=2", "file", 0],
    ]
    row = contract_limits(store, limits="p95(latency_s)<=60").iloc[0]
    assert (row["origin"], row["statistic"], row["bound"], row["allowed_share"]) == ("viewer", "P95", 60.0, 0.05)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('limits = [\n  "tool_calls<=10",\n  "calls<=3",\n]', r"limits\.toml, line 3: there is no limit on 'calls'"),
        ("# ours\nlimits = 3", r"limits\.toml, line 2: limits is a list of texts"),
        ("# ours\nlimits = [3]", r"limits\.toml, line 2: limits is a list of texts"),
        ('\nlimit = ["turns<=3"]', r"limits\.toml, line 2: 'limit' is not known"),
        ("limits == 3", r"limits\.toml cannot be read: .*line 1"),
    ],
)
def test_an_error_in_the_file_names_the_line(tmp_path: Path, text: str, said: str) -> None:
    store = build_store(tmp_path, [rollout(sample_id="s")])
    (tmp_path / "limits.toml").write_text(text)
    with pytest.raises(QuestionError, match=said):
        contract_limits(store)


def test_an_empty_file_or_one_that_is_no_text(tmp_path: Path) -> None:
    store = build_store(tmp_path, [rollout(sample_id="s")])
    (tmp_path / "limits.toml").write_text("")
    assert contract_limits(store).empty
    (tmp_path / "limits.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(QuestionError, match="cannot be read"):
        contract_limits(store)


def test_limits_are_values() -> None:
    assert Limit("turns", 3.0) == parsed("turns<=3")[0]
    assert len({Limit("turns", 3.0), *parsed("turns<=3")}) == 1
