"""Sentences of the page Training health: is a run alive, learning, and not collapsing? Pure functions to text."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import pandas as pd

from dashboard.rows import records
from dashboard.run_words import reward_name
from dashboard.words import NOTHING, number, percent, plural, seconds, signed, verb, whole

_FOUND, _UNSAID = "found", "cannot be said"
MAX_WARNED: Final = 3
"""Patterns that are warned of one by one; a wall of warnings is read by nobody."""
_ENDS: Final = "medians of the first and the last window"


def valued(value: float | None, unit: str | None) -> str:
    """A value of a measure with its unit: 0.086 nats, 49 %, 2 821 tokens, 5 min 20 s."""
    if value is None or pd.isna(value):
        return NOTHING
    if unit == "share":
        return percent(value)
    if unit == "s":
        return seconds(value)
    if unit == "tokens":
        return f"{whole(value)} tokens"
    return f"{number(value)} {unit}" if unit else number(value)


def verdict(patterns: pd.DataFrame, name: str) -> str:
    """Alive, learning, not collapsing: in two or three sentences."""
    rows = {row["pattern"]: row for row in records(patterns)}
    found = [row["title"] for row in rows.values() if row["verdict"] == _FOUND]
    judged = sum(row["verdict"] != _UNSAID for row in rows.values())
    if found:
        first = f"{name} shows {whole(len(found))} of {plural(len(rows), 'known bad pattern')}: {', '.join(found)}."
    elif judged == 1:
        first = f"{name} does not show the one known bad pattern that can be judged."
    elif judged:
        first = f"{name} shows none of the {plural(judged, 'known bad pattern')} that can be judged."
    else:
        first = f"{name}: none of {plural(len(rows), 'known bad pattern')} can be judged, too little is known by step."
    return " ".join(each for each in (first, _learning(rows), _alive(rows)) if each)


def _learning(rows: Mapping[str, Mapping[str, Any]]) -> str:
    if any(each["kind"] == "flat" and each["verdict"] == _FOUND for each in rows.values()):
        return "It learns its train batches, and nothing that could be shown on samples held out."
    row = next((each for each in rows.values() if each["kind"] == "still"), None)
    if row is None or row["after"] is None or row["ci_low"] is None:
        return ""
    change = f"{reward_name(row['split'])} {signed(row['after'])} [{number(row['ci_low'])}, {number(row['ci_high'])}]"
    over = f"from step {row['from_step']} to {row['to_step']}"
    if row["reason"]:
        return f"Whether it learns cannot be said: {change} {over}; {row['reason']}."
    if row["ci_high"] < 0:
        return f"The reward fell: {change} {over}."
    if row["ci_low"] > 0:
        return f"It is learning: {change} {over}."
    return f"No rise in reward could be shown: {change} {over}."


def _alive(rows: Mapping[str, Mapping[str, Any]]) -> str:
    row = next((each for each in rows.values() if each["kind"] == "silent"), None)
    if row is None or row["verdict"] == _UNSAID:
        return ""
    if row["reason"]:
        return f"{row['reason'][:1].upper()}{row['reason'][1:]}."
    return f"Its last sign of life came {seconds(row['after'])} before the data was read."


def cautions(patterns: pd.DataFrame) -> list[str]:
    """What was found first, each with its evidence in numbers and what it means; where the rest stands."""
    found = [f"{evidence(row)} {row['why']}" for row in records(patterns) if row["verdict"] == _FOUND]
    more = len(found) - MAX_WARNED
    if more < 2:
        return found
    told = f"The evidence of {plural(more, 'more pattern')} stands under “Every pattern that was looked for”, below."
    return [*found[:MAX_WARNED], told]


def evidence(row: Mapping[str, Any]) -> str:
    """The numbers a sign rests on, in one sentence."""
    return f"{row['title'][:1].upper()}{row['title'][1:]}: {_EVIDENCE[row['kind']](row)}."


def _moved(row: Mapping[str, Any]) -> str:
    unit, way = row["unit"], "below" if row["kind"] == "falls" else "above"
    ends = f"from {valued(row['before'], unit)} to {valued(row['after'], unit)} ({_ENDS} of {_steps(row)})"
    other = "" if row["kind"] != "apart" else f", {valued(row['other'], unit)} in other turns"
    since = (
        "" if row["from_step"] is None else f", {way} {valued(row['threshold'], unit)} from step {row['from_step']} on"
    )
    return f"{ends}{other}{since}"


def _steps(row: Mapping[str, Any]) -> str:
    return plural(row["num_steps"], "step")


def _high(row: Mapping[str, Any]) -> str:
    unit = row["unit"]
    ends = f"{valued(row['after'], unit)} at the end (median of the last window of {_steps(row)})"
    return f"{ends}, over {valued(row['threshold'], unit)} from step {row['from_step']} on"


def _spikes(row: Mapping[str, Any]) -> str:
    times = f"{plural(row['other'], 'step')} over {row['threshold']:g} times the median of those before"
    span = f"between steps {row['from_step']} and {row['to_step']}"
    return f"{times}, {span}, up to {valued(row['after'], row['unit'])} (median {valued(row['before'], row['unit'])})"


def _flat(row: Mapping[str, Any]) -> str:
    held = f"{reward_name(row['split'])} {signed(row['after'])} [{number(row['ci_low'])}, {number(row['ci_high'])}]"
    train = f"the train batch's reward {signed(row['before'])}"
    return f"{train}, {held} (n = {whole(row['num_steps'])}) from step {row['from_step']} to {row['to_step']}"


def _drop(row: Mapping[str, Any]) -> str:
    best = f"{number(row['before'])} in its best window, up to step {whole(row['other'])}"
    since = "" if row["from_step"] is None else f", under {number(row['threshold'])} from step {row['from_step']} on"
    return f"{reward_name(row['split'])} {best}, and {number(row['after'])} in its last{since}"


def _still(row: Mapping[str, Any]) -> str:
    interval = f"{signed(row['after'])} [{number(row['ci_low'])}, {number(row['ci_high'])}]"
    worth = f"less than {number(row['threshold'])}, the least that would be worth having"
    return f"{reward_name(row['split'])} {interval} over {_steps(row)}, {worth}"


def _silent(row: Mapping[str, Any]) -> str:
    return f"nothing for {seconds(row['after'])} when the data was read; its steps take {seconds(row['before'])}"


def _nulls(row: Mapping[str, Any]) -> str:
    name = row["name"] or row["measure"]
    return f"the last {whole(row['after'])} values of {name} are null, from step {row['from_step']} on"


_EVIDENCE: Final[dict[str, Callable[[Mapping[str, Any]], str]]] = {
    "falls": _moved,
    "rises": _moved,
    "apart": _moved,
    "high": _high,
    "spikes": _spikes,
    "flat": _flat,
    "drop": _drop,
    "still": _still,
    "silent": _silent,
    "nulls": _nulls,
}


def standing(patterns: pd.DataFrame) -> pd.DataFrame:
    """Every pattern with its verdict and what it rests on, in words: the rows of the table of patterns."""
    rows = records(patterns)
    told = [evidence(row) if row["verdict"] == _FOUND else row["reason"] or _judged(row) for row in rows]
    columns = {"pattern": [row["title"] for row in rows], "verdict": [row["verdict"] for row in rows]}
    return pd.DataFrame({**columns, "what it rests on": told, "source": [_source(row) for row in rows]})


def _judged(row: Mapping[str, Any]) -> str:
    if row["after"] is None:
        return ""
    unit = row["unit"]
    if row["kind"] in ("flat", "still"):
        return f"{reward_name(row['split'])} {signed(row['after'])} [{number(row['ci_low'])}, {number(row['ci_high'])}]"
    if row["kind"] == "silent":
        return f"silent for {seconds(row['after'])}; its steps take {seconds(row['before'])}"
    if row["kind"] == "spikes":
        return f"median {valued(row['before'], unit)}, at most {valued(row['after'], unit)}"
    before = "" if row["before"] is None else f"{valued(row['before'], unit)}, then "
    limit = "" if row["threshold"] is None or row["kind"] == "spikes" else f"; bound {valued(row['threshold'], unit)}"
    return f"{before}{valued(row['after'], unit)}{limit}"


def _source(row: Mapping[str, Any]) -> str:
    if row["source"] is None:
        return NOTHING
    return f"reported as {row['name']}" if row["source"] == "reported" else "computed from rollouts"


def at_step(series: pd.DataFrame, step: int) -> str:
    """The values of one step in words, a sentence a split: "Train batch: reward 0.66, policy entropy 0.086 nats …"."""
    rows = [row for row in records(series[series["step"] == step]) if row["value"] is not None]
    told: dict[str, list[str]] = {}
    for row in rows:
        name = _SPLITS.get(row["split"], "split not known")
        told.setdefault(name, []).append(f"{row['title']} {valued(row['value'], row['unit'])}{_over(row)}")
    ordered = sorted(told, key=lambda name: [*_SPLITS.values(), "split not known"].index(name))
    sentences = [f"{name[:1].upper()}{name[1:]}: {', '.join(told[name])}." for name in ordered]
    return " ".join(sentences) or f"Nothing is known of step {step}."


_SPLITS: Final = {"train": "train batch", "valid": "validation", "test": "test", "production": "production"}


def _over(row: Mapping[str, Any]) -> str:
    return "" if row["num"] is None else f" (n = {whole(row['num'])} {row['over']})"


def sources(series: pd.DataFrame) -> str:
    """Which measures the trainer reported, and which are computed from rollouts."""
    titles = {
        source: list(dict.fromkeys(series.loc[series["source"] == source, "title"]))
        for source in ("reported", "computed")
    }
    parts = [f"{verb_of} {', '.join(titles[source])}" for source, verb_of in _VERBS.items() if titles[source]]
    text = "; ".join(parts)
    return f"{text[:1].upper()}{text[1:]}." if text else ""


_VERBS: Final = {"reported": "Reported by the trainer:", "computed": "computed from rollouts:"}


def unrecognised(names: pd.DataFrame) -> str:
    """How many reported names no rule knows."""
    unknown = names.loc[names["use"] == "not recognised", "name"].nunique()
    if not unknown:
        return ""
    return (
        f"{plural(unknown, 'reported name')} {verb(unknown, 'is', 'are')} not recognised; they are listed at the end."
    )
