"""Rows of a big store as Arrow tables, made whole columns at a time: what an ingest would have read, seeded.

A run has steps of train groups (8 attempts a sample) and validation (2 attempts); about 7 tool calls a rollout, 12
tools of falling frequency, repeats, errors, unscored rollouts. Every tenth run has branches, a simulated user's calls
and an orphan now and then; another tenth kept neither arguments nor latencies. Texts are short: questions read few.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ingest.schema import table

Ints: TypeAlias = NDArray[np.int64]
Columns: TypeAlias = Mapping[str, Any]

GROUP, ATTEMPTS = 8, 2
"""Attempts at a sample of a train step, and of validation."""
WITH_MESSAGES = 4_000
"""Rollouts that have messages, over all runs."""
TOOLS = (
    *("search", "read_page", "run_python", "calculate", "fetch_table", "list_files"),
    *("open_file", "edit_file", "run_tests", "ask_user", "translate", "submit"),
)
_SHARES = np.array([30, 20, 12, 9, 7, 6, 5, 4, 3, 2, 1, 1]) / 100
_HEX = np.frombuffer(b"0123456789abcdef", dtype=np.uint8)
_START = int(datetime(2026, 1, 1, tzinfo=UTC).timestamp() * 1e6)


@dataclass(frozen=True, slots=True)
class Shape:
    """How many of what."""

    rollouts: int
    runs: int
    samples: int = 1_000
    seed: int = 0

    @property
    def per_run(self) -> int:
        """Rollouts of a run, a whole number of steps."""
        return self.steps * self.per_step

    @property
    def steps(self) -> int:
        """Steps of a run: 50, fewer where there are few rollouts."""
        return int(np.clip(self.rollouts // self.runs // 100, 1, 50))

    @property
    def per_step(self) -> int:
        """Rollouts of a step, train and validation together."""
        return self.rollouts // self.runs // self.steps


def run_id(number: int) -> str:
    """Name of a run."""
    return f"run-{number:04d}"


def hashes(*numbers: Ints, digits: int = 16) -> pa.Array:
    """Hexadecimal hashes (at most 32 digits) of equally long columns of numbers, as texts."""
    mixed = np.zeros(len(numbers[0]), dtype=np.uint64)
    for each in numbers:
        mixed = _mixed(mixed ^ each.astype(np.uint64))
    data = np.column_stack([mixed, _mixed(mixed)]).astype(">u8").view(np.uint8).reshape(len(mixed), 16)
    text = _HEX[np.stack([data >> 4, data & 15], axis=2).reshape(len(mixed), 32)[:, :digits]]
    offsets = np.arange(len(mixed) + 1, dtype=np.int32) * digits
    return pa.StringArray.from_buffers(len(mixed), pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(text)))


def _mixed(value: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """SplitMix64's finaliser."""
    value = value + np.uint64(0x9E3779B97F4A7C15)
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))


def texts(words: Any, codes: Any, known: Any = None) -> pa.Array:
    """The word of each code; NULL where it is not known."""
    return pc.take(pa.array(words, pa.string()), pa.array(codes, mask=None if known is None else ~known))


def known(values: Any, where: Any) -> pa.Array:
    """The values, NULL where not known."""
    return pa.array(values, mask=~where)


def as_table(name: str, columns: Columns, rows: int) -> pa.Table:
    """The columns as a table of the contract; those not given are NULL."""
    schema = table(name).arrow
    found = [columns.get(each.name) for each in schema]
    arrays = [
        pa.nulls(rows, field.type) if each is None else (each if isinstance(each, pa.Array) else pa.array(each))
        for field, each in zip(schema, found, strict=True)
    ]
    return pa.table(dict(zip(schema.names, arrays, strict=True))).cast(schema)


def times(seconds: NDArray[np.float64]) -> pa.Array:
    """Moments so many seconds after the start of the year."""
    return pa.array(_START + (seconds * 1e6).astype(np.int64), pa.timestamp("us", tz="UTC"))


