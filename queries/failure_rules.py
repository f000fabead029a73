"""The rulebook `failures`, checked: which cause a rollout without success has, whose it is, and what counts as zero."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from queries.connection import Reading
from queries.rulebook import Rulebook, rulebook

NAME: Final = "failures"
WHOSE: Final = ("infrastructure", "grader", "policy", "unknown")
LEFT_OUT: Final = ("infrastructure", "grader")
"""Whose failures are left out where failures are left out: those the policy had no part in."""
PATTERNS: Final = ("error", "stop_reason", "error_type", "error_message", "tool_error", "final_answer")
FLAGS: Final = ("scored", "has_answer")
LISTS: Final = ("status", "environment")
STATUSES: Final = ("completed", "truncated", "budget_exceeded", "infra_error", "grader_error", "cancelled", "unknown")
MAX_RULES: Final = 200
UNCLASSIFIED: Final = "unclassified"
_NEVER: Final = r"[^\x00-\x{10FFFF}]"


@dataclass(frozen=True, slots=True)
class Cause:
    """A cause: its name in answers, what a screen calls it, whose it is, what it means."""

    name: str
    title: str
    whose: str
    meaning: str


@dataclass(frozen=True, slots=True)
class FailureRules:
    """The rulebook in force. `rules`: one mapping a rule, in order, every condition present ("", [] or None = none)."""

    origin: str
    path: str
    causes: Mapping[str, Cause]
    rules: tuple[Mapping[str, Any], ...]
    floor: float
    floors: Mapping[str, float]
    lowest: float
    highest: float
    per_step: tuple[tuple[str, ...], ...]
    per_run: tuple[tuple[str, ...], ...]
    """Settings whose product says how many rollouts a step, or an evaluation, asked for: the first that is known."""
    parameters: Mapping[str, Any] = field(repr=False)
    """The parameter `book` of statements, as `views/rollouts_unsuccessful.sql` takes it."""


def failure_rules(store: Reading) -> FailureRules:
    """The rules in force for a store: its own file, else the ones that come with Rollout Observatory.

    Raises:
        QuestionError: The file cannot be read, or holds something else; the message names the line.
    """
    return checked(rulebook(store.root, NAME))


def checked(book: Rulebook) -> FailureRules:
    """The rules of a rulebook.

    Raises:
        QuestionError: It holds something else; the message names the line.
    """
    _known(book, book.content, ("zero", "asked", "causes", "rules"))
    zero = _table(book, book.content, "zero")
    _known(book, zero, ("reward", "lowest", "highest", "environments"))
    floor, lowest, highest = (_number(book, zero, name, default) for name, default in _DEFAULTS)
    if lowest > highest:
        raise book.error("lowest", "the lowest reward cannot lie above the highest")
    own = _table(book, zero, "environments")
    floors = {name: _number(book, own, name, 0.0) for name in own}
    asked = _table(book, book.content, "asked")
    _known(book, asked, ("per_step", "per_run"))
    per_step, per_run = (_products(book, asked, name) for name in ("per_step", "per_run"))
    causes = _causes(book)
    given = book.content.get("rules")
    if not isinstance(given, list) or not given or not all(isinstance(each, dict) for each in given):
        raise book.error("rules", "there must be rules, each written as [[rules]] with its cause and conditions")
    if len(given) > MAX_RULES:
        raise book.error("rules", f"at most {MAX_RULES} rules are looked at, not {len(given)}")
    rules = tuple(_rule(book, each, number, causes) for number, each in enumerate(given, start=1))
    answers = "|".join(f"(?:{each['final_answer']})" for each in rules if each["final_answer"]) or _NEVER
    foreign = [each for each in rules if each["whose"] in LEFT_OUT]
    by_tools = [each for each in foreign if each["tool_error"] and not each["status"]]
    statuses = {name for each in foreign if each not in by_tools for name in each["status"] or STATUSES}
    parameters = {
        "rules": list(rules),
        "floor": floor,
        "floor_environments": list(floors) or [""],
        "floors": list(floors.values()) or [floor],
        "answers": answers,
        "foreign_statuses": sorted(statuses) or [""],
        "foreign_by_tools": bool(by_tools),
    }
    return FailureRules(
        book.origin, str(book.path), causes, rules, floor, floors, lowest, highest, per_step, per_run, parameters
    )


_DEFAULTS: Final = (("reward", 0.0), ("lowest", 0.0), ("highest", 1.0))


def _causes(book: Rulebook) -> dict[str, Cause]:
    found = {}
    for name, each in _table(book, book.content, "causes").items():
        if not isinstance(each, dict):
            raise book.error(name, f"the cause {name[:40]!r} needs title, whose and meaning")
        _known(book, each, ("title", "whose", "meaning"))
        texts = [each.get(key) for key in ("title", "whose", "meaning")]
        if not all(isinstance(text, str) and text for text in texts):
            raise book.error(f"causes.{name}", f"the cause {name[:40]!r} needs title, whose and meaning, all texts")
        if each["whose"] not in WHOSE:
            raise book.error(f'"{each["whose"]}"', f"whose is one of {', '.join(WHOSE)}, not {each['whose'][:40]!r}")
        found[name] = Cause(name, *map(str, texts))
    return found


def _rule(book: Rulebook, given: dict[str, Any], number: int, causes: Mapping[str, Cause]) -> dict[str, Any]:
    _known(book, given, ("cause", *LISTS, *FLAGS, *PATTERNS))
    cause = given.get("cause")
    if not isinstance(cause, str) or cause not in causes:
        raise book.error(f'"{cause}"', f"rule {number} names a cause that is not described in [causes]: {cause!r:.60}")
    rule: dict[str, Any] = {"rule": number, "cause": cause, "whose": causes[cause].whose}
    for name in LISTS:
        values = given.get(name, [])
        if not isinstance(values, list) or not all(isinstance(each, str) for each in values):
            raise book.error(name, f"{name} of rule {number} is a list of texts")
        rule[name] = values
    unknown = next((each for each in rule["status"] if each not in STATUSES), None)
    if unknown is not None:
        raise book.error(f'"{unknown}"', f"status is one of {', '.join(STATUSES)}, not {unknown[:40]!r}")
    for name in FLAGS:
        if not isinstance(given.get(name), bool | None):
            raise book.error(name, f"{name} of rule {number} is true or false")
        rule[name] = given.get(name)
    for name in PATTERNS:
        rule[name] = _pattern(book, given, name, number)
    return rule


def _products(book: Rulebook, given: Mapping[str, Any], name: str) -> tuple[tuple[str, ...], ...]:
    found = given.get(name, [])
    if not isinstance(found, list) or not all(isinstance(each, str) and each.strip("* ") for each in found):
        raise book.error(name, f'{name} is a list of products of settings, as ["batch_size * attempts"]')
    return tuple(tuple(part.strip() for part in each.split("*")) for each in found)


def _pattern(book: Rulebook, given: dict[str, Any], name: str, number: int) -> str:
    value = given.get(name, "")
    if not isinstance(value, str):
        raise book.error(name, f"{name} of rule {number} is a pattern")
    try:  # Arrow searches with RE2, as DuckDB does
        pc.match_substring_regex(pa.array([""]), value)
    except pa.ArrowInvalid as error:
        said = str(error).rpartition(": ")[2]
        raise book.error(value.splitlines()[0], f"{name} of rule {number} is no pattern of RE2: {said[:120]}") from None
    return value


def _known(book: Rulebook, given: Mapping[str, Any], keys: tuple[str, ...]) -> None:
    unknown = next((each for each in given if each not in keys), None)
    if unknown is not None:
        raise book.error(unknown, f"{unknown[:40]!r} is not known here; there is {', '.join(keys)}")


def _table(book: Rulebook, given: Mapping[str, Any], name: str) -> dict[str, Any]:
    found = given.get(name, {})
    if not isinstance(found, dict):
        raise book.error(name, f"{name} is a table, written [{name}]")
    return found


def _number(book: Rulebook, given: Mapping[str, Any], name: str, default: float) -> float:
    value = given.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        raise book.error(name, f"{name[:40]} is a number")
    return float(value)
