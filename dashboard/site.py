"""The site: its pages and groups, titles, and the page of an empty store."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

import streamlit as st

from dashboard import actions, case_study_view, data, parts

HERE: Final = Path(__file__).resolve().parent
ASSETS: Final = HERE / "assets"


@dataclass(frozen=True, slots=True)
class Page:
    """One page: where its file is, its title, and its group in the sidebar."""

    group: str
    title: str
    file: str
    default: bool = False
    visibility: Literal["visible", "hidden"] = "visible"

    @property
    def path(self) -> str:
        """Path as `st.page_link` and `st.navigation` take it: relative to the entry."""
        return f"app_pages/{self.file}"


PAGES: Final = (
    Page("", "Runs", "runs.py", default=True),
    Page("", "Run diff", "run_diff.py"),
    Page("Training", "Reward curves", "reward_curves.py"),
    Page("Training", "Training health", "health.py"),
    Page("Behaviour", "Distributions", "distributions.py"),
    Page("Behaviour", "Long tail", "long_tail.py"),
    Page("Behaviour", "Tail contracts", "tail_contracts.py"),
    Page("Behaviour", "Repeated calls", "repeated_calls.py"),
    Page("Behaviour", "Tool behaviour", "tool_behaviour.py"),
    Page("Compare", "Baseline vs fine-tuned", "compare.py"),
    Page("Compare", "Checkpoints", "checkpoints.py"),
    Page("Diagnose", "Learnability", "learnability.py"),
    Page("Diagnose", "Drift", "drift.py"),
    Page("Diagnose", "Time and money", "time_and_money.py"),
    Page("Diagnose", "Failures", "failures.py"),
    Page("Diagnose", "Attrition", "attrition.py"),
    Page("Diagnose", "Reward integrity", "reward_integrity.py"),
    Page("Diagnose", "Reward parts", "reward_parts.py"),
    Page("Diagnose", "Grader audit", "grader_audit.py"),
    Page("Compare", "Several arms", "several_arms.py"),
    Page("Traces", "Samples", "samples.py"),
    Page("Traces", "Trajectory", "trajectory.py", visibility="hidden"),
    Page("Data", "Ingest health", "ingest_health.py"),
    Page("Data", "Export and share", "export.py"),
)
"""Every page, one line each, in the order of the sidebar."""


def page_title(title: str) -> str:
    """Title of the browser tab, e.g. "Reward curves · zava · Rollout Observatory"."""
    chosen, names = data.filters().run_ids, data.run_names()
    if chosen is None and len(names) == 1:
        chosen = tuple(names)
    if not chosen:
        return f"{title} · Rollout Observatory"
    first = names.get(chosen[0], chosen[0])
    scope = (first if len(first) <= 40 else first[:39] + "…") + (f" +{len(chosen) - 1}" if len(chosen) > 1 else "")
    return f"{title} · {scope} · Rollout Observatory"


def empty_store() -> None:
    """The page of a store that holds nothing yet: what fills it, and the sample data in one click."""
    st.title("Nothing has been read yet")
    parts.verdict(f"The store at {data.store_root()} is empty. Read your own job, or look around in the sample data.")
    own, sample = st.columns(2, gap="large")
    with own:
        st.subheader("Your own job")
        st.code("observatory ingest PATH", language=None)
        st.caption(
            "PATH is a file, a folder or a run directory. `observatory sources` lists the formats that are known."
        )
        st.code("observatory pull openai --job ftjob-…", language=None)
        st.caption("Fetches a fine-tuning job with its events, checkpoints and evaluations.")
    with sample:
        st.subheader("The sample data")
        st.write("A synthetic retrieval agent: a baseline, a training run of about 50 steps, and the fine-tuned model.")
        actions.offer_sample_data()
    case_study_view.offer()
