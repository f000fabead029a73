"""How do I take these numbers elsewhere, or show them to somebody?"""

import streamlit as st

from dashboard import data, export_view, export_words, parts
from queries.filters import Filters

parts.header(__doc__ or "")
runs_only = Filters(run_ids=data.filters().run_ids)
parts.verdict(export_words.verdict(data.ask("table_sizes", runs_only), runs_only.sentence(data.run_names())))
left, right = st.columns(2, gap="large")
with left:
    export_view.share()
    export_view.pipeline()
with right:
    export_view.download()
parts.how(
    "An export is one folder: `<table>/run_id=<run>/part-0.parquet` for every table, `questions/<question>.parquet` "
    "for answers, and `manifest.json` with the snapshot, the meaning of every column, and the rows and bytes of every "
    "file. Anything that reads Parquet reads it; the dashboard need not run. Every table and plot of the other pages "
    "has its own CSV and Parquet buttons. Numbers in a download are those on the screen: the same question answers "
    "both."
)
