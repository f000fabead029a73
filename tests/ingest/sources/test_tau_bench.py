"""τ-bench and τ²-bench: hand-built files with hand-computed rows, broken ones, and the figures of the real ones."""

import json
from pathlib import Path
from typing import Any

import pytest

from ingest.errors import UnreadableError
from ingest.reading import Peek
from ingest.sources import tau_bench
from ingest.sources.base import Note, Options, Part, Record, Reject, Rollout, Row


def records(path: Path) -> list[Record]:
    return list(tau_bench.read(Part(path), Options()))


def rollouts(path: Path) -> list[Rollout]:
    return [each for each in records(path) if isinstance(each, Rollout)]


def write(path: Path, content: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def said(role: str, second: int, text: str | None = None, **more: Any) -> dict[str, Any]:
    return {"role": role, "content": text, "timestamp": f"2026-01-01T10:00:{second:02d}.500000", **more}


def call(call_id: str, name: str, requestor: str = "assistant", **arguments: Any) -> dict[str, Any]:
    return {"id": call_id, "name": name, "arguments": arguments, "requestor": requestor}


def simulation(**more: Any) -> dict[str, Any]:
    return {
        "id": "s1",
        "task_id": "t1",
        "trial": 2,
        "start_time": "2026-01-01T10:00:00",
        "end_time": "2026-01-01T10:00:30",
        "duration": 29.5,
        "termination_reason": "user_stop",
        "agent_cost": 0.25,
        "user_cost": 0.5,
        "reward_info": {"reward": 1.0},
        "messages": [],
        **more,
    }


def results(*simulations: Any, **more: Any) -> dict[str, Any]:
    info = {
        "git_commit": "abc",
        "agent_info": {"implementation": "llm_agent", "llm": "m"},
        "user_info": {"implementation": "user_simulator", "llm": "u"},
        "environment_info": {"domain_name": "telecom", "policy": "long"},
    }
    task = {
        "id": "t1",
        "user_scenario": {"instructions": {"reason_for_call": "No signal", "known_info": None}},
        "evaluation_criteria": {"actions": [{"name": "reset", "arguments": {}}]},
    }
    return {"timestamp": "2026-01-01T09:00:00", "info": info, "tasks": [task], "simulations": list(simulations), **more}


def dialogue() -> list[dict[str, Any]]:
    usage = {"prompt_tokens": 100, "completion_tokens": 10}
    raw = {"finish_reason": "tool_calls", "message": {"reasoning_content": "look it up"}}
    return [
        said("assistant", 0, tau_greeting(), usage=None, cost=0.0),
        said("user", 2, "no signal", usage={"prompt_tokens": 7, "completion_tokens": 3}),
        said(
            "assistant", 5, "", tool_calls=[call("a", "find", n=1), call("b", "find", n=2)], usage=usage, raw_data=raw
        ),
        {
            "role": "tool",
            "tool_messages": [
                said("tool", 6, "Error: none", id="a", requestor="assistant", error=True),
                said("tool", 8, "found", id="b", requestor="assistant", error=False),
            ],
        },
        said("user", 9, None, tool_calls=[call("c", "reset", "user")], usage=None),
        said("tool", 11, "done", id="c", requestor="user", error=False),
        said("assistant", 15, "Solved.", usage={"prompt_tokens": 200, "completion_tokens": 20}),
    ]


def tau_greeting() -> str:
    return "Hi! How can I help you today?"


def test_tau2_file_is_read_into_one_run_and_one_rollout(tmp_path: Path) -> None:
    path = write(tmp_path / "a.json", results(simulation(messages=dialogue())))
    assert tau_bench.matches(Peek(path))
    assert tau_bench.default_run(path) == "a"
    run = next(each for each in records(path) if isinstance(each, Row))
    assert (run.values["kind"], run.values["model"], run.values["code_reference"]) == ("evaluation", "m", "abc")
    assert "long" not in run.values["config"]
    (rollout,) = rollouts(path)
    values = rollout.values
    assert (values["native_id"], values["sample_id"], values["native_attempt"]) == ("s1", "t1", 2)
    assert (values["environment"], values["agent"], values["model"]) == ("telecom", "llm_agent", "m")
    assert (values["reward"], values["status"], values["stop_reason"]) == (1.0, "completed", "user_stop")
    assert (values["cost_usd"], values["latency_s"]) == (0.25, 29.5)
    assert "passed" not in values
    assert json.loads(values["metadata"]) == {"user_cost": 0.5}
    assert values["final_answer"] == "Solved."
    assert values["raw_ref"] == "a.json#simulations[0]"
    assert rollout.sample == {
        "prompt_text": "reason_for_call: No signal",
        "reference": '{"actions":[{"arguments":{},"name":"reset"}]}',
        "metadata": None,
    }


def test_tau2_tokens_and_seconds_are_the_agents(tmp_path: Path) -> None:
    (rollout,) = rollouts(write(tmp_path / "a.json", results(simulation(messages=dialogue()))))
    assert rollout.values["input_tokens"] == 300
    assert rollout.values["output_tokens"] == 30
    assert rollout.values["context_tokens"] == 220
    assert rollout.values["model_latency_s"] == 3.0 + 4.0  # 2.5 → 5.5 and 11.5 → 15.5; the greeting is nobody's work
    assert rollout.messages is not None
    assert [row.get("is_sampled") for row in rollout.messages if row["role"] == "assistant"] == [False, True, True]
    assert rollout.messages[2]["reasoning_text"] == "look it up"
    assert rollout.messages[2]["finish_reason"] == "tool_calls"
    assert [row["role"] for row in rollout.messages] == [
        *("assistant", "user", "assistant", "tool", "tool", "user", "tool", "assistant")
    ]


def test_tau2_calls_of_agent_and_simulated_user_are_told_apart(tmp_path: Path) -> None:
    (rollout,) = rollouts(write(tmp_path / "a.json", results(simulation(messages=dialogue()))))
    seen = [(c["requestor"], c["tool"], c["status"], c["latency_s"], c["latency_source"]) for c in rollout.tool_calls]
    assert seen == [
        ("agent", "find", "error", 1.0, "timestamps"),
        ("agent", "find", "ok", 3.0, "timestamps"),
        ("user", "reset", "ok", 2.0, "timestamps"),
    ]
    assert [c["is_error_flagged"] for c in rollout.tool_calls] == [True, False, False]
    assert [c["message_index"] for c in rollout.tool_calls] == [2, 2, 5]
    assert [c["result_index"] for c in rollout.tool_calls] == [3, 4, 6]


@pytest.mark.parametrize(
    ("usage", "cost", "expected_cost"),
    [(None, 0.0, None), ({"prompt_tokens": 0, "completion_tokens": 0}, 0.0, None), (None, 0.5, 0.5)],
)
def test_tau2_zero_tokens_mean_not_reported(
    tmp_path: Path, usage: Any, cost: float, expected_cost: float | None
) -> None:
    messages = [said("user", 1, "q"), said("assistant", 2, "a", usage=usage)]
    (rollout,) = rollouts(
        write(tmp_path / "a.json", results(simulation(messages=messages, agent_cost=cost, reward_info=None)))
    )
    assert rollout.values.get("input_tokens") is None
    assert rollout.values.get("output_tokens") is None
    assert rollout.values["cost_usd"] == expected_cost
    assert rollout.values["reward"] is None


def test_tau2_one_message_without_usage_makes_the_total_unknown(tmp_path: Path) -> None:
    messages = [
        said("assistant", 1, "a", usage={"prompt_tokens": 5, "completion_tokens": 1}),
        said("assistant", 2, "b", usage=None),
    ]
    (rollout,) = rollouts(write(tmp_path / "a.json", results(simulation(messages=messages))))
    assert rollout.values.get("input_tokens") is None


@pytest.mark.parametrize(
    ("reason", "status"),
    [
        ("user_stop", "completed"),
        ("agent_stop", "completed"),
        ("max_steps", "truncated"),
        ("too_many_errors", "budget_exceeded"),
        ("timeout", "infra_error"),
        ("infrastructure_error", "infra_error"),
        ("solar_flare", None),
        (None, None),
    ],
)
def test_tau2_endings_are_translated_and_rewards_kept_as_graded(
    tmp_path: Path, reason: str | None, status: str | None
) -> None:
    path = write(tmp_path / "a.json", results(simulation(termination_reason=reason, reward_info={"reward": 0.0})))
    (rollout,) = rollouts(path)
    assert (rollout.values["status"], rollout.values["stop_reason"]) == (status, reason)
    assert rollout.values["reward"] == 0.0
    notes = [each.text for each in records(path) if isinstance(each, Note)]
    assert any("solar_flare" in note for note in notes) == (reason == "solar_flare")


def test_tau2_breakdown_and_checks_become_scores(tmp_path: Path) -> None:
    action = {"requestor": "assistant", "name": "book", "arguments": {"id": 1}}
    info = {
        "reward": 0.0,
        "reward_breakdown": {"DB": 1.0, "COMMUNICATE": 0.0},
        "db_check": {"db_match": True, "db_reward": 1.0},
        "action_checks": [
            {"action": action, "action_match": True, "action_reward": 1.0},
            {"action": action, "action_match": False, "action_reward": 0.0},
            {"action": {"requestor": "user", "name": "reset"}, "action_match": True, "action_reward": 1.0},
        ],
        "env_assertions": [{"env_assertion": {"func_name": "is_on", "arguments": {}}, "met": True, "reward": 1.0}],
        "nl_assertions": [{"nl_assertion": "was polite", "met": True, "justification": "yes"}],
        "communicate_checks": [{"info": "5", "met": False, "justification": "not said"}],
    }
    (rollout,) = rollouts(write(tmp_path / "a.json", results(simulation(reward_info=info))))
    assert [(s["grader"], s["value"], s.get("passed"), s["kind"]) for s in rollout.scores] == [
        ("DB", 1.0, None, "subscore"),
        ("COMMUNICATE", 0.0, None, "subscore"),
        ("db_check", 1.0, True, "assertion"),
        ("action/book", 1.0, True, "assertion"),
        ("action/book#2", 0.0, False, "assertion"),
        ("user_action/reset", 1.0, True, "assertion"),
        ("env_assertion/is_on", 1.0, True, "assertion"),
        ("communicate", 0.0, False, "assertion"),
        ("nl_assertion", 1.0, True, "assertion"),
    ]
    assert rollout.scores[7]["explanation"] == "5: not said"


def test_tau2_without_simulations_is_a_run_and_a_note(tmp_path: Path) -> None:
    found = records(write(tmp_path / "a.json", results()))
    assert [type(each).__name__ for each in found] == ["Row", "Note"]


def test_tau2_simulations_of_another_type_are_rejected(tmp_path: Path) -> None:
    found = records(write(tmp_path / "a.json", {**results(), "simulations": {"s1": {}}}))
    assert [type(each).__name__ for each in found] == ["Row", "Reject"]


def test_tau2_bad_simulations_are_rejected_and_the_rest_kept(tmp_path: Path) -> None:
    odd = simulation(messages="none", reward_info=[], duration="long", trial="x", id=7)
    found = records(write(tmp_path / "a.json", results(None, {"id": "s"}, odd, simulation(), simulation())))
    assert sum(isinstance(each, Reject) for each in found) == 2
    kept = [each for each in found if isinstance(each, Rollout)]
    assert [each.values["native_id"] for each in kept] == ["7", "s1", "s1"]
    assert (kept[0].messages, kept[0].values["reward"], kept[0].values["latency_s"]) == (None, None, 30.0)


def test_tau2_folder_layout_is_claimed_as_a_whole(tmp_path: Path) -> None:
    folder = tmp_path / "exp"
    index = [{"id": "s1"}, {"id": "gone"}]
    write(folder / "results.json", {**results(simulation_index=index), "simulations": []})
    write(folder / "simulations" / "s1.json", simulation(messages=dialogue()))
    write(folder / "simulations" / "s2.json", '{"id": "s2", ')
    assert tau_bench.matches(Peek(folder))
    assert not tau_bench.matches(Peek(tmp_path))
    assert not tau_bench.matches(Peek(folder / "simulations"))
    assert tau_bench.default_run(folder) == tau_bench.default_run(folder / "results.json") == "exp"
    found = records(folder)
    assert [r.values["raw_ref"] for r in found if isinstance(r, Rollout)] == ["simulations/s1.json"]
    reasons = [r.reason for r in found if isinstance(r, Reject)]
    assert len(reasons) == 2
    assert "gone" in reasons[1]
    assert len(rollouts(folder / "results.json")) == 1


def test_tau2_single_simulation_finds_its_run_beside(tmp_path: Path) -> None:
    write(tmp_path / "exp" / "results.json", {**results(), "simulations": []})
    path = write(tmp_path / "exp" / "simulations" / "s1.json", simulation())
    assert tau_bench.matches(Peek(path))
    assert tau_bench.default_run(path) == "exp"
    assert rollouts(path)[0].values["model"] == "m"
    alone = write(tmp_path / "s1.json", simulation())
    assert tau_bench.matches(Peek(alone))
    assert [type(each).__name__ for each in records(alone)] == ["Row", "Rollout"]
    assert rollouts(alone)[0].values["model"] is None


@pytest.mark.parametrize("info", [None, 5, [], {"environment_info": 5, "agent_info": []}])
def test_tau2_odd_settings_do_no_harm(tmp_path: Path, info: Any) -> None:
    path = write(tmp_path / "a.json", results(simulation(), info=info, tasks=7, simulation_index=3))
    if isinstance(info, dict):
        assert [each.values["environment"] for each in rollouts(path)] == [None]
    else:
        with pytest.raises(UnreadableError, match="no τ-bench results"):
            records(path)


def test_tau2_ticks_become_messages(tmp_path: Path) -> None:
    def tick(second: int, agent: str | None = None, user: str | None = None, **more: Any) -> dict[str, Any]:
        chunks = {"agent_chunk": {"content": agent, "contains_speech": bool(agent)}}
        chunks["user_chunk"] = {"content": user, "contains_speech": bool(user)}
        return {"timestamp": f"2026-01-01T10:00:{second:02d}", **chunks, **more}

    ticks = [
        tick(0),
        tick(1, user="my "),
        tick(2, user="phone"),
        tick(3),
        tick(4, agent="One mo", agent_tool_calls=[call("a", "find", n=1)]),
        tick(5, agent_tool_results=[said("tool", 5, "ok", id="a", error=False)]),
        tick(6, agent="Done"),
    ]
    (rollout,) = rollouts(write(tmp_path / "a.json", results(simulation(messages=None, ticks=ticks))))
    assert rollout.messages is not None
    assert [(row["role"], row["text"]) for row in rollout.messages] == [
        ("user", "my phone"),
        ("assistant", "One mo"),
        ("tool", "ok"),
        ("assistant", "Done"),
    ]
    assert [(c["tool"], c["message_index"], c["status"], c["latency_s"]) for c in rollout.tool_calls] == [
        ("find", 1, "ok", 1.5)
    ]


def v1_record(**more: Any) -> dict[str, Any]:
    traj = [
        {"role": "system", "content": "policy"},
        {"role": "user", "content": "cancel"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "0", "type": "function", "function": {"name": "cancel", "arguments": '{"id": 1}'}}],
        },
        {"role": "tool", "tool_call_id": "0", "name": "cancel", "content": "Error: no such order"},
        {"role": "assistant", "content": "I cannot."},
        {"role": "user", "content": "###STOP###"},
    ]
    info = {
        "task": {"user_id": "u", "instruction": "Cancel it", "actions": [], "outputs": ["5"]},
        "user_cost": 0.01,
        "reward_info": {"reward": 0.0, "info": {"r_actions": True, "r_outputs": 0.0, "outputs": {"5": False}}},
    }
    return {"task_id": 4, "reward": 0.0, "info": info, "traj": traj, "trial": 1, **more}


