"""Questions about the checkpoints of a run side by side: which is best, what its number is worth, what each costs."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Final

import numpy as np
import pandas as pd
import pyarrow as pa

from queries.behaviour import behaviour_by_step
from queries.connection import Reading
from queries.curves import reward_curve
from queries.distributions import groups
from queries.filters import EVERYTHING, Filters
from queries.reported import checkpoints
from queries.selection import Choice, Comparable, against, choose, comparable, held_out, is_told_apart
from queries.stats import Estimate, Floats, Labels, factorize, seed_of
from queries.tails import percentile

_BEHAVIOUR: Final = (
    "tool_calls_mean",
    "tool_calls_ci_low",
    "tool_calls_ci_high",
    "turns_mean",
    "output_tokens_mean",
    "output_tokens_ci_low",
    "output_tokens_ci_high",
    "latency_p50_s",
    "no_tool_call_rate",
)
"""Columns taken over from `behaviour_by_step`."""
_REWARD: Final = ("reward_ci_low", "reward_ci_high", "reward_masked_mean", "pass_rate")
"""Columns taken over from `reward_curve`."""
_COLUMNS: Final = (
    *("run_id", "split", "step", "is_best", "is_tied", "is_saved", "checkpoint_id", "model", "num_rollouts"),
    *("num_samples_scored", "reward_mean", "reward_ci_low", "reward_ci_high", "chance_best"),
    *("num_paired", "delta_mean", "delta_ci_low", "delta_ci_high", "reward_masked_mean", "pass_rate"),
    *("train_reward_mean", "train_num_samples"),
    *("tool_calls_mean", "tool_calls_ci_low", "tool_calls_ci_high"),
    *("tool_calls_p95", "tool_calls_p95_ci_low", "tool_calls_p95_ci_high"),
    *("latency_p50_s", "latency_p95_s", "latency_p95_ci_low_s", "latency_p95_ci_high_s", "p95_reason"),
    *("turns_mean", "output_tokens_mean", "output_tokens_ci_low", "output_tokens_ci_high"),
    *("num_status_known", "failure_rate", "truncation_rate", "budget_exceeded_rate", "no_tool_call_rate"),
    *("num_samples_calls_known", "num_samples_repeated", "agree_share"),
)


@dataclass(frozen=True, slots=True)
class _Run:
    """One run's rewards, shape (samples, steps), the choice made of them, and each step's difference from the best."""

    run_id: str
    steps: list[int]
    rewards: Floats
    plan: Comparable
    choice: Choice
    held_out: float | None
    candidates: list[int]
    deltas: tuple[Estimate, ...]

    @property
    def best(self) -> int:
        """The best step."""
        return self.candidates[self.choice.best]

    def chance(self, step: int | None) -> float:
        """Share of resamples in which a step is chosen; NaN where it was no candidate, or none were drawn."""
        if step not in self.candidates:
            return np.nan
        return float(self.choice.chances[self.candidates.index(step)])


def checkpoint_choice(
    store: Reading, filters: Filters = EVERYTHING, *, split: str = "valid", clusters: bool = False
) -> pd.DataFrame:
    """One row per run, ordered by id: which step is best, and what is its reward worth after having been chosen?

    Samples (with `clusters` whole clusters of them) are drawn with replacement, the best step is chosen anew in every
    resample, and the optimism is by how much the chosen step's mean there exceeds its mean here (`queries.selection`).
    Columns: run_id, split, num_steps (to choose among), num_steps_left_out (with under half of the fullest step's
    samples), num_samples (they are compared on), num_samples_left_out (scored, but not at every step), is_common
    (False: too few samples are scored at every step, so each step counts with its own), best_step, reward_mean (over
    these samples), optimism, optimism_if_equal (were all steps equally good: the most it can be), reward_expected
    (reward_mean less the optimism), reward_held_out (another way: chosen on one half of the samples, its mean on the
    other, over 400 seeded splits; NULL under six), ci_low, ci_high (95 % interval of what the step is worth, basic
    bootstrap; NULL with reason), ci_method, chance_best (share of resamples in which that step is chosen, 0–1),
    step_before, chance_before, step_after, chance_after (its neighbours), reason. The interval is about this checkpoint
    on samples like these.
    """
    rows = [_choice_row(each, split) for each in _runs(store, filters, split, clusters=clusters)]
    names = ["run_id", "split", "num_steps", "num_steps_left_out", "num_samples", "num_samples_left_out", "is_common"]
    names += [
        "best_step",
        "reward_mean",
        "optimism",
        "optimism_if_equal",
        "reward_expected",
        "reward_held_out",
        "ci_low",
    ]
    names += [
        "ci_high",
        "ci_method",
        "chance_best",
        "step_before",
        "chance_before",
        "step_after",
        "chance_after",
        "reason",
    ]
    frame = pd.DataFrame(rows, columns=names)
    numbers = dict.fromkeys(
        ("optimism", "optimism_if_equal", "reward_expected", "reward_held_out", "ci_low", "ci_high"), float
    )
    return frame.astype({**numbers, "step_before": "Int64", "step_after": "Int64"})


def _choice_row(run: _Run, split: str) -> dict[str, Any]:
    choice, at = run.choice, run.choice.best
    before = run.candidates[at - 1] if at else None
    after = run.candidates[at + 1] if at + 1 < len(run.candidates) else None
    scored = int(np.isfinite(run.rewards).any(axis=1).sum())
    return {
        "run_id": run.run_id,
        "split": split,
        "num_steps": len(run.candidates),
        "num_steps_left_out": len(run.steps) - len(run.candidates),
        "num_samples": choice.num,
        "num_samples_left_out": scored - choice.num,
        "is_common": run.plan.is_common,
        "best_step": run.best,
        "reward_mean": float(choice.means[at]),
        "optimism": choice.optimism,
        "optimism_if_equal": choice.optimism_if_equal,
        "reward_expected": choice.expected.value,
        "reward_held_out": run.held_out,
        "ci_low": choice.expected.interval.low,
        "ci_high": choice.expected.interval.high,
        "ci_method": choice.expected.interval.method,
        "chance_best": run.chance(run.best),
        "step_before": before,
        "chance_before": run.chance(before),
        "step_after": after,
        "chance_after": run.chance(after),
        "reason": choice.expected.interval.reason,
    }


def checkpoint_figures(
    store: Reading, filters: Filters = EVERYTHING, *, split: str = "valid", clusters: bool = False
) -> pd.DataFrame:
    """One row per run and step of the split, ordered by them: how do a run's checkpoints differ in reward and cost?

    Columns: run_id, split, step, is_best (chosen as `checkpoint_choice` does), is_tied (its interval of the difference
    holds 0, or there is none: it cannot be told from the best; the best itself is not), is_saved (NULL where no
    checkpoint of the run is recorded), checkpoint_id, model (of the saved policy); num_rollouts, num_samples_scored,
    reward_mean (over samples), reward_ci_low, reward_ci_high (95 % t interval), chance_best (share of resamples in
    which it is chosen, 0–1); num_paired (samples scored here and at the best), delta_mean (this step minus the best,
    over them), delta_ci_low, delta_ci_high (95 % intervals that hold together); reward_masked_mean (failures left out),
    pass_rate (0–1); train_reward_mean, train_num_samples (train batch of the same step); tool_calls_mean with _ci_low,
    _ci_high, tool_calls_p95 with _ci_low, _ci_high, latency_p50_s, latency_p95_s with _ci_low_s, _ci_high_s (seconds;
    intervals of P95 by order statistics, for as many independent rollouts as attempts are worth, NULL with p95_reason),
    turns_mean, output_tokens_mean with _ci_low, _ci_high (tokens); failure_rate, truncation_rate, budget_exceeded_rate
    (0–1, of the num_status_known), no_tool_call_rate (0–1, of rollouts whose calls are known), num_samples_calls_known,
    num_samples_repeated (with two scored attempts or more), agree_share (of these, those whose attempts all have the
    same reward, 0–1).
    """
    own = replace(filters, splits=(split,))
    frame = store.ask("checkpoint_figures", {**filters.parameters(), "split": split}).assign(split=split)
    curve = _by_step(reward_curve(store, own))
    frame = _beside(frame, curve[[*_KEYS, "num_samples_scored", "reward_mean", *_REWARD]])
    frame = _beside(frame, _by_step(behaviour_by_step(store, own))[[*_KEYS, *_BEHAVIOUR]])
    frame = _beside(frame, _tails(store, own))
    frame = _beside(frame, _chosen(_runs(store, filters, split, clusters=clusters)))
    frame = _beside(frame, _train(store, filters, split))
    frame = _with_saved(frame, checkpoints(store, filters))
    # Missing where nothing is scored: neither best nor tied.
    is_best, is_tied = (
        frame[name].astype("boolean").fillna(value=False).astype(bool) for name in ("is_best", "is_tied")
    )
    return frame.assign(is_best=is_best, is_tied=is_tied)[[*_COLUMNS]]


_KEYS: Final = ["run_id", "step"]


def _beside(frame: pd.DataFrame, other: pd.DataFrame) -> pd.DataFrame:
    return frame.merge(other, on=_KEYS, how="left", validate="one_to_one")


def _by_step(frame: pd.DataFrame) -> pd.DataFrame:
    return frame[frame["step"].notna()]


def _tails(store: Reading, filters: Filters) -> pd.DataFrame:
    """P95 of tool calls and latency of every step, with intervals, and why there are none."""
    found = pd.DataFrame({"run_id": pd.Series(dtype=str), "step": pd.Series(dtype="Int64")})
    for measure, name, unit in (("tool_calls", "tool_calls_p95", ""), ("latency_s", "latency_p95", "_s")):
        rows = []
        for each in groups(store, filters, measure, "step"):
            far = percentile(each.values, 0.95, samples=each.samples)
            found_at = [each.keys[key] for key in _KEYS]
            rows.append([*found_at, far.value, far.interval.low, far.interval.high, far.interval.reason])
        names = [name + unit, f"{name}_ci_low{unit}", f"{name}_ci_high{unit}"]
        frame = pd.DataFrame(rows, columns=[*_KEYS, *names, f"reason_{measure}"])
        frame = _by_step(frame.astype({"step": "Int64", **dict.fromkeys(names, float)}))
        found = found.merge(frame, on=_KEYS, how="outer")
    reason = found.pop("reason_tool_calls").where(lambda each: each.notna(), found.pop("reason_latency_s"))
    return found.assign(p95_reason=reason)


def _train(store: Reading, filters: Filters, split: str) -> pd.DataFrame:
    """Reward of the train batch at every step; nothing beside the train split itself."""
    rows = _by_step(reward_curve(store, replace(filters, splits=("train",))))
    names = {"reward_mean": "train_reward_mean", "num_samples_scored": "train_num_samples"}
    rows = rows[[*_KEYS, *names]].rename(columns=names)
    return rows.iloc[:0] if split == "train" else rows


def _with_saved(frame: pd.DataFrame, saved: pd.DataFrame) -> pd.DataFrame:
    saved = _by_step(saved).drop_duplicates(_KEYS)[[*_KEYS, "checkpoint_id", "model"]]
    frame = _beside(frame, saved.assign(is_saved=True))
    is_saved = frame["is_saved"].astype("boolean").fillna(False)  # noqa: FBT003 - a value, not a switch
    return frame.assign(is_saved=is_saved.where(frame["run_id"].isin(saved["run_id"])))


def _chosen(runs: Iterator[_Run]) -> pd.DataFrame:
    """Every scored step of every run against its best."""
    rows = [
        {
            "run_id": run.run_id,
            "step": step,
            "is_best": step == run.best,
            "is_tied": step != run.best and not is_told_apart(delta),
            "chance_best": run.chance(step),
            "num_paired": delta.num,
            "delta_mean": delta.value,
            "delta_ci_low": delta.interval.low,
            "delta_ci_high": delta.interval.high,
        }
        for run in runs
        for step, delta in zip(run.steps, run.deltas, strict=True)
    ]
    names = [*_KEYS, "is_best", "is_tied", "chance_best", "num_paired", "delta_mean", "delta_ci_low", "delta_ci_high"]
    numbers = dict.fromkeys(("delta_mean", "delta_ci_low", "delta_ci_high", "chance_best"), float)
    return pd.DataFrame(rows, columns=names).astype({**numbers, "step": "Int64", "num_paired": "Int64"})


def _runs(store: Reading, filters: Filters, split: str, *, clusters: bool) -> Iterator[_Run]:
    """Each run that has scored steps in the split, in order."""
    # What is drawn for a run is the same whether it is asked about alone or beside others.
    drawn_for = {"split": split, "clusters": clusters, "filters": replace(filters, run_ids=None, splits=None)}
    for run_id, steps, rewards, labels in reward_matrices(store, filters, split, clusters=clusters):
        yield _run(run_id, steps, rewards, labels if clusters else None, drawn_for)


def reward_matrices(
    store: Reading, filters: Filters, split: str, *, clusters: bool = False
) -> Iterator[tuple[str, list[int], Floats, Labels]]:
    """Each run with scored steps in a split, in order: its id, these steps, every sample's rewards, its cluster.

    Rewards have the shape (samples, steps), NaN where not scored; clusters the shape (samples,).
    """
    table = store.arrow("checkpoint_choice", {**filters.parameters(), "split": split, "clusters": clusters})
    run_ids = table.column("run_id").to_pylist()
    bounds = [0, *(at for at in range(1, len(run_ids)) if run_ids[at] != run_ids[at - 1]), len(run_ids)]
    for start, end in pairwise(bounds) if run_ids else ():
        rows = table.slice(start, end - start)
        yield run_ids[start], rows.column("step").to_pylist(), *_matrix(rows)


def _run(run_id: str, steps: list[int], rewards: Floats, labels: Labels | None, drawn_for: dict[str, Any]) -> _Run:
    plan = comparable(rewards)
    kept = None if labels is None else np.asarray(labels)[plan.samples]
    seed = seed_of("checkpoint_choice", run_id, drawn_for)
    compared = rewards[plan.samples][:, plan.steps]
    choice = choose(compared, seed=seed, clusters=kept)
    candidates = [step for step, is_candidate in zip(steps, plan.steps, strict=True) if is_candidate]
    deltas = against(rewards, steps.index(candidates[choice.best]), clusters=labels)
    return _Run(run_id, steps, rewards, plan, choice, held_out(compared, seed=seed, clusters=kept), candidates, deltas)


def _matrix(rows: pa.Table) -> tuple[Floats, Labels]:
    """Rewards of one run, shape (samples, steps), NaN where not scored, and the cluster of every sample."""
    lists = {name: rows.column(name).combine_chunks() for name in ("units", "clusters", "rewards")}
    units, clusters, flat = (each.flatten().to_numpy(zero_copy_only=False) for each in lists.values())
    lengths = lists["units"].value_lengths().to_numpy(zero_copy_only=False)
    names, sample = factorize(units)
    rewards = np.full((names.size, len(lengths)), np.nan)
    rewards[sample, np.repeat(np.arange(len(lengths)), lengths)] = flat
    labels = np.empty(names.size, dtype=np.uint64)
    labels[sample] = clusters
    return rewards, factorize(labels)[1]
