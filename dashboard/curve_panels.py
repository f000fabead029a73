"""The parts of the reward curves page: which split leads, figures on top, behaviour and endings below."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dashboard import charts_curves, curve_words, data, opposite_words, parts, words
from dashboard.charts_curves import Looks, Series
from dashboard.choices import choice
from dashboard.rows import drawn_runs, records, texts
from dashboard.run_words import SPLIT_NAMES, reward_name
from dashboard.selection import opening, rollouts_behind
from queries.filters import Filters

LEADING: Final = ("valid", "test", "production")
"""Splits that may lead the page, in this order; the train batch only where there is none of them."""
MOST_GRADERS = 12
"""Graders whose scores are drawn."""
_MEAN = "95 % interval over samples"
MAIN: Final = (
    Series(
        "tool_calls_mean",
        "tool calls per rollout",
        "tool_calls_ci_low",
        "tool_calls_ci_high",
        "num_tool_calls_known",
        _MEAN,
        digits=".2f",
    ),
    Series(
        "reasoning_tokens_mean",
        "reasoning tokens",
        "reasoning_tokens_ci_low",
        "reasoning_tokens_ci_high",
        "num_reasoning_tokens_known",
        _MEAN,
        digits=",.0f",
    ),
    Series(
        "latency_p50_s",
        "latency, s (median, band to P95)",
        "latency_p50_s",
        "latency_p95_s",
        "num_latency_known",
        "P50 to P95",
        digits=",.3~r",
    ),
    Series("tool_error_rate", "tool error rate", num="num_calls", over="calls", digits=".1%"),
)
"""Panels of behaviour that are always open."""
MORE: Final = (
    Series("turns_mean", "turns per rollout", "turns_ci_low", "turns_ci_high", "num_turns_known", _MEAN, digits=".2f"),
    Series(
        "output_tokens_mean",
        "output tokens",
        "output_tokens_ci_low",
        "output_tokens_ci_high",
        "num_output_tokens_known",
        _MEAN,
        digits=",.0f",
    ),
    Series("tool_calls_p95", "tool calls, P95", num="num_tool_calls_known", digits=".1f"),
    Series(
        "latency_mean_s",
        "latency, s (mean)",
        "latency_ci_low",
        "latency_ci_high",
        "num_latency_known",
        _MEAN,
        digits=",.3~r",
    ),
    Series("repeat_rate", "repeat rate", num="num_calls_repeats_known", over="calls", digits=".1%"),
    Series("truncation_rate", "truncation rate", num="num_status_known", digits=".1%"),
    Series("no_tool_call_rate", "share with no tool call", num="num_tool_calls_known", digits=".1%"),
    Series(
        "parallel_turn_rate", "turns with parallel calls", num="num_tool_rounds", over="turns with calls", digits=".1%"
    ),
)


def leading(curve: pd.DataFrame) -> str | None:
    """The split the page speaks of first; None where no split is known."""
    found = texts(curve.loc[curve["num_scored"] > 0, "split"]) or texts(curve["split"])
    return next((each for each in (*LEADING, "train") if each in found), None)


def environments(filters: Filters) -> list[str]:
    """Environments that the filters leave rewards of; where the store knows one only, nothing has to be asked."""
    choices = data.ask("filter_choices")
    if (choices["field"] == "environments").sum() < 2:
        return []
    return texts(data.ask("reward_curve", filters, by_environment=True)["environment"])


def of_drawn(filters: Filters, curve: pd.DataFrame) -> Filters:
    """The filters, on the runs that are drawn where there are more: what nobody sees need not be asked."""
    drawn = texts(drawn_runs(curve)["run_id"])
    return filters if len(drawn) == curve["run_id"].nunique() else filters.only(*drawn)


def of_split(frame: pd.DataFrame, split: str | None) -> pd.DataFrame:
    """The rows of a split; of no split where it is None."""
    return frame[frame["split"].isna()] if split is None else frame[frame["split"] == split]


def train_curve(filters: Filters, curve: pd.DataFrame) -> pd.DataFrame:
    """The train batch of a curve: all rollouts, and those trained on where that is known and not the same."""
    own = replace(filters, splits=("train",))
    batch = of_split(curve, "train").assign(subset=filters.subset or "batch")
    everything = batch if filters.run_ids is None else batch[batch["run_id"].isin(filters.run_ids)]
    if filters.subset is not None or everything.empty:
        return everything
    used = data.ask("reward_curve", replace(own, subset="effective")).assign(subset="effective")
    same = used["num_rollouts"].sum() in (0, everything["num_rollouts"].sum())
    return everything if same else pd.concat([everything, used], ignore_index=True)


def pair(*, both: bool) -> tuple[DeltaGenerator, DeltaGenerator | None]:
    """Room for the main curve, and for its companion beside it (below it on a narrow screen) where there is one."""
    if not both:
        return st.container(), None
    left, right = st.container(key="side_by_side_reward").columns([3, 2])
    return left, right


def unlike_failures(lead: pd.DataFrame, filters: Filters, split: str | None, names: dict[str, str]) -> str:
    """That runs failed at unlike rates, and by which cause most; causes are asked for only where they did."""
    said = curve_words.unlike_failures(lead, names)
    if not said:
        return ""
    book = data.ask("failure_rulebook")
    titles = dict(zip(book["cause"], book["title"], strict=True))
    leading = replace(filters, splits=(split,)) if split else filters
    return said + curve_words.unlike_cause(data.ask("failure_causes", leading), titles, names)


def warned(found: list[str], filters: Filters, split: str | None, names: dict[str, str]) -> list[str]:
    """That the first sentence pools environments, and which of them, or of the agents, move in opposite directions."""
    said = [curve_words.environments(found)]
    agents = (data.ask("filter_choices")["field"] == "agents").sum()
    for part, num in (("environment", len(found)), ("agent", agents)):
        if num > 1:
            moved = data.ask("opposite_movements", filters, split=split or "", apart=part)
            said += opposite_words.opposite(moved, names)
    return said


def figures(changes: pd.DataFrame, best: pd.DataFrame, curve: pd.DataFrame, split: str | None) -> None:
    """Figures of the run with the most steps (of a level, where there are no steps)."""
    names = data.run_names()
    if changes.empty:
        levels = records(curve[curve["reward_mean"].notna()].drop_duplicates("run_id", keep="last"))
        parts.figures([_level(row, names[row["run_id"]], split) for row in levels[:4]])
        return
    run_id = changes["run_id"].value_counts(sort=True).index[0]
    last = records(changes[changes["run_id"] == run_id])[-1]
    top = records(best[(best["run_id"] == run_id) & best["is_best"]])[0]
    row = records(curve[(curve["run_id"] == run_id) & (curve["step"] == last["step"])])[0]
    told = last["delta_ci_low"] is not None and (last["delta_ci_low"] > 0 or last["delta_ci_high"] < 0)
    alone = last["step"] == last["reference_step"]
    since = "the only step" if alone else f"{words.signed(last['delta_mean'])} since step {last['reference_step']}"
    label = f"{reward_name(split)} at step {last['step']}"
    label = f"{names[run_id]}: {label}" if changes["run_id"].nunique() > 1 else f"{label[:1].upper()}{label[1:]}"
    rest = f"n = {words.plural(row['num_samples_scored'], 'sample')}"
    good = last["delta_mean"] > 0 if told and not alone else None
    items = [parts.Figure(label, words.number(last["reward_mean"]), since, good=good)]
    if not alone:
        reached = f"reward {words.number(top['reward_mean'])}"
        optimistic = "Highest of these very numbers, so it is optimistic."
        items.append(parts.Figure("Best step", words.whole(top["step"]), reached, help=optimistic))
    if row["pass_rate"] is not None:
        counts = f"{words.whole(row['num_passed'])} of {words.whole(row['num_passed_known'])} rollouts"
        items.append(parts.Figure("Pass rate", words.percent(row["pass_rate"]), counts))
    items.append(parts.Figure("Rollouts a step", words.whole(row["num_rollouts"]), rest))
    parts.figures(items)


def _level(row: dict[str, Any], name: str, split: str | None) -> parts.Figure:
    over = f"n = {words.plural(row['num_samples_scored'], 'sample')}"
    return parts.Figure(f"{name}: {reward_name(split)}", words.number(row["reward_mean"]), over)


def behaviour(filters: Filters, splits: Sequence[str | None], looks: Looks) -> None:
    """Behaviour by step: the main panels open, the others folded, and what cannot be drawn in words."""
    st.subheader("Behaviour by step", anchor=False)
    found = data.ask("behaviour_by_step", filters)
    split = splits[0]
    if len(splits) > 1:
        titles = {each: SPLIT_NAMES.get(each, each) for each in splits if each}
        split = choice("Split", titles, "behaviour_split", kind="buttons", label_visibility="collapsed")
    frame = drawn_runs(of_split(found, split))
    parts.verdict(curve_words.behaviour(frame, looks.names))
    panels, more = ([each for each in group if frame[each.y].notna().any()] for group in (MAIN, MORE))
    if panels:
        points = parts.plot(
            charts_curves.small_multiples(frame, looks, panels),
            "behaviour_by_step",
            frame,
            select=True,
            alt=f"Small multiples over steps: {', '.join(each.title for each in panels)}",
        )
        rollouts_behind(points, "behaviour")
    if lacking := [each.title for each in (*MAIN, *MORE) if each not in panels and each not in more]:
        st.caption(parts.plain(f"Not drawn, because no source of these runs reports it: {', '.join(lacking)}."))
    if more:
        with st.expander("More behaviour: turns, output, repeats, truncation, parallel calls"):
            points = parts.plot(
                charts_curves.small_multiples(frame, looks, more), "more_behaviour_by_step", select=True
            )
            rollouts_behind(points, "more_behaviour")
    _endings(filters, split, looks)
    parts.table(found, "behaviour", on_row=opening("behaviour"))


def _endings(filters: Filters, split: str | None, looks: Looks) -> None:
    found = of_split(data.ask("stop_reasons_by_step", filters), split)
    stepped = found[found["step"].notna()]
    if stepped.empty or (stepped["status"].isna() & stepped["stop_reason"].isna()).all():
        return
    with st.expander("How rollouts end, step by step"):
        runs = texts(stepped["run_id"])
        run_id = runs[0] if len(runs) == 1 else choice("Run", {each: looks.name(each) for each in runs}, "endings_run")
        rows = stepped[stepped["run_id"] == run_id]
        rollouts_behind(parts.plot(charts_curves.stop_figure(rows), "stop_reasons", rows, select=True), "endings")


def scores(filters: Filters, split: str | None, looks: Looks) -> None:
    """Folded: each grader's score over steps."""
    if not data.ask("coverage", filters)["num_scores"].sum():
        return
    with parts.fold("Sub-scores per grader", "scores_open") as folded:
        if not folded.open:
            return
        found = of_split(data.ask("scores_by_step", filters), split)
        found = drawn_runs(found[found["step"].notna()])
        if found["step"].nunique() < 2:
            st.caption("Scores of fewer than two steps make no curve; a trajectory lists those of its rollout.")
            return
        names = texts(found["grader"])
        shown = found[found["grader"].isin(names[:MOST_GRADERS])]
        if len(names) > MOST_GRADERS:
            st.caption(f"The first {MOST_GRADERS} by name are drawn; the table holds all.")
        rollouts_behind(parts.plot(charts_curves.score_figure(shown, looks), "scores", found, select=True), "scores")


def provider_metrics(filters: Filters, looks: Looks) -> None:
    """Folded: any other number the trainer reported, one at a time."""
    found = data.ask("reported_metrics", filters)
    others = found[~found["is_reward"] & found["step"].notna() & found["value"].notna() & found["labels"].isna()]
    if others.empty:
        return
    others = others.assign(entry=curve_words.metric_entries(others))
    with st.expander(f"What the trainer reported besides ({others['name'].nunique()} metrics)"):
        name = st.selectbox("Metric", texts(others["entry"]), key="metric", bind="query-params")
        rows = drawn_runs(others[others["entry"] == name].drop_duplicates(["run_id", "step"]))
        series = Series("value", str(name), num="step", over="", digits=",.4~r")
        drawn = charts_curves.reward_figure(rows.assign(environment=None, subset="all"), looks, series)
        rollouts_behind(parts.plot(drawn, "reported_metric", rows, select=True), "reported_metric")
