"""Where the bundled sample data lies: in the repository, or inside the installed package."""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ingest.errors import UnrecognisedError

_HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class CaseStudy:
    """A published case study as synthetic data: its name, title, one line on it, its runs, and its file."""

    name: str
    title: str
    summary: str
    runs: tuple[str, ...]
    path: Path


def sample_data() -> Path:
    """Folder of the sample data.

    Raises:
        UnrecognisedError: It was not installed.
    """
    return _installed("finqa")


@cache
def case_studies() -> tuple[CaseStudy, ...]:
    """The published case studies, in the order they are offered.

    Raises:
        UnrecognisedError: They were not installed.
    """
    folder = _installed("scenarios")
    listed = json.loads((folder / "index.json").read_text(encoding="utf-8"))
    return tuple(
        CaseStudy(
            each["name"],
            each["title"],
            each["summary"],
            tuple(each["runs"]),
            folder / "data" / f"{each['name']}.jsonl.zst",
        )
        for each in listed
    )


def case_study(name: str) -> CaseStudy:
    """The case study of that name.

    Raises:
        UnrecognisedError: There is none, or none were installed.
    """
    found = {each.name: each for each in (*case_studies(), training_collapse())}
    if name not in found:
        raise UnrecognisedError(f"there is no case study {name[:60]!r}; there are {', '.join(found)}")
    return found[name]


@cache
def training_collapse() -> CaseStudy:
    """A training run that collapses and its healthy twin: no published case, so it is read by name only.

    Raises:
        UnrecognisedError: It was not installed.
    """
    path = _installed("training_health") / "training_collapse.jsonl.zst"
    summary = "Entropy, length, mismatch and validation go wrong in one run, and nothing does in its twin."
    runs = ("training_collapse", "training_healthy")
    return CaseStudy("training_collapse", "A training run that collapses", summary, runs, path)


def _installed(folder: str) -> Path:
    """A folder of the sample data, beside this package or inside it."""
    for root in (_HERE.parent, _HERE):
        if (root / "sample_data" / folder).is_dir():
            return root / "sample_data" / folder
    raise UnrecognisedError("the sample data is not installed; get it from the repository, folder sample_data/")
