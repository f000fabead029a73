"""Widgets of the learnability page: which arm, groups of which size, and what counts as success. Bound to the URL."""

from dataclasses import dataclass
from typing import Any, Final

import pandas as pd
import streamlit as st

from dashboard import compare_arms, data, learnability_words
from dashboard.parts import plain
from dashboard.rows import records
from queries.filters import Filters
from queries.learning import GROUP_SIZE, MAX_GROUP_SIZE
from queries.trainer_sizes import MAX_BATCH

BATCH_SIZE: Final = 64


@dataclass(frozen=True, slots=True)
class Chosen:
    """What the reader chose, as parameters of the questions; `asked` are those that all of them take."""

    asked: dict[str, Any]
    group_size: int = GROUP_SIZE
    batch_size: int = BATCH_SIZE

    @property
    def grouped(self) -> dict[str, Any]:
        """Parameters of `learnability` and `dead_samples`."""
        return {**self.asked, "group_size": self.group_size}

    @property
    def summed(self) -> dict[str, Any]:
        """Parameters of `learnability_summary`."""
        return {**self.grouped, "batch_size": self.batch_size}

    @property
    def sized(self) -> dict[str, Any]:
        """Parameters of `signal_by_group_size`."""
        return {**self.asked, "batch_size": self.batch_size}


def choose() -> Chosen | None:
    """Draw the picker and the options; None where there is no arm."""
    filters = data.filters()
    split = filters.splits[0] if filters.splits and len(filters.splits) == 1 else None
    arms = data.ask("arms")
    offered = compare_arms.choices(arms, split)
    default = opening(offered, filters.run_ids) or opening(offered)
    if default is None:
        return None
    left, middle, right, more = st.columns([5, 2, 2, 2], vertical_alignment="bottom")
    with left:
        arm = _picker(arms, offered, split, default)
    said = _said(arms, arm)
    with middle:
        group = _whole("Group size", "group_size", said, 2, MAX_GROUP_SIZE, "Attempts at one prompt in a batch.")
    with right:
        batch = _whole("Prompts a batch", "batch_size", said, 1, MAX_BATCH, "Groups in a batch of the trainer.")
    asked = {"arm": arm, "split": split, "environments": filters.environments}
    with more, st.popover("Options", width="stretch"):
        asked |= _options()
    defaults = {"group_size": GROUP_SIZE, "batch_size": BATCH_SIZE}
    st.caption(plain(learnability_words.where_from({"group_size": group, "batch_size": batch}, said, defaults)))
    return Chosen(asked, group or said.get("group_size") or GROUP_SIZE, batch or said.get("batch_size") or BATCH_SIZE)


def opening(offered: pd.DataFrame, run_ids: tuple[str, ...] | None = None) -> str | None:
    """The arm to open with: a baseline run, else the first step of the run with the most rollouts; None of none."""
    if run_ids is not None:
        offered = offered[offered["run_id"].isin(run_ids)]
    if offered.empty:
        return None
    baselines = offered[offered["kind"] == "baseline"]
    if len(baselines):
        return str(baselines["arm"].iloc[0])
    totals = offered.groupby("run_id", sort=False)["num_rollouts"].sum()
    return str(offered.loc[offered["run_id"] == totals.idxmax(), "arm"].iloc[0])


def _picker(arms: pd.DataFrame, offered: pd.DataFrame, split: str | None, default: str) -> str:
    """Draw the choice of the arm. A link may name it in another way (by run name, or without a step), or be wrong."""
    names = offered["arm"].tolist()
    asked = st.session_state.get("arm") or st.query_params.get("arm")
    if asked and asked not in names:
        why = compare_arms.refused(arms, asked, split)
        if why:
            st.warning(plain(f"The link's arm is not used: {why}"))
        else:
            names.append(asked)
    chosen = st.selectbox("Run and step", names, index=None, key="arm", bind="query-params", placeholder=default)
    return str(chosen or default)


def _said(arms: pd.DataFrame, arm: str) -> dict[str, Any]:
    """What the settings of the arm's run say of groups and batches: a row of `trainer_sizes`."""
    names = [arm, arm.rpartition("@")[0]]
    run_ids = arms.loc[arms["run_id"].isin(names) | arms["run_name"].isin(names), "run_id"]
    return records(data.ask("trainer_sizes", Filters(run_ids=(str(run_ids.iloc[0]),))))[0]


def _whole(label: str, key: str, said: dict[str, Any], low: int, high: int, why: str) -> int | None:
    """A whole number of the reader's own; None where it is left to what the run says."""
    known = said.get(key) or {"group_size": GROUP_SIZE, "batch_size": BATCH_SIZE}[key]
    return st.number_input(label, low, high, value=None, key=key, bind="query-params", placeholder=str(known), help=why)


def _options() -> dict[str, Any]:
    graded = st.toggle(
        "Count failures as graded",
        key="as_graded",
        bind="query-params",
        help="Rollouts that ended in an infrastructure or grader error; else they are left out: they do not show "
        "that a sample is hard.",
    )
    threshold = st.number_input(
        "An attempt passes from this reward on",
        value=None,
        key="threshold",
        bind="query-params",
        placeholder="as the source says",
        help="Without it: as the source or grader says, else rewards that are all 0 or 1. Graded rewards without a "
        "verdict have no passes until a threshold is given.",
    )
    return {"threshold": threshold, "leave_out_failures": not graded}


def arm_filters(summary: pd.Series) -> Filters:
    """The rollouts of the arm, as shared filters."""
    step = None if pd.isna(summary["step"]) else int(summary["step"])
    splits = None if pd.isna(summary["split"]) else (summary["split"],)
    return Filters((summary["run_id"],), splits, step, step, environments=data.filters().environments)
