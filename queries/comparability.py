"""The question whether two arms can be compared at all: same samples, prompts, tools, graders, limits and the like."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import numpy as np
import pandas as pd

from queries.comparison import Comparison, comparison
from queries.connection import Reading, at_once
from queries.pairing import holm
from queries.resampling import sign_flips
from queries.settings import canonical, is_decoding, is_limit, settings_of, shown
from queries.stats import Floats

Row = dict[str, Any]
CHECKS: Final = (
    *("samples", "unknown_samples", "environments", "prompts", "system_prompt", "prompt_version", "tools_offered"),
    *("tools_used", "graders", "grader_version", "limits", "decoding", "agent", "dataset_version", "split"),
    *("attempts", "failure_rate", "truncation_rate", "budget_rate", "missing_rewards", "tool_error_rate"),
    *("step_kind", "model", "code"),
)
"""Every check, in the order of the rows: what is compared, how it was run, how it ended, what may differ."""
NUM_SHOWN: Final = 3
"""Values named at most where a check finds many."""
_FIELDS: Final[Mapping[str, str]] = {
    "environments": "environment",
    "prompt_version": "prompt_version",
    "tools_offered": "tools_version",
    "tools_used": "tool",
    "grader_version": "grader_version",
    "agent": "agent",
    "dataset_version": "dataset_version",
    "model": "model",
}
"""Checks that compare the values of one thing, as `comparability.sql` names it."""
_NOTES: Final = ("step_kind", "model", "code")
"""What may well differ: it is told, but is no fault of the comparison."""
_RATES: Final[Mapping[str, tuple[str, str, float]]] = {
    "failure_rate": ("failed", "known", 0.01),
    "truncation_rate": ("truncated", "known", 0.05),
    "budget_rate": ("budget_exceeded", "known", 0.05),
    "missing_rewards": ("unscored", "attempts", 0.01),
    "tool_error_rate": ("call_errors", "calls", 0.02),
}
"""Of what each rate is a share, and the difference from which on the arms are not alike in it."""
_NUM_FLIPS: Final = 1_999
_ARMS: Final = ("baseline", "candidate")


def comparability(
    store: Reading,
    *,
    baseline: str,
    candidate: str,
    split: str | None = None,
    environments: tuple[str, ...] | None = None,
    pair_by: str = "sample_id",
) -> pd.DataFrame:
    """One row per check, in the order of `CHECKS`: can two arms be compared at all, and what differs beside the model?

    Columns: check, is_same (NULL = cannot be told), severity (of a difference: `stops`, `warns` or `notes`; NULL where
    none was found), baseline_value, candidate_value (what only that arm has; where they are the same, all of it),
    baseline_number, candidate_number (rates 0–1, attempts: median per sample), num_baseline, num_candidate (of
    what the check is about: samples, distinct values; for rates the rollouts or calls they are over), num_shared (of
    these in both arms, the same), p_value (rates: sign flip over paired samples of the difference of their own rates,
    Holm-adjusted for those that can be tested). Rates count as alike up to 0.01 (failures, missing rewards), 0.02
    (failed calls) or 0.05 (truncation, budget), whatever the p-value says: what is missing here biases this comparison.
    Versions, tools and graders are those of the samples both arms attempted; the system message is read of the first 24
    of them.

    Raises:
        QuestionError: An arm or `pair_by` is not one there is.
    """
    asked = comparison(store, baseline, candidate, split, environments, pair_by)
    run_ids = sorted({asked.baseline.run_id, asked.candidate.run_id})
    parameters = {**asked.parameters(), "run_ids": run_ids}
    names = ("comparability", "comparability_samples", "comparability_system_prompts", "run_descriptions", "run_codes")
    values, samples, prompts, described, codes = at_once(lambda name: store.ask(name, parameters), names)
    prompts = prompts[
        (prompts["baseline_prompt"] != "") | (prompts["candidate_prompt"] != "")
    ]  # not all sources keep it
    found = {
        **_samples(samples, pair_by),
        **_fields(values),
        "system_prompt": _pairs(prompts["baseline_prompt"], prompts["candidate_prompt"]),
        **_settings(described, codes, asked),
        "split": _sets(*({str(each.split)} if each.split else set() for each in (asked.baseline, asked.candidate))),
        "step_kind": _sets({_kind(asked.baseline.step)}, {_kind(asked.candidate.step)}),
        "attempts": _attempts(samples),
        **_rates(samples, asked),
    }
    frame = pd.DataFrame([{"check": name, **_severity(name, found[name])} for name in CHECKS])
    counts = dict.fromkeys(("num_baseline", "num_candidate", "num_shared"), "Int64")
    numbers = dict.fromkeys(("baseline_number", "candidate_number", "p_value"), "float64")
    return frame.astype({"is_same": "boolean", **counts, **numbers})


def _row(numbers: tuple[int, int, int], values: tuple[Any, Any] = (None, None), *, is_same: bool | None) -> Row:
    """What a check found, with its counts (baseline, candidate, shared); what else there is, is put in by the check."""
    return {
        "is_same": is_same,
        "severity": None,
        "baseline_value": values[0],
        "candidate_value": values[1],
        "baseline_number": None,
        "candidate_number": None,
        "num_baseline": numbers[0],
        "num_candidate": numbers[1],
        "num_shared": numbers[2],
        "p_value": None,
    }


def _severity(check: str, row: Row) -> Row:
    """The row with how much its difference weighs, where the check has not said so itself."""
    if row["is_same"] is False and row["severity"] is None:
        row["severity"] = "notes" if check in _NOTES else "warns"
    return row


def _sets(baseline: set[str], candidate: set[str]) -> Row:
    """Distinct values of both arms; nothing can be told where either arm says nothing."""
    both = baseline & candidate
    is_same = baseline == candidate if baseline and candidate else None
    sides = (baseline, candidate) if is_same or is_same is None else (baseline - both, candidate - both)
    return _row((len(baseline), len(candidate), len(both)), (_listed(sides[0]), _listed(sides[1])), is_same=is_same)


def _listed(values: Iterable[str]) -> str | None:
    named = sorted(values)
    rest = [f"and {len(named) - NUM_SHOWN} more"] if len(named) > NUM_SHOWN + 1 else []
    return ", ".join([*(named[:NUM_SHOWN] if rest else named), *rest]) or None


def _pairs(baseline: "pd.Series[Any]", candidate: "pd.Series[Any]") -> Row:
    """Texts that paired samples have in both arms, given by their hashes, '' = none."""
    different = baseline[baseline != candidate].index
    num, same = len(baseline), len(baseline) - len(different)
    sides = (baseline[different], candidate[different]) if len(different) else (baseline, candidate)
    values = tuple(_listed({str(each)[:8] or "none" for each in side}) for side in sides)
    return _row((num, num, same), (values[0], values[1]), is_same=same == num if num else None)


def _samples(samples: pd.DataFrame, pair_by: str) -> dict[str, Row]:
    """Which samples are in both arms, rollouts of which none is known, and the prompts of those in both."""
    known = samples[samples["is_known"].fillna(value=False)]
    arms = [known[known[f"{arm}_attempts"] > 0] for arm in _ARMS]
    paired = known[(known["baseline_attempts"] > 0) & (known["candidate_attempts"] > 0)]
    numbers = (len(arms[0]), len(arms[1]), len(paired))
    alone = [
        side.drop(paired.index)[f"{arm}_sample_id"].dropna().astype(str) for arm, side in zip(_ARMS, arms, strict=True)
    ]
    is_same = set(numbers) == {len(paired)} if len(known) else None
    row = _row(numbers, (_listed(alone[0]), _listed(alone[1])), is_same=is_same)
    if len(known) and not len(paired):
        row["severity"] = "stops"
    elif pair_by == "position":  # order alone says nothing about which sample it is
        row |= {"is_same": None, "severity": "warns"}
    unnamed = samples[~samples["is_known"].fillna(value=False)]
    lost = tuple(int(unnamed[f"{arm}_attempts"].sum()) for arm in _ARMS)
    both = paired.dropna(subset=["baseline_prompt_hash", "candidate_prompt_hash"])
    return {
        "samples": row,
        "unknown_samples": _row((lost[0], lost[1], 0), is_same=not any(lost)),
        "prompts": _pairs(both["baseline_prompt_hash"], both["candidate_prompt_hash"]),
    }


def _fields(values: pd.DataFrame) -> dict[str, Row]:
    """Checks of what rollouts and scores say of themselves."""
    by_arm = {
        (str(about), str(arm)): set(rows["found"].astype(str))
        for (about, arm), rows in values.groupby(["about", "arm"])
    }

    def sides(about: str) -> tuple[set[str], set[str]]:
        return by_arm.get((about, "baseline"), set()), by_arm.get((about, "candidate"), set())

    found = {check: _sets(*sides(about)) for check, about in _FIELDS.items()}
    found["graders"] = _sets(*(set(map(_grader, side)) for side in sides("grader")))
    by_grader = sides("grader_version_of")
    if all(by_grader):  # else the version that rollouts name
        found["grader_version"] = _sets(*(set(map(_version, side)) for side in by_grader))
    used = found["tools_used"]
    if used["is_same"] is False:  # a tool that is offered need not be used: only no tool in common is suspicious
        used["severity"] = "notes" if used["num_shared"] or found["tools_offered"]["is_same"] else "warns"
    return found


def _grader(text: str) -> str:
    one = json.loads(text)
    weight = "" if one["weight"] is None else f", weight {one['weight']:g}"
    return f"{one['grader']} ({one['kind']}{weight})"


def _version(text: str) -> str:
    one = json.loads(text)
    return f"{one['grader']} {one['version']}"


def _settings(described: pd.DataFrame, codes: pd.DataFrame, asked: Comparison) -> dict[str, Row]:
    """Limits, decoding and code of the two runs, as far as both name the same settings."""
    ids = asked.baseline.run_id, asked.candidate.run_id
    runs = [described[described["run_id"] == each] for each in ids]
    settings = [settings_of([*run["hyperparameters"].dropna(), *run["config"].dropna()], "config") for run in runs]
    found = {}
    for check, applies in (("limits", is_limit), ("decoding", is_decoding)):
        names = sorted(name for name in settings[0].keys() & settings[1].keys() if applies(name))
        sides = [{f"{name} {shown(name, own[name])}" for name in names} for own in settings]
        found[check] = _sets(sides[0], sides[1])
        different = [name for name in names if canonical(settings[0][name]) != canonical(settings[1][name])]
        found[check]["num_shared"] = len(names) - len(different)
    known = codes.set_index("run_id")["code_reference"].dropna()
    found["code"] = _sets(*({str(known[each])} if each in known else set() for each in ids))
    return found


def _kind(step: int | None) -> str:
    return "no step" if step is None else "a step"


def _attempts(samples: pd.DataFrame) -> Row:
    """Attempts per sample: of those in both arms, else of all."""
    known = samples[samples["is_known"].fillna(value=False)]
    counts = known[["baseline_attempts", "candidate_attempts"]].to_numpy(dtype=np.float64)
    paired = counts[(counts > 0).all(axis=1)]
    sides = [paired[:, 0], paired[:, 1]] if len(paired) else [counts[counts[:, arm] > 0, arm] for arm in (0, 1)]
    if not all(len(side) for side in sides):
        return _row((len(sides[0]), len(sides[1]), 0), is_same=None)
    medians = [float(np.median(side)) for side in sides]
    same = int((paired[:, 0] == paired[:, 1]).sum())
    is_same = same == len(paired) if len(paired) else medians[0] == medians[1]
    row = _row((len(sides[0]), len(sides[1]), same), (_range(sides[0]), _range(sides[1])), is_same=is_same)
    row |= {"baseline_number": medians[0], "candidate_number": medians[1]}
    if is_same is False:
        row["severity"] = "warns" if medians[0] != medians[1] else "notes"
    return row


def _range(counts: Floats) -> str:
    low, high = int(counts.min()), int(counts.max())
    return str(low) if low == high else f"{low}–{high}"


def _rates(samples: pd.DataFrame, asked: Comparison) -> dict[str, Row]:
    """Rates of what ended badly or is missing, with a test over paired samples: is it more than chance?"""
    p_values = dict(zip(_RATES, _p_values(samples, asked), strict=True))
    found = {}
    for check, (part, of, alike) in _RATES.items():
        totals = [int(samples[f"{arm}_{of}"].fillna(0).sum()) for arm in _ARMS]
        parts = [int(samples[f"{arm}_{part}"].fillna(0).sum()) for arm in _ARMS]
        shares = [count / total if total else None for count, total in zip(parts, totals, strict=True)]
        before, after = shares
        apart = None if before is None or after is None else after - before
        row = _row((totals[0], totals[1], 0), is_same=None if apart is None else abs(apart) <= alike)
        row |= {"baseline_number": before, "candidate_number": after, "num_shared": None, "p_value": p_values[check]}
        if check == "tool_error_rate" and apart is not None and apart < -alike:
            row["severity"] = "notes"
        found[check] = row
    return found


def _p_values(samples: pd.DataFrame, asked: Comparison) -> Iterator[float]:
    """Adjusted p-values of the paired differences of each sample's own rates, NaN where there is no pair to test."""
    differences = np.column_stack([_differences(samples, part, of) for part, of, _ in _RATES.values()])
    has_pair = np.isfinite(differences).any(axis=0)
    kept = differences[(np.nan_to_num(differences) != 0).any(axis=1)]  # a sample without a difference changes nothing
    tests = sign_flips(kept, seed=asked.seed("comparability"), num_resamples=_NUM_FLIPS)
    values = np.array([1.0 if each.value is None else each.value for each in tests])
    yield from holm(np.where(has_pair, values, np.nan)).tolist()


def _differences(samples: pd.DataFrame, part: str, of: str) -> Floats:
    """Candidate minus baseline of a share by sample, shape (samples,), NaN where it is not known in both arms."""
    shares = []
    for arm in _ARMS:
        total = samples[f"{arm}_{of}"].to_numpy(dtype=np.float64, na_value=np.nan)
        count = samples[f"{arm}_{part}"].to_numpy(dtype=np.float64, na_value=np.nan)
        shares.append(np.divide(count, total, out=np.full(len(samples), np.nan), where=total > 0))
    return np.asarray(shares[1] - shares[0])
