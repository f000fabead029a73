"""Sentences of the attrition page. Pure functions from frames to text."""

from collections.abc import Mapping
from typing import Any, Final

import pandas as pd

from dashboard.failure_words import title_of
from dashboard.parts import Figure
from dashboard.rows import records
from dashboard.words import decimals, percent, plural, verb, whole
from queries.measures import RolloutMeasure

STAGES: Final = {
    "num_dispatched": "dispatched",
    "num_finished": "finished",
    "num_scored": "scored",
    "num_admitted": "admitted",
    "num_trained_on": "trained on",
}
_REASONS: Final = {
    "cancelled": "cancelled",
    "grader_error": "grader error",
    "not_scored": "not scored",
    "no_advantage": "no advantage was computed",
    "no_signal": "no signal (advantage 0)",
    "left_out": "left out, no reason told",
    "not_known": "not known whether trained on",
}
FEW: Final = 5
"""Samples that lost rollouts: with fewer nothing is said about the slow ones."""


def reasons(losses: pd.DataFrame, titles: Mapping[str, str]) -> dict[tuple[str, str], str]:
    """What a screen calls each stage and reason: "not finished: dead environment"."""
    pairs = losses[["lost_at", "reason"]].dropna().drop_duplicates().itertuples(index=False)
    return {
        (
            str(stage),
            str(reason),
        ): f"not {str(stage).replace('_', ' ')}: {_REASONS.get(str(reason)) or title_of(reason, titles)}"
        for stage, reason in pairs
    }


def totals(frame: pd.DataFrame) -> dict[str, int | None]:
    """Sums over steps of every stage; None where one of them does not tell it."""
    return {name: None if frame[name].isna().any() else int(frame[name].sum()) for name in (*STAGES, "num_asked")}


def verdict(frame: pd.DataFrame, losses: pd.DataFrame, titles: Mapping[str, str], name: str) -> str:
    """How many rollouts of a run reach the last stage that is told, and where most are lost."""
    found = totals(frame)
    sent = found["num_dispatched"] or 0
    told = [stage for stage in STAGES if found[stage] is not None]
    last, reached = told[-1], found[told[-1]] or 0
    if last == "num_dispatched":
        return f"{name}: {plural(sent, 'rollout')} in the store; nothing tells what became of them."
    steps = f" over {plural(frame['step'].nunique(), 'step')}" if frame["step"].notna().any() else ""
    said = f"{name}: of {plural(sent, 'rollout')} dispatched{steps}, {whole(reached)} ({percent(reached / sent)}) "
    said += f"{'' if last == 'num_finished' else verb(reached, 'was ', 'were ')}{STAGES[last]}."
    lost = losses[losses["lost_at"].notna()].groupby(["lost_at", "reason"])["num"].sum().sort_values(ascending=False)
    if lost.empty:
        return f"{said} None was lost."
    names = reasons(losses, titles)
    keys = zip(lost.index.get_level_values(0), lost.index.get_level_values(1), lost, strict=True)
    most = [f"{whole(num)} {names[str(stage), str(reason)]}" for stage, reason, num in list(keys)[:3]]
    return f"{said} Lost: {'; '.join(most)}."


