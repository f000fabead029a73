"""Questions about drift by kind of sample: which slices gained or lost a share, and which samples are in both."""

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ingest.errors import QuestionError
from queries.apart import Sums
from queries.compared import objects
from queries.connection import Reading
from queries.drift_selections import asked
from queries.drifting import MEASURES, Drawn, Side, drawn, inside
from queries.pairing import benjamini_hochberg, holm, unpaired_difference, welch_p_value
from queries.shares_apart import share_differences
from queries.slices import tags_of

BY: Final = ("prompt_length", "environment", "tag", "cluster")
"""What samples are sliced by."""
LENGTHS: Final = ("short prompts", "middling prompts", "long prompts")
MIN_SAMPLES: Final = 5
"""Slices with fewer samples in both selections together are left out; with fewer in either, no measure is compared."""
MAX_SLICES: Final = 30
"""Slices of one kind at most, those with the most samples."""

Members = tuple[NDArray[np.bool_], NDArray[np.bool_]]


def drift_slices(
    store: Reading,
    *,
    first: str | None = None,
    first_split: str | None = None,
    second: str | None = None,
    second_split: str | None = None,
    environments: tuple[str, ...] | None = None,
    by: str | None = None,
) -> pd.DataFrame:
    """One row per slice of the samples, kind by kind, the largest move first: which kinds of samples became more?

    Selections as `drift` takes them; `by` one kind alone. Columns: by (`prompt_length`: by thirds of the first
    selection; `environment`, `tag`, `cluster`), slice, num_first, num_second (samples in it), first_share, second_share
    (of the samples that tell it; of tags, of all), difference (second − first), ci_low, ci_high (95 % t over samples,
    two added), p_value, p_value_bh (over all slices), moved_measure (the measure of behaviour that moved most within
    the slice: the lowest p-value), moved_first_mean, moved_second_mean, moved_difference, moved_ci_low, moved_ci_high
    (95 % Welch t over samples; NULL where a selection has fewer than 5 samples of it), moved_p_value_holm (over all
    slices and measures).

    Raises:
        QuestionError: A selection is not there, both are the same, or there is no such kind.
    """
    if by is not None and by not in BY:
        raise QuestionError(f"by must be one of {', '.join(BY)}, not {by!r}")
    found = drawn(store, asked(store, first, first_split, second, second_split, environments))
    frames = [pd.DataFrame(columns=_SLICES)]
    members: list[Members] = []
    for kind in BY if by is None else (by,):
        held = list(_slices(found, kind))
        if held and all(each.totals.sum() for each in _sums(found, kind, [own for _, own in held])):
            frames.append(_shares(found, kind, held))
            members += [own for _, own in held]
    frame = pd.concat(frames[1:], ignore_index=True) if len(frames) > 1 else frames[0]
    frame["p_value_bh"] = benjamini_hochberg(frame["p_value"].to_numpy(float))
    moved = pd.DataFrame([_moved(found, own) for own in members], columns=_MOVED, index=frame.index)
    frame = pd.concat([frame, moved], axis=1)
    # The lowest of several p-values is taken: all that were looked at count.
    frame["moved_p_value_holm"] = holm(np.minimum(frame.pop("moved_p_value").to_numpy(float) * _NUM_TRIED, 1.0))
    order = frame.assign(
        place=frame["by"].map({name: place for place, name in enumerate(BY)}),
        size=-frame["difference"].astype(float).abs(),
    ).sort_values(["place", "size", "slice"], kind="stable")
    return order.drop(columns=["place", "size"]).reset_index(drop=True)


_SLICES: Final = (
    *("by", "slice", "num_first", "num_second", "first_share", "second_share", "difference", "ci_low", "ci_high"),
    "p_value",
)
_MOVED: Final = [
    *("moved_measure", "moved_first_mean", "moved_second_mean", "moved_difference", "moved_ci_low", "moved_ci_high"),
    "moved_p_value",
]
_BEHAVIOUR: Final = tuple(name for name, (kind, _) in MEASURES.items() if kind == "behaviour")
_NUM_TRIED: Final = len(_BEHAVIOUR)


def _shares(found: Drawn, kind: str, held: list[tuple[str, Members]]) -> pd.DataFrame:
    """Shares of the slices of one kind, and how they differ."""
    shares = share_differences(*_sums(found, kind, [own for _, own in held]))
    shares["num_first"], shares["num_second"] = (np.array([int(own[side].sum()) for _, own in held]) for side in (0, 1))
    return pd.DataFrame({"by": kind, "slice": [name for name, _ in held], **shares})[list(_SLICES)]


