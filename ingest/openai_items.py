"""One output item of OpenAI Evals → one rollout with its messages, calls, scores and sample.

The spec's required fields are often absent in real items (RFT items have no usage, saved exports lose more), so
nothing is validated: what is there is read, what is not is NULL.
"""

import re
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from ingest.dialects import Conversation, Values, chat, prompt_hash, prompt_text
from ingest.openai_scores import ending_of, passed_of, reward_of, sample_text, scores_of
from ingest.openai_trace import Trace, prompt_messages, read_trace, spans_of, usage_tokens
from ingest.reading import dump_json, seconds_between, text, timestamp

_STEP = re.compile(r"\s*step[\s_-]*(\d{1,12})\s*", re.I)
_RUNTIME_KEYS = frozenset({"messages", "tools", "parallel_tool_calls", "trace", "input"})
_CLUSTER_KEYS = ("cluster_key", "cluster", "document_id", "doc_id", "repository", "repo")


@dataclass(frozen=True, slots=True)
class EvalRun:
    """The eval run an item belongs to, as far as it is known."""

    run_id: str | None = None
    eval_id: str | None = None
    name: str | None = None
    model: str | None = None
    is_name_guessed: bool = False
    """The name was taken from the file's or folder's name."""

    @property
    def step(self) -> int | None:
        """The training step an RFT job's validation run was made at: its name is `Step N`; None for other runs."""
        return step_of(self.name)


def step_of(name: str | None) -> int | None:
    """N of a name `Step N`, else None."""
    match = _STEP.fullmatch(name) if name else None
    return int(match[1]) if match else None


def is_item(value: Any) -> bool:
    """Whether an object is an output item (saved exports lose the `object` field)."""
    if not isinstance(value, dict):
        return False
    if value.get("object") == "eval.run.output_item":
        return True
    return "object" not in value and "datasource_item" in value and ("results" in value or "sample" in value)


def rollout(item: Values, run: EvalRun, raw_ref: str, position: int) -> Values:
    """The fields of the `Rollout` that one output item is."""
    row = item.get("datasource_item")
    row = row if isinstance(row, dict) else {}
    sample = item.get("sample")
    sample = sample if isinstance(sample, dict) else {}
    prompt = _prompt(row, sample)
    spans = spans_of(item)
    trace = read_trace(spans, prompt) if spans else None
    talk = trace.talk if trace else _untraced(prompt, sample)
    scores = scores_of(item.get("results"))
    values: Values = {
        "native_id": text(item.get("id")),
        "step": run.step,
        "split": "valid" if run.step is not None else None,
        "model": text(sample.get("model")) or (trace.model if trace else None) or run.model,
        "reward": reward_of(scores),
        "passed": passed_of(item),
        "grader_version": scores[0]["grader_version"] if len(scores) == 1 else None,
        "tools_version": _hash(row.get("tools")) if row.get("tools") else None,
        "final_answer": _final_answer(trace, sample),
        "raw_ref": raw_ref,
        "position": position,
        **_sample_id(item, row),
        **ending_of(item, sample, trace, scores),
        **_tokens(trace, sample),
        **_times(trace),
    }
    if values["sample_id"] is not None and run.run_id is not None:
        values["group_id"] = f"{run.run_id}/{values['sample_id']}"
    values["metadata"] = dump_json(_metadata(item, sample, run, trace))
    known = bool(talk.messages)
    return {
        "values": values,
        "messages": talk.messages if known else None,
        "tool_calls": talk.tool_calls if known else [],
        "scores": scores,
        "sample": _sample(row, prompt) if row else None,
    }


def _prompt(row: Values, sample: Values) -> list[Any]:
    for messages in (row.get("messages"), sample.get("input"), row.get("input")):
        if isinstance(messages, list) and messages:
            return messages
    single = row.get("input")
    return [{"role": "user", "content": single}] if isinstance(single, str) and single else []


