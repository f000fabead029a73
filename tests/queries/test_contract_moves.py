"""Who left the tail, who entered, who stayed: against rows computed by hand."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ingest.errors import QuestionError
from ingest.sources.base import Rollout, Row
from queries.contract_moves import contract_moved_samples, contract_moves
from tests.stores import build_store, rollout

ARMS = {"baseline": "r@0", "candidate": "r@1", "limits": "latency_s<=10"}


def of(sample: str | None, step: int, latency: float | None, **values: object) -> Rollout:
    return rollout(sample_id=sample, split="valid", step=step, latency_s=latency, **values)


def single() -> list[Rollout]:
    """Six samples, one attempt in each arm: three leave, one enters, one stays in, one stays out; three do not pair."""
    before = {"a": 20.0, "b": 20.0, "c": 20.0, "d": 5.0, "e": 20.0, "f": 5.0, "g": 20.0, "i": None}
    after = {"a": 5.0, "b": 10.0, "c": 1.0, "d": 11.0, "e": 20.0, "f": 5.0, "h": 5.0, "i": 5.0}
    return [*(of(each, 0, value) for each, value in before.items()), *(of(e, 1, value) for e, value in after.items())]


def test_single_attempts_are_counted_and_tested_exactly(tmp_path: Path) -> None:
    row = contract_moves(build_store(tmp_path, single()), **ARMS).iloc[0]
    assert (row["num_paired"], row["num_only_baseline"], row["num_only_candidate"]) == (6, 1, 2)
    counts = row[["num_entered", "num_left", "num_stayed_in", "num_stayed_out"]].tolist()
    assert counts == [1, 3, 1, 1]
    assert row[["share_over_baseline", "share_over_candidate", "delta"]].tolist() == pytest.approx(
        [4 / 6, 2 / 6, -1 / 3]
    )
    # Differences −1, −1, −1, 1, 0, 0: sd .8165, t(5) = 2.5706; McNemar 2·P(Bin(4, ½) ≤ 1) = .625.
    half = 2.5706 * 0.81650 / np.sqrt(6)
    assert row[["ci_low", "ci_high"]].tolist() == pytest.approx([-1 / 3 - half, -1 / 3 + half], abs=1e-4)
    assert (row["p_value"], row["p_method"]) == (pytest.approx(0.625), "exact McNemar")


def test_samples_of_a_document_count_as_one_cluster(tmp_path: Path) -> None:
    # Documents x: a, b, c, f (differences −1, −1, −1, 0); y: d (1); e has none and stands for itself (0).
    keys = {**dict.fromkeys("abcf", "x"), "d": "y"}
    rows = [Row("samples", {"sample_id": each, "cluster_key": key}, run="r") for each, key in keys.items()]
    store = build_store(tmp_path, single(), rows)
    alone = contract_moves(store, **ARMS).iloc[0]
    row = contract_moves(store, **ARMS, cluster_by="cluster_key").iloc[0]
    assert (alone["num_clusters"], row["num_clusters"], row["num_paired"], row["delta"]) == (6, 3, 6, alone["delta"])
    # Deviations from −1/3 by cluster: −2/3·3 + 1/3 = −5/3; 4/3; 1/3. SE = √(3/2·(25 + 16 + 1)/9)/6 = .44096.
    half = 4.302653 * 0.440959
    assert row[["ci_low", "ci_high"]].tolist() == pytest.approx([-1 / 3 - half, -1 / 3 + half], abs=1e-4)
    # Sums −3, 1 (and 0, which has no sign): both patterns of 3 and 1 that reach 2 are all four.
    assert (row["p_value"], row["p_method"]) == (1.0, "sign flip, exact")
    with pytest.raises(QuestionError, match="cluster_by must be one of"):
        contract_moves(store, **ARMS, cluster_by="colour")


def test_samples_that_moved_come_first(tmp_path: Path) -> None:
    store = build_store(tmp_path, single())
    frame = contract_moved_samples(store, **ARMS)
    assert frame[["move", "sample_id"]].values.tolist() == [
        ["entered", "d"],
        ["left", "a"],
        ["left", "b"],
        ["left", "c"],
        ["stayed_in", "e"],
        ["stayed_out", "f"],
    ]
    row = frame.iloc[0]
    assert (row["share_over_baseline"], row["share_over_candidate"], row["delta"]) == (0.0, 1.0, 1.0)
    assert (row["baseline_mean"], row["candidate_mean"], row["candidate_sample_id"]) == (5.0, 11.0, "d")
    assert contract_moved_samples(store, **ARMS, move="left")["sample_id"].tolist() == ["a", "b", "c"]
    with pytest.raises(QuestionError, match="entered, left, stayed_in, stayed_out"):
        contract_moved_samples(store, **ARMS, move="up")


def test_with_several_attempts_half_of_them_make_the_tail(tmp_path: Path) -> None:
    slow, fast = 20.0, 5.0
    attempts = {
        "a": ([slow, fast], [slow, fast, fast]),
        "b": ([slow, fast, fast], [slow, slow, None]),
        "c": ([fast], [fast, fast]),
    }
    rows = [of(s, step, each) for s, arms in attempts.items() for step, arm in enumerate(arms) for each in arm]
    store = build_store(tmp_path, rows)
    frame = contract_moved_samples(store, **ARMS).set_index("sample_id")
    assert frame["move"].to_dict() == {"a": "left", "b": "entered", "c": "stayed_out"}
    assert frame.loc["b", ["num_attempts_candidate", "num_known_candidate", "share_over_candidate"]].tolist() == [
        3,
        2,
        1,
    ]
    row = contract_moves(store, **ARMS).iloc[0]
    # Differences −1/6, 2/3, 0.
    assert row["delta"] == pytest.approx((-1 / 6 + 2 / 3) / 3)
    assert row["p_method"].startswith("sign flip")


def test_failures_can_be_left_out(tmp_path: Path) -> None:
    rows = [of("a", 0, 20.0, status="infra_error"), of("a", 0, 5.0), of("a", 1, 5.0), of("b", 0, 5.0), of("b", 1, 5.0)]
    store = build_store(tmp_path, rows)
    assert contract_moves(store, **ARMS)["num_left"].tolist() == [1]
    assert contract_moves(store, **ARMS, leave_out_failures=True)["num_left"].tolist() == [0]


def test_nothing_paired_has_no_difference(tmp_path: Path) -> None:
    store = build_store(tmp_path, [of("a", 0, 20.0), of("b", 1, 5.0), of(None, 1, 5.0)])
    row = contract_moves(store, **ARMS).iloc[0]
    assert (row["num_paired"], row["num_only_baseline"], row["num_only_candidate"]) == (0, 1, 2)
    assert row[["delta", "ci_low", "share_over_baseline", "p_value"]].isna().all()
    assert row["ci_reason"] == "nothing scored"
    assert contract_moved_samples(store, **ARMS).empty


def test_the_same_id_in_another_environment_is_another_sample(tmp_path: Path) -> None:
    rows = [of("a", 0, 20.0, environment="x"), of("a", 0, 5.0, environment="y")]
    rows += [of("a", 1, 5.0, environment="x"), of("a", 1, 20.0, environment="y")]
    frame = contract_moved_samples(build_store(tmp_path, rows), **ARMS)
    assert frame[["environment", "move"]].values.tolist() == [["y", "entered"], ["x", "left"]]


def test_limits_of_the_arms_configuration_and_none(tmp_path: Path) -> None:
    about = [Row("runs", {"name": "r", "precedence": 1, "config": '{"max_seconds": 10}'}, run="r")]
    store = build_store(tmp_path, single(), about)
    sides = {"baseline": "r@0", "candidate": "r@1"}
    assert contract_moves(store, **sides)["limit"].tolist() == ["latency_s<=10"]
    assert contract_moves(store, **sides, limits="latency_s<=10; tool_calls<=3")["num_paired"].tolist() == [6, 0]
    with pytest.raises(QuestionError, match="no limits are set"):
        contract_moves(build_store(tmp_path / "other", single()), **sides)
    assert pd.api.types.is_integer_dtype(contract_moves(store, **ARMS)["num_left"])
