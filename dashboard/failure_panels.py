"""The parts of the failures page that are drawn one at a time: causes, rewards with bounds, time, load."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
import streamlit as st

from dashboard import data, failure_charts, failure_words, measured, parts
from dashboard.charts_curves import Looks
from dashboard.choices import choice
from dashboard.rows import records, texts
from dashboard.selection import narrowed, rollouts_behind
from queries.filters import Filters


def one_curve(filters: Filters, causes: pd.DataFrame, looks: Looks) -> Filters:
    """Where bars stand for steps: the filters of one run and split, chosen among those that have several steps."""
    steps = causes[["run_id", "split", "step"]].dropna(subset=["step"]).drop_duplicates()
    keys = steps[steps.duplicated(["run_id", "split"])].drop_duplicates(["run_id", "split"])
    if keys.empty:
        return filters
    titles = {}
    for row in records(keys):
        split = row["split"] or ""
        titles[f"{row['run_id']}|{split}"] = looks.name(str(row["run_id"])) + (f" · {split}" if split else "")
    run_id, _, split = choice("Run and split", titles, "curve").rpartition("|")
    return narrowed(filters, {"run_id": run_id, "split": split or None})


def causes_view(causes: pd.DataFrame, titles: Mapping[str, str], looks: Looks, filters: Filters, *, by: str) -> None:
    """Why there was no success, and the rollouts behind a bar."""
    if causes["cause"].isna().all():
        st.caption("Nothing failed, so there is nothing to draw.")
        return
    figure = failure_charts.cause_figure(causes, titles, looks, by=by)
    alt = "Bars: share of rollouts without success, by cause and whose failure it is"
    points = parts.plot(figure, "causes", causes, select=True, alt=alt)
    shown = points[0] if points else {}
    what = f"without success: {failure_words.title_of(shown['cause'], titles)}" if shown else "without success"
    order = "" if shown else ", the infrastructure's first"
    measured.listed("failed", what + order, "failed_rollouts", narrowed(filters, shown), cause=shown.get("cause"))


def reward_view(filters: Filters, looks: Looks) -> None:
    """The reward as graded, with failures left out, and the bounds."""
    found = data.ask("failure_bounds", filters)
    splits = texts(found["split"])
    if len(splits) > 1:
        found = found[found["split"] == choice("Split", {each: each for each in splits}, "bounds_split")]
    st.markdown(parts.plain(failure_words.bounds(found, looks.names)))
    if found["step"].notna().any():
        alt = "Lines: reward over steps, failures left out and as graded; band: had all failures failed or succeeded"
        points = parts.plot(failure_charts.bounds_figure(found, looks), "bounds", found, select=True, alt=alt)
        rollouts_behind(points, "bounds", filters=filters)
    parts.table(found, "failure_bounds", label="Table of rewards and bounds")


def time_view(filters: Filters, looks: Looks, found: pd.DataFrame) -> None:
    """When and where failures came, by run, host or tool; `found` are the bursts."""
    kinds = {"run": "run", "host": "host", "tool": "tool"}
    kind = choice("By", kinds, "place_kind", kind="buttons")
    slices = data.ask("failure_timeline", filters, kind=kind)
    if slices.empty or not slices["num_failed"].sum():
        what = {"run": "rollout with a start", "host": "host named in rollouts with a start", "tool": "timed tool call"}
        st.caption(f"No {what[kind]} failed." if len(slices) else f"There is no {what[kind]}.")
    else:
        alt = f"Marks: failures over time, a row a {kind}, larger where a larger share failed"
        points = parts.plot(failure_charts.time_figure(slices, looks), "timeline", slices, select=True, alt=alt)
        _began(points[0] if points else None, filters)
    parts.table(found, "failure_bursts", label="Table of bursts", on_row=lambda row: _began(row, filters))
    places = data.ask("failure_places", filters, kind=kind)
    parts.table(places, "failure_places", label="Table of places")


def _began(point: dict[str, Any] | None, filters: Filters) -> None:
    """The failed rollouts that began in a stretch of time; of a tool's calls no list is had this way."""
    if point is None:
        st.caption("Click a mark to list the failed rollouts that began then.")
        return
    if point["kind"] == "tool":
        st.caption("These are calls: filter on the tool in the sidebar to see rollouts that made them.")
        return
    times = {"started_from": str(point["from_at"]), "started_to": str(point["to_at"])}
    host = {"host": point["place"]} if point["kind"] == "host" else {}
    own = narrowed(filters, {"run_id": point["run_id"]})
    measured.listed("began", "without success that began then", "failed_rollouts", own, **times, **host)


def load_view(filters: Filters, looks: Looks) -> None:
    """Whether rollouts fail more often when many run at once."""
    found = data.ask("failures_in_flight", filters)
    st.markdown(parts.plain(failure_words.load(found, looks.names)))
    if len(found):
        alt = "Lines with intervals: share of failed rollouts by how many were in flight when they began"
        points = parts.plot(failure_charts.load_figure(found, looks), "load", found, select=True, alt=alt)
        rollouts_behind(points, "load", "Click a point to list its run's rollouts.", filters)
    parts.table(found, "failures_in_flight", label="Table of failures by load")
