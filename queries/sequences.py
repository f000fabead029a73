"""Rules on the order of calls, as they are written: `run_tests before answer`, `not delete_* after error`.

    rule      = ["not"] event [ relation event [ "within" N ] ]
    relation  = ["directly"] ( "before" | "then" | "after" )
    event     = ( "answer" | "error" | tool ) [ "(" condition { "," condition } ")" ]
    condition = "status=ok" | "status=error" | "agent=" name | "has=" text

An event is a call of a tool (* stands for anything in its name; a name with blanks stands in double quotes), a call
that failed (`error`), or that the rollout ended with an answer (`answer`). `has=` looks into the arguments, in any
case.

    run_tests                    it is called at least once
    not delete_*                 it is never called
    A before B                   every B has an A somewhere before it; said of rollouts with a B
    A then B                     every A is followed by a B some time later; said of rollouts with an A
    A after B                    the same as B before A
    not A before B, not A then B no A has a B anywhere after it; said of rollouts with an A
    not A after B                no A has a B anywhere before it; said of rollouts with a B
    directly                     nothing in between: right before, right after
    within N                     at most N calls apart

Calls count in the order in which they were requested, parallel ones too; the answer comes after all calls.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from ingest.errors import QuestionError

MAX_LENGTH: Final = 300
MAX_APART: Final = 100
EXAMPLES: Final = ("run_tests before answer", "search then open within 3", "not delete_* after error")
_RELATIONS: Final = ("before", "then", "after")
_RESERVED: Final = {*_RELATIONS, "not", "directly", "within"}
_TOKEN: Final = re.compile(r'\s*(?:(?P<quoted>"[^"]*")|(?P<sign>[(),=])|(?P<word>[^\s(),="]+))')


@dataclass(frozen=True, slots=True)
class Event:
    """What a rule speaks of. `tool`: a name, * standing for anything; None for the answer and for any tool."""

    text: str
    tool: str | None = None
    is_answer: bool = False
    status: Literal["ok", "error"] | None = None
    agent: str | None = None
    has: str | None = None


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule as it was read. `first` and `second` in the order of time; without `second` it is of one event alone.

    `every`: which of the two must have the other (`second` in `A before B`, `first` in `A then B`); with `is_not` the
    two must not follow each other. `apart`: calls they lie apart at most, None = any number.
    """

    text: str
    first: Event
    second: Event | None = None
    is_not: bool = False
    every: Literal["first", "second"] = "first"
    apart: int | None = None

    @property
    def applies(self) -> str:
        """Pattern of the rollouts that it says something of. Each call is a digit: 1 = first, 2 = second, 3 = both."""
        if self.second is None:
            return ""
        return "[23]" if not self.is_not and self.every == "second" else "[13]"

    @property
    def broken(self) -> str:
        """Pattern of the rollouts that break it; of a single event that must occur, of those that keep it."""
        if self.second is None:
            return "[13]"
        n = self.apart
        if self.is_not:
            return "[13].*[23]" if n is None else f"[13].{{0,{n - 1}}}[23]"
        if self.every == "first":
            return "[13][01]*$" if n is None else f"[13](?:[01]{{{n}}}|[01]{{0,{n - 1}}}$)"
        return "^[02]*[23]" if n is None else f"(?:[02]{{{n}}}|^[02]{{0,{n - 1}}})[23]"

    @property
    def is_kept_where_found(self) -> bool:
        """Whether finding `broken` means that the rule is kept: a single event that must occur."""
        return self.second is None and not self.is_not


def rule_of(text: str) -> Rule:
    """The rule that is written.

    Raises:
        QuestionError: It is none; the message says at which character, and what is allowed there.
    """
    if len(text) > MAX_LENGTH:
        raise QuestionError(f"a rule has at most {MAX_LENGTH} characters, not {len(text)}")
    return _Parser(text).rule()


def parameter(rule: Rule, tools: Mapping[str, list[str]]) -> dict[str, Any]:
    """The rule as the struct that `views/tool_sequences.sql` takes; `tools`: of each name, those it stands for."""
    events = {"first": rule.first, "second": rule.second or Event("")}
    found: dict[str, Any] = {
        "applies": rule.applies,
        "broken": rule.broken,
        "is_kept_where_found": rule.is_kept_where_found,
        "answer": str((1 if rule.first.is_answer else 0) + (2 if events["second"].is_answer else 0)),
    }
    for name, event in events.items():
        found[name] = {
            "is_call": bool(event.text) and not event.is_answer,
            "tools": None if event.tool is None else tools[event.tool],
            "status": event.status,
            "agent": event.agent,
            "has": None if event.has is None else event.has.lower(),
        }
    return found


