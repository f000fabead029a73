"""The completions files of TRL: one Parquet file per logging step, one row per completion. Part of the source `trl`.

Three things these files leave open are settled from the trainer's log beside them, where it allows it:

- Which columns are rewards: those the log names in `rewards/<function>/mean`; else every numeric column but `step` and
  `advantage`. Other numeric columns (`log_extra`) are metrics, other columns go into the metadata.
- The total reward, which is not stored. It is the only function's number where there is just one. Else it follows
  TRL's rule, the sum of weight × number over the functions that did not return None, with the weights of a
  configuration beside, or with TRL's default of 1 each where the log's `reward` shows that it held. Else it is NULL.
- Which rows are evaluation. TRL logs training and evaluation into one buffer and one file name, so that the file of a
  step with an evaluation holds evaluation rows at its end (usually all of it). Rows whose means are those of the log's
  `eval_rewards/…` are `valid`; where that cannot be settled, the split is NULL.

The buffer is written again when nothing was sampled in between (`num_iterations` or `steps_per_generation` above the
logging interval): rows that repeat the end of the file before are read once. Files are read in batches of rows.
"""

import hashlib
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from ingest.dialects import Conversation, Values, chat, from_text, prompt_hash, prompt_text
from ingest.errors import UnreadableError
from ingest.reading import dump_json, number, text, whole
from ingest.sources.base import Note, Record, Reject, Rollout

BATCH_ROWS = 256
_CHECKED_FILES = 50
_FUNCTION = re.compile(r"(?:eval_)?rewards/(.+?)(?:/(?:mean|std))?")
_OWN = frozenset({"step", "prompt", "completion", "advantage"})


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


def read_completions(
    files: Sequence[Path], root: Path, log: TrainerLog, chosen: str | None, rules: dict[tuple[str, ...], Rule]
) -> Iterator[Record]:
    """Yield the rollouts of completions files in order of step, and leave in `rules` how their reward was made.

    `chosen` names the reward column by hand. A set of reward functions that changes between files has a rule each.

    Raises:
        UnreadableError: The only file there is cannot be read.
    """
    before: list[bytes] = []
    repeated = 0
    for file in files:
        try:
            reader = _File(file, root, log)
        except UnreadableError as error:
            if len(files) == 1:
                raise
            yield Reject(str(error), "0", file=str(file))
            continue
        if reader.functions not in rules:
            rules[reader.functions] = _rule(reader.functions, files, root, log, chosen)
            yield Note(rules[reader.functions].note)
        skip = reader.overlap(before)
        repeated += skip
        yield from reader.records(rules[reader.functions], skip)
        before = reader.digests
    if repeated:
        yield Note(
            f"{repeated} logged completions repeat those of an earlier step, because TRL writes its buffer again when "
            "nothing new was sampled: each was read once, at the step it first appears."
        )


