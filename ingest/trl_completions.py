"""The completions files of TRL: one Parquet file per logging step, one row per completion. Part of the source `trl`.

Three things these files leave open are settled from the trainer's log beside them, where it allows it:

- Which columns are rewards: those the log names in `rewards/<function>/mean`; else every numeric column but `step` and
  `advantage`. Other numeric columns (`log_extra`) are metrics, other columns go into the metadata.
- The total reward, which is not stored (`ingest.trl_rewards`).
- Which rows are evaluation. TRL logs training and evaluation into one buffer and one file name, so that the file of a
  step with an evaluation holds evaluation rows at its end (usually all of it). Rows whose means are those of the log's
  `eval_rewards/…` are `valid`; where that cannot be settled, the split is NULL.

The buffer is written again when nothing was sampled in between (`num_iterations` or `steps_per_generation` above the
logging interval): rows that repeat the end of the file before are read once. Files are read in batches of rows; of two
columns of one name the second is `…#2`.
"""

import hashlib
import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

from ingest.dialects import Conversation, Values, chat, from_text, prompt_hash, prompt_text
from ingest.errors import UnreadableError
from ingest.parquet_rows import DAMAGE, NOT_UTF8, damaged, opened, rows, unique, without_nulls
from ingest.reading import dump_json, number, text, whole
from ingest.sources.base import Note, Record, Reject, Rollout
from ingest.trl_rewards import Rows, Rule, TrainerLog, rule_of

_CHECKED_FILES = 50
_OWN = frozenset({"step", "prompt", "completion", "advantage"})


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
            rules[reader.functions] = rule_of(
                reader.functions, _measured(reader.functions, files, root, log), log, chosen
            )
            yield Note(rules[reader.functions].note)
        if reader.not_numbers:
            yield Note(f"{', '.join(reader.not_numbers)}: not numbers, so that they are no rewards; kept as metadata.")
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
        self.parquet = opened(path)
        schema = self.parquet.schema_arrow
        if not {"step", "prompt", "completion"} <= set(schema.names):
            raise UnreadableError(f"{path}: TRL completions need the columns step, prompt and completion")
        self.name = path.relative_to(root).as_posix()
        digits = re.fullmatch(r"completions_(\d+)", path.stem)
        self.file_step = int(digits[1]) if digits else 0
        types = dict(zip(unique(schema.names), schema.types, strict=True))
        self._stored_as = dict(zip(types, schema.names, strict=True))
        self.numeric = tuple(
            name
            for name, of in types.items()
            if name not in _OWN and (_is_numeric(of) or (pa.types.is_null(of) and name in log.functions))
        )
        known = tuple(name for name in self.numeric if name in log.functions)
        self.functions = known or self.numeric
        named = [name for name in log.functions if name in types] or ([] if self.functions else types.keys() - _OWN)
        self.not_numbers = sorted(f"{name[:80]} ({types[name]})" for name in named if name not in self.numeric)

    def overlap(self, before: Sequence[bytes]) -> int:
        """How many rows at the start repeat the end of the file before.

        0 where the log shows that this step sampled anew; a part of the file only where an evaluation shifted it.
        """
        if not before or (self.file_step, "") in self.log.means:
            return 0
        try:
            first = next(map(_digest, rows(self.parquet)), None)
            if first not in before:
                return 0
            own = [_digest(row) for row in rows(self.parquet)]
        except DAMAGE:  # said when its rows are read
            return 0
        starts = [index for index, each in enumerate(before) if each == first]
        if (self.file_step, "eval_") not in self.log.means:
            starts = [0] if len(own) == len(before) else []
        return next((len(before) - at for at in starts if own[: len(before) - at] == list(before[at:])), 0)

    def rewards(self) -> tuple[Rows, list[int]]:
        """The reward numbers of all rows, and where a new prompt begins.

        Raises:
            OSError: The file is damaged.
            ArrowException: The file is damaged.
        """
        rewards: list[tuple[float | None, ...]] = []
        starts: list[int] = []
        prompt: Any = object()
        for at, row in enumerate(rows(self.parquet, [*(self._stored_as[name] for name in self.functions), "prompt"])):
            known = row or {}
            rewards.append(tuple(_reward(known.get(name)) for name in self.functions))
            if known.get("prompt") != prompt:
                starts.append(at)
            prompt = known.get("prompt")
        return Rows(self.functions, rewards), starts

    def first_valid(self) -> int | None:
        """Index from which on rows are evaluation; the number of rows where none is, None where it is not known."""
        count: int = self.parquet.metadata.num_rows
        if (self.file_step, "eval_") not in self.log.means:
            return count
        measured, starts = self.rewards()
        for start in starts:
            if self.log.speaks_of(self.file_step, "eval_", Rows(self.functions, measured.rewards[start:])):
                return start
        return count if self.log.speaks_of(self.file_step, "", measured) else None

    def records(self, rule: Rule, skip: int) -> Iterator[Record]:
        """Yield the rollouts of all rows but the first `skip`."""
        group, prompt = -1, object()
        try:
            first_valid = self.first_valid()
            if first_valid is None:
                yield Note(
                    "Some completions of steps with an evaluation may be training or evaluation: their split is NULL."
                )
            for index, row in enumerate(rows(self.parquet)):
                self.digests.append(_digest(row))
                if row is not None and row["prompt"] != prompt:
                    group, prompt = group + 1, row["prompt"]
                if index < skip:
                    continue
                if row is None:
                    yield Reject(NOT_UTF8, str(index), file=str(self.path))
                    continue
                record = self._record(row, index, group, rule)
                if isinstance(record, Rollout):
                    record.values["split"] = (
                        None if first_valid is None else "train" if index < first_valid else "valid"
                    )
                yield record
        except DAMAGE as error:
            yield damaged(self.parquet, error, len(self.digests), str(self.path))

    def _record(self, row: Values, index: int, group: int, rule: Rule) -> Record:
        completion = _messages(row.get("completion"))
        if completion is None:
            reason = f"the completion must be text or messages, not {type(row.get('completion')).__name__}"
            reason = "the completion is missing" if row.get("completion") is None else reason
            return Reject(reason, str(index), str(row)[:200], str(self.path))
        talk, asked = _conversation(row.get("prompt"), completion)
        step = whole(row.get("step"))
        rewards = [_reward(row.get(name)) for name in rule.functions]
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
        graded: list[Values] = [
            {"grader": name, "value": _reward(row.get(name)), "weight": weight, "kind": kind}
            for name, weight in zip(rule.functions, weights, strict=True)
        ]
        others = [name for name in self.numeric if name not in rule.functions]
        return [*graded, *({"grader": name, "value": _reward(row[name]), "kind": "metric"} for name in others)]


