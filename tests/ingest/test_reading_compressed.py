"""Compressed files: frames in a row, seek tables, files cut off, and first records longer than what is peeked at."""

import gzip
import json
import struct
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
