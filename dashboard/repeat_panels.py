"""The parts of the repeated calls page: figures on top, patterns, transitions and loops below."""

from typing import Final

import pandas as pd
import streamlit as st

from dashboard import charts_repeats, data, parts, repeat_words, tables, words
from dashboard.charts_curves import Looks, small_multiples
from dashboard.choices import choice
from dashboard.measured import listed
from dashboard.rows import drawn_runs, texts
from dashboard.selection import rollouts_behind
from queries.filters import Filters

MAX_LISTS: Final = 3
"""Lists of rollouts that are drawn for several selected points."""
_PATTERN_COLUMNS: Final = {
    "example_arguments": st.column_config.TextColumn("example of its arguments", width="large"),
    "num_repeats": st.column_config.NumberColumn("repeats", help="Exact and near ones together."),
    "num_exact_repeats": "of them exact",
    "num_wasted_calls": "wasted",
    "most_in_rollout": "most in one rollout",
}


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
            parts.Figure(
                f"Exact repeats{all_runs}",
                words.percent(rate["num_exact_repeats"]),
                f"{words.whole(sums['num_exact_repeats'])} of {words.plural(sums['num_calls'], 'call')}",
            ),
            parts.Figure(
                f"Near repeats{all_runs}",
                words.percent(rate["num_near_repeats"]),
                words.whole(sums["num_near_repeats"]),
            ),
            parts.Figure(
                f"Wasted calls{all_runs}",
                words.percent(wasted),
                words.whole(sums["num_wasted_calls"]),
                help="Same output, and nothing between could have changed it.",
            ),
            parts.Figure(
                f"Wasted time{all_runs}",
                "–" if sums["wasted_latency_s"] is None else words.seconds(sums["wasted_latency_s"]),
                tokens,
            ),
        ]
    )


def over_steps(by_step: pd.DataFrame, looks: Looks, filters: Filters) -> None:
    """The rates over steps, where there are several."""
    stepped = drawn_runs(by_step[by_step["step"].notna()])
    panels = [each for each in charts_repeats.OVER_STEPS if stepped[each.y].notna().any()]
    if stepped["step"].nunique() < 2 or not any((stepped[each.y] > 0).any() for each in panels):
        return
    with st.expander("Repeats step by step", expanded=True):
        splits = texts(stepped["split"])
        split = (
            st.segmented_control("Split", splits, default=splits[-1], key="repeat_split", bind="query-params")
            if splits[1:]
            else None
        )
        rows = stepped if split is None else stepped[stepped["split"] == split]
        points = parts.plot(small_multiples(rows, looks, panels), "repeats_by_step", rows, select=True)
        rollouts_behind(points, "repeats_by_step", filters=filters)


def tools(filters: Filters, names: dict[str, str]) -> None:
    """Repeats by tool, and the rollouts behind a bar."""
    by_tool = data.ask("repeats_by_tool", filters)
    if (by_tool["num_exact_repeats"] + by_tool["num_near_repeats"]).sum():
        figure = charts_repeats.tool_figure(by_tool, names)
        points = parts.plot(figure, "repeats_by_tool", by_tool, select=True)
        if told := repeat_words.drawn(by_tool, charts_repeats.MAX_TOOLS):
            st.caption(told)
        for number, each in enumerate(points[:MAX_LISTS]):
            what = f"with repeated calls of {each['tool']}, the most repeats first"
            listed(f"tool_{number}", what, "rollouts_repeating", filters.only(each["run_id"]), tool=each["tool"])
        if not points:
            st.caption("Click a bar to list the rollouts that repeat calls of the tool.")


def patterns(filters: Filters, names: dict[str, str]) -> None:
    """The most repeated patterns with an example each; a row lists the rollouts that repeat it."""
    found = data.ask("repeat_patterns", filters)
    if found.empty:
        return
    st.subheader("Most repeated within rollouts", anchor=False)
    shown = found.assign(run=[names.get(each, each) for each in found["run_id"]])
    order = [
        "example_arguments",
        "tool",
        "num_repeats",
        "num_exact_repeats",
        "num_wasted_calls",
        "num_rollouts",
        "most_in_rollout",
        *(["run"] if found["run_id"].nunique() > 1 else []),
    ]
    row = tables.rows(shown[order], "patterns", alt="Patterns of repeated calls", columns=_PATTERN_COLUMNS)
    if row is None:
        st.caption("Select a row to list the rollouts that repeat it, the one that repeats it most first.")
        return
    chosen = found.iloc[row]
    own = filters.only(str(chosen["run_id"]))
    what = "with this call repeated, the most repeats first"
    listed("pattern", what, "rollouts_repeating", own, pattern=chosen["pattern"])


def loops(filters: Filters, total: int) -> None:
    """Folded: the rollouts with the longest loops."""
    with parts.fold("Loops", "loops_open") as folded:
        if not folded.open:
            return
        found = data.ask("loops", filters)
        st.markdown(parts.plain(repeat_words.loops(found, total)))
        listed("loops", "with a loop, the longest first", "loops", filters)


def transitions(filters: Filters, looks: Looks, runs: list[str]) -> None:
    """Folded: which tool follows which, in one run."""
    with parts.fold("Which tool follows which", "transitions_open") as folded:
        if not folded.open:
            return
        run_id = (
            runs[0] if len(runs) == 1 else choice("Run", {each: looks.name(each) for each in runs}, "transition_run")
        )
        found = data.ask("tool_transitions", filters.only(str(run_id)))
        if found.empty:
            st.caption("No calls in this run.")
            return
        points = parts.plot(charts_repeats.transition_figure(found), "tool_transitions", found, select=True)
        for number, each in enumerate(points[:MAX_LISTS]):
            pair = {name: each[name] for name in ("from_tool", "to_tool")}
            own = filters.only(each["run_id"])
            listed(f"transition_{number}", repeat_words.transition(each), "rollouts_with_transition", own, **pair)
        if not points:
            st.caption("Click a cell to list the rollouts in which the one follows the other.")
