"""Several arms against one baseline, four arms of a new base model, a setting on the axis, the frontier: by hand."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ingest.errors import QuestionError
from ingest.sources.base import Row
from queries.arms import arms, last_arms
from queries.base_models import CONTRASTS, base_model_change
from queries.compare import compare
from queries.connection import Reading
from queries.filters import Filters
from queries.frontiers import frontier
from queries.run_settings import run_settings
from queries.setting_effects import setting_effect
from queries.several import MAX_ARMS
from queries.several_arms import arm_facts, compare_several
from tests.stores import build_store, call, rollout


def attempts(run: str, rewards: dict[str, list[float | None]], **values):
    """Rollouts of a run, one per sample and reward."""
    for sample, of_sample in rewards.items():
        for reward in of_sample:
            yield rollout(run, sample_id=sample, split="valid", reward=reward, **values)


def called(run: str, sample: str, num_calls: int, **values):
    """A rollout that makes so many tool calls."""
    calls = [call("search", f'{{"q": {n}}}') for n in range(num_calls)]
    return rollout(run, sample_id=sample, split="valid", messages=[], tool_calls=calls, **values)


def row(frame: pd.DataFrame, **where) -> pd.Series:
    """The only row in which these columns have these values."""
    for name, value in where.items():
        frame = frame[frame[name] == value]
    assert len(frame) == 1
    return frame.iloc[0]


@pytest.fixture
def three(tmp_path: Path) -> Reading:
    """A baseline on samples 0–9, one arm better on all of them, one that lacks sample 9 and has one of its own."""
    names = [f"s{n}" for n in range(10)]
    better = {name: [0.1 * n + 0.2, 0.1 * n + 0.2 + 0.02 * n] for n, name in enumerate(names)}
    alike = {name: [0.1 * n + (-1) ** n * 0.01] for n, name in enumerate(names[:9])} | {"own": [1.0]}
    return build_store(
        tmp_path,
        [
            *attempts("base", {name: [0.1 * n] for n, name in enumerate(names)}),
            *attempts("better", better),
            *attempts("alike", alike),
        ],
    )


def test_each_arm_is_held_against_the_baseline(three: Reading) -> None:
    frame = compare_several(three, baseline="base", candidates=("better", "alike"), measures=("reward",))
    assert frame["arm"].tolist() == ["base", "better", "alike"]
    assert frame["is_baseline"].tolist() == [True, False, False]
    assert frame["num_rollouts"].tolist() == [10, 20, 10]
    assert frame["num_samples"].tolist() == [10, 10, 10]
    assert frame["num_paired"].tolist()[1:] == [10, 9]
    assert pd.isna(frame["num_paired"][0])
    # Means over the arm's own samples: 0.45; 0.45 + 0.2 + 0.01·4.5; (3.6 + 0.01 + 1)/10.
    assert frame["mean"].tolist() == pytest.approx([0.45, 0.695, 0.461])
    # Samples 0 to 8 are known to all: 3.6/9, 0.4 + 0.2 + 0.04, (3.6 + 0.01)/9.
    assert frame["num_shared"].tolist() == [9, 9, 9]
    assert frame["shared_mean"].tolist() == pytest.approx([0.4, 0.64, 3.61 / 9])
    # Differences 0.2 + 0.01·n: mean .245, sd of 0…9 is 3.02765, t(9) = 2.26216.
    better = frame.iloc[1]
    assert better["delta_mean"] == pytest.approx(0.245)
    half = 2.262157 * 0.0302765 / np.sqrt(10)
    assert [better["ci_low"], better["ci_high"]] == pytest.approx([0.245 - half, 0.245 + half])
    # All ten are positive: 2 of 2¹⁰ patterns are as far out; times two candidates.
    assert better["p_value"] == pytest.approx(2 / 1024)
    assert better["p_value_holm"] == pytest.approx(4 / 1024)
    assert better["ratio"] == pytest.approx(0.695 / 0.45)
    assert frame["verdict"].tolist() == [None, "higher", "not shown"]


def test_a_pair_is_answered_as_compare_answers_it(three: Reading) -> None:
    several = compare_several(three, baseline="base", candidates=("better", "alike"))
    for candidate in ("better", "alike"):
        pair = compare(three, baseline="base", candidate=candidate).set_index("measure")
        found = several[several["arm"] == candidate].set_index("measure")
        for column in ("num_paired", "delta_mean", "ci_low", "ci_high", "ratio", "ratio_ci_low", "ratio_ci_high"):
            expected = pair.loc[found.index, column].to_numpy(float)
            assert found[column].to_numpy(float, na_value=np.nan) == pytest.approx(expected, nan_ok=True)


def test_holm_is_over_the_candidates_of_a_measure_and_over_all(three: Reading) -> None:
    frame = compare_several(three, baseline="base", candidates=("better", "alike"), measures=("reward", "turns"))
    reward = frame[frame["measure"] == "reward"]
    # turns are known of none: they have no p-value and do not count.
    assert reward["p_value_holm"].tolist()[1:] == reward["p_value_holm_all"].tolist()[1:]
    assert reward["p_value_holm"][1] == pytest.approx(2 * reward["p_value"][1])
    assert frame.loc[frame["measure"] == "turns", "verdict"].tolist() == [None, None, None]


def test_behaviour_is_compared_without_any_reward(tmp_path: Path) -> None:
    rollouts = [called(run, f"s{n}", n % 3 + more) for run, more in (("a", 5), ("b", 2)) for n in range(8)]
    frame = compare_several(build_store(tmp_path, rollouts), baseline="a", candidates=("b",))
    calls = row(frame, measure="tool_calls", arm="b")
    # Every sample takes three calls less: no spread, so no interval, but 2 of 2⁸ sign patterns.
    assert (calls["delta_mean"], calls["p_value"], calls["verdict"]) == (-3.0, 2 / 256, "lower")
    assert np.isnan(calls["ci_low"])
    assert calls["ci_reason"].startswith("all values are equal")
    assert row(frame, measure="reward", arm="b")["num_samples"] == 0


def test_nan_and_unscored_rewards_are_missing_not_zero(tmp_path: Path) -> None:
    rollouts = [
        *attempts("a", {"s": [0.5], "t": [None], "u": [float("nan")]}),
        *attempts("b", {"s": [1.0], "t": [1.0], "u": [float("inf")]}),
    ]
    frame = compare_several(build_store(tmp_path, rollouts), baseline="a", candidates=("b",), measures=("reward",))
    assert frame["num_samples"].tolist() == [1, 2]
    assert (frame["num_paired"][1], frame["delta_mean"][1], frame["verdict"][1]) == (1, 0.5, "not shown")


def test_samples_of_a_cluster_are_not_independent(tmp_path: Path) -> None:
    samples = [Row("samples", {"sample_id": f"s{n}", "cluster_key": f"c{n // 2}"}, run="a") for n in range(6)]
    deltas = [0.1, 0.1, 0.2, 0.2, 0.6, 0.6]
    rollouts = [
        *attempts("a", {f"s{n}": [0.0] for n in range(6)}),
        *attempts("b", {f"s{n}": [each] for n, each in enumerate(deltas)}),
    ]
    store = build_store(tmp_path, rollouts, samples)
    found = compare_several(store, baseline="a", candidates=("b",), measures=("reward",), cluster_by="cluster_key")
    # Three clusters whose sums of deviations from 0.3 are −.4, −.2, .6: SE = √(3/2·.56)/6; t(2) = 4.302653.
    half = 4.302653 * np.sqrt(1.5 * 0.56) / 6
    assert [found["ci_low"][1], found["ci_high"][1]] == pytest.approx([0.3 - half, 0.3 + half])
    # Signs of three clusters flip: 2 of 8.
    assert found["p_value"][1] == 0.25


def test_environments_and_failures_restrict_the_arms(tmp_path: Path) -> None:
    rollouts = [
        *attempts("a", {"s": [0.5], "t": [0.0]}, environment="air"),
        *attempts("a", {"s": [0.1]}, environment="shop"),
        *attempts("b", {"s": [1.0]}, environment="air"),
        *attempts("b", {"t": [0.0]}, environment="air", status="infra_error"),
    ]
    store = build_store(tmp_path, rollouts)
    asked = {"baseline": "a", "candidates": ("b",), "measures": ("reward",)}
    assert compare_several(store, **asked)["num_samples"].tolist() == [3, 2]
    narrow = compare_several(store, **asked, environments=("air",), leave_out_failures=True)
    assert narrow["num_samples"].tolist() == [2, 1]
    assert narrow["num_paired"][1] == 1
    none = compare_several(store, **asked, environments=("nowhere",))
    assert none["num_rollouts"].tolist() == [0, 0]
    assert none["mean"].isna().all()


def test_arms_are_named_once_and_checked(three: Reading) -> None:
    asked = {"baseline": "base", "measures": ("reward", "reward")}
    assert compare_several(three, **asked, candidates=("alike", "base", "alike"))["arm"].tolist() == ["base", "alike"]
    for wrong, message in (
        ({"candidates": ("base",)}, "no candidate"),
        ({"candidates": ("nobody",)}, "no run 'nobody'"),
        ({"candidates": ("alike",), "pair_by": "luck"}, "pair_by must be one of"),
        ({"candidates": ("alike",), "cluster_by": "luck"}, "cluster_by must be one of"),
        ({"candidates": ("alike",), "measures": ("luck",)}, "a measure is one of"),
    ):
        with pytest.raises(QuestionError, match=message):
            compare_several(three, **{"baseline": "base"} | wrong)


def test_more_arms_than_a_table_holds_are_refused(tmp_path: Path) -> None:
    rollouts = [rollout(sample_id="s", step=step, split="valid", reward=0.5) for step in range(MAX_ARMS + 1)]
    store = build_store(tmp_path, rollouts)
    with pytest.raises(QuestionError, match="51 arms are too many"):
        compare_several(store, baseline="r@0", candidates=tuple(f"r@{step}" for step in range(1, MAX_ARMS + 1)))


def test_facts_tell_what_differs_between_arms(tmp_path: Path) -> None:
    rollouts = [
        *attempts("a", {"s": [0.5], "t": [0.5]}, grader_version="1", status="completed", model="m"),
        *attempts("b", {"s": [0.5, None]}, grader_version="2", status="completed"),
        *attempts("b", {"u": [0.5]}, grader_version="1", status="infra_error"),
        rollout("c", split="valid", reward=0.1),
        *attempts("c", {"s": [0.2]}),
    ]
    frame = arm_facts(build_store(tmp_path, rollouts), arms=("a", "b", "c"))
    assert frame["arm"].tolist() == ["a", "b", "c"]
    assert frame["num_rollouts"].tolist() == [2, 3, 2]
    assert frame["num_samples"].tolist() == [2, 2, 2]
    assert frame["num_with_sample"].tolist() == [2, 3, 1]
    assert frame["num_scored"].tolist() == [2, 2, 2]
    assert frame["num_shared"].tolist() == [1, 1, 1]
    assert frame["num_shared_with_first"].tolist() == [2, 1, 1]
    assert frame["failure_rate"].tolist()[:2] == pytest.approx([0, 1 / 3])
    assert pd.isna(frame["failure_rate"][2])
    assert list(frame["grader_versions"][1]) == ["1", "2"]
    assert frame["models"].isna()[1]
    empty = arm_facts(build_store(tmp_path / "other", rollouts), arms=("a", "c"), environments=("x",))
    assert empty["num_rollouts"].tolist() == [0, 0]


@pytest.fixture
def four(tmp_path: Path) -> Reading:
    """Old and new base model, each before and after tuning, on six samples; new_tuned lacks the last one."""
    gains = {"old_base": [0, 0, 0, 0, 0, 0], "old_tuned": [2, 4, 2, 4, 2, 4]}
    gains |= {"new_base": [3, 4, 5, 3, 4, 5], "new_tuned": [4, 4, 6, 4, 4]}
    rollouts = [
        each
        for run, values in gains.items()
        for each in attempts(run, {f"s{n}": [value / 10] for n, value in enumerate(values)})
    ]
    return build_store(tmp_path, rollouts)


FOUR = {each: each for each in ("old_base", "old_tuned", "new_base", "new_tuned")}


def test_a_new_base_model_is_judged_on_the_samples_all_four_share(four: Reading) -> None:
    frame = base_model_change(four, **FOUR, measures=("reward",))
    assert frame["contrast"].tolist() == list(CONTRASTS)
    assert set(frame["num_samples"]) == {5}
    means = frame[[f"{each}_mean" for each in FOUR]].iloc[0].tolist()
    assert means == pytest.approx([0, 0.28, 0.38, 0.44])
    # Sample by sample: old gain .2 .4 .2 .4 .2, new gain .1 0 .1 .1 0, their difference −.1 −.4 −.1 −.3 −.2.
    assert frame["delta_mean"].tolist() == pytest.approx([0.28, 0.06, -0.22, 0.38, 0.16, 0.1])
    change = row(frame, contrast="gain_change")
    # Squares of deviations from −.22: .0144 + .0324 + .0144 + .0064 + .0004 = .068; SE = √(.068/20); t(4) = 2.776445.
    half = 2.776445 * np.sqrt(0.068 / 20)
    assert [change["ci_low"], change["ci_high"]] == pytest.approx([-0.22 - half, -0.22 + half])
    # All five have one sign: 2 of 32, which no adjustment makes smaller.
    assert change["p_value"] == 2 / 32
    assert set(frame["verdict"]) == {"not shown"}


def test_a_change_of_base_model_needs_four_arms(four: Reading) -> None:
    with pytest.raises(QuestionError, match="four different arms"):
        base_model_change(four, **FOUR | {"new_tuned": "old_tuned"})
    alone = base_model_change(four, **FOUR, measures=("turns",))
    assert set(alone["num_samples"]) == {0}
    assert alone[["delta_mean", "ci_low", "old_base_mean"]].isna().all(axis=None)
    assert alone["verdict"].isna().all()


def run_row(run: str, **values):
    return Row("runs", values, run=run)


@pytest.fixture
def sized(tmp_path: Path) -> Reading:
    """Runs trained on 100 and 1 000 examples, an evaluation of the latter, and a run that does not say."""
    names = [f"s{n}" for n in range(7)]
    rows = [
        run_row("small", kind="training", hyperparameters='{"num_examples": 100, "lr": {"start": 1e-5}}'),
        run_row("large", kind="training", hyperparameters='{"num_examples": 1000, "lr": {"start": 1e-5}}'),
        run_row("eval", kind="evaluation", parent_run="large", config='{"temperature": 0.5, "list": [1, 2]}'),
        run_row("silent", kind="baseline"),
    ]
    rollouts = [
        *attempts("small", {name: [0.3] for name in names}, step=1),
        *attempts("small", {name: [0.4 + 0.01 * n] for n, name in enumerate(names)}, step=2),
        *attempts("large", {name: [0.6 + 0.03 * n] for n, name in enumerate(names)}, step=5),
        *attempts("eval", {name: [0.6] for name in names}),
        *attempts("silent", {name: [0.1] for name in names}),
        *(rollout("small", sample_id=f"t{n % 3}", split="train", step=1, reward=0.0) for n in range(6)),
        *(rollout("large", sample_id=f"t{n}", split="train", step=1, reward=0.0) for n in range(4)),
    ]
    return build_store(tmp_path, rollouts, rows)


def test_runs_stand_in_the_order_of_their_setting(sized: Reading) -> None:
    frame = setting_effect(sized, setting="hyperparameters.num_examples")
    assert frame["arm"].tolist() == ["small@2", "eval", "large@5", "silent"]
    assert frame["number"].tolist()[:3] == [100, 1000, 1000]
    assert frame["said_by"].fillna("").tolist() == ["run", "parent", "run", ""]
    assert frame["mean"].tolist() == pytest.approx([0.43, 0.6, 0.69, 0.1])
    # Against the smallest: .2 + .02·n over seven samples, mean .26; the run that does not say is not compared.
    large = frame.iloc[2]
    assert (large["num_paired"], large["delta_mean"]) == (7, pytest.approx(0.26))
    half = 2.446912 * 0.02 * np.sqrt(28 / 6) / np.sqrt(7)
    assert [large["ci_low"], large["ci_high"]] == pytest.approx([0.26 - half, 0.26 + half], abs=1e-6)
    assert large["p_value"] == 2 / 128
    assert frame["verdict"].tolist() == [None, "higher", "higher", None]
    assert frame["mean_ci_reason"][1].startswith("all values are equal")
    assert pd.isna(frame["number"][3])
    assert pd.isna(frame["value"][3])


def test_filters_choose_runs_and_steps(sized: Reading) -> None:
    asked = {"setting": "hyperparameters.num_examples"}
    first = setting_effect(sized, Filters(run_ids=("small", "large"), step_to=1), **asked)
    assert first["arm"].tolist() == ["small@1"]
    assert setting_effect(sized, Filters(splits=("train",)), **asked)["arm"].tolist() == ["small@1", "large@1"]
    assert setting_effect(sized, Filters(run_ids=("nobody",)), **asked).empty
    with pytest.raises(QuestionError, match=r"no run says 'config.nothing'; there is hyperparameters.num_ex"):
        setting_effect(sized, setting="config.nothing")
    assert [each.label for each in last_arms(arms(sized), Filters())] == ["eval", "large@5", "silent", "small@2"]


def test_a_run_is_held_against_the_first_that_shares_samples(tmp_path: Path) -> None:
    rows = [run_row(run, config=f'{{"size": {size}}}') for run, size in (("a", 1), ("b", 2), ("c", 3), ("d", 4))]
    samples = {"a": "s", "b": "t", "c": "t", "d": "s"}
    rollouts = [each for run, sample in samples.items() for each in attempts(run, {sample: [0.5]})]
    frame = setting_effect(build_store(tmp_path, rollouts, rows), setting="config.size")
    assert frame["reference"].fillna("").tolist() == ["", "", "b", "a"]
    assert frame["num_paired"].fillna(0).tolist() == [0, 0, 1, 1]


def test_samples_of_training_are_counted(sized: Reading) -> None:
    frame = setting_effect(sized, setting="train_samples")
    assert frame["number"].tolist()[:3] == [3, 4, 4]
    assert frame["arm"].tolist() == ["small@2", "eval", "large@5", "silent"]


def test_settings_that_differ_come_first(sized: Reading) -> None:
    frame = run_settings(sized)
    # Lists are one value, which is no number and does not differ.
    assert frame["setting"].tolist() == [
        *("hyperparameters.num_examples", "train_samples", "hyperparameters.lr.start", "config.temperature"),
    ]
    examples = row(frame, setting="hyperparameters.num_examples")
    assert (examples["num_runs"], examples["num_values"], examples["is_numeric"]) == (3, 2, True)
    assert (examples["low"], examples["high"]) == (100, 1000)
    assert list(examples["examples"]) == ["100", "1000"]
    assert run_settings(sized, Filters(run_ids=("silent",))).empty


def test_a_setting_in_words_has_no_number(tmp_path: Path) -> None:
    rows = [run_row("a", config='{"mode": "9"}'), run_row("b", config='{"mode": "fast"}')]
    store = build_store(tmp_path, [*attempts("a", {"s": [1.0]}), *attempts("b", {"s": [0.0]})], rows)
    frame = setting_effect(store, setting="config.mode")
    assert frame["value"].tolist() == ["9", "fast"]
    assert frame["number"].isna().all()
    assert frame["delta_mean"].tolist()[1] == -1.0


def test_the_frontier_leaves_out_what_another_beats(tmp_path: Path) -> None:
    def arm(run: str, reward: float, num_calls: int):
        return [called(run, f"s{n}", num_calls + n % 2, reward=reward + 0.01 * (n % 3)) for n in range(8)]

    rollouts = [*arm("cheap", 0.3, 1), *arm("good", 0.8, 4), *arm("bad", 0.2, 3), *arm("dear", 0.8, 6)]
    store = build_store(tmp_path, rollouts)
    frame = frontier(store, arms=("cheap", "good", "bad", "dear")).set_index("arm")
    assert frame["is_on_frontier"].tolist() == [True, True, False, False]
    # bad is beaten by cheap alone: good costs more. dear is as good as good, and costs more.
    assert frame["dominated_by"].fillna("").tolist() == ["", "", "cheap", "good"]
    assert set(frame["num_samples"]) == {8}
    assert frame["cost_mean"].tolist() == [1.5, 4.5, 3.5, 6.5]
    # On every sample the order is the same, so it is in every resample.
    assert frame["frontier_chance"].tolist() == [1.0, 1.0, 0.0, 0.0]


def test_equal_arms_are_both_on_the_frontier(tmp_path: Path) -> None:
    store = build_store(tmp_path, [called(run, f"s{n}", 2, reward=0.1 * n) for run in "ab" for n in range(6)])
    assert frontier(store, arms=("a", "b"))["is_on_frontier"].tolist() == [True, True]


def test_a_frontier_needs_shared_samples_with_both_known(tmp_path: Path) -> None:
    rollouts = [called("a", "s", 1, reward=0.5), called("b", "t", 2, reward=0.6), called("c", "s", 3)]
    store = build_store(tmp_path, rollouts)
    frame = frontier(store, arms=("a", "b"))
    assert frame["num_samples"].tolist() == [0, 0]
    assert frame["num_samples_own"].tolist() == [1, 1]
    assert frame["is_on_frontier"].isna().all()
    assert set(frame["chance_reason"]) == {"the arms share no sample in which both are known"}
    few = frontier(store, arms=("a", "c"))
    assert few["num_samples_own"].tolist() == [1, 0]
    for wrong, message in (({"quality": "luck"}, "quality must"), ({"cost": "reward"}, "cost must")):
        with pytest.raises(QuestionError, match=message):
            frontier(store, arms=("a", "b"), **wrong)
    with pytest.raises(QuestionError, match="two arms"):
        frontier(store, arms=("a", "a"))


def test_the_chance_of_the_frontier_is_that_of_resampled_samples(tmp_path: Path) -> None:
    # Same cost; b is better on five of nine samples by as much as it is worse on four: first where it has the majority.
    rollouts = [called("a", f"s{n}", 1, reward=0.5) for n in range(9)]
    rollouts += [called("b", f"s{n}", 1, reward=0.6 if n < 5 else 0.4) for n in range(9)]
    frame = frontier(build_store(tmp_path, rollouts), arms=("a", "b"))
    assert frame["is_on_frontier"].tolist() == [False, True]
    # P(Bin(9, 5/9) ≥ 5) = .633.
    assert frame["frontier_chance"].tolist() == pytest.approx([0.367, 0.633], abs=0.03)


def test_settings_hide_secrets_and_read_numbers_in_quotes(tmp_path: Path) -> None:
    rows = [
        run_row("a", config='{"api_key": "hunter2", "size": "90", "long": "' + "x" * 500 + '"}'),
        run_row("b", config='{"api_key": "hunter3", "size": 100, "long": "y", "gone": null}'),
    ]
    frame = run_settings(build_store(tmp_path, [*attempts("a", {"s": [1.0]})], rows)).set_index("setting")
    assert list(frame.index) == ["config.size", "config.long"]
    assert list(frame.loc["config.size", "examples"]) == ["90", "100"]
    assert [len(each) for each in frame.loc["config.long", "examples"]] == [200, 1]
