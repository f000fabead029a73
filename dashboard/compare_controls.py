"""Widgets of the comparison page: which arms, against which cost, paired and judged how. All bound to the URL."""

from dataclasses import dataclass
from typing import Any, Final

import pandas as pd
import streamlit as st

from dashboard import compare_arms, data
from dashboard.choices import choice
from dashboard.compare_words import TITLES
from dashboard.parts import plain
from queries.compare import METHODS
from queries.compared_samples import COSTS
from queries.comparison import PAIR_BY
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

    @property
    def pairing(self) -> dict[str, Any]:
        """Parameters of `compare_pairing`."""
        return {**self.sides, "pair_by": self.pair_by}

    @property
    def measured(self) -> dict[str, Any]:
        """Parameters of `compare`."""
        return {**self.pairing, "leave_out_failures": self.leave_out_failures, "method": self.method}

    @property
    def judged(self) -> dict[str, Any]:
        """Parameters of `compare_samples` and `compare_quadrants`."""
        own = {"cost": self.cost, "eps_reward": self.eps_reward, "eps_cost": self.eps_cost}
        return {**self.pairing, "leave_out_failures": self.leave_out_failures, **own}


def choose() -> Chosen | None:
    """Draw the pickers and the options; None where there are no two arms to compare."""
    filters = data.filters()
    split = filters.splits[0] if filters.splits and len(filters.splits) == 1 else None
    arms = data.ask("arms")
    offered = compare_arms.choices(arms, split)
    opening = compare_arms.opening(offered, filters.run_ids) or compare_arms.opening(offered)
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
    with more, st.popover("Options", width="stretch"):
        return _options(sides)


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


def _options(sides: dict[str, Any]) -> Chosen:
    leave_out = st.toggle(
        "Leave out failures", key="leave_out", bind="query-params",
        help="Rollouts that ended in an infrastructure or grader error; else they count as they were graded.",
    )  # fmt: skip
    pair_by = st.selectbox(
        "Pair samples by", PAIR_BY, key="pair_by", bind="query-params",
        help="sample_suffix: the id after its last / : or #. position: the order in which samples were read.",
    )  # fmt: skip
    method = st.selectbox(
        "Interval", METHODS, key="interval", bind="query-params",
        help="t on the per-sample differences; percentile and bca: bootstrap over samples.",
    )  # fmt: skip
    noise = "noise of attempts"
    eps_reward = st.number_input(
        "Dead-band of reward", 0.0, value=None, key="eps_reward", bind="query-params", placeholder=noise
    )
    eps_cost = st.number_input(
        "Dead-band of cost", 0.0, value=None, key="eps_cost", bind="query-params", placeholder=noise
    )
    return Chosen(sides, pair_by, leave_out, method, eps_reward=eps_reward, eps_cost=eps_cost)


def cost_picker() -> str:
    """Draw the choice of what stands against the reward."""
    return choice("Reward against", {each: TITLES[each] for each in COSTS}, "cost", width=260)


def side_filters(arm: pd.Series) -> Filters:
    """The rollouts of one arm, as shared filters."""
    step = None if pd.isna(arm["step"]) else int(arm["step"])
    splits = None if pd.isna(arm["split"]) else (arm["split"],)
    return Filters((arm["run_id"],), splits, step, step, environments=data.filters().environments)
