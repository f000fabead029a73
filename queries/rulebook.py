"""Rules that a user may edit: how failures are told apart, what metric names mean, thresholds, prices, tool lists.

Each rulebook is a TOML file in `queries/rules/`, whose remarks are its documentation. A file of the same name in the
store's folder (`observatory rules NAME > STORE/NAME.toml`, then edit it) replaces it as a whole.
"""

import tomllib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, Literal

from ingest.errors import QuestionError

DEFAULTS: Final = Path(__file__).parent / "rules"
MAX_BYTES: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Rulebook:
    """A rulebook as it is in force: where it stands, its text, and what it holds.

    `origin`: `default` for the rules that come with Rollout Observatory, `file` for those of the store's folder.
    """

    path: Path
    origin: Literal["default", "file"]
    text: str
    content: dict[str, Any]

    def line(self, wanted: str) -> int:
        """The line on which something stands first, remarks left out; 1 where it stands nowhere."""
        lines = self.text.splitlines()
        return next((number for number, line in enumerate(lines, start=1) if wanted in line.partition("#")[0]), 1)

    def error(self, wanted: str, said: str) -> QuestionError:
        """What is wrong with something that stands in the file, naming file and line."""
        return QuestionError(f"{self.path}, line {self.line(wanted)}: {said}")


def rulebooks() -> tuple[str, ...]:
    """Names of all rulebooks, in alphabetical order."""
    return tuple(sorted(path.stem for path in DEFAULTS.glob("*.toml")))


def rulebook(folder: Path, name: str) -> Rulebook:
    """The rulebook in force for the store in a folder.

    Raises:
        QuestionError: There is no such rulebook, or the file in the folder cannot be read; the message says where.
    """
    if name not in rulebooks():
        raise QuestionError(f"there are no rules {name[:40]!r}; there are {', '.join(rulebooks()) or 'none'}")
    own = folder / f"{name}.toml"
    stamp = _stamp(own)
    if stamp is None:
        return _read(DEFAULTS / f"{name}.toml", "default", ())
    return _read(own, "file", stamp)


def _stamp(path: Path) -> tuple[int, ...] | None:
    """What changes when a file does; None where there is none."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise QuestionError(f"{path} cannot be read: {error.strerror}") from error
    return found.st_mtime_ns, found.st_size, found.st_ino


@lru_cache(maxsize=64)
def _read(path: Path, origin: Literal["default", "file"], stamp: tuple[int, ...]) -> Rulebook:
    """The rulebook of a file, read once for each state it is in (`stamp`)."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise QuestionError(f"{path} is larger than {MAX_BYTES:,} bytes, which no rules are")
        text = path.read_text(encoding="utf-8")
        return Rulebook(path, origin, text, tomllib.loads(text))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise QuestionError(f"{path} cannot be read: {str(error)[:200]}") from error
