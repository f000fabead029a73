"""Reading files line by line, or many lines at once. Nothing here knows a format."""

import multiprocessing
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import BinaryIO, TypeVar, cast

from ingest.errors import UnreadableError
from ingest.reading import BOM, DAMAGE, MAX_LINE_BYTES, open_binary

BLOCK_BYTES = 16 * 1024 * 1024
"""Bytes of lines that are read together: enough for columns to pay, few enough for many workers."""
_PIECE_BYTES = 1024 * 1024
"""A long line is read in such pieces, so that one without end is skipped in little memory."""
Entry = TypeVar("Entry")
_END = object()


def lines(path: Path, start: int = 0, end: int | None = None) -> Iterator[tuple[int, bytes | None]]:
    """Non-blank lines whose first byte lies in [start, end), as (byte offset, line without BOM and line end).

    Offsets count decompressed bytes. A line cut in two by `start` belongs to the part before. A line longer than
    `MAX_LINE_BYTES` is skipped and comes as None.

    Raises:
        UnreadableError: The file cannot be read, or is damaged (what came before has been yielded).
    """
    for offset, block in blocks(path, start, end):
        if block is None:
            yield offset, None
            continue
        here = offset
        for line in block.split(b"\n"):
            bare = (line.removeprefix(BOM) if here == 0 else line).strip(b" \t\r")
            if bare:
                yield here, bare
            here += len(line) + 1


def blocks(path: Path, start: int = 0, end: int | None = None) -> Iterator[tuple[int, bytes | None]]:
    """The same lines, many at once as they stand in the file: (byte offset of the first, lines with their ends).

    Raises:
        UnreadableError: The file cannot be read, or is damaged (what came before has been yielded).
    """
    try:
        with open_binary(path) as file:
            offset = start
            if start:
                file.seek(start - 1)
                offset = start - 1 + len(file.readline())
            while end is None or offset < end:
                pieces: list[bytes] = []
                try:
                    rest = _read_lines(file, BLOCK_BYTES if end is None else min(BLOCK_BYTES, end - offset), pieces)
                except DAMAGE:
                    block = b"".join(pieces)
                    yield offset, block[: block.rfind(b"\n") + 1]
                    raise
                block = b"".join(pieces)
                if not block:
                    return
                if rest:
                    whole = block.rfind(b"\n") + 1
                    if whole:
                        yield offset, block[:whole]
                    yield offset + whole, None
                else:
                    yield offset, block
                offset += len(block) + rest
    except DAMAGE as error:
        raise UnreadableError(f"{path}: damaged or unreadable ({error}); what came before it was kept") from error


def _read_lines(file: BinaryIO, size: int, pieces: list[bytes]) -> int:
    """Collect about `size` bytes, the last line whole; returns how many bytes of it were skipped as too long."""
    while size > 0 and (piece := file.read1(size)):  # type: ignore[attr-defined]  # every file that `open_binary` opens has it
        pieces.append(piece)
        size -= len(piece)
    count, length = len(pieces), 0
    while pieces and not pieces[-1].endswith(b"\n") and (piece := file.readline(_PIECE_BYTES)):
        pieces.append(piece)
        length += len(piece)
        if length > MAX_LINE_BYTES:
            del pieces[count:]
            return length + (0 if piece.endswith(b"\n") else _skip_line(file))
    return 0


def _skip_line(file: BinaryIO) -> int:
    skipped = 0
    while piece := file.readline(_PIECE_BYTES):
        skipped += len(piece)
        if piece.endswith(b"\n"):
            break
    return skipped


def ahead(entries: Iterator[Entry]) -> Iterator[Entry]:
    """The same entries, the next one of which is made by a thread of its own while the latest is looked at.

    Not in a worker of a pool, where the other processors have their own work.
    """
    if multiprocessing.parent_process() is not None:
        yield from entries
        return
    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(next, entries, _END)
        while (entry := coming.result()) is not _END:
            coming = pool.submit(next, entries, _END)
            yield cast(Entry, entry)