V1_NAME = "tool-calling-gpt-4o-0.0_range_0-50_user-gpt-4o-llm_0101120000.json"


def test_v1_list_takes_model_and_strategy_from_the_file_name(tmp_path: Path) -> None:
    path = write(tmp_path / V1_NAME, [v1_record()])
    assert tau_bench.matches(Peek(path))
    run = next(each for each in records(path) if isinstance(each, Row))
    assert (run.values["kind"], run.values["model"]) == ("evaluation", "gpt-4o")
    assert json.loads(run.values["config"]) == {"strategy": "tool-calling", "temperature": 0.0}
    (rollout,) = rollouts(path)
    values = rollout.values
    assert (values["sample_id"], values["native_attempt"], values["reward"]) == ("4", 1, 0.0)
    assert (values["status"], values["stop_reason"], values["environment"]) == ("completed", "user_stop", None)
    assert values["final_answer"] == "I cannot."
    assert [(c["tool"], c["status"], c["is_error_flagged"]) for c in rollout.tool_calls] == [("cancel", "error", None)]
    assert [(s["grader"], s["value"], s.get("passed"), s["kind"]) for s in rollout.scores] == [
        ("r_actions", 1.0, None, "subscore"),
        ("r_outputs", 0.0, None, "subscore"),
        ("output", 0.0, False, "assertion"),
    ]
    assert rollout.sample == {
        "prompt_text": "Cancel it",
        "reference": '{"actions":[],"outputs":["5"]}',
        "metadata": '{"user_id":"u"}',
    }


