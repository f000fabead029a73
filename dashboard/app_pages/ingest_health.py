"""What was read, what was rejected and why, and what can this store not show?"""

import streamlit as st

from dashboard import actions, data, health_words, parts
from dashboard.selection import opening
from dashboard.words import size

parts.header(__doc__ or "")
names = data.run_names()
health = data.ask("ingest_health", data.filters())
if health.empty:
    parts.empty("No source belongs to the runs that are chosen; remove the filter on runs in the sidebar.")
    st.stop()

coverage = data.ask("coverage", data.filters())
reasons = data.ask("reject_reasons", data.filters())
rollouts = health_words.num_rollouts(data.ask("table_sizes", data.filters()))
parts.verdict(health_words.verdict(health, rollouts))
parts.warning(health_words.caution(health, coverage))
parts.figures(health_words.figures(health, rollouts))

if len(reasons):
    st.subheader("What could not be read", anchor=False)
    st.caption("Every bad record is kept with its file, its position and the reason; the rest of its file was read.")
    parts.table(reasons, "reject_reasons", label="By reason", expanded=True)
    shown = data.ask("rejects", data.filters(), limit=500)
    parts.table(shown, "rejects", label="The records themselves (at most 500)")

remarks = health_words.notes(health, names)
if len(remarks):
    st.subheader("Warnings of the readers", anchor=False)
    st.dataframe(
        remarks,
        hide_index=True,
        column_config={
            "remark": st.column_config.TextColumn("remark", width=640),
            "num_sources": "sources",
            "runs": st.column_config.TextColumn("runs", width="medium"),
        },
        height="content" if len(remarks) <= 12 else 440,
        row_height=36 if remarks["remark"].str.len().max() < health_words.ONE_LINE else 60,
        key="remarks",
        alt="Warnings of the readers",
    )

st.subheader("What this store can show", anchor=False)
filled = health_words.filled(coverage, names)
percent = {each: st.column_config.ProgressColumn(each, format="percent", min_value=0, max_value=1, width=112)
           for each in filled.columns[2:] if not each.endswith("rows")}  # fmt: skip
parts.table(filled, "coverage", columns=percent, label="Share of each run's rollouts that have a field", expanded=True)
missing = health_words.absent(coverage)
if missing:
    st.markdown("**Nothing that was read says anything about:**")
    for field in missing:
        said = health_words.absence(actions.field_words(field), actions.sources_that_fill(field))
        st.markdown(f"- {parts.plain(said)}")

st.subheader("Sources", anchor=False)
columns = dict.fromkeys(("num_rows", "notes", "fills")) | {"num_bytes": "size"}
parts.table(health_words.sources(health), "ingest_health", columns=columns, formats={"num_bytes": size}, expanded=True,
            label="Every source, the last read first", on_row=opening("sources"))  # fmt: skip
parts.how(
    "A source is the unit that is read and replaced together: a file, or a folder whose files belong to one another. "
    "Reading it again replaces what it brought. Filters on runs apply to everything here, the other filters only to "
    "the share of rollouts that have a field. A field counts as there where it is not NULL; nothing is guessed."
)
