"""Reads sources into a store: discover → read and stage in parallel → commit.

The same function runs in this process for little input and in a `spawn` pool for much (delta-rs does not survive
`fork`). Reading is parallel, commits are serial (`ingest.commit`).
"""

import multiprocessing
import os
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from ingest.commit import READER_VERSION, Batch, ReadSource, commit, ledger
from ingest.discover import Found, content_hash, discover
from ingest.errors import SourceError, UnrecognisedError
from ingest.neutral_mapping import Mapped
from ingest.reading import is_compressed
from ingest.sources import source as source_named
from ingest.sources.base import Options, Part, parts_of
from ingest.staging import Overrides, Tally, short_hash
from ingest.store import Store
from ingest.tasks import Task, Unit, prepare, read_task

POOL_BYTES = 24 * 1024 * 1024
"""Less input than this is read in this process: starting a pool takes about a second."""
TASK_BYTES = 64 * 1024 * 1024
MIN_TASK_BYTES = 16 * 1024 * 1024
TASKS_EACH = 4
"""Tasks a worker gets at least, if they are not too small for it: then all are busy to the end."""
TASK_PARTS = 200
COMMIT_BYTES = 1024 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Request:
    """What to read, and what the user said about it."""

    paths: Sequence[str | Path]
    source: str | None = None
    overrides: Overrides = field(default_factory=Overrides)
    options: Options = field(default_factory=Options)
    force: bool = False
    workers: int | None = None


@dataclass(slots=True)
class Report:
    """What an ingest did. `runs` maps run ids to names as given."""

    runs: dict[str, str] = field(default_factory=dict)
    sources: int = 0
    unchanged: int = 0
    skipped: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    rows: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)

    @property
    def rollouts(self) -> int:
        """Rollouts read."""
        return self.rows["rollouts"]

    @property
    def rejects(self) -> int:
        """Records that could not be read."""
        return self.rows["rejects"]

    @property
    def exit_code(self) -> int:
        """0 all read, 1 nothing could be read, 3 read with rejects or with files that failed."""
        if self.sources == 0 and self.unchanged == 0:
            return 1
        return 3 if self.rejects or self.failed else 0


@dataclass(frozen=True, slots=True)
class Progress:
    """How far an ingest is."""

    done_bytes: int
    total_bytes: int
    rollouts: int
    rejects: int
    stage: str


def ingest(store: Store, request: Request, notify: Callable[[Progress], None] = lambda _: None) -> Report:
    """Read everything under the request's paths into the store.

    Raises:
        UnrecognisedError: Nothing under the paths could be recognised.
        SourceError: `--map` names a field that does not exist, or memory ran out.
        StoreError: The store cannot be written (nothing was changed).
    """
    forced = source_named(request.source) if request.source else None
    if request.options.mapping:
        Mapped(request.options.mapping)  # a wrong rule is wrong for every file
    if request.options.mapping and forced is None:
        forced = source_named("observatory_jsonl")
    discovery = discover(request.paths, forced)
    report = Report(skipped=[str(path) for path in discovery.skipped], failed=list(discovery.errors))
    if not discovery.found:
        reasons = report.failed or [f"nothing under {', '.join(map(str, request.paths))} is a format that is known"]
        raise UnrecognisedError("; ".join(reasons))
    started = datetime.now(UTC)
    sources = _sources(store, discovery.found, request, report)
    staging = store.staging()
    try:
        for batch in _batches(staging, sources, request, notify):
            _settle(batch, report)
            if batch.sources:
                outcome = commit(store, batch, started)
                report.notes += outcome.notes
                report.rows.update(outcome.rows)
                for each in batch.sources.values():
                    for tally in each.tallies:
                        report.runs.update(tally.run_names)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    store.catch_up()
    report.notes = list(dict.fromkeys(report.notes))
    return report


def _sources(store: Store, found: Sequence[Found], request: Request, report: Report) -> list[ReadSource]:
    """What has to be read: sources that changed since they were last read (or all, when forced)."""
    known = ledger(store)
    by_content = {entry.content_hash: (entry.source_id, entry.path) for entry in known.values()}
    options = repr((request.overrides, sorted(request.options.mapping.items()), READER_VERSION))
    result = []
    for each in found:
        content, size = content_hash(each.path)
        fingerprint = short_hash(content, options, each.source.NAME)
        entry = known.get(each.source_id)
        if entry is not None and entry.fingerprint == fingerprint and not request.force:
            report.unchanged += 1
            report.runs.update({run_id: run_id for run_id in entry.run_ids})
            continue
        twin_id, twin = by_content.setdefault(content, (each.source_id, str(each.path)))
        if twin_id != each.source_id and size:
            report.notes.append(f"{each.path}: the same content was read already, as {twin}; both are kept.")
        result.append(
            ReadSource(
                each.source, each.path, each.source_id, fingerprint, content, size, entry.run_ids if entry else ()
            )
        )
    return result


def _settle(batch: Batch, report: Report) -> None:
    """Count a batch; sources that failed as a whole leave it, so that what was stored of them before stays."""
    for source_id, each in list(batch.sources.items()):
        rows = sum((tally.rows for tally in each.tallies), Counter())
        errors = [tally.error for tally in each.tallies if tally.error]
        read = sum(count for (_, table), count in rows.items() if table not in ("rejects", "runs"))
        if errors and not read:
            report.failed += errors
            del batch.sources[source_id]
            continue
        report.failed += errors
        report.sources += 1
        for (_, table), count in rows.items():
            report.rows[table] += count
        report.notes += [note for tally in each.tallies for note in tally.notes]


