"""The report after an ingest names the reward it shows, of the split it shows."""

import re
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from dashboard import cli
from dashboard.reward_names import by_split
from dashboard.sample import sample_data

TRAIN, VALID = "train_reward_mean (all rollouts of the batch)", "valid_reward_mean"


def overview(*rows: tuple[str, str | None, str | None]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["run_id", "split", "reward_name"])


def reported(*rows: tuple[str, str | None, str]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["run_id", "split", "name"])


@pytest.mark.parametrize(
    ("split", "metrics", "expected"),
    [
        ("train", [("r", "train", "train_reward_mean"), ("r", "valid", VALID)], TRAIN),
        ("valid", [("r", "train", "train_reward_mean"), ("r", "valid", VALID)], VALID),
        ("valid", [("r", None, "train_reward_mean")], None),
        ("valid", [("other", "train", "train_reward_mean")], TRAIN),
        ("valid", [], TRAIN),
        (None, [], TRAIN),
    ],
)
def test_a_split_has_its_own_reward(
    split: str | None, metrics: list[tuple[str, str | None, str]], expected: str | None
) -> None:
    found = by_split(overview(("r", split, TRAIN)), reported(*metrics))["reward_name"].iloc[0]
    assert (None if pd.isna(found) else found) == expected


def test_a_name_that_is_no_metric_holds_for_every_split() -> None:
    both = overview(("r", "train", "grader score: exact"), ("r", "valid", "grader score: exact"))
    named = by_split(both, reported(("r", "train", "reward")))
    assert named["reward_name"].tolist() == ["grader score: exact"] * 2


def test_the_report_of_the_sample_data_names_both_rewards(tmp_path: Path) -> None:
    result = CliRunner().invoke(cli.app, ["ingest", str(sample_data()), "--store", str(tmp_path)])
    said = " ".join(result.stdout.split())
    assert "0.697 → 0.756, mean over samples of train_reward_mean (all rollouts of the batch)" in said
    assert re.search(r"0\.515 → 0\.65[67], mean over samples of valid_reward_mean", said)
