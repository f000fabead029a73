"""Can the grader be trusted: does it agree with people, with a second grader, and with itself?"""

import streamlit as st

from dashboard import data, grader_panels, grader_words, parts

HOW = """
Two graders are compared on the rollouts that both judged. A *verdict* is the grader's own, else whether its score
reaches a threshold; graders that mark what is wrong are turned round (`observatory rules graders` prints all of this,
`graders.toml` in the store's folder replaces it). A label `right` or `wrong` that a reader gives counts like an
expert's.

*Cohen's κ* and *Krippendorff's α* are agreement beyond what chance gives: 1 is all, 0 what two graders who know nothing
of one another reach. Intervals resample whole samples with all their attempts, 2 000 times, the same for everyone. The
interval of equal verdicts is Wilson's, for as many independent rollouts as the samples' attempts are worth; that of the
difference of scores is t over samples. Where there is one verdict only, κ and α are undefined.

A *re-grade* is a score of the same grader for the same rollout, by another version (`grader@version`) or the same one
(`grader#2`). One grading's noise is the standard deviation of the differences over √2, the mean change taken out; its
share is of the variance of scores between attempts at a sample.

*Precision of a rule*: of the rollouts whose findings readers judged, those that are real. Rollouts on which readers
contradict one another are counted apart.
"""

parts.header(__doc__ or "")
filters = grader_panels.run_with_pairs()
if filters is None:
    parts.empty("No run has a reward or a score, so there is no grader to audit.", "observatory ingest PATH")
    st.stop()

known = data.ask("graders", filters)
chosen = grader_panels.pair(known)
agreement = None if chosen is None else data.ask("grader_agreement", filters, first=chosen[0], second=chosen[1])
if agreement is None or agreement.empty:
    parts.empty(
        "No rollout that is left was judged by two graders, or by a grader and a person. Label some on their "
        "trajectories (right, wrong), or read scores of a second grader beside them.",
        "observatory annotate ROLLOUT --label right",
    )
else:
    row, of_split = grader_panels.of_split(agreement, filters)
    parts.verdict(grader_words.verdict(row))
    for each in grader_words.cautions(row, known):
        parts.warning(each)
    parts.figures(grader_words.figures(row))
    st.caption(parts.plain(grader_words.thresholds(row, known)))
    grader_panels.compared(row, of_split)
    parts.table(agreement, "grader_agreement", label="Table of the agreement")

grader_panels.versions(filters)
grader_panels.lost(filters)
grader_panels.reviews(filters)
parts.table(known, "graders", label="Table of the graders")
parts.how(HOW)
