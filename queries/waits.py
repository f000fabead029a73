"""Questions about waiting: how long the last rollouts of a step hold it up, and which are slow again and again."""

from typing import Any, Final

import numpy as np
import pandas as pd
from scipy import special

from ingest.errors import QuestionError
from queries.connection import Reading
from queries.costs import costs
from queries.filters import EVERYTHING, Filters
from queries.frames import floats, insert_after
from queries.long_tail import effective_number
from queries.pairing import benjamini_hochberg
from queries.prices import HOUR, prices_in_force
from queries.stats import Floats, wilson

FEWEST: Final = 20
"""Rollouts of which the last 5 % are one or more."""
STRAGGLERS: Final = ("sample", "tool", "host", "environment")
FALSE_SHARE: Final = 0.05
"""Of what is called slow beyond chance, the share that may be so by chance (Benjamini–Hochberg)."""
_MICRO: Final = 1e6


def step_waits(store: Reading, filters: Filters = EVERYTHING) -> pd.DataFrame:
    """One row per run, split and step, ordered by them: how long do the last rollouts alone hold a step up?

    Over rollouts with a start and an end. Columns: run_id, split, step, num_rollouts, num_timed, first_at, last_at
    (UTC), span_s (seconds from the first start to the last end), busy_s (of all rollouts together), early_share (of
    them, those that start no later than the first one ends, 0–1), is_batch (more than half do: the step waits for its
    last; NULL with fewer than two rollouts), num_last (the last 5 % to end), held_s (seconds from when 95 % have ended
    to the last end; of batches of 20 rollouts or more), held_share (of span_s, 0–1), peak_in_flight (most rollouts at
    once), idle_s (rollout-seconds that were free, were there as many workers as that: peak_in_flight · span_s −
    busy_s), idle_share (of peak_in_flight · span_s, 0–1), idle_usd (at what the environments of the step cost a second;
    NULL without a price), reason (why nothing is said of waiting).

    Raises:
        QuestionError: The price file states something that is no price.
    """
    table = store.arrow("step_waits", filters.parameters())
    rows: list[dict[str, Any]] = []
    for row in table.drop_columns(["starts_us", "ends_us"]).to_pylist():
        starts, ends = (
            np.sort(table.column(name)[len(rows)].values.to_numpy(zero_copy_only=False))
            if row["num_timed"]
            else np.empty(0, dtype=np.int64)
            for name in ("starts_us", "ends_us")
        )
        rows.append(row | _waits(starts, ends))
    frame = pd.DataFrame(rows, columns=[*_WAITS])
    frame = frame.astype(dict.fromkeys(_NUMBERS, float) | dict.fromkeys(_COUNTS, "Int64"))
    return frame.astype({"is_batch": "boolean"}).assign(idle_usd=_idle_usd(store, filters, frame))[[*_WAITS]]


_COUNTS: Final = ("step", "num_rollouts", "num_timed", "num_last", "peak_in_flight")
_NUMBERS: Final = ("span_s", "busy_s", "early_share", "held_s", "held_share", "idle_s", "idle_share")
_WAITS: Final = (
    *("run_id", "split", "step", "num_rollouts", "num_timed", "first_at", "last_at", "span_s", "busy_s"),
    *("early_share", "is_batch", "num_last", "held_s", "held_share", "peak_in_flight", "idle_s", "idle_share"),
    *("idle_usd", "reason"),
)


def _waits(starts: Any, ends: Any) -> dict[str, Any]:
    """What is said of one step, from its sorted starts and ends in microseconds, shape (rollouts,)."""
    num = len(starts)
    if num == 0:
        return {"reason": "no rollout has a start and an end"}
    span = float(ends[-1] - starts[0]) / _MICRO
    busy = float(ends.sum(dtype=np.float64) - starts.sum(dtype=np.float64)) / _MICRO
    early = float(np.searchsorted(starts, ends[0], side="right")) / num
    found: dict[str, Any] = {"span_s": span, "busy_s": busy, "early_share": early}
    if num < 2:
        return found | {"reason": "one rollout waits for no other"}
    if early <= 0.5:
        said = "rollouts start as others end: no batch that waits for its last"
        return found | {"is_batch": False, "reason": said}
    # Ends before starts: a worker that is free at an instant takes the next rollout at that instant.
    peak = int((np.arange(1, num + 1) - np.searchsorted(ends, starts, side="right")).max())
    peak = max(peak, 1)
    idle = max(peak * span - busy, 0.0)
    found |= {"is_batch": True, "peak_in_flight": peak, "idle_s": idle}
    found["idle_share"] = idle / (peak * span) if span > 0 else None
    if num < FEWEST:
        return found | {"reason": f"with fewer than {FEWEST} rollouts in a step, its last 5 % are less than one"}
    at = int(np.ceil(np.round(0.95 * num, 9))) - 1
    held = float(ends[-1] - ends[at]) / _MICRO
    return found | {
        "num_last": num - 1 - at,
        "held_s": held,
        "held_share": held / span if span > 0 else None,
        "reason": None,
    }


