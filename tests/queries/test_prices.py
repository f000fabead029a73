"""The price file: what it may hold, what is wrong with it by line, and which price each name has."""

from datetime import date
from pathlib import Path

import pandas as pd
import pytest

from ingest.errors import QuestionError
from ingest.sources.base import Row
from queries.connection import Reading
from queries.prices import prices, prices_in_force
from tests.stores import build_store, call, rollout

GOOD = """
dated = 2026-01-31
[[models]]
pattern = "big-.*"
input_usd_per_million = 2.0
cached_input_usd_per_million = 0.5
output_usd_per_million = 8
[[models]]
pattern = ".*"
input_usd_per_million = 1
output_usd_per_million = 4
[[tools]]
pattern = "search"
usd_per_call = 0.01
[[graders]]
pattern = "judge"
model = "big-judge"
input_tokens_per_call = 1_000
output_tokens_per_call = 100
[[environments]]
pattern = "box"
usd_per_hour = 3.6
"""


@pytest.fixture
def store(tmp_path: Path) -> Reading:
    rows = [
        rollout(
            sample_id="a",
            model="big-1",
            environment="box",
            messages=[],
            tool_calls=[call("search"), call("ls")],
            scores=[{"grader": "judge", "value": 1.0, "kind": "reward"}],
        ),
        rollout(sample_id="b"),
    ]
    return build_store(tmp_path, rows, [Row("runs", {"model": "small"}, "r")])


def wrong(store: Reading, text: str) -> str:
    (store.root / "prices.toml").write_text(text)
    with pytest.raises(QuestionError) as error:
        prices_in_force(store)
    return str(error.value)


def test_without_a_file_nothing_has_a_price(store: Reading) -> None:
    frame = prices(store)
    assert frame[["kind", "name", "num_used"]].values.tolist() == [
        ["model", "big-1", 1],
        ["model", "small", 1],
        ["tool", "ls", 1],
        ["tool", "search", 1],
        ["grader", "judge", 1],
        ["environment", "", 1],
        ["environment", "box", 1],
    ]
    assert not frame["is_priced"].any()
    assert frame["usd_per_call"].isna().all()
    assert set(frame["origin"]) == {"default"}


def test_the_first_pattern_that_matches_the_whole_name_counts(store: Reading) -> None:
    (store.root / "prices.toml").write_text(GOOD)
    frame = prices(store).set_index("name")
    assert frame.loc["big-1", "pattern"] == "big-.*"
    assert frame.loc["big-1", "cached_input_usd_per_million"] == pytest.approx(0.5)
    assert frame.loc["small", "cached_input_usd_per_million"] == pytest.approx(1.0)
    assert frame.loc["search", "usd_per_call"] == 0.01
    assert pd.isna(frame.loc["ls", "pattern"])
    assert frame.loc["judge", "usd_per_call"] == pytest.approx(1_000 * 2e-6 + 100 * 8e-6)
    assert frame.loc["box", "usd_per_hour"] == pytest.approx(3.6)
    assert set(frame["dated"]) == {"2026-01-31"}
    assert prices_in_force(store).dated == date(2026, 1, 31)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("typo = 1", "line 1: 'typo' is not known"),
        ("models = 3", "line 1: models is a list of tables"),
        ('dated = "soon"', "line 1: dated is a day"),
        ('prefer = "both"', 'prefer is "reported" or "computed"'),
        ("[[tools]]\nusd_per_call = 1", "line 1: every entry of tools needs a pattern"),
        ('[[tools]]\npattern = "("\nusd_per_call = 1', "line 2: the pattern '(' is no regular expression"),
        ('[[tools]]\npattern = "a"\nusd_per_call = -1', "line 3: usd_per_call is a number, 0 or more"),
        ('[[tools]]\npattern = "a"\nusd_per_call = nan', "line 3: usd_per_call is a number"),
        ('[[tools]]\npattern = "a"\nusd_per_call = true', "line 3: usd_per_call is a number"),
        ('[[tools]]\npattern = "a"', "line 2: the entry 'a' of tools needs a price: usd_per_call or usd_per_second"),
        ('[[tools]]\npattern = "a"\ncost = 1', "line 3: 'cost' is not known in tools"),
        (
            '[[models]]\npattern = "a"\ninput_usd_per_million = 1',
            "needs input_usd_per_million and output_usd_per_million",
        ),
        ('[[graders]]\npattern = "j"\nmodel = "m"\n', "line 3: no entry of models has a pattern that 'm' matches"),
    ],
)
def test_a_fault_names_its_line(store: Reading, text: str, said: str) -> None:
    message = wrong(store, text)
    assert said in message
    assert "prices.toml" in message


def test_a_pattern_that_would_never_end_does(store: Reading) -> None:
    (store.root / "prices.toml").write_text('[[tools]]\npattern = "(a+)+$"\nusd_per_call = 1\n')
    assert prices_in_force(store).places("tool", ["a" * 60 + "!", "aaa"]) == [None, 0]
