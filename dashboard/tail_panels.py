"""The parts of the long tail page: limits the runs were configured with, the threshold, and the percentiles on top."""

import pandas as pd
import streamlit as st

from dashboard import charts_distributions, parts
from dashboard.charts_curves import Looks
from dashboard.distribution_words import exact
from dashboard.rows import records
from queries.measures import RolloutMeasure


def limits_of(found: pd.DataFrame, measure: str, looks: Looks) -> list[tuple[str, float]]:
    """Limits on a measure that runs were configured with, each value once: its name and the value; three at most."""
    rows = records(found[found["measure"] == measure].drop_duplicates(["name", "value"]))
    several = found["run_id"].nunique() > 1
    return [
        (f"{row['name']} {exact(row['value'])}" + (f" ({looks.name(row['run_id'])})" if several else ""),
         float(row["value"]))
        for row in rows[:3]
    ]  # fmt: skip


def threshold_input(
    name: str, measure: RolloutMeasure, summary: pd.DataFrame, limits: list[tuple[str, float]]
) -> float:
    """The threshold: the viewer's, else the highest P95 of the groups, but below a limit that cannot be passed."""
    default = float(f"{float(summary['p95'].max()):.3g}")
    reached = [value for _, value in limits if default >= value]
    of = "the highest P95"
    if reached and measure.is_whole:
        default, of = min(reached) - 1, "one below the run's limit"
    elif reached:
        default, of = min(reached), "the run's limit"
    given = st.number_input(
        f"Threshold ({measure.unit})", value=None, key=f"threshold_{name}", placeholder=f"{default:,.6g}", width=260,
        help=f"Rollouts above it are the tail. Without one it is {of}.",
    )  # fmt: skip
    return default if given is None else float(given)


def percentile_figures(percentiles: pd.DataFrame, looks: Looks, measure: RolloutMeasure) -> None:
    """P50, P90, P95 and P99 of the last group with their intervals (or why not)."""
    named = percentiles.assign(group=charts_distributions.group_names(percentiles, looks))
    group = named["group"].iloc[-1]
    several = named["group"].nunique() > 1
    items = []
    for row in records(named[named["group"] == group]):
        bounds = f"{exact(row['ci_low'])} to {exact(row['ci_high'])}" if row["ci_low"] is not None else "n too small"
        label = f"P{row['percentile']}" + (f", {group}" if several else f", {measure.unit}")
        items.append(parts.Figure(label, exact(row["value"]), bounds, help=row["reason"] or "95 % interval"))
    parts.figures(items)
