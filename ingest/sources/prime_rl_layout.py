"""Where a prime-rl run directory keeps what, in every layout it has had. Looks at names only, reads nothing.

| version | rollouts |
|---|---|
| until mid-2026 | `[rollouts/]step_N/{train,eval}_rollouts.jsonl`: rows of verifiers, one file per step |
| 0.9.1.dev28 | `rollouts/step_N/{train,eval}/{all,effective}/traces.jsonl`; `effective` repeats rows of `all` |
| 0.9.1.dev46 | `traces/stream/NNNNN.jsonl[.zst]`, `traces/stream.index.jsonl`, `traces/annotations/<producer>/` |
| later | the same, and `metrics.jsonl`, below `monitors/file/` |

The output may stand one level down, in `run_default/`; evals may stand beside it, in `eval/` or `evals/`.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

STEP = re.compile(r"step_(\d{1,12})")
ROLLOUT_FILE = re.compile(r"(train|eval)_rollouts\.jsonl(?:\.zst|\.gz)?")
SPLITS = {"train": "train", "eval": "valid"}
SUBSETS = ("effective", "all")
INNER = frozenset({"rollouts", "traces", "monitors", "file", "run_default"})
"""Folders of a run directory that may be named themselves; the run is named after the folder above them."""
_ABOVE_FILES = INNER | {"stream", *SPLITS, *SUBSETS}
COMPONENTS = ("rl", "orchestrator", "orch", "trainer", "train", "sft", "eval", "inference", "infer")


@dataclass(frozen=True, slots=True)
class TraceFile:
    """A file of rollouts, with what its place says of them."""

    path: Path
    kind: Literal["rows", "cohort", "stream", "eval"]
    split: str | None = None
    step: int | None = None
    subset: str | None = None


@dataclass(slots=True)
class Layout:
    """The files of a run directory, in reading order."""

    root: Path
    rollouts: list[TraceFile] = field(default_factory=list)
    annotations: list[Path] = field(default_factory=list)
    """By producer, then by number: the order in which the last one wins."""
    indexes: list[Path] = field(default_factory=list)
    metrics: list[Path] = field(default_factory=list)
    configs: list[Path] = field(default_factory=list)
    checkpoints: list[tuple[int, Path]] = field(default_factory=list)

    def label(self, path: Path) -> str:
        """A file's path below the run directory."""
        return path.relative_to(self.root).as_posix()


def place_of(path: Path) -> TraceFile | None:
    """What a file of rollouts is by its own name and the folders above it; None where these say nothing."""
    above = [parent.name for parent in list(path.parents)[:3]]
    if len(above) < 3:
        return None
    step, match = STEP.fullmatch(above[0]), ROLLOUT_FILE.fullmatch(path.name)
    if step and match:
        return TraceFile(path, "rows", SPLITS[match[1]], int(step[1]))
    step = STEP.fullmatch(above[2])
    if step and above[1] in SPLITS and above[0] in SUBSETS and path.name.startswith("traces.jsonl"):
        return TraceFile(path, "cohort", SPLITS[above[1]], int(step[1]), above[0])
    return TraceFile(path, "stream") if above[:2] == ["stream", "traces"] else None


def root_of(path: Path) -> Path:
    """The run directory that a file or inner folder of one belongs to, by the names above it."""
    if path.is_dir():
        return root_of(path.parent) if path.name in INNER else path
    folder = path.parent
    while folder.name in _ABOVE_FILES or STEP.fullmatch(folder.name):
        folder = folder.parent
    return folder


def is_run(path: Path, names: frozenset[str]) -> bool:
    """Whether a folder is itself a run directory; one that holds several runs is none."""
    if any(STEP.fullmatch(name) and _has_rollouts(path / name) for name in names):
        return True
    if {"stream", "stream.index.jsonl"} <= names or {"annotations", "stream.index.jsonl"} <= names:
        return True
    if "rollouts" in names and any(_has_rollouts(folder) for _, folder in steps_in(path / "rollouts")):
        return True
    if "traces" in names and _is_any(path / "traces", ("stream", "stream.index.jsonl", "annotations")):
        return True
    if "monitors" in names and _is_any(path / "monitors" / "file", ("traces", "metrics.jsonl")):
        return True
    if "metrics.jsonl" in names and "configs" in names and config_files(path):
        return True
    is_only = sum(name.startswith("run_") for name in names) == 1
    return "run_default" in names and is_only and is_run(path / "run_default", names_in(path / "run_default"))


