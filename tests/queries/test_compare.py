import math

import pytest

from ingest.errors import QuestionError
from ingest.runner import Request, ingest
from ingest.sources.base import Row
from ingest.staging import Overrides
from ingest.store import Store
from queries.arms import Arm, arm, arms
from queries.compare import METHODS, compare
from queries.compare_checks import compare_failures, compare_pairing
from queries.compared_samples import COSTS, compare_quadrants, compare_samples
from queries.comparison import MEASURES, PAIR_BY
from queries.connection import open_store
from queries.power import num_for_half_width
from queries.quadrants import QUADRANTS
from tests.stores import build_store, call, rollout

ARMS = {"baseline": "r@0", "candidate": "r@1"}


def attempts(sample, step, rewards, calls=None, **values):
    """One rollout per reward; `calls` tool calls each, in messages so that they are counted."""
    counts = calls if calls is not None else [None] * len(rewards)
    for reward, count in zip(rewards, counts, strict=True):
        parts = (
            {}
            if count is None
            else {"messages": [], "tool_calls": [call("search", f'{{"q": {n}}}') for n in range(count)]}
        )
        yield rollout(**{"sample_id": sample, "split": "valid", "step": step, "reward": reward} | values | parts)


@pytest.fixture
def store(tmp_path):
    """Ragged attempts at a and b, one unscored baseline of c, d and e in one arm only."""
    rollouts = [
        *attempts("a", 0, [0.2, 0.4], [2, 4]),
        *attempts("b", 0, [1.0], [1]),
        *attempts("c", 0, [None], [1]),
        *attempts("d", 0, [0.0], [9]),
        *attempts("a", 1, [0.6], [5]),
        *attempts("b", 1, [0.5, 0.5, None], [1, 3, 5]),
        *attempts("c", 1, [1.0], [3]),
        *attempts("e", 1, [1.0], [7]),
    ]
    return build_store(tmp_path, rollouts)


def of(frame, measure):
    return frame.set_index("measure").loc[measure]


def test_means_are_over_paired_samples_of_attempts_that_are_known(store):
    frame = compare(store, **ARMS)
    assert frame["measure"].tolist() == list(MEASURES)
    reward = of(frame, "reward")
    # a: .3 → .6, b: 1.0 → .5; c is not scored in the baseline, d and e are in one arm only.
    assert (reward["num_paired"], reward["num_only_baseline"], reward["num_only_candidate"]) == (2, 1, 2)
    assert (reward["num_missing_baseline"], reward["num_missing_candidate"]) == (1, 0)
    assert reward["baseline_mean"] == pytest.approx(0.65)
    assert reward["candidate_mean"] == pytest.approx(0.55)
    assert reward["delta_mean"] == pytest.approx(-0.1)
    # Differences .3 and −.5: sd .8/√2, SE .4, t(1) = 12.7062.
    assert reward["ci_low"] == pytest.approx(-0.1 - 12.7062 * 0.4, abs=1e-4)
    assert reward["ci_high"] == pytest.approx(-0.1 + 12.7062 * 0.4, abs=1e-4)
    assert (reward["num_up"], reward["num_down"]) == (1, 1)
    assert math.isnan(reward["skewness"])
    # Signs (+.3, −.5): |−.2| is reached by all four patterns (±.8, ±.2).
    assert reward["p_value"] == 1.0
    # All scored samples: baseline (.3, 1, 0) and candidate (.6, .5, 1, 1).
    assert reward["unpaired_delta"] == pytest.approx(3.1 / 4 - 1.3 / 3)
    assert math.isnan(reward["correlation"])


def test_counts_pair_where_rewards_do_not(store):
    calls = of(compare(store, **ARMS), "tool_calls")
    # a: 3 → 5, b: 1 → 3, c: 1 → 3: all differ by 2, so the spread says nothing.
    assert (calls["num_paired"], calls["delta_mean"]) == (3, 2.0)
    assert math.isnan(calls["ci_low"])
    assert "all values are equal" in calls["ci_reason"]
    assert calls["ratio"] == pytest.approx(11 / 5)
    # No exact repeats, and nothing says anything about latency.
    assert of(compare(store, **ARMS), "repeats")["delta_mean"] == 0.0
    latency = of(compare(store, **ARMS), "latency_s")
    assert (latency["num_paired"], latency["ci_reason"]) == (0, "nothing scored")
    assert math.isnan(latency["delta_mean"])


