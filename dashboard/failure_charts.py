"""Figures of the failures and attrition pages: causes, rewards with bounds, failures in time and by load, stages."""

from collections.abc import Mapping
from typing import Any, Final

import pandas as pd
import plotly.graph_objects as go

from dashboard import charts
from dashboard.charts_curves import Looks
from dashboard.failure_words import span, title_of
from dashboard.rows import by_run, drawn_runs, records

_TONES: Final = {
    "infrastructure": ("#9B3A4A", "#B8626F", "#7A2B39", "#C98A93", "#5E1F2B", "#D6A6AD"),
    "grader": ("#8A6BA8", "#6D4F8C"),
    "policy": ("#CBC3AE", "#A89F5B", "#6E7036", "#8C8468", "#DDD6C2", "#57582C", "#BDB57B"),
    "unknown": ("#7A8794", "#A3ADB7", "#57626D"),
}
"""Earth tones, of no run; a tone a cause, and a family of tones for whose it is."""
_PATTERNS: Final = {"infrastructure": "/", "grader": "x", "policy": "", "unknown": "."}


def cause_figure(causes: pd.DataFrame, titles: Mapping[str, str], looks: Looks, *, by: str) -> go.Figure:
    """Share of rollouts of every cause: a bar a run (and split), or a bar a step of the one run and split there is."""
    known = causes[causes["cause"].notna()]
    if by == "step":
        drawn = charts.figure("step", "share of rollouts", y_format=charts.SHARE_TICKS)
        drawn.update_xaxes(**charts.whole_ticks(causes["step"]))
    else:
        drawn = charts.figure(
            "share of rollouts", "", height=150 + 34 * causes[["run_id", "split"]].drop_duplicates().shape[0]
        )
        drawn.update_xaxes(tickformat=charts.SHARE_TICKS)
        drawn.update_yaxes(autorange="reversed")
    order = known.groupby(["whose", "cause"], sort=False)["num"].sum().reset_index()
    order["place"] = order["whose"].map({name: place for place, name in enumerate(_TONES)})
    used: dict[str, int] = {}
    for whose, cause in order.sort_values(["place", "num"], ascending=[True, False])[["whose", "cause"]].to_numpy():
        rows = known[known["cause"] == cause]
        tones = _TONES[whose]
        tone = tones[used.get(whose, 0) % len(tones)]
        used[whose] = used.get(whose, 0) + 1
        label = [_label(row, looks) for row in records(rows)]
        along = rows["step"].astype(float) if by == "step" else rows["share"]
        drawn.add_bar(
            x=along,
            y=rows["share"] if by == "step" else label,
            orientation="v" if by == "step" else "h",
            name=charts.shown(f"{title_of(cause, titles)} ({whose})"),
            marker={
                "color": tone,
                "pattern": {"shape": _PATTERNS[whose], "size": 5, "solidity": 0.2, "fillmode": "overlay"},
            },
            customdata=charts.points(
                rows,
                ["run_id", "split", "step", "cause", "num", "num_zero", "num_rollouts", "share", "ci_low", "ci_high"],
            ),
            hovertemplate=(
                "%{customdata.num} of %{customdata.num_rollouts} rollouts, %{customdata.share:.1%} "
                "[%{customdata.ci_low:.1%}, %{customdata.ci_high:.1%}]<br>%{customdata.num_zero} at the reward's floor"
            ),
        )
    drawn.update_layout(barmode="stack", bargap=0.15 if by == "step" else 0.35, showlegend=True)
    return drawn


def _label(row: Mapping[str, Any], looks: Looks) -> str:
    split = "" if row["split"] is None else f" · {row['split']}"
    return charts.shown(f"{looks.name(row['run_id'])}{split}")


def bounds_figure(found: pd.DataFrame, looks: Looks) -> go.Figure:
    """Reward over steps as graded (dotted) and with failures left out (solid); the bounds are a band."""
    drawn = charts.figure("step", "reward", zero=True)
    for run_id, rows in by_run(drawn_runs(found[found["step"].notna()])).items():
        colour, name = looks.colours[run_id], looks.name(run_id)
        charts.band(drawn, rows["step"].astype(float), rows["bound_low"], rows["bound_high"], colour, name)
        for y, extra, dash in (("reward_kept_mean", "", "solid"), ("reward_mean", ", as graded", "dot")):
            charts.curve(
                drawn,
                rows,
                x="step",
                y=y,
                name=name + extra,
                colour=colour,
                dash=dash,
                symbol=looks.symbols.get(run_id, "circle"),
                customdata=["run_id", "split", "step", "num_left_out", "num_rollouts", "bound_low", "bound_high"],
                hover="step %{x}: %{y:.3f}, between %{customdata.bound_low:.3f} and %{customdata.bound_high:.3f}<br>"
                "%{customdata.num_left_out} of %{customdata.num_rollouts} rollouts left out",
            )
    drawn.update_xaxes(**charts.whole_ticks(found["step"]))
    return drawn


