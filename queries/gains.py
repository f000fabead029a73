"""Questions about what a training run's spending buys: reward gained on validation, and whether more still buys any.

What is spent are the train rollouts of the steps before a validation: the trainer's own compute is recorded by no
source. Gains are on the same samples throughout, and the intervals speak of these samples, not of the luck of training.
"""

from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import Any, Final

import numpy as np
import pandas as pd

from ingest.errors import QuestionError
from queries.checkpoint_choices import reward_matrices
from queries.connection import Reading
from queries.costs import costs
from queries.filters import EVERYTHING, Filters
from queries.frames import floats
from queries.prices import prices_in_force
from queries.stats import Estimate, Floats, Interval, sample_mean

SPENT_IN: Final = ("auto", "usd", "tokens", "rollouts", "hours", "steps")
WINDOW: Final = 3
FEWEST: Final = 4
"""Validations below which nothing is said about stopping."""
POINT: Final = 0.01
"""What is called a point of reward."""


@dataclass(frozen=True, slots=True)
class _Run:
    """A run's validations: steps, rewards of shape (samples, steps), and what was spent before each, by unit.

    `spent` holds an array of shape (steps,) for each unit that is known; `unit` is the one looked at.
    """

    run_id: str
    steps: list[int]
    rewards: Floats
    spent: dict[str, Floats]
    unit: str
    is_lower_bound: bool
    graders: list[tuple[str, ...]]
    """Versions of graders at each validation, none where they are not known."""

    @property
    def in_unit(self) -> Floats:
        """What was spent before each validation, shape (steps,)."""
        return self.spent[self.unit]

    @property
    def regraded(self) -> list[int]:
        """Validations (places) whose graders have other versions than those of the last one before that names any."""
        known = [at for at, versions in enumerate(self.graders) if versions]
        return [at for before, at in pairwise(known) if self.graders[at] != self.graders[before]]

    def gain(self, start: int, stop: int, *, confidence: float = 0.95) -> Estimate:
        """Reward gained from one validation to another (both included), by the straight line through all of them.

        Least squares on what was spent, sample by sample, over the samples scored at each of them; t over samples.
        """
        spent = self.in_unit[start : stop + 1]
        rewards = self.rewards[:, start : stop + 1]
        rewards = rewards[np.isfinite(rewards).all(axis=1)]
        centred = spent - spent.mean()
        if not centred.any():
            return Estimate(None, Interval.none("t", "nothing was spent between these validations"), len(rewards), 0)
        slopes = rewards @ centred / (centred @ centred)
        return sample_mean(slopes * (spent[-1] - spent[0]), confidence=confidence)

    def since_first(self, at: int) -> Estimate:
        """Reward gained since the first validation, over the samples scored at both."""
        both = self.rewards[:, at] - self.rewards[:, 0]
        return sample_mean(both[np.isfinite(both)])


def _runs(store: Reading, filters: Filters, split: str, unit: str) -> list[_Run]:
    if unit not in SPENT_IN:
        raise QuestionError(f"unit must be one of {', '.join(SPENT_IN)}, not {unit!r}")
    return _read(store, filters, split, unit, prices_in_force(store).book.text)


@lru_cache(maxsize=4)
def _read(store: Reading, filters: Filters, split: str, unit: str, prices: str) -> list[_Run]:
    """The runs, read once for the questions that share them, as long as the price file stays as it is (`prices`)."""
    train = replace(filters, splits=("train",), step_from=None, step_to=None)
    by_step = costs(store, train, by="step")
    by_step = by_step[by_step["step"].notna()]
    graders = _graders(store, filters, split)
    found = []
    for run_id, steps, rewards, _ in reward_matrices(store, filters, split):
        own = by_step[by_step["run_id"] == run_id].sort_values("step")
        spent = _spent(own, np.array(steps)) if split != "train" else {}
        known = spent | {"steps": np.array(steps, dtype=float)}
        chosen = next(iter(known)) if unit == "auto" else unit
        if chosen in known:
            is_lower = chosen == "usd" and bool(own["is_lower_bound"].any())
            versions = [graders.get((run_id, each), ()) for each in steps]
            found.append(_Run(run_id, steps, rewards, known, chosen, is_lower, versions))
    return found


def _graders(store: Reading, filters: Filters, split: str) -> dict[tuple[str, int], tuple[str, ...]]:
    """Versions of graders by run and validation step: those that rollouts name, else those that scores name."""
    frame = store.ask("graders_by_step", replace(filters, splits=(split,)).parameters())
    return {(str(row["run_id"]), int(row["step"])): tuple(row["versions"]) for row in frame.to_dict("records")}


