"""Named ways in which per-sample numbers of two arms come about, with the true values that intervals should hold.

Every process draws many data sets at once: arrays of shape (data sets, samples).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

Floats = NDArray[np.float64]
Shape = tuple[int, int]
Arms = tuple[Floats, Floats]
RATES = ((0.5, 0.2), (0.1, 0.1), (0.02, 0.04))
"""Pass rates of the baseline, and the share of samples of which the candidate has learnt something."""
LEVELS = np.array([0.0, 0.25, 0.5, 1.0])


@dataclass(frozen=True)
class Process:
    """Both arms' per-sample means, and the true mean difference and ratio of means."""

    name: str
    draw: Callable[[np.random.Generator, Shape], Arms]
    difference: float
    ratio: float | None = None
    is_within_one: bool = False
    is_pass_or_fail: bool = False
    is_clustered: bool = False


def cluster_codes(num: int) -> NDArray[np.intp]:
    """Clusters of 2, 3, … 10, 2, 3, … samples, shape (num,)."""
    sizes = 2 + np.arange(num) % 9
    return np.repeat(np.arange(num), sizes)[:num]


def normal(generator: np.random.Generator, shape: Shape) -> Arms:
    level = generator.normal(size=shape)
    return level + generator.normal(size=shape), level + generator.normal(0.2, 1.0, shape)


def passes(rate: float, learnt: float, attempts: int) -> Process:
    """Rates of samples are Beta (attempts correlate by 1/3); the candidate has learnt a few, each in part."""

    def draw(generator: np.random.Generator, shape: Shape) -> Arms:
        before = generator.beta(2 * rate, 2 * (1 - rate), shape)
        gain = (generator.random(shape) < learnt) * generator.random(shape)
        after = before + gain * (1 - before)
        return generator.binomial(attempts, before) / attempts, generator.binomial(attempts, after) / attempts

    gain = learnt / 2 * (1 - rate)
    name = f"pass rate {rate:g}, {attempts} attempt{'s' if attempts > 1 else ''}"
    return Process(name, draw, gain, 1 + gain / rate, is_within_one=True, is_pass_or_fail=attempts == 1)


def ragged(generator: np.random.Generator, shape: Shape) -> Arms:
    """Pass rate .5, one to eight attempts, as many as chance would have it in either arm."""
    before = generator.beta(1, 1, shape)
    gain = (generator.random(shape) < 0.2) * generator.random(shape)
    first, second = (generator.integers(1, 9, shape) for _ in range(2))
    return generator.binomial(first, before) / first, generator.binomial(second, before + gain * (1 - before)) / second


def levels(generator: np.random.Generator, shape: Shape) -> Arms:
    """Rewards 0, .25, .5 and 1, by where a normal number falls; half of its variance is the sample's."""
    common = generator.normal(size=shape)
    before, after = ((common + generator.normal(size=shape)) / 2**0.5 + shift for shift in (0.0, 0.3))
    return LEVELS[np.digitize(before, (-0.8, 0.0, 0.8))], LEVELS[np.digitize(after, (-0.8, 0.0, 0.8))]


def level_mean(shift: float) -> float:
    edges = special.ndtr(np.array([-0.8, 0.0, 0.8]) - shift)
    return float(np.diff([0.0, *edges, 1.0]) @ LEVELS)


def tokens(deviation: float, attempts: int) -> Process:
    """Log-normal counts of tokens, or seconds: a level by sample, fewer by a fifth or so in the candidate."""

    def draw(generator: np.random.Generator, shape: Shape) -> Arms:
        level = generator.normal(0, 0.5, shape)
        change = generator.normal(-0.2, 0.3, shape)

        def arm(logarithm: Floats) -> Floats:
            noise = (generator.normal(0, deviation, shape) for _ in range(attempts))
            return np.asarray(sum(np.exp(logarithm + each) for each in noise) / attempts)

        return arm(level), arm(level + change)

    before, ratio = float(np.exp(0.125 + deviation**2 / 2)), float(np.exp(-0.2 + 0.045))
    name = f"tokens, σ {deviation:g}, {attempts} attempt{'s' if attempts > 1 else ''}"
    return Process(name, draw, before * (ratio - 1), ratio)


