"""Figures of the training and behaviour pages, and what a selected point stands for."""

from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest

from dashboard import charts_curves, charts_distributions, charts_repeats, picks
from dashboard.charts_curves import Looks
from dashboard.selection import narrowed
from queries.filters import Filters
from queries.smoothing import ema

LOOKS = Looks({"r": "zava", "b": "base"})


def curve(num_steps: int, **values: Any) -> pd.DataFrame:
    rewards = np.linspace(0.2, 0.8, num_steps)
    bounds = {"reward_ci_low": rewards - 0.1, "reward_ci_high": rewards + 0.1, "num_samples_scored": 10}
    keys = {"run_id": "r", "split": "valid", "step": range(num_steps), "environment": None, "subset": "all"}
    return pd.DataFrame(keys | {"reward_mean": rewards} | bounds | values)


def lines(figure: Any) -> list[Any]:
    return [trace for trace in figure.data if trace.mode == "lines" and trace.line.width == 3]


def test_only_twenty_points_are_smoothed_and_from_the_raw_series() -> None:
    assert lines(charts_curves.reward_figure(curve(19), LOOKS)) == []
    smoothed = lines(charts_curves.reward_figure(curve(20), LOOKS))
    assert len(smoothed) == 1
    assert np.allclose(smoothed[0].y, ema(curve(20)["reward_mean"].to_numpy(), charts_curves.WEIGHT))


def test_a_run_without_steps_is_drawn_across_and_can_be_clicked() -> None:
    level = curve(1, run_id="b", step=None).astype({"step": "Int64"})
    figure = charts_curves.reward_figure(pd.concat([curve(3), level]), LOOKS)
    across = next(trace for trace in figure.data if trace.name == "base")
    assert (list(across.x), list(across.y)) == ([0.0, 2.0], [0.2, 0.2])
    assert across.customdata[1]["run_id"] == "b"
    alone = charts_curves.reward_figure(level, LOOKS).data[0]
    assert (list(alone.x), list(alone.y)) == (["base"], [0.2])
    assert alone.error_y.arrayminus[0] == pytest.approx(0.1)


def test_the_baseline_is_grey_and_the_others_keep_the_order() -> None:
    looks = Looks({"a": "a", "base": "base", "c": "c"}, "base")
    assert looks.colours == {"a": "#0072B2", "base": "#6B7280", "c": "#D55E00"}


def test_only_the_best_step_is_named() -> None:
    best = pd.DataFrame({"run_id": "r", "step": [2, 1, 0], "is_best": [True, False, False], "reward_mean": 0.5})
    figure = charts_curves.reward_figure(curve(3), LOOKS, best=best)
    assert [each.text for each in figure.layout.annotations] == ["best: step 2"]
    assert not charts_curves.reward_figure(curve(1), LOOKS, best=best.tail(1).assign(is_best=True)).layout.annotations


def test_at_least_falls_at_the_lower_value_and_at_most_rises_at_the_higher() -> None:
    frame = pd.DataFrame(
        {"run_id": "r", "split": None, "step": None, "value": [2.0, 5.0], "num_rollouts": 4, "share_at_least": [1, 0.5],
         "share_at_most": [0.5, 1], "band_low": 0.1, "band_high": 1}
    )  # fmt: skip
    tail = charts_distributions.survival(frame, LOOKS, "calls", log_x=False, limits=[])
    # Between 2 and 5 half of the rollouts lie above and half below: both curves say 0.5 there.
    assert {trace.line.shape for trace in tail.data} == {"vh"}
    assert charts_distributions.cumulative(frame, LOOKS, "calls").data[0].line.shape == "hv"


def test_environments_get_panels_on_one_scale() -> None:
    both = pd.concat([curve(3, environment="x"), curve(3, environment="y")])
    figure = charts_curves.reward_figure(both, LOOKS)
    assert [each.text for each in figure.layout.annotations] == ["x", "y"]
    assert figure.layout.yaxis2.matches == "y"


def test_groups_that_are_drawn_are_spread_from_first_to_last() -> None:
    assert charts_distributions.spread(list("abc"), 3) == ["a", "b", "c"]
    assert charts_distributions.spread(list("abcdefg"), 3) == ["a", "d", "g"]


def test_usage_is_summed_over_steps() -> None:
    usage = pd.DataFrame(
        {"run_id": "r", "step": [0, 1, 1], "tool": ["a", "a", "b"], "num_calls": [3, 1, 4], "num_errors": [1, 1, 0],
         "num_repeats": 0}
    )  # fmt: skip
    totals = charts_distributions.over_steps(usage)
    assert totals[["tool", "num_calls", "error_rate", "share"]].values.tolist() == [
        ["a", 4, 0.5, 0.5],
        ["b", 4, 0, 0.5],
    ]


