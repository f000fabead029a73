"""Results of an output item of OpenAI Evals → scores, reward, verdict and ending.

The reward is the grader's score. With several graders it is their mean, and NULL unless every one of them has scored:
a mean over whichever graders happened to answer would be another number on every rollout.
"""

import re
from typing import Any

from ingest.dialects import Values, content_text
from ingest.openai_trace import Trace
from ingest.reading import number, odd_score, text

_CRITERION = re.compile(r"(?P<name>.+?)[-_ ](?P<id>[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})", re.S)
_RESULT_KEYS = frozenset({"name", "type", "score", "passed", "sample"})


def grader_name(name: Any) -> tuple[str, str | None]:
    """A testing criterion's name without the id that the service appends to it, and that id."""
    full = text(name) or "grader"
    match = _CRITERION.fullmatch(full)
    return (match["name"], match["id"]) if match else (full, None)


def scores_of(results: Any) -> list[Values]:
    """Rows of `scores` of an item's results: each grader's own score, and the numbers it reports beside it."""
    found: list[Values] = []
    entries = [each for each in results if isinstance(each, dict)] if isinstance(results, list) else []
    names: dict[str, int] = {}
    for result in entries:
        name, version = grader_name(result.get("name"))
        names[name] = names.get(name, 0) + 1
        if names[name] > 1:
            name = f"{name} ({version or names[name]})"
        passed = result.get("passed")
        score = result.get("score")
        found.append(
            {
                "grader": name,
                "value": number(score),
                "text_value": odd_score(score),
                "passed": passed if isinstance(passed, bool) else None,
                "explanation": _explanation(result.get("sample")),
                "kind": "reward" if len(entries) == 1 else "subscore",
                "grader_version": version,
            }
        )
        found.extend(_parts(name, version, {key: each for key, each in result.items() if key not in _RESULT_KEYS}))
    return found


def _parts(grader: str, version: str | None, extra: Any) -> list[Values]:
    """Numbers a grader reports beside its score, as sub-scores `grader/part`."""
    found: list[Values] = []
    for key, value in extra.items() if isinstance(extra, dict) else ():
        if isinstance(value, dict):
            found.extend(_parts(f"{grader}/{key}", version, value))
        elif isinstance(value, int | float):
            found.append(
                {
                    "grader": f"{grader}/{key}",
                    "value": number(value),
                    "kind": "subscore" if not isinstance(value, bool) else "assertion",
                    "passed": value if isinstance(value, bool) else None,
                    "grader_version": version,
                }
            )
    return found


def _explanation(sample: Any) -> str | None:
    """What a model grader wrote."""
    output = sample.get("output") if isinstance(sample, dict) else None
    last = output[-1] if isinstance(output, list) and output else None
    return content_text(last.get("content")) if isinstance(last, dict) else None


def _graders(scores: list[Values]) -> list[Values]:
    """The graders' own scores: with one grader its reward, with several their sub-scores, parts left out."""
    own = [score for score in scores if score["kind"] == "reward"]
    return own or [score for score in scores if "text_value" in score]


def reward_of(scores: list[Values]) -> float | None:
    """The grader's score; of several graders the mean, and NULL unless every one of them has scored."""
    numbers = [score["value"] for score in _graders(scores)]
    known = [each for each in numbers if each is not None]
    return sum(known) / len(known) if known and len(known) == len(numbers) else None


def passed_of(item: Values) -> bool | None:
    """The item's own verdict (the graders' pass threshold: not the same as a perfect score), else all graders'."""
    status = item.get("status")
    if status in ("pass", "passed", "fail", "failed"):
        return str(status).startswith("pass")
    results = item.get("results")
    verdicts = [each.get("passed") for each in results if isinstance(each, dict)] if isinstance(results, list) else []
    return all(verdicts) if verdicts and all(isinstance(each, bool) for each in verdicts) else None


def _failure(value: Any) -> tuple[str, str | None] | None:
    """Code and message of an error object; the spec's empty one (`{"code": "", "message": ""}`) is no error."""
    if isinstance(value, str) and value:
        return "error", value
    if isinstance(value, dict) and (value.get("code") or value.get("message")):
        return text(value.get("code")) or "error", text(value.get("message"))
    return None


def sample_text(sample: Values) -> str | None:
    """What the grader was given as the policy's answer; None where that has no text."""
    output = sample.get("output")
    if isinstance(output, str):
        return text(output) or None
    entries = [each for each in output if isinstance(each, dict)] if isinstance(output, list) else []
    return next((found for each in reversed(entries) if (found := content_text(each.get("content")))), None)


def ending_of(item: Values, sample: Values, trace: Trace | None, scores: list[Values]) -> Values:
    """How the rollout ended, in the columns of `rollouts`."""
    reason = text(sample.get("finish_reason")) or None
    failure = _failure(sample.get("error")) or _failure(item.get("error"))
    if failure is not None:
        return {"status": "infra_error", "stop_reason": reason, "error_type": failure[0], "error_message": failure[1]}
    has_final = _has_final_message(sample, trace, reason)
    if has_final is False or reason in ("length", "max_tokens"):
        return {"status": "truncated", "stop_reason": reason or "no final message"}
    failed = _grader_failure(item.get("results"))
    if failed is not None and reward_of(scores) is None:
        return {"status": "grader_error", "stop_reason": reason, "error_type": failed[0], "error_message": failed[1]}
    if item.get("status") in ("error", "errored"):
        return {"status": "grader_error" if has_final else "infra_error", "stop_reason": reason}
    return {"status": "completed" if has_final else None, "stop_reason": reason}


def _has_final_message(sample: Values, trace: Trace | None, reason: str | None) -> bool | None:
    """Whether the rollout ended by speaking to the user (or by a reason of its own); None where nothing shows it."""
    if trace is not None and trace.num_generations:
        return trace.final_text is not None
    if reason is not None or sample_text(sample) is not None:
        return True
    return None if sample.get("output") is None else False


def _grader_failure(results: Any) -> tuple[str, str | None] | None:
    entries = [each for each in results if isinstance(each, dict)] if isinstance(results, list) else []
    samples = [each["sample"] for each in entries if isinstance(each.get("sample"), dict)]
    return next((found for each in samples if (found := _failure(each.get("error")))), None)
