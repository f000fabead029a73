"""Makes the synthetic sample data in `finqa/`: a retrieval agent over financial reports, before, during and after RFT.

Nothing in it is real: companies, reports, figures, answers and times come from a seeded generator. It is shaped on the
published figures of such a job: validation reward .53 → .65, tool calls 6.9 → 4.2 (already down within ten steps),
reasoning tokens 2 500 → 1 500, latency about −10 %, real variance on about 15 % of the samples, a budget of ten calls,
and a few infrastructure failures graded zero. Run `python -m sample_data.generate` to write the files again.
"""

import hashlib
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import zstandard

from sample_data.agent import (
    CALL_BUDGET,
    NUM_REPORTS,
    TUNED,
    UNTUNED,
    Line,
    Policy,
    Sample,
    iso,
    policy_at,
    rollout,
    samples,
)

SEED = 20_260_336
STEPS = 50
VALIDATION_EVERY = 5
NUM_VALID, NUM_TRAIN = 100, 240
TRAIN_SAMPLES, TRAIN_ATTEMPTS = 8, 4
START = datetime(2026, 3, 2, 8, 0, tzinfo=UTC)
STEP_TIME = timedelta(minutes=11)
BASE_MODEL, TUNED_MODEL = "o4-mini", "ft:o4-mini:finqa"


def _sample_lines(run: str, made: list[Sample]) -> Iterator[Line]:
    for sample in made:
        yield {
            "type": "sample",
            "run": run,
            "sample_id": sample.sample_id,
            "prompt": sample.question,
            "reference": str(sample.answer),
            "environment": "finqa",
            "cluster_key": sample.company,
            "tags": [sample.sector, sample.metric],
            "metadata": {"synthetic": True},
        }


def evaluation(
    run: str, kind: str, policy: Policy, start: datetime, valid: list[Sample], **about: Any
) -> Iterator[Line]:
    """Three attempts at every validation sample."""
    rng = np.random.default_rng([SEED, *run.encode()])
    yield {
        "type": "run",
        "run": run,
        "kind": kind,
        "provider": "synthetic",
        "base_model": BASE_MODEL,
        "reward_name": "answer (graded 0–1)",
        "tags": ["synthetic"],
        **about,
    }
    yield from _sample_lines(run, valid)
    for attempt in range(3):
        for number, sample in enumerate(valid):
            begun = start + timedelta(seconds=4 * (attempt * len(valid) + number))
            model = about.get("model")
            yield rollout(sample, policy, begun, rng, run=run, split="valid", attempt=attempt, model=model)


def training(run: str, valid: list[Sample], train: list[Sample]) -> Iterator[Line]:
    """About fifty steps: train batches, validation every fifth step, metrics, events and checkpoints."""
    rng = np.random.default_rng([SEED, *run.encode()])
    ended = START + STEP_TIME * (STEPS + 1)
    yield {
        "type": "run",
        "run": run,
        "kind": "training",
        "provider": "synthetic",
        "base_model": BASE_MODEL,
        "model": TUNED_MODEL,
        "parent_run": "finqa-baseline",
        "status": "succeeded",
        "started_at": iso(START),
        "ended_at": iso(ended),
        "reward_name": "train_reward_mean (all rollouts of the batch)",
        "hyperparameters": {
            "batch_size": TRAIN_SAMPLES,
            "attempts": TRAIN_ATTEMPTS,
            "compute_multiplier": 1,
            "eval_interval": VALIDATION_EVERY,
        },
        "config": {"max_tool_calls": CALL_BUDGET, "num_reports": NUM_REPORTS},
        "tags": ["synthetic"],
    }
    yield from _sample_lines(run, [*valid, *train])
    yield _event(run, 0, "created", f"Job created on {BASE_MODEL}", START)
    for step in range(STEPS + 1):
        begun = START + STEP_TIME * step
        batch = list(_step(run, step, begun, valid, train, rng))
        yield from batch
        yield _metrics(run, step, begun + STEP_TIME, batch, rng)
        yield _event(run, step, "metrics", f"Step {step}/{STEPS} done", begun + STEP_TIME)
        if step in (30, 40, 50):
            checkpoint = {"checkpoint_id": f"ckpt-step-{step}", "model": f"{TUNED_MODEL}:ckpt-step-{step}"}
            yield {"type": "checkpoint", "run": run, "step": step, **checkpoint, "created_at": iso(begun + STEP_TIME)}
    yield _event(run, STEPS, "succeeded", "Job succeeded", ended)