def test_a_measure_nobody_has_is_a_row_without_numbers(tmp_path):
    found = build_store(tmp_path, [*attempts("a", 0, [0.5]), *attempts("a", 1, [0.5])])
    calls = of(compare(found, **ARMS), "tool_calls")
    assert (calls["num_paired"], calls["num_missing_baseline"], calls["num_missing_candidate"]) == (0, 1, 1)
    assert math.isnan(calls["baseline_mean"])


def test_one_sample_has_a_difference_and_no_interval(tmp_path):
    found = build_store(tmp_path, [*attempts("a", 0, [0.5, 0.7]), *attempts("a", 1, [0.9])])
    reward = of(compare(found, **ARMS), "reward")
    assert reward["delta_mean"] == pytest.approx(0.3)
    assert (reward["num_paired"], reward["ci_reason"]) == (1, "one value has no spread")
    assert math.isnan(reward["ci_low"])
    assert compare(found, **ARMS)["num_needed"].isna().all()


def test_error_rate_is_pooled_over_a_samples_calls(tmp_path):
    ok, bad = call("search"), call("search", '{"q": 2}', status="error", is_error_flagged=True)
    rollouts = [
        rollout(sample_id="a", split="valid", step=0, messages=[], tool_calls=[dict(ok)]),
        rollout(sample_id="a", split="valid", step=0, messages=[], tool_calls=[dict(ok), dict(bad), dict(bad)]),
        rollout(sample_id="a", split="valid", step=1, messages=[], tool_calls=[dict(bad)]),
    ]
    frame = compare(build_store(tmp_path, rollouts), **ARMS)
    rate = of(frame, "tool_error_rate")
    assert (rate["baseline_mean"], rate["candidate_mean"]) == (0.5, 1.0)
    assert of(frame, "tool_calls_succeeded")["baseline_mean"] == 1.0
    assert of(frame, "tool_calls_failed")["baseline_mean"] == 1.0


def test_failures_can_be_left_out_and_bound_the_reward(tmp_path):
    rollouts = [
        *attempts("a", 0, [0.5]),
        *attempts("b", 0, [0.5]),
        *attempts("a", 1, [1.0]),
        *attempts("b", 1, [0.0], status="infra_error"),
        *attempts("b", 1, [1.0]),
    ]
    found = build_store(tmp_path, rollouts)
    graded, masked = (of(compare(found, **ARMS, leave_out_failures=each), "reward") for each in (False, True))
    assert graded["delta_mean"] == pytest.approx((0.5 + 0.0) / 2)
    assert masked["delta_mean"] == pytest.approx((0.5 + 0.5) / 2)
    for each in (graded, masked):
        assert each["bound_low"] == pytest.approx((0.5 + 0.0) / 2)
        assert each["bound_high"] == pytest.approx((0.5 + 0.5) / 2)


