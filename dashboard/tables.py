"""Tables and downloads: the same numbers as a plot, and lists of rollouts that open their trajectories."""

import io
import json
from collections.abc import Callable, Mapping
from datetime import UTC
from typing import Any, Final
from urllib.parse import urlencode

import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import streamlit as st
from streamlit.elements.lib.mutable_expander_container import ExpanderContainer

from dashboard import data
from dashboard.cells import Format, fixed, written
from dashboard.markup import element
from dashboard.rows import records
from dashboard.words import NOTHING
from queries.redaction import redacted_frame

FILTERS: Final = ("run", "split", "from", "to", "status", "tool", "environment", "agent", "subset", "snapshot")
"""Parameters that every page shares (see `sidebar.KEYS`)."""
_UNITS = {"s": "s", "usd": "US$", "bytes": "bytes", "rate": "0–1", "share": "0–1", "at": "UTC"}
_KEPT = ("rate", "share")
"""Endings that are part of the name as well as its unit."""
_HEADINGS: Final = {"lost_at": "stage not reached", "num": "number"}
"""Of columns whose name would read as something else."""


def heading(column: str) -> str:
    """A column's name as a heading with its unit: `latency_p95_s` → "latency p95, s", `num_turns` → "turns"."""
    if column in _HEADINGS:
        return _HEADINGS[column]
    *stem, last = column.removeprefix("num_").split("_")
    if not stem or last not in _UNITS:
        return " ".join([*stem, last])
    return f"{' '.join([*stem, last] if last in _KEPT else stem)}, {_UNITS[last]}"


def fold(label: str, key: str) -> ExpanderContainer:
    """A folded part whose state is in the address; what is in it need not be asked for until it is `.open`."""
    return st.expander(label, key=key, bind="query-params")


def table(
    frame: pd.DataFrame | Callable[[], pd.DataFrame],
    name: str,
    *,
    columns: Mapping[str, Any] | None = None,
    formats: Mapping[str, Format] | None = None,
    expanded: bool = False,
    label: str = "Table of the same numbers",
    on_row: Callable[[dict[str, Any]], None] | None = None,
) -> None:
    """Folded: the numbers behind what is shown, with units in the headers and CSV and Parquet to download.

    A frame given as a function is asked for only once the table is open: for what costs time and few look at.
    `columns` overrides the configuration of single columns (`st.column_config`), `formats` how their numbers are
    written (`cells`). `on_row` makes rows selectable: it
    draws what is behind the selected one, given as a dictionary.
    """
    if callable(frame):
        with fold(label, f"table_{name}") as folded:
            if not folded.open:
                return
            frame = frame()
    else:
        folded = st.expander(label, expanded=expanded, key=f"table_{name}")
    with folded:
        row = rows(frame, name, alt=label, columns=columns, formats=formats, select=on_row is not None)
        downloads(frame, name)
        if on_row is not None and row is not None:
            on_row(records(frame.iloc[[row]])[0])
        elif on_row is not None and len(frame):
            st.caption("Select a row to list its rollouts.")


def rows(
    frame: pd.DataFrame,
    name: str,
    *,
    alt: str,
    columns: Mapping[str, Any] | None = None,
    formats: Mapping[str, Format] | None = None,
    select: bool = True,
) -> int | None:
    """Draw a frame with units in its headers; where rows can be selected, the position of the one that is."""
    shown: dict[str, Any] = {
        "hide_index": True,
        "column_config": {each: _column(frame[each]) for each in frame.columns} | dict(columns or {}),
        "placeholder": NOTHING,
        "height": "content" if len(frame) <= 12 else 440,
        "alt": alt,
    }
    drawn = written(frame, formats)
    if not select:
        st.dataframe(drawn, key=f"frame_{name}", **shown)
        return None
    event = st.dataframe(drawn, key=f"rows_{name}", on_select="rerun", selection_mode="single-row", **shown)
    return next((each for each in event.selection.rows if each < len(frame)), None)


def _column(values: "pd.Series[Any]") -> Any:
    """How a column is headed by default: with its unit, times in UTC."""
    name = str(values.name)
    if isinstance(values.dtype, pd.DatetimeTZDtype):
        return st.column_config.DatetimeColumn(heading(name), format="YYYY-MM-DD HH:mm:ss", timezone="UTC")
    return heading(name)


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
    plain = redacted_frame(frame)
    for column, values in frame.items():
        if isinstance(values.dtype, pd.DatetimeTZDtype):
            plain[column] = values.map(_time)
        elif values.dtype == object:
            plain[column] = values.map(_cell)
    held = pa.Table.from_pandas(plain, preserve_index=False)
    sink = io.BytesIO()
    pa.csv.write_csv(held.rename_columns([heading(str(each)) for each in frame.columns]), sink)
    return sink.getvalue()


