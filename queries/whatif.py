"""The question of other weights: what each checkpoint's reward would be, and whether their order changes."""

from dataclasses import replace
from typing import Any, Final

import numpy as np
import pandas as pd

from ingest.errors import QuestionError
from queries.connection import Reading
from queries.filters import EVERYTHING, Filters
from queries.pairing import unpaired_difference
from queries.reward_parts import given_gates, given_weights, reward_parts
from queries.stats import Estimate, Floats, sample_mean

_CELL: Final = ["run_id", "split", "step"]
FEW_SHARED: Final = 0.5
"""Below this share of the smaller checkpoint's samples, two checkpoints are compared as if they shared none."""


def reward_whatif(
    store: Reading, filters: Filters = EVERYTHING, *, weights: tuple[str, ...], gates: tuple[str, ...] = ()
) -> pd.DataFrame:
    """One row per run, split and step, ordered by them: what would rewards be with other weights, and which is best?

    `weights` (`answer=1,style=0`) and `gates` (`answer>=0.5`, below which nothing is paid) make a new reward of the
    stored scores. Columns: run_id, split, step, num_samples, num_rollouts (with a reward and every part), num_missing
    (with a reward, without a part), stored_mean, stored_ci_low, stored_ci_high, new_mean, new_ci_low, new_ci_high (both
    over the same samples, 95 % t interval), stored_rank, new_rank (1 is the highest; among the rows of the split), and
    the same in every row of a split: kendall_tau (of the two orders, −1 to 1; NULL for fewer than two), best_changes,
    best_delta (new mean of the new best minus that of the stored best), best_ci_low, best_ci_high (95 % t interval over
    the samples both have, else of two independent means), is_beyond_noise (that interval lies above 0). What was
    trained on the stored reward would differ had it been trained on another: this judges these rollouts only.

    Raises:
        QuestionError: A weight or gate is not understood, or there is no weight.
    """
    if not weights:
        raise QuestionError("reward_whatif needs weights, as --weights answer=1,style=0")
    known = reward_parts(store, filters, by="run")
    having: dict[tuple[Any, ...], list[str]] = {}
    for run_id, graders in known.groupby("run_id")["grader"].agg(list).items():
        try:
            own, closed = given_weights(weights, graders), given_gates(gates, graders)
        except QuestionError:
            if len(known["run_id"].unique()) == 1:
                raise
            continue  # a run without one of these parts has nothing to be weighed
        having.setdefault((tuple(own.items()), tuple(closed.items())), []).append(str(run_id))
    if not having and len(known):
        given_weights(weights, sorted(set(known["grader"])))
        raise QuestionError("no run has all of these parts")
    frames = [_samples(store, filters, runs, dict(own), dict(closed)) for (own, closed), runs in having.items()]
    return _compared(pd.concat(frames, ignore_index=True) if frames else None)


def _samples(
    store: Reading, filters: Filters, runs: list[str], weights: dict[str, float], gates: dict[str, float]
) -> pd.DataFrame:
    parts = [{"grader": name, "weight": value, "best": 1.0} for name, value in weights.items()]
    bounds = [{"grader": name, "bound": value} for name, value in gates.items()]
    asked = replace(filters, run_ids=tuple(runs)).parameters()
    return store.ask("reward_whatif", {**asked, "parts": parts, "gates": bounds})


