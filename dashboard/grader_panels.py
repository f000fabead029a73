"""The parts of the Grader audit page: which two graders are compared, where they differ, and the folded sections."""

from dataclasses import replace
from typing import Any, Final

import pandas as pd
import streamlit as st

from dashboard import data, grader_charts, grader_words, measured, parts
from dashboard.choices import choice
from dashboard.rows import records, texts
from dashboard.tables import rollout_list
from queries.filters import Filters
from queries.graders import pairs_of

_WHICH: Final = {
    "differ": "with opposite verdicts",
    "only_first": "that the first alone calls right",
    "only_second": "that the second alone calls right",
    "neither": "that both call wrong",
    "both_right": "that both call right",
    "all": "that both judged",
}


def run_with_pairs() -> Filters | None:
    """The sidebar's filters on one of its runs, chosen here: one with people's labels or a re-grade first."""
    filters = data.filters()
    known = data.ask("graders", filters)
    if known.empty:
        return None
    telling = dict.fromkeys(each["run_id"] for each in pairs_of(known) if each["relation"] != "graders")
    order = [*telling, *(each for each in texts(known["run_id"]) if each not in telling)]
    names = data.run_names()
    return filters.only(choice("Run", {each: names.get(each, each) for each in order}, "audited"))


def pair(known: pd.DataFrame) -> tuple[str, str] | None:
    """The two graders to compare, chosen here; None where the run has fewer than two."""
    names = texts(known["grader"])
    if len(names) < 2:
        return None
    offered = pairs_of(known)
    default = (offered[0]["first_grader"], offered[0]["second_grader"]) if offered else (names[0], names[1])
    left, right = st.columns(2)
    with left:
        first = choice("Grader", {each: each for each in [default[0], *names]}, "grader")
    others = [each for each in names if each != first]
    partner = [each["second_grader"] for each in offered if each["first_grader"] == first]
    start = next((each for each in (default[1], *partner, *others) if each in others), others[0])
    start = start if first == default[0] or not partner else partner[0]
    with right:
        second = choice("Against", {each: each for each in [start, *others]}, "against")
    return first, second


def of_split(agreement: pd.DataFrame, filters: Filters) -> tuple[dict[str, Any], Filters]:
    """The row of one split, chosen here where there are several, and the filters it stands for."""
    rows = {row["split"] or "": row for row in records(agreement)}
    order = sorted(rows, key=lambda each: (each != "valid", each != "test", each))
    chosen = order[0] if len(order) == 1 else choice("Split", {each: each or "no split" for each in order}, "of_split")
    row = rows[chosen]
    return row, replace(filters, splits=(chosen,)) if chosen else filters


def compared(row: dict[str, Any], filters: Filters) -> None:
    """The plot of one grader's scores against the other's, and the rollouts behind the selection."""
    first, second = str(row["first_grader"]), str(row["second_grader"])
    cells = data.ask("grader_confusion", filters, first=first, second=second)
    alt = f"Rollouts by the score of {first} and of {second}"
    points = parts.plot(grader_charts.confusion(cells, first, second), "confusion", cells, select=True, alt=alt)
    asked: dict[str, Any] = {"first": first, "second": second}
    if points:
        bounds = {name: points[0][name] for name in ("first_low", "first_high", "second_low", "second_high")}
        measured.listed("cell", "in the selected cell", "grader_disagreements", filters, **asked, **bounds, which="all")
        return
    which = choice("Rollouts", {each: f"Rollouts {title}" for each, title in _WHICH.items()}, "which")
    measured.listed(
        "disagree", f"{_WHICH[which]}, the widest gap first", "grader_disagreements", filters, **asked, which=which
    )


def versions(filters: Filters) -> None:
    """Folded: scores by version of the grader, and re-grades."""
    changes, again = data.ask("grader_version_changes", filters), data.ask("regrades", filters)
    with st.expander("Versions of graders, and re-grades"):
        said = [*grader_words.changes(changes), *grader_words.again(again)]
        for each in said or ["No grader changed its version in training, and none graded a rollout again."]:
            st.markdown(parts.plain(each))
        parts.table(
            data.ask("grader_versions", filters), "grader_versions", label="Table of scores by version and step"
        )
        parts.table(again, "regrades", label="Table of re-grades")
        parts.table(changes, "grader_version_changes", label="Table of changes of version")


def lost(filters: Filters) -> None:
    """Folded: right answers scored zero."""
    found = data.ask("zero_but_right", filters)
    with st.expander("Right answers scored zero"):
        st.markdown(parts.plain(grader_words.lost(found)))
        if len(found):
            rollout_list(found.drop(columns=["num_zero", "num_total"]), "zero_but_right")


def reviews(filters: Filters) -> None:
    """Folded: what readers' labels say of each rule, and whether readers agree."""
    with st.expander("Rules judged by readers, and reviewers"):
        found, agreed = data.ask("rule_precision", filters), data.ask("reviewers", filters)
        for each in grader_words.precision(found):
            st.markdown(parts.plain(each))
        if found.empty:
            st.markdown("No finding of a rule has been judged yet.")
        st.caption(
            "Open a rollout, choose Real or False alarm under Labels and notes and name the rule; the findings judged "
            "say what all of a rule's findings are only if they were drawn at random."
        )
        parts.table(found, "rule_precision", label="Table of precision by rule")
        parts.table(agreed, "reviewers", label="Table of agreement between readers")
