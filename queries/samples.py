"""Questions about samples: how each goes over runs and steps, and every attempt at one."""

from typing import Any

import pandas as pd

from ingest.errors import QuestionError
from queries.connection import Reading
from queries.filters import EVERYTHING, Filters

SAMPLE_SORTS = ("reward", "loss", "gain", "spread", "tool_calls", "rollouts", "sample")
"""`reward`: lowest mean first; `loss` and `gain`: largest fall or rise first; the others the highest first."""
HEATMAP_MEASURES = ("reward", "tool_calls")
MAX_SAMPLES = 200
MAX_STEPS = 100


def samples(
    store: Reading, filters: Filters = EVERYTHING, *, sort: str = "reward", limit: int | None = None, offset: int = 0
) -> pd.DataFrame:
    """One row per sample (environment and id), ordered as `sort` (one of `SAMPLE_SORTS`): how does each sample go?

    Columns: environment, sample_id, num_runs, first_step, last_step, num_rollouts, num_scored, reward_mean (over
    attempts), reward_sd (within run, split and step), tool_calls_mean, reward_first, reward_last, reward_change (first
    and last scored step, mean over runs and splits with two), num_all (samples before paging), prompt (first line),
    num_prompt_bytes, tags (JSON list).

    Raises:
        QuestionError: `sort` is none of `SAMPLE_SORTS`.
    """
    if sort not in SAMPLE_SORTS:
        raise QuestionError(f"sort must be one of {', '.join(SAMPLE_SORTS)}, not {sort!r}")
    frame = store.ask("samples", {**filters.parameters(), "sort": sort, "limit": limit, "offset": offset})
    asked = {"run_ids": filters.parameters()["run_ids"], "sample_ids": sorted(set(frame["sample_id"]))}
    prompts = store.ask("sample_prompts", asked)
    return frame.merge(prompts, how="left", on=["environment", "sample_id"], validate="one_to_one")


def sample_facts(store: Reading, *, sample_id: str, environment: str | None = None) -> pd.DataFrame:
    """One row per run and environment that describe the sample, ordered by them: what is this sample?

    Columns: run_id, environment, sample_id, prompt_text (first 100 000 characters), num_prompt_bytes (of the whole),
    reference, tags (JSON list), cluster_key, dataset_version, metadata (JSON).
    """
    return store.ask("sample_facts", {"sample_id": sample_id, "environment": environment})


def sample_attempts(
    store: Reading,
    filters: Filters = EVERYTHING,
    *,
    sample_id: str,
    environment: str | None = None,
    limit: int | None = None,
) -> pd.DataFrame:
    """One row per attempt at a sample, ordered by run, step, split and attempt: how did each attempt at a sample go?

    Columns: run_id, split, step, attempt, reward, passed, status, num_tool_calls, num_tool_errors, num_exact_repeats,
    num_turns, output_tokens, reasoning_tokens (tokens), latency_s (seconds), environment, rollout_id.
    """
    own: dict[str, Any] = {"sample_id": sample_id, "environment": environment, "limit": limit}
    return store.ask("sample_attempts", {**filters.parameters(), **own})


def sample_heatmap(
    store: Reading,
    filters: Filters = EVERYTHING,
    *,
    measure: str = "reward",
    max_samples: int = MAX_SAMPLES,
    max_steps: int = MAX_STEPS,
) -> pd.DataFrame:
    """One row per sample and bin of steps that has rollouts, of one run and split: which samples get better, and when?

    Beyond `max_steps` neighbouring steps share a bin; beyond `max_samples` those with the most rollouts are kept.
    Columns: run_id, split, environment, sample_id, place (row, lowest mean first), bin (column), step_from, step_to,
    num_rollouts, num_known, value (mean of `measure`, one of `HEATMAP_MEASURES`), num_samples_all, num_steps_all.

    Raises:
        QuestionError: The measure is unknown, or the filters leave several runs or splits.
    """
    if measure not in HEATMAP_MEASURES:
        raise QuestionError(f"measure must be one of {', '.join(HEATMAP_MEASURES)}, not {measure!r}")
    own: dict[str, Any] = {"measure": measure, "max_samples": max_samples, "max_steps": max_steps}
    frame = store.ask("sample_heatmap", {**filters.parameters(), **own})
    for column, option in (("run_id", "run"), ("split", "split")):
        found = frame[column].drop_duplicates()
        if len(found) > 1:
            raise QuestionError(f"a heatmap shows one {option}; choose one of {', '.join(sorted(map(str, found)))}")
    return frame
