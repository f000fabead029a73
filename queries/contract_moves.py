"""Questions about the tail of two arms: which samples left it, entered it, or stayed, and how its size changed."""

from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ingest.errors import QuestionError
from queries.compared import compared
from queries.comparison import Comparison, comparison
from queries.connection import Reading, at_once
from queries.filters import Filters
from queries.frames import floats, insert_after
from queries.limits import Limit, set_limits
from queries.pairing import mcnemar, paired_difference
from queries.resampling import PValue
from queries.stats import cluster_codes, seed_of

MOVES: Final = ("entered", "left", "stayed_in", "stayed_out")
"""A sample is in the tail of an arm when at least half of its attempts there are over the limit."""
IN_TAIL: Final = 0.5
"""Share of a sample's attempts over the limit from which on the sample is in the tail: `MOVES`."""


def contract_moves(
    store: Reading,
    *,
    baseline: str,
    candidate: str,
    split: str | None = None,
    environments: tuple[str, ...] | None = None,
    pair_by: str = "sample_id",
    leave_out_failures: bool = False,
    cluster_by: str = "sample",
    limits: str | None = None,
) -> pd.DataFrame:
    """One row per limit, in the order given: does the candidate's tail differ, and which samples moved?

    `limits` as in `contract_limits` (of the configuration: that of the arms' runs). A sample is in the tail of an arm
    when at least half of its attempts there are over the limit. `cluster_by`: what samples that are alike share, as in
    `compare`. Columns: limit, num_paired (samples of which the limited measure is known in both arms), num_clusters (of
    them; their number without clusters), num_only_baseline, num_only_candidate, num_entered, num_left, num_stayed_in,
    num_stayed_out; share_over_baseline, share_over_candidate (mean over paired samples of the share of the sample's
    attempts over the limit, 0–1), delta (candidate minus baseline), ci_low, ci_high (95 % t interval over the samples'
    differences, clustered; NULL with ci_reason), p_value, p_method (exact McNemar where every paired sample has one
    attempt in each arm and stands for itself, else a sign flip of the differences, by cluster).

    Raises:
        QuestionError: An arm, `pair_by`, `cluster_by` or a limit is not one there is, or there is no limit at all.
    """
    asked = comparison(store, baseline, candidate, split, environments, pair_by, leave_out_failures, cluster_by)
    held = set_limits(store, Filters().only(asked.baseline.run_id, asked.candidate.run_id), limits)
    samples = at_once(lambda each: _samples(store, asked, each), held)
    clusters = _clusters(store, asked)
    return pd.DataFrame(
        [{"limit": each.text, **_moves(asked, each, own, clusters)} for each, own in zip(held, samples, strict=True)]
    )


def _clusters(store: Reading, asked: Comparison) -> dict[str, object] | None:
    """Label of each sample's cluster by its pair_key, None for one that has none; None without clusters."""
    if asked.cluster_by == "sample":
        return None
    found = compared(store, asked)
    return dict(zip(found.about["pair_key"], found.clusters(asked.cluster_by), strict=True))  # type: ignore[arg-type]  # there are some


def _moves(asked: Comparison, limit: Limit, samples: pd.DataFrame, by_key: dict[str, object] | None) -> dict[str, Any]:
    """What `contract_moves` says of one limit."""
    base, cand = (floats(samples, f"share_over_{arm}") for arm in ("baseline", "candidate"))
    both = np.isfinite(base) & np.isfinite(cand)
    paired = samples[both]
    clusters = None if by_key is None else np.array([by_key.get(key) for key in samples["pair_key"]], dtype=object)
    num_clusters = len(paired) if clusters is None else np.unique(cluster_codes(clusters)[both]).size
    moves = paired["move"].value_counts()
    single = len(paired) > 0 and bool((paired[["num_known_baseline", "num_known_candidate"]] == 1).all(axis=None))
    exact = None
    if single and clusters is None:
        gained, lost = int(moves.get("entered", 0)), int(moves.get("left", 0))
        exact = PValue(mcnemar(gained, lost), "exact McNemar", len(paired))
    seed = seed_of(asked.seed("contract_moves"), limit.text)
    got = paired_difference(base, cand, seed=seed, clusters=clusters, p_value=exact)
    return {
        "num_paired": got.num_paired,
        "num_clusters": num_clusters,
        "num_only_baseline": got.num_only_baseline,
        "num_only_candidate": got.num_only_candidate,
        **{f"num_{each}": int(moves.get(each, 0)) for each in MOVES},
        "share_over_baseline": _number(got.baseline_mean),
        "share_over_candidate": _number(got.candidate_mean),
        "delta": _number(got.difference.value),
        "ci_low": _number(got.difference.interval.low),
        "ci_high": _number(got.difference.interval.high),
        "ci_reason": got.difference.interval.reason,
        "p_value": _number(got.p_value.value),
        "p_method": got.p_value.method,
    }


