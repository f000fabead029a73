"""What the kinds of patterns of the rulebook `health` look for in one run's series: bounds in, a sign out.

Knows no store: `queries.health_patterns` hands it the series. Every sign says what it was judged by, and where nothing
can be said, why not.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final, Literal

import numpy as np
import pandas as pd

from queries.frames import floats
from queries.health_rules import Pattern, Rules
from queries.pairing import unpaired_difference
from queries.stats import Estimate, Interval
from queries.windows import (
    MEDIAN,
    Change,
    best_and_last,
    change,
    held_from,
    known,
    noise,
    rolling_median,
    size_of,
    spiking,
    trailing_gap,
)

Verdict = Literal["found", "not found", "cannot be said"]
HELD_OUT: Final = ("valid", "test", "production")
_EPSILON: Final = 1e-12
_SMALL: Final = 0.2


@dataclass(frozen=True, slots=True)
class Sign:
    """What was found of a pattern; what `before`, `after` and `other` are by kind, `health_patterns` says."""

    verdict: Verdict
    reason: str | None = None
    split: str | None = None
    measure: str | None = None
    num_steps: int | None = None
    before: float | None = None
    after: float | None = None
    low: float | None = None
    high: float | None = None
    threshold: float | None = None
    other: float | None = None
    from_step: int | None = None
    to_step: int | None = None


@dataclass(frozen=True, slots=True)
class Subject:
    """One run as the patterns see it: its series by measure and split, and what is known of it besides.

    `deltas`: rows of `step_deltas` by held-out split; `graders`: step and grader version where it changed first;
    `now`: when the store was written; `about`: the run's row of `health_runs`.
    """

    rules: Rules
    series: Mapping[tuple[str, str | None], pd.DataFrame]
    deltas: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    regraded: tuple[int, ...] = ()
    about: Mapping[str, Any] = field(default_factory=dict)
    step_times: tuple[datetime, ...] = ()
    now: datetime | None = None

    def of(self, measure: str) -> tuple[str | None, pd.DataFrame] | None:
        """The series of a measure that patterns speak of: the train batch's, else a held-out one."""
        for split in ("train", *HELD_OUT, None):
            rows = self.series.get((measure, split))
            if rows is not None and len(rows):
                return split, rows
        return None

    def held_out(self, measure: str) -> tuple[str | None, pd.DataFrame] | None:
        """The series of a measure on samples that are not trained on."""
        found = ((split, self.series.get((measure, split))) for split in HELD_OUT)
        return next(((split, rows) for split, rows in found if rows is not None and len(rows)), None)


def sign_of(pattern: Pattern, subject: Subject) -> Sign:
    """What a run shows of a pattern."""
    return _KINDS[pattern.kind](pattern, subject)


def _unknown(reason: str, **values: Any) -> Sign:
    return Sign("cannot be said", reason, **values)


def _series(pattern: Pattern, subject: Subject) -> tuple[str | None, pd.DataFrame] | Sign:
    found = subject.of(pattern.measure)
    return found or _unknown("not reported, and nothing to compute it from", measure=pattern.measure)


def _too_few(num: int, needed: int) -> str:
    return f"{num} step{'' if num == 1 else 's'} with a value, {needed} needed"


def _changed(pattern: Pattern, subject: Subject) -> Sign:
    """`falls` and `rises`."""
    found = _series(pattern, subject)
    if isinstance(found, Sign):
        return found
    split, rows = found
    windows, bounds = subject.rules.windows, pattern.bounds
    is_share = subject.rules.measures[pattern.measure].unit == "share"
    moved = change(
        *(floats(rows, "step"), floats(rows, "value"), windows),
        against=bounds.get("against", "start"), counts=floats(rows, "num") if is_share else None,
    )  # fmt: skip
    if moved is None:
        num = int(np.isfinite(floats(rows, "value")).sum())
        return _unknown(_too_few(num, windows.min_steps), split=split, measure=pattern.measure, num_steps=num)
    sense = -1.0 if pattern.kind == "falls" else 1.0
    sign = _of_change(pattern, moved, split, sense)
    passes = moved.is_beyond(windows.noise) and sense * moved.difference > 0 and _passes(moved.after, sign, sense)
    if not passes:
        return sign
    if bounds.get("excused") == "reward" and (rise := _rise(subject)) is not None and rise.low > 0:
        return replace(sign, reason="the reward rose with it")
    medians = rolling_median(moved.values, moved.size)
    holds = sense * medians >= sense * (sign.threshold or 0.0)
    return replace(sign, verdict="found", from_step=held_from(moved.steps, holds), to_step=int(moved.steps[-1]))


