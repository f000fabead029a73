"""Turns records into staged Arrow files: names rollouts, computes facts, keeps count.

Runs in the workers, once per task. Writes only into its own staging folder; the store reads it back and commits.
"""

import hashlib
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from ingest.arrow_files import TableWriter
from ingest.facts import add_facts
from ingest.reading import dump_json, number, text
from ingest.runs import run_slug
from ingest.schema import table
from ingest.sources.base import Fragment, Note, Record, Reject, Rollout, Row, Values

DUPLICATE_ID = "The same rollout id stands on several rollouts; all were kept, the later ones under an id of their own."


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
        self._writers: dict[str, TableWriter] = {}

    def writer(self, name: str) -> TableWriter:
        """The file of a table."""
        writer = self._writers.get(name)
        if writer is None:
            writer = self._writers[name] = TableWriter(table(name), self.folder / f"{name}.arrow")
        return writer

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
        self._ids: Counter[str] = Counter()
        self._slugs: dict[str, str] = {}
        self._samples: set[tuple[str, str]] = set()

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
        elif isinstance(record, Row):
            run_id = self.run_id(record.run)
            if record.table == "samples":  # said once, explicitly: what rollouts say of the sample is not added
                self._samples.add((run_id, record.values["sample_id"]))
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
        values["reward"] = number(values.get("reward"))
        values["rollout_id"] = self._rollout_id(run_id, values)
        add_facts(rollout)
        self._row("rollouts", values)
        group = (run_id, self.source_id, values["rollout_id"])
        children = (("messages", rollout.messages), ("tool_calls", rollout.tool_calls), ("scores", rollout.scores))
        for name, rows in children:
            if rows:
                self.stager.writer(name).extend(group, rows)
                self.tally.rows[run_id, name] += len(rows)
        sample_id = values.get("sample_id")
        if rollout.sample is not None and sample_id is not None and (run_id, sample_id) not in self._samples:
            self._samples.add((run_id, sample_id))
            own = {**rollout.sample, "sample_id": sample_id, "run_id": run_id}
            self._row("samples", {"environment": values.get("environment"), **own})

    def _rollout_id(self, run_id: str, values: Values) -> str:
        native = values.get("native_id")
        plain = short_hash(run_id, native) if native else short_hash(run_id, self.source_id, str(values.get("raw_ref")))
        nth = self._ids[plain]
        self._ids[plain] += 1
        if nth == 0 and self.stager.owners.setdefault(plain, self.source_id) == self.source_id:
            return plain
        if nth:
            self.tally.notes[DUPLICATE_ID] += 1
        return own_id(plain, self.source_id, nth)
