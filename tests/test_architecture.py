"""The architecture is a test: one writer, one reader, everything registered, sizes kept."""

import ast
import re
from pathlib import Path
from types import ModuleType

import pytest

from dashboard.site import PAGES
from ingest.schema import TABLES
from ingest.sources import SOURCES
from ingest.sources.base import FIELDS
from queries.questions import QUESTIONS

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("ingest", "queries", "dashboard")
MODULES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))


def imported(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return names


def importers(name: str) -> set[str]:
    return {
        str(path.relative_to(ROOT))
        for path in MODULES
        if any(each == name or each.startswith(name + ".") for each in imported(path))
    }


def test_only_the_store_writes_tables() -> None:
    writers = {str(path.relative_to(ROOT)) for path in MODULES if "write_deltalake" in path.read_text()}
    assert writers == {"ingest/store.py"}


def test_only_the_connection_opens_the_store_for_questions() -> None:
    openers = {str(path.relative_to(ROOT)) for path in MODULES if "duckdb" in imported(path)}
    allowed = {
        "ingest/catalog.py",
        "ingest/commit.py",
        "ingest/doctor.py",
        "ingest/finish.py",
        "ingest/later_scores.py",
    }
    allowed |= {"ingest/neutral_columns.py", "queries/connection.py"}  # the former opens no store: it reads JSON
    assert openers <= allowed


def test_pages_hold_no_sql_and_stay_small() -> None:
    for path in (ROOT / "dashboard" / "app_pages").glob("*.py"):
        text = path.read_text()
        assert len(text.splitlines()) <= 80, path
        assert not re.search(r"\bSELECT\b|\bFROM\s+\w+\s+WHERE\b", text), path


def test_modules_and_statements_keep_their_size() -> None:
    assert [str(path) for path in MODULES if len(path.read_text().splitlines()) > 400] == []
    statements = [*(ROOT / "queries" / "sql").glob("*.sql")]
    assert [path.name for path in statements if len(path.read_text().splitlines()) > 80] == []


def test_every_shared_definition_of_statements_has_a_name_of_its_own() -> None:
    views = [each.read_text() for each in sorted((ROOT / "queries" / "views").glob("*.sql"))]
    names = [name for text in views for name in re.findall(r"^CREATE (?:OR REPLACE )?(?:MACRO|VIEW) (\w+)", text, re.M)]
    assert len(names) > len(views)
    assert sorted(names) == sorted(set(names))


def test_every_source_module_is_registered() -> None:
    registered = {source.__name__ for source in SOURCES if isinstance(source, ModuleType)}
    found = set()
    for path in (ROOT / "ingest" / "sources").glob("*.py"):
        if re.search(r"^NAME\b", path.read_text(), re.M):
            found.add(f"ingest.sources.{path.stem}")
    assert found == registered


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.NAME)
def test_a_source_declares_what_it_fills(source: object) -> None:
    fills = source.FILLS  # type: ignore[attr-defined]  # every source has it
    assert fills
    assert fills <= set(FIELDS)


def test_every_page_file_is_registered() -> None:
    files = {path.name for path in (ROOT / "dashboard" / "app_pages").glob("*.py")}
    assert files == {Path(page.path).name for page in PAGES}


def test_every_question_is_a_function_of_its_name() -> None:
    assert [name for name, asked in QUESTIONS.items() if asked.__name__ != name] == []


def test_every_column_is_documented_once() -> None:
    for table in TABLES:
        assert len(set(table.names)) == len(table.names)
        assert all(column.meaning and column.null for column in table.columns)
        assert {"run_id", "source_id"} <= set(table.names)


def test_no_path_of_a_machine_is_committed() -> None:
    # A home folder or a work tree of somebody's machine, spelled so that this line is none.
    pattern = re.compile("/" + r"(?:home/\w+|root|work|Users/\w+)/")
    suspicious = []
    for path in ROOT.rglob("*"):
        if path.is_file() and path.suffix in (".py", ".md", ".sql", ".toml", ".json") and ".venv" not in path.parts:
            suspicious += [str(path) for line in path.read_text(errors="replace").splitlines() if pattern.search(line)]
    assert suspicious == []
