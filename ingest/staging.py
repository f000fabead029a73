"""Turns records into staged files: names rollouts, computes facts, keeps count.

Runs in the workers, once per task. Writes only into its own staging folder; the store reads it back and commits.
"""

import hashlib
import multiprocessing
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ingest.arrays import constant
from ingest.arrow_files import ArrowFile, Sink, TableWriter
from ingest.block_facts import add_block_facts
from ingest.facts import add_facts
from ingest.parquet_files import RunFiles
from ingest.reading import MAX_REWARD, dump_json, reward, text
from ingest.runs import run_slug
from ingest.schema import table
from ingest.sources.base import Fragment, Note, Record, Reject, Rollout, Rollouts, Row, Values

DUPLICATE_ID = "The same rollout id stands on several rollouts; all were kept, the later ones under an id of their own."
AS_PARQUET = frozenset({"messages", "tool_calls", "scores"})
"""Tables staged as the very files that the store will keep: they are nearly all of an ingest's bytes."""
_OF_SAMPLE = ("sample_id", "environment")


def short_hash(*parts: str) -> str:
    """A 24-character hash of texts: the ids of this project."""
    return hashlib.blake2b("\0".join(parts).encode("utf-8", "replace"), digest_size=12).hexdigest()


def own_id(plain: str, source_id: str, nth: int) -> str:
    """Id of a rollout whose plain id is taken: by another source, or by an earlier rollout of its own (`nth` > 0)."""
    return short_hash(plain, source_id, str(nth))


@dataclass(slots=True)
class Overrides:
    """What the user set for every rollout of an ingest: None leaves the source's own."""

    run: str | None = None
    split: str | None = None
    step: int | None = None


@dataclass(slots=True)
class Tally:
    """What one part of a source brought, by run."""

    rows: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Rows by (run_id, table)."""
    run_names: dict[str, str] = field(default_factory=dict)
    notes: Counter[str] = field(default_factory=Counter)
    error: str | None = None


class Stager:
    """Stages the records of one task (parts of one or several sources) into files of one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.owners: dict[str, str] = {}
        """The source that first used a rollout id in this task."""
        self.counts: dict[str, Counter[str]] = defaultdict(Counter)
        """How often each source used an id in this task, whatever parts it is read in."""
        self._writers: dict[str, TableWriter] = {}

    def writer(self, name: str) -> TableWriter:
        """The file of a table."""
        writer = self._writers.get(name)
        if writer is None:
            writer = self._writers[name] = TableWriter(table(name), self._sink(name))
        return writer

    def _sink(self, name: str) -> Sink:
        if name in AS_PARQUET:
            beside = multiprocessing.parent_process() is None  # in a pool the other processors have their own work
            return RunFiles(table(name), self.folder / name, beside=beside)
        return ArrowFile(table(name), self.folder / f"{name}.arrow")

    def add(self, name: str, values: Values) -> None:
        """Stage one row of a table."""
        self.writer(name).add(values)

    def close(self) -> None:
        """Finish all files."""
        for writer in self._writers.values():
            writer.close()