def find(root: Path) -> Layout:
    """All files of a run directory."""
    layout = Layout(root)
    homes = [home for home in (root, root / "run_default") if home.is_dir()]
    for home in homes:
        for folder in (home, home / "rollouts"):
            for step, step_folder in steps_in(folder):
                layout.rollouts += _step_files(step_folder, step)
                layout.annotations += sorted(step_folder.glob("*/annotations/*.jsonl"))
        for traces in (home / "traces", home / "monitors" / "file" / "traces", home):
            layout.rollouts += [TraceFile(path, "stream") for path in _chunks(traces / "stream")]
            for producer in sorted(_entries(traces / "annotations")):
                layout.annotations += _chunks(producer) if producer.is_dir() else _lines_of([producer])
            layout.indexes += [index for index in (traces / "stream.index.jsonl",) if index.is_file()]
        layout.rollouts += [TraceFile(path, "eval", "valid", step_of(path, home)) for path in _evals(home)]
        layout.metrics += _metric_files(home)
        layout.checkpoints += [*steps_in(home / "checkpoints"), *steps_in(home / "weights")]
    layout.configs = config_files(root) or config_files(root / "run_default")
    return layout


def steps_in(folder: Path) -> list[tuple[int, Path]]:
    """Folders `step_N` with their numbers, in order of the number."""
    found = [(match, entry) for entry in _entries(folder) if (match := STEP.fullmatch(entry.name)) and entry.is_dir()]
    return sorted((int(match[1]), entry) for match, entry in found)


def step_of(path: Path, above: Path) -> int | None:
    """The step that a folder between two paths names."""
    for part in path.relative_to(above).parts[:-1]:
        if match := STEP.fullmatch(part):
            return int(match[1])
    return None


def names_in(folder: Path) -> frozenset[str]:
    """Names of a folder's entries; none where it is no folder."""
    return frozenset(entry.name for entry in _entries(folder))


def config_files(home: Path) -> list[Path]:
    """Configuration of the last attempt, by component: resolved files before the ones that were launched."""
    configs = home / "configs"
    attempts = sorted(_numbered(configs, "attempt_"))
    folders = [folder for _, attempt in reversed(attempts) for folder in (attempt / "resolved", attempt)]
    for folder in (*folders, configs / "resolved", configs, home / "control"):
        for suffix in (".json", ".toml"):
            found = [path for name in COMPONENTS if (path := folder / f"{name}{suffix}").is_file()]
            if found:
                return found
    return []


def _entries(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def _is_any(folder: Path, names: tuple[str, ...]) -> bool:
    return any((folder / name).exists() for name in names)


def _numbered(folder: Path, prefix: str) -> Iterator[tuple[int, Path]]:
    for entry in _entries(folder):
        number = entry.name.removeprefix(prefix)
        if entry.name.startswith(prefix) and number.isdecimal():
            yield int(number), entry


def _has_rollouts(step_folder: Path) -> bool:
    names = names_in(step_folder)
    if any(ROLLOUT_FILE.fullmatch(name) for name in names):
        return True
    return any(_is_any(step_folder / kind, SUBSETS) for kind in SPLITS if kind in names)


def _step_files(step_folder: Path, step: int) -> Iterator[TraceFile]:
    for entry in sorted(_entries(step_folder)):
        if match := ROLLOUT_FILE.fullmatch(entry.name):
            yield TraceFile(entry, "rows", SPLITS[match[1]], step)
    for kind, split in SPLITS.items():
        for subset in SUBSETS:
            for path in _lines_of(_entries(step_folder / kind / subset)):
                if path.name.startswith("traces.jsonl"):
                    yield TraceFile(path, "cohort", split, step, subset)


def _chunks(folder: Path) -> list[Path]:
    return _lines_of(_entries(folder))


def _lines_of(entries: list[Path]) -> list[Path]:
    """Files of JSON lines, plain or compressed, by name; of a chunk caught while it was sealed, the plain one."""
    by_stem: dict[str, Path] = {}
    for entry in sorted(entries):  # the plain name sorts before the sealed one
        if entry.name.endswith((".jsonl", ".jsonl.zst", ".jsonl.gz")) and not entry.name.endswith("index.jsonl"):
            by_stem.setdefault(entry.name.split(".jsonl", 1)[0], entry)
    return list(by_stem.values())


def _evals(home: Path) -> list[Path]:
    names = ("results.jsonl", "traces.jsonl")
    return sorted(path for folder in ("eval", "evals") for name in names for path in (home / folder).rglob(name))


def _metric_files(home: Path) -> list[Path]:
    places = (home, home / "trainer", home / "orchestrator", home / "monitors" / "file")
    return [path for place in places if (path := place / "metrics.jsonl").is_file()]
