"""Figures of the Samples page: the heatmap of samples over steps, and the strip of one sample's attempts."""

from typing import Any, Final

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from dashboard.charts import (
    DIVERGING,
    SEQUENTIAL,
    SEQUENTIAL_SCALE,
    colour_bar,
    figure,
    points,
    shown,
    targets,
)
from dashboard.charts_curves import Looks
from dashboard.words import number, plural

MEASURES: Final = {"reward": "mean reward", "tool_calls": "mean tool calls per rollout"}
LABELLED_ROWS: Final = 40
"""More samples than this are drawn without their names."""
MAX_TICKS: Final = 16


def heatmap(cells: pd.DataFrame, measure: str) -> go.Figure:
    """Samples (rows, lowest mean on top) over steps (columns); a click on a cell hands back its sample.

    Values below zero make the scale diverge around zero; else it runs from zero (or the lowest) to the highest.
    """
    rows, columns = int(cells["place"].max()) + 1, int(cells["bin"].max()) + 1
    values = cells["value"].to_numpy(float, na_value=np.nan)
    grid = np.full((rows, columns), np.nan)
    grid[cells["place"].to_numpy(int), cells["bin"].to_numpy(int)] = values
    drawn = figure("step", "", height=min(max(160 + 14 * rows, 260), 640))
    gaps = {"xgap": 1 if columns < 60 else 0, "ygap": 1 if rows < 60 else 0}
    bar = colour_bar(MEASURES[measure])
    meta = SEQUENTIAL_SCALE if np.nanmin(values, initial=0.0) >= 0 else None
    drawn.add_trace(go.Heatmap(z=grid, hoverinfo="skip", colorbar=bar, meta=meta, **gaps, **_scale(values)))
    drawn.add_trace(_targets(cells, measure))
    drawn.update_xaxes(showgrid=False, range=[-0.5, columns - 0.5], **_step_ticks(cells))
    drawn.update_yaxes(showgrid=False, range=[rows - 0.5, -0.5], **_sample_ticks(cells))
    drawn.update_layout(showlegend=False)
    return drawn


def _scale(values: np.ndarray) -> dict[str, Any]:
    known = values[~np.isnan(values)]
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
    if low < 0:
        reach = max(-low, high)
        return {"colorscale": list(DIVERGING), "zmid": 0, "zmin": -reach, "zmax": reach}
    return {"colorscale": list(SEQUENTIAL), "zmin": 0, "zmax": high if high > 0 else 1.0}


def _targets(cells: pd.DataFrame, measure: str) -> go.Scatter:
    """What can be clicked over the cells."""
    return targets(
        cells["bin"].to_numpy(int),
        cells["place"].to_numpy(int),
        points(cells, ["sample_id", "environment", "step_from", "step_to"]),
        [_cell_words(each, measure) for each in cells.to_dict("records")],
        size=12,
    )


def _cell_words(cell: dict[Any, Any], measure: str) -> str:
    first, last = int(cell["step_from"]), int(cell["step_to"])
    steps = f"step {first}" if first == last else f"steps {first}–{last}"
    value = number(cell["value"])
    return f"{shown(str(cell['sample_id']))}<br>{steps}<br>{MEASURES[measure]} {value}<br>{_n(cell)}"


def _n(cell: dict[Any, Any]) -> str:
    known, total = int(cell["num_known"]), int(cell["num_rollouts"])
    return plural(total, "rollout") if known == total else f"{known} of {plural(total, 'rollout')} known"


def _step_ticks(cells: pd.DataFrame) -> dict[str, Any]:
    bins = cells.groupby("bin", as_index=False)[["step_from", "step_to"]].agg({"step_from": "min", "step_to": "max"})
    every = bins.iloc[:: -(-len(bins) // MAX_TICKS)]
    return {
        "tickvals": every["bin"].tolist(),
        "ticktext": [
            str(first) if first == last else f"{first}–{last}"
            for first, last in zip(every["step_from"], every["step_to"], strict=True)
        ],
    }


def _sample_ticks(cells: pd.DataFrame) -> dict[str, Any]:
    rows = cells.drop_duplicates("place")
    if len(rows) > LABELLED_ROWS:
        return {"showticklabels": False, "title_text": "samples, lowest mean on top"}
    return {"tickvals": rows["place"].tolist(), "ticktext": [shown(str(each), 24) for each in rows["sample_id"]]}


def attempts_strip(attempts: pd.DataFrame, measure: str, names: dict[str, str], looks: Looks) -> go.Figure:
    """One marker an attempt over steps, coloured by run; rollouts without a step stand left of the first.

    Attempts of one step are set apart a little, in order of their number, so that equal values do not hide each other.
    """
    colours, symbols = looks.colours, looks.symbols
    steps = attempts["step"].to_numpy(float, na_value=np.nan)
    known = np.unique(steps[~np.isnan(steps)])
    gap = float(np.diff(known).min()) if len(known) > 1 else 1.0
    left = (known[0] if len(known) else 0.0) - (gap if len(known) < 2 else (known[-1] - known[0]) * 0.08 + gap)
    placed = attempts.assign(x=np.where(np.isnan(steps), left, steps) + _aside(attempts, gap))
    column, title = ("reward", "reward") if measure == "reward" else ("num_tool_calls", "tool calls per rollout")
    drawn = figure("step", title, height=320, zero=True)
    for run_id, part in placed[placed[column].notna()].groupby("run_id", sort=False):
        name = shown(names.get(str(run_id), str(run_id)))
        drawn.add_trace(
            go.Scatter(
                x=part["x"].to_numpy(float),
                y=part[column].to_numpy(float),
                mode="markers",
                name=name,
                marker={"color": colours.get(str(run_id)), "symbol": symbols.get(str(run_id)), "size": 9},
                opacity=0.75,
                customdata=points(part, ["rollout_id"]),
                text=[_attempt_words(each, name) for each in part.to_dict("records")],
                hovertemplate="%{text}<extra></extra>",
            )
        )
    ticks = known[:: -(-len(known) // MAX_TICKS)] if len(known) else known
    marks, texts = list(ticks), [f"{each:g}" for each in ticks]
    if np.isnan(steps).any():
        marks, texts = [left, *marks], ["no step", *texts]
    drawn.update_xaxes(tickvals=marks, ticktext=texts)
    return drawn


def _aside(attempts: pd.DataFrame, gap: float) -> np.ndarray:
    """How far each attempt stands from its step: spread over at most half the gap between steps."""
    cell = attempts.groupby(["run_id", "step", "split"], dropna=False)
    order = cell.cumcount().to_numpy(float)
    count = cell["rollout_id"].transform("size").to_numpy(float)
    run = attempts.groupby("run_id", sort=False).ngroup().to_numpy(float)
    spread = (order - (count - 1) / 2) / np.maximum(count, 4)
    return np.asarray(gap * (0.5 * spread + 0.04 * (run - run.mean())))


def _attempt_words(attempt: dict[Any, Any], name: str) -> str:
    step = "no step" if pd.isna(attempt["step"]) else f"step {int(attempt['step'])}"
    parts = [name, f"{step}, attempt {number(attempt['attempt'])}", f"reward {number(attempt['reward'])}"]
    parts += [plural(attempt["num_tool_calls"], "tool call")] if pd.notna(attempt["num_tool_calls"]) else []
    parts += [str(attempt["status"]).replace("_", " ")] if pd.notna(attempt["status"]) else []
    return "<br>".join(parts)
