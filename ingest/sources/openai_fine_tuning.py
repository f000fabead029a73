"""OpenAI (and Azure OpenAI) fine-tuning jobs: the job, its events, checkpoints, result files and validation rollouts.

Format: a landed folder (`job.json`, pages of events and checkpoints, result files plain or base64, eval runs and their
output items in any folder below), or any one of these files. Spec: OpenAI's openapi.yaml, `/v1/fine_tuning/jobs`;
events come newest first.

Files are told apart by content. Output items are read by `openai_evals`; numbers by `ingest.openai_metrics`, which says
what is kept where the same number arrives twice. `fetch` (below) lands a job's answers as such a folder.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ingest.errors import UnreadableError
from ingest.openai_files import ITEM, RUN, Broken, Document, documents, folder_kinds, json_files, kind_of
from ingest.openai_metrics import MetricRows, csv_rows, event_step, is_result_csv, plain_csv
from ingest.reading import Peek, dump_json, read_bytes, text, timestamp, whole
from ingest.sources.base import Note, Options, Part, Record, Reject, Row, Values
from ingest.sources.openai_evals import FILLS as EVAL_FILLS
from ingest.sources.openai_evals import EvalReader

NAME = "openai_fine_tuning"
TITLE = "OpenAI fine-tuning job"
FILLS = EVAL_FILLS | {"metrics", "checkpoints"}
HINT = (
    "a folder with job.json (`object` fine_tuning.job), pages of fine_tuning.job.event and fine_tuning.job.checkpoint "
    "and result CSV files, as `observatory pull openai --job` lands it; or one of these files"
)
JOB, EVENT, CHECKPOINT = "fine_tuning.job", "fine_tuning.job.event", "fine_tuning.job.checkpoint"
_SECRET_KEYS = ("authorization", "api_key", "api-key", "headers", "password", "secret", "token")


def matches(peek: Peek) -> bool:
    """Whether it is a job's folder (a job, events or checkpoints stand directly in it) or one of a job's files."""
    if peek.is_dir:
        return any(kind in (JOB, EVENT, CHECKPOINT) for kind in folder_kinds(peek))
    return kind_of(peek.head) in (JOB, EVENT, CHECKPOINT) or is_result_csv(peek.head)


def default_run(path: Path) -> str:
    """The job's id where a job or a checkpoint names it, else the folder's name."""
    files = json_files(path) if path.is_dir() else [path]
    for kind, key in ((JOB, "id"), (CHECKPOINT, "fine_tuning_job_id")):
        for file in files:
            if kind_of(Peek(file).head) != kind:
                continue
            try:
                first = next((each for each in documents(file) if isinstance(each, Document)), None)
            except UnreadableError:
                continue
            found = text(first.value.get(key)) if first else None
            if found:
                return found
    return (path if path.is_dir() else path.parent).resolve().name or "openai-fine-tuning"


def read(part: Part, options: Options) -> Iterator[Record]:
    """Yield the job, its events, checkpoints and metrics, and the rollouts of its validation runs.

    Raises:
        UnreadableError: A file named itself holds nothing that could be read.
    """
    if not part.path.is_dir():
        yield from _JobReader(part.path.parent).read([part.path])
        return
    files = sorted(path for path in part.path.rglob("*") if path.is_file() and not path.name.startswith("."))
    yield from _JobReader(part.path).read(files)


class _JobReader:
    """Collects what the files of one job say, then yields it in order of time."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.jobs: list[Values] = []
        self.events: dict[str, Values] = {}
        self.checkpoints: dict[str, Values] = {}
        self.tables: list[tuple[str, str]] = []
        self.evals: list[Part] = []
        self.skipped: list[str] = []

    def read(self, files: list[Path]) -> Iterator[Record]:
        for file in files:
            yield from self._file(file, alone=len(files) == 1)
        if self.skipped:
            yield Note(
                f"Files in the job's folder that are none of its answers were skipped: {', '.join(self.skipped)}."
            )
        reader = EvalReader(self.root, is_job=True)
        yield from reader.read(self.evals) if self.evals else ()
        yield from self._numbers()
        for job in self.jobs:
            home = text(job.get("id")) if len(self.jobs) > 1 else None
            yield Row("runs", job_row(job, reader.reward_name), home)
        for checkpoint in self.checkpoints.values():
            yield Row("checkpoints", _checkpoint_row(checkpoint))

    def _file(self, file: Path, *, alone: bool) -> Iterator[Record]:
        name = file.relative_to(self.root).as_posix()
        peek = Peek(file)
        kind = kind_of(peek.head)
        if kind in (ITEM, RUN):
            self.evals.append(Part(file))
        elif kind in (JOB, EVENT, CHECKPOINT):
            yield from self._documents(file, name, alone=alone)
        elif is_result_csv(peek.head):
            yield from self._table(file, name, alone=alone)
        elif alone:
            raise UnreadableError(f"{file}: neither a job, nor events, checkpoints or a result file of one")
        else:
            self.skipped.append(name)

    def _table(self, file: Path, name: str, *, alone: bool) -> Iterator[Reject]:
        try:
            table = plain_csv(read_bytes(file))
        except UnreadableError as error:
            if alone:
                raise
            yield Reject(str(error), "0", file=name)
            return
        if table is not None:
            self.tables.append((name, table))

    def _documents(self, file: Path, name: str, *, alone: bool) -> Iterator[Record]:
        try:
            for document in documents(file):
                if isinstance(document, Broken):
                    yield Reject(document.reason, document.place, document.snippet, name)
                elif not self._keep(document.value, f"{name}{document.place}"):
                    snippet = (dump_json(document.value) or "")[:200]
                    yield Reject("none of a fine-tuning job's objects", document.place or "0", snippet, name)
        except UnreadableError as error:
            if alone:
                raise
            yield Reject(str(error), "0", file=name)

    def _keep(self, value: Values, place: str) -> bool:
        """Sort one object in; the same id again (pages overlap, a job is fetched anew) is one object."""
        kind = value.get("object")
        if kind == JOB:
            self.jobs = [job for job in self.jobs if job.get("id") != value.get("id")] + [value]
        elif kind == EVENT:
            self.events[text(value.get("id")) or place] = value
        elif kind == CHECKPOINT:
            self.checkpoints[text(value.get("id")) or place] = value
        else:
            return False
        return True

    def _numbers(self) -> Iterator[Record]:
        metrics = MetricRows()
        oldest_first = list(reversed(self.events.items()))
        for event_id, event in sorted(oldest_first, key=_event_order):
            metrics.add_event(event)
            yield Row("events", _event_row(event_id, event))
        for name, table in self.tables:
            for row in csv_rows(table):
                reason = f"not a number in {', '.join(row.bad_columns)}" if row.bad_columns else None
                if row.step is None:
                    reason = "a result row without a whole step, or with more cells than columns"
                else:
                    metrics.add(name, row.step, row.numbers)
                if reason is not None:
                    yield Reject(reason, str(row.line), row.text, name)
        for checkpoint in self.checkpoints.values():
            metrics.add_checkpoint(checkpoint)
        yield from (Row("metrics", row) for row in metrics.rows)
        if metrics.num_differing:
            yield Note(
                "Some numbers differ between the job's events, result file and checkpoints: the events' were kept."
            )


