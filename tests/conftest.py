"""Fixtures shared by all tests."""

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
REAL_DATA = ROOT.parent / "shared" / "data"


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of real files, beside the repository; tests that need it are skipped, saying so, where it is absent."""
    if not REAL_DATA.is_dir():
        pytest.skip("the real files (../shared/data) are not here")
    return REAL_DATA
