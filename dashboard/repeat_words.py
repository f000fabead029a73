"""Sentences of the repeated calls page. Pure functions from frames to text."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from dashboard.rows import by_run, records
from dashboard.words import percent, plural, verb, whole
from dashboard.words import seconds as seconds_of

MAX_NAMED = 3


def verdict(by_step: pd.DataFrame, names: Mapping[str, str]) -> str:
    """How many calls repeat an earlier one, what came back, and what was wasted, for up to three runs."""
    sentences = [_run(rows, names.get(run_id, run_id)) for run_id, rows in list(by_run(by_step).items())[:MAX_NAMED]]
    more = by_step["run_id"].nunique() - MAX_NAMED
    return " ".join([*sentences, f"{plural(more, 'more run')} in the table."] if more > 0 else sentences)


def totals(rows: pd.DataFrame) -> dict[str, Any]:
    """Counts over the steps of a run; seconds are None where no step knows them."""
    found: dict[str, Any] = {
        name: int(rows[name].fillna(0).sum())
        for name in (
            "num_rollouts", "num_rollouts_unknown", "num_calls", "num_exact_repeats", "num_same_output",
            "num_different_output", "num_unknown_output", "num_near_repeats", "num_wasted_calls",
            "wasted_tokens_estimate",
        )
    }  # fmt: skip
    seconds = rows["wasted_latency_s"].dropna()
    return found | {"wasted_latency_s": float(seconds.sum()) if len(seconds) else None}


def _run(rows: pd.DataFrame, name: str) -> str:
    sums = totals(rows)
    over = f"{plural(sums['num_calls'], 'call')} in {plural(sums['num_rollouts'], 'rollout')}"
    if not sums["num_calls"]:
        return f"{name}: no call whose repeats could be told."
    if not sums["num_exact_repeats"]:
        near = sums["num_near_repeats"]
        nearly = f"{whole(near)} {verb(near, 'does', 'do')} nearly" if near else "none does nearly"
        return f"{name}: no call repeats an earlier one exactly, {nearly} (of {over})."
    share = percent(sums["num_exact_repeats"] / sums["num_calls"])
    seconds = "" if sums["wasted_latency_s"] is None else f", {seconds_of(sums['wasted_latency_s'])}"
    cost = f"about {whole(sums['wasted_tokens_estimate'])} tokens{seconds}"
    repeats, wasted = sums["num_exact_repeats"], sums["num_wasted_calls"]
    are = verb(wasted, "was", "were")
    cost = f" ({cost})" if sums["wasted_tokens_estimate"] else ""
    waste = f"{whole(wasted)} of these {whole(repeats)} {are} wasted{cost}" if wasted else "none of these was wasted"
    return f"{name}: {share} of {over} repeat an earlier one; {waste}."


def cautions(by_step: pd.DataFrame) -> list[str]:
    """What could mislead: rollouts whose repeats cannot be told, outputs that were not kept, pooled splits."""
    found = []
    unknown, known = int(by_step["num_rollouts_unknown"].sum()), int(by_step["num_rollouts"].sum())
    if unknown:
        found.append(
            f"In {whole(unknown)} of {plural(unknown + known, 'rollout')} repeats cannot be told, because the source "
            "kept no calls or no arguments."
        )
    lost, repeats = (
        int(by_step["num_unknown_output"].fillna(0).sum()),
        int(by_step["num_exact_repeats"].fillna(0).sum()),
    )
    if repeats and lost > repeats / 4:
        of = f"Of {plural(repeats, 'repeat')}, {whole(lost)} have" if lost < repeats else "The repeats have"
        found.append(f"{of} no output kept: more may have been wasted.")
    if by_step["split"].fillna("").nunique() > 1:
        found.append("Several splits are pooled here; choose one in the sidebar.")
    return found


def drawn(by_tool: pd.DataFrame, at_most: int) -> str:
    """That not every bar is drawn; else nothing."""
    bars = int((by_tool["num_exact_repeats"] + by_tool["num_near_repeats"] > 0).sum())
    what = "tools of a run" if by_tool["run_id"].nunique() > 1 else "tools"
    return f"The {at_most} of {whole(bars)} {what} with the most repeats are drawn." if bars > at_most else ""


def transition(pair: Mapping[str, Any]) -> str:
    """What a cell of the transitions says of the rollouts behind it: "with a call of cat right after search"."""
    before, after = pair["from_tool"], pair["to_tool"]
    if after is None:
        return "without a call" if before is None else f"ending with a call of {before}"
    return f"beginning with a call of {after}" if before is None else f"with a call of {after} right after {before}"


def loops(found: pd.DataFrame, total: int) -> str:
    """How many rollouts have a loop, and the longest."""
    if found.empty:
        return "No rollout goes round in circles."
    row = records(found)[0]
    go = verb(row["num_total"], "goes", "go")
    return (
        f"{whole(row['num_total'])} of {plural(total, 'rollout')} {go} through a cycle of one to four calls at least "
        f"twice; the longest takes {plural(row['longest_loop'], 'call')}."
    )
