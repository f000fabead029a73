"""Draws a trajectory: neighbours, timeline, conversation, side. Asks through `data`; its place is kept in the URL."""

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from dashboard import annotation_panel, data, outline, parts, trajectory_downloads, trajectory_words
from dashboard.conversation import MAX_CHARS, conversation
from dashboard.links import go
from dashboard.timeline import absence, bars, timeline
from dashboard.trajectory_downloads import rollout_named

_SCROLLED = "_scrolled_to"
_TO_PLACE = """
(() => {
  const until = Date.now() + 4000;
  const find = () => document.querySelector('.outline a[href="#message-$place"]');
  const follow = (line, list) => { if (list) list.scrollTop = line.offsetTop - list.offsetTop - 40; };
  const go = () => {
    const line = find(), list = line?.closest('ol');
    const message = document.getElementById('message-$place');
    if (!(message && line) && Date.now() < until) return setTimeout(go, 100);
    follow(line, list);
    if ($jump) message?.scrollIntoView({block: 'start'});
  };
  go();
  setTimeout(go, 700);
  setTimeout(() => follow(find(), find()?.closest('ol')), 1600);
})();
"""
"""Waits for the message to be drawn; once more when what stands above it has its height. Holds numbers, no texts."""
_BEGINNING = 200
"""Characters of a text that the outline and the timeline need."""


def chosen() -> pd.Series | None:
    """The rollout the address names, with its facts; None where it names none or this store does not hold it."""
    rollout_id, of = st.query_params.get("rollout", ""), st.query_params.get("of")
    if not rollout_id:
        return None
    found = data.ask("trajectory_facts", rollout_id=rollout_id, run_id=of) if of else pd.DataFrame()
    if found.empty:
        found = data.ask("trajectory_facts", rollout_id=rollout_id)
    return None if found.empty else found.iloc[0]