def _sums(found: Drawn, kind: str, held: list[Members]) -> tuple[Sums, Sums]:
    """Members of each slice, beside the samples that tell the kind at all."""
    made = []
    for side, own in enumerate(found.sides):
        parts = np.column_stack([each[side] for each in held]).astype(np.float64)
        known = np.array([bool(each) for each in _labels(own, kind)], dtype=bool)
        known = np.ones(own.num_samples, dtype=bool) if kind == "tag" else known
        if kind == "prompt_length":
            known = np.asarray(parts.sum(axis=1) > 0, dtype=bool)
        made.append(Sums(parts[known], np.ones(int(known.sum()))))
    return made[0], made[1]


def _slices(found: Drawn, kind: str) -> Iterator[tuple[str, Members]]:
    """Name and members in both selections, shapes (samples,), of the slices of one kind."""
    if kind == "prompt_length":
        yield from _thirds(found)
        return
    labels = [_labels(each, kind) for each in found.sides]
    names, counts = np.unique([each for side in labels for own in side for each in own], return_counts=True)
    kept = names[np.argsort(-counts, kind="stable")][: int((counts >= MIN_SAMPLES).sum())][:MAX_SLICES]
    for name in sorted(kept.tolist()):
        first, second = (np.array([name in own for own in side], dtype=bool) for side in labels)
        yield name, (first, second)


def _labels(side: Side, kind: str) -> list[tuple[str, ...]]:
    if kind == "tag":
        return [tags_of(each) for each in side.about["tags"]]
    if kind == "prompt_length":
        return [()] * side.num_samples
    values = objects(side.about["environment" if kind == "environment" else "cluster_key"])
    return [() if each is None else (str(each),) for each in values]


def _thirds(found: Drawn) -> Iterator[tuple[str, Members]]:
    """Samples by the length of their prompt: thirds of the first selection; none where its lengths are all equal."""
    lengths = []
    for side in found.sides:
        own = side.measured["prompt_bytes"]
        held = np.full(side.num_samples, np.nan)
        held[np.unique(own.samples)] = own.means()
        lengths.append(held)
    known = lengths[0][np.isfinite(lengths[0])]
    if known.size < len(LENGTHS) or not np.isfinite(lengths[1]).any() or known.min() == known.max():
        return
    low, high = np.quantile(known, (1 / 3, 2 / 3))
    for place, name in enumerate(LENGTHS):
        with np.errstate(invalid="ignore"):
            first, second = (((each <= low), (each > low) & (each <= high), (each > high))[place] for each in lengths)
        yield name, (first, second)


def _moved(found: Drawn, members: Members) -> dict[str, Any]:
    """The measure of behaviour that differs most within a slice, by the p-value of Welch's t."""
    rows = []
    for name in _BEHAVIOUR:
        means = [inside(side, own, name) for side, own in zip(found.sides, members, strict=True)]
        if min(map(len, means)) >= MIN_SAMPLES:
            rows.append((name, means, unpaired_difference(*means)))
    tested = [(welch_p_value(*means), name, means, each) for name, means, each in rows if each.standard_error]
    if not tested:
        return {}
    p_value, name, means, difference = min(tested, key=lambda each: each[0])
    return {
        "moved_measure": name,
        "moved_first_mean": float(means[0].mean()),
        "moved_second_mean": float(means[1].mean()),
        "moved_difference": difference.value,
        "moved_ci_low": difference.interval.low,
        "moved_ci_high": difference.interval.high,
        "moved_p_value": p_value,
    }


def drift_overlap(
    store: Reading,
    *,
    first: str | None = None,
    first_split: str | None = None,
    second: str | None = None,
    second_split: str | None = None,
    environments: tuple[str, ...] | None = None,
    limit: int = 50,
) -> pd.DataFrame:
    """One row per prompt in both selections, the most attempted first, `limit` of them: what stands in both, word for word?

    Selections as `drift` takes them, but at every step of their splits: a sample trained on at any step is no longer
    new. Columns: prompt_hash, first_sample_id, second_sample_id (the first of each by name), num_samples_first,
    num_samples_second, num_rollouts_first, num_rollouts_second, prompt (its first 300 characters), num_total (such
    prompts in all), num_samples_shared (samples of the second selection that have one), num_samples_of_second (those
    whose prompt is known).

    Raises:
        QuestionError: A selection is not there, or both are the same.
    """  # noqa: E501 - the first line is what the command line lists
    pair = asked(store, first, first_split, second, second_split, environments).everywhere()
    return store.ask("drift_overlap", {**pair.parameters(), "limit": limit})
