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
    cells = _cells(store)
    known = arms(store)
    rows = [row for run_id in cells["run_id"].unique() for row in _pairs_of(cells, known, str(run_id))]
    frame = pd.DataFrame(rows, columns=_PAIRS)
    order = frame.assign(place=(frame["about"] == "train_valid").astype(int)).sort_values("place", kind="stable")
    return order.drop(columns="place").reset_index(drop=True)


_PAIRS: Final = [
    *("about", "run_id", "run_name", "first", "first_split", "second", "second_split", "second_run_id", "related_by"),
]


@lru_cache(maxsize=4)
def _cells(store: Reading) -> pd.DataFrame:
    """The answer of `drift_pairs.sql`, kept: pages ask it whatever else they ask."""
    return store.ask("drift_pairs", {})


def _pairs_of(cells: pd.DataFrame, known: pd.DataFrame, run_id: str) -> Iterator[dict[str, Any]]:
    own = cells[cells["run_id"] == run_id]
    judged = next((each for each in _JUDGING if (own["split"] == each).any()), None)
    if judged is None:
        return
    second = selection(known, run_id, judged)
    about = {"run_id": run_id, "run_name": second.name}
    for other, related in productions(cells, run_id):
        sides = _written(second, "first") | _written(selection(known, other, _production_split(cells, other)), "second")
        yield {"about": "valid_production", **about, **sides, "second_run_id": other, "related_by": related}
    if (own["split"] == "train").any():
        sides = _written(selection(known, run_id, "train"), "first") | _written(second, "second")
        yield {"about": "train_valid", **about, **sides, "second_run_id": run_id, "related_by": None}


def _written(found: Selection, side: str) -> dict[str, Any]:
    return {side: found.written, f"{side}_split": "none" if found.split is None else found.split}


def productions(cells: pd.DataFrame, run_id: str) -> list[tuple[str, str]]:
    """Runs that hold production rollouts of a run, and by what: its own, its family's, else its environments'."""
    is_production = (cells["split"] == "production") | ((cells["kind"] == "production") & cells["split"].isna())
    found = list(dict.fromkeys(cells.loc[is_production, "run_id"]))
    if run_id in found:
        return [(run_id, "run")]
    parents = {
        str(row["run_id"]): str(row["parent_run"])
        for row in cells[["run_id", "parent_run"]].drop_duplicates().to_dict("records")
        if pd.notna(row["parent_run"])
    }
    family = [(str(each), "family") for each in found if _root(parents, str(each)) == _root(parents, run_id)]
    if family:
        return family
    own = _environments(cells[cells["run_id"] == run_id])
    strangers = (str(each) for each in found if _root(parents, str(each)) == str(each))  # of no other run's family
    alike = ((each, _environments(cells[(cells["run_id"] == each) & is_production])) for each in strangers)
    return [(each, "environment") for each, held in alike if own & held]


def _root(parents: dict[str, str], run_id: str) -> str:
    for _ in range(MAX_GENERATIONS):  # a file may name a run as its own ancestor
        if run_id not in parents:
            break
        run_id = parents[run_id]
    return run_id


def _environments(cells: pd.DataFrame) -> set[str]:
    return {str(each) for held in cells["environments"] if held is not None for each in held if each is not None}


def _production_split(cells: pd.DataFrame, run_id: str) -> str:
    return "production" if ((cells["run_id"] == run_id) & (cells["split"] == "production")).any() else "none"


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
    if found.split == "production" and not is_given:
        return _selection(found, every_step=bool(own["step"].notna().any()))
    if found.split == "train" and not is_given:
        low, high = _since_validation(known, found)
        return _selection(found, step_from=low, step_to=high)
    return _selection(found, step_from=found.step, step_to=found.step)


def _selection(found: Arm, **steps: Any) -> Selection:
    return Selection(found.run_id, found.name, found.split, **steps)


def _within(found: Arm, own: pd.DataFrame, low: int, high: int) -> Selection:
    if not own["step"].between(low, high).fillna(value=False).any():
        raise QuestionError(f"{found.name!r} has no rollouts at steps {low} to {high} in {found.split or 'no split'}")
    return _selection(found, step_from=low, step_to=high)


def _since_validation(known: pd.DataFrame, train: Arm) -> tuple[int | None, int | None]:
    """First and last train step after the last validation but one and no later than the last; else the last step."""
    run = known[(known["run_id"] == train.run_id) & known["step"].notna()]
    steps = run.loc[run["split"] == "train", "step"].astype(int)
    judged = next((run.loc[run["split"] == each, "step"] for each in _JUDGING if (run["split"] == each).any()), None)
    if judged is not None:
        ends = sorted({int(each) for each in judged})
        inside = steps[(steps <= ends[-1]) & (steps > (ends[-2] if len(ends) > 1 else steps.min() - 1))]
        if len(inside):
            return int(inside.min()), int(inside.max())
    return train.step, train.step


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
