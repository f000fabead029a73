"""A reward that is stated and no finite number, in every source: kept, not scored, and the reader is told."""

import json
from pathlib import Path
from typing import Any

import pytest

from ingest.sources import source as named
from ingest.sources.base import NOT_SCORED, Options, Part, Record, Rollout

SAID = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]


def tau(reward: Any) -> Any:
    return [{"task_id": 0, "reward": reward, "info": {}, "traj": SAID}]


def tau2(reward: Any) -> Any:
    simulation = {"id": "s", "task_id": "t", "reward_info": {"reward": reward}, "messages": SAID}
    return {"info": {"environment_info": {}}, "tasks": [], "simulations": [simulation]}


def evals(reward: Any) -> Any:
    return {"object": "eval.run.output_item", "id": "i", "results": [{"name": "g", "score": reward}], "sample": {}}


def verifiers(reward: Any) -> Any:
    trace = {"id": "t", "nodes": [], "rewards": {"f": {"score": reward, "weight": 1.0}}}
    return {"id": "e", "env": {"id": "v"}, "task": {"key": "k"}, "ok": True, "traces": [trace]}


def legacy(reward: Any) -> Any:
    return {"example_id": 0, "prompt": SAID[:1], "completion": SAID[1:], "reward": reward}


def verl(reward: Any) -> Any:
    return {"input": "user\nq\nassistant\n", "output": "a", "gts": "a", "score": reward, "step": 1}


FILES: dict[str, tuple[str, str, Any]] = {
    "tau": ("tau_bench", "tau.json", tau),
    "tau2": ("tau_bench", "tau2.json", tau2),
    "evals": ("openai_evals", "items.json", evals),
    "verifiers": ("verifiers", "traces.jsonl", verifiers),
    "legacy": ("verifiers_legacy", "results.jsonl", legacy),
    "prime_rl": ("prime_rl", "step_1/train_rollouts.jsonl", legacy),
    "prime_rl stream": ("prime_rl", "traces/stream/00000.jsonl", verifiers),
    "verl": ("verl", "1.jsonl", verl),
}


def read(tmp_path: Path, layout: str, reward: Any) -> list[Record]:
    source, name, build = FILES[layout]
    file = tmp_path / "run" / name
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps(build(reward)) + "\n")
    return list(named(source).read(Part(file), Options()))


@pytest.mark.parametrize("layout", FILES)
@pytest.mark.parametrize(
    ("stated", "kept"),
    [
        ("high", "high"),
        ([0.5, 0.5], "[0.5,0.5]"),
        ({"a": 1.0}, '{"a":1.0}'),
        (float("nan"), "nan"),
        (float("inf"), "inf"),
    ],
)
def test_what_is_no_number_is_kept_beside(tmp_path: Path, layout: str, stated: Any, kept: str) -> None:
    found = read(tmp_path, layout, stated)
    (rollout,) = [each for each in found if isinstance(each, Rollout)]
    assert rollout.values["reward"] is None
    assert NOT_SCORED in found
    metadata = json.loads(rollout.values["metadata"] or "{}")
    assert kept in [metadata.get("reward"), metadata.get("score"), *(row.get("text_value") for row in rollout.scores)]


@pytest.mark.parametrize("layout", FILES)
@pytest.mark.parametrize(("stated", "reward"), [(None, None), (0, 0.0), (-19.8, -19.8), (True, 1.0)])
def test_a_number_or_none_needs_no_word(tmp_path: Path, layout: str, stated: Any, reward: float | None) -> None:
    found = read(tmp_path, layout, stated)
    assert [each.values["reward"] for each in found if isinstance(each, Rollout)] == [reward]
    assert NOT_SCORED not in found
