"""The question which samples give a group-based trainer nothing, and what would wake them."""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import pandas as pd

from queries.connection import Reading
from queries.frames import floats
from queries.learnability import arm_columns, buckets, is_dead
from queries.learning import GROUP_SIZE, Evidence, check_group_size, evidence, over_environment
from queries.shrinkage import attempts_until, credible_interval
from queries.stats import Floats

SIDES: Final = ("low", "high", "same", "not scored")
NEAR: Final = 0.1
"""A miss is near up to this share of the range of rewards, or of the sub-scores."""
ADVICE: Final[Mapping[str, str]] = {
    "only failures": "Every attempt ended in an infrastructure or grader failure: repair that first, then ask again.",
    "hits a limit": "At least half of its attempts were cut off by a limit: raise the limit, then ask again.",
    "partial credit": "A sub-score differs between attempts, the reward does not: let the grader pass it on.",
    "near miss": "It comes close: a hint, a looser threshold or partial credit may lift some attempts over it.",
    "few attempts": "Too few attempts to tell: one more group may well hold the other outcome.",
    "too hard": "Give hints, easier variants or demonstrations first, or leave it out.",
    "solved": "Nothing is left to learn: leave it out, or make it harder.",
    "one reward": "The grader gives every attempt the same reward: let it tell better from worse.",
}
"""What would wake a sample, by reason, in the order in which reasons are tried."""


def dead_samples(
    store: Reading,
    *,
    arm: str,
    split: str | None = None,
    environments: tuple[str, ...] | None = None,
    threshold: float | None = None,
    leave_out_failures: bool = True,
    group_size: int = GROUP_SIZE,
) -> pd.DataFrame:
    """One row per sample of an arm whose reward never varies, ordered by side and reason: what would wake dead samples?

    Two scored attempts or more with one reward, or none scored and some failed. Columns: run_id, split, step,
    environment, sample_id, side (one of `SIDES`: by success where it is known, else the lowest or highest reward of its
    environment), reward, reason (see below), advice, num_attempts, num_scored, num_failed, num_limited (truncated or
    out of budget), success_chance, success_ci_low, success_ci_high (shrunk, 95 % credible), attempts_needed (further
    ones for an even chance of the other outcome; NULL = more than 1 000, or success not known), varying_subscore,
    varying_subscore_sd (the sub-score that differs most), best_partial (mean sub-score of the best attempt, 0–1),
    gap_to_pass (lowest reward of a sample that always passes in its environment, minus its reward). Reasons of the low
    side, the first that holds: hits a limit (half of its attempts), partial credit (a sub-score varies), near miss (gap
    within a tenth of the rewards' range, or sub-scores of .9), few attempts (attempts_needed within `group_size`), too
    hard; of the high side: few attempts, solved.

    Raises:
        QuestionError: The arm is not there, or a group has fewer than two attempts.
    """
    check_group_size(group_size)
    found = evidence(store, arm, split, environments, threshold, leave_out_failures)
    samples = found.samples
    frame = pd.concat([arm_columns(found, len(samples)), samples], axis=1).assign(**_evidence(found))
    kept = is_dead(samples) | ((samples["num_scored"] == 0) & (samples["num_failed"] > 0))
    frame = frame[kept.to_numpy(bool)]
    parts = store.ask("dead_samples", found.asked)
    frame = frame.merge(parts, how="left", on=["environment", "sample_id"], validate="one_to_one")
    frame["reason"] = _reasons(frame, group_size)
    frame["advice"] = frame["reason"].map(ADVICE).astype(object)
    order = {"side": SIDES.index, "reason": list(ADVICE).index}
    keys = frame.assign(**{name: frame[name].map(place) for name, place in order.items()})
    ordered = keys.sort_values(["side", "reason", "attempts_needed", "environment", "sample_id"], kind="stable").index
    return frame.loc[ordered, list(_COLUMNS)].reset_index(drop=True)


_COLUMNS: Final = (
    *("run_id", "split", "step", "environment", "sample_id", "side", "reward", "reason", "advice"),
    *("num_attempts", "num_scored", "num_failed", "num_limited", "success_chance", "success_ci_low", "success_ci_high"),
    *("attempts_needed", "varying_subscore", "varying_subscore_sd", "best_partial", "gap_to_pass"),
)


def _evidence(found: Evidence) -> dict[str, Any]:
    """Side, reward, shrunk chance, attempts needed and distance to a pass, of every sample."""
    samples = found.samples
    alpha, beta = found.posterior
    low, high = credible_interval(alpha, beta)
    bucket = buckets(samples)
    side = bucket.map(
        {"always_fails": "low", "always_lowest": "low", "always_passes": "high", "always_highest": "high"}
    ).fillna("same")
    needed = np.full(len(samples), np.nan)
    for name, parameters in (("low", (alpha, beta)), ("high", (beta, alpha))):
        rows = (is_dead(samples) & (side == name)).to_numpy(bool)
        needed[rows] = attempts_until(*(each[rows] for each in parameters))
    return {
        "side": side.where(samples["num_scored"] > 0, "not scored"),
        "reward": floats(samples, "reward_min"),
        "success_chance": alpha / (alpha + beta),
        "success_ci_low": low,
        "success_ci_high": high,
        "attempts_needed": pd.array(np.where(np.isfinite(needed), needed, np.nan), dtype="Int64"),
        "gap_to_pass": _gaps(samples),
        "reward_range": over_environment(samples, "reward_max", "max") - over_environment(samples, "reward_min", "min"),
    }


def _gaps(samples: pd.DataFrame) -> Floats:
    """How far a sample's reward lies below the lowest of those that always pass in its environment."""
    passing = samples["reward_min"].where((samples["num_known"] > 0) & (samples["num_passed"] == samples["num_known"]))
    lowest = over_environment(samples.assign(passing=passing), "passing", "min")
    failing = ((samples["num_known"] > 0) & (samples["num_passed"] == 0)).to_numpy(bool)
    return np.where(failing, lowest - floats(samples, "reward_max"), np.nan)


def _reasons(frame: pd.DataFrame, group_size: int) -> "pd.Series[str]":
    """The first reason that holds, of every dead sample."""
    low = (frame["side"] == "low").to_numpy(bool)
    gap, span = floats(frame, "gap_to_pass"), floats(frame, "reward_range")
    near = (gap <= NEAR * span) & (span > 0)
    cases = {
        "only failures": (frame["side"] == "not scored").to_numpy(bool),
        "hits a limit": low & (2 * floats(frame, "num_limited") >= floats(frame, "num_attempts")),
        "partial credit": low & frame["varying_subscore"].notna().to_numpy(bool),
        "near miss": low & (near | (floats(frame, "best_partial") >= 1 - NEAR)),
        "few attempts": floats(frame, "attempts_needed") <= group_size,
        "too hard": low,
        "solved": (frame["side"] == "high").to_numpy(bool),
    }
    return pd.Series(
        np.select(list(cases.values()), list(cases), default="one reward"), index=frame.index, dtype=object
    )
