"""Enterprise coding: an orchestrator with two workers; nothing is paid unless the hidden tests pass."""

from collections.abc import Iterator

from sample_data.scenarios.chance import (
    Counts,
    Rng,
    attempt_z,
    difficulties,
    graded,
    levels,
    lognormal,
    pick,
    raised,
    spread,
)
from sample_data.scenarios.lines import Call, Job, Line, Talk, Task, evaluation, score, training

NAME = "enterprise_coding"
TITLE = "Enterprise coding: a gate of correctness, an orchestrator with workers"
SUMMARY = (
    "An orchestrator and two workers change a large code base. Reward is 0 unless the hidden tests pass, then quality "
    "and self-checks count. Trajectories over 100 messages vanish."
)

CORRECT = 0.35, 0.50
SELF_CHECKED = 0.40, 0.85
QUALITY = 0.70
LONG = 100
WORKER_TURNS = (
    Counts({**spread(6, 14, 0.92), **spread(48, 66, 0.08)}),
    Counts(spread(5, 12, 1.0)),
)
"""A trajectory has 6 messages, 2 for each turn of a worker, and 2 for a self-check: over 100 from 48 such turns."""
WEIGHTS = {"tests": 0.7, "quality": 0.2, "self_check": 0.1}


def _reward(correct: float, checked: float) -> float:
    return correct * (WEIGHTS["tests"] + WEIGHTS["quality"] * QUALITY + WEIGHTS["self_check"] * checked)


PLANTED = {
    "correct_baseline": CORRECT[0],
    "correct_tuned": CORRECT[1],
    "reward_baseline": _reward(CORRECT[0], SELF_CHECKED[0]),
    "reward_tuned": _reward(CORRECT[1], SELF_CHECKED[1]),
    "zeros_baseline": 1 - CORRECT[0],
    "zeros_tuned": 1 - CORRECT[1],
    "self_checked_baseline": SELF_CHECKED[0],
    "self_checked_tuned": SELF_CHECKED[1],
    "long_threshold": LONG,
    "share_over_100_messages_baseline": WORKER_TURNS[0].share_over(47),
    "share_over_100_messages_tuned": 0.0,
    "agents": ("orchestrator", "worker-1", "worker-2"),
}

NUM_VALID, NUM_TRAIN = 50, 40
MODULES = ("invoices", "payroll", "claims", "orders", "tariffs", "ledgers", "permits", "stock")
CHANGES = ("add a field for the cost centre", "round half to even", "page the list", "validate the currency")
SYSTEM = (
    "You lead two workers on a change to a large code base. Tools: assign(worker, task), read(path), "
    "edit(path, change), run_tests(target). The change counts only if the hidden tests pass."
)


def _tasks(prefix: str, num: int, rng: Rng) -> list[Task]:
    before = levels(rng, num, CORRECT[0], 0.30)
    tasks, hardness = [], difficulties(rng, num)
    for number, (level, tuned) in enumerate(zip(before, raised(rng, before, CORRECT[0], CORRECT[1]), strict=True)):
        module, change = pick(rng, MODULES), pick(rng, CHANGES)
        tasks.append(
            Task(
                sample_id=f"{prefix}-{number:03d}",
                prompt=f"In {module}: {change}.",
                level=level,
                tuned=tuned,
                z=hardness[number],
                reference=f"hidden tests of {module}",
                cluster=module,
                tags=(module,),
                about={"module": module, "change": change},
            )
        )
    return tasks


