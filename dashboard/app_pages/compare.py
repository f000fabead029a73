"""Is the fine-tuned model better than the baseline, and at what cost?"""

import streamlit as st

from dashboard import compare_cautions, compare_controls, compare_view, compare_words, data, parts

HOW = """
Every sample counts once in each arm, with the mean over its attempts in which the measure is known; only samples that
both arms attempted are compared. Differences are candidate minus baseline; the interval is a 95 % t interval over the
per-sample differences, unless another is chosen under *Options*. Failures count as they were graded unless left out.

A sample is *better*, *worse* or *the same* according to a dead-band as wide as the noise between attempts at one sample
(split-half, scaled to the attempts at hand); with single attempts there is none, and every difference counts. *Chance*
is the share a quadrant gets when each arm's attempts are split in half at random and the arm is compared with itself.
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
with top:
    parts.verdict(compare_words.verdict(measures, failures))
if not measures["num_paired"].any():
    pairing = data.ask("compare_pairing", **chosen.pairing)
    parts.empty(compare_cautions.nothing_pairs(pairing, checks, chosen.pair_by))
    parts.table(pairing, "compare_pairing", label="What would pair, and what differs", expanded=True)
    st.stop()
with top:
    for each in compare_cautions.cautions(measures, failures, checks):
        parts.warning(each)
    parts.figures(compare_words.figures(measures))

plots, lists, tables = st.container(), st.container(), st.container()
with tables:
    compare_view.checked(checks)
    parts.table(measures, "compare", label="Paired difference of every measure")
with plots:
    picked = compare_view.plane(chosen, failures, tables)
with lists:
    compare_view.both_sides(picked, failures, "picked")
parts.how(HOW)