def skewed(deviation: float) -> Process:
    """The baseline always needs the same, the candidate log-normally more."""

    def draw(generator: np.random.Generator, shape: Shape) -> Arms:
        return np.ones(shape), 1 + generator.lognormal(0, deviation, shape)

    more = float(np.exp(deviation**2 / 2))
    return Process(f"one arm skewed, σ {deviation:g}", draw, more, 1 + more)


def heavy(generator: np.random.Generator, shape: Shape) -> Arms:
    """Normal arms, but the candidate sometimes runs far: Pareto, α 2.5."""
    return generator.normal(size=shape), generator.normal(size=shape) + generator.pareto(2.5, shape)


def runaway(generator: np.random.Generator, shape: Shape) -> Arms:
    """One sample in ten takes the candidate several times as long."""
    far = (generator.random(shape) < 0.1) * generator.lognormal(1.0, 0.5, shape)
    return np.ones(shape), 1 + generator.normal(0, 0.3, shape) + far


def unchanged_rewards(generator: np.random.Generator, shape: Shape) -> Arms:
    """Nine samples in ten score the same in both arms; of the others, four in five gain."""
    sign = np.where(generator.random(shape) < 0.8, 1.0, -1.0)
    change = (generator.random(shape) < 0.1) * generator.random(shape) * sign
    before = np.full(shape, 0.5)
    return before - change / 2, before + change / 2


def unchanged_costs(generator: np.random.Generator, shape: Shape) -> Arms:
    """Nine samples in ten cost the same in both arms, the others log-normally more."""
    return np.ones(shape), 1 + (generator.random(shape) < 0.1) * generator.lognormal(0, 0.5, shape)


def clustered(generator: np.random.Generator, shape: Shape) -> Arms:
    """Normal differences in clusters of two to ten samples that correlate by .3."""
    codes = cluster_codes(shape[1])
    common = generator.normal(0, 0.3**0.5, (shape[0], int(codes.max()) + 1))[:, codes]
    return np.zeros(shape), 0.2 + common + generator.normal(0, 0.7**0.5, shape)


def clustered_rewards(generator: np.random.Generator, shape: Shape) -> Arms:
    """Rewards that gain or lose .5 where a normal number of a cluster and the sample's own lies far out."""
    codes = cluster_codes(shape[1])
    common = generator.normal(0, 0.3**0.5, (shape[0], int(codes.max()) + 1))[:, codes]
    found = common + generator.normal(0, 0.7**0.5, shape)
    change = 0.5 * (found > 1.0) - 0.5 * (found < -1.5)
    return np.full(shape, 0.5) - change / 2, 0.5 + change / 2


PROCESSES = (
    Process("normal", normal, 0.2),
    Process("rewards 0, .25, .5, 1", levels, level_mean(0.3) - level_mean(0.0), is_within_one=True),
    *(passes(rate, learnt, k) for rate, learnt in RATES for k in (1, 3, 5)),
    Process("pass rate 0.5, 1 to 8 attempts", ragged, 0.05, 1.1, is_within_one=True),
    Process("rewards, 90 % unchanged", unchanged_rewards, 0.1 * 0.5 * 0.6, is_within_one=True),
    *(tokens(deviation, k) for deviation in (0.5, 1.0) for k in (1, 3)),
    skewed(0.5),
    skewed(1.0),
    Process("heavy right tail", heavy, 1 / 1.5),
    Process("one in ten runs away", runaway, 0.1 * float(np.exp(1.125)), 1 + 0.1 * float(np.exp(1.125))),
    Process("costs, 90 % unchanged", unchanged_costs, 0.1 * float(np.exp(0.125)), 1 + 0.1 * float(np.exp(0.125))),
    Process("differences in clusters of 2 to 10", clustered, 0.2, is_clustered=True),
    Process(
        "rewards in clusters of 2 to 10",
        clustered_rewards,
        0.5 * float(special.ndtr(-1.0) - special.ndtr(-1.5)),
        is_within_one=True,
        is_clustered=True,
    ),
)
