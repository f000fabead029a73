"""What τ-bench's graders say of a simulation, as rows of `scores`. Part of the source `tau_bench`; reads nothing.

Sub-scores are the parts whose product is the reward (`reward_breakdown`, v1 `r_actions` and `r_outputs`); checks are
assertions. Checks are named by what they check (`action/book_reservation`), not by task, so that they can be compared
across tasks; a second one of a name is `…#2`.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from ingest.dialects import Values
from ingest.reading import dump_json, number, text


def graded_v1(info: Values) -> list[Values]:
    """Scores of a v1 record: `r_actions`, `r_outputs`, and one assertion per required output."""
    reward_info = info.get("reward_info")
    parts = reward_info.get("info") if isinstance(reward_info, dict) else None
    if not isinstance(parts, dict):
        return []
    rows = [
        {"grader": name, "value": number(parts[name]), "kind": "subscore"}
        for name in ("r_actions", "r_outputs")
        if parts.get(name) is not None
    ]
    outputs = parts.get("outputs")
    checks = outputs.items() if isinstance(outputs, dict) else ()
    return _unique([*rows, *(_check("output", met, met, str(output)) for output, met in checks)])


def graded_v2(reward_info: Values) -> list[Values]:
    """Scores of a τ² simulation: `reward_breakdown` as sub-scores, then every check as an assertion."""
    breakdown = reward_info.get("reward_breakdown")
    parts = breakdown.items() if isinstance(breakdown, dict) else ()
    rows = [{"grader": str(name), "value": number(value), "kind": "subscore"} for name, value in parts]
    return _unique([*rows, *_checks(reward_info)])


def _checks(reward_info: Values) -> Iterator[Values]:
    database = reward_info.get("db_check")
    if isinstance(database, dict):
        yield _check("db_check", database.get("db_match"), database.get("db_reward"), None)
    for check in _objects(reward_info, "action_checks"):
        action = _object(check, "action")
        who = "user_action" if action.get("requestor") == "user" else "action"
        said = dump_json(action.get("arguments"))
        yield _check(f"{who}/{action.get('name')}", check.get("action_match"), check.get("action_reward"), said)
    for check in _objects(reward_info, "env_assertions"):
        asserted = _object(check, "env_assertion")
        said = dump_json(asserted.get("arguments"))
        yield _check(f"env_assertion/{asserted.get('func_name')}", check.get("met"), check.get("reward"), said)
    for kind, key in (("communicate", "info"), ("nl_assertion", "nl_assertion")):
        for check in _objects(reward_info, f"{kind}_checks" if kind == "communicate" else "nl_assertions"):
            said = ": ".join(filter(None, (text(check.get(key)), text(check.get("justification")))))
            yield _check(kind, check.get("met"), check.get("met"), said)


def _objects(values: Values, key: str) -> list[Values]:
    found = values.get(key)
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def _object(values: Values, key: str) -> Values:
    found = values.get(key)
    return found if isinstance(found, dict) else {}


def _check(grader: str, passed: Any, value: Any, explanation: str | None) -> Values:
    return {
        "grader": grader,
        "value": number(value),
        "passed": passed if isinstance(passed, bool) else None,
        "explanation": explanation,
        "kind": "assertion",
    }


def _unique(rows: list[Values]) -> list[Values]:
    seen: Counter[str] = Counter()
    for row in rows:
        seen[row["grader"]] += 1
        if seen[row["grader"]] > 1:
            row["grader"] = f"{row['grader']}#{seen[row['grader']]}"
    return rows
