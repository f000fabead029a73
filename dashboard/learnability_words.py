"""Sentences of the learnability page. Pure functions from answers to text."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import pandas as pd

from dashboard.parts import Figure
from dashboard.rows import by, records
from dashboard.words import ends, number, percent, plural, shortened, verb, whole

BUCKETS: Final[Mapping[str, str]] = {
    "always_fails": "always fails",
    "mixed": "mixed",
    "always_passes": "always passes",
    "always_lowest": "always the lowest reward",
    "varies": "rewards differ",
    "always_highest": "always the highest reward",
    "always_same": "always one reward between",
}
RULES: Final[Mapping[str, str]] = {
    "passed": "as the source or grader says",
    "reward 0 or 1": "a reward of 1 (all rewards are 0 or 1)",
    "threshold": "a reward from the given threshold on",
}
FEW: Final = 8
"""Attempts from which a sample with a chance of .3 is seldom (in 6 of 100 cases) taken for one that always fails."""
MASKED: Final = 0.05


def verdict(row: Mapping[str, Any], group_size: int, batch_size: int) -> str:
    """How many samples a trainer can learn from, and what a batch of them is expected to carry."""
    if not row["num_samples"]:
        return f"No rollout of {row['label']} names its sample, so nothing can be told of samples."
    if not row["attempts_max"]:
        return f"Nothing of {row['label']} is scored, so nothing can be learned from it."
    return " ".join(each for each in (_never(row), _signal(row, group_size, batch_size)) if each)


def where_from(given: Mapping[str, int | None], said: Mapping[str, Any], defaults: Mapping[str, int]) -> str:
    """Where the sizes of groups and batches come from: the reader, the settings of a run, or nowhere."""
    parts = []
    for name, what in (("group_size", "Groups of {} attempts"), ("batch_size", "batches of {} prompts")):
        if given[name] is not None:
            parts.append(f"{what.format(whole(given[name]))} as chosen here")
        elif said.get(name) is not None:
            setting = said[f"{name}_setting"]
            whose = {"parent": " of the run it evaluates", "other runs": " of the other runs"}
            origin = f"as {setting}{whose.get(said[f'{name}_said_by'], ' of this run')} says"
            parts.append(f"{what.format(whole(said[name]))}, {origin}")
        else:
            parts.append(f"{what.format(whole(defaults[name]))}, since no setting says")
    return "; ".join(parts) + "."


def _never(row: Mapping[str, Any]) -> str:
    """How samples fall by their attempts."""
    tried = _attempts(row)
    if row["num_told"] and row["is_pass_fail"]:
        never = row["num_always_fails"] + row["num_always_passes"]
        return (
            f"{whole(never)} of {plural(row['num_told'], 'sample')} never {verb(never, 'varies', 'vary')} over "
            f"{tried}: {_fail_and_pass(row)}; {whole(row['num_mixed'])} {verb(row['num_mixed'], 'is', 'are')} mixed."
        )
    same = f"{whole(row['num_dead'])} of {plural(row['num_flat_told'], 'sample')} got the same reward every time"
    if row["num_told"]:
        mixed = f"{whole(row['num_mixed'])} {verb(row['num_mixed'], 'is', 'are')} mixed"
        return (
            f"Of {plural(row['num_told'], 'sample')} with {tried} each, {_fail_and_pass(row)} and {mixed}. Rewards are "
            f"graded: {same}."
        )
    if row["num_flat_told"]:
        return f"{same}, of {tried} each; nothing says which attempts pass."
    return f"No sample of {row['label']} has two scored attempts, so it cannot be told whether rewards vary."


def _fail_and_pass(row: Mapping[str, Any]) -> str:
    fails, passes = row["num_always_fails"], row["num_always_passes"]
    failing = f"{whole(fails)} always {verb(fails, 'fails', 'fail')}"
    return f"{failing}, {whole(passes)} always {verb(passes, 'passes', 'pass')}"


def _attempts(row: Mapping[str, Any]) -> str:
    low, high = row["attempts_min"], row["attempts_max"]
    return plural(high, "attempt") if low == high else f"{whole(low)} to {plural(high, 'attempt')}"


def _signal(row: Mapping[str, Any], size: int, batch: int) -> str:
    """What a group is expected to carry; for graded rewards both by success and by any difference."""
    said = []
    if row["signal_share"] is not None:
        what = "carry signal" if row["is_pass_fail"] else "carry signal (its rewards differ)"
        share = shared(row, "signal_share")
        said.append(
            f"A group of {size} is expected to {what} on {share} of prompts: about {_of(row, 'signal', batch)}."
        )
    if row["both_share"] is not None and not row["is_pass_fail"]:
        share = shared(row, "both_share")
        said.append(
            f"A group of {size} is expected to hold a pass and a failure on {share} of prompts: about "
            f"{_of(row, 'both', batch)}."
        )
    if row["signal_share"] is None and row["at_least_share"] is not None:
        share = shared(row, "at_least_share")
        said.append(f"In a group of {size} rewards differ, by however little, on at least {share} of prompts.")
    return " ".join(said)


def _of(row: Mapping[str, Any], name: str, batch: int) -> str:
    return f"{whole(row[f'{name}_groups'])} of {whole(batch)} a batch"


def shared(row: Mapping[str, Any], name: str) -> str:
    """A share with its interval: "27 % [20 %, 35 %]"."""
    low, high = row[f"{name}_ci_low"], row[f"{name}_ci_high"]
    return percent(row[name]) + ("" if low is None else f" [{percent(low)}, {percent(high)}]")


def origin(row: Mapping[str, Any]) -> str:
    """That the arm is a raw model, where it is one; else which model acted."""
    models = row["models"] if row["models"] is not None else []
    named = ", ".join(shortened(str(each), 40) for each in list(models)[:3])
    if row["stage"] == "raw model":
        return (
            f"This is the raw model{' ' + named if named else ''}, before any tuning, with the prompt as it stood: a "
            "better prompt may give part of what training gains from here."
        )
    if row["stage"] == "before the first step":
        return "Step 0 is the model this run started from, before its first update; its name is not recorded."
    return f"The model is {named}." if named else ""


def cautions(row: Mapping[str, Any], dead: pd.DataFrame) -> list[str]:
    """What could mislead: few attempts, failures, missing rewards, pooled environments, nothing that says success."""
    found = []
    median = row["attempts_median"]
    # Without passes and failures there is nothing to mislabel.
    if row["num_told"] and 0 < (median or 0) < FEW:
        k = int(median)
        found.append(
            f"Few attempts mislabel: with {plural(k, 'attempt')}, a sample that passes 3 times in 10 always fails in "
            f"{percent(0.7**k)} of cases. Bars and shares below are shrunk for it; the counts above are not."
        )
    if row["prior_note"] and row["both_share"] is not None and row["both_share_ci_low"] is None:
        why = row["prior_note"].partition(": ")[2]
        found.append(
            f"How chances of success differ between samples could not be fitted ({why}): shrunk "
            "chances rest on an assumption, and shares of groups have no interval."
        )
    elif row["prior_note"] and row["num_told"] and row["both_share"] is None:
        why = row["prior_note"].partition(": ")[2]
        found.append(
            f"How chances of success differ between samples could not be fitted ({why}): each sample's chance "
            "rests on an assumption, and what groups would hold is not told. Attempt more samples, or each as often as "
            "a group has attempts."
        )
    if row["num_failed"]:
        share = row["num_failed"] / row["num_rollouts"]
        lost = len(dead[dead["side"] == "not scored"])
        tail = f"; {plural(lost, 'sample')} only ever failed so" if lost else ""
        share_of = (
            f" They are {percent(share)} of all: what they hide may change the picture." if share > MASKED else ""
        )
        todo = " Read some (Trajectory, filtered by status) and repeat them, or count them as graded under Options."
        more = share_of + todo
        found.append(
            f"{plural(row['num_failed'], 'rollout')} of {whole(row['num_rollouts'])} ended in an infrastructure or "
            f"grader failure, which says nothing of the sample{tail}.{more}"
        )
    others = (
        ("num_not_scored", "{} of {} not scored: grade them, or what is told here is of the others alone."),
        ("num_without_sample", "{} of {} left out: no sample is named. Name it where rollouts are logged."),
    )
    for name, said in others:
        if row[name]:
            count = whole(row[name])
            found.append(said.format(count, f"{plural(row['num_rollouts'], 'rollout')} {verb(row[name], 'is', 'are')}"))
    if row["num_single"] and row["num_single"] < row["num_samples"]:
        found.append(f"{plural(row['num_single'], 'sample')} with fewer than two scored attempts cannot vary.")
    if row["num_environments"] > 1:
        found.append(f"{whole(row['num_environments'])} environments are pooled; choose one in the sidebar.")
    return found


def figures(row: Mapping[str, Any], group_size: int, batch_size: int) -> list[Figure]:
    """The figures on top: what varies, what groups and batches carry, the mean, and what the best attempts reach."""
    found = []
    if row["num_told"]:
        found.append(Figure("mixed samples", percent(row["mixed_share"]), _bounds(row, "mixed_share", percent)))
    else:
        found.append(Figure("samples of one reward", percent(row["dead_share"]), _bounds(row, "dead_share", percent)))
    name, label = basis(row)
    if name:
        shares = _bounds(row, f"{name}_share", percent)
        found.append(Figure(f"groups of {group_size} {label}", percent(row[f"{name}_share"]), shares))
        low, high = row[f"{name}_share_ci_low"], row[f"{name}_share_ci_high"]
        bounds = None if low is None else f"{whole(low * batch_size)} to {whole(high * batch_size)}"
        value = f"{whole(row[f'{name}_groups'])} of {whole(batch_size)}"
        found.append(Figure("such groups a batch", value, bounds, help="Expected, of the prompts in a batch."))
    found.append(Figure("mean reward", number(row["reward_mean"]), _bounds(row, "reward_mean", number)))
    if row["ceiling_k"] and row["ceiling_k"] > 1:
        label = f"best of {int(row['ceiling_k'])}"
        why = f"Mean over {plural(row['num_ceiling'], 'sample')}; {_headroom(row)} above their mean reward."
        found.append(Figure(label, number(row["reward_ceiling"]), _bounds(row, "reward_ceiling", number), help=why))
    return found


def basis(row: Mapping[str, Any]) -> tuple[str, str]:
    """Which share of groups is shown, and in which words: any difference where known, else a pass and a failure."""
    if row["signal_share"] is not None:
        return "signal", "with signal"
    if row["both_share"] is not None:
        return "both", "with a pass and a failure"
    return ("at_least", "that differ, at least") if row["at_least_share"] is not None else ("", "")


def _headroom(row: Mapping[str, Any]) -> str:
    """How far the best of k lies above the mean, with its interval."""
    low, high = row["headroom_ci_low"], row["headroom_ci_high"]
    return number(row["headroom"]) + ("" if low is None else f" [{', '.join(ends(low, high))}]")


def _bounds(row: Mapping[str, Any], name: str, written: Callable[[float], str]) -> str | None:
    low, high = row[f"{name}_ci_low"], row[f"{name}_ci_high"]
    if low is None or high is None:
        return None
    return " to ".join(ends(low, high) if written is number else (written(low), written(high)))


def ceiling(row: Mapping[str, Any]) -> str:
    """The reward ceiling and where the reward's variance lies, in a sentence each."""
    said = []
    if row["ceiling_k"] and row["ceiling_k"] > 1 and row["reward_ceiling"] is not None:
        said.append(
            f"If the best of {int(row['ceiling_k'])} attempts were always found, the mean reward would be "
            f"{number(row['reward_ceiling'])} instead of {number(row['reward_ceiling'] - row['headroom'])} "
            f"({_headroom(row)} more, over {plural(row['num_ceiling'], 'sample')}): within reach of what "
            "the model does already. Training may go beyond it."
        )
    if row["icc"] is not None:
        said.append(
            f"{percent(row['icc'])} of the reward's variance lies between samples, which no group sees, and "
            f"{percent(1 - row['icc'])} between attempts at one sample, which is what a group learns from."
        )
    return " ".join(said)


