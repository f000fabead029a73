"""How small a difference can be seen with so many samples, and how many samples a difference needs.

Of a mean of paired differences with a known standard deviation, by the t test: power from the non-central t
distribution. More attempts at a sample shrink only the part of the variance that lies within samples.
"""

from collections.abc import Sequence
from math import ceil, sqrt

import numpy as np
from scipy import special

MAX_NUM = 1e9
"""More samples than this are never needed: nobody has them."""


def num_for_half_width(deviation: float, half_width: float, *, confidence: float = 0.95) -> int | None:
    """Samples needed for a t interval of ± `half_width` around a mean difference of standard deviation `deviation`.

    The smallest n ≥ 2 with t(n−1)·deviation/√n ≤ half_width; None where the width is not above zero, or n passes 10⁹.
    """
    if not (half_width > 0 and deviation > 0):
        return 2 if half_width > 0 and deviation == 0 else None
    # The normal's n is a lower bound, and t's is only a few samples above it.
    start = (float(special.ndtri((1 + confidence) / 2)) * deviation / half_width) ** 2
    if not start < 1e9:
        return None
    n = max(2, ceil(start))
    while float(special.stdtrit(n - 1, (1 + confidence) / 2)) * deviation > half_width * sqrt(n):
        n += 1
    return n


def detectable_difference(
    deviation: float, num: int, *, power: float = 0.8, confidence: float = 0.95, degrees: int | None = None
) -> float | None:
    """The smallest true mean difference that a two-sided t test over `num` samples finds with this power.

    `deviation` is that of the paired differences (with clusters: √n times the clustered standard error, and `degrees`
    the clusters less one). None below two samples or without spread. Source: Miller 2024 (arXiv 2411.00640), section 5,
    with the non-central t in place of the normal distribution.
    """
    free = num - 1 if degrees is None else degrees
    if num < 2 or free < 1 or not deviation > 0:
        return None
    critical = float(special.stdtrit(free, (1 + confidence) / 2))
    shift = float(special.nctdtrinc(free, 1 - power, critical))
    return shift * deviation / sqrt(num) if np.isfinite(shift) else None


def num_to_detect(
    deviation: float,
    difference: float,
    *,
    power: float = 0.8,
    confidence: float = 0.95,
    per_cluster: float = 1.0,
) -> int | None:
    """The fewest samples with which a two-sided t test finds a true mean `difference` with this power.

    With clusters (of `per_cluster` samples on average) `deviation` is √n times the clustered standard error. None where
    the difference is not above zero, nothing varies, or more than 10⁹ were needed.
    """
    if not (difference > 0 and deviation > 0):
        return None
    quantiles = float(special.ndtri((1 + confidence) / 2) + special.ndtri(power))
    start = (quantiles * deviation / difference) ** 2
    if not start < MAX_NUM:
        return None
    # The normal distribution's n is a lower bound, and t's is only a few samples above it.
    low, step = max(1, ceil(start) - 1), 1
    while not _detects(deviation, low + step, difference, power, confidence, per_cluster):
        low, step = low + step, 2 * step
        if low > MAX_NUM:
            return None
    while step > 1:
        step //= 2
        if not _detects(deviation, low + step, difference, power, confidence, per_cluster):
            low += step
    return low + 1


def _detects(
    deviation: float, num: int, difference: float, power: float, confidence: float, per_cluster: float
) -> bool:
    degrees = int(num / per_cluster + 1e-9) - 1
    found = detectable_difference(deviation, num, power=power, confidence=confidence, degrees=degrees)
    return found is not None and found <= difference


def num_to_detect_all(parts: Sequence[tuple[float, float]], *, power: float = 0.8) -> int | None:
    """The fewest samples with which t tests find every one of some true differences, all at once, with this power.

    Each part is the standard deviation of its differences and the true difference. However the parts hang together,
    all are found at least where the chances of missing each add up to no more than 1 − power (Boole). None where a part
    alone has none.
    """
    lowest = [num_to_detect(*each, power=power) for each in parts]
    enough = [num_to_detect(*each, power=1 - (1 - power) / len(parts)) for each in parts]
    if None in lowest or None in enough:
        return None
    low, high = (max(each for each in nums if each is not None) for nums in (lowest, enough))
    while low < high:
        middle = (low + high) // 2
        if sum(_chance_to_miss(*each, middle) for each in parts) <= 1 - power:
            high = middle
        else:
            low = middle + 1
    return low


def _chance_to_miss(deviation: float, difference: float, num: int, confidence: float = 0.95) -> float:
    """Chance that a two-sided t test over `num` samples does not find a true difference above zero."""
    critical, shift = float(special.stdtrit(num - 1, (1 + confidence) / 2)), difference * sqrt(num) / deviation
    # Far beyond, where the chance is nil, the non-central t fails.
    return float(special.nctdtr(num - 1, shift, critical)) if shift < 10 * critical else 0.0


def variance_between(total: float, within: tuple[float, float], attempts: tuple[float, float]) -> float:
    """Variance of the samples' true differences, ω²: the differences' variance less what attempts leave, at least 0.

    `within` is the mean variance between attempts at a sample in each arm, `attempts` the harmonic mean of their
    number. Source: Miller 2024, section 5: Var(d) = ω² + σ²_A/K_A + σ²_B/K_B.
    """
    return max(0.0, total - sum(each / num for each, num in zip(within, attempts, strict=True)))