def _untraced(prompt: list[Any], sample: Values) -> Conversation:
    talk = prompt_messages(prompt)
    output = sample.get("output")
    if isinstance(output, str) and output:
        output = [{"role": "assistant", "content": output}]
    return chat(output, talk, is_sampled=True) if isinstance(output, list) and output else talk


def _hash(value: Any) -> str:
    return blake2b((dump_json(value) or "").encode("utf-8", "replace"), digest_size=8).hexdigest()


def _sample_id(item: Values, row: Values) -> Values:
    native = item.get("datasource_item_id")
    if native is not None and not isinstance(native, dict | list):
        return {"sample_id": text(native), "sample_id_source": "native"}
    stable = {key: value for key, value in row.items() if key != "trace"}
    if not stable:
        return {"sample_id": None, "sample_id_source": None}
    return {"sample_id": _hash(stable), "sample_id_source": "item_hash"}


def _final_answer(trace: Trace | None, sample: Values) -> str | None:
    if trace is not None and trace.num_generations:
        return trace.final_text
    return sample_text(sample)


def _tokens(trace: Trace | None, sample: Values) -> Values:
    """Sums over the model's calls where every one reports its usage, else what the sample reports."""
    usages = trace.usages if trace is not None else []
    if not usages or trace is None or len(usages) < trace.num_generations:
        return usage_tokens(sample.get("usage"))
    names = sorted(set().union(*usages))
    sums = {name: sum(usage[name] for usage in usages) for name in names if all(name in usage for usage in usages)}
    context = usages[-1].get("input_tokens", 0) + usages[-1].get("output_tokens", 0)
    return {**sums, "context_tokens": context}


def _times(trace: Trace | None) -> Values:
    if trace is None:
        return {}
    return {
        "started_at": trace.started_at,
        "ended_at": trace.ended_at,
        "latency_s": seconds_between(trace.started_at, trace.ended_at),
        "model_latency_s": trace.model_latency_s,
    }


def _metadata(item: Values, sample: Values, run: EvalRun, trace: Trace | None) -> Values | None:
    graded = sample_text(sample)
    found: Values = {
        "eval_id": text(item.get("eval_id")) or run.eval_id,
        "eval_run_id": run.run_id,
        "eval_run_name": run.name,
        "created_at": timestamp(item.get("created_at")),
        **{key: sample.get(key) for key in ("temperature", "top_p", "seed", "max_completion_tokens")},
    }
    if trace is not None:
        found["trace_id"] = trace.trace_id
        found["refused_recipients"] = trace.refused or None
        found["unrecorded_turns"] = trace.num_unrecorded_turns or None
        found["skipped_spans"] = trace.num_bad_spans or None
        if graded is not None and trace.final_text is not None and graded != trace.final_text:
            found["graded_answer"] = graded
    return {key: value for key, value in found.items() if value is not None} or None


def _sample(row: Values, prompt: list[Any]) -> Values:
    talk = prompt_messages(prompt)
    said = {message["text"] for message in talk.messages}
    rest = {key: each for key, each in row.items() if key not in _RUNTIME_KEYS and not _repeats(each, said)}
    tools = row.get("tools")
    names = [name for each in tools if (name := _tool(each))] if isinstance(tools, list) else None
    about = {"tools": names, "parallel_tool_calls": row.get("parallel_tool_calls")}
    return {
        "prompt_text": prompt_text(talk.messages),
        "prompt_hash": prompt_hash(talk.messages) if talk.messages else None,
        "reference": text(next(iter(rest.values())) if len(rest) == 1 else rest) if rest else None,
        "cluster_key": next((text(row[key]) for key in _CLUSTER_KEYS if isinstance(row.get(key), str | int)), None),
        "metadata": dump_json({key: each for key, each in about.items() if each is not None} or None),
    }


def _repeats(value: Any, said: set[Any]) -> bool:
    return isinstance(value, str) and value in said


def _tool(value: Any) -> str | None:
    inner = value.get("function", value) if isinstance(value, dict) else None
    return text(inner.get("name")) if isinstance(inner, dict) else None
