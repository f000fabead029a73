"""Smoothing of a series for display: always of the raw series, before anything is thinned out."""

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from queries.stats import Floats


def ema(values: ArrayLike, weight: float) -> Floats:
    """Exponential moving average with bias correction, shape (n,) in and out; `weight` 0 is the raw series.

    Over the scored values x₁…x_t: s_t = w·s_{t−1} + (1−w)·x_t with s₀ = 0, shown as s_t/(1−w^t), so that the first
    point is x₁ and a constant stays constant. A gap (None, NaN, infinite) stays a gap and neither decays the weight
    nor counts as a point. The result at t depends only on points up to t.
    Source: Kingma and Ba 2015 (arXiv 1412.6980), section 3; TensorBoard's "smoothing" is the same.

    Raises:
        ValueError: The weight is not in [0, 1).
    """
    if not 0 <= weight < 1:
        raise ValueError(f"a smoothing weight lies in [0, 1), not at {weight}")
    series = np.asarray(values, dtype=np.float64)
    present = np.isfinite(series)
    smoothed = np.full(series.shape, np.nan)
    points = series[present]
    smoothed[present] = pd.Series(points).ewm(alpha=1 - weight, adjust=True).mean()
    return smoothed
