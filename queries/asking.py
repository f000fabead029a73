"""Asks a question by name with parameters given as text: the shell and scheduled exports share it."""

import inspect
import types
import typing
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl

import pandas as pd

from ingest.errors import QuestionError
from queries.connection import Reading
from queries.filters import Filters
from queries.questions import QUESTIONS, Question


def question(name: str) -> Question:
    """The question of that name.

    Raises:
        QuestionError: There is none; the message names them all.
    """
    try:
        return QUESTIONS[name.replace("-", "_")]
    except KeyError:
        raise QuestionError(f"there is no question {name!r}; ask one of {', '.join(sorted(QUESTIONS))}") from None


def parsed(text: str) -> tuple[str, dict[str, str]]:
    """A question written with its parameters, `compare?baseline=base&candidate=tuned@50`: its name, and these.

    Raises:
        QuestionError: There is no such question, or a parameter is given twice or without a value.
    """
    name, _, query = text.strip().partition("?")
    question(name)
    try:
        pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query))
    except ValueError:
        raise QuestionError(f"{text!r}: parameters are written name=value, joined by &") from None
    given = dict(pairs)
    if len(given) < len(pairs):
        raise QuestionError(f"{text!r} gives a parameter twice")
    return name.replace("-", "_"), given


def takes_filters(asked: Question) -> bool:
    """Whether the question takes the shared filters."""
    return "filters" in inspect.signature(asked).parameters


def parameters(asked: Question) -> dict[str, inspect.Parameter]:
    """The question's own parameters by name, without the store and the shared filters."""
    found = inspect.signature(asked).parameters
    return {name: each for name, each in found.items() if name not in ("store", "filters")}


def answer(store: Reading, name: str, filters: Filters, given: Mapping[str, str]) -> pd.DataFrame:
    """The answer to a question, its own parameters given as text (several values separated by commas).

    Raises:
        QuestionError: A parameter is unknown, missing, or does not fit its type; or filters were set that it ignores.
    """
    asked = question(name)
    known = parameters(asked)
    values: dict[str, Any] = {}
    hints = typing.get_type_hints(asked)
    for key, value in given.items():
        key = key.replace("-", "_")
        if key not in known:
            takes = ", ".join(known) or "no parameters of its own"
            raise QuestionError(f"{name} does not take {key!r}; it takes {takes}")
        values[key] = converted(key, value, hints[key])
    lacking = [key for key, each in known.items() if each.default is inspect.Parameter.empty and key not in values]
    if lacking:
        raise QuestionError(f"{name} needs {', '.join('--' + key.replace('_', '-') for key in lacking)}")
    if takes_filters(asked):
        return asked(store, filters, **values)
    rest, own = _own_restriction(filters, known)
    if rest != Filters():
        raise QuestionError(f"{name} is not restricted by filters ({rest.sentence()})")
    return asked(store, **own, **values)


def _own_restriction(filters: Filters, known: Mapping[str, object]) -> tuple[Filters, dict[str, Any]]:
    """What is left of the filters once a question that takes a split or environments of its own has taken those."""
    own: dict[str, Any] = {}
    if "split" in known and filters.splits is not None and len(filters.splits) == 1:
        own["split"] = filters.splits[0]
        filters = replace(filters, splits=None)
    if "environments" in known and filters.environments is not None:
        own["environments"] = filters.environments
        filters = replace(filters, environments=None)
    return filters, own


def converted(name: str, value: str, hint: Any) -> Any:
    """Text as a value of a parameter's type: str, int, float, bool, a tuple of str, or None.

    Raises:
        QuestionError: The text is no such value.
    """
    options = (
        typing.get_args(hint)
        if isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union
        else (hint,)
    )
    if value == "" and type(None) in options:
        return None
    for option in options:
        if typing.get_origin(option) is tuple:
            return tuple(piece.strip() for piece in value.split(","))
    try:
        if bool in options:
            return {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}[value.lower()]
        if int in options:
            return int(value)
        if float in options:
            return float(value)
    except (ValueError, KeyError):
        kind = "true or false" if bool in options else "a whole number" if int in options else "a number"
        raise QuestionError(f"{name} must be {kind}, not {value!r}") from None
    return value
