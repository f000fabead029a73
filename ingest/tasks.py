"""What a worker of an ingest does: reads parts of sources into its staging folder.

Workers are processes of their own that import this module: nothing here, nor what it imports, needs a store.
"""

import sys
from dataclasses import dataclass
from importlib.abc import MetaPathFinder
from pathlib import Path
from typing import Any

from ingest.errors import ObservatoryError
from ingest.sources import source as source_named
from ingest.sources.base import Options, Part, Reject
from ingest.staging import Overrides, PartStager, Stager, Tally


@dataclass(frozen=True, slots=True)
class Unit:
    """One part of one source, as a worker gets it."""

    number: int
    source: str
    source_id: str
    part: Part
    default_run: str
    size: int


@dataclass(frozen=True, slots=True)
class Task:
    """Parts read by one worker, one after another, into one staging folder."""

    folder: Path
    units: tuple[Unit, ...]
    overrides: Overrides
    options: Options

    @property
    def size(self) -> int:
        """Bytes of its parts."""
        return sum(unit.size for unit in self.units)


class _NoPandas(MetaPathFinder):
    def find_spec(self, fullname: str, *_: Any) -> None:
        if fullname == "pandas":
            raise ModuleNotFoundError("reading needs no pandas", name=fullname)


def prepare() -> None:
    """Make a new process a worker: pyarrow would import pandas with its first array, half a second for nothing."""
    sys.meta_path.insert(0, _NoPandas())


def read_task(task: Task) -> list[Tally]:
    """Read the units of a task into its staging folder. Runs in a worker; a bad file never stops the others."""
    task.folder.mkdir(parents=True, exist_ok=True)
    stager = Stager(task.folder)
    tallies = [_read_unit(unit, stager, task) for unit in task.units]
    stager.close()
    return tallies


def _read_unit(unit: Unit, stager: Stager, task: Task) -> Tally:
    source = source_named(unit.source)
    part = PartStager(stager, unit.source_id, unit.source, unit.default_run, task.overrides)
    try:
        for record in source.read(unit.part, task.options):
            part.add(record)
    except ObservatoryError as error:
        part.tally.error = str(error)
        part.reject(Reject(str(error), "file", file=str(unit.part.path)))
    except MemoryError:
        raise
    except Exception as error:  # a hostile file must not take the others down: what it brought so far is kept
        part.tally.error = f"{unit.part.path}: reading stopped at an unexpected {type(error).__name__}: {error}"
        part.reject(Reject(f"unexpected {type(error).__name__}: {error}", "file", file=str(unit.part.path)))
    return part.tally
