"""What the distributions and long tail pages share: choosing a measure and a grouping, and which split is meant."""

from dataclasses import replace
from typing import Final

import streamlit as st

from dashboard import data, parts
from dashboard.choices import choice
from dashboard.rows import texts
from dashboard.tables import rollout_list
from dashboard.words import plural, whole
from queries.filters import Filters
from queries.measures import GROUPINGS, ROLLOUT_MEASURES

_BY: Final = {"run": "run", "split": "split", "step": "step"}
PAGE: Final = 50
MANY: Final = 150_000
"""Rollouts up to which pages that read every call, or every time, ask of all runs at once."""


def controls(key: str) -> tuple[str, str]:
    """Measure and grouping, chosen beside each other and kept in the address."""
    left, right = st.columns([3, 2], vertical_alignment="bottom")
    with left:
        titles = {name: each.axis for name, each in ROLLOUT_MEASURES.items()}
        measure = choice("Measure", titles, "measure", help="A number every rollout has.")
    with right:
        by = st.segmented_control("By", GROUPINGS, default="run", key="by", bind="query-params")
    return measure, by or "run"


def scoped(filters: Filters, by: str, *, can_group: bool = True) -> Filters:
    """The sidebar's filters; validation only, where nothing was chosen, there is one, and splits are not compared."""
    if filters.splits is not None or by == "split":
        return filters
    splits = texts(data.ask("distribution_summary", filters, measure="reward", by="split")["split"])
    leading = next((each for each in ("valid", "test") if each in splits), None)
    if leading is None or len(splits) < 2:
        return filters
    name = {"valid": "validation", "test": "test"}[leading]
    grouping = ", or group by split," if can_group else ""
    st.caption(f"Only the {name} split is drawn; choose splits in the sidebar{grouping} to see the others.")
    return replace(filters, splits=(leading,))


def one_of_many(filters: Filters, label: str = "Run") -> Filters:
    """The filters; of over `MANY` rollouts of several runs those of the newest run, or of what is chosen here."""
    if data.ask("filter_counts", filters).iloc[0]["num_rollouts"] <= MANY:
        return filters
    held = data.ask("run_overview", filters)
    known = held[(held["num_rollouts"] > 0) & (held["split"].isin(filters.splits) if filters.splits else True)]
    names = data.run_names()
    newest = [each for each in reversed(names) if each in set(known["run_id"])]
    if len(newest) < 2:
        return filters
    titles = {each: names[each] for each in newest} | {"*": f"all {whole(len(newest))} runs together (takes longer)"}
    chosen = choice(label, titles, "one_run")
    if chosen == newest[0]:
        st.caption("The newest run, as there are many rollouts; another one, or all together, can be chosen.")
    return filters if chosen == "*" else filters.only(chosen)


def listed(key: str, what: str, question: str, filters: Filters, **parameters: object) -> None:
    """The rollouts that a question finds, a page at a time, with how many there are: "41 rollouts above 9"."""
    page = int(st.session_state.get(f"page_{key}") or 1)
    found = data.ask(question, filters, limit=PAGE, offset=(page - 1) * PAGE, **parameters)
    if found.empty and page > 1:
        page, found = 1, data.ask(question, filters, limit=PAGE, **parameters)
    if found.empty:
        # Nothing is there to be ordered: "above 9 calls, the highest first" loses its end.
        st.caption(parts.plain(f"No rollout {what.rsplit(', the ', 1)[0]}."))
        return
    total = int(found["num_total"].iloc[0])
    first = (page - 1) * PAGE + 1
    part = "" if total <= PAGE else f"; listed are {whole(first)} to {whole(first + len(found) - 1)}"
    st.caption(parts.plain(f"{plural(total, 'rollout')} {what}{part}."))
    rollout_list(found.drop(columns="num_total"), key)
    if total > PAGE:
        st.pagination(-(-total // PAGE), key=f"page_{key}")