@pytest.mark.parametrize(
    ("name", "model", "environment"),
    [
        ("sonnet-35-new-airline.json", "sonnet-35-new", "airline"),
        ("retail/x.json", None, "retail"),
        ("x.json", None, None),
    ],
)
def test_v1_names_without_the_pattern(tmp_path: Path, name: str, model: str | None, environment: str | None) -> None:
    (rollout,) = rollouts(write(tmp_path / name, v1_record()))
    assert (rollout.values["model"], rollout.values["environment"]) == (model, environment)


def test_v1_name_with_a_temperature_that_is_none(tmp_path: Path) -> None:
    found = records(write(tmp_path / "act-m-1.2.3_range_0-1_user-u.json", [v1_record()]))
    assert sum(isinstance(each, Rollout) for each in found) == 1


def test_tau2_usage_of_a_voice_agent_is_kept(tmp_path: Path) -> None:
    usage = {"input_audio_tokens": 7}
    (found,) = rollouts(write(tmp_path / "r.json", results(simulation(agent_usage=usage))))
    assert json.loads(found.values["metadata"])["agent_usage"] == usage


def test_v1_run_that_crashed_is_an_infra_error_without_counts(tmp_path: Path) -> None:
    crashed = {"task_id": 5, "reward": 0.0, "info": {"error": "RateLimit", "traceback": "…"}, "traj": [], "trial": 0}
    (rollout,) = rollouts(write(tmp_path / "a.json", [crashed]))
    assert (rollout.values["status"], rollout.values["error_message"]) == ("infra_error", "RateLimit")
    assert rollout.values["reward"] == 0.0
    assert rollout.messages is None