def contract_moved_samples(
    store: Reading,
    *,
    baseline: str,
    candidate: str,
    split: str | None = None,
    environments: tuple[str, ...] | None = None,
    pair_by: str = "sample_id",
    leave_out_failures: bool = False,
    limits: str | None = None,
    move: str | None = None,
) -> pd.DataFrame:
    """One row per limit and paired sample, those that moved first: which samples left the tail, entered it, or stayed?

    `limits` and the tail as in `contract_moves`; `move` (one of `MOVES`) keeps only those. Columns: limit, move,
    environment, sample_id, candidate_sample_id (the same, unless paired by something else), num_attempts_baseline,
    num_attempts_candidate, num_known_baseline, num_known_candidate (of them with a value), share_over_baseline,
    share_over_candidate (of those, over the limit, 0–1), delta, baseline_mean, candidate_mean (of the limited measure,
    in its unit). Ordered by limit, move as in `MOVES`, the largest difference, environment and sample.

    Raises:
        QuestionError: An arm, `pair_by`, a limit or `move` is not one there is, or there is no limit at all.
    """
    if move is not None and move not in MOVES:
        raise QuestionError(f"move must be one of {', '.join(MOVES)}, not {move!r}")
    asked = comparison(store, baseline, candidate, split, environments, pair_by, leave_out_failures)
    held = set_limits(store, Filters().only(asked.baseline.run_id, asked.candidate.run_id), limits)
    frames = []
    for each, found in zip(held, at_once(lambda each: _samples(store, asked, each), held), strict=True):
        samples = found.dropna(subset=["share_over_baseline", "share_over_candidate"])
        samples = samples[samples["move"] == move] if move is not None else samples
        base, cand = (floats(samples, f"share_over_{arm}") for arm in ("baseline", "candidate"))
        insert_after(samples, "share_over_candidate", {"delta": cand - base})
        samples.insert(0, "limit", each.text)
        samples.insert(1, "move", samples.pop("move"))
        order = samples.assign(place=samples["move"].map(MOVES.index), size=-samples["delta"].abs())
        order = order.sort_values(["place", "size", "environment", "sample_id", "pair_key"], kind="stable")
        frames.append(order.drop(columns=["place", "size", "pair_key"]))
    return pd.concat(frames, ignore_index=True)


def _samples(store: Reading, asked: Comparison, limit: Limit) -> pd.DataFrame:
    """The samples of either arm with their shares over a limit, and `move` of those paired."""
    run_ids = sorted({asked.baseline.run_id, asked.candidate.run_id})
    own = {"measure": limit.measure, "bound": limit.bound, "run_ids": run_ids}
    frame = store.ask("contract_moved_samples", {**asked.parameters(), **own})
    base, cand = (floats(frame, f"share_over_{arm}") for arm in ("baseline", "candidate"))
    return frame.assign(move=pd.Series(_move(base, cand), index=frame.index, dtype=object))


def _move(baseline: NDArray[np.float64], candidate: NDArray[np.float64]) -> list[str | None]:
    """How each sample moved, None where it is not known in both arms."""
    was, now = baseline >= IN_TAIL, candidate >= IN_TAIL
    known = np.isfinite(baseline) & np.isfinite(candidate)
    cases = [~known, ~was & now, was & ~now, was & now]
    return [None if at < 0 else MOVES[at] for at in np.select(cases, [-1, 0, 1, 2], default=3).tolist()]


def _number(value: float | None) -> float:
    return np.nan if value is None else value
