"""What prime-rl learns of a trace after it was written: step, cohort, advantage, and the trainer's token streams.

One record names one trace: `{"trace_id", "info": {…}, "branches": [{"index", "trainer_logprobs", "entropies", …}]}`,
or the scalars at top level. Records come in any order and before or after their trace; the last one wins.
Token streams can outweigh the traces themselves: they wait in a temporary file, not in memory.
"""

import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from ingest.reading import text
from ingest.sources.base import Part, Reject, Values, objects
from ingest.sources.verifiers_trace import Tree, object_of, objects_in
from ingest.token_streams import Floats, floats

STREAMS = ("trainer_logprobs", "entropies")
SCALARS = ("step", "subset", "advantage")


class Updates(AbstractContextManager["Updates"]):
    """The annotations of a run by trace id, to be folded onto traces as they are read."""

    def __init__(self) -> None:
        self._scalars: dict[str, Values] = {}
        self._streams: dict[str, dict[tuple[int, str], tuple[int, int]]] = {}
        self._used: set[str] = set()
        self._spool = tempfile.TemporaryFile()  # noqa: SIM115 - closed by __exit__

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Remove the waiting streams."""
        self._spool.close()

    def load(self, path: Path, label: str) -> Iterator[Reject]:
        """Take in one file of annotations; yields its bad records.

        Raises:
            UnreadableError: The file cannot be read, or is damaged.
        """
        for found in objects(Part(path)):
            if isinstance(found, Reject):
                found.file = label
                yield found
                continue
            offset, record = found
            trace_id = text(record.get("trace_id"))
            if trace_id:
                self._take(trace_id, record)
            else:
                yield Reject("an annotation without trace_id", str(offset), str(record)[:200], label)

    def _take(self, trace_id: str, record: Values) -> None:
        known = self._scalars.setdefault(trace_id, {})
        known |= {key: record[key] for key in SCALARS if key in record}
        known |= object_of(record.get("info"))
        for branch in objects_in(record.get("branches")):
            for name in STREAMS:
                values = floats(branch.get(name))
                if values is not None and isinstance(branch.get("index"), int):
                    at = self._spool.seek(0, 2)
                    self._spool.write(values.tobytes())
                    self._streams.setdefault(trace_id, {})[branch["index"], name] = (at, len(values))

    def fold(self, trace: Values) -> Values:
        """Merge what is known of a trace into it (its `info`, streams onto its nodes). Returns the scalars."""
        trace_id = text(trace.get("id")) or ""
        known = self._scalars.get(trace_id)
        if known is None:
            return {}
        self._used.add(trace_id)
        later = {key: value for key, value in known.items() if key not in ("step", "subset")}
        trace["info"] = {**object_of(trace.get("info")), **later}
        nodes = trace.get("nodes")
        streams = self._streams.get(trace_id)
        if streams and isinstance(nodes, list):
            _project([object_of(node) for node in nodes], {key: self._read(*at) for key, at in streams.items()})
        return known

    def _read(self, offset: int, count: int) -> Floats:
        self._spool.seek(offset)
        return np.frombuffer(self._spool.read(count * 8), dtype=np.float64)

    def unused(self) -> list[str]:
        """Ids of traces that were annotated and never read."""
        return [trace_id for trace_id in self._scalars if trace_id not in self._used]


def _project(nodes: list[Values], streams: dict[tuple[int, str], Floats]) -> None:
    """Cut each branch's stream into its nodes' sampled tokens; a node not covered in full is left as it was."""
    tree = Tree(nodes)
    for (branch, name), values in streams.items():
        if not 0 <= branch < len(tree.leaves):
            continue
        cursor = 0
        for index in tree.path(tree.leaves[branch]):
            count, mask = _length(nodes[index].get("token_ids")), nodes[index].get("mask")
            piece = values[cursor : cursor + count]
            cursor += count
            if len(piece) < count:
                break
            if nodes[index].get("sampled") is not True or _length(mask) != count:
                continue
            kept = piece[np.array([on is True for on in mask or ()], dtype=bool)]
            if len(kept) and not np.isnan(kept).any():  # NaN: not known to the producer
                nodes[index][name] = kept


def _length(values: Any) -> int:
    return len(values) if isinstance(values, list) else 0
