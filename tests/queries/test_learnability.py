"""What can be learned from each sample of an arm, against rows computed by hand."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from ingest.errors import QuestionError
from ingest.runner import Request, ingest
from ingest.sources.base import Rollout, Row
from ingest.staging import Overrides
from ingest.store import Store
from queries.connection import Reading, open_store
from queries.learnability import learnability, learnability_summary
from tests.stores import build_store, rollout


def attempts(sample: str, rewards: list[float | None], **values: Any) -> list[Rollout]:
    return [rollout(sample_id=sample, split="valid", reward=each, **values) for each in rewards]


def passes(sample: str, verdicts: list[bool | None], rewards: list[float], **values: Any) -> list[Rollout]:
    return [
        rollout(sample_id=sample, split="valid", reward=reward, passed=verdict, **values)
        for verdict, reward in zip(verdicts, rewards, strict=True)
    ]


@pytest.fixture
def three(tmp_path: Path) -> Reading:
    """Three samples with rewards 0 and 1: never, once, and always passed."""
    return build_store(tmp_path, [*attempts("a", [0, 0]), *attempts("b", [0, 1]), *attempts("c", [1, 1])])


def test_rewards_of_zero_and_one_are_success(three: Reading) -> None:
    frame = learnability(three, arm="r", group_size=2)
    assert frame["sample_id"].tolist() == ["a", "b", "c"]
    assert frame["success"].unique().tolist() == ["reward 0 or 1"]
    assert frame["bucket"].tolist() == ["always_fails", "mixed", "always_passes"]
    assert frame["is_dead"].tolist() == [True, False, True]
    # Three samples do not fit a prior: Beta(1, 1) and posteriors Beta(1, 3), (2, 2), (3, 1).
    assert frame["success_chance"].tolist() == [0.25, 0.5, 0.75]
    assert frame["signal_chance"].tolist() == pytest.approx([0.3, 0.4, 0.3])
    assert frame["both_chance"].tolist() == pytest.approx([0.3, 0.4, 0.3])
    # E[p(1−p)] = ab/((a+b)(a+b+1)): 3/20, 4/20, 3/20.
    assert frame["reward_variance"].tolist() == pytest.approx([0.15, 0.2, 0.15])
    assert frame["signal_reason"].isna().all()


def test_the_summary_of_the_same(three: Reading) -> None:
    row = learnability_summary(three, arm="r", group_size=2, batch_size=30).iloc[0]
    assert row[["num_samples", "num_told", "num_dead", "num_always_fails", "num_mixed"]].tolist() == [3, 3, 2, 1, 1]
    assert row["dead_share"] == pytest.approx(2 / 3)
    assert row[["mixed_share_ci_low", "mixed_share_ci_high"]].tolist() == pytest.approx([0.0615, 0.7923], abs=1e-4)
    assert row[["signal_share", "signal_groups"]].tolist() == pytest.approx([1 / 3, 10])
    assert pd.isna(row["signal_share_ci_low"])  # three samples are too few for a bootstrap
    # Of three samples no prior is fitted: what groups hold would be what was assumed.
    assert row[["expected_all_fail", "expected_both", "expected_all_pass"]].isna().all()
    # Sample means 0, ½, 1: t(2) = 4.303, sd = ½.
    assert row["reward_mean"] == 0.5
    assert row["reward_mean_ci_high"] == pytest.approx(0.5 + 4.3027 * 0.5 / 3**0.5, abs=1e-4)
    # Best of two: 0, 1, 1; above the mean by 0, ½, 0.
    assert row["ceiling_k"] == 2
    assert row[["reward_ceiling", "headroom"]].tolist() == pytest.approx([2 / 3, 1 / 6])
    # MSB = 2·½/2 = ½, MSW = ½/3 = 1/6, n₀ = 2.
    assert row[["variance_between", "variance_within", "icc"]].tolist() == pytest.approx([1 / 6, 1 / 6, 0.5])
    assert row["prior_note"] == "not fitted: 10 samples with two attempts needed, 3 here"


def test_failures_are_no_evidence_that_a_sample_is_hard(tmp_path: Path) -> None:
    rows = [*attempts("a", [0, 0], status="infra_error"), *attempts("a", [1, 1]), *attempts("b", [0, 1])]
    rows += attempts("c", [0, None], status="grader_error")
    store = build_store(tmp_path, rows)
    frame = learnability(store, arm="r").set_index("sample_id")
    assert frame.loc["a", ["num_attempts", "num_failed", "num_scored", "num_passed"]].tolist() == [4, 2, 2, 2]
    assert frame.loc["a", "bucket"] == "always_passes"
    assert frame.loc["c", ["num_attempts", "num_scored", "num_known"]].tolist() == [2, 0, 0]
    assert frame.loc["c", ["bucket", "success_chance", "signal_chance", "reward_mean"]].isna().all()
    assert frame.loc["c", "signal_reason"] == "nothing scored"
    graded = learnability(store, arm="r", leave_out_failures=False).set_index("sample_id")
    assert graded.loc["a", ["num_scored", "bucket"]].tolist() == [4, "mixed"]
    assert graded.loc["c", "num_scored"] == 1
    assert pd.isna(graded.loc["c", "bucket"])  # one attempt cannot be mixed


def test_graded_rewards_with_a_verdict_tell_success_and_signal_apart(tmp_path: Path) -> None:
    rows = [
        *passes("a", [False, False, False], [0.1, 0.2, 0.2]),
        *passes("b", [False, True, True], [0.1, 0.9, 1.0]),
        *passes("c", [True, True, None], [0.9, 0.9, 0.9]),
    ]
    store = build_store(tmp_path, rows)
    frame = learnability(store, arm="r", group_size=2)
    assert frame["success"].unique().tolist() == ["passed"]
    assert not frame["is_pass_fail"].any()
    assert frame["bucket"].tolist() == ["always_fails", "mixed", "always_passes"]
    assert frame["num_known"].tolist() == [3, 3, 2]
    # Of a's three pairs two differ, of b's all, of c's none.
    assert frame["signal_chance"].tolist() == pytest.approx([2 / 3, 1, 0])
    assert frame["is_dead"].tolist() == [False, False, True]
    assert frame["reward_variance"].iloc[0] == pytest.approx(np.var([0.1, 0.2, 0.2], ddof=1))
    large = learnability(store, arm="r", group_size=4)
    assert large["signal_chance"].isna().all()
    assert large["signal_reason"].iloc[0] == "graded rewards: 4 scored attempts needed, 3 here"
    row = learnability_summary(store, arm="r", group_size=4).iloc[0]
    assert pd.isna(row["signal_share"])
    assert row["at_least_share"] == pytest.approx(2 / 3)
    # Three samples say nothing of the others' chances, and none has four attempts.
    assert row[["both_share", "both_groups", "expected_both", "expected_all_fail"]].isna().all()
    assert row["prior_note"] == "not fitted: 10 samples with two attempts needed, 3 here"


def test_a_threshold_of_the_reader_tells_success(tmp_path: Path) -> None:
    store = build_store(tmp_path, [*attempts("a", [-1, -1]), *attempts("b", [-1, 1]), *attempts("c", [1, 1])])
    plain = learnability(store, arm="r")
    assert plain["success"].isna().all()
    assert plain["bucket"].tolist() == ["always_lowest", "varies", "always_highest"]
    assert plain[["success_chance", "both_chance"]].isna().all().all()
    told = learnability(store, arm="r", threshold=0.0, group_size=2)
    assert told["success"].unique().tolist() == ["threshold"]
    assert told["bucket"].tolist() == ["always_fails", "mixed", "always_passes"]
    assert told["is_pass_fail"].all()
    assert told["reward_variance"].tolist() == pytest.approx([0.6, 0.8, 0.6])  # the rewards lie 2 apart


def test_graded_rewards_without_a_verdict_are_told_by_reward(tmp_path: Path) -> None:
    rows = [*attempts("a", [0.2, 0.2]), *attempts("b", [0.2, 0.9]), *attempts("c", [0.9, 0.9])]
    rows += [*attempts("d", [0.5, 0.5]), *attempts("e", [0.5])]
    store = build_store(tmp_path, rows)
    frame = learnability(store, arm="r")
    assert frame["bucket"].tolist()[:4] == ["always_lowest", "varies", "always_highest", "always_same"]
    assert pd.isna(frame["bucket"].iloc[4])
    row = learnability_summary(store, arm="r").iloc[0]
    assert row[["num_dead", "num_flat_told", "num_single", "num_told"]].tolist() == [3, 4, 1, 0]
    assert pd.isna(row["both_share"])
    assert pd.isna(row["mixed_share"])
    assert pd.isna(row["success"])


def test_environments_have_rules_of_their_own(tmp_path: Path) -> None:
    rows = [
        *passes("a", [True, False], [0.7, 0.3], environment="x"),
        *attempts("a", [1, 1], environment="y"),
        *attempts("a", [0.5, 0.25], environment="z"),
    ]
    store = build_store(tmp_path, rows)
    frame = learnability(store, arm="r")
    assert frame["environment"].tolist() == ["x", "y", "z"]
    assert frame["success"].fillna("none").tolist() == ["passed", "reward 0 or 1", "none"]
    assert frame["is_pass_fail"].tolist() == [True, True, False]
    assert learnability(store, arm="r", environments=("y",))["environment"].tolist() == ["y"]
    assert learnability_summary(store, arm="r").iloc[0]["num_environments"] == 3


def test_odd_arms_have_answers(tmp_path: Path) -> None:
    rows = [rollout(reward=1.0), rollout("s", sample_id="a", reward=float("nan")), rollout("t", sample_id="a")]
    rows += [rollout("u", sample_id="a", reward=float("inf"), step=3), rollout("v", sample_id="a", reward=1.0)]
    store = build_store(tmp_path, rows)
    without_sample = learnability_summary(store, arm="r").iloc[0]
    assert without_sample[["num_rollouts", "num_without_sample", "num_samples"]].tolist() == [1, 1, 0]
    assert learnability(store, arm="r").empty
    for arm in ("s", "t", "u@3"):
        frame = learnability(store, arm=arm)
        assert frame[["num_attempts", "num_scored"]].values.tolist() == [[1, 0]]
        assert learnability_summary(store, arm=arm)["reward_mean"].isna().all()
    one = learnability_summary(store, arm="v").iloc[0]
    assert one[["num_samples", "num_single", "reward_mean", "ceiling_k"]].tolist() == [1, 1, 1.0, 1]
    assert pd.isna(one["icc"])


@pytest.mark.parametrize(
    ("run", "values", "stage"),
    [
        (Row("runs", {"kind": "baseline", "base_model": "m"}, "r"), {"model": "m"}, "raw model"),
        (Row("runs", {"kind": "baseline"}, "r"), {}, "raw model"),
        (Row("runs", {"kind": "baseline", "base_model": "m"}, "r"), {"model": "ft:m"}, None),
        (Row("runs", {"kind": "training", "base_model": "m"}, "r"), {"model": "m", "step": 0}, "raw model"),
        (Row("runs", {"kind": "training", "base_model": "m"}, "r"), {"model": "m", "step": 40}, None),
        (Row("runs", {"kind": "training"}, "r"), {"step": 0}, "before the first step"),
        (Row("runs", {"kind": "training", "parent_run": "q"}, "r"), {"step": 0}, None),
        (Row("runs", {"kind": "evaluation", "base_model": "m"}, "r"), {"model": "ft:m"}, None),
    ],
)
def test_a_raw_model_is_said_to_be_one(tmp_path: Path, run: Row, values: dict[str, Any], stage: str | None) -> None:
    store = build_store(tmp_path, attempts("a", [0, 1], **values), [run])
    assert learnability_summary(store, arm="r").iloc[0]["stage"] == stage


def test_what_cannot_be_asked_says_so(three: Reading) -> None:
    with pytest.raises(QuestionError, match="from 2 to 4096 attempts, not 1"):
        learnability(three, arm="r", group_size=1)
    with pytest.raises(QuestionError, match="a batch has from 1"):
        learnability_summary(three, arm="r", batch_size=0)
    with pytest.raises(QuestionError, match="threshold must be a number"):
        learnability(three, arm="r", threshold=float("nan"))
    with pytest.raises(QuestionError, match="there is no run 'x'"):
        learnability(three, arm="x")


def test_a_real_job_with_five_attempts_each(real_data: Path, tmp_path: Path) -> None:
    ingest(Store(tmp_path), Request([real_data / "openai_evals_rft_zava"], overrides=Overrides(run="zava"), workers=1))
    row = learnability_summary(open_store(tmp_path), arm="zava@0").iloc[0]
    assert row[["num_samples", "num_always_fails", "num_mixed", "num_always_passes"]].tolist() == [10, 1, 7, 2]
    assert row[["num_dead", "ceiling_k", "stage"]].tolist() == [1, 5, "before the first step"]
    assert row["at_least_share"] == 0.9
