"""Bursts: stretches of time in which something happens more often than chance would have it. NumPy only.

Kulldorff's scan statistic: of all windows (a place, some slices in a row) the one whose count exceeds what its share of
the trials lets expect by most, in likelihood; how far chance alone would get is found by dealing the same number of
events out over the trials anew, many times. As the most extreme window of each deal is compared, looking at many
windows and places is paid for, and no other correction is due.
Source: Kulldorff 1997, "A spatial scan statistic"; here with events dealt out among trials (permutation).
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from queries.stats import Floats

Ints = NDArray[np.int64]
LENGTHS: Final = (1, 2, 3, 4, 6, 8, 12, 48)
"""Lengths of windows, in slices; the last is all the time, for places that are always worse than their neighbours."""
NUM_DEALS: Final = 199
MAX_BURSTS: Final = 5
MIN_EVENTS: Final = 3
"""Fewer events are no burst, however rare they are elsewhere."""


@dataclass(frozen=True, slots=True)
class Burst:
    """A window: row of the place, first slice, number of slices, events and trials in it, events expected, p-value."""

    place: int
    first: int
    length: int
    num_events: int
    num_trials: int
    expected: float
    p_value: float


def bursts(trials: Ints, events: Ints, strata: Ints, *, seed: int, alpha: float = 0.01) -> list[Burst]:
    """The bursts that chance does not explain, the clearest first; none overlaps another of its stratum in time.

    `trials` and `events` have shape (places, slices). Events are dealt out among the trials of their stratum, an
    integer a place, shape (places,): places whose usual rates differ (tools) are strata of their own.
    """
    kept = np.isin(strata, strata[events.sum(axis=1) > 0])
    rows = np.flatnonzero(kept)
    if not len(rows) or events[rows].sum() < MIN_EVENTS:
        return []
    trials, events = trials[rows], events[rows]
    _, stratum = np.unique(strata[rows], return_inverse=True)
    scan = _Scan(trials, events, stratum)
    rng = np.random.default_rng(seed)
    chance = np.sort([max(float(each.max()) for each in scan.excess(scan.deal(rng))) for _ in range(NUM_DEALS)])
    found: list[Burst] = []
    excess = scan.excess(events)
    while len(found) < MAX_BURSTS:
        best = max(range(len(LENGTHS)), key=lambda at: float(excess[at].max()))
        value = float(excess[best].max())
        p_value = (1 + int((chance >= value * (1 - 1e-9)).sum())) / (NUM_DEALS + 1)
        if value <= 0 or p_value > alpha:
            break
        place, first = (int(each) for each in np.unravel_index(int(excess[best].argmax()), excess[best].shape))
        length = min(LENGTHS[best], trials.shape[1])
        window = slice(first, first + length)
        num_events, num_trials = int(events[place, window].sum()), int(trials[place, window].sum())
        expected = float(num_trials * scan.rate[stratum[place]])
        if num_events >= MIN_EVENTS:
            found.append(Burst(int(rows[place]), first, length, num_events, num_trials, expected, p_value))
        for size, values in zip(LENGTHS, excess, strict=True):  # what overlaps it says nothing new
            values[stratum == stratum[place], max(0, first - size + 1) : first + length] = 0.0
    return found


class _Scan:
    """What every deal shares: trials in every window, and what they let expect."""

    def __init__(self, trials: Ints, events: Ints, stratum: Ints) -> None:
        self.trials, self.stratum = trials, stratum
        num = int(stratum.max()) + 1
        self.total = np.bincount(stratum, events.sum(axis=1), num).astype(np.int64)
        of = np.bincount(stratum, trials.sum(axis=1), num)
        self.rate: Floats = self.total / of
        largest = int(self.total.max()) + 1
        counts = np.arange(largest + 1, dtype=np.float64)
        self.times_log = np.concatenate(([0.0], counts[1:] * np.log(counts[1:])))
        expected = [windows(trials, length) * self.rate[stratum][:, None] for length in LENGTHS]
        rest = [np.maximum(self.total[stratum][:, None] - each, 1e-12) for each in expected]
        self.expected = expected
        self.logs = [(np.log(np.maximum(e, 1e-12)), np.log(o)) for e, o in zip(expected, rest, strict=True)]
        self.ends = [np.cumsum(trials[stratum == each]) for each in range(num)]

    def deal(self, rng: np.random.Generator) -> Ints:
        """Events dealt out among the trials of their strata, shape (places, slices)."""
        dealt = np.zeros(self.trials.shape, dtype=np.int64)
        for each, ends in enumerate(self.ends):
            cells = np.searchsorted(ends, rng.integers(0, ends[-1], int(self.total[each])), side="right")
            own = np.bincount(cells, minlength=len(ends))
            dealt[self.stratum == each] = own.reshape(-1, self.trials.shape[1])
        return dealt

    def excess(self, events: Ints) -> list[Floats]:
        """Log likelihood ratio of every window by length, shape (places, windows); 0 where there is no excess."""
        total = self.total[self.stratum][:, None]
        found = []
        for length, expected, (inside, outside) in zip(LENGTHS, self.expected, self.logs, strict=True):
            count = windows(events, length)
            ratio = self.times_log[count] - count * inside + self.times_log[total - count] - (total - count) * outside
            found.append(np.where(count > expected, ratio, 0.0))
        return found


def windows(values: Ints, length: int) -> Ints:
    """Sums over `length` slices in a row (all of them where there are fewer), shape (places, windows)."""
    size = min(length, values.shape[1])
    sums = np.concatenate((np.zeros((len(values), 1), dtype=np.int64), np.cumsum(values, axis=1)), axis=1)
    return np.asarray(sums[:, size:] - sums[:, :-size])


def cells(places: Ints, slices: Ints, counts: Ints, shape: tuple[int, int]) -> Ints:
    """Counts put into their cells, shape (places, slices)."""
    found = np.zeros(shape, dtype=np.int64)
    np.add.at(found, (places, slices), counts)
    return found
