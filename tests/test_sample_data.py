"""The sample data is what its script makes, and has the shape of the published figures."""

import importlib.util
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zstandard

from dashboard.sample import sample_data

ROOT = Path(__file__).resolve().parents[1]


def lines(name: str) -> list[dict[str, Any]]:
    with (sample_data() / f"{name}.jsonl.zst").open("rb") as file:
        return [json.loads(line) for line in zstandard.ZstdDecompressor().stream_reader(file).read().splitlines()]


def rollouts(name: str, **where: Any) -> list[dict[str, Any]]:
    found = [line for line in lines(name) if "messages" in line]
    return [line for line in found if all(line.get(key) == value for key, value in where.items())]


def mean(found: list[dict[str, Any]], of: str) -> float:
    values = [len(line["tool_calls"]) if of == "calls" else line[of] for line in found]
    return float(np.mean(values))


def test_the_script_writes_the_same_lines_again() -> None:
    spec = importlib.util.spec_from_file_location("generate", ROOT / "sample_data" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    generate = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generate)
    rng = np.random.default_rng(generate.SEED)
    valid = generate.samples("valid", generate.NUM_VALID, rng)
    start = generate.START - generate.timedelta(days=1)
    made = generate.evaluation("finqa-baseline", "baseline", generate.UNTUNED, start, valid, model=generate.BASE_MODEL)
    assert json.loads(json.dumps(list(made))) == lines("baseline")


def test_it_is_small_and_marked_synthetic() -> None:
    assert sum(path.stat().st_size for path in sample_data().iterdir()) < 10_000_000
    for name in ("baseline", "training", "evaluation"):
        assert "synthetic" in lines(name)[0]["tags"]


def test_baseline_and_tuned_have_the_published_shape() -> None:
    before, after = rollouts("baseline"), rollouts("evaluation")
    assert len(before) == len(after) == 300
    assert mean(before, "reward") == pytest.approx(0.53, abs=0.02)
    assert mean(after, "reward") == pytest.approx(0.65, abs=0.02)
    assert mean(before, "calls") == pytest.approx(6.9, abs=0.2)
    assert mean(after, "calls") == pytest.approx(4.2, abs=0.2)
    assert mean(before, "reasoning_tokens") == pytest.approx(2_500, abs=100)
    assert mean(after, "reasoning_tokens") == pytest.approx(1_500, abs=100)


def test_few_samples_vary_and_few_zeros_are_only_dead_machines() -> None:
    before = rollouts("baseline")
    by_sample: dict[str, list[float]] = defaultdict(list)
    for line in before:
        if line["status"] != "infra_error":
            by_sample[line["sample_id"]].append(line["reward"])
    varied = np.mean([np.std(rewards) > 0.1 for rewards in by_sample.values()])
    assert 0.10 <= varied <= 0.22
    dead = [line for line in before if line["status"] == "infra_error"]
    assert 1 <= len(dead) <= 10
    assert {line["reward"] for line in dead} == {0.0}


def test_calls_are_down_within_ten_steps_and_reward_later() -> None:
    by_step = {step: rollouts("training", split="valid", step=step) for step in (0, 10, 50)}
    assert [len(found) for found in by_step.values()] == [100, 100, 100]
    assert mean(by_step[0], "calls") - mean(by_step[10], "calls") > 0.8 * (
        mean(by_step[0], "calls") - mean(by_step[50], "calls")
    )
    assert mean(by_step[0], "reward") < mean(by_step[10], "reward") < mean(by_step[50], "reward")
