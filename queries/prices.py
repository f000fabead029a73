"""Prices as the rulebook `prices` states them, and which of them every model, tool, grader and environment has.

A price that nobody stated is not zero: what has none is left out of sums, which then are lower bounds and say so.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from math import isfinite
from typing import Any, Final

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from queries.connection import Reading
from queries.filters import EVERYTHING, Filters
from queries.rulebook import Rulebook, rulebook

NAME: Final = "prices"
MILLION: Final = 1e6
HOUR: Final = 3_600
_TOKENS: Final = ("input_usd_per_million", "cached_input_usd_per_million", "output_usd_per_million")
_CALLS: Final = ("usd_per_call", "usd_per_second")
_ASSUMED: Final = ("input_tokens_per_call", "output_tokens_per_call")
_KEYS: Final[dict[str, tuple[str, ...]]] = {
    "models": _TOKENS,
    "tools": _CALLS,
    "graders": ("usd_per_call", "model", *_ASSUMED),
    "environments": ("usd_per_second", "usd_per_hour"),
}
KINDS: Final = {"models": "model", "tools": "tool", "graders": "grader", "environments": "environment"}
"""Sections of the rulebook, and what one entry of each prices."""


@dataclass(frozen=True, slots=True)
class Price:
    """One entry: the names it is for, and US dollars per token, call and second; NaN where it states none."""

    kind: str
    pattern: str
    input: float = float("nan")
    cached: float = float("nan")
    output: float = float("nan")
    call: float = float("nan")
    second: float = float("nan")


@dataclass(frozen=True, slots=True)
class Prices:
    """All prices in force; `dated` is the day they were looked up, `prefers_reported` which cost counts first."""

    book: Rulebook
    entries: tuple[Price, ...]
    dated: date | None
    prefers_reported: bool

    def of(self, kind: str) -> tuple[Price, ...]:
        """The entries of a kind, in their order."""
        return tuple(each for each in self.entries if each.kind == kind)

    def places(self, kind: str, names: Sequence[str]) -> list[int | None]:
        """For each name the place of the first entry of a kind whose pattern it matches as a whole; None without."""
        found: list[int | None] = [None] * len(names)
        texts = pa.array(list(names), pa.string())
        for place, price in enumerate(self.of(kind)):
            for at, matches in enumerate(pc.match_substring_regex(texts, _whole(price.pattern)).to_pylist()):
                if matches and found[at] is None:
                    found[at] = place
        return found


def _whole(pattern: str) -> str:
    return rf"\A(?:{pattern})\z"


def prices_in_force(store: Reading) -> Prices:
    """The prices of the store's folder, else the default, which states none.

    Raises:
        QuestionError: The file cannot be read, or states something that is no price; the message names the line.
    """
    book = rulebook(store.root, NAME)
    for key in book.content:
        if key not in (*KINDS, "dated", "prefer"):
            raise book.error(key, f"{key[:40]!r} is not known; there are {', '.join((*KINDS, 'dated', 'prefer'))}")
    dated, prefer = book.content.get("dated"), book.content.get("prefer", "reported")
    if dated is not None and (not isinstance(dated, date)):
        raise book.error("dated", "dated is a day, as 2026-01-31 (without quotes)")
    if prefer not in ("reported", "computed"):
        raise book.error("prefer", 'prefer is "reported" or "computed"')
    found: dict[str, list[Price]] = {"model": []}
    for section, kind in KINDS.items():
        given = book.content.get(section, [])
        if not isinstance(given, list) or not all(isinstance(each, dict) for each in given):
            raise book.error(section, f"{section} is a list of tables, each headed [[{section}]]")
        found[kind] = [_price(book, section, entry, found["model"]) for entry in given]
    return Prices(book, tuple(each for kind in found.values() for each in kind), dated, prefer == "reported")


def _price(book: Rulebook, section: str, entry: Mapping[str, Any], models: Sequence[Price]) -> Price:
    pattern = entry.get("pattern")
    if not isinstance(pattern, str):
        raise book.error(f"[[{section}]]", f"every entry of {section} needs a pattern, a text")
    for key in entry:
        if key != "pattern" and key not in _KEYS[section]:
            raise book.error(key, f"{key[:40]!r} is not known in {section}; there are {', '.join(_KEYS[section])}")
    try:
        pc.match_substring_regex(pa.array([""], pa.string()), _whole(pattern))
    except pa.ArrowInvalid as error:
        raise book.error(pattern, f"the pattern {pattern[:40]!r} is no regular expression ({error})") from None
    values = {key: _amount(book, key, entry[key]) for key in entry if key not in ("pattern", "model")}
    said = f"the entry {pattern[:40]!r} of {section}"
    if section == "models":
        if not {"input_usd_per_million", "output_usd_per_million"} <= set(values):
            raise book.error(pattern, f"{said} needs input_usd_per_million and output_usd_per_million")
        given, cached, made = (values.get(key, values[_TOKENS[0]]) / MILLION for key in _TOKENS)
        return Price("model", pattern, given, cached, made)
    if section == "graders" and "model" in entry:
        return Price("grader", pattern, call=_judge(book, pattern, entry, values, models))
    if not values or set(values) & set(_ASSUMED):
        raise book.error(
            pattern, f"{said} needs a price: {' or '.join(_KEYS[section][: 1 if section == 'graders' else 2])}"
        )
    second = values.get("usd_per_second", values.get("usd_per_hour", float("nan") * HOUR) / HOUR)
    return Price(KINDS[section], pattern, call=values.get("usd_per_call", float("nan")), second=second)


def _judge(
    book: Rulebook, pattern: str, entry: Mapping[str, Any], values: Mapping[str, float], models: Sequence[Price]
) -> float:
    """US dollars of a grader's call from the tokens it is said to take, at the prices of its model."""
    name, texts = entry["model"], pa.array([str(entry["model"])], pa.string())
    matching = (each for each in models if pc.match_substring_regex(texts, _whole(each.pattern))[0].as_py())
    model = next(matching, None)
    if not isinstance(name, str) or model is None:
        raise book.error(str(name), f"no entry of models has a pattern that {str(name)[:40]!r} matches")
    if not set(_ASSUMED) <= set(values) or "usd_per_call" in values:
        raise book.error(pattern, f"a grader with a model needs {' and '.join(_ASSUMED)}, and no usd_per_call")
    given, made = (values[key] for key in _ASSUMED)
    return given * model.input + made * model.output