def test_rewards_beyond_0_and_1_have_no_bounds_and_a_margin_of_their_own(tmp_path):
    rewards = {0: {"a": [-20.0], "b": [-10.0]}, 1: {"a": [-10.0], "b": [-8.0]}}
    found = build_store(
        tmp_path, [each for step, by in rewards.items() for name, r in by.items() for each in attempts(name, step, r)]
    )
    reward = of(compare(found, **ARMS), "reward")
    assert math.isnan(reward["bound_low"])
    assert reward["margin"] == pytest.approx(1.5)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_gives_the_same_difference_and_says_what_it_is(tmp_path, method):
    samples = [f"s{n}" for n in range(30)]
    rows = [Row("samples", {"sample_id": name, "cluster_key": f"doc{n // 3}"}) for n, name in enumerate(samples)]
    rollouts = [
        each
        for n, name in enumerate(samples)
        for step, reward in ((0, 0.3), (1, 0.4 + 0.01 * (n % 7)))
        for each in attempts(name, step, [reward])
    ]
    found = build_store(tmp_path, rollouts, [Row(row.table, row.values, run="r") for row in rows])
    reward = of(compare(found, **ARMS, method=method), "reward")
    assert reward["delta_mean"] == pytest.approx(0.1 + sum(0.01 * (n % 7) for n in range(30)) / 30)
    assert reward["ci_low"] < reward["delta_mean"] < reward["ci_high"]
    expected = {
        "t": "t",
        "percentile": "percentile bootstrap",
        "bca": "BCa bootstrap",
        "cautious": "t with two samples added",
    }
    assert reward["ci_method"] == expected[method]
    again = of(compare(found, **ARMS, method=method), "reward")
    assert (again["ci_low"], again["ci_high"]) == (reward["ci_low"], reward["ci_high"])


def test_samples_carry_both_means_their_delta_and_their_quadrant(store):
    frame = compare_samples(store, **ARMS)
    assert frame["sample_id"].tolist() == ["a", "b", "c"]
    assert frame["num_attempts_baseline"].tolist() == [2, 1, 1]
    assert frame["num_attempts_candidate"].tolist() == [1, 3, 1]
    names = [f"{measure}_{part}" for measure in MEASURES for part in ("baseline_mean", "candidate_mean", "delta")]
    about = ["quadrant", "p_value", "p_value_bh", "environment", "tags", "difficulty", "cluster_key"]
    assert frame.columns[4:].tolist() == [*about, *names]
    first = frame.iloc[0]
    assert first["reward_baseline_mean"] == pytest.approx(0.3)
    assert first["reward_candidate_mean"] == pytest.approx(0.6)
    assert first["reward_delta"] == pytest.approx(0.3)
    assert first["tool_calls_delta"] == pytest.approx(2.0)
    assert frame["reward_delta"].isna().tolist() == [False, False, True]
    assert frame["quadrant"].isna().tolist() == [False, False, True]
    assert frame["latency_s_delta"].isna().all()


def test_dead_bands_come_from_the_noise_between_attempts(store):
    frame = compare_quadrants(store, **ARMS)
    # Reward: only a's baseline (.2, .4: s² = .02, K₀ = 2, K₁ = 1) and b's candidate (.5, .5: s² = 0) are repeated, so
    # the mean over arms of s²·(1/K₀+1/K₁) is (.02·1.5 + 0)/2.
    assert frame["eps_reward"].iloc[0] == pytest.approx(math.sqrt(0.015))
    # Calls: a's baseline (2, 4: s² = 2, 1 + 1/2) and b's candidate (1, 3, 5: s² = 4, 1 + 1/3).
    assert frame["eps_cost"].iloc[0] == pytest.approx(math.sqrt((3 + 16 / 3) / 2))
    assert frame["quadrant"].tolist() == list(QUADRANTS)
    # a: +.3 with +2 calls (within 2.04), b: −.5 with +2 calls; c is not scored in the baseline.
    found = frame.set_index("quadrant")["num_samples"]
    assert found[found > 0].to_dict() == {"better_same": 1, "worse_same": 1}
    assert (frame["num_paired"].iloc[0], frame["num_unknown"].iloc[0]) == (2, 1)
    assert frame["share"].sum() == 1.0
    assert frame["null_share"].sum() == pytest.approx(1.0)
    assert frame["better_not_more_share"].iloc[0] == 0.5


def test_dead_bands_can_be_given(store):
    frame = compare_quadrants(store, **ARMS, eps_reward=0.0, eps_cost=0.0)
    found = frame.set_index("quadrant")["num_samples"]
    assert found[found > 0].to_dict() == {"better_more": 1, "worse_more": 1}
    assert compare_samples(store, **ARMS, eps_reward=0.4, eps_cost=0.0)["quadrant"].tolist()[:2] == [
        "same_more",
        "worse_more",
    ]


