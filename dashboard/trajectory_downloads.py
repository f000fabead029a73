"""Downloads of a trajectory: texts too long for the page, and the whole rollout. Made when clicked.

What is made then belongs to no run of the page: it holds the store it reads, not the session.
"""

import json
from functools import partial

import pandas as pd
import streamlit as st

from dashboard import data
from dashboard.conversation import MAX_CHARS
from dashboard.words import size
from queries.connection import Reading
from queries.questions import Question
from queries.redaction import redacted, redacted_frame
from queries.trajectory import trajectory_messages, trajectory_scores, trajectory_tool_calls

MAX_LISTED = 50


def long_texts(facts: pd.Series, shown: pd.DataFrame, asked: pd.DataFrame) -> None:
    """Downloads of what is too long to be shown whole."""
    if st.get_option("client.disableDataExport"):
        return
    long = [
        *((f"message #{row['message_index']}", "messages", row["message_index"], row["num_text_bytes"])
          for row in shown.to_dict("records") if _is_cut(row["text"])),
        *((f"output of call #{row['call_index']}", "calls", row["call_index"], row["output_bytes"])
          for row in asked.to_dict("records") if _is_cut(row["output_text"])),
    ]  # fmt: skip
    if long:
        with st.expander(f"Texts cut here, in full ({len(long)})"):
            for label, kind, index, num_bytes in long[:MAX_LISTED]:
                st.download_button(
                    f"{label}, {size(num_bytes)}",
                    partial(_full_text, data.reading(), facts, kind, int(index)),
                    f"{facts['rollout_id']}-{label.replace(' ', '-').replace('#', '')}.txt",
                    key=f"full_{kind}_{index}",
                    on_click="ignore",
                    type="tertiary",
                    icon=":material/download:",
                )


def _is_cut(text: object) -> bool:
    return isinstance(text, str) and len(text) > MAX_CHARS


def _full_text(store: Reading, facts: pd.Series, kind: str, index: int) -> bytes:
    rollout_id, run_id = str(facts["rollout_id"]), str(facts["run_id"])
    if kind == "messages":
        found = trajectory_messages(store, rollout_id=rollout_id, run_id=run_id, first=index, last=index)["text"]
    else:
        calls = trajectory_tool_calls(store, rollout_id=rollout_id, run_id=run_id)
        found = calls.loc[calls["call_index"] == index, "output_text"]
    return redacted(str(found.iloc[0])).encode("utf-8", "replace")


def whole(facts: pd.Series) -> None:
    """The whole rollout as one file."""
    if not st.get_option("client.disableDataExport"):
        st.download_button(
            "This rollout as JSON",
            partial(_as_json, data.reading(), facts),
            f"{facts['rollout_id']}.json",
            "application/json",
            on_click="ignore",
            type="tertiary",
            icon=":material/download:",
        )


def _as_json(store: Reading, facts: pd.Series) -> bytes:
    """Facts, messages, tool calls and scores, whole, one object."""
    asked: dict[str, Question] = {
        "messages": trajectory_messages,
        "tool_calls": trajectory_tool_calls,
        "scores": trajectory_scores,
    }
    held = {name: _records(redacted_frame(question(store, **rollout_named(facts)))) for name, question in asked.items()}
    return json.dumps({"rollout": _records(redacted_frame(facts.to_frame().T))[0], **held}, indent=1).encode()


def _records(frame: pd.DataFrame) -> list[dict[str, object]]:
    found: list[dict[str, object]] = json.loads(frame.to_json(orient="records", date_format="iso", date_unit="us"))
    return found


def rollout_named(facts: pd.Series) -> dict[str, str]:
    """How questions name this rollout: by its id and its run."""
    return {"rollout_id": str(facts["rollout_id"]), "run_id": str(facts["run_id"])}
