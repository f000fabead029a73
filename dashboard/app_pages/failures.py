"""Why is each zero a zero, and whose failure is it?"""

import streamlit as st

from dashboard import data, failure_panels, failure_words, parts
from dashboard.charts_curves import Looks
from dashboard.choices import choice
from dashboard.measured import one_of_many
from queries.failure_rules import failure_rules

HOW = """
**Without success** is a rollout that an error ended (status infra_error, grader_error, cancelled), that did not pass,
that has a reward at its floor where no verdict is known, or that has neither. Each has one cause: that of the first
rule of `failures.toml` that fits (below; `observatory rules failures` prints it, a file of that name in the store's
folder replaces it). A rollout that passed has no cause, and a tool error from which it recovered is none: only errors
of tools whose last call failed count.

**Shares** are over all rollouts; their intervals are Wilson's, for as many independent rollouts as the samples'
attempts are worth. **Left out** are rollouts that infrastructure or grader failed: the reward then is over the
samples that are left, and the bounds give those rollouts the lowest and the highest reward there is (Manski). Other
pages leave failures out by their status alone.

**Bursts**: a run's time is cut into 48 slices, and of every stretch of slices, on every host and of every tool, the
one with most failures beyond its share is compared with what the same number of failures dealt out by chance would
reach (Kulldorff's scan statistic, 199 deals). That pays for looking at many stretches; only p ≤ 0.01 is named.
Rollouts count when they began; calls of a tool fail by server error, rate limit, lost connection or timeout.
**Load**: rollouts of a run in groups of equal size by how many were in flight when they began.
"""
VIEWS = {"causes": "Causes", "reward": "Reward", "time": "When and where", "load": "Load"}

parts.header(__doc__ or "")
filters, looks = one_of_many(data.filters()), Looks(data.run_names(), data.baseline())
book = data.ask("failure_rulebook")
titles = dict(zip(book["cause"], book["title"], strict=True))
causes = data.ask("failure_causes", filters)
if causes.empty:
    parts.empty("The filters leave no rollout: nothing can have failed.")
    st.stop()
coverage = data.ask("failure_coverage", filters)
bursts = data.ask("failure_bursts", filters)
parts.verdict(failure_words.verdict(causes, titles, looks.names))
floor = failure_rules(data.reading()).floor
for each in failure_words.cautions(causes, coverage, book, floor, looks.names):
    parts.warning(each)
for each in failure_words.bursts(bursts, coverage, looks.names):
    parts.warning(each)

view = choice("View", VIEWS, "view", kind="buttons")
if view == "causes":
    by = choice("By", {"run": "run", "split": "split", "step": "step"}, "by", kind="buttons")
    shown = causes if by == "run" else data.ask("failure_causes", filters, by=by)
    own = failure_panels.one_curve(filters, shown, looks) if by == "step" else filters
    shown = shown if own == filters else data.ask("failure_causes", own, by=by)
    failure_panels.causes_view(shown, titles, looks, own, by=by)
    parts.table(shown, "failure_causes", label="Table of causes")
elif view == "reward":
    failure_panels.reward_view(filters, looks)
elif view == "time":
    failure_panels.time_view(filters, looks, bursts)
else:
    failure_panels.load_view(filters, looks)
parts.table(book, "failure_rulebook", label="Rules in force, the first that fits wins")
parts.how(HOW)
