"""Questions about what the reward is made of: its parts and their weights, gates, and where it is lost."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import numpy as np
import pandas as pd

from ingest.errors import QuestionError
from queries.connection import Reading
from queries.filters import EVERYTHING, Filters
from queries.frames import floats, insert_after, mean_intervals

BY: Final = ("run", "split", "step")
MIN_HELD: Final = 10
"""A gate is not told from fewer rollouts that it holds at the lowest reward."""
CHANCE: Final = 0.001
_EQUAL: Final = 0.999
FAILURES: Final = "failures"
REST: Final = "rest"


def reward_parts(store: Reading, filters: Filters = EVERYTHING, *, by: str = "split") -> pd.DataFrame:
    """One row per run, split, step (as `by` says) and grader, ordered by them: what is the reward made of?

    Columns: run_id, split, step, grader, kind, is_total (the grader is the reward itself), weight (NULL: not stored, or
    it changes), num_rollouts (that this grader has a row of), num_scored, num_samples, score_mean (over samples of
    their mean), score_ci_low, score_ci_high (95 % t interval over samples), share_low, share_high (of scored rollouts:
    at most 0, at least 1), correlation (with the reward, within samples, −1 to 1), r_squared (of the reward's variance
    over rollouts, what a straight line in the part explains, 0–1), variance_share (what the weighted part contributes
    to that variance; these sum to 1 where the weights reproduce the reward). NULL where nothing varies.

    Raises:
        QuestionError: There is no such grouping.
    """
    _check(by)
    frame = store.ask("reward_parts", {**filters.parameters(), "by": by})
    low, high = mean_intervals(frame, "score_mean", "score_sd", "num_samples")
    insert_after(frame, "score_mean", {"score_ci_low": low, "score_ci_high": high})
    return frame.drop(columns="score_sd")


def reward_gates(store: Reading, filters: Filters = EVERYTHING) -> pd.DataFrame:
    """One row per run and part of its reward, gates first: below which bound of a part is nothing else paid?

    Columns: run_id, grader, is_gate, bound (the least the part is in a rollout with more than the run's lowest reward),
    num_rollouts, num_below (all with the lowest reward), num_held (of these, with another part above 0: what the gate
    holds back), num_above, num_above_low (with the lowest reward although above), chance (that so many had the lowest
    reward if the part were none of its business, an upper bound). is_gate: at least ten are held, chance is below .001,
    at most a tenth of those above have the lowest reward, and the part is not the whole reward. Failures are left out.
    """
    frame = store.ask("reward_gates", filters.parameters())
    held = floats(frame, "num_held")
    chance = floats(frame, "share_low") ** held
    above_low = floats(frame, "num_above_low") / np.maximum(floats(frame, "num_above"), 1)
    is_whole = np.nan_to_num(floats(frame, "r_squared")) > _EQUAL
    frame["chance"] = chance
    frame.insert(2, "is_gate", (held >= MIN_HELD) & (chance < CHANCE) & (above_low <= 0.1) & ~is_whole)
    frame = frame.drop(columns=["share_low", "r_squared"])
    return frame.sort_values(["run_id", "is_gate", "grader"], ascending=[True, False, True]).reset_index(drop=True)


def reward_waterfall(
    store: Reading,
    filters: Filters = EVERYTHING,
    *,
    by: str = "split",
    weights: tuple[str, ...] = (),
    gates: tuple[str, ...] = (),
) -> pd.DataFrame:
    """One row per run, split, step (as `by` says) and loss, in their order: where is reward lost on the way from the ideal?

    Losses: `failures` (the infrastructure's or the grader's), each gate, each weighted part, and `rest`, which neither
    explains: the stored weights are then not how the reward is made. `weights` (`answer=1,style=0.5`) replace the
    stored ones, `gates` (`answer>=0.5`) those that `reward_gates` finds. Columns: run_id, split, step, place, loss,
    kind (`failures`, `gate`, `part`, `rest`), weight, bound, num_rollouts, num_samples, ideal (the sum of positive
    weights, for parts from 0 to 1; 1 where no weight is known), lost_mean (over samples), lost_ci_low, lost_ci_high (95
    % t interval over samples), left_mean (ideal minus the losses so far), actual_mean (the stored reward; the last
    left_mean). Only rollouts with a reward and every part, and failed ones with a reward, are counted.

    Raises:
        QuestionError: There is no such grouping, or a weight, gate or grader is not understood.
    """  # noqa: E501 - the first line is what the command line lists
    _check(by)
    frames = []
    for runs, own, closed in _formulas(store, filters, weights, gates):
        ideal = sum(each["weight"] * each["best"] for each in own) or 1.0
        asked = {**replace(filters, run_ids=runs).parameters(), "by": by, "parts": own, "gates": closed, "ideal": ideal}
        frames.append(_losses(store.ask("reward_waterfall", asked), own, closed, ideal))
    found = pd.concat(frames, ignore_index=True) if frames else _losses(None, [], [], 1.0)
    return found.sort_values(["run_id", "split", "step", "place"], kind="stable", na_position="last").reset_index(
        drop=True
    )


_LOSSES: Final = ("loss", "kind", "weight", "bound")


def _losses(
    frame: pd.DataFrame | None, own: list[dict[str, Any]], gates: list[dict[str, Any]], ideal: float
) -> pd.DataFrame:
    """The answer of the statement with what its places stand for, intervals, and what is left."""
    counts = [
        "num_rollouts",
        "num_samples",
        "ideal",
        "lost_mean",
        "lost_ci_low",
        "lost_ci_high",
        "left_mean",
        "actual_mean",
    ]
    order = ["run_id", "split", "step", "place", *_LOSSES, *counts]
    if frame is None:
        return pd.DataFrame(columns=order)
    named = [(FAILURES, FAILURES, None, None)]
    named += [(each["grader"], "gate", None, each["bound"]) for each in gates if each["grader"]]
    named += [(each["grader"], "part", each["weight"], None) for each in own if each["grader"]]
    named += [(REST, REST, None, None)]
    places = frame["place"].to_numpy(np.intp) - 1
    for position, column in enumerate(_LOSSES):
        values = [named[each][position] for each in places]
        frame[column] = pd.Series(values, index=frame.index, dtype=object if position < 2 else float)
    low, high = mean_intervals(frame, "lost_mean", "lost_sd", "num_samples")
    frame["lost_ci_low"], frame["lost_ci_high"], frame["ideal"] = low, high, ideal
    keys = [frame[name].astype(object).where(frame[name].notna(), None) for name in ("run_id", "split", "step")]
    frame["left_mean"] = ideal - frame.groupby(keys, dropna=False)["lost_mean"].cumsum()
    return frame[order]


def formula_words(own: Mapping[str, float]) -> str:
    """Weights as they are written: `answer=0.9, format=0.1`."""
    return ", ".join(f"{name}={value:g}" for name, value in own.items())


def _formulas(
    store: Reading, filters: Filters, weights: tuple[str, ...], gates: tuple[str, ...]
) -> list[tuple[tuple[str, ...], list[dict[str, Any]], list[dict[str, Any]]]]:
    """Runs that share parts, weights and gates, with these as the statements take them."""
    known = reward_parts(store, filters, by="run")
    if known.empty:
        return []
    names = known.groupby("run_id")["grader"].agg(list)
    found = {} if gates else _found_gates(store, filters)
    grouped: dict[tuple[Any, ...], list[str]] = {}
    for run_id, graders in names.items():
        own = given_weights(weights, graders) if weights else stored_weights(known[known["run_id"] == run_id])
        closed = given_gates(gates, graders) if gates else found.get(str(run_id), {})
        grouped.setdefault((tuple(own.items()), tuple(closed.items())), []).append(str(run_id))
    return [(tuple(runs), _parts(dict(own)), _gates(dict(closed))) for (own, closed), runs in grouped.items()]


def _found_gates(store: Reading, filters: Filters) -> dict[str, dict[str, float]]:
    frame = reward_gates(store, filters)
    found: dict[str, dict[str, float]] = {}
    for row in frame[frame["is_gate"]].to_dict("records"):
        found.setdefault(str(row["run_id"]), {})[str(row["grader"])] = float(row["bound"])
    return found


def stored_weights(parts: pd.DataFrame) -> dict[str, float]:
    """The weights of one run's parts as they are stored, by grader; empty where none are."""
    own = parts[~parts["is_total"].astype(bool) & parts["kind"].isin(["subscore", "reward"]) & parts["weight"].notna()]
    weights = {str(row["grader"]): float(row["weight"]) for row in own.to_dict("records")}
    return {name: weight for name, weight in weights.items() if weight != 0}


def _parts(weights: Mapping[str, float]) -> list[dict[str, Any]]:
    """Weights as the statements take them; a part of negative weight is best at 0."""
    return [{"grader": name, "weight": value, "best": float(value > 0)} for name, value in weights.items()]


def _gates(gates: Mapping[str, float]) -> list[dict[str, Any]]:
    return [{"grader": name, "bound": value} for name, value in gates.items()]


def given_weights(texts: tuple[str, ...], graders: list[str]) -> dict[str, float]:
    """Weights as a reader writes them, `answer=1`, by grader.

    Raises:
        QuestionError: One is not understood, names no grader, or is given twice.
    """
    return _given(texts, "=", graders, "a weight is written GRADER=NUMBER")


def given_gates(texts: tuple[str, ...], graders: list[str]) -> dict[str, float]:
    """Gates as a reader writes them, `answer>=0.5`, by grader.

    Raises:
        QuestionError: One is not understood, names no grader, or is given twice.
    """
    return _given(texts, ">=", graders, "a gate is written GRADER>=NUMBER")


def _given(texts: tuple[str, ...], sign: str, graders: list[str], how: str) -> dict[str, float]:
    found: dict[str, float] = {}
    for text in texts:
        name, there, number = text.rpartition(sign)
        try:
            value = float(number)
        except ValueError:
            raise QuestionError(f"{how}, not {text[:80]!r}") from None
        if not there or not np.isfinite(value):
            raise QuestionError(f"{how}, not {text[:80]!r}")
        grader = _grader(name.strip(), graders)
        if grader in found:
            raise QuestionError(f"{grader!r} is given twice")
        found[grader] = value
    return found


def _grader(name: str, graders: list[str]) -> str:
    """The grader of that name, or the only one that ends in `/name`."""
    if name in graders:
        return name
    ending = [each for each in graders if each.rpartition("/")[2] == name]
    if len(ending) == 1:
        return ending[0]
    listed = ", ".join(sorted(graders)[:20])
    raise QuestionError(f"there is {'no' if not ending else 'more than one'} grader {name[:60]!r}; there are {listed}")


def _check(by: str) -> None:
    if by not in BY:
        raise QuestionError(f"by must be one of {', '.join(BY)}, not {by!r}")
