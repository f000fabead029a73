"""What the distributions and long tail pages share: choosing a measure and a grouping, and which split is meant."""

from dataclasses import replace
from typing import Final

import pandas as pd
import streamlit as st

from dashboard import data, parts
from dashboard.rows import texts
from dashboard.tables import rollout_list
from dashboard.words import plural
from queries.filters import Filters
from queries.measures import GROUPINGS, ROLLOUT_MEASURES

_BY: Final = {"run": "run", "split": "split", "step": "step"}
PAGE: Final = 50


def controls(key: str) -> tuple[str, str]:
    """Measure and grouping, chosen beside each other and kept in the address."""
    left, right = st.columns([3, 2], vertical_alignment="bottom")
    with left:
        measure = st.selectbox(
            "Measure", list(ROLLOUT_MEASURES), key="measure", bind="query-params", help="A number every rollout has."
        )
    with right:
        by = st.segmented_control("By", GROUPINGS, default="run", key="by", bind="query-params")
    return measure or "tool_calls", by or "run"


def scoped(filters: Filters, by: str) -> Filters:
    """The sidebar's filters; validation only, where nothing was chosen, there is one, and splits are not compared."""
    if filters.splits is not None or by == "split":
        return filters
    splits = texts(data.ask("distribution_summary", filters, measure="reward", by="split")["split"])
    leading = next((each for each in ("valid", "test") if each in splits), None)
    if leading is None or len(splits) < 2:
        return filters
    name = {"valid": "validation", "test": "test"}[leading]
    st.caption(f"Only the {name} split is drawn; choose splits in the sidebar, or group by split, to see the others.")
    return replace(filters, splits=(leading,))


def page_of_rollouts(found: pd.DataFrame, key: str, what: str) -> None:
    """A page of rollouts, with how many there are in all."""
    if found.empty:
        st.caption(f"No rollout {what}.")
        return
    total = int(found["num_total"].iloc[0])
    st.caption(parts.plain(f"{plural(total, 'rollout')} {what}; {len(found)} are listed."))
    rollout_list(found.drop(columns="num_total"), key)


def page_number(total: int, key: str) -> int:
    """Offset of the page of rollouts that is chosen, where there are several."""
    pages = (total + PAGE - 1) // PAGE
    if pages < 2:
        return 0
    return (int(st.number_input("Page", 1, pages, 1, key=key, width=140)) - 1) * PAGE
