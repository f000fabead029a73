"""Fixtures shared by all tests."""

import gc
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parents[1]
REAL_DATA = ROOT.parent / "shared" / "data"

# No deadline: a busy machine is no fault of the code. The same examples every time: a red build can be had again.
settings.register_profile("repository", deadline=None, derandomize=True)
settings.load_profile("repository")


def pytest_collection_finish() -> None:
    """Leave what is loaded by now out of garbage collection: Streamlit and statsmodels ask for one at every turn."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of real files, beside the repository; tests that need it skip, saying so, where it is absent."""
    if not REAL_DATA.is_dir():
        pytest.skip("the real files (../shared/data) are not here")
    return REAL_DATA
