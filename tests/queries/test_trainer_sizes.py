"""How large groups and batches are, under the names that trainers give them."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from ingest.sources.base import Row
from queries.filters import Filters
from queries.run_settings import Said
from queries.trainer_sizes import sizes, trainer_sizes
from tests.stores import build_store, rollout


def says(**numbers: float) -> dict[str, Said]:
    return {
        f"hyperparameters.{name.replace('__', '.')}": Said(str(each), float(each), "run")
        for name, each in numbers.items()
    }


@pytest.mark.parametrize(
    ("settings", "group", "batch"),
    [
        # TRL: a generation batch is of completions; 64 of 8 each are 8 prompts.
        ({"num_generations": 8, "generation_batch_size": 64}, (8, "num_generations"), (8, "generation_batch_size")),
        # prime-rl and verifiers: a batch is of rollouts.
        ({"rollouts_per_example": 16, "batch_size": 512}, (16, "rollouts_per_example"), (32, "batch_size")),
        # verl.
        (
            {"actor_rollout_ref__rollout__n": 5, "data__train_batch_size": 1024},
            (5, "actor_rollout_ref.rollout.n"),
            (1024, "data.train_batch_size"),
        ),
        ({"group_size": 4, "groups_per_batch": 100}, (4, "group_size"), (100, "groups_per_batch")),
        (
            {"n_samples_per_prompt": 8, "rollout_batch_size": 32},
            (8, "n_samples_per_prompt"),
            (32, "rollout_batch_size"),
        ),
        ({"batch_size": 8}, None, (8, "batch_size")),
        # A group of one is none, and half an attempt is no number of attempts.
        ({"num_generations": 1, "group_size": 2.5, "batch_size": 0}, None, None),
        # 100 rollouts are no whole number of groups of 16: not what a batch of rollouts is.
        ({"rollouts_per_example": 16, "batch_size": 100}, (16, "rollouts_per_example"), (100, "batch_size")),
        ({"batch_size_per_device": 8, "my_group_size": 4}, None, None),
    ],
)
def test_every_trainer_s_names(settings: dict[str, float], group: Any, batch: Any) -> None:
    found = sizes(says(**settings))
    for name, expected in (("group_size", group), ("batch_size", batch)):
        got = (found[name], found[f"{name}_setting"].removeprefix("hyperparameters.")) if name in found else None
        assert got == expected


def run(name: str, hyperparameters: dict[str, float] | None = None, **values: Any) -> Row:
    text = None if hyperparameters is None else json.dumps(hyperparameters)
    return Row("runs", {"name": name, "hyperparameters": text, **values}, run=name)


def test_what_a_run_does_not_say_its_parent_or_all_others_may(tmp_path: Path) -> None:
    rows = [
        run("a", {"num_generations": 8, "batch_size": 16}),
        run("b", {"num_generations": 4, "batch_size": 16}),
        run("base", kind="baseline"),
        run("eval", kind="evaluation", parent_run="b"),
    ]
    store = build_store(tmp_path, [rollout(each.run) for each in rows if each.run], rows)
    frame = trainer_sizes(store).set_index("run_id")
    assert frame.loc["a", ["group_size", "batch_size", "group_size_said_by"]].tolist() == [8, 16, "run"]
    assert frame.loc["eval", ["group_size", "batch_size", "group_size_said_by"]].tolist() == [4, 16, "parent"]
    # The others disagree on groups, but not on batches.
    assert pd.isna(frame.loc["base", "group_size"])
    assert frame.loc["base", ["batch_size", "batch_size_setting", "batch_size_said_by"]].tolist() == [
        *(16, "hyperparameters.batch_size", "other runs"),
    ]
    assert trainer_sizes(store, Filters(run_ids=("base",))).set_index("run_id").loc["base"].equals(frame.loc["base"])


def test_nothing_said_is_nothing(tmp_path: Path) -> None:
    frame = trainer_sizes(build_store(tmp_path, [rollout("r")], [run("r")]))
    assert frame[["group_size", "batch_size", "group_size_setting"]].isna().all(axis=None)
    nothing_left = trainer_sizes(build_store(tmp_path / "other", [rollout("r")]), Filters(run_ids=("x",)))
    assert nothing_left.empty
