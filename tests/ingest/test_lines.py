"""Blocks of lines: what is read stays as it is while somebody looks at it."""

from pathlib import Path

import pytest

from ingest import lines
from ingest.lines import blocks


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(lines, "BLOCK_BYTES", 64)
    path = tmp_path / "lines.jsonl"
    path.write_bytes(b"".join(b"%d " % number * (number % 40) + b"\n" for number in range(500)))
    return path


def test_blocks_are_the_file_though_all_are_kept(file: Path) -> None:
    kept = list(blocks(file))
    content = file.read_bytes()
    assert len(kept) > 100
    for offset, block in kept:
        assert block is not None
        assert content[offset : offset + len(block)] == block
    assert b"".join(block for _, block in kept if block is not None) == content


def test_the_memory_of_a_block_is_used_again(file: Path) -> None:
    found = [(id(block.obj), bytes(block)) for _, block in blocks(file) if block is not None]
    assert b"".join(each for _, each in found) == file.read_bytes()
    assert len({where for where, _ in found}) <= 2


@pytest.mark.parametrize("start", [1, 63, 64, 1000])
def test_parts_of_a_file_share_its_lines(file: Path, start: int) -> None:
    size = file.stat().st_size
    parts = [*blocks(file, 0, start), *blocks(file, start, size)]
    assert b"".join(block for _, block in parts if block is not None) == file.read_bytes()


def test_a_last_line_longer_than_the_room_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "BLOCK_BYTES", 8)
    monkeypatch.setattr(lines, "_SLACK_BYTES", 4)
    path = tmp_path / "lines.jsonl"
    content = b"a\n" + b"b" * 100 + b"\nc\n" + b"d" * 30
    path.write_bytes(content)
    assert [(offset, bytes(block)) for offset, block in blocks(path) if block is not None] == [
        (0, b"a\n" + b"b" * 100 + b"\n"),
        (103, b"c\n" + b"d" * 30),
    ]
