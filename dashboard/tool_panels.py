"""The parts of the tool behaviour page: figures on top, and one view at a time below."""

from typing import Any, Final

import pandas as pd
import streamlit as st

from dashboard import data, opposite_words, parts, tool_charts, tool_words, words
from dashboard.cells import change
from dashboard.choices import choice
from dashboard.measured import listed
from dashboard.selection import narrowed, opening, rollouts_behind
from queries.filters import Filters
from queries.sequence_rules import unknown_names
from queries.sequences import EXAMPLES, rule_of
from queries.tool_rules import tool_rules

VIEWS: Final = {
    "rule": "Order of calls",
    "mix": "Mix of tools",
    "first": "First call",
    "errors": "Failures",
    "outputs": "Outputs",
    "stable": "Unstable answers",
    "destructive": "Destructive calls",
}
GRAMMAR: Final = (
    "[not] EVENT [directly] before|then|after EVENT [within N]. An event is a tool (* stands for anything), error (a "
    'failed call) or answer; conditions stand in brackets: shell(has="pytest", status=ok), edit(agent=worker).'
)


HOW: Final = """
Calls of one assistant message are parallel; a parallel wrapper that does not parse fails as a whole, and each call
in it counts as failed and not executed. Shares have Wilson intervals for as many independent calls or rollouts as
the samples' attempts are worth; differences have t intervals over samples, clustered. The critical path is the
slowest call of each turn, added up. Calls are in the order in which they were requested. Rewards of rollouts that
keep and break a rule are compared at the same sample, split and step. Opposite movements compare each
environment's, or agent's, first step with its last over the samples known at both; p-values are adjusted for the
parts and measures of a run (Holm). What counts as destructive, volatile, huge or cut off stands in `observatory
rules tools`.
"""


def controls() -> tuple[str, str | None]:
    """Grouping and what is told apart, beside each other and kept in the address."""
    left, right = st.columns(2, vertical_alignment="bottom")
    with left:
        by = choice("By", {"run": "run", "split": "split", "step": "step"}, "tools_by", kind="buttons")
    with right:
        titles = {"all": "all together", "environment": "by environment", "agent": "by agent"}
        apart = choice("Told apart", titles, "apart", kind="buttons")
    return by, None if apart == "all" else apart


def opposite(filters: Filters, split: str) -> list[str]:
    """Environments, or agents, that move in opposite directions; not asked where the store knows fewer than two."""
    fields, said = data.ask("filter_choices")["field"], []
    for part in ("environment", "agent"):
        if (fields == f"{part}s").sum() > 1:
            moved = data.ask("opposite_movements", filters, split=split, apart=part)
            said += opposite_words.opposite(moved, data.run_names())
    return said


def figures(profile: pd.DataFrame) -> None:
    """Calls per turn, rounds, parallel share and saved tool time of the last group."""
    row = profile.iloc[-1]
    failed = row["num_failed"] / row["num_calls"] if row["num_calls"] else None
    saved = None if pd.isna(row["time_share"]) else 1 - float(row["time_share"])
    rounds = f"{words.number(row['rounds_ci_low'])} to {words.number(row['rounds_ci_high'])}"
    parts.figures(
        [
            parts.Figure("Calls per turn", words.number(row["calls_per_turn"])),
            parts.Figure(
                "Rounds of calls per rollout",
                words.number(row["rounds_mean"]),
                None if pd.isna(row["rounds_ci_low"]) else rounds,
                help="95 % interval, clustered by sample",
            ),
            parts.Figure(
                "Parallel calls",
                words.percent(row["parallel_call_share"]),
                f"{words.whole(row['num_parallel_calls'])} of {words.whole(row['num_calls'])}",
            ),
            parts.Figure(
                "Failed calls",
                words.percent(failed),
                f"{words.whole(row['num_failed'])} of {words.whole(row['num_calls'])}",
            ),
            parts.Figure(
                "Tool time saved by parallel calls",
                words.percent(saved),
                help="1 − critical path / time of all calls, over rollouts whose tool times are known",
            ),
        ]
    )


def view(name: str, filters: Filters, by: str, apart: str | None) -> None:
    """The view that was chosen."""
    shown = {
        "rule": _rule,
        "mix": _mix,
        "first": _first,
        "errors": _errors,
        "outputs": _outputs,
        "destructive": _destructive,
    }
    if name == "stable":
        _unstable(filters)
    else:
        shown[name](filters, by, apart)
    if name in ("errors", "outputs", "stable", "destructive") and tool_rules(data.reading()).origin == "file":
        st.caption("The rules of this store's own tools.toml are in force, not the defaults.")


