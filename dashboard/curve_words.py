"""Sentences of the reward curves page. Pure functions from frames to text."""

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from dashboard.rows import by, by_run, records, texts
from dashboard.run_words import reward_name
from dashboard.words import ends, number, percent, plural, signed, verb, whole
from queries.stats import wilson

MAX_NAMED = 3
"""Runs that get a sentence each; with more, one sentence speaks of all."""
MUCH_FAILED = 0.05
ALIKE = 0.01
"""Rates of failures that differ by less count as alike, as in a comparison of arms."""


def interval(low: float | None, high: float | None) -> str:
    """An interval in brackets, or that there is none: " [0.07, 0.52]"."""
    return "" if low is None or high is None or pd.isna(low) or pd.isna(high) else f" [{', '.join(ends(low, high))}]"


def verdict(changes: pd.DataFrame, curve: pd.DataFrame, names: Mapping[str, str], split: str | None) -> str:
    """How each run's reward went from its first step to its last, paired by sample; a level where there are no steps.

    `changes` is `step_deltas` against the first step, `curve` the reward curve of the split.
    """
    scored = curve[curve["reward_mean"].notna()]
    if scored.empty:
        return f"Nothing is scored: there is no {reward_name(split)} to draw."
    stepped = {run_id: rows for run_id, rows in by_run(changes).items() if len(rows) > 1}
    if len(stepped) > MAX_NAMED:
        return _many([records(rows)[-1] for rows in stepped.values()], names, split)
    sentences = [_change(records(rows), names.get(run_id, run_id), split) for run_id, rows in stepped.items()]
    levels = scored[~scored["run_id"].isin(stepped)].drop_duplicates("run_id", keep="last")
    sentences += [_level(row, names, split) for row in records(levels.head(MAX_NAMED))]
    return " ".join(sentences)


def _change(rows: list[dict[str, Any]], name: str, split: str | None) -> str:
    first, last = rows[0], rows[-1]
    span = f"from {number(first['reward_mean'])} at step {whole(first['step'])} to {number(last['reward_mean'])}"
    what = f"{name}: {reward_name(split)} went {span} at step {whole(last['step'])}"
    if last["num_paired"] == 0:
        seen = f"{whole(first['num_samples_scored'])} and {whole(last['num_samples_scored'])} samples"
        return f"{what}, on different samples ({seen}), so part of the change may be the samples'."
    over = f"over {plural(last['num_paired'], 'paired sample')}"
    change = f"{signed(last['delta_mean'])}{interval(last['delta_ci_low'], last['delta_ci_high'])} {over}"
    if last["delta_ci_low"] is None:
        return f"{what}: {change}, too few or too alike for an interval."
    if last["delta_ci_low"] > 0 or last["delta_ci_high"] < 0:
        return f"{what}: {change}."
    return f"{what}; no difference could be shown: {change}."


def _many(last: list[dict[str, Any]], names: Mapping[str, str], split: str | None) -> str:
    sure = [row for row in last if row["delta_ci_low"] is not None]
    up, down = (len([row for row in sure if test(row)]) for test in (_is_up, _is_down))
    top = max(last, key=lambda row: float(row["reward_mean"]))
    return (
        f"Of {plural(len(last), 'run')} with steps, {up} ended with a higher {reward_name(split)} than they began, "
        f"{down} with a lower one, and for {len(last) - up - down} no difference could be shown. "
        f"Highest at its last step: {names.get(top['run_id'], top['run_id'])} with {number(top['reward_mean'])} "
        f"(n = {plural(top['num_samples_scored'], 'sample')})."
    )


def _is_up(row: dict[str, Any]) -> bool:
    return bool(row["delta_ci_low"] > 0)


def _is_down(row: dict[str, Any]) -> bool:
    return bool(row["delta_ci_high"] < 0)


def _level(row: dict[str, Any], names: Mapping[str, str], split: str | None) -> str:
    bounds = interval(row["reward_ci_low"], row["reward_ci_high"])
    at = "" if row["step"] is None else f" at step {whole(row['step'])}"
    over = f"over {plural(row['num_samples_scored'], 'sample')}"
    what = f"{reward_name(split)} {number(row['reward_mean'])}"
    return f"{names.get(row['run_id'], row['run_id'])}: {what}{bounds}{at}, {over}."