def _of_change(pattern: Pattern, moved: Change, split: str | None, sense: float) -> Sign:
    """A sign that is not (yet) found, with the value that the last window would have to pass."""
    bounds, limits = pattern.bounds, []
    if "ratio" in bounds:
        limits.append(moved.before * bounds["ratio"] if moved.before > 0 else sense * np.inf)
    if "by" in bounds:
        limits.append(moved.before + sense * bounds["by"])
    if "beyond" in bounds:
        limits.append(bounds["beyond"])
    limit = float(max(limits) if sense > 0 else min(limits))
    if not np.isfinite(limit):  # no times as much of nothing: the other bounds decide
        rest = [each for each in limits if np.isfinite(each)]
        limit = float((max if sense > 0 else min)(rest)) if rest else limit
    return Sign(
        "not found", None, split, pattern.measure, moved.values.size, moved.before, moved.after,
        threshold=limit if np.isfinite(limit) else None, to_step=int(moved.steps[-1]),
    )  # fmt: skip


def _passes(after: float, sign: Sign, sense: float) -> bool:
    return sign.threshold is not None and sense * after >= sense * sign.threshold - _EPSILON


def _high(pattern: Pattern, subject: Subject) -> Sign:
    found = _series(pattern, subject)
    if isinstance(found, Sign):
        return found
    split, rows = found
    at, values = known(floats(rows, "step"), floats(rows, "value"))
    windows, limit = subject.rules.windows, pattern.bounds["beyond"]
    if values.size < windows.min_steps:
        reason = _too_few(values.size, windows.min_steps)
        return _unknown(reason, split=split, measure=pattern.measure, num_steps=values.size)
    medians = rolling_median(values, size_of(values.size, windows))
    begun = held_from(at, medians > limit)
    after = float(medians[-1])
    verdict: Verdict = "not found" if begun is None else "found"
    return Sign(
        verdict, None, split, pattern.measure, values.size, None, after,
        threshold=limit, from_step=begun, to_step=int(at[-1]),
    )  # fmt: skip


def _spikes(pattern: Pattern, subject: Subject) -> Sign:
    found = _series(pattern, subject)
    if isinstance(found, Sign):
        return found
    split, rows = found
    at, values = known(floats(rows, "step"), floats(rows, "value"))
    window, needed = int(pattern.bounds["window"]), int(pattern.bounds["at_least"])
    if values.size <= window:
        return _unknown(_too_few(values.size, window + 1), split=split, measure=pattern.measure, num_steps=values.size)
    where = spiking(values, window, pattern.bounds["ratio"])
    base = Sign(
        "not found", None, split, pattern.measure, values.size, float(np.median(values)),
        float(values[where].max()) if where.any() else float(values.max()),
        threshold=pattern.bounds["ratio"], other=float(where.sum()), to_step=int(at[-1]),
    )  # fmt: skip
    if where.sum() < needed:
        return base
    return replace(base, verdict="found", from_step=int(at[where][0]), to_step=int(at[where][-1]))


def _apart(pattern: Pattern, subject: Subject) -> Sign:
    risen = _changed(replace(pattern, kind="rises"), subject)
    if risen.verdict != "found":
        return risen
    other = subject.series.get((pattern.bounds["other"], risen.split))
    moved = None if other is None else change(floats(other, "step"), floats(other, "value"), subject.rules.windows)
    if moved is None:
        return replace(risen, verdict="cannot be said", reason="too little is known of other turns")
    told = replace(risen, other=moved.after)
    return told if (risen.after or 0.0) >= pattern.bounds["ratio_other"] * moved.after else _not(told)


def _not(sign: Sign) -> Sign:
    return replace(sign, verdict="not found", from_step=None)


