"""Which two selections of rollouts are compared for drift: a run's rollouts of one split, at one step, some, or all.

Written `RUN`, `RUN@STEP`, `RUN@FROM..TO`, `RUN@all` or `RUN@none` (those without a step), with the split beside it.
"""

import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any, Final

import pandas as pd

from ingest.errors import QuestionError
from queries.arms import Arm, arm, arms
from queries.connection import Reading
from queries.stats import seed_of

MAX_GENERATIONS: Final = 20
_WINDOW: Final = re.compile(r"(?P<every>all)|(?P<low>-?\d+)\.\.(?P<high>-?\d+)")
_JUDGING: Final = ("valid", "test")


@dataclass(frozen=True, slots=True)
class Selection:
    """A run's rollouts of exactly this split: at every step, within steps, or (no bounds) those without one."""

    run_id: str
    name: str
    split: str | None
    step_from: int | None = None
    step_to: int | None = None
    every_step: bool = False

    def parameter(self, side: str) -> dict[str, Any]:
        """The selection as the struct that the macros of `views/selections.sql` take."""
        return {"side": side, **{key: value for key, value in asdict(self).items() if key != "name"}}

    @property
    def steps(self) -> str:
        """Its steps as they are written behind the `@`; empty where it has none."""
        if self.every_step:
            return "all"
        if self.step_from is None:
            return ""
        return str(self.step_from) if self.step_from == self.step_to else f"{self.step_from}..{self.step_to}"

    @property
    def written(self) -> str:
        """The selection as it is given to questions, without its split."""
        return f"{self.run_id}@{self.steps}" if self.steps else self.run_id


@dataclass(frozen=True, slots=True)
class Asked:
    """Two selections and the environments they are restricted to: what all questions about drift share."""

    first: Selection
    second: Selection
    environments: tuple[str, ...] | None = None

    def parameters(self) -> dict[str, Any]:
        """Values by parameter name of the SQL."""
        return {
            "selections": [self.first.parameter("first"), self.second.parameter("second")],
            "environments": None if self.environments is None else list(self.environments),
        }

    def seed(self, *parts: object) -> int:
        """Seed of what is drawn at random: everyone who asks sees the same figures."""
        return seed_of(asdict(self), *parts)

    def everywhere(self) -> "Asked":
        """The same runs and splits at every step."""
        sides = self.first, self.second
        first, second = (Selection(each.run_id, each.name, each.split, every_step=True) for each in sides)
        return Asked(first, second, self.environments)


def drift_pairs(store: Reading) -> pd.DataFrame:
    """One row per pair of selections worth comparing, validation against production first: what could have drifted?

    `train_valid`: the train rollouts since the last validation but one, against the last validation (`test` where
    there is no `valid`); where no train step lies between them, those of the last train step. `valid_production`: the
    last validation against production rollouts of the run itself, of a run of its family (that continues, evaluates or
    shares its parent), else of any run of kind `production` in an environment of its own.
    Columns: about, run_id, run_name, first, first_split, second, second_split (as the questions take them),
    second_run_id, related_by (`run`, `family` or `environment`; NULL for train_valid).
    """
    return _pairs(store).copy()


_PAIRS: Final = [
    *("about", "run_id", "run_name", "first", "first_split", "second", "second_split", "second_run_id", "related_by"),
]


@lru_cache(maxsize=4)
def _pairs(store: Reading) -> pd.DataFrame:
    """The answer to `drift_pairs`, kept: questions look up in it what was not given."""
    held = _held(store.ask("drift_pairs", {}))
    found = [pair for run_id in held for pair in _pairs_of(held, run_id)]
    order = sorted(found, key=lambda pair: pair["about"] == "train_valid")
    return pd.DataFrame(order, columns=_PAIRS)


