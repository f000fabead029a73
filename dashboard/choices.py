"""A choice shown in words and kept in the address by its id.

Streamlit's own binding to the address writes what is shown, so that a link would break with every better word.
"""

from collections.abc import Mapping
from typing import Any, Final, Literal

import streamlit as st

_SEEN: Final = "_seen_in_address:"


def choice(
    label: str,
    titles: Mapping[str, str],
    key: str,
    *,
    kind: Literal["list", "buttons"] = "list",
    **options: Any,
) -> str:
    """Draw a choice among ids, each shown by its title; the first one is the default and stands in no address."""
    default = next(iter(titles))
    asked = st.query_params.get(key, default)
    if asked != st.session_state.get(_SEEN + key) and asked in titles:
        st.session_state[key] = asked
    if st.session_state.get(key) not in titles:
        st.session_state[key] = default
    shown = {"format_func": titles.__getitem__, "key": key, "on_change": _write, "args": (key, default), **options}
    if kind == "list":
        st.selectbox(label, list(titles), **shown)
    else:
        st.segmented_control(label, list(titles), required=True, **shown)
    _write(key, default)
    return str(st.session_state[key])


def _write(key: str, default: str) -> None:
    chosen = st.session_state[key]
    if chosen == default:
        st.query_params.pop(key, None)
    elif st.query_params.get(key) != chosen:
        st.query_params[key] = chosen
    st.session_state[_SEEN + key] = chosen
