"""The contract of the store, as data: tables, grain, keys, columns, units, and what NULL means.

Arrow schemas, the published views and the data dictionary (ingest/README.md) are rendered from here; a test fails on
drift. A new column is one line here plus the sources that fill it. This module reads and writes nothing.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Literal

import pyarrow as pa

SCHEMA_VERSION = 1
"""Raised whenever a column is added; files of an older version are joined BY NAME in the published views."""

Type = Literal["string", "int", "float", "bool", "time", "json"]

_ARROW: dict[str, pa.DataType] = {
    "string": pa.string(),
    "int": pa.int64(),
    "float": pa.float64(),
    "bool": pa.bool_(),
    "time": pa.timestamp("us", tz="UTC"),
    "json": pa.string(),
}


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its type, what it means (with its unit), and what NULL means in it."""

    name: str
    type: Type
    meaning: str
    null: str = "not reported by the source"

    @property
    def arrow(self) -> pa.DataType:
        """The Arrow type this column is stored as."""
        return _ARROW[self.type]


@dataclass(frozen=True, slots=True)
class Table:
    """One table: what one row stands for, the columns that identify it, and all its columns."""

    name: str
    grain: str
    key: tuple[str, ...]
    columns: tuple[Column, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Column names, in stored order."""
        return tuple(column.name for column in self.columns)

    @property
    def arrow(self) -> pa.Schema:
        """Arrow schema of the stored table, `run_id` (the partition) first."""
        return pa.schema([pa.field(column.name, column.arrow) for column in self.columns])


NEVER = "never NULL"
NO_MESSAGES = "the source has no messages, so nothing could be counted"
_RUN = Column("run_id", "string", "run this row belongs to: a safe short slug of `runs.name`", NEVER)
_SOURCE = Column("source_id", "string", "URI of the file or folder the row was read from", NEVER)
_ROLLOUT = Column(
    "rollout_id", "string", "hash of run and native id (or source and position): stable over re-export", NEVER
)


def _count(name: str, meaning: str) -> Column:
    return Column(name, "int", meaning, NO_MESSAGES)


RUNS = Table(
    "runs",
    "one row per run and source that describes it (the published view collapses them to one per run)",
    ("run_id", "source_id"),
    (
        _RUN,
        _SOURCE,
        Column("name", "string", "the run's name as given", NEVER),
        Column("kind", "string", "`training`, `evaluation`, `baseline` or `production`"),
        Column("provider", "string", "service or library that made the run, e.g. `openai`, `prime-rl`"),
        Column("source_format", "string", "name of the source module that read it", NEVER),
        Column("base_model", "string", "model the run started from"),
        Column("model", "string", "model the run produced or evaluated"),
        Column("parent_run", "string", "run this one continues or evaluates"),
        Column("status", "string", "status in the provider's own word"),
        Column("created_at", "time", "when the run was made"),
        Column("started_at", "time", "when the run began"),
        Column("ended_at", "time", "when the run ended", "not ended, or not reported"),
        Column("reward_name", "string", "which number the trainer calls its reward, in its own words"),
        Column("hyperparameters", "json", "hyperparameters as reported"),
        Column("config", "json", "everything else the source says of its configuration"),
        Column("tags", "json", "list of tags"),
        Column("code_reference", "string", "commit or version of the code that ran"),
        Column("error_message", "string", "why the run failed", "did not fail, or not reported"),
        Column("precedence", "int", "which description wins where several sources describe one run: the lowest", NEVER),
    ),
)

CHECKPOINTS = Table(
    "checkpoints",
    "one row per saved policy",
    ("run_id", "source_id", "step"),
    (
        _RUN,
        _SOURCE,
        Column("step", "int", "optimizer update after which the policy was saved"),
        Column("checkpoint_id", "string", "the provider's id, or the path"),
        Column("model", "string", "name under which the checkpoint can be called"),
        Column("created_at", "time", "when it was saved"),
        Column("metrics", "json", "metrics the provider attached"),
    ),
)

METRICS = Table(
    "metrics",
    "one row per number a trainer reported",
    ("run_id", "source_id", "step", "split", "name", "position"),
    (
        _RUN,
        _SOURCE,
        Column("step", "int", "optimizer update"),
        Column("split", "string", "`train`, `valid`, `test` or `production`", "the number belongs to no split"),
        Column("name", "string", "the metric's name as reported, nested keys joined by `/`", NEVER),
        Column("value", "float", "the number, in the metric's own unit", "reported as null, NaN or infinite"),
        Column("recorded_at", "time", "when it was recorded"),
        Column("labels", "json", "labels such as grader or tool"),
        Column("position", "int", "order within the source (several rows of one step: the last wins)", NEVER),
    ),
)

EVENTS = Table(
    "events",
    "one row per event of a run",
    ("run_id", "source_id", "event_id"),
    (
        _RUN,
        _SOURCE,
        Column("event_id", "string", "the provider's id, else source and position", NEVER),
        Column("created_at", "time", "when it happened"),
        Column("step", "int", "optimizer update it speaks of", "it speaks of no step"),
        Column("level", "string", "`info`, `warn` or `error`"),
        Column("type", "string", "the provider's event type"),
        Column("message", "string", "text as reported"),
        Column("data", "json", "payload as reported"),
    ),
)

SAMPLES = Table(
    "samples",
    "one row per sample of a run and source",
    ("run_id", "source_id", "sample_id"),
    (
        _RUN,
        _SOURCE,
        Column("sample_id", "string", "one dataset row to be solved", NEVER),
        Column("prompt_text", "string", "the task as the policy saw it, roles and text"),
        Column("prompt_hash", "string", "hash of the prompt, to pair samples without a shared id"),
        Column("reference", "string", "reference answer, text or JSON"),
        Column("environment", "string", "environment the sample belongs to"),
        Column("tags", "json", "list of tags"),
        Column("cluster_key", "string", "what several samples share (document, repository): the unit of clustering"),
        Column("dataset_version", "string", "version of the data set"),
        Column("metadata", "json", "everything else the source says of the sample"),
    ),
)

ROLLOUTS = Table(
    "rollouts",
    "one row per rollout: one attempt at one sample",
    ("run_id", "rollout_id"),
    (
        _RUN,
        _SOURCE,
        _ROLLOUT,
        Column("native_id", "string", "the source's own id of the rollout"),
        Column("sample_id", "string", "sample this rollout attempts", "nothing in the source identifies it"),
        Column("sample_id_source", "string", "how the sample was found: `native`, `prompt_hash`, `position` …"),
        Column("environment", "string", "environment (task set) it ran in"),
        Column("agent", "string", "agent that acted"),
        Column("host", "string", "machine or sandbox it ran on"),
        Column("group_id", "string", "rollouts of one sample sampled together"),
        Column("attempt", "int", "number of the attempt at its sample within run, split and step, from 0"),
        Column("native_attempt", "int", "attempt number the source gave", "the source numbers no attempts"),
        Column("step", "int", "optimizer update the acting policy belonged to"),
        Column("split", "string", "`train`, `valid`, `test` or `production`"),
        Column("subset", "string", "`effective` = trained on, `all` = sampled but not trained on", "not known"),
        Column("model", "string", "model that acted"),
        Column("policy_version_start", "int", "policy version at the first token"),
        Column("policy_version_end", "int", "policy version at the last token"),
        Column("grader_version", "string", "version of the grader"),
        Column("prompt_version", "string", "version of the prompt"),
        Column("tools_version", "string", "version (hash) of the tool definitions"),
        Column(
            "status",
            "string",
            "`completed`, `truncated`, `budget_exceeded`, `infra_error`, `grader_error` or `cancelled`",
            "unknown how it ended",
        ),
        Column("stop_reason", "string", "how it ended, in the source's own word"),
        Column("error_type", "string", "kind of error that ended it", "no error, or not reported"),
        Column("error_message", "string", "text of that error", "no error, or not reported"),
        Column(
            "reward",
            "float",
            "the number the policy is trained on",
            "not scored (NaN and infinite count as not scored)",
        ),
        Column("passed", "bool", "passed, as the source or grader says; never guessed from the reward"),
        Column("advantage", "float", "advantage the trainer computed"),
        Column("final_answer", "string", "text of the last assistant message, or the submission"),
        Column("input_tokens", "int", "prompt tokens over all calls of the model, cached ones included, tokens"),
        Column("cached_tokens", "int", "of these, read from cache, tokens"),
        Column("output_tokens", "int", "sampled tokens, reasoning included, tokens"),
        Column("reasoning_tokens", "int", "of these, reasoning, tokens"),
        Column("context_tokens", "int", "length of the final context, tokens"),
        Column("tool_output_tokens", "int", "tokens of all tool outputs as the source counts them, tokens"),
        Column("tool_output_tokens_estimate", "int", "bytes of all tool outputs divided by 4, tokens", NO_MESSAGES),
        Column("cost_usd", "float", "cost, US dollars"),
        Column("started_at", "time", "first start of anything in the rollout"),
        Column("ended_at", "time", "last end of anything in the rollout"),
        Column("latency_s", "float", "last end minus first start, seconds", "no times"),
        Column("model_latency_s", "float", "of that, waiting for the model, seconds"),
        Column("queue_latency_s", "float", "of that, queueing, seconds"),
        Column("grading_latency_s", "float", "time spent grading, seconds"),
        Column("raw_ref", "string", "file, and byte offset or member, the rollout was read from", NEVER),
        Column("position", "int", "order within the source (byte offset, line or index)", NEVER),
        Column("metadata", "json", "everything else the source says of the rollout"),
        _count("num_messages", "messages, whatever their role"),
        _count("num_turns", "assistant messages"),
        _count("num_tool_calls", "calls the agent requested, parallel wrappers expanded"),
        _count("num_user_tool_calls", "calls a simulated user requested"),
        _count("num_tool_calls_executed", "of the agent's calls, those that were executed"),
        _count("num_tool_calls_succeeded", "of the agent's calls, those not flagged or inferred as errors"),
        _count("num_tool_errors", "of the agent's calls, those flagged or inferred as errors"),
        _count("num_tool_errors_flagged", "errors the source itself flags"),
        _count("num_tool_errors_inferred", "errors recognised only from the output's text"),
        _count("num_distinct_tools", "different tools called"),
        _count("num_exact_repeats", "calls with the tool and canonical arguments of an earlier call"),
        _count("num_near_repeats", "calls alike, but not equal, to an earlier call of the tool"),
        _count("num_repeats_same_output", "exact repeats whose output was the same again"),
        _count("num_repeats_changed_output", "exact repeats whose output differed"),
        _count("num_wasted_calls", "exact repeats with the same output where nothing between could have changed it"),
        Column("wasted_latency_s", "float", "seconds spent in wasted calls", "no latencies, or no messages"),
        Column("wasted_tokens_estimate", "int", "bytes of wasted calls' outputs divided by 4, tokens", NO_MESSAGES),
        _count("longest_loop", "calls in the longest run of a repeating cycle (A-A-A, A-B-A-B …), 0 = none"),
        _count("max_parallel_calls", "calls in the widest turn"),
        _count("num_tool_rounds", "turns with at least one call (sequential rounds)"),
        _count("num_parallel_turns", "turns with two or more calls"),
        Column("tool_latency_s", "float", "tool seconds in total, each wrapper counted once", "no tool latencies"),
        Column("tool_critical_path_s", "float", "sum over turns of the slowest call, seconds", "no tool latencies"),
        _count("tool_output_bytes", "bytes of all tool outputs"),
    ),
)

MESSAGES = Table(
    "messages",
    "one row per message of a rollout",
    ("run_id", "rollout_id", "message_index"),
    (
        _RUN,
        _SOURCE,
        _ROLLOUT,
        Column("message_index", "int", "order within the rollout, from 0", NEVER),
        Column("role", "string", "`system`, `user`, `assistant` or `tool`", NEVER),
        Column("agent", "string", "agent that wrote it, where there are several"),
        Column("turn", "int", "number of the turn it belongs to, from 0", "before the first assistant message"),
        Column("text", "string", "the visible text; parts that are not text stand as `[image]` and the like"),
        Column("reasoning_text", "string", "reasoning, where the source keeps it"),
        Column("tool_call_id", "string", "id of the call a tool message answers, as given"),
        Column("tool", "string", "tool a tool message comes from"),
        Column("input_tokens", "int", "prompt tokens of the model call behind it, cached included, tokens"),
        Column("output_tokens", "int", "sampled tokens, tokens"),
        Column("reasoning_tokens", "int", "of these, reasoning, tokens"),
        Column("started_at", "time", "when it began"),
        Column("ended_at", "time", "when it was complete"),
        Column("latency_s", "float", "seconds the model (or the tool) took", "no times"),
        Column("finish_reason", "string", "why sampling stopped"),
        Column("turn_reward", "float", "reward given to this turn"),
        Column("is_sampled", "bool", "sampled in this rollout, not supplied by the prompt (few-shot)"),
        Column("branch", "string", "branch of the trajectory it belongs to", "the trajectory has one branch"),
        Column("logprob_mean", "float", "mean log-probability of its sampled tokens, nats"),
        Column("logprob_p05", "float", "5th percentile of the same, nats"),
        Column("entropy_mean", "float", "mean entropy of its sampled tokens, nats"),
        Column("mismatch_mean", "float", "mean of trainer minus sampler log-probability, nats"),
    ),
)

TOOL_CALLS = Table(
    "tool_calls",
    "one row per tool call, parallel wrappers expanded",
    ("run_id", "rollout_id", "call_index"),
    (
        _RUN,
        _SOURCE,
        _ROLLOUT,
        Column("call_index", "int", "order within the rollout, from 0", NEVER),
        Column("turn", "int", "turn in which it was requested, from 0"),
        Column("message_index", "int", "message that requested it"),
        Column("result_index", "int", "message that answered it", "no answer, or the source keeps it elsewhere"),
        Column("tool_call_id", "string", "id as given: may be empty or used again, never a key"),
        Column("wrapper_id", "string", "parallel wrapper it was expanded from", "not from a wrapper"),
        Column("requestor", "string", "`agent`, or `user` for a simulated user's call", NEVER),
        Column("agent", "string", "agent that called, where there are several"),
        Column("tool", "string", "tool, prefixes such as `functions.` removed", NEVER),
        Column("tool_raw", "string", "tool name as written", NEVER),
        Column("arguments_raw", "string", "arguments as written"),
        Column("arguments", "json", "arguments as canonical JSON (keys sorted)", "they do not parse"),
        Column("is_parsed", "bool", "the arguments are JSON"),
        Column("arguments_hash", "string", "hash of tool and canonical arguments: equal for exact repeats", NEVER),
        Column("near_key", "string", "hash of the first of a chain of calls alike: equal for near repeats", NEVER),
        Column("repeat_of", "int", "latest earlier call with the same tool and arguments", "not a repeat"),
        Column("near_repeat_of", "int", "latest earlier call that is alike, but not equal", "not a near repeat"),
        Column("repeat_output", "string", "an exact repeat's output: `same`, `different` or `unknown`", "not a repeat"),
        Column("is_wasted", "bool", "an exact repeat with the same output that nothing between could have changed"),
        Column("output_text", "string", "the tool's answer", "no answer kept"),
        Column("output_bytes", "int", "length of the answer, bytes", "no answer kept"),
        Column("output_hash", "string", "hash of the answer", "no answer kept"),
        Column(
            "status",
            "string",
            "`ok`, `error`, `no_result` (never answered) or `orphan` (an answer without call)",
            NEVER,
        ),
        Column("is_executed", "bool", "it was executed (calls of a wrapper that failed to parse were not)"),
        Column("is_error_flagged", "bool", "the source itself flags an error", "the source flags none at all"),
        Column("is_error_inferred", "bool", "an error recognised from the output's text"),
        Column("error_kind", "string", "kind of error: `parsing`, `timeout`, `nonzero_exit` …", "no error"),
        Column("started_at", "time", "when it was sent"),
        Column("ended_at", "time", "when the answer came"),
        Column("latency_s", "float", "seconds it took; a wrapper's are stored on its first call only", "no times"),
        Column("latency_source", "string", "`span`, `reported` or `timestamps` (bounded by neighbours)", "no times"),
        Column("exit_code", "int", "exit code of a command"),
        Column("parse_source", "string", "`structured`, or `text` when recovered from plain text", NEVER),
        Column("branch", "string", "branch of the trajectory it belongs to", "the trajectory has one branch"),
    ),
)

SCORES = Table(
    "scores",
    "one row per number a grader gave a rollout",
    ("run_id", "rollout_id", "grader"),
    (
        _RUN,
        _SOURCE,
        _ROLLOUT,
        Column("grader", "string", "grader, sub-scores as `grader/part`", NEVER),
        Column("value", "float", "the number", "not a number, NaN or infinite, or not scored"),
        Column("text_value", "string", "value that is not a number"),
        Column("weight", "float", "weight in the reward"),
        Column("passed", "bool", "passed, as the grader says"),
        Column("explanation", "string", "the grader's reasons"),
        Column("kind", "string", "`reward`, `subscore`, `metric`, `assertion` or `label`", NEVER),
        Column("grader_version", "string", "version of the grader"),
    ),
)

ANNOTATIONS = Table(
    "annotations",
    "one row per note a reader left",
    ("run_id", "annotation_id"),
    (
        _RUN,
        _SOURCE,
        _ROLLOUT,
        Column("annotation_id", "string", "id of the note", NEVER),
        Column("message_index", "int", "message it speaks of", "it speaks of the whole rollout"),
        Column("label", "string", "label"),
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
        _RUN,
        _SOURCE,
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
        _RUN,
        _SOURCE,
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
        _RUN,
        _SOURCE,
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
        _RUN,
        _SOURCE,
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