@dataclass(frozen=True, slots=True)
class Rise:
    """How much a reward rose over a run, with its 95 % interval; over samples where these are here, else over steps.

    `worth`: the least rise that would be worth having: a fifth of the standard deviation over samples (a small effect
    by Cohen 1988), or the noise of a step.
    """

    split: str | None
    value: float
    low: float
    high: float
    num: int
    worth: float
    first_step: int
    last_step: int


def _rise(subject: Subject) -> Rise | None:
    """The held-out reward's rise, else the train batch's; None where it cannot be said."""
    return _held_out_rise(subject) or _train_rise(subject)


def _held_out_rise(subject: Subject) -> Rise | None:
    for split in HELD_OUT:
        rows = subject.deltas.get(split)
        rows = None if rows is None else rows[rows["delta_ci_low"].notna()]
        if rows is not None and len(rows):
            last = rows.iloc[-1]
            value, low, high = (float(last[each]) for each in ("delta_mean", "delta_ci_low", "delta_ci_high"))
            steps = int(last["reference_step"]), int(last["step"])
            worth = _SMALL * float(0.0 if pd.isna(last["reward_sd"]) else last["reward_sd"])
            return Rise(split, value, low, high, int(last["num_paired"]), worth, *steps)
    found = subject.held_out("reward")
    return None if found is None else _windowed(*found, subject, 6)


def _train_rise(subject: Subject) -> Rise | None:
    rows = subject.series.get(("reward", "train"))
    return None if rows is None else _windowed("train", rows, subject, subject.rules.windows.min_steps)


def _windowed(split: str | None, rows: pd.DataFrame, subject: Subject, needed: int) -> Rise | None:
    """Mean of the last window of steps minus that of the first, steps as draws (their batches differ)."""
    at, values = known(floats(rows, "step"), floats(rows, "value"))
    if values.size < needed:
        return None
    size = size_of(values.size, subject.rules.windows)
    found: Estimate = unpaired_difference(values[:size], values[-size:])
    interval: Interval = found.interval
    if found.value is None or interval.low is None or interval.high is None:
        return None
    return Rise(split, found.value, interval.low, interval.high, size, noise(values), int(at[0]), int(at[-1]))


def _regraded(subject: Subject, first: int, last: int) -> str | None:
    """Why rewards of two steps cannot be compared, where the grader changed between them."""
    at = [step for step in subject.regraded if first < step <= last]
    return f"the grader changed at step {at[0]}, so rewards before and after do not compare" if at else None


def _flat(pattern: Pattern, subject: Subject) -> Sign:
    train, held = _train_rise(subject), _held_out_rise(subject)
    if train is None or held is None:
        lacking = "the train batch" if train is None else "validation"
        return _unknown(f"too little is known of the reward of {lacking}", measure="reward")
    base = Sign(
        "not found", None, held.split, "reward", held.num, train.value, held.value, held.low, held.high,
        threshold=pattern.bounds["share"] * train.value, from_step=held.first_step, to_step=held.last_step,
    )  # fmt: skip
    if train.low <= 0 or held.low > 0:
        return base
    if reason := _regraded(subject, train.first_step, train.last_step):
        return replace(base, verdict="cannot be said", reason=reason)
    if held.high < pattern.bounds["share"] * train.value:
        return replace(base, verdict="found")
    return replace(
        base, verdict="cannot be said", reason="its interval holds both no rise and half of the train batch's"
    )


def _drop(pattern: Pattern, subject: Subject) -> Sign:
    windows = subject.rules.windows
    judged = [found for found in (subject.held_out("reward"), subject.of("reward")) if found is not None]
    long_enough = [found for found in judged if np.isfinite(floats(found[1], "value")).sum() >= windows.min_steps]
    if not long_enough:
        num = max((int(np.isfinite(floats(rows, "value")).sum()) for _, rows in judged), default=0)
        return _unknown(_too_few(num, windows.min_steps), measure="reward", num_steps=num)
    signs = [_dropped(pattern, subject, split, rows) for split, rows in long_enough]
    return next((each for each in signs if each.verdict != "not found"), signs[0])


