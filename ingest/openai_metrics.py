"""Numbers of a fine-tuning job → rows of `metrics`: from events, result files (CSV) and checkpoints.

Names are kept as reported, nested keys joined by `/` (`scores/train_reward_mean`,
`errors/graders/<grader>/train_other_error_mean`), every numeric leaf, known or not; the split is read from the last
part of the name. The same number arrives by several ways: of one step and name the event's is kept (it has a time),
then the result file's, then the checkpoint's, and one that differs is noted, not stored a second time.
"""

import base64
import binascii
import csv
import io
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from ingest.dialects import Values
from ingest.reading import dump_json, number, text, timestamp, whole

_SPLITS = (("train_", "train"), ("full_valid_", "valid"), ("valid_", "valid"), ("eval_", "valid"), ("test_", "test"))
_STEP = re.compile(r"\bstep\s+(\d{1,12})\b", re.I)
_PAIR = re.compile(r"([A-Za-z][A-Za-z _]{2,60}?)\s*[=:]\s*(-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)\b", re.I)
_WORDS = (("full validation", "full valid"), ("validation", "valid"), ("training", "train"))
_TOOL = re.compile(r"(?:train_|valid_|eval_)?error_count_(.+)")
_CSV_COLUMN = re.compile(r"(?:.*/)?(?:train|full_valid|valid)_\w+")
_BASE64 = re.compile(rb"[A-Za-z0-9+/=\r\n]+")


def flat(data: Values, path: tuple[str, ...] = (), labels: Values | None = None) -> Iterator[tuple[str, Any, Values]]:
    """Every numeric leaf as (name, number, labels); entries of a list go by their `name` (a grader's), else index."""
    for key, value in data.items():
        here = (*path, str(key))
        if isinstance(value, dict):
            yield from flat(value, here, labels)
        elif isinstance(value, list):
            for index, each in enumerate(value):
                if isinstance(each, dict):
                    name = text(each.get("name"))
                    known = {"grader": name} if name and key == "graders" else {}
                    yield from flat(each, (*here, name or str(index)), {**(labels or {}), **known})
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield "/".join(here), value, {**(labels or {}), **_tool_label(here[-1])}


def split_of(name: str) -> str | None:
    """The split a metric belongs to, by the prefix of its last part (of an earlier part where that has none)."""
    for part in reversed(name.split("/")):
        for prefix, split in _SPLITS:
            if part.startswith(prefix):
                return split
    return None


def _tool_label(leaf: str) -> Values:
    match = _TOOL.fullmatch(leaf)
    return {"tool": match[1]} if match else {}


def message_metrics(message: str) -> Values:
    """Numbers of an event's human text (`Step 3/12, train mean reward=0.40`), named as in `data`: only a fallback."""
    found: Values = {}
    for name, value in _PAIR.findall(message):
        words = name.strip().lower()
        for long, short in _WORDS:
            words = words.replace(long, short)
        found["_".join(words.split())] = float(value)
    return found


def event_step(event: Values) -> int | None:
    """The step an event speaks of: its data's, else its text's."""
    data = event.get("data")
    step = whole(data.get("step")) if isinstance(data, dict) else None
    match = _STEP.search(text(event.get("message")) or "")
    return step if step is not None else int(match[1]) if match else None


@dataclass(slots=True)
class MetricRows:
    """Collects rows of `metrics`, each number of a step once however often it arrives."""

    rows: list[Values] = field(default_factory=list)
    num_differing: int = 0
    _known: dict[tuple[int | None, str, str | None], tuple[str, float | None]] = field(default_factory=dict)

    def add(self, origin: str, step: int | None, numbers: Iterable[tuple[str, Any, Values]], at: Any = None) -> None:
        """Add numbers of one origin (`event`, a result file, `checkpoint`); a later one only adds what is missing."""
        for name, raw, labels in numbers:
            if name == "step":
                continue
            value, label_text = number(raw), dump_json(labels or None)
            known = self._known.get((step, name, label_text))
            if known is not None and known[0] != origin:
                self.num_differing += known[1] != value
                continue
            self._known[(step, name, label_text)] = (origin, value)
            row: Values = {"step": step, "split": split_of(name), "name": name, "value": value, "labels": label_text}
            self.rows.append({**row, "recorded_at": at, "position": len(self.rows)})

    def add_event(self, event: Values) -> None:
        """Add the numbers of one event."""
        data = event.get("data")
        numbers = [each for each in flat(data) if each[0] != "step"] if isinstance(data, dict) else []
        step = event_step(event)
        if not numbers and step is not None:
            numbers = [(name, value, {}) for name, value in message_metrics(text(event.get("message")) or "").items()]
        self.add("event", step, numbers, timestamp(event.get("created_at")))

    def add_checkpoint(self, checkpoint: Values) -> None:
        """Add the numbers attached to a checkpoint."""
        metrics = checkpoint.get("metrics")
        if isinstance(metrics, dict):
            step = whole(checkpoint.get("step_number", metrics.get("step")))
            self.add("checkpoint", step, flat(metrics), timestamp(checkpoint.get("created_at")))


def plain_csv(data: bytes) -> str | None:
    """Text of a result file; OpenAI's answer is base64-encoded, Azure's is not. None where it is neither."""
    data = data.removeprefix(b"\xef\xbb\xbf").strip()
    first = data.split(b"\n", 1)[0]
    if b"," not in first and _BASE64.fullmatch(data):
        try:
            decoded = base64.b64decode(data).removeprefix(b"\xef\xbb\xbf").strip()
        except (binascii.Error, ValueError):
            decoded = b""
        if b"step" in decoded.split(b"\n", 1)[0]:
            data = decoded
    header = data.split(b"\n", 1)[0]
    return data.decode("utf-8", "replace") if b"step" in header and b"," in header else None


def is_result_csv(head: bytes) -> bool:
    """Whether a file begins like a result file: a `step` column first and columns by split, plain or base64."""
    first = head[: len(head) - len(head) % 4] if b"," not in head.split(b"\n", 1)[0] else head
    found = plain_csv(first)
    if found is None:
        return False
    columns = next(csv.reader(io.StringIO(found.split("\n", 1)[0])), [])
    return columns[:1] == ["step"] and any(_CSV_COLUMN.fullmatch(column) for column in columns)


@dataclass(frozen=True, slots=True)
class CsvRow:
    """A row of a result file. Its step is None where it has none that is a whole number: a broken row."""

    line: int
    step: int | None
    numbers: list[tuple[str, Any, Values]]
    bad_columns: list[str]
    text: str


def csv_rows(table: str) -> Iterator[CsvRow]:
    """Rows of a result file. Empty cells, of steps not validated, are left out."""
    reader = csv.reader(io.StringIO(table.replace("\0", "")))
    header = [column.strip() for column in next(reader, [])]
    for row in reader:
        if not any(cell.strip() for cell in row):
            continue
        cells = dict(zip(header, (cell.strip() for cell in row), strict=False))
        numbers = [(name, float(cell), _csv_labels(name)) for name, cell in cells.items() if name and _is_number(cell)]
        step = cells.get("step", "")
        whole_step = whole(float(step)) if len(row) <= len(header) and _is_number(step) else None
        bad = [name for name, cell in cells.items() if cell and not _is_number(cell)]
        yield CsvRow(reader.line_num, whole_step, numbers, bad, ",".join(row))


def _csv_labels(name: str) -> Values:
    parts = name.split("/")
    grader = parts[parts.index("graders") + 1 : -1] if "graders" in parts[:-2] else []
    return {**({"grader": "/".join(grader)} if grader else {}), **_tool_label(parts[-1])}


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
