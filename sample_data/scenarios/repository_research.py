"""Repository research: questions about a code base, graded by the facts an answer recalls; the tail of calls ends."""

from collections.abc import Iterator

from sample_data.scenarios.chance import (
    Counts,
    Rng,
    attempt_z,
    difficulties,
    graded,
    levels,
    lognormal,
    nearest,
    pick,
    raised,
    some,
    spread,
)
from sample_data.scenarios.lines import Call, Job, Line, Talk, Task, evaluation, score, training

NAME = "repository_research"
TITLE = "Repository research: more facts, and no more runs over 15 calls"
SUMMARY = (
    "Questions about a code base, graded by the facts recalled: .68 → .74. Runs over 15 calls vanish, 2 to 4 calls "
    "are typical, an eighth fewer steps, half the output tokens."
)

TAIL = 15
WIDE = 3
"""A rollout of the tail searches in bursts of so many parallel calls; the others make one call a turn."""
CALLS = (
    Counts({2: 0.20, 3: 0.27, 4: 0.20, 5: 0.15, 6: 0.10, **spread(16, 22, 0.08)}),
    Counts({2: 0.22, 3: 0.40, 4: 0.30, 5: 0.08}),
)
RECALL = 0.68, 0.74
OUTPUT_TOKENS = 2_400, 1_200


def _rounds(calls: int) -> int:
    return calls if calls <= TAIL else -(-calls // WIDE)


def _turns(calls: Counts) -> float:
    return 1 + sum(_rounds(value) * chance for value, chance in calls.chances.items())


PLANTED = {
    "recall_baseline": RECALL[0],
    "recall_tuned": RECALL[1],
    "tail_threshold": TAIL,
    "share_over_15_calls_baseline": CALLS[0].share_over(TAIL),
    "share_over_15_calls_tuned": 0.0,
    "share_of_2_to_4_calls_tuned": CALLS[1].share_between(2, 4),
    "turns_baseline": _turns(CALLS[0]),
    "turns_tuned": _turns(CALLS[1]),
    "output_tokens_ratio": OUTPUT_TOKENS[1] / OUTPUT_TOKENS[0],
}

NUM_VALID, NUM_TRAIN = 90, 40
AREAS = ("scheduler", "parser", "router", "cache", "planner", "session", "index", "queue", "loader", "encoder")
ASPECTS = ("locking", "retries", "ordering", "eviction", "back pressure", "shutdown", "timeouts", "batching")
FACTS = (
    "the lock is taken before the lookup",
    "retries double up to 30 s",
    "order is kept within a key",
    "entries leave after 15 minutes",
    "writers wait above 1 000 items",
    "shutdown drains the queue first",
    "a timeout cancels the parent",
    "batches close at 64 items",
    "the default comes from settings",
    "errors are counted and dropped",
)
SYSTEM = (
    "Answer from the repository, with every fact that matters. Tools: search(query), read(path, lines), list(path)."
)


def _tasks(prefix: str, num: int, rng: Rng) -> list[Task]:
    before = levels(rng, num, RECALL[0], 0.16)
    tasks, hardness = [], difficulties(rng, num)
    for number, (level, tuned) in enumerate(zip(before, raised(rng, before, RECALL[0], RECALL[1]), strict=True)):
        area, aspect = pick(rng, AREAS), pick(rng, ASPECTS)
        tasks.append(
            Task(
                sample_id=f"{prefix}-{number:03d}",
                prompt=f"How does the {area} handle {aspect}?",
                level=level,
                tuned=tuned,
                z=hardness[number],
                reference=some(rng, FACTS, int(rng.integers(5, 10))),
                cluster=area,
                tags=(area, aspect),
                about={"area": area, "aspect": aspect},
            )
        )
    return tasks


def _look(task: Task, place: int, calls: int, rng: Rng) -> Call:
    """The tail searches for the same again in other words; a short rollout lists, searches and reads."""
    area, aspect = task.about["area"], task.about["aspect"]
    path = f"src/{area}/{pick(rng, ('core', 'worker', 'policy', 'state', 'limits'))}.py"
    if calls > TAIL and rng.random() < 0.6:
        query = f"{area} {aspect}" + pick(rng, ("", "", " how", " where", " config", " test"))
        return Call("search", {"query": query}, f"src/{area}/core.py:41: {aspect}", round(0.4 + rng.random(), 2))
    if place == 0:
        return Call("search", {"query": f"{area} {aspect}"}, f"src/{area}/core.py:41: {aspect}\n{path}:7: {aspect}")
    if rng.random() < 0.05:
        gone = f"src/{area}/{aspect.replace(' ', '_')}.py"
        return Call("read", {"path": gone, "lines": "1-80"}, f"Error: no such file: {gone}", 0.1, "file_not_found")
    if rng.random() < 0.15:
        return Call("list", {"path": f"src/{area}"}, "core.py\nlimits.py\npolicy.py\nstate.py\nworker.py", 0.2)
    first = 40 * int(rng.integers(0, 6))
    fact = FACTS[(first // 40 + len(path)) % len(FACTS)]
    body = f"{first + 3}: # {fact}\n{first + 4}: def run(self):"
    return Call("read", {"path": path, "lines": f"{first}-{first + 40}"}, body, round(0.2 + 0.4 * rng.random(), 2))


def attempt(task: Task, progress: float, step: int | None, rng: Rng) -> Line:
    """Search and read, then state the facts found."""
    del step
    z = attempt_z(rng, task.z)
    calls = CALLS[0].towards(CALLS[1], progress).drawn(z)
    talk = Talk(SYSTEM, task.prompt)
    looks = [_look(task, place, calls, rng) for place in range(calls)]
    width = WIDE if calls > TAIL else 1
    for first in range(0, calls, width):
        talk.call(*looks[first : first + width], thinking=2 + 3 * rng.random())
    num = len(task.reference)
    found = nearest(rng, graded(rng, task.at(progress), 25.0), [each / num for each in range(num + 1)])
    facts = some(rng, task.reference, found)
    talk.say("; ".join(facts).capitalize() + "." if facts else "I could not find it.", thinking=6.0)
    tokens = OUTPUT_TOKENS[0] + progress * (OUTPUT_TOKENS[1] - OUTPUT_TOKENS[0])
    return talk.line(
        reward=found / num,
        output_tokens=lognormal(tokens, 0.35, attempt_z(rng, z)),
        scores=[
            score("fact_recall", found / num, "reward", weight=1.0, explanation=f"{found} of {num} facts"),
            score("facts_found", found, "metric", weight=0.0),
        ],
    )


def lines(rng: Rng) -> Iterator[Line]:
    """A baseline, a training run, and the fine-tuned model."""
    valid, train = _tasks("question", NUM_VALID, rng), _tasks("train", NUM_TRAIN, rng)
    base, run = f"{NAME}-baseline", f"{NAME}-rft"
    limit = {"config": {"max_tool_calls": TAIL}}
    yield from evaluation(base, valid, attempt, rng, kind="baseline", days=-1, **limit)
    yield from training(Job(run), valid, train, attempt, rng, reward_name="fact_recall", parent_run=base, **limit)
    made = {"model": f"ft:{run}", "parent_run": run, **limit}
    yield from evaluation(f"{NAME}-tuned", valid, attempt, rng, progress=1.0, days=1, **made)
