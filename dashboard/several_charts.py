"""Plots of the page Several arms: differences from a baseline, contrasts of base models, a setting, the frontier."""

from typing import Any, Final

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from dashboard import charts
from dashboard.charts_curves import Looks
from dashboard.compare_forest import intervals
from dashboard.compare_words import TITLES, UNITS, with_interval
from dashboard.rows import records
from dashboard.several_words import CONTRASTS, chance, value_of
from dashboard.words import ends, number, whole
from queries.comparison import MEASURES
from queries.stats import Floats

ARM: Final = ("run_id", "split", "step")
_ROW = 34
_NAME = 34
MAX_TICKS: Final = 8
"""Values of a setting that each have their own tick."""


def deltas(frame: pd.DataFrame, measure: str, looks: Looks) -> go.Figure:
    """One row an arm: the difference from the baseline with its interval; the baseline stands at 0."""
    rows = frame[frame["measure"] == measure].iloc[::-1]
    baseline = str(rows["arm"].iloc[-1])
    drawn = charts.figure(f"Δ {_axis(measure)}, arm − {charts.shown(baseline, 24)}", "", height=100 + _ROW * len(rows))
    for row in records(rows):
        text = f"<b>{charts.shown(row['arm'])}</b><br>{TITLES[measure]} {number(row['mean'])}{UNITS.get(measure, '')}"
        if row["is_baseline"]:
            value, text = 0.0, f"{text}<br>the baseline, n = {whole(row['num_samples'])} samples"
        else:
            value = row["delta_mean"]
            text += f"<br>{with_interval(row) if row['num_paired'] else 'no paired sample'}: {row['verdict'] or '–'}"
            text += f"<br>n = {whole(row['num_paired'])} paired samples"
        colour = charts.BASELINE if row["is_baseline"] else _colour(looks, row["run_id"])
        trace = _row(row, value, charts.shown(row["arm"], _NAME), colour, text)
        is_hollow = trace.marker.symbol[0].endswith("-open") and not row["is_baseline"]
        # Colours come again from the ninth run on; markers tell those runs apart.
        trace.marker.symbol = [looks.symbols.get(row["run_id"], "circle") + ("-open" if is_hollow else "")]
        drawn.add_trace(trace)
    drawn.update_xaxes(zeroline=True, zerolinewidth=2)
    drawn.update_yaxes(title_text=None, showgrid=False)
    return drawn


def contrasts(frame: pd.DataFrame, measure: str) -> go.Figure:
    """One row a contrast of the four arms, the difference of gains last, each with its interval."""
    rows = frame[frame["measure"] == measure].iloc[::-1]
    drawn = charts.figure(f"difference in {_axis(measure)}", "", height=100 + _ROW * len(rows))
    for row in records(rows):
        name = CONTRASTS[row["contrast"]]
        text = f"<b>{name}</b><br>{with_interval(row)}: {row['verdict']}<br>n = {whole(row['num_samples'])} samples"
        colour = charts.BASELINE if row["contrast"] == "old_gain" else charts.CANDIDATE
        drawn.add_trace(_row({"kind": row["contrast"], **row}, row["delta_mean"], name, colour, text, ("kind",)))
    drawn.update_xaxes(zeroline=True, zerolinewidth=2)
    drawn.update_yaxes(title_text=None, showgrid=False)
    return drawn


def along(frame: pd.DataFrame, measure: str, looks: Looks, *, log_x: bool) -> go.Figure:
    """The mean of each run with its interval, at its value of the setting; a run that does not say it is not drawn.

    Runs of the same value stand beside each other.
    """
    known = frame[frame["value"].notna() & frame["mean"].notna()]
    title = charts.shown(str(frame["setting"].iloc[0]), 60)
    values = list(dict.fromkeys(known["value"]))
    is_numeric = bool(known["number"].notna().all())
    x = (
        known["number"].to_numpy(float)
        if is_numeric
        else np.array([values.index(each) for each in known["value"]], float)
    )
    is_log = log_x and is_numeric and bool((x > 0).all())
    drawn = charts.figure(title + (", logarithmic" if is_log else ""), _axis(measure), height=420)
    for row, at in zip(records(known), _beside(x, is_log=is_log), strict=True):
        text = f"<b>{charts.shown(row['arm'])}</b><br>{title}: {charts.shown(value_of(row))}"
        known_ends = row["mean_ci_low"] is not None
        bounds = f" [{', '.join(ends(row['mean_ci_low'], row['mean_ci_high']))}]" if known_ends else ""
        text += f"<br>{TITLES[measure]} {number(row['mean'])}{bounds}<br>n = {whole(row['num_samples'])} samples"
        drawn.add_trace(_point(row, (at, row["mean"]), looks, text, {"y": ("mean_ci_low", "mean_ci_high")}))
    if is_log:
        drawn.update_xaxes(type="log")
    if not is_numeric or len(values) <= MAX_TICKS:
        shown = dict(zip(known["value"], map(value_of, records(known)), strict=True))
        labels = [charts.shown(shown[each], 30) for each in values]
        drawn.update_xaxes(tickvals=list(dict.fromkeys(x)), ticktext=labels)
    return drawn


