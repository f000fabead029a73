"""What differs between two arms, check by check, in words. Pure functions on the answer to `comparability`."""

from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias

import pandas as pd

from dashboard.compare_words import cut
from dashboard.rows import records
from dashboard.words import NOTHING, percent, plural, verb, whole

Checks: TypeAlias = Mapping[str, Mapping[str, Any]]
"""Rows of `comparability` by check."""
TITLES: Final[Mapping[str, str]] = {
    "samples": "samples",
    "unknown_samples": "rollouts that name no sample",
    "environments": "environment",
    "prompts": "prompts of the samples in both arms",
    "system_prompt": "system prompt",
    "prompt_version": "prompt version",
    "tools_offered": "tool definitions",
    "tools_used": "tools used",
    "graders": "graders",
    "grader_version": "grader version",
    "limits": "limits",
    "decoding": "sampling settings",
    "agent": "agent",
    "dataset_version": "data set version",
    "split": "split",
    "attempts": "attempts per sample",
    "failure_rate": "failed rollouts",
    "truncation_rate": "truncated rollouts",
    "budget_rate": "rollouts out of budget",
    "missing_rewards": "rollouts without a reward",
    "tool_error_rate": "failed tool calls",
    "step_kind": "step",
    "model": "model",
    "code": "code",
}
"""What each check is about."""
_RATES: Final = ("failure_rate", "truncation_rate", "budget_rate", "missing_rewards", "tool_error_rate")
_ENDED: Final = {"truncation_rate": "truncated", "budget_rate": "out of budget"}
_NAMED: Final = (
    *("environments", "prompt_version", "tools_offered", "tools_used", "graders", "grader_version", "limits"),
    *("decoding", "agent", "dataset_version", "split"),
)
"""Checks whose difference is told by what each arm has."""
CHANCE: Final = 0.05


def by_check(checks: pd.DataFrame) -> dict[str, dict[str, Any]]:
    """The rows of `comparability` by their check, None where a value is missing."""
    return {str(row["check"]): row for row in records(checks)}


def warnings(found: Checks) -> Iterator[str]:
    """Sentences on what makes the arms hard to compare, as far as it lies in how they were made."""
    yield from _samples(found)
    yield from differences(found)


def differences(found: Checks) -> Iterator[str]:
    """Sentences on prompts, versions, tools, graders, limits and attempts that are not the same in both arms."""
    for name in ("prompts", "system_prompt"):
        row = found[name]
        if row["severity"] == "warns":
            different = row["num_baseline"] - row["num_shared"]
            looked = "paired sample" if name == "prompts" else "paired sample that was looked at"
            looks = "paired samples" if name == "prompts" else "paired samples that were looked at"
            kind = verb(different, "has another", "have another") + f" {'system ' * (name != 'prompts')}prompt"
            yield f"{whole(different)} of {plural(row['num_baseline'], looked, looks)} {kind} in the candidate."
    named = [f"{TITLES[name]} ({sides(found[name])})" for name in _NAMED if found[name]["severity"] == "warns"]
    if named:
        yield f"the arms differ in {_and(named)}."
    attempts = found["attempts"]
    if attempts["severity"] == "warns":
        before, after = (f"{attempts[f'{arm}_number']:g}" for arm in ("baseline", "candidate"))
        yield f"attempts at a sample: {before} in the baseline, {after} in the candidate (median)."


def _samples(found: Checks) -> Iterator[str]:
    several = max(found["environments"]["num_baseline"], found["environments"]["num_candidate"])
    if several > 1:
        yield f"rewards of {whole(several)} environments are pooled here: choose one in the sidebar."
    row = found["samples"]
    alone = {name: row[f"num_{name}"] - row["num_shared"] for name in ("baseline", "candidate")}
    left = [f"{whole(num)} of {plural(row[f'num_{arm}'], 'sample')} of the {arm}" for arm, num in alone.items() if num]
    if left:
        yield f"{_and(left)} {verb(sum(alone.values()), 'has', 'have')} no partner and {left_out(sum(alone.values()))}."
    if row["is_same"] is None and row["severity"] == "warns":
        yield "samples are paired by their order alone: nothing says that they are the same."
    lost = found["unknown_samples"]
    unknown = [f"the {name}" for name in ("baseline", "candidate") if lost[f"num_{name}"]]
    if unknown:
        yield f"some rollouts of {_and(unknown)} name no sample and cannot be paired."


