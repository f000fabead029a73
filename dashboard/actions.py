"""The one door to what changes something, and to what only the sources know.

Reading data runs as a subprocess (`python -m dashboard.cli ingest …`): a pool inside Streamlit would execute the app
again in every worker. No page imports `ingest` beyond its contract; what sources can fill is asked here.
"""

import getpass
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import streamlit as st

from dashboard import data
from dashboard.sample import sample_data
from ingest import annotate
from ingest.annotate import Annotation
from ingest.errors import UnrecognisedError
from ingest.sources import SOURCES
from ingest.sources.base import FIELDS
from ingest.store import Store

LABELS = annotate.LABELS
PATIENCE = 20.0
"""Seconds that a reader waits for an ingest to finish its commit."""
_HERE = Path(__file__).resolve().parent


def sources_that_fill(field: str) -> list[str]:
    """Titles of the formats that can fill a field of `FIELDS`, in alphabetical order."""
    return sorted(each.TITLE for each in SOURCES if field in each.FILLS)


def field_words(field: str) -> str:
    """A field of `FIELDS` in words."""
    return FIELDS.get(field, field.replace("_", " "))


def offer_sample_data() -> None:
    """A button that reads the sample data and follows it."""
    try:
        folder = sample_data()
    except UnrecognisedError as error:
        st.caption(str(error))
        return
    if st.button("Read the sample data", type="primary"):
        read(folder)


def read(path: Path) -> None:
    """Read a file or folder into the store in force while the reader watches; then run the page again."""
    command = [sys.executable, "-m", "dashboard.cli", "ingest", str(path), "--store", str(data.store_root())]
    started = time.monotonic()
    with st.status("Reading", expanded=True) as status, tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen(command, stdout=said, stderr=subprocess.STDOUT, env=_environment(), cwd=_HERE.parent)
        while process.poll() is None:
            status.update(label=f"Reading {path.name} · {time.monotonic() - started:.0f} s")
            time.sleep(0.3)
        if process.returncode in (0, 3):  # 3: read, with some bad records, which Ingest health shows
            st.rerun()
        said.seek(0)
        status.update(label="It could not be read; the store is as it was", state="error")
        st.code(said.read()[-2_000:], language=None, wrap_lines=True)


def write_annotation(said: Annotation) -> None:
    """Write what a reader says of a rollout into the store.

    Raises:
        StoreError: It cannot be written; the message says why.
    """
    annotate.annotate(Store(data.store_root(), patience=PATIENCE), said)


def take_back(run_id: str, annotation_id: str) -> None:
    """Take an annotation back.

    Raises:
        StoreError: It cannot be; the message says why.
    """
    annotate.retract(Store(data.store_root(), patience=PATIENCE), run_id, annotation_id)


def reader_name() -> str:
    """Who is reading: as logged in, else the name of the account the dashboard runs under."""
    if st.user.get("is_logged_in"):
        return str(st.user.get("email") or st.user.get("name") or "reader")
    try:
        return getpass.getuser()
    except OSError:  # an account without a name, as in some containers
        return "reader"


def _environment() -> dict[str, str]:
    """The parent's environment, with a plain terminal and this package to be found."""
    found = os.pathsep.join(filter(None, [str(_HERE.parent), os.environ.get("PYTHONPATH", "")]))
    return os.environ | {"PYTHONPATH": found, "NO_COLOR": "1", "TERM": "dumb", "COLUMNS": "100"}
