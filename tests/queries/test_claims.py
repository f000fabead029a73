import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats as scipy_stats

from ingest.errors import QuestionError
from ingest.sources.base import Row
from queries.claims import ALPHA, CLAIMS, compare_claims, compare_power
from queries.compare import compare
from queries.power import detectable_difference
from tests.queries.test_compare import ARMS, attempts, of
from tests.stores import build_store

REWARDS = [(0.5, 0.5), (0.4, 0.5), (0.6, 0.5), (0.7, 0.7), (0.3, 0.4), (0.8, 0.7), (0.2, 0.2), (0.9, 1.0)]
CALLS = [(6, 4), (5, 4), (7, 5), (8, 4), (6, 5), (9, 6), (5, 3), (6, 6)]


@pytest.fixture
def store(tmp_path):
    """Eight samples: the same reward but for noise, and one or two calls fewer."""
    return build_store(
        tmp_path,
        [
            each
            for n, (reward, calls) in enumerate(zip(REWARDS, CALLS, strict=True))
            for step in (0, 1)
            for each in attempts(f"s{n}", step, [reward[step]], [calls[step]])
        ],
    )


def claim(frame, name):
    return frame.set_index("claim").loc[name]


def test_claims_are_one_sided_t_tests_against_the_margin(store):
    frame = compare_claims(store, **ARMS, margin=0.1, cost_margin=0.0)
    rewards = np.diff(np.array(REWARDS), axis=1).ravel()
    calls = np.diff(np.array(CALLS), axis=1).ravel()
    no_worse = scipy_stats.ttest_1samp(rewards + 0.1, 0, alternative="greater").pvalue
    cheaper = scipy_stats.ttest_1samp(-calls, 0, alternative="greater").pvalue
    better = scipy_stats.ttest_1samp(rewards, 0, alternative="greater").pvalue
    assert frame["claim"].tolist() == [name for name, *_ in CLAIMS]
    assert claim(frame, "not_worse")["p_value"] == pytest.approx(no_worse)
    assert claim(frame, "cheaper")["p_value"] == pytest.approx(cheaper)
    assert claim(frame, "better")["p_value"] == pytest.approx(better)
    # Both: as sure as the less sure part.
    both = claim(frame, "not_worse_and_cheaper")
    assert both["p_value"] == pytest.approx(max(no_worse, cheaper))
    assert (both["reward_p"], both["cost_p"]) == pytest.approx((no_worse, cheaper))
    assert (both["is_shown"], claim(frame, "better")["is_shown"]) == (True, False)
    assert both["num_paired"] == 8


def test_a_claim_holds_where_the_interval_says_so(store):
    reward = of(compare(store, **ARMS), "reward")
    for margin in (0.02, -reward["ci_low"] - 1e-6, -reward["ci_low"] + 1e-6, 0.2):
        shown = claim(compare_claims(store, **ARMS, margin=margin), "not_worse")["is_shown"]
        assert shown == (reward["ci_low"] > -margin)
    assert ALPHA == 0.025


def test_margins_have_defaults_that_are_said(store):
    frame = compare_claims(store, **ARMS)
    # Rewards lie within 0–1; the baseline's mean of calls is 52/8 = 6.5.
    assert frame["margin"].unique().tolist() == [0.02]
    assert frame["cost_margin"].unique().tolist() == pytest.approx([0.05 * 6.5])


def test_what_cannot_be_tested_is_no_claim(tmp_path):
    store = build_store(tmp_path, [*attempts("a", 0, [0.5], [2]), *attempts("a", 1, [0.9], [1])])
    frame = compare_claims(store, **ARMS)
    assert frame["is_shown"].isna().all()
    assert claim(frame, "better_and_cheaper")["reason"] == (
        "reward: one value has no spread; cost: one value has no spread"
    )


def test_without_a_reward_claims_about_cost_remain(tmp_path):
    store = build_store(
        tmp_path,
        [
            each
            for n in range(9)
            for step in (0, 1)
            for each in attempts(f"s{n}", step, [None], [9 - 4 * step + n % 3 * step])
        ],
    )
    frame = compare_claims(store, **ARMS)
    assert claim(frame, "cheaper")["is_shown"] is np.True_ or bool(claim(frame, "cheaper")["is_shown"])
    assert claim(frame, "better")["num_paired"] == 0
    assert frame["is_shown"].isna().sum() == 6


