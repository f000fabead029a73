"""Questions about single calls: unstable answers, huge outputs, calls that cannot be taken back, and lists."""

from typing import Any, Final

import pandas as pd

from ingest.errors import QuestionError
from queries.connection import Reading
from queries.filters import EVERYTHING, Filters
from queries.rates import add_share_interval, check_groups
from queries.tool_rules import NEVER, known_tools, matched, tool_rules

WHICH: Final = ("any", "failed", "parallel", "not executed")
"""Which calls of a rollout are looked for."""
FOLLOWS: Final = ("same call", "changed arguments", "another tool", "answers", "gives up")
"""What follows a failed call."""


def unstable_tools(store: Reading, filters: Filters = EVERYTHING) -> pd.DataFrame:
    """One row per run, environment and tool: how often does the same call return something else in another attempt?

    A call is the same with the same tool and canonical arguments, at the same sample; of each rollout its first such
    counts. Columns: run_id, environment, tool, is_reading (it only reads) and is_volatile (expected to differ), both by
    the rules `tools`, num_calls_shared (calls that two rollouts or more made), num_unstable (of these,
    with different answers), num_samples, share (0–1), ci_low, ci_high (95 % Wilson, for as many independent calls as
    the samples' are worth). A tool that reads may still differ because a call before it changed something.
    """
    frame = store.ask("unstable_tools", filters.parameters()).rename(columns={"num_pairs": "num_calls_shared"})
    add_share_interval(frame, "share", "share_sd", "num_calls_shared", "num_samples")
    return _described(store, frame)


def unstable_calls(store: Reading, filters: Filters = EVERYTHING, *, limit: int = 50, offset: int = 0) -> pd.DataFrame:
    """One row per sample and call whose answer differs between attempts, the most different ones first, a page of them.

    Columns: run_id, environment, sample_id, tool, is_reading, is_volatile (as in `unstable_tools`), num_rollouts
    (that make it), num_outputs (different answers), example_arguments (first 500 characters), rollout_id,
    other_rollout_id (two whose answers differ), arguments_hash, num_total (how many there are).
    """
    return _described(store, store.ask("unstable_calls", {**filters.parameters(), "limit": limit, "offset": offset}))


def _described(store: Reading, frame: pd.DataFrame) -> pd.DataFrame:
    rules, tools = tool_rules(store), known_tools(store)
    at = list(frame.columns).index("tool") + 1
    for place, (name, patterns) in enumerate((("is_reading", rules.reads), ("is_volatile", rules.volatile))):
        frame.insert(at + place, name, frame["tool"].isin(matched(tools, patterns)).astype(bool))
    return frame


def tool_outputs(
    store: Reading, filters: Filters = EVERYTHING, *, by: str = "run", apart: str | None = None
) -> pd.DataFrame:
    """One row per run (split, step, as `by` says; each `apart` by environment or agent) and tool, the most bytes first: how large are answers, and which are cut off?

    Columns: run_id, split, step, environment, agent, tool, num_calls, num_outputs (answers that were kept), p50_bytes,
    p95_bytes, max_bytes, sum_bytes, num_huge (of at least huge_bytes bytes, a limit of the rules `tools`),
    num_rollouts_huge, huge_share (of num_outputs, 0–1), num_read (answers long enough to be looked through),
    num_truncated (of these, with a text that says so, as the rules give it), truncated_share (0–1), huge_bytes.

    Raises:
        QuestionError: There is no such grouping, or the rules cannot be read.
    """  # noqa: E501 - the first line is what the command line lists
    rules = tool_rules(store)
    own = {"huge_bytes": rules.huge_bytes, "read_bytes": rules.read_bytes, "truncated": rules.truncated}
    frame = store.ask("tool_outputs", {**filters.parameters(), **check_groups(by, apart), **own})
    return frame.assign(huge_bytes=rules.huge_bytes)


