"""Both arms of a comparison, sample by sample: fetched once, and shared by every question that compares two arms."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from queries.comparison import MEASURES, Comparison, metadata_path
from queries.connection import Reading, to_pandas
from queries.stats import Floats

BOUNDS: Final = ("reward_if_failures_zero", "reward_if_failures_one")
"""The reward had every failure been graded 0, or 1."""
REPEATED: Final = ("reward", "pass_rate", "tool_calls", "turns", "output_tokens", "latency_s", "cost_usd")
"""Measures whose spread between the attempts at a sample is known."""
_ARMS: Final = ("baseline", "candidate")


@dataclass(frozen=True, slots=True, eq=False)
class Spread:
    """Of one arm and measure, by sample: attempts in which it is known, and the variance between them (NaN below 2)."""

    num: Floats
    variance: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Sides:
    """One measure of both arms, by sample: the mean over attempts, NaN where it is not known or not attempted."""

    baseline: Floats
    candidate: Floats

    @property
    def deltas(self) -> Floats:
        """Candidate minus baseline, NaN unless known in both arms."""
        with np.errstate(over="ignore", invalid="ignore"):
            difference = self.candidate - self.baseline
        return np.where(np.isfinite(self.baseline) & np.isfinite(self.candidate), difference, np.nan)


@dataclass(frozen=True, slots=True, eq=False)
class Compared:
    """All samples of either arm, in the order of their pair_key; arrays have shape (samples,) and are not written to.

    `about` has the columns pair_key, sample_id (the baseline's, else the candidate's), candidate_sample_id,
    num_attempts_baseline, num_attempts_candidate (0 = not attempted), environment, cluster_key, tags (JSON list),
    difficulty and from_metadata (as the samples' metadata say; the latter at the key that `cluster_by` names).
    """

    about: pd.DataFrame
    sides: Mapping[str, Sides]
    spreads: Mapping[str, tuple[Spread, Spread]]

    def clusters(self, cluster_by: str) -> NDArray[np.object_] | None:
        """Label of each sample's cluster, None for one that has none; None where samples stand for themselves."""
        if cluster_by == "sample":
            return None
        column = cluster_by if cluster_by in ("cluster_key", "environment") else "from_metadata"
        return objects(self.about[column])

    @property
    def attempted_by_both(self) -> NDArray[np.bool_]:
        """Whether both arms have a rollout of the sample."""
        counts = self.about[["num_attempts_baseline", "num_attempts_candidate"]].to_numpy(dtype=np.int64)
        return np.asarray((counts > 0).all(axis=1))


@lru_cache(maxsize=2)
def compared(store: Reading, asked: Comparison) -> Compared:
    """Both arms by sample; the last two comparisons are kept, for a page asks several questions of one."""
    parameters = asked.parameters() | {"metadata_path": metadata_path(asked.cluster_by)}
    frame = to_pandas(store.arrow("compared_samples", parameters))
    keys, place = np.unique(frame["pair_key"].to_numpy(dtype=str), return_inverse=True)
    arms = {name: (frame["arm"] == name).to_numpy(dtype=bool) for name in _ARMS}

    def column(name: str, arm: str) -> Floats:
        found = np.full(keys.size, np.nan)
        found[place[arms[arm]]] = frame.loc[arms[arm], name].to_numpy(dtype=np.float64, na_value=np.nan)
        found.flags.writeable = False
        return found

    return Compared(
        about=_about(frame, keys, place, arms),
        sides={name: Sides(*(column(name, arm) for arm in _ARMS)) for name in (*MEASURES, *BOUNDS)},
        spreads={name: _spreads(column, name) for name in REPEATED},
    )


def objects(values: pd.Series) -> NDArray[np.object_]:
    """A column as Python objects, None where it is NULL."""
    found: NDArray[np.object_] = values.to_numpy(dtype=object, copy=True)
    found[values.isna().to_numpy(dtype=bool)] = None
    return found


def _spreads(column: Any, name: str) -> tuple[Spread, Spread]:
    first, second = (Spread(np.nan_to_num(column(f"{name}_num", arm)), column(f"{name}_var", arm)) for arm in _ARMS)
    return first, second


def _about(frame: pd.DataFrame, keys: Any, place: Any, arms: Mapping[str, Any]) -> pd.DataFrame:
    """What samples are called, how often each arm attempted them, and what is said of them."""
    made: dict[str, Any] = {"pair_key": keys.astype(object)}

    def text(name: str, order: tuple[str, ...]) -> NDArray[np.object_]:
        found = np.full(keys.size, None, dtype=object)
        for arm in reversed(order):
            values = objects(frame.loc[arms[arm], name])
            at = place[arms[arm]]
            known = np.array([each is not None for each in values], dtype=bool)
            found[at[known]] = values[known]
        return found

    made["sample_id"] = text("sample_id", _ARMS)
    made["candidate_sample_id"] = text("sample_id", ("candidate",))
    for arm in _ARMS:
        counts = np.zeros(keys.size, dtype=np.int64)
        counts[place[arms[arm]]] = frame.loc[arms[arm], "num_attempts"].to_numpy(dtype=np.int64)
        made[f"num_attempts_{arm}"] = counts
    described = ("environment", "cluster_key", "tags", "difficulty", "from_metadata")
    return pd.DataFrame(made | {name: text(name, _ARMS) for name in described})
