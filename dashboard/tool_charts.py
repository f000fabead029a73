"""Figures of the tool behaviour page: shares and rates with their intervals by group. Frames in, figures out."""

from collections.abc import Sequence
from typing import Any, Final

import pandas as pd
import plotly.graph_objects as go

from dashboard import charts
from dashboard.rows import records
from dashboard.words import percent, whole

MAX_ROWS: Final = 24
PARALLEL: Final = "#6B4E9E"
SINGLE: Final = "#B4A5D2"
_POINT: Final = ("run_id", "split", "step", "environment", "agent", "tool", "what_follows", "rule")


def failure_figure(profile: pd.DataFrame, named: Sequence[str]) -> go.Figure:
    """Failure rates of parallel and of single calls, group by group, with intervals; the last groups where many."""
    rows = list(zip(named, records(profile), strict=True))[-MAX_ROWS:]
    places = list(range(len(rows)))
    drawn = charts.figure("failed calls, share of calls", "", height=max(260, 34 * len(rows) + 120))
    both = any(row["parallel_error_rate"] is not None for _, row in rows)
    for kind, colour, symbol, shift, count in (
        ("parallel", PARALLEL, "diamond", -0.14, "num_parallel_calls"),
        ("single", SINGLE, "circle", 0.14, "num_calls"),
    ):
        rate = f"{kind}_error_rate"
        known = [(place, name, row) for place, (name, row) in zip(places, rows, strict=True) if row[rate] is not None]
        drawn.add_trace(
            go.Scatter(
                x=[row[rate] for _, _, row in known],
                y=[place + shift * both for place, _, _ in known],
                error_x=_bars(
                    [(row[rate], row[f"{rate}_ci_low"], row[f"{rate}_ci_high"]) for _, _, row in known], colour
                ),
                mode="markers",
                cliponaxis=False,
                marker={"color": colour, "symbol": symbol, "size": 9},
                name=f"{kind} calls",
                customdata=[_point(row) for _, _, row in known],
                text=[
                    f"<b>{charts.shown(name)}</b><br>{percent(row[rate])} of {kind} calls fail "
                    f"(of {whole(row[count] if kind == 'parallel' else row['num_calls'] - row['num_parallel_calls'])})"
                    for _, name, row in known
                ],
                hovertemplate="%{text}<extra></extra>",
            )
        )
    drawn.update_layout(showlegend=True)
    return _labelled(drawn, [name for name, _ in rows])


def share_figure(
    frame: pd.DataFrame,
    labels: Sequence[str],
    title: str,
    *,
    value: str = "share",
    low: str = "ci_low",
    high: str = "ci_high",
    count: str = "num_calls",
) -> go.Figure:
    """Shares with their intervals, a row each, in the order given; at most `MAX_ROWS` of them."""
    rows = list(zip(labels, records(frame), strict=True))[:MAX_ROWS]
    drawn = charts.figure(title, "", height=max(240, 28 * len(rows) + 110))
    drawn.add_trace(
        go.Scatter(
            x=[row[value] for _, row in rows],
            y=list(range(len(rows))),
            error_x=_bars([(row[value], row[low], row[high]) for _, row in rows], PARALLEL),
            mode="markers",
            cliponaxis=False,
            marker={"color": PARALLEL, "size": 9},
            showlegend=False,
            customdata=[_point(row) for _, row in rows],
            text=[
                f"<b>{charts.shown(name, 80)}</b><br>{percent(row[value])}, {whole(row[count])}" for name, row in rows
            ],
            hovertemplate="%{text}<extra></extra>",
        )
    )
    return _labelled(drawn, [name for name, _ in rows])


def _labelled(drawn: go.Figure, names: Sequence[str]) -> go.Figure:
    drawn.update_xaxes(tickformat=charts.SHARE_TICKS, rangemode="tozero")
    labels = [charts.shown(each, 36) for each in names]
    drawn.update_yaxes(
        range=[len(names) - 0.4, -0.6], tickvals=list(range(len(names))), ticktext=labels, showgrid=False
    )
    return drawn


def _bars(values: Sequence[tuple[float, float | None, float | None]], colour: str) -> dict[str, Any]:
    """Error bars; none where there is no interval."""
    up = [0.0 if high is None else max(0.0, high - value) for value, _, high in values]
    down = [0.0 if low is None else max(0.0, value - low) for value, low, _ in values]
    return {"type": "data", "symmetric": False, "array": up, "arrayminus": down, "color": colour, "thickness": 1.5}


def _point(row: dict[str, Any]) -> dict[str, Any]:
    return {name: row.get(name) for name in _POINT}
