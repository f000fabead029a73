"""Questions about what rollouts cost: tokens, hours and dollars, and what a solved sample costs."""

from dataclasses import replace
from typing import Any, Final

import numpy as np
import pandas as pd

from ingest.errors import QuestionError
from queries.connection import Reading
from queries.filters import EVERYTHING, Filters
from queries.measures import check_grouping
from queries.prices import price_parameters, prices_in_force
from queries.resampling import resample, units_needed
from queries.stats import Floats, seed_of, t_intervals

COSTS_BY: Final = ("run", "split", "step", "environment", "model", "tool", "grader")
MAX_RESAMPLED: Final = 300
"""With more samples in a group, a bootstrap of every run takes seconds, and says what the linearised t says."""
MAX_GROUPS: Final = 60
"""Of more groups no intervals are drawn: each takes thousands of resamples."""
PARTS: Final = {"model": "tokens", "tools": "tools", "graders": "graders", "environment": "environment time"}
"""Parts of a computed cost, and what is said to have no price (or, for tokens, to be unknown)."""
UNITS: Final = ("usd", "tokens", "hours", "rollouts")


def costs(store: Reading, filters: Filters = EVERYTHING, *, by: str = "run") -> pd.DataFrame:
    """One row per run (split, step, environment, model, tool or grader, as `by` says), ordered by them: what is spent?

    Columns: run_id, split, step, environment, model, tool, grader (NULL but for those of the grouping), num_rollouts,
    num_calls (of the agent, of a tool; scores of a grader), hours (of rollouts, not of the clock; of a tool's calls),
    num_hours_known, input_tokens, cached_tokens, output_tokens, reasoning_tokens, num_tokens_known, usd (NULL where
    nothing has a price), num_costed (rollouts, calls, scores that it is of), num_reported (of which the source reports
    the cost), reported_usd, model_usd, tools_usd, graders_usd, environment_usd (computed from prices, of the others),
    is_lower_bound (something has no price, or is not known), unpriced (what, in words). A rollout has its reported or
    its computed cost, never both; a simulated user's, which τ² reports apart, is in neither. Rows of a tool or a grader
    are priced whatever the source reports: they are not to be added to the rest.

    Raises:
        QuestionError: There is no such grouping, or the price file states something that is no price.
    """
    if by not in COSTS_BY:
        raise QuestionError(f"by must be one of {', '.join(COSTS_BY)}, not {by!r}")
    priced = price_parameters(store, filters, prices_in_force(store))
    own = {**filters.parameters(), "prices": priced}
    if by in ("tool", "grader"):
        frame = store.ask(f"costs_by_{by}", own)
        lacking = frame["num_calls"] > frame["num_costed"]
        frame["is_lower_bound"] = lacking & (frame["num_costed"] > 0)
        said = [f"{by} without a price" if each else None for each in lacking]
        frame["unpriced"] = pd.Series(said, index=frame.index, dtype=object)
        return frame.reindex(columns=[*_COSTS])
    frame = store.ask("costs", {**own, "by": by}).rename(columns={"tool_calls": "num_calls"})
    said = [_unpriced(row) for row in frame.to_dict("records")]
    frame["unpriced"] = pd.Series(said, index=frame.index, dtype=object)
    short = frame["num_costed"] < frame["num_rollouts"]
    frame["is_lower_bound"] = (frame["num_costed"] > 0) & (short | frame["unpriced"].notna())
    return frame.reindex(columns=[*_COSTS])


_COSTS: Final = (
    *("run_id", "split", "step", "environment", "model", "tool", "grader", "num_rollouts", "num_calls"),
    *("hours", "num_hours_known", "input_tokens", "cached_tokens", "output_tokens", "reasoning_tokens"),
    *("num_tokens_known", "usd", "num_costed", "num_reported", "reported_usd", "model_usd", "tools_usd"),
    *("graders_usd", "environment_usd", "is_lower_bound", "unpriced"),
)


def _unpriced(row: dict[Any, Any]) -> str | None:
    lacking = [words for part, words in PARTS.items() if row[f"lacks_{part}"]]
    return ", ".join(lacking) or None