def _dropped(pattern: Pattern, subject: Subject, split: str | None, rows: pd.DataFrame) -> Sign:
    windows = subject.rules.windows
    at, values = known(floats(rows, "step"), floats(rows, "value"))
    size = size_of(values.size, windows)
    best, highest, last, spread = best_and_last(values, size)
    limit = highest - pattern.bounds["share"] * spread
    base = Sign(
        "not found", None, split, "reward", values.size, highest, last, threshold=limit, to_step=int(at[-1]),
        other=float(at[best]),
    )  # fmt: skip
    # The best of many windows lies high by chance, so the bar is higher than for two that were not chosen.
    error = noise(values) * MEDIAN * np.sqrt(2 / size)
    if last >= limit or highest - last <= (windows.noise + 2) * error:
        return base
    if reason := _regraded(subject, int(at[max(0, best - size + 1)]), int(at[-1])):
        return replace(base, verdict="cannot be said", reason=reason)
    begun = held_from(at, rolling_median(values, size) < limit)
    return replace(base, verdict="found", from_step=begun)


def _still(pattern: Pattern, subject: Subject) -> Sign:
    train, held = _train_rise(subject), _held_out_rise(subject)
    found = subject.of("reward")
    num = 0 if found is None else int(np.isfinite(floats(found[1], "value")).sum())
    needed = int(pattern.bounds["min_steps"])
    judged = [each for each in (train, held) if each is not None]
    if num < needed or not judged:
        return _unknown(_too_few(num, needed), measure="reward", num_steps=num)
    told = max(judged, key=lambda each: each.low)
    base = Sign(
        "not found", None, told.split, "reward", num, None, told.value, told.low, told.high,
        threshold=told.worth, from_step=told.first_step, to_step=told.last_step,
    )  # fmt: skip
    if told.low > 0:
        return base
    if reason := _regraded(subject, told.first_step, told.last_step):
        return replace(base, verdict="cannot be said", reason=reason)
    if told.high > told.worth:
        return replace(base, verdict="cannot be said", reason="its interval holds both no rise and one worth having")
    return replace(base, verdict="found")


_ENDED: Final = frozenset(
    (
        *("succeeded", "completed", "complete", "finished", "done", "stopped", "failed", "error", "errored", "crashed"),
        *("cancelled", "canceled", "killed"),
    )
)


def _silent(pattern: Pattern, subject: Subject) -> Sign:
    about, times = subject.about, sorted(subject.step_times)
    status, kind, last = str(about.get("status")).lower(), about.get("kind"), about.get("last_at")
    if isinstance(kind, str) and kind != "training":
        return Sign("not found", "no training run")
    if status in _ENDED or not pd.isna(about.get("ended_at")):
        return Sign("not found", "the run has ended")
    if len(times) < 3 or subject.now is None or pd.isna(last):
        return _unknown("too few steps have a time", num_steps=len(times))
    gaps = np.diff([each.timestamp() for each in times])
    typical = float(np.median(gaps))
    silence = subject.now.timestamp() - last.timestamp()
    limit = max(pattern.bounds["ratio"] * typical, 60 * pattern.bounds["minutes"])
    base = Sign("not found", None, None, None, len(times), typical, silence, threshold=limit)
    if silence > 86_400 * pattern.bounds["days"]:
        return replace(base, reason="nothing has come for so long that the run counts as ended")
    return base if silence <= limit else replace(base, verdict="found")


def _nulls(pattern: Pattern, subject: Subject) -> Sign:
    needed, num = int(pattern.bounds["at_least"]), 0
    for (measure, split), rows in subject.series.items():
        if rows["source"].iloc[0] != "reported":
            continue
        num = max(num, len(rows))
        last, before = trailing_gap(floats(rows, "value"))
        if last >= needed and last > before:
            steps = floats(rows, "step")
            return Sign(
                "found", None, split, measure, len(rows), float(before), float(last),
                threshold=float(needed), from_step=int(steps[-last]), to_step=int(steps[-1]),
            )  # fmt: skip
    return Sign("not found", num_steps=num) if num else _unknown("nothing was reported by step")


_KINDS: Final[dict[str, Callable[[Pattern, Subject], Sign]]] = {
    "falls": _changed,
    "rises": _changed,
    "high": _high,
    "spikes": _spikes,
    "apart": _apart,
    "flat": _flat,
    "drop": _drop,
    "still": _still,
    "silent": _silent,
    "nulls": _nulls,
}
