"""The rulebook `integrity`: read, checked, and as the parameters its statements take."""

import math
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from queries.breaks import BreakRules
from queries.connection import Reading
from queries.rulebook import DEFAULTS, Rulebook, rulebook

NAME: Final = "integrity"
CONCERNS: Final = ("hack", "signal")
METHODS: Final[dict[str, tuple[str, ...]]] = {
    "arguments": (),
    "answer": (),
    "echo": ("min_words", "min_share", "min_characters"),
    "degenerate": ("min_words", "max_distinct"),
    "identical": ("min_samples", "min_references", "min_rewarded", "min_lead"),
    "no_tool_use": ("min_share",),
    "format_only": ("min_form", "max_correct"),
    "length": ("min_first",),
    "saturated": (),
    "flat": (),
}
"""Methods by which rollouts are found, and the numbers each takes."""
_PATTERNS: Final = {"echo": ("fields",), "degenerate": ("refusals",), "format_only": ("form", "correct")}
_NEVER: Final = r"[^\s\S]"
"""A pattern that matches nothing."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One pattern of a rule and what it stands for."""

    name: str
    pattern: str


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: what it says, how rollouts are found, and the numbers and patterns of its method."""

    name: str
    title: str
    about: str
    method: str
    concern: str
    only_rewarded: bool
    kinds: tuple[Kind, ...] = ()
    numbers: tuple[tuple[str, float], ...] = ()
    texts: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Rules:
    """The rulebook in force."""

    rules: tuple[Rule, ...]
    max_rollouts: int
    periods: int
    confidence: float
    min_rise: float
    lower_is_better: str
    not_a_judge: str
    jumps: BreakRules
    origin: str

    def parameters(self) -> dict[str, Any]:
        """What the statements take: names and numbers of the methods in force, patterns of answers and of calls."""
        by_method = {each.method: each for each in self.rules}
        numbers = {f"{method}_{name}": 0.0 for method, names in METHODS.items() for name in names}
        numbers |= {f"{each.method}_{name}": value for each in self.rules for name, value in each.numbers}
        texts = {name: _NEVER for names in _PATTERNS.values() for name in names}
        texts |= {"lower_is_better": self.lower_is_better, "not_a_judge": self.not_a_judge}
        for each in self.rules:
            texts |= dict(each.texts)
        return {
            "names": {each: by_method[each].name if each in by_method else None for each in METHODS},
            "numbers": numbers,
            "texts": texts,
            **self._patterns("answer", "answer"),
            **self._patterns("arguments", "call"),
            "max_rollouts": self.max_rollouts,
        }

    def _patterns(self, method: str, name: str) -> dict[str, Any]:
        """The patterns of all rules of a method, and one that matches wherever any of them does."""
        listed = [
            {"rule": rule.name, "kind": kind.name, "pattern": kind.pattern, "only_rewarded": rule.only_rewarded}
            for rule in self.rules
            if rule.method == method
            for kind in rule.kinds
        ]
        nothing = {"rule": "", "kind": "", "pattern": _NEVER, "only_rewarded": True}
        combined = "|".join(f"(?:{each['pattern']})" for each in listed)
        return {f"{name}_patterns": listed or [nothing], f"{name}_any": combined or _NEVER}

    def named(self, name: str) -> Rule | None:
        """The rule of that name, if it is in force."""
        return next((each for each in self.rules if each.name == name), None)


def integrity_rulebook(store: Reading) -> Rules:
    """The rules in force for a store.

    Raises:
        QuestionError: A rule in the store's file is faulty; the message names file and line.
    """
    return _checked(store.root, rulebook(store.root, NAME).text)


@lru_cache(maxsize=8)
def _checked(folder: Path, _text: str) -> Rules:
    """The rules of a folder's rulebook, checked once for each text it has."""
    book = rulebook(folder, NAME)
    settings, second = _table(book, "settings"), _table(book, "second_grader")
    found = [_rule(book, name, table) for name, table in _table(book, "rules").items() if _enabled(book, name, table)]
    methods = [each.method for each in found if not each.kinds]
    for each in found:
        if methods.count(each.method) > 1:
            raise book.error(f"rules.{each.name}", f"only one rule can use the method {each.method!r}")
    return Rules(
        rules=tuple(found),
        max_rollouts=int(_number(book, settings, "max_rollouts", 100, 10_000_000)),
        periods=int(_number(book, settings, "periods", 2, 50)),
        confidence=_number(book, settings, "confidence", 0.5, 0.999999),
        min_rise=_number(book, settings, "min_rise", 0, 1),
        lower_is_better=_pattern(book, second, "lower_is_better"),
        not_a_judge=_pattern(book, second, "not_a_judge"),
        jumps=_jumps(book if "jumps" in book.content else rulebook(DEFAULTS, NAME)),
        origin=book.origin,
    )