def _is_numeric(of: pa.DataType) -> bool:
    return bool(pa.types.is_floating(of) or pa.types.is_integer(of) or pa.types.is_decimal(of))


def _reward(value: Any) -> float | None:
    return number(float(value) if isinstance(value, Decimal) else value)


def _messages(value: Any) -> str | list[Any] | None:
    """Text or messages; one message stands for a list of one. None where it is neither."""
    if isinstance(value, str):
        return value
    messages = [value] if isinstance(value, dict) else value
    if isinstance(messages, list) and all(isinstance(each, dict) for each in messages):
        return [without_nulls(each) for each in messages]
    return None


def _conversation(prompt: Any, completion: str | list[Any]) -> tuple[Conversation, int]:
    """The conversation of a row, and how many of its messages are the prompt."""
    talk = Conversation()
    asked = _messages(prompt)
    if isinstance(asked, list):
        chat(asked, talk, is_sampled=False)
    elif prompt is not None:
        talk.say("user", text(prompt))
    count = len(talk.messages)
    if isinstance(completion, str):
        return from_text(completion, talk), count
    return chat(completion, talk, is_sampled=True), count


def _digest(row: Values | None) -> bytes:
    content = {key: value for key, value in (row or {}).items() if key != "step"}
    return hashlib.blake2b(repr(content).encode("utf-8", "replace"), digest_size=16).digest()


def _measured(
    functions: tuple[str, ...], files: Sequence[Path], root: Path, log: TrainerLog
) -> Iterator[tuple[int, Rows]]:
    """The reward numbers of files with these functions, by step; damaged files are left out."""
    for file in files[:_CHECKED_FILES]:
        try:
            reader = _File(file, root, log)
            if reader.functions == functions:
                yield reader.file_step, reader.rewards()[0]
        except (UnreadableError, *DAMAGE):
            continue
