"""A training run in which one machine dies for a while and slow rollouts are cut off, beside one without either.

Not a published case: it plants what the pages Failures and Attrition are for. Rollouts without messages.
"""

from collections.abc import Iterator
from datetime import timedelta

from sample_data.agent import iso
from sample_data.scenarios.chance import Rng
from sample_data.scenarios.lines import START, Line, run_line

NAME = "dead_host"
TITLE = "A host that dies, and slow rollouts that vanish"
SUMMARY = (
    "One of eight hosts fails for four steps, and rollouts of more than 90 s are cancelled; a clean run beside it."
)

PLANTED = {
    "host": "host-3",
    "first_step": 14,
    "last_step": 17,
    "cut_off_s": 90.0,
    "error_rate": 0.01,
    "stray_rate": 0.03,
}

NUM_STEPS, SAMPLES_A_STEP, ATTEMPTS, NUM_SAMPLES, NUM_HOSTS = 30, 8, 4, 60, 8
STEP_TIME = timedelta(minutes=5)


def _rollouts(run: str, rng: Rng, *, is_planted: bool) -> Iterator[Line]:
    pace = rng.lognormal(3.6, 0.5, NUM_SAMPLES)
    """How many seconds each sample usually takes."""
    chance = rng.uniform(0.2, 0.9, NUM_SAMPLES)
    for step in range(NUM_STEPS):
        for sample in rng.choice(NUM_SAMPLES, SAMPLES_A_STEP, replace=False).tolist():
            for attempt in range(ATTEMPTS):
                host = f"host-{rng.integers(NUM_HOSTS)}"
                seconds = float(pace[sample] * rng.lognormal(0.0, 0.25))
                reward = float(rng.random() < chance[sample])
                luck = rng.random()
                start = START + step * STEP_TIME + timedelta(seconds=float(rng.uniform(0, 120)))
                line: Line = {
                    "run": run,
                    "sample_id": f"task-{sample:02}",
                    "step": step,
                    "split": "train",
                    "attempt": attempt,
                    "environment": NAME,
                    "host": host,
                    "status": "completed",
                    "reward": reward,
                    "passed": reward > 0,
                    "advantage": reward - 0.5,
                    "subset": "effective",
                    "started_at": iso(start),
                }
                is_down = is_planted and host == PLANTED["host"] and 14 <= step <= 17
                is_cut = seconds > 90.0 if is_planted else luck > 0.97
                if is_down or luck < 0.01:
                    line |= {"status": "infra_error", "error_type": "SandboxError", "error_message": f"{host} is gone"}
                elif is_cut:
                    line |= {"status": "cancelled", "stop_reason": "straggler"}
                    seconds = min(seconds, 90.0) if is_planted else seconds
                if line["status"] != "completed":
                    line |= {"reward": None, "passed": None, "advantage": None, "subset": "all"}
                yield {**line, "ended_at": iso(start + timedelta(seconds=seconds))}


def lines(rng: Rng) -> Iterator[Line]:
    """Both runs: `dead_host-planted` and `dead_host-clean`."""
    for run, is_planted in ((f"{NAME}-planted", True), (f"{NAME}-clean", False)):
        yield run_line(run, "training", hyperparameters={"batch_size": SAMPLES_A_STEP, "attempts": ATTEMPTS})
        yield from _rollouts(run, rng, is_planted=is_planted)
