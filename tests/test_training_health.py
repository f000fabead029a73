"""The planted collapse: every pattern of it is found, and nothing in its healthy twin or the other sample data."""

import json
from pathlib import Path

import pytest
import zstandard

from dashboard.sample import sample_data
from ingest.runner import Request, ingest
from ingest.store import Store
from queries.connection import Reading, open_store
from queries.filters import Filters
from queries.health_patterns import health_patterns
from sample_data import training_health


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Reading:
    root = tmp_path_factory.mktemp("health")
    ingest(Store(root), Request([training_health.DATA, sample_data()], workers=1))
    return open_store(root)


def test_the_script_writes_the_same_lines_again() -> None:
    with training_health.DATA.open("rb") as file:
        kept = zstandard.ZstdDecompressor().stream_reader(file).read().splitlines()
    assert [json.loads(each) for each in kept] == json.loads(json.dumps(list(training_health.lines())))
    assert training_health.DATA.stat().st_size < 100_000


def test_everything_planted_is_found_and_nothing_else(store: Reading) -> None:
    frame = health_patterns(store, Filters(run_ids=(training_health.COLLAPSE, training_health.HEALTHY)))
    found = frame[frame["verdict"] == "found"]
    assert set(found["run_id"]) == {training_health.COLLAPSE}
    assert set(found["pattern"]) == set(training_health.PLANTED)
    held = found[~found["kind"].isin(["flat"])]
    assert (held["from_step"] >= training_health.BREAK).all()


def test_the_sample_job_is_healthy(store: Reading) -> None:
    frame = health_patterns(store, Filters(run_ids=("finqa-rft",)))
    assert "found" not in set(frame["verdict"])
    assert len(frame) > 10


def test_the_files_are_where_an_installed_package_has_them() -> None:
    assert sample_data().parent / "training_health" / "training_collapse.jsonl.zst" == training_health.DATA
    assert Path(training_health.DATA).exists()
