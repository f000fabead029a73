"""Widgets of the page Several arms: which arms, which measure, paired how. All bound to the URL."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import pandas as pd
import streamlit as st

from dashboard import compare_arms, data, several_choices
from dashboard.choices import choice
from dashboard.compare_words import TITLES
from dashboard.parts import plain
from queries.base_models import ROLES
from queries.comparison import CLUSTER_BY, PAIR_BY

ROLE_TITLES: Final[Mapping[str, str]] = {
    "old_base": "Old base model",
    "old_tuned": "Old base model, fine-tuned",
    "new_base": "New base model",
    "new_tuned": "New base model, fine-tuned",
}


FITS: Final = 70
"""Letters that the picker of candidates shows."""


@dataclass(frozen=True, slots=True)
class Scene:
    """What there is to choose from, and what the sidebar restricts it to."""

    arms: pd.DataFrame
    offered: pd.DataFrame
    split: str | None
    environments: tuple[str, ...] | None

    @property
    def restriction(self) -> dict[str, Any]:
        """Parameters that every question about arms takes."""
        return {"split": self.split, "environments": self.environments}


def scene() -> Scene:
    """What the store and the sidebar offer."""
    filters = data.filters()
    split = filters.splits[0] if filters.splits and len(filters.splits) == 1 else None
    arms = data.ask("arms")
    return Scene(arms, compare_arms.choices(arms, split), split, filters.environments)


def several(scene: Scene) -> tuple[str, tuple[str, ...]] | None:
    """Draw the pickers of a baseline and of candidates; None where there are no two arms."""
    found = several_choices.opening(scene.offered, list(data.run_names()), data.filters().run_ids, data.ask("runs"))
    if found is None:
        return None
    left, right = st.container(key="side_by_side_several").columns([2, 5], vertical_alignment="top")
    with left:
        baseline = one(scene, "Baseline", "baseline", found[0]) or found[0]
    with right:
        names, opened = _names(scene, "arms"), ", ".join(found[1])
        shown = opened if len(opened) < FITS else f"{len(found[1])} runs, each at its last step"
        chosen = st.multiselect("Candidates", names, key="arms", bind="query-params", placeholder=shown)
    candidates = tuple(each for each in chosen or found[1] if each != baseline)
    if not chosen and (num := _not_opened(scene, len(candidates))):
        st.caption(f"Shown are {len(candidates)} of {num} runs, of the baseline's environment; choose others above.")
    return (baseline, candidates) if candidates else None


def _not_opened(scene: Scene, num_shown: int) -> int:
    """How many runs there are, where more than are shown; else 0."""
    num = int(scene.offered["run_id"].nunique())
    return num if data.filters().run_ids is None and num > num_shown + 1 else 0


def one(scene: Scene, label: str, key: str, default: str | None) -> str | None:
    """Draw the choice of one arm; without a choice it is the default."""
    names = _names(scene, key)
    picked = st.selectbox(label, names, index=None, key=key, bind="query-params", placeholder=default or "choose")
    return picked or default


def _names(scene: Scene, key: str) -> list[str]:
    """The arms as they may be chosen. A link may name one in another way (without a step), or one that is not there."""
    names: list[str] = scene.offered["arm"].tolist()
    asked = st.session_state.get(key) or st.query_params.get_all(key)
    for each in asked if isinstance(asked, list) else [asked]:
        if each not in names:
            why = compare_arms.refused(scene.arms, each, scene.split)
            if why:
                st.warning(plain(f"An arm of the link is not used: {why}"))
            else:
                names.append(each)
    return names


def four(scene: Scene) -> dict[str, str] | None:
    """Draw the pickers of old and new base model, each before and after tuning; None until all four are chosen."""
    likely = several_choices.base_models(scene.offered, data.ask("runs", data.filters()))
    columns = st.container(key="side_by_side_four").columns(2, vertical_alignment="bottom")
    found: dict[str, str | None] = {}
    for place, role in enumerate(ROLES):
        with columns[place // 2]:
            found[role] = one(scene, ROLE_TITLES[role], role, likely.get(role))
    chosen = {role: each for role, each in found.items() if each is not None}
    return chosen if len(chosen) == len(ROLES) else None


def pairing(*, clusters: bool) -> dict[str, Any]:
    """Draw how samples are paired: parameters of every question about arms."""
    with st.popover("Options", width="stretch"):
        leave_out = st.toggle(
            "Leave out failures", key="leave_out", bind="query-params",
            help="Rollouts that ended in an infrastructure or grader error; else they count as they were graded.",
        )  # fmt: skip
        pair_by = st.selectbox(
            "Pair samples by", PAIR_BY, key="pair_by", bind="query-params",
            help="sample_suffix: the id after its last / : or #. position: the order in which samples were read.",
        )  # fmt: skip
        found: dict[str, Any] = {"leave_out_failures": leave_out, "pair_by": pair_by}
        if clusters:
            found["cluster_by"] = st.selectbox(
                "Samples that are alike share", CLUSTER_BY,
                key="cluster_by", bind="query-params", accept_new_options=True,
                help="What makes samples dependent: nothing (sample), their cluster_key (document, repository), their "
                "environment, or a key of their metadata, typed as metadata.KEY. Intervals are then had by cluster.",
            ) or "sample"  # fmt: skip
    return found


def measure(names: list[str], key: str = "measure", label: str = "Measure") -> str:
    """Draw the choice of a measure by its title."""
    return choice(label, {each: TITLES[each] for each in names}, key, width=240)
