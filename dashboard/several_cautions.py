"""What could mislead when several arms are compared, in words. Pure functions on the answer to `arm_facts`."""

from collections.abc import Iterator
from typing import Any, Final

import pandas as pd

from dashboard.compare_words import cut
from dashboard.rows import records
from dashboard.several_words import listed
from dashboard.words import percent, plural, verb, whole

FEW: Final = 20
"""Fewer samples than this are few: where differences are skewed, a t interval is then known to be too narrow."""
_VERSIONS: Final = {
    "grader_versions": "graders",
    "prompt_versions": "prompts",
    "tools_versions": "tool definitions",
    "agents": "agents",
}
_ENDINGS: Final = (
    ("failure_rate", "infrastructure and grader failures end", 0.01),
    ("truncation_rate", "truncation ends", 0.05),
)
"""Rates, what they say, and from which difference on it is worth saying."""
_NAMED: Final = 3


def cautions(facts: pd.DataFrame, num_shared: int | None = None) -> list[str]:
    """Sentences on what could mislead, from the answer to `arm_facts`; empty where nothing is known to.

    `num_shared`: samples that all figures are over, where they are over the same.
    """
    rows = records(facts)
    said = [*_samples(rows, num_shared), *_differ(rows), *_failures(rows)]
    return [f"{each[0].upper()}{each[1:]}" for each in said]


def _samples(rows: list[dict[str, Any]], num_shared: int | None) -> Iterator[str]:
    if max(row["num_environments"] for row in rows) > 1:
        several = whole(max(row["num_environments"] for row in rows))
        yield f"{several} environments are pooled here: choose one in the sidebar."
    shared, largest = rows[0]["num_shared"], max(row["num_samples"] for row in rows)
    if shared < largest:
        yield (
            f"only {plural(shared, 'sample')} {verb(shared, 'was', 'were')} attempted by all "
            f"{plural(len(rows), 'arm')}; the largest has {whole(largest)}."
        )
    alone = [cut(row["arm"]) for row in rows if row["num_rollouts"] and not row["num_shared_with_first"]]
    if alone:
        yield f"no sample of {cut(rows[0]['arm'])} was attempted by {listed(alone)}."
    unknown = [cut(row["arm"]) for row in rows if row["num_with_sample"] < row["num_rollouts"]]
    if unknown:
        yield f"some rollouts of {listed(unknown)} name no sample and cannot be paired."
    empty = [cut(row["arm"]) for row in rows if not row["num_rollouts"]]
    if empty:
        yield f"the environments chosen in the sidebar leave nothing of {listed(empty)}."
    fewest = shared if num_shared is None else num_shared
    if 0 < fewest < FEW:
        n = plural(fewest, "sample")
        yield f"only {n} for some figures: where differences are skewed, such an interval is somewhat too narrow."


def _differ(rows: list[dict[str, Any]]) -> Iterator[str]:
    for column, what in _VERSIONS.items():
        known = [(row["arm"], tuple(row[column])) for row in rows if row[column] is not None and len(row[column])]
        if len({values for _, values in known}) > 1:
            first = known[0][1]
            other, values = next(each for each in known if each[1] != first)
            sides = f"{_listed(first)} in {cut(known[0][0])}, {_listed(values)} in {cut(other)}"
            yield f"the {what} are not the same in all arms: {sides}."


def _failures(rows: list[dict[str, Any]]) -> Iterator[str]:
    for column, what, apart in _ENDINGS:
        known = [row for row in rows if row[column] is not None]
        low, high = (pick(known, key=lambda row: row[column], default=None) for pick in (min, max))
        if low is not None and high is not None and high[column] - low[column] > apart:
            sides = f"{percent(low[column])} of {cut(low['arm'])} and {percent(high[column])} of {cut(high['arm'])}"
            yield f"{what} {sides} (shares of rollouts): part of a difference may be that."
    lost = [
        f"{whole(row['num_rollouts'] - row['num_scored'])} of {cut(row['arm'])}"
        for row in rows
        if 0 < row["num_scored"] < row["num_rollouts"]
    ]
    if lost:
        more = " and others" if len(lost) > _NAMED else ""
        yield f"rollouts without a reward are left out of it: {listed(lost[:_NAMED])}{more}."


def _listed(values: tuple[Any, ...]) -> str:
    return ", ".join(cut(each) for each in values[:2]) + (f" and {len(values) - 2} more" if len(values) > 2 else "")
