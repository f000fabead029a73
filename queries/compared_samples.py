"""Questions about two arms, sample by sample: the differences of each sample, and the quadrants they fall into."""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ingest.errors import QuestionError
from queries.compared import Sides, compared
from queries.comparison import MEASURES, Comparison, comparison
from queries.connection import Reading
from queries.pairing import benjamini_hochberg
from queries.permutation import p_values_by_sample
from queries.quadrants import (
    BETTER_NOT_MORE,
    NOT_WORSE_FEWER,
    QUADRANTS,
    Attempts,
    DeadBand,
    dead_band,
    joint_share,
    null_share,
    quadrant_codes,
    quadrant_shares,
)
from queries.slices import difficulty
from queries.stats import Floats

COSTS: Final = tuple(name for name in MEASURES if name not in ("reward", "pass_rate", "tool_error_rate"))
"""Measures that may stand against the reward: the less the better."""
NUM_SPLITS = 200
SHUFFLED = 1_000_000
"""Attempts shuffled at most for the null shares: with more attempts fewer splits say as much."""


def compare_samples(
    store: Reading,
    *,
    baseline: str,
    candidate: str,
    split: str | None = None,
    environments: tuple[str, ...] | None = None,
    pair_by: str = "sample_id",
    leave_out_failures: bool = False,
    cost: str = "tool_calls",
    eps_reward: float | None = None,
    eps_cost: float | None = None,
) -> pd.DataFrame:
    """One row per sample that both arms attempted, ordered by sample_id: how does each sample differ?

    Columns: sample_id, candidate_sample_id (the same, unless paired by something else), num_attempts_baseline,
    num_attempts_candidate (rollouts), quadrant (of reward against `cost`, NULL where either is not known in both arms;
    see `compare_quadrants`), p_value (of the reward's difference, by permuting the attempts; NULL with two attempts in
    all), p_value_bh (adjusted for the number of samples, Benjamini–Hochberg), environment, tags (JSON list), difficulty
    (as the sample says, else a third by the mean reward of both arms), cluster_key, then for every measure of `compare`
    {measure}_baseline_mean, {measure}_candidate_mean (mean over the sample's attempts, in the measure's unit) and
    {measure}_delta (candidate minus baseline).

    Raises:
        QuestionError: An arm, `pair_by` or `cost` is not one there is, or a dead-band is negative.
    """
    asked = comparison(store, baseline, candidate, split, environments, pair_by, leave_out_failures)
    judged = _judged(store, asked, cost, eps_reward, eps_cost)
    found = compared(store, asked)
    both = found.attempted_by_both
    frame = found.about.loc[both, [*_ABOUT]].reset_index(drop=True)
    quadrants = {
        key: QUADRANTS[code] for key, code in zip(judged.keys, judged.codes.tolist(), strict=True) if code >= 0
    }
    p_values = dict(zip(judged.keys, judged.p_values(asked.seed("compare_samples")).tolist(), strict=True))
    frame["quadrant"] = frame["pair_key"].map(quadrants).astype("str")
    frame["p_value"] = frame.pop("pair_key").map(p_values).astype(float)
    frame["p_value_bh"] = benjamini_hochberg(frame["p_value"].to_numpy(float))
    described = found.about.loc[both, ["environment", "tags", "cluster_key"]].reset_index(drop=True)
    described.insert(2, "difficulty", difficulty(found)[both])
    measures = {f"{name}_{part}": values[both] for name in MEASURES for part, values in _parts(found.sides[name])}
    frame = pd.concat([frame, described, pd.DataFrame(measures)], axis=1)
    return frame.sort_values("sample_id", kind="stable", ignore_index=True)


