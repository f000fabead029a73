"""The rulebook `health`: what trainers call the things they measure, and which patterns in them count as unhealthy.

Reads and checks `rules/health.toml` (or the store's own `health.toml`), whose remarks say what every entry means, and
matches reported names with it. Asks nothing of the store but where it lies.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import translate
from functools import cached_property
from math import isfinite
from pathlib import Path
from typing import Any, Final

from ingest.schema import SPLITS
from queries.rulebook import Rulebook, rulebook

NAME: Final = "health"
UNITS: Final = ("share", "nats", "steps", "tokens", "s", "")
BETTER: Final = ("up", "down", "either")
BOUNDS: Final[dict[str, tuple[frozenset[str], frozenset[str]]]] = {
    "falls": (frozenset(), frozenset(("ratio", "by", "beyond", "against", "excused"))),
    "rises": (frozenset(), frozenset(("ratio", "by", "beyond", "against", "excused"))),
    "high": (frozenset(("beyond",)), frozenset()),
    "spikes": (frozenset(("ratio", "window", "at_least")), frozenset()),
    "apart": (frozenset(("other", "ratio_other")), frozenset(("ratio", "by", "beyond"))),
    "flat": (frozenset(("share",)), frozenset()),
    "drop": (frozenset(("share",)), frozenset()),
    "still": (frozenset(("min_steps",)), frozenset()),
    "silent": (frozenset(("ratio", "minutes", "days")), frozenset()),
    "nulls": (frozenset(("at_least",)), frozenset()),
}
"""Kinds of patterns: the bounds each needs, and those it may have."""
_WORDS: Final = {"against": ("start", "before"), "excused": ("reward",)}
_CONVERTED: Final = re.compile(r"(?:(?P<one>1) - |(?P<times>\d+(?:\.\d+)?(?:e[+-]?\d+)?) \* )?(?P<name>\S.*)")


@dataclass(frozen=True, slots=True)
class Name:
    """One name of a measure, and how its value becomes the measure's: `plus` + `times` · value."""

    written: str
    trainer: str
    pattern: str
    plus: float = 0.0
    times: float = 1.0


@dataclass(frozen=True, slots=True)
class Measure:
    """One thing that is measured: as the screen calls it, its unit, which way is better, and its names in order."""

    key: str
    title: str
    unit: str
    better: str
    panel: str
    names: tuple[Name, ...]


@dataclass(frozen=True, slots=True)
class Pattern:
    """Something that is known to go wrong: what is looked for in which measure, and with which bounds."""

    key: str
    title: str
    kind: str
    measure: str
    bounds: Mapping[str, Any]
    why: str


@dataclass(frozen=True, slots=True)
class Windows:
    """How the ends of a series are compared."""

    share: float
    at_least: int
    at_most: int
    min_steps: int
    noise: float


@dataclass(frozen=True, slots=True)
class Match:
    """What a reported name stands for: a measure of a split, and its rank among the names that may fill it."""

    measure: str
    split: str
    rank: int
    name: Name


@dataclass(frozen=True)
class Rules:
    """The whole rulebook, checked."""

    measures: dict[str, Measure]
    patterns: dict[str, Pattern]
    windows: Windows
    prefixes: tuple[tuple[str, str], ...]

    def match(self, name: str, split: str | None) -> Match | None:
        """What a reported name (of the split that the source gives, if any) stands for; None where nothing knows it."""
        if (found := self._exact.get(name)) is not None:
            return Match(found[0], split or "train", found[1], found[2])
        for prefix, own in self.prefixes:
            if name.startswith(prefix) and (found := self._matched(name.removeprefix(prefix))) is not None:
                return Match(found[0], split or own, found[1], found[2])
        found = self._matched(name)
        return None if found is None else Match(found[0], split or "train", found[1], found[2])

    def _matched(self, name: str) -> tuple[str, int, Name] | None:
        exact = self._exact.get(name)
        return exact or next((found for regex, found in self._globs if regex.fullmatch(name)), None)

    @cached_property
    def _ranked(self) -> list[tuple[str, int, Name]]:
        return [(each.key, rank, name) for each in self.measures.values() for rank, name in enumerate(each.names)]

    @cached_property
    def _exact(self) -> dict[str, tuple[str, int, Name]]:
        return {found[2].pattern: found for found in reversed(self._ranked) if "*" not in found[2].pattern}

    @cached_property
    def _globs(self) -> list[tuple[re.Pattern[str], tuple[str, int, Name]]]:
        starred = (found for found in self._ranked if "*" in found[2].pattern)
        return [(re.compile(translate(re.sub(r"([\[?])", r"[\1]", found[2].pattern))), found) for found in starred]


def health_rules(folder: Path) -> Rules:
    """The rules in force for the store in a folder.

    Raises:
        QuestionError: A rule is not as it should be; the message names file and line.
    """
    book = rulebook(folder, NAME)
    parts = {each: _table(book, book.content, each) for each in ("windows", "prefixes", "measures", "patterns")}
    _only(book, book.content, parts, "the rules")
    measures = {key: _measure(book, key, _table(book, parts["measures"], key)) for key in parts["measures"]}
    patterns = {key: _pattern(book, key, _table(book, parts["patterns"], key), measures) for key in parts["patterns"]}
    return Rules(measures, patterns, _windows(book, parts["windows"]), _prefixes(book, parts["prefixes"]))


