"""The rulebook `graders`, checked: what counts as a verdict where graders are compared."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from queries.connection import Reading
from queries.rulebook import Rulebook, rulebook

NAME: Final = "graders"
_NO_PATTERN: Final = "a pattern of RE2 (a text)"


@dataclass(frozen=True, slots=True)
class GraderRules:
    """The rulebook in force; `parameter` is the struct that `views/ratings.sql` takes."""

    origin: str
    threshold: float
    thresholds: Mapping[str, float]
    wrong: str
    labels: Mapping[str, bool]

    @property
    def parameter(self) -> dict[str, Any]:
        """The rules as a parameter of statements; lists are never empty, so that their type is known."""
        return {
            "threshold": self.threshold,
            "graders": [*self.thresholds, ""],
            "thresholds": [*self.thresholds.values(), self.threshold],
            "wrong": self.wrong,
            "labels": [*self.labels, ""],
            "is_right": [*self.labels.values(), False],
        }


def grader_rules(store: Reading) -> GraderRules:
    """The rules in force for a store: its own `graders.toml`, else the ones that come with Rollout Observatory.

    Raises:
        QuestionError: The file cannot be read, or holds something else; the message names the line.
    """
    return checked(rulebook(store.root, NAME))


def checked(book: Rulebook) -> GraderRules:
    """The rules of a rulebook.

    Raises:
        QuestionError: It holds something else; the message names the line.
    """
    known = {"verdict": ("threshold", "thresholds"), "wrong": ("name",), "labels": ("right", "wrong")}
    _only(book, book.content, tuple(known))
    parts = {name: _table(book, book.content, name) for name in known}
    for name, keys in known.items():
        _only(book, parts[name], keys)
    own = _table(book, parts["verdict"], "thresholds")
    pattern = parts["wrong"].get("name", "")
    if not isinstance(pattern, str):
        raise book.error("name", f"name of [wrong] is {_NO_PATTERN}")
    try:  # Arrow searches with RE2, as DuckDB does
        pc.match_substring_regex(pa.array([""]), pattern)
    except pa.ArrowInvalid as error:
        raise book.error("name", f"name of [wrong] is no pattern of RE2: {str(error)[-120:]}") from None
    return GraderRules(
        book.origin,
        _number(book, parts["verdict"], "threshold"),
        {name: _number(book, own, name) for name in own},
        pattern or r"[^\x00-\x{10FFFF}]",
        {word: right for name, right in (("right", True), ("wrong", False)) for word in _words(book, parts, name)},
    )


def _words(book: Rulebook, parts: Mapping[str, dict[str, Any]], name: str) -> list[str]:
    found = parts["labels"].get(name, [])
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise book.error(name, f"{name} of [labels] is a list of texts")
    return [each.lower() for each in found]


def _only(book: Rulebook, given: Mapping[str, Any], keys: tuple[str, ...]) -> None:
    unknown = next((each for each in given if each not in keys), None)
    if unknown is not None:
        raise book.error(unknown, f"{unknown[:40]!r} is not known here; there is {', '.join(keys)}")


def _table(book: Rulebook, given: Mapping[str, Any], name: str) -> dict[str, Any]:
    found = given.get(name, {})
    if not isinstance(found, dict):
        raise book.error(name, f"{name} is a table, written [{name}]")
    return found


def _number(book: Rulebook, given: Mapping[str, Any], name: str) -> float:
    value = given.get(name, 0.5)
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        raise book.error(name, f"{name[:40]} is a number")
    return float(value)