@dataclass(frozen=True, slots=True)
class _Held:
    """What a run holds: the steps of each split, and what relates it to other runs."""

    name: str
    parent: str | None
    is_production: bool
    steps: dict[str | None, list[int | None]]
    environments: dict[str | None, set[str]]

    @property
    def production_split(self) -> str | None:
        """The split that holds production rollouts, where any does: None is rollouts without a split."""
        return "production" if "production" in self.steps else None

    @property
    def has_production(self) -> bool:
        """Whether any rollout is production's."""
        return "production" in self.steps or (self.is_production and None in self.steps)


def _held(cells: pd.DataFrame) -> dict[str, _Held]:
    """What each run holds, in plain Python: of thousands of runs, frames would take seconds."""
    found: dict[str, _Held] = {}
    for row in cells.astype(object).where(cells.notna(), None).to_dict("records"):
        run_id, split = str(row["run_id"]), row["split"]
        if run_id not in found:
            is_production = row["kind"] == "production"
            found[run_id] = _Held(str(row["run_name"] or run_id), row["parent_run"], is_production, {}, {})
        found[run_id].steps.setdefault(split, []).append(None if row["step"] is None else int(row["step"]))
        names = () if row["environments"] is None else row["environments"]
        found[run_id].environments.setdefault(split, set()).update(str(each) for each in names if each is not None)
    return found


def _pairs_of(held: dict[str, _Held], run_id: str) -> Iterator[dict[str, Any]]:
    own = held[run_id]
    judged = next((each for each in _JUDGING if each in own.steps), None)
    if judged is None:
        return
    about = {"run_id": run_id, "run_name": own.name}
    second = _default(run_id, own, judged)
    for other, related in productions(held, run_id):
        met = _default(other, held[other], held[other].production_split)
        sides = _written(second, "first") | _written(met, "second")
        yield {"about": "valid_production", **about, **sides, "second_run_id": other, "related_by": related}
    if "train" in own.steps:
        sides = _written(_default(run_id, own, "train"), "first") | _written(second, "second")
        yield {"about": "train_valid", **about, **sides, "second_run_id": run_id, "related_by": None}


def _default(run_id: str, own: _Held, split: str | None) -> Selection:
    return _without_steps(run_id, own.name, split, own.steps)


def _written(found: Selection, side: str) -> dict[str, Any]:
    return {side: found.written, f"{side}_split": "none" if found.split is None else found.split}


def productions(held: dict[str, _Held], run_id: str) -> list[tuple[str, str]]:
    """Runs that hold production rollouts of a run, and by what: its own, its family's, else its environments'."""
    found = [each for each, other in held.items() if other.has_production]
    if run_id in found:
        return [(run_id, "run")]
    family = [(each, "family") for each in found if _root(held, each) == _root(held, run_id)]
    if family:
        return family
    own = set().union(*held[run_id].environments.values())
    strangers = [each for each in found if held[each].parent is None]  # of no other run's family
    return [
        (each, "environment")
        for each in strangers
        if own & held[each].environments.get(held[each].production_split, set())
    ]


def _root(held: dict[str, _Held], run_id: str) -> str:
    for _ in range(MAX_GENERATIONS):  # a file may name a run as its own ancestor
        parent = held[run_id].parent if run_id in held else None
        if parent is None:
            break
        run_id = parent
    return run_id


def selection(known: pd.DataFrame, text: str, split: str | None = None) -> Selection:
    """The selection that `text` names, of the arms that `arms` lists; the run's split as comparisons choose it.

    Without steps: of `train` those since the last validation but one (see `drift_pairs`), of `production` all, else the
    last step.

    Raises:
        QuestionError: There is no such run, split or step; the message says what there is.
    """
    head, at, tail = text.rpartition("@")
    names = {str(each) for column in ("run_id", "run_name") for each in known[column]}
    window = _WINDOW.fullmatch(tail) if at and head in names and text not in names else None
    found = arm(known, head if window else text, split)
    own = known[(known["run_id"] == found.run_id) & _is(known["split"], found.split)]
    if window and window["every"]:
        return _selection(found, every_step=True)
    if window:
        return _within(found, own, int(window["low"]), int(window["high"]))
    is_given = at and head in names and text not in names
    if is_given:
        return _selection(found, step_from=found.step, step_to=found.step)
    run = known[known["run_id"] == found.run_id]
    steps: dict[str | None, list[int | None]] = {}
    for split_of, step in zip(run["split"], run["step"], strict=True):
        at_split = steps.setdefault(None if pd.isna(split_of) else str(split_of), [])
        at_split.append(None if pd.isna(step) else int(step))
    return _without_steps(found.run_id, found.name, found.split, steps)


