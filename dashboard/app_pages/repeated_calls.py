"""Which calls does the agent repeat, and is it wasted?"""

import streamlit as st

from dashboard import data, measured, parts, repeat_panels, repeat_words
from dashboard.charts_curves import Looks
from dashboard.rows import texts
from dashboard.selection import opening

parts.header(__doc__ or "")
names = data.run_names()
looks = Looks(names, data.baseline())
top = st.container()
filters = measured.scoped(data.filters(), "run", can_group=False)
by_step = data.ask("repeats_by_step", filters)
known = by_step[by_step["num_rollouts"] > 0]

if known.empty:
    parts.missing("tool_calls")
    st.stop()

with top:
    parts.verdict(repeat_words.verdict(known, names))
    for caution in repeat_words.cautions(by_step):
        parts.warning(caution)
    repeat_panels.figures(known)

own = measured.one_of_many(filters, "Tools and patterns of the run")
data.ask_ahead(own, "repeats_by_tool", "repeat_patterns")
repeat_panels.tools(own, names)
repeat_panels.over_steps(known, looks, filters)
repeat_panels.patterns(own, names)
repeat_panels.loops(filters, int(known["num_rollouts"].sum()))
repeat_panels.transitions(filters, looks, texts(known["run_id"]))
by_tool = data.ask("repeats_by_tool", own)
parts.table(by_tool, "by_tool", label="Table of repeats by tool", on_row=opening("by_tool", own))
parts.table(by_step, "by_step", label="Table of repeats by step", on_row=opening("by_step", filters))
parts.how(
    "An **exact repeat** has the tool and the arguments of an earlier call of the same rollout, after the JSON was "
    "brought into one form (keys sorted, spaces removed). A **near repeat** is alike but not equal: the words of its "
    "argument values and those of one of the last 50 calls of the tool overlap by at least 60 % (Jaccard). Asking "
    "again is often no waste: a test run again after an edit returns something new. A repeat is **wasted** only if its "
    "output was the same again and nothing called between could have changed it; pressing a button twice is never "
    "counted. Rates are over all calls of rollouts whose arguments the source kept. Tokens are estimated as bytes of "
    "the outputs over four. A loop is a cycle of one to four calls gone through at least twice."
)
