"""The figure of the Grader audit page: scores of one grader against another's. Frames in, figures out."""

from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from dashboard import charts
from dashboard.rows import records
from dashboard.words import number, plural

_BOUNDS = ("first_low", "first_high", "second_low", "second_high")


def confusion(cells: pd.DataFrame, first: str, second: str) -> go.Figure:
    """Rollouts by the score of both graders, as a heatmap whose cells can be clicked; few cells say their counts."""
    xs, ys = (sorted(set(cells[name].astype(float))) for name in ("first_low", "second_low"))
    at = [(xs.index(float(row["first_low"])), ys.index(float(row["second_low"]))) for row in records(cells)]
    grid = np.full((len(ys), len(xs)), np.nan)
    for (x, y), num in zip(at, cells["num_rollouts"], strict=True):
        grid[y, x] = num
    drawn = charts.figure(
        f"score of {charts.shown(first)}", f"score of {charts.shown(second)}", height=_height(len(ys))
    )
    drawn.add_trace(
        go.Heatmap(
            z=grid,
            hoverinfo="skip",
            meta=charts.SEQUENTIAL_SCALE,
            colorscale=list(charts.SEQUENTIAL),
            zmin=0,
            xgap=1,
            ygap=1,
            texttemplate="%{z:.0f}" if len(cells) <= 60 else None,
            colorbar=charts.colour_bar("rollouts"),
        )
    )
    drawn.add_trace(
        charts.targets(
            [x for x, _ in at], [y for _, y in at], _points(cells), [_words(row) for row in records(cells)], size=18
        )
    )
    drawn.update_xaxes(showgrid=False, range=[-0.5, len(xs) - 0.5], **_ticks(cells, "first", xs))
    drawn.update_yaxes(showgrid=False, range=[-0.5, len(ys) - 0.5], **_ticks(cells, "second", ys))
    drawn.update_layout(showlegend=False)
    return drawn


def _height(rows: int) -> int:
    return min(max(150 + 40 * rows, 260), 560)


def _points(cells: pd.DataFrame) -> list[dict[str, Any]]:
    return [
        {"place": f"{row['first_low']:.6g}|{row['second_low']:.6g}", **{name: float(row[name]) for name in _BOUNDS}}
        for row in records(cells)
    ]


def _words(row: dict[str, Any]) -> str:
    n = f"{plural(row['num_rollouts'], 'rollout')} of {plural(row['num_samples'], 'sample')}"
    return f"{_bin(row, 'first')} and {_bin(row, 'second')}<br>{n}<br>{row['num_disagree']} with opposite verdicts"


def _bin(row: dict[str, Any], side: str) -> str:
    low, high = row[f"{side}_low"], row[f"{side}_high"]
    return number(low) if low == high else f"{number(low)} to {number(high)}"


def _ticks(cells: pd.DataFrame, side: str, lows: list[float]) -> dict[str, Any]:
    is_binned = bool((cells[f"{side}_high"] > cells[f"{side}_low"]).any())
    shown = list(range(0, len(lows), -(-len(lows) // 10)))
    return {"tickvals": shown, "ticktext": [("from " if is_binned else "") + f"{lows[each]:.3g}" for each in shown]}
