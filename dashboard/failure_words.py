"""Sentences of the failures page. Pure functions from frames to text."""

from collections.abc import Mapping
from typing import Any, Final

import pandas as pd

from dashboard.curve_words import interval
from dashboard.rows import by_run, records
from dashboard.words import number, percent, plural, verb, whole

FOREIGN: Final = ("infrastructure", "grader")
MAX_NAMED: Final = 3
MUCH: Final = 0.05
"""Share of rollouts failed by infrastructure or grader from which on bounds matter."""
OTHER_TITLES: Final = {"unclassified": "no rule fits", "infra_error": "infrastructure error"}


def title_of(cause: Any, titles: Mapping[str, str]) -> str:
    """What a screen calls a cause; a cause of older rules goes by its own name."""
    name = str(cause)
    return titles.get(name) or OTHER_TITLES.get(name) or name.replace("_", " ")


def verdict(causes: pd.DataFrame, titles: Mapping[str, str], names: Mapping[str, str]) -> str:
    """How many rollouts of each run (three at most, else of all together) are without success, and mostly why."""
    runs = by_run(causes)
    if not runs:
        return "The filters leave no rollout."
    if len(runs) > MAX_NAMED:
        num, total = int(causes["num"].sum()), sum(int(rows["num_rollouts"].iloc[0]) for rows in runs.values())
        return (
            f"{whole(num)} of {plural(total, 'rollout')} ({percent(num / total)}) in {plural(len(runs), 'run')} are "
            f"without success. {_foreign(causes, total)}"
        )
    return " ".join(_of_run(rows, names.get(run_id, run_id), titles) for run_id, rows in runs.items())


def _of_run(rows: pd.DataFrame, name: str, titles: Mapping[str, str]) -> str:
    first = records(rows)[0]
    total, num = int(first["num_rollouts"]), int(rows["num"].sum())
    over = f"(n = {plural(first['num_samples'], 'sample')})"
    if not num:
        return f"{name}: {'the 1 rollout' if total == 1 else f'all {whole(total)} rollouts'} succeeded {over}."
    share = f"{percent(first['share'])}{_percents(first)} of all rollouts"
    most = f"Most often: {title_of(first['cause'], titles)}, {share}."
    said = f"{name}: {whole(num)} of {plural(total, 'rollout')} {verb(num, 'is', 'are')} without success {over}."
    return f"{said} {most} {_foreign(rows, total)}"


def _foreign(rows: pd.DataFrame, total: int) -> str:
    lost = int(rows.loc[rows["whose"].isin(FOREIGN), "num"].sum())
    if not lost:
        return "None of it is the infrastructure's or the grader's."
    return f"Infrastructure or grader failed {plural(lost, 'rollout')} ({percent(lost / total)} of all)."


def _percents(row: Mapping[str, Any]) -> str:
    if row["ci_low"] is None:
        return ""
    return f" [{percent(row['ci_low'])}, {percent(row['ci_high'])}]"


def cautions(
    causes: pd.DataFrame, coverage: pd.DataFrame, book: pd.DataFrame, floor: float, names: Mapping[str, str]
) -> list[str]:
    """What could mislead: own rules, unlike runs, much that failed, zeros that cannot be, what sources do not tell."""
    said = [unlike(causes, names), *_told(coverage, floor)]
    rows = [(run_id, _foreign_share(rows)) for run_id, rows in by_run(causes).items()]
    much = [f"{names.get(run_id, run_id)} ({percent(share)})" for run_id, share in rows if share > MUCH]
    if much:
        said.append(
            f"Infrastructure or grader failed more than {100 * MUCH:g} % of the rollouts of "
            f"{', '.join(much[:MAX_NAMED])}: read rewards with their bounds (view Reward)."
        )
    if (book["origin"] == "file").any():
        said.append("Causes are told by the store's own failures.toml, not by the rules that come with the program.")
    return [each for each in said if each]


def unlike(causes: pd.DataFrame, names: Mapping[str, str]) -> str:
    """That runs were failed by infrastructure or grader at rates whose intervals do not meet; else nothing."""
    found = []
    for run_id, rows in by_run(causes).items():
        own = rows[rows["whose"].isin(FOREIGN)]
        top = own.sort_values("num", ascending=False).head(1)
        low, high = (float(top["ci_low"].iloc[0]), float(own["ci_high"].sum())) if len(top) else (0.0, 0.0)
        found.append((_foreign_share(rows), low, high, names.get(run_id, run_id)))
    if len(found) < 2:
        return ""
    lowest, highest = min(found), max(found)
    if highest[1] <= max(lowest[2], lowest[0]) or highest[0] - lowest[0] < 0.01:
        return ""
    return (
        f"Runs failed at different rates for reasons that are not the policy's: {highest[3]} {percent(highest[0])} of "
        f"its rollouts, {lowest[3]} {percent(lowest[0])}. A comparison of their rewards as graded compares "
        "that as well."
    )


def _foreign_share(rows: pd.DataFrame) -> float:
    return float(rows.loc[rows["whose"].isin(FOREIGN), "num"].sum()) / max(float(rows["num_rollouts"].iloc[0]), 1.0)


