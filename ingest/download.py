"""Fetching a file by its URL into a folder, so that `observatory ingest https://…` reads a file like any other.

Streamed, written aside and renamed when whole; an interrupted download goes on where it stopped if the server offers
ranges and the file has not changed. It reads nothing of what it fetches.
"""

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from urllib.parse import unquote

import httpx

from ingest.errors import ServiceError
from ingest.http import ATTEMPTS, client, redact, with_retries

CHUNK_BYTES = 64 * 1024
_STAR_NAME = re.compile(r"filename\*\s*=\s*[\w-]*'[^']*'([^;]+)", re.I)
_NAME = re.compile(r"filename\s*=\s*(?:\"((?:[^\"\\]|\\.)*)\"|([^;]+))", re.I)
_UNSAFE = re.compile(r"[^\w.() +=,@-]+")
_DEVICES = frozenset({"con", "nul", "aux", "prn"})
_LONGEST_NAME = 120


def is_url(path: str) -> bool:
    """Whether a path given by the user is the URL of a file."""
    return path.lower().startswith(("http://", "https://"))


def safe_name(disposition: str | None, url: str) -> str:
    """A file name from a Content-Disposition header or a URL that stays inside the folder it is put in."""
    star = _STAR_NAME.search(disposition or "")
    plain = _NAME.search(disposition or "")
    given = unquote(star[1]) if star else (plain[1] or plain[2]) if plain else ""
    for candidate in (given, unquote(httpx.URL(url).path)):
        name = _UNSAFE.sub("_", re.split(r"[/\\]", candidate.strip().strip('"').rstrip("/"))[-1]).strip(" .")
        if name and name.split(".")[0].lower() not in _DEVICES:
            stem, dot, suffix = name.rpartition(".")
            return name if len(name) <= _LONGEST_NAME else f"{stem[: _LONGEST_NAME - 20]}{dot}{suffix[:19]}"
    return "download"


@dataclass(slots=True)
class _Partial:
    """What has come so far: the bytes, and the tag by which the server recognises the file they belong to."""

    data: Path
    tag: Path

    def range_headers(self) -> dict[str, str]:
        """Headers that ask for the rest, if the file is still the same."""
        if not self.data.is_file() or not self.tag.is_file():
            return {}
        size = self.data.stat().st_size
        return {"Range": f"bytes={size}-", "If-Range": self.tag.read_text("utf-8")} if size else {}

    def remove(self) -> None:
        """Forget what came so far."""
        self.data.unlink(missing_ok=True)
        self.tag.unlink(missing_ok=True)


def download(
    url: str,
    into: Path,
    *,
    headers: Mapping[str, str] | None = None,
    notify: Callable[[str], object] = lambda message: None,
    attempts: int = ATTEMPTS,
    sleep: Callable[[float], object] = time.sleep,
) -> Path:
    """Fetch the file behind an http(s) URL into the folder and return its path.

    Raises:
        GoneError: It is not there, or not open to us (403, 404, 410).
        ServiceError: It cannot be reached, or keeps breaking off; what came is kept for the next try.
    """
    if not is_url(url):
        raise ServiceError(f"{redact(url)}: not an http(s) URL")
    into.mkdir(parents=True, exist_ok=True)
    key = blake2b(url.encode("utf-8", "replace"), digest_size=8).hexdigest()
    partial = _Partial(into / f".{key}.part", into / f".{key}.tag")
    names: list[str] = []
    with client(url, headers=headers) as http:

        def once() -> httpx.Response:
            return _stream(http, url, partial, names, notify)

        with_retries(once, f"GET {url}", tuple((headers or {}).values()), attempts, sleep)
    target = into / names[-1]
    partial.data.replace(target)
    partial.remove()
    return target


def _stream(
    http: httpx.Client, url: str, partial: _Partial, names: list[str], notify: Callable[[str], object]
) -> httpx.Response:
    """One attempt. A connection that drops raises httpx's own error, after which the next goes on from here."""
    with http.stream("GET", url, headers={"Accept-Encoding": "identity", **partial.range_headers()}) as response:
        if response.status_code == 416:  # nothing behind what we have, or another file by now: from the start
            partial.remove()
            raise httpx.ReadError("the range is gone")
        if not response.is_success:
            response.read()
            return response
        size = partial.data.stat().st_size if partial.data.is_file() else 0
        is_rest = response.status_code == 206 and _starts_at(response) == size
        if not is_rest:
            size = 0
            partial.remove()
        tag = response.headers.get("ETag") or response.headers.get("Last-Modified")
        if tag and not tag.startswith("W/"):
            partial.tag.write_text(tag, "utf-8")
        names.append(safe_name(response.headers.get("Content-Disposition"), str(response.url)))
        with partial.data.open("ab") as file:
            for chunk in response.iter_bytes(CHUNK_BYTES):
                file.write(chunk)
                size += len(chunk)
                notify(f"{names[-1]}: {size / 1e6:.1f} MB")
    return httpx.Response(200)


def _starts_at(response: httpx.Response) -> int | None:
    match = re.match(r"bytes (\d+)-", response.headers.get("Content-Range", ""))
    return int(match[1]) if match else None
