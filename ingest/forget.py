"""Removes a run, or what one source brought, from the store."""

import shutil
from datetime import UTC, datetime
from pathlib import Path

from ingest.commit import Batch, Entry, ReadSource, commit, ledger
from ingest.discover import source_uri
from ingest.errors import StoreError
from ingest.runs import run_slug
from ingest.sources import SOURCES
from ingest.store import Store


def forget(store: Store, what: str) -> str:
    """Forget a run (by name or id) or a source (by path or URI). Returns a sentence on what was removed.

    Raises:
        StoreError: Neither a run nor a source of that name is in the store.
    """
    entries = ledger(store)
    for source_id in (what, source_uri_or_text(what)):
        if source_id in entries:
            entry = entries[source_id]
            _forget_source(store, entry)
            return f"Forgot what {source_id} brought to {', '.join(entry.run_ids)}."
    run_id = run_slug(what)
    if any(run_id in entry.run_ids for entry in entries.values()):
        store.forget([run_id])
        return f"Forgot run {what}."
    known = sorted({run for entry in entries.values() for run in entry.run_ids})
    raise StoreError(
        f"{what!r} is neither a run nor a source of this store; its runs: {', '.join(known[:20]) or 'none'}"
    )


def _forget_source(store: Store, entry: Entry) -> None:
    """Read the source as empty: what crosses sources (attempts, joined rollouts, summaries) is finished again."""
    gone = ReadSource(SOURCES[0], Path(entry.path), entry.source_id, "", "", 0, entry.run_ids)
    staging = store.staging()
    try:
        commit(store, Batch([], {entry.source_id: gone}, staging), datetime.now(UTC))
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def source_uri_or_text(what: str) -> str:
    """URI of a path, the text itself where it is a URI already."""
    return what if "://" in what else source_uri(Path(what))
