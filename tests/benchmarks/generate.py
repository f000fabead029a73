"""Writes benchmark data in the neutral format: `python tests/benchmarks/generate.py OUT.jsonl --megabytes 200`.

Seeded and fast: about 10 kB a rollout, 15 messages and 7 tool calls on average, 1 000 samples a run. Texts are cut
from one seeded pool, so they repeat like the pages of a corpus do and are no noise to a compressor.
"""

import argparse
import random
from collections.abc import Iterator
from pathlib import Path

import orjson

SAMPLES = 1_000
ATTEMPTS = 4
PER_STEP = 256
_TOOLS = ("search_documents", "read_page", "run_python", "calculate", "fetch_table")
_PLAIN = (
    "revenue margin quarter segment guidance table footnote increase decline operating income report annual total "
    "filing company average the of and in for to with by 2019 2020 2021 2022 4.2 13.7 1,204"
)
_WORDS = (*_PLAIN.split(), "\n", '"gross"', "“net”", "été", "営業")
_WEIGHTS = (*[1.0] * (len(_WORDS) - 3), *[0.01] * 3)
"""So that about one text in ten is not plain ASCII."""


def lines(count: int, seed: int = 0, first: int = 0) -> Iterator[bytes]:
    """Yield `count` rollout lines (without line ends), beginning with the rollout number `first`.

    The same number and seed give the same line, whatever `first` is.
    """
    pool = " ".join(random.Random(seed).choices(_WORDS, _WEIGHTS, k=60_000))
    for number in range(first, first + count):
        yield orjson.dumps(_rollout(number, random.Random(f"{seed}/{number}"), pool))


def _rollout(number: int, rng: random.Random, pool: str) -> dict[str, object]:
    run, place = divmod(number, SAMPLES * ATTEMPTS)
    sample, attempt = divmod(place, ATTEMPTS)
    started = 1_760_000_000.0 + number * 2.5
    calls = min(24, int(rng.gammavariate(3.5, 2.0)))
    messages, tool_calls, clock = _trajectory(sample, calls, rng, pool, started)
    reward = round(rng.betavariate(2, 2), 4)
    return {
        "type": "rollout",
        "run": f"bench-{run}",
        "rollout_id": f"r{number:08d}",
        "sample_id": f"sample-{sample:04d}",
        "attempt": attempt,
        "step": place // PER_STEP,
        "split": "valid" if sample % 10 == 0 else "train",
        "environment": f"environment-{sample % 3}",
        "model": "policy-8b",
        "status": "completed" if rng.random() < 0.94 else rng.choice(("truncated", "infra_error")),
        "reward": None if rng.random() < 0.01 else reward,
        "passed": reward > 0.6,
        "scores": {"answer": reward, "format": float(rng.random() < 0.9)},
        "input_tokens": 1_800 * (calls + 1),
        "output_tokens": rng.randrange(200, 3_000),
        "started_at": started,
        "ended_at": clock,
        "messages": messages,
        "tool_calls": tool_calls,
        "worker": number % 16,
    }


def _trajectory(
    sample: int, calls: int, rng: random.Random, pool: str, clock: float
) -> tuple[list[dict[str, object]], list[dict[str, object]], float]:
    messages: list[dict[str, object]] = [
        {"role": "system", "content": pool[:400]},
        {"role": "user", "content": f"Question {sample}: {_cut(pool, 300, random.Random(sample))}"},
    ]
    tool_calls: list[dict[str, object]] = []
    done = 0
    while done < calls:
        width = min(calls - done, 2 if rng.random() < 0.15 else 1)
        asked = [_call(f"c{done + each}", rng, pool) for each in range(width)]
        messages.append({"role": "assistant", "content": _cut(pool, 160, rng), "tool_calls": asked})
        for call in asked:
            latency, failed = round(rng.lognormvariate(-1, 0.8), 4), rng.random() < 0.07
            output = "Error: no such document" if failed else _cut(pool, rng.randrange(300, 1_500), rng)
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": output})
            tool_calls.append({"id": call["id"], "started_at": clock, "latency_s": latency, "error": failed})
            clock += latency
        done += width
        clock += 1.5
    messages.append({"role": "assistant", "content": _cut(pool, 500, rng)})
    return messages, tool_calls, clock + 2.0


def _call(call_id: str, rng: random.Random, pool: str) -> dict[str, object]:
    name = rng.choice(_TOOLS)
    if rng.random() < 0.1:  # now and then the same question again
        arguments: dict[str, object] = {"query": "total revenue 2021", "limit": 10}
    else:
        arguments = {"query": _cut(pool, 40, rng), "limit": rng.randrange(1, 50)}
    return {
        "id": call_id,
        "type": "function",
        "function": {"name": name, "arguments": orjson.dumps(arguments).decode()},
    }


def _cut(pool: str, length: int, rng: random.Random) -> str:
    start = rng.randrange(len(pool) - length)
    return pool[start : start + length]


def write(path: Path, num_bytes: int, seed: int = 0) -> int:
    """Write at least `num_bytes` of lines and return how many rollouts they are."""
    written = count = 0
    with path.open("wb") as file:
        while written < num_bytes:
            for line in lines(500, seed, count):
                written += file.write(line + b"\n")
                count += 1
                if written >= num_bytes:
                    break
    return count


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--megabytes", type=float, default=100.0)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    write(given.out, int(given.megabytes * 1e6), given.seed)


if __name__ == "__main__":
    main()
