"""A training run that collapses and its healthy twin, as synthetic data: what the page Training health tells apart.

Nothing in it is real. `PLANTED` names every pattern of the rulebook `health` that the collapsing run shows; the twin,
made of the same tasks by the same script, shows none. `python -m sample_data.training_health` writes the file again.
"""

import math
from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import numpy as np

from sample_data.agent import iso
from sample_data.scenarios.lines import BASE_MODEL, START, Line

SEED: Final = 20_260_511
DATA: Final = Path(__file__).parent / "training_collapse.jsonl.zst"
COLLAPSE, HEALTHY = "training_collapse", "training_healthy"
PLANTED: Final = (
    *("flat_validation", "entropy_collapse", "length_explosion", "mismatch_growth", "mismatch_after_tools"),
    *("kl_blow_up", "gradient_spikes", "clip_fraction_high", "truncation_rising"),
)
STEPS, VALID_EVERY, NUM_VALID, NUM_TRAIN = 30, 5, 24, 40
GROUPS, ATTEMPTS = 4, 3
BREAK: Final = 10
"""The step from which the collapsing run goes wrong."""
SPIKES: Final = (16, 21, 26)
STEP_TIME: Final = timedelta(minutes=9)
Rng = np.random.Generator


def lines() -> Iterator[Line]:
    """Both runs in the neutral format."""
    for number, run in enumerate((COLLAPSE, HEALTHY)):
        yield from _run(run, np.random.default_rng([SEED, number]), collapses=run == COLLAPSE)


def _run(run: str, rng: Rng, *, collapses: bool) -> Iterator[Line]:
    ended = START + STEP_TIME * STEPS
    yield {
        **{"type": "run", "run": run, "kind": "training", "provider": "synthetic", "base_model": BASE_MODEL},
        **{"tags": ["synthetic", "training health"], "status": "succeeded"},
        **{"started_at": iso(START), "ended_at": iso(ended)},
    }
    levels = {f"{split}-{n:02}": float(rng.uniform(0.1, 0.6)) for split, num in _SPLITS for n in range(num)}
    for step in range(STEPS):
        gone = max(0.0, (step - BREAK) / (STEPS - 1 - BREAK)) if collapses else 0.0
        learned, begun = step / (STEPS - 1), START + STEP_TIME * step
        batch = [
            _rollout(rng, run, f"train-{task:02}", "train", step, attempt, levels, learned, gone)
            for task in sorted(rng.permutation(NUM_TRAIN)[:GROUPS].tolist())
            for attempt in range(ATTEMPTS)
        ]
        held = learned * (0.0 if collapses else 1.0)
        valid = [_rollout(rng, run, f"valid-{n:02}", "valid", step, 0, levels, held, gone) for n in range(NUM_VALID)]
        kept = [*batch, *(valid if step % VALID_EVERY == 0 or step == STEPS - 1 else ())]
        for place, line in enumerate(kept):
            seconds = line.pop("seconds")
            times = {"started_at": iso(begun + timedelta(seconds=place)), "latency_s": seconds}
            yield {**line, **times, "ended_at": iso(begun + timedelta(seconds=place + seconds))}
        yield _metrics(rng, run, step, learned, gone, kept, collapses=collapses)


_SPLITS: Final = (("train", NUM_TRAIN), ("valid", NUM_VALID))


def _rollout(
    rng: Rng,
    run: str,
    sample: str,
    split: str,
    step: int,
    attempt: int,
    levels: dict[str, float],
    learned: float,
    gone: float,
) -> Line:
    """One attempt: a look-up, its answer, and the final answer, with token figures of both turns."""
    reward = float(np.clip(levels[sample] + 0.3 * learned + rng.normal(0, 0.09), 0, 1))
    tokens = round(900 * math.exp(rng.normal(0, 0.12)) * (1 + 0.1 * learned + 2.2 * gone))
    is_cut = bool(rng.random() < 0.01 + 0.5 * gone)
    first, after = (round(float(0.003 * math.exp(rng.normal(0, 0.2)) * by), 5) for by in (1 + gone, 1 + 30 * gone))
    call = {"id": "c1", "function": {"name": "lookup", "arguments": '{"key":"' + sample + '"}'}}
    messages: list[Line] = [
        {"role": "user", "content": f"What is the value of {sample}?"},
        {"role": "assistant", "content": None, "tool_calls": [call], **_figures(first)},
        {"role": "tool", "tool_call_id": "c1", "content": "17"},
        {"role": "assistant", "content": "17", **_figures(after)},
    ]
    ending = ("truncated", "length") if is_cut else ("completed", "stop")
    return {
        **{"run": run, "sample_id": sample, "split": split, "step": step, "attempt": attempt},
        **{"status": ending[0], "stop_reason": ending[1], "reward": round(reward, 3), "output_tokens": tokens},
        **{"policy_version_start": max(0, step - 1), "policy_version_end": step},
        **({"group_id": f"{step}-{sample}"} if split == "train" else {}),
        **{"seconds": round(tokens / 90, 1), "messages": messages},
    }


def _figures(mismatch: float) -> Line:
    return {"mismatch_mean": -mismatch, "mismatch_abs_mean": mismatch, "mismatch_p95": round(3 * mismatch, 5)}


def _metrics(
    rng: Rng, run: str, step: int, learned: float, gone: float, batch: Sequence[Line], *, collapses: bool
) -> Line:
    """What the trainer reports of a step, under names of its own."""
    spike = 14.0 if collapses and step in SPIKES else 1.0
    metrics: dict[str, Any] = {
        "train/entropy": (0.9 - 0.25 * learned) * math.exp(-2.4 * gone),
        "train/kl": 0.002 + 0.03 * learned + 0.9 * gone**2,
        "train/grad_norm": 0.35 * spike,
        "train/clip_fraction": 0.04 + 0.5 * gone,
        "train/loss": 0.02 + rng.normal(0, 0.004),
    }
    noisy = {name: round(value * math.exp(rng.normal(0, 0.05)), 5) for name, value in metrics.items()}
    for name, split in (("train/reward", "train"), ("eval/reward", "valid")):
        rewards = [line["reward"] for line in batch if line["split"] == split]
        if rewards:
            noisy[name] = round(math.fsum(rewards) / len(rewards), 6)
    noisy |= {"train/learning_rate": 1e-6, "perf/mfu": round(0.41 + float(rng.normal(0, 0.01)), 4)}
    return {
        "type": "metric",
        "run": run,
        "step": step,
        "recorded_at": iso(START + STEP_TIME * (step + 1)),
        "metrics": noisy,
    }
