"""Which run's checkpoints are shown, judged on which split: chosen beside each other and kept in the address."""

from dataclasses import dataclass, replace
from typing import Final

import pandas as pd
import streamlit as st

from dashboard import data
from dashboard.choices import choice
from dashboard.rows import texts
from dashboard.run_words import SPLIT_NAMES
from queries.filters import Filters

_ORDER: Final = ("valid", "test", "production", "train")
"""Splits that may judge checkpoints, the first one by default; train batches only where there is nothing else."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """A run, the split its checkpoints are judged on, and whether whole clusters of samples are drawn."""

    run_id: str
    split: str
    clusters: bool
    filters: Filters

    @property
    def rollouts(self) -> Filters:
        """The rollouts of the run's split that the sidebar leaves."""
        return replace(self.filters, splits=(self.split,))


def choose() -> Chosen | None:
    """Draw the choices; None where no run that the sidebar leaves has scored steps in a named split."""
    found = offered(data.ask("run_overview", data.filters()))
    if found.empty:
        return None
    names = data.run_names()
    left, middle, right = st.columns([3, 2, 2], vertical_alignment="bottom")
    with left:
        runs = texts(found.sort_values("num_steps", ascending=False, kind="stable")["run_id"])
        run_id = choice("Run", {each: names.get(each, each) for each in runs}, "checkpoints_run")
    held = texts(found.loc[found["run_id"] == run_id, "split"])
    with middle:
        titles: dict[str, str] = {each: SPLIT_NAMES.get(each, each) for each in _ORDER if each in held}
        split = choice("Judged on", titles, "checkpoints_split")
    with right:
        clusters = st.toggle(
            "Draw whole clusters", key="checkpoints_clusters", bind="query-params",
            help="Samples of one document or repository are alike. Where samples name their cluster, intervals then "
            "come from clusters and not from samples.",
        )  # fmt: skip
    return Chosen(run_id, split, clusters, data.filters().only(run_id))


def offered(overview: pd.DataFrame) -> pd.DataFrame:
    """The rows of `run_overview` that can be chosen among: scored, with steps, of a split that has a name."""
    kept = (overview["num_steps"] > 0) & (overview["num_scored"] > 0) & overview["split"].isin(_ORDER)
    return overview[kept.astype(bool)]