def test_single_attempts_have_no_dead_band_and_no_null_share(tmp_path):
    rollouts = [
        *attempts("a", 0, [0.1], [3]),
        *attempts("b", 0, [0.5], [2]),
        *attempts("a", 1, [0.2], [2]),
        *attempts("b", 1, [0.5], [2]),
    ]
    frame = compare_quadrants(build_store(tmp_path, rollouts), **ARMS)
    assert (frame["eps_reward"].iloc[0], frame["eps_cost"].iloc[0]) == (0.0, 0.0)
    assert "single attempts" in frame["eps_reward_note"].iloc[0]
    assert frame["null_share"].isna().all()
    assert "single attempts" in frame["null_reason"].iloc[0]
    found = frame.set_index("quadrant")["num_samples"]
    assert found[found > 0].to_dict() == {"better_fewer": 1, "same_same": 1}


def test_nothing_paired_is_nothing_shown_and_no_crash(tmp_path):
    found = build_store(tmp_path, [*attempts("x/1", 0, [0.1], [3]), *attempts("y/1", 1, [0.2], [2])])
    assert (compare(found, **ARMS)["num_paired"] == 0).all()
    assert compare_samples(found, **ARMS).empty
    assert next(iter(compare_samples(found, **ARMS))) == "sample_id"
    quadrants = compare_quadrants(found, **ARMS)
    assert quadrants["num_samples"].sum() == 0
    assert quadrants["share"].isna().all()


def test_samples_pair_by_another_key_where_asked(tmp_path):
    found = build_store(tmp_path, [*attempts("x/1", 0, [0.1]), *attempts("y/1", 1, [0.2])])
    assert of(compare(found, **ARMS, pair_by="sample_suffix"), "reward")["delta_mean"] == pytest.approx(0.1)
    frame = compare_samples(found, **ARMS, pair_by="position")
    assert frame[["sample_id", "candidate_sample_id"]].values.tolist() == [["x/1", "y/1"]]


def test_pairing_says_what_would_pair_and_what_differs(tmp_path):
    sample = {"prompt_hash": "same"}
    rollouts = [
        rollout(sample_id="x/1", split="valid", step=0, grader_version="1", sample=dict(sample)),
        rollout(sample_id="x/2", split="valid", step=0, grader_version="1"),
        rollout(sample_id="y/1", split="valid", step=1, grader_version="2", sample=dict(sample)),
    ]
    frame = compare_pairing(build_store(tmp_path, rollouts), **ARMS)
    rows = {(each.kind, each.about): each for each in frame.itertuples()}
    got = {
        about: (each.num_baseline, each.num_candidate, each.num_shared)
        for (kind, about), each in rows.items()
        if kind == "key"
    }
    assert got == {"sample_id": (2, 1, 0), "sample_suffix": (2, 1, 1), "prompt_hash": (1, 1, 1), "position": (2, 1, 1)}
    grader = rows[("field", "grader_version")]
    assert (grader.num_shared, grader.example_baseline, grader.example_candidate) == (0, "1", "2")
    assert rows[("paired", "prompt_hash")].num_baseline == 0


def test_pairing_notices_prompts_that_differ_behind_the_same_id(tmp_path):
    rollouts = [
        rollout(run=run, sample_id=name, split="valid", reward=1.0, sample={"prompt_hash": prompt})
        for run, name, prompt in (("p", "1", "x"), ("p", "2", "y"), ("q", "1", "x"), ("q", "2", "z"))
    ]
    frame = compare_pairing(build_store(tmp_path, rollouts), baseline="p", candidate="q")
    row = frame[frame["kind"] == "paired"].iloc[0]
    assert (row["num_baseline"], row["num_shared"]) == (2, 1)


