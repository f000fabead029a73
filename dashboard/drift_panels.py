"""What the page Drift draws under its main plot: one measure's curves or shares, slices, samples in both."""

from typing import Any

import pandas as pd
import streamlit as st

from dashboard import data, drift_charts, drift_words, measured, parts
from dashboard.drift_controls import Chosen, side_filters
from dashboard.rows import records
from dashboard.selection import rollouts_behind
from queries.drifting import CATEGORIES
from queries.filters import Filters
from queries.measures import ROLLOUT_MEASURES

_FILTERED = ("tool", "status", "environment")
"""Descriptions by which rollouts can be filtered."""


def chosen_measure(points: list[dict[str, Any]], frame: pd.DataFrame) -> str | None:
    """The measure that is looked at: the selected one, else the one farthest beyond chance."""
    if points:
        return str(points[0]["value"])
    known = frame[frame["chance_p95"].notna()]
    return None if known.empty else str(known["measure"].iloc[int((known["value"] - known["chance_p95"]).argmax())])


def one_measure(chosen: Chosen, selections: pd.DataFrame, measure: str) -> None:
    """Draw both curves (or shares) of one measure; a click lists the rollouts behind it."""
    names = drift_words.side_names(selections)
    title = drift_words.TITLES[measure]
    st.subheader(title[0].upper() + title[1:], anchor=False)
    if measure in CATEGORIES:
        frame = data.ask("drift_categories", **chosen.sides, by=measure)
        figure = drift_charts.shares(frame, names)
    else:
        frame = data.ask("drift_curve", **chosen.sides, measure=measure)
        figure = drift_charts.curves(frame, measure, names)
    points = parts.plot(figure, "drift_measure", frame, select=True, alt=f"Plot of {title} in both selections")
    _rollouts(chosen, selections, measure, points)


def _rollouts(chosen: Chosen, selections: pd.DataFrame, measure: str, points: list[dict[str, Any]]) -> None:
    """The rollouts behind what is selected; of both selections where nothing is."""
    sides = {str(row["side"]): side_filters(row, chosen.sides["environments"]) for row in records(selections)}
    if not points:
        st.caption("Click a point or a bar to list its rollouts.")
        return
    point = points[0]
    filters = sides[str(point["kind"])]
    if measure in _FILTERED:
        rollouts_behind([{measure: point["value"]}], "drift_measure", filters=filters)
    elif measure in ROLLOUT_MEASURES:
        what = f"with at least {point['value']:,.4g}, the lowest first"
        measured.listed("drift", what, "rollouts_between", filters, at_least=float(point["value"]), measure=measure)
    else:
        rollouts_behind([{}], "drift_measure", filters=filters)


def both(chosen: Chosen, selections: pd.DataFrame) -> None:
    """Folded: the rollouts of either selection."""
    with st.expander("Rollouts of both selections"):
        for row in records(selections):
            st.markdown(parts.plain(drift_words.named(row)))
            filters: Filters = side_filters(row, chosen.sides["environments"])
            rollouts_behind([{}], f"drift_{row['side']}", filters=filters)


def tables(chosen: Chosen, frame: pd.DataFrame, overlap: pd.DataFrame, slices: pd.DataFrame) -> None:
    """Folded: the numbers of every measure, value, slice and prompt in both."""
    parts.table(frame, "drift", label="Every measure")
    parts.table(slices, "drift_slices", label="Slices of the samples")
    parts.table(
        data.ask("drift_categories", **chosen.sides), "drift_categories", label="Every value of every description"
    )
    if len(overlap):
        parts.table(overlap, "drift_overlap", label="Prompts that stand in both selections", on_row=_attempts)


def _attempts(row: dict[str, Any]) -> None:
    """The attempts at a sample whose prompt stands in both selections."""
    ids = tuple(
        dict.fromkeys(str(row[name]) for name in ("first_sample_id", "second_sample_id") if row[name] is not None)
    )
    found = data.ask("rollouts", Filters(), sample_ids=ids, limit=200)
    parts.rollout_list(found.drop(columns=["subset", "native_id"]), "drift_overlap")
