"""Slides: an agent lays out a slide; most of the bad cases, those below a bar, are gone after training."""

from collections.abc import Iterator

from sample_data.scenarios.chance import Counts, Rng, attempt_z, difficulties, happens, lognormal, pick
from sample_data.scenarios.lines import Call, Job, Line, Talk, Task, evaluation, score, training

NAME = "slides"
TITLE = "Slides: 88 % fewer bad cases"
SUMMARY = "An agent lays out slides. The bad cases, scored below .4, fall from 100 to 12 of 400: the mean says less."

BAR = 0.4
BAD = 0.25, 0.03
BAD_SCORES = 0.05, 0.38
GOOD_SCORES = 0.55, 0.95
"""Scores are even within one of these two ranges."""
FIXES = Counts({0: 0.5, 1: 0.3, 2: 0.2}), Counts({0: 0.2, 1: 0.5, 2: 0.3})
NUM_VALID, NUM_TRAIN, ATTEMPTS = 100, 40, 4


def _mean(bad: float) -> float:
    return bad * sum(BAD_SCORES) / 2 + (1 - bad) * sum(GOOD_SCORES) / 2


PLANTED = {
    "bar": BAR,
    "bad_share_baseline": BAD[0],
    "bad_share_tuned": BAD[1],
    "bad_cases_baseline": BAD[0] * NUM_VALID * ATTEMPTS,
    "bad_cases_tuned": BAD[1] * NUM_VALID * ATTEMPTS,
    "fewer_bad_cases": 1 - BAD[1] / BAD[0],
    "reward_baseline": _mean(BAD[0]),
    "reward_tuned": _mean(BAD[1]),
}

TOPICS = ("the quarter", "a market entry", "the hiring plan", "an outage", "the roadmap", "a survey", "the budget")
FORMS = ("a bar chart", "a table", "three columns", "a timeline", "a quotation", "a map")
FLAWS = (
    "the title runs over two lines",
    "two boxes overlap",
    "text of 9 pt",
    "the legend hides a bar",
    "a margin of 0",
)
SYSTEM = "Lay out one slide. Tools: fetch_data(name), place(box, content), render(), check_layout()."


def _tasks(prefix: str, num: int, rng: Rng) -> list[Task]:
    tasks, hardness = [], difficulties(rng, num)
    for number in range(num):
        topic, form = pick(rng, TOPICS), pick(rng, FORMS)
        prompt = f"One slide on {topic}, with {form}."
        rows = "\n".join(f"{place}: {int(rng.integers(10, 90))}" for place in ("north", "south", "east"))
        tags, about = (topic, form), {"topic": topic, "form": form, "rows": rows}
        tasks.append(Task(f"{prefix}-{number:03d}", prompt, 0.0, 1.0, hardness[number], tags=tags, about=about))
    return tasks


def attempt(task: Task, progress: float, step: int | None, rng: Rng) -> Line:
    """Fetch, place, render, check; a trained agent checks and repairs more often."""
    del step
    z = attempt_z(rng, task.z)
    share = BAD[0] + progress * (BAD[1] - BAD[0])
    is_bad = happens(share, z)
    reward = float(rng.uniform(*(BAD_SCORES if is_bad else GOOD_SCORES)))
    topic, form = task.about["topic"], task.about["form"]
    talk = Talk(SYSTEM, task.prompt)
    name = topic.split()[-1]
    if rng.random() < 0.08:
        talk.call(Call("fetch_data", {"name": f"{name}s"}, f"Error: no data named {name}s", 0.4, "not_found"))
    talk.call(Call("fetch_data", {"name": name}, task.about["rows"], 0.8))
    boxes = (("title", topic.capitalize()), ("body", form), ("note", f"source: {name}"))
    talk.call(*(Call("place", {"box": box, "content": content}, "placed", 0.2) for box, content in boxes))
    talk.call(Call("render", {}, "960×540, 1 page", 2.2))
    for _ in range(FIXES[0].towards(FIXES[1], progress).drawn(float(rng.normal()))):
        talk.call(Call("check_layout", {}, pick(rng, FLAWS), 0.9))
        box = pick(rng, ("title", "body", "note"))
        talk.call(
            Call("place", {"box": box, "content": f"{form}, smaller"}, "placed", 0.2), Call("render", {}, "ok", 2)
        )
    flaw = pick(rng, FLAWS) if is_bad else ""
    talk.say(f"The slide on {topic} is ready." + (f" Known: {flaw}." if is_bad and rng.random() < 0.3 else ""))
    layout = min(1.0, max(0.0, reward + float(rng.normal(0, 0.05))))
    return talk.line(
        reward=reward,
        passed=reward >= BAR,
        output_tokens=lognormal(1_500, 0.3, z),
        scores=[
            score("slide", reward, "reward", weight=1.0, passed=reward >= BAR, explanation=flaw or "clean"),
            score("slide/layout", layout),
            score("slide/content", min(1.0, max(0.0, 2 * reward - layout))),
        ],
    )


def lines(rng: Rng) -> Iterator[Line]:
    """A baseline, a short training run, and the fine-tuned model."""
    valid, train = _tasks("slide", NUM_VALID, rng), _tasks("train", NUM_TRAIN, rng)
    base, run = f"{NAME}-baseline", f"{NAME}-rft"
    config = {"pass_threshold": BAR}
    yield from evaluation(base, valid, attempt, rng, attempts=ATTEMPTS, kind="baseline", days=-1, config=config)
    job = Job(run, valid_every=10)
    yield from training(job, valid, train, attempt, rng, reward_name="slide", parent_run=base, config=config)
    made = {"model": f"ft:{run}", "parent_run": run, "config": config}
    yield from evaluation(f"{NAME}-tuned", valid, attempt, rng, progress=1.0, attempts=ATTEMPTS, days=1, **made)
