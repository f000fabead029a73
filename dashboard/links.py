"""Links to other pages of this site, as plain links of HTML.

Streamlit's own link with parameters leaves an entry of this page with the other's parameters in the browser's history:
Back has to be pressed twice, and on the way loses what was chosen here.
"""

from collections.abc import Mapping, Sequence
from urllib.parse import urlencode

import streamlit as st

from dashboard import data
from dashboard.markup import element


def address(page: str, query: Mapping[str, str | Sequence[str]]) -> str:
    """Address of a page with parameters, relative to any page (works under a base path too), on the pinned snapshot."""
    kept = {} if data.pinned() is None else {data.SNAPSHOT: str(data.pinned())}
    return f"{page}?{urlencode({**query, **kept}, doseq=True)}"


def go(label: str, page: str, query: Mapping[str, str | Sequence[str]]) -> None:
    """Draw a link that opens a page with parameters in this tab; the label is text."""
    st.html(element("a", f"→ {label}", href=address(page, query), target="_self", class_="go"), width="content")
