"""What the learnability page draws: samples, groups or attempts, the rollouts behind them, dead samples, and steps."""

from dataclasses import replace
from typing import Any, Final

import pandas as pd
import streamlit as st

from dashboard import data, learnability_charts, learnability_words, parts
from dashboard.charts_curves import Looks
from dashboard.choices import choice
from dashboard.learnability_controls import Chosen, arm_filters
from dashboard.rows import drawn_runs
from dashboard.selection import MAX_ROLLOUTS, rollouts_behind
from dashboard.words import plural
from queries.filters import Filters

_PLOTS: Final = {"samples": "Samples", "groups": "Group size", "attempts": "More attempts"}
MAX_SAMPLES: Final = 200


def main(chosen: Chosen, samples: pd.DataFrame, filters: Filters) -> None:
    """The main plot, one of three, and the rollouts behind what is selected in it."""
    which = choice("Plot", _PLOTS, "plot", kind="buttons", label_visibility="collapsed")
    if which == "groups":
        sizes = data.ask("signal_by_group_size", **chosen.sized)
        parts.plot(learnability_charts.group_sizes(sizes), "group_sizes", sizes, alt=_ALT[which])
        st.caption(parts.plain(learnability_words.sizes(sizes)))
        parts.table(sizes, "group_sizes_rows")
    elif which == "attempts":
        curve = data.ask("attempt_curve", **chosen.asked)
        parts.plot(learnability_charts.attempt_curve(curve), "attempt_curve", curve, alt=_ALT[which])
        st.caption(parts.plain(learnability_words.attempts(curve)))
        parts.table(curve, "attempt_curve_rows")
    else:
        figure = learnability_charts.samples(samples)
        points = parts.plot(figure, "learnability", samples, select=True, alt=_ALT[which])
        _listed(learnability_charts.picked(samples, points), filters, "picked", "Click a sample to list its rollouts.")


def _listed(found: pd.DataFrame, filters: Filters, key: str, hint: str) -> None:
    """The rollouts of some samples of the arm."""
    if found.empty:
        st.caption(hint)
        return
    ids = tuple(found["sample_id"].astype(str).unique()[:MAX_SAMPLES])
    environments = tuple(sorted(found["environment"].dropna().unique()))
    own = replace(filters, environments=environments) if environments else filters
    rollouts = data.ask("rollouts", own, sample_ids=ids, limit=MAX_ROLLOUTS)
    cut = f"; at most {MAX_ROLLOUTS} are listed" if len(rollouts) == MAX_ROLLOUTS else ""
    st.caption(f"{plural(len(rollouts), 'rollout')} of {plural(len(found), 'sample')}{cut}.")
    parts.rollout_list(rollouts.drop(columns=["subset", "native_id"]), key)


def samples_table(samples: pd.DataFrame, filters: Filters) -> None:
    """Every sample with its numbers; a row lists its rollouts."""
    shown = samples.drop(columns=["run_id", "split", "step"])
    parts.table(shown, "learnability_samples", label="Table of samples", on_row=_opening("samples_row", filters))


def dead(frame: pd.DataFrame, filters: Filters) -> None:
    """Samples whose reward never varies, with the reason and what would wake them; a row lists its rollouts."""
    st.subheader("Dead samples, and what would wake them", anchor=False)
    first, *reasons = learnability_words.dead(frame)
    st.markdown(parts.plain(first) + "".join(f"\n- {parts.plain(each)}" for each in reasons))
    if frame.empty:
        return
    shown = frame.drop(columns=["run_id", "split", "step", "advice"]).dropna(axis="columns", how="all")
    parts.table(shown, "dead_samples", label="Table of dead samples", on_row=_opening("dead_row", filters))


def _opening(key: str, filters: Filters) -> Any:
    hint = "Select a row to list its rollouts."
    return lambda row: _listed(pd.DataFrame([{"environment": None, **row}]), filters, key, hint)


def steps() -> None:
    """Folded: the share of training groups that carried no signal, step by step, over all runs the sidebar leaves."""
    with st.expander("Training groups without signal, by step", key="steps_box"):
        filters = data.filters()
        frame = data.ask("signal_by_step", filters)
        if frame.empty:
            st.caption("No rollout of the train split that the filters leave has a step, and a sample or a group.")
            return
        names = data.run_names()
        shown = drawn_runs(frame)
        st.markdown(parts.plain(learnability_words.steps(frame, names)))
        figure = learnability_charts.by_step(shown, Looks(names, data.baseline()))
        points = parts.plot(figure, "signal_by_step", frame, select=True, alt=_ALT["steps"])
        scope = filters if filters.splits else replace(filters, splits=("train",))
        rollouts_behind(points, "signal_by_step", filters=scope)
        parts.table(frame, "signal_by_step_rows")


_ALT: Final = {
    "samples": "Samples by their chance of success, lowest first, with intervals",
    "groups": "Share of prompts whose group carries signal, by group size",
    "attempts": "pass@k, pass^k and best of k by the number of attempts k",
    "steps": "Share of training groups of one reward, by step and run",
}
__all__ = ["arm_filters", "dead", "main", "samples_table", "steps"]
