"""Which samples can be learned from, and how much signal would a batch carry, before compute is spent?"""

import streamlit as st

from dashboard import data, learnability_controls, learnability_view, learnability_words, parts
from dashboard.rows import records

HOW = """
A trainer that compares attempts at one prompt (GRPO and its kin, RFT) learns from a group where its rewards differ.

*Success* is told by the source's or grader's verdict; without one, by rewards that are all 0 or 1; or by a threshold
under *Options*. Few attempts mislabel, so each sample's chance of success is shrunk: a beta distribution of chances is
fitted to all samples' counts by maximum likelihood (Beta(1, 1) where fewer than ten samples have two attempts; one with
half a pass in all attempts where nothing passed), and a sample's bar is the middle 95 % of what its own attempts leave
of it. Bars take the fitted distribution as known and are
somewhat narrow. The *chance of a pass and a failure* in a group of G is 1 − E[pᴳ] − E[(1−p)ᴳ] under it; intervals of
shares resample samples and fit the distribution anew each time.

Where rewards are graded, *rewards differ* is counted without any model, 1 − Σ C(cᵥ, G)/C(n, G) over each sample's
distinct rewards, which needs G attempts; with fewer, what is seen is a lower bound. However small a difference: a
trainer that divides by the group's standard deviation turns 0.01 into as much signal as 1.

pass@k, pass^k and best of k are the unbiased estimators over all subsets of k of the n attempts, never the best of all
n; samples with fewer than k attempts are left out. Variance between and within samples: analysis of variance, for
unequal numbers. Training groups are a source's own, else the attempts at a sample at one step, with rewards as graded.
"""

parts.header(__doc__ or "", by_subset=True)
top = st.container()
chosen = learnability_controls.choose()
if chosen is None:
    parts.empty(
        "Learnability is told of one run, at one step: none has rollouts in one split.", "observatory ingest PATH"
    )
    st.stop()

summary = data.ask("learnability_summary", **chosen.summed)
if summary.empty:
    parts.empty("The environments chosen in the sidebar leave nothing of this arm.")
    st.stop()
row = records(summary)[0]
dead = data.ask("dead_samples", **chosen.grouped)
with top:
    parts.verdict(learnability_words.verdict(row, chosen.group_size, chosen.batch_size))
    st.markdown(parts.plain(learnability_words.origin(row)))
    for each in learnability_words.cautions(row, dead):
        parts.warning(each)

if row["attempts_max"]:
    filters = learnability_controls.arm_filters(summary.iloc[0])
    samples = data.ask("learnability", **chosen.grouped)
    with top:
        parts.figures(learnability_words.figures(row, chosen.group_size, chosen.batch_size))
    learnability_view.main(chosen, samples, filters)
    st.markdown(parts.plain(learnability_words.ceiling(row)))
    learnability_view.dead(dead, filters)
    learnability_view.samples_table(samples, filters)
learnability_view.steps()
parts.table(summary, "learnability_summary", label="Table of the figures")
parts.how(HOW)
