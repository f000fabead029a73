"""What is kept of a message's tokens: means and percentiles of their log-probabilities; the arrays are dropped.

The difference between what the trainer and what the sampler think of the same tokens (mismatch) is the earliest sign of
a run going wrong, and it grows first in turns after tool results; so it is kept turn by turn. Knows no format.
"""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from ingest.reading import number

Floats = np.ndarray[Any, np.dtype[np.float64]]
STREAMS: Final = ("logprobs", "trainer_logprobs", "entropies")
"""One number a sampled token: what the sampler gave it, what the trainer gives it, and the policy's entropy there."""
SUMMARY: Final = ("logprob_mean", "entropy_mean", "mismatch_mean")
"""A message has token figures where one of these columns is known."""


def floats(values: Any) -> Floats | None:
    """A list of numbers as an array, what is none as NaN; None where there is no list or nothing in it.

    Shape: (number of values,).
    """
    if isinstance(values, np.ndarray):
        return values
    if not isinstance(values, list) or not values:
        return None
    try:
        found = np.array(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        found = np.empty(0)
    if found.ndim == 1 and len(found):
        return found
    return np.array([np.nan if (known := number(value)) is None else known for value in values], dtype=np.float64)


def _finite(values: Floats | None) -> Floats | None:
    if values is None:
        return None
    known = np.isfinite(values)
    kept = values if known.all() else values[known]
    return kept if len(kept) else None


def _percentile(values: Floats, share: float) -> float:
    """Interpolated as NumPy does by default; its own function costs more than all the rest of a message."""
    ordered = np.sort(values)
    at = share * (len(ordered) - 1)
    below = int(at)
    above = min(below + 1, len(ordered) - 1)
    return float(ordered[below] + (ordered[above] - ordered[below]) * (at - below))


def stream_summary(streams: Mapping[str, Any]) -> dict[str, float]:
    """Columns of `messages` from streams named as `STREAMS`; mismatch only where both log-probabilities align."""
    sampler, trainer = floats(streams.get("logprobs")), floats(streams.get("trainer_logprobs"))
    found: dict[str, float] = {}
    sampled, entropy = _finite(sampler), _finite(floats(streams.get("entropies")))
    if sampled is not None:
        found["logprob_mean"] = float(sampled.sum() / len(sampled))
        found["logprob_p05"] = _percentile(sampled, 0.05)
    if entropy is not None:
        found["entropy_mean"] = float(entropy.sum() / len(entropy))
        found["entropy_p95"] = _percentile(entropy, 0.95)
    if sampler is not None and trainer is not None and len(sampler) == len(trainer):
        with np.errstate(invalid="ignore", over="ignore"):  # the log-probability of what cannot be sampled is -inf
            mismatch = _finite(trainer - sampler)
        if mismatch is not None:
            distance = np.abs(mismatch)
            found["mismatch_mean"] = float(mismatch.sum() / len(mismatch))
            found["mismatch_abs_mean"] = float(distance.sum() / len(distance))
            found["mismatch_p95"] = _percentile(distance, 0.95)
    return found
