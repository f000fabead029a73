"""Which points of a plot are selected. They stand in the address, so that a link, and Back, open the same selection.

Knows plots only by their key and points only by their `customdata`; draws nothing.
"""

import json
from collections.abc import Iterable, Sequence
from hashlib import blake2s
from typing import Any, Final

import plotly.graph_objects as go
import streamlit as st

PICK: Final = "pick"
"""URL parameter, once a selected point: `<key of the plot>.<what names the point, hashed>`."""
MAX_IN_ADDRESS: Final = 40
"""A box around more points than this is kept by the session alone, its first ones by the address."""
_NAMING: Final = frozenset(
    (
        *("run_id", "split", "step", "subset", "environment", "status", "tool", "from_tool", "to_tool", "pattern"),
        *("sample_id", "candidate_sample_id", "rollout_id", "quadrant", "grader", "bin_low", "value", "kind"),
        *("step_from", "message_index", "limit", "cause", "place", "slice", "lost_at", "reason", "rule"),
    )
)
"""What names a point. Counts and intervals beside it change with the next ingest, and the same point stays selected."""
_KEPT: Final = "_picked:"


def token(point: dict[str, Any]) -> str:
    """A short name of a point, the same in every session."""
    # A browser knows one kind of number: 3.0 comes back as 3.
    named = {
        name: int(value) if isinstance(value, float) and value.is_integer() else value
        for name, value in point.items()
        if name in _NAMING and value is not None
    }
    return blake2s(json.dumps(named, sort_keys=True, default=str).encode(), digest_size=5).hexdigest()


def points(figure: go.Figure) -> dict[str, dict[str, Any]]:
    """The points of a figure that can be selected, by their name."""
    return {token(each): each for trace in figure.data for each in _customdata(trace)}


def _customdata(trace: Any) -> Iterable[dict[str, Any]]:
    found = trace.customdata
    return () if found is None else (each for each in found if isinstance(each, dict))


def remember(key: str, selected: Sequence[Any], *, in_address: bool) -> None:
    """Keep what was just selected in the plot of that key; nothing selected forgets what was."""
    found = [each["customdata"] for each in selected if isinstance(each.get("customdata"), dict)]
    names = list(dict.fromkeys(token(dict(each)) for each in found))
    st.session_state[_KEPT + key] = names
    if in_address:
        others = [each for each in st.query_params.get_all(PICK) if each.rpartition(".")[0] != key]
        st.query_params[PICK] = [*others, *(f"{key}.{each}" for each in names[:MAX_IN_ADDRESS])]


def selected(key: str, figure: go.Figure, *, in_address: bool) -> list[dict[str, Any]]:
    """The points of a figure that are selected, as the address (or the session) says; what is not drawn is not."""
    kept = st.session_state.get(_KEPT + key, [])
    if in_address:
        pairs = (each.rpartition(".") for each in st.query_params.get_all(PICK))
        named = [name for plot, _, name in pairs if plot == key]
        kept = kept if kept[:MAX_IN_ADDRESS] == named else named
    drawn = points(figure)
    return [drawn[each] for each in kept if each in drawn]


def mark(figure: go.Figure, found: Sequence[dict[str, Any]]) -> None:
    """Draw the selected points as such, also where nobody has clicked in this browser yet."""
    names = {token(each) for each in found}
    for trace in figure.data if names else ():
        data = list(_customdata(trace))
        if data:
            trace.selectedpoints = [number for number, each in enumerate(data) if token(each) in names]
