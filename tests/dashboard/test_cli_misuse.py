"""The command line used wrongly: a sentence and an exit code, never a traceback, never a control character."""

import json
import re
import sys
from functools import cache
from pathlib import Path

import pytest

from dashboard import cli
from queries.asking import parameters
from queries.questions import QUESTIONS
from tests.stores import call, rollout, write_store

OBEYED = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
NAMES = ("'; DROP TABLE runs; --", "../../x", "\x1b[31mred\x1b]0;t\x07", "\u202eevil", "n" * 10_000, "NULL", "*", "$x")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store in which everything that has a name has a hostile one."""
    root = tmp_path_factory.mktemp("store") / "store"
    records = [
        rollout(
            name,
            sample_id=name,
            step=step,
            split="valid",
            reward=0.5 * step,
            environment=name,
            stop_reason=name,
            error_message=name,
            messages=[{"role": "user", "text": name}],
            tool_calls=[call(name, json.dumps({name: name}), output_text=name) for _ in range(2)],
            scores=[{"grader": name, "value": 0.5}],
        )
        for name in NAMES
        for step in (0, 1)
    ]
    write_store(root, records)
    return root


def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *words: str) -> tuple[int, str, str]:
    monkeypatch.setattr(sys, "argv", ["observatory", *words])
    with pytest.raises(SystemExit) as left:
        cli.main()
    said = capsys.readouterr()
    assert "Traceback" not in said.out + said.err
    return int(left.value.code or 0), said.out, said.err


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("ingest", ""), 1, "an empty path: there is no such file"),
        (("ingest", "x" * 5_000), 1, "there is no such file"),
        (("ingest", "http://[::1"), 1, "is no URL"),
        (("ingest", "x", "--workers", "0"), 2, "greater than or equal to 1"),
        (("ingest", "x", "--step", "-1"), 2, "greater than or equal to 0"),
        (("ingest", "x", "--step", "9" * 30), 2, "less than or equal to"),
        (("ingest", "x", "--run", " "), 2, "needs a name"),
        (("query", "nosuch"), 1, "there is no question 'nosuch'"),
        (("query", "rollouts", "--run", "nosuch"), 1, "there is no run 'nosuch' in this store"),
        (("query", "rollouts", "--split", "x"), 1, "--split must be one of train"),
        (("query", "rollouts", "--status", "x"), 1, "--status must be one of completed"),
        (("query", "rollouts", "--subset", "x"), 1, "--subset must be one of all"),
        (("query", "rollouts", "--limit", "-1"), 1, "could not be answered"),
        (("query", "rollouts", "--limit", "9" * 30), 1, "could not be answered"),
        (("export", "--to", "never-made", "--run", "nosuch"), 1, "there is no run 'nosuch'"),
        (("forget", ""), 1, "neither a run nor a source"),
    ],
)
def test_misuse_is_one_sentence(
    store: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    code: int,
    said: str,
) -> None:
    found, _, error = run(capsys, monkeypatch, *words, "--store", str(store))
    assert (found, said in re.sub(r"[│\s]+", " ", error)) == (code, True), error
    assert not OBEYED.search(error)
    assert code == 2 or error.count("\n") <= 2
    assert not Path("never-made").exists()


def test_an_error_of_our_own_is_a_sentence_too(
    store: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("first\x1b[31m line\nsecond line")

    monkeypatch.setattr(cli, "answer", broken)
    code, _, error = run(capsys, monkeypatch, "query", "runs", "--store", str(store))
    assert code == 1
    assert "RuntimeError: first⟨U+001B⟩[31m line" in error
    assert "second" not in error
    monkeypatch.setenv("OBSERVATORY_DEBUG", "1")
    monkeypatch.setattr(sys, "argv", ["observatory", "query", "runs", "--store", str(store)])
    with pytest.raises(RuntimeError, match="second line"):
        cli.main()


@pytest.mark.parametrize("format", ["table", "json", "csv"])
def test_every_question_about_hostile_names_is_answered_harmlessly(
    store: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, format: str
) -> None:
    own = {
        "rollout_id": "x",
        "run_id": "x",
        "sample_id": "$x",
        "measure": "tool_calls",
        "baseline": "$x@0",
        "candidate": "*@1",
    }
    monkeypatch.setattr(cli, "open_store", cache(cli.open_store))  # how it opens is not what is asked here
    for name in QUESTIONS if format == "table" else ("runs", "rollouts", "run_names", "tool_usage", "arms"):
        given = {key: own.get(key, "1") for key, each in cli_parameters(name).items() if each}
        words = [f"--{key.replace('_', '-')}={value}" for key, value in given.items()]
        monkeypatch.setattr(sys, "argv", ["observatory", "query", name, *words, "--store", str(store)])
        monkeypatch.setattr(sys, "argv", [*sys.argv, "--format", format])
        try:
            cli.main()
        except SystemExit as left:
            assert left.code in (0, 1), name  # noqa: PT017 - it always ends so
        said = capsys.readouterr()
        assert "stopped by an error of its own" not in said.err, name
        assert not OBEYED.search(said.err), name
        if format == "table":
            assert not OBEYED.search(said.out), name


def cli_parameters(name: str) -> dict[str, bool]:
    """Parameters of a question, and whether they have to be given."""
    found = parameters(QUESTIONS[name])
    return {key: each.default is each.empty for key, each in found.items()}


@pytest.mark.parametrize("name", NAMES)
def test_runs_are_found_by_their_hostile_names(
    store: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    words = ("query", "rollouts", f"--run={name}", "--format", "json", "--store", str(store))
    code, out, _ = run(capsys, monkeypatch, *words)
    assert (code, len(json.loads(out))) == (0, 2)


def test_an_export_of_hostile_names_stays_in_its_folder(
    store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    code, _, _ = run(capsys, monkeypatch, "export", "--to", str(tmp_path / "out"), "--store", str(store))
    assert code == 0
    assert [each.name for each in tmp_path.iterdir()] == ["out"]
    folders = {each.name for each in (tmp_path / "out" / "rollouts").iterdir()}
    assert len(folders) == len(NAMES)
    assert all(re.fullmatch(r"run_id=[\w.-]{1,64}", each) for each in folders)


def test_doctor_repairs_on_request(
    store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_store(tmp_path / "s", [rollout("r", sample_id="a", reward=1.0)])
    (tmp_path / "s" / "observatory.duckdb").write_bytes(b"no database")
    assert run(capsys, monkeypatch, "doctor", "--store", str(tmp_path / "s"))[0] == 1
    code, _, error = run(capsys, monkeypatch, "doctor", "--repair", "--store", str(tmp_path / "s"))
    assert (code, error.strip()) == (0, "What is left was published.")