def _amount(book: Rulebook, key: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value) or value < 0:
        raise book.error(key, f"{key} is a number, 0 or more, not {str(value)[:40]!r}")
    return float(value)


def prices(store: Reading, filters: Filters = EVERYTHING) -> pd.DataFrame:
    """One row per model, tool, grader and environment of the runs, the most used first: which price has each of them?

    Of the whole runs: other filters do not count. Columns: kind (`model`, `tool`, `grader`, `environment`), name (empty
    = not named), num_used (rollouts, calls, scores), is_priced, pattern (of the entry that prices it),
    input_usd_per_million, cached_input_usd_per_million, output_usd_per_million, usd_per_call, usd_per_hour (NULL = no
    price stated), origin (`default`, which states no prices, or `file`), dated (the day the prices were looked up).

    Raises:
        QuestionError: The price file states something that is no price.
    """
    stated = prices_in_force(store)
    frame = store.ask("prices", {"run_ids": filters.parameters()["run_ids"]})
    rows = []
    for kind, part in frame.groupby("kind", sort=False):
        entries = stated.of(str(kind))
        for place in stated.places(str(kind), part["name"].tolist()):
            rows.append(_columns(None if place is None else entries[place]))
    names = list(_columns(None))
    found = pd.DataFrame(rows, columns=names, index=frame.index)
    days = None if stated.dated is None else stated.dated.isoformat()
    return frame.join(found).assign(origin=stated.book.origin, dated=days)


def _columns(price: Price | None) -> dict[str, Any]:
    shown = price or Price("", "")
    return {
        "is_priced": price is not None,
        "pattern": None if price is None else price.pattern,
        "input_usd_per_million": shown.input * MILLION,
        "cached_input_usd_per_million": shown.cached * MILLION,
        "output_usd_per_million": shown.output * MILLION,
        "usd_per_call": shown.call,
        "usd_per_hour": shown.second * HOUR,
    }


def price_parameters(store: Reading, filters: Filters, stated: Prices) -> dict[str, Any]:
    """The parameter `$prices` of statements about costs: for each kind the names that have a price, and the prices.

    A struct of lists; where no price is stated the names are not looked up, and the lists are empty.
    """
    found: dict[str, Any] = {"prefers_reported": stated.prefers_reported}
    priced: dict[str, list[tuple[str, Price]]] = {kind: [] for kind in KINDS.values()}
    if stated.entries:
        frame = store.ask("prices", {"run_ids": filters.parameters()["run_ids"]})
        for kind, part in frame.groupby("kind", sort=False):
            entries, names = stated.of(str(kind)), part["name"].tolist()
            placed = zip(names, stated.places(str(kind), names), strict=True)
            priced[str(kind)] = [(name, entries[place]) for name, place in placed if place is not None]
    for kind, fields in _SENT.items():
        found[f"{kind}s"] = [name for name, _ in priced[kind]]
        for field in fields:
            values = [getattr(price, field) for _, price in priced[kind]]
            found[f"{kind}_{field}"] = [None if value != value else value for value in values]
    return found


_SENT: Final = {
    "model": ("input", "cached", "output"),
    "tool": ("call", "second"),
    "grader": ("call",),
    "environment": ("second",),
}