def _event_order(entry: tuple[str, Values]) -> tuple[float, int]:
    at = timestamp(entry[1].get("created_at"))
    step = event_step(entry[1])
    return at.timestamp() if at else 0.0, -1 if step is None else step


def _event_row(event_id: str, event: Values) -> Values:
    data = event.get("data")
    return {
        "event_id": event_id,
        "created_at": timestamp(event.get("created_at")),
        "step": event_step(event),
        "level": text(event.get("level")),
        "type": text(event.get("type")),
        "message": text(event.get("message")),
        "data": dump_json(without_secrets(data)) if data else None,
    }


def _checkpoint_row(checkpoint: Values) -> Values:
    metrics = checkpoint.get("metrics")
    inner = metrics.get("step") if isinstance(metrics, dict) else None
    return {
        "step": whole(checkpoint.get("step_number", inner)),
        "checkpoint_id": text(checkpoint.get("id")),
        "model": text(checkpoint.get("fine_tuned_model_checkpoint")),
        "created_at": timestamp(checkpoint.get("created_at")),
        "metrics": dump_json(metrics) if metrics else None,
    }


def job_row(job: Values, reward_name: str | None = None) -> Values:
    """The row of `runs` of a job. The reward's name is its grader's; `reward_name` stands in where it has none."""
    method = job.get("method") if isinstance(job.get("method"), dict) else {}
    kind = method.get("type") if isinstance(method, dict) else None
    inner = method.get(kind) if isinstance(method, dict) and isinstance(kind, str) else None
    inner = inner if isinstance(inner, dict) else {}
    grader = inner.get("grader") if isinstance(inner.get("grader"), dict) else {}
    named = text(grader.get("name")) if isinstance(grader, dict) else None
    error = job.get("error")
    tags = job.get("metadata")
    left = {"object", "id", "model", "fine_tuned_model", "created_at", "finished_at", "status", "error", "metadata"}
    return {
        "kind": "training",
        "provider": "openai",
        "base_model": text(job.get("model")),
        "model": text(job.get("fine_tuned_model")),
        "status": text(job.get("status")),
        "created_at": timestamp(job.get("created_at")),
        "ended_at": timestamp(job.get("finished_at")),
        "reward_name": f"grader score: {named}" if named else reward_name,
        "hyperparameters": dump_json(inner.get("hyperparameters") or job.get("hyperparameters") or None),
        "config": dump_json(without_secrets({key: each for key, each in job.items() if key not in left})),
        "tags": dump_json([f"{key}={each}" for key, each in tags.items()]) if isinstance(tags, dict) and tags else None,
        "error_message": (text(error.get("message")) or None) if isinstance(error, dict) else text(error),
        "precedence": 10,
    }


def without_secrets(value: Any) -> Any:
    """The same value with headers and keys (a job's tool and grader endpoints have them) replaced by `[redacted]`."""
    if isinstance(value, dict):
        return {
            key: "[redacted]" if str(key).lower() in _SECRET_KEYS and each else without_secrets(each)
            for key, each in value.items()
        }
    if isinstance(value, list):
        return [without_secrets(each) for each in value]
    return value
