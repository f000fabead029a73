"""The views of the page Several arms: each draws its verdict and warnings on top, then its plot, lists and tables."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dashboard import data, parts, several_cautions, several_charts, several_words
from dashboard.charts_curves import Looks
from dashboard.choices import choice
from dashboard.compare_words import TITLES
from dashboard.links import go
from dashboard.rows import records
from dashboard.selection import CLICK, rollouts_behind
from dashboard.several_controls import ROLE_TITLES, Scene, four, measure, pairing, several
from dashboard.words import plural
from queries.compared_samples import COSTS
from queries.filters import Filters
from queries.frontiers import QUALITIES

NO_ARMS: Final = "A comparison needs two arms: two runs, or two steps of one run."
COMMAND: Final = "observatory ingest PATH --run NAME"


def against_baseline(scene: Scene, top: DeltaGenerator) -> None:
    """Several candidates against one baseline."""
    chosen = several(scene)
    if chosen is None:
        parts.empty(NO_ARMS, COMMAND)
        return
    baseline, candidates = chosen
    left, right = st.columns([5, 2], vertical_alignment="bottom")
    with right:
        paired = pairing(clusters=True)
    frame = data.ask("compare_several", baseline=baseline, candidates=candidates, **scene.restriction, **paired)
    with left:
        name = _known_measure(frame)
    if name is None:
        parts.empty("Nothing that is compared here is known of any of these arms.")
        return
    with top:
        parts.verdict(several_words.against_baseline(frame, name))
        _cautions(scene, (baseline, *candidates), paired)
        parts.figures(several_words.figures(frame, name))
    rows = frame[frame["measure"] == name]
    picked = parts.plot(several_charts.deltas(frame, name, _looks()), "several_deltas", rows, select=True)
    rollouts_behind(picked, "several_deltas", CLICK.replace("a point", "an arm"), _filters(scene))
    overview = several_words.overview(frame)
    parts.table(
        overview, "several_overview", label="Every measure: mean, and change where one was shown", expanded=True
    )
    opened = _opens(scene, lambda row: {"baseline": baseline, "candidate": row["arm"]})
    parts.table(rows, "compare_several", label=f"Table of {TITLES[name]}", on_row=opened)
    parts.table(frame, "compare_several_all", label="Table of every measure")


def base_model(scene: Scene, top: DeltaGenerator) -> None:
    """Old and new base model, each before and after fine-tuning."""
    chosen = four(scene)
    if chosen is None or len(set(chosen.values())) < len(ROLE_TITLES):
        parts.empty("Choose four different arms: the old and the new base model, each before and after fine-tuning.")
        return
    left, right = st.columns([5, 2], vertical_alignment="bottom")
    with right:
        paired = pairing(clusters=True)
    frame = data.ask("base_model_change", **chosen, **scene.restriction, **paired)
    with left:
        name = _known_measure(frame)
    with top:
        if name is None:
            parts.verdict("The four arms share no sample of which anything is known, so nothing can be compared.")
        else:
            parts.verdict(several_words.base_model(frame, name))
        _cautions(scene, tuple(chosen.values()), paired)
        if name is not None:
            parts.figures(several_words.base_figures(frame, name, ROLE_TITLES))
    if name is None:
        return
    rows = frame[frame["measure"] == name]
    picked = parts.plot(several_charts.contrasts(frame, name), "several_contrasts", rows, select=True)
    for each in picked:
        sides = _SIDES.get(each["kind"])
        if sides is not None:
            _link({"baseline": chosen[sides[0]], "candidate": chosen[sides[1]]})
    arms = data.ask("arm_facts", arms=tuple(chosen.values()), **scene.restriction, pair_by=paired["pair_by"])
    behind = [records(arms)[place] for place, role in enumerate(chosen) if _is_behind(role, picked)]
    rollouts_behind(
        behind, "several_contrasts", "Click a difference to list the rollouts of its arms.", _filters(scene)
    )
    parts.table(rows, "base_model_change", label=f"Table of {TITLES[name]}")
    parts.table(frame, "base_model_change_all", label="Table of every measure")


_SIDES: Final[Mapping[str, tuple[str, str]]] = {
    "old_gain": ("old_base", "old_tuned"),
    "new_gain": ("new_base", "new_tuned"),
    "base_change": ("old_base", "new_base"),
    "tuned_change": ("old_tuned", "new_tuned"),
    "new_base_for_old_tuned": ("old_tuned", "new_base"),
}
"""The two arms of each contrast; the difference of gains is of all four."""


def _is_behind(role: str, picked: list[dict[str, Any]]) -> bool:
    return any(role in _SIDES.get(each["kind"], tuple(ROLE_TITLES)) for each in picked)


def setting(scene: Scene, top: DeltaGenerator) -> None:
    """A measure along a setting of the runs."""
    filters = data.filters()
    found = data.ask("run_settings", filters)
    if found.empty:
        parts.empty("No run says a setting in which runs differ, or that is a number.")
        return
    first, second, third, more = st.columns([4, 3, 2, 2], vertical_alignment="bottom")
    with first:
        chosen = choice("Setting", {each: each for each in found["setting"]}, "setting")
    with second:
        name = measure(list(TITLES))
    with third:
        log_x = st.toggle("Log scale", key="log_x", bind="query-params")
    with more:
        paired = pairing(clusters=False)
    frame = data.ask("setting_effect", filters, setting=chosen, measure=name, **paired)
    known = frame[frame["value"].notna()]
    if known.empty or known["mean"].isna().all():
        parts.empty(f"Of no run that says {chosen}, {TITLES[name]} is known.")
        return
    with top:
        parts.verdict(several_words.setting(frame, name))
        _cautions(scene, tuple(known["arm"]) if len(known) > 1 else (), paired)
    num = int(frame["num_runs"].iloc[0])
    if num > len(frame):
        st.caption(f"Shown are {len(frame)} of {plural(num, 'run')}; choose runs in the sidebar.")
    figure = several_charts.along(frame, name, _looks(), log_x=log_x)
    picked = parts.plot(figure, "setting_effect", frame, select=True)
    rollouts_behind(picked, "setting_effect", filters=_filters(scene))
    opened = _opens(scene, lambda row: {"baseline": row["reference"] or row["arm"], "candidate": row["arm"]})
    parts.table(
        frame, "setting_effect_table", label="Table of the runs", on_row=opened, expanded=len(frame) <= MAX_OPEN
    )
    parts.table(found, "run_settings", label="Settings there are to choose from")


MAX_OPEN: Final = 6
"""A table of this many rows does not push anything away."""


def frontier(scene: Scene, top: DeltaGenerator) -> None:
    """Quality against cost."""
    chosen = several(scene)
    if chosen is None:
        parts.empty(NO_ARMS, COMMAND)
        return
    first, second, more = st.columns([2, 2, 2], vertical_alignment="bottom")
    with first:
        quality = measure(list(QUALITIES), "quality", "Quality")
    with second:
        cost = measure(list(COSTS), "cost", "Cost")
    with more:
        paired = pairing(clusters=False)
    arms = (chosen[0], *chosen[1])
    frame = data.ask("frontier", arms=arms, quality=quality, cost=cost, **scene.restriction, **paired)
    with top:
        parts.verdict(several_words.frontier(frame))
        _cautions(scene, arms, paired, int(frame["num_samples"].iloc[0]))
    if frame["num_samples"].iloc[0]:
        picked = parts.plot(several_charts.frontier(frame, _looks()), "frontier", frame, select=True)
        rollouts_behind(picked, "frontier", filters=_filters(scene))
    opened = _opens(scene, lambda row: {"baseline": arms[0], "candidate": row["arm"]})
    parts.table(frame, "frontier_table", label="Table of the arms", on_row=opened)


def _cautions(scene: Scene, arms: tuple[str, ...], paired: dict[str, Any], num_shared: int | None = None) -> None:
    if len(arms) > 1:
        facts = data.ask("arm_facts", arms=arms, **scene.restriction, pair_by=paired["pair_by"])
        for each in several_cautions.cautions(facts, num_shared):
            parts.warning(each)


def _known_measure(frame: pd.DataFrame) -> str | None:
    """Draw the choice among the measures that are known; None where none is."""
    known = frame.loc[frame["num_samples"] > 0, "measure"].drop_duplicates().tolist()
    return measure(known) if known else None


def _looks() -> Looks:
    return Looks(data.run_names(), data.baseline())


def _filters(scene: Scene) -> Filters:
    """What a click opens: the rollouts of an arm, in the environments that are compared."""
    return Filters(environments=scene.environments)


def _link(query: Mapping[str, str]) -> None:
    go(f"Compare {query['candidate']} with {query['baseline']}", "compare", query)


def _opens(scene: Scene, query: Callable[[dict[str, Any]], Mapping[str, str]]) -> Callable[[dict[str, Any]], None]:
    """What a row of arms opens: the two-arm comparison, and the rollouts of the arm."""

    def draw(row: dict[str, Any]) -> None:
        sides = query(row)
        if sides["baseline"] != sides["candidate"]:
            _link({**sides, **({} if scene.split is None else {"split": scene.split})})
        rollouts_behind([row], "several_row", filters=_filters(scene))

    return draw
