"""The parts of the run diff page: the choice of two runs, the list of settings, and long texts side by side."""

from typing import Any, Literal

import pandas as pd
import streamlit as st

from dashboard import data, parts, run_diff_words
from dashboard.choices import choice
from dashboard.links import go
from dashboard.rows import records
from dashboard.tables import downloads, rows
from ingest.errors import QuestionError
from queries.run_diff import MAX_RUNS, run_ids


def pick() -> tuple[str, str] | None:
    """Draw the choice of two runs; None where there are none. A link may name them by id or by name."""
    known = list(data.run_names())
    if len(known) < 2:
        return None
    opening = _opening(known)
    is_long = any(len(each) > 28 for each in known)
    room = st.container(key="side_by_side_runs" if is_long else "two_runs")
    left, right = room.columns(2, vertical_alignment="bottom")
    with left:
        baseline = _picker("Baseline", "baseline", known, opening[0])
    with right:
        candidate = _picker("Candidate", "candidate", known, opening[1])
    return baseline, candidate


def _opening(known: list[str]) -> tuple[str, str]:
    """The two runs to open with: the first two of the sidebar's, else the baseline and the latest run."""
    chosen = [each for each in data.filters().run_ids or () if each in known]
    if len(chosen) > 1:
        return chosen[0], chosen[1]
    baseline = data.baseline() or known[0]
    candidate = chosen[0] if chosen else next(each for each in reversed(known) if each != baseline)
    return (baseline, candidate) if baseline != candidate else (next(e for e in known if e != candidate), candidate)


def _picker(label: str, key: str, known: list[str], default: str) -> str:
    asked = st.session_state.get(key) or st.query_params.get(key)
    options = list(known)
    if asked and asked not in options:
        try:
            run_ids(data.reading(), [asked])
            options.append(asked)
        except QuestionError as error:
            st.warning(parts.plain(f"The link's {key} is not used: {error}"))
    return st.selectbox(label, options, index=None, key=key, bind="query-params", placeholder=default) or default


def settings(found: pd.DataFrame) -> None:
    """Draw the list of settings, what changed first; the selected one in full below."""
    left, right = st.columns([3, 2], vertical_alignment="bottom")
    with left:
        kind = choice("Show", run_diff_words.TITLES, "section", width=260)
    with right:
        everything = st.toggle("Also what is the same", key="same", bind="query-params")
    shown = run_diff_words.listed(found, kind, changed_only=not everything)
    if shown.empty:
        st.caption("Nothing here differs." if not everything else "Nothing is known here.")
        return
    picked = rows(run_diff_words.table(shown), "run_diff", alt="Settings of both runs, what differs first")
    downloads(shown, "run_diff")
    if picked is None:
        st.caption("Select a row to read both values in full.")
    else:
        in_full(records(shown.iloc[[picked]])[0])


def in_full(row: dict[str, Any]) -> None:
    """Draw both values of a setting: the difference of long texts, short ones as they stand."""
    st.markdown(f"**{parts.plain(str(row['name']))}**")
    before, after = row["baseline_value"], row["candidate_value"]
    if before is not None and after is not None and before != after and run_diff_words.is_long(row):
        st.code(run_diff_words.text_diff(before, after), language=None, wrap_lines=True, height=_height(before, after))
        return
    for label, value in (("Both", before),) if before == after else (("Baseline", before), ("Candidate", after)):
        st.caption(label)
        st.code("(not said)" if value is None else value, language=None, wrap_lines=True, height=_height(value or ""))


def _height(*texts: str) -> int | Literal["content"]:
    return 440 if sum(map(len, texts)) > 4_000 else "content"


def prompts(sides: dict[str, str]) -> None:
    """Draw, folded, which shared samples have another prompt, and how it differs in the selected one."""
    found = data.ask("prompt_differences", **sides)
    with st.expander("Prompts of the samples in both runs", key="prompts"):
        st.caption(parts.plain(run_diff_words.prompts(found)))
        listed = found[found["sample_id"].notna()]
        if listed.empty:
            return
        shown = run_diff_words.table(
            pd.DataFrame(
                {
                    "section": listed["environment"],
                    "name": listed["sample_id"],
                    "baseline_value": listed["baseline_prompt"],
                    "candidate_value": listed["candidate_prompt"],
                    "change": "changed",
                    "difference": None,
                    "ratio": None,
                }
            )
        ).drop(columns="what changed")
        named = shown.rename(columns={"section": "environment", "setting": "sample"})
        picked = rows(named, "prompts", alt="Samples whose prompts differ")
        downloads(listed, "prompt_differences")
        row = listed.iloc[0 if picked is None else picked]
        in_full(
            {
                "name": f"sample {row['sample_id']}",
                "baseline_value": row["baseline_prompt"],
                "candidate_value": row["candidate_prompt"],
            }
        )


def several() -> None:
    """Draw what varies among all runs chosen in the sidebar, where these are more than two."""
    chosen = data.filters().run_ids or ()
    if len(chosen) < 3:
        return
    found = data.ask("varying_settings", runs=chosen[:MAX_RUNS])
    st.subheader("What varies among the chosen runs", anchor=False)
    st.caption(parts.plain(run_diff_words.varying(found, min(len(chosen), MAX_RUNS))))
    if len(found):
        wide = run_diff_words.matrix(found, chosen)
        names = data.run_names()
        headings = {each: st.column_config.TextColumn(names.get(each, each)) for each in chosen}
        rows(wide, "varying_settings", alt="Settings that vary, a column a run", columns=headings, select=False)
        downloads(wide, "varying_settings")


def links(sides: dict[str, str]) -> None:
    """Draw what one does next with two runs."""
    with st.container(horizontal=True, gap="large", key="diff_links"):
        go("Compare how they did", "compare", sides)
        go("Reward curves of both", "reward_curves", {"run": list(sides.values())})