def dead(frame: pd.DataFrame) -> list[str]:
    """How many samples are dead, and for each reason how many and what would wake them."""
    if frame.empty:
        return ["Every sample with two scored attempts got more than one reward."]
    told = [f"{plural(len(frame), 'sample')} never {verb(len(frame), 'varies', 'vary')}."]
    for (reason,), rows in by(frame, "reason"):
        needed = rows["attempts_needed"].dropna()
        text = f"{reason.capitalize()} ({whole(len(rows))}): {rows['advice'].iloc[0]}"
        if len(needed):
            few, many = int(needed.min()), int(needed.max())
            span = whole(few) if few == many else f"{whole(few)} to {whole(many)}"
            text += f" An even chance of the other outcome takes {span} more attempts."
        told.append(text)
    return told


def attempts(frame: pd.DataFrame) -> str:
    """That the curves are over fewer samples further right, where they are."""
    names = ["num_samples_scored"] if frame["pass_at_k"].isna().all() else ["num_samples", "num_samples_scored"]
    fewest, most = int(frame[names].min().min()), int(frame[names].max().max())
    if fewest == most:
        return f"Every point is the mean over {plural(most, 'sample')}."
    return f"Points further right are over fewer samples ({whole(fewest)} of {whole(most)}), so they may jump."