class Rollouts:
    """The rollouts of some runs in the order read, as columns of numbers; `tables` gives all rows about them."""

    def __init__(self, shape: Shape, numbers: Ints) -> None:
        self.shape, self.numbers = shape, numbers
        self.rng = np.random.default_rng([shape.seed, int(numbers[0])])
        place = np.tile(np.arange(shape.per_run), len(numbers))
        self.run, self.position = np.repeat(numbers, shape.per_run), place
        self.size = len(place)
        self.step, within = np.divmod(place, shape.per_step)
        num_train = shape.per_step * 4 // 5
        self.is_valid = within >= num_train
        num_train_samples = max(shape.samples * 9 // 10, 1)
        group = self.step * -(-num_train // GROUP) + within // GROUP
        of_valid = (within - num_train) // ATTEMPTS % max(shape.samples - num_train_samples, 1)
        self.sample = np.where(self.is_valid, num_train_samples + of_valid, group % num_train_samples)
        self.attempt = np.where(self.is_valid, (within - num_train) % ATTEMPTS, within % GROUP)
        self.is_odd, self.is_bare = self.run % 10 == 3, self.run % 10 == 7
        skill = 0.3 + 0.4 * self.step / max(shape.steps, 1) + 0.2 * np.sin(self.sample)
        self.reward = np.round(np.clip(self.rng.normal(skill, 0.25), 0, 1), 4)
        self.is_scored = self.rng.random(self.size) >= 0.01
        self.ending = self.rng.choice(4, self.size, p=[0.94, 0.04, 0.005, 0.015])
        self.num_calls = np.minimum(np.rint(self.rng.gamma(3.5, 2.0, self.size)).astype(np.int64), 80)
        self.ids = hashes(self.run, self.position, digits=24)
        self.runs = texts([run_id(each) for each in numbers], self.run - numbers[0])
        self.sources = texts([f"file:///bench/{run_id(each)}.jsonl" for each in numbers], self.run - numbers[0])
        self.started = self.run * 86_400.0 + self.position * 1.7

    def tables(self) -> dict[str, pa.Table]:
        """Rows by table, each sorted as a commit sorts them."""
        calls = Calls(self)
        of = {"tool_calls": calls.table(), "rollouts": self.table(calls), "scores": self.scores()}
        return {**of, "messages": self.messages(), "samples": self.samples()}

    def table(self, calls: "Calls") -> pa.Table:
        """The rollouts, sorted by run, split, step and position."""
        of, size = calls.counts, self.size
        tokens = 900 + 400 * self.num_calls
        latency = np.round(4 + self.rng.gamma(2.0, 3.0, size) * (1 + self.num_calls), 3)
        columns = {
            **{"run_id": self.runs, "source_id": self.sources, "rollout_id": self.ids},
            "native_id": self.ids,
            "sample_id": texts([f"sample-{each:04d}" for each in range(self.shape.samples)], self.sample),
            "sample_id_source": texts(["native"], np.zeros(size, np.int64)),
            "environment": texts(["search", "code", "tables"], self.sample % 3),
            **{"attempt": self.attempt, "native_attempt": self.attempt, "step": self.step},
            "split": texts(["train", "valid"], self.is_valid.astype(np.int64)),
            "subset": texts(["all", "effective"], (self.sample % 5 > 0).astype(np.int64), ~self.is_valid),
            "model": texts(["policy-8b"], np.zeros(size, np.int64)),
            "status": texts(["completed", "truncated", "infra_error"], self.ending, self.ending < 3),
            "stop_reason": texts(["stop", "length", "timeout", None], self.ending),
            "reward": known(self.reward, self.is_scored),
            "passed": known(self.reward > 0.6, self.is_scored),
            "final_answer": texts([f"answer {each}" for each in range(500)], self.rng.integers(0, 500, size)),
            "input_tokens": tokens * (1 + self.num_calls),
            "output_tokens": tokens + self.rng.integers(0, 2_000, size),
            "reasoning_tokens": tokens // 3 + self.rng.integers(0, 500, size),
            "context_tokens": 2 * tokens,
            "cost_usd": tokens * 2e-6,
            **{"started_at": times(self.started), "ended_at": times(self.started + latency), "latency_s": latency},
            "raw_ref": texts([f"{run_id(each)}.jsonl" for each in self.numbers], self.run - self.numbers[0]),
            **{"position": self.position, "num_messages": 3 + 2 * self.num_calls, "num_turns": 1 + self.num_calls},
            **of,
        }
        rows = as_table("rollouts", columns, size)
        return rows.take(pa.array(np.lexsort((self.position, self.step, self.is_valid, self.run))))

    def scores(self) -> pa.Table:
        """Two sub-scores a rollout."""
        each = np.repeat(np.arange(self.size), 2)
        grader = np.tile([0, 1], self.size)
        value = np.where(grader == 0, self.reward[each], self.rng.random(len(each)) < 0.9)
        names = ["answer", "format"]
        columns = {
            **{"run_id": self.runs.take(each), "source_id": self.sources.take(each), "rollout_id": self.ids.take(each)},
            **{"grader": texts(names, grader), "value": known(value, self.is_scored[each])},
            **{"weight": np.where(grader == 0, 0.9, 0.1), "kind": texts(["subscore"], np.zeros_like(grader))},
        }
        return as_table("scores", columns, len(each))

    def messages(self) -> pa.Table:
        """The messages of the first rollouts of every run."""
        chosen = np.flatnonzero(self.position < max(WITH_MESSAGES // self.shape.runs, 1))
        num = 3 + 2 * self.num_calls[chosen]
        each = np.repeat(chosen, num)
        index = np.arange(len(each)) - np.repeat(np.cumsum(num) - num, num)
        role = np.where(index < 2, index, 3 - index % 2)
        columns = {
            **{"run_id": self.runs.take(each), "source_id": self.sources.take(each), "rollout_id": self.ids.take(each)},
            **{"message_index": index, "role": texts(["system", "user", "tool", "assistant"], role)},
            "turn": known(np.maximum(index - 2, 0) // 2, index >= 2),
            "text": texts([f"text number {each}, not long" for each in range(200)], index % 200),
        }
        return as_table("messages", columns, len(each))

    def samples(self) -> pa.Table:
        """The samples every run met."""
        codes = np.unique(self.run * self.shape.samples + self.sample)
        run, sample = np.divmod(codes, self.shape.samples)
        first = self.numbers[0]
        columns = {
            "run_id": texts([run_id(each) for each in self.numbers], run - first),
            "source_id": texts([f"file:///bench/{run_id(each)}.jsonl" for each in self.numbers], run - first),
            "sample_id": texts([f"sample-{each:04d}" for each in range(self.shape.samples)], sample),
            "prompt_text": texts([f"Question {each}?" for each in range(self.shape.samples)], sample),
            "prompt_hash": hashes(sample),
            "environment": texts(["search", "code", "tables"], sample % 3),
        }
        return as_table("samples", columns, len(codes))


class Calls:
    """The tool calls of rollouts in the order read, their repeats, and the facts about each rollout."""

    def __init__(self, of: Rollouts) -> None:
        self.of, rng = of, of.rng
        self.rollout = np.repeat(np.arange(of.size), of.num_calls)
        first = np.cumsum(of.num_calls) - of.num_calls
        self.index = np.arange(len(self.rollout)) - first[self.rollout]
        size = len(self.index)
        self.tool = rng.choice(len(TOOLS), size, p=_SHARES)
        asked = np.minimum(rng.zipf(1.3, size), 400)
        self.pattern = (of.sample[self.rollout] * 500 + asked // 3) * len(TOOLS) + self.tool
        self.arguments = self.pattern * 3 + asked % 3
        odd = of.is_odd[self.rollout]
        self.is_agents = ~(odd & (rng.random(size) < 0.05))
        self.is_orphan = odd & (rng.random(size) < 0.01)
        self.is_failed = rng.random(size) < 0.06
        self.latency = np.round(rng.lognormal(-1, 0.8, size), 4)
        self.bytes = rng.integers(20, 4_000, size)
        self.is_kept = ~of.is_bare[self.rollout]
        self.repeat_of = self._latest(self.arguments)
        alike = self._latest(self.pattern)
        self.near_repeat_of = np.where(self.repeat_of >= 0, -1, alike)
        self.is_same = rng.random(size) < 0.5
        self.is_wasted = (self.repeat_of >= 0) & self.is_same & (self.tool < 5)

    def _latest(self, key: Ints) -> Ints:
        """Index of the latest earlier call of the rollout with the same key, −1 where there is none or none is kept."""
        order = np.lexsort((self.index, key, self.rollout))
        same = (np.diff(self.rollout[order], prepend=-1) == 0) & (np.diff(key[order], prepend=-1) == 0)
        found = np.full(len(key), -1, dtype=np.int64)
        found[order[1:]] = np.where(same[1:], self.index[order[:-1]], -1)
        return np.where(self.is_kept, found, -1)

    def _per_rollout(self, chosen: Any, weights: Any = None) -> NDArray[Any]:
        found = np.bincount(self.rollout[chosen], None if weights is None else weights[chosen], self.of.size)
        return found if weights is None else np.round(found, 6)

    @property
    def counts(self) -> dict[str, Any]:
        """Facts of every rollout that are counted from its calls."""
        own = self.is_agents & ~self.is_orphan
        repeats, near, kept = self.repeat_of >= 0, self.near_repeat_of >= 0, ~self.of.is_bare
        num, failed = self._per_rollout(own), self._per_rollout(own & self.is_failed)
        exact = self._per_rollout(own & repeats)
        same = self._per_rollout(own & repeats & self.is_same)
        return {
            **{"num_tool_calls": num, "num_tool_calls_executed": num, "num_tool_calls_succeeded": num - failed},
            **{"num_user_tool_calls": self._per_rollout(~self.is_agents), "num_tool_errors": failed},
            **{"num_tool_errors_flagged": failed, "num_tool_errors_inferred": np.zeros_like(failed)},
            "num_distinct_tools": np.minimum(num, len(TOOLS)),
            "num_exact_repeats": known(exact, kept),
            "num_near_repeats": known(self._per_rollout(own & near), kept),
            "num_repeats_same_output": known(same, kept),
            "num_repeats_changed_output": known(exact - same, kept),
            "num_wasted_calls": known(self._per_rollout(own & self.is_wasted), kept),
            "wasted_latency_s": known(self._per_rollout(own & self.is_wasted, self.latency), kept),
            "wasted_tokens_estimate": known(self._per_rollout(own & self.is_wasted, self.bytes).astype(int) // 4, kept),
            "longest_loop": known(np.where(exact > 2, exact, 0), kept),
            **{"max_parallel_calls": np.minimum(num, 1), "num_tool_rounds": num, "num_parallel_turns": num // 8},
            "tool_latency_s": known(self._per_rollout(own, self.latency), kept),
            "tool_output_bytes": self._per_rollout(own, self.bytes).astype(np.int64),
        }

    def table(self) -> pa.Table:
        """The calls, rollout by rollout."""
        of, each, kept = self.of, pa.array(self.rollout), self.is_kept
        zero = np.zeros(len(self.index), dtype=np.int64)
        repeats = self.repeat_of >= 0
        arguments = texts([f'{{"query": "question {each}"}}' for each in range(5_000)], self.arguments % 5_000, kept)
        status = np.where(self.is_orphan, 2, self.is_failed.astype(np.int64))
        columns = {
            **{"run_id": of.runs.take(each), "source_id": of.sources.take(each), "rollout_id": of.ids.take(each)},
            **{"call_index": self.index, "turn": self.index, "message_index": 2 + 2 * self.index},
            "result_index": 3 + 2 * self.index,
            "requestor": texts(["user", "agent"], self.is_agents.astype(np.int64)),
            **{"tool": texts(TOOLS, self.tool), "tool_raw": texts(TOOLS, self.tool)},
            **{"arguments_raw": arguments, "arguments": arguments, "is_parsed": known(kept, kept)},
            **{"arguments_hash": hashes(self.arguments), "near_key": hashes(self.pattern)},
            "repeat_of": known(self.repeat_of, repeats),
            "near_repeat_of": known(self.near_repeat_of, self.near_repeat_of >= 0),
            "repeat_output": texts(["different", "same"], self.is_same.astype(np.int64), repeats),
            "is_wasted": known(self.is_wasted, kept),
            "output_text": texts([f"output number {each}" for each in range(300)], self.bytes % 300),
            **{"output_bytes": self.bytes, "output_hash": hashes(self.bytes)},
            "status": texts(["ok", "error", "orphan"], status),
            "is_executed": np.ones(len(zero), dtype=bool),
            "is_error_flagged": known(self.is_failed, self.rollout % 2 == 0),
            "error_kind": texts(["timeout"], zero, self.is_failed),
            "latency_s": known(self.latency, kept),
            "latency_source": texts(["reported"], zero, kept),
            "parse_source": texts(["structured"], zero),
            "branch": texts(["b0", "b1"], (self.index > 3).astype(np.int64), of.is_odd[self.rollout]),
        }
        return as_table("tool_calls", columns, len(zero))
