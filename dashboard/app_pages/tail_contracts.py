"""Do rollouts keep their limits, and what do those over them cost?"""

import streamlit as st

from dashboard import contract_panels, contract_words, data, measured, parts
from dashboard.charts_curves import Looks
from dashboard.rows import texts
from dashboard.selection import opening

HOW = """
A rollout is *over* a limit when its value is above the bound. The share over is of the rollouts whose value is known;
its interval is Wilson's, for as many independent rollouts as the samples' attempts are worth. A limit on every rollout
is broken by a single one over it; where none is, the interval says how many could be. P95 is at most 30 s exactly where
at most 5 % of rollouts are above 30 s: a limit on a percentile or a share is *kept* where the whole interval of the
share over lies within what is allowed, *broken* where it lies beyond, and else it *cannot be said*. The interval of the
percentile itself comes from order statistics, for as many; it needs 72 of them for P95.

A rollout that a budget stopped (`budget_exceeded`, `truncated`) at the bound is not over it: such rollouts are counted
apart. Costs are shares of the total where it is known. What would be saved had rollouts stopped at the limit is exact
for the limited measure; other costs are taken to grow evenly with it. A grader is taken for a penalty where its name
says so (penalty, punishment, overlong), or where it is not the reward, is sometimes below 0, and is never above 0 or
named after a budget or length.

Between two arms a sample is in the tail when at least half of its attempts are over the limit. The change is the mean
over paired samples of the share of attempts over, candidate minus baseline, with a t interval (by cluster, where
samples that are alike share something: *Options*); p is McNemar's exact one where every sample has one attempt in each
arm and stands for itself, else that of a sign flip.
"""

parts.header(__doc__ or "")
looks = Looks(data.run_names(), data.baseline())
top = st.container()
held = contract_panels.limits_box(data.filters())
if held.empty:
    parts.empty(
        "No limit is set, and the runs' configuration names none. Write some above, for example "
        "tool_calls<=10; p95(latency_s)<=30; messages<=100, or list them in limits.toml in the store's folder."
    )
    st.stop()

limits = "; ".join(texts(held["limit"]))
filters = measured.one_of_many(measured.scoped(data.filters(), "step", can_group=False))
by_step = contract_panels.of_one_split(data.ask("contract_shares", filters, limits=limits, by="step"))
if by_step.empty:
    parts.empty("No rollout is left by the filters in the sidebar.")
    st.stop()
shares = contract_panels.judged(by_step, filters, limits)
groups = contract_panels.names_of(shares, looks)

with top:
    for finding in contract_words.verdict(shares, groups):
        parts.verdict(finding)
    for caution in contract_words.cautions(shares, groups):
        parts.warning(caution)
    parts.figures(contract_words.figures(shares, groups))

row = contract_panels.table(shares, groups)
points = contract_panels.over_limits(by_step, looks)
contract_panels.lists(points or row, filters, looks)
parts.table(by_step, "contract_shares", on_row=opening("contract_shares", filters))
contract_panels.costs(shares, filters, limits)
contract_panels.movers(limits)
parts.how(HOW)
