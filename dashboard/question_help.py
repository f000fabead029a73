"""What `observatory query QUESTION` takes, and what its `--help` says of it. Pure functions of texts."""

import inspect
import re
import textwrap
import types
import typing
from collections.abc import Iterator, Mapping
from typing import Any, Final

from ingest.errors import QuestionError
from queries.asking import parameters, question, takes_filters
from queries.questions import Question

FILTERS: Final = "--run --split --step --status --tool --environment --agent --subset"
WIDTH: Final = 100
_ARMS: Final = ("arm", "baseline", "candidate")
_KINDS: Final[Mapping[Any, str]] = {
    bool: "true or false",
    int: "whole number",
    float: "number",
    str: "text",
    tuple: "texts, separated by commas",
}
_CONSTANT: Final = re.compile(r"`([A-Z][A-Z_]+)`")


def meaning(asked: Question) -> tuple[str, str]:
    """What a question answers, and its columns, from its docstring; either on one line."""
    said = " ".join((asked.__doc__ or "").split("Raises:")[0].split())
    for name, choices in _choices(asked):
        said = said.replace(f"one of `{name}`", f"one of {choices}")
    said, _, columns = said.partition(" Columns: ")
    return said, columns


def _choices(asked: Question) -> Iterator[tuple[str, str]]:
    """The constants that a docstring names, with the texts they hold."""
    for name in dict.fromkeys(_CONSTANT.findall(asked.__doc__ or "")):
        held = inspect.unwrap(asked).__globals__.get(name)
        if isinstance(held, tuple | Mapping) and held and all(isinstance(each, str) for each in held):
            yield name, ", ".join(held)


def question_help(name: str) -> str:
    """Everything one needs to ask a question from the shell.

    Raises:
        QuestionError: There is no such question.
    """
    asked = question(name)
    name = name.replace("-", "_")
    said, columns = meaning(asked)
    own = list(_parameters(asked))
    blocks = [f"{name}: {said[:1].lower()}{said[1:]}", f"Usage: observatory query {name} [OPTIONS]"]
    if own:
        width = max(len(option) for option, _ in own)
        blocks.append("\n".join(["Its own parameters:", *(f"  {option:<{width}}  {what}" for option, what in own)]))
    restricted = f"Filters: {FILTERS}" if takes_filters(asked) else "Filters do not apply to it."
    blocks += [restricted, "Also: --store DIR --snapshot N --format table|json|csv|parquet --out FILE"]
    blocks += [f"Columns: {columns}"] if columns else []
    blocks.append(f"Example: {example(name)}")
    return "\n\n".join(_wrapped(each) for each in blocks)


def _wrapped(block: str) -> str:
    return "\n".join(
        textwrap.fill(line, WIDTH, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)
        for line in block.split("\n")
    )


def example(name: str) -> str:
    """A command that asks a question, with what it needs."""
    asked = question(name)
    needed = [each for each in parameters(asked).values() if each.default is each.empty]
    own = "".join(f" {_option(each.name)} {_placeholder(each)}" for each in needed)
    filters = " --run RUN" if takes_filters(asked) else ""
    return f"observatory query {name}{own}{filters} --format csv"


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _placeholder(parameter: inspect.Parameter) -> str:
    return "RUN@STEP" if parameter.name in _ARMS else parameter.name.upper()


def _parameters(asked: Question) -> Iterator[tuple[str, str]]:
    """The question's own options, with their kind and default."""
    hints = typing.get_type_hints(asked)
    for name, each in parameters(asked).items():
        kind = "RUN@STEP, or RUN" if name in _ARMS else _kind(hints[name])
        default = "needed" if each.default is each.empty else _default(each.default)
        yield _option(name), f"{kind}; {default}"


def _kind(hint: Any) -> str:
    options = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    first = next(each for each in options if each is not type(None))
    return _KINDS[typing.get_origin(first) or first]


def _default(value: object) -> str:
    if value is None:
        return "optional"
    return f"default {str(value).lower() if isinstance(value, bool) else value}"


def own_parameters(arguments: list[str]) -> dict[str, str]:
    """`--name value` and `--name=value` pairs; a name without value is true.

    Raises:
        QuestionError: Something is no option.
    """
    found: dict[str, str] = {}
    waiting: str | None = None
    for each in arguments:
        if each.startswith("--"):
            name, equals, value = each[2:].partition("=")
            found[name] = value if equals else "true"
            waiting = None if equals else name
        elif waiting is not None:
            found[waiting], waiting = each, None
        else:
            raise QuestionError(f"{each!r} is no option; a question's parameters are given as --name value")
    return found
