"""More than two arms, sample by sample: what questions about several arms share. Asks for each arm's samples once.

The questions: `compare_several` (each against one baseline), `arm_facts` (what could mislead), `base_model_change`
(four arms), `setting_effect` (arms along a setting of their runs) and `frontier` (quality against cost).
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ingest.errors import QuestionError
from queries.arms import Arm, arm, arms
from queries.comparison import CLUSTER_BY, MEASURES, PAIR_BY, check_clusters, metadata_path
from queries.connection import Reading, to_pandas
from queries.pairing import paired_difference
from queries.resampling import PValue, sign_flips
from queries.stats import Codes, Estimate, Floats, Interval, clustered_mean, sample_mean, seed_of

SHOWN: Final = (
    *("reward", "pass_rate", "tool_calls", "tool_calls_failed", "turns", "output_tokens", "latency_s", "cost_usd"),
)
"""The measures that are compared unless others are chosen."""
MAX_ARMS = 50
"""More arms than this make no table that is read."""
ALPHA = 0.05
"""A difference counts as shown where its p-value, adjusted for the number of arms, is at most this."""
MAX_FLIPS, MIN_FLIPS = 1_999, 999
FLIPPED = 400_000_000
"""Signs times columns flipped at most, about half a second: with very many samples fewer patterns say as much."""


@dataclass(frozen=True, slots=True)
class Several:
    """Arms, each once, and how their samples are paired."""

    arms: tuple[Arm, ...]
    environments: tuple[str, ...] | None = None
    pair_by: str = "sample_id"
    leave_out_failures: bool = False
    cluster_by: str = "sample"

    def parameters(self) -> dict[str, Any]:
        """Values by parameter name of the SQL."""
        return {
            "arms": [each.parameter() | {"arm": number} for number, each in enumerate(self.arms)],
            "environments": None if self.environments is None else list(self.environments),
            "pair_by": self.pair_by,
            "leave_out_failures": self.leave_out_failures,
            "metadata_path": metadata_path(self.cluster_by),
        }

    def seed(self, *parts: object) -> int:
        """Seed of what is drawn at random for these arms: everyone who asks sees the same figures."""
        return seed_of(asdict(self), *parts)


@dataclass(frozen=True, slots=True, eq=False)
class ArmMeans:
    """Each measure's mean per arm and sample, shape (arms, samples), NaN where it is not known.

    Samples in the order of their key; `clusters` is what each shares (None: samples stand for themselves), shape
    (samples,). `num_attempts` has the shape of the means, 0 where the arm did not attempt the sample.
    """

    means: Mapping[str, Floats]
    num_attempts: NDArray[np.int64]
    clusters: NDArray[np.object_] | None

    def shared(self, *measures: str) -> NDArray[np.bool_]:
        """Samples of which all these measures are known in every arm, shape (samples,)."""
        known = [np.isfinite(self.means[each]).all(axis=0) for each in measures]
        return np.asarray(np.logical_and.reduce(known), dtype=bool)


def found_arms(store: Reading, texts: Iterable[str], split: str | None = None) -> tuple[Arm, ...]:
    """The arms as written (`RUN@STEP`, see `queries.arms`) in this order; one that is named twice counts once.

    Raises:
        QuestionError: An arm is not there, or there are more than `MAX_ARMS`.
    """
    known = arms(store)
    found = tuple(dict.fromkeys(arm(known, each, split) for each in texts))
    if len(found) > MAX_ARMS:
        raise QuestionError(f"{len(found)} arms are too many: {MAX_ARMS} at most")
    return found


def check(measures: Iterable[str], pair_by: str, cluster_by: str = "sample") -> None:
    """Check what a question is given by name.

    Raises:
        QuestionError: There is no such measure, nothing to pair by, or to cluster by.
    """
    for each in measures:
        if each not in MEASURES:
            raise QuestionError(f"a measure is one of {', '.join(MEASURES)}, not {each!r}")
    if pair_by not in PAIR_BY:
        raise QuestionError(f"pair_by must be one of {', '.join(PAIR_BY)}, not {pair_by!r}")
    check_clusters(cluster_by)


@lru_cache(maxsize=2)
def arm_means(store: Reading, asked: Several) -> ArmMeans:
    """Each arm's samples, from one statement however many arms there are; the last two answers are kept."""
    frame = to_pandas(store.arrow("compared_samples", asked.parameters()))
    keys, sample = np.unique(frame["pair_key"].to_numpy(dtype=str), return_inverse=True)
    at = frame["arm"].to_numpy(dtype=np.intp), sample
    shape = (len(asked.arms), keys.size)

    def placed(column: str) -> Floats:
        values = frame[column].to_numpy(dtype=np.float64, na_value=np.nan)
        found = np.full(shape, np.nan)
        found[at] = np.where(np.isfinite(values), values, np.nan)
        found.flags.writeable = False
        return found

    attempts = np.nan_to_num(placed("num_attempts")).astype(np.int64)
    clusters = None if asked.cluster_by == "sample" else _labels(frame, sample, asked.cluster_by, keys.size)
    return ArmMeans({measure: placed(measure) for measure in MEASURES}, attempts, clusters)


