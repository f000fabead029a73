"""How does the agent use its tools, in which order, and where does it fail?"""

import streamlit as st

from dashboard import data, parts, tool_charts, tool_panels, tool_words
from dashboard.choices import choice
from dashboard.measured import one_of_many, scoped
from dashboard.selection import opening, rollouts_behind

parts.header(__doc__ or "", by_subset=True)
names = data.run_names()
top = st.container()
by, apart = tool_panels.controls()
filters = one_of_many(scoped(data.filters(), by))
profile = data.ask("tool_profile", filters, by=by, apart=apart)
if profile.empty or not profile["num_calls"].fillna(0).any():
    parts.missing("tool_calls")
    st.stop()

labels = tool_words.groups(profile, names)
split = (filters.splits or ("valid",))[0]
with top:
    parts.verdict(tool_words.verdict(profile, labels))
    for caution in tool_words.cautions(profile, of_own_agents=apart == "agent"):
        parts.warning(caution)
    for said in tool_panels.opposite(filters, split):
        parts.warning(said)
    tool_panels.figures(profile)
    st.caption(parts.plain(f"The figures are of {labels[-1]}."))

figure = tool_charts.failure_figure(profile, labels)
points = parts.plot(figure, "tool_profile_plot", profile, select=True, alt="Failure rates of parallel and single calls")
rollouts_behind(points, "tool_profile", filters=filters)
parts.table(profile, "tool_profile", label="Table of calls, rounds and times", on_row=opening("tool_profile", filters))

view = choice("View", tool_panels.VIEWS, "view", kind="buttons", label_visibility="collapsed")
tool_panels.view(view, filters, by, apart)
parts.how(tool_panels.HOW)
