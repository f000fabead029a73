"""Sentences of the training and behaviour pages, from frames given by hand."""

from typing import Any

import pandas as pd

from dashboard import curve_words, distribution_words, repeat_words
from queries.measures import ROLLOUT_MEASURES

NAMES = {"r": "zava", "s": "other"}
LATENCY = ROLLOUT_MEASURES["latency_s"]


def deltas(*rows: tuple[int, float, int, float | None, float | None, float | None]) -> pd.DataFrame:
    names = ["step", "reward_mean", "num_paired", "delta_mean", "delta_ci_low", "delta_ci_high"]
    return pd.DataFrame(rows, columns=names).assign(run_id="r", num_samples_scored=10)


def level(reward: float | None, **values: Any) -> pd.DataFrame:
    row = {"run_id": "r", "step": None, "reward_mean": reward, "reward_ci_low": 0.4, "reward_ci_high": 0.6}
    counts = {"num_samples_scored": 12, "num_rollouts": 100, "num_scored": 100, "num_failed": 0, "num_failed_scored": 0}
    return pd.DataFrame([row | counts | values])


def test_a_change_is_told_with_its_interval_and_n() -> None:
    changes = deltas((0, 0.43, 10, 0.0, None, None), (18, 0.7215, 10, 0.2918, 0.0687, 0.515))
    assert curve_words.verdict(changes, level(0.7), NAMES, "valid") == (
        "zava: validation reward went from 0.430 at step 0 to 0.722 at step 18: +0.292 [0.069, 0.515] over 10 paired "
        "samples."
    )


def test_an_interval_that_holds_zero_shows_no_difference() -> None:
    changes = deltas((0, 0.5, 4, 0.0, None, None), (1, 0.6, 4, 0.1, -0.2, 0.4))
    assert "no difference could be shown: +0.100 [−0.200, 0.400]" in curve_words.verdict(
        changes, level(0.6), NAMES, "valid"
    )


def test_other_samples_or_too_few_are_said() -> None:
    apart = deltas((0, 0.5, 9, 0.0, None, None), (1, 0.6, 0, None, None, None))
    assert "on different samples (10 and 10 samples)" in curve_words.verdict(apart, level(0.6), NAMES, "train")
    one = deltas((0, 0.5, 1, 0.0, None, None), (1, 0.6, 1, 0.1, None, None))
    assert "too few or too alike for an interval" in curve_words.verdict(one, level(0.6), NAMES, None)


def test_a_run_without_steps_is_a_level_and_nothing_scored_is_said() -> None:
    none = deltas()
    assert curve_words.verdict(none, level(0.5), NAMES, "valid") == (
        "zava: validation reward 0.500 [0.400, 0.600], over 12 samples."
    )
    assert curve_words.verdict(none, level(None), NAMES, "valid") == (
        "Nothing is scored: there is no validation reward to draw."
    )


def test_many_runs_get_one_sentence() -> None:
    rows = [
        deltas((0, 0.5, 9, 0.0, None, None), (9, 0.5 + change, 9, change, change - 0.1, change + 0.1)).assign(
            run_id=name
        )
        for name, change in (("a", 0.2), ("b", -0.3), ("c", 0.05), ("d", 0.3))
    ]
    text = curve_words.verdict(pd.concat(rows), level(0.5), {}, "valid")
    assert text.startswith(
        "Of 4 runs with steps, 2 ended with a higher validation reward than they began, 1 with a lower"
    )
    assert "for 1 no difference could be shown" in text
    assert text.endswith("Highest at its last step: d with 0.800 (n = 10 samples).")


def test_the_best_step_names_its_rivals() -> None:
    rows = {
        "run_id": "r",
        "step": [9, 5, 0],
        "is_best": [True, False, False],
        "is_tied": [False, True, False],
        "reward_mean": [0.8, 0.7, 0.1],
        "reward_ci_low": [0.7, 0.6, 0.0],
        "reward_ci_high": [0.9, 0.8, 0.2],
    }
    assert curve_words.best(pd.DataFrame(rows), NAMES) == (
        "zava: best step 9, 0.800 [0.700, 0.900]; step 5 cannot be told apart from it. Chosen as the highest of these "
        "very numbers, its own reward is optimistic."
    )
    assert curve_words.best(pd.DataFrame(rows).head(1), NAMES) == ""