class PartStager:
    """Stages the records of one part of one source."""

    def __init__(
        self, stager: Stager, source_id: str, source_format: str, default_run: str, overrides: Overrides
    ) -> None:
        self.stager = stager
        self.source_id = source_id
        self.source_format = source_format
        self.default_run = default_run
        self.overrides = overrides
        self.tally = Tally()
        self._ids = stager.counts[source_id]
        self._slugs: dict[str, str] = {}
        self._samples: set[tuple[str, str | None, str]] = set()
        """Run, environment and id of samples of which rollouts said something."""
        self._described: set[tuple[str, str | None, str]] = set()
        """The same of those described by records of their own; without an environment they are of any."""

    def run_id(self, name: str | None) -> str:
        """The run a record belongs to."""
        name = self.overrides.run or name or self.default_run
        slug = self._slugs.get(name)
        if slug is None:
            slug = self._slugs[name] = run_slug(name)
            self.tally.run_names[slug] = name
        return slug

    def add(self, record: Record) -> None:
        """Stage one record of whatever kind."""
        if isinstance(record, Rollout):
            self._rollout(record)
        elif isinstance(record, Rollouts):
            self._rollouts(record)
        elif isinstance(record, Row):
            run_id = self.run_id(record.run)
            if record.table == "samples":  # said once, explicitly: what rollouts say of the sample is not added
                self._described.add((run_id, record.values.get("environment"), record.values["sample_id"]))
            self._row(record.table, {**record.values, "run_id": run_id})
        elif isinstance(record, Reject):
            self.reject(record)
        elif isinstance(record, Fragment):
            self._row(
                "parts",
                {
                    "run_id": self.run_id(record.run),
                    "source_format": self.source_format,
                    "rollout_key": record.key,
                    "position": record.position,
                    "time": record.time,
                    "payload": dump_json(record.payload),
                },
            )
        elif isinstance(record, Note):
            self.tally.notes[record.text] += 1

    def reject(self, reject: Reject) -> None:
        """Stage a bad record under the part's default run."""
        self._row(
            "rejects",
            {
                "run_id": self.run_id(None),
                "file": text(reject.file) or self.source_id,
                "position": text(reject.position),
                "reason": text(reject.reason),
                "snippet": (text(reject.snippet) or "")[:200],
            },
        )

    def _row(self, name: str, values: Values) -> None:
        values["source_id"] = self.source_id
        self.tally.rows[(values["run_id"], name)] += 1
        if name == "runs":
            values.setdefault("source_format", self.source_format)
            values.setdefault("precedence", 50)
            values["name"] = self.tally.run_names.get(values["run_id"], values["run_id"])
        self.stager.add(name, values)

    def _rollout(self, rollout: Rollout) -> None:
        values = rollout.values
        run_id = self.run_id(rollout.run)
        values["run_id"] = run_id
        if self.overrides.split is not None:
            values["split"] = self.overrides.split
        if self.overrides.step is not None:
            values["step"] = self.overrides.step
        values["attempt"] = values.get("native_attempt")  # unless the commit has to number them
        values["reward"] = reward(values.get("reward"))
        values["rollout_id"] = self._rollout_id(run_id, values.get("native_id"), values.get("raw_ref"))
        add_facts(rollout)
        self._row("rollouts", values)
        group = (run_id, self.source_id, values["rollout_id"])
        children = (("messages", rollout.messages), ("tool_calls", rollout.tool_calls), ("scores", rollout.scores))
        for name, rows in children:
            if rows:
                self.stager.writer(name).extend(group, rows)
                self.tally.rows[run_id, name] += len(rows)
        if rollout.sample is not None:
            self._sample(run_id, values.get("sample_id"), rollout.sample, values.get("environment"))

    def _rollouts(self, block: Rollouts) -> None:
        """Stage many rollouts, of one run or of several."""
        values, size = block.values, len(block.runs)
        run_ids = [self.run_id(name) for name in block.runs]
        natives = values["native_id"].to_pylist() if "native_id" in values else [None] * size
        plain = zip(run_ids, natives, values["raw_ref"].to_pylist(), strict=True)
        ids = {
            "run_id": pa.array(run_ids, pa.string()),
            "source_id": constant(self.source_id, size, pa.string()),
            "rollout_id": pa.array([self._rollout_id(*each) for each in plain], pa.string()),
        }
        for name, value in (("split", self.overrides.split), ("step", self.overrides.step)):
            if value is not None:
                values[name] = [value] * size
        if "native_attempt" in values:
            values["attempt"] = values["native_attempt"]  # unless the commit has to number them
        if "reward" in values:
            is_one = pc.less_equal(pc.abs(values["reward"]), MAX_REWARD)
            values["reward"] = pc.if_else(is_one, values["reward"], pa.scalar(None, pa.float64()))
        add_block_facts(block)
        self.stager.writer("rollouts").write(values | ids, size)
        self._count(run_ids, "rollouts", [1] * size)
        children = (("messages", block.messages), ("tool_calls", block.tool_calls), ("scores", block.scores))
        for name, rows in children:
            if rows is not None and len(rows.of):
                shared = {column: array.take(pa.array(rows.of)) for column, array in ids.items()}
                self.stager.writer(name).write(rows.columns | shared, len(rows.of))
                self._count(run_ids, name, np.bincount(rows.of, minlength=size).tolist())
        for at, sample in block.samples:
            sample_id, environment = (values[name][at].as_py() if name in values else None for name in _OF_SAMPLE)
            self._sample(run_ids[at], sample_id, sample, environment)

    def add_scores(self, run_id: str, rollout_id: str, rows: list[Values]) -> None:
        """Stage scores of a rollout that another source brought."""
        self.stager.writer("scores").extend((run_id, self.source_id, rollout_id), rows)
        self.tally.rows[run_id, "scores"] += len(rows)

    def _count(self, run_ids: list[str], name: str, counts: list[int]) -> None:
        for run_id, count in zip(run_ids, counts, strict=True):
            if count:
                self.tally.rows[run_id, name] += count

    def _sample(self, run_id: str, sample_id: str | None, sample: Values, environment: str | None) -> None:
        if sample_id is None:
            return
        row = {"environment": environment, **sample, "sample_id": sample_id, "run_id": run_id}
        key = (run_id, row["environment"], sample_id)
        if key not in self._samples and self._described.isdisjoint({key, (run_id, None, sample_id)}):
            self._samples.add(key)
            self._row("samples", row)

    def _rollout_id(self, run_id: str, native: str | None, raw_ref: object) -> str:
        plain = short_hash(run_id, native) if native else short_hash(run_id, self.source_id, str(raw_ref))
        nth = self._ids[plain]
        self._ids[plain] += 1
        if nth == 0 and self.stager.owners.setdefault(plain, self.source_id) == self.source_id:
            return plain
        if nth:
            self.tally.notes[DUPLICATE_ID] += 1
        return own_id(plain, self.source_id, nth)
