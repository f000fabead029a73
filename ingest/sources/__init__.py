"""The registry of sources: one line each, most specific first. The annotation is what type-checks every module."""

from ingest.sources import (
    observatory_jsonl,
    openai_evals,
    openai_fine_tuning,
    prime_rl,
    tau_bench,
    trl,
    verifiers,
    verifiers_legacy,
    verl,
)
from ingest.sources.base import Source

SOURCES: tuple[Source, ...] = (
    tau_bench,
    openai_fine_tuning,
    openai_evals,
    prime_rl,
    verifiers,
    verifiers_legacy,
    trl,
    verl,
    observatory_jsonl,  # the most general: last
)


def source(name: str) -> Source:
    """The source of that name.

    Raises:
        KeyError: There is none.
    """
    return {each.NAME: each for each in SOURCES}[name]
