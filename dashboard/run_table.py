"""The table of runs: sparklines, health in words, and links to what one does with a run."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from dashboard import run_words, words
from dashboard.cells import change, fixed, written
from dashboard.links import go

_FORMATS = {"reward": fixed(3), "change": change, "tool calls": fixed(2), "tokens": fixed(0), "failed": fixed(1)}


def run_table(found: pd.DataFrame) -> pd.DataFrame:
    """Draw the runs, and under them links for the selected ones; returns the selected rows."""
    shown = _shown(found)
    event = st.dataframe(
        written(shown, _FORMATS),
        hide_index=True,
        column_config=_columns(),
        key="runs_table",
        on_select="rerun",
        selection_mode="multi-row",
        placeholder=words.NOTHING,
        height="content" if len(shown) <= 15 else 560,
        alt="Runs with their reward, behaviour and health",
    )
    chosen = found.iloc[[each for each in event.selection.rows if each < len(found)]]
    if len(chosen):
        _links(chosen)
    return chosen


def _shown(found: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "run": found["name"],
            "kind": found["kind"],
            "reward": found["reward_last"].astype(float),
            "change": found["reward_change"].astype(float),
            "curve": [_curve(each) for each in found["reward_by_step"]],
            "split": found["reward_split"],
            "samples": found["reward_num_samples"].replace(0, pd.NA).astype("Int64"),
            "steps": [_steps(row) for row in found.to_dict("records")],
            "rollouts": found["num_rollouts"],
            "tool calls": found["tool_calls_mean"].astype(float),
            "tokens": found["output_tokens_mean"].astype(float),
            "failed": 100 * found["failure_share"].astype(float),
            "health": [", ".join(each) or "ok" for each in found["health"]],
            "environments": [", ".join(map(str, each)) if each is not None else None for each in found["environments"]],
            "model": found["model"],
            "base model": found["base_model"],
            "last activity": found["last_at"],
            "id": found["run_id"],
        }
    )


def _curve(rewards: Sequence[float] | None) -> list[float] | None:
    """Rewards by step for a sparkline; one point makes none."""
    return None if rewards is None or len(rewards) < 2 else [round(float(each), 4) for each in rewards]


def _steps(run: Mapping[Hashable, Any]) -> str:
    number, first, last = run["num_steps"], run["first_step"], run["last_step"]
    if not number:
        return words.NOTHING
    return f"{number} ({first}–{last})" if number != 1 else f"1 ({first})"


def _columns() -> dict[str, Any]:
    config = st.column_config
    return {
        "run": config.TextColumn("run", width="medium", pinned=True),
        "reward": config.NumberColumn("reward", help="At the last scored step: mean over samples."),
        "change": config.NumberColumn("change", help="Against the first scored step of the same split."),
        "curve": config.LineChartColumn("by step", width="small", help="Reward over the scored steps."),
        "samples": config.NumberColumn("n", help="Samples at the last scored step."),
        "steps": config.TextColumn("steps", width=90, help="How many, and from which to which."),
        "tool calls": config.NumberColumn("calls per rollout", help="At the last scored step."),
        "tokens": config.NumberColumn("output, tokens", help="Mean per rollout at the last scored step."),
        "failed": config.NumberColumn("failed, %", help="Infrastructure and grader errors."),
        "health": config.TextColumn("health", width="medium"),
        "last activity": config.DatetimeColumn("last activity, UTC", format="YYYY-MM-DD HH:mm", timezone="UTC"),
    }


def _links(chosen: pd.DataFrame) -> None:
    with st.container(horizontal=True, gap="large", key="run_links"):
        ids = chosen["run_id"].tolist()
        who = str(chosen.iloc[0]["name"])[:40] if len(ids) == 1 else words.plural(len(ids), "run")
        go(f"Reward curves of {who}", "reward_curves", {"run": ids})
        if len(ids) <= 2:
            both = run_words.arms(chosen)
            label = "Compare its first and last step" if len(ids) == 1 else "Compare the two"
            go(label, "compare", both)
        if len(ids) == 2:
            pair = sorted(chosen.to_dict("records"), key=lambda row: row["kind"] != "baseline")
            sides = {"baseline": str(pair[0]["run_id"]), "candidate": str(pair[1]["run_id"])}
            go("What differs between the two", "run_diff", sides)
        elif len(ids) > 2:
            go(f"What varies among the {words.whole(len(ids))}", "run_diff", {"run": ids})
            st.caption("Two runs can be compared at a time.")
