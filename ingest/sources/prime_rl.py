"""prime-rl: a run directory, in every layout it has had (see `prime_rl_layout`).

Spec: PrimeIntellect-ai/prime-rl (`monitors/file`); rows and episodes are those of verifiers. The directory is one
source: cohorts repeat one another, and step, cohort and advantage of a trace arrive later, in files of their own.

`subset` is `effective` where a rollout was trained on and `all` where it is known that it was not: it is missing from
a cohort that has been written, an annotation says so, or it belongs to an eval. `step` is the step that trained on it
(an annotation's, else the folder's), else the step at which it was dispatched.
"""

from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ingest.errors import UnreadableError
from ingest.reading import Peek, dump_json, text, whole
from ingest.sources import verifiers_episode, verifiers_legacy
from ingest.sources.base import Note, Options, Part, Record, Reject, Rollout, Values, objects
from ingest.sources.prime_rl_about import FILE_BASE, checkpoint_rows, metric_rows, model_in, run_row
from ingest.sources.prime_rl_layout import Layout, TraceFile, config_files, find, is_run, place_of, root_of
from ingest.sources.prime_rl_updates import Updates
from ingest.sources.verifiers_folder import first_object, metadata_of, model_of
from ingest.sources.verifiers_trace import digest, object_of

NAME = "prime_rl"
TITLE = "prime-rl run directory"
HINT = "a folder with `step_N/train_rollouts.jsonl`, `rollouts/step_N/`, `traces/stream/` or `monitors/file/`"
FILLS = frozenset(
    {"sample", "attempt", "step", "split", "subset", "reward", "subscores", "status", "messages", "tool_calls"}
    | {"tool_latency", "tokens", "reasoning_tokens", "latency", "cost", "model", "metrics", "checkpoints"}
)


def matches(peek: Peek) -> bool:
    """A folder that is itself a run directory (one above several runs is walked into), or a file out of one."""
    if peek.is_dir:
        return is_run(peek.path, peek.names)
    if place_of(peek.path) is None:
        return False
    first = first_object(peek)
    return verifiers_episode.is_record(first) or verifiers_legacy.is_row(first)


def default_run(path: Path) -> str:
    """The run directory's name."""
    return root_of(path).name or NAME


def split(path: Path) -> Sequence[Part]:
    """One part per step file of the oldest layout, and one (an empty range) for what is said of the run.

    The later layouts are read in one part: whether a trace was trained on is known only once all files are.
    """
    if path.is_file():
        return (Part(path),)
    layout = find(path)
    if len(layout.rollouts) > 1 and all(file.kind == "rows" for file in layout.rollouts) and not layout.annotations:
        return [Part(path, 0, 0), *(Part(file.path) for file in layout.rollouts)]
    return (Part(path),)


def read(part: Part, options: Options) -> Iterator[Record]:
    """Yield the run, its checkpoints and metrics, then all rollouts; a file alone yields its rollouts.

    Raises:
        UnreadableError: A file named itself cannot be read, or is damaged; or there is none of that name.
    """
    if not part.path.is_dir():
        yield from _one_file(part.path)
        return
    layout = find(part.path)
    model = yield from _about(layout)
    if part.end == 0:
        return
    with Updates() as updates:
        for path in layout.annotations:
            yield from _guarded(updates.load(path, layout.label(path)), layout.label(path))
        reader = _Reader(layout, updates, model)
        for number, file in enumerate(_in_order(layout.rollouts)):
            label = _label(layout, file)
            yield from _guarded(reader.file(file, label, number * FILE_BASE), label)
        yield from _notes(layout, updates, reader)


def _about(layout: Layout) -> Generator[Record, None, str | None]:
    run = run_row(layout, NAME)
    yield run
    yield from checkpoint_rows(layout)
    for number, path in enumerate(layout.metrics):
        label = layout.label(path)
        yield from _guarded(metric_rows(path, label, number * FILE_BASE), label)
    return text(run.values["model"])


def _label(layout: Layout, file: TraceFile) -> str:
    """A step file is named alike whether it is read with its run or on its own, so that its rollouts keep their ids."""
    return file.path.relative_to(root_of(file.path)).as_posix() if file.kind == "rows" else layout.label(file.path)


def _guarded(records: Iterator[Record], label: str) -> Iterator[Record]:
    """The records of one file of several: a damaged one is a reject and does not stop the others."""
    try:
        yield from records
    except UnreadableError as error:
        yield Reject(str(error), "file", file=label)


def _in_order(files: list[TraceFile]) -> list[TraceFile]:
    """Effective cohorts first: their copies are the later ones, and carry the advantage. The stream last."""
    return sorted(files, key=lambda file: (file.subset != "effective", file.kind == "stream"))


def _one_file(path: Path) -> Iterator[Record]:
    """The rollouts of one file, joined with the annotations that stand beside its stream."""
    root = root_of(path)
    file = place_of(path) or TraceFile(path, "rows")
    beside = find(path.parent.parent).annotations if file.kind == "stream" else []
    with Updates() as updates:
        for annotations in beside:
            label = annotations.relative_to(root).as_posix()
            yield from _guarded(updates.load(annotations, label), label)
        model = model_in(config_files(root))
        yield from _Reader(Layout(root), updates, model).file(file, path.relative_to(root).as_posix(), 0)


