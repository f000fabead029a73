"""τ-bench (v1) and τ²-bench results: one evaluation of one agent against a simulated user, with every simulation.

v1, `github.com/sierra-research/tau-bench`: a JSON list of `{task_id, reward, info, traj, trial}`, or one such object;
strategy, model and domain stand in the file name only. τ², `github.com/sierra-research/tau2-bench` (data model read at
commit 143a213f): `{timestamp, info, tasks, simulations}` in one file, or `results.json` beside `simulations/<id>.json`;
a text simulation holds `messages`, a voice one `ticks` (`ingest.tau_messages` reads both).

Rewards are kept as graded, whatever the ending (v1 grades a run that crashed 0). `passed` stays NULL, because neither
format states it. Times carry no zone and are taken as UTC. Costs and tokens are the agent's; the simulated user's cost
is in the metadata.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ingest.dialects import Conversation, chat
from ingest.errors import UnreadableError
from ingest.reading import (
    Peek,
    dump_json,
    number,
    odd_score,
    parse_json,
    read_bytes,
    seconds_between,
    text,
    timestamp,
    whole,
)
from ingest.sources.base import NOT_SCORED, Note, Options, Part, Record, Reject, Rollout, Row, Values
from ingest.tau_messages import agent_usage, read_messages, read_ticks
from ingest.tau_scores import graded_v1, graded_v2

NAME = "tau_bench"
TITLE = "τ-bench and τ²-bench results"
FILLS = frozenset(
    {
        *("sample", "attempt", "reward", "subscores", "status", "messages", "tool_calls", "tool_errors"),
        *("tool_latency", "tokens", "latency", "cost", "model"),
    }
)
HINT = "a JSON list of task_id, reward, info, traj, trial; or an object with info, tasks, simulations"

STATUS = {
    "user_stop": "completed",
    "agent_stop": "completed",
    "max_steps": "truncated",
    "context_window_exceeded": "truncated",
    "agent_error": "truncated",
    "too_many_errors": "budget_exceeded",
    "timeout": "infra_error",
    "user_error": "infra_error",
    "infrastructure_error": "infra_error",
    "unexpected_error": "infra_error",
}
"""How τ²'s termination reasons translate. `agent_error` is a protocol the agent broke, which cuts the episode short;
`user_error` is the simulator's fault; `too_many_errors` is a budget of failed calls used up; an unknown one is NULL."""

_V1 = frozenset({"task_id", "reward", "traj", "info"})
_V1_NAME = re.compile(
    r"(?P<agent>tool-calling|few-shot|react|act)-(?P<model>.+)-(?P<temperature>\d+(?:\.\d+)?)_range_.*"
)
_KEPT_V1 = ("user_cost", "source", "traceback")
_DOMAIN = re.compile(r"(?<![a-z])(airline|retail|telecom)(?![a-z])")


def matches(peek: Peek) -> bool:
    """A v1 list or record, a τ² file, one τ² simulation, or a folder with `results.json` and `simulations/`."""
    if peek.is_dir:
        return {"results.json", "simulations"} <= peek.names and _is_v2(Peek(peek.path / "results.json"))
    return peek.keys >= _V1 or _is_v2(peek) or peek.keys >= {"task_id", "termination_reason", "start_time"}


def _is_v2(peek: Peek) -> bool:
    info = peek.first.get("info") if isinstance(peek.first, dict) else None
    return peek.keys >= {"info", "tasks"} and isinstance(info, dict) and "environment_info" in info


def default_run(path: Path) -> str:
    """The file's stem; for the folder layout the folder that holds `results.json`."""
    if path.is_dir():
        return path.name
    if path.parent.name == "simulations":
        return path.parent.parent.name
    return path.parent.name if path.name == "results.json" and (path.parent / "simulations").is_dir() else path.stem


def read(part: Part, options: Options) -> Iterator[Record]:
    """Yield the run, then one rollout per simulation.

    Raises:
        UnreadableError: The results file is not JSON, or not of a τ format.
    """
    del options
    path = part.path / "results.json" if part.path.is_dir() else part.path
    content = _load(path)
    if isinstance(content, dict) and "environment_info" in _object(content, "info"):
        yield from _v2(path, content)
    elif isinstance(content, dict) and "termination_reason" in content:
        yield from _single(path, content)
    elif isinstance(content, list) or (isinstance(content, dict) and content.keys() >= _V1):
        yield from _v1(path, content if isinstance(content, list) else [content])
    else:
        raise UnreadableError(f"{path}: holds no τ-bench results")


def _load(path: Path) -> Any:
    try:
        return parse_json(read_bytes(path))
    except ValueError as error:
        raise UnreadableError(f"{path}: not whole ({error}); a run that is still writing is read again later") from None


