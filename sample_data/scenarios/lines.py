"""The vocabulary of all scenarios: tasks, a rollout as it is being told, and the runs that rollouts make up.

Writes lines of the neutral format and knows neither a domain nor a file.
"""

import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from sample_data.agent import iso
from sample_data.scenarios.chance import Rng

Line = dict[str, Any]

START = datetime(2026, 4, 6, 7, 0, tzinfo=UTC)
STEP_TIME = timedelta(minutes=14)
TAGS = ["synthetic", "case study"]
BASE_MODEL = "base-model"
DIED = 0.01
"""Chance that a training rollout ends in an infrastructure failure, whatever it was doing: it is not scored."""


@dataclass(frozen=True)
class Task:
    """A sample: what is asked, and how it fares (hidden from the agent) before and after training."""

    sample_id: str
    prompt: str
    level: float
    tuned: float
    z: float
    reference: Any = None
    cluster: str | None = None
    tags: tuple[str, ...] = ()
    about: Line = field(default_factory=dict)

    def at(self, progress: float) -> float:
        """How well it is solved after so much of the training, 0 to 1."""
        return self.level + progress * (self.tuned - self.level)


Attempt = Callable[[Task, float, int | None, Rng], Line]
"""One rollout of a task, by how far training has come (0–1) and at which step (None: an evaluation)."""


@dataclass(frozen=True)
class Call:
    """A tool call with its answer. `error` is the kind of its failure, None where it went well."""

    tool: str
    arguments: Line
    output: str
    seconds: float = 0.8
    error: str | None = None


