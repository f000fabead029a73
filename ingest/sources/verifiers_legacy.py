"""Verifiers up to 0.1.x: `results.jsonl`, one rollout per line, beside a `metadata.json`.

Spec: `verifiers.legacy.utils.save_utils` (RolloutOutput). Sample: `outputs/evals/<env>--<model>/<hash>/results.jsonl`;
prime-rl wrote the same rows into `step_N/train_rollouts.jsonl`. Variants read: tool calls as objects or as JSON texts,
timing in milliseconds or as spans in seconds, error null, text or object, metrics in an object or only at top level,
prompt and completion as messages or as text, `rollout_id` `"<example>:<n>"`. A `metrics` object does not say which of
its numbers the reward is made of, so that all of them are stored as metrics. Parquet: `ingest.verifiers_parquet`.

| how a row ended | status |
|---|---|
| an error that says the prompt was too long | `truncated` |
| any other error, or a stop condition that names a timeout | `infra_error` |
| `is_truncated`, or a stop condition that names a limit | `truncated` |
| `is_completed` | `completed` |
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ingest.dialects import Conversation, chat, content_text, from_text
from ingest.errors import UnreadableError
from ingest.parquet_rows import objects as parquet_objects
from ingest.reading import Peek, dump_json, number, odd_score, parse_json, seconds_between, text, timestamp, whole
from ingest.sources.base import NOT_SCORED, Options, Part, Record, Reject, Rollout, Row, Values, objects
from ingest.sources.verifiers_folder import (
    environment_of,
    first_object,
    is_eval,
    metadata_metrics,
    metadata_of,
    model_of,
    pieces,
    run_name,
)
from ingest.sources.verifiers_trace import (
    ROLES,
    digest,
    object_of,
    objects_in,
    prompt_of,
    span,
    told_text,
)
from ingest.token_streams import stream_summary
from ingest.verifiers_parquet import is_rows as is_parquet_rows
from ingest.verifiers_parquet import plain, run_of

NAME = "verifiers_legacy"
TITLE = "verifiers results up to 0.1.x (results.jsonl)"
HINT = "`results.jsonl` with example_id, prompt, completion, reward, metrics"
FILLS = frozenset(
    {"sample", "attempt", "split", "reward", "subscores", "status", "messages", "tool_calls", "tokens", "latency"}
    | {"model", "metrics"}
)
FILE = "results.jsonl"

_KNOWN = frozenset(
    {"example_id", "rollout_id", "prompt", "completion", "answer", "info", "task", "reward", "advantage", "metrics"}
    | {"error", "error_chain", "long_error_chain", "timing", "generation_ms", "scoring_ms", "total_ms", "model"}
    | {"is_completed", "is_truncated", "stop_condition", "tool_defs", "tools", "oai_tools", "token_usage"}
    | {"trajectory", "trajectory_id", "env_id", "env_name", "kind", "schema_version", "id", "step", "step_index"}
)
_LIMIT = re.compile(r"max_|too_long|overlong|budget|length", re.I)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a row stands, and what is said around it of what it leaves out."""

    file: str
    split: str | None = None
    step: int | None = None
    settings: Values = field(default_factory=dict)
    has_unique_ids: bool = True


def matches(peek: Peek) -> bool:
    """A file of rows, or a folder with `results.jsonl`."""
    if peek.is_dir:
        if FILE not in peek.names:
            return False
        inner = Peek(peek.path / FILE)
        settings = metadata_of(peek.path)
        return is_row(first_object(inner)) or (not inner.head and environment_of(settings) is not None)
    return is_parquet_rows(peek.path) if peek.is_parquet else is_row(first_object(peek))


def is_row(record: Values) -> bool:
    """Whether an object is a row of results."""
    keys = record.keys()
    if not {"prompt", "completion"} & keys or {"traces", "nodes"} & keys:
        return False
    return "example_id" in keys or ({"prompt", "completion", "reward"} <= keys and bool(_KNOWN & keys - _COMMON))


