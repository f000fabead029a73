"""File selection: a coding agent names the files an issue will touch, graded by F1; more examples, better files."""

from collections.abc import Iterator

from sample_data.scenarios.chance import (
    Counts,
    Rng,
    answer_of_f1,
    attempt_z,
    difficulties,
    graded,
    levels,
    lognormal,
    pick,
    raised,
)
from sample_data.scenarios.lines import Call, Job, Line, Talk, Task, evaluation, score, training

NAME = "file_selection"
TITLE = "File selection by F1, with 100 and with 1 000 examples"
SUMMARY = (
    "A coding agent names the files an issue will touch. Ten times the examples, twice the gain; planning takes 4 "
    "rounds instead of 8 to 10, because calls run in parallel."
)

ROUNDS = Counts({7: 0.1, 8: 0.25, 9: 0.3, 10: 0.25, 11: 0.1}), Counts({3: 0.25, 4: 0.5, 5: 0.25})
WIDTHS = Counts({1: 0.95, 2: 0.05}), Counts({1: 0.1, 2: 0.4, 3: 0.5})
F1 = 0.55, 0.65
HALF = 0.5
"""How far 100 examples bring the agent, of the way that 1 000 bring it."""

PLANTED = {
    "f1_baseline": F1[0],
    "f1_100": F1[0] + HALF * (F1[1] - F1[0]),
    "f1_1000": F1[1],
    "rounds_baseline": ROUNDS[0].mean,
    "rounds_100": ROUNDS[0].towards(ROUNDS[1], HALF).mean,
    "rounds_1000": ROUNDS[1].mean,
    "share_of_8_to_10_rounds_baseline": ROUNDS[0].share_between(8, 10),
    "calls_baseline": ROUNDS[0].mean * WIDTHS[0].mean,
    "calls_1000": ROUNDS[1].mean * WIDTHS[1].mean,
    "examples": (100, 1_000),
}

NUM_VALID, NUM_TRAIN = 75, 40
REPOSITORIES = ("ledger", "courier", "atlas", "kiln", "beacon", "quarry", "harbor", "loom")
PARTS = ("api", "auth", "billing", "cache", "export", "jobs", "mail", "search", "storage", "sync", "upload", "views")
KINDS = ("client", "errors", "handlers", "models", "retry", "routes", "schema", "settings")
ISSUES = (
    "Retry when the {part} service answers 503",
    "{part} drops the last row of a page",
    "Make the timeout of {part} a setting",
    "{part} logs the token in clear text",
    "Support cursors in the {part} listing",
    "{part} fails on names with a space",
)
SYSTEM = (
    "Name the files that a fix of this issue will change. Tools: shell(command), read_file(path). Calls of one turn "
    "run in parallel. End with one path per line."
)


def _tasks(prefix: str, num: int, rng: Rng) -> list[Task]:
    before = levels(rng, num, F1[0], 0.20)
    tasks, hardness = [], difficulties(rng, num)
    for number, (level, tuned) in enumerate(zip(before, raised(rng, before, F1[0], F1[1]), strict=True)):
        repository, part = pick(rng, REPOSITORIES), pick(rng, PARTS)
        paths = [f"{repository}/{part}/{kind}.py" for kind in KINDS]
        order = [paths[int(each)] for each in rng.permutation(len(paths))]
        num_touched = int(rng.integers(2, 6))
        issue = pick(rng, ISSUES).format(part=part)
        about = {"others": [*order[num_touched:], f"tests/test_{part}.py"], "part": part, "repository": repository}
        tasks.append(
            Task(
                sample_id=f"{prefix}-{number:03d}",
                prompt=f"Repository {repository}. Issue: {issue}.",
                level=level,
                tuned=tuned,
                z=hardness[number],
                reference=sorted(order[:num_touched]),
                cluster=repository,
                tags=(part,),
                about=about,
            )
        )
    return tasks


def _look(task: Task, seen: list[str], progress: float, rng: Rng) -> Call:
    """One look around: list, search, or read a file (now and then one that is not there, or one read before)."""
    part, repository = task.about["part"], task.about["repository"]
    paths = [*task.reference, *task.about["others"]]
    chance = rng.random()
    if not seen:
        seen.append("")
        return Call("shell", {"command": f"ls {repository}"}, "\n".join(PARTS), 0.2)
    if chance < 0.05:
        path = f"{repository}/{part}s/{pick(rng, KINDS)}.py"
        return Call("read_file", {"path": path}, f"Error: {path}: no such file", 0.1, "file_not_found")
    if chance < 0.30:
        word = pick(rng, ("timeout", "retry", "cursor", "token", "status", part))
        command = f"rg -l {word} {repository}/{part}"
        return Call("shell", {"command": command}, "\n".join(paths[:3]), round(0.2 + rng.random(), 2))
    again = [path for path in seen if path]
    new = [path for path in paths if path not in again]
    path = pick(rng, again) if again and (not new or rng.random() < 0.12 * (1 - progress)) else pick(rng, new)
    seen.append(path)
    name = path.rsplit("/", 1)[1][:-3]
    body = f"# {path}\nfrom {repository}.{part} import settings\n\ndef {name}_for(request):\n    ..."
    return Call("read_file", {"path": path}, body, round(0.1 + 0.2 * rng.random(), 2))


def attempt(task: Task, progress: float, step: int | None, rng: Rng) -> Line:
    """Look around in rounds, then answer with a list of files."""
    del step
    z = attempt_z(rng, task.z)
    rounds, widths = (before.towards(after, progress) for before, after in (ROUNDS, WIDTHS))
    talk, seen = Talk(SYSTEM, task.prompt), list[str]()
    for _ in range(rounds.drawn(z)):
        width = widths.drawn(float(rng.normal()))
        talk.call(*(_look(task, seen, progress, rng) for _ in range(width)), thinking=2 + 2 * rng.random())
    files, f1 = answer_of_f1(rng, graded(rng, task.at(progress), 25.0), task.reference, task.about["others"])
    talk.say("\n".join(files) or "none", thinking=5.0)
    right = len(set(files) & set(task.reference))
    return talk.line(
        reward=f1,
        output_tokens=lognormal(1_400 - 400 * progress, 0.3, z),
        scores=[
            score("f1", f1, "reward", weight=1.0),
            score("precision", right / max(len(files), 1), "metric", weight=0.0),
            score("recall", right / len(task.reference), "metric", weight=0.0),
        ],
    )


def lines(rng: Rng) -> Iterator[Line]:
    """A baseline, a training run on 100 and one on 1 000 examples, and what came of each."""
    valid, train = _tasks("issue", NUM_VALID, rng), _tasks("train", NUM_TRAIN, rng)
    untrained = {"kind": "baseline", "days": -1, "hyperparameters": {"num_examples": 0}}
    yield from evaluation(f"{NAME}-baseline", valid, attempt, rng, attempts=3, **untrained)
    for num_examples, reached in zip(PLANTED["examples"], (HALF, 1.0), strict=True):
        run = f"{NAME}-{num_examples}"
        settings = {"num_examples": num_examples}
        job = Job(run, valid_every=10, groups=2, reached=reached)
        about = {"hyperparameters": settings, "reward_name": "f1", "parent_run": f"{NAME}-baseline"}
        yield from training(job, valid, train, attempt, rng, **about)
        made = {"model": f"ft:{run}", "parent_run": run, "hyperparameters": settings, "progress": reached}
        yield from evaluation(f"{run}-tuned", valid, attempt, rng, attempts=3, days=1, **made)
