"""The published case studies, offered by title: what each shows, a button that reads it, or where its runs are."""

from collections.abc import Collection

import streamlit as st

from dashboard import actions, parts
from dashboard.links import go
from dashboard.sample import CaseStudy, case_studies
from dashboard.words import plural
from ingest.errors import UnrecognisedError


def offer(present: Collection[str] = ()) -> None:
    """List the case studies; one whose runs are all among `present` (ids of the store's runs) is not read again."""
    try:
        listed = case_studies()
    except UnrecognisedError as error:
        st.caption(str(error))
        return
    chosen = None
    with st.expander("Published case studies, as synthetic data", key="case_studies"):
        st.caption(
            "What was published of such jobs, made anew by a seeded script: nothing in them is real, and every run is "
            "tagged synthetic. Reading one adds its runs to this store; `observatory forget RUN` removes one again."
        )
        for each in listed:
            if _row(each, present):
                chosen = each
    if chosen is not None:
        actions.read(chosen.path)


def _row(study: CaseStudy, present: Collection[str]) -> bool:
    """Draw one case study; whether it is to be read now."""
    with st.container(horizontal=True, vertical_alignment="center", gap="medium", key=f"case_study_{study.name}"):
        with st.container(width="stretch", gap=None):
            st.markdown(f"**{parts.plain(study.title)}**")
            st.caption(parts.plain(study.summary))
        if set(study.runs) <= set(present):
            go(f"In this store: {plural(len(study.runs), 'run')}", "", {"run": study.runs})
            return False
        return st.button("Read it", key=f"read_{study.name}", help=f"Adds {plural(len(study.runs), 'run')}.")