def _units(sources: Sequence[ReadSource], task_bytes: int) -> Iterator[Unit]:
    number = 0
    for each in sources:
        for part in _parts(each, task_bytes):
            end = part.end if part.end is not None else _size(part.path)
            yield Unit(
                number, each.source.NAME, each.source_id, part, each.source.default_run(each.path), end - part.start
            )
            number += 1


def _parts(each: ReadSource, task_bytes: int) -> Sequence[Part]:
    lines = getattr(each.source, "SPLITTABLE_LINES", False)
    if not lines or not each.path.is_file() or each.size <= task_bytes or is_compressed(each.path):
        return parts_of(each.source, each.path)
    starts = range(0, each.size, task_bytes)
    return [Part(each.path, start, min(start + task_bytes, each.size)) for start in starts]


def _size(path: Path) -> int:
    if path.is_file():
        return path.stat().st_size
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())


def _tasks(staging: Path, sources: Sequence[ReadSource], request: Request) -> list[Task]:
    """Units packed into tasks, each of about as many bytes as `_task_bytes` says."""
    packs: list[list[Unit]] = []
    size = 0
    task_bytes = _task_bytes(sum(each.size for each in sources), _workers(request))
    for unit in _units(sources, task_bytes):
        if not packs or size + unit.size > task_bytes or len(packs[-1]) >= TASK_PARTS:
            packs.append([])
            size = 0
        packs[-1].append(unit)
        size += unit.size
    options = replace(request.options, run=request.overrides.run)
    return [
        Task(staging / f"{number:06d}", tuple(pack), request.overrides, options) for number, pack in enumerate(packs)
    ]


def _task_bytes(size: int, workers: int) -> int:
    """Bytes of a task: such that every worker gets as many, and several, if they are not too small for it."""
    rounds = max(TASKS_EACH, -(-size // (TASK_BYTES * workers)))
    return min(TASK_BYTES, max(MIN_TASK_BYTES, -(-size // (rounds * workers))))


def _batches(
    staging: Path, sources: Sequence[ReadSource], request: Request, notify: Callable[[Progress], None]
) -> Iterator[Batch]:
    """Run all tasks; yield batches in which every source is complete."""
    tasks = _tasks(staging, sources, request)
    by_id = {each.source_id: each for each in sources}
    waiting = Counter(unit.source_id for task in tasks for unit in task.units)
    total, done, counts = sum(task.size for task in tasks), 0, Counter[str]()
    finished: list[Task] = []
    notify(Progress(0, total, 0, 0, "reading"))
    running = _run(tasks, _workers(request))
    for number, (task, tallies) in enumerate(running, start=1):
        finished.append(task)
        done += task.size
        for unit, tally in zip(task.units, tallies, strict=True):
            by_id[unit.source_id].tallies.append(tally)
            waiting[unit.source_id] -= 1
            for (_, table), count in tally.rows.items():
                counts[table] += count
        notify(Progress(done, total, counts["rollouts"], counts["rejects"], "reading"))
        ready = all(waiting[unit.source_id] == 0 for each in finished for unit in each.units)
        is_last = number == len(tasks)
        if ready and (is_last or sum(each.size for each in finished) >= COMMIT_BYTES):
            if is_last:
                running.close()  # lets go of the workers' memory before the writing
            notify(Progress(done, total, counts["rollouts"], counts["rejects"], "writing"))
            finished.sort(key=lambda each: each.folder)
            ids = list(dict.fromkeys(unit.source_id for each in finished for unit in each.units))
            yield Batch([each.folder for each in finished], {source_id: by_id[source_id] for source_id in ids}, staging)
            for each in finished:
                shutil.rmtree(each.folder, ignore_errors=True)
            finished = []


def _workers(request: Request) -> int:
    return request.workers or os.cpu_count() or 1


def _run(tasks: Sequence[Task], workers: int) -> Generator[tuple[Task, list[Tally]]]:
    """Read tasks, in whatever order they are done.

    Raises:
        SourceError: Memory ran out.
    """
    try:
        yield from _results(tasks, min(workers, len(tasks)))
    except (BrokenProcessPool, MemoryError) as error:
        raise SourceError(
            "a process that reads was killed, most likely because memory ran out; what was committed stays. "
            "Read with fewer processes (--workers 1), or fewer files at a time"
        ) from error


def _results(tasks: Sequence[Task], workers: int) -> Generator[tuple[Task, list[Tally]]]:
    if workers <= 1 or sum(task.size for task in tasks) < POOL_BYTES:
        yield from ((task, read_task(task)) for task in tasks)
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context, initializer=prepare) as pool:
        with _no_main():
            futures = {pool.submit(read_task, task): task for task in tasks}
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


@contextmanager
def _no_main() -> Iterator[None]:
    """Keep new workers from importing the program that started them: the command line is two seconds of imports."""
    main = sys.modules["__main__"]
    kept = dict(main.__dict__)
    main.__dict__.pop("__file__", None)
    main.__spec__ = None
    try:
        yield
    finally:
        main.__dict__.update(kept)
