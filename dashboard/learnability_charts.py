"""Figures of the learnability page: samples by chance of success, groups by size, k attempts, and groups by step."""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from dashboard import charts
from dashboard.charts_curves import Looks, Series, reward_figure
from dashboard.learnability_words import BUCKETS
from dashboard.words import number, percent, plural

MAX_DOTS: Final = 1_500
"""More samples than this are drawn as a histogram: their intervals would be one grey area."""
NUM_BINS: Final = 20
_LOOKS: Final[Mapping[str, tuple[str, str]]] = {
    "always_fails": (charts.BAD, "triangle-down"),
    "always_lowest": (charts.BAD, "triangle-down"),
    "mixed": (charts.CANDIDATE, "circle"),
    "varies": (charts.CANDIDATE, "circle"),
    "always_same": (charts.BASELINE, "square"),
    "always_passes": (charts.GOOD, "triangle-up"),
    "always_highest": (charts.GOOD, "triangle-up"),
}
_UNTOLD: Final = ("fewer than two attempts", charts.BASELINE, "circle-open")
_CURVES: Final = (
    ("pass_at_k", "pass@k: one of k passes", "solid", "circle"),
    ("best_of_k", "best of k: mean best reward", "dot", "diamond"),
    ("pass_hat_k", "pass^k: all k pass", "dash", "square"),
)
_SHARES: Final = (
    ("signal_share", "rewards differ", "solid", "circle"),
    ("at_least_share", "rewards differ, at least", "dot", "diamond"),
    ("both_share", "a pass and a failure", "dash", "square"),
)
_ZERO: Final = Series(
    "zero_variance_share",
    "groups of one reward",
    "zero_variance_share_ci_low",
    "zero_variance_share_ci_high",
    "num_groups",
    over="groups",
)