def best(steps: pd.DataFrame, names: Mapping[str, str]) -> str:
    """Which step is best, which cannot be told apart from it, and that its number is optimistic; up to three runs."""
    several = {run_id: records(rows) for run_id, rows in by_run(steps).items() if len(rows) > 1}
    sentences = [_best(rows, names.get(run_id, run_id)) for run_id, rows in list(several.items())[:MAX_NAMED]]
    optimistic = "Chosen as the highest of these very numbers, its own reward is optimistic."
    return " ".join([*sentences, optimistic]) if sentences else ""


def _best(rows: list[dict[str, Any]], name: str) -> str:
    top = next(row for row in rows if row["is_best"])
    tied = sorted(row["step"] for row in rows if row["is_tied"])
    text = f"{name}: best step {whole(top['step'])}, {number(top['reward_mean'])}"
    text += interval(top["reward_ci_low"], top["reward_ci_high"])
    if not tied:
        return f"{text}, told apart from every other step."
    if len(tied) <= 6:
        listed = ", ".join(whole(each) for each in tied)
        return f"{text}; {'step' if len(tied) == 1 else 'steps'} {listed} cannot be told apart from it."
    return f"{text}; {whole(len(tied))} of the {whole(len(rows) - 1)} other steps cannot be told apart from it."


def failures(curve: pd.DataFrame, names: Mapping[str, str]) -> str:
    """That more than 5 % of the rollouts of a run failed for reasons that are not the policy's; else nothing."""
    parts: list[str] = []
    for run_id, rows in by_run(curve).items():
        failed, scored, total = (int(rows[each].sum()) for each in ("num_failed", "num_failed_scored", "num_rollouts"))
        if failed > MUCH_FAILED * total and len(parts) < MAX_NAMED:
            parts.append(
                f"{names.get(run_id, run_id)}: {percent(failed / total)} of {plural(total, 'rollout')} ended in an "
                f"infrastructure or grader error, {whole(scored)} of them with a reward."
            )
    return " ".join([*parts, "Compare the curve with failures left out."]) if parts else ""


def unlike_failures(curve: pd.DataFrame, names: Mapping[str, str]) -> str:
    """That infrastructure and grader failed runs at rates whose 95 % intervals do not meet; else nothing."""
    sums = curve.groupby("run_id", sort=False)[["num_failed", "num_rollouts"]].sum()
    if len(sums) < 2:
        return ""
    failed, total = sums["num_failed"].to_numpy(float), sums["num_rollouts"].to_numpy(float)
    low, high = wilson(failed, total)
    rates = failed / total
    least, most = int(rates.argmin()), int(rates.argmax())
    if low[most] <= high[least] or rates[most] - rates[least] < ALIKE:
        return ""
    said = [f"{names.get(str(sums.index[at]), sums.index[at])} {percent(rates[at])}" for at in (most, least)]
    return (
        f"Infrastructure and grader errors end {said[0]} of the rollouts and {said[1]}: runs that fail at different "
        "rates are compared fairly only with failures left out, and within bounds (page Failures)."
    )


def unlike_cause(causes: pd.DataFrame, titles: Mapping[str, str], names: Mapping[str, str]) -> str:
    """Which cause that is not the policy's differs most between runs, with 95 % intervals; nothing where none is sure.

    `causes` is the answer to `failure_causes` by run.
    """
    totals = causes.groupby("run_id", sort=False)["num_rollouts"].first().to_numpy(float)
    runs = list(dict.fromkeys(texts(causes["run_id"])))
    foreign = causes[causes["whose"].isin(["infrastructure", "grader"])]
    found: list[tuple[float, str]] = []
    for cause, rows in foreign.groupby("cause", sort=False):
        counts = rows.groupby("run_id")["num"].sum().reindex(runs, fill_value=0).to_numpy(float)
        rates, (low, high) = counts / totals, wilson(counts, totals)
        least, most = int(rates.argmin()), int(rates.argmax())
        if low[most] > high[least] and rates[most] - rates[least] >= ALIKE:
            said = [
                f"{percent(rates[at])} [{percent(low[at])}, {percent(high[at])}] of {names.get(runs[at], runs[at])}"
                for at in (most, least)
            ]
            found.append((rates[most] - rates[least], f"{titles.get(str(cause), str(cause))} {said[0]}, {said[1]}"))
    return f" The cause that differs most: {max(found)[1]}." if found else ""


def unscored(curve: pd.DataFrame) -> str:
    """That rollouts have no reward, so that they are in no mean; else nothing."""
    lost, total = int((curve["num_rollouts"] - curve["num_scored"]).sum()), int(curve["num_rollouts"].sum())
    are = verb(lost, "was not scored and is", "were not scored and are")
    return f"{whole(lost)} of {plural(total, 'rollout')} {are} in no mean." if lost else ""