def test_v1_ending(tmp_path: Path) -> None:
    whole = v1_record()["traj"]
    capped, cut = v1_record(traj=whole[:4]), v1_record(traj=whole[:5])
    found = rollouts(write(tmp_path / "a.json", [capped, cut]))
    assert [each.values["status"] for each in found] == ["truncated", None]


def test_v1_bad_records_are_rejected(tmp_path: Path) -> None:
    path = write(tmp_path / "a.json", [v1_record(), 7, {"task_id": 1}, v1_record(reward=float("nan"), trial=True)])
    found = records(path)
    assert [r.position for r in found if isinstance(r, Reject)] == ["1", "2"]
    assert [r.values["reward"] for r in found if isinstance(r, Rollout)] == [0.0, None]


@pytest.mark.parametrize("content", ["", '[{"task_id": 0, "rew', '{"a": 1}', "[]x"])
def test_broken_files_are_no_tau_files_and_say_so(tmp_path: Path, content: str) -> None:
    path = write(tmp_path / "a.json", content)
    assert not tau_bench.matches(Peek(path))
    with pytest.raises(UnreadableError):
        records(path)


@pytest.mark.parametrize(
    ("name", "count", "tasks", "reward", "agent", "user", "errors"),
    [
        ("airline__grok-3", 20, 20, 0.55, 5.65, 0, 2),
        ("airline-relaxed__grok-3-mini__4trials", 4, 1, 0.0, 4.0, 0, 1),
        ("airline-relaxed__grok-4-fast-reasoning__4trials", 4, 1, 0.75, 8.25, 0, 0),
        ("telecom-workflow__grok-3", 20, 20, 0.6, 4.7, 7.4, 0),
        ("airline__grok-3-mini__partial_a", 10, 9, 0.3, 1.1, 0, 0),
    ],
)
def test_real_tau2_figures(
    real_data: Path, name: str, count: int, tasks: int, reward: float, agent: float, user: float, errors: int
) -> None:
    found = rollouts(real_data / "tau2" / f"{name}.json")
    calls = [call for each in found for call in each.tool_calls]
    assert len(found) == count
    assert len({each.values["sample_id"] for each in found}) == tasks
    assert sum(each.values["reward"] for each in found) / count == pytest.approx(reward)
    assert sum(call["requestor"] == "agent" for call in calls) / count == pytest.approx(agent)
    assert sum(call["requestor"] == "user" for call in calls) / count == pytest.approx(user)
    assert sum(call["is_error_flagged"] is True for call in calls) == errors
    assert sum(each.values["status"] == "truncated" for each in found) == (name == "airline__grok-3")


def test_real_tau2_folder_and_empty_run(real_data: Path) -> None:
    voice = rollouts(real_data / "tau2" / "voice_experiment_split_layout")
    assert [each.values["sample_id"] for each in voice] == ["40", "98", "20"]
    assert [each.messages for each in voice] == [None, None, None]  # these ticks were saved without their text
    assert rollouts(real_data / "tau2" / "telecom-workflow__grok-4__zero_sims.json") == []


def test_real_v1_record(real_data: Path) -> None:
    (rollout,) = rollouts(real_data / "taubench" / "docent_tb_airline_single.json")
    assert (rollout.values["sample_id"], rollout.values["reward"], rollout.values["status"]) == ("0", 0.0, "completed")
    assert rollout.values["environment"] == "airline"
    assert [call["status"] for call in rollout.tool_calls].count("error") == 1
    assert len(rollout.tool_calls) == 12
