"""The parts of the tail contracts page: the limits, what is judged, rollouts over a limit, two arms, costs."""

from collections.abc import Sequence
from typing import Any, Final

import pandas as pd
import streamlit as st

from dashboard import (
    compare_controls,
    compare_view,
    contract_charts,
    contract_words,
    curve_words,
    data,
    parts,
    tables,
)
from dashboard.charts_curves import Looks
from dashboard.charts_distributions import group_names
from dashboard.choices import choice
from dashboard.measured import listed
from dashboard.rows import drawn_runs, records, texts
from dashboard.selection import narrowed, opening
from dashboard.words import number
from ingest.errors import QuestionError
from queries.contracts import BROKEN
from queries.filters import Filters
from queries.limits import LIMITED, parsed

MAX_LISTS: Final = 3
"""Lists of rollouts that are drawn for several selected points."""
_JUDGED: Final = {"step": "each run's last step", "run": "all steps together"}


def limits_box(filters: Filters) -> pd.DataFrame:
    """Draw the limits as text to edit; those in force, with where they come from (`contract_limits`)."""
    room = st.empty()
    said = st.session_state.get("limits", st.query_params.get("limits", ""))
    try:
        held = data.ask("contract_limits", filters, limits=said)
    except QuestionError as error:
        held, wrong = None, error
    there = "tool_calls<=10; p95(latency_s)<=30; messages<=100"
    shown = "; ".join(texts(held["limit"])) if held is not None and len(held) else f"for example {there}"
    room.text_area(
        "Limits",
        key="limits",
        bind="query-params",
        placeholder=shown,
        height=80,
        help=f"Separated by ; or on lines of their own, as {there}; share(turns<=20)>=0.99. "
        f"Limits are set on {', '.join(LIMITED)}. Without any: limits.toml in the store's folder, else the runs' "
        "configuration.",
    )
    if held is None:
        st.error(parts.plain(str(wrong)))
        st.stop()
    st.caption(parts.plain(contract_words.origins(held, data.run_names())))
    return held


