"""Reward against cost, sample by sample: dead-bands, the nine quadrants, their shares, and what chance alone gives.

Attempts at the same sample differ by chance, so a sample's difference between two arms is noise unless it exceeds a
dead-band. The dead-band is measured by splitting an arm's attempts at a sample at random into halves of a = ⌊K/2⌋ and
b = ⌈K/2⌉ attempts and comparing the arm with itself. A half-difference D has more noise than a difference Δ of whole
arms with K₀ and K₁ attempts: E[D²] = s²·(1/a + 1/b) over all splits, exactly, where s² is the variance between attempts
(n−1), while Δ between arms that do not differ has s²·(1/K₀ + 1/K₁). So D is scaled by √((1/K₀+1/K₁)/(1/a+1/b)), 1/√2
for even K = K₀ = K₁ (STATISTICS: the contract asks for the split-half standard deviation; the scaling makes it that of
the difference shown), and the dead-band is the standard deviation of the scaled D.

Null shares must have the shape of the noise, too, not its variance alone: halves of two attempts at a reward of 0 or 1
differ by 1 or not at all, whole arms by ½ as well. So both arms' attempts at a sample are dealt to two arms of K₀ and
K₁ attempts again (labels permuted within the sample), as evenly as can be: each gets half of either arm's attempts,
which is both arms' split into halves, put together. Dealt evenly, what the arms truly differ by cancels out, and what
is left is the noise of exactly such a comparison: exact, whatever the rewards, where arms do not differ, and with even
attempts where they do; an odd attempt left over lets 1/K of a true difference through, to either side alike, which is
taken off where it is plain: where all of one arm's attempts lie above all of the other's, and each has two.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from math import sqrt
from typing import Final, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from queries.resampling import CELLS, bootstrap_mean
from queries.stats import Codes, Estimate, Floats, Interval, Labels, cluster_codes, share

QUADRANTS: Final = (
    "better_fewer",
    "better_same",
    "better_more",
    "same_fewer",
    "same_same",
    "same_more",
    "worse_fewer",
    "worse_same",
    "worse_more",
)
BETTER_NOT_MORE: Final = ("better_fewer", "better_same")
"""The joint claim "better and not more costly", which two separate intervals cannot make."""
NOT_WORSE_FEWER: Final = ("better_fewer", "same_fewer")
"""The joint claim "cheaper and not worse"."""
ROUNDING = 1e-9
"""Differences up to this much beyond a dead-band are the rounding of means, not a difference."""
LARGEST = 1e100
"""Beyond this a number cannot be squared and summed; it is noise of a broken grader and counts as not scored."""
SINGLE = "single attempts: their noise cannot be measured"


@dataclass(frozen=True, slots=True)
class Attempts:
    """One arm's rollouts: the sample each attempts, its reward and its cost, each of shape (rollouts,).

    Samples are labelled alike in both arms; a rollout whose sample is None is paired with nothing.
    """

    samples: Labels
    reward: ArrayLike
    cost: ArrayLike


@dataclass(frozen=True, slots=True)
class DeadBand:
    """Default dead-band of one measure: `width` is 0, and `note` says so, where no noise could be measured.

    `half_sd` is the unscaled standard deviation of half-differences; `num_repeated` of `num_samples` paired samples
    have two scored attempts or more in an arm.
    """

    width: float
    half_sd: float | None
    num_samples: int
    num_repeated: int
    note: str | None = None


@dataclass(frozen=True, slots=True)
class NullShares:
    """Share of each quadrant when attempts are dealt to the arms by chance; None where `reason` says why."""

    shares: dict[str, float] | None
    num_samples: int
    num_splits: int
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class QuadrantShare:
    """One quadrant: how many paired samples fall into it, their share, and the share that chance alone gives it."""

    name: str
    num_samples: int
    share: Estimate
    null_share: float | None


def quadrant(delta_reward: float, delta_cost: float, eps_reward: float = 0.0, eps_cost: float = 0.0) -> str | None:
    """Quadrant of one sample's differences (candidate minus baseline); None where either is not scored.

    A difference up to the dead-band, edge included, is `same`.
    """
    code = int(quadrant_codes([delta_reward], [delta_cost], eps_reward, eps_cost)[0])
    return QUADRANTS[code] if code >= 0 else None


def quadrant_codes(
    delta_reward: ArrayLike, delta_cost: ArrayLike, eps_reward: float = 0.0, eps_cost: float = 0.0
) -> NDArray[np.int8]:
    """Index into `QUADRANTS` of each pair of differences, any shape; −1 where either is not scored.

    Raises:
        ValueError: A dead-band is negative or not a number.
    """
    if not (eps_reward >= 0 and eps_cost >= 0):
        raise ValueError("a dead-band is a width of 0 or more")
    reward, cost = np.asarray(delta_reward, dtype=np.float64), np.asarray(delta_cost, dtype=np.float64)
    row = 1 - _beyond(reward, eps_reward)
    column = 1 + _beyond(cost, eps_cost)
    return np.where(np.isfinite(reward) & np.isfinite(cost), 3 * row + column, -1).astype(np.int8)


def _beyond(delta: Floats, eps: float) -> NDArray[np.int64]:
    edge = eps + ROUNDING
    return (delta > edge).astype(np.int64) - (delta < -edge).astype(np.int64)


def dead_band(
    baseline: ArrayLike, baseline_samples: Labels, candidate: ArrayLike, candidate_samples: Labels
) -> DeadBand:
    """Standard deviation of the scaled half-difference of one measure, over splits, paired samples and both arms.

    Each arm is values and sample labels of shape (rollouts,). Closed form, exact over all splits: the root of the mean
    of s²·(1/K₀+1/K₁), first over an arm's samples with two scored attempts or more, then over the arms that have any.
    0 with a note where attempts are single in both arms, or never differ.
    """
    values = [np.asarray(each, dtype=np.float64) for each in (baseline, candidate)]
    *sides, size = _shared_codes(baseline_samples, candidate_samples)
    counts, variances = zip(*(_spread(*each, size) for each in zip(values, sides, strict=True)), strict=True)
    paired = (counts[0] > 0) & (counts[1] > 0)
    repeated = [paired & (count > 1) for count in counts]
    num_samples, num_repeated = int(paired.sum()), int((repeated[0] | repeated[1]).sum())
    if not num_repeated:
        return DeadBand(0.0, None, num_samples, 0, SINGLE if num_samples else "no sample is scored in both arms")
    whole, halves = [], []
    for count, variance, usable in zip(counts, variances, repeated, strict=True):
        if usable.any():
            low = count[usable] // 2
            whole.append(np.mean(variance[usable] * (1 / counts[0][usable] + 1 / counts[1][usable])))
            halves.append(np.mean(variance[usable] * (1 / low + 1 / (count[usable] - low))))
    width, half_sd = sqrt(float(np.mean(whole))), sqrt(float(np.mean(halves)))
    note = None if num_repeated == num_samples else f"from the {num_repeated} of {num_samples} samples tried repeatedly"
    return DeadBand(width, half_sd, num_samples, num_repeated, note if width else "attempts at a sample never differ")


def _shared_codes(baseline: Labels, candidate: Labels) -> tuple[Codes, Codes, int]:
    """Sample codes of both arms' rollouts, equal where the label is, and how many codes there are."""
    first, second = np.asarray(baseline), np.asarray(candidate)
    codes = cluster_codes(np.concatenate((first, second)))
    return codes[: first.size], codes[first.size :], int(codes.max()) + 1 if codes.size else 0


