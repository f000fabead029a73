"""The one door to what changes something, and to what only the sources know.

Reading data runs as a subprocess (`python -m dashboard.cli ingest …`): a pool inside Streamlit would execute the app
again in every worker. No page imports `ingest` beyond its contract; what sources can fill is asked here.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

import streamlit as st

from dashboard import data
from ingest.sources import SOURCES
from ingest.sources.base import FIELDS

_HERE = Path(__file__).resolve().parent


def sources_that_fill(field: str) -> list[str]:
    """Titles of the formats that can fill a field of `FIELDS`, in alphabetical order."""
    return sorted(each.TITLE for each in SOURCES if field in each.FILLS)


def field_words(field: str) -> str:
    """A field of `FIELDS` in words."""
    return FIELDS.get(field, field.replace("_", " "))


def sample_data() -> Path | None:
    """The bundled sample data: in the repository, or inside the installed package."""
    for folder in (_HERE.parent / "sample_data" / "finqa", _HERE / "sample_data" / "finqa"):
        if folder.is_dir():
            return folder
    return None


def offer_sample_data() -> None:
    """A button that reads the sample data and follows it."""
    folder = sample_data()
    if folder is None:
        st.caption("The sample data is not part of this installation.")
    elif st.button("Read the sample data", type="primary"):
        read(folder)


def read(folder: Path) -> None:
    """Read a folder into the store in force, showing how far it is; then run the page again."""
    command = [sys.executable, "-m", "dashboard.cli", "ingest", str(folder), "--store", str(data.store_root())]
    started = time.monotonic()
    with st.status("Reading the sample data", expanded=True) as status:
        line = st.empty()
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=_environment(), cwd=_HERE.parent
        ) as process:
            said = []
            for text in process.stdout or ():
                said.append(text.rstrip())
                line.code("\n".join(said[-8:]), language=None)
        if process.returncode in (0, 3):
            status.update(label=f"Read in {time.monotonic() - started:.0f} s", state="complete")
            st.rerun()
        status.update(label="The sample data could not be read; the store is as it was", state="error")


def _environment() -> dict[str, str]:
    """The parent's environment, with a plain terminal and this package to be found."""
    found = os.pathsep.join(filter(None, [str(_HERE.parent), os.environ.get("PYTHONPATH", "")]))
    return os.environ | {"PYTHONPATH": found, "NO_COLOR": "1", "TERM": "dumb", "COLUMNS": "100"}
