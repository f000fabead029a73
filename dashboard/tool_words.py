"""Sentences of the tool behaviour page. Pure functions."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from dashboard.rows import records
from dashboard.words import number, percent, plural, signed, verb, whole

MAX_NAMED = 3
KINDS = {
    "not_executed": "handed to no tool",
    "unknown_tool": "unknown tool",
    "invalid_arguments": "invalid arguments",
    "timeout": "timeout",
    "other": "other failure",
}
"""Kinds of failed calls as they are shown."""


def groups(frame: pd.DataFrame, names: Mapping[str, str]) -> list[str]:
    """A name for each row's group: the run where there are several, split, step, environment and agent where told."""
    several = frame["run_id"].nunique() > 1
    return [_group(row, names, several=several) for row in records(frame)]


def _group(row: Mapping[str, Any], names: Mapping[str, str], *, several: bool) -> str:
    finer = [str(row[each]) for each in ("split", "environment", "agent") if row.get(each) is not None]
    finer.insert(min(len(finer), 1), f"step {int(row['step'])}") if row.get("step") is not None else None
    run = [names.get(str(row["run_id"]), str(row["run_id"]))] if several or not finer else []
    return " · ".join([*run, *finer])


def verdict(profile: pd.DataFrame, named: list[str]) -> str:
    """How many calls are made at once, and whether those fail more often, for the first and last groups."""
    rows = [(name, row) for name, row in zip(named, records(profile), strict=True) if row["num_calls"]]
    if not rows:
        return "No rollout shown here makes a tool call whose turn is known."
    shown = rows if len(rows) <= MAX_NAMED else [rows[0], rows[-1]]
    said = [_profile(name, row) for name, row in shown]
    more = len(rows) - len(shown)
    return " ".join([*said, f"{plural(more, 'more group')} in the table."] if more else said)


def _profile(name: str, row: Mapping[str, Any]) -> str:
    of = f"{plural(row['num_calls'], 'call')} in {plural(row['num_rollouts'] or 0, 'rollout')}"
    if not row["num_parallel_calls"]:
        return f"{name}: none of {of} is parallel; {percent(row['single_error_rate'])} fail."
    parallel = f"{name}: {percent(row['parallel_call_share'])} of {of} are parallel"
    if row["single_error_rate"] is None:
        return f"{parallel}, {percent(row['parallel_error_rate'])} of them fail."
    low, high = row["error_rate_difference_ci_low"], row["error_rate_difference_ci_high"]
    rates = f"{percent(row['parallel_error_rate'])} of these fail, {percent(row['single_error_rate'])} of the others"
    if low is None:
        return f"{parallel}; {rates} (too few samples for an interval)."
    points = (
        f"difference {signed(100 * row['error_rate_difference'])} points [{number(100 * low)}, {number(100 * high)}]"
    )
    shown = "" if not low <= 0 <= high else ": no difference could be shown"
    return f"{parallel}; {rates} ({points}, n = {whole(row['num_samples'])} samples{shown})."


def cautions(profile: pd.DataFrame, *, of_own_agents: bool = False) -> list[str]:
    """What could mislead: wrappers that were refused, rollouts without messages, what cannot be told by agent."""
    found = []
    wrappers, refused = (int(profile[each].fillna(0).sum()) for each in ("num_wrappers", "num_wrappers_refused"))
    if refused:
        lost = int(profile["num_not_executed"].fillna(0).sum())
        found.append(
            f"{whole(refused)} of {plural(wrappers, 'parallel wrapper')} {verb(refused, 'was', 'were')} refused as a "
            f"whole: {plural(lost, 'call')} reached no tool and count as failed."
        )
    unknown = int(profile["num_unknown"].fillna(0).sum())
    if unknown:
        found.append(f"Of {plural(unknown, 'rollout')} the source kept no messages: nothing is known of their calls.")
    if of_own_agents:
        found.append("Turns, rounds and times of agents that share a rollout cannot be told apart and are left out.")
    return found


def unknown(found: pd.DataFrame) -> str:
    """Tools that were never offered, or never answered; else nothing."""
    if found.empty:
        return ""
    listed = ", ".join(str(each) for each in found["tool"].head(MAX_NAMED))
    more = f" and {len(found) - MAX_NAMED} more" if len(found) > MAX_NAMED else ""
    calls = int(found["num_calls"].sum())
    what = "never offered" if found["is_offered"].notna().all() else "never offered, or never once answered"
    return f"{plural(calls, 'call')} {verb(calls, 'goes', 'go')} to tools that were {what}: {listed}{more}."


