"""Building blocks of pages: title, verdict, figures, plots, and what to say when there is nothing to show.

Every text given here may hold hostile names: it is shown as text, never as Markdown or HTML.
"""

import logging
import re
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from dashboard import actions, charts, data, picks
from dashboard.markup import INVISIBLE, visible
from dashboard.tables import csv_button, fold, rollout_list, table
from ingest.errors import ObservatoryError, SnapshotError

_MARKDOWN = re.compile(r"([\\`*_{}\[\]()<>#+\-.!|$:~^=&@/])")
_LINKED = re.compile(r"(?i)\bhttps?:(?=//)|\bwww(?=\.)|\w(?=@[\w-]+\.\w)|-(?=[->])|<(?=[-=])|[>~](?==)")
"""Where Markdown would see an address, or Streamlit an arrow or a dash (-- is shown as one); a word joiner there shows
nothing and breaks it. RUN@STEP stays whole."""
_BLANKS = re.compile(r"[ \t\r\n\f\v\u2028\u2029]+")
"""What is folded into one blank. The thin space between thousands is not: numbers must not break."""
_KEPT = re.compile(r"(?<=\d) (?=%|(?:ms|s|min|h|kB|MB|GB)\b)|(?<=\bn) (?== )|(?<=\bn =) (?=\d)")
"""Blanks at which no line may end: between a number and its unit, and within "n = 12"."""
TRAINED_ON: Final = "Only rollouts that were trained on count here, as the sidebar says: a selection, not all attempts."
_COLOURS: Final[dict[bool | None, Literal["gray", "green", "red"]]] = {None: "gray", True: "green", False: "red"}
_VERDICTS: Final[dict[bool | None, str | None]] = {None: None, True: "better", False: "worse"}
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure on top of a page: the value big, the change small.

    `good` colours the change (teal, vermilion) and adds the word (better, worse); its arrow follows its sign. None
    where neither direction is better, or where no difference could be shown.
    """

    label: str
    value: str
    change: str | None = None
    help: str | None = None
    good: bool | None = None


def plain(text: str) -> str:
    """Text as it stands, for calls that would read it as Markdown; addresses in it do not become links."""
    seen = INVISIBLE.sub(visible, _BLANKS.sub(" ", text.strip()))
    unlinked = _LINKED.sub("\\g<0>\u2060", _KEPT.sub("\u00a0", seen))
    return _MARKDOWN.sub(r"\\\1", unlinked)


def styles() -> None:
    """The little CSS that the theme cannot say; once a run."""
    st.html(f"<style>{_CSS}{_DARK if data.theme() == 'dark' else ''}</style>")


def header(question: str, *, by_subset: bool = False) -> None:
    """Title of the page, the question it answers, and how old the data is.

    `by_subset`: the page's numbers are over the subset that the sidebar chooses, which then is said.
    """
    with st.container(horizontal=True, vertical_alignment="bottom", key="page_header"):
        st.title(str(st.session_state.get("page", "Rollout Observatory")), width="stretch", anchor=False)
        _data_strip()
    st.caption(plain(question))
    if by_subset and data.filters().subset == "effective":
        st.caption(plain(TRAINED_ON))


@st.fragment(run_every=20)
def _data_strip() -> None:
    """The only part that refreshes by itself: it never moves what is being read."""
    with st.container(horizontal=True, vertical_alignment="center", width="content", key="data_strip"):
        snapshot = f"snapshot {data.reading().snapshot_id}"
        st.caption(f"data {data.age()} · {snapshot}{' (pinned)' if data.pinned() is not None else ''}")
        if data.is_newer() and st.button("Show new data", type="tertiary"):
            st.rerun(scope="app")


def verdict(text: str) -> None:
    """The finding in one or two plain sentences, n inside."""
    with st.container(key=f"verdict_{zlib.crc32(text.encode())}"):
        st.markdown(plain(text))


def warning(text: str) -> None:
    """What could mislead, in words; nothing for an empty text."""
    if text:
        st.markdown(f":orange[:material/warning:] {plain(text)}")


def figures(items: Sequence[Figure]) -> None:
    """A row of figures."""
    with st.container(horizontal=True):
        for each in items:
            st.metric(
                plain(each.label),
                each.value,
                each.change,
                delta_color=_COLOURS[each.good],
                delta_arrow=direction(each.change) if each.good is not None else "off",
                delta_description=_VERDICTS[each.good],
                help=None if each.help is None else plain(each.help),
                border=True,
                height="stretch",
            )


def direction(change: str | None) -> Literal["up", "down", "off"]:
    """Which way a change points, read from its sign: up, down, or off where it has none."""
    start = (change or "")[:1]
    return "up" if start == "+" else "down" if start in ("−", "-") else "off"


def plot(
    figure: go.Figure,
    key: str,
    frame: pd.DataFrame | None = None,
    *,
    select: bool = False,
    in_address: bool = True,
    alt: str | None = None,
    on_points: Callable[[list[dict[str, Any]]], None] | None = None,
) -> list[dict[str, Any]]:
    """Draw a figure with its PNG and CSV buttons; with `select`, the `customdata` of the points that are selected.

    `on_points` is called with what was selected, before the page runs again; then nothing is kept of the selection.

    `frame` holds the numbers drawn, for the CSV. `alt` says for a screen reader what is seen; without it the axes are
    named. A selection stands in the address (unless `in_address` is false) until another is made, so it is there in a
    copied link and when the reader comes back from a trajectory.
    """
    theme = data.theme()
    figure.update_layout(template=charts.template(theme))
    if theme == "dark":
        figure.update_traces(reversescale=True, selector={"type": "heatmap", "meta": charts.SEQUENTIAL_SCALE})
    options: dict[str, Any] = {}
    found: list[dict[str, Any]] = []
    if select:
        found = picks.selected(key, figure, in_address=in_address)
        picks.mark(figure, found)
        # A drag mode of selection would make Streamlit ignore clicks: a box is drawn with the mode bar's button.
        figure.update_layout(clickmode="event+select", dragmode="zoom")
        chosen = _handed(key, on_points) if on_points else lambda: _select(key, in_address=in_address)
        options = {"on_select": chosen, "selection_mode": ("points", "box")}
    st.plotly_chart(figure, key=key, theme=None, alt=alt or _alt(figure), config=_config(key), **options)
    if frame is not None:
        csv_button(frame, key)
    return found


def _select(key: str, *, in_address: bool) -> None:
    picks.remember(key, st.session_state[key].selection.points, in_address=in_address)


def _handed(key: str, on_points: Callable[[list[dict[str, Any]]], None]) -> Callable[[], None]:
    def hand_over() -> None:
        selected = st.session_state[key].selection.points
        on_points([dict(each["customdata"]) for each in selected if isinstance(each.get("customdata"), dict)])

    return hand_over


def _config(key: str) -> dict[str, Any]:
    image = {"format": "png", "filename": key, "scale": 2}
    crowded = ["autoScale2d", "zoomIn2d", "zoomOut2d", "lasso2d"]
    return {"displaylogo": False, "toImageButtonOptions": image, "modeBarButtonsToRemove": crowded}


def _alt(figure: go.Figure) -> str:
    x, y = figure.layout.xaxis.title.text or "x", figure.layout.yaxis.title.text or "y"
    names = [trace.name for trace in figure.data if trace.name and trace.showlegend is not False]
    series = f", series: {', '.join(dict.fromkeys(names))}" if names else ""
    return f"Plot of {y} against {x}{series}"


def how(text: str) -> None:
    """Folded: how the numbers are computed. Our own text, so Markdown is allowed."""
    with st.expander("How this is computed"):
        st.markdown(text)


def empty(what: str, command: str | None = None) -> None:
    """That there is nothing to show, what would fill it, and the command that does."""
    with st.container(border=True):
        st.markdown(plain(what))
        if command:
            st.code(command, language="bash")


def missing(field: str) -> None:
    """Instead of a chart: that this store has nothing of a field, and which sources would bring it."""
    titles = actions.sources_that_fill(field)
    words = actions.field_words(field)
    brought = (
        f"These formats can bring them: {', '.join(titles)}." if titles else "No format that is known brings them."
    )
    empty(f"Nothing that was read here says anything about {words}, so there is nothing to draw. {brought}")


def failure(error: Exception) -> None:
    """What happened, what was kept, and what to do; details folded."""
    known = isinstance(error, ObservatoryError)
    st.subheader("This page could not be shown" if known else "Something unexpected happened on this page")
    if known:
        st.error(plain(str(error)))
    else:
        _log.exception("a page failed", exc_info=error)
        st.error("The data is untouched, and the other pages work. The server's log has the details.")
        with st.expander("Details"):
            st.code(f"{type(error).__name__}: {error}", language=None, wrap_lines=True)
    if isinstance(error, SnapshotError) or (known and data.pinned() is not None):
        st.button("Open the latest snapshot", on_click=data.release)


_CSS = """
.block-container { max-width: 1360px; padding: 4rem 3rem 3rem; }
[class*="st-key-verdict_"] p { font-size: 1.13rem; line-height: 1.5; }
.stMain [data-testid="stMarkdown"] p { max-width: 64rem; }
[data-testid="stMetric"] { min-width: 8.5rem; }
.st-key-page_header h1 { padding: 0; }
.st-key-data_strip { white-space: nowrap; }
.st-key-page_header > :last-child { margin-left: auto; flex: 0 0 auto; width: auto; }
@media (max-width: 800px) { .block-container { padding: 4rem 1rem 2rem; } }
[data-testid="stMetricValue"] { font-variant-numeric: tabular-nums; }
@media (max-width: 900px) {
  [class*="st-key-side_by_side"] > [data-testid="stHorizontalBlock"],
  [class*="st-key-side_by_side"] [data-testid="stHorizontalBlock"]:has(> [data-testid="stColumn"]) { flex-wrap: wrap; }
  [class*="st-key-side_by_side"] [data-testid="stColumn"] { min-width: 100%; }
}
a.go { color: inherit; text-decoration: underline; text-underline-offset: 3px; font-size: 0.95rem; }
.stPlotlyChart .modebar-container { top: auto !important; bottom: 0; height: 0 !important; }
.stPlotlyChart .modebar { top: auto !important; bottom: 0; }
"""
_DARK = """
[data-testid="stBaseButton-primary"], .stMultiSelect [data-tag], .stMultiSelect [data-tag] *
  { color: #10141A; }
"""
"""The light blue of the dark theme would carry white letters."""

__all__ = [
    "Figure",
    "empty",
    "failure",
    "figures",
    "fold",
    "header",
    "how",
    "missing",
    "plain",
    "plot",
    "rollout_list",
    "styles",
    "table",
    "verdict",
    "warning",
]
