"""The registry of sources: one line each, most specific first. The annotation is what type-checks every module."""

from ingest.sources import tau_bench
from ingest.sources.base import Source

SOURCES: tuple[Source, ...] = (tau_bench,)


def source(name: str) -> Source:
    """The source of that name.

    Raises:
        KeyError: There is none.
    """
    return {each.NAME: each for each in SOURCES}[name]
