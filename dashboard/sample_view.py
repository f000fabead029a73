"""Draws the Samples page: which run, split and measure; the heatmap; one sample; the list. The sample is in the URL."""

from dataclasses import replace
from typing import Any

import pandas as pd
import streamlit as st

from dashboard import data, outline, parts, sample_charts, sample_words
from dashboard.cells import change, fixed, written
from dashboard.charts_curves import Looks
from dashboard.conversation import folded
from dashboard.markup import element
from dashboard.styles import trajectory
from dashboard.tables import heading
from dashboard.words import NOTHING
from queries.filters import Filters

PAGE = 50
_SPLITS = ("valid", "test", "train", "production")
_PICKED = "_sample_picked"
MAX_ATTEMPTS = 2_000


def scope() -> tuple[Filters, str, str] | None:
    """What the heatmap shows: filters, measure, and run and split in words; None where nothing has steps."""
    found = data.ask("run_overview", data.filters())
    steps = found[found["num_steps"] > 0]
    if steps.empty:
        return None
    names = data.run_names()
    left, middle, right = st.columns([2, 1, 1])
    with left:
        run_ids = list(steps.sort_values("num_steps", ascending=False)["run_id"].unique())
        run_id = st.selectbox("Run", run_ids, key="heatmap_run", bind="query-params")
    held = set(steps.loc[steps["run_id"] == run_id, "split"])
    splits = [each for each in _SPLITS if each in held]
    with middle:
        split = st.selectbox("Split", splits, key="heatmap_split", bind="query-params") if splits else None
    with right:
        measure = st.selectbox("Colour", list(sample_charts.MEASURES), key="heatmap_measure", bind="query-params")
    filters = replace(data.filters().only(run_id), splits=None if split is None else (split,))
    return filters, str(measure), f"{names.get(run_id, run_id)[:60]}{'' if split is None else ', ' + split}"


def heatmap(cells: pd.DataFrame, measure: str) -> None:
    """The heatmap; a click opens the sample below."""
    alt = f"Heatmap of {sample_charts.MEASURES[measure]} by sample and step"
    drawn = sample_charts.heatmap(cells, measure)
    picked = parts.plot(drawn, "sample_heatmap", cells, select=True, in_address=False, alt=alt)
    _open(None if not picked else (picked[0]["sample_id"], picked[0].get("environment")), "heatmap")
    st.caption("Click a cell to open its sample below.")


def samples(filters: Filters, page: int = 1, sort: str = "reward") -> pd.DataFrame:
    """One page of the samples that the filters leave. The first by reward also says how many there are, if any."""
    return data.ask("samples", filters, sort=sort, limit=PAGE, offset=(page - 1) * PAGE)


