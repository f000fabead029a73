"""Reads many plain rollout lines of the neutral format at once, by column: the fast way, for what most lines are.

DuckDB says every line's structure and reads the plain ones (`ingest.neutral_shapes`) into nested columns; here the
values are checked and turned into the columns of the contract. Lines that are anything else, right or wrong, are left
to `ingest.neutral_lines`, which also says what is wrong; a test holds the two against each other.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from threading import local
from typing import Any

import duckdb
import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ingest import neutral_fields as fields
from ingest.arrays import Ints, constant
from ingest.neutral_fields import Values
from ingest.neutral_lines import Place, metadata_of, sample_of
from ingest.neutral_shapes import Shape, shape_of, together
from ingest.neutral_talk import messages_and_calls
from ingest.neutral_trajectory import scores as score_rows
from ingest.neutral_values import Unusual, columns, ensure
from ingest.reading import BOM, number
from ingest.sources.base import Children, Rollouts

_LINE_END = 10
_LOOK_BYTES = 256 * 1024
"""Bytes looked through for line ends at a time: what stays in the processor's cache."""
_SHORT = 64
"""Longer lines are not looked at for being blank: they are no JSON, and so are read one by one."""
MOST_LINES = 1_000
"""More are turned into columns in parts that stay in the processor's cache."""
FEWEST_LINES = 16
"""Fewer lines beside one another are quicker read one by one."""
_APART = frozenset({"run", "type", "prompt", "metadata", "scores", *fields.SAMPLE_COLUMNS})
"""Fields of a line that are no column of `rollouts`."""


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines beside one another: their byte offsets and their bytes."""

    positions: Ints
    texts: pa.BinaryArray

    @classmethod
    def of(cls, offset: int, block: memoryview) -> "Lines":
        """The lines of a block that begins at `offset`, blank ones left out."""
        ends = _line_ends(np.frombuffer(block, np.uint8))
        starts = np.concatenate([[0], ends[:-1]])
        positions = starts + offset
        if offset == 0 and block[: len(BOM)] == BOM:
            starts[0] = len(BOM)
        bounds = np.append(starts, len(block)).astype(np.int32)
        texts = pa.BinaryArray.from_buffers(pa.binary(), len(ends), [None, pa.py_buffer(bounds), pa.py_buffer(block)])
        blank = [at for at in np.flatnonzero(ends - starts < _SHORT).tolist() if not texts[at].as_py().strip()]
        if blank:
            kept = np.setdiff1d(np.arange(len(ends)), blank)
            positions, texts = positions[kept], texts.take(pa.array(kept))
        return cls(positions, texts)

    def __len__(self) -> int:
        return len(self.positions)

    def __getitem__(self, part: slice) -> "Lines":
        return Lines(self.positions[part], self.texts[part])

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        return zip(self.positions.tolist(), self.texts.to_pylist(), strict=True)


def _line_ends(block: NDArray[np.uint8]) -> Ints:
    """Where the lines of a block end, its last one included."""
    starts = range(0, len(block), _LOOK_BYTES)
    ends = np.concatenate([np.flatnonzero(block[at : at + _LOOK_BYTES] == _LINE_END) + at + 1 for at in starts])
    return ends if block[-1] == _LINE_END else np.append(ends, len(block))


def plain(lines: Lines) -> Iterator["Plain | Lines"]:
    """Lines in order: read together where all of them are plain by their structure, else as they are."""
    if len(lines) < FEWEST_LINES:
        yield lines
        return
    try:
        array = lines.texts.cast(pa.string())
        shapes = _shapes(array)
    except (duckdb.Error, ValueError):
        for half in _halves(lines):
            yield from plain(half)
        return
    for start, end in _alike(shapes):
        some, wanted = lines[start:end], shapes[start:end]
        if wanted[0] is None or len(some) < FEWEST_LINES:
            yield some
            continue
        try:
            yield _read(some, array[start:end], wanted)  # type: ignore[arg-type]  # none of them is None here
        except (Unusual, duckdb.Error):
            for half in _halves(some):
                yield from plain(half)


def _halves(lines: Lines) -> tuple[Lines, Lines]:
    middle = len(lines) // 2
    return lines[:middle], lines[middle:]


def _alike(shapes: list[Shape | None]) -> Iterator[tuple[int, int]]:
    """Where plain lines, with messages or without, stand beside one another, and where others do."""
    start, kind = 0, _kind(shapes[0])
    for at, shape in enumerate(shapes):
        if _kind(shape) != kind:
            yield start, at
            start, kind = at, _kind(shape)
    yield start, len(shapes)


def _kind(shape: Shape | None) -> bool | None:
    return None if shape is None else shape.messages is None


_connections = local()


def _connection() -> duckdb.DuckDBPyConnection:
    """This thread's own."""
    if not hasattr(_connections, "own"):
        _connections.own = duckdb.connect(config={"threads": 1})
    found: duckdb.DuckDBPyConnection = _connections.own
    return found


