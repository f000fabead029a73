"""Two selections of rollouts, given rows against rows computed by hand; and that halves of one claim nothing."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from ingest.errors import QuestionError
from ingest.sources.base import Rollout
from queries.connection import Reading
from queries.drift import drift, drift_categories, drift_curve, drift_selections, production_drift
from queries.drift_slices import drift_overlap, drift_slices
from tests.stores import build_store, call, rollout


def prompt(text: str, *tags: str, cluster: str | None = None) -> dict[str, Any]:
    """What is said of a sample."""
    return {"prompt_text": text, "prompt_hash": text, "tags": json.dumps(tags), "cluster_key": cluster}


def row_of(frame: pd.DataFrame, measure: str) -> Any:
    return frame[frame["measure"] == measure].iloc[0]


def by_hand() -> list[Rollout]:
    """Train: samples a (1 call, a search, and 3) and b (2). Validation: c (4) and d (6)."""

    def made(split: str, sample: str, num: int, tool: str, text: str, **values: Any) -> Rollout:
        calls = [call(tool)] * num
        own = [dict(each) for each in calls]
        values = {"status": "completed", "reward": 0.5, "step": 1, "split": split, **values}
        return rollout("job", sample_id=sample, messages=[], tool_calls=own, sample=prompt(text, "t"), **values)

    return [
        made("train", "a", 1, "search", "ab"),
        made("train", "a", 3, "read", "ab", status="truncated"),
        made("train", "b", 2, "read", "abcd"),
        made("valid", "c", 4, "read", "abcdef"),
        made("valid", "d", 6, "search", "é"),
    ]


@pytest.fixture
def store(tmp_path: Path) -> Reading:
    return build_store(tmp_path, by_hand())


def test_what_is_compared(store: Reading) -> None:
    found = drift_selections(store)
    assert found[["side", "split", "num_rollouts", "num_samples", "num_shared"]].values.tolist() == [
        ["first", "train", 3, 2, 0],
        ["second", "valid", 2, 2, 0],
    ]
    assert set(found["prompt_from"]) == {"samples"}


def test_means_are_over_samples_and_curves_over_their_attempts(store: Reading) -> None:
    row = row_of(drift(store), "tool_calls")
    assert (row["num_first"], row["num_second"], row["kind"]) == (2, 2, "behaviour")
    # a: (1 + 3)/2 = 2, b: 2; c: 4, d: 6.
    assert (row["first_mean"], row["second_mean"], row["difference"], row["ratio"]) == (2, 5, 3, 2.5)
    # Half of a's weight lies at 1 and at 3, b's at 2: the middle of a quarter, a half, a quarter is 2.
    assert (row["first_median"], row["second_median"]) == (2, 5)
    assert row["value"] == 1  # nothing of the second selection lies where the first does
    assert np.isnan(row["p_value"])
    assert row["reason"] == "6 samples needed where attempts are not equally many"


def test_prompts_are_the_data_and_measured_in_bytes(store: Reading) -> None:
    row = row_of(drift(store), "prompt_bytes")
    assert (row["kind"], row["first_mean"], row["second_mean"]) == ("data", 3, 4)  # é is two bytes
    assert row["value"] == 0.5
    assert row["p_value"] == pytest.approx(1, abs=0.01)  # two against two: every division is as far apart
    assert row["method"] == "samples dealt out anew, 999 draws"


def test_tools_weigh_as_much_as_an_attempt_calls_them(store: Reading) -> None:
    found = drift_categories(store, by="tool").set_index("value")
    # Train: a calls search ½ and read 1½ times an attempt, b reads twice: search ½ of 4.
    assert found.loc["search", ["first_share", "second_share"]].tolist() == pytest.approx([0.125, 0.6])
    assert found.loc["search", "difference"] == pytest.approx(0.475)
    row = row_of(drift(store), "tool")
    assert (row["value"], row["category"]) == (pytest.approx(0.475), "search")


def test_a_status_is_a_share_of_the_attempts(store: Reading) -> None:
    found = drift_categories(store, by="status").set_index("value")
    assert found.loc["truncated", ["first_share", "second_share"]].tolist() == [0.25, 0]
    assert found.loc["completed", "num_first"] == 2


def test_what_cannot_differ_is_not_tested(store: Reading) -> None:
    frame = drift(store)
    assert row_of(frame, "tag")["reason"] == "there is one value: t"
    assert row_of(frame, "reward")["reason"] == "every value is 0.5"
    assert row_of(frame, "cost_usd")["reason"] == (
        "nothing is known of it in the first selection and the second selection"
    )
    assert not frame["is_shifted"].any()


def test_the_curves_that_are_compared(store: Reading) -> None:
    frame = drift_curve(store, measure="tool_calls")
    assert frame[["side", "value", "share_at_most"]].values.tolist() == [
        ["first", 1.0, 0.25],
        ["first", 2.0, 0.75],
        ["first", 3.0, 1.0],
        ["second", 4.0, 0.5],
        ["second", 6.0, 1.0],
    ]
    assert drift_curve(store, measure="cost_usd").empty
    with pytest.raises(QuestionError, match="measure must be one of"):
        drift_curve(store, measure="x")


def many(split: str, num: int, made: Callable[[int], dict[str, Any]], run: str = "job") -> list[Rollout]:
    return [rollout(run, sample_id=f"{split}{each}", split=split, **made(each)) for each in range(num)]


def test_single_attempts_are_scipy_s_kolmogorov_smirnov_and_welch(tmp_path: Path) -> None:
    generator = np.random.default_rng(2)
    first, second = generator.normal(10, 1, 40), generator.normal(11, 2, 60)
    rows = many("train", 40, lambda each: {"latency_s": float(first[each])})
    rows += many("valid", 60, lambda each: {"latency_s": float(second[each])})
    row = row_of(drift(build_store(tmp_path, rows)), "latency_s")
    assert row["value"] == pytest.approx(stats.ks_2samp(first, second).statistic)
    welch = stats.ttest_ind(second, first, equal_var=False).confidence_interval()
    assert row[["ci_low", "ci_high"]].tolist() == pytest.approx([welch.low, welch.high])
    assert row["is_shifted"]
    assert row["p_value_holm"] == row["p_value"]  # nothing else can be tested


def test_slices_whose_share_grew_and_what_moved_in_them(tmp_path: Path) -> None:
    def made(tags: tuple[str, ...], text: str, tokens: int) -> dict[str, Any]:
        return {"sample": prompt(text, *tags), "output_tokens": tokens, "environment": "e"}

    rows = many("train", 20, lambda each: made(("x",) if each < 5 else ("y",), "a" * (each + 1), 100 + each % 3))
    rows += many("valid", 20, lambda each: made(("x",) if each < 15 else (), "a" * 30, 200 + each % 3))
    frame = drift_slices(build_store(tmp_path, rows))
    tags = frame[frame["by"] == "tag"].set_index("slice")
    assert tags.index.tolist() == ["y", "x"]
    assert tags.loc["x", ["num_first", "num_second", "first_share", "second_share"]].tolist() == [5, 15, 0.25, 0.75]
    assert tags.loc["x", "moved_measure"] == "output_tokens"
    assert tags.loc["x", "moved_difference"] == pytest.approx(201 - 100.8)
    assert tags.loc["x", "moved_p_value_holm"] < 0.001
    assert pd.isna(tags.loc["y", "moved_measure"])  # none of it in validation
    lengths = frame[frame["by"] == "prompt_length"].set_index("slice")
    assert lengths.loc["long prompts", ["first_share", "second_share"]].tolist() == [0.35, 1.0]
    with pytest.raises(QuestionError, match="by must be one of"):
        drift_slices(build_store(tmp_path / "2", rows), by="colour")


def test_prompts_that_stand_in_both_word_for_word(tmp_path: Path) -> None:
    texts = {"train": ["same", "one", "two"], "valid": ["same", "three"]}
    rows = [
        rollout("job", sample_id=f"{split}{place}", split=split, step=step, sample=prompt(text))
        for split, own in texts.items()
        for place, text in enumerate(own)
        for step in ((1, 2) if split == "train" else (9,))
    ]
    frame = drift_overlap(
        build_store(tmp_path, rows), first="job@9", first_split="valid", second="job@2", second_split="train"
    )
    assert frame[
        ["first_sample_id", "second_sample_id", "num_rollouts_first", "num_rollouts_second"]
    ].values.tolist() == [["valid0", "train0", 1, 2]]
    assert frame[["num_total", "num_samples_shared", "num_samples_of_second", "prompt"]].values.tolist() == [
        [1, 1, 3, "same"]
    ]


def test_prompts_are_read_from_messages_where_samples_say_nothing(tmp_path: Path) -> None:
    def told(text: str) -> dict[str, Any]:
        messages = [{"role": "system", "text": "xy"}, {"role": "user", "text": text}]
        return {"messages": [*messages, {"role": "assistant", "text": "long answer", "turn": 0, "input_tokens": 7}]}

    rows = many("train", 3, lambda each: told("a" * each)) + many("valid", 3, lambda _: told("abcd"))
    store = build_store(tmp_path, rows)
    if set(drift_selections(store)["prompt_from"]) == {"messages"}:
        row = row_of(drift(store), "prompt_bytes")
        assert (row["first_mean"], row["second_mean"]) == (3, 6)
    assert row_of(drift(store), "first_input_tokens")["reason"] == "every value is 7"


def test_traffic_that_nobody_scored_has_not_failed(tmp_path: Path) -> None:
    rows = many("valid", 12, lambda each: {"reward": float(each > 5), "step": 1, "status": "completed"})
    rows += many("production", 12, lambda each: {"status": "completed" if each else "infra_error"})
    store = build_store(tmp_path, rows)
    assert row_of(drift(store), "failure_cause")["reason"] == "nothing is known of it in the second selection"
    assert row_of(drift(store), "reward")["num_unknown_second"] == 12


def test_production_is_found_for_a_checkpoint(tmp_path: Path) -> None:
    rows = many("valid", 30, lambda each: {"step": 1, "sample": prompt("a" * (10 + each % 5))})
    rows += many("production", 30, lambda each: {"sample": prompt("a" * (40 + each % 5))})
    store = build_store(tmp_path, rows)
    frame = production_drift(store, arm="job@1")
    assert row_of(frame, "prompt_bytes")[["production_run", "related_by", "is_shifted"]].tolist() == [
        "job",
        "run",
        True,
    ]
    assert row_of(frame, "prompt_bytes")["ratio"] == pytest.approx(42 / 12)
    assert production_drift(store, arm="job", split="production").empty
    assert production_drift(build_store(tmp_path / "2", many("valid", 2, lambda _: {})), arm="job").empty


def test_odd_stores_have_an_answer(tmp_path: Path) -> None:
    rows = [rollout("job", sample_id="a", split="train", reward=float("nan")), rollout("job", split="valid")]
    store = build_store(tmp_path, rows)
    frame = drift(store)
    assert not frame["is_shifted"].any()
    assert frame["reason"].notna().all()
    assert drift_slices(store).empty
    assert drift_overlap(store).empty


def test_more_samples_than_units_are_compared_in_batches(tmp_path: Path) -> None:
    rows = many("train", 1_200, lambda each: {"latency_s": float(each % 50)})
    rows += many("valid", 300, lambda each: {"latency_s": float(each % 50)})
    row = row_of(drift(build_store(tmp_path, rows)), "latency_s")
    assert row["num_first"] == 1_200
    assert row["value"] == pytest.approx(0, abs=1e-9)
    assert row["method"] == "samples drawn with replacement, 999 draws"
    assert not row["is_shifted"]
