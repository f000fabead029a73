"""Which runs are there, and how did they go?"""

import streamlit as st

from dashboard import case_study_view, data, parts, run_words
from dashboard.run_table import run_table

parts.header(__doc__ or "")
found = data.ask("runs", data.filters())

if found.empty:
    parts.empty("No run is left by the filters; remove some in the sidebar.")
else:
    parts.verdict(run_words.verdict(found))
    parts.warning(run_words.caution(found))
    chosen = run_table(found)
    if chosen.empty:
        st.caption("Select one run to open it, or two to compare them.")
    parts.table(found, "runs")
    parts.how(
        "The reward of a run is the one of its last scored step, on the validation split where there is one, else on "
        "test, train or production; the column *split* says which. It is the mean over samples of each sample's mean, "
        "so a sample with more attempts weighs no more. The change is against the first scored step of the same split. "
        "Tool calls and tokens are means over the rollouts of that same last step. Failed are rollouts that ended in "
        "an infrastructure or grader error, as a share of those whose ending is known. Filters on runs apply here; the "
        "others belong to single rollouts."
    )
case_study_view.offer(data.run_names())
