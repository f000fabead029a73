"""Finds the sources under paths, globs and folders: who recognises what, and what nobody does."""

import glob
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import xxhash

from ingest.reading import Peek
from ingest.sources import SOURCES
from ingest.sources.base import Source
from ingest.unrecognised import explained

IGNORED_FOLDERS = frozenset({".git", "node_modules", "__pycache__", ".venv", "venv", ".mypy_cache", "_delta_log"})
_STORE_FILES = frozenset({"lake", "observatory.duckdb"})
_GLOB = frozenset("*?[")


@dataclass(frozen=True, slots=True)
class Found:
    """A source that will be read: which module, where, and under which identity."""

    source: Source
    path: Path
    source_id: str


@dataclass(slots=True)
class Discovery:
    """What was found under the given paths, and what nothing recognised (inside folders: no error)."""

    found: list[Found]
    skipped: list[Path]
    errors: list[str]
    """What is wrong with paths that were named themselves."""


def discover(paths: Sequence[str | Path], forced: Source | None = None) -> Discovery:
    """Look at files, folders and globs.

    `forced` reads every named file with one source (folders are still walked). A path that does not exist, or a named
    file that nothing recognises, is an error; an unknown file inside a folder is only skipped, unless all are.
    """
    result = Discovery([], [], [])
    seen: set[str] = set()
    walked: set[Path] = set()
    for given in paths:
        expanded = _expanded(str(given))
        if not expanded:
            result.errors.append(f"{str(given)[:200] or 'an empty path'}: there is no such file or folder")
        for path in expanded:
            if not path.is_file() and not path.is_dir():
                result.errors.append(f"{path}: it is neither a file nor a folder, so that it cannot be read twice")
                continue
            if forced is None and path.is_file() and recognise(path) is None:
                result.errors.append(explained(path))
                continue
            for each in _walk(path.resolve(), forced, result.skipped, walked):
                if each.source_id not in seen:
                    seen.add(each.source_id)
                    result.found.append(each)
    if not result.found and not result.errors and result.skipped:
        more = len(result.skipped) - 1
        others = f" {more} more of the folder's files are not recognised either." if more else ""
        result.errors.append(explained(result.skipped[0]) + others)
    return result


def recognise(path: Path) -> Source | None:
    """The first source that recognises the file or folder."""
    peek = Peek(path)
    return next((source for source in SOURCES if source.matches(peek)), None)


def source_uri(path: Path) -> str:
    """Canonical URI of a file or folder: the identity under which it is read again and replaced."""
    return path.resolve().as_uri()


def _expanded(given: str) -> list[Path]:
    if not given.strip():  # would be the current folder: an unset variable, most likely
        return []
    try:
        path = Path(given).expanduser()
        if path.exists() or not _GLOB & set(given):
            return [path] if path.exists() else []
        found = sorted(glob.glob(str(path), recursive=True))  # noqa: PTH207 - absolute patterns too
    except (OSError, ValueError, RuntimeError):  # too long for a path, a NUL in it, no such user's home
        return []
    return [Path(each) for each in found]


def _walk(path: Path, forced: Source | None, skipped: list[Path], walked: set[Path]) -> Iterator[Found]:
    """Sources at and below a resolved path. `walked` are folders looked at already: links may lead back to them."""
    if path.is_file():
        source = forced or recognise(path)
        if source is None:
            skipped.append(path)
        else:
            yield Found(source, path, source_uri(path))
        return
    if not os.access(path, os.R_OK | os.X_OK):
        skipped.append(path)
        return
    if path in walked:
        return
    walked.add(path)
    peek = Peek(path)
    claimed = forced if forced is not None and forced.matches(peek) else None
    if forced is None:
        claimed = next((source for source in SOURCES if source.matches(peek)), None)
    if claimed is not None:
        yield Found(claimed, path, source_uri(path))
        return
    if peek.names >= _STORE_FILES:  # a store, ours or another
        return
    for name in sorted(peek.names):
        if name not in IGNORED_FOLDERS and not name.startswith("._"):
            try:
                inner = (path / name).resolve()
            except (OSError, RuntimeError):  # links that lead round in a circle
                inner = path / name
            if inner.is_file() or inner.is_dir():
                yield from _walk(inner, forced, skipped, walked)
            else:  # a socket, a pipe, a dangling link
                skipped.append(path / name)


def content_hash(path: Path) -> tuple[str, int]:
    """Hash of a file's bytes, or of all files of a folder with their names; and the size in bytes."""
    digest = xxhash.xxh3_128()
    size, room = 0, memoryview(bytearray(1024 * 1024))
    for file in [path] if path.is_file() else sorted(each for each in path.rglob("*") if each.is_file()):
        if file != path:
            digest.update(os.fsencode(str(file.relative_to(path))) + b"\0")
        try:
            with file.open("rb") as stream:
                while count := stream.readinto(room):
                    digest.update(room[:count])
                    size += count
        except OSError as error:
            digest.update(str(error).encode())
    return digest.hexdigest(), size
