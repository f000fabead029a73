"""The contract of the store, as data: tables, grain, keys, columns, units, and what NULL means.

Arrow schemas, the published views and the data dictionary (ingest/README.md) are rendered from here; a test fails on
drift. A new column is one line (here, in `schema_runs.py` or `schema_rollouts.py`) plus the sources that fill it. This
module reads and writes nothing.
"""

from collections.abc import Iterator
from functools import cache

from ingest.columns import NEVER, NO_MESSAGES, ROLLOUT_ID, RUN_ID, SOURCE_ID, Column, Table
from ingest.schema_rollouts import MESSAGES, ROLLOUTS, SCORES, TOOL_CALLS
from ingest.schema_runs import CHECKPOINTS, EVENTS, METRICS, RUNS, SAMPLES

SCHEMA_VERSION = 2
"""Raised whenever a column is added; files of an older version are joined BY NAME in the published views."""

ANNOTATIONS = Table(
    "annotations",
    "one row per note a reader left",
    ("run_id", "annotation_id"),
    (
        RUN_ID,
        SOURCE_ID,
        ROLLOUT_ID,
        Column("annotation_id", "string", "id of the note", NEVER),
        Column("message_index", "int", "message it speaks of", "it speaks of the whole rollout"),
        Column("rule", "string", "rule of reward integrity whose finding is judged", "it judges no finding"),
        Column("label", "string", "`real` or `false_alarm` of a finding, `note`, or a word of the reader's own"),
        Column("note", "string", "text"),
        Column("author", "string", "who wrote it"),
        Column("created_at", "time", "when", NEVER),
    ),
)

INGESTS = Table(
    "ingests",
    "one row per source and run: how it was last read",
    ("run_id", "source_id"),
    (
        RUN_ID,
        SOURCE_ID,
        Column("source_format", "string", "source module that read it", NEVER),
        Column("path", "string", "file or folder as given", NEVER),
        Column("fingerprint", "string", "hash of the content and of the options it was read with", NEVER),
        Column("content_hash", "string", "hash of the content alone", NEVER),
        Column("num_bytes", "int", "size, bytes", NEVER),
        Column("num_rollouts", "int", "rollouts it brought", NEVER),
        Column("num_rejects", "int", "bad records it held", NEVER),
        Column("num_rows", "json", "rows by table", NEVER),
        Column("notes", "json", "warnings of this read, in plain words", NEVER),
        Column("fills", "json", "fields this source format can fill", NEVER),
        Column("reader_version", "string", "version of Rollout Observatory that read it", NEVER),
        Column("started_at", "time", "when reading began", NEVER),
        Column("ended_at", "time", "when it was committed", NEVER),
    ),
)

REJECTS = Table(
    "rejects",
    "one row per record that could not be read",
    ("run_id", "source_id", "file", "position"),
    (
        RUN_ID,
        SOURCE_ID,
        Column("file", "string", "file it stands in", NEVER),
        Column("position", "string", "byte offset, line, index or member", NEVER),
        Column("reason", "string", "what is wrong with it", NEVER),
        Column("snippet", "string", "its first 200 characters"),
    ),
)

PARTS = Table(
    "parts",
    "one row per fragment of a rollout that several files make up together (event logs)",
    ("run_id", "source_id", "position"),
    (
        RUN_ID,
        SOURCE_ID,
        Column("source_format", "string", "source module that read it and joins it", NEVER),
        Column("rollout_key", "string", "id by which fragments are joined", NEVER),
        Column("position", "int", "order within the source", NEVER),
        Column("time", "time", "when it happened"),
        Column("payload", "json", "the fragment as written", NEVER),
    ),
)

RUN_SUMMARIES = Table(
    "run_summaries",
    "one row per run, split and step, rebuilt with every commit",
    ("run_id", "split", "step"),
    (
        RUN_ID,
        SOURCE_ID,
        Column("split", "string", "`train`, `valid`, `test` or `production`", "not known"),
        Column("step", "int", "optimizer update", "the run has no steps"),
        Column("num_rollouts", "int", "rollouts", NEVER),
        Column("num_effective", "int", "of these, known to be trained on", NEVER),
        Column("num_scored", "int", "of these, with a reward", NEVER),
        Column("num_samples", "int", "samples", NEVER),
        Column("num_failed", "int", "rollouts that ended in `infra_error` or `grader_error`", NEVER),
        Column("num_status_known", "int", "rollouts whose status is known", NEVER),
        Column("reward_mean", "float", "mean over samples of each sample's mean reward", "nothing scored"),
        Column("pass_rate", "float", "passed / passed known, 0–1", "none known"),
        Column("tool_calls_mean", "float", "mean over rollouts of the agent's tool calls", NO_MESSAGES),
        Column("tool_error_rate", "float", "failed calls / calls, 0–1", "no calls"),
        Column("repeat_rate", "float", "exact repeats / calls, 0–1", "no calls"),
        Column("output_tokens_mean", "float", "mean over rollouts of sampled tokens, tokens"),
        Column("latency_p50_s", "float", "median rollout latency, seconds", "no times"),
        Column("first_at", "time", "first start of a rollout", "no times"),
        Column("last_at", "time", "last end of a rollout", "no times"),
        Column("environments", "json", "environments seen"),
    ),
)

TABLES: tuple[Table, ...] = (
    RUNS,
    CHECKPOINTS,
    METRICS,
    EVENTS,
    SAMPLES,
    ROLLOUTS,
    MESSAGES,
    TOOL_CALLS,
    SCORES,
    ANNOTATIONS,
    INGESTS,
    REJECTS,
    PARTS,
    RUN_SUMMARIES,
)

STATUSES = ("completed", "truncated", "budget_exceeded", "infra_error", "grader_error", "cancelled")
SPLITS = ("train", "valid", "test", "production")
KINDS = ("training", "evaluation", "baseline", "production")


@cache
def table(name: str) -> Table:
    """The table of that name.

    Raises:
        KeyError: There is no such table.
    """
    return {each.name: each for each in TABLES}[name]


def dictionary() -> Iterator[str]:
    """Lines of the data dictionary in Markdown, as they stand in ingest/README.md."""
    for each in TABLES:
        yield f"### `{each.name}`"
        yield ""
        yield f"{each.grain[0].upper()}{each.grain[1:]}. Key: {', '.join(f'`{key}`' for key in each.key)}."
        yield ""
        yield "| column | type | meaning | NULL means |"
        yield "|---|---|---|---|"
        for column in each.columns:
            yield f"| `{column.name}` | {column.type} | {column.meaning} | {column.null} |"
        yield ""