def destructive_calls(
    store: Reading, filters: Filters = EVERYTHING, *, rule: str | None = None, limit: int = 50, offset: int = 0
) -> pd.DataFrame:
    """One row per call that cannot be taken back, by run, step and rollout, a page of them: which are these?

    By the rules `tools` (`observatory rules tools`), or one of them by its name. Columns: run_id, rollout_id, split,
    step, environment, agent, rule, tool, arguments (first 500 characters), is_ok (it did not fail), call_index,
    num_total (how many there are).

    Raises:
        QuestionError: There is no such rule, or the rules cannot be read.
    """
    names = [each.name for each in tool_rules(store).destructive]
    if rule is not None and rule not in names:
        raise QuestionError(f"there is no destructive rule {rule!r}; there are {', '.join(names) or 'none'}")
    own = {"rule": rule, "limit": limit, "offset": offset}
    return store.ask("destructive_calls", {**filters.parameters(), **_rules(store), **own})


def destructive_rates(
    store: Reading, filters: Filters = EVERYTHING, *, by: str = "run", apart: str | None = None
) -> pd.DataFrame:
    """One row per run (split, step, as `by` says; each `apart` by environment or agent) and rule that matches a call: how many rollouts make calls that cannot be taken back?

    Columns: run_id, split, step, environment, agent, rule, num_rollouts (whose calls are known), num_samples,
    num_rollouts_hit, share (0–1), ci_low, ci_high (95 % Wilson, for as many independent rollouts as the samples'
    attempts are worth), num_calls, num_ok (of these, that did not fail).

    Raises:
        QuestionError: There is no such grouping, or the rules cannot be read.
    """  # noqa: E501 - the first line is what the command line lists
    frame = store.ask("destructive_rates", {**filters.parameters(), **check_groups(by, apart), **_rules(store)})
    add_share_interval(frame, "share", "share_sd", "num_rollouts", "num_samples")
    return frame


def _rules(store: Reading) -> dict[str, Any]:
    """The destructive rules as parameters: each with the tools of the store that it names."""
    tools = known_tools(store)
    found = tool_rules(store).destructive
    held = [(each, matched(tools, each.tools)) for each in found]
    rules = [{"name": each.name, "tools": own, "arguments": each.arguments} for each, own in held]
    return {
        "rules": rules or [{"name": "", "tools": [], "arguments": None}],
        "pattern": "|".join(f"(?:{each.arguments})" for each in found if each.arguments is not None) or NEVER,
        "named": sorted({tool for each, own in held if each.arguments is None for tool in own}),
        "searched": sorted({tool for each, own in held if each.arguments is not None for tool in own}),
    }


def rollouts_calling(
    store: Reading,
    filters: Filters = EVERYTHING,
    *,
    tool: str | None = None,
    which: str = "any",
    error_kind: str | None = None,
    arguments_hash: str | None = None,
    at_least_bytes: int | None = None,
    limit: int = 50,
    offset: int = 0,
) -> pd.DataFrame:
    """One row per rollout with certain calls, those with the most first, a page of them: which rollouts make them?

    `which` is one of `WHICH`; `error_kind` is the source's own word for the failure. Columns: run_id, rollout_id,
    sample_id, attempt, split, step, status, reward, num_found (such calls), num_tool_calls, num_tool_errors, latency_s
    (seconds), num_total (how many in all).

    Raises:
        QuestionError: There is no such kind of calls.
    """
    if which not in WHICH:
        raise QuestionError(f"which must be one of {', '.join(WHICH)}, not {which!r}")
    own = {"tool": tool, "which": which, "error_kind": error_kind, "arguments_hash": arguments_hash}
    paged = {"at_least_bytes": at_least_bytes, "limit": limit, "offset": offset}
    return store.ask("rollouts_calling", {**filters.parameters(), **own, **paged})


def rollouts_after_error(
    store: Reading, filters: Filters = EVERYTHING, *, what_follows: str, limit: int = 50, offset: int = 0
) -> pd.DataFrame:
    """One row per rollout where this follows a failed call, most often first, a page of them: which rollouts do so?

    `what_follows` is one of `FOLLOWS`. Columns: as `rollouts_calling`, num_found counts such failed calls.

    Raises:
        QuestionError: There is no such reaction.
    """
    if what_follows not in FOLLOWS:
        raise QuestionError(f"what_follows must be one of {', '.join(FOLLOWS)}, not {what_follows!r}")
    own = {"what_follows": what_follows, "limit": limit, "offset": offset}
    return store.ask("rollouts_after_error", {**filters.parameters(), **own})
