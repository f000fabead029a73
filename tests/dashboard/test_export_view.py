import shlex
from pathlib import Path

import pandas as pd
import pytest

from dashboard import cli_values, export_view, export_words
from queries.filters import Filters
from queries.questions import QUESTIONS

EVIL = Filters(run_ids=("a b; rm -rf ~", "$(id)"), step_from=3, step_to=9, tools=("it's",), subset="effective")
STORE = Path("/tmp/my store")


def test_commands_are_quoted_for_a_shell() -> None:
    said = export_view.export_command(EVIL, STORE, ["reward_curve", "runs"])
    assert shlex.split(said) == [
        *("observatory", "export", "--to", "DIR", "--store", "/tmp/my store"),
        *("--run", "a b; rm -rf ~", "--run", "$(id)", "--questions", "reward_curve,runs"),
    ]
    assert "'$(id)'" in said


def test_a_question_is_asked_with_all_filters() -> None:
    words = shlex.split(export_view.query_command("reward_curve", EVIL, STORE))
    assert words[:5] == ["observatory", "query", "reward_curve", "--store", "/tmp/my store"]
    assert words[5:] == [
        *("--run", "a b; rm -rf ~", "--run", "$(id)", "--tool", "it's", "--step", "3..9", "--subset", "effective"),
        *("--format", "parquet", "--out", "reward_curve.parquet"),
    ]
    assert "--step ..9" in export_view.query_command("rollouts", Filters(step_to=9), STORE)
    assert "--run" not in export_view.query_command("run_names", EVIL, STORE)


@pytest.mark.parametrize(("low", "high"), [(3, 9), (3, None), (None, 9), (4, 4)])
def test_the_command_line_reads_the_steps_that_are_written(low: int | None, high: int | None) -> None:
    words = shlex.split(export_view.query_command("rollouts", Filters(step_from=low, step_to=high), STORE))
    assert cli_values.step_range(words[words.index("--step") + 1]) == (low, high)


def test_only_questions_that_need_no_choice_are_offered() -> None:
    names = export_view.askable()
    assert {"reward_curve", "samples", "runs"} <= set(names)
    assert not {"sample_attempts", "trajectory_messages", "compare"} & set(names)
    assert set(names) <= set(QUESTIONS)


def test_the_verdict_counts_what_an_export_holds() -> None:
    sizes = pd.DataFrame({"table_name": ["runs", "rollouts", "tool_calls"], "num_rows": [1, 1_200, 3]})
    assert export_words.verdict(sizes, "zava") == (
        "An export holds 1 run (of zava) with 1\u202f200 rollouts, 0 messages and 3 tool calls, in 3 tables of "
        "documented Parquet files."
    )