def _told(coverage: pd.DataFrame, floor: float) -> list[str]:
    if coverage.empty:
        return []
    total = {name: int(coverage[name].sum()) for name in coverage.columns if name.startswith("num_")}
    said = []
    if total["num_reward"] and not total["num_zero"]:
        lowest = number(float(coverage["lowest_reward"].min()))
        said.append(
            f"No reward is {number(floor)} or lower (the lowest is {lowest}), so no rollout counts as a failure by its "
            "reward."
        )
    if not total["num_reward"] and not total["num_passed"]:
        said.append("Nothing is scored and no verdict is known, so every rollout that ended well counts as not scored.")
    if total["num_status"] < total["num_rollouts"]:
        unknown = total["num_rollouts"] - total["num_status"]
        said.append(f"How {plural(unknown, 'rollout')} ended is not known: what failed there can pass for wrong.")
    if total["num_untold"]:
        said.append(
            f"{plural(total['num_untold'], 'rollout')} with failed tool calls "
            f"{verb(total['num_untold'], 'was', 'were')} read by an older version, which did not note "
            "whether they recovered: tool errors are no cause there until they are read again."
        )
    return said


def bursts(found: pd.DataFrame, coverage: pd.DataFrame, names: Mapping[str, str]) -> list[str]:
    """When and where failures came together beyond chance, one sentence a burst; that times are not known."""
    if coverage.empty or not int(coverage["num_start"].sum()):
        return ["No rollout has a time, so whether failures came in bursts cannot be told."]
    return [_burst(row, names) for row in records(found)]


def _burst(row: Mapping[str, Any], names: Mapping[str, str]) -> str:
    where = "" if row["kind"] == "run" else f" on {row['kind']} {row['place']}"
    what = "calls" if row["kind"] == "tool" else "rollouts"
    begins, ends = pd.Timestamp(row["from_at"]), pd.Timestamp(row["to_at"])
    until = f"{ends:%H:%M:%S}" if begins.date() == ends.date() else f"{ends:%Y-%m-%d %H:%M:%S}"
    return (
        f"A burst of failures in {names.get(row['run_id'], row['run_id'])}{where}, {begins:%Y-%m-%d %H:%M:%S} to "
        f"{until} UTC: {whole(row['num_failed'])} of {whole(row['num'])} {what} failed ({percent(row['share'])}) where "
        f"{number(row['num_expected'], 2)} would be expected (p = {number(row['p_value'], 1)} over all stretches "
        "looked at)."
    )


def load(found: pd.DataFrame, names: Mapping[str, str]) -> str:
    """Whether rollouts fail more often when many run at once: most crowded against least crowded group of each run."""
    if found.empty:
        return "No rollout has both a start and an end, so how many ran at once cannot be told."
    rows = [(run_id, records(own)) for run_id, own in by_run(found).items() if len(own) > 1]
    worse = [_load(names.get(run_id, run_id), own) for run_id, own in rows if own[-1]["ci_low"] > own[0]["ci_high"]]
    if worse:
        return " ".join(worse[:MAX_NAMED])
    if not any(row["num_failed"] for _, own in rows for row in own):
        return "Nothing that has a start and an end was failed by infrastructure or grader."
    return (
        f"No more failures could be shown when many rollouts run at once (n = {plural(found['num'].sum(), 'rollout')}, "
        "the most crowded group of each run against its least crowded)."
    )


def _load(name: str, rows: list[dict[str, Any]]) -> str:
    first, last = rows[0], rows[-1]
    return (
        f"{name}: with {span(last)} rollouts in flight {percent(last['share'])}{_percents(last)} failed, with "
        f"{span(first)} {percent(first['share'])}{_percents(first)} (n = {whole(last['num'])} and "
        f"{whole(first['num'])})."
    )


def span(row: Mapping[str, Any]) -> str:
    """How many were in flight: "12", "13–20"."""
    low, high = whole(row["in_flight_from"]), whole(row["in_flight_to"])
    return low if low == high else f"{low}–{high}"


def bounds(found: pd.DataFrame, names: Mapping[str, str]) -> str:
    """What leaving failures out does to the reward of each run's last step, and how far it could be off."""
    said: list[str] = []
    for run_id, rows in by_run(found[found["num_left_out"] > 0]).items():
        row = records(rows)[-1]
        if row["reward_kept_mean"] is None or row["bound_low"] is None or len(said) == MAX_NAMED:
            continue
        at = "" if row["step"] is None else f" at step {row['step']}"
        kept = f"{number(row['reward_kept_mean'])}{interval(row['reward_kept_ci_low'], row['reward_kept_ci_high'])}"
        graded = "not scored" if row["reward_mean"] is None else f"{number(row['reward_mean'])} as graded"
        said.append(
            f"{names.get(run_id, run_id)}{at}: {graded}, {kept} with {plural(row['num_left_out'], 'failure')} left out "
            f"(n = {plural(row['num_samples_kept'], 'sample')}); had all these failed or all succeeded, between "
            f"{number(row['bound_low'])} and {number(row['bound_high'])}."
        )
    return " ".join(said) or "Infrastructure and grader failed nothing: the reward as graded is the reward."
