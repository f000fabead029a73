"""Questions about tail contracts: which limits runs are held to, how many rollouts are over them, and at what cost.

A limit is written as `queries.limits` reads it. Over steps: `by="step"`; of an arm: filters on its run, split and step.
"""

from typing import Any, Final

import numpy as np
import pandas as pd

from queries.connection import Reading, at_once
from queries.distributions import groups
from queries.filters import EVERYTHING, Filters
from queries.frames import floats, insert_after, mean_intervals
from queries.limits import Limit, in_force, set_limits
from queries.long_tail import effective_number
from queries.measures import check_grouping
from queries.stats import NOTHING, Interval, wilson
from queries.tails import num_needed, percentile

KEPT: Final = "kept"
BROKEN: Final = "broken"
UNDECIDED: Final = "cannot be said"
_KEYS: Final = ["run_id", "split", "step"]
_OF_SIDE: Final = ("num_{}", "num_samples_{}", "{}_mean", "{}_ci_low", "{}_ci_high")
_PENALTY_COLUMNS: Final = ["limit", *_KEYS, "grader", *(each.format(s) for s in ("over", "rest") for each in _OF_SIDE)]


def contract_limits(store: Reading, filters: Filters = EVERYTHING, *, limits: str | None = None) -> pd.DataFrame:
    """One row per limit, in the order given: which limits are runs held to, and where does each come from?

    Limits are those given (`tool_calls<=10; p95(latency_s)<=30; share(messages<=100)>=0.99`), else those of
    `limits.toml` in the store's folder, else those the runs were configured with (at most 12, those of the most runs).
    Columns: limit (as written), sentence (as it reads), measure, statistic (`every rollout`, a percentile such as
    `P95`, or `share of rollouts`), bound (in the measure's unit), allowed_share (of rollouts that may be over it, 0–1),
    origin (`viewer`, `file` or `configuration`), name (as configured), run_id (one of those configured so), num_runs.

    Raises:
        QuestionError: A limit given, or in the file, is none.
    """
    rows = [
        {
            **{"limit": each.text, "sentence": each.sentence, "measure": each.measure, "statistic": each.statistic},
            **{"bound": each.bound, "allowed_share": each.allowed, "origin": each.origin, "name": each.name},
            **{"run_id": next(iter(each.run_ids), None), "num_runs": len(each.run_ids)},
        }
        for each in in_force(store, filters, limits)
    ]
    columns = ["limit", "sentence", "measure", "statistic", "bound", "allowed_share", "origin", "name", "run_id"]
    return pd.DataFrame(rows, columns=[*columns, "num_runs"])


def contract_shares(
    store: Reading, filters: Filters = EVERYTHING, *, limits: str | None = None, by: str = "run"
) -> pd.DataFrame:
    """One row per limit and run (split, step, as `by` says), ordered by them: is each limit kept, and who is over it?

    `limits` as in `contract_limits`. Columns: limit, run_id, split, step, verdict (`kept`, `broken` or `cannot be
    said`), reason, num_rollouts (with a value), num_missing, num_samples, num_over, share_over (0–1), ci_low, ci_high
    (95 % Wilson interval, for as many independent rollouts as the samples' attempts are worth: num_effective),
    allowed_share; percentile_value, percentile_ci_low, percentile_ci_high (95 % order-statistic interval, for as many
    independent rollouts, in the measure's unit; NULL unless a percentile is limited, with percentile_reason); apart
    from those over it: num_at (exactly at the bound), num_stopped (`budget_exceeded` or `truncated`), stopped_share (of
    num_status_known), num_stopped_over, num_stopped_at, and num_failed_over (infrastructure or grader failures among
    those over).

    A limit on every rollout is broken by one rollout over it. A limit on a percentile or share is kept where the
    interval of share_over ends at or below allowed_share, and broken where it begins above: P95 is at most 30 s exactly
    where at most 5 % of rollouts are above 30 s.

    Raises:
        QuestionError: There is no such limit or grouping, or no limit at all.
    """
    check_grouping(by)
    held = set_limits(store, filters, limits)
    return pd.concat(at_once(lambda each: _shares(store, filters, each, by), held), ignore_index=True)


def _shares(store: Reading, filters: Filters, limit: Limit, by: str) -> pd.DataFrame:
    """`contract_shares` of one limit."""
    frame = store.ask("contract_shares", _parameters(filters, limit, by))
    share, num, samples = (floats(frame, name) for name in ("share_over", "num_rollouts", "num_samples"))
    effective = effective_number(share, floats(frame, "share_sd"), num, samples)
    low, high = wilson(np.where(num > 0, share * effective, 0.0), effective)
    allowed = np.full(num.shape, limit.allowed)
    beside = {"ci_low": low, "ci_high": high, "num_effective": effective, "allowed_share": allowed}
    insert_after(frame, "share_over", beside | _percentiles(store, filters, limit, by, frame))
    known = floats(frame, "num_status_known")
    stopped = np.divide(floats(frame, "num_stopped"), known, out=np.full(known.shape, np.nan), where=known > 0)
    insert_after(frame, "num_stopped", {"stopped_share": stopped})
    told = [judged(limit, *each) for each in zip(num, floats(frame, "num_over"), low, high, strict=True)]
    frame.insert(3, "verdict", pd.Series([each for each, _ in told], dtype=object))
    frame.insert(4, "reason", pd.Series([each for _, each in told], dtype=object))
    frame.insert(0, "limit", limit.text)
    return frame.drop(columns="share_sd")