@dataclass(slots=True)
class _Reader:
    """Reads files of rollouts, each trace once."""

    layout: Layout
    updates: Updates
    model: str | None
    emitted: Counter[str] = field(default_factory=Counter)
    """How often each trace was read so far."""
    copies: Counter[str] = field(default_factory=Counter)
    """Of these, how often it may still be repeated in the files being read: effective, all others, the stream."""
    group: tuple[str, str | None] | None = None
    episodes: set[str] = field(default_factory=set)

    def file(self, file: TraceFile, label: str, base: int) -> Iterator[Record]:
        settings = metadata_of(file.path.parent) if file.kind == "eval" else {}
        model = model_of(settings) or self.model
        place = verifiers_episode.Place(label, file.split, model)
        rows = verifiers_legacy.Place(label, file.split, file.step, settings or {"model": model}, has_unique_ids=False)
        is_cohort_written = file.subset == "all" and self._is_shipped_since(file)
        for found in objects(Part(file.path)):
            if isinstance(found, Reject):
                found.file = label
                yield found
                continue
            offset, record = found
            if not verifiers_episode.is_record(record):
                records: Iterator[Record] = verifiers_legacy.records(record, offset, rows)
                known: dict[str, Values] = {}
            else:
                if "traces" not in record:
                    record = verifiers_episode.as_episode(record)
                if self._is_repeated(record, file):
                    continue
                known = self._fold(record)
                records = verifiers_episode.episode(record, offset, place)
            for each in records:
                if isinstance(each, Rollout):
                    if each.messages is None and file.kind in ("cohort", "stream"):
                        each.values["subset"] = "all"  # no trace, so that there was nothing to train on
                    self._place(each.values, file, known, is_cohort_written=is_cohort_written)
                    each.values["position"] += base
                yield each

    def _is_shipped_since(self, file: TraceFile) -> bool:
        """Whether a cohort of this step or a later one was written, so that what is missing from it was not shipped."""
        cohorts = (other for other in self.layout.rollouts if other.subset == "effective" and other.split == file.split)
        return any((other.step or 0) >= (file.step or 0) for other in cohorts)

    def _is_repeated(self, record: Values, file: TraceFile) -> bool:
        """Take out of an episode the traces that an earlier group of files held already; whether none is left.

        A trace that stands twice within one group stays twice: these are two rollouts with one id.
        """
        traces = record.get("traces")
        if isinstance(record.get("id"), str):
            self.episodes.add(record["id"])
        if file.kind == "eval" or not isinstance(traces, list):
            return False
        if self.group != (file.kind, file.subset):
            self.group, self.copies = (file.kind, file.subset), self.emitted.copy()
        keys = [_key(trace) for trace in traces] or [_key(record)]
        is_new = []
        for key in keys:
            is_new.append(self.copies[key] == 0)
            if is_new[-1]:
                self.emitted[key] += 1
            else:
                self.copies[key] -= 1
        record["traces"] = [trace for trace, new in zip(traces, is_new, strict=False) if new]
        return not any(is_new)

    def _fold(self, record: Values) -> dict[str, Values]:
        traces = record["traces"] if isinstance(record["traces"], list) else []
        found = ((text(trace.get("id")) or "", self.updates.fold(trace)) for trace in traces if isinstance(trace, dict))
        return {trace_id: known for trace_id, known in found if known}

    def _place(self, values: Values, file: TraceFile, known: dict[str, Values], *, is_cohort_written: bool) -> None:
        """Set step, split and subset from where the rollout stands and from what was learned of it later."""
        later = known.get(values.get("native_id") or "", {})
        for step in (whole(later.get("step")), file.step):
            if step is not None:
                values["step"] = step
                break
        if values.get("split") is None or file.kind in ("cohort", "eval"):
            values["split"] = file.split or values.get("split")
        subset = later.get("subset")
        if values["split"] == "valid":
            values["subset"] = "all"
        elif subset in ("effective", "all"):
            values["subset"] = subset
        elif file.subset == "effective" or is_cohort_written:
            values["subset"] = file.subset


def _key(trace: object) -> str:
    found = object_of(trace).get("id")
    return found if isinstance(found, str) and found else digest(dump_json(trace)) or ""


def _notes(layout: Layout, updates: Updates, reader: _Reader) -> Iterator[Record]:
    unused = updates.unused()
    if unused:
        yield Note(f"{len(unused)} annotated traces stand in no file of this run, for example {unused[0]}.")
    missing = 0
    for index in layout.indexes:
        for found in objects(Part(index)):
            if not isinstance(found, Reject):
                missing += text(found[1].get("id")) not in reader.episodes
    if missing:
        yield Note(f"The index lists {missing} episodes whose chunk is not in this folder; they are not read.")
