"""Plots of the comparison: difference of reward against difference of cost, and the nine quadrants beside chance."""

from collections.abc import Hashable, Mapping
from typing import Any, Final

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from dashboard import charts
from dashboard.compare_words import TITLES
from dashboard.words import number, percent
from queries.comparison import MEASURES

_KINDS: Final = (
    ("better", "better", charts.GOOD, "triangle-up"),
    ("same", "same", charts.BASELINE, "circle"),
    ("worse", "worse", charts.BAD, "triangle-down"),
)
_MAIN, _EDGE = [0.0, 0.85], [0.88, 1.0]
"""Shares of width and height for the points and for the marginal histograms beside them."""


def scatter(samples: pd.DataFrame, cost: str, eps_reward: float, eps_cost: float) -> go.Figure:
    """One point a sample: change of reward over change of `cost`, dead-bands shaded, a histogram on either side.

    `samples` is the answer to `compare_samples`; points carry the ids of the sample in both arms.
    """
    drawn = charts.figure(axis_title(cost), "Δ reward, candidate − baseline", height=480)
    shown = samples[samples["quadrant"].notna()]
    x, y = shown[f"{cost}_delta"].to_numpy(float), shown["reward_delta"].to_numpy(float)
    _shade(drawn, eps_reward, eps_cost)
    if len(shown) > charts.MAX_MARKS:
        drawn.add_trace(
            go.Histogram2d(
                x=x,
                y=y,
                nbinsx=60,
                nbinsy=60,
                colorscale=[[0, "rgba(0,0,0,0)"], [1, charts.CANDIDATE]],
                showscale=False,
            )
        )
    else:
        for start, name, colour, symbol in _KINDS:
            rows = shown["quadrant"].str.startswith(start).to_numpy(bool)
            if rows.any():
                kind = f"{name}{_beyond(start, eps_reward)} ({rows.sum()})"
                drawn.add_trace(_points(shown[rows], cost, kind, colour, symbol))
    histogram = {"marker_color": charts.BASELINE, "showlegend": False, "opacity": 0.55}
    drawn.add_trace(
        go.Histogram(x=x, yaxis="y2", nbinsx=30, hovertemplate="%{x}: %{y} samples<extra></extra>", **histogram)
    )
    drawn.add_trace(
        go.Histogram(y=y, xaxis="x2", nbinsy=30, hovertemplate="%{y}: %{x} samples<extra></extra>", **histogram)
    )
    hidden: dict[str, Any] = {
        "showgrid": False,
        "showticklabels": False,
        "zeroline": False,
        "title": None,
        "fixedrange": True,
    }
    drawn.update_layout(
        bargap=0.05,
        xaxis={"domain": _MAIN, "zeroline": True, "range": _around_zero(x, eps_cost)},
        yaxis={"domain": _MAIN, "zeroline": True, "range": _around_zero(y, eps_reward)},
        xaxis2={"domain": _EDGE, "anchor": "y", **hidden},
        yaxis2={"domain": _EDGE, "anchor": "x", **hidden},
    )
    return drawn


def _beyond(kind: str, eps_reward: float) -> str:
    """How much of a difference in reward a kind of point means; nothing where every difference counts."""
    if eps_reward <= 0:
        return " reward"
    width = number(eps_reward, 2)
    return f" reward, within ±{width}" if kind == "same" else f" by more than {width}"


def _points(rows: pd.DataFrame, cost: str, name: str, colour: str, symbol: str) -> go.Scatter:
    """The samples of one kind, with both sides' means on hover; the more lie at one place, the larger it is drawn."""
    columns = ["sample_id", "candidate_sample_id"]
    means = [f"{measure}_{side}_mean" for measure in ("reward", cost) for side in ("baseline", "candidate")]
    label = [charts.shown(str(each)) for each in rows["sample_id"]]
    x, y = rows[f"{cost}_delta"].to_numpy(float), rows["reward_delta"].to_numpy(float)
    together = at_one_place(x, y)
    text = [
        f"<b>{sample}</b><br>reward {number(b)} → {number(c)}<br>{TITLES[cost]} {number(d, 4)} → {number(e, 4)}"
        + (f"<br>{n} samples lie here" if n > 1 else "")
        for sample, n, (b, c, d, e) in zip(label, together, rows[means].to_numpy(float), strict=True)
    ]
    return go.Scatter(
        x=x,
        y=y,
        mode="markers",
        name=name,
        marker={
            "color": colour,
            "symbol": symbol,
            "size": np.minimum(10 + 4 * np.sqrt(together - 1), 26),
            "opacity": 0.75,
            "line": {"width": 1, "color": "white"},
        },
        customdata=charts.points(rows, columns),
        text=text,
        hovertemplate="%{text}<extra></extra>",
    )


