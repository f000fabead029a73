"""What the command line prints: progress, reports, frames, lists. Standard output holds the answer and nothing else."""

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from decimal import Decimal
from numbers import Number
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import typer
from rich.markup import escape
from rich.progress import BarColumn, DownloadColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from dashboard.question_help import FILTERS
from dashboard.terminal import console, harmless, shown, wide
from dashboard.words import NOTHING
from ingest.doctor import Finding
from ingest.errors import QuestionError
from ingest.runner import Progress as Done
from ingest.runner import Report
from ingest.sources import SOURCES
from ingest.sources.base import FIELDS
from queries.asking import parameters, question, takes_filters
from queries.questions import QUESTIONS
from queries.rulebook import rulebook
from queries.rulebook import rulebooks as names_of_rules

FORMATS = ("table", "json", "csv", "parquet")
MAX_LISTED = 8
MIN_COLUMNS = 4

out = console()
aside = console(stderr=True)


@contextmanager
def progress(*, quiet: bool) -> Iterator[Callable[[Done], None]]:
    """A progress bar with counts on standard error; nothing where `quiet`."""
    if quiet:
        yield lambda _: None
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeElapsedColumn())
    with Progress(*columns, console=aside, transient=True) as bar:
        task = bar.add_task("looking", total=None)

        def notify(done: Done) -> None:
            counts = f"{done.stage} · {done.rollouts:,} rollouts" + (
                f" · {done.rejects:,} rejects" if done.rejects else ""
            )
            bar.update(task, total=done.total_bytes, completed=done.done_bytes, description=counts)

        yield notify


def report(done: Report, overview: pd.DataFrame | None, *, as_json: bool) -> None:
    """What an ingest brought: by run first, then what was skipped, failed and rejected."""
    if as_json:
        typer.echo(json.dumps(_report_object(done, overview)))
        return
    if overview is not None and len(overview):
        for run_id, rows in overview.groupby("run_id", sort=True):
            out.print(
                f"[bold]{shown(str(rows['name'].iloc[0]))}[/bold]" + _run_id_note(str(run_id), rows), highlight=False
            )
            for row in rows.to_dict("records"):
                out.print("  " + shown(split_sentence(row)), highlight=False)
    unchanged = f", {done.unchanged:,} unchanged" if done.unchanged else ""
    out.print(
        f"{_count(done.sources, 'source')} read{unchanged}, {_brought(done)}, {_count(done.rejects, 'reject')}.",
        highlight=False,
    )
    for title, entries in (
        ("Note", done.notes),
        ("Could not be read", done.failed),
        ("Skipped, not recognised", done.skipped),
    ):
        for entry in entries[:MAX_LISTED]:
            out.print(f"{title}: {shown(entry)}", highlight=False)
        if len(entries) > MAX_LISTED:
            out.print(f"{title}: … and {len(entries) - MAX_LISTED:,} more", highlight=False)
    if done.rejects:
        out.print("Why records were rejected: observatory query reject_reasons", highlight=False)


def _brought(done: Report) -> str:
    whole, pieces = _count(done.rollouts, "rollout"), done.rows["parts"]
    if not pieces:
        return whole
    return f"{whole} ({_count(pieces, 'line')} joined by `rollout_id`)"


def _run_id_note(run_id: str, rows: pd.DataFrame) -> str:
    return "" if run_id == rows["name"].iloc[0] else f" (run id {run_id})"


def split_sentence(row: Mapping[Any, Any]) -> str:
    """One line on a run's split: steps, environments, samples, rollouts, first → last reward and which reward it is."""
    if not row["num_rollouts"]:
        return f"no rollouts (read as {row['source_format']})"
    steps = "no steps" if not row["num_steps"] else f"step {row['first_step']}"
    if row["num_steps"] > 1:
        steps = f"{row['num_steps']:,} steps ({row['first_step']}–{row['last_step']})"
    environments = [each for each in row["environments"] if each] if row["environments"] is not None else []
    where = f", {len(environments):,} environments" if len(environments) > 1 else ""
    where = f", environment {environments[0]}" if len(environments) == 1 else where
    trained = f" ({row['num_effective']:,} used for training)" if row["num_effective"] else ""
    split = "split unknown" if pd.isna(row["split"]) else row["split"]
    samples = f"{_count(row['num_samples_max'], 'sample')}{' a step' if row['num_steps'] > 1 else ''}"
    return (
        f"{split}: {steps}{where}, {samples}, {_count(row['num_rollouts'], 'rollout')}{trained}, {reward_sentence(row)}"
    )


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def reward_sentence(row: Mapping[Any, Any]) -> str:
    """First → last reward and its name, "not scored" where there is none."""
    if pd.isna(row["first_reward"]):
        return "not scored"
    name = "as its source reports it" if pd.isna(row["reward_name"]) else f"of {row['reward_name']}"
    change = _three(row["first_reward"])
    if row["num_steps"] > 1:
        change += f" → {_three(row['last_reward'])}"
    return f"reward {change}, mean over samples {name}"