def test_transitions_begin_at_the_start_and_end_at_the_end() -> None:
    frame = pd.DataFrame(
        {
            "run_id": "r",
            "from_tool": [None, "a", "a"],
            "to_tool": ["a", "a", None],
            "num_transitions": [1, 3, 1],
            "share": [1, 0.75, 0.25],
        }
    )
    grid, cells = charts_repeats.transition_figure(frame).data
    assert (list(grid.x), list(grid.y)) == (["a", "end"], ["start", "a"])
    assert np.array_equal(grid.z, [[1.0, np.nan], [0.75, 0.25]], equal_nan=True)
    assert list(zip(cells.y, cells.x, strict=True)) == [("start", "a"), ("a", "a"), ("a", "end")]
    assert cells.customdata[2] == {"run_id": "r", "from_tool": "a", "to_tool": None, "num_transitions": 1}
    assert cells.text[1] == "after a: a in 75 % (3 times)"
    assert len(picks.points(go.Figure([cells]))) == 3


def test_repeats_of_the_same_output_that_were_not_wasted_stand_apart() -> None:
    frame = charts_repeats.told_apart(pd.DataFrame({"num_same_output": [5], "num_wasted_calls": [3]}))
    assert frame["num_same_not_wasted"].tolist() == [2]


def test_a_point_narrows_the_filters_of_the_page() -> None:
    point = {"run_id": "r", "split": "train", "step": 4, "subset": "effective", "environment": None}
    found = narrowed(Filters(statuses=("completed",)), point)
    assert found == Filters(
        run_ids=("r",), splits=("train",), step_from=4, step_to=4, statuses=("completed",), subset="effective"
    )
    assert narrowed(Filters(subset="effective"), {"step": None}) == Filters(subset="effective")


def test_a_selected_point_is_found_again_though_browsers_know_one_kind_of_number() -> None:
    assert picks.token({"value": 3.0, "run_id": "r"}) == picks.token({"run_id": "r", "value": 3})
    assert picks.token({"value": 3.5}) != picks.token({"value": 3})


def test_a_point_keeps_its_name_when_its_numbers_change() -> None:
    before, after = ({"run_id": "r", "step": 3, "split": "valid", "num_rollouts": each} for each in (8, 16))
    assert picks.token(before) == picks.token(after)
    assert picks.token(before) != picks.token(before | {"step": 4})


def test_bands_of_many_runs_do_not_drown_one_another() -> None:
    few, many = (pd.concat([curve(3, run_id=f"r{each}") for each in range(number)]) for number in (4, 5))
    filled = [
        [trace for trace in charts_curves.reward_figure(frame, LOOKS).data if trace.fill] for frame in (few, many)
    ]
    assert [len(each) for each in filled] == [4, 0]


def test_an_empty_bin_is_a_gap_in_the_edge_of_a_histogram() -> None:
    rows = pd.DataFrame({"bin_low": [0.5, 2.5], "bin_high": [1.5, 3.5], "share": [0.25, 0.75]})
    edge = charts_distributions._outline(rows, "#0072B2", "zava")
    assert list(zip(edge.x, edge.y, strict=True)) == [
        *((0.5, 0.0), (0.5, 0.25), (1.5, 0.25), (1.5, 0.0)),
        *((2.5, 0.0), (2.5, 0.75), (3.5, 0.75), (3.5, 0.0)),
    ]


def test_a_run_whose_environment_is_not_named_is_drawn_beside_those_of_others() -> None:
    frame = pd.concat([curve(3, environment="maze"), curve(3, run_id="b", environment="shop"), curve(3, run_id="c")])
    figure = charts_curves.reward_figure(frame, LOOKS)
    assert [each.text for each in figure.layout.annotations] == ["maze", "shop", "environment not named"]
    points = [trace for trace in figure.data if trace.customdata is not None]
    assert [(trace.customdata[0]["run_id"], trace.yaxis) for trace in points] == [("r", "y"), ("b", "y2"), ("c", "y3")]


def test_of_many_tools_those_with_the_most_repeats_are_drawn_the_most_first() -> None:
    rows = [
        {
            "run_id": "r",
            "tool": f"t{each:02}",
            "num_calls": 99,
            "repeat_rate": 0.1,
            "num_exact_repeats": each % 20,
            "num_same_output": each % 20,
            "num_wasted_calls": each % 20,
            **dict.fromkeys(("num_near_repeats", "num_unknown_output", "num_different_output"), 0),
        }
        for each in range(20)
    ]
    drawn = charts_repeats.tool_figure(pd.DataFrame(rows), {})
    assert list(drawn.layout.yaxis.ticktext) == [f"t{each:02}" for each in range(19, 4, -1)]
    assert list(drawn.data[0].x) == list(range(19, 4, -1))


def test_tools_of_runs_with_long_names_are_bars_of_their_own() -> None:
    counts = ("num_near_repeats", "num_unknown_output", "num_different_output", "num_wasted_calls", "num_same_output")
    rows = [
        {"run_id": run, "tool": "search" * 20, "num_calls": 9, "repeat_rate": 0.1, "num_exact_repeats": 1}
        | dict.fromkeys(counts, 0)
        for run in ("x" * 100, "x" * 101)
    ]
    drawn = charts_repeats.tool_figure(pd.DataFrame(rows), {})
    assert list(drawn.data[0].y) == [0, 1]