def _idle_usd(store: Reading, filters: Filters, frame: pd.DataFrame) -> Floats:
    """Idle seconds at what the environments of each step cost a second, shape (steps,); NaN without prices."""
    if not prices_in_force(store).of("environment"):
        return np.full(len(frame), np.nan)
    spent = costs(store, filters, by="step")[["run_id", "split", "step", "environment_usd", "hours"]]
    joined = frame.merge(spent, on=["run_id", "split", "step"], how="left")
    with np.errstate(invalid="ignore", divide="ignore"):
        return floats(frame, "idle_s") * floats(joined, "environment_usd") / (floats(joined, "hours") * HOUR)


def stragglers(
    store: Reading, filters: Filters = EVERYTHING, *, by: str = "sample", limit: int | None = 100
) -> pd.DataFrame:
    """One row per run and sample (`tool`, `host`, `environment`), the surest first: which are slow again and again?

    Slow are the rollouts above the P95 of the latencies of their step, of steps with 20 or more. Columns: run_id,
    environment, name (the sample's id, the tool that a rollout called, the host, the environment), num_rollouts,
    num_samples, num_slow, rate (of its rollouts, 0–1), ci_low, ci_high (95 % Wilson; but for samples, for as many
    independent rollouts as the samples' attempts are worth), chance (the rate that chance alone gives, as slow
    rollouts fell on any of their step), p_value (that chance gives so many or more), p_value_adjusted (for all
    num_tested of the run, Benjamini–Hochberg), is_beyond_chance (at most 0.05), latency_mean_s (seconds), num_tested.

    Raises:
        QuestionError: `by` is none of these.
    """
    if by not in STRAGGLERS:
        raise QuestionError(f"by must be one of {', '.join(STRAGGLERS)}, not {by!r}")
    frame = store.ask("stragglers", {**filters.parameters(), "by": by})
    num, slow = floats(frame, "num_rollouts"), floats(frame, "num_slow")
    with np.errstate(invalid="ignore", divide="ignore"):
        rate, chance = slow / num, floats(frame, "expected_slow") / num
    worth = (
        num if by == "sample" else effective_number(rate, floats(frame, "slow_sd"), num, floats(frame, "num_samples"))
    )
    low, high = wilson(rate * worth, worth)
    # The binomial tail at a number that need not be whole: P(X ≥ k) is an incomplete beta function.
    tail = special.betainc(np.maximum(rate * worth, 1e-300), worth - rate * worth + 1, chance)
    frame["p_value"] = np.where(chance > 0, np.where(slow > 0, tail, 1.0), np.nan)
    insert_after(frame, "num_slow", {"rate": rate, "ci_low": low, "ci_high": high, "chance": chance})
    adjusted = frame.groupby("run_id")["p_value"].transform(lambda each: benjamini_hochberg(each.to_numpy(float)))
    frame["p_value_adjusted"] = adjusted
    frame["is_beyond_chance"] = (adjusted <= FALSE_SHARE) & (rate > chance)
    frame["num_tested"] = frame.groupby("run_id")["p_value"].transform("count")
    order = ["run_id", "p_value", "rate", "num_rollouts", "name", "environment"]
    frame = frame.sort_values(order, ascending=[True, True, False, False, True, True], kind="stable")
    kept = frame if limit is None else frame.groupby("run_id", sort=False).head(limit)
    return kept[[*_SLOW]].reset_index(drop=True)


_SLOW: Final = (
    *("run_id", "environment", "name", "num_rollouts", "num_samples", "num_slow", "rate", "ci_low", "ci_high"),
    *("chance", "p_value", "p_value_adjusted", "is_beyond_chance", "latency_mean_s", "num_tested"),
)
