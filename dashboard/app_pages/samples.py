"""Which samples get better, and how did every attempt go?"""

import streamlit as st

from dashboard import data, parts, sample_view, sample_words

parts.header(__doc__ or "")
if sample_view.samples(data.filters()).empty:
    parts.missing("sample")
    st.stop()

top = st.container()
chosen = sample_view.scope()
cells = None if chosen is None else data.ask("sample_heatmap", chosen[0], measure=chosen[1])
with top:
    if chosen is None or cells is None or cells.empty:
        parts.verdict("Nothing that the filters leave has steps, so no change over training can be shown.")
    else:
        parts.verdict(sample_words.verdict(cells, chosen[2]))
        parts.warning(sample_words.caution(cells))
if chosen is not None and cells is not None and not cells.empty:
    sample_view.heatmap(cells, chosen[1])
if "sample" in st.query_params:
    sample_view.one(st.query_params["sample"], st.query_params.get("sample_in"))
sample_view.listing(data.filters() if chosen is None else chosen[0], None if chosen is None else chosen[2])
if cells is not None and not cells.empty:
    parts.table(cells, "sample_heatmap_cells", label="Table of the heatmap")
parts.how(
    "A cell is the mean over the attempts at one sample at one step (or over neighbouring steps, where there are more "
    "than 100). Rows are ordered by their mean over all steps, the lowest on top. With more than 200 samples those "
    "with the most rollouts are shown, ties by a hash of their id, so the choice does not depend on how they went. "
    "In the list, *reward first* and *last* are at the first and last scored step, averaged over the runs and splits "
    "that have two; *reward sd* is the spread of attempts within the same run, split and step."
)