def _work(task: Task, worker: int, place: int, rng: Rng) -> Call:
    """One step of a worker: read, edit, run the tests of its part, and again."""
    module = task.about["module"]
    path = f"{module}/{('service', 'forms')[worker - 1]}.py"
    kind = place % 3
    if kind == 0:
        path = path if rng.random() < 0.7 else f"{module}/{pick(rng, ('types', 'rules', 'api'))}.py"
        return Call("read", {"path": path}, f"class {module.capitalize()}:\n    ...", 0.3)
    if kind == 1:
        if rng.random() < 0.10:
            return Call("edit", {"path": path, "change": "-"}, "Error: the patch does not apply", 0.2, "conflict")
        change = f"{pick(rng, ('def', 'guard', 'import', 'type'))}: {task.about['change']}"
        return Call("edit", {"path": path, "change": change}, "1 file changed", 0.4)
    failed = int(rng.integers(0, 3))
    said = f"{9 - failed} passed, {failed} failed" if failed else "9 passed"
    return Call("run_tests", {"target": path}, said, 3 + 4 * rng.random(), "nonzero_exit" if failed else None)


def attempt(task: Task, progress: float, step: int | None, rng: Rng) -> Line:
    """The orchestrator hands out work, the workers work in parallel, and sometimes all of it is checked at the end."""
    del step
    z = attempt_z(rng, task.z)
    module, talk = task.about["module"], Talk(SYSTEM, task.prompt)
    orders = [
        Call("assign", {"worker": f"worker-{each}", "task": f"{part} of {module}"}, "accepted", 0.1)
        for each, part in ((1, "service"), (2, "forms"))
    ]
    talk.call(*orders, text="I split the change in two.", agent="orchestrator", thinking=5.0)
    for turn in range(WORKER_TURNS[0].towards(WORKER_TURNS[1], progress).drawn(z)):
        worker = 1 + turn % 2
        talk.call(_work(task, worker, turn // 2, rng), agent=f"worker-{worker}", thinking=2 + 3 * rng.random())
    talk.meet()
    is_correct = bool(rng.random() < task.at(progress))
    is_checked = bool(rng.random() < SELF_CHECKED[0] + progress * (SELF_CHECKED[1] - SELF_CHECKED[0]))
    if is_checked:
        talk.call(Call("run_tests", {"target": "all"}, "41 passed", 14.0), agent="orchestrator", thinking=3.0)
    done = "Done, all tests of the repository pass." if is_checked else "Done; I have not run the tests."
    talk.say(done, agent="orchestrator", thinking=4.0)
    return talk.line(**_graded(is_correct, is_checked, rng), output_tokens=lognormal(3_000 - 800 * progress, 0.3, z))


def _graded(is_correct: bool, is_checked: bool, rng: Rng) -> Line:  # noqa: FBT001 - the two facts a grade is made of
    quality = graded(rng, QUALITY)
    reward = is_correct * (
        WEIGHTS["tests"] + WEIGHTS["quality"] * round(quality, 4) + WEIGHTS["self_check"] * is_checked
    )
    why = "all hidden tests pass" if is_correct else "hidden tests fail: the gate is closed, the reward is 0"
    return {
        "reward": reward,
        "passed": is_correct,
        "scores": [
            score("gated", reward, "reward", weight=1.0),
            score("gated/correctness", is_correct, weight=WEIGHTS["tests"], passed=is_correct, explanation=why),
            score("gated/quality", quality, weight=WEIGHTS["quality"]),
            score("gated/self_check", is_checked, weight=WEIGHTS["self_check"], passed=is_checked),
        ],
    }


def lines(rng: Rng) -> Iterator[Line]:
    """A baseline, a training run with many groups of nothing but zeros, and the fine-tuned model."""
    valid, train = _tasks("change", NUM_VALID, rng), _tasks("train", NUM_TRAIN, rng)
    base, run = f"{NAME}-baseline", f"{NAME}-rft"
    config = {"gate": "gated/correctness", "weights": WEIGHTS, "max_messages": LONG}
    yield from evaluation(base, valid, attempt, rng, kind="baseline", days=-1, config=config)
    yield from training(Job(run), valid, train, attempt, rng, reward_name="gated", parent_run=base, config=config)
    made = {"model": f"ft:{run}", "parent_run": run, "config": config}
    yield from evaluation(f"{NAME}-tuned", valid, attempt, rng, progress=1.0, days=1, **made)
