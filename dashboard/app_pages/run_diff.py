"""What differs between two runs?"""

import streamlit as st

from dashboard import data, parts, run_diff_view, run_diff_words

HOW = """
A setting is everything the run's sources say of its configuration and hyperparameters, key by key (nested keys joined
by a point, several sources of one run put together), and what its rollouts and scores show: versions of grader, prompt
and tools with the steps at which they changed, the tools that were called, graders with their kind and weight, samples
and attempts. Words in a name decide its section, wherever the setting stands. Values are compared as values: 1 is 1.0,
the order of keys means nothing, *true* is no text. Results and what tells the runs apart are listed, but are no
settings.

The system prompt is read of 24 rollouts a run, of the same samples in both where they share any; where it differs from
sample to sample, their number and a digest are compared. Equal digests mean equal sets. Keys and tokens are hidden.
"""

parts.header(__doc__ or "")
top = st.container()
chosen = run_diff_view.pick()
if chosen is None:
    parts.empty("It takes two runs to see what differs between them.", "observatory ingest PATH --run NAME")
    st.stop()

sides = dict(zip(("baseline", "candidate"), chosen, strict=True))
names = [data.run_names().get(each, each) for each in chosen]
found = data.ask("run_diff", **sides)
with top:
    parts.verdict(run_diff_words.verdict(found, *names))
    parts.warning(run_diff_words.silences(found, *names))
    parts.figures(run_diff_words.figures(found))
run_diff_view.links(sides)
run_diff_view.settings(found)
run_diff_view.prompts(sides)
run_diff_view.several()
parts.how(HOW)
