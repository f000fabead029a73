"""Questions about rollouts without success: the cause of each by the rules in force, and the rollouts themselves."""

from typing import Any

import pandas as pd

from ingest.errors import QuestionError
from queries.connection import Reading
from queries.failure_rules import UNCLASSIFIED, FailureRules, failure_rules
from queries.filters import EVERYTHING, Filters
from queries.frames import insert_after
from queries.long_tail import share_intervals
from queries.measures import check_grouping


def failure_causes(store: Reading, filters: Filters = EVERYTHING, *, by: str = "run") -> pd.DataFrame:
    """One row per run (split, step, as `by` says) and cause, the most frequent first: why was there no success?

    Without success is what an error ended, what did not pass, and where no verdict is known what has a reward at its
    floor or none. A group in which every rollout succeeded has one row whose cause is NULL.
    Columns: run_id, split, step, cause, whose (infrastructure, grader, policy or unknown), num (rollouts of the cause),
    num_zero (of these, with a reward at the floor), num_rollouts, num_samples (of the group), share (num /
    num_rollouts, 0–1), ci_low, ci_high (95 % Wilson interval, for as many independent rollouts as the samples' attempts
    are worth: num_effective).

    Raises:
        QuestionError: There is no such grouping, or the rules in `failures.toml` cannot be read.
    """
    check_grouping(by)
    frame = store.ask("failure_causes", {**_asked(store, filters), "by": by})
    low, high, effective = share_intervals(frame)
    insert_after(frame, "share", {"ci_low": low, "ci_high": high, "num_effective": effective})
    return frame.drop(columns="share_sd")


def failed_rollouts(
    store: Reading,
    filters: Filters = EVERYTHING,
    *,
    cause: str | None = None,
    host: str | None = None,
    started_from: str | None = None,
    started_to: str | None = None,
    limit: int = 50,
    offset: int = 0,
) -> pd.DataFrame:
    """One row per rollout without success, a page of them: which ones, and why?

    Ordered by whose failure it is (infrastructure, grader, unknown, policy), run, split, step and id; `started_from`
    (ISO time) and `started_to` (before it) keep what began in between.
    Columns: run_id, rollout_id, sample_id, environment, attempt, split, step, status, cause, whose, rule (its number in
    `failure_rulebook`), reward, passed, stop_reason, error_type, error_message (its first 300 characters),
    unrecovered_errors (`tool: kind` of tools whose last call failed), host, started_at, num_total (how many in all).

    Raises:
        QuestionError: There is no such cause, a time is none, or the rules in `failures.toml` cannot be read.
    """
    rules = failure_rules(store)
    if cause is not None and cause not in (*rules.causes, UNCLASSIFIED):
        raise QuestionError(f"there is no cause {cause[:40]!r}; there is {', '.join(rules.causes)}")
    own: dict[str, Any] = {"cause": cause, "host": host, "limit": limit, "offset": offset}
    times = {"started_from": started_from, "started_to": started_to}
    return store.ask("failed_rollouts", {**_asked(store, filters), **own, **times})


def failure_rulebook(store: Reading) -> pd.DataFrame:
    """One row per rule, in the order they are tried: by what rules does a rollout without success get its cause?

    Columns: rule (number), cause, title (of the cause), whose, meaning, conditions (in words; empty = fits all), origin
    (`default`, or `file` where the store has its own `failures.toml`).

    Raises:
        QuestionError: The rules in `failures.toml` cannot be read.
    """
    found = failure_rules(store)
    rows = []
    for rule in found.rules:
        cause = found.causes[rule["cause"]]
        about = {"cause": cause.name, "title": cause.title, "whose": cause.whose, "meaning": cause.meaning}
        rows.append({"rule": rule["rule"], **about, "conditions": conditions(rule), "origin": found.origin})
    return pd.DataFrame(rows)


def conditions(rule: Any) -> str:
    """The conditions of a rule in words, empty where it has none."""
    words = [f"{name} is {' or '.join(rule[name])}" for name in ("status", "environment") if rule[name]]
    flags = {"scored": ("it has no reward", "it has a reward"), "has_answer": ("there is no answer", "there is one")}
    words += [said[rule[name]] for name, said in flags.items() if rule[name] is not None]
    patterns = ("error", "stop_reason", "error_type", "error_message", "tool_error", "final_answer")
    words += [f"{name} matches {rule[name]}" for name in patterns if rule[name]]
    return " and ".join(words)


def book_of(rules: FailureRules) -> dict[str, Any]:
    """The rules as the parameter that statements take."""
    return {"book": dict(rules.parameters)}


def _asked(store: Reading, filters: Filters) -> dict[str, Any]:
    return {**filters.parameters(), **book_of(failure_rules(store))}


def failure_coverage(store: Reading, filters: Filters = EVERYTHING) -> pd.DataFrame:
    """One row per run, ordered by id: what do sources say that failures can be told by?

    Columns: run_id, num_rollouts, and of them those with num_status (how it ended is known), num_reward, num_passed,
    num_start, num_times (start and end), num_host; num_untold (with failed calls, read before it was noted which tools
    failed last: read again), num_zero (with a reward at the floor), lowest_reward.

    Raises:
        QuestionError: The rules in `failures.toml` cannot be read.
    """
    return store.ask("failure_coverage", _asked(store, filters))
