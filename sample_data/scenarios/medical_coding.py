"""Medical coding: codes for a clinical note, graded by F1; faster too, and two experts who disagree."""

import math
from collections.abc import Iterator
from statistics import NormalDist

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
    some,
)
from sample_data.scenarios.lines import Call, Job, Line, Talk, Task, evaluation, score, training

NAME = "medical_coding"
TITLE = "Medical coding: F1 .52 → .57, faster, and experts who disagree"
SUMMARY = (
    "Codes for a clinical note: F1 .52 → .57, latency −18 %, half as many over the limit of a minute. Two experts "
    "judge every answer and disagree on 22 %."
)

F1 = 0.52, 0.57
LIMIT_S = 60.0
OVER = 0.16, 0.08
FASTER = 0.82
SIGMA = -math.log(FASTER) / (NormalDist().inv_cdf(1 - OVER[1]) - NormalDist().inv_cdf(1 - OVER[0]))
MEAN_S = LIMIT_S * math.exp(SIGMA * SIGMA / 2 - SIGMA * NormalDist().inv_cdf(1 - OVER[0]))
"""Log-normal latency of which a share `OVER` lies above the limit, both before and after it is cut by 18 %."""
DISAGREE = 0.22
CALLS = Counts({3: 0.2, 4: 0.3, 5: 0.3, 6: 0.2}), Counts({2: 0.2, 3: 0.4, 4: 0.3, 5: 0.1})

PLANTED = {
    "f1_baseline": F1[0],
    "f1_tuned": F1[1],
    "latency_baseline_s": MEAN_S,
    "latency_ratio": FASTER,
    "limit_s": LIMIT_S,
    "share_over_limit_baseline": OVER[0],
    "share_over_limit_tuned": OVER[1],
    "experts_disagree": DISAGREE,
    "calls_baseline": CALLS[0].mean,
    "calls_tuned": CALLS[1].mean,
}

NUM_VALID, NUM_TRAIN = 80, 40
FINDINGS = (
    "chest pain on effort",
    "productive cough",
    "raised blood sugar",
    "swollen left knee",
    "blurred vision",
    "persistent headache",
    "itching rash",
    "shortness of breath",
    "low back pain",
    "irregular pulse",
    "fatigue",
    "dizziness on standing",
)
CHAPTERS = "KLMQRT"
SYSTEM = (
    "Assign the codes that a clinical note supports. Tools: search_codes(term), lookup_code(code), guideline(section). "
    "The code book is invented. End with one code per line."
)


def _code(finding: str, part: int) -> str:
    place = FINDINGS.index(finding)
    return f"{CHAPTERS[place % len(CHAPTERS)]}{10 + 3 * place}.{part}"


def _tasks(prefix: str, num: int, rng: Rng) -> list[Task]:
    before = levels(rng, num, F1[0], 0.20)
    tasks, hardness = [], difficulties(rng, num)
    for number, (level, tuned) in enumerate(zip(before, raised(rng, before, F1[0], F1[1]), strict=True)):
        findings = some(rng, FINDINGS, int(rng.integers(2, 5)))
        codes = [_code(each, int(rng.integers(0, 4))) for each in findings]
        age = int(rng.integers(19, 88))
        others = [_code(each, 8) for each in FINDINGS if each not in findings][:4] + [f"{each[:-1]}9" for each in codes]
        tasks.append(
            Task(
                sample_id=f"{prefix}-{number:03d}",
                prompt=f"Note of an invented patient, {age}: {', '.join(findings)}.",
                level=level,
                tuned=tuned,
                z=hardness[number],
                reference=sorted(codes),
                tags=(pick(rng, ("outpatient", "inpatient", "emergency")),),
                about={"findings": findings, "others": others},
            )
        )
    return tasks


def _look(task: Task, rng: Rng) -> Call:
    """Search for a finding, look a code up, or read the guideline."""
    chance, finding = rng.random(), pick(rng, task.about["findings"])
    codes = [*task.reference, *task.about["others"]]
    if chance < 0.45:
        hits = "\n".join(f"{_code(finding, part)} {finding}, kind {part}" for part in range(3))
        return Call("search_codes", {"term": finding}, hits, 0.9 + rng.random())
    if chance < 0.52:
        code = f"{pick(rng, CHAPTERS)}99.{int(rng.integers(0, 9))}"
        return Call("lookup_code", {"code": code}, f"Error: {code} is not in the code book", 0.3, "not_found")
    if chance < 0.85:
        code = pick(rng, codes)
        return Call("lookup_code", {"code": code}, f"{code}: do not use with a more specific code", 0.4)
    section = int(rng.integers(1, 9))
    return Call("guideline", {"section": section}, f"§{section}: code what is confirmed, not what is suspected", 0.6)


def attempt(task: Task, progress: float, step: int | None, rng: Rng) -> Line:
    """Look codes up, answer, and be judged by two experts."""
    del step
    z = attempt_z(rng, task.z)
    talk = Talk(SYSTEM, task.prompt)
    left = CALLS[0].towards(CALLS[1], progress).drawn(z)
    while left:
        width = min(left, 2 if rng.random() < 0.25 else 1)
        talk.call(*(_look(task, rng) for _ in range(width)), thinking=4 + 4 * rng.random())
        left -= width
    codes, f1 = answer_of_f1(rng, graded(rng, task.at(progress), 25.0), task.reference, task.about["others"])
    talk.say("\n".join(codes) or "none", thinking=9.0)
    accepts = bool(rng.random() < f1)
    also = accepts != bool(rng.random() < DISAGREE)
    return talk.line(
        reward=f1,
        latency=lognormal(MEAN_S * FASTER**progress, SIGMA, attempt_z(rng, z)),
        output_tokens=lognormal(1_800 - 300 * progress, 0.3, z),
        scores=[
            score("f1", f1, "reward", weight=1.0),
            score("expert_a", accepts, "label", passed=accepts),
            score("expert_b", also, "label", passed=also),
        ],
    )


def lines(rng: Rng) -> Iterator[Line]:
    """A baseline, a training run, and the fine-tuned model."""
    valid, train = _tasks("note", NUM_VALID, rng), _tasks("train", NUM_TRAIN, rng)
    base, run = f"{NAME}-baseline", f"{NAME}-rft"
    limit = {"config": {"max_latency_s": LIMIT_S}}
    yield from evaluation(base, valid, attempt, rng, kind="baseline", days=-1, **limit)
    yield from training(Job(run), valid, train, attempt, rng, reward_name="f1", parent_run=base, **limit)
    made = {"model": f"ft:{run}", "parent_run": run, **limit}
    yield from evaluation(f"{NAME}-tuned", valid, attempt, rng, progress=1.0, days=1, **made)
