"""What happened in this rollout?"""

import streamlit as st

from dashboard import data, parts, styles, trajectory_search, trajectory_view, trajectory_words

parts.header(__doc__ or "")
facts = trajectory_view.chosen()
if facts is None:
    if "rollout" in st.query_params:
        parts.empty("This store does not hold the rollout that the address names; it may be in another snapshot.")
    else:
        parts.empty("No rollout is chosen. Open one from the rollouts listed under any plot, or from Samples.")
    st.page_link("app_pages/samples.py", label="Go to the samples", icon=":material/arrow_forward:")
    st.stop()

st.html(f"<style>{styles.trajectory(data.theme())}</style>")
messages, calls = trajectory_view.outlined(facts)
pages = trajectory_words.windows(messages)
parts.verdict(trajectory_words.verdict(facts))
parts.warning(trajectory_words.caution(facts))
trajectory_view.steer(facts, trajectory_words.error_places(calls))
trajectory_view.when(facts, messages, calls)
if len(messages) or len(calls):
    trajectory_search.search(facts, trajectory_view.shown(pages), trajectory_view.address())
conversation, side = st.columns([7, 3], gap="large")
with conversation:
    trajectory_view.talk(facts, pages, calls)
with side:
    trajectory_view.side(facts, messages, calls, pages)
trajectory_view.more(facts)
parts.how(
    "Roles have an edge each. A tool call is a card under the message that asked for it, with its answer inside: "
    "✕ marks a failed call (an error *recognised from the text* is one the source did not flag), ⟳ a call with the "
    "tool and arguments of an earlier one; it is *wasted* where the output was the same too and no call in between "
    "could have changed it. Texts fold after 20 lines. Keys: j and k go to the next and previous rollout of the same "
    "run, step and split that the filters leave, n and p to the next and previous error, s to the search."
)
