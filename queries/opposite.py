"""Questions whether environments, or cooperating agents, move in opposite directions, which the total would hide."""

from typing import Any, Final

import numpy as np
import pandas as pd
from scipy import special

from ingest.errors import QuestionError
from queries.compared import compared, objects
from queries.comparison import comparison
from queries.connection import Reading
from queries.filters import EVERYTHING, Filters
from queries.frames import floats, mean_intervals
from queries.pairing import holm
from queries.rates import APART

MEASURED: Final = ("reward", "tool_calls")
LEVEL: Final = 0.05
CANCELLED: Final = 0.5
"""Share of the parts' movements that must be lost in the total for them to count as cancelling."""
_COLUMNS: Final = [
    *("run_id", "measure", "apart", "part", "first_step", "last_step", "num_paired", "first_mean", "last_mean"),
    *("delta_mean", "delta_ci_low", "delta_ci_high", "p_value", "p_value_holm", "moves", "total_delta", "total_ci_low"),
    *("total_ci_high", "cancelled", "is_opposite", "is_cancelling"),
]


def opposite_movements(
    store: Reading, filters: Filters = EVERYTHING, *, split: str = "valid", apart: str = "environment"
) -> pd.DataFrame:
    """One row per run, measure and environment (or agent, as `apart` says): do they move apart from the first step to the last?

    Runs with two steps or more and two parts or more. Columns: run_id, measure (`reward`; `tool_calls` per rollout, of
    an agent its own), apart, part (its name), first_step, last_step, num_paired (samples known at both), first_mean,
    last_mean, delta_mean (last − first), delta_ci_low, delta_ci_high (95 % t over samples), p_value, p_value_holm
    (adjusted over the parts and measures of the run), moves (`up` or `down` where p_value_holm < 0.05), total_delta,
    total_ci_low, total_ci_high (of all parts together), cancelled (share of the parts' movements that is lost in the
    total, 0–1), is_opposite (one part moves up and another down), is_cancelling (and at least half is lost).

    Raises:
        QuestionError: `apart` is neither environment nor agent.
    """  # noqa: E501 - the first line is what the command line lists
    if apart not in APART:
        raise QuestionError(f"apart must be one of {', '.join(APART)}, not {apart!r}")
    frame = store.ask("opposite_movements", {**filters.parameters(), "split": split, "apart": apart})
    return _told(frame, apart)


def compare_opposite(
    store: Reading,
    *,
    baseline: str,
    candidate: str,
    split: str | None = None,
    environments: tuple[str, ...] | None = None,
    pair_by: str = "sample_id",
    leave_out_failures: bool = False,
) -> pd.DataFrame:
    """One row per measure and environment: do environments move in opposite directions between two arms?

    Columns: as `opposite_movements`, with the baseline's mean as first_mean, the candidate's as last_mean, the arms'
    steps as first_step and last_step, and the candidate's run as run_id. Empty with fewer than two environments.

    Raises:
        QuestionError: An arm is not there, or `pair_by` is none of those there are.
    """
    asked = comparison(store, baseline, candidate, split, environments, pair_by, leave_out_failures)
    found = compared(store, asked)
    names = objects(found.about["environment"])
    rows = []
    for measure in MEASURED:
        side = found.sides[measure]
        known = np.isfinite(side.deltas)
        for part in [None, *sorted({str(each) for each in names[known] if each is not None})]:
            kept = known if part is None else known & (names == part)
            deltas = side.deltas[kept]
            rows.append(
                {
                    "run_id": asked.candidate.run_id,
                    "measure": measure,
                    "part": part,
                    "is_total": part is None,
                    "first_step": asked.baseline.step,
                    "last_step": asked.candidate.step,
                    "num_paired": deltas.size,
                    "first_mean": side.baseline[kept].mean() if deltas.size else np.nan,
                    "last_mean": side.candidate[kept].mean() if deltas.size else np.nan,
                    "delta_mean": deltas.mean() if deltas.size else np.nan,
                    "delta_sd": deltas.std(ddof=1) if deltas.size > 1 else np.nan,
                }
            )
    return _told(pd.DataFrame(rows), "environment")


def _told(frame: pd.DataFrame, apart: str) -> pd.DataFrame:
    """The parts' movements beside that of their total, with tests and whether they cancel."""
    low, high = mean_intervals(frame, "delta_mean", "delta_sd", "num_paired")
    num, delta = floats(frame, "num_paired"), floats(frame, "delta_mean")
    with np.errstate(divide="ignore", invalid="ignore"):
        error = np.where(np.isfinite(low), floats(frame, "delta_sd") / np.sqrt(num), np.nan)
        p_value = 2 * special.stdtr(np.maximum(num - 1, 1), -np.abs(delta / error))
    told = frame.assign(apart=apart, delta_ci_low=low, delta_ci_high=high, p_value=p_value)
    groups = [_of_run(rows) for _, rows in told.groupby("run_id", sort=False)]
    kept = [each for each in groups if len(each)]
    found = pd.concat(kept, ignore_index=True) if kept else told.iloc[:0]
    return found.reindex(columns=_COLUMNS).astype({"is_opposite": bool, "is_cancelling": bool})


def _of_run(rows: pd.DataFrame) -> pd.DataFrame:
    parts = rows[~rows["is_total"].astype(bool)].copy()
    parts = parts[parts.groupby("measure")["part"].transform("nunique") > 1]
    parts["p_value_holm"] = holm(parts["p_value"].to_numpy(float))
    shown = (parts["p_value_holm"] < LEVEL).to_numpy(bool)
    moves = ["up" if each > 0 else "down" for each in parts["delta_mean"]]
    parts["moves"] = [move if is_shown else None for move, is_shown in zip(moves, shown, strict=True)]
    pieces = [_beside_total(each, rows) for _, each in parts.groupby("measure", sort=False)]
    return pd.concat(pieces) if pieces else parts


def _beside_total(parts: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    total = rows[rows["is_total"].astype(bool) & (rows["measure"] == parts["measure"].iloc[0])]
    delta, num = parts["delta_mean"].to_numpy(float), parts["num_paired"].to_numpy(float)
    # Calls of cooperating agents add up; samples of several environments, or agents of their own, share the mean.
    adds_up = parts["apart"].iloc[0] == "agent" and parts["measure"].iloc[0] == "tool_calls"
    share = delta if adds_up else delta * num / num.sum()
    size = float(np.abs(share).sum())
    cancelled = 1 - abs(float(share.sum())) / size if size > 0 else np.nan
    is_opposite = {"up", "down"} <= set(parts["moves"])
    facts: dict[str, Any] = {
        "total_delta": total["delta_mean"].iloc[0] if len(total) else np.nan,
        "total_ci_low": total["delta_ci_low"].iloc[0] if len(total) else np.nan,
        "total_ci_high": total["delta_ci_high"].iloc[0] if len(total) else np.nan,
        "cancelled": cancelled,
        "is_opposite": is_opposite,
        "is_cancelling": is_opposite and cancelled >= CANCELLED,
    }
    return parts.assign(**facts)
