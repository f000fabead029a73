"""Differences of shares between two independent sets of samples, many values at once."""

import numpy as np
from scipy import special

from queries.apart import Sums
from queries.stats import Floats


def share_differences(first: Sums, second: Sums) -> dict[str, Floats]:
    """By value: shares of both sets, their difference with its 95 % t interval, and the p-value, arrays of one shape.

    A share is Σ parts / Σ totals over samples, its variance that of the ratio linearised (Taylor, first order). The
    interval and the p-value are had as if each set had one sample more that has the value and one that has not: a
    value that no sample has is not certain to be nowhere. Degrees of freedom are Welch's. Without two samples in both
    there is none.
    Source: Agresti and Caffo 2000 (Am. Stat. 54) add the same two to single attempts, and they centre on what that
    gives; Welch 1947.
    """
    sides = first, second
    shares = [each.shares for each in sides]
    difference = shares[1] - shares[0]
    counts = [len(each.totals) for each in sides]
    found = {
        "num_first": np.full(difference.shape, counts[0]),
        "num_second": np.full(difference.shape, counts[1]),
        "first_share": shares[0],
        "second_share": shares[1],
        "difference": difference,
    }
    if min(counts) < 2:
        nothing = np.full(difference.shape, np.nan)
        return found | {"ci_low": nothing, "ci_high": nothing, "p_value": nothing}
    parts = np.array([_variance(each, share) for each, share in zip(sides, shares, strict=True)])
    total = parts.sum(axis=0)
    degrees = total**2 / sum(part**2 / (num + 1) for part, num in zip(parts, counts, strict=True))
    error = np.sqrt(total)
    half = special.stdtrit(degrees, 0.975) * error
    before, after = ((share * num + 1) / (num + 2) for share, num in zip(shares, counts, strict=True))
    middle = after - before
    return found | {
        "ci_low": np.maximum(middle - half, -1),
        "ci_high": np.minimum(middle + half, 1),
        "p_value": 2 * special.stdtr(degrees, -np.abs(middle) / error),
    }


def _variance(own: Sums, share: Floats) -> Floats:
    """Variance of each share, from what every sample adds to it, two samples added, shape (values,)."""
    num = len(own.totals)
    residuals = (own.parts - share * own.totals[:, None]) / own.totals.mean()
    # The added pair lie at 1 − p and −p: their mean is taken off, as that of the others is 0 already.
    squares = (residuals**2).sum(axis=0) + (1 - share) ** 2 + share**2 - (1 - 2 * share) ** 2 / (num + 2)
    return np.asarray(squares / (num + 1) / (num + 2))
