"""The page Several arms in words: verdicts, figures, cells (for cautions see `several_cautions`). Pure functions.

Nothing is called higher or lower whose adjusted p-value or interval leaves it open; every difference stands with its
interval and its n.
"""

from collections.abc import Mapping
from typing import Any, Final

import pandas as pd

from dashboard.compare_words import TITLES, UNITS, cut, with_interval
from dashboard.parts import Figure
from dashboard.rows import records
from dashboard.words import NOTHING, number, percent, plural, verb, whole

MAX_FIGURES: Final = 5
_NAMED: Final = 3
"""Arms named one by one in a sentence."""
CONTRASTS: Final[Mapping[str, str]] = {
    "old_gain": "fine-tuning the old base model",
    "new_gain": "fine-tuning the new base model",
    "gain_change": "gain on the new minus gain on the old",
    "base_change": "new base model for the old one",
    "tuned_change": "new fine-tuned for the old fine-tuned",
    "new_base_for_old_tuned": "new base model for the old fine-tuned",
}
"""What each contrast of `base_model_change` holds against each other."""
LIKELY: Final = 0.9
"""An arm that is on the frontier in fewer resamples than this is not said to be on it."""


def against_baseline(frame: pd.DataFrame, measure: str) -> str:
    """The finding on one measure: which candidates are higher or lower than the baseline, and of how many nothing."""
    rows = records(frame[frame["measure"] == measure])
    baseline, others = rows[0], rows[1:]
    title = TITLES[measure]
    paired = [row for row in others if row["num_paired"]]
    if not paired:
        return f"Nothing can be compared in {title}: no sample is known both in {cut(baseline['arm'])} and in another."
    parts = []
    for word in ("higher", "lower"):
        found = sorted((row for row in paired if row["verdict"] == word), key=lambda row: -abs(row["delta_mean"]))
        if found:
            named = ", ".join(f"{cut(row['arm'])} {with_interval(row)}" for row in found[:_NAMED])
            more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
            parts.append(f"{word} in {len(found)} of {plural(len(paired), 'arm')} ({named}{more})")
    n = _range([row["num_paired"] for row in paired])
    mean = f"{number(baseline['mean'])}{UNITS.get(measure, '')}"
    lead = f"{title[0].upper()}{title[1:]} against {cut(baseline['arm'])} ({mean}): "
    if not parts:
        return f"{lead}no difference could be shown for any of {plural(len(paired), 'arm')}, {n}."
    left = sum(row["verdict"] == "not shown" for row in paired)
    rest = f"; for {whole(left)} no difference could be shown" if left else ""
    return f"{lead}{' and '.join(parts)}{rest}, {n}."


def _range(counts: list[Any]) -> str:
    low, high = min(counts), max(counts)
    return (
        f"over {plural(high, 'paired sample')}" if low == high else f"over {whole(low)} to {whole(high)} paired samples"
    )


def figures(frame: pd.DataFrame, measure: str) -> list[Figure]:
    """The arms as figures: the mean, and the change from the baseline with its interval; five at most."""
    unit = UNITS.get(measure, "")
    found = []
    for row in records(frame[frame["measure"] == measure])[:MAX_FIGURES]:
        change = None if row["is_baseline"] or not row["num_paired"] else with_interval(row)
        n = f"Mean over {plural(row['num_samples'], 'sample')}"
        told = (
            f"{n}; the change over {plural(row['num_paired'], 'paired sample')}." if change else f"{n}: the baseline."
        )
        found.append(Figure(cut(row["arm"]), f"{number(row['mean'])}{unit}", change, told))
    return found


def overview(frame: pd.DataFrame) -> pd.DataFrame:
    """Every measure at a glance: one row an arm, in a cell its mean, and its change where one could be shown."""
    shown = {"arm": [cut(each) for each in frame["arm"].unique()]}
    for measure, rows in frame.groupby("measure", sort=False):
        if rows["num_samples"].any():
            shown[TITLES[str(measure)] + UNITS.get(str(measure), "").replace(" ", ", ", 1)] = list(
                map(_cell, records(rows))
            )
    return pd.DataFrame(shown)


def _cell(row: Mapping[str, Any]) -> str:
    mean = number(row["mean"])
    if row["is_baseline"] or row["num_paired"] in (None, 0):
        return mean
    sign = {"higher": "▲", "lower": "▼"}.get(row["verdict"])
    return f"{mean} ({sign} {with_interval(row).partition(' ')[0]})" if sign else mean


def base_model(frame: pd.DataFrame, measure: str) -> str:
    """Whether tuning gains as much on the new base model, and whether the old fine-tune can be given up for it."""
    rows = {row["contrast"]: row for row in records(frame[frame["measure"] == measure])}
    change, title = rows["gain_change"], TITLES[measure]
    if not change["num_samples"]:
        return f"Nothing can be said of {title}: no sample is known in all four arms."
    old, new = (with_interval(rows[name]) for name in ("old_gain", "new_gain"))
    lead = f"Fine-tuning changed {title} by {old} on the old base model and by {new} on the new one"
    more = {"higher": "more", "lower": "less"}.get(change["verdict"])
    between = (
        f"that is {more}: {with_interval(change)}"
        if more
        else f"that these differ could not be shown ({with_interval(change)})"
    )
    return (
        f"{lead}; {between}. {_instead(rows)} All over the {plural(change['num_samples'], 'sample')} of all four arms."
    )


