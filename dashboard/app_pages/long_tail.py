"""How long is the tail, and what does it cost?"""

import streamlit as st

from dashboard import charts_distributions, data, distribution_words, measured, parts
from dashboard.charts_curves import Looks
from dashboard.selection import narrowed, opening
from dashboard.tail_panels import limits_of, percentile_figures, threshold_input
from queries.measures import ROLLOUT_MEASURES

parts.header(__doc__ or "", by_subset=True)
looks = Looks(data.run_names(), data.baseline())
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
marks = [*limits, (f"threshold {distribution_words.exact(threshold)}", threshold)]
st.caption(distribution_words.drawn(len(known), charts_distributions.MAX_GROUPS))
figure = charts_distributions.survival(curve, looks, measure.axis, log_x=log_x, limits=marks, whole=measure.is_whole)
points = parts.plot(figure, "survival", curve, select=True)

lowest = min((each["value"] for each in points), default=None)
own = narrowed(filters, points[0]) if points else filters
if lowest is None:
    what = f"above {distribution_words.valued(threshold, measure)}, the highest first"
    measured.listed("tail", what, "tail_rollouts", own, threshold=threshold, measure=name)
else:
    what = f"with at least {distribution_words.valued(lowest, measure)}, the lowest first"
    measured.listed("at_least", what, "rollouts_between", own, at_least=lowest, measure=name)

parts.table(shares, "tail_share", label="Table of shares above the threshold", on_row=opening("shares", filters))
parts.table(percentiles, "tail_percentiles", label="Table of percentiles", on_row=opening("percentiles", filters))
parts.how(
    "The curve says which share of rollouts has at least this; both scales may be logarithmic, so a straight line "
    "is a power law. The band holds the whole curve with 95 % confidence (Dvoretzky–Kiefer–Wolfowitz). Percentiles are "
    "interpolated; their intervals come from order statistics, hold for any distribution, and need enough rollouts: 72 "
    "for P95, 368 for P99. The interval of the share above the threshold is Wilson's. Attempts at one sample resemble "
    "one another, so that they say less than as many independent rollouts: curve's band, percentiles and share have "
    "intervals for as many independent rollouts as the attempts are worth (num_effective in the tables). Costs are "
    "shares of the total over rollouts whose cost is known."
)
