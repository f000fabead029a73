"""Values of the command line's options: what each may be, and what it is once read."""

from collections.abc import Sequence

import typer

from ingest.errors import QuestionError
from ingest.runs import run_slug
from ingest.schema import SPLITS
from ingest.sources import SOURCES
from queries.connection import Reading
from queries.scope import run_names


def run_name(name: str | None) -> str | None:
    """The name of a run, which may be left out but not empty."""
    if name is not None and not name.strip():
        raise typer.BadParameter("--run needs a name; leave it out to keep the names of the files")
    return name


def known_runs(store: Reading, names: list[str] | None) -> tuple[str, ...] | None:
    """Ids of the runs named, each by name or id.

    Raises:
        QuestionError: The store has no such run.
    """
    there = run_names(store)
    known = dict(zip(there["run_id"], there["name"], strict=True))
    found = tuple(map(run_slug, names or ()))
    unknown = [name for name, run_id in zip(names or (), found, strict=True) if run_id not in known]
    if unknown:
        listed = ", ".join(str(name)[:60] for name in [*known.values()][:20]) or "none"
        raise QuestionError(f"there is no run {unknown[0][:200]!r} in this store; there is {listed}")
    return found or None


def known_value(option: str, given: list[str] | str | None, known: Sequence[str]) -> None:
    """Check the value of an option that takes one of a few.

    Raises:
        QuestionError: It is none of them.
    """
    for value in [given] if isinstance(given, str) else given or ():
        if value not in known:
            raise QuestionError(f"--{option} must be one of {', '.join(known)}, not {value!r}")


def known_source(name: str | None) -> str | None:
    """The name of a source, if it is one."""
    names = [each.NAME for each in SOURCES]
    if name is not None and name not in names:
        raise typer.BadParameter(f"there is no source {name!r}; there are {', '.join(names)}")
    return name


def known_split(name: str | None) -> str | None:
    """The name of a split, if it is one."""
    if name is not None and name not in SPLITS:
        raise typer.BadParameter(f"split must be one of {', '.join(SPLITS)}")
    return name


def step_range(text: str | None) -> tuple[int | None, int | None]:
    """First and last step of `5`, `3..9`, `3..` or `..9`.

    Raises:
        QuestionError: It is none of these.
    """
    if text is None:
        return None, None
    first, dots, last = text.partition("..")
    try:
        low = int(first) if first else None
        return low, (int(last) if last else None) if dots else low
    except ValueError:
        raise QuestionError(f"--step takes a number or a range such as 3..9, not {text!r}") from None


def several(values: list[str] | None) -> tuple[str, ...] | None:
    """The values of an option that may be repeated; None where it was left out."""
    return tuple(values) if values else None


def listed(text: str | None) -> list[str] | None:
    """What a text lists, separated by commas."""
    return [each.strip() for each in text.split(",") if each.strip()] if text is not None else None


def mapping_of(pairs: list[str]) -> dict[str, str]:
    """Fields and their paths, given as `field=path`."""
    for pair in pairs:
        if "=" not in pair:
            raise typer.BadParameter(f"--map takes field=path, not {pair!r}")
    return dict(pair.split("=", 1) for pair in pairs)