def test_failures_are_a_caution_above_five_percent() -> None:
    assert curve_words.failures(level(0.5, num_failed=5), NAMES) == ""
    assert curve_words.failures(level(0.5, num_failed=6, num_failed_scored=4), NAMES) == (
        "zava: 6.0 % of 100 rollouts ended in an infrastructure or grader error, 4 of them with a reward. Compare the "
        "curve with failures left out."
    )
    assert curve_words.unscored(level(0.5, num_scored=99)) == "1 of 100 rollouts was not scored and is in no mean."
    assert curve_words.unscored(level(0.5, num_scored=98)) == "2 of 100 rollouts were not scored and are in no mean."


def agreement(*agrees: str | None) -> pd.DataFrame:
    rows = {"run_id": "r", "name": "reward", "step": range(len(agrees)), "agrees_with": list(agrees)}
    numbers = {"reported": 0.5, "all_mean": 0.4, "num_scored": 8, "difference": 0.1}
    return pd.DataFrame(rows | numbers).astype({"agrees_with": object})


def test_the_reported_reward_is_named_for_what_it_is() -> None:
    assert curve_words.reported(agreement("effective", "effective", None), NAMES) == (
        "zava: the trainer's reward is the mean over the rollouts that were trained on (the same within 0.005 at 2 "
        "of 3 steps)."
    )
    assert curve_words.reported(agreement("all", None), NAMES) == ""
    assert curve_words.disagreement(agreement("all"), NAMES) == ""
    assert curve_words.disagreement(agreement("all", None), NAMES) == (
        "zava: at 1 of 2 steps the reported reward is no mean of the rollouts read here; at step 1 it says 0.500, they "
        "give 0.400 (n = 8 rollouts)."
    )


def test_behaviour_leaves_out_what_is_not_known() -> None:
    columns = {"tool_calls_mean": [3.26, 5.22], "reasoning_tokens_mean": [None, None], "latency_p50_s": [90.3, 108.5]}
    rates = {"tool_error_rate": [0.01, 0.19], "repeat_rate": [None, 0.1]}
    frame = pd.DataFrame({"run_id": "r", "step": [0, 18], "num_rollouts": 50, **columns, **rates})
    assert curve_words.behaviour(frame, NAMES) == (
        "zava, from step 0 to step 18: tool calls per rollout from 3.26 to 5.22; median latency from 90.3 s to "
        "108 s; failed calls from 1.0 % to 19 % (n = 50 and 50 rollouts)."
    )
    assert curve_words.behaviour(frame.head(1), NAMES) == ""


def summary(**values: Any) -> pd.DataFrame:
    row = {
        "num_rollouts": 50,
        "num_missing": 0,
        "num_splits": 1,
        "num_steps": 1,
        "p25": 3.0,
        "p50": 4.0,
        "p75": 5.5,
        "p95": 9.0,
    }
    return pd.DataFrame([row | values])


def test_a_distribution_in_one_sentence() -> None:
    assert distribution_words.summary(summary(), ["zava"], LATENCY) == (
        "Latency of a rollout. zava: median 4 s, half of the rollouts between 3 and 5.50, 95 % at most 9 "
        "(n = 50 rollouts)."
    )
    assert distribution_words.summary(summary(num_rollouts=1), ["zava"], LATENCY) == (
        "Latency of a rollout. zava: 4 s (n = 1 rollout)."
    )
    assert distribution_words.summary(summary(num_rollouts=0), ["zava"], LATENCY) == (
        "No rollout that is left says anything about latency of a rollout."
    )


def test_pooling_and_missing_values_are_cautions() -> None:
    assert distribution_words.cautions(summary(), ["zava"]) == []
    found = distribution_words.cautions(summary(num_splits=2, num_steps=4, num_missing=5, num_rollouts=15), ["zava"])
    assert found == [
        "zava: several splits are pooled; group by split, or choose one in the sidebar.",
        "zava: 4 steps are pooled; group by step.",
        "5 of 20 rollouts do not tell this number and are left out.",
        "zava: fewer than 20 rollouts, too few for a shape.",
    ]
    assert distribution_words.drawn(3, 6) == ""
    assert distribution_words.drawn(9, 6).startswith("6 of 9 groups are drawn")


def tail(**values: Any) -> pd.DataFrame:
    row = {"num_rollouts": 200, "num_tail": 10, "share": 0.05, "ci_low": 0.027, "ci_high": 0.09}
    costs = {"tool_calls_share": 0.2, "output_tokens_share": None, "latency_share": 0.31}
    return pd.DataFrame([row | costs | values]).astype(object)


