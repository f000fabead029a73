"""Arms of a comparison: a run at one step and split, written `RUN@STEP`. Steps and splits are never pooled silently."""

import difflib
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import pandas as pd

from ingest.errors import QuestionError
from queries.connection import Reading
from queries.filters import Filters

NONE = "none"
"""How "no step" (after the `@`) and "no split" are written where a run has rollouts with and without one."""
_PREFERRED = ("valid", "test")
_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Arm:
    """One side of a comparison: a run's rollouts of exactly this split and step; None = those that have none."""

    run_id: str
    name: str
    split: str | None
    step: int | None

    def parameter(self) -> dict[str, Any]:
        """The arm as the struct that the macros of `views/arms.sql` take."""
        return {"run_id": self.run_id, "split": self.split, "step": self.step}

    @property
    def label(self) -> str:
        """The arm as it is written and shown: `RUN@STEP`, or `RUN` where it has no step."""
        return self.name if self.step is None else f"{self.name}@{self.step}"


def arms(store: Reading) -> pd.DataFrame:
    """One row per run, split and step that has rollouts, ordered by them: which arms can be compared?

    Columns: run_id, run_name (as given), kind, split, step, num_rollouts, num_scored, num_samples, reward_mean (mean
    over samples of each sample's mean reward).
    """
    return _known(store).copy()


@lru_cache(maxsize=4)
def _known(store: Reading) -> pd.DataFrame:
    """The answer to `arms`, kept: every question about arms looks them up."""
    frame = store.ask("arms", {})
    return frame.assign(run_name=frame["run_name"].fillna(frame["run_id"]))


def arm(known: pd.DataFrame, text: str, split: str | None = None) -> Arm:
    """The arm that `RUN@STEP` names, of those that `arms` lists. Split at the last `@`; a run goes by id or name.

    Without a step: the run's only step, else its last of the split. Without a split: `valid` where the run has one,
    else `test`, else its only one. `none` stands for rollouts that have no step, or no split.

    Raises:
        QuestionError: There is no such run, split or step, or the split must be chosen; the message says what there is.
    """
    name, wanted = _named(known, text)
    own = known[(known["run_id"] == name) | (known["run_name"] == name)]
    run_ids = own["run_id"].unique()
    if len(run_ids) > 1:
        own = own[own["run_id"] == name]
        if own.empty:
            raise QuestionError(f"several runs are named {name!r}; name one by its id: {', '.join(run_ids)}")
    run_id, run_name = str(own["run_id"].iloc[0]), str(own["run_name"].iloc[0])
    chosen = _split(run_name, _values(own, "split"), split)
    own = own[own["split"].isna() if chosen is None else own["split"] == chosen]
    steps = _values(own, "step")
    if wanted is None:
        step = max((int(each) for each in steps if each is not None), default=None)
    else:
        step = None if wanted == NONE else int(wanted)
        if step not in steps:
            raise QuestionError(
                f"{run_name!r} has no rollouts {_at(step)} in {_quoted(chosen)}; it has {_listed(map(_at, steps))}"
            )
    return Arm(run_id, run_name, chosen, step)


def last_arms(known: pd.DataFrame, filters: Filters) -> list[Arm]:
    """Each run's arm of those that `arms` lists, in their order: the last step that filters on steps leave.

    The split is one that the filters leave: `valid`, else `test`, else the run's only one. A run with several others
    has no arm, nor one without a step in that split that is left.
    """
    kept = known
    for column, values in (("run_id", filters.run_ids), ("split", filters.splits)):
        kept = kept if values is None else kept[kept[column].isin(values)]
    rank = kept["split"].map({name: place for place, name in enumerate(_PREFERRED)}).fillna(len(_PREFERRED))
    kept = kept[rank == rank.groupby(kept["run_id"]).transform("min")]
    kept = kept[kept["split"].fillna(NONE).groupby(kept["run_id"]).transform("nunique") == 1]
    if filters.step_from is not None:
        kept = kept[(kept["step"] >= filters.step_from).fillna(value=False)]
    if filters.step_to is not None:
        kept = kept[(kept["step"] <= filters.step_to).fillna(value=False)]
    last = kept.sort_values("step", kind="stable", na_position="first").drop_duplicates("run_id", keep="last")
    return [
        Arm(
            str(row["run_id"]),
            str(row["run_name"]),
            None if pd.isna(row["split"]) else str(row["split"]),
            None if pd.isna(row["step"]) else int(row["step"]),
        )
        for row in last.sort_index().to_dict("records")
    ]


def _named(known: pd.DataFrame, text: str) -> tuple[str, str | None]:
    """Id or name of the run that `text` speaks of, and the step as written. A run is tried without its `@…` last."""
    names = {str(each) for column in ("run_id", "run_name") for each in known[column]}
    head, at, tail = text.rpartition("@")
    if at and head in names and (tail == NONE or (tail.isascii() and tail.removeprefix("-").isdigit())):
        return head, tail
    if text in names:
        return text, None
    if at and head in names:
        raise QuestionError(f"a step is a whole number, not {tail!r} as in {text!r}")
    near = difflib.get_close_matches(head or text, sorted(names), 3) or sorted(names)
    raise QuestionError(f"there is no run {(head or text)!r} with rollouts; there is {_listed(near) or 'none at all'}")


def _split(run: str, splits: list[Any], wanted: str | None) -> str | None:
    """The split to use of those the run has."""
    if wanted is not None:
        if (None if wanted == NONE else wanted) not in splits:
            raise QuestionError(f"{run!r} has no rollouts in {wanted!r}; it has {_listed(map(_quoted, splits))}")
        return None if wanted == NONE else wanted
    for split in _PREFERRED:
        if split in splits:
            return split
    if len(splits) > 1:
        raise QuestionError(f"{run!r} has rollouts in {_listed(map(_quoted, splits))}: choose one with --split")
    return None if splits[0] is None else str(splits[0])


def _values(frame: pd.DataFrame, column: str) -> list[Any]:
    """Distinct values of a column, in the order they come, None for NULL."""
    return [None if pd.isna(each) else each for each in frame[column].unique()]


def _at(step: int | None) -> str:
    return "without a step" if step is None else f"at step {step}"


def _quoted(split: str | None) -> str:
    return f"no split (written {NONE!r})" if split is None else repr(split)


def _listed(found: Any) -> str:
    shown = [str(each) for each in found]
    rest = f" and {len(shown) - _SHOWN} more" if len(shown) > _SHOWN else ""
    return ", ".join(shown[:_SHOWN]) + rest
