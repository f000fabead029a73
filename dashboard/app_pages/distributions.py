"""How are calls, tokens, seconds and rewards distributed over rollouts?"""

import streamlit as st

from dashboard import charts_distributions, curve_words, data, distribution_words, measured, parts
from dashboard.charts_curves import Looks
from dashboard.rows import drawn_runs, texts
from dashboard.selection import narrowed, opening, rollouts_behind
from dashboard.words import plural
from queries.measures import ROLLOUT_MEASURES

parts.header(__doc__ or "", by_subset=True)
names = data.run_names()
looks = Looks(names, data.baseline())
top = st.container()
name, by = measured.controls("distributions")
measure = ROLLOUT_MEASURES[name]
filters = measured.scoped(data.filters(), by)
summary = data.ask("distribution_summary", filters, measure=name, by=by)
groups = charts_distributions.group_names(summary, looks).tolist()
known = charts_distributions.group_names(summary[summary["num_rollouts"] > 0], looks).tolist()

with top:
    parts.verdict(distribution_words.summary(summary, groups, measure))
    for caution in distribution_words.cautions(summary, groups):
        parts.warning(caution)

if not known:
    parts.missing(measure.field)
else:
    shape = st.segmented_control(
        "Drawn as", ["histogram", "cumulative", "box"], default="histogram", key="shape", bind="query-params"
    )
    st.caption(distribution_words.drawn(len(known), charts_distributions.at_most(shape)))
    if shape == "box":
        figure, frame = charts_distributions.box(summary, looks, measure.axis), summary
    elif shape == "cumulative":
        frame = data.ask("ecdf", filters, measure=name, by=by)
        figure = charts_distributions.cumulative(frame, looks, measure.axis, whole=measure.is_whole)
    else:
        frame = data.ask("distribution", filters, measure=name, by=by)
        figure = charts_distributions.histogram(frame, looks, measure.axis)
    points = parts.plot(figure, f"distribution_{shape}", frame, select=True)
    bins = [each for each in points if each.get("bin_low") is not None]
    for number, each in enumerate(bins[:3]):
        reach = {"at_least": each["bin_low"], "below": None if each["is_open"] else each["bin_high"]}
        measured.listed(
            f"bin_{number}", "in this bin", "rollouts_between", narrowed(filters, each), measure=name, **reach
        )
    if not bins:
        rollouts_behind(points, "distribution", "Click a bar (or a point) to list its rollouts.", filters)
    parts.table(
        summary, f"{name}_by_{by}", label="Table of the distributions in numbers", on_row=opening("groups", filters)
    )

usage = data.ask("tool_usage", filters)
st.subheader("Tools", anchor=False)
if usage.empty:
    parts.missing("tool_calls")
else:
    totals = charts_distributions.over_steps(drawn_runs(usage, charts_distributions.MAX_GROUPS))
    parts.verdict(distribution_words.tools(totals, names))
    st.caption(curve_words.too_many(totals["run_id"].nunique(), usage["run_id"].nunique()))
    points = parts.plot(charts_distributions.tool_bars(totals, looks), "tools", totals, select=True)
    rollouts_behind(points, "tools", "Click a bar to list the rollouts that called the tool.", filters)
    with st.expander(f"{plural(len(texts(usage['tool'])), 'tool')}, step by step"):
        usage_rows = opening("tool_usage", filters)
        parts.table(usage, "tool_usage", label="Table of tools by run and step", expanded=True, on_row=usage_rows)

parts.how(
    "Every rollout that has the number counts once; nothing is assumed where it is missing. All groups share the bins. "
    "Whole numbers lie in the middle of their bins. Where the last percent of rollouts would squeeze the rest, it is "
    "put into one open bin, drawn hatched. Boxes span the quartiles, whiskers reach from the least value to P95. "
    "Percentiles are interpolated. Failed calls are those flagged by the source, recognised from the output, or never "
    "executed; parallel calls are counted one by one."
)
