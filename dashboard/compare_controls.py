"""Widgets of the comparison page: which arms, against which cost, paired and judged how. All bound to the URL."""

from dataclasses import dataclass
from typing import Any, Final

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dashboard import compare_arms, data
from dashboard.choices import choice
from dashboard.compare_words import TITLES
from dashboard.parts import plain
from ingest.errors import QuestionError
from queries.compare import METHODS
from queries.compared_samples import COSTS
from queries.comparison import CLUSTER_BY, PAIR_BY, check_clusters
from queries.filters import Filters

FITS: Final = 28
"""Letters of an arm that two pickers side by side show at a width of 768."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """What the reader chose, as parameters of the questions."""

    sides: dict[str, Any]
    pair_by: str = "sample_id"
    leave_out_failures: bool = False
    method: str = "t"
    cost: str = "tool_calls"
    eps_reward: float | None = None
    eps_cost: float | None = None
    cluster_by: str = "sample"
    margin: float | None = None
    cost_margin: float | None = None

    @property
    def pairing(self) -> dict[str, Any]:
        """Parameters of `compare_pairing`."""
        return {**self.sides, "pair_by": self.pair_by}

    @property
    def paired(self) -> dict[str, Any]:
        """Parameters that all questions about paired samples take."""
        return {**self.pairing, "leave_out_failures": self.leave_out_failures}

    @property
    def measured(self) -> dict[str, Any]:
        """Parameters of `compare`."""
        return {**self.paired, "method": self.method, "cluster_by": self.cluster_by}

    @property
    def judged(self) -> dict[str, Any]:
        """Parameters of `compare_samples`, and with `cluster_by` of `compare_quadrants`."""
        own = {"cost": self.cost, "eps_reward": self.eps_reward, "eps_cost": self.eps_cost}
        return {**self.paired, **own}

    @property
    def claimed(self) -> dict[str, Any]:
        """Parameters of `compare_claims`."""
        own = {"cost": self.cost, "margin": self.margin, "cost_margin": self.cost_margin}
        return {**self.paired, "cluster_by": self.cluster_by, **own}


def choose() -> Chosen | None:
    """Draw the pickers and the options; None where there are no two arms to compare."""
    found = _arms()
    if found is None:
        return None
    sides, more = found
    with more, st.popover("Options", width="stretch"):
        return _options(sides)


def choose_paired() -> Chosen | None:
    """As `choose`, without the options that only a comparison of rewards has."""
    found = _arms()
    if found is None:
        return None
    sides, more = found
    with more, st.popover("Options", width="stretch"):
        leave_out, pair_by = _pairing()
        cluster_by = _clusters()
    return Chosen(sides, pair_by, leave_out, cluster_by=cluster_by)


def _arms() -> tuple[dict[str, Any], DeltaGenerator] | None:
    """Draw the pickers of both arms: what was chosen, and the room beside them."""
    filters = data.filters()
    split = filters.splits[0] if filters.splits and len(filters.splits) == 1 else None
    arms = data.ask("arms")
    offered = compare_arms.choices(arms, split)
    runs = data.ask("runs", filters)
    opening = compare_arms.opening(offered, filters.run_ids, runs) or compare_arms.opening(offered, None, runs)
    if opening is None:
        return None
    # Ids of one sweep differ at their ends: side by side on a narrow screen, two of them would be cut alike.
    is_long = bool(offered["arm"].str.len().gt(FITS).any())
    room = st.container(key="side_by_side_arms" if is_long else "arms")
    left, right, more = room.columns([5, 5, 2], vertical_alignment="bottom")
    with left:
        baseline = _picker("Baseline", "baseline", arms, offered, split, opening[0])
    with right:
        candidate = _picker("Candidate", "candidate", arms, offered, split, opening[1])
    sides = {"baseline": baseline, "candidate": candidate, "split": split, "environments": filters.environments}
    return sides, more


def _picker(label: str, key: str, arms: pd.DataFrame, offered: pd.DataFrame, split: str | None, default: str) -> str:
    """Draw the choice of one arm. A link may name it in another way (by run name, or without a step), or be wrong."""
    names = offered["arm"].tolist()
    asked = st.session_state.get(key) or st.query_params.get(key)
    if asked and asked not in names:
        why = compare_arms.refused(arms, asked, split)
        if why:
            st.warning(plain(f"The link's {key} is not used: {why}"))
        else:
            names.append(asked)
    return st.selectbox(label, names, index=None, key=key, bind="query-params", placeholder=default) or default


def _pairing() -> tuple[bool, str]:
    leave_out = st.toggle(
        "Leave out failures", key="leave_out", bind="query-params",
        help="Rollouts that ended in an infrastructure or grader error; else they count as they were graded.",
    )  # fmt: skip
    pair_by = st.selectbox(
        "Pair samples by", PAIR_BY, key="pair_by", bind="query-params",
        help="sample_suffix: the id after its last / : or #. position: the order in which samples were read.",
    )  # fmt: skip
    return leave_out, pair_by


def _clusters() -> str:
    cluster_by = st.selectbox(
        "Samples that are alike share", CLUSTER_BY, key="cluster_by", bind="query-params", accept_new_options=True,
        help="What makes samples dependent: nothing (sample), their cluster_key (document, repository), their "
        "environment, or a key of their metadata, typed as metadata.KEY. Intervals are then had by cluster.",
    )  # fmt: skip
    try:
        check_clusters(cluster_by or "sample")
    except QuestionError as error:
        st.warning(plain(f"Samples stand for themselves: {error}"))
        return "sample"
    return cluster_by or "sample"


def _options(sides: dict[str, Any]) -> Chosen:
    leave_out, pair_by = _pairing()
    method = st.selectbox(
        "Interval", METHODS, key="interval", bind="query-params",
        help="t on the per-sample differences; percentile and bca: bootstrap over samples; cautious: for few samples, "
        "skewed differences and rare changes.",
    )  # fmt: skip
    cluster_by = _clusters()
    margin = st.number_input(
        "Margin of reward", 0.0, value=None, key="margin", bind="query-params", placeholder="0.02, or 5 %",
        help="A reward at most this much lower still counts as no worse.",
    )  # fmt: skip
    cost_margin = st.number_input(
        "Margin of cost", 0.0, value=None, key="cost_margin", bind="query-params", placeholder="5 %",
        help="A cost at most this much higher still counts as no higher.",
    )  # fmt: skip
    noise = "noise of attempts"
    eps_reward = st.number_input(
        "Dead-band of reward", 0.0, value=None, key="eps_reward", bind="query-params", placeholder=noise
    )
    eps_cost = st.number_input(
        "Dead-band of cost", 0.0, value=None, key="eps_cost", bind="query-params", placeholder=noise
    )
    return Chosen(
        sides,
        pair_by,
        leave_out,
        method,
        "tool_calls",
        eps_reward,
        eps_cost,
        cluster_by,
        margin,
        cost_margin,
    )


def cost_picker() -> str:
    """Draw the choice of what stands against the reward."""
    return choice("Reward against", {each: TITLES[each] for each in COSTS}, "cost", width=260)


def side_filters(arm: pd.Series) -> Filters:
    """The rollouts of one arm, as shared filters."""
    step = None if pd.isna(arm["step"]) else int(arm["step"])
    splits = None if pd.isna(arm["split"]) else (arm["split"],)
    return Filters((arm["run_id"],), splits, step, step, environments=data.filters().environments)