def _time(value: Any) -> str | None:
    return None if pd.isna(value) else value.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _cell(value: Any) -> Any:
    if isinstance(value, list | tuple | dict):
        return json.dumps(value, ensure_ascii=False, default=str)
    if hasattr(value, "tolist"):
        return json.dumps(value.tolist(), ensure_ascii=False, default=str)
    return None if pd.isna(value) else str(value)


def parquet_bytes(frame: pd.DataFrame) -> bytes:
    """A frame as Parquet, column names as the question gives them."""
    sink = io.BytesIO()
    pa.parquet.write_table(pa.Table.from_pandas(redacted_frame(frame), preserve_index=False), sink, compression="zstd")
    return sink.getvalue()


def trajectory_address(rollout_id: str, run_id: str | None = None, rule: str | None = None) -> str:
    """Address of a rollout's page, relative to any page, with the shared filters: works under a base path too.

    With the rollout's run (`of`) nothing has to be looked for; with a `rule` its form for labels judges that finding.
    """
    pairs = [("rollout", rollout_id)] if run_id is None else [("rollout", rollout_id), ("of", run_id)]
    pairs += [] if rule is None else [("rule", rule)]
    kept = [(key, each) for key in FILTERS for each in st.query_params.get_all(key)]
    return f"trajectory?{urlencode([*pairs, *kept])}"


def rollout_list(frame: pd.DataFrame, key: str, *, rule: str | None = None) -> None:
    """Rollouts as rows that open their trajectories, in the order given.

    The frame has `rollout_id`; of the columns of the question `rollouts` those that help to choose are shown, whatever
    else it has beside them.
    """
    if frame.empty:
        st.caption("No rollouts.")
        return
    runs = frame["run_id"] if "run_id" in frame else [None] * len(frame)
    shown = frame.assign(open=[trajectory_address(*each, rule) for each in zip(frame["rollout_id"], runs, strict=True)])
    if "run_id" in frame:
        shown["run"] = frame["run_id"].map(data.run_names()).fillna(frame["run_id"])
    order = _rollout_columns(shown)
    event = st.dataframe(
        written(shown[order], _ROLLOUT_FORMATS),
        hide_index=True,
        column_config={each: heading(each) for each in order} | {"open": _OPEN},
        key=f"rollouts_{key}",
        on_select="rerun",
        selection_mode="single-row",
        placeholder=NOTHING,
        height="content" if len(shown) <= 12 else 440,
        alt="List of rollouts",
    )
    chosen = [each for each in event.selection.rows if each < len(frame)]
    if not chosen:
        st.caption("Select a row to open its trajectory here, or open it in a new tab.")
        return
    row = frame.iloc[chosen[0]]
    address = trajectory_address(row["rollout_id"], row.get("run_id"), rule)
    # Streamlit's own link leaves an entry of this page with the other's parameters in the browser's history: Back
    # would lose the selection, and the arms of a comparison.
    st.html(element("a", f"→ Open rollout {row['rollout_id']}", href=address, target="_self", class_="go"))


def _rollout_columns(shown: pd.DataFrame) -> list[str]:
    """Columns worth their width: known first, empty ones and what is the same single run left out, the id last."""
    known = [each for each in _ROLLOUT_ORDER if each in shown and shown[each].notna().any()]
    if "run" in known and shown["run"].nunique() == 1:
        known.remove("run")
    added = [each for each in shown.columns if each not in _ROLLOUT_QUESTION and each not in (*known, "run", "open")]
    return ["open", *known, *added, "rollout_id"]


_ROLLOUT_ORDER = (
    "run",
    "sample_id",
    "attempt",
    "split",
    "step",
    "status",
    "reward",
    "num_tool_calls",
    "num_tool_errors",
    "num_exact_repeats",
    "num_turns",
    "output_tokens",
    "latency_s",
)
_ROLLOUT_QUESTION = (
    *_ROLLOUT_ORDER,
    *("run_id", "rollout_id", "passed", "num_near_repeats", "num_wasted_calls", "input_tokens", "reasoning_tokens"),
    *("cost_usd", "subset", "environment", "stop_reason", "error_type", "native_id"),
)
"""Columns of the question `rollouts`: those not in the order above stay hidden."""
_ROLLOUT_FORMATS = {"reward": fixed(3), "latency_s": fixed(1)}
_OPEN = st.column_config.LinkColumn("open", display_text="new tab", width="small")
