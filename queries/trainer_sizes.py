"""The question how large a run's groups and batches are, which trainers write under many names."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import pandas as pd

from queries.connection import Reading
from queries.filters import EVERYTHING, Filters
from queries.learning import MAX_GROUP_SIZE
from queries.run_settings import Said, said_by_run

GROUP_SETTINGS: Final = (
    *("num_generations", "rollouts_per_example", "rollouts_per_prompt", "rollouts_per_group", "n_samples_per_prompt"),
    *("num_samples_per_prompt", "samples_per_prompt", "rollout.n", "group_size", "attempts"),
)
"""Settings that are the attempts at one prompt: of TRL and Unsloth, prime-rl and verifiers, ART, OpenRLHF, slime and
SkyRL, verl, Tinker; what comes first counts."""
BATCH_SETTINGS: Final = (
    *("groups_per_batch", "groups_per_step", "prompts_per_batch", "num_prompts_per_step", "rollout_batch_size"),
    *("data.train_batch_size", "trainer.train_batch_size", "batch_size"),
)
"""Settings that are the prompts of a batch."""
BATCH_OF_ROLLOUTS: Final[Mapping[str, tuple[str, ...]]] = {
    "generation_batch_size": ("num_generations",),
    "batch_size": ("rollouts_per_example",),
}
"""Settings that are the rollouts of a batch, prompts times attempts, beside the group sizes that say so: those of TRL
and prime-rl."""
MAX_BATCH: Final = 1_000_000
_PLACES: Final = ("hyperparameters.", "config.")
_COLUMNS: Final = (
    *("group_size", "group_size_setting", "group_size_said_by"),
    *("batch_size", "batch_size_setting", "batch_size_said_by"),
)


def trainer_sizes(store: Reading, filters: Filters = EVERYTHING) -> pd.DataFrame:
    """One row per run, ordered by id: how large are its groups and batches, as its settings say?

    Columns: run_id, group_size (attempts at one prompt), group_size_setting (its name, such as
    `hyperparameters.num_generations`), group_size_said_by (`run`; `parent`, the run it evaluates; or `other runs`, all
    of those that say it agreeing), batch_size (prompts; where a trainer's batch is of rollouts, these over the group
    size), batch_size_setting, batch_size_said_by; NULL where nothing says. Only the filter on runs applies.
    """
    asked = said_by_run(store, filters.run_ids)
    found = {run_id: sizes(said) for run_id, said in asked.items()}
    if any(len(each) < len(_COLUMNS) for each in found.values()):
        everyone = asked if filters.run_ids is None else said_by_run(store, None)
        common = _agreed([sizes(said) for said in everyone.values()])
        found = {run_id: common | each for run_id, each in found.items()}
    rows = [{"run_id": run_id} | each for run_id, each in sorted(found.items())]
    frame = pd.DataFrame(rows, columns=["run_id", *_COLUMNS])
    return frame.astype({"group_size": "Int64", "batch_size": "Int64"})


def sizes(said: Mapping[str, Said]) -> dict[str, Any]:
    """What a run's settings say of its groups and batches, as columns; what they do not say is left out."""
    found: dict[str, Any] = {}
    group = _first(said, GROUP_SETTINGS, 2, MAX_GROUP_SIZE)
    if group is not None:
        found |= _columns("group_size", group[0], group[1], said[group[0]].said_by)
        for name, beside in BATCH_OF_ROLLOUTS.items():
            rollouts = _first(said, (name,), group[1], MAX_BATCH)
            if rollouts is not None and _is(group[0], beside) and rollouts[1] % group[1] == 0:
                prompts = rollouts[1] // group[1]
                return found | _columns("batch_size", rollouts[0], prompts, said[rollouts[0]].said_by)
    batch = _first(said, BATCH_SETTINGS, 1, MAX_BATCH)
    if batch is not None:
        found |= _columns("batch_size", batch[0], batch[1], said[batch[0]].said_by)
    return found


def _columns(name: str, setting: str, size: int, said_by: str) -> dict[str, Any]:
    return {name: size, f"{name}_setting": setting, f"{name}_said_by": said_by}


def _first(said: Mapping[str, Said], names: Iterable[str], low: int, high: int) -> tuple[str, int] | None:
    """The first of some settings that is a whole number in range: its full name and the number."""
    for name in names:
        for setting in sorted(each for each in said if _is(each, (name,))):
            number = said[setting].number
            if number is not None and low <= number <= high and number == int(number):
                return setting, int(number)
    return None


def _is(setting: str, names: Iterable[str]) -> bool:
    """Whether a setting has one of these names, or one of them is the end of its path."""
    return setting.startswith(_PLACES) and any(f".{setting}".endswith(f".{name}") for name in names)


def _agreed(found: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """What all runs that say a size agree on, as columns."""
    frame = pd.DataFrame(list(found), columns=list(_COLUMNS))
    agreed: dict[str, Any] = {}
    for name in ("group_size", "batch_size"):
        known = frame[frame[name].notna()]
        if known[name].nunique() == 1:
            first = known.iloc[0]
            agreed |= _columns(name, str(first[f"{name}_setting"]), int(first[name]), "other runs")
    return agreed
