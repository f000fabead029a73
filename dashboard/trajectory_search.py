"""The search over a trajectory: a box that the key s reaches, and the places that hold the text. Asked of the store."""

import pandas as pd
import streamlit as st

from dashboard import data, outline, parts
from dashboard.trajectory_downloads import rollout_named
from dashboard.words import plural, whole

MAX_PLACES = 100
_FOCUS = """
(() => {
  if (window.observatorySearch) return;
  window.observatorySearch = true;
  document.addEventListener('keydown', event => {
    const typing = event.target.closest?.('input, textarea, select, [contenteditable="true"]');
    if (event.key !== 's' || event.ctrlKey || event.metaKey || event.altKey || typing) return;
    const box = document.querySelector('.st-key-find input');
    if (!box) return;
    event.preventDefault();
    box.focus();
    box.select();
    box.scrollIntoView({block: 'center'});
  });
})();
"""
"""One listener a browser tab, with no text of a trace in it."""


def search(facts: pd.Series, shown: tuple[int, int], address: list[tuple[str, str]]) -> None:
    """Draw the box, and what it finds; `shown` are the first and last message on this page."""
    text = st.text_input(
        "Search this trajectory",
        key="find",
        bind="query-params",
        placeholder="Search messages, reasoning, arguments and outputs (key: s)",
        label_visibility="collapsed",
        icon=":material/search:",
        max_chars=200,
    ).strip()
    st.html(f"<script>{_FOCUS}</script>", unsafe_allow_javascript=True)
    if not text:
        return
    found = data.ask("trajectory_search", **rollout_named(facts), text=text, limit=MAX_PLACES)
    st.caption(parts.plain(told(found, text)))
    if len(found):
        st.html(outline.places(found, text, shown, address))


def told(found: pd.DataFrame, text: str) -> str:
    """How often and where a text was found."""
    quoted = f"“{text[:60]}”"
    if found.empty:
        return f"{quoted} is nowhere in this trajectory."
    most = f"the first {whole(MAX_PLACES)} places" if len(found) == MAX_PLACES else plural(len(found), "place")
    return f"{quoted}: {plural(found['num_matches'].sum(), 'match', 'matches')} in {most}."
