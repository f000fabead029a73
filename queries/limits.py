"""Limits on rollouts as they are written: `tool_calls<=10; p95(latency_s)<=30; share(messages<=100)>=0.99`.

Where they come from: the reader, else the file `limits.toml` in the store's folder, else the runs' own configuration
(`run_limits`). A limit is always an upper bound, and a rollout is over it when its value is above the bound.
"""

import difflib
import re
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Final

from ingest.errors import QuestionError
from queries.connection import Reading
from queries.filters import EVERYTHING, Filters
from queries.measures import ROLLOUT_MEASURES
from queries.reported import run_limits
from queries.rulebook import rulebook

LIMITED: Final = tuple(name for name in ROLLOUT_MEASURES if name != "reward")
"""Measures that can be limited: of a reward there is no too much."""
NAME: Final = "limits"
MAX_LIMITS: Final = 12
FORMS: Final = "tool_calls<=10, p95(latency_s)<=30 or share(messages<=100)>=0.99"
_NUMBER: Final = r"\d[\d_]*(?:\.\d+)?(?:e[+-]?\d+)?"
_EVERY: Final = rf"(?P<measure>\w+)\s*(?:<=|≤)\s*(?P<bound>{_NUMBER})\s*(?P<unit>[a-z$]*)"
_PERCENTILE: Final = rf"p(?P<percentile>\d+(?:\.\d+)?)\s*\(\s*(?P<measure>\w+)\s*\)\s*(?:<=|≤)\s*(?P<bound>{_NUMBER})"
_SHARE: Final = rf"share\s*\(\s*{_EVERY}\s*\)\s*(?:>=|≥)\s*(?P<share>{_NUMBER})\s*(?P<percent>%?)"
_WRITTEN: Final = tuple(
    re.compile(each, re.I | re.A) for each in (_EVERY, rf"{_PERCENTILE}\s*(?P<unit>[a-z$]*)", _SHARE)
)


@dataclass(frozen=True, slots=True)
class Limit:
    """An upper bound on a measure, for every rollout, for a percentile (0–100), or for at least a share of rollouts.

    `origin`: `viewer`, `file` or `configuration`; `name`: what the configuration calls it; `run_ids`: whose it is.
    """

    measure: str
    bound: float
    percentile: float | None = None
    share: float | None = None
    origin: str = "viewer"
    name: str | None = None
    run_ids: tuple[str, ...] = ()

    @property
    def statistic(self) -> str:
        """What is bounded: `every rollout`, `P95`, `share of rollouts`."""
        if self.percentile is not None:
            return f"P{self.percentile:g}"
        return "every rollout" if self.share is None else "share of rollouts"

    @property
    def allowed(self) -> float:
        """Share of rollouts (0–1) that may be over the bound: P95 is at most 30 s where at most 5 % are above 30 s."""
        if self.percentile is not None:
            return round(1 - self.percentile / 100, 12)
        return 0.0 if self.share is None else round(1 - self.share, 12)

    @property
    def text(self) -> str:
        """The limit as it is written, always the same way."""
        bound = f"{self.bound:.10g}"
        if self.percentile is not None:
            return f"p{self.percentile:g}({self.measure})<={bound}"
        plain = f"{self.measure}<={bound}"
        return plain if self.share is None else f"share({plain})>={self.share:.10g}"

    @property
    def amount(self) -> str:
        """The bound in words: "10 tool calls", "30 s of latency"."""
        return ROLLOUT_MEASURES[self.measure].amount(self.bound)

    @property
    def sentence(self) -> str:
        """The limit as it reads: "at most 10 tool calls", "P95 at most 30 s of latency"."""
        if self.percentile is not None:
            return f"P{self.percentile:g} at most {self.amount}"
        plain = f"at most {self.amount}"
        return plain if self.share is None else f"{plain} in {100 * self.share:.4g} % of rollouts"


def parsed(text: str, origin: str = "viewer") -> tuple[Limit, ...]:
    """The limits in a text, separated by `;` or line ends, each once; what follows a `#` is a remark.

    Raises:
        QuestionError: One of them is none; the message says what is allowed.
    """
    lines = (line.partition("#")[0] for line in text.splitlines())
    pieces = [piece.strip() for line in lines for piece in line.split(";")]
    found = tuple(dict.fromkeys(_one(piece, origin) for piece in pieces if piece))
    if len(found) > MAX_LIMITS:
        raise QuestionError(f"at most {MAX_LIMITS} limits are looked at together, not {len(found)}")
    return found