def test_samples_of_several_environments_do_not_mix(tmp_path):
    rollouts = [
        rollout(sample_id="1", environment=name, split="valid", step=step, reward=reward)
        for name, step, reward in (("maths", 0, 0.0), ("code", 0, 1.0), ("maths", 1, 0.5), ("code", 1, 1.0))
    ]
    found = build_store(tmp_path, rollouts)
    assert of(compare(found, **ARMS), "reward")["num_paired"] == 2
    one = of(compare(found, **ARMS, environments=("maths",)), "reward")
    assert (one["num_paired"], one["delta_mean"]) == (1, 0.5)
    assert compare_failures(found, **ARMS)["num_environments"].tolist() == [2, 2]


def test_rollouts_of_unknown_samples_pair_with_nothing(tmp_path):
    rollouts = [rollout(split="valid", step=step, reward=0.5) for step in (0, 0, 1)]
    reward = of(compare(build_store(tmp_path, rollouts), **ARMS), "reward")
    assert (reward["num_paired"], reward["num_only_baseline"], reward["num_only_candidate"]) == (0, 2, 1)


def test_failures_by_arm(tmp_path):
    lost = call("search", wrapper_id="w1", is_executed=False, status="no_result")
    ran = call("search", wrapper_id="w2", is_executed=True)
    rollouts = [
        rollout(
            sample_id="a", split="valid", step=0, reward=1.0, status="completed", messages=[], tool_calls=[dict(ran)]
        ),
        rollout(sample_id="a", split="valid", step=0, reward=0.0, status="truncated"),
        rollout(
            sample_id="a",
            split="valid",
            step=1,
            status="infra_error",
            messages=[],
            tool_calls=[dict(lost), dict(lost), dict(ran)],
        ),
        rollout(sample_id="b", split="valid", step=1, reward=0.0, status="grader_error"),
        rollout(sample_id="b", split="valid", step=1, reward=0.0),
    ]
    frame = compare_failures(build_store(tmp_path, rollouts), **ARMS)
    assert frame["label"].tolist() == ["r@0", "r@1"]
    base, cand = frame.iloc[0], frame.iloc[1]
    assert (base["num_rollouts"], base["truncation_rate"], base["failure_rate"]) == (2, 0.5, 0.0)
    assert (cand["num_rollouts"], cand["num_samples"], cand["num_scored"], cand["num_status_known"]) == (3, 2, 2, 2)
    assert (cand["infra_error_rate"], cand["grader_error_rate"], cand["failure_rate"]) == (0.5, 0.5, 1.0)
    assert (cand["num_tool_calls"], cand["num_tool_calls_failed"]) == (3, 2)
    assert (base["num_wrappers"], base["num_wrappers_failed"]) == (1, 0)
    assert (cand["num_wrappers"], cand["num_wrappers_failed"]) == (2, 1)


def test_unknown_options_are_errors(store):
    with pytest.raises(QuestionError, match="pair_by must be one of"):
        compare(store, **ARMS, pair_by="name")
    with pytest.raises(QuestionError, match="method must be one of"):
        compare(store, **ARMS, method="guess")


def test_unknown_costs_and_negative_dead_bands_are_errors(store):
    with pytest.raises(QuestionError, match="cost must be one of"):
        compare_quadrants(store, **ARMS, cost="reward")
    with pytest.raises(QuestionError, match="dead-band"):
        compare_samples(store, **ARMS, eps_cost=-1.0)


def test_every_cost_and_key_is_understood(store):
    for cost in COSTS:
        assert compare_quadrants(store, **ARMS, cost=cost)["num_unknown"].iloc[0] in (1, 3)
    for pair_by in PAIR_BY:
        assert len(compare_quadrants(store, **ARMS, pair_by=pair_by)) == 9


@pytest.fixture(scope="module")
def several(tmp_path_factory):
    places = [
        ("job", "train", 0), ("job", "train", 5), ("job", "valid", 0), ("job", "valid", 3),
        ("base", None, None), ("tested", "test", None), ("tested", "train", None),
        ("mixed", "train", 1), ("mixed", "production", 1), ("mail@host", "valid", 2), ("späte Läufe", "valid", 7),
    ]  # fmt: skip
    return arms(
        build_store(
            tmp_path_factory.mktemp("several"),
            [rollout(run=run, split=split, step=step, sample_id="a") for run, split, step in places],
        )
    )


