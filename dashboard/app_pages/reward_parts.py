"""What is the reward made of, where is it lost, and would other weights choose another checkpoint?"""

import streamlit as st

from dashboard import data, integrity_charts, integrity_panels, integrity_words, parts
from dashboard.selection import opening

HOW = """
The ideal is the sum of the positive weights, for parts between 0 and 1. A rollout that failed for no fault of the
policy's loses all of it to *failures*; one below a gate's bound loses all to the gate; any other loses, for each
part, its weight times what the part lacks. What is left over is *unexplained*: then the reward is not the weighted
sum. Weights are those that are stored, else those given here. Bars are means over samples, and sum up exactly from
the ideal to the reward.

A part is called a *gate* where all rollouts below a bound have the run's lowest reward, at least ten of them although
another part is above 0, where so many would have it by chance in fewer than one of a thousand cases, and where nine
in ten of those above have more. With other weights the stored scores are weighed anew; intervals are t over samples,
and the two best checkpoints are compared over the samples both have. Rollouts made under one reward do not show what
training under another would have led to.
"""

parts.header(__doc__ or "")
top = st.container()
filters = integrity_panels.one_run()
if filters is None:
    parts.empty("No run has rollouts, so there is no reward to take apart.", "observatory ingest PATH")
    st.stop()

own = data.ask("reward_parts", filters)
if own.empty:
    parts.missing("subscores")
    st.stop()
plot = st.container()
graders = list(dict.fromkeys(integrity_panels.known_graders(own)))
run = data.run_names().get((filters.run_ids or ("",))[0], "")
stored = data.ask("reward_waterfall", filters)
st.markdown("**Other weights**")
weights, gates = integrity_panels.whatif(filters, stored, graders)
is_stored = (stored["kind"] == "part").any()
waterfall = stored if is_stored or not weights else data.ask("reward_waterfall", filters, weights=weights, gates=gates)
with top:
    found = data.ask("reward_gates", filters)
    parts.verdict(" ".join(integrity_words.parts_verdict(waterfall, found, run)))
    for each in integrity_words.parts_cautions(waterfall):
        parts.warning(each)
with plot:
    first = integrity_panels.leading(waterfall)
    alt = "From the highest possible reward down to the reward given, a bar for each loss"
    parts.plot(integrity_charts.waterfall(first), "reward_waterfall", first, alt=alt)

if weights:
    changed = data.ask("reward_whatif", filters, weights=weights, gates=gates)
    st.markdown(parts.plain(integrity_words.whatif(changed)))
    label = "Checkpoints with these weights, and as stored"
    parts.table(changed, "reward_whatif", label=label, expanded=True, on_row=opening("reward_whatif", filters))
parts.table(own, "reward_parts", label="Table of the parts", expanded=not weights, on_row=opening("parts", filters))
parts.table(waterfall, "reward_waterfall_rows", label="Table of what is lost", on_row=opening("waterfall", filters))
parts.table(found, "reward_gates", label="Which parts could be gates", on_row=opening("gates", filters))
parts.how(HOW)
