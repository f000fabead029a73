"""The command line: `observatory ingest | pull | query | export | serve | …`.

Thin: every command parses, calls one function of `ingest` or `queries`, and prints. Exit codes: 0 all
read (or answered), 1 nothing could be read (or asked), 2 wrong usage, 3 read with rejects or with files that failed.
"""

import getpass
import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from dashboard import show
from dashboard.cli_values import (
    known_runs,
    known_source,
    known_split,
    known_value,
    listed,
    mapping_of,
    run_name,
    several,
    step_range,
)
from dashboard.pulls import land_openai, landed_paths
from dashboard.question_help import own_parameters, question_help
from dashboard.reward_names import by_split
from dashboard.sample import case_studies, case_study, sample_data
from dashboard.terminal import console, harmless
from ingest.annotate import NOTE, Annotation
from ingest.annotate import annotate as write_annotation
from ingest.annotate import retract as retract_annotation
from ingest.doctor import examine
from ingest.errors import ObservatoryError, StoreEmptyError
from ingest.forget import forget as run_forget
from ingest.repair import repair
from ingest.runner import Request
from ingest.runner import ingest as run_ingest
from ingest.schema import SPLITS, STATUSES
from ingest.sources.base import Options
from ingest.staging import Overrides
from ingest.store import RETENTION_DAYS, Store
from queries.asking import answer
from queries.connection import open_store
from queries.export import export as run_export
from queries.filters import SUBSETS, Filters
from queries.ingests import run_overview
from queries.reported import reported_metrics
from queries.rulebook import rulebook
from queries.trajectory import rollout_run

