"""What could mislead in a comparison, in words. Pure functions from frames to text: no Streamlit, no questions."""

from collections.abc import Hashable, Iterator, Mapping
from typing import Any, Final, TypeAlias

import pandas as pd

from dashboard.compare_words import by_measure, cut, fixed
from dashboard.words import percent, plural, verb, whole

Arms: TypeAlias = Mapping[str, Mapping[Hashable, Any]]
"""Rows of `compare_failures` by arm."""

_FIELDS: Final = {
    "environment": "environment",
    "agent": "agent",
    "split": "split",
    "grader_version": "grader version",
    "prompt_version": "prompt version",
    "tools_version": "tool definitions",
}
"""Fields that should be the same in both arms; that the model differs is the point."""
_KEYS: Final = {
    "sample_id": "sample_id",
    "sample_suffix": "the last part of the sample_id",
    "prompt_hash": "the prompt",
    "position": "their order alone",
}
SMALL = 20
"""Fewer paired samples than this are few: where differences are skewed, a t interval is then known to be too narrow."""


def cautions(
    measures: pd.DataFrame, failures: pd.DataFrame, pairing: pd.DataFrame, *, by_position: bool = False
) -> list[str]:
    """Sentences about what could mislead, most serious first; empty where nothing is known to.

    The frames are the answers to `compare`, `compare_failures` and `compare_pairing`.
    """
    rows = by_measure(measures)
    arms = {str(row["arm"]): row for row in failures.to_dict("records")}
    reward = rows["reward"]
    found = [
        *_environments(arms),
        *_unpaired(reward, arms),
        *_call_failures(arms),
        *_rollout_failures(reward, arms),
        *_unscored(arms),
        *_versions(pairing, by_position=by_position),
    ]
    if 0 < reward["num_paired"] < SMALL:
        n = plural(reward["num_paired"], "paired sample")
        found.append(f"only {n}: where differences are skewed, an interval from so few is somewhat too narrow.")
    return [_sentence(each) for each in found]


def nothing_pairs(pairing: pd.DataFrame, pair_by: str) -> str:
    """Why no sample pairs: what each arm has by this key, which keys would pair, and which fields differ."""
    keys = {row["about"]: row for row in pairing[pairing["kind"] == "key"].to_dict("records")}
    row = keys.get(pair_by)
    text = f"No sample pairs by {_KEYS[pair_by]}"
    if row is not None and row["num_baseline"] and row["num_candidate"]:
        examples = f"{cut(row['example_baseline'])}, the candidate {cut(row['example_candidate'])}"
        text += f": the baseline has {examples}"
    would = [
        f"{_KEYS[name]} ({plural(key['num_shared'], 'sample')})"
        for name, key in keys.items()
        if name != pair_by and key["num_shared"]
    ]
    text += (
        f". What would pair: {', '.join(would)}; choose it under Options." if would else ". No other key would pair."
    )
    return " ".join([text, *(_sentence(each) for each in _versions(pairing, by_position=False))])


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:]


def _environments(arms: Arms) -> Iterator[str]:
    several = max(arm["num_environments"] for arm in arms.values())
    if several > 1:
        yield f"rewards of {whole(several)} environments are pooled here: choose one in the sidebar."


def _unpaired(reward: Mapping[str, Any], arms: Arms) -> Iterator[str]:
    alone = {name: reward[f"num_only_{name}"] for name in ("baseline", "candidate")}
    left = [
        f"{whole(num)} of {plural(reward['num_paired'] + num, 'scored sample')} of the {name}"
        for name, num in alone.items()
        if num
    ]
    if left:
        yield f"{_and(left)} {verb(sum(alone.values()), 'has', 'have')} no partner and {_left_out(alone)}."
    unknown = [f"the {name}" for name, arm in arms.items() if arm["num_with_sample"] < arm["num_rollouts"]]
    if unknown:
        yield f"some rollouts of {_and(unknown)} name no sample and cannot be paired."


def _rollout_failures(reward: Mapping[str, Any], arms: Arms) -> Iterator[str]:
    rates = [arm["failure_rate"] for arm in arms.values()]
    if _apart(arms, "failure_rate", 0.01) or any(pd.notna(each) and each > 0.05 for each in rates):
        text = f"infrastructure and grader failures end {_both(arms, 'failure_rate')}"
        if pd.notna(reward["bound_low"]):
            low, high = fixed(reward["bound_low"], reward), fixed(reward["bound_high"], reward)
            text += f"; whatever those would have scored, the mean reward differs by {low} to {high}"
        yield f"{text}."
    for name, what in (("truncation_rate", "truncated"), ("budget_exceeded_rate", "out of budget")):
        if _apart(arms, name, 0.05):
            yield f"{_both(arms, name)} ended {what}: part of the difference may be that."


def _call_failures(arms: Arms) -> Iterator[str]:
    before, after = (arms[name]["tool_error_rate"] for name in ("baseline", "candidate"))
    if _apart(arms, "tool_error_rate", 0.02) and after > before:
        lost = arms["candidate"]["num_wrappers_failed"]
        of_these = f" ({plural(lost, 'parallel wrapper')} failed)" if lost else ""
        yield f"failed tool calls rose from {percent(before)} to {percent(after)}{of_these}."


def _unscored(arms: Arms) -> Iterator[str]:
    lacking = {name: arm["num_rollouts"] - arm["num_scored"] for name, arm in arms.items()}
    left = [
        f"{whole(num)} of {plural(arms[name]['num_rollouts'], 'rollout')} of the {name}"
        for name, num in lacking.items()
        if num
    ]
    if left:
        yield f"{_and(left)} {verb(sum(lacking.values()), 'has', 'have')} no reward and {_left_out(lacking)} of it."


def _left_out(counts: Mapping[str, int]) -> str:
    return verb(sum(counts.values()), "is left out", "are left out")


def _versions(pairing: pd.DataFrame, *, by_position: bool) -> Iterator[str]:
    for row in pairing[pairing["kind"] == "field"].to_dict("records"):
        if row["about"] in _FIELDS and row["num_shared"] == 0 and row["num_baseline"] and row["num_candidate"]:
            sides = f"{cut(row['example_baseline'])} against {cut(row['example_candidate'])}"
            yield f"the {_FIELDS[row['about']]} differs: {sides}."
    if by_position:
        yield "samples are paired by their order alone: nothing says that they are the same."
    for row in pairing[pairing["kind"] == "paired"].to_dict("records"):
        if row["num_shared"] < row["num_baseline"]:
            total = plural(row["num_baseline"], "paired sample")
            yield f"{whole(row['num_baseline'] - row['num_shared'])} of {total} have different prompts in the two arms."


def _both(arms: Arms, name: str) -> str:
    """A share of rollouts in both arms, in words."""
    before, after = (percent(arms[arm][name]) for arm in ("baseline", "candidate"))
    return f"{before} of the baseline's and {after} of the candidate's rollouts"


def _apart(arms: Arms, name: str, by: float) -> bool:
    """Whether a share differs between the arms by more than that."""
    before, after = (arms[arm][name] for arm in ("baseline", "candidate"))
    return bool(pd.notna(before) and pd.notna(after) and abs(after - before) > by)


def _and(parts: list[str]) -> str:
    return " and ".join(parts)
