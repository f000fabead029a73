"""What a source is: a module that recognises one format and reads it into rows of the schema.

A source knows no SQL, no store and no screen. It yields records; the runner names runs and rollouts, computes the
trajectory facts, stages and commits. "A bad rollout is data, not a crash": what cannot be read becomes a `Reject`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ingest.lines import lines
from ingest.reading import Peek, parse_json

Values = dict[str, Any]
"""Values of one row by column name of the schema; a column left out is NULL."""


@dataclass(slots=True)
class Rollout:
    """One attempt at one sample.

    `values` are columns of `rollouts`; leave out `run_id`, `source_id`, `rollout_id`, `attempt` and the trajectory
    facts (the runner fills them). Give `native_id` only where the format makes it unique within the run,
    `native_attempt` where the source numbers attempts; `position` (byte offset, line or index) and `raw_ref` always.
    `messages`, `tool_calls` and `scores` are rows of the tables of those names, in order, without ids;
    `messages = None` says that the source keeps no messages, so that counts become NULL and not 0.
    `sample` are columns of `samples` (its `sample_id` is taken from `values`).
    """

    values: Values
    messages: list[Values] | None = None
    tool_calls: list[Values] = field(default_factory=list)
    scores: list[Values] = field(default_factory=list)
    sample: Values | None = None
    run: str | None = None


@dataclass(slots=True)
class Children:
    """Rows of one table of many rollouts, by column (arrays or lists): row by row the number of its rollout, rising."""

    of: NDArray[np.int64]
    columns: dict[str, Any]


@dataclass(slots=True)
class Rollouts:
    """Many rollouts at once, by column: the same as that many `Rollout`, for a source that must be fast.

    `values` are the columns of `rollouts` (arrays), `samples` the numbers of rollouts with columns of `samples`.
    `messages` is None where the source keeps none (then there are no calls). Every call is an agent's, was executed
    and has its turn, and those of a turn stand beside one another.
    """

    runs: list[str | None]
    values: dict[str, Any]
    messages: Children | None
    tool_calls: Children
    scores: Children
    samples: list[tuple[int, Values]]


@dataclass(slots=True)
class Row:
    """One row of `runs`, `metrics`, `checkpoints`, `events` or `samples`."""

    table: str
    values: Values
    run: str | None = None


@dataclass(slots=True)
class Fragment:
    """A fragment of a rollout that several files make up together; joined by `key` once all are read."""

    key: str
    payload: Values
    position: int
    time: Any = None
    run: str | None = None


@dataclass(slots=True)
class Reject:
    """A record that could not be read: counted, explained, never silently dropped."""

    reason: str
    position: str
    snippet: str = ""
    file: str = ""


@dataclass(slots=True)
class Note:
    """Something the reader of the ingest should know, in one plain sentence (repeated notes are shown once)."""

    text: str


NOT_SCORED = Note(
    "Some rewards are stated but are no finite numbers: these rollouts are not scored (NULL), what was stated is kept "
    "in their metadata or with their scores."
)
Record = Rollout | Rollouts | Row | Fragment | Reject | Note


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a source that is read on its own: a file, or a range of bytes of one that starts at a line.

    A line belongs to the part in which its first byte lies. `end` is exclusive; None means to the end.
    """

    path: Path
    start: int = 0
    end: int | None = None


@dataclass(frozen=True, slots=True)
class Options:
    """What the user said about how to read. `mapping` is `--map field=path` by field name, `run` what --run says."""

    mapping: Mapping[str, str] = field(default_factory=dict)
    run: str | None = None


@runtime_checkable
class Source(Protocol):
    """The interface of a source module. `split` and `join` are optional (looked up by name).

    `split(path: Path) -> Sequence[Part]` names the parts of a large source that may be read in parallel.
    `join(key: str, fragments: Iterable[Fragment]) -> Iterator[Record]` builds rollouts from their fragments.
    """

    NAME: str
    """Name on the command line and in `runs.source_format`."""
    TITLE: str
    """What people call the format, for messages."""
    FILLS: frozenset[str]
    """Fields it can fill, of `ingest.sources.base.FIELDS`."""
    HINT: str
    """How a file of this format is recognised and where it is found, for the error about an unknown file."""

    def matches(self, peek: Peek) -> bool:
        """Whether this file or folder is of the format, judged by content and not by extension. Never raises."""
        ...

    def default_run(self, path: Path) -> str:
        """The run a source belongs to when neither the user nor its records say so."""
        ...

    def read(self, part: Part, options: Options) -> Iterator[Record]:
        """Yield every record, in order.

        Raises:
            UnreadableError: The file is broken as a whole.
        """
        ...


FIELDS: dict[str, str] = {
    "sample": "which sample a rollout attempts",
    "attempt": "number of the attempt",
    "step": "training step",
    "split": "train, valid or test",
    "subset": "whether a rollout was trained on",
    "reward": "reward",
    "subscores": "sub-scores by grader",
    "status": "how a rollout ended",
    "messages": "messages",
    "tool_calls": "tool calls",
    "tool_errors": "failed tool calls",
    "tool_latency": "seconds a tool call takes",
    "tokens": "tokens",
    "reasoning_tokens": "reasoning tokens",
    "latency": "seconds a rollout takes",
    "cost": "cost",
    "model": "model",
    "metrics": "metrics the trainer reported",
    "checkpoints": "saved checkpoints",
}
"""What a source may fill; pages use it to say which source would bring what a store lacks."""


def parts_of(source: Source, path: Path) -> Sequence[Part]:
    """The parts of a source at `path`: what its `split` says, else one."""
    split = getattr(source, "split", None)
    return split(path) if split is not None else (Part(path),)


def objects(part: Part) -> Iterator[tuple[int, Values] | Reject]:
    """JSON objects of a JSON-lines part with their byte offsets; what is none, a half line included, is a `Reject`.

    Raises:
        UnreadableError: The file cannot be read, or is damaged (what came before has been yielded).
    """
    for offset, line in lines(part.path, part.start, part.end):
        yield too_long(offset) if line is None else parsed(offset, line)


def too_long(offset: int) -> Reject:
    """What stands for a line that is no record but an accident."""
    return Reject("the line is longer than 256 MiB", str(offset))


def parsed(offset: int, line: bytes) -> tuple[int, Values] | Reject:
    """The JSON object of a line at a byte offset."""
    try:
        value = parse_json(line)
    except ValueError as error:
        return Reject(str(error), str(offset), line[:200].decode("utf-8", "replace"))
    if isinstance(value, dict):
        return offset, value
    return Reject(f"a line must hold a JSON object, not {type(value).__name__}", str(offset), str(value)[:200])
