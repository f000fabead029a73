"""The parts of the page Time and money: which split, the verdict, figures, and what folds below the plot."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import pandas as pd
import streamlit as st

from dashboard import data, money_charts, money_words, parts
from dashboard.charts_curves import Looks
from dashboard.choices import choice
from dashboard.rows import by_run, drawn_runs, records, texts
from dashboard.selection import MAX_ROLLOUTS, opening, rollouts_behind
from dashboard.words import percent, seconds
from queries.costs import COSTS_BY
from queries.filters import Filters
from queries.waits import STRAGGLERS

BY: Final = {"step": "Step", "run": "Run", "environment": "Environment"}
MAX_RUNS: Final = 2
"""Runs that the verdict speaks of."""
_UNITS: Final = {
    "auto": "what is known",
    "usd": "dollars",
    "tokens": "tokens",
    "rollouts": "rollouts",
    "hours": "rollout-hours",
    "steps": "steps",
}


def scope() -> Filters:
    """The sidebar's filters, on one split where they leave several: train where there is one, else the first."""
    filters = data.filters()
    found = texts(data.ask("distribution_summary", filters, measure="reward", by="split")["split"])
    if filters.splits is not None or len(found) < 2:
        return filters
    order = [*(each for each in ("train", "valid", "test") if each in found), *found]
    titles = {each: each for each in dict.fromkeys(order)}
    return replace(filters, splits=(choice("Split", titles, "money_split", kind="buttons"),))


def grouping() -> str:
    """What a bar of the main plot stands for."""
    return choice("A bar a", BY, "money_by", kind="buttons")


def _grouped(filters: Filters, by: str) -> tuple[pd.DataFrame, str]:
    """The parts of time as the reader groups them; by run where nothing has steps."""
    if by == "environment":
        return data.ask("time_shares", filters, by_environment=True), by
    frame = data.ask("time_shares", filters, by="step") if by == "step" else data.ask("time_shares", filters)
    if by == "step" and frame["step"].isna().any():
        return data.ask("time_shares", filters), "run"
    return frame, by


def bound() -> float | None:
    """From which reward on a sample counts as solved, where the reader says so."""
    given = st.number_input(
        "Solved from a reward of",
        value=None,
        key="solved_from",
        bind="query-params",
        placeholder="passed",
        width=260,
        help="Without it, a sample is solved by an attempt that passed, or by a reward of 1 where all are 0 or 1.",
    )
    return None if given is None else float(given)


def verdict(shares: pd.DataFrame, waits: pd.DataFrame, spent: pd.DataFrame, effect: pd.DataFrame, looks: Looks) -> None:
    """The finding, for the first and the last run that are left."""
    runs = texts(shares["run_id"])
    shown = runs if len(runs) <= MAX_RUNS else [runs[0], runs[-1]]
    untold: dict[str, None] = {}
    for run in shown:
        name = f"{looks.name(run)}: " if len(runs) > 1 else ""
        said = [
            money_words.shares(records(shares[shares["run_id"] == run])),
            money_words.waits(waits[waits["run_id"] == run]),
            money_words.spent(spent[spent["run_id"] == run]),
            *(money_words.solved(row) for row in records(effect[effect["run_id"] == run])),
            *(money_words.stop(row) for row in records(_stops(run)) if row["verdict"] != "too few"),
        ]
        text, missing = money_words.told(said)
        parts.verdict(name + (f"{text[:1].lower()}{text[1:]}" if name else text))
        untold |= dict.fromkeys(missing)
    if untold:
        st.caption(parts.plain(" ".join(untold)))
    if len(runs) > len(shown):
        st.caption(f"First and last of {len(runs)} runs.")
    if said_of_graders := money_words.regraded(pd.concat([_stops(run) for run in shown]), looks.names):
        parts.warning(said_of_graders)
    if len(runs) > 1:
        st.caption(parts.plain(f"The figures are of {looks.name(runs[-1])}."))


def _stops(run: str) -> pd.DataFrame:
    """When to stop, of a run whose validations the filters leave."""
    return data.ask("when_to_stop", replace(data.filters(), splits=None).only(run))


def figures(shares: pd.DataFrame, waits: pd.DataFrame, spent: pd.DataFrame, effect: pd.DataFrame) -> None:
    """Seconds, the largest part, what the last rollouts hold up, dollars and a solved sample, of the last run."""
    run = texts(shares["run_id"])[-1]
    rows = records(shares[shares["run_id"] == run])
    items = [parts.Figure("A rollout takes", seconds(rows[0]["latency_mean_s"]), help="Mean over rollouts.")]
    largest = max(rows[:-1], key=lambda row: row["share"] or 0)
    if largest["share"]:
        items.append(parts.Figure(f"Of that, {money_words.PART_WORDS[largest['part']]}", percent(largest["share"])))
    held = waits[(waits["run_id"] == run) & waits["held_s"].notna()]
    if len(held):
        items.append(parts.Figure("Last 5 % hold a step up", seconds(held["held_s"].median()), help="Median of steps."))
    own = spent[(spent["run_id"] == run) & spent["usd"].notna()]
    if len(own):
        least = "≥ " if own["is_lower_bound"].any() else ""
        items.append(parts.Figure("Spent in all", least + money_words.amount(own["usd"].sum(), "usd")))
    for row in records(effect[effect["run_id"] == run]):
        unit = money_words.solved_in(row)
        if unit is not None:
            least = "≥ " if unit == "usd" and row["is_lower_bound"] else ""
            cost = money_words.amount(row[f"{unit}_per_solved"], unit)
            items.append(parts.Figure("Per solved sample", least + cost))
    parts.figures(items)


