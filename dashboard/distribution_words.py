"""Sentences of the distributions and long tail pages. Pure functions from frames to text."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from dashboard.rows import records
from dashboard.words import number, percent, plural, shortened, whole
from queries.measures import RolloutMeasure

MAX_NAMED = 3
FEW = 20


def summary(frame: pd.DataFrame, groups: list[str], measure: RolloutMeasure) -> str:
    """Median and middle half of up to three groups (first and last of more), with their n."""
    known = [(row, name) for row, name in zip(records(frame), groups, strict=True) if row["num_rollouts"]]
    if not known:
        return f"No rollout that is left says anything about {measure.title}."
    shown = known if len(known) <= MAX_NAMED else [known[0], known[-1]]
    sentences = [
        f"{name}: {_spread(row, measure)} (n = {plural(row['num_rollouts'], 'rollout')})." for row, name in shown
    ]
    more = f" First and last of {len(known)} groups." if len(known) > MAX_NAMED else ""
    return f"{measure.title.capitalize()}. {' '.join(sentences)}{more}"


def _spread(row: Mapping[str, Any], measure: RolloutMeasure) -> str:
    if row["num_rollouts"] == 1:
        return valued(row["p50"], measure)
    middle = f"median {valued(row['p50'], measure)}, half of the rollouts between {exact(row['p25'])} and "
    # Many rollouts may share the value of P95, and none lie above it: "one in twenty above" would be wrong there.
    return f"{middle}{exact(row['p75'])}, 95 % at most {exact(row['p95'])}"


def exact(value: float | None) -> str:
    """A number as a reader would write it: whole where it is whole, else to three digits."""
    return whole(value) if value is not None and float(value).is_integer() and abs(value) >= 1 else number(value)


def valued(value: float | None, measure: RolloutMeasure) -> str:
    """A value with its unit: "9 calls", "60.0 s"; a reward has none."""
    if measure.unit == measure.title:
        return exact(value)
    return f"{exact(value)} {measure.unit.removesuffix('s') if value == 1 and measure.unit != 's' else measure.unit}"


def cautions(frame: pd.DataFrame, groups: list[str]) -> list[str]:
    """What could mislead: pooled splits and steps, missing values, few rollouts."""
    rows = list(zip(records(frame), groups, strict=True))
    found = []
    pooled = [name for row, name in rows if row["num_splits"] > 1]
    if pooled:
        found.append(f"{_listed(pooled)}: several splits are pooled; group by split, or choose one in the sidebar.")
    steps = {name: int(row["num_steps"]) for row, name in rows if row["num_steps"] > 1}
    if steps:
        most = "" if len(set(steps.values())) == 1 else "up to "
        found.append(f"{_listed(list(steps))}: {most}{whole(max(steps.values()))} steps are pooled; group by step.")
    missing, total = (sum(int(row[each]) for row, _ in rows) for each in ("num_missing", "num_rollouts"))
    if missing and total:
        found.append(
            f"{whole(missing)} of {plural(missing + total, 'rollout')} do not tell this number and are left out."
        )
    few = [name for row, name in rows if 0 < row["num_rollouts"] < FEW]
    if few:
        found.append(f"{_listed(few)}: fewer than {FEW} rollouts, too few for a shape.")
    return found


def drawn(total: int, at_most: int) -> str:
    """That not every group is drawn; else nothing."""
    return (
        f"{at_most} of {total} groups are drawn, first and last among them; the table has all."
        if total > at_most
        else ""
    )


def _listed(names: list[str]) -> str:
    return ", ".join(names[:MAX_NAMED]) + (f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else "")


def tools(frame: pd.DataFrame, names: Mapping[str, str]) -> str:
    """The most called tool of each run, and the one that fails most; `frame` is summed over steps."""
    sentences = []
    for run_id in list(dict.fromkeys(frame["run_id"]))[:MAX_NAMED]:
        rows = records(frame[frame["run_id"] == run_id].sort_values("num_calls", ascending=False))
        total = sum(int(row["num_calls"]) for row in rows)
        top, worst = rows[0], max(rows, key=lambda row: int(row["num_errors"]))
        text = (
            f"{names.get(str(run_id), str(run_id))}: {plural(total, 'call')} to {plural(len(rows), 'tool')}, most to "
            f"{shortened(str(top['tool']))} ({percent(top['num_calls'] / total)})"
        )
        if worst["num_errors"]:
            failed = f"{whole(worst['num_errors'])} of {plural(worst['num_calls'], 'call')}"
            text += f"; {shortened(str(worst['tool']))} fails most ({failed})"
        sentences.append(f"{text}.")
    return " ".join(sentences)


def tail(shares: pd.DataFrame, groups: list[str], measure: RolloutMeasure, threshold: float) -> str:
    """How many rollouts lie above a threshold and what they cost, for up to three groups."""
    rows = [(row, name) for row, name in zip(records(shares), groups, strict=True) if row["num_rollouts"]]
    if not rows:
        return f"No rollout that is left says anything about {measure.title}."
    shown = rows if len(rows) <= MAX_NAMED else [rows[0], rows[-1]]
    more = f" First and last of {len(rows)} groups." if len(rows) > MAX_NAMED else ""
    return " ".join(_tail(row, name, measure, threshold) for row, name in shown) + more


def _tail(row: dict[str, Any], name: str, measure: RolloutMeasure, threshold: float) -> str:
    above = f"above {valued(threshold, measure)}"
    if row["num_tail"] == 0:
        bound = percent(row["ci_high"])
        count = row["num_rollouts"]
        what = "its only rollout is not" if count == 1 else f"none of {plural(count, 'rollout')} is"
        return f"{name}: {what} {above} (95 % interval up to {bound})."
    costs = [
        f"{percent(row[column])} of all {what}"
        for column, what in (
            ("tool_calls_share", "calls"),
            ("output_tokens_share", "output tokens"),
            ("latency_share", "time"),
        )
        if row[column] is not None
    ]
    share = f"{percent(row['share'])} [{percent(row['ci_low'])}, {percent(row['ci_high'])}]"
    text = f"{name}: {share} of {plural(row['num_rollouts'], 'rollout')} are {above}"
    return f"{text}; they take {_and(costs)}." if costs else f"{text}."


def _and(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def without_interval(percentiles: pd.DataFrame) -> str:
    """Which percentiles have no interval, and why; else nothing."""
    lacking = percentiles[percentiles["reason"].notna()]
    if lacking.empty:
        return ""
    named = ", ".join(f"P{int(each)}" for each in sorted(set(lacking["percentile"])))
    if percentiles["percentile"].is_unique:
        return f"There is no interval for {named} ({lacking['reason'].iloc[-1]})."
    where = "No group has" if len(lacking) == len(percentiles) else "Not every group has"
    return f"{where} an interval for {named} ({lacking['reason'].iloc[-1]})."