def _ask(sql: str, lines: pa.Array) -> pa.Array:
    """A column that DuckDB makes of lines."""
    connection = _connection()
    connection.register("lines", pa.table({"line": lines}))
    try:
        return connection.sql(sql).to_arrow_table().column(0).combine_chunks()
    finally:
        connection.unregister("lines")


def _shapes(lines: pa.Array) -> list[Shape | None]:
    """The shape of every line, None where it is not plain. What lines of a structure are is told from the first."""
    coded = _ask("SELECT json_structure(line) FROM lines", lines).dictionary_encode()
    numbers = coded.indices.fill_null(len(coded.dictionary)).to_numpy(zero_copy_only=False)
    codes, firsts = np.unique(numbers, return_index=True)
    found = [*map(shape_of, coded.dictionary.to_pylist()), None]
    for at, first in zip(codes.tolist(), firsts.tolist(), strict=True):
        shape = found[at]
        if shape is not None and "type" in shape.line and orjson.loads(lines[first].as_py())["type"] != "rollout":
            found[at] = None
    return [found[at] for at in numbers.tolist()]


def _read(lines: Lines, array: pa.Array, shapes: list[Shape]) -> "Plain":
    shape = together(dict.fromkeys(shapes))
    if shape is None:
        raise Unusual
    spec = shape.spec.replace("'", "''")
    found = _ask(f"SELECT from_json(line, '{spec}') FROM lines", array)  # noqa: S608 - made here, quoted
    return Plain(lines, shapes, shape, found)


