"""What one arm's attempts say of its samples: read once, and shared by the questions about learnability.

Two things are told apart. *Success*: whether an attempt passed, by a rule that is always named. *Signal*: whether the
rewards of a group of attempts differ, which is what a trainer that compares attempts at one sample learns from. Where
success decides the reward the two are one; graded rewards may differ though every attempt fails.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

import numpy as np
import pandas as pd

from ingest.errors import QuestionError
from queries.arms import Arm, arms
from queries.arms import arm as arm_named
from queries.attempts import best_of_k_by_sample, pass_hat_k
from queries.connection import Reading
from queries.frames import floats
from queries.resampling import bootstrap_mean
from queries.shrinkage import Prior, chance_of_both, fit_prior, signal_interval
from queries.stats import NOTHING, Estimate, Floats, Interval, sample_mean, seed_of
from queries.variation import chance_of_difference

GROUP_SIZE: Final = 8
MAX_GROUP_SIZE: Final = 4_096
MAX_RESAMPLED: Final = 1_000
"""With more samples the bootstrap takes seconds, and says what t says."""
COMMON: Final = 0.9
"""A number of attempts is common where at least this share of the samples has it."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """An arm's samples, the rewards of each, and the prior of their chances of success.

    `samples`: answer of `learnability.sql`; `values`: of `attempt_values.sql`; `asked`: what seeds derive from.
    """

    arm: Arm
    samples: pd.DataFrame
    values: pd.DataFrame
    prior: Prior
    asked: dict[str, Any]

    @property
    def is_pass_fail(self) -> bool:
        """Whether success decides the reward in every sample that has one, so that counts of passes say everything."""
        scored = self.samples["num_scored"].to_numpy(np.int64) > 0
        return bool(scored.any() and self.samples["is_pass_fail"].to_numpy(bool)[scored].all())

    @property
    def counts(self) -> tuple[Floats, Floats]:
        """Attempts of which it is known whether they passed, and those that did: each of shape (samples,)."""
        return floats(self.samples, "num_known"), floats(self.samples, "num_passed")

    @property
    def posterior(self) -> tuple[Floats, Floats]:
        """Parameters of every sample's beta posterior; NaN where nothing is known of its success."""
        return self.prior.posterior(*self.counts)

    def differ(self, size: int) -> Floats:
        """Unbiased chance that `size` attempts differ in reward, shape (samples,); NaN where fewer are scored."""
        codes = self.values["sample"].to_numpy(np.intp)
        return chance_of_difference(floats(self.values, "num_attempts"), codes, len(self.samples), size)

    def signal(self, size: int) -> Floats:
        """Chance that a group carries signal: from the posterior where success decides the reward, else unbiased."""
        decided = self.samples["is_pass_fail"].to_numpy(bool)
        return np.where(decided, chance_of_both(*self.posterior, size), self.differ(size))

    def differ_at_least(self, size: int) -> Floats:
        """The same for as many attempts as there are, up to `size`: on average no more than for `size`.

        Shape (samples,); NaN where fewer than two are scored.
        """
        num = floats(self.samples, "num_scored")
        found = self.differ(size)
        fewer = (num >= 2) & (num < size)
        # All attempts there are differ or do not: one group, seen once.
        return np.where(fewer, (floats(self.samples, "num_values") > 1).astype(np.float64), found)

    def best_of(self, k: int) -> Floats:
        """Expected best reward of k attempts, shape (samples,); NaN where fewer are scored."""
        times = self.values["num_attempts"].to_numpy(np.int64)
        codes = np.repeat(self.values["sample"].to_numpy(np.intp), times)
        found = np.full(len(self.samples), np.nan)
        found[np.unique(codes)] = best_of_k_by_sample(np.repeat(floats(self.values, "reward"), times), codes, k)
        return found

    def both_shares(self, sizes: Sequence[int]) -> list[Estimate]:
        """Mean over samples of the chance that a group holds a pass and a failure, one estimate a size.

        By the posteriors, with an interval where the prior was fitted; where it was not, but all samples have as many
        attempts, unbiased from their counts; none by a prior that is only assumed.
        """
        tried, passed = self.counts
        known = tried > 0
        num, missing = int(known.sum()), int((~known).sum())
        if not num:
            return [Estimate(None, Interval.none("bootstrap", NOTHING), 0, missing)] * len(sizes)
        tried, passed = tried[known], passed[known]
        intervals = signal_interval(tried, passed, self.prior, sizes, seed=seed_of("signal", self.asked))
        found = []
        for size, interval in zip(sizes, intervals, strict=True):
            if self.prior.note is not None and tried.min() >= size:
                alike = pass_hat_k(tried, passed, size) + pass_hat_k(tried, tried - passed, size)
                found.append(replace(self.mean(1 - alike, "signal"), num_missing=missing))
            elif self.prior.is_assumed:
                found.append(Estimate(None, interval, num, missing))
            else:
                mean = float(np.nanmean(chance_of_both(*self.posterior, size)))
                found.append(Estimate(mean, interval, num, missing))
        return found

    def mean(self, values: Floats, what: str) -> Estimate:
        """Mean over samples with its bootstrap interval, seeded by what it is of; t above a thousand samples."""
        kept = values[np.isfinite(values)]
        if kept.size > MAX_RESAMPLED:
            return sample_mean(values)
        interval = bootstrap_mean(kept, seed=seed_of(what, self.asked))
        return Estimate(float(kept.mean()) if kept.size else None, interval, kept.size, values.size - kept.size)

    def common(self, column: str) -> int:
        """Largest number of attempts (`num_scored` or `num_known`) that 90 % of the samples with any have, or 0."""
        num = np.sort(floats(self.samples, column))
        num = num[num > 0]
        return int(num[int((1 - COMMON) * num.size + 1e-9)]) if num.size else 0