def _beside(x: Floats, *, is_log: bool) -> Floats:
    """Places of points, those of one value a little apart, in the order given."""
    places = np.log10(x) if is_log else x.copy()
    width = float(np.ptp(places)) * 0.015 or 0.015
    for value in np.unique(places):
        alike = np.flatnonzero(places == value)
        places[alike] = value + width * (np.arange(alike.size) - (alike.size - 1) / 2)
    return np.asarray(10**places if is_log else places)


def frontier(frame: pd.DataFrame, looks: Looks) -> go.Figure:
    """Quality against cost, an arm a point with both intervals: on the frontier filled, else hollow."""
    rows = frame[frame["quality_mean"].notna()]
    quality, cost = str(frame["quality"].iloc[0]), str(frame["cost"].iloc[0])
    drawn = charts.figure(_axis(cost), _axis(quality), height=460)
    best = rows[rows["is_on_frontier"].fillna(value=False).astype(bool)].sort_values("cost_mean")
    drawn.add_trace(
        go.Scatter(
            x=best["cost_mean"],
            y=best["quality_mean"],
            mode="lines",
            line={"color": charts.BASELINE, "width": 1.5, "dash": "dot", "shape": "hv"},
            name="frontier",
            hoverinfo="skip",
            showlegend=False,
        )
    )
    for row in records(rows):
        text = (
            f"<b>{charts.shown(row['arm'])}</b><br>{TITLES[quality]} {number(row['quality_mean'])}"
            f"<br>{TITLES[cost]} {number(row['cost_mean'])}{UNITS.get(cost, '')}"
            f"<br>on the frontier in {chance(row['frontier_chance'])} of resamples, n = {whole(row['num_samples'])}"
        )
        bounds = {"x": ("cost_ci_low", "cost_ci_high"), "y": ("quality_ci_low", "quality_ci_high")}
        point = _point(row, (row["cost_mean"], row["quality_mean"]), looks, text, bounds)
        point.marker.symbol += "" if row["is_on_frontier"] else "-open"
        drawn.add_trace(point)
    return drawn


def _axis(measure: str) -> str:
    """Title of an axis with the unit, e.g. "tool calls, calls per rollout"."""
    unit = MEASURES[measure]
    return TITLES[measure] if unit in (TITLES[measure], "0–1") else f"{TITLES[measure]}, {unit}"


def _colour(looks: Looks, run_id: str) -> str:
    return looks.colours.get(run_id, charts.CANDIDATE)


def _row(
    row: dict[str, Any], value: float | None, name: str, colour: str, text: str, columns: tuple[str, ...] = ARM
) -> go.Scatter:
    """One arm's row of intervals."""
    low, high = (np.array([row["ci_low"]], dtype=float), np.array([row["ci_high"]], dtype=float))
    about = [{each: row[each] for each in columns}]
    return intervals(np.array([value], dtype=float), [name], low, high, colour, [text], about)


def _point(
    row: dict[str, Any], at: tuple[Any, float], looks: Looks, text: str, bounds: dict[str, tuple[str, str]]
) -> go.Scatter:
    """One arm as a point of its run's colour, with its intervals, named in the legend."""
    colour = _colour(looks, row["run_id"])
    middle = dict(zip("xy", at, strict=True))
    errors = {
        f"error_{axis}": {
            "type": "data",
            "symmetric": False,
            "array": [row[high] - middle[axis] if row[high] is not None else 0],
            "arrayminus": [middle[axis] - row[low] if row[low] is not None else 0],
            "color": colour,
            "thickness": 1.5,
            "width": 4,
        }
        for axis, (low, high) in bounds.items()
    }
    return go.Scatter(
        x=[at[0]],
        y=[at[1]],
        mode="markers",
        name=charts.shown(row["arm"], charts.LEGEND),
        marker={
            "color": colour,
            "size": 11,
            "symbol": looks.symbols.get(row["run_id"], "circle"),
            "line": {"width": 2, "color": colour},
        },
        customdata=[{each: row[each] for each in ARM}],
        text=[text],
        hovertemplate="%{text}<extra></extra>",
        **errors,
    )
