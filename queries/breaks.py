"""Where the level of a series of scores by step breaks: a change between two steps that no trend and no noise explains.

Arrays in, small frozen dataclasses out. A row is the mean of a sample's scores at a step. Around every candidate (the
place between two steps) a straight line with a break there is fitted to the steps nearest to it, by least squares on
differences within samples where the same samples are scored on both sides, else on the means; errors are clustered by
sample. A break counts where its interval excludes 0, all candidates together, where it stands out from what the series
usually does from step to step, and where it lasts: see `is_lasting`.
Source of the design: segmented regression of interrupted time series (Wagner et al. 2002), searched by binary
segmentation (Vostrikova 1981); errors after Liang and Zeger 1986.
"""

from dataclasses import dataclass
from math import sqrt
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy import special

from queries.stats import Codes, Floats
from queries.windows import noise

FEW_SHARED: Final = 0.5
"""Below this share of the samples of the smaller side, both sides are compared by their means."""
KEPT: Final = 0.5
"""Share of a break that must remain whichever way the lines around it are drawn."""
_SINGULAR: Final = 1e-9


@dataclass(frozen=True, slots=True)
class BreakRules:
    """What counts as a break: steps looked at on each side, fewest steps and samples, how sure and large."""

    window: int
    min_steps: int
    min_samples: int
    confidence: float
    min_size: float
    """Smallest break worth a sentence, in standard deviations of the samples of a step."""


@dataclass(frozen=True, slots=True)
class Series:
    """Scores of samples by step: step numbers in order, shape (steps,); of each row its step's place, sample, value."""

    steps: Floats
    place: Codes
    sample: Codes
    value: Floats

    @property
    def means(self) -> Floats:
        """Mean over samples at each step, shape (steps,)."""
        return _sums(self.place, self.value, self.steps.size) / np.bincount(self.place, minlength=self.steps.size)

    @property
    def spread(self) -> float:
        """Standard deviation of samples within steps, pooled."""
        centred = self.value - self.means[self.place]
        degrees = max(self.value.size - self.steps.size, 1)
        return sqrt(float(centred @ centred) / degrees)


@dataclass(frozen=True, slots=True)
class Break:
    """A change of level before the step at `place`: its size beyond the trend, its standard error, over what."""

    place: int
    size: float
    error: float
    degrees: int
    num_samples: int
    is_paired: bool
    first: int
    last: int
    """Places of the first and last step that were looked at."""

    def interval(self, confidence: float) -> tuple[float, float]:
        """Bounds of the t interval of its size."""
        half = float(special.stdtrit(self.degrees, (1 + confidence) / 2)) * self.error
        return self.size - half, self.size + half


def candidates(series: Series, rules: BreakRules) -> int:
    """Places between two steps that can be looked at: enough steps before and after them."""
    return max(series.steps.size - 2 * rules.min_steps + 1, 0)


def breaks(series: Series, rules: BreakRules, num_candidates: int) -> list[Break]:
    """The breaks of a series, in order; `num_candidates`: of all series that are judged together (Bonferroni)."""
    if not candidates(series, rules):
        return []
    confidence = 1 - (1 - rules.confidence) / num_candidates
    # What the series does from step to step anyway, as far as it could look like a break by chance.
    usual = noise(series.means) * float(special.ndtri((1 + confidence) / 2))
    smallest = max(rules.min_size * series.spread, _SINGULAR)
    found: list[Break] = []
    open_parts = [(0, series.steps.size)]
    while open_parts:
        start, stop = open_parts.pop()
        looked = [
            each
            for place in range(start + rules.min_steps, stop - rules.min_steps + 1)
            if (each := _break_at(series, place, start, stop, rules)) is not None
            and abs(each.size) >= smallest
            and _is_beyond(each, confidence)
            and abs(each.size) > usual * _leverage(series, each)
            and is_lasting(series, each)
        ]
        if looked:
            strongest = max(looked, key=lambda each: abs(each.size) / max(each.error, _SINGULAR))
            found.append(strongest)
            open_parts += [(start, strongest.place), (strongest.place, stop)]
    return sorted(found, key=lambda each: each.place)


def _is_beyond(found: Break, confidence: float) -> bool:
    low, high = found.interval(confidence)
    return not low <= 0 <= high


