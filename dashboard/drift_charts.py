"""Figures of the page Drift: every measure beside chance, both curves of one, both shares of a description."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from dashboard import charts
from dashboard.drift_words import AXES, TITLES
from dashboard.rows import records
from dashboard.words import number, percent, whole

_ROW = 28
"""Height of a row, pixels."""
MAX_BARS = 15
"""Values of a description that are drawn; the table has all."""
_MARKS = {"data": ("circle", "circle-open"), "behaviour": ("diamond", "diamond-open")}


def overview(frame: pd.DataFrame) -> go.Figure:
    """One row a measure: how far apart the selections lie, over a bar of what chance alone gives; click for its curves.

    Filled marks lie beyond chance after adjustment. Measures of which nothing can be said have no row.
    """
    rows = frame[frame["value"].notna() & frame["chance_p95"].notna()].iloc[::-1]
    names = [TITLES[each] for each in rows["measure"]]
    drawn = charts.figure("how far apart (0 = alike, 1 = nothing in common)", "", height=110 + _ROW * max(len(rows), 3))
    drawn.add_bar(
        x=rows["chance_p95"], y=names, orientation="h", name="chance alone, up to its 95th percentile", width=0.62,
        marker={"color": charts.rgba(charts.BASELINE, 0.25)}, hoverinfo="skip",
    )  # fmt: skip
    for kind, title in (("data", "what goes in"), ("behaviour", "what the agent does")):
        own = rows[rows["kind"] == kind]
        if own.empty:
            continue
        filled, hollow = _MARKS[kind]
        drawn.add_scatter(
            x=own["value"],
            y=[TITLES[each] for each in own["measure"]],
            name=title,
            mode="markers",
            marker={
                "size": 11,
                "color": charts.CANDIDATE if kind == "data" else charts.RUN_COLOURS[4],
                "symbol": np.where(own["is_shifted"].to_numpy(bool), filled, hollow),
                "line": {"width": 1.5},
            },
            cliponaxis=False,
            customdata=[{"kind": "measure", "value": each} for each in own["measure"]],
            text=[_hover(row) for row in records(own)],
            hovertemplate="%{text}<extra></extra>",
        )
    drawn.update_xaxes(rangemode="tozero", tickformat=".2~f")
    drawn.update_yaxes(title_text=None, showgrid=False, categoryorder="array", categoryarray=names)
    return drawn


def _hover(row: Mapping[str, Any]) -> str:
    what = "largest gap of the cumulative curves" if row["statistic"] == "ks" else "share that would have to move"
    text = f"<b>{TITLES[str(row['measure'])]}</b><br>{number(row['value'])}: {what}"
    interval = f"[{number(row['value_low'])}, {number(row['value_high'])}]"
    chance = f"{number(row['chance_mean'])} on average"
    text += f"<br>{interval} with the part of chance taken off (95 %)<br>chance alone: {chance}"
    text += f"<br>p = {number(row['p_value_holm'], 2)}, adjusted"
    return f"{text}<br>n = {whole(row['num_first'])} and {whole(row['num_second'])} samples"


def curves(frame: pd.DataFrame, measure: str, names: tuple[str, str]) -> go.Figure:
    """The cumulative curves of a measure in both selections: grey the first, blue the second."""
    axis = AXES.get(measure, TITLES[measure])
    drawn = charts.figure(axis, "share of rollouts with at most this", height=360, y_format=".0%")
    looks = (("first", names[0], charts.BASELINE, "dash"), ("second", names[1], charts.CANDIDATE, "solid"))
    for side, name, colour, dash in looks:
        rows = frame[frame["side"] == side]
        if rows.empty:
            continue
        num = whole(rows["num_samples"].iloc[0])
        drawn.add_scatter(
            x=rows["value"],
            y=rows["share_at_most"],
            name=charts.shown(f"{name} (n = {num} samples)", 60),
            mode="lines+markers",
            marker={"size": 4, "color": colour},
            line={"shape": "hv", "color": colour, "width": 2, "dash": dash},
            customdata=charts.points(rows.assign(kind=side), ["kind", "value"]),
            hovertemplate=f"<b>{charts.shown(name)}</b>: %{{y:.1%}} have at most %{{x:,.4~g}}<extra></extra>",
        )
    return drawn


def shares(frame: pd.DataFrame, names: tuple[str, str]) -> go.Figure:
    """Both shares of each value of a description, the largest move first."""
    rows = frame.head(MAX_BARS)
    order = [charts.shown(str(each), 32) for each in rows["value"]]
    drawn = charts.figure("share", "", height=100 + 42 * max(len(rows), 2))
    for side, name, colour in (("first", names[0], charts.BASELINE), ("second", names[1], charts.CANDIDATE)):
        text = [
            f"<b>{charts.shown(str(row['value']))}</b><br>{percent(row['first_share'])} → "
            f"{percent(row['second_share'])}<br>difference [{percent(row['ci_low'])}, {percent(row['ci_high'])}]"
            for row in records(rows)
        ]
        drawn.add_bar(
            x=rows[f"{side}_share"],
            y=order,
            orientation="h",
            name=charts.shown(name, 60),
            marker={"color": colour},
            customdata=charts.points(rows.assign(kind=side), ["kind", "value", "by"]),
            text=text,
            textposition="none",
            hovertemplate="%{text}<extra></extra>",
        )
    drawn.update_layout(barmode="group")
    drawn.update_xaxes(tickformat=".0%", rangemode="tozero")
    drawn.update_yaxes(title_text=None, showgrid=False, autorange="reversed")
    return drawn