class _File:
    """One completions file."""

    def __init__(self, path: Path, root: Path, log: TrainerLog) -> None:
        self.path = path
        self.log = log
        self.digests: list[bytes] = []
        try:
            self.parquet = pq.ParquetFile(path)
        except (OSError, pa.ArrowException) as error:
            raise UnreadableError(f"{path}: not a whole Parquet file ({error})") from None
        schema = self.parquet.schema_arrow
        if not {"step", "prompt", "completion"} <= set(schema.names):
            raise UnreadableError(f"{path}: TRL completions need the columns step, prompt and completion")
        self.name = path.relative_to(root).as_posix()
        digits = re.fullmatch(r"completions_(\d+)", path.stem)
        self.file_step = int(digits[1]) if digits else 0
        numeric = [each.name for each in schema if pa.types.is_floating(each.type) or pa.types.is_integer(each.type)]
        self.numeric = tuple(name for name in numeric if name not in _OWN)
        known = tuple(name for name in self.numeric if name in log.functions)
        self.functions = known or self.numeric

    def overlap(self, before: Sequence[bytes]) -> int:
        """How many rows at the start repeat the end of the file before.

        None where the log shows that this step sampled anew; a part of the file only where an evaluation shifted it.
        """
        if not before or (self.file_step, "") in self.log.means:
            return 0
        first = next(iter(self._rows()), None)
        if first is None or (mark := _digest(first)) not in before:
            return 0
        own = [_digest(row) for row in self._rows()]
        starts = [index for index, each in enumerate(before) if each == mark]
        if (self.file_step, "eval_") not in self.log.means:
            starts = [0] if len(own) == len(before) else []
        return next((len(before) - at for at in starts if own[: len(before) - at] == list(before[at:])), 0)

    def rewards(self) -> tuple[Rows, list[int]]:
        """The reward numbers of all rows, and where a new prompt begins."""
        table = self.parquet.read([*self.functions, "prompt"]).to_pydict()
        columns = [[number(value) for value in table[name]] for name in self.functions]
        rows = list(zip(*columns, strict=True)) if columns else []
        prompts = table["prompt"]
        return Rows(self.functions, rows), [at for at in range(len(rows)) if at == 0 or prompts[at] != prompts[at - 1]]

    def first_valid(self) -> int | None:
        """Index from which on rows are evaluation; the number of rows where none is, None where it is not known."""
        count: int = self.parquet.metadata.num_rows
        if (self.file_step, "eval_") not in self.log.means:
            return count
        rows, starts = self.rewards()
        for start in starts:
            if self.log.speaks_of(self.file_step, "eval_", Rows(self.functions, rows.rewards[start:])):
                return start
        return count if self.log.speaks_of(self.file_step, "", rows) else None

    def records(self, rule: Rule, skip: int) -> Iterator[Record]:
        """Yield the rollouts of all rows but the first `skip`."""
        first_valid = self.first_valid()
        if first_valid is None:
            yield Note(
                "Some completions of steps with an evaluation may be training or evaluation: their split is NULL."
            )
        group, prompt = -1, object()
        try:
            for index, row in enumerate(self._rows()):
                self.digests.append(_digest(row))
                if row.get("prompt") != prompt:
                    group, prompt = group + 1, row.get("prompt")
                if index < skip:
                    continue
                record = self._record(row, index, group, rule)
                if isinstance(record, Rollout):
                    record.values["split"] = (
                        None if first_valid is None else "train" if index < first_valid else "valid"
                    )
                yield record
        except (OSError, pa.ArrowException) as error:
            yield Reject(f"damaged: {error}", str(len(self.digests)), file=str(self.path))

    def _rows(self) -> Iterator[Values]:
        for batch in self.parquet.iter_batches(batch_size=BATCH_ROWS):
            yield from batch.to_pylist()

    def _record(self, row: Values, index: int, group: int, rule: Rule) -> Record:
        completion = row.get("completion")
        if not isinstance(completion, str | list):
            return Reject("the completion is missing", str(index), str(row)[:200], str(self.path))
        talk, asked = _conversation(row.get("prompt"), completion)
        step = whole(row.get("step"))
        rewards = [number(row.get(name)) for name in rule.functions]
        extra = {name: row[name] for name in row if name not in _OWN and name not in self.numeric}
        values: Values = {
            "sample_id": prompt_hash(talk.messages[:asked]) if asked else None,
            "sample_id_source": "prompt_hash" if asked else None,
            "group_id": f"{self.file_step}/{group}",
            "step": self.file_step if step is None else step,
            "reward": rule.total(rewards),
            "advantage": number(row.get("advantage")),
            "final_answer": next(
                (m["text"] for m in reversed(talk.messages[asked:]) if m["role"] == "assistant"), None
            ),
            "position": self.file_step * 1_000_000 + index,
            "raw_ref": f"{self.name}#{index}",
            "metadata": dump_json(extra or None),
        }
        sample = {"prompt_text": prompt_text(talk.messages[:asked]), "prompt_hash": values["sample_id"]}
        return Rollout(values, talk.messages, talk.tool_calls, self._scores(row, rule), sample if asked else None)

    def _scores(self, row: Values, rule: Rule) -> list[Values]:
        weights = rule.weights or (None,) * len(rule.functions)
        kind = "reward" if len(rule.functions) == 1 else "subscore"
        rows: list[Values] = [
            {"grader": name, "value": number(row.get(name)), "weight": weight, "kind": kind}
            for name, weight in zip(rule.functions, weights, strict=True)
        ]
        others = [name for name in self.numeric if name not in rule.functions]
        return [*rows, *({"grader": name, "value": number(row[name]), "kind": "metric"} for name in others)]


def _conversation(prompt: Any, completion: str | list[Any]) -> tuple[Conversation, int]:
    """The conversation of a row, and how many of its messages are the prompt."""
    talk = Conversation()
    if isinstance(prompt, str):
        talk.say("user", text(prompt))
    elif isinstance(prompt, list):
        chat([_without_nulls(each) for each in prompt], talk, is_sampled=False)
    asked = len(talk.messages)
    if isinstance(completion, str):
        return from_text(completion, talk), asked
    return chat([_without_nulls(each) for each in completion], talk, is_sampled=True), asked


def _without_nulls(value: Any) -> Any:
    """Drop what is null inside a message: Parquet gives every struct the keys of all of its column."""
    if isinstance(value, dict):
        return {key: _without_nulls(each) for key, each in value.items() if each is not None}
    return [_without_nulls(each) for each in value] if isinstance(value, list) else value


def _digest(row: Values) -> bytes:
    content = {key: value for key, value in row.items() if key != "step"}
    return hashlib.blake2b(repr(content).encode("utf-8", "replace"), digest_size=16).digest()


def _rule(functions: tuple[str, ...], files: Sequence[Path], root: Path, log: TrainerLog, chosen: str | None) -> Rule:
    """Decide how the reward is made, and say so in one sentence."""
    if not functions:
        return Rule(functions, None, None, "The completions hold no reward function's numbers: nothing is scored.")
    if chosen in functions:
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
    if _confirmed(equal, files, root, log):
        return equal
    return Rule(
        functions,
        None,
        None,
        f"TRL stores no total reward, and the weights of {', '.join(functions)} are not known: rewards are NULL, the "
        "functions are scores. A JSON file with reward_weights in the folder, or --map reward=COLUMN, says it.",
    )


def _confirmed(rule: Rule, files: Sequence[Path], root: Path, log: TrainerLog) -> bool:
    """Whether the log's `reward` is the mean of this rule's totals wherever the log speaks of a file's very rows."""
    seen: set[str] = set()
    for file in files[:_CHECKED_FILES]:
        try:
            reader = _File(file, root, log)
        except UnreadableError:
            continue
        if reader.functions != rule.functions:
            continue
        rows, _ = reader.rewards()
        for prefix in ("", "eval_"):
            if log.speaks_of(reader.file_step, prefix, rows):
                logged = number(log.means[reader.file_step, prefix].get(f"{prefix}reward"))
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
