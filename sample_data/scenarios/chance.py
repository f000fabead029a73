"""Random draws whose expectation is known exactly, so that what a scenario plants can be written down and tested.

Every draw keeps its stated mean (or share) whatever the sample's difficulty is; difficulty only makes the attempts at
one sample, and the two arms of a comparison, alike. Difficulties and levels are spread evenly over their quantiles, so
figures of few samples lie nearer to what was planted than those of samples drawn at random. Knows no task, no file.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from scipy.special import betaincinv

Rng = np.random.Generator

OWN = 0.7
"""Weight of an attempt's own chance beside its sample's difficulty, in standard deviations: 1 = difficulty is mute."""


def pick(rng: Rng, options: Sequence[Any]) -> Any:
    """One of several, all alike likely."""
    return options[int(rng.integers(0, len(options)))]


def some(rng: Rng, options: Sequence[Any], num: int) -> list[Any]:
    """So many different ones of several (all of them where there are fewer), in random order."""
    return [options[int(each)] for each in rng.permutation(len(options))[:num]]


def difficulties(rng: Rng, num: int) -> list[float]:
    """A standard normal number for each sample, evenly spread over their quantiles, in random order."""
    return [NormalDist().inv_cdf((float(place) + 0.5) / num) for place in rng.permutation(num)]


def attempt_z(rng: Rng, sample_z: float, own: float = OWN) -> float:
    """A standard normal number for an attempt, correlated 1 − own² with those of other attempts at its sample."""
    return math.sqrt(1 - own * own) * sample_z + own * float(rng.normal())


@dataclass(frozen=True)
class Counts:
    """A whole number, by its chances: which share of rollouts makes how many calls (or rounds)."""

    chances: Mapping[int, float]

    @property
    def mean(self) -> float:
        """Its expectation."""
        return sum(value * chance for value, chance in self.chances.items())

    def share_over(self, threshold: int) -> float:
        """The chance that it lies above a threshold."""
        return sum(chance for value, chance in self.chances.items() if value > threshold)

    def share_between(self, low: int, high: int) -> float:
        """The chance that it lies within `low` and `high`, both included."""
        return self.share_over(low - 1) - self.share_over(high)

    def towards(self, other: "Counts", progress: float) -> "Counts":
        """The mixture of this (progress 0) and another (progress 1)."""
        values = sorted({*self.chances, *other.chances})
        blend = {
            each: (1 - progress) * self.chances.get(each, 0.0) + progress * other.chances.get(each, 0.0)
            for each in values
        }
        return Counts(blend)

    def drawn(self, z: float) -> int:
        """The value at a standard normal number's quantile: harder samples make more calls, the chances stay."""
        left = 0.5 * math.erfc(-z / math.sqrt(2))
        for value in sorted(self.chances):
            left -= self.chances[value]
            if left < 0:
                return value
        return max(self.chances)


def happens(share: float, z: float) -> bool:
    """Whether a standard normal number is among that share of the highest."""
    return z > NormalDist().inv_cdf(1 - share)


def spread(low: int, high: int, share: float) -> dict[int, float]:
    """A share spread evenly over the whole numbers from low to high."""
    return dict.fromkeys(range(low, high + 1), share / (high - low + 1))


def levels(rng: Rng, num: int, mean: float, sd: float) -> list[float]:
    """How well each sample is solved, between 0 and 1: evenly spread over the quantiles of a Beta distribution.

    Rounded, so that another version of SciPy does not make other files.
    """
    weight = mean * (1 - mean) / (sd * sd) - 1
    places = (rng.permutation(num) + 0.5) / num
    return [round(float(each), 6) for each in betaincinv(mean * weight, (1 - mean) * weight, places)]


def raised(rng: Rng, before: Sequence[float], mean: float, to: float, worse: float = 0.15) -> list[float]:
    """Levels after training, of expectation `to` where `before` has `mean`; a share of the samples gets worse.

    A sample closes part of its gap to 1, or (with chance `worse`) loses a tenth: both linear in its level.
    """
    loss = 0.10
    closed = ((to - worse * mean * (1 - loss)) / (1 - worse) - mean) / (1 - mean)
    after = []
    for level in before:
        lost = rng.random() < worse
        part = float(rng.beta(2 * loss, 2 * (1 - loss)) if lost else rng.beta(3 * closed, 3 * (1 - closed)))
        after.append(level * (1 - part) if lost else 1 - (1 - level) * (1 - part))
    return after


def graded(rng: Rng, level: float, firmness: float = 12.0) -> float:
    """One attempt's score, between 0 and 1, of expectation `level`; firm graders stay near it."""
    level = min(max(level, 1e-6), 1 - 1e-6)
    return float(rng.beta(level * firmness, (1 - level) * firmness))


def nearest(rng: Rng, wanted: float, possible: Sequence[float]) -> int:
    """Index of one of the possible scores (ascending, from 0 to 1): the next above or below, right on average."""
    above = int(np.searchsorted(possible, wanted))
    if above == 0 or possible[above] == wanted:
        return above
    gap = possible[above] - possible[above - 1]
    return above if rng.random() < (wanted - possible[above - 1]) / gap else above - 1


def f1(hits: int, extra: int, num_reference: int) -> float:
    """F1 of an answer with so many right items and so many others, against so many in the reference."""
    return 2 * hits / (num_reference + hits + extra)


def answer_of_f1(rng: Rng, wanted: float, reference: Sequence[str], others: Sequence[str]) -> tuple[list[str], float]:
    """A list of items and its F1 against the reference: of expectation `wanted`."""
    ways = {f1(hits, extra, len(reference)): (hits, extra) for extra in (2, 1, 0) for hits in range(len(reference) + 1)}
    possible = sorted(ways)
    score = possible[nearest(rng, wanted, possible)]
    hits, extra = ways[score]
    return sorted([*some(rng, reference, hits), *some(rng, others, extra if hits else 2)]), score


def lognormal(mean: float, sigma: float, z: float) -> float:
    """A positive number (seconds, tokens) of that mean over standard normal numbers `z`."""
    return mean * math.exp(sigma * z - sigma * sigma / 2)
