"""Questions about the long tail: far percentiles, survival, what lies above a threshold and what it costs."""

import numpy as np
import pandas as pd

from queries.connection import Reading
from queries.distributions import groups, thinned
from queries.filters import EVERYTHING, Filters
from queries.frames import floats, insert_after
from queries.measures import check
from queries.stats import Floats, cluster_codes, wilson
from queries.tails import distribution as empirical
from queries.tails import percentile

PERCENTILES = (50, 90, 95, 99)
MAX_POINTS = 300
_KEYS = ["run_id", "split", "step"]


def tail_percentiles(
    store: Reading, filters: Filters = EVERYTHING, *, measure: str = "tool_calls", by: str = "run"
) -> pd.DataFrame:
    """One row per run (split, step, as `by` says) and percentile (50, 90, 95, 99): how far up does each lie?

    Columns: run_id, split, step, percentile, num_rollouts (with a value), num_samples, num_missing, num_effective (how
    many independent rollouts the samples' attempts are worth at this percentile), value, ci_low, ci_high (95 %
    order-statistic interval for so many, in the measure's unit), reason (why there is no interval).

    Raises:
        QuestionError: There is no such measure or grouping.
    """
    rows = []
    for group in groups(store, filters, measure, by):
        samples = cluster_codes(group.samples)
        for each in PERCENTILES:
            found = percentile(group.values, each / 100, samples=samples)
            counts = {"percentile": each, "num_rollouts": found.num, "num_samples": int(samples.max()) + 1}
            missing = {"num_missing": group.num_missing + found.num_missing, "num_effective": found.num_effective}
            interval = {"ci_low": found.interval.low, "ci_high": found.interval.high, "reason": found.interval.reason}
            rows.append({**group.keys, **counts, **missing, "value": found.value, **interval})
    names = ["percentile", "num_rollouts", "num_samples", "num_missing", "num_effective", "value"]
    frame = pd.DataFrame(rows, columns=[*_KEYS, *names, "ci_low", "ci_high", "reason"])
    return frame.astype({"ci_low": float, "ci_high": float, "value": float, "num_effective": float})


def survival(
    store: Reading, filters: Filters = EVERYTHING, *, measure: str = "tool_calls", by: str = "run"
) -> pd.DataFrame:
    """At most 300 rows per run (split, step, as `by` says), ordered by them and value: how fast does the tail fall off?

    Columns: run_id, split, step, value (in the measure's unit), share_at_least (of rollouts with a value, those with at
    least so much, 0–1), band_low, band_high (95 % band around the whole curve, DKW for
    as many independent rollouts as the samples' attempts are worth), num_at_least, num_rollouts. Every
    row is exact; more distinct values are thinned out evenly in the logarithm of the share.

    Raises:
        QuestionError: There is no such measure or grouping.
    """
    names = ["value", "share_at_least", "band_low", "band_high", "num_at_least", "num_rollouts"]
    keys, curves = [], []
    for group in groups(store, filters, measure, by):
        curve = empirical(group.values, samples=group.samples)
        at_least = np.concatenate(([1.0], curve.above[:-1]))
        kept = thinned(-np.log(at_least), MAX_POINTS)
        shown = at_least[kept]
        low, high = curve.band(shown)
        num_at_least, num = np.rint(shown * curve.num), np.full(shown.size, curve.num)
        keys.append(group.keys)
        curves.append((curve.x[kept], shown, low, high, num_at_least, num))
    if not curves:
        return pd.DataFrame(columns=[*_KEYS, *names])
    whose = np.repeat(np.arange(len(keys)), [each[0].size for each in curves])
    frame = pd.DataFrame(keys, columns=_KEYS).astype({"step": "Int64"}).take(whose).reset_index(drop=True)
    columns = dict(zip(names, map(np.concatenate, zip(*curves, strict=True)), strict=True))
    return frame.assign(**columns).astype({"num_at_least": int, "num_rollouts": int})


def tail_share(
    store: Reading,
    filters: Filters = EVERYTHING,
    *,
    threshold: float,
    measure: str = "tool_calls",
    by: str = "run",
) -> pd.DataFrame:
    """One row per run (split, step, as `by` says), ordered by them: how many lie above a threshold, at what cost?

    Columns: run_id, split, step, num_rollouts (with a value), num_missing, num_samples, num_tail (above `threshold`,
    given in the measure's unit), share (0–1), ci_low, ci_high (95 % Wilson interval, for as many independent rollouts
    as the samples' attempts are worth: num_effective), tool_calls_share, output_tokens_share, input_tokens_share,
    latency_share (of all calls, tokens and seconds, those spent in rollouts above, 0–1; NULL where none are known).

    Raises:
        QuestionError: There is no such measure or grouping.
    """
    check(measure, by)
    own = {"measure": measure, "by": by, "threshold": threshold}
    frame = store.ask("tail_share", {**filters.parameters(), **own})
    low, high, effective = share_intervals(frame)
    insert_after(frame, "share", {"ci_low": low, "ci_high": high, "num_effective": effective})
    return frame.drop(columns="share_sd")


def share_intervals(frame: pd.DataFrame) -> tuple[Floats, Floats, Floats]:
    """Wilson bounds of shares of rollouts, and the numbers of independent rollouts they are for, shapes (rows,).

    From the columns share, share_sd (as `clustered_sd`), num_rollouts and num_samples.
    """
    share = floats(frame, "share")
    num, samples = (floats(frame, name) for name in ("num_rollouts", "num_samples"))
    effective = effective_number(share, floats(frame, "share_sd"), num, samples)
    low, high = wilson(np.where(num > 0, share * effective, 0.0), effective)
    return low, high, effective


def share_interval(successes: Floats, num: Floats) -> tuple[float, float]:
    """Wilson bounds of a pooled share of rollouts, clustered by sample; both of shape (samples,)."""
    total, samples = float(num.sum()), float(num.size)
    share = float(successes.sum()) / total
    spread = float(((successes - share * num) ** 2).sum())
    deviation = np.sqrt(samples**2 / (samples - 1) * spread) / total if samples > 1 else np.nan
    worth = effective_number(*(np.array([each]) for each in (share, deviation, total, samples)))
    low, high = wilson(share * worth, worth)
    return float(low[0]), float(high[0])


def effective_number(share: Floats, deviation: Floats, num: Floats, samples: Floats) -> Floats:
    """How many independent rollouts these are worth, shape of the inputs: p(1−p)/SE², SE clustered by sample.

    Never more than there are; where samples do not differ (or in a single one) it cannot be told, and samples count.
    Source: Korn and Graubard 1998, on proportions in clustered surveys.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        worth = share * (1 - share) / (deviation**2 / samples)
    return np.where(np.isfinite(worth), np.clip(worth, np.minimum(samples, num), num), samples)


def tail_rollouts(
    store: Reading,
    filters: Filters = EVERYTHING,
    *,
    threshold: float,
    measure: str = "tool_calls",
    limit: int = 50,
    offset: int = 0,
) -> pd.DataFrame:
    """One row per rollout above the threshold, the highest first, a page of them: which rollouts are in the tail?

    Columns: run_id, rollout_id, sample_id, attempt, split, step, status, value (of the measure, in its unit), reward,
    num_tool_calls, num_tool_errors, num_exact_repeats, num_turns, output_tokens (tokens), latency_s (seconds),
    num_total (how many lie above in all).

    Raises:
        QuestionError: There is no such measure.
    """
    check(measure, "run")
    own = {"measure": measure, "threshold": threshold, "limit": limit, "offset": offset}
    return store.ask("tail_rollouts", {**filters.parameters(), **own})