def at_one_place(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """For each point, how many lie where it does. Shape: that of `x`."""
    places = np.column_stack((x, y)).round(9)
    _, place, counts = np.unique(places, axis=0, return_inverse=True, return_counts=True)
    return np.asarray(counts[place.reshape(-1)])


def _shade(drawn: go.Figure, eps_reward: float, eps_cost: float) -> None:
    """The dead-bands: within them a difference is no more than the noise between attempts."""
    band = {"fillcolor": charts.rgba(charts.BASELINE, 0.13), "line_width": 0, "layer": "below"}
    if eps_cost > 0:
        drawn.add_shape(type="rect", x0=-eps_cost, x1=eps_cost, y0=0, y1=1, xref="x", yref="y domain", **band)
    if eps_reward > 0:
        drawn.add_shape(type="rect", x0=0, x1=1, y0=-eps_reward, y1=eps_reward, xref="x domain", yref="y", **band)


def _around_zero(values: np.ndarray, eps: float) -> list[float]:
    """Range of an axis that holds 0, the dead-band and every value, with a margin."""
    low, high = min([0.0, -eps, *values]), max([0.0, eps, *values])
    margin = 0.08 * (high - low) or 1.0
    return [low - margin, high + margin]


def axis_title(cost: str) -> str:
    """Title of the axis of a cost's differences."""
    return f"Δ {TITLES[cost]}, {MEASURES[cost]}, candidate − baseline"


def grid(quadrants: pd.DataFrame, theme: str) -> go.Figure:
    """The nine quadrants laid out as the plane is: share of samples, its interval, and the share chance alone gives."""
    drawn = go.Figure()
    if not quadrants["num_paired"].iloc[0]:
        return drawn
    by_name = {row["quadrant"]: row for row in quadrants.to_dict("records")}
    title = TITLES[str(quadrants["cost"].iloc[0])]
    rows, columns = ("worse", "same", "better"), ("fewer", "same", "more")
    cells = [[by_name[f"{row}_{column}"] for column in columns] for row in rows]
    shares = [[float(cell["share"]) for cell in row] for row in cells]
    drawn.add_trace(
        go.Heatmap(
            z=shares,
            x=list(columns),
            y=list(rows),
            text=[[_cell(cell) for cell in row] for row in cells],
            texttemplate="%{text}",
            textfont={"size": 12, "color": charts.ink(theme)["text"]},
            colorscale=[[0, charts.rgba(charts.CANDIDATE, 0.04)], [1, charts.rgba(charts.CANDIDATE, 0.55)]],
            zmin=0,
            zmax=max(0.5, max(max(row) for row in shares)),
            showscale=False,
            xgap=3,
            ygap=3,
            hoverinfo="skip",
        )
    )
    told = [cell for row in cells for cell in row]
    drawn.add_trace(
        charts.targets(
            [column for _ in rows for column in columns],
            [row for row in rows for _ in columns],
            [{"quadrant": str(cell["quadrant"]), "num_samples": int(cell["num_samples"])} for cell in told],
            [f"reward {each['quadrant'].replace('_', ', ' + title + ' ')}<br>{_cell(each)}" for each in told],
            size=90,
        )
    )
    drawn.update_layout(height=480, margin={"t": 36})
    drawn.update_xaxes(title_text=title, showgrid=False, fixedrange=True, range=[-0.5, 2.5])
    drawn.update_yaxes(title_text="reward", showgrid=False, fixedrange=True, range=[-0.5, 2.5])
    return drawn


def _cell(cell: Mapping[Hashable, Any]) -> str:
    null = cell["null_share"]
    chance = f"{100 * null:.0f} %" if null == 0 or null >= 0.005 else "&lt;1 %"
    beside = "" if pd.isna(null) else f"<br>chance {chance}"
    low, high = (round(100 * float(cell[name])) for name in ("share_ci_low", "share_ci_high"))
    return f"<b>{percent(cell['share'])}</b> ({cell['num_samples']})<br>[{low}, {high}]{beside}"
