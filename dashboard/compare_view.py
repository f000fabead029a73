"""What the comparison page draws: reward against cost with its quadrants, and both sides' rollouts of a sample."""

from typing import Any

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dashboard import (
    comparability_words,
    compare_charts,
    compare_forest,
    compare_words,
    data,
    drift_notice,
    opposite_words,
    parts,
)
from dashboard.compare_controls import Chosen, side_filters
from dashboard.links import go


def opposite(chosen: Chosen) -> list[str]:
    """Environments that move in opposite directions between the arms, which the total would hide."""
    return opposite_words.opposite(data.ask("compare_opposite", **chosen.paired), data.run_names())


def plane(
    chosen: Chosen, samples: pd.DataFrame, measures: pd.DataFrame, failures: pd.DataFrame, tables: DeltaGenerator
) -> list[dict[str, Any]]:
    """Draw the samples' differences and the quadrants beside chance, with tables in `tables`; returns the selected.

    Where no reward is known in both arms (shadow and canary traffic) behaviour is all there is to draw.
    """
    quadrants = data.ask("compare_quadrants", **chosen.judged, cluster_by=chosen.cluster_by)
    bands = quadrants.iloc[0]
    with tables:
        parts.table(samples, "compare_samples", label="Samples", on_row=lambda row: both_sides([row], failures, "row"))
    if not bands["num_paired"]:
        if samples["reward_delta"].notna().any():
            parts.missing(compare_words.FIELDS[chosen.cost])
        elif measures["ratio"].notna().any():
            parts.plot(compare_forest.relative(measures), "compare_behaviour", measures)
        return []
    left, right = st.container(key="side_by_side_compare").columns([3, 2], gap="medium")
    with left:
        figure = compare_charts.scatter(samples, chosen.cost, bands["eps_reward"], bands["eps_cost"])
        picked = parts.plot(figure, "compare_scatter", samples, select=True)
        st.caption("The more samples lie at one place, the larger it is drawn.")
    with right:
        cells = parts.plot(compare_charts.grid(quadrants, data.theme()), "compare_grid", quadrants, select=True)
        picked += compare_words.in_quadrants(samples, [each["quadrant"] for each in cells])
        told = f"In each quadrant: {compare_words.in_a_cell(quadrants)} {compare_words.claims(quadrants)}"
        st.caption(parts.plain(told))
    with tables:
        parts.table(quadrants, "compare_quadrants", label="Quadrants")
    return picked


def figures(chosen: Chosen, measures: pd.DataFrame) -> None:
    """Draw whether the candidate is judged on samples like those of production, and the figures on top."""
    drift_notice.judged(chosen.sides["candidate"], chosen.sides["split"], chosen.sides["environments"])
    parts.figures(compare_words.figures(measures))


def checked(checks: pd.DataFrame, failures: pd.DataFrame) -> None:
    """Draw what was checked before anything is said, folded, and what differs without being a fault."""
    runs = dict(zip(failures["arm"], failures["run_id"], strict=True))
    if len(set(runs.values())) > 1:
        go("What differs between these runs", "run_diff", runs)
    st.caption(parts.plain(comparability_words.also(comparability_words.by_check(checks))))
    parts.table(comparability_words.told(checks), "comparability", label="What differs between the arms")


def both_sides(picked: list[dict[str, Any]], failures: pd.DataFrame, key: str) -> None:
    """List the rollouts of the selected samples, the baseline's beside the candidate's."""
    st.subheader(f"Rollouts of {parts.plain(compare_words.picked(picked))}", anchor=False)
    for column, (_, arm) in zip(st.columns(2, gap="medium"), failures.iterrows(), strict=True):
        column_of = "sample_id" if arm["arm"] == "baseline" else "candidate_sample_id"
        ids = tuple(str(each[column_of]) for each in picked if each[column_of] is not None)
        rollouts = data.ask("rollouts", side_filters(arm), sample_ids=ids)
        with column:
            st.markdown(f"**{str(arm['arm']).capitalize()}** · {parts.plain(arm['label'])}")
            parts.rollout_list(compare_words.listed(rollouts), f"compare_{key}_{arm['arm']}")
