"""Both selections of a question about drift, fetched once: what every rollout measures, and what it is described by."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from queries.apart import MAX_UNITS, Sums, mix_sums
from queries.connection import Reading, at_once
from queries.drift_selections import Asked
from queries.failure_rules import failure_rules
from queries.failures import book_of
from queries.slices import tags_of
from queries.stats import Codes, Floats

SIDES: Final = ("first", "second")
MEASURES: Final[Mapping[str, tuple[str, str]]] = {
    "prompt_bytes": ("data", "bytes"),
    "first_input_tokens": ("data", "tokens"),
    "output_tokens": ("behaviour", "tokens per rollout"),
    "tool_output_bytes": ("behaviour", "bytes per rollout"),
    "tool_calls": ("behaviour", "calls per rollout"),
    "tool_errors": ("behaviour", "calls per rollout"),
    "turns": ("behaviour", "turns per rollout"),
    "latency_s": ("behaviour", "s"),
    "cost_usd": ("behaviour", "US$ per rollout"),
    "reward": ("behaviour", "reward"),
}
"""Every number that is compared: whether it is a property of the data or of how the policy behaves, and its unit."""
CATEGORIES: Final[Mapping[str, tuple[str, str]]] = {
    "environment": ("data", "share of samples"),
    "tag": ("data", "share of samples"),
    "tools_version": ("data", "share of rollouts"),
    "prompt_version": ("data", "share of rollouts"),
    "tool": ("behaviour", "share of calls"),
    "status": ("behaviour", "share of rollouts"),
    "failure_cause": ("behaviour", "share of rollouts"),
}
"""Every description that is compared."""
NO_TAG: Final = "no tag"
OTHERS: Final = "others"
MAX_VALUES: Final = 200
"""Values of one description at most; the rarest of more are pooled as `others`."""


@dataclass(frozen=True, slots=True, eq=False)
class Values:
    """One measure on one side, one row a rollout (or a sample, for what is one number a sample), known values only.

    `samples` is the place of each row's sample in the side, `weights` 1 / the sample's known values: a sample is 1.
    """

    values: Floats
    samples: Codes
    weights: Floats
    attempts: frozenset[int]
    is_constant: bool

    @property
    def num_samples(self) -> int:
        """Samples with a known value."""
        return round(float(self.weights.sum()))

    def means(self) -> Floats:
        """Mean of each sample with a known value, in the samples' order."""
        places, row = np.unique(self.samples, return_inverse=True)
        return np.asarray(np.bincount(row, weights=self.values * self.weights, minlength=places.size), dtype=np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """One selection. `about`: one row a sample (environment, num_rollouts, prompt_hash, cluster_key, tags)."""

    about: pd.DataFrame
    measured: Mapping[str, Values]
    described: pd.DataFrame
    """Columns by, sample (its place), value, num."""

    @property
    def num_samples(self) -> int:
        """Samples, known or not."""
        return len(self.about)

    @property
    def units(self) -> Codes:
        """Unit of each sample: itself, or of very many a batch. Samples stand in an order that is random already."""
        num = self.num_samples
        return np.arange(num) if num <= MAX_UNITS else np.arange(num) * MAX_UNITS // num

    @property
    def num_units(self) -> int:
        """How many units there are."""
        return min(self.num_samples, MAX_UNITS)

    @property
    def is_batched(self) -> bool:
        """Whether units are batches of samples."""
        return self.num_samples > MAX_UNITS


@dataclass(frozen=True, slots=True, eq=False)
class Drawn:
    """Both selections. `prompt_from`: where the prompts' lengths are from, `samples` or `messages`."""

    first: Side
    second: Side
    prompt_from: str

    @property
    def sides(self) -> tuple[Side, Side]:
        """The first and the second selection."""
        return self.first, self.second


@lru_cache(maxsize=3)
def drawn(store: Reading, asked: Asked) -> Drawn:
    """Both selections; the last ones are kept, for a page asks several questions of one pair."""
    parameters = {**asked.parameters(), "with_text": False}
    caused = {**parameters, **book_of(failure_rules(store)), **_restriction(asked)}
    calls: list[tuple[str, dict[str, Any]]] = [
        *((name, parameters) for name in ("drift", "drift_samples", "drift_categories", "drift_openings")),
        ("drift_causes", caused),
    ]
    rollouts, samples, described, openings, causes = at_once(lambda each: store.ask(*each), calls)
    prompt_from = "samples"
    if not _is_known(samples, "prompt_bytes"):
        told = store.ask("drift_openings", {**parameters, "with_text": True})
        if _is_known(told.merge(samples[["side", "unit"]], how="right", on=["side", "unit"]), "opening_bytes"):
            openings, prompt_from = told, "messages"
    described = pd.concat([described, causes], ignore_index=True).rename(columns={"about": "by"})
    first, second = (
        _side(_of(rollouts, side), _of(samples, side), _of(described, side), _of(openings, side), prompt_from)
        for side in SIDES
    )
    return Drawn(first, second, prompt_from)


def _of(frame: pd.DataFrame, side: str) -> pd.DataFrame:
    return frame[frame["side"] == side]


def _is_known(samples: pd.DataFrame, column: str) -> bool:
    """Whether a number is known of nearly every sample of both selections."""
    known = samples[column].notna().groupby(samples["side"]).mean()
    return len(known) == len(SIDES) and bool((known > 0.9).all())


def _restriction(asked: Asked) -> dict[str, Any]:
    """The splits and steps that hold both selections, as filters: nothing else need be judged."""
    sides = asked.first, asked.second
    splits = None if any(each.split is None for each in sides) else sorted({str(each.split) for each in sides})
    is_whole = any(each.step_from is None or each.step_to is None for each in sides)
    low, high = (None, None) if is_whole else (min(_steps(sides, "step_from")), max(_steps(sides, "step_to")))
    return {"splits": splits, "step_from": low, "step_to": high}


def _steps(sides: Any, name: str) -> list[int]:
    return [int(getattr(each, name)) for each in sides]


def _side(
    rollouts: pd.DataFrame, samples: pd.DataFrame, described: pd.DataFrame, openings: pd.DataFrame, prompt_from: str
) -> Side:
    """One selection from its rows, whose samples are numbered in the order of their hashed names."""
    keys = samples["unit"].to_numpy(np.uint64)  # ordered by it
    about = samples.reset_index(drop=True)

    def places(frame: pd.DataFrame) -> Codes:
        return np.searchsorted(keys, frame["unit"].to_numpy(np.uint64))

    measured = {}
    for name in MEASURES:
        source, column = rollouts, name
        if name == "prompt_bytes":
            source, column = (samples, name) if prompt_from == "samples" else (openings, "opening_bytes")
        elif name == "first_input_tokens":
            source = openings
        measured[name] = _values(source[column].to_numpy(np.float64, na_value=np.nan), places(source))
    labels = described[["by", "value", "num"]].assign(sample=places(described)).reset_index(drop=True)
    return Side(about, measured, pd.concat([labels, _tagged(about)], ignore_index=True))


def _values(values: Floats, samples: Codes) -> Values:
    known = np.isfinite(values)
    values, samples = values[known], samples[known]
    num = np.bincount(samples) if samples.size else np.zeros(0, dtype=np.int64)
    sums = np.bincount(samples, weights=values, minlength=num.size)
    with np.errstate(invalid="ignore"):
        middle = (sums / num)[samples]
    is_constant = bool(np.abs(values - middle).max() <= 1e-9 * np.abs(values).max()) if values.size else True
    return Values(values, samples, 1.0 / num[samples], frozenset(np.unique(num[num > 0]).tolist()), is_constant)


def _tagged(about: pd.DataFrame) -> pd.DataFrame:
    """The tags of each sample, its weight divided among them: one row a sample and tag; none where nobody has any."""
    tags = [tags_of(each) for each in about["tags"]]
    rows = [(place, tag, 1 / len(own)) for place, own in enumerate(tags) if own for tag in own]
    if rows:
        rows += [(place, NO_TAG, 1.0) for place, own in enumerate(tags) if not own]
    frame = pd.DataFrame(rows, columns=["sample", "value", "num"])
    return frame.assign(by="tag")[["by", "value", "num", "sample"]]


@dataclass(frozen=True, slots=True, eq=False)
class Mix:
    """One description on both sides: its values, and by unit how much weight each has; `labels` hold it by sample."""

    values: tuple[str, ...]
    sums: tuple[Sums, Sums]
    by_sample: tuple[Sums, Sums]
    is_exchangeable: bool


def mix(found: Drawn, by: str) -> Mix | None:
    """A description of both sides; None where nothing is known of either.

    Every sample weighs 1, divided among its rollouts; of tools it weighs as much as a rollout of it makes calls.
    """
    frames = [each.described[each.described["by"] == by] for each in found.sides]
    names, code_of = _named([each["value"] for each in frames])
    if not names:
        return None
    sums, by_sample, attempts = [], [], set()
    for side, frame in zip(found.sides, frames, strict=True):
        samples, num = frame["sample"].to_numpy(np.intp), frame["num"].to_numpy(np.float64)
        codes = code_of(frame["value"])
        rollouts = side.about["num_rollouts"].to_numpy(np.float64)
        held = rollouts if by == "tool" else np.bincount(samples, weights=num, minlength=side.num_samples)
        weights = num / held[samples]
        sums.append(mix_sums(codes, weights, side.units[samples], side.num_units, len(names)))
        whole = mix_sums(codes, weights, samples, side.num_samples, len(names)) if side.is_batched else sums[-1]
        by_sample.append(whole)
        attempts |= {1} if by == "tag" else set(rollouts.tolist())
    one_each = all((each.parts.max(axis=1) == each.totals).all() for each in by_sample if len(each.totals))
    is_exchangeable = (by != "tool" and one_each) or len(attempts) == 1
    batched = any(each.is_batched for each in found.sides)
    return Mix(names, (sums[0], sums[1]), (by_sample[0], by_sample[1]), is_exchangeable and not batched)


def _named(columns: list["pd.Series[Any]"]) -> tuple[tuple[str, ...], Callable[["pd.Series[Any]"], Codes]]:
    """The values there are, the most frequent ones by name and the rest as `others`, and how rows are numbered."""
    counts = pd.concat(columns).value_counts()
    frequent = sorted(counts.index[:MAX_VALUES].astype(str))
    names = (*frequent, OTHERS) if len(counts) > MAX_VALUES else tuple(frequent)
    place = {name: number for number, name in enumerate(names)}

    def codes(values: "pd.Series[Any]") -> Codes:
        return np.array([place.get(str(each), len(names) - 1) for each in values], dtype=np.intp)

    return names, codes


def inside(side: Side, samples: NDArray[np.bool_], measure: str) -> Floats:
    """Means of a measure of those samples of a side that `samples`, shape (samples,), keeps and that have a value."""
    own = side.measured[measure]
    kept = samples[own.samples]
    return Values(own.values[kept], own.samples[kept], own.weights[kept], own.attempts, own.is_constant).means()
