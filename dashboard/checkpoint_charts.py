"""The plot of the checkpoints page: reward by step, the best and its rivals told by shape, the train batch faint."""

from typing import Any, Final

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from dashboard import charts
from dashboard.checkpoint_words import standing
from dashboard.rows import records

_SHAPES: Final = (
    ("best", "best", "star", 15),
    ("tied", "cannot be told from it", "circle", 9),
    ("apart", "lower", "x-thin-open", 9),
)
_POINT: Final = ("run_id", "split", "step")
_HOVER: Final = (
    "<b>step %{x}</b>, %{customdata.standing}<br>reward %{y:.3f}, 95 % interval %{customdata.low} to "
    "%{customdata.high}<br>n = %{customdata.num_samples_scored} samples<br>difference from the best "
    "%{customdata.delta}<br>chosen in %{customdata.chance} of resamples<extra></extra>"
)


def reward_by_step(steps: pd.DataFrame, choice: dict[str, Any], train: pd.DataFrame, colour: str) -> go.Figure:
    """Reward of every checkpoint with its interval as a band, marked as best, as tied or as lower.

    `steps` are rows of `checkpoint_figures` of one run, `choice` its row of `checkpoint_choice`, `train` of
    `reward_curve` of its train batches. What the best one is worth after the choice stands beside it as a diamond.
    """
    scored = steps[steps["reward_mean"].notna()].sort_values("step")
    drawn = charts.figure("step", "reward", height=420)
    drawn.update_xaxes(**charts.whole_ticks([*scored["step"], *train["step"]]))
    if len(train):
        _train(drawn, train, colour)
    x = scored["step"].to_numpy(float)
    charts.band(drawn, x, scored["reward_ci_low"].to_numpy(float), scored["reward_ci_high"].to_numpy(float), colour)
    line = {"color": colour, "width": 1.5}
    drawn.add_scatter(
        x=x, y=scored["reward_mean"], mode="lines", line=line, showlegend=False, hoverinfo="skip", connectgaps=False
    )
    rows = [row | _said(row) for row in records(scored)]
    for kind, name, symbol, size in _SHAPES:
        own = [row for row in rows if standing(row) == kind]
        if own:
            drawn.add_trace(_points(own, name, symbol, size, colour))
    _worth(drawn, choice, float(np.ptp([*x, *train["step"].to_numpy(float)])))
    _saved(drawn, steps)
    return drawn


def _said(row: dict[str, Any]) -> dict[str, Any]:
    """What the hover says of a step, where it can be said."""
    texts = {name: "–" if row[of] is None else f"{row[of]:.3f}" for name, of in _TEXTS.items()}
    chance = "–" if row["chance_best"] is None else f"{100 * row['chance_best']:.0f} %"
    return {**texts, "chance": chance, "standing": dict((each[:2]) for each in _SHAPES)[standing(row)]}


_TEXTS: Final = {"low": "reward_ci_low", "high": "reward_ci_high", "delta": "delta_mean"}


def _points(rows: list[dict[str, Any]], name: str, symbol: str, size: int, colour: str) -> go.Scatter:
    kept = (*_POINT, "standing", "low", "high", "delta", "chance", "num_samples_scored")
    return go.Scatter(
        x=[float(row["step"]) for row in rows],
        y=[row["reward_mean"] for row in rows],
        mode="markers",
        name=name,
        marker={"color": colour, "size": size, "symbol": symbol, "line": {"width": 2, "color": colour}},
        cliponaxis=False,
        customdata=[{each: row[each] for each in kept} for row in rows],
        hovertemplate=_HOVER,
    )


def _train(drawn: go.Figure, train: pd.DataFrame, colour: str) -> None:
    """The train batch of every step, faint: it is of other samples, and the policy was trained on them."""
    drawn.add_scatter(
        x=train["step"].to_numpy(float),
        y=train["reward_mean"].to_numpy(float),
        mode="lines+markers",
        name="train batch",
        line={"color": colour, "width": 1, "dash": "dot"},
        marker={"size": 4, "color": colour},
        opacity=0.45,
        connectgaps=False,
        customdata=charts.points(train, [*_POINT, "num_samples_scored"]),
        hovertemplate="train batch, step %{x}: %{y:.3f}<br>n = %{customdata.num_samples_scored} samples<extra></extra>",
    )


def _worth(drawn: go.Figure, choice: dict[str, Any], span: float) -> None:
    """What the best step is worth after the choice, with its interval."""
    expected, low, high = (choice[each] for each in ("reward_expected", "ci_low", "ci_high"))
    if expected is None:
        return
    reach = None
    if low is not None and high is not None:
        reach = {"array": [high - expected], "arrayminus": [expected - low], "thickness": 1.5, "width": 6}
    # A little to the right, so that the star does not hide it.
    drawn.add_scatter(
        x=[float(choice["best_step"]) + 0.012 * span],
        y=[expected],
        mode="markers",
        name="expected of the best",
        marker={"color": charts.BASELINE, "size": 10, "symbol": "diamond-open", "line": {"width": 2}},
        error_y=None if reach is None else {**reach, "color": charts.BASELINE},
        hovertemplate=f"expected of step {int(choice['best_step'])}: %{{y:.3f}}<br>"
        "its reward, less what the choice adds<extra></extra>",
    )


def _saved(drawn: go.Figure, steps: pd.DataFrame) -> None:
    """Saved checkpoints as triangles on the axis of steps."""
    saved = steps[steps["is_saved"].fillna(value=False).astype(bool)]
    if saved.empty:
        return
    drawn.add_scatter(
        x=saved["step"].to_numpy(float),
        y=[0.015] * len(saved),
        yaxis="y2",
        mode="markers",
        name="saved",
        marker={"symbol": "triangle-up", "size": 9, "color": charts.BASELINE},
        text=[charts.shown(each, 60) for each in saved["checkpoint_id"].fillna("").astype(str)],
        hovertemplate="saved at step %{x}<br>%{text}<extra></extra>",
    )
    drawn.update_layout(yaxis2={"overlaying": "y", "range": [0, 1], "visible": False, "fixedrange": True})
