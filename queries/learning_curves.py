"""Questions about more attempts: what k of them give, which group size pays, what training groups carried by step."""

from dataclasses import replace
from typing import Any, Final

import numpy as np
import pandas as pd

from queries.attempts import pass_at_k, pass_hat_k
from queries.connection import Reading
from queries.filters import EVERYTHING, Filters
from queries.frames import floats, insert_after
from queries.learning import Evidence, bounds, evidence
from queries.stats import Estimate, Floats, sample_mean, wilson

GROUP_SIZES: Final = (2, 4, 8, 16, 32)
MAX_K: Final = 1_024


def attempt_curve(
    store: Reading,
    *,
    arm: str,
    split: str | None = None,
    environments: tuple[str, ...] | None = None,
    threshold: float | None = None,
    leave_out_failures: bool = True,
) -> pd.DataFrame:
    """One row per number of attempts k (1 to 8, then powers of two, and the most that 90 % of the samples have): what would k attempts give?

    Columns: k, pass_at_k (chance that one of k passes), pass_hat_k (that all k pass), best_of_k (expected best reward),
    each the mean over the samples with at least k attempts, unbiased, with _ci_low and _ci_high (95 % t over samples)
    and _reason (why there is no interval); num_samples, num_missing (with fewer than k whose success is known),
    num_samples_scored, num_missing_scored (the same of scored attempts). No row where no sample has k attempts.

    Raises:
        QuestionError: The arm is not there.
    """  # noqa: E501 - the first line is what the command line lists
    found = evidence(store, arm, split, environments, threshold, leave_out_failures)
    known, passed = found.counts
    rows: list[dict[str, Any]] = []
    for k in _ks(found):
        success = {"pass_at_k": pass_at_k(known, passed, k), "pass_hat_k": pass_hat_k(known, passed, k)}
        best = sample_mean(found.best_of(k))
        row: dict[str, Any] = {"k": k}
        for name, values in success.items():
            row |= _within_one(bounds(name, sample_mean(values))) | {
                f"{name}_reason": sample_mean(values).interval.reason
            }
        row |= {**bounds("best_of_k", best), "best_of_k_reason": best.interval.reason}
        of = sample_mean(success["pass_at_k"])
        row |= {"num_samples": of.num, "num_missing": of.num_missing}
        rows.append(row | {"num_samples_scored": best.num, "num_missing_scored": best.num_missing})
    names = [f"{name}{end}" for name in ("pass_at_k", "pass_hat_k", "best_of_k") for end in _ENDS]
    counts = ["num_samples", "num_missing", "num_samples_scored", "num_missing_scored"]
    return pd.DataFrame(rows, columns=["k", *names, *counts])


_ENDS: Final = ("", "_ci_low", "_ci_high", "_reason")


def _ks(found: Evidence) -> list[int]:
    most = int(max(floats(found.samples, each).max(initial=0) for each in ("num_known", "num_scored")))
    tried = {*range(1, 9), *(2**power for power in range(4, 11)), found.common("num_scored"), found.common("num_known")}
    return sorted(k for k in tried if 1 <= k <= min(most, MAX_K))


def _within_one(columns: dict[str, Any]) -> dict[str, Any]:
    """A t interval of chances cut off at 0 and 1: outside of them there is nothing to cover."""
    return {name: float(np.clip(value, 0, 1)) for name, value in columns.items()}


def signal_by_group_size(
    store: Reading,
    *,
    arm: str,
    split: str | None = None,
    environments: tuple[str, ...] | None = None,
    threshold: float | None = None,
    leave_out_failures: bool = True,
    batch_size: int = 64,
) -> pd.DataFrame:
    """One row per group size (2, 4, 8, 16, 32): how many groups carry signal, and what does one that does cost?

    Columns: group_size, signal_share (of groups whose rewards differ, mean over samples: by the shrunk chances where
    success decides the reward, else unbiased over the samples with as many attempts), num_samples (it is over),
    num_too_few (samples with fewer), signal_reason (why there is no share or interval), at_least_share (from as many
    attempts as there are, up to the group size: less than in larger groups), both_share (of groups that hold a pass and
    a failure, by the shrunk chances; where no prior could be fitted, unbiased if all samples have as many attempts, and
    NULL if not and fewer than ten samples have two),
    each share with _ci_low and _ci_high (95 % bootstrap over samples, t above 1 000; where chances are shrunk, the
    prior is fitted anew in each resample); signal_groups, both_groups (of `batch_size` prompts); signal_rollouts,
    both_rollouts (rollouts per group that carries it).

    Raises:
        QuestionError: The arm is not there.
    """
    found = evidence(store, arm, split, environments, threshold, leave_out_failures)
    rows = []
    for size, both in zip(GROUP_SIZES, found.both_shares(GROUP_SIZES), strict=True):
        unbiased = found.mean(found.differ(size), "signal")
        signal = both if found.is_pass_fail else unbiased
        at_least = found.mean(found.differ_at_least(size), "at least")
        is_told = signal.value is not None or found.is_pass_fail
        reason = signal.interval.reason if is_told else f"no sample has {size} scored attempts"
        row = {"group_size": size, **bounds("signal_share", signal), "num_samples": signal.num}
        row |= {"num_too_few": signal.num_missing, "signal_reason": reason}
        row |= {**bounds("at_least_share", at_least), **bounds("both_share", both)}
        rows.append(row | _cost("signal", signal, size, batch_size) | _cost("both", both, size, batch_size))
    return pd.DataFrame(rows)


def _cost(name: str, found: Estimate, size: int, batch: int) -> dict[str, float]:
    share = np.nan if found.value is None else found.value
    return {f"{name}_groups": share * batch, f"{name}_rollouts": size / share if share > 0 else np.nan}


def signal_by_step(store: Reading, filters: Filters = EVERYTHING, *, leave_out_failures: bool = False) -> pd.DataFrame:
    """One row per run, split, step and scope, ordered by them: which groups carried signal, step by step?

    The train split, unless filters name others. A group is a source's own, else the attempts at a sample at that step.
    Rewards are as graded, as the trainer saw them, unless failures are to be left out. Columns: run_id, split, step,
    scope (`all` groups that are here, `effective`: those of which a rollout was trained on, where that is known),
    num_groups (with two scored rollouts or more), num_too_few (with fewer), num_zero_variance, zero_variance_share,
    zero_variance_share_ci_low, zero_variance_share_ci_high (95 % Wilson over groups), num_all_zero, num_all_one,
    num_all_other (one other reward), num_mixed (rewards differ), num_by_failures (differ only because some failed),
    reward_sd_mean (mean over groups of the standard deviation within), group_size_median (scored rollouts), num_known
    (groups of which it is known whether they were trained on), num_not_trained_on (known not to be).
    """
    scoped = filters if filters.splits is not None else replace(filters, splits=("train",))
    own = {"leave_out_failures": leave_out_failures}
    frame = store.ask("signal_by_step", {**scoped.parameters(), **own})
    zero, groups = floats(frame, "num_zero_variance"), floats(frame, "num_groups")
    low, high = wilson(zero, groups)
    with np.errstate(invalid="ignore", divide="ignore"):
        share: Floats = np.where(groups > 0, zero / groups, np.nan)
    new = {"": share, "_ci_low": low, "_ci_high": high}
    insert_after(frame, "num_zero_variance", {f"zero_variance_share{end}": values for end, values in new.items()})
    return frame