def _table(book: Rulebook, inside: Mapping[str, Any], key: str) -> dict[str, Any]:
    found = inside.get(key)
    if not isinstance(found, dict):
        raise book.error(key, f"there must be a table {key!r}")
    return found


def _only(book: Rulebook, table: Mapping[str, Any], known: Mapping[str, Any] | frozenset[str], where: str) -> None:
    for key in table:
        if key not in known:
            raise book.error(key, f"{where} have no {key!r}; they have {', '.join(sorted(known))}")


def _text(book: Rulebook, table: Mapping[str, Any], key: str, where: str, allowed: tuple[str, ...] = ()) -> str:
    value = table.get(key)
    if not isinstance(value, str) or (allowed and value not in allowed):
        wanted = f"one of {', '.join(each or 'an empty text' for each in allowed)}" if allowed else "a text"
        raise book.error(f"[{where}]", f"{key} of {where} must be {wanted}, not {value!r}")
    return value


def _number(book: Rulebook, table: Mapping[str, Any], key: str, where: str) -> float:
    value = table.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value) or value < 0:
        raise book.error(key, f"{key} of {where} must be a number from 0, not {value!r}")
    return float(value)


def _measure(book: Rulebook, key: str, table: dict[str, Any]) -> Measure:
    where = f"measures.{key}"
    _only(book, table, frozenset(("title", "unit", "better", "panel", "names")), where)
    title = _text(book, table, "title", where)
    panel = _text(book, table, "panel", where) if "panel" in table else title
    names = []
    for trainer, listed in _table(book, table, "names").items():
        if not isinstance(listed, list) or not all(isinstance(each, str) for each in listed):
            raise book.error(f"{trainer} =", f"the names of {trainer} must be a list of texts, not {listed!r}")
        names += [_name(book, each, trainer) for each in listed]
    unit, better = _text(book, table, "unit", where, UNITS), _text(book, table, "better", where, BETTER)
    return Measure(key, title, unit, better, panel, tuple(names))


def _name(book: Rulebook, written: str, trainer: str) -> Name:
    found = _CONVERTED.fullmatch(written)
    if found is None:
        raise book.error(f'"{written}"', f"{written!r} is no name of a metric")
    if found["one"]:
        return Name(written, trainer, found["name"], 1.0, -1.0)
    return Name(written, trainer, found["name"], 0.0, float(found["times"] or 1.0))


def _pattern(book: Rulebook, key: str, table: dict[str, Any], measures: Mapping[str, Measure]) -> Pattern:
    where = f"patterns.{key}"
    kind = _text(book, table, "kind", where, tuple(BOUNDS))
    needed, allowed = BOUNDS[kind]
    own = frozenset(("title", "measure", "kind", "why"))
    _only(book, table, own | needed | allowed, where)
    if missing := needed - table.keys():
        raise book.error(f"[{where}]", f"{where} needs {' and '.join(sorted(missing))}")
    if kind in ("falls", "rises", "apart") and not table.keys() & {"ratio", "by", "beyond"}:
        raise book.error(f"[{where}]", f"{where} needs one of ratio, by and beyond")
    bounds: dict[str, Any] = {}
    for name in (needed | allowed) & table.keys():
        if name in _WORDS:
            bounds[name] = _text(book, table, name, where, _WORDS[name])
        elif name == "other":
            bounds[name] = _text(book, table, name, where, tuple(measures))
        else:
            bounds[name] = _number(book, table, name, where)
    measure = _text(book, table, "measure", where, tuple(measures)) if "measure" in table or kind != "nulls" else ""
    return Pattern(key, _text(book, table, "title", where), kind, measure, bounds, _text(book, table, "why", where))


def _windows(book: Rulebook, table: dict[str, Any]) -> Windows:
    _only(book, table, frozenset(Windows.__slots__), "windows")
    share, least, most, steps, noise = (_number(book, table, each, "windows") for each in Windows.__slots__)
    if not 0 < share <= 0.5:
        raise book.error("share", f"share of windows must lie between 0 and 0.5, not at {share:g}")
    if not 1 <= least <= most or steps < 2 * least:
        raise book.error("[windows]", "windows need 1 <= at_least <= at_most, and min_steps of twice at_least or more")
    return Windows(share, int(least), int(most), int(steps), noise)


def _prefixes(book: Rulebook, table: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    _only(book, table, frozenset(SPLITS), "prefixes")
    found = []
    for split, listed in table.items():
        if not isinstance(listed, list) or not all(isinstance(each, str) and each for each in listed):
            raise book.error(f"{split} =", f"the prefixes of {split} must be a list of texts, not {listed!r}")
        found += [(each, split) for each in listed]
    return tuple(sorted(found, key=lambda pair: -len(pair[0])))
