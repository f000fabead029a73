"""The shared filters in the sidebar: bound to the URL by stable ids, in words, with a reset and a link to copy."""

import re
from dataclasses import fields, replace
from urllib.parse import urlencode

import streamlit as st

from dashboard import data, words
from dashboard.parts import plain
from ingest.schema import SPLITS, STATUSES
from queries.filters import EVERYTHING, Filters

KEYS = {
    "run_ids": "run",
    "splits": "split",
    "step_from": "from",
    "step_to": "to",
    "statuses": "status",
    "tools": "tool",
    "environments": "environment",
    "agents": "agent",
    "subset": "subset",
}
"""URL parameter by field of `Filters`: short, and the same on every page."""
_LISTED = ("tools", "environments", "agents")
"""Fields whose choices the store lists."""
_UNKNOWN = "_unknown_filters"
_STEP = re.compile(r"\d{1,15}", re.A)


def draw() -> None:
    """Draw the filters, and put what they say in force for this run of the page."""
    with st.sidebar:
        summary = st.container()
        options = _options()
        _note_unknown(options)
        with st.expander("Filters", key="filter_box"):
            chosen = _widgets(options)
        data.set_filters(chosen)
        with summary:
            _summary(chosen)
        _data_version()
        with st.popover("Copy link", width="stretch", help="The address of this page with everything it shows."):
            st.caption("Opens this page with these filters, on this snapshot of the data.")
            st.code(link(), language=None, wrap_lines=True)


def _options() -> dict[str, list[str]]:
    choices = data.ask("filter_choices")
    found = {field: choices.loc[choices["field"] == field, "choice"].tolist() for field in _LISTED}
    return {"run_ids": list(data.run_names()), "splits": list(SPLITS), "statuses": list(STATUSES), **found}


def _widgets(options: dict[str, list[str]]) -> Filters:
    """The bound widgets. Options are ids and defaults constant (None = all): anything else would not survive a link."""
    lists = {
        field: st.multiselect(label, options[field], key=KEYS[field], bind="query-params", placeholder="all", help=why)
        for field, label, why in (
            ("run_ids", "Runs", None),
            ("splits", "Splits", None),
        )
    }
    _drop_odd_steps()
    low, high = st.columns(2)
    step_from = low.number_input(
        "From step", 0, value=None, step=1, key=KEYS["step_from"], bind="query-params", placeholder="first"
    )
    step_to = high.number_input(
        "To step", 0, value=None, step=1, key=KEYS["step_to"], bind="query-params", placeholder="last"
    )
    lists |= {
        field: st.multiselect(label, options[field], key=KEYS[field], bind="query-params", placeholder="all", help=why)
        for field, label, why in (
            ("environments", "Environments", None),
            ("agents", "Agents", "Rollouts in which at least one of them took part; of calls, only theirs."),
            ("statuses", "Status", "How the rollout ended."),
            ("tools", "Tools", "Rollouts that called at least one of them."),
        )
        if options[field]
    }
    subset = st.selectbox(
        "Trained on",
        ["effective"],
        index=None,
        key=KEYS["subset"],
        bind="query-params",
        placeholder="all rollouts",
        help="`effective`: only the rollouts the trainer used.",
    )
    chosen = {field: tuple(values) or None for field, values in lists.items()}
    return Filters(step_from=step_from, step_to=step_to, subset=subset, **chosen)


def _drop_odd_steps() -> None:
    """Take what is no step out of the link: the number input fails on `1e999`, and would not say so."""
    odd = [name for name in (KEYS["step_from"], KEYS["step_to"]) if not _STEP.fullmatch(st.query_params.get(name, "0"))]
    for name in odd:
        del st.query_params[name]
    if odd:
        st.rerun()


def _note_unknown(options: dict[str, list[str]]) -> None:
    """Remember what a link asked for and this store does not have: the widgets drop it without a word."""
    for field in ("run_ids", *_LISTED):
        lost = [value for value in st.query_params.get_all(KEYS[field]) if value not in options[field]]
        if lost:
            st.session_state.setdefault(_UNKNOWN, {})[field] = lost


def _summary(chosen: Filters) -> None:
    names = data.run_names()
    counts = data.ask("filter_counts", chosen).iloc[0]
    said = chosen.sentence(names)
    st.markdown(f"**{plain(said[:1].upper() + said[1:] if chosen == EVERYTHING else said)}**")
    left, right = st.columns([3, 1], vertical_alignment="center", wrap=False)
    left.caption(words.counted(counts["num_rollouts"], counts["num_all"]))
    if chosen != EVERYTHING:
        right.button("Reset", on_click=_reset, type="tertiary", help="Remove all filters.")
    for field, lost in st.session_state.get(_UNKNOWN, {}).items():
        st.warning(plain(words.unknown(field, lost)))
    if counts["num_rollouts"] == 0 and counts["num_all"] and chosen != EVERYTHING:
        st.warning(plain(words.nothing_left(chosen, _culprits(chosen))))


def _culprits(chosen: Filters) -> list[str]:
    """Fields without which something would be left."""
    set_fields = [each.name for each in fields(chosen) if getattr(chosen, each.name) is not None]
    return [
        name
        for name in set_fields
        if data.ask("filter_counts", replace(chosen, **{name: None})).iloc[0]["num_rollouts"]
    ]


def _reset() -> None:
    for field, key in KEYS.items():
        st.session_state[key] = [] if field in ("run_ids", "splits", "statuses", *_LISTED) else None
    st.session_state.pop(_UNKNOWN, None)


def _data_version() -> None:
    with st.expander("Data version", expanded=data.pinned() is not None):
        if data.pinned() is None:
            st.session_state[data.SNAPSHOT] = None
        st.number_input(
            "Snapshot",
            0,
            value=None,
            step=1,
            key=data.SNAPSHOT,
            bind="query-params",
            placeholder="latest",
            help="Every ingest publishes a snapshot; a number here keeps this page on that one.",
        )


def link() -> str:
    """Address of this page with everything it shows written out, on the snapshot in force."""
    parameters = st.query_params.to_dict()
    pairs = [(key, value) for key in parameters for value in st.query_params.get_all(key) if key != data.SNAPSHOT]
    known = {key for key, _ in pairs}
    for field, value in data.filters().parameters().items():
        if value is not None and KEYS[field] not in known:
            pairs += [(KEYS[field], each) for each in (value if isinstance(value, list) else [value])]
    return f"{st.context.url or ''}?{urlencode([*pairs, (data.SNAPSHOT, data.reading().snapshot_id)])}"
