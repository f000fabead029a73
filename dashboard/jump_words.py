"""Sentences on sudden jumps of the reward: how far, between which steps, on how many samples, what else changes.

Pure functions on the answers to `reward_jumps` and `reward_jump_looks`.
"""

from collections.abc import Mapping
from typing import Any, Final

import pandas as pd

from dashboard.compare_words import cut
from dashboard.rows import records
from dashboard.run_words import reward_name
from dashboard.words import ends, number, plural, shortened

MAX_SAID: Final = 3
_CHANGES: Final = {
    "grader_version": "the grader goes from version",
    "prompt_version": "the prompt goes from version",
    "tools_version": "the tools' definitions go from version",
    "model": "the model goes from",
    "environments": "the mix of environments moves,",
    "failures": "failures of infrastructure or grader move from",
    "trained_on": "the rollouts trained on move from",
    "policy_lag": "the versions that the policy is behind move from",
}
"""How a change that stands beside a jump is told."""
_SUSPECTS: Final = {
    "grader": "it is the grader's, not the policy's",
    "inputs": "the policy is asked something else than before",
    "model": "other rollouts are compared, not the same policy",
    "failures": "read it with failures left out",
    "mix": "other rollouts are compared, not the same ones later",
    "unknown": "what it is, the rollouts on both sides must tell",
}


def jumps(frame: pd.DataFrame) -> list[str]:
    """One sentence for each jump of the reward, the largest first, with the graders that jump there as well."""
    rewards = sorted(records(frame[frame["score"] == "reward"]), key=lambda row: -abs(row["jump"]))
    said = [_jump(row, _beside(frame, row)) for row in rewards[:MAX_SAID]]
    if len(rewards) > MAX_SAID:
        said.append(f"{plural(len(rewards) - MAX_SAID, 'more jump')} of the reward; the table of sudden jumps has all.")
    alone = records(frame[(frame["score"] != "reward") & ~_at(frame).isin({_place(row) for row in rewards})])
    if alone:
        more = f"; the table has {plural(len(alone) - 1, 'more jump')} of graders" if len(alone) > 1 else ""
        said.append(f"{_jump(alone[0], [])} The reward does not jump there{more}.")
    return said


def _at(frame: pd.DataFrame) -> "pd.Series[Any]":
    return pd.Series([_place(row) for row in records(frame)], index=frame.index, dtype=object)


def _place(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return row["run_id"], row["split"], row["to_step"]


def _beside(frame: pd.DataFrame, jump: Mapping[str, Any]) -> list[str]:
    """Graders that jump at the same step."""
    return [
        cut(str(row["score"])) for row in records(frame) if row["score"] != "reward" and _place(row) == _place(jump)
    ]


def _jump(row: Mapping[str, Any], beside: list[str]) -> str:
    name = reward_name(row["split"]) if row["score"] == "reward" else f"score of {cut(str(row['score']))}"
    way = "falls" if row["jump"] < 0 else "rises"
    bounds = ", ".join(ends(*sorted(abs(row[end]) for end in ("ci_low", "ci_high"))))
    over = f"on {plural(row['num_samples'], 'sample')}" + ("" if row["is_paired"] else ", not the same on both sides")
    text = f"The {name} {way} by {number(abs(row['jump']))} [{bounds}] between steps {row['from_step']} and "
    text += f"{row['to_step']} {over}, more than noise and trend explain"
    changes = [f"{said} {str(row[each]).replace(' → ', ' to ')}" for each, said in _CHANGES.items() if row[each]]
    told = " and ".join(shortened(each, 120) for each in changes)
    where = f", where {told}" if changes else "; nothing that was recorded changes there"
    together = f" Scores that jump there as well: {', '.join(beside[:MAX_SAID])}." if beside else ""
    return f"{text}{where}: {_SUSPECTS[row['suspect']]}.{together}"


def looked(looks: pd.DataFrame) -> str:
    """Where jumps were looked for, and where they could not be."""
    said = []
    for _, own in looks.groupby(["run_id", "split"], dropna=False, sort=False):
        row = records(own)[0]
        name = reward_name(row["split"])
        if row["reason"]:
            said.append(f"{name}: {row['reason']}, so no jump could be shown")
        else:
            others = f" and {plural(len(own) - 1, 'grader')}" if len(own) > 1 else ""
            found = plural(int(own["num_jumps"].sum()), "jump") if own["num_jumps"].any() else "no jump is shown"
            places = f"{plural(row['num_looked_at'], 'place')} between two steps"
            said.append(f"{name}{others}: {found} at {places}, {plural(row['num_samples'], 'sample')}")
    text = "; ".join(said)
    return (
        f"{text[0].upper()}{text[1:]}." if said else "No step has a reward, so there was nothing to look for jumps in."
    )
