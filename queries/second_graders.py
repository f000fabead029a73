"""Questions about reward over steps that tell a better policy from a paid one: another grader beside it, and jumps."""

from typing import Any, Final

import numpy as np
import pandas as pd

from ingest.errors import QuestionError
from queries.connection import Reading
from queries.filters import EVERYTHING, Filters
from queries.integrity_rules import integrity_rulebook
from queries.pairing import unpaired_difference
from queries.stats import Estimate, Floats, sample_mean

_KEYS: Final = ["run_id", "split"]
FEW_SHARED: Final = 0.5
"""Below this share of a step's samples, it is compared with the first as if they shared none."""
PARTS_UP: Final = "the reward rises more"
PARTS_DOWN: Final = "the reward rises less"
TOGETHER: Final = "together"
NO_SPREAD: Final = "one of the two never differs: they cannot be compared"


def second_grader(
    store: Reading, filters: Filters = EVERYTHING, *, grader: str | None = None, lower_is_better: bool | None = None
) -> pd.DataFrame:
    """One row per run, split and step, ordered by them: does a grader beside the reward see what the reward sees?

    `grader`: by its name; without one, a label or a metric without weight, the one that scored the most rollouts. Where
    high values of a grader are bad (by its name, see the rulebook `integrity`, or `lower_is_better`), its sign is
    turned. Columns: run_id, split, step, grader, is_turned, num_samples, num_rollouts (with both), reward_mean,
    reward_ci_low, reward_ci_high, second_mean, second_ci_low, second_ci_high (over samples, 95 % t; the grader's own
    sign), reward_change, second_change (since the first step, in standard deviations over all rollouts of the run and
    split), gap (the former minus the latter), gap_ci_low, gap_ci_high (95 %, all steps of a run and split together;
    over the samples both steps have, where these are half, else of two independent means), reason (why there is no
    interval), reading (`the reward rises more`, `the reward rises less`: beyond noise; else `together`),
    first_parting_step (of the run and split: the first step at which they part and stay apart to the end; NULL where
    they never do), grader_version (of the rollouts at that step, where it is known).

    Raises:
        QuestionError: No rollout has a score of that grader.
    """
    rules = integrity_rulebook(store)
    pattern = {None: rules.lower_is_better, True: r"[\s\S]*", False: r"[^\s\S]"}[lower_is_better]
    own = {"grader": grader, "lower_is_better": pattern, "not_a_judge": rules.not_a_judge}
    samples = store.ask("second_grader", {**filters.parameters(), **own})
    if samples.empty and grader is not None:
        raise QuestionError(f"no rollout with a reward has a score of the grader {grader[:60]!r}")
    rows: list[dict[str, Any]] = []
    for (run_id, split), group in samples.groupby(_KEYS, dropna=False, sort=False):
        told = _against_first(group)
        parting = _parting([each["reading"] for each in told], [each["step"] for each in told])
        name = str(group["grader"].iloc[0])
        turned = bool(len(_matching(name, pattern)))
        for each in told:
            keys = {"run_id": run_id, "split": split, "grader": name, "is_turned": turned}
            rows.append({**keys, **each, "first_parting_step": parting})
    frame = pd.DataFrame(rows, columns=_COLUMNS)
    turned_rows = frame["is_turned"].astype(bool)
    for mean in ("second_mean", "second_ci_low", "second_ci_high"):
        frame[mean] = frame[mean].astype(float).where(~turned_rows, -frame[mean].astype(float))
    swapped = frame.loc[turned_rows, ["second_ci_high", "second_ci_low"]].to_numpy(np.float64)
    frame.loc[turned_rows, ["second_ci_low", "second_ci_high"]] = swapped
    return frame.astype({"step": "Int64", "first_parting_step": "Int64"})


