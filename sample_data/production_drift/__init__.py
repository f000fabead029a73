"""Two fine-tuned support agents in production, as synthetic data: what the page Drift tells apart.

Nothing in it is real. Production of `drift_unlike` gets longer prompts about other topics, and searches more than it
did in validation (`PLANTED` says by how much); `drift_alike` meets in production what it was judged on. Three prompts
that `drift_unlike` was trained on stand in its validation. `python -m sample_data.production_drift` writes the file.
"""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import numpy as np

from sample_data.agent import iso
from sample_data.scenarios.lines import BASE_MODEL, START, Line

SEED: Final = 20_260_612
DATA: Final = Path(__file__).parent / "production_drift.jsonl.zst"
UNLIKE, ALIKE = "drift_unlike", "drift_alike"
PLANTED: Final = {"prompt_ratio": 2.1, "search_valid": 0.18, "search_production": 0.41, "num_leaked": 3}
NUM_TRAIN, NUM_VALID, NUM_PRODUCTION = 60, 80, 160
VALID_ATTEMPTS, TRAIN_ATTEMPTS = 2, 4
STEPS: Final = (0, 5, 10)
WORDS: Final = (
    *("invoice", "contract", "delivery", "refund", "account", "meter", "tariff", "address", "payment", "reminder"),
    *("moving", "balance", "credit", "supply", "reading", "period", "customer", "number", "letter", "service"),
)
TOPICS: Final = {"valid": (0.5, 0.3, 0.2), "production": (0.2, 0.2, 0.6)}
TOPIC_NAMES: Final = ("billing", "moving", "complaint")
Rng = np.random.Generator


def lines() -> Iterator[Line]:
    """All four runs in the neutral format."""
    for number, run in enumerate((UNLIKE, ALIKE)):
        yield from _runs(run, np.random.default_rng([SEED, number]), is_unlike=run == UNLIKE)


def _runs(run: str, rng: Rng, *, is_unlike: bool) -> Iterator[Line]:
    about = {"provider": "synthetic", "base_model": BASE_MODEL, "tags": ["synthetic", "drift"], "status": "succeeded"}
    yield {"type": "run", "run": run, "kind": "training", **about, "started_at": iso(START)}
    live = f"{run}_production"
    yield {"type": "run", "run": live, "kind": "production", "parent_run": run, **about, "started_at": iso(START)}
    train, valid = (_samples(rng, split, num) for split, num in (("train", NUM_TRAIN), ("valid", NUM_VALID)))
    if is_unlike:
        for place in range(int(PLANTED["num_leaked"])):
            train[place] |= {"prompt": valid[place]["prompt"], "tags": valid[place]["tags"]}
    yield from _described(run, [*train, *valid])
    for number, step in enumerate(STEPS):
        for split, samples, attempts in (("train", train, TRAIN_ATTEMPTS), ("valid", valid, VALID_ATTEMPTS)):
            batch = NUM_TRAIN // len(STEPS)
            kept = samples if split == "valid" else samples[number * batch : (number + 1) * batch]
            for sample in kept:
                for attempt in range(attempts):
                    yield _rollout(rng, run, sample, split, step, attempt, PLANTED["search_valid"])
    wide = PLANTED["prompt_ratio"] if is_unlike else 1.0
    topics = TOPICS["production" if is_unlike else "valid"]
    search = PLANTED["search_production" if is_unlike else "search_valid"]
    met = _samples(rng, "production", NUM_PRODUCTION, wide, topics)
    yield from _described(live, met)
    for sample in met:
        yield _rollout(rng, live, sample, "production", None, 0, search)


def _described(run: str, samples: Sequence[dict[str, Any]]) -> Iterator[Line]:
    for sample in samples:
        yield {"type": "sample", "run": run, "environment": "support", **sample}


def _samples(
    rng: Rng, split: str, num: int, wide: float = 1.0, topics: Sequence[float] = TOPICS["valid"]
) -> list[dict[str, Any]]:
    """Samples with prompts of about 24 words (so many times as many), tagged by their topic."""
    made = []
    for place in range(num):
        length = max(4, round(24 * wide * float(np.exp(rng.normal(0, 0.3)))))
        words = " ".join(WORDS[int(each)] for each in rng.integers(0, len(WORDS), length))
        topic = TOPIC_NAMES[int(rng.choice(len(TOPIC_NAMES), p=list(topics)))]
        made.append({"sample_id": f"{split}-{place:03}", "prompt": f"{topic}: {words}", "tags": [topic]})
    return made


def _rollout(
    rng: Rng, run: str, sample: dict[str, Any], split: str, step: int | None, attempt: int, search: float
) -> Line:
    """One attempt: a few look-ups, then the answer."""
    calls = ["search" if rng.random() < search else "lookup" for _ in range(1 + int(rng.poisson(2)))]
    messages: list[Line] = [{"role": "user", "content": sample["prompt"]}]
    for number, tool in enumerate(calls):
        arguments = '{"q":"' + str(int(rng.integers(1_000_000))) + '"}'
        call = {"id": f"c{number}", "function": {"name": tool, "arguments": arguments}}
        messages += [{"role": "assistant", "content": None, "tool_calls": [call]}]
        messages += [{"role": "tool", "tool_call_id": f"c{number}", "content": "x" * int(rng.integers(20, 60))}]
    messages.append({"role": "assistant", "content": "done"})
    seconds = round(float(np.exp(rng.normal(1.5, 0.3))) + len(calls), 1)
    scored = {} if split == "production" else {"reward": round(float(rng.beta(4, 2)), 3)}
    begun = START + timedelta(minutes=0 if step is None else 9 * step)
    return {
        **{"run": run, "sample_id": sample["sample_id"], "split": split, "attempt": attempt, "environment": "support"},
        **({} if step is None else {"step": step}),
        **{"status": "completed", "output_tokens": round(120 * float(np.exp(rng.normal(0, 0.4)))), **scored},
        **{"started_at": iso(begun), "ended_at": iso(begun + timedelta(seconds=seconds)), "latency_s": seconds},
        "messages": messages,
    }
