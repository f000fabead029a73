"""The published coverage is drawn again: the table says what the code does, and the docs say what the table says."""

from pathlib import Path

import numpy as np
import pytest

from queries import coverage as published
from queries.cautious import studentised, with_added_samples
from queries.coverage import DIFFERENCE, IGNORED, Coverage, as_csv, caution, coverage, nearest, remedy, worst
from queries.coverage_table import as_markdown
from queries.pairing import paired_difference, ratio_of_means, unpaired_difference
from queries.resampling import bootstrap_mean
from queries.selection import choose
from queries.stats import clustered_mean, sample_mean, skewness
from tests.queries import coverage_simulation as simulation
from tests.queries.coverage_processes import PROCESSES, Process, cluster_codes

QUERIES = Path(published.__file__).parent
BY_NAME = {process.name: process for process in PROCESSES}
CHECKED = (
    *("normal", "rewards 0, .25, .5, 1", "pass rate 0.1, 1 attempt", "tokens, σ 1, 3 attempts"),
    *("differences in clusters of 2 to 10", "rewards in clusters of 2 to 10"),
)


def rows_of(method: str, target: str = DIFFERENCE) -> list[Coverage]:
    return [row for row in coverage() if (row.target, row.method) == (target, method)]


def key(row: Coverage) -> tuple[str, str, str, int]:
    return row.target, row.method, row.process, row.num


def own(method: str, process: Process, base: np.ndarray, cand: np.ndarray, other: np.ndarray):
    """The product's interval of one data set, by the name of the method; `other` is an arm on other samples."""
    deltas, codes = cand - base, cluster_codes(base.size) if process.is_clustered else None
    drawn = {"seed": 0, "clusters": codes, "num_resamples": simulation.NUM_RESAMPLES}
    if method == "Welch t":
        return unpaired_difference(base, other).interval
    if method == IGNORED:
        return sample_mean(deltas).interval
    if method == "clustered t":
        return clustered_mean(deltas, codes).interval
    if "added" in method:
        return with_added_samples(deltas, codes).interval
    if method.startswith("studentised"):
        return studentised(deltas, **drawn).interval
    if "bootstrap" in method:
        return bootstrap_mean(deltas, method="bca" if method.startswith("BCa") else "percentile", **drawn)
    return paired_difference(base, cand, seed=0, pass_or_fail=method == "Bonett–Price").difference.interval


@pytest.mark.parametrize("num", [20, 200])
@pytest.mark.parametrize("name", CHECKED)
def test_what_is_simulated_is_what_the_product_computes(name, num):
    process = BY_NAME[name]
    arms = process.draw(np.random.default_rng(num), (4, num))
    for method, (low, high) in simulation.intervals_of_difference(process, arms).items():
        for at in range(4):
            got = own(method, process, arms[0][at], arms[1][at], arms[1][at - 1])
            assert got.method == method.removesuffix(", clusters ignored")
            assert (np.nan if got.low is None else got.low) == pytest.approx(low[at], nan_ok=True, abs=1e-9), method
            assert (np.nan if got.high is None else got.high) == pytest.approx(high[at], nan_ok=True, abs=1e-9), method


def test_a_simulated_ratio_is_the_products():
    arms = BY_NAME["tokens, σ 1, 3 attempts"].draw(np.random.default_rng(0), (3, 40))
    low, high = simulation.log_ratio(arms)
    for at in range(3):
        got = ratio_of_means(arms[0][at], arms[1][at], seed=0, method="log").interval
        assert (got.low, got.high) == pytest.approx((low[at], high[at]))


def test_a_simulated_choice_is_the_products():
    rewards = np.random.default_rng(1).normal(size=(3, 30, 8)) + 0.1 * np.arange(8)
    low, high, best = simulation.of_chosen(rewards, 5)
    for at in range(3):
        got = choose(rewards[at], seed=5, num_resamples=simulation.NUM_RESAMPLES)
        assert got.best == best[at]
        assert (got.expected.interval.low, got.expected.interval.high) == pytest.approx((low[at], high[at]))


def differs(row: Coverage, again: Coverage) -> float:
    """By how many standard errors a row differs from the one drawn again."""
    return abs(row.share - again.share) / np.hypot(row.error, again.error)


@pytest.mark.parametrize(
    ("name", "num"), [("normal", 20), ("one arm skewed, σ 1", 20), ("pass rate 0.1, 1 attempt", 100)]
)
def test_some_rows_drawn_again_agree(name, num):
    rows = {key(row): row for row in coverage()}
    for again in simulation.differences(BY_NAME[name], num, scale=0.2, seed=7):
        assert differs(rows[key(again)], again) < 4, key(again)


@pytest.mark.slow
def test_every_row_drawn_again_agrees():
    rows = {key(row): row for row in coverage()}
    drawn = simulation.simulate(scale=0.15, seed=7)
    # Where hardly any data set has an interval, a row may be there once and not the other time.
    assert {key(row) for row in rows.values() if row.share_none < 0.9} <= {key(row) for row in drawn}
    apart = {key(again): differs(rows[key(again)], again) for again in drawn if key(again) in rows}
    assert {name: by for name, by in apart.items() if by >= 4.5} == {}
    # All together they differ by as much as chance has them differ.
    assert np.mean(np.square(list(apart.values()))) == pytest.approx(1.0, abs=0.35)


