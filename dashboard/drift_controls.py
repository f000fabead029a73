"""Widgets of the page Drift: which two selections are compared. Bound to the URL."""

from dataclasses import dataclass
from typing import Any

import pandas as pd
import streamlit as st

from dashboard import data
from dashboard.parts import plain
from ingest.errors import QuestionError
from queries.filters import Filters

NO_SPLIT = "none"


@dataclass(frozen=True, slots=True)
class Chosen:
    """Both selections as parameters of the questions."""

    sides: dict[str, Any]


def choose() -> Chosen | None:
    """Draw the choice of both selections; None where there are no two to compare."""
    arms, pairs = data.ask("arms"), data.ask("drift_pairs")
    filters = data.filters()
    offered = _offered(arms)
    default = _default(pairs, filters, offered)
    if default is None or len(offered) < 2:
        return None
    left, right = st.columns(2, vertical_alignment="bottom")
    with left:
        first = _picker("Compared with", "first", offered, default, default[0:2])
    with right:
        second = _picker("What may have drifted", "second", offered, default, default[2:4])
    sides: dict[str, Any] = {"first": first[0], "first_split": first[1], "second": second[0], "second_split": second[1]}
    sides["environments"] = filters.environments
    return Chosen(sides)


def _offered(arms: pd.DataFrame) -> dict[str, tuple[str, str]]:
    """Run and split of each selection that can be made, by how it is shown: whatever the sidebar's runs are."""
    found = {}
    for row in arms[["run_id", "split"]].drop_duplicates().to_dict("records"):
        split = NO_SPLIT if pd.isna(row["split"]) else str(row["split"])
        found[f"{row['run_id']} · {split}"] = (str(row["run_id"]), split)
    return found


def _default(
    pairs: pd.DataFrame, filters: Filters, offered: dict[str, tuple[str, str]]
) -> tuple[str, str, str, str] | None:
    """The pair to open with: of the sidebar's runs if any are chosen, else the first; any two where there is none."""
    own = pairs if filters.run_ids is None else pairs[pairs["run_id"].isin(filters.run_ids)]
    own = pairs if own.empty else own
    if len(own):
        row = own.iloc[0]
        return str(row["first"]), str(row["first_split"]), str(row["second"]), str(row["second_split"])
    names = list(offered.values())
    return None if len(names) < 2 else (*names[0], *names[1])


def _picker(
    label: str, key: str, offered: dict[str, tuple[str, str]], default: tuple[str, ...], own: tuple[str, ...]
) -> tuple[str, str]:
    """Draw one choice: a run's split, and which of its steps; without a choice it is the default's."""
    box, steps_box = st.columns([3, 1], vertical_alignment="bottom")
    run, _, steps = own[0].rpartition("@")
    standing = (run, steps) if run in {each for each, _ in offered.values()} else (own[0], "")
    with box:
        chosen = st.selectbox(
            label, list(offered), index=None, key=key, bind="query-params", placeholder=f"{standing[0]} · {own[1]}"
        )
    with steps_box:
        given = st.text_input(
            "Steps",
            key=f"{key}_steps",
            bind="query-params",
            placeholder=standing[1] if chosen is None else "default",
            help="A step, FROM..TO, all, or none (rollouts without a step). By default: of train those since the last "
            "validation but one, of production all, else the last step.",
        )
    run_id, split = offered[chosen] if chosen is not None else (standing[0], own[1])
    if given:
        return f"{run_id}@{given.strip()}", split
    return (run_id if chosen is not None else own[0]), split


def refused(error: QuestionError) -> None:
    """Say why the selections cannot be compared."""
    st.warning(plain(str(error)))


def side_filters(row: dict[str, Any], environments: tuple[str, ...] | None) -> Filters:
    """The rollouts of one selection, a row of `drift_selections`, as shared filters."""
    splits = None if row["split"] is None else (str(row["split"]),)
    low, high = (None if row[name] is None else int(row[name]) for name in ("step_from", "step_to"))
    return Filters((str(row["run_id"]),), splits, low, high, environments=environments)