def _v1(path: Path, records: list[Any]) -> Iterator[Record]:
    name = _V1_NAME.fullmatch(path.stem)
    domain = _DOMAIN.search(path.stem.lower()) or _DOMAIN.search(path.parent.name.lower())
    model = name["model"] if name else None
    if model is None and domain and path.stem.lower().endswith(f"-{domain[1]}"):
        model = path.stem[: -len(domain[1]) - 1]
    environment = domain[1] if domain else None
    config = {"strategy": name["agent"], "temperature": float(name["temperature"])} if name else None
    run = {"kind": "evaluation", "provider": "tau-bench", "model": model, "reward_name": "reward"}
    yield Row("runs", {**run, "config": dump_json(config)})
    for position, record in enumerate(records):
        if not isinstance(record, dict) or record.get("task_id") is None or not isinstance(record.get("traj"), list):
            yield Reject("a record needs task_id and a list traj", str(position), str(record)[:200], str(path))
            continue
        rollout = _rollout_v1(record)
        rollout.values.update(position=position, raw_ref=f"{path.name}[{position}]", model=model)
        rollout.values.update(environment=environment, agent=name["agent"] if name else None)
        yield rollout
        if odd_score(record.get("reward")) is not None:
            yield NOT_SCORED


def _rollout_v1(record: Values) -> Rollout:
    info = record["info"] if isinstance(record.get("info"), dict) else {}
    task = info["task"] if isinstance(info.get("task"), dict) else {}
    talk = chat(record["traj"], is_sampled=True)
    failed = info.get("error") is not None
    status, stop = ("infra_error", "error") if failed else _ending_v1(talk)
    values: Values = {
        "sample_id": text(record["task_id"]),
        "sample_id_source": "native",
        "native_attempt": whole(record.get("trial")),
        "reward": number(record.get("reward")),
        "status": status,
        "stop_reason": stop,
        "error_message": text(info.get("error")),
        "error_type": "error" if failed else None,
        "final_answer": _final_answer(talk),
        "metadata": dump_json(_stated(record, {key: info[key] for key in _KEPT_V1 if key in info}) or None),
    }
    asked = {key: task[key] for key in ("actions", "outputs") if key in task}
    sample = {"prompt_text": text(task.get("instruction")), "reference": dump_json(asked or None)}
    if task.get("user_id") is not None:
        sample["metadata"] = dump_json({"user_id": task["user_id"]})
    messages = talk.messages or None  # a run that crashed kept nothing: its counts are unknown, not 0
    return Rollout(values, messages, talk.tool_calls, graded_v1(info), sample if task else None)


def _ending_v1(talk: Conversation) -> tuple[str | None, str | None]:
    """τ-bench's loop ends when the user says ###STOP### or the agent hands over, else at its step cap.

    The cap falls after an answer to the agent: of a trajectory that ends with its own words nothing is known.
    """
    if not talk.messages:
        return "infra_error", None
    if any(row["role"] == "user" and "###STOP###" in (row["text"] or "") for row in talk.messages[-2:]):
        return "completed", "user_stop"
    if talk.tool_calls and talk.tool_calls[-1]["tool"] == "transfer_to_human_agents":
        return "completed", "transfer_to_human_agents"
    return (None if talk.messages[-1]["role"] == "assistant" else "truncated"), None


def _v2(path: Path, results: Values) -> Iterator[Record]:
    info = results["info"]
    yield Row("runs", _run(results))
    tasks = _tasks(results)
    count = rejected = 0
    for position, (reference, simulation) in enumerate(_simulations(path, results)):
        if isinstance(simulation, Reject):
            rejected += 1
            yield simulation
            continue
        count += 1
        yield from _simulation(reference, position, simulation, info, tasks)
    if count:
        yield Note("τ² writes local times without a zone: they are taken as UTC, so that only differences are exact.")
    elif not rejected:
        yield Note("The run holds no simulation yet: only the run itself was read.")


def _simulations(path: Path, results: Values) -> Iterator[tuple[str, Any]]:
    """Simulations with their references: those inside the file, else the files beside it, each read on its own."""
    if isinstance(results.get("simulations"), list) and results["simulations"]:
        for position, simulation in enumerate(results["simulations"]):
            yield f"{path.name}#simulations[{position}]", simulation
        return
    if not isinstance(results.get("simulations"), list | None):
        yield "", Reject("simulations must be a list", "simulations", str(results["simulations"])[:200], str(path))
        return
    folder = path.parent / "simulations"
    files = sorted(folder.glob("*.json")) if folder.is_dir() else []
    for file in files:
        try:
            yield f"simulations/{file.name}", _load(file)
        except UnreadableError as error:
            yield "", Reject(str(error), "0", file=str(file))
    index = results.get("simulation_index")
    there = {file.stem for file in files}
    for entry in index if isinstance(index, list) else []:
        name = text(entry.get("id")) if isinstance(entry, dict) else None
        if name not in there:
            reason = f"simulation {name} is listed in simulation_index, but its file is missing"
            yield "", Reject(reason, "simulation_index", str(entry)[:200], str(path))


def _single(path: Path, simulation: Values) -> Iterator[Record]:
    beside = path.parent.parent / "results.json"
    results: Values = {}
    if path.parent.name == "simulations" and beside.is_file():
        found = _load(beside)
        results = found if isinstance(found, dict) else {}
    yield Row("runs", _run(results))
    yield from _simulation(path.name, 0, simulation, _object(results, "info"), _tasks(results))


