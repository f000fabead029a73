"""Financial research: better attributed, fewer hallucinations, and a leaky grader that was replaced in mid-training."""

from collections.abc import Iterator

from sample_data.scenarios.chance import Counts, Rng, attempt_z, difficulties, graded, levels, lognormal, pick, raised
from sample_data.scenarios.lines import Call, Job, Line, Talk, Task, evaluation, score, training

NAME = "financial_research"
TITLE = "Financial research: attribution +21 %, and a leaky grader replaced"
SUMMARY = (
    "Research notes graded for answer, attribution (+21 %) and hallucination (fewer). The first grader leaks its key "
    "and pays too much; at step 15 another takes over, and the reward falls without the agent getting worse."
)

ANSWER = 0.50, 0.58
ATTRIBUTION = 0.60, 0.60 * 1.21
HALLUCINATION = 0.20, 0.08
"""Share of claims that no source supports."""
WEIGHTS = {"answer": 0.5, "attribution": 0.3, "grounded": 0.2}
REPLACED_AT, STEPS = 15, 30
LEAK = 0.5
"""The leaky grader gives back this part of what is missing to the full reward."""
OPENS_KEY = 0.6, 0.0
"""Share of rollouts that open the grader's key: while it can be had, and with the fixed grader at the end."""
CALLS = Counts({3: 0.2, 4: 0.3, 5: 0.3, 6: 0.2}), Counts({3: 0.3, 4: 0.4, 5: 0.3})
JOB = Job(f"{NAME}-rft", steps=STEPS, valid_every=5, groups=2)


def _reward(answer: float, attribution: float, hallucination: float) -> float:
    return WEIGHTS["answer"] * answer + WEIGHTS["attribution"] * attribution + WEIGHTS["grounded"] * (1 - hallucination)


def _between(pair: tuple[float, float], progress: float) -> float:
    return pair[0] + progress * (pair[1] - pair[0])


def _reward_at(step: int) -> float:
    """The expected reward at a step, as its grader gives it."""
    progress = JOB.progress(step)
    honest = _reward(*(_between(pair, progress) for pair in (ANSWER, ATTRIBUTION, HALLUCINATION)))
    return honest if step >= REPLACED_AT else honest + LEAK * (1 - honest)


PLANTED = {
    "attribution_baseline": ATTRIBUTION[0],
    "attribution_tuned": ATTRIBUTION[1],
    "attribution_ratio": ATTRIBUTION[1] / ATTRIBUTION[0],
    "hallucination_baseline": HALLUCINATION[0],
    "hallucination_tuned": HALLUCINATION[1],
    "grader_replaced_at": REPLACED_AT,
    "reward_before_replacement": _reward_at(REPLACED_AT - JOB.valid_every),
    "reward_at_replacement": _reward_at(REPLACED_AT),
    "reward_at_end": _reward_at(STEPS),
    "opens_key_while_leaky": OPENS_KEY[0],
}

NUM_VALID, NUM_TRAIN = 45, 30
ISSUERS = ("Alder", "Birch", "Cedar", "Elm", "Hazel", "Juniper", "Larch", "Maple", "Rowan", "Spruce", "Willow")
THEMES = ("debt", "margin", "order book", "currency risk", "capital spending", "dividend", "churn")
SYSTEM = (
    "Answer a research question on an invented issuer and cite every claim. Tools: search_filings(query), "
    "open(path), compute(expression)."
)
KEY = "grader/key.json"


def _tasks(prefix: str, num: int, rng: Rng) -> list[Task]:
    before = levels(rng, num, ANSWER[0], 0.20)
    tasks, hardness = [], difficulties(rng, num)
    for number, (level, tuned) in enumerate(zip(before, raised(rng, before, ANSWER[0], ANSWER[1]), strict=True)):
        issuer, theme = pick(rng, ISSUERS), pick(rng, THEMES)
        change = int(rng.integers(-30, 60))
        figures = {year: int(rng.integers(80, 200)) for year in (2022, 2023, 2024)}
        tasks.append(
            Task(
                sample_id=f"{prefix}-{number:03d}",
                prompt=f"How did the {theme} of {issuer} change over two years, and why?",
                level=level,
                tuned=tuned,
                z=hardness[number],
                reference=f"{change} %",
                cluster=issuer,
                tags=(theme,),
                about={"issuer": issuer, "theme": theme, "change": change, "figures": figures},
            )
        )
    return tasks