class Talk:
    """A rollout as it is being told: messages, calls, and a clock for every agent."""

    def __init__(self, system: str, prompt: str) -> None:
        self.messages: list[Line] = [{"role": "system", "content": system}, {"role": "user", "content": prompt}]
        self.calls: list[Line] = []
        self._times: list[tuple[float, float]] = []
        self._clocks: dict[str | None, float] = {None: 0.0}
        self._prompts: list[int] = []
        self._counted, self._length = 0, 0

    def say(self, text: str, *, agent: str | None = None, thinking: float = 4.0) -> None:
        """A turn without calls."""
        self._turn(text, [], agent, thinking)

    def call(self, *calls: Call, text: str | None = None, agent: str | None = None, thinking: float = 4.0) -> None:
        """A turn with calls, which run in parallel, and their answers."""
        began = self._turn(text, calls, agent, thinking)
        for number, call in enumerate(calls, len(self.calls) - len(calls)):
            self._times[number] = (began, call.seconds)
            self.messages.append(
                {"role": "tool", "tool_call_id": f"c{number}", "name": call.tool, "content": call.output}
            )
        self._clocks[agent] = began + max(call.seconds for call in calls)

    def user(self, text: str, after: float = 6.0) -> None:
        """The person at the other end goes on."""
        self.messages.append({"role": "user", "content": text})
        self._clocks[None] += after

    def meet(self) -> None:
        """Every agent waits for the slowest."""
        self._clocks = dict.fromkeys(self._clocks, self.seconds)

    @property
    def seconds(self) -> float:
        """How long it has taken so far."""
        return max(self._clocks.values())

    def _turn(self, text: str | None, calls: Sequence[Call], agent: str | None, thinking: float) -> float:
        """Append an assistant's message; returns when its calls are sent."""
        self._length += sum(len(each["content"] or "") for each in self.messages[self._counted :])
        self._counted = len(self.messages)
        self._prompts.append(self._length // 4)
        asked = []
        for call in calls:
            arguments = json.dumps(call.arguments)
            asked.append({"id": f"c{len(self.calls)}", "function": {"name": call.tool, "arguments": arguments}})
            self.calls.append({"id": f"c{len(self.calls)}", "error": call.error is not None})
            if call.error:
                self.calls[-1]["error_kind"] = call.error
            self._times.append((0.0, 0.0))
        written = len(text or "") + sum(len(each["function"]["arguments"]) + 40 for each in asked)
        message: Line = {"role": "assistant", "content": text, "output_tokens": written // 4}
        if asked:
            message["tool_calls"] = asked
        if agent:
            message["agent"] = agent
            for call_line in self.calls[len(self.calls) - len(calls) :]:
                call_line["agent"] = agent
        self.messages.append(message)
        began = self._clocks.get(agent, self._clocks[None]) + thinking
        self._clocks[agent] = began
        return began

    def line(
        self,
        *,
        reward: float | None,
        latency: float | None = None,
        output_tokens: float | None = None,
        **values: Any,
    ) -> Line:
        """The rollout as a line. Its times are stretched to `latency`, seconds; what is not text is reasoning."""
        stretch = 1.0 if latency is None else latency / self.seconds
        calls = [
            {**call, "started_at": began * stretch, "latency_s": round(took * stretch, 3)}
            for call, (began, took) in zip(self.calls, self._times, strict=True)
        ]
        written = sum(each.get("output_tokens", 0) for each in self.messages)
        total = max(written, round(output_tokens if output_tokens is not None else 3 * written))
        return {
            "status": "completed",
            "stop_reason": "final answer",
            **values,
            "reward": None if reward is None else round(reward, 4),
            "input_tokens": sum(self._prompts),
            "output_tokens": total,
            "reasoning_tokens": total - written,
            "ended_at": self.seconds * stretch,
            "messages": self.messages,
            "tool_calls": calls,
        }


def placed(line: Line, start: datetime, **values: Any) -> Line:
    """A line with its seconds as times from `start`, and with what the run says of it."""
    calls = [{**each, "started_at": iso(start + timedelta(seconds=each["started_at"]))} for each in line["tool_calls"]]
    times = {"started_at": iso(start), "ended_at": iso(start + timedelta(seconds=line["ended_at"]))}
    return {**values, **line, **times, "tool_calls": calls}


def score(grader: str, value: float, kind: str = "subscore", **values: Any) -> Line:
    """What one grader says of a rollout."""
    return {"grader": grader, "value": round(float(value), 4), "kind": kind, **values}


def run_line(run: str, kind: str, **about: Any) -> Line:
    """What is known of a run."""
    return {
        "type": "run",
        "run": run,
        "kind": kind,
        "provider": "synthetic",
        "base_model": BASE_MODEL,
        "tags": TAGS,
        **about,
    }


def sample_lines(run: str, environment: str, tasks: Sequence[Task]) -> Iterator[Line]:
    """The data set of a run."""
    for task in tasks:
        yield {
            "type": "sample",
            "run": run,
            "sample_id": task.sample_id,
            "environment": environment,
            "prompt": task.prompt,
            "reference": task.reference,
            "cluster_key": task.cluster,
            "tags": list(task.tags),
            "metadata": {"synthetic": True},
        }


def evaluation(
    run: str,
    tasks: Sequence[Task],
    attempt: Attempt,
    rng: Rng,
    *,
    progress: float = 0.0,
    attempts: int = 4,
    kind: str = "evaluation",
    split: str = "valid",
    days: float = 0.0,
    **about: Any,
) -> Iterator[Line]:
    """Several attempts at every task, of a model that is so far trained; `days` after the start of everything."""
    environment = run.partition("-")[0]
    yield run_line(run, kind, **about)
    yield from sample_lines(run, environment, tasks)
    model = about.get("model", BASE_MODEL)
    for number in range(attempts):
        for place, task in enumerate(tasks):
            start = START + timedelta(days=days, seconds=5 * (number * len(tasks) + place))
            values = {"run": run, "sample_id": task.sample_id, "environment": environment, "attempt": number}
            yield placed(attempt(task, progress, None, rng), start, **values, split=split, model=model)


@dataclass(frozen=True)
class Job:
    """A training run: how many steps, how many groups of how many attempts each, and how often it is validated."""

    run: str
    steps: int = 20
    valid_every: int = 5
    groups: int = 3
    attempts: int = 4
    half: float = 4.0
    reached: float = 1.0

    def progress(self, step: int) -> float:
        """How far training has come: half of the way after `half` steps, `reached` at the last."""
        return self.reached * (1 - 0.5 ** (step / self.half)) / (1 - 0.5 ** (self.steps / self.half))


def training(
    job: Job, valid: Sequence[Task], train: Sequence[Task], attempt: Attempt, rng: Rng, **about: Any
) -> Iterator[Line]:
    """Train batches and validation by step, with the trainer's metrics, events and checkpoints."""
    environment, tuned = job.run.partition("-")[0], f"ft:{job.run}"
    ended = START + STEP_TIME * (job.steps + 1)
    settings = {"batch_size": job.groups, "attempts": job.attempts, "eval_interval": job.valid_every}
    settings |= about.pop("hyperparameters", {})
    times = {"status": "succeeded", "started_at": iso(START), "ended_at": iso(ended)}
    yield run_line(job.run, "training", model=tuned, hyperparameters=settings, **times, **about)
    yield from sample_lines(job.run, environment, [*valid, *train])
    yield _event(job.run, 0, "created", f"Job created on {BASE_MODEL}", START)
    for step in range(job.steps + 1):
        begun = START + STEP_TIME * step
        model = tuned if step else BASE_MODEL
        values = {"run": job.run, "environment": environment, "step": step, "model": model}
        batch = list(_validation(job, step, begun, valid, attempt, rng, values)) if step % job.valid_every == 0 else []
        if step < job.steps:
            batch += _train_batch(job, step, begun, train, attempt, rng, values)
        yield from batch
        yield _metrics(job, step, begun + STEP_TIME, batch, rng)
        if step and step % job.valid_every == 0:
            saved = {"checkpoint_id": f"{job.run}-step-{step}", "model": f"{tuned}:step-{step}"}
            yield {"type": "checkpoint", "run": job.run, "step": step, **saved, "created_at": iso(begun + STEP_TIME)}
    yield _event(job.run, job.steps, "succeeded", "Job succeeded", ended)


def _validation(
    job: Job, step: int, begun: datetime, valid: Sequence[Task], attempt: Attempt, rng: Rng, values: Line
) -> Iterator[Line]:
    for place, task in enumerate(valid):
        line = attempt(task, job.progress(step), step, rng)
        start = begun + timedelta(seconds=place)
        yield placed(line, start, **values, sample_id=task.sample_id, split="valid", attempt=0)


def _train_batch(
    job: Job, step: int, begun: datetime, train: Sequence[Task], attempt: Attempt, rng: Rng, values: Line
) -> list[Line]:
    """Groups of attempts with their advantages; a group whose attempts are all alike teaches nothing."""
    batch = []
    for position, which in enumerate(rng.permutation(len(train))[: job.groups]):
        task, start = train[int(which)], begun + timedelta(seconds=180 + position)
        own = {"sample_id": task.sample_id, "split": "train", "group_id": f"{step}-{position}"}
        group = []
        for number in range(job.attempts):
            line = attempt(task, job.progress(step), step, rng)
            if rng.random() < DIED:
                line = died(line)
            group.append(placed(line, start, **values, **own, attempt=number))
        rewards = [line["reward"] for line in group if line["reward"] is not None]
        mean = math.fsum(rewards) / max(len(rewards), 1)
        is_mixed = bool(rewards) and max(rewards) > min(rewards)
        for line in group:
            line["subset"] = "effective" if is_mixed and line["reward"] is not None else "all"
            line["advantage"] = None if line["reward"] is None else round(line["reward"] - mean, 4)
        batch += group
    return batch


def died(line: Line) -> Line:
    """The rollout had its machine died before it answered: nothing is graded."""
    said = line["messages"]
    lost = {"status": "infra_error", "stop_reason": "sandbox died", "reward": None, "passed": None, "scores": []}
    error = {"error_type": "SandboxError", "error_message": "the sandbox did not answer for 60 s"}
    return {**line, **lost, **error, "messages": said[:-1] if said[-1]["role"] == "assistant" else said}


def _metrics(job: Job, step: int, at: datetime, batch: Sequence[Line], rng: Rng) -> Line:
    """What the trainer reports of a step: means over its scored rollouts."""
    metrics: dict[str, float] = {}
    for split in ("train", "valid"):
        rewards = [line["reward"] for line in batch if line["split"] == split and line["reward"] is not None]
        if rewards:
            metrics[f"{split}_reward_mean"] = round(math.fsum(rewards) / len(rewards), 6)
    metrics["kl"] = round(0.002 + 0.04 * job.progress(step) + abs(float(rng.normal(0, 0.002))), 5)
    metrics["entropy"] = round(0.9 - 0.3 * job.progress(step) + float(rng.normal(0, 0.01)), 5)
    return {"type": "metric", "run": job.run, "step": step, "recorded_at": iso(at), "metrics": metrics}


def _event(run: str, step: int, kind: str, message: str, at: datetime) -> Line:
    return {
        "type": "event",
        "run": run,
        "event_id": f"{run}-{step}-{kind}",
        "event_type": kind,
        "step": step,
        "level": "info",
        "message": message,
        "created_at": iso(at),
    }
