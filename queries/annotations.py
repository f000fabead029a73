"""Questions about what readers said of rollouts: labels and notes, by whom and when."""

from dataclasses import replace

import pandas as pd

from queries.connection import Reading
from queries.filters import EVERYTHING, Filters


def annotations(store: Reading, filters: Filters = EVERYTHING, *, rollout_id: str | None = None) -> pd.DataFrame:
    """One row per annotation, newest first: what did readers say of which rollout?

    Columns: created_at, author, label (`real` or `false_alarm` of a finding, `note`, or a word of the reader's own),
    rule (whose finding is judged), note (text), message_index (NULL = of the whole rollout), is_latest (the last its
    author said of this rollout, message and rule; false of a note), sample_id, split, step, reward (NULL where the
    rollout is no longer in the store), run_id, rollout_id, annotation_id.
    """
    is_narrowed = replace(filters, run_ids=None) != EVERYTHING
    return store.ask("annotations", {**filters.parameters(), "rollout_id": rollout_id, "is_narrowed": is_narrowed})
