"""Figures of the page Time and money: parts of a rollout's time, waiting by step, gain against spending."""

from typing import Any, Final

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from dashboard import charts
from dashboard.charts_curves import Looks
from dashboard.money_words import PART_WORDS
from dashboard.rows import records, texts

PART_LOOKS: Final = {
    "model": ("#6B4E9E", ""),
    "tools": ("#A58FCB", "/"),
    "user": ("#8C6D46", "."),
    "queue": ("#B9A66B", "x"),
    "setup": ("#7C7F4A", "-"),
    "grading": ("#B0788A", "\\"),
    "rest": ("#A7AFBB", ""),
}
"""Colours of no run, and patterns, so that parts are told apart without colour as well."""
MAX_PANELS: Final = 4
MAX_BARS: Final = 40
KEYS: Final = ("run_id", "split", "step", "environment", "num_rollouts", "share", "num_missing")
SPENT_AXES: Final = {
    "usd": "spent on train rollouts since the first validation, US$",
    "tokens": "tokens of train rollouts",
    "rollouts": "train rollouts",
    "hours": "rollout-hours of train rollouts",
    "steps": "step",
}


def time_parts(frame: pd.DataFrame, looks: Looks, by: str) -> go.Figure:
    """Mean seconds of a rollout by part, stacked: a bar a step (a panel a run), a run or an environment."""
    panels = texts(frame["run_id"])[:MAX_PANELS] if by == "step" else [None]
    titles = [charts.shown(looks.name(str(each))) for each in panels] if len(panels) > 1 else None
    drawn = make_subplots(len(panels), 1, shared_xaxes=by == "step", subplot_titles=titles, vertical_spacing=0.12)
    drawn.update_layout(height=380 if len(panels) == 1 else 120 + 220 * len(panels), barmode="stack", bargap=0.2)
    for place, run in enumerate(panels, start=1):
        part = frame if run is None else frame[frame["run_id"] == run]
        _bars(drawn, part, looks, by, place)
    drawn.update_yaxes(title_text="seconds per rollout", rangemode="tozero")
    if by == "step":
        drawn.update_xaxes(**charts.whole_ticks(frame[frame["run_id"].isin(panels)]["step"]))
    if len(panels) > 1:  # one scale: else the same height means other seconds from run to run
        shown = frame[frame["run_id"].isin(panels)]
        top = shown.groupby(["run_id", "split", "step"], dropna=False)["seconds_mean"].sum().max()
        drawn.update_yaxes(range=[0, 1.05 * top])
    return drawn


def _bars(drawn: go.Figure, frame: pd.DataFrame, looks: Looks, by: str, panel: int) -> None:
    places, ticks = _places(frame, looks, by)
    for part, (colour, pattern) in PART_LOOKS.items():
        rows = frame[(frame["part"] == part) & frame["seconds_mean"].notna()]
        if rows.empty:
            continue
        labels = [ticks[places[_key(row)]] for row in records(rows)]
        drawn.add_bar(
            x=[places[_key(row)] for row in records(rows)],
            y=rows["seconds_mean"].astype(float),
            name=PART_WORDS[part],
            legendgroup=part,
            showlegend=panel == 1,
            marker={"color": colour, "pattern": _pattern(pattern)},
            customdata=charts.points(rows, KEYS),
            text=labels,
            textposition="none",
            hovertemplate=f"<b>%{{text}}</b><br>{PART_WORDS[part]} %{{y:.3~g}} s, %{{customdata.share:.1%}}"
            "<br>n = %{customdata.num_rollouts:,} rollouts, %{customdata.num_missing:,} lack it<extra></extra>",
            row=panel,
            col=1,
        )
    if by == "step":
        drawn.update_xaxes(title_text="step", row=panel, col=1)
    else:
        drawn.update_xaxes(tickvals=list(ticks), ticktext=list(ticks.values()), row=panel, col=1)


