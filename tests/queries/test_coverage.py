"""Every published coverage is drawn again, with fewer data sets: the table says what the code does."""

import numpy as np
import pytest
from scipy import special

from queries.coverage import COVERAGE
from queries.resampling import bootstrap_mean
from queries.stats import Interval, sample_mean, share
from queries.tails import percentile

DRAW = {
    "normal": lambda generator, n: generator.normal(size=n),
    "log-normal": lambda generator, n: generator.lognormal(size=n),
    "Bernoulli .5": lambda generator, n: (generator.random(n) < 0.5).astype(float),
    "Bernoulli .1": lambda generator, n: (generator.random(n) < 0.1).astype(float),
}
TRUE_MEAN = {"normal": 0.0, "log-normal": float(np.exp(0.5)), "Bernoulli .5": 0.5, "Bernoulli .1": 0.1}


def interval_of(method: str, target: str, values: np.ndarray, seed: int) -> Interval:
    if target != "mean":
        return percentile(values, float(target.removeprefix("P")) / 100).interval
    if method == "t":
        return sample_mean(values).interval
    if method == "Wilson":
        return share(int(values.sum()), values.size).interval
    kind = "bca" if method == "BCa bootstrap" else "percentile"
    return bootstrap_mean(values, seed=seed, method=kind, num_resamples=1_000)


def drawn(row, num_data_sets: int) -> float:
    """Share of data sets whose interval holds the truth; one without an interval holds nothing."""
    generator = np.random.default_rng(20)
    truth = TRUE_MEAN[row.distribution]
    if row.target != "mean":
        truth = float(np.exp(special.ndtri(float(row.target.removeprefix("P")) / 100)))
    hits = 0
    for seed in range(num_data_sets):
        interval = interval_of(row.method, row.target, DRAW[row.distribution](generator, row.num), seed)
        assert interval.low is None or interval.method == row.method
        hits += interval.low is not None and interval.low <= truth <= interval.high
    return hits / num_data_sets


@pytest.mark.parametrize("row", COVERAGE, ids=lambda row: f"{row.method}-{row.target}-{row.distribution}-{row.num}")
def test_coverage_is_what_is_published(row):
    num_data_sets = 300 if "bootstrap" in row.method else 600
    noise = np.sqrt(row.share * (1 - row.share) / num_data_sets)
    assert drawn(row, num_data_sets) == pytest.approx(row.share, abs=3 * noise)


def test_only_known_weaknesses_fall_short():
    short = {(row.target, row.distribution) for row in COVERAGE if row.falls_short}
    assert short <= {("mean", "log-normal"), ("mean", "Bernoulli .1"), ("mean", "normal")}
    assert all(row.share >= 0.95 for row in COVERAGE if row.method == "order statistics")
