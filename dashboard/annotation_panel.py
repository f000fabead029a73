"""What readers said of a rollout, beside its trajectory, and a form to say more."""

from collections.abc import Callable
from functools import partial

import pandas as pd
import streamlit as st

from dashboard import actions, data, parts
from dashboard.annotation_words import LABELS, judged, line
from dashboard.rows import records
from dashboard.trajectory_downloads import rollout_named
from ingest.annotate import Annotation
from ingest.errors import StoreError

_RULE = "annotation_rule"
_AUTHOR = "annotation_author"


def annotations(facts: pd.Series, message: int | None) -> None:
    """The annotations of a rollout, newest first, and the form; `message` is the one the address points to."""
    st.subheader("Labels and notes", anchor=False)
    named = rollout_named(facts)
    found = data.ask("annotations", data.filters().only(named["run_id"]), rollout_id=named["rollout_id"])
    for each in records(found):
        said, gone = st.columns([6, 1], vertical_alignment="top")
        said.markdown(parts.plain(line(each)))
        key = f"retract_{each['annotation_id']}"
        if gone.button("✕", key=key, help="Take this back", type="tertiary"):
            _try(partial(actions.take_back, each["run_id"], each["annotation_id"]))
    if data.pinned() is not None:
        st.caption("A pinned snapshot is looked at: what is said now is seen in the latest one.")
    with st.expander("Say something of this rollout" if found.empty else "Say more"):
        _form(facts, message)


def _form(facts: pd.Series, message: int | None) -> None:
    """Label, rule, text and name; the rule is the one the reader came from, where a finding led here."""
    with st.form("annotation", clear_on_submit=False, border=False):
        label = st.segmented_control("Label", list(LABELS), default="note", format_func=LABELS.__getitem__)
        rule = st.text_input("Finding judged", value=st.query_params.get("rule", ""), key=_RULE, help=judged())
        note = st.text_area("Note", height=80)
        at_message = message is not None and st.checkbox(f"Of message {message} alone")
        author = st.text_input("By", value=actions.reader_name(), key=_AUTHOR)
        if st.form_submit_button("Save"):
            said = Annotation(
                run_id=str(facts["run_id"]),
                rollout_id=str(facts["rollout_id"]),
                label=label or "note",
                author=author,
                note=note,
                rule=rule,
                message_index=message if at_message else None,
            )
            _try(partial(actions.write_annotation, said))


def _try(change: Callable[[], None]) -> None:
    """Make a change, then draw the page anew; where it cannot be made, say why."""
    try:
        change()
    except StoreError as error:
        st.error(parts.plain(str(error)))
        return
    st.rerun()