def main_plot(filters: Filters, looks: Looks, by: str) -> None:
    """Parts of a rollout's time, stacked; a click lists the rollouts of a bar."""
    frame, by = _grouped(filters, by)
    shown = frame[frame["num_rollouts"] > 0]
    if by != "step":
        first = shown[["run_id", "environment"]].drop_duplicates().head(money_charts.MAX_BARS)
        shown = shown.merge(first, on=["run_id", "environment"])
    alt = f"Seconds of a rollout by part, stacked, a bar a {by}"
    points = parts.plot(money_charts.time_parts(shown, looks, by), "time_parts", frame, select=True, alt=alt)
    if by == "step" and frame["run_id"].nunique() > money_charts.MAX_PANELS:
        st.caption(
            f"The first {money_charts.MAX_PANELS} of {frame['run_id'].nunique()} runs are drawn; the table has all."
        )
    rollouts_behind(points, "time_parts", "Click a bar to list its rollouts.", filters)
    parts.table(frame, "time_shares", on_row=opening("time_shares", filters))


def _folded(label: str, key: str) -> Any:
    """A part that is asked for only once it is opened; whether it is stands in the address."""
    return st.expander(label, key=key, on_change="rerun", bind="query-params")


def waiting(waits: pd.DataFrame, filters: Filters, looks: Looks) -> None:
    """Folded: how long steps wait for their last rollouts, and who is slow again and again."""
    with _folded("Waiting and stragglers", "waiting") as box:
        if not box.open:
            return
        if waits["held_s"].notna().any():
            drawn = drawn_runs(waits[waits["held_s"].notna()], 1)
            figure = money_charts.waits(drawn, looks)
            alt = "Seconds of every step until 95 % of its rollouts have ended, and what the last ones add"
            points = parts.plot(figure, "waits", waits, select=True, alt=alt)
            rollouts_behind(points, "waits", "Click a step to list its rollouts.", filters)
        by = choice("Slow again and again", {each: each for each in STRAGGLERS}, "slow_by", kind="buttons")
        slow = data.ask("stragglers", filters, by=by)
        st.markdown(parts.plain(money_words.stragglers(slow, by)))
        parts.table(slow, "stragglers", label=f"Table by {by}", on_row=_slow(by, filters))
        parts.table(waits, "step_waits", label="Table of steps", on_row=opening("step_waits", filters))


def _slow(by: str, filters: Filters) -> Any:
    """What a row of stragglers opens: its rollouts, the slowest first."""

    def opened(row: Mapping[str, Any]) -> None:
        own = filters.only(str(row["run_id"]))
        if row["environment"] is not None:
            own = replace(own, environments=(str(row["environment"]),))
        if by == "tool":
            own = replace(own, tools=(str(row["name"]),))
        ids = (str(row["name"]),) if by == "sample" else None
        found = data.ask("rollouts", own, sample_ids=ids, sort="latency", limit=MAX_ROLLOUTS)
        parts.rollout_list(found.drop(columns=["subset", "native_id"]), "slow_row")

    return opened


def costs(filters: Filters) -> None:
    """Folded: tokens, hours and dollars by run, step, environment, model, tool or grader, and the prices in force."""
    with _folded("Costs and prices", "costs_open") as box:
        if not box.open:
            return
        by = choice("Costs by", {each: each for each in COSTS_BY}, "costs_by", kind="buttons")
        frame = data.ask("costs", filters, by=by).dropna(axis="columns", how="all")
        parts.table(frame, "costs", label=f"Costs by {by}", expanded=True, on_row=opening("costs", filters))
        priced = data.ask("prices", filters)
        parts.table(priced.dropna(axis="columns", how="all"), "prices", label="Prices: what has one, and what has none")
        st.caption("To state prices: observatory rules prices > STORE/prices.toml, then edit that file.")


def gains(filters: Filters, looks: Looks) -> None:
    """Folded: reward gained on validation against what train rollouts cost, and since when no gain is shown."""
    everything = replace(filters, splits=None)
    with _folded("Cost against gain, and when to stop", "gain_open") as box:
        if not box.open:
            return
        unit = choice("Spent in", _UNITS, "spent_in")
        frame = data.ask("cost_of_gain", everything, unit=unit)
        if frame.empty:
            st.caption("No run that is left has a scored validation step, and such spending before it.")
            return
        for run, rows in list(by_run(data.ask("when_to_stop", everything, unit=unit)).items())[:6]:
            st.markdown(parts.plain(f"{looks.name(run)}: {money_words.stop(records(rows)[0])}"))
        first = str(frame["unit"].iloc[0])
        shown = drawn_runs(frame[frame["unit"] == first])
        alt = "Reward gained since the first validation against what was spent on train rollouts"
        points = parts.plot(money_charts.gain(shown, looks, first), "gain", shown, select=True, alt=alt)
        rollouts_behind(points, "gain", "Click a validation to list its rollouts.", everything)
        opened = opening("cost_of_gain", replace(filters, splits=("valid",)))
        parts.table(frame, "cost_of_gain", label="Table of validations", on_row=opened)
