"""What may be claimed of two arms, where they differ most, and what it would take to see more: in words.

Pure functions on the answers to `compare_claims`, `compare_slices`, `compare_power` and `compare_samples`.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

import pandas as pd

from dashboard.compare_words import TITLES, UNITS, cut
from dashboard.words import ends, number, plural, signed, verb, whole

BEYOND_CHANCE: Final = 0.05
"""A sample is told apart from the luck of its attempts where its adjusted p-value is at most this."""
_LESS: Final = ("tool_output_bytes", "latency_s", "queue_latency_s", "cost_usd")
"""Costs of which one has less; of the others one has fewer."""
_KINDS: Final = {"environment": "environment", "tag": "tag", "difficulty": "difficulty", "cluster": "cluster"}


def claim(claims: pd.DataFrame) -> str:
    """The strongest claim about reward and cost that holds, or the one that is nearest to it and what it lacks."""
    rows = _by_claim(claims)
    shown = {name for name, row in rows.items() if pd.notna(row["is_shown"]) and row["is_shown"]}
    said = {name: sentence(name, row) for name, row in rows.items()}
    for name in ("better_and_cheaper", "not_worse_and_cheaper", "better_not_costlier", "not_worse_not_costlier"):
        if name in shown:
            return f"{said[name][:1].upper()}{said[name][1:]}: this is shown, both at once."
    lacking = rows["not_worse"]
    if pd.isna(lacking["is_shown"]):
        return ""
    cost_known = pd.notna(rows["not_costlier"]["is_shown"])
    if "better" in shown:
        return f"That it has {said['not_costlier']} is not shown{_needed(rows['not_costlier'])}." if cost_known else ""
    if "not_worse" in shown:
        also = f" That it has {said['not_costlier']} is not." if cost_known else ""
        return f"It has {said['not_worse']}: this is shown.{also}"
    return f"That it has {said['not_worse']} is not shown{_needed(lacking)}."


def _needed(row: Mapping[str, Any]) -> str:
    if pd.isna(row["num_needed"]):
        return ""
    return f" (n = {whole(row['num_paired'])}; {whole(row['num_needed'])} needed, were the truth as observed)"


def sentence(name: str, row: Mapping[str, Any]) -> str:
    """A claim in words, as what the candidate has: "fewer tool calls and a reward at most 0.02 lower"."""
    cost = str(row["cost"])
    title, fewer = TITLES[cost], "less" if cost in _LESS else "fewer"
    margin, more = _short(row["margin"]), f"{_short(row['cost_margin'])}{UNITS.get(cost, '')}"
    parts = {
        "better": "a higher reward",
        "not_worse": f"a reward at most {margin} lower",
        "cheaper": f"{fewer} {title}",
        "not_costlier": f"{title} up by at most {more}",
    }
    if name in parts:
        return parts[name]
    reward = "not_worse" if name.startswith("not_worse") else "better"
    spent = "cheaper" if name.endswith("cheaper") else "not_costlier"
    return f"{parts[spent]} and {parts[reward]}" if spent == "cheaper" else f"{parts[reward]} and {parts[spent]}"


def _short(value: float) -> str:
    """A margin without the zeros at its end."""
    text = number(value, 2)
    return text.rstrip("0").rstrip(".") if "." in text else text


def claim_table(claims: pd.DataFrame) -> pd.DataFrame:
    """Every claim in words, whether it is shown, and with how many samples it would be."""
    states = {True: "▲ shown", False: "not shown"}
    rows = claims.to_dict("records")
    return claims.assign(
        claim=[f"The candidate has {sentence(str(row['claim']), row)}" for row in rows],  # type: ignore[arg-type]  # keys are column names
        shown=["cannot be said" if pd.isna(row["is_shown"]) else states[bool(row["is_shown"])] for row in rows],
        p=["< 0.001" if row["p_value"] < 0.001 else number(row["p_value"], 2) for row in rows],
    )[["claim", "shown", "p", "num_paired", "num_needed", "reason"]]


def worst_slice(slices: pd.DataFrame) -> str:
    """The slice with the lowest difference, and whether it is worse there or only by chance; empty without slices."""
    worst = slices[slices["is_worst"]]
    if worst.empty:
        return ""
    row = worst.iloc[0]
    change = f"reward {signed(row['delta_mean'], 2)}"
    if pd.notna(row["ci_low"]):
        change += f" [{', '.join(ends(row['ci_low'], row['ci_high'], 2))}]"
    kind = _KINDS.get(row["by"], str(row["by"]).removeprefix("metadata."))
    text = f"Worst slice of {whole(len(slices))}: {kind} {cut(row['slice'])}, {change}, n = {whole(row['num_paired'])}"
    if pd.notna(row["p_value_bh"]) and row["p_value_bh"] <= BEYOND_CHANCE and row["delta_mean"] < 0:
        return f"{text}: worse there, beyond what chance gives among so many slices."
    return f"{text}." if row["delta_mean"] >= 0 else f"{text}; no more than chance gives among so many slices."


def in_slice(samples: pd.DataFrame, by: str, name: str) -> pd.DataFrame:
    """The samples of a slice; none where the samples do not say (a key of the metadata)."""
    if by == "tag":
        return samples[[name in _tags(each) for each in samples["tags"]]]
    column = {"environment": "environment", "difficulty": "difficulty", "cluster": "cluster_key"}.get(by)
    return samples.iloc[:0] if column is None else samples[samples[column] == name]


def _tags(text: object) -> list[str]:
    try:
        found = json.loads(text) if isinstance(text, str) else []
    except ValueError:
        return []
    return [str(each) for each in found] if isinstance(found, list) else []


def power(frame: pd.DataFrame, measure: str) -> str:
    """What could be seen with the samples at hand, and what it would take to see the difference asked for."""
    now = frame.iloc[0]
    if pd.isna(now["mde"]):
        return "Too few samples are paired to say what could be seen with them."
    unit = UNITS.get(measure, "")
    difference, title = f"{number(now['difference'], 2)}{unit}", TITLES[measure]
    text = (
        f"With these {plural(now['num_paired'], 'sample')} a true difference in {title} of "
        f"{number(now['mde'], 2)}{unit} would be found in four of five repetitions. To find {difference} as often "
        f"takes {plural(now['num_needed'], 'sample')} with as many attempts as now"
    )
    several = frame[(frame["attempts"] >= 2).fillna(value=False) & frame["num_rollouts_needed"].notna()]
    if several.empty:
        return f"{text}; attempts are single, so what more of them would bring is not known."
    least = frame.iloc[int(frame["num_rollouts_needed"].astype(float).argmin())]
    if pd.notna(least["attempts"]) and least["num_rollouts_needed"] < now["num_rollouts_needed"]:
        rollouts = plural(least["num_rollouts_needed"], "rollout")
        attempts = plural(least["attempts"], "attempt")
        text += f"; the fewest rollouts, {rollouts} in all, take {plural(least['num_needed'], 'sample')} of {attempts}"
    return f"{text}."


def changed(samples: pd.DataFrame) -> str:
    """How many samples changed, and of how many that can be told apart from luck."""
    delta = samples["reward_delta"]
    down, up = int((delta < 0).sum()), int((delta > 0).sum())
    known = samples["p_value_bh"].notna()
    text = f"{plural(down, 'sample')} lost reward and {whole(up)} gained."
    if not known.any():
        return f"{text} Attempts are single, so a sample's own change cannot be told apart from luck."
    sure = samples[known & (samples["p_value_bh"] <= BEYOND_CHANCE)]
    lost, won = int((sure["reward_delta"] < 0).sum()), int((sure["reward_delta"] > 0).sum())
    if not lost and not won:
        return f"{text} No single sample's change can be told apart from the luck of its attempts."
    return f"{text} Beyond the luck of their attempts {verb(lost, 'is', 'are')} {whole(lost)} and {whole(won)} of them."


def _by_claim(claims: pd.DataFrame) -> dict[str, dict[str, Any]]:
    return {str(row["claim"]): row for row in claims.to_dict("records")}  # type: ignore[misc]  # keys are column names
