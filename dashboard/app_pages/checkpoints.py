"""Which checkpoint is best, and how sure is that?"""

import streamlit as st

from dashboard import (
    charts,
    checkpoint_charts,
    checkpoint_controls,
    checkpoint_view,
    checkpoint_words,
    data,
    drift_notice,
    parts,
)
from dashboard.selection import opening, rollouts_behind

HOW = """
A step's reward is the mean over samples of each sample's mean over its scored rollouts. The best one was chosen for
being highest on these very samples, so part of its lead is luck. How much is seen by drawing samples with replacement
2 000 times, choosing anew each time, and comparing the chosen step's mean there with its mean here; the mean of these
differences is taken off. Where all steps are equally good this finds about 0.7 of the luck, so the most it can be is
given too, and the interval's lower end allows for that. *Held out* is another way: the step is chosen on one half of
the samples and its mean taken on the other, over many splits, which speaks of a choice made on half as many samples.
Only samples scored at every step are compared, unless these are few.

A step *cannot be told* from the best where the interval of their difference, sample by sample, holds 0. These intervals
hold for all steps at once (Bonferroni), so the step that is truly best is among the tied ones, or the best itself, with
95 % confidence.

Intervals of P95 come from order statistics, for as many independent rollouts as the attempts at the samples are worth,
and need 72 of these. Rates are over rollouts of which it is known. *Agree share* is over samples with several attempts:
those whose attempts all have the same reward.
"""

parts.header(__doc__ or "")
top = st.container()
chosen = checkpoint_controls.choose()
if chosen is None:
    parts.missing("step")
    st.stop()

asked = {"split": chosen.split, "clusters": chosen.clusters}
found = data.ask("checkpoint_choice", chosen.filters, **asked)
steps = data.ask("checkpoint_figures", chosen.filters, **asked)
if found.empty:
    parts.empty("Nothing that the filters leave of this run is scored at any step of this split.")
    st.stop()

train, warnings = checkpoint_view.beside(chosen, steps)
choice, name = checkpoint_view.only_row(found), data.run_names()[chosen.run_id]
with top:
    parts.verdict(checkpoint_words.verdict(choice, steps, name))
    for caution in checkpoint_words.cautions(choice, warnings, checkpoint_view.environments(chosen)):
        parts.warning(caution)
    drift_notice.judged(f"{chosen.run_id}@{int(choice['best_step'])}", chosen.split, chosen.filters.environments)
    parts.figures(checkpoint_words.figures(choice, steps))
    st.caption(
        f"{checkpoint_words.held_out(choice)} Intervals are about this checkpoint on samples like these, not about the "
        "method: another training run differs."
    )

colour = charts.run_colours(data.run_names(), data.baseline())[chosen.run_id]
figure = checkpoint_charts.reward_by_step(steps, choice, train, colour)
points = parts.plot(figure, "checkpoint_rewards", steps, select=True, alt=checkpoint_words.alt(choice, steps))
rollouts_behind(points, "checkpoint_rewards", filters=chosen.filters)
checkpoint_view.compare_link(chosen, choice, steps, checkpoint_words.selected(points, choice))

checkpoint_view.side_by_side(chosen, steps)
parts.table(steps, "checkpoint_figures", label="All columns, with intervals", on_row=opening("figures", chosen.filters))
parts.table(found, "checkpoint_choice", label="The choice in numbers")
if len(warnings):
    parts.table(warnings, "checkpoint_warnings", label="The warnings in numbers")
parts.how(HOW)
