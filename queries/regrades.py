"""Questions about a grader's versions: how each scored, what changed where one took over, and re-grades."""

from typing import Any, Final

import numpy as np
import pandas as pd

from queries.agreement import CELLS, PAIRS, intervals
from queries.connection import Reading
from queries.filters import EVERYTHING, Filters
from queries.frames import floats, insert_after, mean_intervals
from queries.graders import KEYS, graders, named_keys, pair_sums, pairs_of
from queries.long_tail import share_interval
from queries.stats import Floats, sample_mean, seed_of

_NUMBERS: Final = (
    *("first_mean", "second_mean", "share_changed", "share_changed_low", "share_changed_high", "change_mean"),
    *("change_low", "change_high", "retest_sd", "noise_share", "noise_share_low", "noise_share_high"),
)


def grader_versions(store: Reading, filters: Filters = EVERYTHING) -> pd.DataFrame:
    """One row per run, split, grader, step and version, ordered by them: how did each version of a grader score?

    Columns: run_id, split, grader, step, grader_version, num_rollouts, num_samples, score_mean (over samples, of each
    sample's mean), ci_low, ci_high (95 %, t over samples). Scores without a version are left out.
    """
    frame = store.ask("grader_versions", filters.parameters())
    low, high = mean_intervals(frame, "score_mean", "score_sd", "num_samples")
    insert_after(frame, "score_mean", {"ci_low": low, "ci_high": high})
    return frame.drop(columns="score_sd")


def grader_version_changes(store: Reading, filters: Filters = EVERYTHING) -> pd.DataFrame:
    """One row per run, split, grader and version that took over in training: how did the same samples score across it?

    Grader and policy both changed between the two steps: only a re-grade of the same rollouts (`regrades`) tells them
    apart.
    Columns: run_id, split, grader, earlier_version, grader_version, before_step (the earlier version's last),
    first_step (the new one's first), num_samples (scored at both), before_mean, after_mean (over these samples),
    change_mean, ci_low, ci_high (after − before, 95 %, t over samples).
    """
    frame = store.ask("grader_version_changes", filters.parameters())
    low, high = mean_intervals(frame, "change_mean", "change_sd", "num_samples")
    insert_after(frame, "change_mean", {"ci_low": low, "ci_high": high})
    return frame.drop(columns="change_sd")


def regrades(store: Reading, filters: Filters = EVERYTHING) -> pd.DataFrame:
    """One row per run, split and re-grade of a grader: how often, and by how much, does grading again change a score?

    Columns: run_id, split, first_grader, second_grader (the re-grade), is_other_version (else the same version graded
    twice), num_rollouts, num_samples, first_mean, second_mean (over samples), share_changed (of rollouts, 0–1, Wilson
    interval for as many independent rollouts as the samples' attempts are worth), num_flipped (verdicts turned round),
    change_mean, change_low, change_high (second − first, mean over samples, 95 %, t), retest_sd (standard deviation of
    one grading of the same rollout, without the mean change), noise_share (retest_sd² / variance of the first scores
    between attempts at a sample; NULL where attempts are single; 95 % bootstrap over samples), reason.

    Raises:
        QuestionError: The rules in `graders.toml` cannot be read.
    """
    known = graders(store, filters)
    pairs = [each for each in pairs_of(known) if each["relation"] == "again"]
    rows = []
    frame = pair_sums(store, filters, pairs) if pairs else pd.DataFrame(columns=KEYS)
    for keys, own in frame.groupby(KEYS, dropna=False, sort=False):
        named = named_keys(keys)
        is_other = named["second_grader"].partition("#")[0] != named["first_grader"]
        rows.append(
            {
                **named,
                "is_other_version": is_other,
                **_again(own, seed_of("regrades", filters, named["first_grader"], named["second_grader"])),
            }
        )
    counts = ["num_rollouts", "num_samples", "num_flipped"]
    columns = [*KEYS, "is_other_version", *counts, *_NUMBERS, "reason"]
    return pd.DataFrame(rows, columns=columns).astype(dict.fromkeys(_NUMBERS, float))


def _again(own: pd.DataFrame, seed: int) -> dict[str, Any]:
    sums = np.column_stack([floats(own, name) for name in PAIRS])
    num, changed = sums[:, 0], floats(own, "num_changed")
    total, share = float(num.sum()), float(changed.sum() / num.sum())
    low, high = share_interval(changed, num)
    change = sample_mean((sums[:, 2] - sums[:, 1]) / num)
    columns = np.column_stack((sums, np.nan_to_num(floats(own, "sum_within")), num - 1))
    value = float(_noise_share(columns.sum(axis=0)))
    noise = intervals(columns, {"noise": _noise_share}, seed=seed)["noise"]
    is_known = np.isfinite(value)
    table = np.column_stack([floats(own, name) for name in CELLS])
    return {
        "num_rollouts": int(total),
        "num_samples": len(own),
        "num_flipped": int(table[:, 1:3].sum()),
        "first_mean": sample_mean(sums[:, 1] / num).value,
        "second_mean": sample_mean(sums[:, 2] / num).value,
        **{"share_changed": share, "share_changed_low": low, "share_changed_high": high},
        **{"change_mean": change.value, "change_low": change.interval.low, "change_high": change.interval.high},
        "retest_sd": float(np.sqrt(_retest_variance(sums.sum(axis=0)))) if total >= 2 else None,
        "noise_share": value if is_known else None,
        "noise_share_low": noise.low if is_known else None,
        "noise_share_high": noise.high if is_known else None,
        "reason": noise.reason if is_known else "no variance between attempts at a sample is known",
    }


def _retest_variance(sums: Floats) -> Floats:
    """Variance of one grading: half that of the differences of two, the mean difference taken out."""
    n, a, b, aa, bb, ab = np.moveaxis(sums[..., :6], -1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.maximum(aa + bb - 2 * ab - (b - a) ** 2 / n, 0.0) / (n - 1) / 2)


def _noise_share(sums: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        within = sums[..., 6] / sums[..., 7]
        return np.where(within > 1e-12, _retest_variance(sums) / within, np.nan)