def evidence(
    store: Reading,
    arm: str,
    split: str | None,
    environments: tuple[str, ...] | None,
    threshold: float | None,
    leave_out_failures: bool,  # noqa: FBT001 - in the order in which the questions pass them on
) -> Evidence:
    """Read the arm as written (`RUN@STEP`, see `queries.arms`).

    Raises:
        QuestionError: The arm is not there, or the threshold is no number.
    """
    if threshold is not None and not np.isfinite(threshold):
        raise QuestionError("threshold must be a number")
    chosen = arm_named(arms(store), arm, split)
    asked = {
        "arm": chosen.parameter(),
        "environments": None if environments is None else list(environments),
        "threshold": threshold,
        "leave_out_failures": leave_out_failures,
    }
    samples = store.ask("learnability", asked)
    known = samples["num_known"] > 0
    prior = fit_prior(floats(samples, "num_known")[known], floats(samples, "num_passed")[known])
    return Evidence(chosen, samples, store.ask("attempt_values", asked), prior, asked)


def over_environment(samples: pd.DataFrame, column: str, how: Literal["min", "max"]) -> Floats:
    """The lowest or highest value of a column in each sample's environment, shape (samples,)."""
    grouped = samples.groupby("environment", dropna=False)[column]
    return grouped.transform(how).to_numpy(np.float64, na_value=np.nan)


def check_group_size(size: int) -> None:
    """Check the number of attempts in a group.

    Raises:
        QuestionError: It is not from 2 to 4 096.
    """
    if not 2 <= size <= MAX_GROUP_SIZE:
        raise QuestionError(f"a group has from 2 to {MAX_GROUP_SIZE} attempts, not {size}")


def bounds(name: str, found: Estimate) -> dict[str, Any]:
    """An estimate as columns: `{name}`, `{name}_ci_low` and `{name}_ci_high`, NaN where there is none."""
    low, high = found.interval.low, found.interval.high
    parts = {"": found.value, "_ci_low": low, "_ci_high": high}
    return {f"{name}{suffix}": np.nan if value is None else value for suffix, value in parts.items()}
