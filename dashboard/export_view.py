"""Draws the Export page: links, commands and downloads of whole answers. Commands are quoted for a POSIX shell."""

import shlex
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import streamlit as st

from dashboard import data, parts, sidebar, tables
from dashboard.cells import written
from dashboard.question_help import meaning
from dashboard.site import PAGES
from queries.asking import parameters, takes_filters
from queries.asking import question as named
from queries.connection import Reading
from queries.filters import Filters
from queries.questions import QUESTIONS


def askable() -> list[str]:
    """Questions that need nothing but the filters, in alphabetical order."""
    return [
        name
        for name, asked in sorted(QUESTIONS.items())
        if all(each.default is not each.empty for each in parameters(asked).values())
    ]


def link(page: str) -> str:
    """Address of a page with the filters in force, on this snapshot."""
    here, _, query = sidebar.link().partition("?")
    root = here.rsplit("/", 1)[0]
    default = next(each for each in PAGES if each.title == page).default
    file = next(each.file for each in PAGES if each.title == page)
    return f"{root}/{'' if default else Path(file).stem}?{query}"


def export_command(filters: Filters, store: Path, questions: list[str]) -> str:
    """The command that exports every table of the runs in force, and answers to questions."""
    parts_of = ["observatory", "export", "--to", "DIR", "--store", str(store)]
    for run_id in filters.run_ids or ():
        parts_of += ["--run", run_id]
    if questions:
        parts_of += ["--questions", ",".join(questions)]
    return shlex.join(parts_of)


def query_command(question: str, filters: Filters, store: Path) -> str:
    """The command that answers a question with the filters in force into a Parquet file."""
    parts_of = ["observatory", "query", question, "--store", str(store)]
    if takes_filters(named(question)):
        parts_of += list(_options(filters))
    return shlex.join([*parts_of, "--format", "parquet", "--out", f"{question}.parquet"])


def _options(filters: Filters) -> Iterator[str]:
    several = {
        "--run": filters.run_ids,
        "--split": filters.splits,
        "--status": filters.statuses,
        "--tool": filters.tools,
        "--environment": filters.environments,
        "--agent": filters.agents,
    }
    for option, values in several.items():
        for value in values or ():
            yield from (option, value)
    if filters.step_from is not None or filters.step_to is not None:
        low, high = ("" if each is None else str(each) for each in (filters.step_from, filters.step_to))
        yield from ("--step", f"{low}..{high}")
    if filters.subset is not None:
        yield from ("--subset", filters.subset)


def share() -> None:
    """A link that shows the same to everyone who can reach this server."""
    st.subheader("Share a view", anchor=False)
    titles = [each.title for each in PAGES if each.visibility == "visible"]
    page = st.selectbox("Page", titles, key="share_page", bind="query-params")
    st.code(link(page), language=None, wrap_lines=True)
    st.caption("The link keeps the filters and the snapshot: it shows the same after the next ingest.")


def download() -> None:
    """Any answer as a file, made when clicked."""
    st.subheader("Download an answer", anchor=False)
    names = askable()
    name = st.selectbox("Question", names, index=names.index("reward_curve"), key="question", bind="query-params")
    asked = named(name)
    meant, columns = meaning(asked)
    st.caption(parts.plain(meant))
    if columns:
        with st.expander("Its columns"):
            st.text(columns)
    if not st.get_option("client.disableDataExport"):
        with st.container(horizontal=True):
            for label, kind, ending in (
                ("CSV", "text/csv", "csv"),
                ("Parquet", "application/vnd.apache.parquet", "parquet"),
            ):
                st.download_button(
                    label,
                    partial(_answer, data.reading(), data.filters(), name, ending),
                    f"{name}.{ending}",
                    kind,
                    key=f"answer_{ending}",
                    on_click="ignore",
                    icon=":material/download:",
                )
    st.caption("The same from a shell:")
    st.code(query_command(name, data.filters(), data.store_root()), language=None, wrap_lines=True)


def _answer(store: Reading, filters: Filters, name: str, ending: str) -> bytes:
    """Runs when clicked, outside the page: it holds the store it reads, not the session."""
    asked = named(name)
    frame = asked(store, filters) if takes_filters(asked) else asked(store)
    return tables.csv_bytes(frame) if ending == "csv" else tables.parquet_bytes(frame)


def pipeline() -> None:
    """The command of a whole export, and what it holds."""
    st.subheader("Export for a pipeline", anchor=False)
    filters = data.filters()
    chosen = st.multiselect(
        "With answers to", askable(), key="export_questions", bind="query-params", placeholder="none"
    )
    st.code(export_command(filters, data.store_root(), chosen), language=None, wrap_lines=True)
    st.caption(
        "DIR is a folder: it is written aside and moved into place, so a reader never sees half an export. "
        "What looks like a key or a token leaves as [redacted]."
    )
    if filters != Filters(run_ids=filters.run_ids):
        parts.warning("Tables are exported whole runs at a time: of the filters only the one on runs applies to them.")
    sizes = data.ask("table_sizes", filters)
    st.dataframe(
        written(sizes),
        hide_index=True,
        width="content",
        height="content",
        column_config={"table_name": "table", "num_rows": "rows", "num_runs": "runs"},
        key="table_sizes",
        alt="Rows by table",
    )