def _rule(filters: Filters, by: str, apart: str | None) -> None:
    text = st.text_input(
        "Rule on the order of calls",
        key="rule",
        bind="query-params",
        placeholder=EXAMPLES[0],
        help=parts.plain(GRAMMAR),
    )
    if not text.strip():
        st.caption(parts.plain(f"For example {', '.join(f'“{each}”' for each in EXAMPLES)}. {GRAMMAR}"))
        return
    frame = data.ask("sequence_rule", filters, rule=text, by=by, apart=apart)
    parts.verdict(tool_words.rule(frame, tool_words.groups(frame, data.run_names()), text))
    parts.warning(tool_words.lost_names(unknown_names(data.reading(), rule_of(text))))
    judged = frame[frame["num_kept"] + frame["num_broken"] > 0]
    labels = tool_words.groups(judged, data.run_names())
    figure = tool_charts.share_figure(judged, labels, "rollouts that keep the rule", value="rate", count="num_kept")
    points = parts.plot(
        figure, "sequence_rule_plot", frame, select=True, alt="Share of rollouts that keep the rule, by group"
    )
    own = narrowed(filters, points[0]) if points else filters
    sides = {"broken": "that break it", "kept": "that keep it", "not applicable": "it says nothing of"}
    side = choice("List rollouts", sides, "side", kind="buttons")
    listed(f"rule_{side.split()[0]}", sides[side], "rollouts_by_rule", own, rule=text, verdict=side)
    parts.table(frame, "sequence_rule", formats={"difference_mean": change}, label="Table of the rule by group")
    st.caption(
        "A relation, not an effect: what kept the rule may also have earned the reward. The table's pooled difference "
        "is confounded, for hard samples may break the rule more often; the difference within samples is not by these."
    )


def _mix(filters: Filters, by: str, apart: str | None) -> None:
    frame = data.ask("tool_mix", filters, by=by, apart=apart)
    _shares(frame, filters, "tool_mix", "share of the group's calls", "num_calls")
    runs = sorted(set(frame["run_id"]))
    with parts.fold("How the mix shifted from the first step to the last", "shift_open") as folded:
        if not folded.open:
            return
        known = data.ask("arms")
        known = known[known["run_id"].isin(runs) & known["step"].notna()]
        pairs = {str(run): rows for run, rows in known.groupby("run_id") if rows["step"].nunique() > 1}
        if not pairs:
            st.caption("No run shown here has two steps to compare.")
            return
        names = data.run_names()
        run = choice("Run", {each: names.get(each, each) for each in pairs}, "shift_run")
        asked = _ends(run, pairs[run])
        shift, moves = data.ask("tool_mix_shift", **asked), data.ask("tool_mix_moves", **asked)
        parts.verdict(tool_words.shift(shift, moves, asked["baseline"], asked["candidate"]))
        parts.table(moves, "tool_mix_moves", expanded=False, label="Table of the tools that moved")


def _ends(run: str, arms: pd.DataFrame) -> dict[str, Any]:
    splits = arms["split"].dropna().unique().tolist()
    split = next((each for each in ("valid", "test", *splits) if each in splits), None)
    own = arms if split is None else arms[arms["split"] == split]
    steps = own["step"].astype(int)
    return {"baseline": f"{run}@{steps.min()}", "candidate": f"{run}@{steps.max()}", "split": split}


def _first(filters: Filters, by: str, apart: str | None) -> None:
    frame = data.ask("first_calls", filters, by=by, apart=apart)
    labels = _labels(frame, "tool")
    figure = tool_charts.share_figure(frame, labels, "rollouts that begin so", count="num_first")
    points = parts.plot(
        figure, "first_calls_plot", frame, select=True, alt="Share of rollouts by the tool called first"
    )
    for each in points[:1]:
        what = f"beginning with {each['tool'] or 'no call'}"
        own = narrowed(filters, {**each, "tool": None})
        listed("first", what, "rollouts_with_transition", own, from_tool=None, to_tool=each["tool"])
    parts.table(frame, "first_calls", label="Table of first calls and their rewards", on_row=opening("first", filters))