def _spent(own: pd.DataFrame, steps: Any) -> dict[str, Floats]:
    """What a run's train rollouts of earlier steps took, at each validation; only what is known of every step."""
    if own.empty:
        return {}
    before = np.searchsorted(own["step"].to_numpy(np.int64), steps, side="left")
    num = floats(own, "num_rollouts")
    columns = {
        "usd": (floats(own, "usd"), floats(own, "num_costed")),
        "tokens": (floats(own, "input_tokens") + floats(own, "output_tokens"), floats(own, "num_tokens_known")),
        "rollouts": (num, num),
        "hours": (floats(own, "hours"), floats(own, "num_hours_known")),
    }
    found = {}
    for name, (values, known) in columns.items():
        if (known == num).all() and np.isfinite(values).all():
            found[name] = np.concatenate(([0.0], np.cumsum(values)))[before]
    return found


def cost_of_gain(
    store: Reading, filters: Filters = EVERYTHING, *, split: str = "valid", unit: str = "auto", window: int = WINDOW
) -> pd.DataFrame:
    """One row per run and validation step, ordered by them: what was spent up to it, and what reward was that worth?

    `unit`: `usd`, `tokens`, `rollouts`, `hours` (of rollouts), `steps`; `auto` is the first that is known of all the
    run's train rollouts. A run of which it is not known has no row. Columns: run_id, step, unit, spent (on train
    rollouts of earlier steps), usd, tokens, rollouts, hours (the same in each, NULL where not known of all),
    is_lower_bound (something has no price), num_samples (scored here and at the first), reward_mean (over samples
    scored here), gain_mean (over the former, since the first), gain_ci_low, gain_ci_high (95 % t over samples),
    spent_per_point (for each 0.01 of reward gained since the first, NULL unless a gain is shown) with _ci_low and
    _ci_high, marginal_from_step (first of the last `window` validations), marginal_spent, marginal_gain
    (by the straight line through them), marginal_ci_low, marginal_ci_high (95 % t over samples scored at all of them),
    marginal_num_samples, reason (why there is no marginal gain or interval), grader_version (of the graders here, NULL
    where not known), is_regraded (they differ from those at the first validation: what was gained may be the grader's).

    Raises:
        QuestionError: There is no such unit, the window is too small, or the price file is wrong.
    """
    _check(window)
    rows = [_row(run, at, window) for run in _runs(store, filters, split, unit) for at in range(len(run.steps))]
    frame = pd.DataFrame(rows, columns=[*_GAINS])
    numbers = [name for name in _GAINS if name not in (*_TEXTS, *_WHOLE)]
    return frame.astype({**dict.fromkeys(numbers, float), **dict.fromkeys(_WHOLE, "Int64")})


_TEXTS: Final = ("run_id", "unit", "is_lower_bound", "reason", "grader_version", "is_regraded")
_WHOLE: Final = ("step", "num_samples", "marginal_from_step", "marginal_num_samples")
_GAINS: Final = (
    *("run_id", "step", "unit", "spent", "usd", "tokens", "rollouts", "hours", "is_lower_bound", "num_samples"),
    *("reward_mean", "gain_mean", "gain_ci_low", "gain_ci_high"),
    *("spent_per_point", "spent_per_point_ci_low", "spent_per_point_ci_high"),
    *("marginal_from_step", "marginal_spent", "marginal_gain", "marginal_ci_low", "marginal_ci_high"),
    *("marginal_num_samples", "reason", "grader_version", "is_regraded"),
)


def _check(window: int) -> None:
    if not 2 <= window <= 100:
        raise QuestionError(f"window is from 2 to 100 validations, not {window}")


def _row(run: _Run, at: int, window: int) -> dict[str, Any]:
    rewards, spent = run.rewards[:, at], run.in_unit
    row: dict[str, Any] = {"run_id": run.run_id, "step": run.steps[at], "unit": run.unit, "spent": spent[at]}
    row |= {name: values[at] for name, values in run.spent.items() if name != "steps"}
    row |= {"is_lower_bound": run.is_lower_bound, "reward_mean": float(np.nanmean(rewards))}
    gain = run.since_first(at)
    row |= {"num_samples": gain.num, "grader_version": _listed(run.graders[at])}
    both = run.graders[0] and run.graders[at]
    row["is_regraded"] = run.graders[0] != run.graders[at] if both else None
    if at:
        row |= {"gain_mean": gain.value, "gain_ci_low": gain.interval.low, "gain_ci_high": gain.interval.high}
        low, high = gain.interval.low, gain.interval.high
        if low is not None and high is not None and low > 0 and gain.value:
            since = spent[at] - spent[0]
            row["spent_per_point"] = since * POINT / gain.value
            # A larger gain is a lower price: what was spent is counted, only the gain is uncertain.
            row |= {"spent_per_point_ci_low": since * POINT / high, "spent_per_point_ci_high": since * POINT / low}
    if at + 1 < window:
        return row | {"reason": f"fewer than {window} validations so far"}
    start = at + 1 - window
    marginal = run.gain(start, at)
    row |= {"marginal_from_step": run.steps[start], "marginal_spent": spent[at] - spent[start]}
    row |= {"marginal_gain": marginal.value, "marginal_num_samples": marginal.num}
    row |= {"marginal_ci_low": marginal.interval.low, "marginal_ci_high": marginal.interval.high}
    return row | {"reason": _reason(marginal)}


