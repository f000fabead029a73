"""The comparison page in words: verdict, figures and claims (for cautions see `compare_cautions`). Pure functions.

Nothing is called better or worse whose interval holds 0; every difference stands with its interval and its n.
"""

import math
from collections.abc import Mapping
from typing import Any, Final

import pandas as pd

from dashboard.parts import Figure
from dashboard.words import decimals, number, percent, plural, shortened, whole

TITLES: Final[Mapping[str, str]] = {
    "reward": "reward",
    "pass_rate": "pass rate",
    "tool_calls": "tool calls",
    "tool_calls_succeeded": "succeeded tool calls",
    "tool_calls_failed": "failed tool calls",
    "tool_error_rate": "tool error rate",
    "repeats": "repeated calls",
    "turns": "turns",
    "sequential_rounds": "rounds of calls",
    "reasoning_tokens": "reasoning tokens",
    "output_tokens": "output tokens",
    "input_tokens": "input tokens",
    "tool_output_tokens": "tool output tokens",
    "tool_output_bytes": "tool output",
    "latency_s": "latency",
    "queue_latency_s": "time in the queue",
    "cost_usd": "cost",
}
"""What a measure is called on the screen."""
FIELDS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("tool_calls", "tool_calls_succeeded", "repeats", "sequential_rounds"), "tool_calls"),
    "tool_calls_failed": "tool_errors",
    "turns": "messages",
    "reasoning_tokens": "reasoning_tokens",
    **dict.fromkeys(("output_tokens", "input_tokens", "tool_output_tokens"), "tokens"),
    "tool_output_bytes": "tool_calls",
    **dict.fromkeys(("latency_s", "queue_latency_s"), "latency"),
    "cost_usd": "cost",
}
"""Which field a source must fill for a cost to be known."""
UNITS: Final = {"latency_s": " s", "queue_latency_s": " s", "cost_usd": " US$", "tool_output_bytes": " bytes"}
_FIGURES = ("reward", "tool_calls", "turns", "output_tokens", "latency_s", "tool_calls_failed", "repeats", "pass_rate")
_NUM_FIGURES = 5
_MOST = 6
"""Decimals of a difference at most."""
_MORE_IS_BETTER = ("reward", "pass_rate", "tool_calls_succeeded")
MAX_PICKED: Final = 100
"""Samples of a quadrant whose rollouts are listed."""
_NEITHER = ("tool_calls", "turns", "sequential_rounds", "tool_output_tokens", "tool_output_bytes")
"""How the agent goes about it: neither more nor less of it is better in itself."""


def verdict(measures: pd.DataFrame, failures: pd.DataFrame, cost: str = "tool_calls") -> str:
    """The finding: reward and a cost with intervals, over how many paired samples, on how many better or worse."""
    rows = by_measure(measures)
    labels = failures.set_index("arm")["label"]
    lead = f"{_label(labels['candidate'])} against {_label(labels['baseline'])}: "
    shown = [name for name in ("reward", cost) if rows[name]["num_paired"]]
    shown = shown or [name for name in TITLES if rows[name]["num_paired"]][:1]
    if not shown:
        return f"{lead}nothing can be compared, because nothing is known of one sample in both arms."
    first = rows[shown[0]]
    parts = [_difference(name, rows[name]) for name in shown]
    text = f"{lead}{', '.join(parts)}, over {plural(first['num_paired'], 'paired sample')}."
    if shown[0] == "reward":
        up, down = whole(first["num_up"]), whole(first["num_down"])
        text += f" Counting any difference, better on {up} samples and worse on {down}."
    return text


def _label(arm: str) -> str:
    """An arm as it is written, its run's name cut where it is long."""
    name, at, step = arm.rpartition("@")
    return f"{cut(name)}{at}{step}" if name else cut(arm)


def _difference(name: str, row: Mapping[str, Any]) -> str:
    title, unit = TITLES[name], UNITS.get(name, "")
    if pd.isna(row["ci_low"]):
        return f"{title} {_signed(row['delta_mean'], row)}{unit} (no interval: {row['ci_reason']})"
    if not row["ci_low"] <= 0 <= row["ci_high"]:
        return f"{title} {with_interval(row)}{unit}"
    needed = "" if pd.isna(row["num_needed"]) or row["num_needed"] <= row["num_paired"] else _needed(row)
    return (
        f"no difference in {title} could be shown ({with_interval(row)}{unit}, n = {whole(row['num_paired'])}{needed})"
    )


def _needed(row: Mapping[str, Any]) -> str:
    return f"; {whole(row['num_needed'])} needed for ±{number(row['margin'], 1)}"


def with_interval(row: Mapping[str, Any]) -> str:
    """A difference with its interval, all to the same number of decimals: +0.29 [0.07, 0.51]."""
    text = _signed(row["delta_mean"], row)
    if pd.isna(row["ci_low"]):
        return text
    return f"{text} [{fixed(row['ci_low'], row)}, {fixed(row['ci_high'], row)}]"


def _signed(value: float, row: Mapping[str, Any]) -> str:
    text = fixed(value, row)
    return text if text.startswith("−") or not text.strip("0.") else f"+{text}"