def _three(value: float) -> str:
    # As on the screen: the last bits of a mean, which its order of summing decides, do not decide a tie.
    return f"{float(f'{value:.12g}'):.3f}"


def _report_object(done: Report, overview: pd.DataFrame | None) -> dict[str, Any]:
    return {
        "exit_code": done.exit_code,
        "sources": done.sources,
        "unchanged": done.unchanged,
        "rollouts": done.rollouts,
        "rejects": done.rejects,
        "rows": dict(done.rows),
        "failed": done.failed,
        "skipped": done.skipped,
        "notes": done.notes,
        "runs": [] if overview is None else json.loads(to_json(overview)),
    }


def to_json(frame: pd.DataFrame) -> bytes:
    """A frame as a JSON array of rows; NULL, NaN and infinite values are null, times ISO 8601 in UTC."""
    return orjson.dumps(
        frame.to_dict("records"), default=_jsonable, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_UTC_Z
    )


def _jsonable(value: Any) -> Any:
    if value is pd.NA or value is pd.NaT:
        return None
    if isinstance(value, np.ndarray):
        return value.tolist()
    return value.isoformat().replace("+00:00", "Z") if isinstance(value, datetime) else str(value)


def frame(answer: pd.DataFrame, format: str, path: Path | None) -> None:
    """Print an answer, or write it to a file.

    Raises:
        QuestionError: The format is unknown, Parquet was asked for on a terminal, or the file cannot be written.
    """
    if format not in FORMATS:
        raise QuestionError(f"format must be one of {', '.join(FORMATS)}, not {format!r}")
    if format == "table" and path is not None:
        raise QuestionError("a table is for reading: --out needs --format json, csv or parquet")
    if format == "table":
        _print_table(answer)
        return
    data = encoded(answer, format)
    if path is not None:
        _write(path, data)
    elif format == "parquet" and sys.stdout.isatty():
        raise QuestionError("Parquet is not for a terminal: add --out FILE or redirect the output")
    else:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()


def _write(path: Path, data: bytes) -> None:
    try:
        path.write_bytes(data)
    except OSError as error:
        raise QuestionError(f"{path} could not be written ({error.strerror}); choose another --out") from error


def encoded(answer: pd.DataFrame, format: str) -> bytes:
    """An answer as JSON, CSV or Parquet bytes."""
    if format == "json":
        return to_json(answer) + b"\n"
    if format == "csv":
        return answer.map(_listed).to_csv(index=False).encode()
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pandas(answer, preserve_index=False), sink, compression="zstd")
    return bytes(sink.getvalue())


def _listed(value: Any) -> Any:
    """A list as JSON, so that a cell of CSV keeps every digit and can be read back; anything else as it is."""
    if not isinstance(value, list | np.ndarray):
        return value
    return orjson.dumps(value, default=_jsonable, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_UTC_Z).decode()


def _print_table(answer: pd.DataFrame) -> None:
    if answer.empty:
        out.print("no rows")
        return
    texts = {str(name): [cell(value) for value in answer[name]] for name in answer.columns}
    headers = {name: _wrapped(name, max(map(len, column))) for name, column in texts.items()}
    fitting = _fitting(texts, headers, out.width if out.is_terminal else None)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in fitting:
        header = headers[name] if out.is_terminal else name
        if _is_numeric(answer[name]):
            width = max(map(len, (*texts[name], *header.split("\n"))))
            texts[name] = [each.rjust(width) for each in texts[name]]
            header = "\n".join(line.rjust(width) for line in header.split("\n"))
        # Columns that may not overflow are all set left by Rich, whatever they ask for.
        table.add_column(header, no_wrap=True, overflow="ignore")
    for row in zip(*(texts[name] for name in fitting), strict=True):
        table.add_row(*map(escape, row))
    (out if out.is_terminal else wide()).print(table, crop=False)
    hidden = [name for name in texts if name not in fitting]
    if hidden:
        listed = ", ".join(hidden)
        aside.print(f"{len(hidden)} more columns ({listed}): --format csv or json shows all", highlight=False)


