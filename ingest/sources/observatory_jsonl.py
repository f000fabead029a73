"""Our own neutral format, for everyone who logs their own tool server and grader: JSON lines.

Specification: `observatory_jsonl.schema.json`, beside this file (a test holds it against this reader).

One rollout a line, whole; anything but the ids may be left out, and extra keys are kept in `metadata`:

    {"run": "zava", "rollout_id": "r1", "sample_id": "s1", "attempt": 0, "step": 20, "split": "train", "reward": 0.5,
     "messages": [{"role": "user", "content": "…"}, …], "tool_calls": [{"id": "c1", "latency_s": 0.2}],
     "scores": {"answer": 1.0, "format": 0.0}}

One event a line, where a tool server, a grader and the trainer each write a file of their own. Every line names the
`rollout_id`, and the `run` where the files' names (or their folder's) do not; any order will do:

    {"type": "rollout", "partial": true, "rollout_id": "r2", "sample_id": "s1", "step": 20, "split": "train"}
    {"type": "message", "rollout_id": "r2", "index": 0, "role": "user", "content": "…"}
    {"type": "tool_call", "rollout_id": "r2", "id": "c9", "name": "search", "arguments": {}, "output": "…"}
    {"type": "score", "rollout_id": "r2", "grader": "answer", "value": 1.0}

A score of a rollout that was read whole, from whatever source, is put beside its own: see `ingest.regrades`.
So a `rollout` line is the whole rollout unless it says `"partial": true`; the three other types are always pieces.
About the run itself there are lines of the types `run`, `sample`, `metric`, `checkpoint` and `event`.

With `--map field=path`, JSON objects of any other shape are read as rollout lines (`ingest.neutral_mapping`).
Must not guess: a value of the wrong type rejects its line, with the reason.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from ingest import neutral_lines
from ingest.lines import ahead, blocks
from ingest.neutral_columns import Lines, Plain, plain
from ingest.neutral_fields import FieldError
from ingest.neutral_lines import Place, score_lines
from ingest.neutral_mapping import Mapped
from ingest.neutral_trajectory import scores
from ingest.reading import Peek, dump_json, parse_json, read_bytes
from ingest.sources.base import (
    FIELDS,
    Fragment,
    Note,
    Options,
    Part,
    Record,
    Reject,
    Rollouts,
    Row,
    Values,
    parsed,
    too_long,
)

NAME = "observatory_jsonl"
TITLE = "Rollout Observatory JSON lines"
FILLS = frozenset(FIELDS)
HINT = "JSON lines with `sample_id` or `rollout_id` and `reward` or `messages`, or with a `type` of ours"
SPLITTABLE_LINES = True
"""Any range of whole lines can be read on its own."""

_FOREIGN = frozenset({"example_id", "traces", "simulations", "trajectory", "responses_create_params"})
"""Keys by which other formats are known."""
_COMMON_WORDS = frozenset(
    {
        *("rollout", "rollouts", "episodes", "samples", "event", "events", "message", "messages", "trace", "traces"),
        *("tool", "tools", "call", "calls", "toolcalls", "toolserver", "server", "score", "scores", "grade", "grades"),
        *("grader", "graders", "grading", "judge", "verifier", "reward", "rewards", "trainer", "training", "metrics"),
        *("train", "valid", "validation", "test", "eval", "log", "logs", "data", "output", "results"),
        *("global", "step", "rank", "part", "shard", "worker"),
    }
)
"""A file whose name is only such words and a number says nothing: the folder names the run, so that files beside one
another join."""


def matches(peek: Peek) -> bool:
    """Whether the first JSON object is a line of ours."""
    first = peek.first
    if not isinstance(first, dict):
        return False
    kind = first.get("type", "rollout")
    if not isinstance(kind, str) or kind not in neutral_lines.LINES or not _FOREIGN.isdisjoint(first):
        return False
    if "type" in first and kind != "rollout":
        return kind in ("run", "sample", "metric", "checkpoint", "event") or "rollout_id" in first
    identified = "sample_id" in first or "rollout_id" in first
    return identified and ("type" in first or not {"reward", "messages"}.isdisjoint(first))


def default_run(path: Path) -> str:
    """The file's name without extensions; its folder's where that name says nothing (`rollouts.jsonl`, `step_3`)."""
    name = _name(path)
    return path.resolve().parent.name or name if _says_nothing(name) else name


def _name(path: Path) -> str:
    return path.name.split(".")[0] if path.is_file() else path.name


def _says_nothing(name: str) -> bool:
    words = re.findall(r"[^\W\d_]+", name.lower())
    return _COMMON_WORDS.issuperset(words) if words else name.isdecimal() or not name


def read(part: Part, options: Options) -> Iterator[Record]:
    """Yield the records of a part, in order; what is known of runs comes last, later lines over earlier ones.

    Raises:
        UnreadableError: The file cannot be read, or is damaged (what came before has been yielded).
        SourceError: `--map` names a field that does not exist.
    """
    mapped = Mapped(options.mapping) if options.mapping else None
    place = Place(part.path.name)
    runs: dict[str | None, Values] = {}
    loose: set[str] = set()
    for record in _records(part, mapped, place):
        if isinstance(record, Fragment) and record.run is None:
            loose.add(record.payload.get("type", "rollout"))
        if isinstance(record, Row) and record.table == "runs":
            runs[record.run] = runs.get(record.run, {}) | record.values
        else:
            yield record
    for name in sorted(place.unknown):
        yield Note(f"`{name}` has no column and was not kept.")
    if loose and loose <= {"tool_call", "score"} and options.run is None and not _says_nothing(_name(part.path)):
        kinds = " and ".join(sorted(loose))
        yield Note(
            f"{part.path.name} holds only {kinds} lines and no run: they are of the run `{default_run(part.path)}`, "
            "after the file. To join them with what the trainer wrote, read the files with --run NAME."
        )
    for run, values in runs.items():
        yield Row("runs", values, run)


def _records(part: Part, mapped: Mapped | None, place: Place) -> Iterator[Record]:
    elements = _elements(part)
    if elements is not None:
        for index, element in enumerate(elements):
            if isinstance(element, dict):
                yield from _line(index, element, mapped, place)
            else:
                yield Reject("an element must be a JSON object", str(index), (dump_json(element) or "")[:200])
        return
    for found in ahead(_found(part, is_mapped=mapped is not None)):
        for record in found.records(place) if isinstance(found, Plain) else (found,):
            if isinstance(record, Rollouts | Reject):
                yield record
                continue
            for position, line in record:
                yield from _bare(position, line.strip(b" \t\r\n"), mapped, place)


def _found(part: Part, *, is_mapped: bool) -> Iterator[Plain | Lines | Reject]:
    """The part's lines, read together where they are plain."""
    for offset, block in blocks(part.path, part.start, part.end):
        if block is None:
            yield too_long(offset)
        elif is_mapped:
            yield Lines.of(offset, block)
        else:
            yield from plain(Lines.of(offset, block))


