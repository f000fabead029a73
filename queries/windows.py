"""How the end of a series by step compares with its beginning, robust to odd steps, gaps and noise.

Arrays in, small frozen dataclasses out; a value that is NaN or infinite is a gap. Medians of windows are compared, and
a difference counts where it stands out from the noise between neighbouring steps, which a slow trend does not inflate.
"""

from dataclasses import dataclass
from math import sqrt
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from queries.health_rules import Windows
from queries.stats import Floats

Flags = NDArray[np.bool_]
_NORMAL: Final = 0.6745
"""Median of the size of a standard normal number: turns a median distance into a standard deviation."""
MEDIAN: Final = 1.2533
"""Standard error of a median over that of a mean, of normal numbers: √(π/2)."""


@dataclass(frozen=True, slots=True)
class Change:
    """The first (or earlier) window of a series against its last one: medians, and whether they differ beyond noise."""

    before: float
    after: float
    error: float
    size: int
    steps: Floats
    values: Floats

    @property
    def difference(self) -> float:
        """Last minus first."""
        return self.after - self.before

    def is_beyond(self, noise: float) -> bool:
        """Whether the difference is larger than so many of its standard errors."""
        return abs(self.difference) > noise * self.error


def known(steps: ArrayLike, values: ArrayLike) -> tuple[Floats, Floats]:
    """Steps and values where the value is a finite number, in order of steps, shape (known,)."""
    at, value = np.asarray(steps, dtype=np.float64), np.asarray(values, dtype=np.float64)
    kept = np.isfinite(value) & np.isfinite(at)
    order = np.argsort(at[kept], kind="stable")
    return at[kept][order], value[kept][order]


def size_of(num: int, windows: Windows) -> int:
    """Steps in a window of a series with so many."""
    return int(min(max(round(windows.share * num), windows.at_least), windows.at_most, num // 2))


def noise(values: Floats) -> float:
    """Standard deviation of what is noise in a series, from the median distance of neighbours, shape (n,) in.

    A trend moves neighbours little, and a few odd steps do not move a median. Of a series of which most neighbours are
    equal (shares that are mostly 0) the mean distance is taken.
    """
    if values.size < 2:
        return 0.0
    distance = np.abs(np.diff(values))
    typical = float(np.median(distance)) / _NORMAL
    return (typical or float(distance.mean()) * sqrt(np.pi) / 2 * sqrt(2)) / sqrt(2)


def change(
    steps: ArrayLike,
    values: ArrayLike,
    windows: Windows,
    *,
    against: str = "start",
    counts: ArrayLike | None = None,
) -> Change | None:
    """First window against last one (`before`: all that comes before it); None with too few steps to say.

    `counts`, shape (n,): of a series of shares, how many each is of. Then the error is at least that of two shares of
    so many: where steps hold few rollouts, neighbouring steps are equal by chance and tell too little of the noise.
    """
    at, value = known(steps, values)
    if value.size < windows.min_steps:
        return None
    size = size_of(value.size, windows)
    head = value[:size] if against == "start" else value[:-size]
    spread = noise(value) * MEDIAN
    error = sqrt(spread**2 / head.size + spread**2 / size)
    if counts is not None:
        num = known(steps, np.where(np.isfinite(np.asarray(values, dtype=np.float64)), counts, np.nan))[1]
        if num.size == value.size:
            error = max(error, _error_of_shares(value, num, head.size, size))
    return Change(float(np.median(head)), float(np.median(value[-size:])), error, size, at, value)


def _error_of_shares(shares: Floats, counts: Floats, head: int, tail: int) -> float:
    """Standard error of the difference of two pooled shares, of the first and the last steps of a series."""
    first, last = counts[:head].sum(), counts[-tail:].sum()
    if not first or not last:
        return 0.0
    pooled = (shares[:head] @ counts[:head] + shares[-tail:] @ counts[-tail:]) / (first + last)
    return float(np.sqrt(pooled * (1 - pooled) * (1 / first + 1 / last)))


def rolling_median(values: Floats, size: int) -> Floats:
    """Median of each value and those before it, `size` in all (fewer at the start), shape (n,)."""
    padded = np.concatenate([np.full(size - 1, np.nan), values])
    found: Floats = np.nanmedian(np.lib.stride_tricks.sliding_window_view(padded, size), axis=1)
    return found


def held_from(steps: Floats, holds: Flags) -> int | None:
    """The first step from which something holds until the end; None where it does not hold at the end."""
    if not holds.size or not holds[-1]:
        return None
    broken = np.flatnonzero(~holds)
    return int(steps[0 if not broken.size else broken[-1] + 1])


def spiking(values: Floats, window: int, ratio: float) -> Flags:
    """Which values exceed so many times the median of the `window` values before them, shape (n,); not the first."""
    found = np.zeros(values.shape, dtype=np.bool_)
    if values.size > window:
        before = np.median(np.lib.stride_tricks.sliding_window_view(values, window)[:-1], axis=1)
        found[window:] = (before > 0) & (values[window:] > ratio * before)
    return found


def best_and_last(values: Floats, size: int) -> tuple[int, float, float, float]:
    """Where the best window ends (index), its median, the last window's, and the range the series spans (P5 to P95)."""
    medians = rolling_median(values, size)
    medians[: size - 1] = -np.inf
    best = int(np.argmax(medians))
    low, high = np.percentile(values, [5, 95])
    return best, float(medians[best]), float(medians[-1]), float(high - low)


def trailing_gap(values: ArrayLike) -> tuple[int, int]:
    """How many values are missing at the end in a row, and the most in a row before that, once there was one."""
    missing = ~np.isfinite(np.asarray(values, dtype=np.float64))
    runs, length, seen = [], 0, False
    for each in missing.tolist():
        if not each:
            if seen and length:
                runs.append(length)
            seen, length = True, 0
        else:
            length += 1
    return (length if seen else 0), max(runs, default=0)
