"""Questions about how measures are distributed over rollouts, and about the tools they call."""

from dataclasses import dataclass
from itertools import pairwise
from math import ceil, floor, log10

import numpy as np
import pandas as pd

from queries.connection import Reading
from queries.filters import EVERYTHING, Filters
from queries.measures import check
from queries.stats import Codes, Floats
from queries.tails import distribution as empirical

MAX_BINS = 40
MAX_POINTS = 200
_KEYS = ["run_id", "split", "step"]


def distribution(
    store: Reading, filters: Filters = EVERYTHING, *, measure: str = "tool_calls", by: str = "run"
) -> pd.DataFrame:
    """One row per run (split, step, as `by` says) and bin that is not empty, ordered by them: how often is each value?

    The bins are the same for every group. Columns: run_id, split, step, bin, bin_low, bin_high (in the measure's unit;
    for whole numbers the edges lie between them), is_open (the last bin, which holds all above bin_low where a long
    tail would squeeze the rest), value_max, num_rollouts, share (of the group's rollouts with a value, 0–1).

    Raises:
        QuestionError: There is no such measure or grouping.
    """
    check(measure, by)
    own = {"measure": measure, "by": by}
    extent = store.ask("measure_range", {**filters.parameters(), **own}).iloc[0]
    if extent["num_rollouts"] == 0:
        origin, width, num_bins = 0.0, 1.0, 1
    else:
        low, p99, high = (float(extent[each]) for each in ("low", "p99", "high"))
        origin, width, num_bins = bins(low, p99, high, whole=bool(extent["is_whole"]))
    plan = {"origin": origin, "width": width, "num_bins": num_bins}
    frame = store.ask("distribution", {**filters.parameters(), **own, **plan})
    is_last = frame["bin"] == num_bins - 1
    frame.insert(6, "is_open", is_last & bool(extent["high"] > origin + num_bins * width))
    return frame


def bins(low: float, p99: float, high: float, *, whole: bool) -> tuple[float, float, int]:
    """Origin, width and number of bins for values between `low` and `high`, whole numbers or not.

    Widths are 1, 2 or 5 times a power of ten; whole numbers lie in the middle of their bins. Where the last percent of
    the values is more than half of the range, bins end near the 99th percentile, and the last one is open.
    """
    top = p99 if high - p99 > p99 - low else high
    span = top - low
    if whole and span < MAX_BINS:
        return low - 0.5, 1.0, int(ceil(top) - low) + 1 + int(top < high)
    if span <= 0:
        return low, 1.0, 1 + int(top < high)
    width = _nice(span / MAX_BINS)
    if whole:
        origin = floor(low / width) * width - 0.5
        return origin, width, floor((top - origin) / width) + 1 + int(top < high)
    origin = floor(low / width + 1e-9) * width
    return origin, width, max(ceil((top - origin) / width - 1e-9), 1) + int(top < high)


def _nice(width: float) -> float:
    """The smallest of 1, 2 and 5 times a power of ten that is no less than `width`."""
    power = 10.0 ** floor(log10(width))
    factor = next(each for each in (1, 2, 5, 10) if each * power >= width * (1 - 1e-9))
    return factor * power if power >= 1 else factor / round(1 / power)


def distribution_summary(
    store: Reading, filters: Filters = EVERYTHING, *, measure: str = "tool_calls", by: str = "run"
) -> pd.DataFrame:
    """One row per run (split, step, as `by` says), ordered by them: a measure's distribution over rollouts in numbers.

    Columns: run_id, split, step, num_rollouts (with a value), num_missing, num_splits, num_steps (pooled in the row),
    mean, sd, min, p25, p50, p75, p90, p95, p99, max, in the measure's unit.

    Raises:
        QuestionError: There is no such measure or grouping.
    """
    check(measure, by)
    return store.ask("distribution_summary", {**filters.parameters(), "measure": measure, "by": by})


