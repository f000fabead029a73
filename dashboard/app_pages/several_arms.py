"""How do more than two arms compare: against one baseline, on a new base model, along a setting, and for their cost?"""

import streamlit as st

from dashboard import parts, several_controls, several_panels
from dashboard.choices import choice

VIEWS = {
    "baseline": ("Against one baseline", several_panels.against_baseline),
    "base_model": ("Change of base model", several_panels.base_model),
    "setting": ("Along a setting", several_panels.setting),
    "frontier": ("Quality against cost", several_panels.frontier),
}
HOW = """
Every sample counts once in each arm, with the mean over its attempts in which the measure is known. Differences are had
sample by sample, on the samples both arms attempted, then averaged; intervals are 95 % t intervals over samples
(Bonett–Price where single attempts pass or fail), p-values flip the signs of whole samples. A difference counts as
shown where its interval leaves out 0 and its p-value, adjusted for the number of arms (Holm), is at most 0.05.

*Change of base model*: all figures are over the samples of all four arms. The gain on the new minus the gain on the old
base model is had for each sample, then averaged.

*Along a setting*: a run stands at its last step in the split that comparisons take; an evaluation's hyperparameters
are those of the run it evaluates. Runs that do not say the setting are listed, not drawn. That runs differ in a setting
does not say that the setting made the difference: they may differ in more.

*Quality against cost*: an arm is on the frontier if no other is at least as good and at most as costly. How sure that
is: the share of 2 000 resamples of the shared samples, drawn for all arms at once, in which it is.
"""

parts.header(__doc__ or "")
top = st.container()
view = choice("View", {name: title for name, (title, _) in VIEWS.items()}, "view", kind="buttons")
VIEWS[view][1](several_controls.scene(), top)
parts.how(HOW)
