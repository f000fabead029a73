"""Sentences of the Runs page."""

from pathlib import Path

import pandas as pd

from dashboard import run_words
from queries.runs import runs
from tests.stores import build_store, rollout


def made(root: Path) -> pd.DataFrame:
    values = {"zava": ((0, 0.43), (18, 0.72)), "base": ((0, 0.40),)}
    return runs(
        build_store(
            root,
            [
                rollout(run, sample_id="a", split="valid", step=step, reward=reward, status="completed")
                for run, cells in values.items()
                for step, reward in cells
            ],
        )
    )


def test_the_verdict_names_the_best_run_with_n_and_change(tmp_path: Path) -> None:
    assert run_words.verdict(made(tmp_path)) == (
        "2 runs, 3 rollouts. Latest validation reward: lowest base, 0.400 at step 0 (n = 1 sample); "
        "highest zava, 0.720 at step 18 (n = 1 sample), +0.290 against step 0."
    )


def test_nothing_scored_is_a_verdict(tmp_path: Path) -> None:
    found = runs(build_store(tmp_path, [rollout("r", sample_id="a", reward=None)]))
    assert run_words.verdict(found) == "1 run, 1 rollout. Nothing in them is scored."
    assert run_words.caution(found) == "r: nothing scored."


def test_different_splits_are_cautioned(tmp_path: Path) -> None:
    found = runs(
        build_store(
            tmp_path,
            [
                rollout("a", sample_id="a", split="valid", step=0, reward=1.0),
                rollout("b", sample_id="a", split="train", step=0, reward=1.0),
            ],
        )
    )
    assert run_words.caution(found) == "Rewards are not of one split: validation, train."


def test_one_run_is_compared_with_its_first_step_and_two_with_each_other(tmp_path: Path) -> None:
    found = made(tmp_path).set_index("run_id", drop=False)
    assert run_words.arms(found.loc[["zava"]]) == {"baseline": "zava@0", "candidate": "zava@18"}
    found.loc["base", "kind"] = "baseline"
    assert run_words.arms(found.loc[["zava", "base"]]) == {"baseline": "base@0", "candidate": "zava@18"}
