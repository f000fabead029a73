"""What each tool call says again: canonical arguments, hashes, exact and near repeats, waste, loops.

Computed once at ingest, for every source alike. Nothing here knows a format, a store or a statistic over rollouts.

An exact repeat has the tool and the canonical arguments of an earlier call by the same requestor. Often it is no waste:
a test run again after an edit returns something new. So a repeat is *wasted* only if its output was the same again,
nothing called between could have changed it, and the call is not itself an act (pressing the same key twice moves
twice, though both answers say "ok"). Calls whose arguments the source did not keep are never called repeats, and
answers without a call (`orphan`) are no calls.
"""

import re
from collections.abc import Hashable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any

from orjson import OPT_SORT_KEYS, dumps, loads
from xxhash import xxh3_64_hexdigest

from ingest.reading import dump_json, parse_json

Values = dict[str, Any]

NEAR_SIMILARITY = 0.6
"""Jaccard similarity of the words of two calls' argument values from which they are alike.

At 0.6 a reworded search (`acme revenue 2023`, `acme total revenue 2023`: 3 of 4) is alike, while the next year's figure
(`acme revenue 2024`: 2 of 4) and the next page of a file (same path, other line numbers) are not. In 685 real shell
commands of coding agents it finds 129: edited scripts, other greps of a file; in 279 customer service calls, 3.
"""
NEAR_WINDOW = 50
"""Calls of the tool looked back on, so that a rollout of a thousand calls stays linear."""
NEAR_CHARACTERS = 10_000
"""Characters of a call's argument values that are compared."""

READING_WORDS = frozenset(
    """
    analyze ask calc calculate calculator cat check compare count describe diff display evaluate explain fetch find
    get glob grep head help inspect list load locate lookup look ls measure open peek ping preview query read recall
    retrieve scan search select show stat status summarize tail think validate verify view weather wiki
    """.split()  # noqa: SIM905 - a list literal would take a line a word
)
"""Words of tool names that say it only reads: it changes nothing that another call sees."""
ACTING_WORDS = frozenset(
    """
    accept add append apply approve assign book buy cancel checkout clear click close commit confirm copy create
    delete deploy download drag drop edit enable disable enter exchange fill forward go goto grant insert install
    kill merge modify move navigate next order patch pay place post press publish push put refund register remove
    rename reply replace reset restart return revoke roll save schedule scroll send set sleep start step stop submit
    swipe tap toggle transfer type undo update upload wait write
    """.split()  # noqa: SIM905 - a list literal would take a line a word
)
"""Words that say it acts: doing it twice is not the same as doing it once. A tool of neither kind (`bash`, `python`)
may change what others see, but running it again for the same output was no use."""

_WORD = re.compile(r"\w+(?:[-./:]\w+)*")
"""Dates, paths, decimals and hyphenated ids are one word each: flights of one day to other places are not alike."""
_LETTERS = bytes(
    ord(chr(each).lower()) if each < 128 and (chr(each).isalnum() or chr(each) == "_") else 32 for each in range(256)
)
"""What a word is made of, byte by byte: letters in lower case, blanks for all else."""
_NAME_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


@lru_cache(maxsize=4096)
def tool_kind(tool: str) -> str:
    """`reads`, `acts` or `unknown`, by the first telling word of the name; of `search_and_replace` by any that acts."""
    words = [word.lower() for word in _NAME_WORD.findall(tool[:200])]
    kinds = ["acts" if word in ACTING_WORDS else "reads" for word in words if word in ACTING_WORDS | READING_WORDS]
    if "acts" in kinds and ("and" in words or "or" in words):
        return "acts"
    return kinds[0] if kinds else "unknown"


def mark_repeats(calls: list[Values]) -> None:
    """Fill in the arguments, hashes, sizes and repeats of the calls of one rollout, in order."""
    columns = {name: [row.get(name) for row in calls] for name in NEEDED}
    for name, column in repeats([0] * len(calls), columns).items():
        for row, value in zip(calls, column, strict=True):
            row[name] = value


NEEDED = (
    "call_index",
    "requestor",
    "tool",
    "arguments_raw",
    "arguments",
    "is_parsed",
    "output_text",
    "is_executed",
    "status",
)
"""Columns that repeats follow from."""


def repeats(rollouts: Sequence[int], columns: Mapping[str, list[Any]]) -> dict[str, list[Any]]:
    """The columns that say what calls repeat, for calls of many rollouts, those of one beside one another, in order.

    `rollouts` tells which calls belong together, `columns` holds what is `NEEDED`.
    """
    found = _identified(columns)
    size = len(rollouts)
    found |= {name: [None] * size for name in ("repeat_of", "near_repeat_of", "repeat_output", "is_wasted")}
    found["near_key"] = list(found["arguments_hash"])
    _Marks(columns, found).mark(rollouts)
    return found


def _identified(columns: Mapping[str, list[Any]]) -> dict[str, list[Any]]:
    """Canonical arguments, hashes and sizes."""
    canonicals, flags, hashes = [], [], []
    rows = zip(columns["tool"], columns["arguments_raw"], columns["arguments"], columns["is_parsed"], strict=True)
    for tool, raw, said, is_parsed in rows:
        if said is not None:
            is_parsed = True
        elif raw and not raw.isspace():
            found = canonical(raw)
            said = None if found is None else found.decode()
            is_parsed = said is not None
        canonicals.append(said)
        flags.append(is_parsed)
        hashes.append(xxh3_64_hexdigest(f"{tool}\0{raw if said is None else said}".encode("utf-8", "replace")))
    outputs = [None if output is None else output.encode("utf-8", "replace") for output in columns["output_text"]]
    return {
        "arguments": canonicals,
        "is_parsed": flags,
        "arguments_hash": hashes,
        "output_bytes": [None if output is None else len(output) for output in outputs],
        "output_hash": [None if output is None else xxh3_64_hexdigest(output) for output in outputs],
    }