def _is_numeric(column: "pd.Series[Any]") -> bool:
    """Whether a column holds numbers; one of numbers and NULLs may have any type."""
    if column.dtype != object:
        return pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)
    known = [each for each in column if not _is_null(each)]
    return bool(known) and all(isinstance(each, Number) and not isinstance(each, bool | np.bool_) for each in known)


def _is_null(value: Any) -> bool:
    return value is None or value is pd.NA or value is pd.NaT or (isinstance(value, float) and value != value)


def _wrapped(name: str, width: int) -> str:
    """A column's name broken at underscores, as wide as its cells or its longest word."""
    width = max(width, *map(len, name.split("_")))
    lines = [""]
    for word in name.split("_"):
        longer = f"{lines[-1]}_{word}" if lines[-1] else word
        if len(longer) <= width:
            lines[-1] = longer
        else:
            lines.append(word)
    return "\n".join(lines)


def _fitting(texts: Mapping[str, Sequence[str]], headers: Mapping[str, str], width: int | None) -> list[str]:
    """The first columns that fit side by side into the width; all where the output is no terminal."""
    fitting: list[str] = []
    used = 0
    for name, column in texts.items():
        used += max(*map(len, headers[name].split("\n")), *map(len, column), 0) + 2
        if width is not None and used > width + 2 and len(fitting) >= MIN_COLUMNS:
            break
        fitting.append(name)
    return fitting


def cell(value: Any) -> str:
    """A value for a person: four significant digits, thousands separated, "–" for NULL."""
    if _is_null(value):
        return NOTHING
    if isinstance(value, Decimal):
        value = float(value)
    if isinstance(value, float):
        return f"{value:,.4g}" if abs(value) < 10_000 else f"{value:,.0f}"
    if isinstance(value, pd.Timestamp):
        return f"{value:%Y-%m-%d %H:%M:%S}Z"
    return harmless(value)


def rulebooks(folder: Path) -> None:
    """Every rulebook, whether it is the default, and how to read it."""
    for name in names_of_rules():
        book = rulebook(folder, name)
        of = "as it comes" if book.origin == "default" else f"from {book.path}"
        out.print(f"  {shown(name)}: {shown(of)}", highlight=False)
    aside.print("`observatory rules NAME` prints one; STORE/NAME.toml replaces it.", highlight=False, markup=False)


def questions() -> None:
    """List every question with its parameters."""
    table = Table("question", "what it answers", "own parameters", box=None, pad_edge=False, header_style="bold")
    for name in sorted(QUESTIONS):
        own = ", ".join(f"--{each.replace('_', '-')}" for each in parameters(question(name)))
        if takes_filters(question(name)):
            own = f"{own}, filters" if own else "filters"
        doc = (QUESTIONS[name].__doc__ or "").split("\n", 1)[0]
        table.add_row(name, doc.rsplit(": ", 1)[-1], own)
    out.print(table)
    out.print(f"Filters: {FILTERS}\nOf one question: observatory query QUESTION --help")


def sources(*, as_json: bool) -> None:
    """List the sources and what each fills."""
    if as_json:
        found = [
            {"name": each.NAME, "title": each.TITLE, "hint": each.HINT, "fills": sorted(each.FILLS)} for each in SOURCES
        ]
        typer.echo(json.dumps(found))
        return
    for each in SOURCES:
        lacks = [FIELDS[name] for name in FIELDS if name not in each.FILLS]
        out.print(f"[bold]{each.NAME}[/bold]  {shown(each.TITLE)}", highlight=False)
        out.print(f"  recognised by: {shown(each.HINT)}", highlight=False)
        out.print(f"  cannot tell: {', '.join(lacks) or 'nothing: it fills everything'}", highlight=False)


def findings(found: Sequence[Finding], *, as_json: bool) -> None:
    """What `doctor` found."""
    if as_json:
        typer.echo(json.dumps([{"check": each.check, "problem": each.is_problem, "text": each.text} for each in found]))
        return
    for each in found:
        mark = "[bold]problem[/bold]" if each.is_problem else "ok     "
        out.print(f"{mark}  {each.check}: {shown(each.text)}", highlight=False)


def manifest(written: Mapping[str, Any], to: Path) -> None:
    """What an export wrote."""
    files = written["files"]
    total = sum(each["num_rows"] for each in files)
    out.print(
        f"{len(files):,} Parquet files with {total:,} rows in {shown(str(to))} (snapshot {written['snapshot_id']})"
    )