_COLUMNS: Final = [
    *("run_id", "split", "step", "grader", "is_turned", "num_samples", "num_rollouts"),
    *("reward_mean", "reward_ci_low", "reward_ci_high", "second_mean", "second_ci_low", "second_ci_high"),
    *("reward_change", "second_change", "gap", "gap_ci_low", "gap_ci_high", "reason", "reading"),
    *("first_parting_step", "grader_version"),
]


def _matching(name: str, pattern: str) -> list[bool]:
    found = pd.Series([name], dtype="string[pyarrow]").str.contains(pattern, regex=True)
    return [True for each in found if bool(each)]


def _against_first(group: pd.DataFrame) -> list[dict[str, Any]]:
    """What every step of one run and split says, the first one being what the others are compared with."""
    scale = {name: float(group[f"{name}_sd"].iloc[0]) for name in ("reward", "second")}
    steps = [(step, own) for step, own in group.groupby("step", dropna=False, sort=False)]
    confidence = 1 - 0.05 / max(len(steps) - 1, 1)
    first = steps[0][1]
    rows = []
    for number, (_, own) in enumerate(steps):
        row: dict[str, Any] = {"step": None if own["step"].isna().all() else int(own["step"].iloc[0])}
        row |= {"num_samples": len(own), "num_rollouts": int(own["num_rollouts"].sum())}
        for name in ("reward", "second"):
            found = sample_mean(own[name].to_numpy(np.float64))
            low, high = found.interval.low, found.interval.high
            row |= {f"{name}_mean": found.value, f"{name}_ci_low": low, f"{name}_ci_high": high}
        known = own["grader_version"].dropna()
        row["grader_version"] = str(known.iloc[0]) if len(known) else None
        rows.append(row | _gap(own, first, scale, confidence, is_first=number == 0))
    return rows


def _gap(
    own: pd.DataFrame, first: pd.DataFrame, scale: dict[str, float], confidence: float, *, is_first: bool
) -> dict[str, Any]:
    """How far reward and grader have moved apart since the first step, in standard deviations."""
    if is_first:
        return {"reading": TOGETHER, "reason": "the first step is what the others are compared with"}
    if not all(np.isfinite(each) and each > 0 for each in scale.values()):
        return {"reading": TOGETHER, "reason": NO_SPREAD}
    changes = {f"{name}_change": (float(own[name].mean()) - float(first[name].mean())) / scale[name] for name in scale}
    found = change_between(_apart(own, scale), _apart(first, scale), own["unit"], first["unit"], confidence)
    low, high = found.interval.low, found.interval.high
    beyond = low is not None and high is not None and not low <= 0 <= high
    reading = TOGETHER if not beyond else PARTS_UP if (found.value or 0) > 0 else PARTS_DOWN
    return {**changes, "gap": found.value, "gap_ci_low": low, "gap_ci_high": high, "reading": reading} | {
        "reason": found.interval.reason
    }


def _apart(samples: pd.DataFrame, scale: dict[str, float]) -> Floats:
    reward, second = (samples[name].to_numpy(np.float64) / scale[name] for name in ("reward", "second"))
    return np.asarray(reward - second)


def change_between(
    now: Floats, before: Floats, now_units: "pd.Series[Any]", before_units: "pd.Series[Any]", confidence: float
) -> Estimate:
    """Mean over samples of what changed, shapes (n,) and (m,): paired where half of the samples are in both."""
    places = pd.Series(np.arange(len(before_units)), index=before_units.to_numpy())
    at = places.reindex(now_units.to_numpy())
    shared = at.notna().to_numpy()
    if shared.sum() >= FEW_SHARED * min(now.size, before.size):
        return sample_mean(now[shared] - before[at[shared].to_numpy(np.intp)], confidence=confidence)
    return unpaired_difference(before, now, confidence=confidence)


def _parting(readings: list[str], steps: list[int | None]) -> int | None:
    """The first step of the last unbroken run of steps at which the two are apart in one direction, up to the end."""
    first = None
    for reading, step in zip(reversed(readings), reversed(steps), strict=True):
        if reading == TOGETHER or reading != readings[-1]:
            break
        first = step
    return first