def _compared(samples: pd.DataFrame | None) -> pd.DataFrame:
    columns = [*_CELL, "num_samples", "num_rollouts", "num_missing"]
    columns += [f"{name}_{end}" for name in ("stored", "new") for end in ("mean", "ci_low", "ci_high")]
    columns += ["stored_rank", "new_rank", "kendall_tau", "best_changes", "best_delta", "best_ci_low", "best_ci_high"]
    columns += ["is_beyond_noise"]
    if samples is None:
        return pd.DataFrame(columns=columns)
    rows, cells = [], []
    for key, own in samples.groupby(_CELL, dropna=False, sort=False):
        whole = own[own["num_complete"] > 0]
        counts = {"num_samples": len(whole), "num_rollouts": int(own["num_complete"].sum())}
        counts["num_missing"] = int(own["num_rollouts"].sum()) - counts["num_rollouts"]
        rows.append({**dict(zip(_CELL, key, strict=True)), **counts, **_means(whole, "stored"), **_means(whole, "new")})
        cells.append(whole)
    frame = pd.DataFrame(rows)
    for _, place in frame.groupby("split", dropna=False).indices.items():
        for name, values in _ranked(frame.iloc[place], [cells[each] for each in place]).items():
            frame.loc[frame.index[place], name] = values
    frame = frame.reindex(columns=columns).astype({"step": "Int64", "best_changes": bool, "is_beyond_noise": bool})
    return frame.sort_values(_CELL, na_position="last").reset_index(drop=True)


def _means(samples: pd.DataFrame, name: str) -> dict[str, float | None]:
    found = sample_mean(samples[f"{name}_mean"].to_numpy(np.float64))
    return {f"{name}_mean": found.value, f"{name}_ci_low": found.interval.low, f"{name}_ci_high": found.interval.high}


def _ranked(rows: pd.DataFrame, cells: list[pd.DataFrame]) -> dict[str, Any]:
    """Ranks of the checkpoints of one split by stored and new mean, and what is said of their best."""
    stored, new = (rows[f"{name}_mean"].to_numpy(np.float64).round(12) for name in ("stored", "new"))
    ranks = {f"{name}_rank": _rank(values) for name, values in (("stored", stored), ("new", new))}
    tau = {"kendall_tau": kendall_tau(stored, new)}
    if not np.isfinite(stored).any():
        return ranks | tau | {"best_changes": False, "is_beyond_noise": False}
    before, after = int(np.nanargmax(stored)), int(np.nanargmax(new))
    changes = bool(new[after] > new[before])
    said: dict[str, Any] = {"best_changes": changes, "best_delta": float(new[after] - new[before])}
    found = difference_of(cells[after], cells[before], "new_mean") if changes else None
    low, high = (found.interval.low, found.interval.high) if found else (None, None)
    said |= {"best_ci_low": low, "best_ci_high": high, "is_beyond_noise": bool(low is not None and low > 0)}
    return ranks | tau | said


def _rank(values: Floats) -> Floats:
    """1 for the highest; equal values share the lower rank, NaN has none. Shape of the input."""
    higher = (values[None, :] > values[:, None]).sum(axis=1).astype(np.float64)
    return np.where(np.isfinite(values), higher + 1, np.nan)


def kendall_tau(first: Floats, second: Floats) -> float | None:
    """Kendall's τ-b of two orders, shape (n,): 1 the same, −1 reversed; None for fewer than two or where all are tied.

    Source: Kendall 1945; by hand because `scipy.stats`, against which it is tested, takes long to import.
    """
    known = np.isfinite(first) & np.isfinite(second)
    a, b = (np.sign(values[known][:, None] - values[known][None, :]) for values in (first, second))
    scale = float(np.sqrt((a**2).sum() * (b**2).sum()))
    return float((a * b).sum()) / scale if scale else None


def difference_of(candidate: pd.DataFrame, baseline: pd.DataFrame, column: str) -> Estimate:
    """Mean of a column in one frame of samples (`unit`) minus the other's: paired where they share most samples.

    Else as of two independent means (Welch).
    """
    shared = candidate.merge(baseline, on="unit", suffixes=("_new", "_old"))
    if len(shared) >= FEW_SHARED * min(len(candidate), len(baseline)):
        return sample_mean((shared[f"{column}_new"] - shared[f"{column}_old"]).to_numpy(np.float64))
    return unpaired_difference(baseline[column].to_numpy(np.float64), candidate[column].to_numpy(np.float64))
