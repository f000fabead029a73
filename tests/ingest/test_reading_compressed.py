"""Compressed files: frames in a row, seek tables, files cut off, and first records longer than what is peeked at."""

import gzip
import json
import struct
import tracemalloc
from pathlib import Path

import pytest
import zstandard

from ingest.errors import UnreadableError
from ingest.lines import lines
from ingest.reading import Peek, read_bytes

ROWS = [b'{"a": %d}' % number for number in range(20_000)]
CONTENT = b"\n".join(ROWS) + b"\n"
SEEK_TABLE = struct.pack("<II", 0x184D2A5E, 9) + b"x" * 9


def frames() -> bytes:
    return b"".join(zstandard.compress(CONTENT[at : at + 50_000]) for at in range(0, len(CONTENT), 50_000))


@pytest.mark.parametrize("content", [frames(), frames() + SEEK_TABLE, gzip.compress(CONTENT)])
def test_every_frame_is_read(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x"
    path.write_bytes(content)
    assert [line for _, line in lines(path)] == ROWS
    assert read_bytes(path) == CONTENT


def collect(path: Path, into: list[bytes | None]) -> None:
    for _, line in lines(path):
        into.append(line)


@pytest.mark.parametrize("content", [frames(), gzip.compress(CONTENT)])
def test_a_file_cut_off_is_damaged_and_what_came_before_is_kept(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x"
    path.write_bytes(content[:-9])
    kept: list[bytes | None] = []
    with pytest.raises(UnreadableError, match="damaged"):
        collect(path, kept)
    assert kept == ROWS[: len(kept)]
    assert len(kept) > 10_000


def test_a_first_record_longer_than_the_head_is_parsed(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    record = {"id": 1, "text": "x" * 1_200_000}
    path.write_text(json.dumps(record) + "\n" + json.dumps(record) + "\n")
    assert Peek(path).keys == {"id", "text"}


def test_a_line_without_end_is_skipped_in_little_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ingest.lines.MAX_LINE_BYTES", 4 * 1024 * 1024)
    path = tmp_path / "x.zst"
    path.write_bytes(zstandard.compress(b'{"a": 0}\n' + bytes(200 * 1024 * 1024) + b'\n{"a": 1}\n'))
    tracemalloc.start()
    found = list(lines(path))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    end = 9 + 200 * 1024 * 1024 + 1
    assert found == [(0, b'{"a": 0}'), (9, None), (end, b'{"a": 1}')]
    assert peak < 64 * 1024 * 1024


@pytest.mark.parametrize("end", [b"", b"\n", b"\nab\n"])
@pytest.mark.parametrize("length", [9, 10, 11, 12, 13, 25])
def test_lines_up_to_the_limit_are_kept_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, length: int, end: bytes
) -> None:
    monkeypatch.setattr("ingest.lines.BLOCK_BYTES", 1)  # so that nearly all of a line is the rest of its block
    monkeypatch.setattr("ingest.lines.MAX_LINE_BYTES", 12)
    monkeypatch.setattr("ingest.lines._PIECE_BYTES", 5)
    path = tmp_path / "x"
    path.write_bytes(b"x\n" + b"y" * length + end)
    is_kept = length - 1 + len(end[:1]) <= 12  # what is behind the block's first byte, with the line's end
    after = [(2 + length + 1, b"ab")] if len(end) > 1 else []
    assert list(lines(path)) == [(0, b"x"), (2, b"y" * length if is_kept else None), *after]


def test_what_inflates_without_end_is_not_read_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ingest.reading.MAX_INFLATED_BYTES", 1024 * 1024)
    path = tmp_path / "x"
    path.write_bytes(gzip.compress(bytes(1024 * 1024)))
    assert len(read_bytes(path)) == 1024 * 1024
    path.write_bytes(gzip.compress(bytes(1024 * 1024 + 1)))
    with pytest.raises(UnreadableError, match="inflates to more than a gibibyte"):
        read_bytes(path)