def ecdf(
    store: Reading, filters: Filters = EVERYTHING, *, measure: str = "tool_calls", by: str = "run"
) -> pd.DataFrame:
    """At most 200 rows per run (split, step, as `by` says), ordered by them and value: the cumulative distribution.

    Columns: run_id, split, step, value (in the measure's unit), share_at_most (of rollouts with a value, 0–1),
    num_rollouts. Every row is exact; where there are more distinct values, rows are thinned out evenly in share.

    Raises:
        QuestionError: There is no such measure or grouping.
    """
    frames = [pd.DataFrame(columns=[*_KEYS, "value", "share_at_most", "num_rollouts"])]
    for group in groups(store, filters, measure, by):
        curve = empirical(group.values)
        kept = thinned(curve.at_most, MAX_POINTS)
        points = {"value": curve.x[kept], "share_at_most": curve.at_most[kept], "num_rollouts": curve.num}
        frames.append(pd.DataFrame({**group.keys, **points}))
    return frames[0] if len(frames) == 1 else pd.concat(frames[1:], ignore_index=True)


def rollouts_between(
    store: Reading,
    filters: Filters = EVERYTHING,
    *,
    at_least: float,
    below: float | None = None,
    measure: str = "tool_calls",
    limit: int = 50,
    offset: int = 0,
) -> pd.DataFrame:
    """One row per rollout with a value in [at_least, below), lowest first, paged: which rollouts lie in a bin?

    Columns: run_id, rollout_id, sample_id, attempt, split, step, status, value (of the measure, in its unit), reward,
    num_tool_calls, num_turns, output_tokens (tokens), latency_s (seconds), num_total (how many there are in all).

    Raises:
        QuestionError: There is no such measure.
    """
    check(measure, "run")
    own = {"measure": measure, "at_least": at_least, "below": below, "limit": limit, "offset": offset}
    return store.ask("rollouts_between", {**filters.parameters(), **own})


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """Rollouts whose value is known: their run_id, split and step, values and samples, each of shape (rollouts,)."""

    keys: dict[str, object]
    values: Floats
    samples: Codes
    num_missing: int


def groups(store: Reading, filters: Filters, measure: str, by: str) -> list[Group]:
    """Each run (split, step, as `by` says) that has values, in order.

    Raises:
        QuestionError: There is no such measure or grouping.
    """
    check(measure, by)
    table = store.arrow("measured_values", {**filters.parameters(), "measure": measure, "by": by})
    known, units = (table.column(name).combine_chunks() for name in ("known", "units"))
    flat, samples = known.values.to_numpy(), pd.factorize(units.values.to_numpy())[0]
    rows = zip(table.select(_KEYS).to_pylist(), pairwise(known.offsets.to_numpy()), strict=True)
    missing = table.column("num_missing").to_pylist()
    return [
        Group(keys, flat[start:end], samples[start:end], num)
        for (keys, (start, end)), num in zip(rows, missing, strict=True)
        if end > start
    ]


def thinned(increasing: Floats, at_most: int) -> Codes:
    """Indices of at most so many points, evenly spread in an increasing series of shape (n,), first and last kept."""
    if increasing.size <= at_most:
        return np.arange(increasing.size)
    targets = np.linspace(increasing[0], increasing[-1], at_most)
    return np.unique(np.minimum(np.searchsorted(increasing, targets), increasing.size - 1))


def tool_usage(store: Reading, filters: Filters = EVERYTHING, *, reach: bool = False) -> pd.DataFrame:
    """One row per run, step and tool, the most called first: which tools does the agent call, and how do they do?

    Columns: run_id, step, tool, num_calls, num_errors (flagged, inferred or never executed), error_rate (0–1),
    num_repeats (exact), num_rollouts (those that called it; NULL unless `reach` asks for it, which takes longer), share
    (of the step's calls, 0–1), num_latency_known, latency_p50_s, latency_p95_s (seconds, over calls).
    """
    return store.ask("tool_usage", {**filters.parameters(), "reach": reach})