class _Parser:
    """Reads a rule word by word. `at`: where in the text the word that comes next begins."""

    def __init__(self, text: str) -> None:
        self.text, self.tokens, at = text, [], 0
        while text[at:].strip():
            found = _TOKEN.match(text, at)
            if found is None:
                start = at + len(text[at:]) - len(text[at:].lstrip())
                raise QuestionError(f"rule {text!r}, character {start + 1}: a quotation mark is not closed")
            kind = str(found.lastgroup)
            self.tokens.append((kind, found.group(kind), found.start(kind)))
            at = found.end()
        self.place = 0

    def rule(self) -> Rule:
        is_not = self._take("not")
        one = self._event()
        if self._peek() is None:
            return Rule(self.text, one, is_not=is_not)
        is_direct = self._take("directly")
        relation = next((each for each in _RELATIONS if self._take(each)), None)
        if relation is None:
            raise self._error("before, then or after" + ("" if is_direct else ", with or without directly"))
        other = self._event()
        apart = 1 if is_direct else None
        if self._take("within"):
            if is_direct:
                raise self._error("nothing: directly already says how far apart", back=1)
            apart = self._number()
        if self._peek() is not None:
            raise self._error("the end of the rule" if apart else "within N, or the end of the rule")
        first, second = (other, one) if relation == "after" else (one, other)
        if first.is_answer:
            raise QuestionError(f"rule {self.text!r}: nothing comes after the answer")
        every: Literal["first", "second"] = "first" if relation == "then" else "second"
        return Rule(self.text, first, second, is_not, every, apart)

    def _event(self) -> Event:
        kind, word, at = self._next("a tool, error or answer")
        if kind == "sign" or (kind == "word" and word in _RESERVED):
            raise self._error("a tool, error or answer", back=1)
        name = word[1:-1] if kind == "quoted" else word
        if not name:
            raise self._error("the name of a tool", back=1)
        values: dict[str, Any] = {}
        if self._take("("):
            while True:
                key, value = self._condition()
                if key in values:
                    raise self._error(f"{key} once only", back=1)
                values[key] = value
                if self._take(")"):
                    break
                if not self._take(","):
                    raise self._error("a comma or )")
        end = self.tokens[self.place - 1]
        text = self.text[at : end[2] + len(end[1])]
        if kind == "word" and name == "answer":
            if values:
                raise QuestionError(f"rule {self.text!r}, character {at + 1}: an answer takes no conditions")
            return Event(text, is_answer=True)
        if kind == "word" and name == "error":
            if values.get("status") == "ok":
                raise QuestionError(f"rule {self.text!r}, character {at + 1}: an error is never status=ok")
            return Event(text, None, status="error", **{key: each for key, each in values.items() if key != "status"})
        return Event(text, None if set(name) == {"*"} else name, **values)

    def _condition(self) -> tuple[str, str]:
        _, key, _ = self._next("status=, agent= or has=")
        if key not in ("status", "agent", "has"):
            raise self._error("status=, agent= or has=", back=1)
        if not self._take("="):
            raise self._error("=")
        kind, value, _ = self._next("a value")
        value = value[1:-1] if kind == "quoted" else value
        if kind == "sign" or not value:
            raise self._error("a value", back=1)
        if key == "status" and value not in ("ok", "error"):
            raise self._error("ok or error", back=1)
        return key, value

    def _number(self) -> int:
        _, word, _ = self._next("a number of calls")
        if not (word.isascii() and word.isdigit() and 1 <= int(word[:4]) <= MAX_APART and len(word) < 4):
            raise self._error(f"a whole number from 1 to {MAX_APART}", back=1)
        return int(word)

    def _peek(self) -> str | None:
        return self.tokens[self.place][1] if self.place < len(self.tokens) else None

    def _take(self, word: str) -> bool:
        is_it = self._peek() == word
        self.place += is_it
        return is_it

    def _next(self, wanted: str) -> tuple[str, str, int]:
        if self.place == len(self.tokens):
            raise self._error(wanted)
        self.place += 1
        return self.tokens[self.place - 1]

    def _error(self, wanted: str, *, back: int = 0) -> QuestionError:
        place = self.place - back
        if place < len(self.tokens):
            _, word, at = self.tokens[place]
            found = f"not {word!r}"
        else:
            at, found = len(self.text.rstrip()), "not the end"
        example = f" (a rule is written like {EXAMPLES[0]!r} or {EXAMPLES[2]!r})"
        return QuestionError(f"rule {self.text!r}, character {at + 1}: here comes {wanted}, {found}{example}")
