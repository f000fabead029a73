"""Reading files as they come: plain, gzip or zstd; BOMs, CRLF, blank lines, half lines, NaN literals, huge lines.

Shared by all sources. Nothing here knows a format.
"""

import contextlib
import gzip
import io
import json
import math
import stat
import sys
import zlib
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, cast

import orjson
import zstandard

from ingest.errors import UnreadableError

MAX_LINE_BYTES = 256 * 1024 * 1024
"""A longer line is a reject: it is no record but an accident."""
MAX_INFLATED_BYTES = 1024 * 1024 * 1024
"""A compressed file read as a whole may not grow beyond this: a few megabytes can inflate to any size."""
PEEK_BYTES = 1024 * 1024
MAX_DEPTH = 1024
"""Levels of nesting that orjson reads; deeper is a reject, whichever parser met it."""
MAX_REWARD = 1e50
"""Beyond this a number is no reward: sums of its powers, and with them every interval, would be infinite."""
sys.setrecursionlimit(max(sys.getrecursionlimit(), 4 * MAX_DEPTH))  # what was read is walked and written again
BOM = b"\xef\xbb\xbf"
DAMAGE = (OSError, EOFError, zlib.error, zstandard.ZstdError)
"""What reading a damaged file raises."""


def open_binary(path: Path) -> BinaryIO:
    """Open a file for reading bytes, decompressing gzip and zstd by their magic numbers, not by extension."""
    raw = _opened(path)
    magic = raw.read(4)
    raw.seek(0)
    if magic[:2] == b"\x1f\x8b":
        unzipped = gzip.GzipFile(fileobj=raw)
        unzipped.myfileobj = cast(Any, raw)  # closed with it
        return cast(BinaryIO, unzipped)
    if magic == b"\x28\xb5\x2f\xfd":
        return cast(BinaryIO, io.BufferedReader(_ZstdFile(raw), 1024 * 1024))
    return raw


def _opened(path: Path) -> BinaryIO:
    if not stat.S_ISREG(path.stat().st_mode):  # opening a named pipe would wait for a writer for ever
        raise OSError("it is no regular file")
    return path.open("rb")


_INFLATED_BYTES = 4 * 1024 * 1024
"""About as much is decompressed at a time."""


