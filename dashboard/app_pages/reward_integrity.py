"""Is the reward paid for the task, or for something else, and which rollouts show it?"""

import streamlit as st

from dashboard import data, integrity_charts, integrity_panels, integrity_words, parts
from dashboard.choices import choice

HOW = """
Every rule is documented and can be changed: `observatory rules integrity` prints them, `integrity.toml` in the
store's folder replaces them. A rule names rollouts *to read*; what it is, only reading tells. Its rate is the share
of the rollouts it applies to; where something it needs was not recorded, a rollout is left out. Failures of the
infrastructure or the grader are left out.

Intervals are Wilson's, for as many independent rollouts as the samples' attempts are worth. A rule *rises* where, in
one of a few periods of equal length, its share is higher than in the baseline run (else in the first period), beyond
noise (Newcombe's interval of a difference, one-sided, all periods together at the rulebook's confidence) and by at
least its smallest rise worth a sentence. Rules about groups are compared with the run's own first period only, as
they depend on the size of groups.

A *sudden jump* is a change of the reward's (or a grader's) level between two steps: beyond noise between samples and
between steps (t clustered by sample, all steps and graders of a split together), beyond the slope around it, and
lasting: a steady rise, a bend or one odd step is none. Samples scored on both sides are compared with themselves.

The five rollouts are drawn at random, the same for everyone. Reward and another grader are compared as changes since
the first step, in standard deviations over all rollouts of the run and split; their intervals hold for all steps
together.
"""

parts.header(__doc__ or "")
top = st.container()
filters = integrity_panels.one_run()
if filters is None:
    parts.empty("No run has rollouts, so there is nothing to judge.", "observatory ingest PATH")
    st.stop()

rules = data.ask("integrity_rules")
verdicts = data.ask("integrity_verdicts", filters)
run = data.run_names().get((filters.run_ids or ("",))[0], "")
with top:
    parts.verdict(" ".join(integrity_words.verdict(verdicts, run)))
    for each in integrity_words.cautions(verdicts, rules, **integrity_panels.circumstances(filters)):
        parts.warning(each)
    integrity_panels.jump_warnings(filters)
if verdicts.empty:
    integrity_panels.jumps(filters)
    parts.empty(
        "Rules look at what the agent said and did, and at attempts of one sample: none of that was recorded here."
    )
    st.stop()

named = [str(each) for each in dict.fromkeys(verdicts.loc[verdicts["num_flagged"] > 0, "rule"])]
plots = {"rules": "Rules by step", "second": "Reward against a second grader"}
if choice("Plot", plots, "plot", kind="buttons", label_visibility="collapsed") == "second":
    integrity_panels.second_plot(filters)
elif named:
    findings = data.ask("integrity_findings", filters)
    alt = "Share of rollouts that each rule names, with its interval"
    points = parts.plot(integrity_charts.rates(findings, named), "integrity_rates", findings, select=True, alt=alt)
    integrity_panels.rule_list(verdicts, rules, filters, points)
    parts.table(findings, "integrity_findings", on_row=integrity_panels.opening(filters))
else:
    st.caption("No rule names a rollout, so there is nothing to draw.")
integrity_panels.jumps(filters)
parts.table(verdicts.drop(columns="run_id"), "integrity_verdicts", label="Table of the rules and what they say")
parts.table(rules, "integrity_rules", label="The rules in words")
parts.how(HOW)