def test_negative_margins_and_unknown_costs_are_refused(store):
    with pytest.raises(QuestionError, match="margin is 0 or more"):
        compare_claims(store, **ARMS, margin=-0.1)
    with pytest.raises(QuestionError, match="cost must be one of"):
        compare_claims(store, **ARMS, cost="reward")


def test_power_divides_the_variance_into_samples_and_attempts(tmp_path):
    """Two samples, two attempts each: differences .4 and 0; variances .02, .08 and .02, 0 between attempts."""
    rollouts = [
        *attempts("a", 0, [0.2, 0.4]),
        *attempts("b", 0, [0.3, 0.7]),
        *attempts("a", 1, [0.6, 0.8]),
        *attempts("b", 1, [0.5, 0.5]),
    ]
    frame = compare_power(build_store(tmp_path, rollouts), **ARMS, difference=0.2)
    now, one = frame.iloc[0], frame.set_index("attempts").loc[1]
    assert now["is_now"]
    assert now["deviation"] == pytest.approx(math.sqrt(0.08))
    # Within: (.02+.08)/2 = .05 and (.02+0)/2 = .01; between: .08 − .05/2 − .01/2 = .05.
    assert now["deviation_within_baseline"] == pytest.approx(math.sqrt(0.05))
    assert now["deviation_within_candidate"] == pytest.approx(math.sqrt(0.01))
    assert now["deviation_between"] == pytest.approx(math.sqrt(0.05))
    assert one["deviation"] == pytest.approx(math.sqrt(0.05 + 0.05 + 0.01))
    # With two attempts, as it is now: the same figures.
    two = frame.set_index("attempts").loc[2]
    assert (two["mde"], two["num_needed"]) == (now["mde"], now["num_needed"])
    assert two["num_rollouts_needed"] == now["num_rollouts_needed"] == 4 * now["num_needed"]


def test_power_by_cluster_needs_more(tmp_path):
    """Differences .4, .4, 0, 0 of two documents: n·SE² by document, 1 degree of freedom, instead of their variance."""
    rewards = {"a": 0.4, "b": 0.4, "c": 0.0, "d": 0.0}
    rollouts = [
        each for s, gain in rewards.items() for step in (0, 1) for each in attempts(s, step, [0.2 + step * gain])
    ]
    documents = {"a": "x", "b": "x", "c": "y", "d": "y"}
    rows = [Row("samples", {"sample_id": s, "cluster_key": key}, run="r") for s, key in documents.items()]
    store = build_store(tmp_path, rollouts, rows)
    alone, row = (
        compare_power(store, **ARMS, difference=0.5, cluster_by=by).iloc[0] for by in ("sample", "cluster_key")
    )
    assert (alone["num_clusters"], row["num_clusters"]) == (4, 2)
    # Deviations by document ±.4: SE = √(2·(.16 + .16))/4 = .2, times √4.
    assert row["deviation"] == pytest.approx(0.4)
    assert alone["deviation"] == pytest.approx(math.sqrt(0.16 / 3))
    assert row["mde"] == pytest.approx(detectable_difference(0.4, 4, degrees=1))
    needed = int(row["num_needed"])
    found = [detectable_difference(0.4, num, degrees=num // 2 - 1) for num in (needed - 1, needed)]
    assert found[1] <= 0.5 < found[0]
    assert needed > alone["num_needed"]


def test_single_attempts_leave_only_what_is_now(store):
    frame = compare_power(store, **ARMS)
    assert frame["is_now"].tolist() == [True]
    assert math.isnan(frame["deviation_between"].iloc[0])
    assert frame["difference"].iloc[0] == 0.05


def test_equal_differences_promise_nothing_of_the_next(tmp_path):
    # .1 more on every sample, but for rounding: no interval, and so neither samples needed nor a smallest difference.
    rewards = {f"s{n}": 0.2 + 0.01 * n for n in range(5)}
    store = build_store(
        tmp_path,
        [each for s, reward in rewards.items() for step in (0, 1) for each in attempts(s, step, [reward + 0.1 * step])],
    )
    row, now = of(compare(store, **ARMS), "reward"), compare_power(store, **ARMS).iloc[0]
    assert row["ci_reason"].startswith("all values are equal")
    assert all(np.isnan(each) for each in (row["mde"], now["deviation"], now["mde"]))
    assert row["num_needed"] is pd.NA
    assert now["num_needed"] is pd.NA
