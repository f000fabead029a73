"""Questions about how the mix of tools moved between two arms: by how much in all, and which tools moved most."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
from scipy import special

from queries.comparison import Comparison, comparison
from queries.connection import Reading
from queries.pairing import holm
from queries.resampling import bootstrap
from queries.stats import Floats

NUM_RESAMPLES = 2_000


@dataclass(frozen=True, slots=True, eq=False)
class Mix:
    """Calls of both arms by sample and tool, shape (samples, tools) each."""

    tools: tuple[str, ...]
    baseline: Floats
    candidate: Floats


def tool_mix_shift(
    store: Reading,
    *,
    baseline: str,
    candidate: str,
    split: str | None = None,
    environments: tuple[str, ...] | None = None,
    pair_by: str = "sample_id",
) -> pd.DataFrame:
    """One row: by how much did the mix of tools shift between two arms, and how much of that is chance?

    Columns: num_samples (with a call in either arm), num_samples_both, num_calls_baseline, num_calls_candidate,
    num_tools, total_variation (share of the calls that would have to go to other tools to make the mixes equal, 0–1),
    ci_low, ci_high (95 % percentile bootstrap over samples; NULL with ci_reason), chance_mean and chance_p95 (of the
    same number when the arms of whole samples are exchanged at random: it is never 0 by chance), p_value (of that
    exchange).

    Raises:
        QuestionError: An arm is not there.
    """
    asked = comparison(store, baseline, candidate, split, environments, pair_by)
    mix = _mix(store, asked)
    both = (mix.baseline.sum(axis=1) > 0) & (mix.candidate.sum(axis=1) > 0)
    row: dict[str, Any] = {
        "num_samples": len(mix.baseline),
        "num_samples_both": int(both.sum()),
        "num_calls_baseline": int(mix.baseline.sum()),
        "num_calls_candidate": int(mix.candidate.sum()),
        "num_tools": len(mix.tools),
    }
    if not (row["num_calls_baseline"] and row["num_calls_candidate"]):
        nothing = {"total_variation": np.nan, "ci_low": np.nan, "ci_high": np.nan, "ci_reason": "an arm has no calls"}
        return pd.DataFrame([row | nothing | {"chance_mean": np.nan, "chance_p95": np.nan, "p_value": np.nan}])
    columns = np.hstack((mix.baseline, mix.candidate))
    observed = float(_variation(columns.sum(axis=0)))
    interval = bootstrap(columns, _variation, seed=asked.seed("tool_mix_shift"), num_resamples=NUM_RESAMPLES)
    chance = _exchanged(mix, asked.seed("tool_mix_shift", "exchange"))
    found = {
        "total_variation": observed,
        "ci_low": np.nan if interval.low is None else interval.low,
        "ci_high": np.nan if interval.high is None else interval.high,
        "ci_reason": interval.reason,
        "chance_mean": float(chance.mean()),
        "chance_p95": float(np.quantile(chance, 0.95)),
        "p_value": float((1 + (chance >= observed - 1e-12).sum()) / (1 + chance.size)),
    }
    return pd.DataFrame([row | found])


def tool_mix_moves(
    store: Reading,
    *,
    baseline: str,
    candidate: str,
    split: str | None = None,
    environments: tuple[str, ...] | None = None,
    pair_by: str = "sample_id",
) -> pd.DataFrame:
    """One row per tool, the largest move first: which tools gained or lost a share of the calls between two arms?

    Columns: tool, num_calls_baseline, num_calls_candidate, baseline_share, candidate_share (of all calls of the arm,
    0–1), difference (candidate − baseline), ci_low, ci_high (95 % t over samples, of the ratio linearised), p_value,
    p_value_holm (adjusted over the tools).

    Raises:
        QuestionError: An arm is not there.
    """
    mix = _mix(store, comparison(store, baseline, candidate, split, environments, pair_by))
    sides = mix.baseline, mix.candidate
    totals = [float(each.sum()) for each in sides]
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = [each.sum(axis=0) / total for each, total in zip(sides, totals, strict=True)]
        # What each sample adds to the difference of the two ratios (Taylor, first order), by tool.
        parts = [
            (each - share * each.sum(axis=1, keepdims=True)) / total
            for each, share, total in zip(sides, shares, totals, strict=True)
        ]
        units = len(mix.baseline)
        error = np.sqrt(units / max(units - 1, 1) * ((parts[1] - parts[0]) ** 2).sum(axis=0))
        difference = shares[1] - shares[0]
        known = (error > 1e-12) & (units > 1)
        error = np.where(known, error, np.nan)
        half = special.stdtrit(max(units - 1, 1), 0.975) * error
        p_value = 2 * special.stdtr(max(units - 1, 1), -np.abs(difference / error))
    frame = pd.DataFrame(
        {
            "tool": list(mix.tools),
            "num_calls_baseline": mix.baseline.sum(axis=0).astype(np.int64),
            "num_calls_candidate": mix.candidate.sum(axis=0).astype(np.int64),
            "baseline_share": shares[0],
            "candidate_share": shares[1],
            "difference": difference,
            "ci_low": difference - half,
            "ci_high": difference + half,
            "p_value": p_value,
            "p_value_holm": holm(p_value),
        }
    )
    order = frame.assign(size=-frame["difference"].abs()).sort_values(["size", "tool"], kind="stable")
    return order.drop(columns="size").reset_index(drop=True)


@lru_cache(maxsize=2)
def _mix(store: Reading, asked: Comparison) -> Mix:
    """Calls by sample and tool, fetched once for both questions."""
    frame = store.ask("tool_mix_shift", asked.parameters())
    tools, tool = np.unique(frame["tool"].to_numpy(dtype=str), return_inverse=True)
    keys, key = np.unique(frame["pair_key"].to_numpy(dtype=str), return_inverse=True)
    counts = np.zeros((2, keys.size, tools.size))
    counts[(frame["arm"] == "candidate").to_numpy(dtype=np.intp), key, tool] = frame["num_calls"].to_numpy(float)
    return Mix(tuple(tools.tolist()), counts[0], counts[1])


def _variation(sums: Floats) -> Floats:
    """Total variation of two mixes, ½·Σ|p − q|, from sums of both arms' calls by tool, shape (…, 2·tools)."""
    first, second = np.split(sums, 2, axis=-1)
    p, q = (each / each.sum(axis=-1, keepdims=True) for each in (first, second))
    return np.asarray(np.abs(p - q).sum(axis=-1) / 2)


def _exchanged(mix: Mix, seed: int) -> Floats:
    """Total variation when the arms of whole samples are exchanged at random, shape (resamples,).

    A sum of halves and signed half differences: each sample's sign is drawn once for all tools. Those where an arm is
    left without calls do not count. Source: Fisher 1935, the paired exchange.
    """
    middle, half = (mix.baseline + mix.candidate) / 2, (mix.candidate - mix.baseline) / 2
    generator = np.random.default_rng(seed)
    signs = generator.choice((-1.0, 1.0), size=(NUM_RESAMPLES, len(half)))
    moved = signs @ half
    whole = middle.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = _variation(np.hstack((whole - moved, whole + moved)))
    return found[np.isfinite(found)]
