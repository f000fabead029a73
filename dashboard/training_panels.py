"""The parts of the page Training health: which run, the step cursor, the figures on top, and every run's verdict."""

from typing import Any, Final

import pandas as pd
import streamlit as st

from dashboard import data, parts, training_words
from dashboard.choices import choice
from dashboard.rows import records, texts
from dashboard.run_words import reward_name
from dashboard.words import plural, signed
from queries.filters import Filters

MOST_RUNS: Final = 50
"""Runs that are all judged at once; of more only the chosen one is."""
_FIGURES: Final = ("reward", "entropy", "mismatch", "kl", "response_length", "truncation", "zero_variance_groups")


def choose() -> str | None:
    """The run the page speaks of; None where no run that the sidebar leaves has steps."""
    found = data.ask("runs", data.filters())
    with_steps = found[(found["num_steps"].fillna(0) > 0) | (found["kind"] == "training")]
    if with_steps.empty:
        return None
    names = data.run_names()
    ordered = with_steps.assign(is_training=with_steps["kind"] == "training").sort_values(
        ["is_training", "num_steps"], ascending=False, kind="stable"
    )
    return choice("Run", {each: names.get(each, each) for each in texts(ordered["run_id"])}, "health_run")


def cursor(series: pd.DataFrame) -> int:
    """The step the cursor stands on: the reader's, moved to the nearest with a value; else the last."""
    steps = sorted({int(each) for each in series["step"]})
    given = st.number_input(
        "Step",
        value=None,
        min_value=0,
        step=1,
        key="at",
        bind="query-params",
        placeholder=str(steps[-1]),
        width=160,
        help="The cursor through all panels. Clicking a point moves it too.",
    )
    return steps[-1] if given is None else min(steps, key=lambda each: (abs(each - int(given)), each))


def moved(points: list[dict[str, Any]]) -> None:
    """Put the cursor on the step of a point that was clicked."""
    if points:
        st.session_state["at"] = int(points[-1]["step"])


def figures(series: pd.DataFrame, step: int) -> None:
    """Up to five measures at the step of the cursor, and how far they are from their first value."""
    items = []
    for measure in _FIGURES:
        rows = [row for row in records(series[series["measure"] == measure]) if row["value"] is not None]
        rows = [row for row in rows if row["split"] == _leading(rows, measure) and row["step"] <= step]
        if rows:
            items.append(_figure(measure, rows[0], rows[-1]))
    parts.figures(items[:5])


def _leading(rows: list[dict[str, Any]], measure: str) -> str | None:
    """The split a figure speaks of: the reward's on held-out samples, all others' of the train batch."""
    held = {row["split"] for row in rows}
    order = ("valid", "test", "train") if measure == "reward" else ("train", "valid", "test")
    return next((each for each in order if each in held), None)


def _figure(measure: str, first: dict[str, Any], last: dict[str, Any]) -> parts.Figure:
    title = reward_name(last["split"]) if measure == "reward" else last["title"]
    change = last["value"] - first["value"]
    shown = f"{signed(100 * change, 2)} points" if last["unit"] == "share" else signed(change)
    since = None if first["step"] == last["step"] else f"{shown} since step {first['step']}"
    label = f"{title[:1].upper()}{title[1:]}, step {last['step']}"
    source = "Reported by the trainer." if last["source"] == "reported" else "Computed from rollouts."
    return parts.Figure(label, training_words.valued(last["value"], last["unit"]), since, help=source)


def every_run(filters: Filters, run_id: str) -> None:
    """Folded: what is found in each run, where they are few enough to be judged at once."""
    num = len(data.ask("runs", filters))
    if num < 2:
        return
    if num > MOST_RUNS:
        st.caption(
            f"{plural(num, 'run')} are too many to judge all at once here; `observatory query health_patterns` does."
        )
        return
    with parts.fold("Every run", "every_run") as folded:
        if not folded.open:
            return
        found = data.ask("health_patterns", filters)
        names = data.run_names()
        rows = []
        for own, part in found.groupby("run_id", sort=False):
            bad = part[part["verdict"] == "found"]
            judged = int((part["verdict"] != "cannot be said").sum())
            rows.append(
                {
                    "run": names.get(str(own), str(own)),
                    "bad patterns": len(bad),
                    "patterns judged": judged,
                    "which": ", ".join(bad["title"]) or "none",
                }
            )
        shown = pd.DataFrame(rows, columns=["run", "bad patterns", "patterns judged", "which"])
        parts_frame = shown.sort_values("bad patterns", ascending=False, kind="stable")
        st.dataframe(parts_frame, hide_index=True, key="health_every_run")
