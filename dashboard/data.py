"""What the pages know of the store: where it is, which snapshot is in force, and cached answers to questions.

The only module of the dashboard that opens the store. Answers are cached by snapshot, so a new ingest is seen at the
next run of the page and an old answer is never shown for it.
"""

import os
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import pandas as pd
import streamlit as st
from streamlit.runtime.scriptrunner import add_script_run_ctx, get_script_run_ctx

from dashboard.words import shortened
from ingest.catalog import CATALOG_FILE
from ingest.errors import ObservatoryError
from queries.asking import question as named
from queries.connection import Reading, at_once, open_store
from queries.filters import EVERYTHING, Filters

SNAPSHOT = "snapshot"
"""URL parameter that pins a snapshot."""
_STAMP = "_stamp"
_FILTERS = "_filters"
_RELEASED = "_released_snapshot"


def store_root() -> Path:
    """Folder of the store: OBSERVATORY_STORE, else ./data."""
    return Path(os.environ.get("OBSERVATORY_STORE") or "data").expanduser().resolve()


def start_run() -> None:
    """Look at the catalog once per run of a page, so that everything on it comes from one snapshot."""
    st.session_state[_STAMP] = _stamp(store_root())


def _stamp(root: Path) -> tuple[int, ...]:
    try:
        found = (root / CATALOG_FILE).stat()
    except OSError:
        return ()
    return found.st_mtime_ns, found.st_size, found.st_ino


def is_newer() -> bool:
    """Whether the store has been published again since this page was drawn."""
    return pinned() is None and _stamp(store_root()) != st.session_state.get(_STAMP)


def pinned() -> int | None:
    """The snapshot the address (or the sidebar) pins, None for the latest."""
    if SNAPSHOT in st.session_state:
        value = st.session_state[SNAPSHOT]
    else:
        text = st.query_params.get(SNAPSHOT, "")
        value = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None
    return None if value is None or value == st.session_state.get(_RELEASED) else int(value)


def release() -> None:
    """Return to the latest snapshot.

    The pin is remembered as released, not only removed: the widget bound to the address reads it from there once more.
    """
    st.session_state[_RELEASED] = pinned()
    st.session_state[SNAPSHOT] = None
    st.query_params.pop(SNAPSHOT, None)


def reading() -> Reading:
    """The store and snapshot in force.

    Raises:
        StoreEmptyError: Nothing has been ingested yet.
        SnapshotError: The pinned snapshot is gone.
        StoreError: The store is damaged.
    """
    root = store_root()
    stamp = st.session_state.get(_STAMP) or _stamp(root)
    return _open(str(root), stamp, pinned())


@st.cache_resource(max_entries=8, show_spinner=False)
def _open(root: str, stamp: tuple[int, ...], snapshot_id: int | None) -> Reading:
    return open_store(Path(root), snapshot_id)


def ask(question: str | Callable[..., pd.DataFrame], *args: Any, **parameters: Any) -> pd.DataFrame:
    """The answer to a question, given by name or as its function; cached by store, snapshot, rules and parameters.

    Raises:
        QuestionError: There is no such question, or the parameters do not fit.
        StoreError: The store cannot be read.
    """
    name = question if isinstance(question, str) else question.__name__
    store = reading()
    kept = str(store.root), store.snapshot_id, _rules(store.root)
    return _answer(store, kept, name, args, tuple(sorted(parameters.items())))


def ask_ahead(about: Filters, *questions: str) -> None:
    """Answer several questions about the same filters at the same time, for `ask` to find: one leaves cores idle.

    A question that cannot be answered is left for `ask` to say so.
    """
    context = get_script_run_ctx()

    def answered(name: str) -> None:
        add_script_run_ctx(ctx=context)
        with suppress(ObservatoryError):
            ask(name, about)

    at_once(answered, questions)


def _rules(root: Path) -> tuple[tuple[str, int, int], ...]:
    """What changes when the rules and limits in the store's folder do: they change answers, but make no snapshot."""
    try:
        found = ((each.name, each.stat()) for each in sorted(root.glob("*.toml")))
        return tuple((name, stat.st_mtime_ns, stat.st_size) for name, stat in found)
    except OSError:
        return ()


def ask_anew(question: str, **parameters: Any) -> pd.DataFrame:
    """Like `ask`, not cached: for answers of megabytes of text, which a cache of many would not bear."""
    return named(question)(reading(), **parameters)


@st.cache_data(max_entries=512, show_spinner=False)
def _answer(
    _store: Reading, kept: tuple[Any, ...], name: str, args: tuple[Any, ...], parameters: tuple[Any, ...]
) -> pd.DataFrame:
    return named(name)(_store, *args, **dict(parameters))


def filters() -> Filters:
    """The sidebar's filters."""
    found = st.session_state.get(_FILTERS, EVERYTHING)
    return found if isinstance(found, Filters) else EVERYTHING


def set_filters(value: Filters) -> None:
    """Put the sidebar's filters in force for this run of the page."""
    st.session_state[_FILTERS] = value


def run_names() -> dict[str, str]:
    """Name of every run by its id, as it is shown, in the order that also gives runs their colours: oldest first."""
    frame = ask("run_names")
    return dict(zip(frame["run_id"], frame["name"].fillna(frame["run_id"]).map(shortened), strict=True))


def baseline() -> str | None:
    """The run that is drawn in the baseline's grey: the first of kind `baseline`, if there is one."""
    frame = ask("run_names")
    found = frame.loc[frame["kind"] == "baseline", "run_id"]
    return str(found.iloc[0]) if len(found) else None


def theme() -> Literal["light", "dark"]:
    """The theme in the reader's browser."""
    return "dark" if st.context.theme.type == "dark" else "light"


def age() -> str:
    """How old the snapshot in force is, in words: "12 s old"."""
    seconds = max(0, int((datetime.now(UTC) - reading().created_at).total_seconds()))
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size} {unit} old"
    return f"{seconds} s old"