def endings(found: Checks) -> Iterator[str]:
    """Sentences on rollouts that ended too early more often in one arm, or have no reward."""
    for name, what in _ENDED.items():
        if found[name]["severity"] == "warns":
            yield f"{both(found[name])} ended {what}: part of the difference may be that{chance(found[name])}."
    row = found["missing_rewards"]
    counts = {arm: round((row[f"{arm}_number"] or 0) * row[f"num_{arm}"]) for arm in ("baseline", "candidate")}
    left = [
        f"{whole(num)} of {plural(row[f'num_{arm}'], 'rollout')} of the {arm}" for arm, num in counts.items() if num
    ]
    if left:
        total = sum(counts.values())
        yield f"{_and(left)} {verb(total, 'has', 'have')} no reward and {left_out(total)} of it."


def sides(row: Mapping[str, Any]) -> str:
    """What each arm has that the other has not: "1 against 2", "search only in the candidate"."""
    before, after = row["baseline_value"], row["candidate_value"]
    if before is not None and after is not None:
        return f"{cut(before)} against {cut(after)}"
    return f"{cut(after)} only in the candidate" if before is None else f"{cut(before)} only in the baseline"


def also(found: Checks) -> str:
    """What differs and may well do so, e.g. the model; empty where nothing does."""
    noted = [
        f"{TITLES[name]} ({sides(row)})"
        for name, row in found.items()
        if row["severity"] == "notes" and (row["baseline_value"] is not None or row["candidate_value"] is not None)
    ]
    return f"Also different, and no fault: {_and(noted)}." if noted else ""


def told(checks: pd.DataFrame) -> pd.DataFrame:
    """The checks as a table to read: what was found, how much it weighs, and both sides."""
    rows = by_check(checks)
    return pd.DataFrame(
        {
            "check": [TITLES[name] for name in rows],
            "found": [_found(row) for row in rows.values()],
            "baseline has": [_side(name, row, "baseline") for name, row in rows.items()],
            "candidate has": [_side(name, row, "candidate") for name, row in rows.items()],
            "n, baseline": pd.array([row["num_baseline"] for row in rows.values()], dtype="Int64"),
            "n, candidate": pd.array([row["num_candidate"] for row in rows.values()], dtype="Int64"),
            "n, the same": pd.array([row["num_shared"] for row in rows.values()], dtype="Int64"),
            "p_value": pd.array([row["p_value"] for row in rows.values()], dtype="Float64"),
        }
    )


def _found(row: Mapping[str, Any]) -> str:
    if row["is_same"] is None:
        return "cannot be told"
    return "the same" if row["is_same"] else {"notes": "differs, no fault"}.get(row["severity"], "differs")


def _side(name: str, row: Mapping[str, Any], arm: str) -> str:
    if name in _RATES:
        return percent(row[f"{arm}_number"])
    value = row[f"{arm}_value"]
    if name == "attempts" and value is not None:
        return f"{value} (median {row[f'{arm}_number']:g})"
    return NOTHING if value is None else str(value)


def both(row: Mapping[str, Any]) -> str:
    """A share of rollouts in both arms, in words."""
    before, after = percent(row["baseline_number"]), percent(row["candidate_number"])
    return f"{before} of the baseline's and {after} of the candidate's rollouts"


def chance(row: Mapping[str, Any]) -> str:
    """That chance could explain a difference in rates, where a test says so; empty else."""
    return ", though chance could explain it" if row["p_value"] is not None and row["p_value"] >= CHANCE else ""


def left_out(count: float) -> str:
    """That so many are left out."""
    return verb(count, "is left out", "are left out")


def _and(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