def _tasks(results: Values) -> dict[str | None, Values]:
    tasks = results.get("tasks")
    found = [each for each in tasks if isinstance(each, dict)] if isinstance(tasks, list) else []
    return {text(each.get("id")): each for each in found}


def _run(results: Values) -> Values:
    info = _object(results, "info")
    agent, user = _object(info, "agent_info"), _object(info, "user_info")
    environment = _object(info, "environment_info")
    config: Values = {
        "domain": environment.get("domain_name"),
        "agent": {key: agent.get(key) for key in ("implementation", "llm_args") if key in agent},
        "user": {key: user.get(key) for key in ("implementation", "llm", "llm_args") if key in user},
        **{key: info[key] for key in ("num_trials", "max_steps", "max_errors", "seed") if key in info},
    }
    return {
        "kind": "evaluation",
        "provider": "tau2-bench",
        "model": text(agent.get("llm")),
        "reward_name": "reward_info.reward",
        "created_at": timestamp(results.get("timestamp")),
        "config": dump_json(config),
        "code_reference": text(info.get("git_commit")),
    }


def _object(values: Values, key: str) -> Values:
    found = values.get(key)
    return found if isinstance(found, dict) else {}


def _simulation(
    reference: str, position: int, simulation: Any, info: Values, tasks: dict[str | None, Values]
) -> Iterator[Record]:
    if not isinstance(simulation, dict) or simulation.get("task_id") is None:
        yield Reject("a simulation must be an object with a task_id", reference, str(simulation)[:200])
        return
    started, ended = timestamp(simulation.get("start_time")), timestamp(simulation.get("end_time"))
    messages, ticks = simulation.get("messages"), simulation.get("ticks")
    talk = read_messages(messages, started) if isinstance(messages, list) else None
    if talk is None and isinstance(ticks, list):
        talk = read_ticks(ticks)
        if not talk.messages:
            talk = None
            yield Note("Voice simulations without text or tool calls in their ticks have no messages to show.")
    stop = text(simulation.get("termination_reason"))
    status = STATUS.get(stop or "")
    if stop is not None and status is None:
        yield Note(f"Termination reason {stop[:60]!r} is not known: the status of its rollouts is NULL.")
    environment, agent = _object(info, "environment_info"), _object(info, "agent_info")
    duration = number(simulation.get("duration"))
    values: Values = {
        "native_id": text(simulation.get("id")) or None,
        "sample_id": text(simulation["task_id"]),
        "sample_id_source": "native",
        "native_attempt": whole(simulation.get("trial")),
        "environment": text(environment.get("domain_name")),
        "agent": text(agent.get("implementation")),
        "model": text(agent.get("llm")),
        "status": status,
        "stop_reason": stop,
        "error_type": stop if status == "infra_error" or (stop or "").endswith(("_error", "_errors")) else None,
        "reward": number(_object(simulation, "reward_info").get("reward")),
        "final_answer": _final_answer(talk),
        "started_at": started,
        "ended_at": ended,
        "latency_s": duration if duration is not None else seconds_between(started, ended),
        "position": position,
        "raw_ref": reference,
        "metadata": dump_json(_metadata(simulation)),
        **agent_usage(simulation, talk),
    }
    sample = _sample(tasks.get(values["sample_id"]))
    calls, scores = talk.tool_calls if talk else [], graded_v2(_object(simulation, "reward_info"))
    yield Rollout(values, talk.messages if talk else None, calls, scores, sample)
    if odd_score(_object(simulation, "reward_info").get("reward")) is not None:
        yield NOT_SCORED


def _metadata(simulation: Values) -> Values:
    kept = ("seed", "mode", "user_cost", "agent_usage", "provider_session_id", "hallucination_retries_used", "review")
    found = {key: simulation[key] for key in (*kept, "info") if simulation.get(key) is not None}
    found = _stated(_object(simulation, "reward_info"), found)
    note = _object(simulation, "reward_info").get("info")
    return {**found, "reward_note": note} if isinstance(note, dict) and any(note.values()) else found


def _stated(graded: Values, metadata: Values) -> Values:
    """The metadata, with a reward that is no number."""
    stated = odd_score(graded.get("reward"))
    return metadata if stated is None else {**metadata, "reward": stated}


def _sample(task: Values | None) -> Values | None:
    if task is None:
        return None
    scenario = _object(task, "user_scenario")
    instructions = scenario.get("instructions")
    if isinstance(instructions, dict):
        instructions = "\n\n".join(f"{key}: {each}" for key, each in instructions.items() if each)
    criteria = task.get("evaluation_criteria")
    described = {key: task[key] for key in ("description", "ticket") if task.get(key)}
    persona = scenario.get("persona")
    return {
        "prompt_text": text(instructions),
        "reference": dump_json(criteria if isinstance(criteria, dict) else None),
        "metadata": dump_json({**described, "persona": persona} if persona else described or None),
    }


def _final_answer(talk: Conversation | None) -> str | None:
    spoken = (row["text"] for row in reversed(talk.messages if talk else []) if row["role"] == "assistant")
    return next((each for each in spoken if each), None)