_COMMON = frozenset(
    {
        "prompt",
        "completion",
        "reward",
        "answer",
        "id",
        "model",
        "task",
        "kind",
        "advantage",
        "error",
        "tools",
        "metrics",
    }
)


def default_run(path: Path) -> str:
    """The eval: `<env>--<model>--<folder>`."""
    if path.is_file() and Peek(path).is_parquet:
        return run_of(path)
    return run_name(path, frozenset({FILE}))


def split(path: Path) -> Sequence[Part]:
    """The one file, a big one in pieces."""
    if path.is_file() and Peek(path).is_parquet:
        return (Part(path),)
    return pieces(path / FILE if path.is_dir() else path)


def read(part: Part, options: Options) -> Iterator[Record]:
    """Yield the run, what its metadata reports, then one rollout per row.

    Raises:
        UnreadableError: The file cannot be read, or is damaged.
    """
    file = part.path / FILE if part.path.is_dir() else part.path
    if not file.is_file():
        raise UnreadableError(f"{file}: there is no such file")
    if Peek(file).is_parquet:
        yield from _parquet(file)
        return
    settings = metadata_of(file.parent)
    if part.start == 0 and (settings or file.name == FILE):
        yield _run(settings)
        yield from metadata_metrics(settings)
    is_an_eval = file.name == FILE or is_eval(file.parent) or bool(settings)
    place = Place(file.name, "valid" if is_an_eval else None, settings=settings)
    for found in objects(Part(file, part.start, part.end)):
        if isinstance(found, Reject):
            found.file = file.name
            yield found
        else:
            yield from records(found[1], found[0], place)


def _parquet(file: Path) -> Iterator[Record]:
    """Rollouts of a Parquet file: without a step it is an eval that was pushed."""
    for found in parquet_objects(file, file.name):
        if isinstance(found, Reject):
            yield found
            continue
        record = plain(found[1])
        home = text(record.pop("run_id", None))
        for made in records(record, found[0], Place(file.name, None if "step" in record else "valid")):
            if isinstance(made, Rollout):
                made.run = home
            yield made


def _run(settings: Values) -> Row:
    version = object_of(settings.get("version_info"))
    kept = {key: value for key, value in settings.items() if not key.startswith(("avg_", "pass_"))}
    numbers = ("num_examples", "rollouts_per_example", "sampling_args", "env_args")
    values = {
        "kind": "evaluation",
        "provider": "verifiers",
        "source_format": NAME,
        "model": model_of(settings),
        "created_at": timestamp(settings.get("date")),
        "reward_name": "reward",
        "hyperparameters": dump_json({key: kept.pop(key) for key in numbers if key in kept} or None),
        "config": dump_json(kept or None),
        "code_reference": text(version.get("vf_commit") or version.get("verifiers") or version.get("vf_version")),
    }
    return Row("runs", values)


def records(record: Values, offset: int, place: Place) -> Iterator[Record]:
    """The rollout of one row, and what is to be said of it."""
    yield row(record, offset, place)
    if odd_score(record.get("reward")) is not None:
        yield NOT_SCORED


