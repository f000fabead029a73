"""The question which settings runs can be told apart by, and what each run says of them."""

import re
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import pandas as pd

from queries.connection import Reading
from queries.filters import EVERYTHING, Filters
from queries.settings import number as as_number
from queries.settings import settings_of, shown

TRAIN_SAMPLES: Final = "train_samples"
"""A setting that is counted, for sources that do not say how many examples a run was trained on."""
_COLUMNS_OF_RUNS: Final = ("base_model", "model", "provider", "code_reference")
_NUMBER: Final = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.A)
_MAX_EXAMPLES = 5
_MAX_TEXT = 200
_ANSWER: Final = ("setting", "num_runs", "num_values", "is_numeric", "low", "high", "examples")


@dataclass(frozen=True, slots=True)
class Said:
    """What a run says of a setting: the value as a text without secrets, as a number if it is one, and who says it.

    `said_by` is `run`, or `parent` where an evaluation's hyperparameter is that of the run it evaluates.
    """

    value: str
    number: float | None
    said_by: str


def run_settings(store: Reading, filters: Filters = EVERYTHING) -> pd.DataFrame:
    """One row per setting that runs differ in, or that is a number: what can runs be put along?

    Ordered: where they differ, numbers, what most runs say first; then by name.

    Columns: setting (a column of `runs`, or a path such as `hyperparameters.batch_size`; `train_samples`: distinct
    samples in the train split, counted), num_runs (that say it), num_values (distinct; NULL where counted only when
    asked for), is_numeric (in all runs that say it), low, high (of numbers, in the setting's own unit), examples (list
    of five values at most, without secrets). Only the filter on runs applies.
    """
    runs = store.ask("run_settings", {"of_runs": None if filters.run_ids is None else list(filters.run_ids)})
    by_setting: dict[str, list[Said]] = {}
    for found in _said(runs).values():
        for setting, each in found.items():
            by_setting.setdefault(setting, []).append(each)
    rows = [_row(setting, each) for setting, each in by_setting.items()]
    rows = [row for row in rows if row["is_numeric"] or row["num_values"] > 1]
    if num := _num_trained(runs):
        rows.append({"setting": TRAIN_SAMPLES, "num_runs": num, "is_numeric": True, "examples": []})
    frame = pd.DataFrame(rows, columns=_ANSWER).astype({"low": float, "high": float, "num_values": "Int64"})
    differs = frame["num_values"].fillna(2) > 1
    ranked = frame.assign(is_alike=~differs, is_text=~frame["is_numeric"].astype(bool), rank=-frame["num_runs"])
    order = ranked.sort_values(["is_alike", "is_text", "rank", "setting"])
    return order[list(_ANSWER)].reset_index(drop=True)


def said_of(store: Reading, run_ids: Iterable[str], setting: str) -> dict[str, Said]:
    """What each of some runs says of one setting, those that do not say it left out."""
    of_runs = list(run_ids)
    if setting == TRAIN_SAMPLES:
        counted = store.ask("train_samples", {"of_runs": of_runs})
        return {
            row["run_id"]: Said(row["value"], float(row["number"]), row["said_by"])
            for row in counted.to_dict("records")
        }
    found = _said(store.ask("run_settings", {"of_runs": of_runs}))
    return {run_id: each[setting] for run_id, each in found.items() if setting in each}


def said_by_run(store: Reading, run_ids: Iterable[str] | None) -> dict[str, dict[str, Said]]:
    """What each of some runs (None: of all) says of its settings, by their names."""
    return _said(store.ask("run_settings", {"of_runs": None if run_ids is None else list(run_ids)}))


def _said(runs: pd.DataFrame) -> dict[str, dict[str, Said]]:
    """The settings of each run that was asked for; the frame is the answer of `run_settings.sql`."""
    rows = runs.to_dict("records")
    parents = {row["name"]: row for row in rows} | {row["run_id"]: row for row in rows}
    found = {}
    for row in rows:
        if row["is_asked"]:
            parent = parents.get(row["parent_run"]) if row["kind"] == "evaluation" else None
            inherited = {} if parent is None else _settings(parent, "hyperparameters", "parent")
            own = _settings(row, "hyperparameters", "run") | _settings(row, "config", "run")
            given = {name: _said_by(name, row[name], "run") for name in _COLUMNS_OF_RUNS if isinstance(row[name], str)}
            tags = settings_of([row["tags"] if isinstance(row["tags"], str) else None], "tags").items()
            found[row["run_id"]] = inherited | own | given | {name: _said_by(name, each, "run") for name, each in tags}
    return found


def _settings(row: Mapping[Hashable, Any], column: str, said_by: str) -> dict[str, Said]:
    text = row[column]
    found = settings_of([text if isinstance(text, str) else None], "")
    return {
        f"{column}.{name}".rstrip("."): _said_by(name, value, said_by)
        for name, value in found.items()
        if value is not None
    }


def _said_by(name: str, value: Any, said_by: str) -> Said:
    is_quoted = isinstance(value, str) and _NUMBER.fullmatch(value) is not None
    number = float(value) if is_quoted else as_number(value)
    text = value if is_quoted else shown(name, value)
    return Said(text if len(text) <= _MAX_TEXT else f"{text[: _MAX_TEXT - 1]}…", number, said_by)


def _row(setting: str, said: list[Said]) -> dict[str, Any]:
    numbers = [each.number for each in said if each.number is not None]
    is_numeric = len(numbers) == len(said)
    distinct = {each.value: each for each in said}
    ordered = sorted(distinct.values(), key=lambda each: (each.number or 0.0 if is_numeric else 0.0, each.value))
    return {
        "setting": setting,
        "num_runs": len(said),
        "num_values": len(set(numbers)) if is_numeric else len(distinct),
        "is_numeric": is_numeric,
        "low": min(numbers) if is_numeric else None,
        "high": max(numbers) if is_numeric else None,
        "examples": [each.value for each in ordered[:_MAX_EXAMPLES]],
    }


def _num_trained(runs: pd.DataFrame) -> int:
    """How many of the runs asked for have train rollouts, or evaluate a run that has."""
    trained = runs[runs["has_training"]]
    names = {*trained["run_id"], *trained["name"]}
    evaluates = (runs["kind"] == "evaluation") & runs["parent_run"].isin(names)
    return int((runs["is_asked"] & (runs["has_training"] | evaluates.fillna(value=False))).sum())
