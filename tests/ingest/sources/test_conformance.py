"""What every source must do: know its own files and nobody else's, fit the schema, read twice alike, survive damage."""

import shutil
from pathlib import Path

import pytest

from ingest.discover import discover
from ingest.errors import UnrecognisedError
from ingest.reading import Peek
from ingest.runner import Request, ingest
from ingest.sources import SOURCES
from ingest.sources.base import FIELDS, Source
from ingest.store import Store
from queries.connection import open_store

OWNED = {
    "openai_evals": "openai_evals",
    "openai_ft": "openai_fine_tuning",
    "prime_rl": "prime_rl",
    "tau": "tau_bench",
    "tau2": "tau_bench",
    "trl": "trl",
    "verifiers_legacy": "verifiers_legacy",
    "verifiers_v1": "verifiers",
    "verl": "verl",
}
"""Folders of the shared examples, and the source that must read what lies in them."""
FOREIGN = (
    "areal",
    "art",
    "harbor",
    "inspect",
    "langfuse",
    "mini",
    "mlflow",
    "nemo_gym",
    "nemo_rl",
    "otel",
    "rllm",
    "skyrl",
    "weave",
)
"""Formats no source here reads yet: they must be skipped, not taken for another."""
TABLES = ("rollouts", "messages", "tool_calls", "scores", "metrics", "samples")


@pytest.fixture
def examples(real_data: Path) -> Path:
    return real_data.parent / "examples"


def content(store: Path) -> dict[str, list[tuple[object, ...]]]:
    reading = open_store(store)
    return {name: reading.connection.sql(f"SELECT * FROM {name} ORDER BY ALL").fetchall() for name in TABLES}


@pytest.mark.parametrize("source", SOURCES, ids=lambda each: each.NAME)
def test_a_source_is_complete(source: Source) -> None:
    assert isinstance(source, Source)
    assert source.NAME.isidentifier()
    assert source.TITLE
    assert source.HINT
    assert set(FIELDS) >= source.FILLS


@pytest.mark.parametrize("folder", OWNED)
def test_examples_are_read_by_their_own_source_without_rejects(examples: Path, tmp_path: Path, folder: str) -> None:
    found = discover([examples / folder]).found
    assert {each.source.NAME for each in found} == {OWNED[folder]}
    report = ingest(Store(tmp_path), Request([examples / folder]))
    assert report.rejects == 0
    assert report.failed == []
    assert sum(report.rows.values()) > 0


@pytest.mark.parametrize("folder", FOREIGN)
def test_foreign_formats_are_skipped(examples: Path, folder: str) -> None:
    assert discover([examples / folder]).found == []


@pytest.mark.parametrize("folder", OWNED)
def test_reading_twice_equals_reading_once(examples: Path, tmp_path: Path, folder: str) -> None:
    request = Request([examples / folder], force=True)
    ingest(Store(tmp_path), request)
    once = content(tmp_path)
    ingest(Store(tmp_path), request)
    assert content(tmp_path) == once


@pytest.mark.parametrize("folder", OWNED)
def test_damage_is_counted_or_skipped_but_never_a_crash(examples: Path, tmp_path: Path, folder: str) -> None:
    for number, keep in enumerate((0.3, 0.7, 0.97)):
        broken = tmp_path / str(number) / folder
        shutil.copytree(examples / folder, broken)
        for file in broken.rglob("*"):
            if file.is_file():
                file.chmod(0o644)
                data = file.read_bytes()
                file.write_bytes(data[: int(len(data) * keep)])
        if not discover([broken]).found:
            with pytest.raises(UnrecognisedError, match=folder):
                ingest(Store(tmp_path / f"store{number}"), Request([broken]))
            continue
        report = ingest(Store(tmp_path / f"store{number}"), Request([broken]))
        assert not any("unexpected" in each for each in report.failed), report.failed
        assert report.rows["rejects"] or report.skipped or report.notes or report.failed or report.rollouts


@pytest.mark.parametrize("source", SOURCES, ids=lambda each: each.NAME)
@pytest.mark.parametrize(
    "data", [b"", b"\x00" * 64, b"{", b"[]", b"null", b'"x"', b"[[[[", b"{}", b'{"a":NaN}', b"\xff\xfe"]
)
def test_no_source_claims_or_chokes_on_rubbish(tmp_path: Path, source: Source, data: bytes) -> None:
    path = tmp_path / "rubbish.jsonl"
    path.write_bytes(data)
    assert source.matches(Peek(path)) is False
    assert source.matches(Peek(tmp_path)) is False
