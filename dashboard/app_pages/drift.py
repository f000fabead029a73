"""Is what was trained on, judged on and met in production alike?"""

import streamlit as st

from dashboard import data, drift_charts, drift_controls, drift_panels, drift_words, parts
from ingest.errors import QuestionError

HOW = """
The two selections are taken as independent sets of samples. Every sample weighs 1, its attempts share that. *How far
apart* is, for a number, the largest gap between the two cumulative curves (Kolmogorov–Smirnov), and for a description
(tools, tags, endings) the share that would have to move to make both alike (total variation). Neither is ever 0 by
chance, and both are larger where samples are few: the grey bar is what chance alone gives for these samples, up to its
95th percentile. Where all samples have equally many attempts it is had by dealing the samples out anew 999 times, else
by drawing each selection's samples with replacement. A filled mark lies beyond chance after adjustment for the number
of measures (Holm, 0.05).

*What goes in* (prompts, environments, tags, tools offered) is a property of the data. *What the agent does* (calls,
output, errors, latency) is behaviour under a policy: different policies differ in it on the same data, and only with
the same policy is it a sign of other data. Tools weigh as much as a sample's attempts call them on average. Why
rollouts fail is compared only among rollouts that were judged, where part of the traffic was not.

Differences of means have 95 % Welch intervals over samples; those of shares add one sample that has the value and one
that has not to each selection (Agresti–Caffo), and p-values of slices and values are adjusted (Benjamini–Hochberg).
The *population stability index* in the table is Σ(q − p)·ln(q/p) over the deciles of the first selection (or the
values); it has no test and grows as samples get fewer, so nothing here is said by it.
"""

parts.header(__doc__ or "")
top = st.container()
chosen = drift_controls.choose()
if chosen is None:
    parts.empty(
        "Drift needs two selections: train and validation of a run, or production beside them.",
        "observatory ingest PATH",
    )
    st.stop()

try:
    selections = data.ask("drift_selections", **chosen.sides)
except QuestionError as error:
    drift_controls.refused(error)
    st.stop()
if not selections["num_rollouts"].all():
    parts.empty("The environments chosen in the sidebar leave nothing in one of the selections.")
    st.stop()

frame = data.ask("drift", **chosen.sides)
overlap = data.ask("drift_overlap", **chosen.sides)
slices = data.ask("drift_slices", **chosen.sides)
with top:
    parts.verdict(drift_words.verdict(selections, frame))
    for each in drift_words.cautions(selections, frame, overlap):
        parts.warning(each)
    parts.figures(drift_words.figures(frame))
    st.caption(parts.plain(drift_words.slices(slices)))

points = []
if frame["chance_p95"].notna().any():
    points = parts.plot(drift_charts.overview(frame), "drift_overview", frame, select=True, alt=drift_words.alt(frame))
measure = drift_panels.chosen_measure(points, frame)
if measure is not None:
    drift_panels.one_measure(chosen, selections, measure)
drift_panels.both(chosen, selections)
drift_panels.tables(chosen, frame, overlap, slices)
parts.how(HOW)