dump_canonical = partial(dumps, option=OPT_SORT_KEYS)
"""Compact JSON with sorted keys."""


def canonical(raw: str | bytes) -> bytes | None:
    """Compact JSON with sorted keys, equal for equal arguments; None where they are no JSON."""
    try:
        return dump_canonical(loads(raw))
    except (ValueError, TypeError):  # no JSON, or what orjson lacks: NaN, numbers beyond 64 bits, deep nesting
        pass
    try:
        said = dump_json(parse_json(raw))
    except (ValueError, RecursionError):
        return None
    return None if said is None else said.encode("utf-8", "replace")


class _Marks:
    """Compares every call with the earlier ones of its rollout. An exact repeat is not a near repeat too."""

    def __init__(self, columns: Mapping[str, list[Any]], found: dict[str, list[Any]]) -> None:
        self.columns = columns
        self.found = found
        self.words: dict[int, set[str]] = {}

    def mark(self, rollouts: Sequence[int]) -> None:
        columns, hashes, wasted = self.columns, self.found["arguments_hash"], self.found["is_wasted"]
        kinds = {tool: tool_kind(tool) for tool in set(columns["tool"])}
        latest: dict[tuple[str, str], int] = {}
        by_tool: dict[tuple[str, str], list[int]] = {}
        changes: list[int] = []
        num_changes, current = 0, None
        names = ("requestor", "tool", "is_executed", "status", "arguments_raw")
        rows = zip(rollouts, *(columns[name] for name in names), hashes, strict=True)
        for at, (rollout, requestor, tool, is_executed, status, raw, key) in enumerate(rows):
            if rollout != current:
                current, latest, by_tool = rollout, {}, {}
            changes.append(num_changes)
            kind = kinds[tool]
            if is_executed and kind != "reads":
                num_changes += 1
            if raw is None or status == "orphan":
                continue
            wasted[at] = False
            others = by_tool.get((requestor, tool))
            if others is None:
                latest[requestor, key], by_tool[requestor, tool] = at, [at]
                continue
            earlier = latest.get((requestor, key))
            latest[requestor, key] = at
            if earlier is None:
                self._near(at, others)
            else:
                self._exact(at, earlier, is_waste=changes[earlier + 1] == changes[at] and kind != "acts")
            others.append(at)

    def _exact(self, at: int, earlier: int, *, is_waste: bool) -> None:
        found = self.found
        found["repeat_of"][at] = self.columns["call_index"][earlier]
        found["near_key"][at] = found["near_key"][earlier]
        before, now = found["output_hash"][earlier], found["output_hash"][at]
        if before is None or now is None:
            found["repeat_output"][at], found["is_wasted"][at] = "unknown", None
        elif before != now:
            found["repeat_output"][at] = "different"
        else:
            found["repeat_output"][at], found["is_wasted"][at] = "same", is_waste

    def _near(self, at: int, others: list[int]) -> None:
        words = self.words
        mine = words[at] = self._words(at)
        count = len(mine)
        least, most = NEAR_SIMILARITY * count, count / NEAR_SIMILARITY
        for each in reversed(others[-NEAR_WINDOW:]):
            theirs = words.get(each)
            if theirs is None:
                theirs = words[each] = self._words(each)
            num_theirs = len(theirs)
            if not least <= num_theirs <= most or not num_theirs:
                continue
            common = len(mine & theirs)
            if common >= NEAR_SIMILARITY * (count + num_theirs - common):
                self.found["near_repeat_of"][at] = self.columns["call_index"][each]
                self.found["near_key"][at] = self.found["near_key"][each]
                return

    def _words(self, at: int) -> set[str]:
        return words_of_call(self.found["arguments"][at], self.columns["arguments_raw"][at])


def words_of_call(arguments: str | None, raw: str) -> set[str]:
    """Words and numbers of a call's argument values (of the raw text, where that is no JSON), lower-cased."""
    said = raw if arguments is None else _said(parse_json(arguments))
    return words_of(said[:NEAR_CHARACTERS])


def words_of(said: str) -> set[str]:
    """Words of a text, lower-cased. Without dates, paths and the like they are found three times as fast."""
    if said.isascii() and not ("." in said or "-" in said or "/" in said or ":" in said):
        return set(said.encode().translate(_LETTERS).decode().split())
    return set(_WORD.findall(said.lower()))


def _said(value: Any) -> str:
    """The leaves of a JSON value as one text, as canonical JSON writes them, keys and null left out."""
    pending: list[Any] = [value]
    found: list[str] = []
    for each in pending:
        if isinstance(each, str):
            found.append(each)
        elif isinstance(each, dict):
            pending.extend(each.values())
        elif isinstance(each, list):
            pending.extend(each)
        elif each is not None:
            found.append(dump_json(each) or "")
    return " ".join(found)


def longest_loop(keys: Sequence[Hashable]) -> int:
    """Calls in the longest run of a cycle of one to four calls that is gone through at least twice; 0 = none."""
    longest = 0
    for period in range(1, 5):
        length = 0
        for index in range(period, len(keys)):
            length = length + 1 if keys[index] == keys[index - period] else 0
            if length >= period and length + period > longest:
                longest = length + period
    return longest