def compare_quadrants(
    store: Reading,
    *,
    baseline: str,
    candidate: str,
    split: str | None = None,
    environments: tuple[str, ...] | None = None,
    pair_by: str = "sample_id",
    leave_out_failures: bool = False,
    cluster_by: str = "sample",
    cost: str = "tool_calls",
    eps_reward: float | None = None,
    eps_cost: float | None = None,
) -> pd.DataFrame:
    """One row per quadrant, in the order of `QUADRANTS`: how many samples got better or worse, at more or less cost?

    `cost` is one of `COSTS`; a dead-band of None is the noise between attempts (`queries.quadrants`).
    Columns: quadrant, num_samples, share (0–1 of the paired samples), share_ci_low, share_ci_high (95 %, Wilson; with
    `cluster_by`, as in `compare`, a bootstrap of clusters, NULL with fewer than 20 of them or at 0 and 1), null_share
    (what chance alone gives: both arms' attempts dealt anew; NULL with null_reason); the same in every row: cost,
    eps_reward, eps_cost (half widths of the dead-bands in the measure's unit), eps_reward_note, eps_cost_note,
    num_paired (samples with reward and cost known in both arms), num_unknown (attempted by both, but not known),
    null_reason, and the joint claims better_not_more_share and not_worse_fewer_share, each with _ci_low and _ci_high.

    Raises:
        QuestionError: An arm, `pair_by`, `cluster_by` or `cost` is not one there is, or a dead-band is negative.
    """
    asked = comparison(store, baseline, candidate, split, environments, pair_by, leave_out_failures, cluster_by)
    judged = _judged(store, asked, cost, eps_reward, eps_cost)
    seed = asked.seed("compare_quadrants", cost)
    rows = max(1, len(judged.baseline.samples) + len(judged.candidate.samples))  # type: ignore[arg-type]  # both arms are judged here
    null = null_share(
        judged.baseline,
        judged.candidate,
        eps_reward=judged.reward_band.width,
        eps_cost=judged.cost_band.width,
        seed=seed,
        num_splits=int(np.clip(SHUFFLED // rows, 20, NUM_SPLITS)),
    )
    shares = quadrant_shares(judged.codes, null=null, seed=seed, **judged.how(store, asked))
    frame = pd.DataFrame(
        {
            "quadrant": [each.name for each in shares],
            "num_samples": [each.num_samples for each in shares],
            "share": [_number(each.share.value) for each in shares],
            "share_ci_low": [_number(each.share.interval.low) for each in shares],
            "share_ci_high": [_number(each.share.interval.high) for each in shares],
            "null_share": [_number(each.null_share) for each in shares],
        }
    )
    facts = judged.facts(cost, seed, **judged.how(store, asked))
    return frame.assign(**facts, null_reason=null.reason)


@dataclass(frozen=True, slots=True)
class _Judged:
    """Attempts of both arms at the samples both attempted, each such sample's quadrant code, and the dead-bands."""

    baseline: Attempts
    candidate: Attempts
    keys: list[str]
    codes: NDArray[np.int8]
    reward_band: DeadBand
    cost_band: DeadBand

    def how(self, store: Reading, asked: Comparison) -> dict[str, Any]:
        """How intervals of shares are had: Wilson's, or a bootstrap of the samples' clusters."""
        found = compared(store, asked)
        clusters = found.clusters(asked.cluster_by)
        if clusters is None:
            return {}
        labels = dict(zip(found.about["pair_key"], clusters.tolist(), strict=True))
        return {"method": "bootstrap", "clusters": [labels[key] for key in self.keys]}

    def p_values(self, seed: int) -> Floats:
        """P-value of each sample's difference of rewards, in the order of `keys`."""
        values = np.concatenate((np.asarray(self.baseline.reward), np.asarray(self.candidate.reward)))
        places = {key: place for place, key in enumerate(self.keys)}
        samples = np.array(
            [places[str(key)] for each in (self.baseline, self.candidate) for key in np.asarray(each.samples)],
            dtype=np.int64,
        )
        is_candidate = np.arange(values.size) >= np.asarray(self.baseline.reward).size
        return p_values_by_sample(values, samples, is_candidate, seed=seed)

    def facts(self, cost: str, seed: int, **how: Any) -> dict[str, Any]:
        """What is the same for every quadrant."""
        claims: dict[str, Any] = {}
        for name, quadrants in (("better_not_more", BETTER_NOT_MORE), ("not_worse_fewer", NOT_WORSE_FEWER)):
            got = joint_share(self.codes, quadrants, seed=seed, **how)
            claims[f"{name}_share"] = _number(got.value)
            claims[f"{name}_ci_low"] = _number(got.interval.low)
            claims[f"{name}_ci_high"] = _number(got.interval.high)
        return {
            "cost": cost,
            "eps_reward": self.reward_band.width,
            "eps_cost": self.cost_band.width,
            "eps_reward_note": self.reward_band.note,
            "eps_cost_note": self.cost_band.note,
            "num_paired": int((self.codes >= 0).sum()),
            "num_unknown": int((self.codes < 0).sum()),
            **claims,
        }


def _judged(store: Reading, asked: Comparison, cost: str, eps_reward: float | None, eps_cost: float | None) -> _Judged:
    """Judge every sample that both arms attempted; how samples are clustered makes no difference to it."""
    if cost not in COSTS:
        raise QuestionError(f"cost must be one of {', '.join(COSTS)}, not {cost!r}")
    if any(eps is not None and not 0 <= eps < np.inf for eps in (eps_reward, eps_cost)):
        raise QuestionError("a dead-band is a width of 0 or more")
    return _judgement(store, replace(asked, cluster_by="sample"), cost, eps_reward, eps_cost)


@lru_cache(maxsize=2)
def _judgement(
    store: Reading, asked: Comparison, cost: str, eps_reward: float | None, eps_cost: float | None
) -> _Judged:
    """`_judged`, kept for the questions that a page asks of the same comparison."""
    frame = store.ask("compare_quadrants", asked.parameters() | {"cost_measure": cost})
    arms = [frame[frame["arm"] == name] for name in ("baseline", "candidate")]
    base, cand = (
        Attempts(*(each[name].to_numpy(dtype, na_value=missing) for name, dtype, missing in _ATTEMPT)) for each in arms
    )
    means = [each.groupby("pair_key")[["reward", "cost_value"]].mean() for each in arms]
    deltas = means[1] - means[0]
    bands = [
        dead_band(first, base.samples, second, cand.samples) if eps is None else DeadBand(eps, None, 0, 0, "given")
        for first, second, eps in ((base.reward, cand.reward, eps_reward), (base.cost, cand.cost, eps_cost))
    ]
    codes = quadrant_codes(deltas["reward"], deltas["cost_value"], bands[0].width, bands[1].width)
    return _Judged(base, cand, deltas.index.tolist(), codes, *bands)


def _parts(sides: Sides) -> tuple[tuple[str, Floats], ...]:
    return (("baseline_mean", sides.baseline), ("candidate_mean", sides.candidate), ("delta", sides.deltas))


_ABOUT: Final = ("pair_key", "sample_id", "candidate_sample_id", "num_attempts_baseline", "num_attempts_candidate")
_ATTEMPT: Final[tuple[tuple[str, Any, Any], ...]] = (
    ("pair_key", object, None),
    ("reward", np.float64, np.nan),
    ("cost_value", np.float64, np.nan),
)


def _number(value: float | None) -> float:
    return np.nan if value is None else value
