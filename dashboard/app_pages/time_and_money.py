"""Where do a rollout's seconds and dollars go, what do they buy, and when to stop?"""

import streamlit as st

from dashboard import data, money_panels, money_words, parts
from dashboard.charts_curves import Looks
from dashboard.measured import one_of_many

HOW = """
**Time.** The whole is the rollout's latency, from its first start to its last end. Tool calls side by side count as
the slowest of them. *Environment set-up* is what the source says of it, else the time before the first message. What
no part accounts for is *not accounted for*, never negative; where parts exceed the latency that is said. A share is
the part's seconds by all seconds of rollouts with a latency, its interval (95 % t) clustered by sample.

**Waiting.** The last 5 % of a step's rollouts hold it up from when 95 % have ended to the last end. That is only said
where more than half of its rollouts start before the first one ends: otherwise rollouts start as others end, and
nothing waits for the last. *Idle* assumes as many workers as rollouts were ever in flight at once. A *straggler* is
above the P95 of the latencies of its step; slow beyond chance is what a binomial test says after Benjamini–Hochberg,
so that at most 5 % of those named are expected to be named by chance.

**Money.** Tokens, calls, scores and seconds at your prices (`observatory rules prices`); a price that nobody stated
is not zero, and the sum is then a lower bound. A rollout whose cost the source reports has that cost and no other. A
solved sample costs what all attempts at all samples cost, by the samples solved; its interval draws samples with
replacement.

**Gain.** What is spent are the train rollouts of steps before a validation; the trainer's own compute is recorded by
no source. Gains are on the same samples; the straight line through the last validations is fitted sample by sample
(95 % t). *No gain is shown* after a step if from it, and from every later one, the interval of the gain holds 0, with
the error shared among all steps looked from (Bonferroni). It is no promise: a gain too small for these samples may be
there, other checkpoints may do better, and looking again after each new validation is not allowed for.
"""

parts.header(__doc__ or "")
looks = Looks(data.run_names(), data.baseline())
top = st.container()
left, middle, right = st.columns([1, 1.4, 1.4], vertical_alignment="bottom")
with left:
    filters = one_of_many(money_panels.scope())
with middle:
    by = money_panels.grouping()
with right:
    solved_from = money_panels.bound()
data.ask_ahead(filters, "time_shares", "step_waits", "prices")
spent = data.ask("costs", filters, by="step")
if spent.empty:
    parts.empty("The filters leave no rollout.", "observatory ingest PATH")
    st.stop()

shares = data.ask("time_shares", filters)
waits = data.ask("step_waits", filters)
effect = data.ask("cost_effect", filters, by="run", reward_at_least=solved_from)
with top:
    money_panels.verdict(shares, waits, spent, effect, looks)
    for each in money_words.cautions(shares, waits, spent, looks.names):
        parts.warning(each)
    st.caption(parts.plain(money_words.prices(data.ask("prices", filters), spent)))
    money_panels.figures(shares, waits, spent, effect)

if shares["num_rollouts"].any():
    money_panels.main_plot(filters, looks, by)
else:
    parts.missing("latency")
money_panels.waiting(waits, filters, looks)
money_panels.costs(filters)
money_panels.gains(filters, looks)
parts.table(effect, "cost_effect", label="Table of what a solved sample costs")
parts.how(HOW)
