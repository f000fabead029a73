"""The parts of the repeated calls page: figures on top, patterns, transitions and loops below."""

import pandas as pd
import streamlit as st

from dashboard import charts_repeats, data, parts, repeat_words, words
from dashboard.charts_curves import Looks, small_multiples
from dashboard.measured import page_of_rollouts
from dashboard.rows import drawn_runs, texts
from dashboard.selection import rollouts_behind
from dashboard.tables import rollout_list
from queries.filters import Filters


def figures(by_step: pd.DataFrame) -> None:
    """Repeats, near repeats and waste over everything that is shown."""
    all_runs = ", all runs" if by_step["run_id"].nunique() > 1 else ""
    sums = repeat_words.totals(by_step)
    calls = sums["num_calls"] or None
    rate = {name: None if calls is None else sums[name] / calls for name in ("num_exact_repeats", "num_near_repeats")}
    wasted = None if calls is None else sums["num_wasted_calls"] / calls
    tokens = f"≈ {words.whole(sums['wasted_tokens_estimate'])} tokens"
    parts.figures(
        [
            parts.Figure(f"Exact repeats{all_runs}", words.percent(rate["num_exact_repeats"]),
                         f"{words.whole(sums['num_exact_repeats'])} of {words.plural(sums['num_calls'], 'call')}"),
            parts.Figure(f"Near repeats{all_runs}", words.percent(rate["num_near_repeats"]),
                         words.whole(sums["num_near_repeats"])),
            parts.Figure(f"Wasted calls{all_runs}", words.percent(wasted), words.whole(sums["num_wasted_calls"]),
                         help="Same output, and nothing between could have changed it."),
            parts.Figure(f"Wasted time{all_runs}", "–" if sums["wasted_latency_s"] is None
                         else f"{words.number(sums['wasted_latency_s'])} s", tokens),
        ]
    )  # fmt: skip


def over_steps(by_step: pd.DataFrame, looks: Looks) -> None:
    """The rates over steps, where there are several."""
    stepped = drawn_runs(by_step[by_step["step"].notna()])
    panels = [each for each in charts_repeats.OVER_STEPS if stepped[each.y].notna().any()]
    if stepped["step"].nunique() < 2 or not panels:
        return
    with st.expander("Repeats step by step", expanded=True):
        splits = texts(stepped["split"])
        split = st.segmented_control("Split", splits, default=splits[-1], key="repeat_split") if splits[1:] else None
        rows = stepped if split is None else stepped[stepped["split"] == split]
        points = parts.plot(small_multiples(rows, looks, panels), "repeats_by_step", rows, select=True)
        rollouts_behind(points, "repeats_by_step")


def patterns(filters: Filters, names: dict[str, str]) -> None:
    """The most repeated patterns with an example each."""
    found = data.ask("repeat_patterns", filters)
    if found.empty:
        return
    st.subheader("Most repeated within rollouts", anchor=False)
    st.caption("Select a row to open the rollout that repeats it most.")
    shown = found.assign(run=[names.get(each, each) for each in found["run_id"]])
    order = ["tool", "example_arguments", "num_repeats", "num_exact_repeats", "num_near_repeats", "num_same_output",
             "num_different_output", "num_wasted_calls", "num_rollouts", "most_in_rollout", "run"]  # fmt: skip
    rollout_list(shown[[*order, "example_rollout_id"]].rename(columns={"example_rollout_id": "rollout_id"}), "patterns")


def loops(filters: Filters, total: int) -> None:
    """Folded: the rollouts with the longest loops."""
    found = data.ask("loops", filters)
    with st.expander("Loops", expanded=False):
        st.markdown(parts.plain(repeat_words.loops(found, total)))
        page_of_rollouts(found, "loops", "with a loop, the longest first")


def transitions(filters: Filters, looks: Looks, runs: list[str]) -> None:
    """Folded: which tool follows which, in one run."""
    with st.expander("Which tool follows which"):
        run_id = runs[0] if len(runs) == 1 else st.selectbox("Run", runs, format_func=looks.name, key="transition_run")
        found = data.ask("tool_transitions", filters.only(str(run_id)))
        if found.empty:
            st.caption("No calls in this run.")
            return
        parts.plot(charts_repeats.transition_figure(found), "tool_transitions", found)
