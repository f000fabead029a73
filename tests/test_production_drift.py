"""The planted drift: found where it was planted, and nothing in the agent that meets what it was judged on."""

import json

import pytest
import zstandard

from ingest.runner import Request, ingest
from ingest.store import Store
from queries.connection import Reading, open_store
from queries.drift import drift, drift_categories, production_drift
from queries.drift_slices import drift_overlap, drift_slices
from sample_data import production_drift as planted


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Reading:
    root = tmp_path_factory.mktemp("drift")
    ingest(Store(root), Request([planted.DATA], workers=1))
    return open_store(root)


def test_the_script_writes_the_same_lines_again() -> None:
    with planted.DATA.open("rb") as file:
        kept = zstandard.ZstdDecompressor().stream_reader(file).read().splitlines()
    assert [json.loads(each) for each in kept] == json.loads(json.dumps(list(planted.lines())))
    assert planted.DATA.stat().st_size < 100_000


def test_production_unlike_validation_is_found(store: Reading) -> None:
    frame = production_drift(store, arm=planted.UNLIKE).set_index("measure")
    assert set(frame.index[frame["is_shifted"]]) >= {"prompt_bytes", "tag", "tool"}
    assert frame.loc["prompt_bytes", "ratio"] == pytest.approx(planted.PLANTED["prompt_ratio"], abs=0.2)
    tools = drift_categories(store, first=planted.UNLIKE, first_split="valid", by="tool").set_index("value")
    found = tools.loc["search"]
    assert found["first_share"] == pytest.approx(planted.PLANTED["search_valid"], abs=0.04)
    assert found["second_share"] == pytest.approx(planted.PLANTED["search_production"], abs=0.04)
    slices = drift_slices(store, first=planted.UNLIKE, first_split="valid", by="tag").set_index("slice")
    assert slices.loc["complaint", "ci_low"] > 0


def test_production_like_validation_claims_nothing(store: Reading) -> None:
    frame = production_drift(store, arm=planted.ALIKE)
    assert frame["num_first"].max() == planted.NUM_VALID
    assert not frame["is_shifted"].any()
    slices = drift_slices(store, first=planted.ALIKE, first_split="valid")
    assert (slices["p_value_bh"] > 0.05).all()


def test_train_and_validation_are_alike_but_for_the_samples_in_both(store: Reading) -> None:
    assert not drift(store, first=planted.UNLIKE, first_split="train")["is_shifted"].any()
    leaked = drift_overlap(store, first=planted.UNLIKE, first_split="train")
    assert set(leaked["num_total"]) == {planted.PLANTED["num_leaked"]}
    assert drift_overlap(store, first=planted.ALIKE, first_split="train").empty