def _pattern(shape: str) -> dict[str, Any]:
    return {"shape": shape, "size": 7, "solidity": 0.2, "fillmode": "overlay", "fgcolor": "#FFFFFF", "fgopacity": 0.8}


def _key(row: dict[str, Any]) -> tuple[Any, ...]:
    return row["run_id"], row["split"], row["step"], row["environment"]


def _places(frame: pd.DataFrame, looks: Looks, by: str) -> tuple[dict[tuple[Any, ...], float], dict[float, str]]:
    """Where every bar stands, and what it is called."""
    keys = list(dict.fromkeys(_key(row) for row in records(frame)))
    several = len({key[0] for key in keys}) > 1
    if by == "step":
        return {key: float(key[2] or 0) for key in keys}, {float(key[2] or 0): f"step {key[2]}" for key in keys}
    places = {key: float(at) for at, key in enumerate(keys)}
    names = {}
    for key, at in places.items():
        run = charts.shown(looks.name(str(key[0])), 24)
        environment = charts.shown(str(key[3] or "environment not named"), 24)
        names[at] = run if by == "run" else f"{environment} · {run}" if several else environment
    return places, names


def waits(frame: pd.DataFrame, looks: Looks) -> go.Figure:
    """Seconds of every step on the clock: until 95 % of its rollouts have ended, and what the last ones add."""
    drawn = charts.figure("step", "seconds on the clock", height=300)
    shown = frame[frame["held_s"].notna()].assign(until=lambda each: each["span_s"] - each["held_s"])
    for column, words, colour, pattern in (
        ("until", "until 95 % have ended", "#A9B0BA", ""),
        ("held_s", "held up by the last 5 %", "#8C6D46", "/"),
    ):
        drawn.add_bar(
            x=shown["step"].astype(float).fillna(0),
            y=shown[column],
            name=words,
            marker={"color": colour, "pattern": _pattern(pattern)},
            customdata=charts.points(shown, ["run_id", "split", "step", "num_last", "num_timed"]),
            text=[charts.shown(looks.name(str(each))) for each in shown["run_id"]],
            textposition="none",
            hovertemplate=f"<b>%{{text}}</b>, step %{{x}}<br>{words}: %{{y:.3~g}} s"
            "<br>%{customdata.num_last} of %{customdata.num_timed} rollouts<extra></extra>",
        )
    drawn.update_layout(barmode="stack", bargap=0.2)
    drawn.update_xaxes(**charts.whole_ticks(shown["step"]))
    return drawn


def gain(frame: pd.DataFrame, looks: Looks, unit: str) -> go.Figure:
    """Reward gained since the first validation against what was spent, a line a run; each point is a validation."""
    drawn = charts.figure(SPENT_AXES[unit], "reward gained since the first validation", zero=True)
    few = frame["run_id"].nunique() <= MAX_PANELS
    for run in texts(frame["run_id"]):
        rows = frame[frame["run_id"] == run].assign(split="valid")
        rows["gain_mean"] = rows["gain_mean"].fillna(0.0)
        name = looks.name(run)
        charts.curve(
            drawn,
            rows,
            x="spent",
            y="gain_mean",
            name=name,
            colour=looks.colours.get(run, charts.BASELINE),
            dash=looks.dashes.get(run, "solid"),
            symbol=looks.symbols.get(run, "circle"),
            low="gain_ci_low" if few else None,
            high="gain_ci_high" if few else None,
            customdata=["run_id", "split", "step", "num_samples", "gain_ci_low", "gain_ci_high", "reward_mean"],
            hover=f"<b>{charts.shown(name)}</b>, step %{{customdata.step}}<br>gain %{{y:+.3f}} "
            "[%{customdata.gain_ci_low:.3f}, %{customdata.gain_ci_high:.3f}], reward %{customdata.reward_mean:.3f}"
            "<br>for %{x:.4~s}, n = %{customdata.num_samples:,} samples<extra></extra>",
        )
    return drawn