def environments(found: list[str]) -> str:
    """That the sentences pool environments; else nothing."""
    if len(found) < 2:
        return ""
    listed = ", ".join(found[:MAX_NAMED]) + (f" and {len(found) - MAX_NAMED} more" if len(found) > MAX_NAMED else "")
    return f"The sentence pools {len(found)} environments ({listed}): choose one in the sidebar to see it alone."


def too_many(shown: int, total: int) -> str:
    """That not every run is drawn; else nothing."""
    return f"{shown} of {total} runs are drawn; choose others in the sidebar." if shown < total else ""


_MEANING = {
    "all": "the mean over all rollouts of the batch",
    "effective": "the mean over the rollouts that were trained on",
    "samples": "the mean over samples",
}


def reported(agreement: pd.DataFrame, names: Mapping[str, str]) -> str:
    """Which number the trainer reported and what it is, where the rollouts here give the same; up to three of them."""
    sentences: list[str] = []
    for (run_id, name), rows in by(agreement, "run_id", "name"):
        known = texts(rows["agrees_with"].dropna().mode())
        times = int((rows["agrees_with"] == known[0]).sum()) if known else 0
        # A few steps agree with something by chance: only most of them say what the number is.
        if 2 * times > len(rows) and len(sentences) < MAX_NAMED:
            sentences.append(
                f"{names.get(run_id, run_id)}: the trainer's {name} is {_MEANING[known[0]]} "
                f"(the same within 0.005 at {whole(times)} of {plural(len(rows), 'step')})."
            )
    return " ".join(sentences)


def disagreement(agreement: pd.DataFrame, names: Mapping[str, str]) -> str:
    """That the trainer's reward is none of the means its rollouts give; else nothing."""
    sentences: list[str] = []
    for (run_id, name), rows in by(agreement, "run_id", "name"):
        off = records(rows[rows["agrees_with"].isna()])
        if off and len(sentences) < MAX_NAMED:
            worst = max(off, key=lambda row: abs(float(row["difference"])))
            sentences.append(
                f"{names.get(run_id, run_id)}: at {whole(len(off))} of {plural(len(rows), 'step')} the reported {name} "
                f"is no mean of the rollouts read here; at step {whole(worst['step'])} it says "
                f"{number(worst['reported'])}, they give {number(worst['all_mean'])} "
                f"(n = {plural(worst['num_scored'], 'rollout')})."
            )
    return " ".join(sentences)


def behaviour(frame: pd.DataFrame, names: Mapping[str, str]) -> str:
    """How calls, tokens and seconds went from the first step to the last, for the run with the most steps."""
    stepped = by_run(frame[frame["step"].notna()].sort_values("step"))
    if not stepped:
        return ""
    run_id = max(stepped, key=lambda each: len(stepped[each]))
    rows = records(stepped[run_id])
    if len(rows) < 2:
        return ""
    first, last = rows[0], rows[-1]
    parts = [
        f"{label} {_way(show(first[column]), show(last[column]))}"
        for column, label, show in _BEHAVIOUR
        if first[column] is not None and last[column] is not None
    ]
    span = f"from step {whole(first['step'])} to step {whole(last['step'])}"
    counts = f"n = {whole(first['num_rollouts'])} and {plural(last['num_rollouts'], 'rollout')}"
    return f"{names.get(run_id, run_id)}, {span}: {'; '.join(parts)} ({counts})." if parts else ""


def _latency(value: float | None) -> str:
    """Seconds as on the axis below: "90 s to 1 min 48 s" would be hard to compare."""
    return f"{number(value)} s"


def _way(first: str, last: str) -> str:
    return f"{first} at both" if first == last else f"from {first} to {last}"


_BEHAVIOUR: tuple[tuple[str, str, Callable[[float | None], str]], ...] = (
    ("tool_calls_mean", "tool calls per rollout", number),
    ("reasoning_tokens_mean", "reasoning tokens", whole),
    ("latency_p50_s", "median latency", _latency),
    ("tool_error_rate", "failed calls", percent),
    ("repeat_rate", "repeated calls", percent),
)


def metric_entries(metrics: pd.DataFrame) -> pd.Series:
    """What each row of a trainer's metrics is chosen by: its name, and its split where the name has several."""
    splits = metrics["split"].fillna("no split")
    has_several = splits.groupby(metrics["name"]).transform("nunique") > 1
    return metrics["name"].where(~has_several, metrics["name"] + " · " + splits)
