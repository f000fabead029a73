"""A verifiers v1 episode as rollouts; shared by the sources `verifiers` and `prime_rl`.

The library's own models are locked to their version, so records are read as plain JSON.
One rollout per trace. An episode without traces failed before it began: a rollout of its own, `infra_error`, reward
NULL. Reward: sum of score × weight over the rewards that were scored (null = not scored, never 0).

| how a trace ended | status |
|---|---|
| deadline of boot, setup, agent or finalize; error; no trace at all | `infra_error` |
| deadline of scoring; task-authored code failed after the agent was done | `grader_error` |
| `max_turns`, `max_…_tokens`, `compaction_failed`, or the last answer was cut off by its length | `truncated` |
| otherwise, where the record says that it is complete | `completed` |
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ingest.dialects import chat
from ingest.reading import dump_json, number, odd_score, seconds_between, text, timestamp, whole
from ingest.sources.base import NOT_SCORED, Record, Reject, Rollout, Values
from ingest.sources.verifiers_folder import model_of
from ingest.sources.verifiers_trace import (
    TraceReader,
    digest,
    object_of,
    objects_in,
    prompt_of,
    span,
    stamp,
    usage,
)

TRUNCATING = frozenset({"max_turns", "max_input_tokens", "max_output_tokens", "max_total_tokens", "compaction_failed"})
SPLITS = {"train": "train", "eval": "valid"}


@dataclass(frozen=True, slots=True)
class Place:
    """Where an episode stands, and what is said around it of what it leaves out."""

    file: str
    split: str | None = None
    model: str | None = None


def is_record(record: Values) -> bool:
    """Whether an object is an episode or a trace."""
    if isinstance(record.get("traces"), list):
        return "task" in record and not record.keys().isdisjoint({"env", "run", "ok", "errors", "group"})
    return isinstance(record.get("nodes"), list) and not record.keys().isdisjoint({"rewards", "stop_condition"})


def episode(record: Values, offset: int, place: Place) -> Iterator[Record]:
    """Rollouts of one line: an episode, or a bare trace. What is neither is a reject."""
    if isinstance(record.get("nodes"), list) and "traces" not in record:
        record = as_episode(record)
    traces = record.get("traces")
    if not isinstance(traces, list):
        yield Reject("neither an episode nor a trace", str(offset), (dump_json(record) or "")[:200], place.file)
        return
    shared = _shared(record, place)
    if not traces:
        yield _without_trace(record, shared, offset, place)
    for index, trace in enumerate(traces):
        if isinstance(trace, dict):
            made = _trace(trace, record, dict(shared), Position(offset, index, place.file))
            yield made
            if any(score.get("text_value") is not None for score in made.scores):
                yield NOT_SCORED
        else:
            yield Reject("a trace must be an object", f"{offset}#{index}", str(trace)[:200], place.file)


def as_episode(trace: Values) -> Values:
    """A bare trace, with what prime-rl noted in its `info`, as an episode of one trace."""
    noted = object_of(object_of(trace.get("info")).get("prime_rl"))
    environment = noted.get("env_name") or noted.get("env")
    group = noted.get("group_id", noted.get("group"))
    kind = noted.get("kind") or object_of(trace.get("info")).get("kind")
    work = {"type": kind, "step": noted.get("step")}
    return {
        "task": trace.get("task"),
        "env": {"id": environment} if environment else {},
        "group": {"id": group} if group is not None else None,
        "run": {"work": work} if noted or kind else None,
        "traces": [trace],
    }


@dataclass(frozen=True, slots=True)
class Position:
    """Position of a trace: byte offset of its line, its number in it, and the file."""

    offset: int
    index: int
    file: str

    @property
    def values(self) -> Values:
        """The columns that say so; a trace is longer than a byte, so positions stay apart."""
        return {"raw_ref": f"{self.file}:{self.offset}#{self.index}", "position": self.offset + self.index}


def _shared(record: Values, place: Place) -> Values:
    """What all traces of an episode have in common."""
    run, env = object_of(record.get("run")), object_of(record.get("env"))
    work = object_of(run.get("work"))
    policy = object_of(work.get("policy"))
    kind = work.get("type") or run.get("type")
    return {
        "environment": text(env.get("name") or env.get("id") or None),
        "group_id": text(object_of(record.get("group")).get("id")),
        "step": whole(work.get("step")),
        "split": SPLITS.get(str(kind), place.split),
        "policy_version_start": whole(policy.get("start")),
        "policy_version_end": whole(policy.get("end")),
        "model": place.model,
    }


def _without_trace(record: Values, values: Values, offset: int, place: Place) -> Rollout:
    errors = objects_in(record.get("errors"))
    values |= Position(offset, 0, place.file).values | _error(errors) | _sample_id(record.get("task"))
    values |= {
        "native_id": text(record.get("id")),
        "status": "infra_error",
        "metadata": _metadata({}, record),
    }
    return Rollout(values, None, sample=_sample(object_of(record.get("task")), None))


def _trace(trace: Values, record: Values, values: Values, position: Position) -> Rollout:
    agent = object_of(trace.get("agent"))
    calls, info = objects_in(trace.get("calls")), object_of(trace.get("info"))
    nodes = trace.get("nodes")
    name = text(agent.get("name"))
    talk = TraceReader([object_of(node) for node in nodes] if isinstance(nodes, list) else [], calls, name).read()
    task = object_of(trace.get("task")) or object_of(record.get("task"))
    reward, scores = scores_of(trace.get("rewards"), trace.get("metrics"))
    status = status_of(trace, calls)
    model = model_of(object_of(agent.get("config")))
    called = next((call["model"] for call in reversed(calls) if isinstance(call.get("model"), str)), None)
    values["split"] = values["split"] or SPLITS.get(str(info.get("kind")))
    values |= position.values | _sample_id(task) | tokens_of(calls, talk.messages) | times_of(trace, calls)
    values |= {
        "native_id": text(trace.get("id")),
        "agent": name,
        "host": text(object_of(agent.get("runtime")).get("id")),
        "model": model or called or values["model"],
        "tools_version": digest(dump_json(trace.get("tools") or None)),
        "status": status,
        "stop_reason": text(trace.get("stop_condition")),
        "reward": reward,
        "advantage": number(info.get("advantage")),
        "final_answer": trace["root_reply"] if isinstance(trace.get("root_reply"), str) else None,
        "metadata": _metadata(trace, record),
    }
    if status in ("infra_error", "grader_error"):
        values |= _error(objects_in(trace.get("errors")))
    sample = _sample(task, prompt_of(talk.messages))
    return Rollout(values, talk.messages, talk.tool_calls, scores, sample)


def _error(errors: Sequence[Values]) -> Values:
    last = errors[-1] if errors else {}
    return {"error_type": text(last.get("type")), "error_message": text(last.get("message"))}


def _sample_id(task: Any) -> Values:
    found = object_of(task)
    for key in ("key", "hash"):
        if found.get(key) not in (None, ""):
            return {"sample_id": text(found[key]), "sample_id_source": "native"}
    return {}


def _sample(task: Values, prompt: str | None) -> Values:
    data = object_of(task.get("data"))
    if prompt is None and data.get("prompt") is not None:
        stated = data["prompt"]
        prompt = prompt_of(chat(stated if isinstance(stated, list) else [{"content": stated}]).messages)
    return {
        "prompt_text": prompt,
        "prompt_hash": digest(prompt),
        "reference": text(next((data[key] for key in ("answer", "reference", "target") if data.get(key)), None)),
        "metadata": dump_json({**task, "data": {key: value for key, value in data.items() if key != "prompt"}}),
    }


def _metadata(trace: Values, record: Values) -> str | None:
    run = object_of(record.get("run"))
    agent = object_of(trace.get("agent"))
    found = {
        "episode_id": record.get("id"),
        "episode_ok": record.get("ok"),
        "run": {key: run[key] for key in ("id", "name", "type") if key in run},
        "dispatch_step": object_of(run.get("work")).get("step"),
        "trainable": agent.get("trainable"),
        "verifiers": object_of(trace.get("verifiers")).get("version"),
        "info": {key: value for key, value in object_of(trace.get("info")).items() if key != "advantage"},
        "extra_usage": trace.get("extra_usage"),
        "failed_calls": sum(call.get("error") is not None for call in objects_in(trace.get("calls"))),
    }
    return dump_json({key: value for key, value in found.items() if value not in (None, {}, [], 0) or value is False})


def scores_of(rewards: Any, metrics: Any) -> tuple[float | None, list[Values]]:
    """The reward and the rows of `scores`. A score that is no finite number makes the reward NULL."""
    rows: list[Values] = []
    total: float | None = None
    is_broken = False
    for name, entry in object_of(rewards).items():
        stated = entry if isinstance(entry, dict) else {"score": entry}
        value, weight = number(stated.get("score")), number(stated.get("weight", 1.0))
        if value is not None and weight is not None:
            total = (total or 0.0) + value * weight
        elif stated.get("score") is not None:
            is_broken = True
        kept = weight if isinstance(entry, dict) else None
        odd = odd_score(stated.get("score"))
        said = {} if odd is None else {"text_value": odd}
        rows.append({"grader": name, "value": value, "weight": kept, "kind": "subscore", **said})
    taken = {row["grader"] for row in rows}
    for name, entry in object_of(metrics).items():
        grader = f"metrics/{name}" if name in taken else name
        rows.append({"grader": grader, "value": number(entry), "kind": "metric"})
    return None if is_broken else total, rows


def status_of(trace: Values, calls: Sequence[Values]) -> str | None:
    """How a trace ended, by the table above; None where nothing says so."""
    stop, errors = text(trace.get("stop_condition")) or "", objects_in(trace.get("errors"))
    if stop == "scoring_timeout":
        return "grader_error"
    if trace.get("is_timeout") is True or stop.endswith("_timeout"):
        return "infra_error"
    if trace.get("ok") is not True and (errors or stop == "error" or stop.endswith("_error")):
        was_done = span(object_of(trace.get("timing")).get("agent"))[1] is not None
        is_task = bool(errors) and errors[-1].get("type") == "TaskError"
        return "grader_error" if is_task and was_done else "infra_error"
    last = next((call for call in reversed(calls) if call.get("error") is None), {})
    if stop in TRUNCATING or last.get("finish_reason") == "length":
        return "truncated"
    return "completed" if trace.get("ok") is True or trace.get("is_completed") is True else None


def tokens_of(calls: Sequence[Values], messages: Sequence[Values]) -> Values:
    """Token sums over all model calls; counted from token ids where no call reports its usage."""
    stated = [(object_of(call.get("usage")), usage(call.get("usage"))) for call in calls]
    reported = [found for _, found in stated if found]
    if not reported:
        reported = [row for row in messages if row.get("is_sampled") and row.get("output_tokens") is not None]
        if len(reported) != sum(row.get("is_sampled") is True for row in messages):
            return {}
    values = {name: _sum(row.get(name) for row in reported) for name in ("output_tokens", "reasoning_tokens")}
    inputs = [row.get("input_tokens") for row in reported]
    values["input_tokens"] = _sum(inputs) if None not in inputs else None
    values["cached_tokens"] = _sum(whole(found.get("cached_input_tokens")) for found, kept in stated if kept)
    values["cost_usd"] = _sum(number(found.get("cost")) for found, _ in stated)
    if reported and inputs[-1] is not None and reported[-1].get("output_tokens") is not None:
        values["context_tokens"] = inputs[-1] + reported[-1]["output_tokens"]
    return values


def _sum(found: Any) -> Any:
    kept = [value for value in found if value is not None]
    return sum(kept) if kept else None


def times_of(trace: Values, calls: Sequence[Values]) -> Values:
    """First start and last end of anything in a trace, and the seconds the model and the grading took."""
    timing = object_of(trace.get("timing"))
    phases = [span(value) for value in timing.values() if isinstance(value, dict)]
    model = [span(call.get("time")) for call in calls]
    stamps = [stamp(node) for node in objects_in(trace.get("nodes"))]
    started = [start for start, _ in phases + model] + [timestamp(number(timing.get("start"))), *stamps]
    ended = [end for _, end in phases + model] + stamps
    first, last = min(_known(started), default=None), max(_known(ended), default=None)
    spent = [seconds for start, end in model if (seconds := seconds_between(start, end)) is not None]
    stated = number(object_of(object_of(timing.get("agent")).get("model")).get("duration"))
    return {
        "started_at": first,
        "ended_at": last if first is not None and last is not None and last >= first else None,
        "latency_s": seconds_between(first, last),
        "model_latency_s": sum(spent) if spent else stated or None,
        "grading_latency_s": seconds_between(*span(timing.get("scoring"))),
    }


def _known(times: Sequence[datetime | None]) -> list[datetime]:
    return [each for each in times if each is not None]
