"""Agreement beyond chance against statsmodels, the `krippendorff` package, and published examples."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from krippendorff import alpha as published_alpha
from statsmodels.stats.inter_rater import cohens_kappa

from queries.agreement import (
    alpha_of,
    coincidences_of,
    interval_alpha_of,
    intervals,
    kappa_of,
    krippendorff_alpha,
    limits_of_agreement,
    pearson_of,
    weighted_kappa,
)

NAN = np.nan
# Krippendorff 2011, section C and E: four observers, twelve units.
PRINTED = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, NAN, NAN, NAN],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NAN, 3],
        [NAN, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NAN],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NAN],
    ]
)
cells = st.lists(st.integers(0, 60), min_size=4, max_size=4)


def sums_of(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    return np.array(
        [first.size, first.sum(), second.sum(), (first**2).sum(), (second**2).sum(), (first * second).sum()]
    )


@pytest.mark.parametrize(("level", "printed"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)])
def test_alpha_of_krippendorffs_own_example(level, printed):
    assert krippendorff_alpha(PRINTED, level) == pytest.approx(printed, abs=5e-4)


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
@pytest.mark.parametrize("seed", range(8))
def test_alpha_is_that_of_the_package(level, seed):
    generator = np.random.default_rng(seed)
    values = generator.integers(0, 2 + seed % 4, (2 + seed % 3, 25)).astype(float)
    values[generator.random(values.shape) < 0.2] = NAN
    expected = published_alpha(reliability_data=values, level_of_measurement=level)
    assert krippendorff_alpha(values, level) == pytest.approx(expected)


@given(cells)
def test_kappa_and_alpha_from_a_table_are_those_of_the_packages(table):
    both, first, second, neither = table
    a = np.repeat([1.0, 1.0, 0.0, 0.0], table)
    b = np.repeat([1.0, 0.0, 1.0, 0.0], table)
    kappa, alpha = float(kappa_of(np.array(table))), float(alpha_of(coincidences_of(np.array(table))))
    if len(set(a.tolist() + b.tolist())) < 2:
        assert np.isnan(kappa)
        assert np.isnan(alpha)
        return
    assert alpha == pytest.approx(published_alpha(reliability_data=np.vstack((a, b)), level_of_measurement="nominal"))
    assert alpha == pytest.approx(krippendorff_alpha(np.vstack((a, b))))
    assert kappa == pytest.approx(cohens_kappa(np.array([[both, first], [second, neither]])).kappa)


def test_kappa_of_cohens_kind_by_hand():
    # 20 both, 5 and 10 alone, 15 neither: p_o = .7, p_e = (25·30 + 25·20)/2500 = .5.
    assert float(kappa_of(np.array([20, 5, 10, 15]))) == pytest.approx(0.4)


@pytest.mark.parametrize("weights", ["linear", "quadratic"])
def test_weighted_kappa_is_statsmodels(weights):
    table = np.random.default_rng(3).integers(0, 30, (5, 5))
    expected = cohens_kappa(table, wt=weights).kappa
    assert weighted_kappa(table, weights) == pytest.approx(expected)
    assert weighted_kappa([[7, 0], [0, 0]]) is None


@pytest.mark.parametrize("seed", range(4))
def test_numbers_of_two_raters_from_sums(seed):
    generator = np.random.default_rng(seed)
    a = generator.random(40)
    b = 0.7 * a + 0.3 * generator.random(40)
    sums = sums_of(a, b)
    expected = published_alpha(reliability_data=np.vstack((a, b)), level_of_measurement="interval")
    assert float(interval_alpha_of(sums)) == pytest.approx(expected)
    assert float(pearson_of(sums)) == pytest.approx(np.corrcoef(a, b)[0, 1])
    low, high = limits_of_agreement(sums)
    half = 1.959963984540054 * (b - a).std(ddof=1)
    assert (low, high) == pytest.approx(((b - a).mean() - half, (b - a).mean() + half))


def test_raters_without_spread_have_no_number():
    same = np.full(9, 0.5)
    assert np.isnan(interval_alpha_of(sums_of(same, same)))
    assert np.isnan(pearson_of(sums_of(same, np.arange(9.0))))
    assert limits_of_agreement(sums_of(same[:1], same[:1])) is None
    assert krippendorff_alpha([[1, 1, NAN], [1, 1, 2]]) is None
    assert krippendorff_alpha(np.full((2, 3), NAN)) is None


def test_intervals_say_why_there_are_none():
    few = intervals(np.ones((3, 4)), {"kappa": kappa_of}, seed=1)["kappa"]
    assert few.reason == "n too small for a bootstrap: 6 samples needed, 3 here"
    one_sided = np.zeros((20, 4))
    one_sided[:, 0], one_sided[0, 1] = 1, 1
    rare = intervals(one_sided, {"kappa": kappa_of}, seed=1)["kappa"]
    assert rare.low is None
    assert "one verdict only" in str(rare.reason)
    alike = intervals(np.tile([2.0, 1.0, 1.0, 2.0], (20, 1)), {"kappa": kappa_of}, seed=1)["kappa"]
    assert str(alike.reason).startswith("all resamples agree")


def test_the_interval_of_kappa_holds_the_truth_as_often_as_it_says():
    # Verdicts agree with chance .85 and are right half of the time: κ = .7. Attempts at a sample are alike.
    generator, held, trials = np.random.default_rng(11), 0, 200
    for trial in range(trials):
        level = generator.beta(2, 2, 60)
        right = generator.random((60, 4)) < level[:, None]
        second = right ^ (generator.random((60, 4)) < 0.15)
        columns = np.stack(
            [(right & second).sum(1), (right & ~second).sum(1), (~right & second).sum(1), (~right & ~second).sum(1)], 1
        )
        found = intervals(columns.astype(float), {"kappa": kappa_of}, seed=trial)["kappa"]
        held += bool(found.low <= 0.7 <= found.high)
    assert held / trials >= 0.90