def rule(frame: pd.DataFrame, named: list[str], text: str) -> str:
    """How often a rule is kept, and how it goes with reward, for up to three groups."""
    rows = list(zip(named, records(frame), strict=True))
    said = [_rule(name, row) for name, row in rows[:MAX_NAMED]]
    more = len(rows) - MAX_NAMED
    return " ".join([f"Rule “{text}”.", *said, *([f"{plural(more, 'more group')} in the table."] if more > 0 else [])])


def _rule(name: str, row: Mapping[str, Any]) -> str:
    judged = row["num_kept"] + row["num_broken"]
    if not judged:
        return f"{name}: it says nothing of any of {plural(row['num_rollouts'], 'rollout')}."
    rate = (
        f"{percent(row['rate'])} [{percent(row['ci_low'])}, {percent(row['ci_high'])}] of {plural(judged, 'rollout')}"
    )
    low, high = row["difference_ci_low"], row["difference_ci_high"]
    if row["num_samples_both"] == 0:
        return f"{name}: {rate} keep it; no sample has both, so rewards cannot be compared within samples."
    n = plural(row["num_samples_both"], "sample")
    if low is None:
        return f"{name}: {rate} keep it; {n} with both and rewards: too few, or too alike, for an interval."
    reward = f"{signed(row['difference_mean'])} [{number(low)}, {number(high)}] where it is kept, within {n}"
    shown = "no relation to reward could be shown: " if low <= 0 <= high else "reward differs by "
    return f"{name}: {rate} keep it; {shown}{reward}."


def lost_names(lost: Mapping[str, list[str]]) -> str:
    """That a rule names tools that no rollout ever called; else nothing."""
    said = [f"{name} (near it: {', '.join(near)})" if near else name for name, near in lost.items()]
    return f"No tool in this store is called {' or '.join(said)}." if said else ""


def shift(found: pd.DataFrame, moves: pd.DataFrame, baseline: str, candidate: str) -> str:
    """By how much the mix of tools shifted between two arms, how much of it is chance, and which tools moved most."""
    row = records(found)[0]
    if row["total_variation"] is None:
        return f"From {baseline} to {candidate}: {row['ci_reason']}."
    moved = [each for each in records(moves) if each["p_value_holm"] is not None and each["p_value_holm"] < 0.05]
    tools = ", ".join(
        f"{each['tool']} {signed(100 * each['difference'])} points [{number(100 * each['ci_low'])}, "
        f"{number(100 * each['ci_high'])}]"
        for each in moved[:MAX_NAMED]
    )
    bounds = "" if row["ci_low"] is None else f" [{percent(row['ci_low'])}, {percent(row['ci_high'])}]"
    chance = f"{percent(row['chance_mean'])} would be by chance, n = {plural(row['num_samples'], 'sample')}"
    said = "The mix shifted" if row["p_value"] < 0.05 else "No shift of the mix could be shown"
    which = f" Most moved: {tools}." if tools else " Of no single tool could a move be shown."
    return (
        f"{said} from {baseline} to {candidate}: {percent(row['total_variation'])}{bounds} of calls ({chance}).{which}"
    )


def outputs(frame: pd.DataFrame) -> str:
    """How many outputs are huge, and how many say that they were cut off."""
    known, huge, read, cut = (
        int(frame[each].sum()) for each in ("num_outputs", "num_huge", "num_read", "num_truncated")
    )
    limit = whole(int(frame["huge_bytes"].iloc[0]))
    return (
        f"{whole(huge)} of {plural(known, 'output')} {verb(huge, 'is', 'are')} huge ({limit} bytes or more); of "
        f"{whole(read)} long enough to be looked through {whole(cut)} {verb(cut, 'says', 'say')} they were cut off."
    )


def unstable(tools: pd.DataFrame) -> str:
    """How many calls that attempts at a sample share return something different, and of which tools that only read."""
    shared, differ = int(tools["num_calls_shared"].sum()), int(tools["num_unstable"].sum())
    if not shared:
        return "No call is made by two attempts at the same sample, so that answers could be compared."
    odd = tools[tools["is_reading"].astype(bool) & ~tools["is_volatile"].astype(bool) & (tools["num_unstable"] > 0)]
    named = ", ".join(dict.fromkeys(str(each) for each in odd["tool"].head(MAX_NAMED)))
    reads = (
        f" Tools that only read are among them: {named}; a call before may have changed what they read."
        if named
        else ""
    )
    verb_ = verb(differ, "returns", "return")
    return f"{whole(differ)} of {plural(shared, 'call')} that attempts at a sample share {verb_} something else.{reads}"