def _errors(filters: Filters, by: str, apart: str | None) -> None:
    after = data.ask("after_errors", filters, by=by, apart=apart)
    parts.warning(tool_words.unknown(data.ask("unknown_tools", filters)))
    if after.empty:
        st.caption("No call shown here failed.")
        return
    labels = _labels(after, "what_follows")
    st.subheader("What follows a failed call", anchor=False)
    figure = tool_charts.share_figure(after, labels, "share of failed calls", count="num_errors")
    points = parts.plot(figure, "after_errors_plot", after, select=True, alt="What the agent does after a failed call")
    for each in points[:1]:
        own = narrowed(filters, each)
        listed(
            "after",
            f"where “{each['what_follows']}” follows a failed call",
            "rollouts_after_error",
            own,
            what_follows=each["what_follows"],
        )
    parts.table(after, "after_errors", label="Table of what follows, and how often it recovers")
    parts.table(
        lambda: _failed(filters, by, apart),
        "tool_errors",
        label="Table of failed calls",
        on_row=lambda row: listed(
            "failed",
            f"with failed calls of {row['tool']}",
            "rollouts_calling",
            narrowed(filters, {**row, "tool": None}),
            tool=row["tool"],
            which="failed",
        ),
    )


def _failed(filters: Filters, by: str, apart: str | None) -> pd.DataFrame:
    frame = data.ask("tool_errors", filters, by=by, apart=apart)
    return frame.assign(kind=frame["kind"].map(tool_words.KINDS))


def _outputs(filters: Filters, by: str, apart: str | None) -> None:
    frame = data.ask("tool_outputs", filters, by=by, apart=apart)
    if frame.empty or not frame["num_outputs"].any():
        parts.missing("tool_calls")
        return
    parts.verdict(tool_words.outputs(frame))
    parts.table(
        frame,
        "tool_outputs",
        expanded=True,
        label="Table of outputs by tool",
        on_row=lambda row: listed(
            "outputs",
            f"that call {row['tool']}",
            "rollouts_calling",
            narrowed(filters, {**row, "tool": None}),
            tool=row["tool"],
        ),
    )


def _unstable(filters: Filters) -> None:
    tools = data.ask("unstable_tools", filters)
    parts.verdict(tool_words.unstable(tools))
    calls = data.ask("unstable_calls", filters)
    parts.table(tools, "unstable_tools", label="Table of tools", expanded=True)
    parts.table(
        calls.drop(columns=["arguments_hash", "num_total"]),
        "unstable_calls",
        label="Calls that differ most",
        expanded=True,
        on_row=lambda row: rollouts_behind([row], "unstable", filters=filters.only(row["run_id"])),
    )


def _destructive(filters: Filters, by: str, apart: str | None) -> None:
    frame = data.ask("destructive_rates", filters, by=by, apart=apart)
    if frame.empty:
        st.caption("No call shown here matches a destructive rule (`observatory rules tools` prints them).")
        return
    labels = _labels(frame, "rule")
    figure = tool_charts.share_figure(frame, labels, "rollouts with such a call", count="num_rollouts_hit")
    parts.plot(
        figure, "destructive_rates_plot", frame, alt="Share of rollouts with destructive calls, by rule and group"
    )
    found = data.ask("destructive_calls", filters)
    st.caption(f"{words.plural(int(found['num_total'].iloc[0]), 'call')} in all; the first {len(found)} are listed.")
    shown = found.drop(columns=["num_total"])
    parts.table(shown, "destructive_calls", label="Calls that cannot be taken back", expanded=True, on_row=_open_one)


def _open_one(row: dict[str, Any]) -> None:
    found = data.ask("rollouts", Filters(run_ids=(row["run_id"],)), rollout_ids=(row["rollout_id"],))
    parts.rollout_list(found.drop(columns=["subset", "native_id"]), "destructive")


def _labels(frame: pd.DataFrame, column: str) -> list[str]:
    """What each row is of, and its group; a missing tool is no call at all."""
    named = tool_words.groups(frame, data.run_names())
    return [f"{'no call' if pd.isna(of) else of} · {group}" for of, group in zip(frame[column], named, strict=True)]


def _shares(frame: pd.DataFrame, filters: Filters, key: str, title: str, count: str) -> None:
    labels = _labels(frame, "tool")
    figure = tool_charts.share_figure(frame, labels, title, count=count)
    points = parts.plot(figure, f"{key}_plot", frame, select=True, alt=f"{title} by tool and group")
    if len(frame) > tool_charts.MAX_ROWS:
        st.caption(f"The first {tool_charts.MAX_ROWS} of {words.whole(len(frame))} rows are drawn; the table has all.")
    rollouts_behind(points, key, "Click a point to list the rollouts that call the tool.", filters)
    parts.table(frame, key, label="Table of tools by group", on_row=opening(key, filters))
