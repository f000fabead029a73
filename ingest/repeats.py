"""What each tool call says again: canonical arguments, hashes, exact and near repeats, waste, loops.

Computed once at ingest, for every source alike. Nothing here knows a format, a store or a statistic over rollouts.

An exact repeat has the tool and the canonical arguments of an earlier call by the same requestor. Often it is no waste:
a test run again after an edit returns something new. So a repeat is *wasted* only if its output was the same again,
nothing called between could have changed it, and the call is not itself an act (pressing the same key twice moves
twice, though both answers say "ok"). Calls whose arguments the source did not keep are never called repeats, and
answers without a call (`orphan`) are no calls.
"""

import re
from functools import lru_cache
from hashlib import sha1
from typing import Any

import orjson

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
    """.split()  # noqa: SIM905 (a list literal would take a line a word)
)
"""Words of tool names that say it only reads: it changes nothing that another call sees."""
ACTING_WORDS = frozenset(
    """
    accept add append apply approve assign book buy cancel checkout clear click close commit confirm copy create
    delete deploy download drag drop edit enable disable enter exchange fill forward go goto grant insert install
    kill merge modify move navigate next order patch pay place post press publish push put refund register remove
    rename reply replace reset restart return revoke roll save schedule scroll send set sleep start step stop submit
    swipe tap toggle transfer type undo update upload wait write
    """.split()  # noqa: SIM905 (a list literal would take a line a word)
)
"""Words that say it acts: doing it twice is not the same as doing it once. A tool of neither kind (`bash`, `python`)
may change what others see, but running it again for the same output was no use."""

_WORD = re.compile(r"\w+(?:[-./:]\w+)*")
"""Dates, paths, decimals and hyphenated ids are one word each: flights of one day to other places are not alike."""
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
    """Fill in the arguments, hashes, sizes and repeats of a rollout's calls, in order.

    An exact repeat is not a near repeat too, so that the two can be added up.
    """
    latest: dict[tuple[str, str], int] = {}
    by_tool: dict[tuple[str, str], list[int]] = {}
    words: dict[int, set[str]] = {}
    changes: list[int] = []
    num_changes = 0
    for index, row in enumerate(calls):
        _identify(row)
        tool, requestor = row["tool"], row["requestor"]
        changes.append(num_changes)
        if row["is_executed"] and tool_kind(tool) != "reads":
            num_changes += 1
        if row["arguments_raw"] is None or row["status"] == "orphan":
            continue
        row["is_wasted"] = False
        same = (requestor, row["arguments_hash"])
        earlier = latest.get(same)
        latest[same] = index
        others = by_tool.get((requestor, tool))
        if others is None:
            by_tool[requestor, tool] = [index]
            continue
        if earlier is not None:
            _mark_exact(row, calls[earlier], unchanged=changes[earlier + 1] == changes[index])
        else:
            _mark_near(calls, index, others, words)
        others.append(index)


def _identify(row: Values) -> None:
    """Fill in a call's canonical arguments, its hashes and the size of its output."""
    raw, arguments, output = row["arguments_raw"], row.get("arguments"), row.get("output_text")
    if arguments is not None:
        row["is_parsed"] = True
    elif raw and not raw.isspace():
        arguments = row["arguments"] = canonical(raw)
        row["is_parsed"] = arguments is not None
    key = f"{row['tool']}\0{raw if arguments is None else arguments}".encode("utf-8", "replace")
    row["arguments_hash"] = row["near_key"] = sha1(key, usedforsecurity=False).hexdigest()[:16]
    if output is not None:
        data = output.encode("utf-8", "replace")
        row["output_bytes"] = len(data)
        row["output_hash"] = sha1(data, usedforsecurity=False).hexdigest()[:16]


def canonical(raw: str) -> str | None:
    """JSON with sorted keys and no spaces; None where the text is not JSON."""
    try:
        return orjson.dumps(orjson.loads(raw), option=orjson.OPT_SORT_KEYS).decode()
    except (ValueError, TypeError):  # TypeError: nested deeper than orjson writes
        pass
    try:
        return dump_json(parse_json(raw))
    except (ValueError, RecursionError):
        return None


def _mark_exact(row: Values, earlier: Values, *, unchanged: bool) -> None:
    row["repeat_of"] = earlier["call_index"]
    row["near_key"] = earlier["near_key"]
    before, now = earlier.get("output_hash"), row.get("output_hash")
    if before is None or now is None:
        row["repeat_output"] = "unknown"
        row["is_wasted"] = None
    elif before != now:
        row["repeat_output"] = "different"
    else:
        row["repeat_output"] = "same"
        row["is_wasted"] = unchanged and tool_kind(row["tool"]) != "acts"


def _mark_near(calls: list[Values], index: int, others: list[int], words: dict[int, set[str]]) -> None:
    mine = words[index] = _words(calls[index])
    count = len(mine)
    least, most = NEAR_SIMILARITY * count, count / NEAR_SIMILARITY
    for each in reversed(others[-NEAR_WINDOW:]):
        theirs = words.get(each)
        if theirs is None:
            theirs = words[each] = _words(calls[each])
        num_theirs = len(theirs)
        if not least <= num_theirs <= most or not num_theirs:
            continue
        common = len(mine & theirs)
        if common >= NEAR_SIMILARITY * (count + num_theirs - common):
            calls[index]["near_repeat_of"] = calls[each]["call_index"]
            calls[index]["near_key"] = calls[each]["near_key"]
            return


def _words(row: Values) -> set[str]:
    """Words and numbers of a call's argument values (of the text, where that is no JSON), lower-cased."""
    arguments = row.get("arguments")
    said = str(row["arguments_raw"]) if arguments is None else " ".join(_leaves(parse_json(arguments)))
    return set(_WORD.findall(said[:NEAR_CHARACTERS].lower()))


def _leaves(value: Any) -> list[str]:
    """The leaves of a JSON value as texts, keys left out."""
    pending: list[Any] = [*value.values()] if isinstance(value, dict) else [value]
    found: list[str] = []
    for each in pending:
        if isinstance(each, str):
            found.append(each)
        elif isinstance(each, dict):
            pending.extend(each.values())
        elif isinstance(each, list):
            pending.extend(each)
        elif each is not None:
            found.append(str(each))
    return found


def longest_loop(keys: list[str]) -> int:
    """Calls in the longest run of a cycle of one to four calls that is gone through at least twice; 0 = none."""
    longest = 0
    for period in range(1, 5):
        length = 0
        for index in range(period, len(keys)):
            length = length + 1 if keys[index] == keys[index - period] else 0
            if length >= period and length + period > longest:
                longest = length + period
    return longest
