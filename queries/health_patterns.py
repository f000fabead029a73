"""The question which known bad patterns a training run shows: the rulebook `health` against the run's series."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any, Final

import pandas as pd

from queries.connection import Reading, at_once
from queries.curves import step_deltas
from queries.filters import EVERYTHING, Filters
from queries.health import gathered, health_series
from queries.health_rules import Rules, health_rules
from queries.health_signs import HELD_OUT, Subject, sign_of

_ORDER: Final = {"found": 0, "cannot be said": 1, "not found": 2}
_COLUMNS: Final = (
    *("run_id", "pattern", "title", "verdict", "measure", "unit", "split", "source", "name", "num_steps"),
    *("before", "after"),
    *("ci_low", "ci_high", "threshold", "other", "from_step", "to_step", "reason", "kind", "why"),
)


def health_patterns(store: Reading, filters: Filters = EVERYTHING) -> pd.DataFrame:
    """One row per run with steps and pattern, by run, what was found first: which known bad patterns does it show?

    Columns: run_id, pattern (a key of the rulebook `health`), title, verdict (`found`, `not found`, `cannot be said`),
    measure, unit, split, source (`reported` or `computed`), name (as reported), num_steps (judged), before, after
    (medians of the first and last window, in the measure's unit), ci_low, ci_high (95 % interval, where the verdict
    rests on one), threshold (that `after` had to pass), other (what else it is compared with), from_step, to_step,
    reason (why it cannot be said, or is excused), kind, why (what it means). By kind: of `flat`, before is the rise of
    the train batch's reward, after that of the held-out reward; of `still`, after is the rise, threshold what would be
    worth having; of `drop`, before is the best window's median, other the step it ends at; of `spikes`, before the
    median, after the highest value, threshold times the steps before it, other how many spikes; of `silent`, before the
    seconds a step takes, after those since the last one; of `nulls`, before the most nulls in a row until then, after
    those at the end.

    Raises:
        QuestionError: The rulebook has a fault.
    """
    rules = health_rules(store.root)
    series = health_series(store, filters)
    held = [each for each in HELD_OUT if each in set(series.loc[series["measure"] == "reward", "split"])]
    about, *deltas = at_once(
        lambda split: (
            store.ask("health_runs", filters.parameters())
            if split is None
            else step_deltas(store, filters, split=split)
        ),
        [None, *held],
    )
    steps = gathered(store, filters).rollouts
    rows: list[dict[str, Any]] = []
    for run_id, subject in _subjects(
        rules, series, steps, about, dict(zip(held, deltas, strict=True)), store.created_at
    ):
        rows += sorted(_rows(run_id, subject), key=lambda row: _ORDER[row["verdict"]])
    frame = pd.DataFrame(rows, columns=list(_COLUMNS))
    whole = dict.fromkeys(("num_steps", "from_step", "to_step"), "Int64")
    numbers = dict.fromkeys(("before", "after", "ci_low", "ci_high", "threshold", "other"), float)
    return frame.astype({**whole, **numbers})


def _subjects(
    rules: Rules,
    series: pd.DataFrame,
    steps: pd.DataFrame,
    runs: pd.DataFrame,
    deltas: Mapping[str, pd.DataFrame],
    now: datetime,
) -> Iterable[tuple[str, Subject]]:
    """Each run that has series, as the patterns see it."""
    steps_of = _grouped(steps)
    deltas_of = {split: _grouped(frame) for split, frame in deltas.items()}
    about = {str(row["run_id"]): {str(name): each for name, each in row.items()} for row in runs.to_dict("records")}
    for run_id, rows in series.groupby("run_id", sort=True):
        own = steps_of.get(run_id)
        keys = rows.groupby(["measure", "split"], dropna=False, sort=False)
        by_key = {(str(measure), split if isinstance(split, str) else None): part for (measure, split), part in keys}
        yield (
            str(run_id),
            Subject(
                rules,
                by_key,
                {split: frames[run_id] for split, frames in deltas_of.items() if run_id in frames},
                () if own is None else _regraded(own),
                about.get(str(run_id), {}),
                _times(rows, own),
                now,
            ),
        )


def _grouped(frame: pd.DataFrame) -> dict[Any, pd.DataFrame]:
    return dict(iter(frame.groupby("run_id", sort=False)))


def _regraded(steps: pd.DataFrame) -> tuple[int, ...]:
    """The steps at which another version of the grader was used for the first time."""
    known = steps[steps["last_grader"].notna()].sort_values("step")
    seen: dict[str, int] = defaultdict(int)
    for first, last, step in zip(known["first_grader"], known["last_grader"], known["step"], strict=True):
        for version in (str(first), str(last)):
            seen.setdefault(version, int(step))
    return tuple(sorted(seen.values())[1:])


def _times(rows: pd.DataFrame, steps: pd.DataFrame | None) -> tuple[datetime, ...]:
    """When each step was last heard of, of those that have a time."""
    heard = rows[["step", "recorded_at"]].rename(columns={"recorded_at": "at"})
    if steps is not None:
        heard = pd.concat([heard, steps[["step", "ended_at"]].rename(columns={"ended_at": "at"})])
    last = heard[heard["at"].notna()].groupby("step")["at"].max()
    return tuple(each.to_pydatetime() for each in last)


def _rows(run_id: str, subject: Subject) -> Iterable[dict[str, Any]]:
    for pattern in subject.rules.patterns.values():
        sign = sign_of(pattern, subject)
        said = asdict(sign)
        series = subject.series.get((sign.measure or "", sign.split))
        first = None if series is None else series.iloc[0]
        yield {
            "run_id": run_id,
            "pattern": pattern.key,
            "title": pattern.title,
            "unit": subject.rules.measures[sign.measure].unit if sign.measure else None,
            "source": None if first is None else first["source"],
            "name": None if first is None else first["name"],
            "kind": pattern.kind,
            "why": pattern.why,
            "ci_low": said.pop("low"),
            "ci_high": said.pop("high"),
            **said,
        }