def row(record: Values, offset: int, place: Place) -> Record:
    """The rollout of one row; an object with none of a row's fields is a reject."""
    if not {"prompt", "completion", "example_id"} & record.keys():
        reason = "no verifiers row: neither prompt, completion nor example_id"
        return Reject(reason, str(offset), (dump_json(record) or "")[:200], place.file)
    talk = _conversation(record)
    _per_turn(record, talk)
    prompt = prompt_of(talk.messages) if record.get("prompt") is not None else None
    environment = text(record.get("env_name") or record.get("env_id")) or environment_of(place.settings)
    task = record.get("task")
    if environment is None and isinstance(task, str) and task != "default":
        environment = task
    values: Values = {
        **_identity(record, prompt, place),
        "environment": environment,
        "step": place.step if place.step is not None else whole(record.get("step", record.get("step_index"))),
        "split": place.split,
        "model": model_of(record) or model_of(place.settings),
        "tools_version": digest(text(record.get("tool_defs") or record.get("oai_tools") or None)),
        **status_of(record),
        "stop_reason": text(record.get("stop_condition")),
        "reward": number(record.get("reward")),
        "advantage": number(record.get("advantage")),
        **_tokens(record),
        **times_of(record),
        "raw_ref": f"{place.file}:{offset}",
        "position": offset,
    }
    scores, extras = _scores(record, place.settings)
    kept = {
        key: value for key, value in record.items() if key in extras or key in ("info", "timing", "task", "error_chain")
    }
    kept["reward"] = odd_score(record.get("reward"))
    values["metadata"] = dump_json({key: value for key, value in kept.items() if value not in (None, {}, [])})
    sample: Values = {"prompt_text": prompt, "prompt_hash": digest(prompt), "reference": text(record.get("answer"))}
    has_messages = record.get("prompt") is not None or record.get("completion") is not None
    return Rollout(values, talk.messages if has_messages else None, talk.tool_calls, scores, sample)


def _identity(record: Values, prompt: str | None, place: Place) -> Values:
    example, rollout_id = record.get("example_id"), text(record.get("rollout_id"))
    values: Values = {"sample_id": text(example), "sample_id_source": "native"}
    if example is None:
        found = digest(prompt)
        values = {"sample_id": found, "sample_id_source": "prompt_hash"} if found else {}
    if rollout_id is not None:
        values["native_id"] = rollout_id if place.has_unique_ids else None
        values["native_attempt"] = whole(rollout_id.rpartition(":")[2]) if ":" in rollout_id else None
    return values


def _conversation(record: Values) -> Conversation:
    """Prompt and completion as one conversation; calls that stand in the prompt are history, told in words."""
    talk = Conversation()
    prompt, completion = _messages(record.get("prompt")), _messages(record.get("completion"))
    if isinstance(prompt, list):
        for message in prompt:
            _supplied(talk, message)
    elif prompt is not None:
        talk.say("user", text(prompt))
    if isinstance(completion, list):
        chat(completion, talk, is_sampled=True)
    elif isinstance(completion, str):
        from_text(completion, talk)
    elif completion is not None:
        talk.say("assistant", text(completion), is_sampled=True)
    return talk


def _messages(value: Any) -> Any:
    """Messages as a list; a list may be written as JSON text, and one message stands for a list of one."""
    if isinstance(value, str) and value.lstrip()[:2] in ("[{", "[]"):
        try:
            value = parse_json(value)
        except ValueError:
            return value
    return [value] if isinstance(value, dict) else value


def _supplied(talk: Conversation, message: Any) -> None:
    entry = message if isinstance(message, dict) else {"content": message}
    role = str(entry.get("role") or "user")
    role = ROLES.get(role, role)
    if role == "assistant":
        talk.say("assistant", told_text(entry), is_sampled=False)
    else:
        role = role if role in ("system", "user", "tool") else "user"
        row_of = talk.say(role, content_text(entry.get("content")))
        if role == "tool":
            row_of |= {"tool_call_id": text(entry.get("tool_call_id")), "tool": text(entry.get("name"))}


def _per_turn(record: Values, talk: Conversation) -> None:
    """Tokens, times, rewards and log-probabilities of each turn, where one entry stands for every sampled message."""
    sampled = [message for message in talk.messages if message["role"] == "assistant" and message.get("is_sampled")]
    steps = objects_in(record.get("trajectory"))
    if len(steps) == len(sampled):
        for message, step in zip(sampled, steps, strict=True):
            usage = object_of(object_of(step.get("response")).get("usage"))
            message["input_tokens"] = whole(usage.get("prompt_tokens")) or None
            message["output_tokens"] = whole(usage.get("completion_tokens")) or None
            message["turn_reward"] = number(step.get("reward"))
            message |= stream_summary({"logprobs": object_of(step.get("tokens")).get("completion_logprobs")})
    spans = objects_in(object_of(object_of(record.get("timing")).get("model")).get("spans"))
    if len(spans) == len(sampled):
        for message, each in zip(sampled, spans, strict=True):
            message["started_at"], message["ended_at"] = span(each)
            message["latency_s"] = _duration(each)


