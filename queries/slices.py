"""The question on which kinds of samples two arms differ: by environment, tag, difficulty, cluster."""

import json
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ingest.errors import QuestionError
from queries.compare import NUM_FLIPS, difference_of, number
from queries.compared import Compared, Sides, compared, objects
from queries.comparison import MEASURES, comparison
from queries.connection import Reading
from queries.pairing import benjamini_hochberg
from queries.quadrants import ROUNDING
from queries.resampling import sign_flips

BY: Final = ("environment", "tag", "difficulty", "cluster")
"""What samples are sliced by, beside `metadata.KEY`."""
THIRDS: Final = ("hardest third", "middle third", "easiest third")
MIN_SAMPLES = 5
MAX_SLICES = 50
"""Slices of one kind at most, those with the most samples."""

Slice = tuple[str, str, NDArray[np.bool_]]


def compare_slices(
    store: Reading,
    *,
    baseline: str,
    candidate: str,
    split: str | None = None,
    environments: tuple[str, ...] | None = None,
    pair_by: str = "sample_id",
    leave_out_failures: bool = False,
    by: str | None = None,
    measure: str = "reward",
    cost: str = "tool_calls",
    min_samples: int = MIN_SAMPLES,
) -> pd.DataFrame:
    """One row per slice of the samples, kind by kind, the lowest difference first: where do two arms differ?

    `by` is one of `BY` or `metadata.KEY`; None takes all of `BY`. A sample is in every slice of a kind it has a label
    of. Without a label of its own, difficulty is a third of the samples by the mean reward of both arms together: by
    the baseline's alone, the hardest would seem to gain by chance (regression to the mean; Oldham 1962).
    Columns: by, slice, num_paired (with `measure` known in both arms; slices with fewer than `min_samples` are left
    out), baseline_mean, candidate_mean, delta_mean, ci_low, ci_high (95 % t interval; NULL with ci_reason), p_value
    (sign flip), p_value_bh (adjusted over all slices listed), num_up, num_down, cost_delta_mean, cost_ci_low,
    cost_ci_high (of `cost`), is_worst (the lowest difference of all slices but those that hold every sample).

    Raises:
        QuestionError: An arm, `pair_by`, `by` or a measure is not one there is.
    """
    if by is not None and by not in BY and not by.startswith("metadata."):
        raise QuestionError(f"by must be one of {', '.join(BY)} or metadata.KEY, not {by!r}")
    for each in (measure, cost):
        if each not in MEASURES:
            raise QuestionError(f"a measure is one of {', '.join(MEASURES)}, not {each!r}")
    cluster_by = by if by is not None and by.startswith("metadata.") else "sample"
    asked = comparison(store, baseline, candidate, split, environments, pair_by, leave_out_failures, cluster_by)
    found = compared(store, asked)
    seed = asked.seed("compare_slices", measure)
    known = np.isfinite(found.sides[measure].deltas)
    kept = [each for each in slices(found, by) if int((each[2] & known).sum()) >= max(1, min_samples)]
    rows = [_row(found, each, measure, cost, seed) for each in kept]
    frame = pd.DataFrame(rows, columns=_COLUMNS)
    frame.insert(_COLUMNS.index("p_value") + 1, "p_value_bh", benjamini_hochberg(frame["p_value"].to_numpy(float)))
    partial = frame["num_paired"] < known.sum()
    lowest = frame.loc[partial, "delta_mean"].min()
    frame["is_worst"] = (partial & (frame["delta_mean"] == lowest)).astype(bool)
    kinds = {name: place for place, name in enumerate(dict.fromkeys(frame["by"]))}
    order = frame.assign(kind=frame["by"].map(kinds)).sort_values(["kind", "delta_mean", "slice"], kind="stable")
    return order.drop(columns="kind").reset_index(drop=True)


_COLUMNS: Final = [
    *("by", "slice", "num_paired", "baseline_mean", "candidate_mean", "delta_mean", "ci_low", "ci_high", "ci_reason"),
    *("p_value", "num_up", "num_down", "cost_delta_mean", "cost_ci_low", "cost_ci_high"),
]


def _row(found: Compared, each: Slice, measure: str, cost: str, seed: int) -> dict[str, Any]:
    by, name, inside = each
    own, other = (_within(found.sides[which], inside) for which in (measure, cost))
    p_value = sign_flips(own.deltas[:, None], seed=seed, num_resamples=NUM_FLIPS)[0]
    got = difference_of(measure, own, seed=seed, p_value=p_value)
    spent = difference_of(cost, other, seed=seed)
    return {
        "by": by,
        "slice": name,
        "num_paired": got.num_paired,
        "baseline_mean": number(got.baseline_mean),
        "candidate_mean": number(got.candidate_mean),
        "delta_mean": number(got.difference.value),
        "ci_low": number(got.difference.interval.low),
        "ci_high": number(got.difference.interval.high),
        "ci_reason": got.difference.interval.reason,
        "p_value": number(got.p_value.value),
        "num_up": int((own.deltas > ROUNDING).sum()),
        "num_down": int((own.deltas < -ROUNDING).sum()),
        "cost_delta_mean": number(spent.difference.value),
        "cost_ci_low": number(spent.difference.interval.low),
        "cost_ci_high": number(spent.difference.interval.high),
    }


def _within(sides: Sides, inside: NDArray[np.bool_]) -> Sides:
    return Sides(sides.baseline[inside], sides.candidate[inside])


def slices(found: Compared, by: str | None = None) -> Iterator[Slice]:
    """Kind, name and members, shape (samples,), of every slice of one kind or all; of each kind the largest ones."""
    for kind in BY if by is None else (by,):
        labels = _labels(found, kind)
        names, counts = np.unique([each for own in labels for each in own], return_counts=True)
        for name in sorted(names[np.argsort(-counts, kind="stable")][:MAX_SLICES].tolist()):
            yield kind, name, np.array([name in own for own in labels], dtype=bool)


def _labels(found: Compared, kind: str) -> list[tuple[str, ...]]:
    """Labels of each sample of one kind."""
    if kind == "tag":
        return [tags_of(each) for each in found.about["tags"]]
    if kind == "difficulty":
        values = difficulty(found)
    else:
        column = {"environment": "environment", "cluster": "cluster_key"}.get(kind, "from_metadata")
        values = objects(found.about[column])
    return [() if each is None else (str(each),) for each in values]


def difficulty(found: Compared) -> NDArray[np.object_]:
    """Each sample's difficulty as its metadata say, where any does; else its third by the mean reward of both arms."""
    said = objects(found.about["difficulty"])
    if any(each is not None for each in said):
        return said
    reward = found.sides["reward"]
    means = np.where(np.isfinite(reward.deltas), (reward.baseline + reward.candidate) / 2, np.nan)
    known = np.flatnonzero(np.isfinite(means))
    made = np.full(means.size, None, dtype=object)
    # Samples of the same mean stay together: a third is where their middle rank falls.
    _, place, counts = np.unique(means[known], return_inverse=True, return_counts=True)
    middle = np.cumsum(counts) - counts / 2
    third = np.minimum((3 * middle[place] / max(known.size, 1)).astype(int), 2)
    made[known] = np.array(THIRDS, dtype=object)[third]
    return made


def tags_of(text: object) -> tuple[str, ...]:
    """The tags of a sample from their JSON list; none where it is no list."""
    try:
        found = json.loads(str(text)) if text is not None and text == text else []
    except ValueError:
        return ()
    return tuple(dict.fromkeys(str(each) for each in found)) if isinstance(found, list) else ()
