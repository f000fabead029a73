"""From what is selected in a plot to the rollouts behind it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import pandas as pd
import streamlit as st

from dashboard import data
from dashboard.parts import rollout_list
from dashboard.words import plural
from queries.filters import Filters

CLICK: Final = "Click a point to list its rollouts."
MAX_POINTS: Final = 8
MAX_ROLLOUTS: Final = 200
_FIELDS: Final = {
    "run_id": "run_ids",
    "split": "splits",
    "status": "statuses",
    "tool": "tools",
    "environment": "environments",
    "agent": "agents",
}


def narrowed(filters: Filters, point: Mapping[str, Any]) -> Filters:
    """The filters of a page, restricted to what one point stands for; what the point does not say stays as it was."""
    values: dict[str, Any] = {
        field: (str(point[name]),) for name, field in _FIELDS.items() if point.get(name) is not None
    }
    if point.get("step") is not None:
        values |= {"step_from": int(point["step"]), "step_to": int(point["step"])}
    if point.get("subset") == "effective":
        values["subset"] = "effective"
    return replace(filters, **values)


def rollouts_behind(
    points: Sequence[Mapping[str, Any]], key: str, hint: str = CLICK, filters: Filters | None = None
) -> None:
    """The list of the rollouts behind the selected points; how to get one where nothing is selected.

    `filters` are those of the page, where they are not the sidebar's.
    """
    if not points:
        st.caption(hint)
        return
    filters = data.filters() if filters is None else filters
    frames = [data.ask("rollouts", narrowed(filters, each), limit=MAX_ROLLOUTS) for each in points[:MAX_POINTS]]
    found = pd.concat(frames, ignore_index=True).drop_duplicates("rollout_id")
    st.caption(f"{plural(len(found), 'rollout')} behind the selection" + _cut(points, frames))
    rollout_list(found.drop(columns=["subset", "native_id"]), key)


def opening(key: str, filters: Filters | None = None) -> Callable[[dict[str, Any]], None]:
    """What a row of a table opens: the list of the rollouts it stands for."""
    return lambda row: rollouts_behind([row], f"{key}_row", filters=filters)


def _cut(points: Sequence[Mapping[str, Any]], frames: Sequence[pd.DataFrame]) -> str:
    if len(points) > MAX_POINTS:
        return f"; of the first {MAX_POINTS} of {len(points)} points."
    if any(len(each) == MAX_ROLLOUTS for each in frames):
        return f"; at most {MAX_ROLLOUTS} a point are listed."
    return "."