@pytest.mark.parametrize(
    ("text", "split", "expected"),
    [
        ("job@0", None, ("job", "valid", 0)),
        ("job", None, ("job", "valid", 3)),
        ("job", "train", ("job", "train", 5)),
        ("base", None, ("base", None, None)),
        ("base@none", None, ("base", None, None)),
        ("tested", None, ("tested", "test", None)),
        ("mail@host", None, ("mail@host", "valid", 2)),
        ("mail@host@2", None, ("mail@host", "valid", 2)),
        ("späte Läufe@7", None, ("späte Läufe", "valid", 7)),
    ],
)
def test_arms_are_found(several, text, split, expected):
    got = arm(several, text, split)
    assert (got.name, got.split, got.step) == expected


@pytest.mark.parametrize(
    ("text", "split", "message"),
    [
        ("jab@0", None, "no run 'jab' with rollouts; there is job"),
        ("job@1", None, "'job' has no rollouts at step 1 in 'valid'; it has at step 0, at step 3"),
        ("job@last", None, "a step is a whole number, not 'last'"),
        ("job@3", "test", "'job' has no rollouts in 'test'; it has 'train', 'valid'"),
        ("mixed", None, "'mixed' has rollouts in 'production', 'train': choose one with --split"),
        ("base@2", None, "'base' has no rollouts at step 2 in no split"),
        ("", None, "there is no run ''"),
    ],
)
def test_arms_that_are_not_there_are_errors_that_say_what_is(several, text, split, message):
    with pytest.raises(QuestionError, match=message):
        arm(several, text, split)


def test_an_arm_is_called_as_it_is_written():
    assert Arm("zava", "zava", "valid", 18).label == "zava@18"
    assert Arm("base", "base", None, None).label == "base"


def test_the_real_job(tmp_path, real_data):
    root = tmp_path / "store"
    ingest(Store(root), Request([real_data / "openai_evals_rft_zava"], overrides=Overrides(run="zava")))
    found = open_store(root)
    sides = {"baseline": "zava@0", "candidate": "zava@18"}
    frame = compare(found, **sides)
    reward, calls = of(frame, "reward"), of(frame, "tool_calls")
    assert (reward["num_paired"], reward["num_only_baseline"], reward["num_only_candidate"]) == (10, 0, 0)
    assert [round(reward[name], 3) for name in ("delta_mean", "ci_low", "ci_high")] == [0.292, 0.069, 0.515]
    assert [round(calls[name], 2) for name in ("baseline_mean", "candidate_mean", "delta_mean")] == [3.26, 5.22, 1.96]
    assert [round(calls[name], 2) for name in ("ci_low", "ci_high")] == [0.36, 3.56]
    failures = compare_failures(found, **sides)
    assert failures["num_tool_calls_failed"].tolist() == [2, 50]
    assert failures["num_wrappers"].tolist() == [4, 38]
    assert compare_samples(found, **sides)["reward_delta"].mean() == pytest.approx(reward["delta_mean"])


