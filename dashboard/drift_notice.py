"""On pages that judge a checkpoint: whether what it is judged on is like what it meets in production."""

import streamlit as st

from dashboard import data, drift_words, links, parts


def judged(arm: str, split: str | None, environments: tuple[str, ...] | None) -> None:
    """Warn where the samples an arm is judged on are unlike production; say so where no difference could be shown.

    Nothing where the store holds no production rollouts of the run, its family or its environment.
    """
    found = data.ask("production_drift", arm=arm, split=split, environments=environments)
    text = drift_words.judged(found)
    if not text:
        return
    if drift_words.is_unlike(found):
        parts.warning(text)
        links.go("What differs", "drift", drift_words.address(found))
    else:
        st.caption(parts.plain(text))