def status_of(record: Values) -> Values:
    """Status, error type and error text of a row, by the table above."""
    error, stop = record.get("error"), text(record.get("stop_condition")) or ""
    found: Values = {}
    if isinstance(error, dict):
        said = error.get("message") or error.get("error_chain_str") or error.get("error_chain_repr")
        found = {"error_type": text(error.get("error")), "error_message": text(said)}
    elif error not in (None, "", False):
        message = text(error) or ""
        kind = re.match(r"[A-Za-z_][\w.]*(?=[:(]|$)", message)
        found = {"error_type": kind[0] if kind else "error", "error_message": message}
    if found:
        too_long = re.search(r"overlong|too.?long", found["error_type"] or "", re.I)
        return {**found, "status": "truncated" if too_long else "infra_error"}
    if "timeout" in stop:
        return {"status": "infra_error"}
    if record.get("is_truncated") is True or _LIMIT.search(stop):
        return {"status": "truncated"}
    return {"status": "completed" if record.get("is_completed") is True else None}


def _scores(record: Values, settings: Values) -> tuple[list[Values], set[str]]:
    """Rows of `scores`, and the other fields that a row carries beside the known ones.

    Old rows hold their metrics only at top level, among columns of the state: numbers that the metadata does not list
    as such columns are metrics.
    """
    metrics = record.get("metrics")
    extras = {key for key in record if key not in _KNOWN}
    if not isinstance(metrics, dict):
        columns = settings.get("state_columns")
        columns = columns if isinstance(columns, list) else []
        metrics = {key: record[key] for key in sorted(extras) if key not in columns and _is_number(record[key])}
    extras = {key for key in extras if key not in metrics}
    rows = [{"grader": name, "value": number(value), "kind": "metric"} for name, value in metrics.items()]
    return rows, extras


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _tokens(record: Values) -> Values:
    """Token sums; 0 in and 0 out means not reported."""
    usage = object_of(record.get("token_usage"))
    given, made = whole(usage.get("input_tokens")), whole(usage.get("output_tokens"))
    if not given and not made:
        return {}
    final = [whole(usage.get(name)) for name in ("final_input_tokens", "final_output_tokens")]
    context = sum(each or 0 for each in final) if final[0] is not None else None
    return {"input_tokens": given, "output_tokens": made, "context_tokens": context}


def times_of(record: Values) -> Values:
    """Start, end and seconds of a row, from spans in seconds or from the older milliseconds."""
    timing = object_of(record.get("timing")) or record
    if "total_ms" in timing or "generation_ms" in timing:
        total = number(timing.get("total_ms"))
        if total is None and number(timing.get("generation_ms")) is not None:
            total = (number(timing.get("generation_ms")) or 0.0) + (number(timing.get("scoring_ms")) or 0.0)
        scoring = number(timing.get("scoring_ms"))
        return {"latency_s": _seconds(total), "grading_latency_s": _seconds(scoring)}
    phases = [span(timing.get(name)) for name in ("setup", "generation", "scoring")]
    starts = [start for start, _ in phases if start] + [timestamp(number(timing.get("start_time")))]
    first = min((each for each in starts if each is not None), default=None)
    last = max((end for _, end in phases if end), default=None)
    models = objects_in(object_of(timing.get("model")).get("spans"))
    spent = [seconds for each in models if (seconds := _duration(each)) is not None]
    latency = seconds_between(first, last)
    return {
        "started_at": first,
        "ended_at": last,
        "latency_s": latency if latency is not None else number(timing.get("total")),
        "model_latency_s": sum(spent) if spent else None,
        "grading_latency_s": _duration(timing.get("scoring")),
    }


def _seconds(milliseconds: float | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1000.0


def _duration(value: Any) -> float | None:
    stated = number(object_of(value).get("duration"))
    return stated if stated is not None else seconds_between(*span(value))
