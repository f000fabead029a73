"""The rulebook `tools`, read strictly: calls that cannot be taken back, kinds of errors, volatile tools, outputs."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from ingest.errors import QuestionError
from queries.connection import Reading
from queries.rulebook import Rulebook, rulebook

NAME: Final = "tools"
ERRORS: Final = ("unknown_tool", "invalid_arguments", "timeout")
"""Kinds of errors that are told by a pattern, in the order in which they are tried."""


@dataclass(frozen=True, slots=True)
class Destructive:
    """Calls that cannot be taken back: of these tools, with this pattern in their arguments (None = any)."""

    name: str
    tools: tuple[str, ...]
    arguments: str | None


@dataclass(frozen=True, slots=True)
class ToolRules:
    """What the rulebook `tools` says; `origin` as of the rulebook: `default` or `file`."""

    origin: str
    destructive: tuple[Destructive, ...]
    errors: tuple[str, str, str]
    reads: tuple[str, ...]
    volatile: tuple[str, ...]
    huge_bytes: int
    read_bytes: int
    truncated: str


def tool_rules(store: Reading) -> ToolRules:
    """The rules of the store.

    Raises:
        QuestionError: The file cannot be read, or something in it is no rule; the message names the line.
    """
    return _read(store, rulebook(store.root, NAME).text)


@lru_cache(maxsize=8)
def known_tools(store: Reading) -> tuple[str, ...]:
    """Every tool that was ever called, the most called first."""
    choices = store.ask("filter_choices", {})
    return tuple(choices.loc[choices["field"] == "tools", "choice"])


def matched(tools: Iterable[str], patterns: Iterable[str]) -> list[str]:
    """Those tools that one of the patterns names, * standing for anything."""
    told = re.compile("|".join(re.escape(each).replace(r"\*", ".*") for each in patterns) or r"(?!)", re.S)
    return [each for each in tools if told.fullmatch(each)]


@lru_cache(maxsize=8)
def _read(store: Reading, text: str) -> ToolRules:
    """The rules of a text that is in force, checked once."""
    reader = _Reader(store, rulebook(store.root, NAME))
    content = reader.book.content
    reader.only(content, {"destructive", "errors", "reads", "volatile", "outputs"}, "rules of tools")
    errors, outputs = (reader.table(content, each) for each in ("errors", "outputs"))
    reads, volatile = (reader.table(content, each) for each in ("reads", "volatile"))
    reader.only(errors, set(ERRORS), "errors")
    reader.only(reads, {"tools"}, "reads")
    reader.only(volatile, {"tools"}, "volatile")
    reader.only(outputs, {"huge_bytes", "read_bytes", "truncated"}, "outputs")
    rules = content.get("destructive", [])
    if not isinstance(rules, list) or not all(isinstance(each, dict) for each in rules):
        raise reader.book.error("destructive", "destructive rules are written as [[destructive]] blocks")
    unknown, invalid, timeout = (reader.pattern(errors, each) for each in ERRORS)
    return ToolRules(
        origin=reader.book.origin,
        destructive=tuple(reader.destructive(each) for each in rules),
        errors=(unknown, invalid, timeout),
        reads=reader.tools(reads) if reads else (),
        volatile=reader.tools(volatile) if volatile else (),
        huge_bytes=reader.whole(outputs, "huge_bytes", 40_000),
        read_bytes=reader.whole(outputs, "read_bytes", 200),
        truncated=reader.pattern(outputs, "truncated"),
    )


NEVER: Final = r"[^\s\S]"
"""A pattern that is found nowhere, where the rules give none."""


@dataclass(frozen=True, slots=True)
class _Reader:
    """Takes pieces out of a rulebook, and says where it is wrong."""

    store: Reading
    book: Rulebook

    def only(self, table: dict[str, Any], known: set[str], what: str) -> None:
        for key in table:
            if key not in known:
                raise self.book.error(key, f"{what} have no {key!r}; they have {', '.join(sorted(known))}")

    def table(self, content: dict[str, Any], key: str) -> dict[str, Any]:
        found = content.get(key, {})
        if not isinstance(found, dict):
            raise self.book.error(key, f"{key!r} is a table, written [{key}]")
        return found

    def destructive(self, rule: dict[str, Any]) -> Destructive:
        self.only(rule, {"name", "tools", "arguments"}, "destructive rules")
        name = rule.get("name")
        if not isinstance(name, str) or not name.strip():
            raise self.book.error("[[destructive]]", "every destructive rule needs a name")
        return Destructive(name, self.tools(rule), self.pattern(rule, "arguments") if "arguments" in rule else None)

    def tools(self, table: dict[str, Any]) -> tuple[str, ...]:
        found = table.get("tools")
        if not isinstance(found, list) or not found or not all(isinstance(each, str) and each for each in found):
            where = str(table.get("name", "tools"))
            raise self.book.error(where, 'tools is a list of names, * standing for anything: ["delete_*", "shell"]')
        return tuple(found)

    def whole(self, table: dict[str, Any], key: str, default: int) -> int:
        found = table.get(key, default)
        if not isinstance(found, int) or isinstance(found, bool) or found < 0:
            raise self.book.error(key, f"{key} is a whole number of bytes, not {found!r}")
        return found

    def pattern(self, table: dict[str, Any], key: str) -> str:
        found = table.get(key)
        if found is None:
            return NEVER
        if not isinstance(found, str) or not found:
            raise self.book.error(key, f"{key} is a regular expression in quotes")
        try:
            self.store.ask("pattern_check", {"pattern": found})
        except QuestionError as error:
            said = str(error).partition("answered: ")[2] or str(error)
            raise self.book.error(found, f"{key} is no regular expression ({said[:200]})") from error
        return found