def _break_at(series: Series, place: int, start: int, stop: int, rules: BreakRules) -> Break | None:
    """The break before the step at `place`, by the steps of [start, stop) around it; None with too little to say."""
    first, last = max(start, place - rules.window), min(stop, place + rules.window) - 1
    kept = (series.place >= first) & (series.place <= last)
    sample = np.unique(series.sample[kept], return_inverse=True)[1]
    is_after = series.place[kept] >= place
    num_before, num_after = (np.bincount(sample[side], minlength=sample.max() + 1) for side in (~is_after, is_after))
    shared = (num_before > 0) & (num_after > 0)
    fewest = int(min((num_before > 0).sum(), (num_after > 0).sum()))
    is_paired = bool(shared.sum() >= max(FEW_SHARED * fewest, rules.min_samples))
    num = int(shared.sum()) if is_paired else fewest
    if num < rules.min_samples:
        return None
    if is_paired:
        rows = shared[sample]
        at = np.flatnonzero(kept)[rows]
        sample = np.unique(sample[rows], return_inverse=True)[1]
    else:
        at = np.flatnonzero(kept)
    design = _design(series.steps, series.place[at], place)
    fitted = _clustered(design, series.value[at], sample, within=is_paired)
    if fitted is None:
        return None
    clusters = int(sample.max()) + 1
    size, error = fitted
    return Break(place, size, error, clusters - 1 if is_paired else 2 * num - 2, clusters, is_paired, first, last)


def _design(steps: Floats, at: Codes, place: int) -> Floats:
    """Columns: after the break or not, and how far from it, shape (rows, 2)."""
    middle = (steps[place - 1] + steps[place]) / 2
    return np.column_stack([(at >= place).astype(np.float64), steps[at] - middle])


def _clustered(design: Floats, value: Floats, sample: Codes, *, within: bool) -> tuple[float, float] | None:
    """First coefficient of least squares with its clustered standard error; None where it cannot be had."""
    columns = np.column_stack([design, value])
    if within:
        num = np.bincount(sample)
        columns = columns - np.column_stack([(_sums(sample, each, num.size) / num)[sample] for each in columns.T])
    else:
        columns = columns - columns.mean(axis=0)
    x, y = columns[:, :2], columns[:, 2]
    gram = x.T @ x
    if np.linalg.det(gram) <= _SINGULAR * gram[0, 0] * gram[1, 1]:
        return None
    bread = np.linalg.inv(gram)
    coefficients = bread @ (x.T @ y)
    rest = y - x @ coefficients
    clusters = int(sample.max()) + 1
    scores = np.column_stack([_sums(sample, x[:, each] * rest, clusters) for each in range(2)])
    covariance = bread @ (scores.T @ scores) @ bread * clusters / (clusters - 1)
    return float(coefficients[0]), sqrt(max(float(covariance[0, 0]), 0.0))


def _sums(codes: Codes, values: Floats, num: int) -> Floats:
    return np.bincount(codes, weights=values, minlength=num).astype(np.float64)


def _leverage(series: Series, found: Break) -> float:
    """How much of the noise of single steps is found again in the break: the norm of the steps' weights."""
    return float(np.linalg.norm(_weights(series.steps, found.first, found.last, found.place, None)))


def _weights(steps: Floats, first: int, last: int, place: int, left_out: int | None, *, own: bool = False) -> Floats:
    """Weights of the steps from `first` to `last` in a break of their means, shape (steps looked at,).

    `left_out`: a place without weight; `own`: either side has a slope of its own, where it has two steps or more.
    """
    at = np.arange(first, last + 1)
    design = np.column_stack([np.ones(at.size), _design(steps, at, place)])
    if own:
        design = np.column_stack([design, design[:, 1] * design[:, 2]])
    kept: NDArray[np.bool_] = at != (-1 if left_out is None else left_out)
    weights = np.zeros(at.size)
    weights[kept] = np.linalg.pinv(design[kept])[1]
    return weights


def is_lasting(series: Series, found: Break) -> bool:
    """Whether a break is no bend of a curve and no odd step: half of it, or more, is there however one looks at it.

    As the plain change between the two steps, which is also at least twice what either neighbouring change in the same
    direction is, each per step; with a slope of its own on either side; and without the step right before or after.
    """
    place, means = found.place, series.means
    rates = np.diff(means) / np.diff(series.steps) * np.sign(found.size)
    beside = rates[max(place - 2, 0) : place + 1]
    if (beside > KEPT * rates[place - 1]).sum() > 1 or (means[place] - means[place - 1]) / found.size < KEPT:
        return False
    others = [_weights(series.steps, found.first, found.last, place, None, own=True)]
    others += [_weights(series.steps, found.first, found.last, place, each) for each in (place - 1, place)]
    sizes = np.array([float(each @ means[found.first : found.last + 1]) for each in others]) / found.size
    return bool((sizes >= KEPT).all())