def test_samples_that_are_alike_count_as_one_cluster(tmp_path):
    """Four samples of two documents: +.1, +.3 in one, +.5, +.7 in the other; the metadata tell four teams of two."""
    gains = {"a": 0.1, "b": 0.3, "c": 0.5, "d": 0.7}
    rollouts = [each for name, gain in gains.items() for step in (0, 1) for each in attempts(name, step, [gain * step])]
    rows = [
        Row("samples", {"sample_id": name, "cluster_key": doc, "metadata": f'{{"a \\"b": "{team}"}}'}, run="r")
        for name, doc, team in zip(gains, "xxyy", "pqpq", strict=True)
    ]
    store = build_store(tmp_path, rollouts, rows)
    reward = of(compare(store, **ARMS, cluster_by="cluster_key"), "reward")
    # Deviations from .4: −.3, −.1 | .1, .3; sums ∓.4; SE = 1/4·√(2/1·.32) = .2; t(1) = 12.7062.
    assert (reward["num_paired"], reward["num_clusters"], reward["ci_method"]) == (4, 2, "clustered t")
    assert reward["ci_high"] == pytest.approx(0.4 + 12.7062 * 0.2, abs=1e-4)
    # Samples needed are of such samples: √n·SE = .4 stands for the deviation, as in `mde`; alone it would be .258.
    needed = num_for_half_width(0.4, reward["margin"])
    assert reward["num_needed"] == needed > of(compare(store, **ARMS), "reward")["num_needed"]
    # Signs of whole documents flip: both alike in 2 of 4 patterns.
    assert reward["p_value"] == 0.5
    # Teams: p −.3 + .1, q −.1 + .3; sums ∓.2; SE = 1/4·√(2·.08) = .1.
    reward = of(compare(store, **ARMS, cluster_by='metadata.a "b'), "reward")
    assert reward["ci_high"] == pytest.approx(0.4 + 12.7062 * 0.1, abs=1e-4)
    reward = of(compare(store, **ARMS, cluster_by="cluster_key", method="percentile"), "reward")
    assert reward["ci_reason"] == "20 clusters needed for a bootstrap, 2 here"
    assert compare_quadrants(store, **ARMS, cluster_by="cluster_key", eps_reward=0.0)["share_ci_low"].isna().all()
    for odd in ("metadata.a\\", 'metadata.\\"'):
        assert of(compare(store, **ARMS, cluster_by=odd), "reward")["num_clusters"] == 4
    with pytest.raises(QuestionError, match=r"or metadata\.KEY, not 'metadata\.'"):
        compare(store, **ARMS, cluster_by="metadata.")
    with pytest.raises(QuestionError, match="cluster_by must be one of sample, cluster_key"):
        compare(store, **ARMS, cluster_by="colour")


def test_samples_have_a_p_value_from_their_attempts(tmp_path):
    rollouts = [
        *attempts("a", 0, [0.0, 0.0, 0.0]),
        *attempts("a", 1, [1.0, 1.0, 1.0]),
        *attempts("b", 0, [0.5]),
        *attempts("b", 1, [0.7, 0.9]),
        *attempts("c", 0, [0.5]),
        *attempts("c", 1, [0.7]),
    ]
    frame = compare_samples(build_store(tmp_path, rollouts), **ARMS)
    # a: 2 of C(6,3) divisions; b: .5 and .9 alone are .3 from the others, .7 is none; c has two attempts in all.
    assert frame["p_value"].tolist()[:2] == pytest.approx([0.1, 2 / 3])
    assert frame["p_value_bh"].tolist()[:2] == pytest.approx([0.2, 2 / 3])
    assert math.isnan(frame["p_value"].iloc[2])


def test_the_smallest_difference_that_could_be_seen(store):
    reward = of(compare(store, **ARMS), "reward")
    # sd .8/√2 = .5657, n = 2: the non-central t(1) of 80 % power at 12.7062 is shifted by 16.334.
    assert reward["mde"] == pytest.approx(16.334 * 0.5657 / math.sqrt(2), rel=1e-3)


def test_the_design_effect_says_how_alike_samples_of_a_cluster_are(tmp_path):
    gains = {"a": 0.1, "b": 0.1, "c": 0.5, "d": 0.5}
    rollouts = [each for name, gain in gains.items() for step in (0, 1) for each in attempts(name, step, [gain * step])]
    rows = [Row("samples", {"sample_id": n, "cluster_key": c}, run="r") for n, c in zip(gains, "xxyy", strict=True)]
    reward = of(compare(build_store(tmp_path, rollouts, rows), **ARMS), "reward")
    # By sample s² = .16/3, SE² = .16/12; by cluster sums ∓.4: SE² = 1/16·2·.32 = .04: three times as much.
    assert (reward["num_cluster_keys"], reward["ci_method"]) == (2, "t")
    assert reward["design_effect"] == pytest.approx(3.0)
    assert math.isnan(of(compare(build_store(tmp_path / "none", rollouts), **ARMS), "reward")["design_effect"])
