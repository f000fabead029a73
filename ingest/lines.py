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
_SLACK_BYTES = 1024 * 1024
"""Room for the rest of a block's last line; for a longer one the block is copied."""
_LINE_END = 10
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
        for line in bytes(block).split(b"\n"):
            bare = (line.removeprefix(BOM) if here == 0 else line).strip(b" \t\r")
            if bare:
                yield here, bare
            here += len(line) + 1


def blocks(path: Path, start: int = 0, end: int | None = None) -> Iterator[tuple[int, memoryview | None]]:
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
            buffer = _Buffer()
            while end is None or offset < end:
                try:
                    block, skipped = buffer.read(file, BLOCK_BYTES if end is None else min(BLOCK_BYTES, end - offset))
                except DAMAGE:
                    yield offset, buffer.whole_lines()
                    raise
                size = len(block)
                if skipped:
                    whole = buffer.whole_lines()
                    if whole:
                        yield offset, whole
                    yield offset + len(whole), None
                elif size:
                    yield offset, block
                else:
                    return
                del block
                offset += size + skipped
    except DAMAGE as error:
        raise UnreadableError(f"{path}: damaged or unreadable ({error}); what came before it was kept") from error


class _Buffer:
    """Memory that blocks are read into: what was used before, as soon as nobody looks at it any more.

    Fresh memory for every block costs more than reading it: the system has to clear it first.
    """

    def __init__(self) -> None:
        self._used: list[bytearray] = []
        self._bytes = bytearray()
        self._filled = 0

    def read(self, file: BinaryIO, size: int) -> tuple[memoryview, int]:
        """About `size` bytes, the last line whole; and how many bytes of it were skipped as too long."""
        self._make(size + _SLACK_BYTES)
        with memoryview(self._bytes) as view:
            while self._filled < size and (count := file.readinto1(view[self._filled : size])):  # type: ignore[attr-defined]  # every file that `open_binary` opens has it
                self._filled += count
        if not self._filled or self._bytes[self._filled - 1] == _LINE_END:
            return self._view(self._filled), 0
        last = file.readline(MAX_LINE_BYTES)
        self._append(last)
        is_cut = len(last) == MAX_LINE_BYTES and not last.endswith(b"\n")
        return self._view(self._filled), _skip_line(file) if is_cut else 0

    def whole_lines(self) -> memoryview:
        """What was read last, without the line it ends within."""
        return self._view(self._bytes.rfind(b"\n", 0, self._filled) + 1)

    def _view(self, size: int) -> memoryview:
        return memoryview(self._bytes)[:size]

    def _make(self, size: int) -> None:
        self._filled = 0
        self._bytes = next((each for each in self._used if len(each) == size and _is_free(each)), bytearray())
        if not self._bytes:
            self._bytes = bytearray(size)
            self._used = [self._bytes, *self._used[:2]]

    def _append(self, line: bytes) -> None:
        end = self._filled + len(line)
        if end > len(self._bytes):
            self._bytes = self._bytes[: self._filled] + line
        else:
            self._bytes[self._filled : end] = line
        self._filled = end


def _is_free(memory: bytearray) -> bool:
    """Whether nobody looks at it: as long as somebody does, it cannot grow."""
    try:
        memory.append(0)
    except BufferError:
        return False
    del memory[-1]
    return True


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
