"""Entry of the dashboard: pages, sidebar, title. `streamlit run dashboard/app.py` needs nothing else.

Draws nothing of a page itself. Whatever goes wrong in a page becomes a sentence on the screen, never a stack trace.
"""

import importlib.util
import sys
from pathlib import Path

# `streamlit run` puts this folder on sys.path, not the repository root: a fresh clone that was not installed needs it.
if importlib.util.find_spec("dashboard") is None:
    sys.path.append(str(Path(__file__).resolve().parents[1]))

import streamlit as st

from dashboard import data, sidebar
from dashboard.parts import failure, styles
from dashboard.site import ASSETS, PAGES, empty_store, page_title
from ingest.errors import ObservatoryError, StoreEmptyError


def main() -> None:
    """Run the page that the address names, with the shared sidebar."""
    st.set_page_config("Rollout Observatory", str(ASSETS / "favicon.svg"), layout="wide")
    styles()
    st.logo(str(ASSETS / f"wordmark-{data.theme()}.svg"), icon_image=str(ASSETS / "favicon.svg"), size="large")
    sections: dict[str, list[st.Page]] = {}
    by_page = {}
    for each in PAGES:
        drawn = st.Page(each.path, title=each.title, default=each.default, visibility=each.visibility)
        sections.setdefault(each.group, []).append(drawn)
        by_page[drawn] = each
    current = st.navigation(sections, expanded=True)
    data.start_run()
    try:
        data.reading()
        sidebar.draw()
        st.session_state["page"] = current.title
        st.set_page_config(page_title(current.title))
        current.run()
    except StoreEmptyError:
        empty_store()
    except ObservatoryError as error:
        failure(error)
    except Exception as error:
        failure(error)


main()
