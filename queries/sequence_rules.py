"""Questions about rules on the order of calls: did it run the tests before it answered, and how do rewards differ?"""

import difflib
from typing import Any, Final

import pandas as pd

from ingest.errors import QuestionError
from queries.connection import Reading
from queries.filters import EVERYTHING, Filters
from queries.frames import insert_after, mean_intervals
from queries.rates import add_share_interval, check_groups
from queries.sequences import Rule, parameter, rule_of
from queries.tool_rules import known_tools, matched

VERDICTS: Final = ("broken", "kept", "not applicable", "unknown")
"""What a rule says of a rollout."""


def sequence_rule(
    store: Reading, filters: Filters = EVERYTHING, *, rule: str, by: str = "run", apart: str | None = None
) -> pd.DataFrame:
    """One row per run (split, step, as `by` says; each `apart` by environment or agent): how often is a rule on calls kept?

    `rule` is written like `run_tests before answer`, `search then open within 3`, `not delete_* after error` or
    `edit(has="/src") then run_tests(status=ok)`: [not] EVENT [directly] before|then|after EVENT [within N], or one
    event alone. An event is a tool (* = anything), error, or answer. With before, every second event needs a first one
    earlier; with then, every first one needs a second one later; with not, they must not follow each other.
    Columns: run_id, split, step, environment, agent, num_rollouts, num_unknown (of them without messages),
    num_not_applicable (the rule says nothing of them), num_kept, num_broken, num_samples, rate (kept of kept and
    broken, 0–1), ci_low, ci_high (95 % Wilson, for as many independent rollouts as the samples' attempts are worth);
    kept_reward_mean, broken_reward_mean (means over num_samples_kept and num_samples_broken samples),
    pooled_difference (of these two: confounded, hard samples may break the rule more often), difference_mean
    (kept − broken at the same sample, split and step, mean over num_samples_both), difference_ci_low,
    difference_ci_high (95 % t over samples). A relation, no effect: what kept the rule may also have earned the reward.

    Raises:
        QuestionError: The rule cannot be read (the message says where and why), or there is no such grouping.
    """  # noqa: E501 - the first line is what the command line lists
    own = check_groups(by, apart) | {"rule": _parameter(store, rule)}
    frame = store.ask("sequence_rule", {**filters.parameters(), **own})
    counted = frame["num_kept"] + frame["num_broken"]
    frame.insert(0, "counted", counted)
    add_share_interval(frame, "rate", "rate_sd", "counted", "num_samples")
    pooled = frame["kept_reward_mean"] - frame["broken_reward_mean"]
    insert_after(frame, "num_samples_broken", {"pooled_difference": pooled.to_numpy(float)})
    low, high = mean_intervals(frame, "difference_mean", "difference_sd", "num_samples_both")
    insert_after(frame, "difference_mean", {"difference_ci_low": low, "difference_ci_high": high})
    return frame.drop(columns=["counted", "difference_sd"])


def rollouts_by_rule(
    store: Reading,
    filters: Filters = EVERYTHING,
    *,
    rule: str,
    verdict: str = "broken",
    limit: int = 50,
    offset: int = 0,
) -> pd.DataFrame:
    """One row per rollout of one verdict, by run, step and sample, a page of them: which rollouts break a rule?

    `rule` as in `sequence_rule`; `verdict` is one of `VERDICTS`. Columns: run_id, rollout_id, sample_id, attempt,
    split, step, status, reward, num_tool_calls, num_tool_errors, latency_s (seconds), verdict, num_total (how many in
    all).

    Raises:
        QuestionError: The rule cannot be read, or there is no such verdict.
    """
    if verdict not in VERDICTS:
        raise QuestionError(f"verdict must be one of {', '.join(VERDICTS)}, not {verdict!r}")
    own = {"rule": _parameter(store, rule), "verdict": verdict, "limit": limit, "offset": offset}
    return store.ask("rollouts_by_rule", {**filters.parameters(), **own})


def unknown_names(store: Reading, rule: Rule) -> dict[str, list[str]]:
    """Names in a rule that no tool of the store has, each with the tools that are called nearly so."""
    tools = known_tools(store)
    named = [each.tool for each in (rule.first, rule.second) if each is not None and each.tool is not None]
    lost = [each for each in dict.fromkeys(named) if not matched(tools, (each,))]
    return {each: difflib.get_close_matches(each.replace("*", ""), tools, 3) for each in lost}


def _parameter(store: Reading, text: str) -> dict[str, Any]:
    rule = rule_of(text)
    named = {each.tool for each in (rule.first, rule.second) if each is not None and each.tool is not None}
    return parameter(rule, {each: matched(known_tools(store), (each,)) for each in named})