def _spread(values: Floats, codes: Codes, size: int) -> tuple[NDArray[np.int64], Floats]:
    """Scored attempts of each sample, and the variance between them (n−1; 0 where fewer than two)."""
    kept = np.abs(values) < LARGEST
    values, codes = values[kept], codes[kept]
    count = np.bincount(codes, minlength=size)
    mean = np.bincount(codes, weights=values, minlength=size) / np.maximum(count, 1)
    squares = np.bincount(codes, weights=(values - mean[codes]) ** 2, minlength=size)
    # What equal attempts leave behind is the rounding of their mean.
    squares[squares <= count * (1e-12 * mean) ** 2] = 0.0
    return count, squares / np.maximum(count - 1, 1)


def quadrant_shares(
    codes: NDArray[np.int8],
    *,
    null: NullShares | None = None,
    method: Literal["Wilson", "bootstrap"] = "Wilson",
    clusters: Labels | None = None,
    seed: int = 0,
) -> tuple[QuadrantShare, ...]:
    """All nine quadrants in order, of `quadrant_codes` of shape (samples,), with 95 % intervals; see `joint_share`."""
    nulls = null.shares if null and null.shares else {}
    return tuple(
        QuadrantShare(
            name,
            int((codes == index).sum()),
            joint_share(codes, (name,), method=method, clusters=clusters, seed=seed),
            nulls.get(name),
        )
        for index, name in enumerate(QUADRANTS)
    )


def joint_share(
    codes: NDArray[np.int8],
    names: Collection[str],
    *,
    method: Literal["Wilson", "bootstrap"] = "Wilson",
    clusters: Labels | None = None,
    seed: int = 0,
) -> Estimate:
    """Share of paired samples that fall into any of the named quadrants, with its 95 % interval.

    Wilson takes samples as independent; the bootstrap resamples them, or whole clusters, and has no interval at shares
    of 0 and 1. Samples of code −1 are in no share and counted as missing.
    """
    known = codes >= 0
    inside = np.isin(codes, [QUADRANTS.index(name) for name in names])
    estimate = share(int(inside.sum()), int(known.sum()))
    interval = estimate.interval
    if method == "bootstrap" and estimate.num:
        interval = bootstrap_mean(np.where(known, inside, np.nan), seed=seed, clusters=clusters)
    elif clusters is not None and estimate.num:
        interval = Interval.none("Wilson", "samples in clusters are not independent: ask for the bootstrap")
    return Estimate(estimate.value, interval, estimate.num, int((~known).sum()))


