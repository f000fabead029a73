"""The agent of the synthetic sample data: its samples, its policy, and one rollout of it. Knows no run and no file."""

import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import numpy as np

CALL_BUDGET = 10
NUM_REPORTS = 2_800
PASS_THRESHOLD = 0.7

Line = dict[str, Any]

SECTORS = ("retail", "energy", "software", "health", "transport", "materials", "media", "banking")
METRICS = ("operating margin", "net revenue", "free cash flow", "interest expense", "capital expenditure", "headcount")
FILLER = (
    "segment results reflect lower freight costs partly offset by currency effects while deferred items were "
    "reclassified between periods and the comparative figures have been restated for the change in presentation"
)
SYSTEM = (
    "You answer questions about annual reports. Tools: search(query), list(folder), cat(path, offset). "
    f"At most {CALL_BUDGET} tool calls. End with the number and the report it stands in."
)


@dataclass(frozen=True)
class Policy:
    """How far training has come: 0 untuned, 1 fine-tuned; calls are learned faster than reward."""

    reward: float
    calls: float


UNTUNED, TUNED = Policy(0.0, 0.0), Policy(1.0, 1.0)


@dataclass(frozen=True)
class Sample:
    """A question about one report, and how the agent fares on it (hidden from the agent)."""

    sample_id: str
    company: str
    sector: str
    metric: str
    year: int
    answer: float
    level: float
    gain: float
    spread: float
    calls: float

    @property
    def folder(self) -> str:
        """Folder of the company's reports."""
        return f"/reports/{self.sector}/{self.company}"

    @property
    def report(self) -> str:
        """The report that holds the answer."""
        return f"{self.folder}/{self.year}-annual.txt"

    @property
    def question(self) -> str:
        """The question as the agent sees it."""
        return f"What was the {self.metric} of {self.company} in {self.year}, in millions?"


def policy_at(step: int) -> Policy:
    """The policy after so many optimizer updates."""
    return Policy(1 - float(np.exp(-step / 17)), 1 - float(np.exp(-step / 4)))


def samples(prefix: str, count: int, rng: np.random.Generator) -> list[Sample]:
    """Samples with fixed difficulty: most always fail or always succeed, about 15 % vary between attempts."""
    kinds = np.array(["low"] * round(count * 0.40) + ["varied"] * round(count * 0.15))
    kinds = np.concatenate([kinds, np.array(["high"] * (count - len(kinds)))])
    rng.shuffle(kinds)
    made = []
    for number, kind in enumerate(kinds):
        level = {"low": 0.10 + 0.18 * rng.random(), "varied": 0.50, "high": 0.80 + 0.16 * rng.random()}[str(kind)]
        room = 1.0 - level
        gain = room * (0.76 * rng.random() if rng.random() < 0.57 else 0.10 * rng.random() - 0.06)
        made.append(
            Sample(
                sample_id=f"{prefix}-{number:03d}",
                company=f"company-{rng.integers(0, NUM_REPORTS // 7):03d}",
                sector=str(rng.choice(SECTORS)),
                metric=str(rng.choice(METRICS)),
                year=int(rng.integers(2018, 2025)),
                answer=round(float(rng.lognormal(5, 1)), 1),
                level=float(level),
                gain=float(gain),
                spread=0.34 if kind == "varied" else 0.02,
                calls=float(np.clip(rng.normal(7.2, 1.4), 3, 9.6)),
            )
        )
    return made


def _words(rng: np.random.Generator, count: int) -> str:
    words = FILLER.split()
    start = int(rng.integers(0, len(words)))
    return " ".join(words[(start + step) % len(words)] for step in range(count))


def _output(tool: str, arguments: Line, sample: Sample, rng: np.random.Generator) -> tuple[str, bool]:
    """What a tool answers, and whether it is an error. The same call gives the same answer unless the index moved."""
    if tool == "list":
        return "\n".join(f"{sample.folder}/{year}-annual.txt" for year in range(2018, 2025)), False
    if tool == "search":
        hits = [f"{sample.folder}/{sample.year - back}-annual.txt: {_words(rng, 9)}" for back in range(3)]
        return f"3 of {NUM_REPORTS} reports\n" + "\n".join(hits), False
    if arguments["path"] != sample.report and rng.random() < 0.55:
        return f"Error: no such file: {arguments['path']}", True
    body = f"{sample.company} annual report {sample.year}. {_words(rng, 40)}."
    if arguments["path"] == sample.report and arguments.get("offset", 0):
        body += f" {sample.metric}: {sample.answer}"
    return body, False


def _plan(sample: Sample, policy: Policy, count: int, rng: np.random.Generator) -> list[tuple[str, Line]]:
    """The calls of a rollout: untuned agents search again with slightly other words and guess at paths."""
    plan: list[tuple[str, Line]] = []
    queries = (
        f"{sample.metric} {sample.company} {sample.year}",
        f"{sample.company} {sample.metric} {sample.year} annual",
    )
    for index in range(count):
        last = count - 1 - index
        if last < 2:
            plan.append(("cat", {"path": sample.report, "offset": 400 * (1 - last)}))
        elif index and rng.random() < 0.10 - 0.06 * policy.calls:
            plan.append(plan[int(rng.integers(0, index))])
        elif index and rng.random() < 0.24 - 0.10 * policy.calls:
            guess = f"/reports/{sample.company}/{sample.year - int(rng.integers(0, 3))}.txt"
            plan.append(("cat", {"path": guess}))
        elif index and rng.random() < 0.25:
            plan.append(("list", {"folder": sample.folder}))
        else:
            query = queries[index % 2] + (" report" if rng.random() < 0.3 else "")
            plan.append(("search", {"query": query}))
    return plan


