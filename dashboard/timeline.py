"""When things happened in a rollout: one bar a model call or tool call, parallel calls under one another.

Frames in, a figure or the reason for its absence out.
"""

from typing import Any, Final

import pandas as pd
import plotly.graph_objects as go

from dashboard.charts import BAD, figure, shown
from dashboard.words import seconds

MODEL: Final = "#8A93A0"
TOOL: Final = "#7A5FA8"
"""Not the colour of any run."""
MAX_BARS: Final = 2_000
_LANE: Final = 22


def bars(messages: pd.DataFrame, calls: pd.DataFrame, began: pd.Timestamp | None = None) -> pd.DataFrame:
    """One row per assistant message and tool call whose time is known, ordered by start: where its bar lies.

    A missing start or end is taken from the other one and the duration. Seconds count from `began`, the start of the
    rollout, or from the first bar where that is unknown or later.
    Columns: who (`model` or `tools`), lane (0 = first), label, start_s, length_s (seconds), is_error, message_index.
    """
    said = messages[messages["role"] == "assistant"]
    model = _spans(said, "model", [f"message #{each}" for each in said["message_index"]])
    names = zip(calls["call_index"], calls["tool"], strict=True)
    tools = _spans(calls, "tools", [f"#{index} {shown(str(tool))}" for index, tool in names])
    found = pd.concat([model, tools.assign(is_error=calls["is_error"].to_numpy(bool))], ignore_index=True)
    found = found[found["start"].notna() & found["end"].notna() & (found["end"] >= found["start"])]
    found = found.sort_values(["start", "who", "label"], kind="stable").head(MAX_BARS)
    origin = found["start"].min() if began is None or pd.isna(began) else min(began, found["start"].min())
    found["start_s"] = (found["start"] - origin).dt.total_seconds()
    found["length_s"] = (found["end"] - found["start"]).dt.total_seconds()
    found["lane"] = 0
    for _, group in found.groupby("who"):
        found.loc[group.index, "lane"] = _lanes(group)
    return found[["who", "lane", "label", "start_s", "length_s", "is_error", "message_index"]].reset_index(drop=True)


def _spans(rows: pd.DataFrame, who: str, labels: list[str]) -> pd.DataFrame:
    rows = rows.reset_index(drop=True)
    started, ended = (pd.to_datetime(rows[each], utc=True) for each in ("started_at", "ended_at"))
    lasting = pd.to_timedelta(rows["latency_s"].astype(float), unit="s")
    return pd.DataFrame(
        {
            "who": who,
            "label": labels,
            "start": started.fillna(ended - lasting),
            "end": ended.fillna(started + lasting),
            "is_error": False,
            "message_index": rows["message_index"],
        }
    )


def _lanes(group: pd.DataFrame) -> list[int]:
    """The first lane that is free when each bar begins."""
    free_from: list[float] = []
    lanes = []
    for start, length in zip(group["start_s"], group["length_s"], strict=True):
        lane = next((number for number, free in enumerate(free_from) if free <= start), len(free_from))
        free_from[lane : lane + 1] = [start + length]
        lanes.append(lane)
    return lanes


def absence(messages: pd.DataFrame, calls: pd.DataFrame) -> str:
    """Why there is no timeline."""
    if calls["latency_s"].notna().any() or messages["latency_s"].notna().any():
        return "No timeline: the source says how long things took, but not when they began."
    return "No timeline: the source recorded no times."


def timeline(found: pd.DataFrame) -> go.Figure:
    """Bars over seconds since the first start; a click hands back the message they belong to."""
    widths = {who: int(found.loc[found["who"] == who, "lane"].max()) + 1 for who in found["who"].unique()}
    order = [who for who in ("model", "tools") if who in widths]
    base = dict(zip(order, (0, widths.get("model", 0)), strict=False))
    lanes = sum(widths.values())
    drawn = figure("seconds since it began", "", height=min(110 + _LANE * lanes, 440))
    for who, colour in (("model", MODEL), ("tools", TOOL)):
        for is_error in (False, True):
            part = found[(found["who"] == who) & (found["is_error"] == is_error)]
            if len(part):
                drawn.add_trace(_trace(part, base[who], BAD if is_error else colour, _name(who, is_error=is_error)))
    ticks = [base[who] + (widths[who] - 1) / 2 for who in order]
    drawn.update_yaxes(tickvals=ticks, ticktext=order, range=[lanes - 0.4, -0.6], showgrid=False, title_text=None)
    drawn.update_xaxes(rangemode="tozero", title_standoff=18)
    drawn.update_layout(barmode="overlay", bargap=0.2, showlegend=True)
    return drawn


def _name(who: str, *, is_error: bool) -> str:
    return "failed call" if is_error else {"model": "model", "tools": "tool call"}[who]


def _trace(part: pd.DataFrame, base: int, colour: str, name: str) -> go.Bar:
    data: list[dict[str, Any]] = [
        {"message_index": None if pd.isna(index) else int(index)} for index in part["message_index"]
    ]
    return go.Bar(
        x=part["length_s"].to_numpy(float),
        base=part["start_s"].to_numpy(float),
        y=(part["lane"] + base).to_numpy(float),
        orientation="h",
        width=0.72,
        name=name,
        marker={"color": colour, "line": {"width": 1, "color": colour}},
        customdata=data,
        text=[f"{label}<br>{seconds(length)}" for label, length in zip(part["label"], part["length_s"], strict=True)],
        textposition="none",
        hovertemplate="%{text}<extra></extra>",
    )
