"""Figures of repeated calls: by tool, over steps, and which tool follows which. Frames in, figures out."""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from dashboard import charts
from dashboard.charts_curves import Series
from dashboard.rows import records, texts
from dashboard.words import percent, plural

KINDS: Final = (
    ("num_wasted_calls", "same output, wasted", "#6B4E9E", ""),
    ("num_same_not_wasted", "same output, something may have changed", "#9C84C6", ""),
    ("num_unknown_output", "output not known", "#9AA3AE", "/"),
    ("num_different_output", "different output", "#C5B7E0", ""),
    ("num_near_repeats", "alike, not equal", "#B4A5D2", "."),
)
"""What a repeat can be, from the worst to the most harmless: column, words, colour (of no run), pattern."""
OVER_STEPS: Final = (
    Series("repeat_rate", "repeat rate", num="num_calls", over="calls", digits=".1%"),
    Series("near_repeat_rate", "near-repeat rate", num="num_calls", over="calls", digits=".1%"),
    Series("wasted_call_rate", "wasted-call rate", num="num_calls", over="calls", digits=".1%"),
    Series("rollouts_looping_rate", "rollouts with a loop of 4 calls or more", digits=".1%"),
)
MAX_TOOLS: Final = 15
START, END = "start", "end"


def told_apart(frame: pd.DataFrame) -> pd.DataFrame:
    """Repeats summed over runs' tools, with those of the same output that were not wasted in a column of their own."""
    return frame.assign(num_same_not_wasted=frame["num_same_output"] - frame["num_wasted_calls"])


def tool_figure(frame: pd.DataFrame, names: dict[str, str]) -> go.Figure:
    """Repeats by tool as stacked bars, kinds apart; with several runs a bar a run and tool; those with the most."""
    several = frame["run_id"].nunique() > 1
    repeats = frame["num_exact_repeats"] + frame["num_near_repeats"]
    most = repeats[repeats > 0].sort_values(ascending=False, kind="stable").index[:MAX_TOOLS]
    shown = told_apart(frame.loc[most])
    places = list(range(len(shown)))  # two long names may be shown alike: as categories their bars would be one
    drawn = charts.figure("repeated calls", "", height=max(280, 32 * len(shown) + 130))
    for column, words, colour, pattern in KINDS:
        drawn.add_bar(
            orientation="h",
            y=places,
            x=shown[column],
            name=words,
            marker={"color": colour, "pattern": {"shape": pattern, "size": 5, "solidity": 0.3}},
            customdata=charts.points(shown, ["run_id", "tool", "num_calls", "repeat_rate"]),
            text=[_bar_name(row, names, several=several, length=60) for row in records(shown)],
            textposition="none",
            hovertemplate=f"<b>%{{text}}</b><br>{words}: %{{x:,}} of %{{customdata.num_calls:,}} calls<extra></extra>",
        )
    drawn.update_layout(barmode="stack", bargap=0.25)
    counts = shown[[column for column, *_ in KINDS]].sum(axis=1)
    drawn.update_xaxes(**charts.whole_ticks([0, *counts]))
    labels = [_bar_name(row, names, several=several, length=24) for row in records(shown)]
    drawn.update_yaxes(range=[len(shown) - 0.4, -0.6], tickvals=places, ticktext=labels, showgrid=False)
    return drawn


def _bar_name(row: Mapping[str, Any], names: Mapping[str, str], *, several: bool, length: int) -> str:
    run = str(names.get(row["run_id"], row["run_id"]))
    tool = charts.shown(str(row["tool"]), length if several else 40)
    return f"{tool} · {charts.shown(run, length)}" if several else tool


def transition_figure(frame: pd.DataFrame) -> go.Figure:
    """Which tool follows which, as a grid of shares by row; a click on a cell hands back its pair of tools."""
    counts = frame.groupby("from_tool")["num_transitions"].sum().sort_values(ascending=False)
    tools = texts(counts.index.to_series())[:MAX_TOOLS]
    rows, columns = [START, *tools], [*tools, END]
    part = frame.assign(
        source=frame["from_tool"].fillna(START), target=frame["to_tool"].fillna(END), empty=frame["to_tool"].isna()
    )
    part = part[part["source"].isin(rows) & part["target"].isin(columns)]
    grid = np.full((len(rows), len(columns)), np.nan)
    for row in records(part):
        grid[rows.index(row["source"]), columns.index(row["target"])] = row["share"]
    drawn = charts.figure("next call", "call", height=max(300, 36 * len(rows) + 100))
    drawn.add_heatmap(
        z=grid,
        x=[charts.shown(each, 24) for each in columns],
        y=[charts.shown(each, 24) for each in rows],
        zmin=0,
        zmax=1,
        colorscale=[[index / 6, colour] for index, colour in enumerate(charts.SEQUENTIAL)],
        texttemplate="%{z:.0%}",
        hoverinfo="skip",
        meta=charts.SEQUENTIAL_SCALE,
        colorbar=charts.colour_bar("share of the row", tickformat=".0%"),
        xgap=2,
        ygap=2,
    )
    drawn.add_trace(_targets(part))
    drawn.update_xaxes(showgrid=False, range=[-0.5, len(columns) - 0.5])
    drawn.update_yaxes(showgrid=False, range=[len(rows) - 0.5, -0.5])
    return drawn


def _targets(part: pd.DataFrame) -> go.Scatter:
    """Invisible markers over the cells: a heatmap's own cells cannot be clicked."""
    return charts.targets(
        [charts.shown(each, 24) for each in part["target"]],
        [charts.shown(each, 24) for each in part["source"]],
        charts.points(part, ["run_id", "from_tool", "to_tool", "num_transitions"]),
        [
            f"after {charts.shown(row['source'])}: {charts.shown(row['target'])} in {percent(row['share'])} "
            f"({plural(row['num_transitions'], 'time')})"
            for row in records(part)
        ],
        size=26,
    )