def _one(text: str, origin: str) -> Limit:
    match = next((found for each in _WRITTEN if (found := each.fullmatch(text))), None)
    if match is None:
        raise QuestionError(f"{text[:80]!r} is no limit; limits are written {FORMS}")
    given = match.groupdict()
    measure = _measure(given["measure"].lower())
    unit = ROLLOUT_MEASURES[measure].unit
    if given["unit"] and given["unit"].lower() != unit.lower():
        raise QuestionError(f"{text[:80]!r}: {measure} is given in {unit}, not in {given['unit']}")
    bound = _number(given["bound"])
    percentile = None if given.get("percentile") is None else _number(given["percentile"])
    if percentile is not None and not 0 < percentile < 100:
        raise QuestionError(f"{text[:80]!r}: a percentile lies between 0 and 100, as in p95({measure})")
    share = None if given.get("share") is None else _number(given["share"]) / (100 if given["percent"] else 1)
    if share is not None and not 0 < share <= 1:
        raise QuestionError(f"{text[:80]!r}: a share lies above 0 and is at most 1, as 0.95 or 95 %")
    return Limit(measure, bound, percentile, None if share == 1 else share, origin)


def _measure(name: str) -> str:
    if name not in LIMITED:
        near = difflib.get_close_matches(name, LIMITED, 1)
        meant = f" (did you mean {near[0]}?)" if near else ""
        raise QuestionError(f"there is no limit on {name[:40]!r}{meant}; there is {', '.join(LIMITED)}")
    return name


def _number(text: str) -> float:
    value = float(text)
    if not isfinite(value):
        raise QuestionError(f"{text[:40]} is too large for a limit")
    return value


def of_file(folder: Path) -> tuple[Limit, ...]:
    """The limits in `limits.toml` in a folder: its list `limits`, one text a limit; none where there is no such file.

    Raises:
        QuestionError: The file cannot be read, or holds something else; the message names the line.
    """
    book = rulebook(folder, NAME)
    for key in book.content:
        if key != "limits":
            raise book.error(key, f"{key[:40]!r} is not known; the file holds `limits`")
    given = book.content.get("limits", [])
    if not isinstance(given, list) or not all(isinstance(each, str) for each in given):
        raise book.error("limits", 'limits is a list of texts, as ["tool_calls<=10"]')
    limits: list[Limit] = []
    for each in given:
        try:
            limits += parsed(each, "file")
        except QuestionError as error:
            raise book.error(each, str(error)) from None
    if len(limits) > MAX_LIMITS:
        raise QuestionError(f"{book.path}: at most {MAX_LIMITS} limits are looked at together, not {len(limits)}")
    return tuple(dict.fromkeys(limits))


def of_configuration(store: Reading, filters: Filters = EVERYTHING) -> tuple[Limit, ...]:
    """Limits that the runs were configured with, each once with whose it is, those of the most runs first."""
    held: dict[tuple[str, float], tuple[str, list[str]]] = {}
    rows = run_limits(store, filters).dropna(subset=["measure"])
    for row in rows.itertuples():
        measure, bound = str(row.measure), float(row.value)  # type: ignore[arg-type]  # numbers that are not NULL
        if measure in LIMITED and isfinite(bound):
            held.setdefault((measure, bound), (str(row.name), []))[1].append(str(row.run_id))
    found = [
        Limit(measure, bound, None, None, "configuration", name, tuple(dict.fromkeys(runs)))
        for (measure, bound), (name, runs) in held.items()
    ]
    return tuple(sorted(found, key=lambda each: (-len(each.run_ids), each.measure, each.bound))[:MAX_LIMITS])


def in_force(store: Reading, filters: Filters, limits: str | None) -> tuple[Limit, ...]:
    """The limits to look at: those given, else those of the file, else those of the runs' configuration.

    Raises:
        QuestionError: A limit given, or in the file, is none.
    """
    return parsed(limits or "") or of_file(store.root) or of_configuration(store, filters)


def set_limits(store: Reading, filters: Filters, limits: str | None) -> tuple[Limit, ...]:
    """As `in_force`, for a question that says nothing without a limit.

    Raises:
        QuestionError: There is no limit, or one given, or in the file, is none.
    """
    found = in_force(store, filters, limits)
    if not found:
        raise QuestionError(
            f"no limits are set: give them with --limits ({FORMS}, separated by ;) or as a list `limits` in "
            f"{store.root / NAME}.toml; the runs' configuration holds none"
        )
    return found
