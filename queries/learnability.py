"""Questions about what a group-based trainer can learn from each sample of one arm, before compute is spent."""

from typing import Any, Final

import numpy as np
import pandas as pd

from ingest.errors import QuestionError
from queries.connection import Reading
from queries.frames import floats
from queries.learning import GROUP_SIZE, Evidence, bounds, check_group_size, evidence, over_environment
from queries.shrinkage import chance_of_all, chance_of_both, credible_interval
from queries.stats import Floats, sample_mean, share
from queries.variation import variance_parts

BUCKETS: Final = ("always_fails", "mixed", "always_passes", "always_lowest", "always_highest", "always_same", "varies")
"""Of attempts by success; the last four, where no rule tells success, by reward: the lowest or highest of its
environment every time, another one every time, or not the same every time."""


def learnability(
    store: Reading,
    *,
    arm: str,
    split: str | None = None,
    environments: tuple[str, ...] | None = None,
    threshold: float | None = None,
    leave_out_failures: bool = True,
    group_size: int = GROUP_SIZE,
) -> pd.DataFrame:
    """One row per sample of an arm, ordered by environment and id: what can be learned from each sample?

    Columns: run_id, split, step, environment, sample_id, num_attempts, num_failed (infrastructure or grader failures:
    no evidence that a sample is hard, left out unless told otherwise), num_limited (truncated or out of budget),
    num_scored, reward_mean, reward_sd, reward_min, reward_max, num_values (distinct rewards), success (the rule that
    tells it: the reader's `threshold`, else `passed`, else `reward 0 or 1`; NULL = none), is_pass_fail (success decides
    the reward), num_known (attempts whose success is known), num_passed, bucket (one of `BUCKETS`; NULL with fewer than
    two attempts), is_dead (two attempts or more, one reward), success_chance (shrunk: beta posterior mean),
    success_ci_low, success_ci_high (95 % credible), signal_chance (that rewards in a group of `group_size` differ: by
    the posterior where success decides the reward, else unbiased from the attempts, which must be as many),
    signal_reason (why there is none), both_chance (that a group holds a pass and a failure), reward_variance (expected
    within a group), prior_alpha, prior_beta (of the beta prior; the same in every row).

    Raises:
        QuestionError: The arm is not there, or a group has fewer than two attempts.
    """
    check_group_size(group_size)
    found = evidence(store, arm, split, environments, threshold, leave_out_failures)
    frame = found.samples.copy()
    alpha, beta = found.posterior
    low, high = credible_interval(alpha, beta)
    signal = found.signal(group_size)
    added = {
        "bucket": buckets(frame),
        "is_dead": is_dead(frame),
        "success_chance": alpha / (alpha + beta),
        "success_ci_low": low,
        "success_ci_high": high,
        "signal_chance": signal,
        "signal_reason": _signal_reasons(frame, signal, group_size),
        "both_chance": chance_of_both(alpha, beta, group_size),
        "reward_variance": _variance(found, alpha, beta),
        "prior_alpha": found.prior.alpha,
        "prior_beta": found.prior.beta,
    }
    about = arm_columns(found, len(frame))
    return pd.concat([about, frame, pd.DataFrame(added, index=frame.index)], axis=1)


def arm_columns(found: Evidence, rows: int) -> pd.DataFrame:
    """Run, split and step of the arm, so that a row can open its rollouts."""
    arm = found.arm
    step = pd.Series([arm.step] * rows, dtype="Int64")
    return pd.DataFrame(
        {"run_id": [arm.run_id] * rows, "split": pd.Series([arm.split] * rows, dtype=object), "step": step}
    )


def buckets(samples: pd.DataFrame) -> "pd.Series[str]":
    """The bucket of each sample (see `BUCKETS`), None with fewer than two attempts that tell."""
    known, passed = floats(samples, "num_known"), floats(samples, "num_passed")
    scored, lowest, highest = (floats(samples, each) for each in ("num_scored", "reward_min", "reward_max"))
    floor, ceiling = over_environment(samples, "reward_min", "min"), over_environment(samples, "reward_max", "max")
    has_rule = samples["success"].notna().to_numpy(bool)
    by_reward = ~has_rule & (scored >= 2)
    flat = by_reward & (lowest == highest) & (floor < ceiling)
    cases = [
        has_rule & (known < 2),
        has_rule & (passed == 0),
        has_rule & (passed == known),
        has_rule,
        flat & (lowest == floor),
        flat & (highest == ceiling),
        by_reward & (lowest == highest),
        by_reward,
    ]
    names = ["", "always_fails", "always_passes", "mixed", "always_lowest", "always_highest", "always_same", "varies"]
    found = pd.Series(np.select(cases, names, default=""), index=samples.index, dtype=object)
    return found.where(found != "", None)


