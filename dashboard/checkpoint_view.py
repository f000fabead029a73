"""What the checkpoints page asks beside its main questions, and the link that compares two of a run's checkpoints."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import pandas as pd

from dashboard import data, links, parts
from dashboard.cells import Format, change, fixed
from dashboard.checkpoint_controls import Chosen
from dashboard.checkpoint_words import STANDINGS, interval, standing
from dashboard.compare_arms import written
from dashboard.rows import records
from dashboard.selection import opening
from dashboard.words import percent, whole
from queries.checkpoint_warnings import found_in


def beside(chosen: Chosen, steps: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The train batches of the run (none where these are judged), and what speaks against its best checkpoint.

    The warnings are those of the question `checkpoint_warnings`, from answers this page has already.
    """
    changes = data.ask("step_deltas", chosen.filters, split=chosen.split)
    train = data.ask("reward_curve", replace(chosen.filters, splits=("train",)))
    drawn = train[train["step"].notna() & train["reward_mean"].notna()]
    return drawn.iloc[:0] if chosen.split == "train" else drawn, found_in(steps, changes, train)


_COLUMNS: Final[Mapping[str, tuple[str, Format | None]]] = {
    "step": ("step", None),
    "standing": ("beside the best", None),
    "saved": ("saved", None),
    "reward_mean": ("reward", fixed(3)),
    "reward_interval": ("95 % interval", None),
    "num_samples_scored": ("samples", None),
    "delta_mean": ("against the best", change),
    "chance_best": ("chosen in", percent),
    "tool_calls_mean": ("tool calls", fixed(2)),
    "tool_calls_p95": ("tool calls P95", fixed(1)),
    "latency_p50_s": ("latency P50, s", fixed(1)),
    "latency_p95_s": ("latency P95, s", fixed(1)),
    "turns_mean": ("turns", fixed(2)),
    "output_tokens_mean": ("output tokens", whole),
    "reward_masked_mean": ("reward, failures left out", fixed(3)),
    "failure_rate": ("failures", percent),
    "truncation_rate": ("truncated", percent),
    "budget_exceeded_rate": ("out of budget", percent),
    "no_tool_call_rate": ("without a call", percent),
    "pass_rate": ("passed", percent),
    "agree_share": ("attempts agree", percent),
    "train_reward_mean": ("train reward", fixed(3)),
    "checkpoint_id": ("checkpoint", None),
}
"""What a choice is made by, in the order shown: a heading and how its numbers are written."""


def side_by_side(chosen: Chosen, steps: pd.DataFrame) -> None:
    """The checkpoints beside one another; a row opens its rollouts. What is known of no step has no column."""
    rows = records(steps)
    shown = steps.assign(
        standing=[STANDINGS[standing(row)] for row in rows],
        saved=steps["is_saved"].map({True: "saved", False: "no"}).astype(object),
        reward_interval=pd.Series([interval(row["reward_ci_low"], row["reward_ci_high"]) for row in rows], steps.index),
    )[[*_COLUMNS]]
    parts.table(
        shown.loc[:, shown.notna().any()],
        "checkpoints_beside",
        columns={name: title for name, (title, _) in _COLUMNS.items()},
        formats={name: written_as for name, (_, written_as) in _COLUMNS.items() if written_as},
        expanded=True,
        label="The checkpoints beside one another",
        on_row=opening("checkpoints_beside", chosen.rollouts),
    )


def only_row(frame: pd.DataFrame) -> dict[str, Any]:
    """The one row of an answer about one run, None where a value is missing."""
    return records(frame)[0]


def environments(chosen: Chosen) -> list[str]:
    """The environments that the reward pools."""
    found = data.ask("run_overview", chosen.rollouts)
    held = {str(each) for names in found.loc[found["split"] == chosen.split, "environments"] for each in names if each}
    return sorted(held if chosen.filters.environments is None else held & {*chosen.filters.environments})


def compare_link(chosen: Chosen, choice: dict[str, Any], steps: pd.DataFrame, step: int) -> None:
    """A link that compares a step, sample by sample, with the first one (the first with the best)."""
    first = int(steps.loc[steps["reward_mean"].notna(), "step"].min())
    other = int(choice["best_step"]) if step == first else first
    if other == step:
        return
    baseline, candidate = min(step, other), max(step, other)
    query = {"baseline": written(chosen.run_id, baseline), "candidate": written(chosen.run_id, candidate)}
    if chosen.split != "valid":
        query["split"] = chosen.split
    links.go(f"Compare step {whole(candidate)} with step {whole(baseline)}, sample by sample", "compare", query)
