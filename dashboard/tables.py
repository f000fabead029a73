"""Tables and downloads: the same numbers as a plot, and lists of rollouts that open their trajectories."""

import io
import json
from collections.abc import Mapping
from datetime import UTC
from typing import Any, Final
from urllib.parse import urlencode

import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import streamlit as st

TRAJECTORY: Final = "app_pages/trajectory.py"
"""Page of one rollout, opened with `?rollout=<rollout_id>`."""
_UNITS = {
    "_s": "s",
    "_tokens": "tokens",
    "_usd": "US$",
    "_bytes": "bytes",
    "_rate": "0–1",
    "_share": "0–1",
    "_at": "UTC",
}


def heading(column: str) -> str:
    """A column's name as a heading with its unit: `latency_p95_s` → "latency p95, s"."""
    stem = column.removeprefix("num_")
    for ending, unit in _UNITS.items():
        body, found, rest = column.partition(ending)
        if found and rest in ("", "_mean", "_p50", "_p95", "_sd"):
            if ending == "_tokens":
                return f"{body} tokens{rest}, tokens".replace("_", " ")
            return f"{body if ending in ('_s', '_usd', '_bytes', '_at') else body + ending}{rest}, {unit}".replace(
                "_", " "
            )
    return stem.replace("_", " ")


def table(
    frame: pd.DataFrame,
    name: str,
    *,
    columns: Mapping[str, Any] | None = None,
    expanded: bool = False,
    label: str = "Table of the same numbers",
) -> None:
    """Folded: the numbers behind what is shown, with units in the headers and CSV and Parquet to download.

    `columns` overrides the configuration of single columns (`st.column_config`).
    """
    with st.expander(label, expanded=expanded, key=f"table_{name}"):
        configured = {each: heading(each) for each in frame.columns} | dict(columns or {})
        st.dataframe(frame, hide_index=True, column_config=configured, key=f"frame_{name}", alt=label)
        downloads(frame, name)


def downloads(frame: pd.DataFrame, name: str) -> None:
    """Buttons that make a CSV or Parquet file of a frame when clicked."""
    if st.get_option("client.disableDataExport"):
        return
    with st.container(horizontal=True):
        csv_button(frame, name)
        st.download_button(
            "Parquet",
            lambda: parquet_bytes(frame),
            f"{name}.parquet",
            "application/vnd.apache.parquet",
            key=f"parquet_{name}",
            on_click="ignore",
            type="tertiary",
            icon=":material/download:",
        )


def csv_button(frame: pd.DataFrame, name: str) -> None:
    """A button that makes a CSV file of a frame when clicked."""
    if not st.get_option("client.disableDataExport"):
        st.download_button(
            "CSV",
            lambda: csv_bytes(frame),
            f"{name}.csv",
            "text/csv",
            key=f"csv_{name}",
            on_click="ignore",
            type="tertiary",
            icon=":material/download:",
        )


def csv_bytes(frame: pd.DataFrame) -> bytes:
    """A frame as CSV: units in the headers, times as ISO 8601 in UTC, lists as JSON, NULL as nothing."""
    plain = frame.rename(columns={each: heading(each) for each in frame.columns})
    for position, column in enumerate(plain.columns):
        values = plain.iloc[:, position]
        if isinstance(values.dtype, pd.DatetimeTZDtype):
            plain[column] = values.map(
                lambda each: None if pd.isna(each) else each.astimezone(UTC).isoformat().replace("+00:00", "Z")
            )
        elif values.dtype == object:
            plain[column] = values.map(_cell)
    sink = io.BytesIO()
    pa.csv.write_csv(pa.Table.from_pandas(plain, preserve_index=False), sink)
    return sink.getvalue()


def _cell(value: Any) -> Any:
    if isinstance(value, list | tuple | dict):
        return json.dumps(value, ensure_ascii=False, default=str)
    if hasattr(value, "tolist"):
        return json.dumps(value.tolist(), ensure_ascii=False, default=str)
    return None if pd.isna(value) else str(value)


def parquet_bytes(frame: pd.DataFrame) -> bytes:
    """A frame as Parquet, column names as the question gives them."""
    sink = io.BytesIO()
    pa.parquet.write_table(pa.Table.from_pandas(frame, preserve_index=False), sink, compression="zstd")
    return sink.getvalue()


def trajectory_address(rollout_id: str) -> str:
    """Address of a rollout's page, relative to any page: works under a base path too."""
    return f"trajectory?{urlencode({'rollout': rollout_id})}"


def rollout_list(frame: pd.DataFrame, key: str) -> None:
    """Rollouts as rows that open their trajectories. The frame has `rollout_id` and whatever columns shall be shown."""
    if frame.empty:
        st.caption("No rollouts.")
        return
    shown = frame.assign(open=[trajectory_address(each) for each in frame["rollout_id"]])
    order = ["open", *(each for each in frame.columns if each != "rollout_id"), "rollout_id"]
    configured: dict[str, Any] = {each: heading(each) for each in frame.columns}
    configured["open"] = st.column_config.LinkColumn("open", display_text="new tab", width="small")
    event = st.dataframe(
        shown,
        hide_index=True,
        column_order=order,
        column_config=configured,
        key=f"rollouts_{key}",
        on_select="rerun",
        selection_mode="single-row",
        alt="List of rollouts",
    )
    chosen = event.selection.rows
    if chosen:
        row = frame.iloc[chosen[0]]
        st.page_link(
            TRAJECTORY,
            label=f"Open rollout {row['rollout_id']}",
            icon=":material/arrow_forward:",
            query_params={"rollout": row["rollout_id"]},
        )
    else:
        st.caption("Select a row to open its trajectory.")
