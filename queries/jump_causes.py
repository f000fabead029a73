"""What else changes between the two steps of a jump: versions, policy, environments, failures, what was trained on.

Pure functions on the answer of `reward_jump_facts.sql`. What changes at most steps of a split says nothing of one of
them and is not told; shares count where their change is beyond noise.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

import numpy as np
import pandas as pd

from queries.stats import wilson

FACTS: Final = (
    *("grader_version", "prompt_version", "tools_version", "model", "policy_lag", "environments", "failures"),
    *("trained_on", "suspect"),
)
"""Columns of a jump that say what else changes."""
GRADER: Final = "grader"
INPUTS: Final = "inputs"
MODEL: Final = "model"
FAILURES: Final = "failures"
MIX: Final = "mix"
UNKNOWN: Final = "unknown"
_VERSIONS: Final = {
    "grader_version": "grader_versions",
    "prompt_version": "prompt_versions",
    "tools_version": "tools_versions",
    "model": "models",
}
_SUSPECTS: Final = {
    "grader_version": GRADER,
    "prompt_version": INPUTS,
    "tools_version": INPUTS,
    "model": MODEL,
    "failures": FAILURES,
    "environments": MIX,
    "trained_on": MIX,
}
"""Whom each change makes suspect, the surest first."""
LEAST_MOVED: Final = 0.05
"""Share of rollouts that must move for a change of shares to be told."""
LEAST_LAG: Final = 1.0
"""Versions by which the policy must fall behind, or catch up, for it to be told."""
Step = Mapping[str, Any]
Steps = Mapping[int, Step]


def facts_by_step(facts: pd.DataFrame) -> dict[tuple[str, str | None], dict[int, Step]]:
    """The rows by run and split, then by step."""
    found: dict[tuple[str, str | None], dict[int, Step]] = {}
    for row in facts.to_dict("records"):
        split = None if pd.isna(row["split"]) else str(row["split"])
        found.setdefault((str(row["run_id"]), split), {})[int(row["step"])] = {str(name): row[name] for name in row}
    return found


def what_changed(steps: Steps, jump: Mapping[str, Any], score: str) -> dict[str, Any]:
    """What changes between the steps of a jump of a score (`reward`, or a grader), and who is suspect."""
    before, after = steps[jump["from_step"]], steps[jump["to_step"]]
    found: dict[str, Any] = dict.fromkeys(FACTS)
    for name in _VERSIONS:
        sides = [_versions(each, name, score) for each in (before, after)]
        if all(sides) and sides[0] != sides[1] and _is_rare(steps, name, score):
            found[name] = " → ".join(_listed(each) for each in sides)
    lags = [each["policy_lag"] for each in (before, after)]
    if not any(pd.isna(each) for each in lags) and abs(lags[1] - lags[0]) >= LEAST_LAG:
        found["policy_lag"] = " → ".join(f"{each:.1f}" for each in lags)
    for name, column in (("failures", "num_failed"), ("trained_on", "num_effective")):
        found[name] = _moved([each[column] for each in (before, after)], [_num(each) for each in (before, after)])
    found["environments"] = _mix(before, after)
    suspects = [suspect for name, suspect in _SUSPECTS.items() if found[name] is not None]
    return found | {"suspect": suspects[0] if suspects else UNKNOWN}


def _num(step: Step) -> int:
    return int(step["num_rollouts"])


def _versions(step: Step, name: str, score: str) -> tuple[str, ...]:
    """Distinct versions of one thing at a step; of graders their own where they name one, else the rollouts'."""
    if name == "grader_version":
        scores = _values(step["score_versions"])
        own = tuple(each for each in scores if each.startswith(f"{score} = "))
        return tuple(each.removeprefix(f"{score} = ") for each in own) or _values(step["grader_versions"]) or scores
    return _values(step[_VERSIONS[name]])


def _values(found: Any) -> tuple[str, ...]:
    return tuple(str(each) for each in found) if isinstance(found, list | tuple | np.ndarray) else ()


def _listed(values: Sequence[str]) -> str:
    return ", ".join(values[:2]) + (f" and {len(values) - 2} more" if len(values) > 2 else "")


def _is_rare(steps: Steps, name: str, score: str) -> bool:
    """Whether a thing stays the same between most neighbouring steps, so that its change says something."""
    known = [_versions(steps[each], name, score) for each in sorted(steps)]
    changes = [one != other for one, other in pairwise(known)]
    return 2 * sum(changes) <= len(changes) or sum(changes) == 1


def _moved(counts: Sequence[int], totals: Sequence[int]) -> str | None:
    """Two shares of rollouts as `before → after` where they differ beyond noise: their 95 % intervals do not meet."""
    if not all(totals):
        return None
    low, high = wilson(counts, totals)
    before, after = (count / total for count, total in zip(counts, totals, strict=True))
    is_apart = low[1] > high[0] or high[1] < low[0]
    return f"{before:.0%} → {after:.0%}" if is_apart and abs(after - before) >= LEAST_MOVED else None


def _mix(before: Step, after: Step) -> str | None:
    """The environment whose share of the rollouts moves most, beyond noise."""
    sides = [_histogram(each["environments"]) for each in (before, after)]
    totals = [_num(before), _num(after)]
    moved = []
    for name in sorted(sides[0] | sides[1]):
        counts = [each.get(name, 0) for each in sides]
        if said := _moved(counts, totals):
            moved.append((abs(counts[1] / totals[1] - counts[0] / totals[0]), f"{name}: {said}"))
    return max(moved)[1] if moved else None


def _histogram(found: Any) -> dict[str, int]:
    """A map as DuckDB gives it: pairs, or a dictionary."""
    if not isinstance(found, dict | list | np.ndarray):
        return {}
    pairs = found.items() if isinstance(found, dict) else found
    return {str(name): int(num) for name, num in pairs}