def _jumps(book: Rulebook) -> BreakRules:
    table = _table(book, "jumps")
    return BreakRules(
        window=int(_number(book, table, "window", 2, 100)),
        min_steps=int(_number(book, table, "min_steps", 2, 50)),
        min_samples=int(_number(book, table, "min_samples", 2, 100_000)),
        confidence=_number(book, table, "confidence", 0.5, 0.999999),
        min_size=_number(book, table, "min_size", 0, 100),
    )


def _table(book: Rulebook, name: str) -> dict[str, Any]:
    found = book.content.get(name)
    if not isinstance(found, dict):
        raise book.error(name, f"a table [{name}] is needed; `observatory rules {NAME}` shows the default")
    return found


def _enabled(book: Rulebook, name: str, table: Any) -> bool:
    if not isinstance(table, dict):
        raise book.error(name, f"rules.{name} must be a table with title, about, method and concern")
    enabled = table.get("enabled", True)
    if not isinstance(enabled, bool):
        raise book.error("enabled", f"enabled of rules.{name} must be true or false")
    return enabled


def _rule(book: Rulebook, name: str, table: dict[str, Any]) -> Rule:
    method, concern = (_text(book, name, table, each) for each in ("method", "concern"))
    if method not in METHODS:
        raise book.error(method, f"rules.{name}: method must be one of {', '.join(METHODS)}, not {method!r}")
    if concern not in CONCERNS:
        raise book.error(concern, f"rules.{name}: concern must be one of {', '.join(CONCERNS)}, not {concern!r}")
    only, texts = table.get("only_rewarded", False), _PATTERNS.get(method, ())
    if not isinstance(only, bool):
        raise book.error("only_rewarded", f"only_rewarded of rules.{name} must be true or false")
    return Rule(
        name=name,
        title=_text(book, name, table, "title"),
        about=" ".join(_text(book, name, table, "about").split()),
        method=method,
        concern=concern,
        only_rewarded=only,
        kinds=_kinds(book, name, table) if method in ("arguments", "answer") else (),
        numbers=tuple((each, _number(book, table, each, 0, 1_000_000)) for each in METHODS[method]),
        texts=tuple((each, _pattern(book, table, each, without_groups=each == "fields")) for each in texts),
    )


def _kinds(book: Rulebook, name: str, table: dict[str, Any]) -> tuple[Kind, ...]:
    listed = table.get("patterns")
    if not isinstance(listed, list) or not listed:
        raise book.error(f"rules.{name}", f"rules.{name} needs patterns = [ {{ name = …, pattern = … }}, … ]")
    kinds = []
    for each in listed:
        if not isinstance(each, dict):
            raise book.error("patterns", f"a pattern of rules.{name} is written {{ name = …, pattern = … }}")
        kinds.append(Kind(_text(book, name, each, "name"), _pattern(book, each, "pattern")))
    return tuple(kinds)


def _text(book: Rulebook, rule: str, table: dict[str, Any], key: str) -> str:
    found = table.get(key)
    if not isinstance(found, str) or not found.strip():
        raise book.error(f"rules.{rule}", f"rules.{rule} needs {key}, a text")
    return found


def _number(book: Rulebook, table: dict[str, Any], key: str, low: float, high: float) -> float:
    found = table.get(key)
    if isinstance(found, bool) or not isinstance(found, int | float) or not math.isfinite(found):
        raise book.error(key, f"{key} must be a number")
    if not low <= found <= high:
        raise book.error(key, f"{key} must lie between {low:g} and {high:g}, not {found:g}")
    return float(found)


def _pattern(book: Rulebook, table: dict[str, Any], key: str, *, without_groups: bool = False) -> str:
    found = table.get(key)
    if not isinstance(found, str) or not found:
        raise book.error(key, f"{key} must be a pattern")
    try:
        pc.match_substring_regex(pa.array([""]), found)
    except pa.ArrowInvalid as error:
        raise book.error(found[:40], f"{key} is no pattern that RE2 knows: {str(error)[:120]}") from error
    if without_groups and re.search(r"(?<!\\)\((?!\?)", found):
        raise book.error(found[:40], f"{key} must group with (?:…), not with (…)")
    return found