def cautions(frame: pd.DataFrame, subset: str | None) -> list[str]:
    """What could mislead: errors that were trained on, fewer received than asked for, what is not told."""
    found, said = totals(frame), []
    failed = int(frame["num_trained_failed"].sum())
    if failed:
        said.append(
            f"{plural(failed, 'rollout')} that an error ended {verb(failed, 'was', 'were')} trained on all the same: "
            "the policy was taught the reward of a failure it had no part in."
        )
    asked = frame[frame["num_asked"].notna()]
    short = asked[asked["num_dispatched"] < asked["num_asked"]]
    if len(short):
        missing = int((short["num_asked"] - short["num_dispatched"]).sum())
        said.append(
            f"{plural(missing, 'rollout')} that {verb(missing, 'was', 'were')} asked for never arrived, at "
            f"{plural(len(short), 'step')} of {whole(len(asked))} "
            f"({short['asked_by'].iloc[0]} says how many were asked for)."
        )
    more = asked[asked["num_dispatched"] > asked["num_asked"]]
    if len(more):
        said.append(f"At {plural(len(more), 'step')} more rollouts arrived than {more['asked_by'].iloc[0]} asks for.")
    unknown = [title for stage, title in STAGES.items() if found[stage] is None and frame[stage].isna().all()]
    if unknown:
        said.append(f"Not known, for the source does not tell it: {', '.join(unknown)}.")
    if asked.empty:
        said.append(
            "How many rollouts were asked for is not known: the run has none of the settings that failures.toml "
            "multiplies."
        )
    if subset == "effective":
        said.append("Only rollouts that were trained on are left by the filters: nothing of them can be lost.")
    return said


def slow(
    found: pd.DataFrame, measure: RolloutMeasure, titles: Mapping[str, str], names: Mapping[str, str]
) -> tuple[bool, str]:
    """Whether slow (or long) rollouts are the ones that vanish, and the sentence that says so."""
    known = found[found["num_samples"] >= FEW]
    rows = [row for row in records(known) if row["ci_low"] is not None]
    if not rows:
        lost = int(found["num_lost"].sum()) if len(found) else 0
        if not lost:
            return False, "No rollout was lost that could have been slow."
        return False, (
            f"Whether slow rollouts are the ones that are lost cannot be told: only {plural(lost, 'rollout')} of "
            f"{plural(int(found['num_samples'].sum()), 'sample')} {verb(lost, 'was', 'were')} lost for another reason "
            f"than no signal; {FEW} samples are needed."
        )
    worse = [row for row in rows if row["ci_low"] > 0.5]
    chosen = max(worse or rows, key=lambda row: float(row["slower"]))
    why = reasons(found, titles)[chosen["lost_at"], chosen["reason"]]
    told = (
        f"in {names.get(chosen['run_id'], chosen['run_id'])} a rollout lost as “{why}” has more {_noun(measure)} than "
        "one kept at "
        f"the same step with a chance of {decimals(chosen['slower'], 2)} [{decimals(chosen['ci_low'], 2)}, "
        f"{decimals(chosen['ci_high'], 2)}], 0.5 = no difference (n = {plural(chosen['num_samples'], 'sample')} "
        "that lost some)"
    )
    if chosen["num_guessed"]:
        told += f"; for {whole(chosen['num_guessed'])} of them the sample's own mean stands in"
    if worse:
        return True, (
            f"The slow ones vanish: {told}. What is left looks faster, and easier, than the task is."
            if measure.unit == "s"
            else f"The long ones vanish: {told}. What is left looks shorter than the task is."
        )
    return False, f"No difference between lost and kept rollouts could be shown: {told}."


def _noun(measure: RolloutMeasure) -> str:
    return measure.title.removesuffix(" per rollout").removesuffix(" of a rollout")


def figures(frame: pd.DataFrame) -> list[Figure]:
    """A figure a stage, with the share of the dispatched that reached it."""
    found = totals(frame)
    sent = found["num_dispatched"] or 0
    items = []
    for stage, title in STAGES.items():
        num = found[stage]
        beside = "all in the store" if stage == "num_dispatched" else None
        if stage == "num_dispatched" and found["num_asked"]:
            beside = f"{whole(found['num_asked'])} asked for"
        elif num is not None and sent and stage != "num_dispatched":
            beside = percent(num / sent)
        items.append(Figure(title.capitalize(), "not known" if num is None else whole(num), beside))
    return items


def of_steps(frame: pd.DataFrame) -> Mapping[str, Any]:
    """The run and split that a frame of one curve is about."""
    row = records(frame)[0]
    return {"run_id": row["run_id"], "split": row["split"]}
