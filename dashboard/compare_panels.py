"""Panels of the comparison page below its plot: regressions and wins, slices, what may be claimed, and power."""

from collections.abc import Iterator
from typing import Any, Final

import pandas as pd
import streamlit as st

from dashboard import claim_words, compare_forest, compare_words, data, parts, tables
from dashboard.cells import fixed
from dashboard.choices import choice
from dashboard.compare_controls import Chosen, side_filters
from dashboard.compare_view import both_sides
from dashboard.rows import records
from queries.compared import REPEATED

LISTED: Final = 10
"""Regressions and wins that are listed, each."""


def changes(samples: pd.DataFrame, cost: str, failures: pd.DataFrame) -> None:
    """List the largest regressions beside the largest wins, with a link to both arms' trajectories of each."""
    if not samples["reward_delta"].notna().any():
        return
    st.subheader("Regressions and wins", anchor=False)
    st.caption(parts.plain(claim_words.changed(samples)))
    down = samples[samples["reward_delta"] < 0].nsmallest(LISTED, "reward_delta")
    up = samples[samples["reward_delta"] > 0].nlargest(LISTED, "reward_delta")
    links = _links(pd.concat([down, up]), failures)
    picked: list[dict[str, Any]] = []
    with st.container(key="side_by_side_changes"):
        for column, name, rows in zip(st.columns(2, gap="medium"), ("regressions", "wins"), (down, up), strict=True):
            with column:
                st.markdown(f"**Largest {name}**")
                picked += _listed(rows.join(links), cost, name)
    if picked:
        both_sides(picked, failures, "changes")


def _listed(rows: pd.DataFrame, cost: str, name: str) -> list[dict[str, Any]]:
    if rows.empty:
        st.caption(f"There are no {name}.")
        return []
    beyond = rows["p_value_bh"] <= claim_words.BEYOND_CHANCE
    shown = pd.DataFrame(
        {
            "sample": rows["sample_id"],
            "before": rows["reward_baseline_mean"],
            "after": rows["reward_candidate_mean"],
            "Δ reward": rows["reward_delta"],
            f"Δ {compare_words.TITLES[cost]}": rows[f"{cost}_delta"],
            **({"beyond luck": beyond.map({True: "yes", False: None})} if beyond.any() else {}),
            "baseline": rows["baseline_link"],
            "candidate": rows["candidate_link"],
        }
    )
    open_it = {each: st.column_config.LinkColumn(each, display_text="open", width="small") for each in _LINKS}
    formats = {"before": fixed(2), "after": fixed(2), "Δ reward": fixed(2), f"Δ {compare_words.TITLES[cost]}": fixed(1)}
    row = tables.rows(shown, f"compare_{name}", alt=f"Largest {name}", columns=_AS_IS | open_it, formats=formats)
    return [] if row is None else records(rows.iloc[[row]])


_LINKS: Final = ("baseline", "candidate")
_AS_IS: Final = {name: st.column_config.Column(name) for name in ("sample", "before", "after", "Δ reward")}


def _links(samples: pd.DataFrame, failures: pd.DataFrame) -> pd.DataFrame:
    """Address of a typical rollout of each sample in both arms: its reward is the nearest to the sample's mean."""
    found = pd.DataFrame(index=samples.index)
    for _, arm in failures.iterrows():
        column = "sample_id" if arm["arm"] == "baseline" else "candidate_sample_id"
        ids = tuple(dict.fromkeys(samples[column].dropna().astype(str)))
        rollouts = data.ask("rollouts", side_filters(arm), sample_ids=ids)
        means = rollouts.groupby("sample_id")["reward"].transform("mean")
        nearest = rollouts.assign(far=(rollouts["reward"] - means).abs()).sort_values("far", kind="stable")
        first = nearest.drop_duplicates("sample_id").set_index("sample_id")["rollout_id"]
        address = first.map(lambda each, run=arm["run_id"]: tables.trajectory_address(each, run))
        found[f"{arm['arm']}_link"] = samples[column].map(address)
    return found


def folded(chosen: Chosen, claims: pd.DataFrame, measures: pd.DataFrame) -> None:
    """Folded: what may be claimed, every measure's relative change, and how much could be seen."""
    with st.expander("What may be claimed", key="claims"):
        tables.rows(claim_words.claim_table(claims), "compare_claims", alt="What may be claimed", select=False)
        tables.downloads(claims, "compare_claims")
    with st.expander("Every measure, as a change in percent", key="relative"):
        parts.plot(compare_forest.relative(measures), "compare_relative", measures)
    with st.expander("How small a difference could be seen", key="power"):
        titles = {each: compare_words.TITLES[each] for each in _known(measures)}
        measure = choice("Measure", titles, "power_of", width=260)
        frame = data.ask("compare_power", **chosen.paired, cluster_by=chosen.cluster_by, measure=measure)
        st.markdown(parts.plain(claim_words.power(frame, measure)))
        tables.rows(frame, "compare_power", alt="Power by attempts", select=False)
        tables.downloads(frame, "compare_power")


def _known(measures: pd.DataFrame) -> Iterator[str]:
    known = measures.loc[measures["num_paired"] > 0, "measure"]
    yield from (each for each in REPEATED if each in set(known))


def by_slice(slices: pd.DataFrame, samples: pd.DataFrame, failures: pd.DataFrame) -> None:
    """Folded: the difference by environment, tag, difficulty and cluster; a slice opens its samples' rollouts."""
    if slices.empty:
        return
    with st.expander("Where it differs: by environment, tag, difficulty and cluster", key="slices"):
        st.markdown(parts.plain(claim_words.worst_slice(slices)))
        picked = parts.plot(compare_forest.slices(slices), "compare_slices", slices, select=True)
        tables.rows(slices, "compare_slices", alt="Slices", select=False)
        tables.downloads(slices, "compare_slices_table")
        inside = [claim_words.in_slice(samples, str(each["by"]), str(each["slice"])) for each in picked]
        if inside:
            chosen = pd.concat(inside).drop_duplicates("sample_id").head(compare_words.MAX_PICKED)
            both_sides(records(chosen), failures, "slice")
        else:
            st.caption("Click a slice to read both sides' rollouts of its samples.")
