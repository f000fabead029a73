"""Figures of distributions: histogram, cumulative curve, box, survival, and usage by tool. Frames in, figures out."""

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from dashboard import charts
from dashboard.charts_curves import Looks
from dashboard.rows import by_run, records, texts

MAX_GROUPS: Final = 6
"""Distributions that can be told apart when drawn over one another."""
MAX_BARS: Final = 3
"""Histograms that can."""
MAX_BANDS: Final = 4
"""Groups whose bands are drawn; those of more drown one another."""
KEYS: Final = ("run_id", "split", "step")
_BLUES: Final = ("#9CC9E8", "#74B0DC", "#4C97CE", "#267FBF", charts.CANDIDATE)


def group_names(frame: pd.DataFrame, looks: Looks) -> "pd.Series[str]":
    """A name for each row's group: run, with split and step where the rows are of one."""
    several = frame["run_id"].nunique() > 1
    return pd.Series(
        [_name(row, looks, several) for row in records(frame[list(KEYS)])], index=frame.index, dtype=object
    )


def _name(row: dict[str, Any], looks: Looks, several: bool) -> str:  # noqa: FBT001 - called once, with a variable of that name
    pieces = [looks.name(str(row["run_id"]))] if several or (row["split"] is None and row["step"] is None) else []
    pieces += [str(row["split"])] if row["split"] is not None else []
    pieces += [f"step {int(row['step'])}"] if row["step"] is not None else []
    return " · ".join(pieces)


def spread(names: Sequence[str], limit: int = MAX_GROUPS) -> list[str]:
    """At most so many groups, first and last among them, evenly spread between."""
    if len(names) <= limit:
        return list(names)
    return [names[int(each)] for each in np.unique(np.linspace(0, len(names) - 1, limit).round())]


def _groups(frame: pd.DataFrame, looks: Looks, limit: int = MAX_GROUPS) -> list[tuple[str, str, str, pd.DataFrame]]:
    """Name, colour and dash of each group, and its rows; steps of one run go from pale to its colour."""
    named = frame.assign(group=group_names(frame, looks))
    shown = spread(texts(named["group"]), limit)
    found = []
    runs = named[named["group"].isin(shown)]["run_id"].unique()
    colours = {run_id: looks.colours.get(run_id, charts.CANDIDATE) for run_id in runs}
    if len(set(colours.values())) < len(runs):  # runs far apart in a long list may have one colour
        colours = charts.run_colours(runs)
    for number, name in enumerate(shown):
        rows = named[named["group"] == name]
        run_id = str(rows["run_id"].iloc[0])
        one_run = named["run_id"].nunique() == 1
        colour = _between(number, len(shown)) if one_run and len(shown) > 1 else colours[run_id]
        dash = charts.DASHES[number % 3] if not one_run and rows["split"].notna().any() else "solid"
        found.append((name, colour, dash, rows))
    return found