@dataclass(frozen=True, slots=True)
class Plain:
    """Lines that are plain by their structure, and what DuckDB read of them: a struct a line."""

    lines: Lines
    shapes: list[Shape]
    shape: Shape
    found: pa.StructArray

    @property
    def size(self) -> int:
        """Number of lines."""
        return len(self.lines)

    def records(self, place: Place) -> Iterator[Rollouts | Lines]:
        """The rollouts; the lines of which a value is not plain are left as they are."""
        for start in range(0, self.size, MOST_LINES):
            here = slice(start, start + MOST_LINES)
            part = Plain(self.lines[here], self.shapes[here], self.shape, self.found[here])
            try:
                yield part._rollouts(place)
            except (Unusual, ValueError):
                for half in _halves(part.lines):
                    for found in plain(half):
                        yield from found.records(place) if isinstance(found, Plain) else (found,)

    def _rollouts(self, place: Place) -> Rollouts:
        """The same as columns.

        Raises:
            Unusual: A value is not plain.
            ValueError: A value breaks a rule of the format, or is JSON to DuckDB alone.
        """
        values = columns(self.found, self.shape.line, fields.ROLLOUT, _APART)
        runs = self._texts("run")
        ensure("" not in runs and {*self._texts("type")} <= {"rollout", None})
        scores = self._scores(place)
        talk = messages_and_calls(self.found, self.shape)
        metadata = [metadata_of(given, extras, place) for given, extras in self._metadata(place)]
        positions = self.lines.positions
        values |= {
            "position": pa.array(positions, pa.int64()),
            "raw_ref": pa.array([f"{place.file}@{position}" for position in positions.tolist()], pa.string()),
            "metadata": pa.array(metadata, pa.string()),
        }
        if "sample_id" in values:
            named = constant("native", self.size, pa.string())
            values["sample_id_source"] = pc.if_else(values["sample_id"].is_valid(), named, pa.scalar(None, pa.string()))
        return Rollouts(runs, values, *talk, scores, self._samples(runs, values, talk[0], place))

    def _texts(self, name: str) -> list[Any]:
        return self.found.field(name).to_pylist() if name in self.shape.line else [None] * self.size

    def _metadata(self, place: Place) -> Iterator[tuple[Any, Values]]:
        """What every line gives as its metadata, and its fields that have no column."""
        given = [None if each is None else orjson.loads(each) for each in self._texts("metadata")]
        place.unknown.update(name for shape in set(self.shapes) for name in shape.bulky)
        others = [name for name in self.shape.extras if name in self.shape.line]
        said = {name: self._texts(name) for name in others}
        for at, shape in enumerate(self.shapes):
            kept = ((name, said[name][at]) for name in shape.extras if name in said)
            yield given[at], {name: None if each is None else orjson.loads(each) for name, each in kept}

    def _scores(self, place: Place) -> Children:
        given = [None if each is None else orjson.loads(each) for each in self._texts("scores")]
        ensure(all(each is None or isinstance(each, dict | list) for each in given))
        of = np.repeat(np.arange(self.size), [len(each or ()) for each in given])
        numbers = _numbers_of([each for each in given if each])
        if numbers is not None:
            return Children(of, numbers)
        versions = self._texts("grader_version")
        rows = [row for at, each in enumerate(given) if each for row in score_rows(each, place.unknown, versions[at])]
        return Children(of, {name: [row.get(name) for row in rows] for name in set().union(*rows)})

    def _samples(
        self, runs: list[str | None], columns: Values, talk: Children | None, place: Place
    ) -> list[tuple[int, Values]]:
        """What the lines say of their samples, once a sample: the first thing said of it counts."""
        said = [name for name in (*fields.SAMPLE_COLUMNS, "prompt") if name in self.shape.line]
        if "sample_id" not in columns or not (said or talk):
            return []
        ids, of = columns["sample_id"].to_pylist(), [None] * self.size
        if "environment" in columns:
            of = columns["environment"].to_pylist()
        found = []
        bounds = np.searchsorted([] if talk is None else talk.of, np.arange(self.size + 1))
        for at, key in enumerate(zip(runs, of, ids, strict=True)):
            run, environment, sample_id = key
            if sample_id is None or key in place.told:
                continue
            values = {name: self.found.field(name)[at].as_py() for name in said}
            given = {name: value for name, value in values.items() if value is not None}
            opening = None if talk is None else _opening(talk, *bounds[at : at + 2].tolist())
            given |= {"sample_id": sample_id, "environment": environment}
            sample = sample_of(given, run, opening, place)
            if sample is not None:
                place.told.add(key)
                found.append((at, sample))
        return found


def _numbers_of(given: list[Any]) -> dict[str, Any] | None:
    """Columns of `scores` where all of them are numbers by grader, as most are; None where they are not."""
    if not all(isinstance(each, dict) for each in given):
        return None
    graders, values = [*chain.from_iterable(given)], [*chain.from_iterable(each.values() for each in given)]
    if "" in graders or not _NUMBER.issuperset(map(type, values)):
        return None
    flags = [value if value.__class__ is bool else None for value in values]
    return {
        "grader": graders,
        "value": [number(value) for value in values],
        "passed": flags,
        "kind": ["subscore"] * len(graders),
    }


def _opening(talk: Children, start: int, end: int) -> list[Values]:
    """The messages of a rollout, from `start` to `end`, up to the first that the model wrote."""
    opening: list[Values] = []
    roles, texts = talk.columns["role"], talk.columns.get("text")
    for place in range(start, end):
        opening.append({"role": roles[place].as_py(), "content": None if texts is None else texts[place].as_py()})
        if opening[-1]["role"] == "assistant":
            break
    return opening


_NUMBER = frozenset({float, int, bool, type(None)})