def _percentiles(store: Reading, filters: Filters, limit: Limit, by: str, frame: pd.DataFrame) -> dict[str, Any]:
    """Columns of the limited percentile, one value a row of `frame`; NULL where no percentile is limited."""
    found = {}
    if limit.percentile is not None:
        p = limit.percentile / 100
        for group in groups(store, filters, limit.measure, by):
            found[tuple(group.keys.values())] = percentile(group.values, p, samples=group.samples)
    nothing = Interval.none("order statistics", "no percentile is limited" if limit.percentile is None else NOTHING)
    rows = frame[_KEYS].astype(object).where(frame[_KEYS].notna(), None).itertuples(index=False, name=None)
    estimates = [found.get(each) for each in rows]
    intervals = [nothing if each is None else each.interval for each in estimates]
    numbers = {
        "percentile_value": [None if each is None else each.value for each in estimates],
        "percentile_ci_low": [each.low for each in intervals],
        "percentile_ci_high": [each.high for each in intervals],
    }
    reasons = pd.Series([each.reason for each in intervals], dtype=object)
    return {name: np.array(each, dtype=np.float64) for name, each in numbers.items()} | {"percentile_reason": reasons}


def judged(limit: Limit, num: float, num_over: float, low: float, high: float) -> tuple[str, str]:
    """The verdict on one limit, and why: from rollouts with a value, those over, and the interval of their share."""
    if not num:
        return UNDECIDED, f"no rollout tells {limit.measure}"
    if not limit.allowed:
        if num_over:
            return BROKEN, f"{num_over:.0f} of {num:.0f} rollouts are over it"
        return KEPT, f"none of {num:.0f} rollouts is over it; up to {_percent(high)} could be"
    reach = f"{_percent(num_over / num)} [{_percent(low)}, {_percent(high)}] of rollouts are over {limit.amount}"
    allowed = f"{_percent(limit.allowed)} may be"
    if low > limit.allowed or high <= limit.allowed:
        return (BROKEN if low > limit.allowed else KEPT), f"{reach}; {allowed}"
    needed = num_needed(1 - limit.allowed)
    too_few = f"; n too small: {needed} needed for {limit.statistic}" if num < needed else ""
    return UNDECIDED, f"{reach}, and the interval holds the {_percent(limit.allowed)} that may be{too_few}"


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %" if share < 0.995 else f"{100 * share:.0f} %"


def contract_costs(
    store: Reading, filters: Filters = EVERYTHING, *, limits: str | None = None, by: str = "run"
) -> pd.DataFrame:
    """One row per limit and run (split, step, as `by` says), ordered by them: what do the rollouts over it cost?

    `limits` as in `contract_limits`. Columns: limit, run_id, split, step, num_rollouts (with a value), num_over,
    excess_mean (by how much those over it are over, in the measure's unit); of all calls, tokens, seconds and US
    dollars those spent in rollouts over it, 0–1, NULL where none are known: tool_calls_share, output_tokens_share,
    input_tokens_share, latency_share, cost_share; and what would be saved per rollout, over it or not, had those over
    it stopped at it: tool_calls_saved, output_tokens_saved, input_tokens_saved (tokens), latency_saved_s (seconds),
    cost_saved_usd. What is saved is exact for the limited measure; the others are taken to grow evenly with it.

    Raises:
        QuestionError: There is no such limit or grouping, or no limit at all.
    """
    check_grouping(by)
    return _of_each("contract_costs", store, filters, limits, by)


def contract_penalties(
    store: Reading, filters: Filters = EVERYTHING, *, limits: str | None = None, by: str = "run"
) -> pd.DataFrame:
    """One row per limit, run (split, step, as `by` says) and penalty: are rollouts over the limit punished?

    A grader is taken for a penalty where its name says so (penalty, punishment, overlong), or where it is not the
    reward, is sometimes below 0, and is never above 0 or named after a budget or length. Empty where there is none.
    `limits` as in `contract_limits`. Columns: limit, run_id, split, step, grader; for rollouts over the limit num_over,
    num_samples_over, over_mean (mean score), over_ci_low, over_ci_high (95 % t interval, clustered by sample), and the
    same for the rest: num_rest, num_samples_rest, rest_mean, rest_ci_low, rest_ci_high.

    Raises:
        QuestionError: There is no such limit or grouping, or no limit at all.
    """
    check_grouping(by)
    if store.ask("penalty_graders", filters.parameters()).empty:
        set_limits(store, filters, limits)
        return pd.DataFrame(columns=_PENALTY_COLUMNS)  # no need to read every score once a limit
    frame = _of_each("contract_penalties", store, filters, limits, by)
    for side in ("over", "rest"):
        low, high = mean_intervals(frame, f"{side}_mean", f"{side}_sd", f"num_samples_{side}")
        insert_after(frame, f"{side}_mean", {f"{side}_ci_low": low, f"{side}_ci_high": high})
    return frame.drop(columns=["over_sd", "rest_sd"])


def _of_each(question: str, store: Reading, filters: Filters, limits: str | None, by: str) -> pd.DataFrame:
    """The answers to a question about one limit, one limit after the other."""
    held = set_limits(store, filters, limits)
    frames = at_once(lambda each: store.ask(question, _parameters(filters, each, by)), held)
    for each, frame in zip(held, frames, strict=True):
        frame.insert(0, "limit", each.text)
    return pd.concat(frames, ignore_index=True)


def _parameters(filters: Filters, limit: Limit, by: str) -> dict[str, Any]:
    return {**filters.parameters(), "measure": limit.measure, "bound": limit.bound, "by": by}
