"""JSON documents of OpenAI's objects in files: one document, JSON lines, or a document cut off in its list.

Shared by the OpenAI sources. It knows that answers are lists of objects with an `object` field, and nothing of what
the objects mean.
"""

import json
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import zstandard

from ingest.dialects import Values
from ingest.errors import UnreadableError
from ingest.lines import lines
from ingest.reading import Peek, open_binary, parse_json, read_bytes

LISTS = ("data", "items", "output_items", "runs")
"""Keys under which a page, or somebody's wrapper around one, keeps its objects."""
_LIST_START = re.compile(r'"(?:data|items|output_items)"\s*:\s*\[')
_SPACE = re.compile(r"[\s,]*")


@dataclass(frozen=True, slots=True)
class Document:
    """One JSON object of a file with the place where it stands (`items/3`, a byte offset, or nothing)."""

    value: Values
    place: str
    position: int
    around: Values
    """The object whose list it stands in, without that list; empty where it stands alone."""


@dataclass(frozen=True, slots=True)
class Broken:
    """A piece of a file that could not be read: why, where, and how it begins."""

    reason: str
    place: str
    snippet: str


def documents(path: Path, start: int = 0, end: int | None = None) -> Iterator[Document | Broken]:
    """All objects of a file, pages and wrappers opened. A page that is no list of objects comes as it is.

    Raises:
        UnreadableError: The file cannot be read, or is neither JSON nor JSON lines.
    """
    if start or end is not None or _is_lines(path):
        for offset, line in lines(path, start, end):
            yield from _line(line, offset)
        return
    data = read_bytes(path)
    if not data.strip():
        raise UnreadableError(f"{path}: the file is empty")
    try:
        value = parse_json(data)
    except ValueError as error:
        yield from _rescued(path, data.decode("utf-8", "replace"), str(error))
        return
    if isinstance(value, list):
        value = {"data": value}
    if not isinstance(value, dict):
        raise UnreadableError(f"{path}: holds {type(value).__name__}, not an object or a list of objects")
    yield from opened(value, "", 0)


def _line(line: bytes | None, offset: int) -> Iterator[Document | Broken]:
    try:
        value = parse_json(line) if line is not None else None
    except ValueError as error:
        yield Broken(str(error), f"@{offset}", (line or b"")[:200].decode("utf-8", "replace"))
        return
    if isinstance(value, dict):
        yield from opened(value, f"@{offset}", offset)
    else:
        yield Broken("a line must hold a JSON object of at most 256 MiB", f"@{offset}", str(value)[:200])


def opened(value: Values, place: str, position: int, above: Values | None = None) -> Iterator[Document | Broken]:
    """The objects of a page or wrapper (of a list of wrappers: of each), or the object itself."""
    key = next((key for key in LISTS if isinstance(value.get(key), list)), None)
    if key is None or value.get("object") not in (None, "list", "eval.run"):
        yield Document(value, place, position, above or {})
        return
    around = {**(above or {}), **{name: each for name, each in value.items() if name != key}}
    for index, each in enumerate(value[key]):
        here = f"{place}#{key}/{index}"
        if not isinstance(each, dict):
            yield Broken(f"a list of objects holds {type(each).__name__}", here, str(each)[:200])
        elif above is None and "object" not in each and any(isinstance(each.get(name), list) for name in LISTS):
            yield from opened(each, here, position + index, around)
        else:
            yield Document(each, here, position + index, around)


def _is_lines(path: Path) -> bool:
    """Whether the first line is a JSON object on its own and more lines follow."""
    found = lines(path)
    first = next(found, None)
    if first is None or first[1] is None or first[1][:1] != b"{":
        return False
    try:
        parse_json(first[1])
    except ValueError:
        return False
    return next(found, None) is not None


def _rescued(path: Path, data: str, why: str) -> Iterator[Document | Broken]:
    """The whole objects of a document that breaks off, and a reject that says where it broke.

    Raises:
        UnreadableError: It breaks off before its list begins.
    """
    start = _LIST_START.search(data)
    head = data[: start.end()] if start else "[" if data.lstrip()[:1] == "[" else ""
    try:
        around = json.loads(head + "]}") if start else {}
    except (ValueError, RecursionError):
        head = ""
    if not head:
        raise UnreadableError(f"{path}: {why}; nothing in it could be read")
    decoder = json.JSONDecoder()
    key = start[0].split('"')[1] if start else "data"
    around.pop(key, None)
    position, index = (start.end() if start else data.index("[") + 1), 0
    while True:
        position = _after_space(data, position)
        try:
            value, end = decoder.raw_decode(data, position)
        except (ValueError, RecursionError):
            yield Broken(f"the file breaks off or is damaged here: {why}", f"#{key}/{index}", data[position:][:200])
            return
        if isinstance(value, dict):
            yield Document(value, f"#{key}/{index}", index, around)
        position, index = end, index + 1


def _after_space(data: str, position: int) -> int:
    match = _SPACE.match(data, position)
    return match.end() if match else position


_KIND = re.compile(
    rb'(?<!\\)"object"\s*:\s*"(fine_tuning\.job(?:\.event|\.checkpoint)?|eval\.run(?:\.output_item)?|eval)"'
)
_ITEM_KEYS = (re.compile(rb'(?<!\\)"datasource_item"\s*:'), re.compile(rb'(?<!\\)"(?:results|sample)"\s*:'))
_FOLDER_FILES = 200
_FOLDER_HEAD = 64 * 1024

ITEM = "eval.run.output_item"
RUN = "eval.run"


def kind_of(head: bytes) -> str | None:
    """Which OpenAI object a JSON file holds, by its first bytes (so that a file broken further on is known too)."""
    if head[:1] not in (b"{", b"["):
        return None
    named = _KIND.search(head) if b'"object"' in head else None  # most files are told apart by the quicker look
    if named is not None:
        return named[1].decode()
    is_item = b'"datasource_item"' in head and all(pattern.search(head) for pattern in _ITEM_KEYS)
    return ITEM if is_item else None


def json_files(folder: Path) -> list[Path]:
    """JSON files of a folder and of the folders in it, in order of their names; hidden ones left out."""
    found = (path for path in folder.rglob("*") if ".json" in path.suffixes[-2:] or ".jsonl" in path.suffixes[-2:])
    return sorted(path for path in found if not path.name.startswith(".") and path.is_file())


def folder_kinds(peek: Peek) -> frozenset[str]:
    """Which OpenAI objects the files directly in a folder hold (of its first files, by their first bytes)."""
    names = [name for name in sorted(peek.names) if ".json" in name and not name.startswith(".")]
    heads = (_head(peek.path / name) for name in names[:_FOLDER_FILES])
    return frozenset(kind for head in heads if (kind := kind_of(head)))


def _head(path: Path) -> bytes:
    try:
        with open_binary(path) as file:
            return file.read(_FOLDER_HEAD).removeprefix(b"\xef\xbb\xbf").lstrip()
    except (OSError, EOFError, zlib.error, zstandard.ZstdError):
        return b""
