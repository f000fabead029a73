"""Reward, graders, behaviour and reported numbers over steps, against rows computed by hand."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from ingest.errors import QuestionError
from ingest.sources.base import Rollout, Row
from queries.behaviour import behaviour_by_step, stop_reasons_by_step
from queries.curves import best_step, reward_curve, scores_by_step, step_deltas
from queries.filters import Filters
from queries.reported import checkpoints, reported_metrics, reward_agreement, run_limits
from tests.stores import build_store, call, rollout


def at(step: int | None, sample: str, reward: float | None, **values: Any) -> Rollout:
    return rollout(step=step, sample_id=sample, reward=reward, split=values.pop("split", "valid"), **values)


def only(frame: pd.DataFrame) -> dict[str, Any]:
    assert len(frame) == 1
    return {name: None if pd.isna(value) else value for name, value in frame.iloc[0].items()}


def test_reward_is_the_mean_over_samples_not_over_rollouts(tmp_path: Path) -> None:
    # a: (1 + 0) / 2 = .5, b: 1; their mean is .75, while the three rewards average 2/3. c is not scored.
    store = build_store(tmp_path, [at(3, "a", 1.0), at(3, "a", 0.0), at(3, "b", 1.0), at(3, "c", None)])
    row = only(reward_curve(store))
    assert (row["run_id"], row["split"], row["step"]) == ("r", "valid", 3)
    assert (row["num_rollouts"], row["num_scored"]) == (4, 3)
    assert (row["num_samples"], row["num_samples_scored"]) == (3, 2)
    assert row["reward_mean"] == 0.75
    # t(1) at 97.5 % is 12.7062; s of (.5, 1) is .353553; / √2 = .25.
    assert row["reward_ci_low"] == pytest.approx(0.75 - 12.7062 * 0.25, abs=1e-4)
    assert row["reward_ci_high"] == pytest.approx(0.75 + 12.7062 * 0.25, abs=1e-4)


def test_the_same_id_in_another_environment_is_another_sample(tmp_path: Path) -> None:
    # Environments number their rows from 0 each: web 0 has (0 + 0) / 2 = 0, shop 0 has 1, shop 1 has 1; mean 2/3.
    rows = [at(0, "0", 0.0, environment="web"), at(0, "0", 0.0, environment="web")]
    rows += [at(0, sample, 1.0, environment="shop") for sample in "01"]
    row = only(reward_curve(build_store(tmp_path, rows)))
    assert (row["num_samples"], row["num_rollouts"]) == (3, 4)
    assert row["reward_mean"] == pytest.approx(2 / 3)


def test_failures_are_graded_zero_and_can_be_left_out(tmp_path: Path) -> None:
    rows = [at(0, "a", 1.0), at(0, "b", 0.0, status="infra_error"), at(0, "c", None, status="grader_error")]
    row = only(reward_curve(build_store(tmp_path, rows)))
    assert row["reward_mean"] == 0.5
    assert row["reward_masked_mean"] == 1.0
    assert (row["num_failed"], row["num_failed_scored"]) == (2, 1)


def test_one_sample_has_no_interval_and_nothing_scored_no_mean(tmp_path: Path) -> None:
    frame = reward_curve(build_store(tmp_path, [at(0, "a", None), at(1, "a", 0.4), at(1, "a", 0.6)]))
    assert frame["reward_mean"].isna().tolist() == [True, False]
    assert frame["reward_mean"].iloc[1] == pytest.approx(0.5)
    assert frame["reward_ci_low"].isna().all()
    assert frame["pass_rate"].isna().all()


def test_nothing_in_gives_the_same_columns_and_no_rows(tmp_path: Path) -> None:
    store = build_store(tmp_path, [at(0, "a", 1.0)])
    nothing = Filters(run_ids=("other",))
    for question in (reward_curve, behaviour_by_step, scores_by_step, best_step, stop_reasons_by_step, checkpoints):
        assert question(store, nothing).empty
        assert list(question(store, nothing).columns) == list(question(store).columns)
    assert reward_agreement(store).empty
    assert reported_metrics(store).empty


def test_graders_have_curves_of_their_own(tmp_path: Path) -> None:
    def scored(sample: str, step: int, *values: float | None) -> Rollout:
        names = ("answer", "format")
        scores = [
            {"grader": name, "value": value, "kind": "subscore"} for name, value in zip(names, values, strict=True)
        ]
        return rollout(sample_id=sample, step=step, split="valid", scores=scores)

    rows = [scored("a", 0, 1.0, None), scored("a", 0, 0.0, None), scored("b", 0, 0.0, 0.25), scored("b", 1, 1.0, None)]
    frame = scores_by_step(build_store(tmp_path, rows))
    assert frame[["grader", "step", "num_rollouts", "num_scored", "num_samples_scored"]].values.tolist() == [
        ["answer", 0, 3, 3, 2],
        ["answer", 1, 1, 1, 1],
        ["format", 0, 3, 1, 1],
    ]
    assert frame["score_mean"].tolist() == [0.25, 1.0, 0.25]
    assert frame["score_ci_low"].notna().tolist() == [True, False, False]


def test_the_best_step_and_those_that_cannot_be_told_apart(tmp_path: Path) -> None:
    rewards = {0: (0.0, 0.1, 0.0, 0.1), 5: (0.7, 0.9, 0.8, 0.8), 9: (0.8, 0.8, 0.7, 1.0)}
    rows = [at(step, sample, value) for step, of in rewards.items() for sample, value in zip("abcd", of, strict=True)]
    frame = best_step(build_store(tmp_path, rows))
    assert frame["step"].tolist() == [9, 5, 0]
    assert frame["is_best"].tolist() == [True, False, False]
    assert frame["reward_mean"].tolist() == pytest.approx([0.825, 0.8, 0.05])
    assert frame["delta_mean"].tolist() == pytest.approx([0.0, -0.025, -0.775])
    assert frame["is_tied"].tolist() == [False, True, False]
    # Step 0: differences −.8, −.7, −.7, −.9; s = .0957427; two others, so t(3) at 98.75 % = 4.17653.
    assert frame["delta_ci_low"].iloc[2] == pytest.approx(-0.775 - 4.17653 * 0.0957427 / 2, abs=1e-4)


def test_every_step_against_the_first(tmp_path: Path) -> None:
    rows = [at(0, "a", 0.0), at(0, "b", 0.5), at(0, "c", 1.0), at(7, "a", 0.5), at(7, "b", 0.5), at(7, "d", 1.0)]
    frame = step_deltas(build_store(tmp_path, rows))
    assert frame[["step", "reference_step", "num_paired"]].values.tolist() == [[0, 0, 3], [7, 0, 2]]
    # a +.5, b 0: mean .25, s / √2 = .25.
    assert frame["delta_mean"].tolist() == [0.0, 0.25]
    assert pd.isna(frame["delta_ci_low"].iloc[0])
    assert frame["delta_ci_low"].iloc[1] == pytest.approx(0.25 - 12.7062 * 0.25, abs=1e-4)
    with pytest.raises(QuestionError, match="first or best"):
        step_deltas(build_store(tmp_path / "other", rows), reference="last")


def test_limits_come_from_the_runs_configuration(tmp_path: Path) -> None:
    hyperparameters = '{"max_tool_calls": 10, "max_wait": "long", "lr": 1, "max_tool_calling_iterations": 3}'
    settings = {"hyperparameters": hyperparameters, "config": '{"max_steps": 30, "max_cost_usd": 0.5}'}
    runs = [Row("runs", {"name": "r", "precedence": 1, **settings}, run="r")]
    frame = run_limits(build_store(tmp_path, [at(0, "a", 1.0)], runs))
    # `max_steps` is how long a trainer trains: it limits no rollout.
    assert frame.astype(object).where(frame.notna(), None)[["name", "value", "measure"]].values.tolist() == [
        ["max_cost_usd", 0.5, "cost_usd"],
        ["max_steps", 30.0, None],
        ["max_tool_calling_iterations", 3.0, "sequential_rounds"],
        ["max_tool_calls", 10.0, "tool_calls"],
    ]


def test_a_step_that_shares_no_sample_with_the_best_is_tied(tmp_path: Path) -> None:
    frame = best_step(build_store(tmp_path, [at(0, "a", 0.1), at(1, "b", 0.9), at(2, "a", 0.5, split="train")]))
    assert frame[["step", "num_paired", "is_tied"]].values.tolist() == [[1, 1, False], [0, 0, True]]


def test_of_equal_steps_the_earliest_is_best(tmp_path: Path) -> None:
    frame = best_step(build_store(tmp_path, [at(step, each, 0.3) for step in (4, 2, 7) for each in "abc"]))
    assert frame.loc[frame["is_best"], "step"].tolist() == [2]


def test_behaviour_counts_what_is_known(tmp_path: Path) -> None:
    turn = {"role": "assistant", "text": "x"}
    rows = [
        at(
            2, "a", 1.0, status="completed", latency_s=10.0, output_tokens=100,
            messages=[turn, turn],
            tool_calls=[call("search", '{"q":1}'), call("search", '{"q":1}'), call("cat", '{"f":2}', turn=1)],
        ),
        at(2, "b", 0.0, status="truncated", latency_s=30.0, messages=[turn]),
        at(2, "c", 0.0, status=None),
    ]  # fmt: skip
    row = only(behaviour_by_step(build_store(tmp_path, rows)))
    assert (row["num_rollouts"], row["num_samples"], row["num_tool_calls_known"]) == (3, 3, 2)
    assert (row["tool_calls_mean"], row["turns_mean"]) == (1.5, 1.5)
    assert row["tool_calls_p95"] == pytest.approx(0.95 * 3)
    assert (row["latency_mean_s"], row["latency_p50_s"], row["latency_p95_s"]) == (20.0, 20.0, pytest.approx(29.0))
    assert (row["output_tokens_mean"], row["num_output_tokens_known"]) == (100.0, 1)
    assert row["reasoning_tokens_mean"] is None
    assert row["repeat_rate"] == pytest.approx(1 / 3)
    assert row["tool_error_rate"] == 0.0
    assert row["parallel_turn_rate"] == 0.5
    assert (row["truncation_rate"], row["num_status_known"]) == (0.5, 2)
    assert row["no_tool_call_rate"] == 0.5


def test_without_messages_nothing_is_counted_as_zero(tmp_path: Path) -> None:
    row = only(behaviour_by_step(build_store(tmp_path, [at(0, "a", 1.0)])))
    for name in ("tool_calls_mean", "turns_mean", "tool_error_rate", "repeat_rate", "no_tool_call_rate", "num_calls"):
        assert row[name] is None


def test_attempts_at_a_sample_do_not_narrow_the_interval_of_calls(tmp_path: Path) -> None:
    # Two samples with 2 and 4 calls in every attempt: s of (2, 4) is √2, / √2 = 1, however many attempts.
    rows = [
        at(0, sample, 1.0, messages=[], tool_calls=[call("t", f'{{"n":{n}}}') for n in range(calls)])
        for sample, calls in (("a", 2), ("b", 4))
        for _ in range(3)
    ]
    row = only(behaviour_by_step(build_store(tmp_path, rows)))
    assert row["tool_calls_mean"] == 3.0
    assert row["tool_calls_ci_high"] == pytest.approx(3 + 12.7062, abs=1e-4)


def test_stop_reasons_are_shares_of_their_step(tmp_path: Path) -> None:
    rows = [at(0, "a", 1.0, status="completed", stop_reason="stop") for _ in range(3)] + [at(0, "b", None)]
    frame = stop_reasons_by_step(build_store(tmp_path, rows))
    assert frame["num_rollouts"].tolist() == [3, 1]
    assert frame["share"].tolist() == [0.75, 0.25]
    assert frame["status"].isna().tolist() == [False, True]


def metric(name: str, value: float, step: int = 1, split: str | None = "train") -> Row:
    return Row("metrics", {"name": name, "value": value, "step": step, "split": split, "position": 0}, run="r")


def test_the_trainers_reward_is_found_among_its_metrics(tmp_path: Path) -> None:
    rows = [
        metric("scores/train_reward_mean", 0.5),
        metric("train_mean_reward", 0.5),
        metric("full_valid_mean_reward", 0.6, split="valid"),
        metric("entropy", 2.0, split=None),
    ]
    store = build_store(tmp_path, [at(1, "a", 1.0)], rows)
    frame = reported_metrics(store)
    assert frame[frame["is_reward"]][["split", "name"]].values.tolist() == [
        ["valid", "full_valid_mean_reward"],
        ["train", "scores/train_reward_mean"],
    ]
    assert len(frame) == 4
    assert reported_metrics(store, only_reward=True)["value"].tolist() == [0.6, 0.5]
    assert reported_metrics(store, names=("entropy",))["value"].tolist() == [2.0]
    assert reported_metrics(store, Filters(splits=("valid",)))["name"].tolist() == ["full_valid_mean_reward", "entropy"]


def test_a_run_names_its_own_reward(tmp_path: Path) -> None:
    run = Row("runs", {"name": "r", "reward_name": "score_total", "precedence": 1}, run="r")
    rows = [run, metric("score_total", 0.25, split=None), metric("reward", 0.5, split=None)]
    frame = reported_metrics(build_store(tmp_path, [at(1, "a", 1.0)], rows), only_reward=True)
    assert frame[["split", "name", "value"]].values.tolist() == [["train", "score_total", 0.25]]


def test_reported_reward_is_compared_with_the_rollouts_it_may_mean(tmp_path: Path) -> None:
    def trained(sample: str, step: int, reward: float | None, subset: str) -> Rollout:
        return at(step, sample, reward, split="train", subset=subset)

    rows = [trained("a", 1, 1.0, "effective"), trained("b", 1, 0.5, "effective"), trained("c", 1, 0.0, "all")]
    rows += [trained("a", 2, 1.0, "all"), trained("a", 2, None, "all"), trained("b", 3, 1.0, "all")]
    metrics = [metric("reward", 0.7501), metric("reward", 0.4, step=2)]
    frame = reward_agreement(build_store(tmp_path, rows, metrics))
    assert frame["step"].tolist() == [1, 2]
    assert frame[["all_mean", "effective_mean"]].iloc[0].tolist() == [0.5, 0.75]
    assert [None if pd.isna(each) else each for each in frame["agrees_with"]] == ["effective", None]
    assert frame["difference"].tolist() == pytest.approx([0.0001, -0.6])


def test_checkpoints_by_step(tmp_path: Path) -> None:
    saved = [Row("checkpoints", {"step": step, "checkpoint_id": f"c{step}"}, run="r") for step in (8, 4)]
    frame = checkpoints(build_store(tmp_path, [at(1, "a", 1.0)], saved), Filters(step_from=5))
    assert frame[["step", "checkpoint_id"]].values.tolist() == [[8, "c8"]]