def _turns(count: int, policy: Policy, rng: np.random.Generator) -> list[int]:
    """How many calls each turn makes: sometimes two or three in parallel, more often after training."""
    sizes: list[int] = []
    while count:
        size = min(
            count,
            int(
                rng.choice(
                    [1, 2, 3], p=[0.90 - 0.08 * policy.calls, 0.08 + 0.05 * policy.calls, 0.02 + 0.03 * policy.calls]
                )
            ),
        )
        sizes.append(size)
        count -= size
    return sizes


def rollout(sample: Sample, policy: Policy, start: datetime, rng: np.random.Generator, **values: Any) -> Line:
    """One attempt of a policy at a sample, as a line of the neutral format."""
    wanted = sample.calls * (1 - 0.40 * policy.calls) + rng.normal(0, 1.25 - 0.5 * policy.calls)
    count = int(np.clip(round(wanted), 1, CALL_BUDGET))
    ended_on_budget = wanted > CALL_BUDGET + 0.2
    dead = rng.random() < 0.014
    plan = _plan(sample, policy, 1 if dead else count, rng)
    reasoning = int(rng.lognormal(np.log(2_500 - 1_000 * policy.calls) - 0.06, 0.35))
    latency = float(rng.lognormal(np.log(62.0) - 0.05, 0.30)) * (1 - 0.11 * policy.calls)
    messages, calls, seconds = _conversation(
        sample, plan, _turns(len(plan), policy, rng), start, latency, reasoning, rng
    )
    score = float(np.clip(sample.level + sample.gain * policy.reward + rng.normal(0, sample.spread), 0, 1))
    score = round(score * 20) / 20
    status = "infra_error" if dead else "budget_exceeded" if ended_on_budget else "completed"
    if status == "budget_exceeded":
        score = min(score, 0.2)
    reward = 0.0 if dead else score
    if status == "completed":
        answer = sample.answer if reward >= PASS_THRESHOLD else round(sample.answer * (0.6 + rng.random()), 1)
        messages.append({"role": "assistant", "content": f"{answer} million ({sample.report})", "output_tokens": 28})
    output = reasoning + sum(message.get("output_tokens", 0) for message in messages)
    prompt = 420 + sum(len(message.get("content") or "") for message in messages) // 4
    line: Line = {
        **values,
        "sample_id": sample.sample_id,
        "environment": "finqa",
        "status": status,
        "stop_reason": {"infra_error": "sandbox died", "budget_exceeded": "call budget"}.get(status, "final answer"),
        "reward": reward,
        "passed": reward >= PASS_THRESHOLD,
        "input_tokens": prompt * (len(plan) + 1) // 2,
        "output_tokens": output,
        "reasoning_tokens": reasoning,
        "context_tokens": prompt,
        "started_at": iso(start),
        "ended_at": iso(start + timedelta(seconds=seconds)),
        "messages": messages,
        "tool_calls": calls,
    }
    if dead:
        line |= {"error_type": "SandboxError", "error_message": "the retrieval server did not answer for 30 s"}
    else:
        cited = 1.0 if status == "completed" and rng.random() < 0.7 + 0.25 * policy.reward else 0.0
        line["scores"] = [
            {"grader": "answer", "value": reward, "weight": 1.0, "passed": reward >= PASS_THRESHOLD, "kind": "reward"},
            {"grader": "cites_report", "value": cited, "weight": 0.0, "kind": "metric"},
        ]
    return line


def _conversation(
    sample: Sample,
    plan: list[tuple[str, Line]],
    sizes: list[int],
    start: datetime,
    latency: float,
    reasoning: int,
    rng: np.random.Generator,
) -> tuple[list[Line], list[Line], float]:
    """Messages, calls with times, and the seconds all of it took."""
    messages: list[Line] = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": sample.question}]
    calls: list[Line] = []
    tool_seconds = [float(rng.lognormal({"search": 0.2, "list": -1.2, "cat": -0.4}[tool], 0.5)) for tool, _ in plan]
    thinking = max(latency - sum(tool_seconds), 0.3 * latency) / (len(sizes) + 1)
    answers: dict[str, tuple[str, bool]] = {}
    clock, index = 0.0, 0
    for size in sizes:
        clock += thinking
        ids = [f"c{index + offset}" for offset in range(size)]
        requested = [
            {"id": call_id, "function": {"name": tool, "arguments": json.dumps(arguments)}}
            for call_id, (tool, arguments) in zip(ids, plan[index : index + size], strict=True)
        ]
        messages.append({"role": "assistant", "content": None, "tool_calls": requested, "output_tokens": 18 * size})
        for offset, call_id in enumerate(ids):
            tool, arguments = plan[index + offset]
            key = tool + json.dumps(arguments)
            if key not in answers or rng.random() < 0.2:
                answers[key] = _output(tool, arguments, sample, rng)
            output, is_error = answers[key]
            messages.append({"role": "tool", "tool_call_id": call_id, "name": tool, "content": output})
            took = tool_seconds[index + offset]
            times = {"started_at": iso(start + timedelta(seconds=clock)), "latency_s": round(took, 3)}
            calls.append({"id": call_id, "error": is_error, **times})
            if is_error:
                calls[-1]["error_kind"] = "file_not_found"
        clock += max(tool_seconds[index : index + size])
        index += size
    return messages, calls, clock + thinking


def iso(moment: datetime) -> str:
    """A time as the lines state it."""
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