def _labels(frame: pd.DataFrame, sample: Codes, cluster_by: str, num_samples: int) -> NDArray[np.object_]:
    """What each sample shares with others, as the first arm that knows it says; None where none does."""
    column = frame[cluster_by if cluster_by in CLUSTER_BY else "from_metadata"]
    said = pd.DataFrame({"sample": sample, "label": column}).dropna().drop_duplicates("sample")
    labels = np.full(num_samples, None, dtype=object)
    labels[said["sample"].to_numpy(dtype=np.intp)] = said["label"].to_numpy(dtype=object)
    return labels


def flips(contrasts: Floats, *, seed: int, clusters: NDArray[np.object_] | None) -> list[PValue]:
    """Sign-flip p-values of many contrasts at once, shape (samples, contrasts), NaN where one is not known."""
    num = int(np.clip(FLIPPED // max(1, contrasts.size), MIN_FLIPS, MAX_FLIPS))
    return sign_flips(contrasts, seed=seed, clusters=clusters, num_resamples=num)


def mean_of(values: Floats, clusters: NDArray[np.object_] | None) -> Estimate:
    """Mean over samples with its t interval, by clusters where these are given."""
    return sample_mean(values) if clusters is None else clustered_mean(values, clusters)


def difference(baseline: Floats, candidate: Floats, p_value: PValue, found: ArmMeans, seed: int) -> dict[str, Any]:
    """What every question says of one arm against another: n, mean, interval and p-value of the paired difference."""
    got = paired_difference(baseline, candidate, seed=seed, clusters=found.clusters, p_value=p_value)
    return {
        "num_paired": got.num_paired,
        "delta_mean": number(got.difference.value),
        **bounds(got.difference.interval),
        "p_value": number(got.p_value.value),
    }


def bounds(interval: Interval, prefix: str = "") -> dict[str, Any]:
    """An interval as columns."""
    low, high = number(interval.low), number(interval.high)
    return {f"{prefix}ci_low": low, f"{prefix}ci_high": high, f"{prefix}ci_reason": interval.reason}


def verdicts(frame: pd.DataFrame) -> list[str | None]:
    """`higher`, `lower` or `not shown` for each row of differences; None where nothing pairs.

    Shown is a difference whose adjusted p-value is at most `ALPHA` and whose interval, if there is one, leaves out 0.
    """
    words: list[str | None] = []
    for row in frame.to_dict("records"):
        is_shown = row["p_value_holm"] <= ALPHA and not row["ci_low"] <= 0 <= row["ci_high"]
        words.append(None if np.isnan(row["delta_mean"]) else _direction(row["delta_mean"]) if is_shown else NOT_SHOWN)
    return words


NOT_SHOWN: Final = "not shown"


def _direction(delta: float) -> str:
    return "higher" if delta > 0 else "lower"


def labels(asked: Several) -> list[dict[str, Any]]:
    """The columns that name each arm."""
    return [{"arm": each.label, "run_id": each.run_id, "split": each.split, "step": each.step} for each in asked.arms]


def number(value: float | None) -> float:
    """A number for a frame: NaN for none."""
    return np.nan if value is None else value