def _between(number: int, total: int) -> str:
    """Colour of one of several groups of one run in order: grey (first), then blues from pale to the last, full one."""
    if number == 0:
        return charts.BASELINE
    return _BLUES[-1 if total < 3 else (number - 1) * (len(_BLUES) - 1) // (total - 2)]


def at_most(shape: str | None) -> int:
    """Groups that are drawn at most, by the shape chosen; boxes stand side by side and have no limit."""
    return {"box": 10**6, "cumulative": MAX_GROUPS}.get(shape or "", MAX_BARS)


def histogram(frame: pd.DataFrame, looks: Looks, axis: str) -> go.Figure:
    """Overlaid histograms on shared bins, as shares of each group's rollouts."""
    drawn = charts.figure(axis, "share of rollouts", height=420, y_format=".0%")
    for name, colour, _, rows in _groups(frame, looks, MAX_BARS):
        middles, widths = (rows["bin_low"] + rows["bin_high"]) / 2, rows["bin_high"] - rows["bin_low"]
        drawn.add_trace(_outline(rows, colour, name))
        drawn.add_bar(
            x=middles,
            y=rows["share"],
            width=widths,
            name=charts.shown(name),
            legendgroup=name,
            showlegend=False,
            marker={
                "color": charts.rgba(colour, 0.22),
                "line": {"width": 0},
                "pattern": {"shape": ["/" if each else "" for each in rows["is_open"]], "size": 6, "solidity": 0.25},
            },
            customdata=charts.points(rows, [*KEYS, "bin_low", "bin_high", "is_open", "value_max", "num_rollouts"]),
            text=[_reach(row) for row in records(rows)],
            textposition="none",
            hovertemplate=f"<b>{charts.shown(name)}</b><br>%{{text}}: %{{y:.1%}}<br>"
            "n = %{customdata.num_rollouts} rollouts<extra></extra>",
        )
    drawn.update_layout(barmode="overlay", bargap=0)
    drawn.update_xaxes(**charts.whole_ticks((frame["bin_low"] + frame["bin_high"]) / 2))
    return drawn


def _outline(rows: pd.DataFrame, colour: str, name: str) -> go.Scatter:
    """The edge of a histogram: colours that lie over one another can still be told apart."""
    x: list[float] = []
    y: list[float] = []
    for row in records(rows.sort_values("bin_low")):
        if not x or row["bin_low"] > x[-1]:  # empty bins are not in the frame
            x, y = [*x, row["bin_low"]], [*y, 0.0]
        x, y = [*x, row["bin_low"], row["bin_high"], row["bin_high"]], [*y, row["share"], row["share"], 0.0]
    return go.Scatter(
        x=x,
        y=y,
        mode="lines",
        line={"color": colour, "width": 2},
        hoverinfo="skip",
        name=charts.shown(name),
        legendgroup=name,
    )


def _reach(row: dict[str, Any]) -> str:
    low, high = row["bin_low"], row["bin_high"]
    if row["is_open"]:
        return f"{low:,.6g} and above, up to {row['value_max']:,.6g}"
    if high - low == 1 and low % 1 == 0.5:
        return f"{(low + high) / 2:,.6g}"
    return f"{low:,.6g} to {high:,.6g}"


def cumulative(frame: pd.DataFrame, looks: Looks, axis: str, *, whole: bool = False) -> go.Figure:
    """Share of rollouts with at most so much, a step line a group."""
    drawn = charts.figure(axis, "share of rollouts with at most this", height=420, y_format=".0%")
    _steps(drawn, frame, looks, "share_at_most", "hv", lambda name: f"{name}: %{{y:.1%}} have at most %{{x:,.4~g}}")
    drawn.update_xaxes(**charts.whole_ticks(frame["value"] if whole else ()))
    return drawn


def survival(
    frame: pd.DataFrame,
    looks: Looks,
    axis: str,
    *,
    log_x: bool,
    limits: Sequence[tuple[str, float]],
    whole: bool = False,
) -> go.Figure:
    """Share of rollouts with at least so much on a log axis, with the band around the whole curve and limits marked.

    `whole`: the values are counts, and no tick stands between two of them.
    """
    drawn = charts.figure(
        f"{axis}{' (log scale)' if log_x else ''}", "share of rollouts with at least this (log scale)", height=440
    )
    for name, colour, _, rows in _groups(frame, looks):
        if frame.groupby(list(KEYS), dropna=False).ngroups > MAX_BANDS:
            break
        floor = 0.5 / float(rows["num_rollouts"].iloc[0])
        charts.band(drawn, rows["value"], rows["band_low"].clip(lower=floor), rows["band_high"], colour, name)
        for trace in drawn.data[-2:]:
            trace.update(line={"width": 0, "shape": "vh"})
    # What is at least a value between two of the data is at least the higher one: the step falls at the lower.
    _steps(drawn, frame, looks, "share_at_least", "vh", lambda name: f"{name}: %{{y:.3~p}} have at least %{{x:,.4~g}}")
    lowest = float(frame["share_at_least"].min())
    shares = [each for each in _ticks(pd.Series([lowest, 1.0])) if each <= 1]
    drawn.update_yaxes(type="log", range=[np.log10(lowest) - 0.15, 0.05], tickformat=".3~p", tickvals=shares)
    drawn.update_xaxes(type="log" if log_x else "linear", tickvals=_ticks(frame["value"]) if log_x else None)
    if whole and not log_x:
        drawn.update_xaxes(**charts.whole_ticks([*frame["value"], *(value for _, value in limits)]))
    for number, (text, value) in enumerate(limits):
        if value > 0 or not log_x:
            # On a logarithmic axis a shape is placed by its value, an annotation by its logarithm.
            line = {"color": charts.BASELINE, "dash": "dash", "width": 1.2}
            drawn.add_shape(type="line", x0=value, x1=value, yref="paper", y0=0, y1=1, line=line)
            drawn.add_annotation(
                x=float(np.log10(value)) if log_x else value,
                y=1 - 0.07 * number,
                yref="paper",
                text=charts.shown(text),
                showarrow=False,
                xanchor="right" if value > 0.85 * float(frame["value"].max()) else "left",
                yanchor="top",
                font={"size": 12},
            )
    return drawn


def _ticks(values: "pd.Series[float]") -> list[float]:
    """1, 2 and 5 times powers of ten over the positive values (only the powers from three decades on)."""
    known = values[values > 0].astype(float)
    if known.empty:
        return []
    low, high = int(np.floor(np.log10(known.min()))), int(np.ceil(np.log10(known.max())))
    factors = (1, 2, 5) if high - low <= 3 else (1,)
    return [factor * 10.0**power for power in range(low, high + 1) for factor in factors]


def _steps(
    drawn: go.Figure, frame: pd.DataFrame, looks: Looks, y: str, shape: str, hover: Callable[[str], str]
) -> None:
    for name, colour, dash, rows in _groups(frame, looks):
        shown = charts.shown(name)
        drawn.add_scatter(
            x=rows["value"],
            y=rows[y],
            name=shown,
            mode="lines+markers",
            marker={"size": 4, "color": colour},
            line={"shape": shape, "color": colour, "width": 2, "dash": dash},
            customdata=charts.points(rows, [*KEYS, "value", "num_rollouts"]),
            hovertemplate=f"{hover(f'<b>{shown}</b>')}<br>n = %{{customdata.num_rollouts}} rollouts<extra></extra>",
        )


def box(summary: pd.DataFrame, looks: Looks, axis: str) -> go.Figure:
    """Boxes of the quartiles with whiskers from the least value to P95, one a group; every group is drawn."""
    drawn = charts.figure("", axis, height=440)
    known = summary[summary["num_rollouts"] > 0]
    named = known.assign(group=group_names(known, looks))
    for run_id, rows in by_run(named).items():
        drawn.add_box(
            x=[charts.shown(each, 28) for each in rows["group"]],
            q1=rows["p25"],
            median=rows["p50"],
            q3=rows["p75"],
            lowerfence=rows["min"],
            upperfence=rows["p95"],
            mean=rows["mean"],
            name=charts.shown(looks.name(run_id)),
            marker={"color": looks.colours.get(run_id)},
            fillcolor=charts.rgba(looks.colours.get(run_id, charts.CANDIDATE), 0.2),
        )
        drawn.add_scatter(
            x=[charts.shown(each, 28) for each in rows["group"]],
            y=rows["p50"],
            mode="markers",
            showlegend=False,
            marker={"size": 9, "color": looks.colours.get(run_id)},
            customdata=charts.points(rows, [*KEYS, "num_rollouts", "p25", "p75", "p95", "max"]),
            hovertemplate="<b>%{x}</b><br>median %{y:,.4~g}, quartiles %{customdata.p25:,.4~g} and "
            "%{customdata.p75:,.4~g}<br>P95 %{customdata.p95:,.4~g}, max %{customdata.max:,.4~g}<br>"
            "n = %{customdata.num_rollouts} rollouts<extra></extra>",
        )
    drawn.update_layout(showlegend=named["run_id"].nunique() > 1)
    drawn.update_xaxes(type="category")
    return drawn


def tool_bars(frame: pd.DataFrame, looks: Looks) -> go.Figure:
    """Calls per tool, a bar a run, the failed part of each darker; `frame` is summed over steps."""
    order = texts(frame.groupby("tool", sort=False)["num_calls"].sum().sort_values().index.to_series())[-20:]
    drawn = charts.figure("calls", "", height=max(170, _bar_room(frame) * len(order) + 90))
    for run_id, rows in by_run(frame[frame["tool"].isin(order)]).items():
        drawn.add_bar(
            orientation="h",
            y=[charts.shown(str(each), 28) for each in rows["tool"]],
            x=rows["num_calls"],
            name=charts.shown(looks.name(run_id)),
            marker={"color": looks.colours.get(run_id)},
            customdata=charts.points(rows, ["run_id", "tool", "num_errors", "error_rate", "share"]),
            hovertemplate="<b>%{y}</b>: %{x:,} calls (%{customdata.share:.1%} of the run's)<br>"
            "%{customdata.num_errors:,} failed (%{customdata.error_rate:.1%})<extra></extra>",
        )
    drawn.update_layout(barmode="group", showlegend=frame["run_id"].nunique() > 1)
    drawn.update_xaxes(**charts.whole_ticks([0, frame["num_calls"].max()]))
    # From the top down, so that the runs of a tool stand in the order of the legend.
    labels = [charts.shown(each, 28) for each in reversed(order)]
    drawn.update_yaxes(categoryorder="array", categoryarray=labels, autorange="reversed")
    return drawn


def _bar_room(frame: pd.DataFrame) -> int:
    """Height of the bars of one tool: a bar a run."""
    return max(34, 16 + 10 * int(frame["run_id"].nunique()))


def over_steps(usage: pd.DataFrame) -> pd.DataFrame:
    """Tool usage summed over steps: one row a run and tool, with its error rate and share of the run's calls."""
    counts = ["num_calls", "num_errors", "num_repeats"]
    totals = usage.groupby(["run_id", "tool"], sort=False, as_index=False)[counts].sum()
    totals["error_rate"] = totals["num_errors"] / totals["num_calls"]
    totals["share"] = totals["num_calls"] / totals.groupby("run_id")["num_calls"].transform("sum")
    return totals