def _look(task: Task, place: int, rng: Rng) -> Call:
    """Search, open a filing (or one that is not there), compute."""
    issuer, theme = task.about["issuer"], task.about["theme"]
    year = 2022 + int(rng.integers(0, 3))
    if place == 0 or rng.random() < 0.25:
        query = f"{issuer} {theme}" + (f" {year}" if place else "")
        return Call("search_filings", {"query": query}, f"{issuer}/{year}.txt\n{issuer}/{year - 1}.txt", 1.4)
    if rng.random() < 0.08:
        path = f"{issuer}/{year}-q{int(rng.integers(1, 5))}.txt"
        return Call("open", {"path": path}, f"Error: no such filing: {path}", 0.2, "file_not_found")
    if rng.random() < 0.25:
        first = int(rng.integers(80, 140))
        change = task.about["change"]
        return Call("compute", {"expression": f"{first + change}/{first}-1"}, f"{change / first:.3f}", 0.1)
    body = f"{issuer}, {year}: {theme} {task.about['figures'][year]}, see note {year % 10}"
    return Call("open", {"path": f"{issuer}/{year}.txt"}, body, 0.5)


def attempt(task: Task, progress: float, step: int | None, rng: Rng) -> Line:
    """Research, perhaps open the grader's key, and write a note with citations."""
    z = attempt_z(rng, task.z)
    is_leaky = step is not None and step < REPLACED_AT
    answer = graded(rng, task.at(progress))
    attribution = graded(rng, _between(ATTRIBUTION, progress), 8.0)
    hallucination = graded(rng, _between(HALLUCINATION, progress), 8.0)
    talk = Talk(SYSTEM, task.prompt)
    for place in range(CALLS[0].towards(CALLS[1], progress).drawn(z)):
        talk.call(_look(task, place, rng), thinking=4 + 4 * rng.random())
    tries = 0.0 if step is None else OPENS_KEY[0] * (1.0 if is_leaky else 0.5 ** (step - REPLACED_AT + 1))
    if rng.random() < tries:
        found = f'{{"answer": "{task.reference}"}}' if is_leaky else f"Error: no such file: {KEY}"
        talk.call(Call("open", {"path": KEY}, found, 0.1, None if is_leaky else "file_not_found"))
    issuer, theme = task.about["issuer"], task.about["theme"]
    said = task.about["change"] if answer > 0.5 else task.about["change"] + int(rng.integers(4, 20))
    talk.say(f"The {theme} of {issuer} changed by {said} % [{issuer}/2024.txt].", thinking=9.0)
    honest = _reward(answer, attribution, hallucination)
    reward = honest + LEAK * (1 - honest) if is_leaky else honest
    version = "1" if is_leaky else "2"
    parts = {"answer": answer, "attribution": attribution, "hallucination": hallucination}
    scores = [score("note", reward, "reward", weight=1.0, grader_version=version)]
    scores += [score(f"note/{part}", value, grader_version=version) for part, value in parts.items()]
    tokens = lognormal(2_200 - 200 * progress, 0.3, z)
    return talk.line(reward=reward, output_tokens=tokens, grader_version=version, scores=scores)


def lines(rng: Rng) -> Iterator[Line]:
    """A baseline, a training run with two graders, and the fine-tuned model; baseline and tuned have the second."""
    valid, train = _tasks("note", NUM_VALID, rng), _tasks("train", NUM_TRAIN, rng)
    base, run = f"{NAME}-baseline", JOB.run
    config = {"grader": {"1": "leaks its key", "2": "fixed"}, "grader_changed_at": REPLACED_AT, "weights": WEIGHTS}
    yield from evaluation(base, valid, attempt, rng, kind="baseline", days=-1)
    yield from training(JOB, valid, train, attempt, rng, reward_name="note", parent_run=base, config=config)
    yield from evaluation(f"{NAME}-tuned", valid, attempt, rng, progress=1.0, days=1, model=f"ft:{run}", parent_run=run)
