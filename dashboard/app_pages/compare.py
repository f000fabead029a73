"""Is the fine-tuned model better than the baseline, and at what cost?"""

from dataclasses import replace

import streamlit as st

from dashboard import (
    claim_words,
    compare_cautions,
    compare_controls,
    compare_panels,
    compare_view,
    compare_words,
    data,
    parts,
)

HOW = """
Every sample counts once in each arm, with the mean over its attempts in which the measure is known; only samples that
both arms attempted are compared. Differences are candidate minus baseline; the interval is a 95 % t interval over the
per-sample differences (Bonett–Price where single attempts pass or fail), unless another is chosen under *Options*. It
speaks of these two checkpoints on these samples, not of the method that trained them. Failures count as they were
graded unless left out. A claim holds where the 95 % interval lies beyond its margin; a claim about reward and cost
where each part holds (intersection–union). Slices without a difficulty of their own are thirds by the mean reward of
both arms; p-values of slices and of single samples are adjusted for their number (Benjamini–Hochberg).

A sample is *better*, *worse* or *the same* according to a dead-band as wide as the noise between attempts at one sample
(split-half, scaled to the attempts at hand); with single attempts there is none, and every difference counts. *Chance*
is the share a quadrant gets when each arm's attempts at a sample are split in half at random, and the halves are put
together to two arms that do not differ.
The first sentence counts any difference, however small, as better or worse. Shares have Wilson intervals.
"""

parts.header(__doc__ or "")
top = st.container()
chosen = compare_controls.choose()
if chosen is None:
    parts.empty("A comparison needs two arms: two runs, or two steps of one run.", "observatory ingest PATH --run NAME")
    st.stop()

measures = data.ask("compare", **chosen.measured)
failures = data.ask("compare_failures", **chosen.sides)
if failures["arm"].nunique() < 2:
    parts.empty("The environments chosen in the sidebar leave nothing in one of the arms.")
    st.stop()

checks = data.ask("comparability", **chosen.pairing)
if not measures["num_paired"].any():
    with top:
        parts.verdict(compare_words.verdict(measures, failures))
    pairing = data.ask("compare_pairing", **chosen.pairing)
    parts.empty(compare_cautions.nothing_pairs(pairing, checks, chosen.pair_by))
    parts.table(pairing, "compare_pairing", label="What would pair, and what differs", expanded=True)
    st.stop()

plots, lists, tables = st.container(), st.container(), st.container()
with plots:
    chosen = replace(chosen, cost=compare_controls.cost_picker())
claims = data.ask("compare_claims", **chosen.claimed)
samples = data.ask("compare_samples", **chosen.judged)
slices = data.ask("compare_slices", **chosen.paired, cost=chosen.cost)
with top:
    parts.verdict(f"{compare_words.verdict(measures, failures, chosen.cost)} {claim_words.claim(claims)}")
    for each in [*compare_cautions.cautions(measures, failures, checks), *compare_view.opposite(chosen)]:
        parts.warning(each)
    compare_view.figures(chosen, measures)
    st.caption(parts.plain(claim_words.worst_slice(slices)))
with tables:
    compare_view.checked(checks, failures)
    compare_panels.by_slice(slices, samples, failures)
    compare_panels.folded(chosen, claims, measures)
    parts.table(measures, "compare", label="Paired difference of every measure")
with plots:
    picked = compare_view.plane(chosen, samples, measures, failures, tables)
with lists:
    if picked:
        compare_view.both_sides(picked, failures, "picked")
    else:
        compare_panels.changes(samples, chosen.cost, failures)
parts.how(HOW)