app = typer.Typer(
    name="observatory",
    help="See how an agent behaves while it is fine-tuned with reinforcement learning.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
pull_app = typer.Typer(
    help="Fetch from a service: raw answers land as files first, then they are ingested.", no_args_is_help=True
)
app.add_typer(pull_app, name="pull")
errors = console(stderr=True)

StoreOption = Annotated[
    Path, typer.Option("--store", envvar="OBSERVATORY_STORE", help="Folder of the store.", show_default="./data")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one machine-readable object and nothing else.")]
DEFAULT_STORE = Path("data")


@app.command(name="ingest")
def ingest_command(
    paths: Annotated[list[str], typer.Argument(help="Files, folders, globs or http(s) URLs.")],
    store: StoreOption = DEFAULT_STORE,
    source: Annotated[str | None, typer.Option(help="Read every file with this source.")] = None,
    run: Annotated[str | None, typer.Option(help="Put everything into this run.")] = None,
    split: Annotated[str | None, typer.Option(help="train, valid, test or production, for all rollouts read.")] = None,
    step: Annotated[
        int | None, typer.Option(min=0, max=2**63 - 1, help="Training step, for all rollouts read.")
    ] = None,
    mapping: Annotated[
        list[str] | None, typer.Option("--map", help="field=path.to.value in a JSON line; may be repeated.")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Processes to read with.", show_default="all cores")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Read unchanged files again.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Read files into the store."""
    target = Store(store)
    request = Request(
        landed_paths(paths, target.root / "landed", _notify(as_json=as_json)),
        source=known_source(source),
        overrides=Overrides(run_name(run), known_split(split), step),
        options=Options(mapping_of(mapping or [])),
        force=force,
        workers=workers,
    )
    raise typer.Exit(_ingest(target, request, as_json=as_json))


@pull_app.command("openai")
def pull_openai(
    job: Annotated[str, typer.Option(help="Fine-tuning job, ftjob-…")],
    store: StoreOption = DEFAULT_STORE,
    base_url: Annotated[
        str | None, typer.Option(help="API root; for Azure https://NAME.openai.azure.com/openai", show_default="OpenAI")
    ] = None,
    azure: Annotated[
        bool | None, typer.Option("--azure/--bearer", help="Which key header to send.", show_default="by host and key")
    ] = None,
    api_version: Annotated[str | None, typer.Option(help="Azure's api-version, where it needs one.")] = None,
    run: Annotated[str | None, typer.Option(help="Name of the run.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Fetch a fine-tuning job: job, events, checkpoints, result files, validation runs.

    The key comes from OPENAI_API_KEY, or AZURE_OPENAI_API_KEY for Azure. Pulling again fetches only what is new.
    """
    target = Store(store)
    landed = target.root / "landed" / "openai"
    report = land_openai(landed, job, base_url, api_version, _notify(as_json=as_json), is_azure=azure)
    request = Request([report.folder], overrides=Overrides(run_name(run)))
    raise typer.Exit(_ingest(target, request, as_json=as_json, notes=report.notes))


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True}, add_help_option=False)
def query(
    context: typer.Context,
    question: Annotated[str | None, typer.Argument(help="Question; without one, all are listed.")] = None,
    store: StoreOption = DEFAULT_STORE,
    run: Annotated[list[str] | None, typer.Option(help="Only this run (name or id); may be repeated.")] = None,
    split: Annotated[list[str] | None, typer.Option(help="Only this split; may be repeated.")] = None,
    step: Annotated[str | None, typer.Option(help="Only this step, or a range 3..9.")] = None,
    status: Annotated[list[str] | None, typer.Option(help="Only rollouts that ended so; may be repeated.")] = None,
    tool: Annotated[
        list[str] | None, typer.Option(help="Only rollouts that called this tool; may be repeated.")
    ] = None,
    environment: Annotated[list[str] | None, typer.Option(help="Only this environment; may be repeated.")] = None,
    agent: Annotated[list[str] | None, typer.Option(help="Only where this agent took part; may be repeated.")] = None,
    subset: Annotated[str | None, typer.Option(help="all, or effective: only rollouts that were trained on.")] = None,
    snapshot: Annotated[int | None, typer.Option(help="Snapshot to read.", show_default="the latest")] = None,
    format: Annotated[str, typer.Option(help="table, json, csv or parquet.")] = "table",
    out: Annotated[Path | None, typer.Option(help="Write to this file instead of standard output.")] = None,
    help_wanted: Annotated[bool, typer.Option("--help", help="Show this, or what a question takes, and exit.")] = False,
) -> None:
    """Ask a question; its own parameters follow as --name value (e.g. --baseline RUN@STEP --candidate RUN@STEP).

    `observatory query QUESTION --help` lists a question's parameters and columns.
    """
    if help_wanted:
        typer.echo(context.get_help() if question is None else question_help(question))
        return
    if question is None:
        show.questions()
        return
    first, last = step_range(step)
    for option, given, known in (("split", split, SPLITS), ("status", status, STATUSES), ("subset", subset, SUBSETS)):
        known_value(option, given, known)
    opened = open_store(store, snapshot)
    runs = known_runs(opened, run)
    statuses, tools, environments = (several(each) for each in (status, tool, environment))
    filters = Filters(runs, several(split), first, last, statuses, tools, environments, subset, several(agent))
    frame = answer(opened, question, filters, own_parameters(context.args))
    show.frame(frame, format, out)


@app.command()
def export(
    to: Annotated[Path, typer.Option(help="Folder to write to.")],
    store: StoreOption = DEFAULT_STORE,
    tables: Annotated[str | None, typer.Option(help="Tables, separated by commas.", show_default="all")] = None,
    questions: Annotated[str | None, typer.Option(help="Questions to export as well, separated by commas.")] = None,
    question: Annotated[
        list[str] | None,
        typer.Option(help="A question with parameters, as compare?baseline=A&candidate=B; may be repeated."),
    ] = None,
    run: Annotated[list[str] | None, typer.Option(help="Only this run; may be repeated.")] = None,
    redact: Annotated[bool, typer.Option(help="Replace what looks like a key or a token in texts.")] = True,
    as_json: JsonOption = False,
) -> None:
    """Write documented Parquet files, partitioned by run, with a manifest, in one step."""
    opened = open_store(store)
    filters = Filters(run_ids=known_runs(opened, run))
    asked = [*(listed(questions) or []), *(question or [])]
    manifest = run_export(opened, to, tables=listed(tables), questions=asked, filters=filters, redact=redact)
    if as_json:
        typer.echo(json.dumps(manifest))
    else:
        show.manifest(manifest, to)


@app.command()
def sources(as_json: JsonOption = False) -> None:
    """List the formats that can be read, and what each can fill."""
    show.sources(as_json=as_json)


@app.command()
def annotate(
    rollout: Annotated[str, typer.Argument(help="Id of the rollout.")],
    label: Annotated[str, typer.Option(help="real or false_alarm of a finding, note, or a word of your own.")] = NOTE,
    note: Annotated[str | None, typer.Option(help="Text.")] = None,
    rule: Annotated[str | None, typer.Option(help="Rule of reward integrity whose finding is judged.")] = None,
    message: Annotated[int | None, typer.Option(min=0, help="Message it speaks of.", show_default="the whole")] = None,
    by: Annotated[str | None, typer.Option(help="Who says so.", show_default="your account")] = None,
    retract: Annotated[str | None, typer.Option(help="Take back the annotation of this id instead.")] = None,
    store: StoreOption = DEFAULT_STORE,
) -> None:
    """Label a rollout, or leave a note on it; `observatory query annotations` lists what was said."""
    target = _existing(store)
    found = rollout_run(open_store(store), rollout_id=rollout)["run_id"]
    run_id = str(found.iloc[0]) if len(found) else ""
    if retract is not None:
        retract_annotation(target, run_id, retract)
        typer.echo(f"Annotation {harmless(retract)} taken back.")
        return
    said = Annotation(run_id, rollout, label, by or getpass.getuser(), note, rule, message)
    typer.echo(write_annotation(target, said))


@app.command()
def rules(
    name: Annotated[str | None, typer.Argument(help="Rules to print; without a name, all are listed.")] = None,
    store: StoreOption = DEFAULT_STORE,
) -> None:
    """Print the rules in force, to read or to change.

    To change them: `observatory rules failures > STORE/failures.toml`, then edit that file; it replaces them whole.
    """
    if name is None:
        show.rulebooks(store.expanduser())
        return
    typer.echo(rulebook(store.expanduser(), name).text, nl=False)


@app.command()
def doctor(
    store: StoreOption = DEFAULT_STORE,
    repair_it: Annotated[
        bool, typer.Option("--repair", help="Set damaged files aside and publish what is left.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Check the store and say what to do."""
    for done in repair(_existing(store).root) if repair_it else ():
        show.aside.print(harmless(done), highlight=False, markup=False)
    findings = examine(store)
    show.findings(findings, as_json=as_json)
    raise typer.Exit(1 if any(each.is_problem for each in findings) else 0)


@app.command()
def compact(
    store: StoreOption = DEFAULT_STORE,
    keep_days: Annotated[
        int, typer.Option(min=0, help="Keep files that snapshots of so many days need.")
    ] = RETENTION_DAYS,
) -> None:
    """Join small files; drop those that only old snapshots need."""
    joined = _existing(store).compact(keep_days)
    typer.echo(
        f"{sum(joined.values())} small files joined. Links pinned to snapshots older than {keep_days} days may end."
    )


@app.command()
def forget(
    what: Annotated[str, typer.Argument(help="A run, or the path or URI of a source.")],
    store: StoreOption = DEFAULT_STORE,
) -> None:
    """Remove a run, or everything one source brought."""
    typer.echo(harmless(run_forget(_existing(store), what)))


@app.command()
def demo(
    store: Annotated[Path, typer.Option(help="Folder of the sample store.")] = Path("data-demo"),
    port: Annotated[int, typer.Option(help="Port of the dashboard.")] = 8501,
    serve_it: Annotated[bool, typer.Option("--serve/--no-serve", help="Open the dashboard afterwards.")] = True,
    scenario: Annotated[
        list[str] | None, typer.Option(help="Read this published case study instead; may be repeated; or `all`.")
    ] = None,
) -> None:
    """Read the bundled sample data (or published case studies, made anew) and open the dashboard on it."""
    _ingest(Store(store), Request(_demo_paths(scenario or [])), as_json=False)
    if serve_it:
        serve(store=store, port=port, address="127.0.0.1")


@app.command()
def serve(
    store: StoreOption = DEFAULT_STORE,
    port: Annotated[int, typer.Option(help="Port.")] = 8501,
    address: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
) -> None:
    """Open the dashboard (the same as `streamlit run dashboard/app.py`)."""
    entry = Path(__file__).with_name("app.py")
    environment = {**os.environ, "OBSERVATORY_STORE": str(store.resolve())}
    command = [
        sys.executable,
        "-m",
        "streamlit",
        "run",
        str(entry),
        f"--server.port={port}",
        f"--server.address={address}",
    ]
    raise typer.Exit(subprocess.run(command, env=environment, cwd=entry.parent, check=False).returncode)


def _ingest(store: Store, request: Request, *, as_json: bool, notes: Sequence[str] = ()) -> int:
    """Read, say what came of it; returns the exit code."""
    with show.progress(quiet=as_json) as notify:
        report = run_ingest(store, request, notify)
    report.notes = [*notes, *report.notes]
    filters = Filters(run_ids=tuple(sorted(report.runs)))
    overview = None
    if report.runs:
        opened = open_store(store.root)
        overview = by_split(run_overview(opened, filters), reported_metrics(opened, filters, only_reward=True))
    show.report(report, overview, as_json=as_json)
    return report.exit_code


def _demo_paths(scenarios: list[str]) -> list[Path]:
    """What the demo reads: the sample data, or the case studies named."""
    if "all" in scenarios:
        return [each.path for each in case_studies()]
    return [case_study(each).path for each in scenarios] or [sample_data()]


def _existing(root: Path) -> Store:
    """A store that is there: a mistyped folder must not become an empty store."""
    if not (root.expanduser() / "lake").is_dir():
        raise StoreEmptyError(f"{root}: there is no store here; name its folder with --store")
    return Store(root)


def _notify(*, as_json: bool) -> Callable[[str], object]:
    """Where progress of a fetch is told: standard error, or nowhere where the output is for a machine."""
    return (lambda _: None) if as_json else (lambda text: show.aside.print(text, highlight=False, markup=False))


def main() -> None:
    """Entry point: our own errors are one line on standard error and exit code 1."""
    try:
        app()
    except ObservatoryError as error:
        errors.print(Text.assemble(("observatory: ", "bold"), harmless(error)), soft_wrap=True)
        sys.exit(1)
    except SystemExit as left:
        if left.code == 130:  # Ctrl-C, which Typer turns into an exit without a word
            errors.print("observatory: stopped; what was committed stays, the rest is read again next time")
        raise
    except Exception as error:
        if os.environ.get("OBSERVATORY_DEBUG"):
            raise
        first = f"{type(error).__name__}: {error}".partition("\n")[0][:500]
        said = f"stopped by an error of its own ({first}); `observatory doctor` checks the store, OBSERVATORY_DEBUG=1 "
        errors.print(Text.assemble(("observatory: ", "bold"), harmless(f"{said}shows where")), soft_wrap=True)
        sys.exit(1)


if __name__ == "__main__":
    main()