def of_one_split(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows of the split that the reader chooses, where there are several."""
    splits = texts(frame["split"])
    if len(splits) < 2:
        return frame
    split = st.segmented_control("Split", splits, default=splits[-1], key="contract_split", bind="query-params")
    return frame[frame["split"] == (split or splits[-1])]


def judged(by_step: pd.DataFrame, filters: Filters, limits: str) -> pd.DataFrame:
    """The rows that the verdict is on: those of each run's last step, or all its steps together."""
    if not by_step.groupby("run_id")["step"].nunique().gt(1).any():
        return by_step
    if choice("Judged", _JUDGED, "judged", kind="buttons") == "step":
        last = by_step.groupby("run_id")["step"].transform("max")
        return by_step[by_step["step"].eq(last).fillna(value=False) | last.isna()]
    return data.ask("contract_shares", _of(by_step, filters), limits=limits, by="split")


def _of(by_step: pd.DataFrame, filters: Filters) -> Filters:
    """The filters, on the split that is looked at."""
    return narrowed(filters, {"split": next(iter(texts(by_step["split"])), None)})


def names_of(frame: pd.DataFrame, looks: Looks) -> list[str]:
    """The run of each row as it is spoken of, with its step where it has one."""
    named = group_names(frame.assign(split=None), looks)
    alone = frame["run_id"].nunique() == 1 and frame["step"].notna().any()
    return [
        f"{looks.name(str(run))} · {name}" if alone else name for run, name in zip(frame["run_id"], named, strict=True)
    ]


def table(frame: pd.DataFrame, groups: Sequence[str]) -> list[dict[str, Any]]:
    """Limits against runs in words; returns the selected row, else the first that is broken."""
    wide = {each: st.column_config.TextColumn(width="medium") for each in ("share over", "percentile")}
    board = contract_words.board(frame, groups)
    row = tables.rows(board, "contract_board", alt="Limits and whether each is kept", columns=wide)
    rows = records(frame)
    return [each for each in rows if each["verdict"] == BROKEN][:1] if row is None else [rows[row]]


def over_limits(by_step: pd.DataFrame, looks: Looks) -> list[dict[str, Any]]:
    """The plot: the share over each limit by step or run; returns the selected points."""
    drawn = drawn_runs(by_step)
    points = parts.plot(contract_charts.over_limits(drawn, looks), "contracts", drawn, select=True)
    told = [
        curve_words.too_many(drawn["run_id"].nunique(), by_step["run_id"].nunique()),
        contract_words.drawn(by_step["limit"].nunique(), contract_charts.MAX_PANELS),
        "Click a point, or select a row of the table, to list the rollouts over its limit.",
    ]
    st.caption(" ".join(each for each in told if each))
    return points


def lists(points: Sequence[dict[str, Any]], filters: Filters, looks: Looks) -> None:
    """The rollouts over the limits that were selected, in the runs and steps that were."""
    for place, each in enumerate(points[:MAX_LISTS]):
        limit = parsed(each["limit"])[0]
        step = "" if each.get("step") is None else f" at step {int(each['step'])}"
        what = f"of {looks.name(str(each['run_id']))}{step} over {limit.amount}, the highest first"
        own = narrowed(filters, each)
        listed(f"over_{place}", what, "tail_rollouts", own, threshold=limit.bound, measure=limit.measure)


def movers(limits: str) -> None:
    """Between two arms: who left the tail, who entered, who stayed, and both sides' rollouts of a sample."""
    st.subheader("Between two arms", anchor=False)
    chosen = compare_controls.choose_paired()
    if chosen is None:
        st.caption("There are no two arms: two runs, or two steps of one run.")
        return
    arms = data.ask("compare_failures", **chosen.sides)
    if arms["arm"].nunique() < 2:
        st.caption("The environments chosen in the sidebar leave nothing in one of the arms.")
        return
    moves = data.ask("contract_moves", **chosen.paired, cluster_by=chosen.cluster_by, limits=limits)
    labels = arms.set_index("arm")["label"]
    st.markdown(parts.plain(contract_words.moved(moves, labels["baseline"], labels["candidate"])))
    verdicts = {}
    for _, arm in arms.iterrows():
        own = data.ask("contract_shares", compare_controls.side_filters(arm), limits=limits, by="run")
        verdicts[str(arm["arm"])] = dict(zip(own["limit"], own["verdict"], strict=True))
    board = contract_words.moves_board(moves, verdicts)
    row = tables.rows(
        board,
        "contract_moves",
        alt="Samples that left, entered and stayed in the tail",
        formats={"p": lambda value: number(value, 2)},
    )
    limit = moves["limit"].iloc[row or 0]
    samples = data.ask("contract_moved_samples", **chosen.paired, limits=limit)
    parts.table(
        samples,
        "contract_moved_samples",
        label=f"Samples that moved: over {contract_words.amount(limit)}",
        on_row=lambda each: compare_view.both_sides([each], arms, "moved"),
    )


def costs(shares: pd.DataFrame, filters: Filters, limits: str) -> None:
    """Folded: what the rollouts over the limits cost where they are judged, and their penalties."""
    keys = shares[["limit", "run_id", "split", "step"]]
    by = "step" if shares["step"].notna().any() else "split"

    def costly() -> pd.DataFrame:
        return data.ask("contract_costs", filters, limits=limits, by=by).merge(keys)

    label = "What the rollouts over each limit cost"
    parts.table(costly, "contract_costs", label=label, on_row=opening("contract_costs", filters))
    penalties = data.ask("contract_penalties", filters, limits=limits, by=by).merge(keys)
    if len(penalties):
        label = "Penalties of the rollouts over each limit, and of the rest"
        parts.table(penalties, "contract_penalties", label=label, on_row=opening("contract_penalties", filters))