def _reason(found: Estimate) -> str | None:
    return "no sample is scored at all of these validations" if found.num == 0 else found.interval.reason


def when_to_stop(
    store: Reading, filters: Filters = EVERYTHING, *, split: str = "valid", unit: str = "auto", window: int = WINDOW
) -> pd.DataFrame:
    """One row per run with validations, ordered by id: after which step is no gain shown any more?

    From every validation with `window` or more left (itself included) the gain up to the last one is looked at, by
    the straight line through all of them; the intervals hold together (Bonferroni over the validations looked from).
    It is no promise: what is not shown may still be there, and looking again after each new validation is not allowed
    for. Columns: run_id, unit, num_validations, num_samples (scored at all of the last `window`), first_step,
    last_step, spent (between them), window_from_step, window_spent, window_gain, window_ci_low, window_ci_high (95 % t:
    the last `window` validations), num_looks, confidence (of each of their intervals, 0–1), verdict (`gain` shown since
    the last of them, `loss` shown since `stop_after_step`, `no gain shown`, `too few` validations or samples),
    stop_after_step (the first step since which no gain is shown, from it or from any later one; NULL for `gain` and
    `too few`), since_spent, since_gain, since_ci_low, since_ci_high (from that step to the last, at `confidence`),
    is_lower_bound, reason, num_regraded (validations before which the graders' versions change, NULL where they are not
    known), regraded_step (the last of them), version_before, version_after (there: a gain across it may be theirs).

    Raises:
        QuestionError: There is no such unit, the window is too small, or the price file is wrong.
    """
    _check(window)
    frame = pd.DataFrame([_stop(run, window) for run in _runs(store, filters, split, unit)], columns=[*_STOPS])
    numbers = [name for name in _STOPS if name.endswith(("spent", "gain", "_ci_low", "_ci_high", "confidence"))]
    whole = [name for name in _STOPS if name.startswith("num_") or name.endswith("step")]
    return frame.astype({**dict.fromkeys(numbers, float), **dict.fromkeys(whole, "Int64")})


_STOPS: Final = (
    *("run_id", "unit", "num_validations", "num_samples", "first_step", "last_step", "spent"),
    *("window_from_step", "window_spent", "window_gain", "window_ci_low", "window_ci_high"),
    *("num_looks", "confidence", "verdict", "stop_after_step", "since_spent", "since_gain"),
    *("since_ci_low", "since_ci_high", "is_lower_bound", "reason"),
    *("num_regraded", "regraded_step", "version_before", "version_after"),
)


def _stop(run: _Run, window: int) -> dict[str, Any]:
    last, spent = len(run.steps) - 1, run.in_unit
    row: dict[str, Any] = {"run_id": run.run_id, "unit": run.unit, "num_validations": last + 1, "num_samples": 0}
    row |= {"first_step": run.steps[0], "last_step": run.steps[-1], "spent": spent[-1] - spent[0]}
    row |= {"is_lower_bound": run.is_lower_bound, "verdict": "too few", **_regraded(run)}
    if last + 1 < max(window, FEWEST):
        return row | {"reason": f"{max(window, FEWEST)} validations are needed, {last + 1} here"}
    start = last + 1 - window
    recent = run.gain(start, last)
    row |= {"num_samples": recent.num, "window_from_step": run.steps[start], "window_spent": spent[-1] - spent[start]}
    row |= {"window_gain": recent.value, "window_ci_low": recent.interval.low, "window_ci_high": recent.interval.high}
    if recent.interval.low is None:
        return row | {"reason": _reason(recent)}
    confidence = 1 - 0.05 / (start + 1)
    looks = [run.gain(at, last, confidence=confidence) for at in range(start + 1)]
    row |= {"num_looks": len(looks), "confidence": confidence}
    shown = [at for at, each in enumerate(looks) if each.interval.low is not None and each.interval.low > 0]
    if start in shown:
        return row | {"verdict": "gain", "reason": None}
    at = shown[-1] + 1 if shown else 0
    since = looks[at]
    is_loss = since.interval.high is not None and since.interval.high < 0
    row |= {"verdict": "loss" if is_loss else "no gain shown", "stop_after_step": run.steps[at], "reason": None}
    row |= {"since_spent": spent[-1] - spent[at], "since_gain": since.value}
    return row | {"since_ci_low": since.interval.low, "since_ci_high": since.interval.high}


def _regraded(run: _Run) -> dict[str, Any]:
    """Where graders took over from others between the validations of a run."""
    if not any(run.graders):
        return {}
    changed = run.regraded
    if not changed:
        return {"num_regraded": 0}
    at = changed[-1]
    before = next(each for each in reversed(run.graders[:at]) if each)
    versions = {"version_before": _listed(before), "version_after": _listed(run.graders[at])}
    return {"num_regraded": len(changed), "regraded_step": run.steps[at], **versions}


def _listed(versions: tuple[str, ...]) -> str | None:
    return ", ".join(versions[:3]) + (f" and {len(versions) - 3} more" if len(versions) > 3 else "") or None
