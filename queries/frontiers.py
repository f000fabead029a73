"""The question which arms are worth their cost: the frontier of quality against cost, and how sure it is."""

from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ingest.errors import QuestionError
from queries.compared_samples import COSTS
from queries.connection import Reading
from queries.quadrants import ROUNDING
from queries.resampling import resample
from queries.several import Several, arm_means, bounds, check, found_arms, labels, mean_of, number
from queries.stats import Floats

QUALITIES: Final = ("reward", "pass_rate")
"""Measures of which more is better, that a cost may stand against."""
NUM_RESAMPLES = 2_000
MIN_SAMPLES = 6
"""Fewer samples than this say nothing about other draws of them (as `resampling.bootstrap`)."""
DRAWN = 40_000_000
"""Samples drawn at most, over all resamples: with very many samples fewer resamples say as much."""


def frontier(
    store: Reading,
    *,
    arms: tuple[str, ...],
    quality: str = "reward",
    cost: str = "tool_calls",
    split: str | None = None,
    environments: tuple[str, ...] | None = None,
    pair_by: str = "sample_id",
    leave_out_failures: bool = False,
) -> pd.DataFrame:
    """One row per arm, as given: which arms are worth their cost, so that no other is as good and as cheap?

    `quality` is one of `QUALITIES`, `cost` one of `COSTS`. All figures are over the samples in which every arm knows
    both, so that no arm is judged on easier samples than another.
    Columns: arm, run_id, split, step, quality, cost, num_samples (shared by all arms), num_samples_own (of the arm,
    with both known), quality_mean, quality_ci_low, quality_ci_high, cost_mean, cost_ci_low, cost_ci_high (95 % t over
    samples; NULL with …_ci_reason), is_on_frontier (no other arm is at least as good and at most as costly, and better
    or cheaper; NULL without shared samples), dominated_by (the best of the arms that are), frontier_chance (share of
    resamples of the samples, drawn for all arms at once, in which it is on the frontier; NULL with chance_reason).

    Raises:
        QuestionError: An arm, `quality`, `cost` or `pair_by` is not one there is, or there are fewer than two arms.
    """
    for name, value, choices in (("quality", quality, QUALITIES), ("cost", cost, COSTS)):
        if value not in choices:
            raise QuestionError(f"{name} must be one of {', '.join(choices)}, not {value!r}")
    check((), pair_by)
    found = found_arms(store, arms, split)
    if len(found) < 2:
        raise QuestionError("a frontier needs two arms at least")
    asked = Several(found, environments, pair_by, leave_out_failures)
    held = arm_means(store, asked)
    goods, costs = held.means[quality], held.means[cost]
    shared = held.shared(quality, cost)
    own = (np.isfinite(goods) & np.isfinite(costs)).sum(axis=1)
    chances, reason = _chances(goods[:, shared], costs[:, shared], asked.seed("frontier", quality, cost))
    better = _dominates(goods[:, shared].sum(axis=1), costs[:, shared].sum(axis=1))
    rows: list[dict[str, Any]] = []
    for place, who in enumerate(labels(asked)):
        good, price = mean_of(goods[place, shared], None), mean_of(costs[place, shared], None)
        rows.append(
            {
                **who,
                "quality": quality,
                "cost": cost,
                "num_samples": int(shared.sum()),
                "num_samples_own": int(own[place]),
                "quality_mean": number(good.value),
                **bounds(good.interval, "quality_"),
                "cost_mean": number(price.value),
                **bounds(price.interval, "cost_"),
                "is_on_frontier": not better[:, place].any() if shared.any() else None,
                "dominated_by": _best(better[:, place], goods[:, shared], asked) if shared.any() else None,
                "frontier_chance": chances[place],
                "chance_reason": reason,
            }
        )
    frame = pd.DataFrame(rows).astype({"step": "Int64", "is_on_frontier": "boolean"})
    return frame.astype(dict.fromkeys(_TEXTS, object))


_TEXTS: Final = ("quality_ci_reason", "cost_ci_reason", "dominated_by", "chance_reason")


def _dominates(goods: Floats, costs: Floats) -> NDArray[np.bool_]:
    """Which arm (last axis but one) dominates which (last axis), from sums over the same samples, shape (…, arms)."""
    by_good = goods[..., :, None] - goods[..., None, :]
    by_cost = costs[..., None, :] - costs[..., :, None]
    # Sums of the same numbers in another order differ by rounding: those are no difference.
    good_slack = ROUNDING * (1 + np.abs(goods).max(axis=-1, initial=0.0))[..., None, None]
    cost_slack = ROUNDING * (1 + np.abs(costs).max(axis=-1, initial=0.0))[..., None, None]
    not_worse = (by_good >= -good_slack) & (by_cost >= -cost_slack)
    return np.asarray(not_worse & ((by_good > good_slack) | (by_cost > cost_slack)))


def _chances(goods: Floats, costs: Floats, seed: int) -> tuple[Floats, str | None]:
    """How often each arm is on the frontier of resampled samples, shape (arms,), or why that cannot be said."""
    num_arms, num_samples = goods.shape
    if num_samples < MIN_SAMPLES:
        reason = (
            f"the arms share {num_samples} samples; {MIN_SAMPLES} needed"
            if num_samples
            else "the arms share no sample in which both are known"
        )
        return np.full(num_arms, np.nan), reason

    def on_frontier(sums: Floats) -> Floats:
        dominates = _dominates(sums[..., :num_arms], sums[..., num_arms:])
        return np.asarray(~dominates.any(axis=-2), dtype=np.float64)

    num = int(np.clip(DRAWN // num_samples, 200, NUM_RESAMPLES))
    drawn = resample(np.concatenate((goods, costs)).T, on_frontier, seed=seed, num_resamples=num)
    return drawn.mean(axis=0), None


def _best(dominating: NDArray[np.bool_], goods: Floats, asked: Several) -> str | None:
    """Label of the best of the arms that dominate another, None where there are none."""
    places = np.flatnonzero(dominating)
    return asked.arms[int(places[goods[places].mean(axis=1).argmax()])].label if places.size else None
