"""The figure of the page Training health: a panel a measure over the same steps, one cursor through all of them."""

from math import ceil, isfinite
from typing import Any, Final

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from dashboard import charts
from dashboard.rows import records

COLUMNS: Final = 3
_PANEL: Final = 165
"""Pixels of a panel, its title included."""
_DASHES: Final = {"train": "solid", "valid": "dash", "test": "dot", "production": "dashdot"}
_SECOND: Final = "#E69F00"
"""The second measure of a panel that has two."""
_WAYS: Final = {"share": charts.SHARE_TICKS, "tokens": ",.0f"}


def health_figure(series: pd.DataFrame, patterns: pd.DataFrame, step: int, colour: str) -> go.Figure:
    """Every panel of a run's series, the steps of a found pattern shaded, and the cursor at a step.

    `series` are rows of `health_series` of one run, `patterns` of `health_patterns`.
    """
    panels = list(dict.fromkeys(series["panel"]))
    rows = ceil(len(panels) / COLUMNS)
    drawn = make_subplots(
        rows,
        COLUMNS,
        subplot_titles=[charts.shown(_title(series, each)) for each in panels],
        vertical_spacing=min(0.3 / rows, 0.3),
        horizontal_spacing=0.06,
    )
    drawn.update_layout(height=_PANEL * rows + 60, margin={"t": 54}, legend={"y": 1})
    drawn.update_annotations(font={"size": 12}, bgcolor="rgba(0,0,0,0)")
    most = max(charts.MAX_MARKS // max(series.groupby(["measure", "split"], dropna=False).ngroups, 1), 20)
    span = [float(series["step"].min()), float(series["step"].max())]
    seen: set[str] = set()
    for number, panel in enumerate(panels):
        place = {"row": number // COLUMNS + 1, "col": number % COLUMNS + 1}
        part = series[series["panel"] == panel]
        _lines(drawn, part, colour, most, seen, place)
        for row in records(patterns[(patterns["verdict"] == "found") & patterns["measure"].isin(part["measure"])]):
            _shade(drawn, row, span, place)
        drawn.add_vline(x=step, line={"color": charts.BAD, "width": 1.5}, **place)
        if level := _level(part):
            drawn.update_yaxes(range=level, **place)
        is_last = number + COLUMNS >= len(panels)
        drawn.update_xaxes(
            range=_widened(span), showticklabels=is_last, title_text="step" if is_last else None, **place
        )
        drawn.update_yaxes(tickformat=_WAYS.get(str(part["unit"].iloc[0])), nticks=4, tickfont={"size": 11}, **place)
    drawn.update_xaxes(matches="x", **charts.whole_ticks(series["step"]) if span[0] != span[1] else {})
    return drawn


def _level(part: pd.DataFrame) -> list[float] | None:
    """The axis of values that are all the same, which by itself would reach one to either side; else None."""
    values = part["value"].dropna().unique().tolist() or [0.0]
    if len(values) > 1 or not isfinite(values[0]):
        return None
    if not values[0]:
        return [0, 0.05] if part["unit"].iloc[0] == "share" else [0, 1]
    return sorted((0.0, 2.0 * float(values[0])))


def _title(series: pd.DataFrame, panel: str) -> str:
    unit = str(series.loc[series["panel"] == panel, "unit"].iloc[0])
    return f"{panel}, {unit}" if unit not in ("share", "") else panel


def _widened(span: list[float]) -> list[float]:
    """A little room beside the first and the last step, so that their points can be clicked."""
    room = max(0.02 * (span[1] - span[0]), 0.5)
    return [span[0] - room, span[1] + room]


def _lines(drawn: go.Figure, part: pd.DataFrame, colour: str, most: int, seen: set[str], place: dict[str, int]) -> None:
    measures = list(dict.fromkeys(part["measure"]))
    for (measure, split), rows in part.groupby(["measure", "split"], dropna=False, sort=False):
        own = split if isinstance(split, str) else None
        name = (own or "no split") if len(measures) == 1 else str(rows["title"].iloc[0])
        ink = colour if measure == measures[0] else _SECOND
        kept = thinned(rows, most)
        drawn.add_trace(
            go.Scatter(
                x=kept["step"].to_numpy(float),
                y=kept["value"].to_numpy(float),
                name=name,
                legendgroup=name,
                showlegend=name not in seen,
                mode="lines+markers",
                connectgaps=False,
                cliponaxis=False,
                line={"color": ink, "width": 1.6, "dash": _DASHES.get(own or "train", "solid")},
                marker={"color": ink, "size": 4 if len(kept) > 15 else 6},
                unselected={"marker": {"opacity": 1}},
                customdata=[_point(row) for row in records(kept)],
                hovertemplate="step %{x}: %{y:.4~g}<br>%{customdata.told}<extra></extra>",
            ),
            **place,
        )
        seen.add(name)


def _point(row: dict[str, Any]) -> dict[str, Any]:
    over = (
        "" if row["num"] is None else f", n = {row['num']:,} {row['over']}".replace(",", "\u202f", row["num"] >= 1000)
    )
    how = f"reported as {charts.shown(row['name'])}" if row["source"] == "reported" else f"computed{over}"
    told = f"{row['title']}, {row['split'] or 'no split'}<br>{how}"
    return {"run_id": row["run_id"], "step": row["step"], "split": row["split"], "told": told}


def _shade(drawn: go.Figure, row: dict[str, Any], span: list[float], place: dict[str, int]) -> None:
    first = span[0] if row["from_step"] is None else float(row["from_step"])
    last = span[1] if row["to_step"] is None else float(row["to_step"])
    drawn.add_vrect(x0=first, x1=last, fillcolor=charts.BAD, opacity=0.12, line={"width": 0}, layer="below", **place)


def thinned(rows: pd.DataFrame, most: int) -> pd.DataFrame:
    """At most so many rows of a line: the lowest and the highest of each stretch of steps, so that no spike is lost."""
    if len(rows) <= most:
        return rows
    stretch = np.arange(len(rows)) * (most // 2) // len(rows)
    values = rows["value"].reset_index(drop=True)
    grouped = values.groupby(stretch)
    kept = sorted({0, len(rows) - 1, *grouped.idxmin().dropna().astype(int), *grouped.idxmax().dropna().astype(int)})
    return rows.iloc[kept]