def test_the_page_shows_the_table():
    assert (QUERIES / "COVERAGE.md").read_text(encoding="utf-8") == as_markdown(coverage())
    assert (QUERIES / "coverage.csv").read_text(encoding="utf-8") == as_csv(coverage())


def test_every_kind_of_data_is_there_at_every_n():
    default = rows_of("t") + rows_of("clustered t") + rows_of("Bonett–Price")
    assert {(row.process, row.num) for row in default} == {
        (process.name, num) for process in PROCESSES for num in simulation.NUMS
    }


def test_where_the_default_holds_and_where_it_does_not():
    default = rows_of("t")
    assert not any(row.falls_short for row in default if row.num == 1_000)
    assert {row.process for row in default if row.falls_short and row.num == 100} == {
        *("pass rate 0.02, 3 attempts", "pass rate 0.02, 5 attempts", "costs, 90 % unchanged"),
        *("one arm skewed, σ 1", "one in ten runs away"),
    }


def test_what_to_choose_where_the_default_falls_short():
    for method in ("t with two samples added", "clustered t with two samples added", "Bonett–Price"):
        assert not any(row.falls_short for row in rows_of(method))
    # Of what has no bounds nothing holds where so few samples make up the mean.
    assert {(row.process, row.num) for row in rows_of("studentised bootstrap") if row.falls_short} == {
        *(("one arm skewed, σ 1", 10), ("one arm skewed, σ 1", 20)),
        *(("one in ten runs away", 10), ("one in ten runs away", 20)),
    }


def test_percentiles_are_held_whether_attempts_are_alike_or_not():
    rows = [row for row in coverage() if row.method == "order statistics"]
    assert {row.num for row in rows if row.process == simulation.ALIKE} == {20, 100, 1_000}
    assert not any(row.falls_short for row in rows)


@pytest.mark.parametrize("num", [20, 100])
def test_data_drawn_anew_are_warned_of_as_their_row_says(num):
    """Of data sets of a kind that is known to be far too narrow most are recognised; of normal ones hardly any."""
    warned = {}
    for name in ("normal", "rewards 0, .25, .5, 1", "one arm skewed, σ 1", "pass rate 0.02, 5 attempts"):
        baseline, candidate = BY_NAME[name].draw(np.random.default_rng(num), (60, num))
        deltas = [each for each in candidate - baseline if np.ptp(each) > 0]
        found = [caution("t", num, skewness(each), float((np.abs(each) < 1e-9).mean())) for each in deltas]
        warned[name] = np.mean([each is not None for each in found])
    assert max(warned["normal"], warned["rewards 0, .25, .5, 1"]) < 0.1
    assert min(warned["one arm skewed, σ 1"], warned["pass rate 0.02, 5 attempts"]) > 0.6


def row(method="t", num=20, share=0.95, skew=0.3, zero=0.0, process="a", none=0.0) -> Coverage:
    return Coverage(DIFFERENCE, method, process, num, num, share, none, 1.0, skew, zero, 4_000)


@pytest.fixture
def table(monkeypatch):
    rows = (
        row(num=20, share=0.95, skew=0.3),
        row(num=20, share=0.87, skew=1.7, process="skewed"),
        row(num=100, share=0.92, skew=2.9, process="skewed"),
        row(num=20, share=0.89, skew=3.0, zero=0.9, process="unchanged"),
        row("studentised bootstrap", 20, 0.935, 1.7, process="skewed"),
        row("t with two samples added", 20, 0.99, 3.0, zero=0.9, process="unchanged", none=0.6),
    )
    monkeypatch.setattr(published, "coverage", lambda: rows)
    return rows


def test_the_nearest_row_is_the_one_whose_data_look_alike(table):
    assert nearest("t", 25, 0.5, 0.1) == table[0]
    # Which way a tail points does not matter.
    assert nearest("t", 25, -1.5, 0.0) == table[1]
    assert nearest("t", 12, 2.0, 0.8) == table[3]
    # Between 20 and 100 the ratio decides: 45 is 2.25 times 20, and 100 is 2.22 times 45.
    assert nearest("t", 44, 2.9, 0.0).num == 20
    assert nearest("t", 45, 2.9, 0.0).num == 100
    assert nearest("Bonett–Price", 20, 0.0, 0.0) is None
    assert nearest("t", 0, 0.0, 0.0) is None


def test_a_caution_is_only_where_an_interval_falls_short(table):
    assert caution("t", 20, 0.2, 0.0) is None
    assert caution("t", 20, 1.6, 0.0) == table[1]
    assert caution("t", 500, 0.2, 0.0) == table[2]


def test_a_remedy_is_a_cautious_interval_that_does_better_and_is_mostly_there(table):
    assert remedy(table[1]) == table[4]
    assert remedy(table[4]) is None
    assert remedy(table[2]) is None
    assert remedy(table[3]) is None
    assert worst() == table[1]


def test_93_and_97_percent_are_the_limits():
    shares = (0.929, 0.93, 0.97, 0.971)
    assert [row(share=share).falls_short for share in shares] == [True, False, False, False]
    assert [row(share=share).is_conservative for share in shares] == [False, False, False, True]
    # √(.95·.05/4000) = .00345; a share of 1 has an error, too: √(.25/4000)/√4000.
    assert row().error == pytest.approx(0.00345, abs=1e-5)
    assert row(share=1.0).error == pytest.approx(1.25e-4)