def is_dead(samples: pd.DataFrame) -> "pd.Series[bool]":
    """Whether two or more scored attempts all got one reward: nothing for a group to learn from."""
    return pd.Series((floats(samples, "num_scored") >= 2) & (floats(samples, "num_values") == 1), index=samples.index)


def _signal_reasons(samples: pd.DataFrame, signal: Floats, size: int) -> "pd.Series[str]":
    scored = samples["num_scored"].to_numpy(np.int64)
    reasons = [
        None if known else "nothing scored" if not num else f"graded rewards: {size} scored attempts needed, {num} here"
        for known, num in zip(~np.isnan(signal), scored.tolist(), strict=True)
    ]
    return pd.Series(reasons, index=samples.index, dtype=object)


def _variance(found: Evidence, alpha: Floats, beta: Floats) -> Floats:
    """Expected variance within a group: of the attempts, or (gap of the two rewards)²·E[p(1−p)] by the posterior."""
    samples = found.samples
    gap = over_environment(samples, "reward_max", "max") - over_environment(samples, "reward_min", "min")
    total = alpha + beta
    decided = gap**2 * alpha * beta / (total * (total + 1))
    # Where all rewards are equal only one of the two is known, and so is no gap.
    decided = np.where(gap > 0, decided, np.nan)
    return np.where(samples["is_pass_fail"].to_numpy(bool), decided, floats(samples, "reward_sd") ** 2)


def learnability_summary(
    store: Reading,
    *,
    arm: str,
    split: str | None = None,
    environments: tuple[str, ...] | None = None,
    threshold: float | None = None,
    leave_out_failures: bool = True,
    group_size: int = GROUP_SIZE,
    batch_size: int = 64,
) -> pd.DataFrame:
    """One row, of an arm: how many samples carry signal, how much a batch carries, and how high the reward can go?

    Columns: label, run_id, split, step, kind, base_model, models (distinct ones that acted), parent_run, first_step (of
    the run), stage (`raw model`, `before the first step`, or NULL), prompt_versions, num_environments, num_rollouts,
    num_without_sample (left out), num_failed, num_not_scored (rollouts); success, is_pass_fail, num_samples,
    attempts_min, attempts_median, attempts_max (scored, a sample), num_single (samples with fewer than two scored);
    num_told (samples in a bucket), num_dead, num_flat_told (samples with two scored attempts), and for `dead`,
    `always_fails`, `mixed`, `always_passes`: num_…, …_share, …_share_ci_low, …_share_ci_high (95 % Wilson over
    samples); expected_all_fail, expected_both, expected_all_pass (of groups of `group_size`, shrunk, 0–1; NULL
    where the prior is only assumed);
    signal_share (of groups whose rewards differ), both_share (that hold a pass and a failure), at_least_share (differ,
    by as many attempts as there are: less than in larger groups), each with _ci_low and _ci_high (95 % bootstrap over
    samples); signal_groups, both_groups, at_least_groups (of `batch_size` prompts); reward_mean with _ci_low and
    _ci_high (95 % t over samples), variance_between, variance_within, icc (share between samples), ceiling_k,
    reward_ceiling (mean best of ceiling_k attempts, the most that 90 % of the samples have), num_ceiling (samples),
    headroom (ceiling minus mean of the same samples), headroom_ci_low, headroom_ci_high; prior_alpha, prior_beta,
    prior_note (why it is not fitted).

    Raises:
        QuestionError: The arm is not there, or a size is out of range.
    """
    check_group_size(group_size)
    if not 1 <= batch_size <= 1_000_000:
        raise QuestionError("a batch has from 1 to 1 000 000 prompts")
    found = evidence(store, arm, split, environments, threshold, leave_out_failures)
    facts = store.ask("learnability_summary", found.asked)
    if facts.empty:
        return pd.DataFrame()
    row: dict[str, Any] = {
        "label": found.arm.label,
        "run_id": found.arm.run_id,
        "split": found.arm.split,
        "step": found.arm.step,
    }
    row |= {str(name): value for name, value in facts.astype(object).iloc[0].items()}
    row |= {"stage": _stage(row), **_counts(found), **_expected(found, group_size)}
    row |= _shares(found, group_size, batch_size)
    row |= _rewards(found)
    row |= {"prior_alpha": found.prior.alpha, "prior_beta": found.prior.beta, "prior_note": found.prior.note}
    return pd.DataFrame([row]).astype({"step": "Int64", "first_step": "Int64"})


