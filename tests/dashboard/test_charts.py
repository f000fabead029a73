"""Colours, templates and the shared builders."""

import math

import numpy as np
import pandas as pd
import pytest

from dashboard import charts
from dashboard.charts_curves import STATUS_COLOURS, Looks, Series, score_figure, small_multiples, stop_figure
from dashboard.charts_distributions import MAX_GROUPS, cumulative
from dashboard.compare_charts import at_one_place
from ingest.schema import STATUSES


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_of_plots_has_aa_contrast(theme: str) -> None:
    ink = charts.ink(theme)
    assert contrast(ink["text"], ink["paper"]) >= 4.5
    assert contrast(ink["muted"], ink["paper"]) >= 4.5
    assert contrast(charts.BASELINE, ink["paper"]) >= 3
    assert contrast(charts.CANDIDATE, ink["paper"]) >= 3


def test_a_run_keeps_its_colour_and_repeated_colours_differ_by_line() -> None:
    ids = [f"r{number}" for number in range(8)]
    colours, dashes = charts.run_colours(ids), charts.run_dashes(ids)
    assert colours["r0"] == colours["r6"] == charts.CANDIDATE
    assert (dashes["r0"], dashes["r6"]) == ("solid", "dash")
    assert charts.run_colours([*ids, "later"])["r3"] == colours["r3"]


def test_points_are_plain_values_by_name() -> None:
    frame = pd.DataFrame({"run_id": ["a", "b"], "step": pd.array([3, None], dtype="Int64"), "x": [0.5, math.nan]})
    assert charts.points(frame, ["run_id", "step", "x"]) == [
        {"run_id": "a", "step": 3, "x": 0.5},
        {"run_id": "b", "step": None, "x": None},
    ]


def test_a_curve_has_a_band_gaps_and_a_hostile_name_as_text() -> None:
    frame = pd.DataFrame({"step": [0, 1], "y": [0.5, None], "low": [0.4, None], "high": [0.6, None]})
    drawn = charts.figure("step", "reward")
    charts.curve(drawn, frame, x="step", y="y", low="low", high="high", name="<b>x</b>", colour="#0072B2")
    low, high, line = drawn.data
    assert (low.y[0], high.y[0], line.y[0]) == (0.4, 0.6, 0.5)
    assert math.isnan(line.y[1])
    assert line.connectgaps is False
    assert high.fill == "tonexty"
    assert line.name == "&lt;b&gt;x&lt;/b&gt;"
    assert (drawn.layout.xaxis.title.text, drawn.layout.yaxis.title.text) == ("step", "reward")


def test_long_names_are_cut() -> None:
    assert charts.shown("x" * 300 + "-7") == "x" * 26 + "…" + "x" * 11 + "-7"


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_legend_of_many_lines_never_lies_over_a_plot(theme: str) -> None:
    legend = charts.template(theme).layout.legend
    assert (legend.yref, legend.yanchor, legend.y) == ("container", "top", 1)


@pytest.mark.parametrize(
    ("values", "options"),
    [
        ([3], {"dtick": 1, "range": [2, 4]}),
        ([0, 2, None], {"dtick": 1}),
        ([0, 100], {}),
        ([0, 0.5], {}),
        ([], {}),
    ],
)
def test_no_tick_stands_between_two_whole_numbers(values: list[float | None], options: dict[str, object]) -> None:
    assert charts.whole_ticks(values) == options


def test_how_a_rollout_ended_looks_like_no_run() -> None:
    runs = {*charts.RUN_COLOURS, charts.BASELINE, charts.CANDIDATE, charts.GOOD, charts.BAD}
    assert set(STATUS_COLOURS) == set(STATUSES)
    assert not runs & set(STATUS_COLOURS.values())
    assert len(set(STATUS_COLOURS.values())) == len(STATUSES)


def test_reasons_of_one_status_are_told_apart_by_their_pattern() -> None:
    frame = pd.DataFrame({"run_id": "r", "split": "valid", "step": [0, 0, 0], "num_rollouts": [2, 1, 1]})
    frame = frame.assign(share=[0.5, 0.25, 0.25], status=["completed", "truncated", "truncated"])
    drawn = stop_figure(frame.assign(stop_reason=["stop", "length", "no answer"]))
    assert [each.name for each in drawn.data] == ["completed · stop", "truncated · length", "truncated · no answer"]
    assert [each.marker.pattern.shape for each in drawn.data] == ["", "", "/"]
    assert drawn.data[1].marker.color == drawn.data[2].marker.color == STATUS_COLOURS["truncated"]


def test_the_first_panels_titles_lie_below_the_legend() -> None:
    frame = pd.DataFrame({"run_id": ["r", "r"], "grader": ["a", "b"], "step": [0, 0], "score_mean": [0.5, 0.6]})
    frame = frame.assign(score_ci_low=None, score_ci_high=None, num_samples_scored=3)
    drawn = score_figure(frame, Looks({"r": "r"}))
    assert drawn.layout.height == 300
    assert drawn.layout.yaxis.domain == pytest.approx((0, 0.9))
    assert [each.y for each in drawn.layout.annotations] == pytest.approx([0.9, 0.9])


def test_samples_at_one_place_are_counted() -> None:
    assert at_one_place(np.array([1.0, 2.0, 1.0]), np.array([0.5, 0.5, 0.5])).tolist() == [2, 1, 2]
    assert at_one_place(np.array([]), np.array([])).tolist() == []


def test_a_panel_of_nothing_but_zeros_does_not_reach_to_100_percent() -> None:
    frame = pd.DataFrame({"run_id": "r", "split": "valid", "step": [0, 5], "num_rollouts": 9})
    frame = frame.assign(none=[0.0, 0.0], some=[0.0, 0.002], calls=[0, 0])
    panels = [Series("none", "a", digits=".1%"), Series("some", "b", digits=".1%"), Series("calls", "c")]
    drawn = small_multiples(frame, Looks({"r": "r"}), panels)
    assert drawn.layout.yaxis.range == (0, 0.05)
    assert drawn.layout.yaxis2.range is None
    assert drawn.layout.yaxis3.range == (0, 1)


@pytest.mark.parametrize("total", range(2, MAX_GROUPS + 1))
def test_steps_of_one_run_go_from_grey_to_its_blue_through_paler_ones(total: int) -> None:
    frame = pd.DataFrame({"run_id": "r", "split": "valid", "step": range(total), "value": 1.0, "num_rollouts": 3})
    drawn = cumulative(frame.assign(share_at_most=1.0), Looks({"r": "r"}), "calls")
    colours = [each.line.color for each in drawn.data]
    assert (colours[0], colours[-1]) == (charts.BASELINE, charts.CANDIDATE)
    assert len(set(colours)) == total
    assert not set(colours[1:-1]) & set(charts.RUN_COLOURS)
    assert [luminance(each) for each in colours[1:]] == sorted((luminance(each) for each in colours[1:]), reverse=True)