def sizes(frame: pd.DataFrame) -> str:
    """Which group size spends the fewest rollouts for a group that carries signal."""
    name = "both" if frame["signal_share"].isna().any() and frame["both_share"].notna().any() else "signal"
    known = frame[frame[f"{name}_rollouts"].notna()]
    if known.empty:
        return "No group is known to carry signal at any size."
    best = records(known.sort_values([f"{name}_rollouts", "group_size"]))[0]
    what = "whose rewards differ" if name == "signal" else "that holds a pass and a failure"
    text = (
        f"Groups of {best['group_size']} spend the fewest rollouts for a group {what}: "
        f"{number(best[f'{name}_rollouts'])} each. Larger groups reach more prompts and "
        "estimate each one's advantage better."
    )
    lacking = frame[frame[f"{name}_share"].isna()]["group_size"]
    if len(lacking):
        text += f" For groups of {whole(lacking.min())} or more no sample has as many attempts."
    return text


def steps(frame: pd.DataFrame, names: Mapping[str, str]) -> str:
    """How many training groups had one reward for all, first and last, and whether the trainer's filter can be seen."""
    said = []
    for run_id, rows in list(frame[frame["scope"] == "all"].groupby("run_id", sort=False))[:3]:
        num, flat = int(rows["num_groups"].sum()), int(rows["num_zero_variance"].sum())
        if not num:
            said.append(f"{names.get(str(run_id), str(run_id))}: no group has two scored rollouts.")
            continue
        text = (
            f"{names.get(str(run_id), str(run_id))}: {whole(flat)} of {plural(num, 'group')} ({percent(flat / num)}) "
            f"had one reward for all their attempts, over {plural(rows['step'].nunique(), 'step')}"
        )
        by_failures = int(rows["num_by_failures"].sum())
        if by_failures:
            text += f"; {whole(by_failures)} more differ only because some attempts failed"
        said.append(f"{text}. {_filter(rows)}")
    return " ".join(said)


def _filter(rows: pd.DataFrame) -> str:
    known, unused = int(rows["num_known"].sum()), int(rows["num_not_trained_on"].sum())
    if not known:
        return "Nothing says which of them were trained on."
    if not unused:
        return (
            "All of them were trained on: if the trainer drops groups without signal, it did not write them, and the "
            "share before its filter is not known."
        )
    return f"{plural(unused, 'group')} of {whole(known)} {verb(unused, 'was', 'were')} not trained on."
