"""How long is the tail, and what does it cost?"""

import streamlit as st

from dashboard import charts_distributions, data, distribution_words, measured, parts
from dashboard.charts_curves import Looks
from dashboard.selection import narrowed
from dashboard.tail_panels import limits_of, percentile_figures, threshold_input
from queries.measures import ROLLOUT_MEASURES

parts.header(__doc__ or "")
looks = Looks(data.run_names())
top = st.container()
name, by = measured.controls("long_tail")
measure = ROLLOUT_MEASURES[name]
filters = measured.scoped(data.filters(), by)
summary = data.ask("distribution_summary", filters, measure=name, by=by)
known = summary[summary["num_rollouts"] > 0]

if known.empty:
    parts.missing(measure.field)
    st.stop()

limits = limits_of(data.ask("run_limits", filters), name, looks)
threshold = threshold_input(name, measure, known, limits)
shares = data.ask("tail_share", filters, threshold=threshold, measure=name, by=by)
percentiles = data.ask("tail_percentiles", filters, measure=name, by=by)
groups = charts_distributions.group_names(shares, looks).tolist()

with top:
    parts.verdict(distribution_words.tail(shares, groups, measure, threshold))
    everything = charts_distributions.group_names(summary, looks).tolist()
    for caution in distribution_words.cautions(summary, everything):
        parts.warning(caution)
    parts.warning(distribution_words.without_interval(percentiles))
    percentile_figures(percentiles, looks, measure)

curve = data.ask("survival", filters, measure=name, by=by)
log_x = st.toggle("Logarithmic scale", value=name != "tool_calls" and name != "turns" and name != "reward", key="log_x")
marks = [*limits, ("threshold", threshold)]
st.caption(distribution_words.drawn(len(known), charts_distributions.MAX_GROUPS))
figure = charts_distributions.survival(curve, looks, measure.axis, log_x=log_x, limits=marks)
points = parts.plot(figure, "survival", curve, select=True)

lowest = min((each["value"] for each in points), default=None)
own = narrowed(filters, points[0]) if points else filters
if lowest is None:
    offset = measured.page_number(int(shares["num_tail"].sum()), "tail_page")
    found = data.ask("tail_rollouts", own, threshold=threshold, measure=name, limit=measured.PAGE, offset=offset)
    measured.page_of_rollouts(found, "tail", f"above {threshold:,.6g}, the highest first")
else:
    found = data.ask("rollouts_between", own, at_least=lowest, measure=name)
    measured.page_of_rollouts(found, "at_least", f"with at least {lowest:,.6g}, the lowest first")

parts.table(shares, "tail_share", label="Table of shares above the threshold")
parts.table(percentiles, "tail_percentiles", label="Table of percentiles")
parts.how(
    "The curve says which share of rollouts has at least so much; both scales may be logarithmic, so a straight line "
    "is a power law. The band holds the whole curve with 95 % confidence (Dvoretzky–Kiefer–Wolfowitz). Percentiles are "
    "interpolated; their intervals come from order statistics, hold for any distribution, and need enough rollouts: 72 "
    "for P95, 368 for P99. Curve, band and percentiles take rollouts as independent draws, which is somewhat narrow "
    "where attempts at a sample are alike. The interval of the share above the threshold is Wilson's, for as many "
    "independent rollouts as the samples' attempts are worth. Costs are shares of the total over rollouts whose cost "
    "is known."
)