def null_share(
    baseline: Attempts,
    candidate: Attempts,
    *,
    eps_reward: float,
    eps_cost: float,
    seed: int,
    num_splits: int = 1_000,
) -> NullShares:
    """Share of each quadrant that chance alone gives: both arms' attempts at each sample are dealt to two arms again.

    Over paired samples that either arm attempted twice or more, attempts with both reward and cost, `num_splits` deals
    (see the module), judged by the same dead-bands. None where there is no such sample.
    """
    *sides, size = _shared_codes(baseline.samples, candidate.samples)
    arms = [_complete(each, codes) for each, codes in zip((baseline, candidate), sides, strict=True)]
    counts = np.stack([np.bincount(codes, minlength=size) for codes, _ in arms])
    paired = (counts > 0).all(axis=0)
    used = np.asarray(paired & (counts > 1).any(axis=0))
    if not used.any():
        return NullShares(None, 0, 0, SINGLE if paired.any() else "no sample is scored in both arms")
    # Sorted by sample, then arm: the order in which attempts are shuffled.
    codes = np.concatenate([2 * each + arm for arm, (each, _) in enumerate(arms)])
    rows = np.flatnonzero(used[codes // 2])
    rows = rows[np.argsort(codes[rows], kind="stable")]
    measures = np.hstack([each for _, each in arms])[:, rows]
    tally = np.zeros(len(QUADRANTS))
    for rewards, costs in _dealt(codes[rows], measures, counts[:, used], seed, num_splits):
        found = quadrant_codes(rewards, costs, eps_reward, eps_cost)
        tally += np.bincount(found.ravel(), minlength=len(QUADRANTS))
    shares = tally / tally.sum()
    return NullShares(dict(zip(QUADRANTS, shares.tolist(), strict=True)), int(used.sum()), num_splits)


def _complete(arm: Attempts, codes: Codes) -> tuple[Codes, Floats]:
    """Sample codes, and reward and cost of shape (2, attempts), of attempts that have both, sorted by sample."""
    measures = np.stack((np.asarray(arm.reward, dtype=np.float64), np.asarray(arm.cost, dtype=np.float64)))
    rows = np.flatnonzero((np.abs(measures) < LARGEST).all(axis=0))
    rows = rows[np.argsort(codes[rows], kind="stable")]
    return codes[rows], measures[:, rows]


def _dealt(
    codes: Codes, measures: Floats, counts: NDArray[np.int64], seed: int, num_splits: int
) -> Iterator[tuple[Floats, Floats]]:
    """Blocks of differences of reward and cost between dealt arms, candidate minus baseline, shape (splits, samples).

    `codes` (2 · sample + arm, sorted) and `measures`, shape (2, attempts), are the attempts'; `counts`, shape (2,
    samples), how many of them the arms have.
    """
    first, second = counts
    even = first**2 / (first + second)
    starts = np.cumsum(counts.sum(axis=0)) - counts.sum(axis=0)
    sizes = counts.T.ravel()
    place = np.arange(codes.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    gaps = _gaps(measures, counts)
    # One stream each, so that the size of a block makes no difference.
    shuffling, rounding = (np.random.default_rng([seed, each]) for each in (0, 1))
    block = max(1, CELLS // codes.size)
    for start in range(0, num_splits, block):
        splits = min(block, num_splits - start)
        # Sorting code + random number shuffles within a sample's arm only.
        order = np.argsort(codes + shuffling.random((splits, codes.size)), axis=1)
        # Of the baseline's attempts so many stay in the first arm; a fraction is rounded up as often as it says.
        kept = np.floor(even + rounding.random((splits, first.size)) + ROUNDING)
        uneven = (first - kept) / second - kept / first
        taken = np.stack((kept, first - kept), axis=2).reshape(splits, -1)
        is_first = place < np.repeat(taken, sizes, axis=1)
        reward, cost = (
            np.add.reduceat(np.where(is_first, 0.0, values), starts, axis=1) / second
            - np.add.reduceat(np.where(is_first, values, 0.0), starts, axis=1) / first
            + uneven * gap
            for values, gap in zip((each[order] for each in measures), gaps, strict=True)
        )
        yield reward, cost


def _gaps(measures: Floats, counts: NDArray[np.int64]) -> Floats:
    """Candidate minus baseline of samples whose arms, of two attempts or more, do not overlap, else 0: (2, samples)."""
    sizes = counts.T.ravel()
    starts = np.cumsum(sizes) - sizes
    low, high = (each.reduceat(measures, starts, axis=1) for each in (np.minimum, np.maximum))
    means = np.add.reduceat(measures, starts, axis=1) / sizes
    apart = ((low[:, 1::2] > high[:, 0::2]) | (high[:, 1::2] < low[:, 0::2])) & (counts > 1).all(axis=0)
    return np.where(apart, means[:, 1::2] - means[:, 0::2], 0.0)