def placed(frame: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """The samples that can be drawn, lowest first, with `value`, `low` and `high`, and what the value is.

    The shrunk chance of success with its interval where one is known of any; else the mean reward, from the lowest to
    the highest of the sample.
    """
    by_chance = frame["success_chance"].notna().any()
    columns = (
        ("success_chance", "success_ci_low", "success_ci_high")
        if by_chance
        else ("reward_mean", "reward_min", "reward_max")
    )
    values = {name: frame[column] for name, column in zip(("value", "low", "high"), columns, strict=True)}
    known = frame.assign(**values, bucket=frame["bucket"].astype(object))
    known = known[known["value"].notna()].sort_values(["value", "environment", "sample_id"], ignore_index=True)
    return known, "chance of success, shrunk" if by_chance else "mean reward, lowest to highest"


def samples(frame: pd.DataFrame) -> go.Figure:
    """One mark a sample, lowest first, with its interval, by bucket; very many samples as a histogram."""
    known, axis = placed(frame)
    if len(known) > MAX_DOTS:
        return _histogram(known, axis)
    drawn = charts.figure("samples, lowest first", axis, height=440)
    if axis.startswith("chance"):
        drawn.update_yaxes(range=[-0.03, 1.03], tickformat=".0%")
    for name, colour, symbol, rows in _by_bucket(known):
        spread = {"color": charts.rgba(colour, 0.35), "thickness": 1.2, "width": 0}
        drawn.add_scatter(
            x=rows.index + 1,
            y=rows["value"],
            mode="markers",
            name=name,
            marker={"color": colour, "symbol": symbol, "size": 8},
            error_y={
                "type": "data",
                "symmetric": False,
                "array": rows["high"] - rows["value"],
                "arrayminus": rows["value"] - rows["low"],
                **spread,
            },
            customdata=charts.points(rows, ["sample_id", "environment"]),
            text=[_sample_words(row) for row in rows.to_dict("records")],
            hovertemplate="%{text}<extra></extra>",
        )
    drawn.update_xaxes(showgrid=False, range=[0, len(known) + 1], **charts.whole_ticks([1, max(len(known), 2)]))
    return drawn


def _by_bucket(known: pd.DataFrame) -> list[tuple[str, str, str, pd.DataFrame]]:
    """Name, colour and symbol of each bucket that is there, with its rows."""
    found = [(title, *_LOOKS[name], known[known["bucket"] == name]) for name, title in BUCKETS.items()]
    found.append((*_UNTOLD, known[known["bucket"].isna()]))
    return [each for each in found if len(each[3])]


def _sample_words(row: Mapping[Any, Any]) -> str:
    lines = [charts.shown(str(row["sample_id"]))]
    if not pd.isna(row["success_chance"]):
        chance, low, high = (percent(row[each]) for each in ("success_chance", "success_ci_low", "success_ci_high"))
        lines.append(f"{int(row['num_passed'])} of {plural(row['num_known'], 'attempt')} passed")
        lines.append(f"chance of success {chance} [{low}, {high}]")
    reward = f"mean reward {number(row['reward_mean'])}"
    lines.append(
        f"{reward}, {plural(row['num_scored'], 'scored attempt')}, {plural(row['num_values'], 'distinct reward')}"
    )
    return "<br>".join(lines)


def _histogram(known: pd.DataFrame, axis: str) -> go.Figure:
    drawn = charts.figure(axis, "samples", height=440)
    low, high = float(known["value"].min()), float(known["value"].max())
    low, high = (0.0, 1.0) if axis.startswith("chance") else (low, high if high > low else low + 1)
    edges = np.linspace(low, high, NUM_BINS + 1)
    for name, colour, _, rows in _by_bucket(known):
        counts = np.histogram(rows["value"], edges)[0]
        bins = pd.DataFrame({"bin_low": edges[:-1], "bin_high": edges[1:], "num": counts, "kind": name})
        drawn.add_bar(
            x=(edges[:-1] + edges[1:]) / 2,
            y=counts,
            width=np.diff(edges),
            name=name,
            marker={"color": charts.rgba(colour, 0.75), "line": {"width": 0}},
            customdata=charts.points(bins, ["bin_low", "bin_high", "kind"]),
            hovertemplate=f"{name}<br>%{{customdata.bin_low:.3g}} to %{{customdata.bin_high:.3g}}: "
            "%{y} samples<extra></extra>",
        )
    drawn.update_layout(barmode="stack", bargap=0.02)
    return drawn


def picked(frame: pd.DataFrame, points: list[dict[str, Any]]) -> pd.DataFrame:
    """The samples that selected marks, or bars of the histogram, stand for: environment and sample_id."""
    known, _ = placed(frame)
    chosen = pd.Series(data=False, index=known.index)
    for point in points:
        if "bin_low" in point:
            last = (point["bin_high"] >= known["value"].max()) & (known["value"] == point["bin_high"])
            inside = ((known["value"] >= point["bin_low"]) & (known["value"] < point["bin_high"])) | last
            names = known["bucket"].map(BUCKETS).fillna(_UNTOLD[0])
            chosen |= inside & (names == point["kind"])
        else:
            environment = (
                known["environment"].isna()
                if point["environment"] is None
                else (known["environment"] == point["environment"])
            )
            chosen |= environment & (known["sample_id"] == point["sample_id"])
    return known.loc[chosen, ["environment", "sample_id"]]


def group_sizes(frame: pd.DataFrame) -> go.Figure:
    """Share of groups that carry signal by group size, with intervals."""
    drawn = charts.figure("attempts in a group", "share of prompts", height=440, y_format=".0%")
    same = frame["signal_share"].notna().any() and np.allclose(
        frame["signal_share"].to_numpy(float), frame["both_share"].to_numpy(float), equal_nan=False
    )
    whole = frame["signal_share"].notna().all()
    for column, name, dash, symbol in _SHARES:
        if frame[column].isna().all() or (same and column == "both_share") or (whole and column == "at_least_share"):
            continue
        cost = column.replace("_share", "_rollouts")
        hover = f"<b>{name}</b><br>groups of %{{x}}: %{{y:.1%}}"
        if cost in frame:
            hover += f"<br>%{{customdata.{cost}:.3~g}} rollouts for one"
        charts.curve(
            drawn, frame, x="group_size", y=column, name=name, colour=charts.CANDIDATE, dash=dash, symbol=symbol,
            low=f"{column}_ci_low", high=f"{column}_ci_high",
            customdata=["group_size", cost] if cost in frame else ["group_size"], hover=f"{hover}<extra></extra>",
        )  # fmt: skip
    ticks = frame["group_size"].tolist()
    drawn.update_xaxes(type="log", tickvals=ticks, ticktext=[str(each) for each in ticks])
    drawn.update_yaxes(range=[0, 1.03])
    return drawn


def attempt_curve(frame: pd.DataFrame) -> go.Figure:
    """pass@k, pass^k and best of k over k, with intervals over samples."""
    drawn = charts.figure("k attempts", "share of samples, or reward", height=440)
    for column, name, dash, symbol in _CURVES:
        if frame[column].isna().all():
            continue
        num = "num_samples_scored" if column == "best_of_k" else "num_samples"
        # Bands over one another would hide which is whose: the first curve's is drawn, the others' are in the hover.
        bounds = {"low": f"{column}_ci_low", "high": f"{column}_ci_high"}
        charts.curve(
            drawn, frame, x="k", y=column, name=name, colour=charts.CANDIDATE, dash=dash, symbol=symbol,
            customdata=["k", num, *bounds.values()], **({} if drawn.data else bounds),
            hover=f"<b>{name}</b><br>k = %{{x}}: %{{y:.3f}} [%{{customdata.{column}_ci_low:.3f}}, "
            f"%{{customdata.{column}_ci_high:.3f}}]<br>n = %{{customdata.{num}}} samples<extra></extra>",
        )  # fmt: skip
    drawn.update_xaxes(**(charts.whole_ticks(frame["k"]) if len(frame) < 10 else {}))
    return drawn


def by_step(frame: pd.DataFrame, looks: Looks) -> go.Figure:
    """Share of training groups of one reward, step by step, a line a run: all groups, and those trained on."""
    drawn = reward_figure(frame.assign(subset=frame["scope"], environment=None), looks, _ZERO)
    drawn.update_yaxes(tickformat=".0%", rangemode="tozero")
    return drawn