def _without_steps(run_id: str, name: str, split: str | None, steps: dict[str | None, list[int | None]]) -> Selection:
    """The selection that a run and a split alone name; `steps` are the run's by split."""
    known = sorted(each for each in steps[split] if each is not None)
    if split == "production":
        return Selection(run_id, name, split, every_step=bool(known))
    if split == "train" and known:
        low, high = _since_validation(known, steps)
        return Selection(run_id, name, split, low, high)
    last = known[-1] if known else None
    return Selection(run_id, name, split, last, last)


def _selection(found: Arm, **steps: Any) -> Selection:
    return Selection(found.run_id, found.name, found.split, **steps)


def _within(found: Arm, own: pd.DataFrame, low: int, high: int) -> Selection:
    if not own["step"].between(low, high).fillna(value=False).any():
        raise QuestionError(f"{found.name!r} has no rollouts at steps {low} to {high} in {found.split or 'no split'}")
    return _selection(found, step_from=low, step_to=high)


def _since_validation(train: list[int], steps: dict[str | None, list[int | None]]) -> tuple[int, int]:
    """First and last train step after the last validation but one and no later than the last; else the last step."""
    judged = next((steps[each] for each in _JUDGING if each in steps), [])
    ends = sorted({each for each in judged if each is not None})
    after = ends[-2] if len(ends) > 1 else train[0] - 1
    inside = [each for each in train if after < each <= ends[-1]] if ends else []
    return (inside[0], inside[-1]) if inside else (train[-1], train[-1])


def _is(column: "pd.Series[Any]", value: str | None) -> "pd.Series[bool]":
    return column.isna() if value is None else (column == value).fillna(value=False)


def asked(
    store: Reading,
    first: str | None,
    first_split: str | None,
    second: str | None,
    second_split: str | None,
    environments: tuple[str, ...] | None,
) -> Asked:
    """The two selections as given; what is not given is that of the first pair of `drift_pairs` that fits.

    Raises:
        QuestionError: A selection is not there, both are the same, or there is no pair to take the other one from.
    """
    known = arms(store)
    if first is None or second is None:
        pairs = drift_pairs(store)
        for side, text, split in (("first", first, first_split), ("second", second, second_split)):
            if text is not None:
                given = selection(known, text, split)
                split_written = given.split or "none"
                of_run = pairs["run_id" if side == "first" else "second_run_id"] == given.run_id
                pairs = pairs[of_run & (pairs[f"{side}_split"] == split_written)]
            elif split is not None:
                pairs = pairs[pairs[f"{side}_split"] == split]
        if pairs.empty:
            raise QuestionError(
                "there is nothing to compare by default (train against validation, or validation against production): "
                "name both selections, --first RUN@STEPS --first-split train --second RUN@STEPS --second-split valid"
            )
        pair = pairs.iloc[0]
        if first is None:
            first, first_split = str(pair["first"]), str(pair["first_split"])
        if second is None:
            second, second_split = str(pair["second"]), str(pair["second_split"])
    sides = selection(known, first, first_split), selection(known, second, second_split)
    if sides[0] == sides[1]:
        raise QuestionError(f"both selections are {sides[0].written} ({sides[0].split or 'no split'}): choose two")
    return Asked(*sides, environments)
