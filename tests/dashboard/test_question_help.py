"""Every question says from the shell what it takes and gives."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from dashboard import cli
from dashboard.question_help import example, question_help
from queries.asking import parameters, question
from queries.questions import QUESTIONS


@pytest.mark.parametrize("name", sorted(QUESTIONS))
def test_every_question_has_its_parameters_columns_and_an_example(name: str) -> None:
    said = question_help(name)
    assert all(f"--{each.replace('_', '-')} " in said for each in parameters(question(name)))
    assert "\nColumns: " in said
    assert f"Example: observatory query {name}" in said
    assert max(map(len, said.split("\n"))) <= 120


def test_what_a_comparison_takes() -> None:
    said = question_help("compare")
    assert said.startswith("compare: one row per measure")
    assert "  --baseline            RUN@STEP, or RUN; needed\n" in said
    assert "  --leave-out-failures  true or false; default false\n" in said
    assert "  --environments        texts, separated by commas; optional\n" in said
    assert "`method` is one of t, percentile, bca, cautious;" in " ".join(said.split())
    assert "Filters do not apply to it." in said
    assert example("compare") == ("observatory query compare --baseline RUN@STEP --candidate RUN@STEP --format csv")


def test_help_follows_the_question_and_needs_no_store(tmp_path: Path) -> None:
    run = CliRunner().invoke
    own = run(cli.app, ["query", "samples", "--help", "--store", str(tmp_path)])
    assert (own.exit_code, own.stdout) == (0, question_help("samples") + "\n")
    assert run(cli.app, ["query", "--help", "samples"]).stdout == own.stdout
    general = run(cli.app, ["query", "--help"])
    assert general.exit_code == 0
    assert "--snapshot" in general.stdout
    assert not list(tmp_path.iterdir())
