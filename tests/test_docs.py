"""The docs say what is there: dictionary = schema, README's questions, sources, pages and commands exist."""

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dashboard.cli import app
from dashboard.question_help import question_help
from dashboard.site import PAGES
from ingest.runner import Request, ingest
from ingest.schema import dictionary
from ingest.sources import SOURCES
from ingest.store import Store
from queries.connection import open_store
from queries.filters import Filters
from queries.questions import QUESTIONS
from queries.rollouts import rollouts

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text()
SHARED = {
    "base_model_change": "compared_samples",
    "attempt_curve": "attempt_values",
    "best_step": "step_deltas",
    "compare": "compared_samples",
    "compare_claims": "compared_samples",
    "compare_opposite": "compared_samples",
    "compare_power": "compared_samples",
    "compare_samples": "compared_samples",
    "compare_several": "compared_samples",
    "compare_slices": "compared_samples",
    "checkpoint_warnings": "checkpoint_figures",
    "contract_limits": "run_limits",
    "cost_of_gain": "checkpoint_choice",
    "contract_moves": "contract_moved_samples",
    "drift_curve": "drift",
    "drift_selections": "drift_samples",
    "drift_slices": "drift_samples",
    "ecdf": "measured_values",
    "attrition": "attrition_losses",
    "failure_bursts": "failure_places",
    "production_drift": "drift",
    "failure_rulebook": "failure_causes",
    "failure_timeline": "failure_places",
    "frontier": "compared_samples",
    "health_patterns": "health_runs",
    "health_series": "health_reported",
    "integrity_rules": "integrity_findings",
    "integrity_verdicts": "integrity_findings",
    "regrades": "grader_agreement",
    "reward_jump_looks": "reward_jumps",
    "setting_effect": "compared_samples",
    "signal_by_group_size": "attempt_values",
    "survival": "measured_values",
    "tail_percentiles": "measured_values",
    "trainer_sizes": "run_settings",
    "tool_mix_moves": "tool_mix_shift",
    "varying_settings": "run_diff",
    "when_to_stop": "checkpoint_choice",
}
"""Questions that another's statement answers: the same values, another statistic of them."""
COMMANDS = re.findall(r"^(?:\.venv/bin/)?observatory ([a-z].*?)(?:\s{2,}#.*)?$", README, re.M)


def test_the_data_dictionary_is_the_schema() -> None:
    text = (ROOT / "ingest" / "README.md").read_text()
    assert text.endswith("\n".join(dictionary()))


def test_readme_lists_every_source() -> None:
    listed = set(re.findall(r"`(\w+)`", "\n".join(re.findall(r"^\| (`.*?) \|", README, re.M))))
    assert {source.NAME for source in SOURCES} <= listed


def test_readme_lists_every_page() -> None:
    block = README.split("<!-- pages -->")[1].split("<!-- /pages -->")[0]
    listed = re.findall(r"^\| ([^|]+?) \| ([^|]+?) \|", block, re.M)[1:]
    assert [title for title, _ in listed if not set(title) <= {"-"}] == [page.title for page in PAGES]


def test_every_question_has_a_sql_file() -> None:
    files = {path.stem for path in (ROOT / "queries" / "sql").glob("*.sql")}
    assert {SHARED.get(name, name) for name in QUESTIONS} <= files


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_of_the_readme_parse(command: str) -> None:
    words = shlex.split(command.replace("…", "x"))
    named = words[: 2 if words[0] in ("pull", "query") else 1]
    result = CliRunner().invoke(app, [*named, "--help"])
    assert result.exit_code == 0, result.output
    own = question_help(words[1]) if words[0] == "query" and len(words) > 1 else ""
    for option in re.findall(r"--[a-z-]+", command):
        assert option in result.output + own, f"{option} is no option of {' '.join(words[:2])}"
        assert option in result.output, f"{option} is no option of {' '.join(named)}"


def test_questions_of_the_readme_exist() -> None:
    asked = re.findall(r"observatory query (\w+)", README)
    assert asked
    assert set(asked) <= set(QUESTIONS)


def test_examples_of_the_neutral_format_are_read_as_the_readme_says(tmp_path: Path) -> None:
    section = README.split("### The neutral format")[1].split("\n## ")[0]
    for name, text in zip(("whole", "pieces"), re.findall(r"```json\n(.+?)```", section, re.S), strict=True):
        (tmp_path / f"{name}.jsonl").write_text(text)
        report = ingest(Store(tmp_path / name), Request([str(tmp_path / f"{name}.jsonl")]))
        assert (report.rejects, report.notes) == (0, [])
        (found,) = rollouts(open_store(tmp_path / name), Filters()).to_dict("records")
        assert (found["run_id"], found["sample_id"], found["step"], found["reward"]) == ("my-run", "q17", 20, 0.75)
        assert (found["num_tool_calls"], found["num_tool_errors"], found["num_turns"]) == (1, 0, 1)