def _instead(rows: Mapping[str, Mapping[str, Any]]) -> str:
    said = []
    for name, what in (
        ("tuned_change", "new fine-tuned"),
        ("new_base_for_old_tuned", "new base model, without tuning,"),
    ):
        row = rows[name]
        word = "could not be told apart from" if row["verdict"] == "not shown" else f"is {row['verdict']} than"
        said.append(f"The {what} {word} the old fine-tuned ({with_interval(row)}).")
    return " ".join(said)


def base_figures(frame: pd.DataFrame, measure: str, titles: Mapping[str, str]) -> list[Figure]:
    """The four means, over the samples that all four arms share."""
    first = records(frame[frame["measure"] == measure])[0]
    over = f"Mean over the {plural(first['num_samples'], 'sample')} that all four arms share."
    unit = UNITS.get(measure, "")
    return [Figure(title, f"{number(first[f'{role}_mean'])}{unit}", None, over) for role, title in titles.items()]


def setting(frame: pd.DataFrame, measure: str) -> str:
    """How a measure goes along a setting: the ends, and for how many runs a difference could be shown."""
    known = records(frame[frame["value"].notna()])
    title, name = TITLES[measure], cut(known[0]["setting"])
    first, last = known[0], known[-1]
    silent = len(frame) - len(known)
    rest = f" {plural(silent, 'run')} {verb(silent, 'does', 'do')} not say it." if silent else ""
    if len({row["value"] for row in known}) < 2:
        return f"All {plural(len(known), 'run')} that say {name} have {value_of(first)}: nothing to compare.{rest}"
    ends = f"{title} {number(first['mean'])} at {value_of(first)} and {number(last['mean'])} at {value_of(last)}"
    held = [row for row in known if row["num_paired"]]
    shown = [row for row in held if row["verdict"] in ("higher", "lower")]
    if not held:
        return f"{name}: {ends}. No two of these runs share a sample, so no difference can be told.{rest}"
    if not shown:
        n = _range([row["num_paired"] for row in held])
        return f"{name}: {ends}. No difference from the run of the smallest value could be shown, {n}.{rest}"
    largest = max(shown, key=lambda row: abs(row["delta_mean"]))
    against = f"{cut(largest['arm'])} at {value_of(largest)} against {cut(largest['reference'])}"
    return (
        f"{name}: {ends}. Against the smallest value a difference could be shown for {len(shown)} of "
        f"{plural(len(held), 'run')}; the largest is {against}: {with_interval(largest)}, over "
        f"{plural(largest['num_paired'], 'paired sample')}.{rest}"
    )


def value_of(row: Mapping[str, Any]) -> str:
    """A run's value of a setting: a number without the digits of its arithmetic (1.1e-05), a long text cut."""
    return cut(row["value"]) if row["number"] is None else f"{row['number']:.6g}"


def frontier(frame: pd.DataFrame) -> str:
    """Which arms are surely worth their cost, which perhaps, and over which samples."""
    rows = records(frame)
    quality, cost = TITLES[rows[0]["quality"]], TITLES[rows[0]["cost"]]
    num = rows[0]["num_samples"]
    if not num:
        return f"The arms share no sample of which both {quality} and {cost} are known."
    over = f"over the {plural(num, 'sample')} that all {plural(len(rows), 'arm')} share"
    on = [cut(row["arm"]) for row in rows if row["is_on_frontier"]]
    if rows[0]["frontier_chance"] is None:
        return (
            f"Worth their cost here: {listed(on)}, {over}; how sure that is cannot be said: {rows[0]['chance_reason']}."
        )
    sure = [cut(row["arm"]) for row in rows if row["frontier_chance"] >= LIKELY]
    never = [cut(row["arm"]) for row in rows if row["frontier_chance"] <= 1 - LIKELY]
    open_ = [cut(row["arm"]) for row in rows if 1 - LIKELY < row["frontier_chance"] < LIKELY]
    said = [
        f"{listed(names)} {verb(len(names), one, many)}"
        for names, one, many in (
            (sure, "is worth its cost", "are worth their cost"),
            (open_, "may be", "may be"),
            (never, "is beaten by another", "are beaten by others"),
        )
        if names
    ]
    return f"{quality[0].upper()}{quality[1:]} against {cost}, {over}: {'; '.join(said)}."


def listed(names: list[str]) -> str:
    """Names as a sentence lists them: "a, b and c"."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def chance(value: float | None) -> str:
    """A share of resamples as percent; "–" where there is none."""
    return NOTHING if value is None else percent(value)
