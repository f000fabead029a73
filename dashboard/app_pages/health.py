"""Is training alive, learning, and not collapsing?"""

import streamlit as st

from dashboard import charts, data, parts, training_charts, training_panels, training_words
from dashboard.selection import opening, rollouts_behind

HOW = """
What trainers report goes by other names in each; `observatory rules health` prints which name fills which measure, and
a copy of it in the store's folder, `health.toml`, replaces it. Where a trainer reports nothing, what can be is computed
from the rollouts that are here, and the page says which it is. Rewards are means over samples; other computed means are
over rollouts, groups or turns, as their n says.

A pattern is judged by medians of the first and the last window (a fifth of the steps, 3 to 20) and counts only beyond
four standard errors of the noise from step to step; with fewer than ten steps it cannot be said. *Reward up while
validation is flat* rests on the 95 % interval of the held-out reward's rise, paired sample by sample. Where the grader
changed in between, rewards do not compare, and nothing is said of them. Bounds stand in the same rules, and most are
rules of thumb: what is found is a reason to look, and what is not found is no proof of health.

*Mismatch* is how far the trainer's log-probability of the sampled tokens is from the sampler's. Off-policy age is the
step minus the version of the policy that a rollout began with.
"""

parts.header(__doc__ or "")
top = st.container()
run_id = training_panels.choose()
filters = data.filters() if run_id is None else data.filters().only(run_id)
series = data.ask("health_series", filters)
if run_id is None or series.empty:
    parts.missing("step")
    st.stop()

patterns, names = data.ask("health_patterns", filters), data.ask("health_names", filters)
step = training_panels.cursor(series)
with top:
    parts.verdict(training_words.verdict(patterns, data.run_names().get(run_id, run_id)))
    for caution in training_words.cautions(patterns):
        parts.warning(caution)
    training_panels.figures(series, step)

colour = charts.run_colours(data.run_names(), data.baseline())[run_id]
figure = training_charts.health_figure(series, patterns, step, colour)
alt = f"Panels over steps: {', '.join(dict.fromkeys(series['panel']))}; the cursor is at step {step}"
parts.plot(figure, "health", series, select=True, on_points=training_panels.moved, alt=alt)
st.caption(parts.plain(" ".join((training_words.sources(series), training_words.unrecognised(names)))))

st.subheader(f"Step {step}", anchor=False)
with st.expander("All values at this step", key="at_step"):
    st.markdown(parts.plain(training_words.at_step(series, step)))
rollouts_behind([{"run_id": run_id, "step": step}], "health", filters=filters)

training_panels.every_run(data.filters(), run_id)
parts.table(training_words.standing(patterns), "health_patterns", label="Every pattern that was looked for")
parts.table(series, "health_series", on_row=opening("health_series", filters))
parts.table(lambda: data.ask("health_turns", filters), "health_turns", label="Turns after tool results, and others")
if len(names):
    parts.table(names, "health_names", label="Which reported name filled what")
parts.how(HOW)