def _step(
    run: str, step: int, begun: datetime, valid: list[Sample], train: list[Sample], rng: np.random.Generator
) -> Iterator[Line]:
    policy = policy_at(step)
    about = {"run": run, "step": step, "model": BASE_MODEL if step == 0 else TUNED_MODEL, "policy_version_start": step}
    if step % VALIDATION_EVERY == 0:
        for number, sample in enumerate(valid):
            yield rollout(sample, policy, begun + timedelta(seconds=number), rng, split="valid", attempt=0, **about)
    if step == STEPS:
        return
    chosen = rng.choice(len(train), TRAIN_SAMPLES, replace=False)
    for position, which in enumerate(chosen):
        group = [
            rollout(
                train[int(which)],
                policy,
                begun + timedelta(seconds=120 + position),
                rng,
                split="train",
                attempt=attempt,
                group_id=f"{step}-{position}",
                **about,
            )
            for attempt in range(TRAIN_ATTEMPTS)
        ]
        rewards = np.array([line["reward"] for line in group])
        for line, advantage in zip(group, rewards - rewards.mean(), strict=True):
            line["subset"] = "effective" if rewards.std() > 0 else "all"
            yield {**line, "advantage": round(float(advantage), 4)}


def _metrics(run: str, step: int, at: datetime, batch: list[Line], rng: np.random.Generator) -> Line:
    """What the trainer reports of a step: means over all rollouts, as graded."""
    metrics: dict[str, float] = {}
    for split, prefix in (("train", "train"), ("valid", "valid")):
        lines = [line for line in batch if line["split"] == split]
        if lines:
            metrics[f"{prefix}_reward_mean"] = float(np.mean([line["reward"] for line in lines]))
            metrics[f"{prefix}_reasoning_tokens_mean"] = float(np.mean([line["reasoning_tokens"] for line in lines]))
            metrics[f"{prefix}_tool_calls_per_rollout"] = float(np.mean([len(line["tool_calls"]) for line in lines]))
    metrics["kl"] = round(0.002 + 0.05 * policy_at(step).reward + abs(float(rng.normal(0, 0.003))), 5)
    metrics["entropy"] = round(0.9 - 0.35 * policy_at(step).reward + float(rng.normal(0, 0.01)), 5)
    metrics["grad_norm"] = round(float(rng.lognormal(-1, 0.2)), 5)
    return {"type": "metric", "run": run, "step": step, "recorded_at": iso(at), "metrics": metrics}


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


def write(path: Path, lines: Iterator[Line]) -> str:
    """Write lines as zstd-compressed JSON lines; returns the hash of what was written before compression."""
    digest = hashlib.sha256()
    with path.open("wb") as file, zstandard.ZstdCompressor(level=19).stream_writer(file) as out:
        for line in lines:
            data = json.dumps(line, separators=(",", ":")).encode() + b"\n"
            digest.update(data)
            out.write(data)
    return digest.hexdigest()


def main(folder: Path) -> None:
    """Write all files of the sample data."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(SEED)
    valid, train = samples("valid", NUM_VALID, rng), samples("train", NUM_TRAIN, rng)
    before, after = START - timedelta(days=1), START + timedelta(days=1)
    tuned = {"model": TUNED_MODEL, "parent_run": "finqa-rft"}
    write(
        folder / "baseline.jsonl.zst",
        evaluation("finqa-baseline", "baseline", UNTUNED, before, valid, model=BASE_MODEL),
    )
    write(folder / "training.jsonl.zst", training("finqa-rft", valid, train))
    write(folder / "evaluation.jsonl.zst", evaluation("finqa-tuned", "evaluation", TUNED, after, valid, **tuned))


if __name__ == "__main__":
    main(Path(__file__).parent / "finqa")