class _ZstdFile(io.RawIOBase):
    """Decompresses frame after frame. The library's own reader takes a file cut within a frame for a complete one."""

    def __init__(self, raw: BinaryIO) -> None:
        self._raw = raw
        self._frame: zstandard.ZstdDecompressionObj | None = None
        self._ready = memoryview(b"")
        self._size = 256

    def readable(self) -> bool:
        return True

    def readinto(self, into: Any) -> int:
        while not self._ready:
            piece = self._raw.read(self._size)
            if not piece and self._frame is not None:
                raise EOFError("the file ends within a zstd frame")
            if not piece:
                return 0
            self._ready = memoryview(self._decompressed(piece))
            growth = max(len(self._ready) // len(piece), 1)  # a hostile frame can grow thirty thousandfold
            self._size = min(max(_INFLATED_BYTES // growth, 128), 8 * 1024)
        count = min(len(into), len(self._ready))
        into[:count] = self._ready[:count]
        self._ready = self._ready[count:]
        return count

    def _decompressed(self, piece: bytes) -> bytes:
        found = []
        while piece:
            self._frame = self._frame or zstandard.ZstdDecompressor().decompressobj()
            found.append(self._frame.decompress(piece))
            piece = self._frame.unused_data if self._frame.eof else b""
            if self._frame.eof:
                self._frame = None
        return b"".join(found)

    def close(self) -> None:
        self._raw.close()
        super().close()


def is_compressed(path: Path) -> bool:
    """Whether the file is gzip or zstd (and so cannot be split by byte ranges)."""
    with _opened(path) as raw:
        magic = raw.read(4)
    return magic[:2] == b"\x1f\x8b" or magic == b"\x28\xb5\x2f\xfd"


def read_bytes(path: Path) -> bytes:
    """The whole file, decompressed, without a BOM.

    Raises:
        UnreadableError: It cannot be read or decompressed.
    """
    try:
        with open_binary(path) as file:
            data = _inflated(file, path) if is_compressed(path) else file.read()
            return data.removeprefix(BOM)
    except DAMAGE as error:
        raise UnreadableError(f"{path}: cannot be read ({error})") from error


def _inflated(file: BinaryIO, path: Path) -> bytes:
    data = bytearray()
    while piece := file.read(4 * 1024 * 1024):
        data += piece
        if len(data) > MAX_INFLATED_BYTES:
            raise UnreadableError(f"{path}: inflates to more than a gibibyte; decompress it first")
    return bytes(data)


def parse_json(data: bytes | str) -> Any:
    """Parse JSON; NaN and Infinity literals, which Python writes and the standard forbids, are accepted.

    Raises:
        ValueError: It is not JSON.
        RecursionError: It is nested too deeply (turned into a ValueError).
    """
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError as error:
        try:
            text = data.decode("utf-8", "replace") if isinstance(data, bytes) else data
            value = json.loads(text)
        except RecursionError:
            raise ValueError("nested too deeply") from None
        except ValueError:
            raise ValueError(f"not JSON: {error}") from None
    if text.count("[") + text.count("{") > MAX_DEPTH and _is_deep(value):
        raise ValueError("nested too deeply")
    return value


def _is_deep(value: Any) -> bool:
    level, depth = [value], 0
    while level and depth < MAX_DEPTH:
        holders = [each for each in level if isinstance(each, dict | list)]
        level = [inner for each in holders for inner in (each.values() if isinstance(each, dict) else each)]
        depth += 1
    return bool(level)


def dump_json(value: Any) -> str | None:
    """Compact JSON with sorted keys for a `json` column; None stays None, what JSON lacks becomes text.

    Always JSON that a database reads: no NaN, no half of a surrogate pair, no integer without end.
    """
    if value is None:
        return None
    try:
        return orjson.dumps(value, default=str, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS).decode()
    except (TypeError, ValueError):
        return json.dumps(_plain(value), default=str, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _plain(value: Any) -> Any:
    """What orjson refuses, made acceptable: huge integers and keys as text, NaN as null, surrogates replaced."""
    if isinstance(value, dict):
        plain = {text(key if isinstance(key, str) else str(key)): _plain(each) for key, each in value.items()}
        return dict(sorted(plain.items(), key=lambda item: str(item[0])))
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, str):
        return text(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    is_huge = isinstance(value, int) and not isinstance(value, bool) and not -(2**63) <= value < 2**64
    return f"{value}" if is_huge else value


def number(value: Any) -> float | None:
    """A finite float, or None: NULL, NaN, infinite, text and booleans-as-text are not numbers (True is 1.0)."""
    if isinstance(value, bool | int | float):
        try:
            as_float = float(value)
        except OverflowError:
            return None
        return as_float if math.isfinite(as_float) else None
    return None


def reward(value: Any) -> float | None:
    """A reward: a number up to `MAX_REWARD` from 0, or None. What is larger is a mistake, and no mean of it exists."""
    found = number(value)
    return None if found is None or abs(found) > MAX_REWARD else found


def odd_score(stated: Any) -> str | None:
    """A stated score that is no finite number, as text to be kept; None where it is a number or nothing is stated."""
    if stated is None or number(stated) is not None:
        return None
    return str(stated) if isinstance(stated, float) else text(stated)


def whole(value: Any) -> int | None:
    """An integer that fits 64 bits, or None. `3.0` and `"3"` are 3; True is not a count."""
    if isinstance(value, str) and value.strip().removeprefix("-").isdecimal() and len(value) < 20:
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value) if abs(value) < 2**63 else None
    if isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**63:
        return value
    return None


def text(value: Any) -> str | None:
    """Text as it is, anything else as JSON, None as None. Lone surrogates are replaced, so that it can be stored."""
    if value is None:
        return None
    result = value if isinstance(value, str) else dump_json(value) or ""
    return result if result.isascii() else result.encode("utf-8", "replace").decode()


def timestamp(value: Any) -> datetime | None:
    """A UTC time from epoch seconds, milliseconds, micro- or nanoseconds, or ISO 8601 text; naive counts as UTC."""
    try:
        if isinstance(value, bool):
            return None
        if isinstance(value, int | float):
            seconds = float(value)
            if not 0 < seconds < math.inf:
                return None
            while abs(seconds) > 1e11:
                seconds /= 1000.0
            return datetime.fromtimestamp(seconds, UTC)
        if isinstance(value, str) and value:
            if value.replace(".", "", 1).isdigit():
                return timestamp(float(value))
            parsed = datetime.fromisoformat(value)
            return parsed.replace(tzinfo=UTC) if parsed.tzinfo is None else parsed.astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return None


def seconds_between(start: datetime | None, end: datetime | None) -> float | None:
    """Seconds from start to end; None where either is missing or the clock ran backwards."""
    if start is None or end is None:
        return None
    seconds = (end - start).total_seconds()
    return seconds if seconds >= 0 else None


def _first_line(path: Path) -> bytes:
    """The first line that is not blank, without BOM."""
    with open_binary(path) as file:
        while line := file.readline(MAX_LINE_BYTES):
            bare = line.removeprefix(BOM).strip()
            if bare:
                return bare
    return b""


def _beginning(file: BinaryIO) -> bytes:
    """Up to `PEEK_BYTES`: of a damaged compressed file, what comes before the damage."""
    pieces: list[bytes] = []
    size = 0
    try:
        while size < PEEK_BYTES and (piece := file.read(min(64 * 1024, PEEK_BYTES - size))):
            pieces.append(piece)
            size += len(piece)
    except DAMAGE:
        pass
    return b"".join(pieces)


class Peek:
    """A look at a file or folder, shared by all sources that ask whether it is theirs. Never raises."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @cached_property
    def is_dir(self) -> bool:
        """Whether it is a folder."""
        return self.path.is_dir()

    @cached_property
    def names(self) -> frozenset[str]:
        """Names of a folder's entries (empty for a file)."""
        try:
            return frozenset(entry.name for entry in self.path.iterdir()) if self.is_dir else frozenset()
        except OSError:
            return frozenset()

    @cached_property
    def head(self) -> bytes:
        """The first mebibyte, decompressed, without BOM (empty for a folder or an unreadable file)."""
        if self.is_dir:
            return b""
        try:
            with open_binary(self.path) as file:
                return _beginning(file).removeprefix(BOM).lstrip()
        except OSError:
            return b""

    @cached_property
    def is_whole(self) -> bool:
        """Whether `head` is the whole file."""
        return len(self.head) < PEEK_BYTES // 2

    @cached_property
    def first(self) -> Any:
        """The first JSON value: of the first line, else of the whole file (None where neither parses).

        Of a list (one document), the list itself; callers look at its first element.
        """
        line = self.head.split(b"\n", 1)[0].strip()
        for data in (line, self.head):
            if data[:1] in (b"{", b"["):
                try:
                    return parse_json(data)
                except ValueError:
                    continue
        if self.head[:1] in (b"{", b"[") and not self.is_dir:
            if b"\n" not in self.head and not self.is_whole:  # one record may be longer than the head
                with contextlib.suppress(ValueError, *DAMAGE):
                    return parse_json(_first_line(self.path))
            try:
                return parse_json(read_bytes(self.path)) if self.path.stat().st_size < 512 * 1024 * 1024 else None
            except (ValueError, OSError, UnreadableError):
                return None
        return None

    @cached_property
    def keys(self) -> frozenset[str]:
        """Keys of the first JSON object (of the first element where the file is one list)."""
        value = self.first
        if isinstance(value, list) and value:
            value = value[0]
        return frozenset(value) if isinstance(value, dict) else frozenset()

    @cached_property
    def is_parquet(self) -> bool:
        """Whether it starts like a Parquet file."""
        return self.head[:4] == b"PAR1"
