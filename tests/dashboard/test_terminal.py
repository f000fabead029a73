"""The shell on hostile names and wrong usage: nothing is obeyed, cut off, or answered with a stack trace."""

import subprocess
import sys
from pathlib import Path

import pytest

from dashboard import cli
from dashboard.terminal import harmless, shown
from tests.stores import rollout, write_store

HOSTILE = ("\x1b[31mred\x1b[0m", "[bold]b[/bold]", "[/]", ":smile:", "a\nb", "\u202eabc", "--run", "x" * 300)


def shell(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "dashboard.cli", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def said(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *arguments: str | Path
) -> tuple[int, str]:
    """The exit code and what stands on standard error, of the command run in this process."""
    monkeypatch.setattr(sys, "argv", ["observatory", *map(str, arguments)])
    with pytest.raises(SystemExit) as left:
        cli.main()
    return int(left.value.code or 0), capsys.readouterr().err


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("store")
    write_store(root, [rollout(name, sample_id="s", step=0, reward=0.5, environment=name) for name in HOSTILE])
    return root


def test_escape_sequences_and_turned_text_are_made_visible() -> None:
    assert harmless("\x1b[31mred\x07\r\x9b") == "⟨U+001B⟩[31mred⟨U+0007⟩⟨U+000D⟩⟨U+009B⟩"
    assert harmless("\u202eabc\ud800") == "⟨U+202E⟩abc?"
    assert shown("a\nb [/]") == "a\\nb \\[/]"


def test_a_piped_table_has_whole_cells_and_obeys_none(store: Path) -> None:
    done = shell("query", "runs", "--store", store)
    assert done.returncode == 0
    assert "\x1b" not in done.stdout
    assert "\u202e" not in done.stdout
    for name in ("x" * 300, "[bold]b[/bold]", "[/]", ":smile:", "--run"):
        assert f" {name} " in done.stdout
    assert "num_rollouts" in done.stdout.split("\n", 1)[0]


def test_an_ingest_names_hostile_runs_as_they_are(tmp_path: Path) -> None:
    file = tmp_path / "a[b]\x1b[31m.jsonl"
    file.write_text('{"run": "[/]\\u001b[31m:smile:", "sample_id": "s", "reward": 1}\nnot json\n')
    done = shell("ingest", file, "--store", tmp_path / "store")
    assert done.returncode == 3
    assert "\x1b" not in done.stdout + done.stderr
    assert done.stdout.startswith("[/]⟨U+001B⟩[31m:smile:")


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("query", "runs", "--format", "csv", "--out", "/nowhere/x.csv"), 1, "could not be written"),
        (("query", "runs", "--out", "x.txt"), 1, "--out needs --format"),
        (("query", "runs", "--format", "xml"), 1, "format must be one of"),
        (("query", "runs", "--step", "abc"), 1, "--step takes a number"),
        (("query", "compare"), 1, "--baseline"),
        (("compact", "--keep-days", "-5"), 2, "--keep-days"),
        (("ingest", "x", "--map", "abc"), 2, "--map takes field=path"),
    ],
)
def test_wrong_usage_is_a_sentence(
    store: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    code: int,
    says: str,
) -> None:
    found, error = said(capsys, monkeypatch, *arguments, "--store", store)
    assert found == code
    assert says in error
    assert "Traceback" not in error


@pytest.mark.parametrize("command", [("compact",), ("forget", "x")])
def test_a_mistyped_store_is_not_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    code, error = said(capsys, monkeypatch, *command, "--store", tmp_path / "typo")
    assert code == 1
    assert "no store here" in error
    assert not (tmp_path / "typo").exists()