def _stage(row: dict[str, Any]) -> str | None:
    """Whether the arm is a raw model, as far as its models, kind and step say."""
    models = None if row["models"] is None else [str(each) for each in row["models"]]
    is_base = bool(models) and not pd.isna(row["base_model"]) and models == [row["base_model"]]
    unknown = not models or pd.isna(row["base_model"])
    starts = row["step"] is None or (row["step"] <= 1 and row["step"] == row["first_step"])
    if (row["kind"] == "baseline" and unknown) or (is_base and starts):
        return "raw model"
    return "before the first step" if unknown and row["step"] == 0 and pd.isna(row["parent_run"]) else None


def _counts(found: Evidence) -> dict[str, Any]:
    samples = found.samples
    scored = floats(samples, "num_scored")
    told = buckets(samples)
    rules = samples["success"].dropna().unique()
    counts: dict[str, Any] = {
        "success": " / ".join(sorted(rules)) or None,
        "is_pass_fail": found.is_pass_fail,
        "num_samples": len(samples),
        "attempts_min": int(scored.min()) if scored.size else None,
        "attempts_median": float(np.median(scored)) if scored.size else None,
        "attempts_max": int(scored.max()) if scored.size else None,
        "num_single": int((scored < 2).sum()),
        "num_told": int(told.isin(BUCKETS[:3]).sum()),
        "num_flat_told": int((scored >= 2).sum()),
    }
    kinds = {"dead": int(is_dead(samples).sum()), **{each: int((told == each).sum()) for each in BUCKETS[:3]}}
    for name, num in kinds.items():
        total = counts["num_flat_told"] if name == "dead" else counts["num_told"]
        counts |= {f"num_{name}": num, **bounds(f"{name}_share", share(num, total))}
    return counts


def _expected(found: Evidence, size: int) -> dict[str, float]:
    """How groups of that size would fall, by the posteriors: mean over samples of which anything is known.

    Not by a prior that is only assumed.
    """
    alpha, beta = found.posterior
    known = ~np.isnan(alpha) & (not found.prior.is_assumed)
    alpha, beta = alpha[known], beta[known]
    chances = {
        "expected_all_fail": chance_of_all(beta, alpha, size),
        "expected_both": chance_of_both(alpha, beta, size),
        "expected_all_pass": chance_of_all(alpha, beta, size),
    }
    return {name: float(each.mean()) if each.size else np.nan for name, each in chances.items()}


def _shares(found: Evidence, size: int, batch: int) -> dict[str, Any]:
    both = found.both_shares([size])[0]
    signal = both if found.is_pass_fail else found.mean(found.differ(size), "signal")
    estimates = {"signal": signal, "both": both, "at_least": found.mean(found.differ_at_least(size), "at least")}
    row: dict[str, Any] = {}
    for name, each in estimates.items():
        groups = np.nan if each.value is None else each.value * batch
        row |= {**bounds(f"{name}_share", each), f"{name}_groups": groups}
    return row


def _rewards(found: Evidence) -> dict[str, Any]:
    """Mean reward, where its variance lies, and what the best of a common number of attempts would be."""
    num, means, deviations = (floats(found.samples, each) for each in ("num_scored", "reward_mean", "reward_sd"))
    parts = variance_parts(num, means, deviations)
    row = bounds("reward_mean", sample_mean(means))
    row |= {"variance_between": parts.between, "variance_within": parts.within, "icc": parts.icc}
    k = found.common("num_scored")
    best = found.best_of(k) if k else np.full(num.shape, np.nan)
    ceiling, headroom = sample_mean(best), sample_mean(best - means)
    row |= {"ceiling_k": k or None, **bounds("reward_ceiling", ceiling), "num_ceiling": ceiling.num}
    return row | bounds("headroom", headroom)
