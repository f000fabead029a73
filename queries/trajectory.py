"""Questions about one rollout: its facts, messages, tool calls, scores, and where one can go from it.

A rollout's id alone names it, but says not in which run (the partition) it is: without `run_id` every question first
looks that up in one narrow column. Texts are cut in the database: a message of megabytes never reaches a page whole.
"""

from typing import Any

import pandas as pd

from queries.connection import Reading
from queries.filters import EVERYTHING, Filters


def rollout_run(store: Reading, *, rollout_id: str) -> pd.DataFrame:
    """One row, none where there is no such rollout: which run holds a rollout?

    Columns: run_id.
    """
    return store.ask("rollout_run", {"rollout_id": rollout_id})


def trajectory_facts(store: Reading, *, rollout_id: str, run_id: str | None = None) -> pd.DataFrame:
    """One row, none where there is no such rollout: what is known of a rollout?

    Columns: all of `rollouts` (ingest/README.md), run_name, run_kind, reward_name, source_format of its run,
    sample_tags (JSON list) and cluster_key of its sample.
    """
    return store.ask("trajectory_facts", _named(store, rollout_id, run_id))


def trajectory_messages(
    store: Reading,
    *,
    rollout_id: str,
    run_id: str | None = None,
    max_chars: int | None = None,
    first: int = 0,
    last: int | None = None,
) -> pd.DataFrame:
    """One row per message from `first` to `last`, in order: what was said?

    Columns: message_index, role, agent, turn, text (its first `max_chars` characters), num_text_bytes (of the whole),
    reasoning_text, num_reasoning_bytes (likewise), tool, tool_call_id, input_tokens, output_tokens, reasoning_tokens
    (tokens), started_at, ended_at, latency_s (seconds), finish_reason, turn_reward, is_sampled, branch, logprob_mean,
    entropy_mean (nats).
    """
    own = {"max_chars": max_chars, "first": first, "last": last}
    return store.ask("trajectory_messages", {**_named(store, rollout_id, run_id), **own})


def trajectory_tool_calls(
    store: Reading,
    *,
    rollout_id: str,
    run_id: str | None = None,
    max_chars: int | None = None,
    first: int = 0,
    last: int | None = None,
) -> pd.DataFrame:
    """One row per tool call, in order: which tools were called, and with what result?

    With `first` and `last` only calls of these messages, and those that no message asked for. Columns: call_index,
    turn, message_index, result_index, wrapper_id, requestor, agent, tool, tool_raw, arguments (first `max_chars`
    characters), num_argument_bytes, is_parsed, repeat_of, near_repeat_of, repeat_output, is_wasted, output_text (first
    `max_chars` characters), output_bytes (of the whole), status, is_executed, is_error, is_error_inferred, error_kind,
    started_at, ended_at, latency_s (seconds), latency_source, exit_code, branch.
    """
    own = {"max_chars": max_chars, "first": first, "last": last}
    return store.ask("trajectory_tool_calls", {**_named(store, rollout_id, run_id), **own})


def trajectory_scores(store: Reading, *, rollout_id: str, run_id: str | None = None) -> pd.DataFrame:
    """One row per grader, rewards first: how was a rollout graded?

    Columns: grader, value, text_value, weight, passed, kind, grader_version, explanation (first 20 000 characters).
    """
    return store.ask("trajectory_scores", _named(store, rollout_id, run_id))


def trajectory_search(
    store: Reading, *, rollout_id: str, text: str, run_id: str | None = None, limit: int = 100
) -> pd.DataFrame:
    """One row per place that holds `text`, whatever its case, in order: where does a rollout say this?

    None for an empty text. Columns: message_index (NULL = a call that no message asked for), call_index (NULL = not in
    a call), place (role of the message, `reasoning`, `call` or `output`), snippet (what is around the first match),
    num_matches.
    """
    own = {"text": text, "limit": limit if text else 0}
    return store.ask("trajectory_search", {**_named(store, rollout_id, run_id), **own})


def trajectory_neighbours(
    store: Reading, filters: Filters = EVERYTHING, *, rollout_id: str, run_id: str | None = None, max_attempts: int = 60
) -> pd.DataFrame:
    """One row per rollout that can be reached: the one before, the one after, and other attempts at the sample.

    `relation`: `previous` and `next` by sample and attempt within run, step and split, of those the filters' statuses,
    tools, environments and subset leave; `attempt`: at the same sample in the run, at most `max_attempts`, those of
    the nearest steps.
    Columns: relation, rollout_id, sample_id, split, step, attempt, reward, status, num_tool_calls.
    """
    own = {**_named(store, rollout_id, run_id), "max_attempts": max_attempts}
    return store.ask("trajectory_neighbours", {**filters.parameters(), **own})


def _named(store: Reading, rollout_id: str, run_id: str | None) -> dict[str, Any]:
    if run_id is None:
        found = rollout_run(store, rollout_id=rollout_id)["run_id"]
        run_id = str(found.iloc[0]) if len(found) else ""
    return {"rollout_id": rollout_id, "run_id": run_id}