def message() -> int | None:
    """The message the address points to."""
    text = st.query_params.get("message", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 9 else None


def steer(facts: pd.Series, places: Sequence[int]) -> None:
    """Buttons to the rollouts beside this one and to its errors, each with a key."""
    beside = data.ask("trajectory_neighbours", data.filters(), **rollout_named(facts))
    reached = {row["relation"]: row["rollout_id"] for row in beside.to_dict("records")}
    current = message()
    earlier = trajectory_words.next_place(list(places), current, back=True)
    later = trajectory_words.next_place(list(places), current)
    with st.container(horizontal=True, vertical_alignment="center", key="steer"):
        for label, key, relation in (("Previous rollout", "k", "previous"), ("Next rollout", "j", "next")):
            _button(label, key, None if relation not in reached else {"rollout": str(reached[relation])})
        if places:
            _button("Previous error", "p", None if earlier is None else {"message": str(earlier)})
            _button("Next error", "n", None if later is None else {"message": str(later)})
        if pd.notna(facts["sample_id"]):
            go("All attempts at this sample", "samples", {"sample": str(facts["sample_id"])})


def _button(label: str, shortcut: str, target: dict[str, str] | None) -> None:
    st.button(
        label,
        key=f"go_{shortcut}",
        shortcut=shortcut,
        disabled=target is None,
        on_click=_go,
        kwargs={"target": target or {}},
    )


def _go(target: dict[str, str]) -> None:
    if "rollout" in target:
        st.query_params.pop("message", None)
    st.query_params.update(target)
    st.session_state.pop(_SCROLLED, None)


def when(facts: pd.Series, messages: pd.DataFrame, calls: pd.DataFrame) -> None:
    """The timeline, or why there is none; a click on a bar goes to its message."""
    found = bars(messages, calls, facts["started_at"])
    if found.empty:
        st.caption(absence(messages, calls))
        return
    alt = "When the model and the tools were at work"
    picked = parts.plot(timeline(found), "timeline", found, select=True, in_address=False, alt=alt)
    place = picked[0]["message_index"] if picked else None
    if place is not None and place != st.session_state.get("_timeline_place"):
        st.session_state["_timeline_place"] = place
        _go({"message": str(place)})


def talk(facts: pd.Series, pages: Sequence[tuple[int, int]], calls: pd.DataFrame) -> None:
    """The messages of the page in force, with their calls."""
    number = trajectory_words.window_of(list(pages), message())
    first, last = pages[number] if pages else (0, None)
    if len(pages) > 1:
        _pager(pages, number)
    named = {**rollout_named(facts), "max_chars": MAX_CHARS + 1, "first": first, "last": last}
    said = data.ask_anew("trajectory_messages", **named)
    asked = data.ask_anew("trajectory_tool_calls", **named)
    if pages and number != len(pages) - 1:
        asked = asked[asked["message_index"].notna()]
    if said.empty and asked.empty:
        parts.empty(trajectory_words.nothing_said(facts))
        return
    st.html(conversation(said, asked, current=message()))
    trajectory_downloads.long_texts(facts, said, asked)
    _scroll(str(facts["rollout_id"]), first)


def _scroll(rollout_id: str, first: int) -> None:
    """Bring the message of the address into view, once; the outline follows the page. Only numbers reach the script."""
    place = message()
    jump = place is not None and st.session_state.get(_SCROLLED) != (rollout_id, place)
    if jump:
        st.session_state[_SCROLLED] = (rollout_id, place)
    numbers = {"$place": f"{first if place is None else place:d}", "$jump": f"{jump:d}"}
    script = _TO_PLACE
    for name, number in numbers.items():
        script = script.replace(name, number)
    st.html(f"<script>{script}</script>", unsafe_allow_javascript=True)


def _pager(pages: Sequence[tuple[int, int]], number: int) -> None:
    key = f"messages_page_{number}"
    st.pagination(len(pages), default=number + 1, key=key, on_change=_turn, args=(pages, key))
    st.caption(f"Messages {pages[number][0]} to {pages[number][1]} of {pages[-1][1] + 1}")


def _turn(pages: Sequence[tuple[int, int]], key: str) -> None:
    _go({"message": str(pages[st.session_state[key] - 1][0])})


def side(facts: pd.Series, messages: pd.DataFrame, calls: pd.DataFrame, pages: Sequence[tuple[int, int]]) -> None:
    """Scores, facts and the outline."""
    with st.container(key="trajectory_side"):
        scores = data.ask("trajectory_scores", **rollout_named(facts))
        if len(scores):
            st.subheader("Scores", anchor=False)
            st.html(outline.scores(trajectory_words.scores_shown(scores)))
        if len(messages):
            st.subheader("Outline", anchor=False)
            st.html(outline.outline(messages, calls, shown(pages), address()))
        st.subheader("Facts", anchor=False)
        st.html(outline.facts(trajectory_words.facts_shown(facts)))
        annotation_panel.annotations(facts, message())


def shown(pages: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """First and last message of the page in force."""
    return pages[trajectory_words.window_of(list(pages), message())] if pages else (0, 0)


def address() -> list[tuple[str, str]]:
    """The parameters of this page without the message it points to."""
    names = [key for key in st.query_params if key != "message"]
    return [(key, value) for key in names for value in st.query_params.get_all(key)]


def more(facts: pd.Series) -> None:
    """Other attempts, every column, and the whole rollout as a file."""
    beside = data.ask("trajectory_neighbours", data.filters(), **rollout_named(facts))
    attempts = beside[beside["relation"] == "attempt"].drop(columns="relation")
    if len(attempts):
        with st.expander(f"Other attempts at this sample in this run ({len(attempts)})"):
            parts.rollout_list(attempts, "other_attempts")
    known = facts[facts.notna()].astype(str).str.slice(0, 2_000)
    frame = pd.DataFrame({"name": known.index, "value": known.to_numpy()})
    parts.table(frame, "trajectory_facts", label="Everything known of it")
    trajectory_downloads.whole(facts)


def outlined(facts: pd.Series) -> tuple[pd.DataFrame, pd.DataFrame]:
    """All messages and calls with the beginnings of their texts: what timeline and outline need."""
    named = {**rollout_named(facts), "max_chars": _BEGINNING}
    return data.ask("trajectory_messages", **named), data.ask("trajectory_tool_calls", **named)