def listing(filters: Filters, scope: str | None) -> None:
    """The samples that filters leave, a page at a time; a row opens its sample. `scope`: run and split in words."""
    st.subheader(parts.plain(f"Samples of {scope}") if scope else "All samples", anchor=False)
    if scope and len(data.run_names()) > 1:
        st.caption("Of the run and split chosen above. Runs without steps are listed once the sidebar names them.")
    left, right = st.columns([1, 2], vertical_alignment="bottom")
    sort = left.selectbox(
        "Order", list(sample_words.SORT_LABELS), format_func=sample_words.SORT_LABELS.__getitem__, key="sample_sort"
    )
    total = int(samples(filters)["num_all"].max())
    with right:
        page = st.pagination(-(-total // PAGE), key=f"sample_page_{total}") if total > PAGE else 1
    found = samples(filters, page, sort)
    shown = found.assign(tags=found["tags"].map(sample_words.tags))
    event = st.dataframe(
        written(shown[_columns(shown)], _FORMATS),
        hide_index=True,
        column_config={each: heading(each) for each in shown.columns} | _WIDTHS,
        key=f"samples_{sort}_{page}",
        on_select="rerun",
        selection_mode="single-row",
        placeholder=NOTHING,
        alt="Samples",
    )
    rows = [each for each in event.selection.rows if each < len(found)]
    _open(None if not rows else (found.iloc[rows[0]]["sample_id"], found.iloc[rows[0]]["environment"]), "list")


def _columns(shown: pd.DataFrame) -> list[str]:
    """Prompts first, or ids where all prompts begin alike and tell nothing apart; what says nothing is left out."""
    idle = {name for name in ("environment", "tags") if not shown[name].replace("", pd.NA).notna().any()}
    idle |= {"num_runs"} if shown["num_runs"].max() < 2 else set()
    known = [each for each in _COLUMNS if each not in idle]
    if len(shown) > 1 and shown["prompt"].nunique() <= 1:
        return ["sample_id", *(each for each in known if each not in ("sample_id", "prompt"))]
    return known


def _open(picked: tuple[str, str | None] | None, source: str) -> None:
    """Put a newly picked sample into the address; an old pick does not come back over a newer one."""
    if picked is not None and st.session_state.get(_PICKED + source) != picked:
        st.session_state[_PICKED + source] = picked
        st.query_params["sample"] = str(picked[0])
        if picked[1] is None or pd.isna(picked[1]):
            st.query_params.pop("sample_in", None)
        else:
            st.query_params["sample_in"] = str(picked[1])
        st.rerun()


def one(sample_id: str, environment: str | None) -> None:
    """One sample: its prompt, every attempt over steps, and the list that opens trajectories."""
    attempts = data.ask(
        "sample_attempts", data.filters(), sample_id=sample_id, environment=environment, limit=MAX_ATTEMPTS
    )
    st.subheader(parts.plain(f"Sample {sample_id[:80]}"), anchor=False)
    facts = data.ask("sample_facts", sample_id=sample_id, environment=environment)
    if attempts.empty:
        parts.empty("No attempt at this sample is left by the filters, or this store does not hold it.")
        return
    names = data.run_names()
    st.markdown(parts.plain(sample_words.sample_verdict(attempts, names)))
    _about(facts)
    by = st.segmented_control(
        "Height", ["reward", "tool calls"], default="reward", required=True, key="strip_measure", bind="query-params"
    )
    drawn = sample_charts.attempts_strip(attempts, str(by), names, Looks(names, data.baseline()))
    picked = parts.plot(drawn, "sample_attempts", attempts, select=True, alt=f"Attempts at the sample: {by} by step")
    ids = {each["rollout_id"] for each in picked}
    chosen = attempts[attempts["rollout_id"].isin(ids)] if ids else attempts
    parts.rollout_list(chosen.drop(columns="environment"), "sample")
    parts.table(attempts, "sample_attempts_all")


def _about(facts: pd.DataFrame) -> None:
    if facts.empty:
        return
    first = facts.iloc[0]
    prompt = folded(first["prompt_text"], first["num_prompt_bytes"])
    reference = folded(first["reference"], None)
    with st.expander("Prompt and reference", expanded=False):
        st.html(f"<style>{trajectory(data.theme())}</style>")
        known = (("prompt", "user", prompt), ("reference", "system", reference))
        told = [
            element("article", element("header", element("strong", label)), text, class_=f"message {role}")
            for label, role, text in known
            if text is not None
        ]
        st.html(element("section", outline.facts(sample_words.about(facts)), *told, class_="talk"))


_WIDTHS: dict[str, Any] = {"prompt": st.column_config.TextColumn("prompt", width="large")}
_FORMATS = {
    **dict.fromkeys(("reward_mean", "reward_sd", "reward_first", "reward_last"), fixed(3)),
    "reward_change": change,
    "tool_calls_mean": fixed(2),
}
_COLUMNS = (
    *("prompt", "num_rollouts", "reward_mean", "reward_change", "reward_first", "reward_last", "reward_sd"),
    *("tool_calls_mean", "num_runs", "first_step", "last_step", "environment", "tags", "sample_id"),
)