def _bare(position: int, line: bytes, mapped: Mapped | None, place: Place) -> Iterable[Record]:
    entry = parsed(position, line) if line else None
    if entry is None:
        return ()
    return (entry,) if isinstance(entry, Reject) else _line(*entry, mapped, place)


def _line(position: int, line: Values, mapped: Mapped | None, place: Place) -> Iterable[Record]:
    place.position = position
    try:
        return neutral_lines.records(mapped(line) if mapped else line, place)
    except (FieldError, RecursionError) as error:
        return [Reject(str(error), str(position), (dump_json(line) or "")[:200])]


def _elements(part: Part) -> list[Any] | None:
    """The elements of a file that is one JSON list: a common shape of what is mapped by hand."""
    if part.start != 0 or part.end is not None or Peek(part.path).head[:1] != b"[":
        return None
    try:
        elements = parse_json(read_bytes(part.path))
    except ValueError:
        return None  # lines, the first of which is a list
    return elements if isinstance(elements, list) else None


def join(key: str, fragments: Iterable[Fragment]) -> Iterator[Record]:
    """Yield the rollout that the pieces of several lines and files make up."""
    place = Place("parts")
    pieces: list[Any] = list(fragments)
    try:
        yield from neutral_lines.joined(key, pieces, place)
    except FieldError as error:
        yield Reject(f"rollout {key}, joined: {error}", str(pieces[0].position))
    for name in sorted(place.unknown):
        yield Note(f"`{name}` has no column and was not kept.")


def later_scores(fragments: Iterable[Fragment], earlier: Sequence[Values]) -> list[Values]:
    """Rows of `scores` of a rollout that was read whole before, beside the `earlier` ones, which keep their names.

    Raises:
        FieldError: One of them breaks a rule of the format.
    """
    return scores(score_lines(fragments), set(), earlier=earlier)
