"""Rulebooks: the default, a file in the store's folder that replaces it, and what is said of a faulty one."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from dashboard import cli
from ingest.errors import QuestionError
from queries import rulebook as module
from queries.rulebook import rulebook, rulebooks


def test_every_default_can_be_read_and_explains_itself(tmp_path: Path) -> None:
    assert "limits" in rulebooks()
    for name in rulebooks():
        book = rulebook(tmp_path, name)
        assert book.origin == "default"
        assert book.content
        assert book.text.startswith("#")


def test_a_file_in_the_folder_replaces_the_default_and_is_read_again_when_it_changes(tmp_path: Path) -> None:
    own = tmp_path / "limits.toml"
    own.write_text('limits = ["turns<=2"]')
    first = rulebook(tmp_path, "limits")
    assert (first.origin, first.path, first.content) == ("file", own, {"limits": ["turns<=2"]})
    assert rulebook(tmp_path, "limits") is first
    own.write_text('limits = ["turns<=30"]')
    assert rulebook(tmp_path, "limits").content == {"limits": ["turns<=30"]}
    own.unlink()
    assert rulebook(tmp_path, "limits").origin == "default"


def test_an_error_names_the_line_outside_remarks(tmp_path: Path) -> None:
    own = tmp_path / "limits.toml"
    own.write_text("# turns<=2\n\nlimits = [\n 'turns<=2',\n]")
    assert str(rulebook(tmp_path, "limits").error("turns<=2", "no")) == f"{own}, line 4: no"


@pytest.mark.parametrize("content", [b"limits = [", b"\xff\xfe", b"a = " + b"[" * 5000])
def test_what_is_no_toml_is_said_to_be_none(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "limits.toml").write_bytes(content)
    with pytest.raises(QuestionError, match=r"limits\.toml cannot be read: "):
        rulebook(tmp_path, "limits")


def test_a_folder_a_huge_file_and_an_unknown_name_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(QuestionError, match=r"there are no rules '\.\./x'; there are "):
        rulebook(tmp_path, "../x")
    (tmp_path / "limits.toml").mkdir()
    with pytest.raises(QuestionError, match="cannot be read"):
        rulebook(tmp_path, "limits")
    (tmp_path / "limits.toml").rmdir()
    monkeypatch.setattr(module, "MAX_BYTES", 10)
    (tmp_path / "limits.toml").write_text("limits = [] # long")
    with pytest.raises(QuestionError, match="larger than 10 bytes"):
        rulebook(tmp_path, "limits")


def test_the_command_prints_the_rules_in_force(tmp_path: Path) -> None:
    asked = CliRunner().invoke(cli.app, ["rules", "limits", "--store", str(tmp_path)])
    assert asked.stdout == (module.DEFAULTS / "limits.toml").read_text()
    (tmp_path / "limits.toml").write_text("limits = ['turns<=2']  # ours\n")
    asked = CliRunner().invoke(cli.app, ["rules", "limits", "--store", str(tmp_path)])
    assert asked.stdout == "limits = ['turns<=2']  # ours\n"
    listed = CliRunner().invoke(cli.app, ["rules", "--store", str(tmp_path)])
    assert "limits: from" in listed.stdout
