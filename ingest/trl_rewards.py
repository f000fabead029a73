"""How the reward of TRL's completions is made, which its files do not say. Part of the source `trl`; reads no file.

It is the only function's number where there is just one. Else it follows TRL's rule, the sum of weight × number over
the functions that did not return None, with the weights of a configuration beside, or with TRL's default of 1 each
where the log's `reward` shows that it held. Else it is not known.
"""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ingest.dialects import Values
from ingest.reading import number, whole

_FUNCTION = re.compile(r"(?:eval_)?rewards/(.+?)(?:/(?:mean|std))?")


@dataclass(slots=True)
class TrainerLog:
    """What the trainer's log and configuration say of rewards: functions, weights, and means by step and prefix."""

    functions: list[str] = field(default_factory=list)
    weights: list[float] | None = None
    means: dict[tuple[int, str], Values] = field(default_factory=dict)

    @classmethod
    def of(cls, entries: Iterable[Any], weights: list[float] | None) -> "TrainerLog":
        """Collect it from `log_history` and the `reward_weights` of a configuration."""
        log = cls(weights=weights)
        for entry in entries:
            step = whole(entry.get("step")) if isinstance(entry, dict) else None
            for prefix in ("", "eval_"):
                if step is not None and f"{prefix}reward" in entry:
                    log.means[step, prefix] = entry
            for key in entry if step is not None else ():
                match = _FUNCTION.fullmatch(str(key))
                if match and match[1] not in log.functions:
                    log.functions.append(match[1])
        return log

    def speaks_of(self, step: int, prefix: str, rows: "Rows") -> bool:
        """Whether the log's means of this step are those of these rows, function by function."""
        entry = self.means.get((step, prefix))
        if entry is None or not rows.rewards:
            return False
        for function, mean in zip(rows.functions, rows.means(), strict=True):
            logged = entry.get(f"{prefix}rewards/{function}/mean", entry.get(f"{prefix}rewards/{function}"))
            if not _close(mean, number(logged)):
                return False
        return True


@dataclass(slots=True)
class Rows:
    """The reward numbers of some rows of a file, one tuple per row, in the order of `functions`."""

    functions: Sequence[str]
    rewards: list[tuple[float | None, ...]]

    def means(self) -> list[float | None]:
        """Mean per function over the rows where it gave a number."""
        return [_mean(column) for column in zip(*self.rewards, strict=True)]


@dataclass(frozen=True, slots=True)
class Rule:
    """How the total reward is made: the weight of each function, or nothing where that is not known."""

    functions: tuple[str, ...]
    weights: tuple[float | None, ...] | None
    name: str | None
    note: str

    def total(self, rewards: Sequence[float | None]) -> float | None:
        """Sum of weight × number over the functions that gave one; None where none did, or the weights are unknown."""
        if self.weights is None:
            return None
        pairs = zip(self.weights, rewards, strict=True)
        parts = [weight * value for weight, value in pairs if weight is not None and value is not None]
        return sum(parts) if parts else None


def rule_of(
    functions: tuple[str, ...], measured: Iterable[tuple[int, Rows]], log: TrainerLog, chosen: str | None
) -> Rule:
    """Decide how the reward is made, and say so in one sentence.

    `measured` are the numbers of files by step, looked at only where they may tell; `chosen` names the column by hand.
    """
    if not functions:
        return Rule(functions, None, None, "The completions hold no reward function's numbers: nothing is scored.")
    if chosen is not None and chosen not in functions:
        unknown = (
            f"There is no reward function {chosen[:80]}: there are {', '.join(functions)[:400]}. Rewards are NULL."
        )
        return Rule(functions, None, None, unknown)
    if chosen is not None:
        weights = tuple(1.0 if name == chosen else None for name in functions)
        return Rule(functions, weights, chosen, f"The reward is the column {chosen}, as asked for.")
    if len(functions) == 1:
        return Rule(functions, (1.0,), functions[0], f"The reward is {functions[0]}, the only reward function.")
    if log.weights is not None and len(log.weights) == len(functions):
        name = " + ".join(f"{weight:g} × {each}" for weight, each in zip(log.weights, functions, strict=True))
        return Rule(functions, tuple(log.weights), name, f"The reward is {name} (weights of the configuration beside).")
    name = " + ".join(functions)
    note = f"The reward is {name}: the trainer's log shows that each weight is 1."
    equal = Rule(functions, (1.0,) * len(functions), name, note)
    if _is_confirmed(equal, measured, log):
        return equal
    return Rule(
        functions,
        None,
        None,
        f"TRL stores no total reward, and the weights of {', '.join(functions)} are not known: rewards are NULL, the "
        "functions are scores. A JSON file with reward_weights in the folder, or `--source trl --map reward=COLUMN`, "
        "says it.",
    )


def _is_confirmed(rule: Rule, measured: Iterable[tuple[int, Rows]], log: TrainerLog) -> bool:
    """Whether the log's `reward` is the mean of this rule's totals wherever the log speaks of a file's very rows."""
    seen: set[str] = set()
    for step, rows in measured:
        for prefix in ("", "eval_"):
            if log.speaks_of(step, prefix, rows):
                logged = number(log.means[step, prefix].get(f"{prefix}reward"))
                if not _close(_mean([rule.total(each) for each in rows.rewards]), logged):
                    return False
                seen |= {name for name, mean in zip(rule.functions, rows.means(), strict=True) if mean}
    return seen == set(rule.functions)  # a function that was always 0 has shown no weight


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known else None


def _close(ours: float | None, logged: float | None) -> bool:
    """Equal within single precision, in which TRL computes; nothing equals nothing."""
    if ours is None or logged is None:
        return ours is logged
    return math.isclose(ours, logged, rel_tol=1e-4, abs_tol=1e-5)