def test_the_tail_says_what_it_costs() -> None:
    assert distribution_words.tail(tail(), ["zava"], LATENCY, 60.0) == (
        "zava: 5.0 % [2.7 %, 9.0 %] of 200 rollouts are above 60 s; they take 20 % of all calls and 31 % of all time."
    )
    assert distribution_words.tail(tail(num_tail=0, ci_high=0.019), ["zava"], LATENCY, 60.0) == (
        "zava: none of 200 rollouts is above 60 s (95 % interval up to 1.9 %)."
    )


def test_percentiles_without_interval_say_why() -> None:
    frame = pd.DataFrame({"percentile": [95, 99], "reason": [None, "n too small: 368 needed for P99"]})
    assert distribution_words.without_interval(frame) == (
        "There is no interval for P99 (n too small: 368 needed for P99)."
    )
    frame = pd.concat([frame, frame])
    assert distribution_words.without_interval(frame) == (
        "Not every group has an interval for P99 (n too small: 368 needed for P99)."
    )
    assert distribution_words.without_interval(frame.iloc[[1, 3]]).startswith("No group has an interval for P99")
    assert distribution_words.without_interval(frame.head(1)) == ""


def test_tools_in_one_sentence() -> None:
    frame = pd.DataFrame({"run_id": "r", "tool": ["cat", "ls"], "num_calls": [30, 10], "num_errors": [0, 4]})
    assert distribution_words.tools(frame, NAMES) == (
        "zava: 40 calls to 2 tools, most to cat (75 %); ls fails most (4 of 10 calls)."
    )


def repeats(**values: Any) -> pd.DataFrame:
    row: dict[str, Any] = {
        "run_id": "r",
        "split": "valid",
        "step": 1,
        "num_rollouts": 20,
        "num_rollouts_unknown": 0,
        "num_calls": 100,
        "num_exact_repeats": 10,
        "num_same_output": 6,
        "num_different_output": 4,
        "num_unknown_output": 0,
        "num_near_repeats": 3,
        "num_wasted_calls": 5,
        "wasted_tokens_estimate": 1200,
        "wasted_latency_s": 7.5,
    }
    return pd.DataFrame([row | values])


def test_repeats_tell_what_came_back_and_what_was_wasted() -> None:
    assert repeat_words.verdict(repeats(), NAMES) == (
        "zava: 10 % of 100 calls in 20 rollouts repeat an earlier one; 5 of these 10 were wasted (about "
        "1\u202f200 tokens, 7.5 s)."
    )
    assert repeat_words.verdict(repeats(num_exact_repeats=0), NAMES) == (
        "zava: no call repeats an earlier one exactly, 3 do nearly (of 100 calls in 20 rollouts)."
    )
    assert "none of these was wasted" in repeat_words.verdict(repeats(num_wasted_calls=0), NAMES)
    assert repeat_words.verdict(repeats(num_calls=0), NAMES) == "zava: no call whose repeats could be told."


def test_what_cannot_be_told_of_repeats_is_a_caution() -> None:
    assert repeat_words.cautions(repeats()) == []
    both = pd.concat([repeats(num_rollouts_unknown=4, num_unknown_output=5), repeats(split="train")])
    assert repeat_words.cautions(both) == [
        "In 4 of 44 rollouts repeats cannot be told, because the source kept no calls or no arguments.",
        "Several splits are pooled here; choose one in the sidebar.",
    ]
    assert "5 have no output kept" in repeat_words.cautions(repeats(num_unknown_output=5))[0]


def test_loops_in_one_sentence() -> None:
    frame = pd.DataFrame({"num_total": [3], "longest_loop": [8]})
    assert repeat_words.loops(frame, 40) == (
        "3 of 40 rollouts go through a cycle of one to four calls at least twice; the longest takes 8 calls."
    )
    assert repeat_words.loops(frame.assign(num_total=1), 40).startswith("1 of 40 rollouts goes through")
    assert repeat_words.loops(frame.head(0), 40) == "No rollout goes round in circles."


def test_bars_of_repeats_that_are_not_drawn_are_told() -> None:
    frame = pd.DataFrame({"run_id": ["a", "b", "b"], "num_exact_repeats": [1, 0, 2], "num_near_repeats": [0, 0, 3]})
    assert repeat_words.drawn(frame, 1) == "The 1 of 2 tools of a run with the most repeats are drawn."
    assert repeat_words.drawn(frame, 2) == ""


def test_a_metric_of_several_splits_is_chosen_by_split() -> None:
    metrics = pd.DataFrame({"name": ["kl", "kl", "loss"], "split": ["train", None, "train"]})
    assert curve_words.metric_entries(metrics).tolist() == ["kl · train", "kl · no split", "loss"]