def time_figure(found: pd.DataFrame, looks: Looks) -> go.Figure:
    """Failed rollouts (or calls) over time: a row a place, a mark a slice, larger where more failed."""
    failed = found[found["num_failed"] > 0]
    several = found["run_id"].nunique() > 1
    names = [_place(row, looks, several=several) for row in records(failed)]
    drawn = charts.figure("time, UTC", "", height=180 + 26 * max(len(set(names)), 1))
    drawn.add_scatter(
        x=failed["from_at"],
        y=names,
        mode="markers",
        showlegend=False,
        marker={
            "size": (6 + 26 * failed["share"].astype(float).pow(0.5)).tolist(),
            "color": [looks.colours.get(str(run_id), charts.CANDIDATE) for run_id in failed["run_id"]],
            "opacity": 0.75,
        },
        customdata=charts.points(failed, ["run_id", "place", "kind", "slice", "from_at", "to_at", "num", "num_failed"]),
        hovertemplate="%{x}: %{customdata.num_failed} of %{customdata.num} failed<extra>%{y}</extra>",
    )
    return drawn


def _place(row: Mapping[str, Any], looks: Looks, *, several: bool) -> str:
    run = looks.name(row["run_id"])
    return charts.shown(run if row["kind"] == "run" else f"{row['place']} · {run}" if several else str(row["place"]))


def load_figure(found: pd.DataFrame, looks: Looks) -> go.Figure:
    """Share of failed rollouts by how many were in flight, with intervals, a run a colour."""
    drawn = charts.figure("rollouts in flight when it began", "share failed", y_format=charts.SHARE_TICKS, zero=True)
    for run_id, rows in by_run(drawn_runs(found)).items():
        middle = (rows["in_flight_from"] + rows["in_flight_to"]).astype(float) / 2
        text = [f"{span(row)} in flight" for row in records(rows)]
        charts.curve(
            drawn,
            rows.assign(middle=middle, text=text),
            x="middle",
            y="share",
            name=looks.name(run_id),
            colour=looks.colours[run_id],
            symbol=looks.symbols.get(run_id, "circle"),
            low="ci_low",
            high="ci_high",
            customdata=["run_id", "text", "num", "num_failed"],
            hover="%{customdata.text}: %{customdata.num_failed} of %{customdata.num} failed (%{y:.1%})",
        )
    return drawn


def stage_figure(losses: pd.DataFrame, reasons: Mapping[tuple[str, str], str]) -> go.Figure:
    """Rollouts of every step by what became of them: those kept, then the lost ones by stage and reason."""
    drawn = charts.figure("step", "rollouts")
    kept = losses[losses["lost_at"].isna()]
    has_steps = bool(losses["step"].notna().any())
    _stage_bars(drawn, kept, "not lost", charts.CANDIDATE, "", has_steps=has_steps)
    tones = {"finished": "#9B3A4A", "scored": "#8A6BA8", "admitted": "#A89F5B", "trained_on": "#CBC3AE"}
    shapes = ("", "/", "x", ".", "-", "+")
    for stage, tone in tones.items():
        found = losses[losses["lost_at"] == stage]
        for place, reason in enumerate(found.groupby("reason")["num"].sum().sort_values(ascending=False).index):
            name = reasons.get((stage, str(reason)), str(reason))
            rows = found[found["reason"] == reason]
            _stage_bars(drawn, rows, name, tone, shapes[place % len(shapes)], has_steps=has_steps)
    drawn.update_layout(barmode="stack", bargap=0.1, showlegend=True)
    drawn.update_yaxes(**charts.whole_ticks([0, losses.groupby("step", dropna=False)["num"].sum().max()]))
    drawn.update_xaxes(**(charts.whole_ticks(losses["step"]) if has_steps else {"title": "no step"}))
    return drawn


def _stage_bars(drawn: go.Figure, rows: pd.DataFrame, name: str, tone: str, shape: str, *, has_steps: bool) -> None:
    known = rows[rows["step"].notna()] if has_steps else rows
    drawn.add_bar(
        x=known["step"].astype(float) if has_steps else [""] * len(known),
        y=known["num"].astype(float),
        name=charts.shown(name),
        marker={"color": tone, "pattern": {"shape": shape, "size": 5, "solidity": 0.25, "fillmode": "overlay"}},
        customdata=charts.points(known, ["run_id", "split", "step", "lost_at", "reason", "num", "num_dispatched"]),
        hovertemplate="step %{x}: %{customdata.num} of %{customdata.num_dispatched} rollouts",
    )
