"""The registry of questions: everything a page, a report, an export or the shell may ask. One line each."""

from collections.abc import Callable

import pandas as pd

from queries.curves import reward_curve
from queries.ingests import ingest_health, reject_reasons, rejects, run_overview
from queries.rollouts import rollouts
from queries.runs import runs
from queries.scope import coverage, filter_choices, filter_counts, run_names

Question = Callable[..., pd.DataFrame]
"""Called with a `Reading`, the shared `Filters` where its second parameter is so named, and its own parameters."""

QUESTIONS: dict[str, Question] = {
    "coverage": coverage,
    "filter_choices": filter_choices,
    "filter_counts": filter_counts,
    "ingest_health": ingest_health,
    "reject_reasons": reject_reasons,
    "rejects": rejects,
    "reward_curve": reward_curve,
    "rollouts": rollouts,
    "run_names": run_names,
    "run_overview": run_overview,
    "runs": runs,
}