def cost_effect(
    store: Reading, filters: Filters = EVERYTHING, *, by: str = "run", reward_at_least: float | None = None
) -> pd.DataFrame:
    """One row per run (split, step, as `by` says), ordered by them: what does a solved sample cost?

    A sample is solved by an attempt whose reward is at least `reward_at_least`; without it by one that passed (where
    the source says so), else by a reward of 1 where all rewards are 0 or 1. Columns: run_id, split, step, success (the
    rule; NULL: it cannot be told), num_samples (whose success is known), num_unknown (the others, left out with what
    they cost), num_solved, num_rollouts, num_without_sample (rollouts left out), usd_per_solved, tokens_per_solved,
    hours_per_solved (rollout-hours), rollouts_per_solved: what all attempts at all these samples took, by the samples
    solved, each with _ci_low and _ci_high (95 % percentile bootstrap over samples; above 300 the linearised t);
    num_costed (samples whose dollars are known: the others count in neither part of usd_per_solved), num_reported
    (rollouts whose cost the source reports), is_lower_bound (something has no price), reason (why there is no
    interval or no figure).

    Raises:
        QuestionError: There is no such grouping, the bound is no number, or the price file is wrong.
    """
    check_grouping(by)
    if reward_at_least is not None and not np.isfinite(reward_at_least):
        raise QuestionError("reward_at_least must be a number")
    own = {"by": by, "reward_at_least": reward_at_least}
    priced = price_parameters(store, filters, prices_in_force(store))
    table = store.arrow("cost_effect", {**filters.parameters(), **own, "prices": priced})
    rows = []
    for row in table.to_pylist():
        lists = {name: np.array(row.pop(name) or [], dtype=float) for name in (*_LISTS, "solved")}
        keys = {name: row[name] for name in ("run_id", "split", "step")}
        # What is drawn for a run is the same whether it is asked about alone or beside others.
        seed = seed_of("cost_effect", replace(filters, run_ids=None), own, keys)
        rows.append(row | _effect(lists, seed, draws=table.num_rows <= MAX_GROUPS))
    bounds = [f"{unit}_per_solved{end}" for unit in UNITS for end in ("", "_ci_low", "_ci_high")]
    counts = ["num_samples", "num_unknown", "num_solved", "num_rollouts", "num_without_sample"]
    names = ["run_id", "split", "step", "success", *counts, *bounds, "num_costed", "num_reported"]
    frame = pd.DataFrame(rows, columns=[*names, "is_lower_bound", "reason"])
    return frame.astype({**dict.fromkeys(bounds, float), "step": "Int64"})


_LISTS: Final = ("usd", "tokens", "hours", "attempts")


def _effect(lists: dict[str, Floats], seed: int, *, draws: bool) -> dict[str, Any]:
    """The figures of one group, from one value a sample; NaN where it is not known."""
    known = np.isfinite(lists["solved"])
    solved = lists["solved"][known]
    found: dict[str, Any] = {"num_samples": int(known.sum()), "num_unknown": int((~known).sum())}
    found |= {"num_solved": int(solved.sum()), "num_costed": int(np.isfinite(lists["usd"][known]).sum())}
    reason = None if draws else f"more than {MAX_GROUPS} groups: choose fewer for intervals"
    if not known.any():
        reason = "it is not known which samples are solved: say from which reward on (reward_at_least)"
    elif not solved.any():
        reason = "no sample is solved"
    for unit, name in zip(UNITS, _LISTS, strict=True):
        spent = lists[name][known]
        kept = np.isfinite(spent)
        value = _ratio(spent[kept].sum(), solved[kept].sum())
        low, high, why = (np.nan, np.nan, None)
        if reason is None and np.isfinite(value):
            low, high, why = _interval(np.column_stack((spent[kept], solved[kept])), seed)
        found |= {f"{unit}_per_solved": value, f"{unit}_per_solved_ci_low": low, f"{unit}_per_solved_ci_high": high}
        reason = reason or why if unit == "rollouts" else reason
    return found | {"reason": reason}


def _ratio(spent: float, solved: float) -> float:
    return float(spent / solved) if solved > 0 else float("nan")


def _interval(columns: Floats, seed: int) -> tuple[float, float, str | None]:
    """95 % interval of Σspent / Σsolved over samples, columns of shape (samples, 2), and why there is none."""
    num = len(columns)
    if num < (needed := units_needed()):
        return np.nan, np.nan, f"n too small for a bootstrap: {needed} samples needed"
    if num > MAX_RESAMPLED:
        ratio, mean = columns[:, 0].sum() / columns[:, 1].sum(), columns[:, 1].mean()
        deviation = (columns[:, 0] - ratio * columns[:, 1]).std(ddof=1) / mean
        low, high = t_intervals(ratio, deviation, num)
        return float(low), float(high), None
    drawn = resample(columns, lambda sums: sums[..., 0] / sums[..., 1], seed=seed, num_resamples=2_000)
    # Where no sample of a resample is solved, a solved one costs more than any number: infinity, in its place in order.
    low, high = np.quantile(drawn, (0.025, 0.975), method="inverted_cdf")
    if not np.isfinite(high):
        return np.nan, np.nan, "too few samples are solved: there is no upper bound"
    if low == high:
        return np.nan, np.nan, "all resamples agree: they say nothing about the next sample"
    return float(low), float(high), None


__all__ = ["COSTS_BY", "UNITS", "cost_effect", "costs"]