def fixed(value: float, row: Mapping[str, Any]) -> str:
    """Two significant digits of the difference, or of a tenth of its interval's width where that is larger.

    As many more as it takes for a bound beside 0 not to read as 0: whether the interval holds it is the finding.
    """
    bounds = [abs(each) for each in (row["ci_low"], row["ci_high"]) if pd.notna(each)]
    width = max(abs(row["delta_mean"]), (row["ci_high"] - row["ci_low"]) / 10 if bounds else 0.0)
    digits = min(max(0, 1 - math.floor(math.log10(width))), _MOST) if width > 0 else 0
    while digits < _MOST and any(0.5 * 10**-_MOST <= each < 0.5 * 10**-digits for each in bounds):
        digits += 1
    return decimals(value, digits)


def figures(measures: pd.DataFrame) -> list[Figure]:
    """The five figures on top: the candidate's mean, and the change from the baseline with its interval."""
    rows = by_measure(measures)
    names = [name for name in _FIGURES if rows[name]["num_paired"]][:_NUM_FIGURES]
    return [_figure(name, rows[name]) for name in names]


def _figure(name: str, row: Mapping[str, Any]) -> Figure:
    good = None
    if name not in _NEITHER and pd.notna(row["ci_low"]) and not row["ci_low"] <= 0 <= row["ci_high"]:
        good = (row["delta_mean"] > 0) == (name in _MORE_IS_BETTER)
    unit = UNITS.get(name, "")
    means = (
        f"Mean over {plural(row['num_paired'], 'paired sample')}: {number(row['baseline_mean'])}{unit} in the baseline."
    )
    reason = row["ci_reason"] if pd.isna(row["ci_low"]) else "95 % interval in brackets"
    return Figure(
        TITLES[name], f"{number(row['candidate_mean'])}{unit}", with_interval(row), f"{means} {reason}.", good
    )


def in_a_cell(quadrants: pd.DataFrame) -> str:
    """What the numbers in a quadrant are; without noise of attempts there is no share of chance."""
    share = "share of samples (how many)"
    if quadrants["null_share"].isna().all():
        return f"{share} and its 95 % interval in percent."
    return f"{share}, its 95 % interval in percent, and the share that chance alone gives."


def claims(quadrants: pd.DataFrame) -> str:
    """The joint claims about reward and cost, with what chance alone would give, and where the dead-bands come from."""
    first = quadrants.iloc[0]
    if not first["num_paired"]:
        return "No sample has both measures in both arms."
    title = TITLES[first["cost"]]
    null = quadrants.set_index("quadrant")["null_share"]
    not_more = null[["better_fewer", "better_same"]].sum(skipna=False)
    fewer = null[["better_fewer", "same_fewer"]].sum(skipna=False)
    said = [
        _claim(first, "better_not_more", f"Better with {title} not up", not_more),
        _claim(first, "not_worse_fewer", f"not worse with {title} down", fewer),
    ]
    unit = UNITS.get(first["cost"], "")
    widths = f"±{number(first['eps_reward'], 2)} reward and ±{number(first['eps_cost'], 2)}{unit} {title}"
    notes = [each for each in dict.fromkeys((first["eps_reward_note"], first["eps_cost_note"])) if pd.notna(each)]
    bands = f"Differences within {widths}{f' ({notes[0]})' if notes else ''} count as the same"
    counted = " here; the first sentence counts any difference" if first["eps_reward"] > 0 else ""
    return f"{'; '.join(said)}. {bands}{counted}."


def _claim(row: pd.Series, name: str, what: str, chance: float) -> str:
    low, high = percent(row[f"{name}_ci_low"]), percent(row[f"{name}_ci_high"])
    beside = f"; chance alone gives {percent(chance)}" if pd.notna(chance) else ""
    return f"{what}: {percent(row[f'{name}_share'])} of samples [{low}, {high}]{beside}"


def by_measure(measures: pd.DataFrame) -> dict[str, dict[str, Any]]:
    """The rows of `compare` by their measure."""
    return {row["measure"]: row for row in measures.to_dict("records")}  # type: ignore[misc]  # keys are column names


def cut(text: object) -> str:
    """A name, its middle left out where it is long."""
    return shortened(str(text), 40)


def picked(points: list[dict[str, Any]]) -> str:
    """Which samples are selected: "sample 17", "3 samples"."""
    return f"sample {cut(points[0]['sample_id'])}" if len(points) == 1 else plural(len(points), "sample")


def in_quadrants(samples: pd.DataFrame, quadrants: list[str]) -> list[dict[str, Any]]:
    """The samples of some quadrants as a selection, the first hundred of them."""
    found = samples[samples["quadrant"].isin(quadrants)][["sample_id", "candidate_sample_id"]].head(MAX_PICKED)
    return found.to_dict("records")  # type: ignore[return-value]  # keys are column names


def listed(rollouts: pd.DataFrame) -> pd.DataFrame:
    """The columns of a list of rollouts that fit beside another list."""
    columns = [
        "sample_id",
        "attempt",
        "reward",
        "num_tool_calls",
        "num_tool_errors",
        "latency_s",
        "status",
        "rollout_id",
    ]
    few = columns[1:] if rollouts["sample_id"].nunique() < 2 else columns
    return rollouts[few]
