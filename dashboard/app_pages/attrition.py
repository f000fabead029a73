"""Which rollouts are lost on the way to training, where, and why?"""

import streamlit as st

from dashboard import attrition_words, data, failure_charts, measured, parts
from dashboard.charts_curves import Looks
from dashboard.choices import choice
from dashboard.failure_panels import one_curve
from dashboard.selection import narrowed
from queries.measures import ROLLOUT_MEASURES

HOW = """
**Dispatched** is every rollout in the store, failed and cancelled ones with it. **Finished**: no infrastructure error
ended it, and nobody cancelled it (cut off counts as finished). **Scored**: it has a reward. **Admitted**: the trainer
computed an advantage. **Trained on**: the source says that it was (`subset` effective); only training splits are. A
stage that a source does not tell of a step is *not known*, never 0, and loses nothing. What was trained on counts as
having reached every stage.

**Asked for** is a product of the run's settings, the first of those named in `failures.toml` that the configuration
has. Causes of what did not finish are those of the page Failures.

**Slow ones**: every lost rollout is placed among those kept at the same step (groups without signal, which trainers
drop on purpose, are neither). Its place is averaged by sample, and over samples with a t interval: 0.5 is no
difference. A lost rollout without a value is placed by its sample's mean over kept ones.
"""
SPEEDS = ("latency_s", "output_tokens", "tool_calls", "turns")

parts.header(__doc__ or "")
looks = Looks(data.run_names(), data.baseline())
top = st.container()
everything = measured.one_of_many(data.filters())
losses = data.ask("attrition_losses", everything)
if losses.empty:
    parts.empty("The filters leave no rollout: nothing can be lost.")
    st.stop()
filters = one_curve(everything, losses, looks)
losses = data.ask("attrition_losses", filters)
stages = data.ask("attrition", filters)
book = data.ask("failure_rulebook")
titles = dict(zip(book["cause"], book["title"], strict=True))
name = looks.name(stages["run_id"].iloc[0]) if stages["run_id"].nunique() == 1 else "All runs together"
speeds = {each: ROLLOUT_MEASURES[each].title for each in SPEEDS}
measure = choice("Slow is measured by", speeds, "speed", help="What lost and kept rollouts are compared by.")
is_worse, said = attrition_words.slow(
    data.ask("attrition_speed", filters, measure=measure), ROLLOUT_MEASURES[measure], titles, looks.names
)
with top:
    parts.verdict(attrition_words.verdict(stages, losses, titles, name))
    for each in attrition_words.cautions(stages, filters.subset):
        parts.warning(each)
    if is_worse:
        parts.warning(said)
    parts.figures(attrition_words.figures(stages))
if not is_worse:
    st.markdown(parts.plain(said))

figure = failure_charts.stage_figure(losses, attrition_words.reasons(losses, titles))
alt = "Bars: rollouts of every step, those not lost and the lost ones by stage and reason"
points = parts.plot(figure, "stages", losses, select=True, alt=alt)
shown = points[0] if points else {}
if shown and shown.get("lost_at") is None:
    measured.listed("kept", "of that step, lost or not", "rollouts_between", narrowed(filters, shown), at_least=-1e300)
else:
    own = {"lost_at": shown.get("lost_at"), "reason": shown.get("reason")}
    measured.listed("lost", "lost, the earliest stage first", "attrition_rollouts", narrowed(filters, shown), **own)
by_environment = st.toggle("Table by environment", key="by_environment", bind="query-params")
table = data.ask("attrition", filters, by_environment=True) if by_environment else stages
parts.table(table, "attrition", label="Table of stages")
parts.table(losses, "attrition_losses", label="Table of losses")
parts.how(HOW)
