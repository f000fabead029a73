"""Plots of the comparison as rows of intervals: every measure's relative change, and the difference slice by slice."""

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from dashboard import charts
from dashboard.compare_words import TITLES, with_interval
from dashboard.rows import records
from dashboard.words import number, percent, whole

_ROW = 26
"""Height of a row, pixels."""


def relative(measures: pd.DataFrame) -> go.Figure:
    """One row a measure: how much larger or smaller the candidate's mean is, in percent of the baseline's.

    Measures whose baseline is not above zero have no ratio and no row.
    """
    rows = measures[measures["ratio"].notna()].iloc[::-1]
    change, low, high = (100 * (rows[name].to_numpy(float) - 1) for name in ("ratio", "ratio_ci_low", "ratio_ci_high"))
    text = [
        f"<b>{TITLES[row['measure']]}</b><br>{number(row['baseline_mean'])} → {number(row['candidate_mean'])}"
        f"<br>{percent(middle / 100)} [{percent(lowest / 100)}, {percent(highest / 100)}]"
        f"<br>n = {whole(row['num_paired'])} paired samples"
        for row, middle, lowest, highest in zip(records(rows), change, low, high, strict=True)
    ]
    drawn = charts.figure("change from the baseline's mean, %", "", height=90 + _ROW * max(len(rows), 3))
    names = [TITLES[each] for each in rows["measure"]]
    drawn.add_trace(intervals(change, names, low, high, charts.CANDIDATE, text))
    drawn.update_xaxes(zeroline=True)
    drawn.update_yaxes(title_text=None, showgrid=False)
    return drawn


def slices(frame: pd.DataFrame) -> go.Figure:
    """One row a slice, kind by kind: the difference in reward with its interval; the worst one is marked."""
    rows = frame.iloc[::-1]
    names = [_slice(row["by"], row["slice"], row["num_paired"]) for row in records(rows)]
    text = [
        f"<b>{charts.shown(str(row['by']))}: {charts.shown(str(row['slice']))}</b>"
        f"<br>reward {number(row['baseline_mean'], 2)} → {number(row['candidate_mean'], 2)}, {with_interval(row)}"
        f"<br>{whole(row['num_up'])} of {whole(row['num_paired'])} samples up, {whole(row['num_down'])} down"
        for row in records(rows)
    ]
    drawn = charts.figure("Δ reward, candidate − baseline", "", height=100 + _ROW * max(len(rows), 3))
    delta, low, high = (rows[name].to_numpy(float) for name in ("delta_mean", "ci_low", "ci_high"))
    drawn.add_trace(intervals(delta, names, low, high, charts.CANDIDATE, text, charts.points(rows, ["by", "slice"])))
    worst = rows["is_worst"].to_numpy(bool)
    drawn.add_trace(
        go.Scatter(
            x=delta[worst],
            y=[name for name, is_worst in zip(names, worst, strict=True) if is_worst],
            mode="markers",
            name="lowest",
            marker={"symbol": "triangle-down", "size": 13, "color": charts.BAD},
            customdata=charts.points(rows[worst], ["by", "slice"]),
            text=[each for each, is_worst in zip(text, worst, strict=True) if is_worst],
            hovertemplate="%{text}<extra></extra>",
        )
    )
    drawn.update_xaxes(zeroline=True)
    drawn.update_yaxes(title_text=None, showgrid=False)
    return drawn


def _slice(by: str, name: str, num: int) -> str:
    return f"{charts.shown(by.removeprefix('metadata.'), 16)}: {charts.shown(name, 28)} (n = {whole(num)})"


def intervals(
    x: np.ndarray,
    names: list[str],
    low: np.ndarray,
    high: np.ndarray,
    colour: str,
    text: list[str],
    customdata: list[dict[str, object]] | None = None,
) -> go.Scatter:
    """Points with their intervals, one row each; a row without an interval is a hollow point."""
    known = np.isfinite(low) & np.isfinite(high)
    return go.Scatter(
        x=x,
        y=names,
        mode="markers",
        showlegend=False,
        marker={
            "color": colour,
            "size": 9,
            "symbol": np.where(known, "circle", "circle-open"),
        },
        error_x={
            "type": "data",
            "symmetric": False,
            "array": np.where(known, high - x, 0.0),
            "arrayminus": np.where(known, x - low, 0.0),
            "color": colour,
            "thickness": 1.5,
            "width": 4,
        },
        customdata=customdata,
        text=text,
        hovertemplate="%{text}<extra></extra>",
    )
