"""Figures of the pages Reward integrity and Reward parts. Frames in, figures out."""

from typing import Any, Final

import pandas as pd
import plotly.graph_objects as go

from dashboard import charts
from dashboard.rows import records
from dashboard.words import decimals

_COLOURS: Final = ("#6B4E9E", "#B8860B", "#A23B72", "#3A7D44", "#5C6B73", "#8C4A2F")
"""Of rules, which are no runs."""
_POINT: Final = ("rule", "run_id", "split", "step", "num_flagged", "num_rollouts")
_WORDS: Final = {"valid": "validation", "train": "train", "test": "test"}
MAX_RULES: Final = 6


def rates(findings: pd.DataFrame, rules: list[str]) -> go.Figure:
    """The share of rollouts that each rule names, by step; without steps, a mark for each rule. Both with intervals."""
    shown = findings[findings["rule"].isin(rules[:MAX_RULES])]
    if shown["step"].notna().any():
        return _over_steps(shown[shown["step"].notna()], rules)
    drawn = charts.figure("rollouts named, of those the rule applies to", "", height=120 + 44 * max(len(shown), 2))
    drawn.update_xaxes(tickformat=charts.SHARE_TICKS, range=[0, None], rangemode="tozero")
    names = [_name(row) for row in records(shown)]
    for name, row in zip(names, records(shown), strict=True):
        high, low = (row["share"] if row[end] is None else row[end] for end in ("ci_high", "ci_low"))
        colour = _colour(row["rule"], rules)
        drawn.add_scatter(
            x=[row["share"]],
            y=[name],
            mode="markers",
            cliponaxis=False,
            marker={"color": colour, "size": 11},
            error_x={
                "type": "data",
                "symmetric": False,
                "array": [high - row["share"]],
                "arrayminus": [row["share"] - low],
                "color": colour,
                "thickness": 2,
            },
            customdata=[{each: row[each] for each in _POINT}],
            hovertemplate="<b>%{y}</b><br>%{x:.1%}: %{customdata.num_flagged} of %{customdata.num_rollouts}"
            "<extra></extra>",
            showlegend=False,
        )
    drawn.update_yaxes(autorange="reversed", showgrid=False)
    return drawn


def _over_steps(shown: pd.DataFrame, rules: list[str]) -> go.Figure:
    drawn = charts.figure("step", "rollouts named", zero=True)
    drawn.update_yaxes(tickformat=charts.SHARE_TICKS, rangemode="tozero")
    drawn.update_xaxes(**charts.whole_ticks(shown["step"]))
    splits = list(dict.fromkeys(shown["split"].dropna()))
    for rule in [each for each in rules[:MAX_RULES] if each in set(shown["rule"])]:
        for place, (_, own) in enumerate(shown[shown["rule"] == rule].groupby("split", dropna=False, sort=False)):
            is_leading = len(splits) < 2 or str(own["split"].iloc[0]) == "valid"
            charts.curve(
                drawn,
                own,
                x="step",
                y="share",
                name=_name(records(own)[0]) if len(splits) > 1 else str(own["title"].iloc[0]),
                colour=_colour(rule, rules),
                symbol=charts.SYMBOLS[0 if is_leading else 1 + place % 3],
                low="ci_low" if is_leading else None,
                high="ci_high" if is_leading else None,
                customdata=_POINT,
                hover="step %{x}: %{y:.1%}<br>%{customdata.num_flagged} of %{customdata.num_rollouts} rollouts",
            )
            if not is_leading:  # a batch has few samples: a line through its rates would show its noise
                drawn.data[-1].update(mode="markers", opacity=0.45)
    return drawn


def _name(row: dict[str, Any]) -> str:
    split = _WORDS.get(str(row["split"]), str(row["split"])) if row["split"] else ""
    return f"{row['title']}{f' · {split}' if split else ''}"


def _colour(rule: str, rules: list[str]) -> str:
    return _COLOURS[rules.index(rule) % len(_COLOURS)] if rule in rules else _COLOURS[0]


def second(frame: pd.DataFrame) -> go.Figure:
    """Reward and the grader beside it, as changes since the first step in standard deviations."""
    drawn = charts.figure("step", "change since the first step, standard deviations", zero=True)
    drawn.update_xaxes(**charts.whole_ticks(frame["step"].dropna()))
    splits = [each for _, each in frame.groupby("split", dropna=False, sort=False)]
    for place, own in enumerate(splits):
        filled = own.assign(
            **{name: own[name].astype(float).fillna(0.0) for name in ("reward_change", "second_change")}
        )
        split = own["split"].iloc[0]
        ending = f" · {_WORDS.get(str(split), str(split))}" if len(splits) > 1 and split else ""
        grader = str(own["grader"].iloc[0]) + (" (turned: high is good)" if own["is_turned"].iloc[0] else "")
        series = (("reward_change", "reward", charts.CANDIDATE), ("second_change", grader, _COLOURS[1]))
        for column, name, colour in series:
            charts.curve(
                drawn,
                filled,
                x="step",
                y=column,
                name=f"{name}{ending}",
                colour=colour,
                dash=charts.DASHES[place % 4],
                customdata=("run_id", "split", "step", "reading", "num_samples"),
                hover="step %{x}: %{y:+.2f}<br>%{customdata.reading}, n = %{customdata.num_samples}",
            )
    return drawn


def waterfall(frame: pd.DataFrame) -> go.Figure:
    """From the ideal reward down to what was given, a bar for each loss; of the first split in the frame."""
    rows = records(frame)
    ideal, actual = rows[0]["ideal"], rows[-1]["actual_mean"]
    names = ["ideal", *(_loss(row) for row in rows), "reward"]
    split = _WORDS.get(str(rows[0]["split"]), str(rows[0]["split"])) if rows[0]["split"] else ""
    drawn = charts.figure("", f"{split} reward, mean over samples".strip(), zero=True)
    drawn.add_waterfall(
        x=list(range(len(names))),
        y=[ideal, *(-row["lost_mean"] for row in rows), actual],
        measure=["absolute", *("relative" for _ in rows), "total"],
        increasing={"marker": {"color": charts.GOOD}},
        decreasing={"marker": {"color": charts.BAD}},
        totals={"marker": {"color": charts.CANDIDATE}},
        connector={"line": {"color": charts.BASELINE, "width": 1}},
        text=[decimals(each, 3) for each in (ideal, *(-row["lost_mean"] for row in rows), actual)],
        textposition="outside",
        cliponaxis=False,
        showlegend=False,
        hovertext=[charts.shown(each) for each in names],
        hovertemplate="<b>%{hovertext}</b><br>%{text}<extra></extra>",
    )
    labels = ["ideal", *(_label(row) for row in rows), "reward"]
    drawn.update_xaxes(tickvals=list(range(len(names))), ticktext=labels)
    return drawn


def _label(row: dict[str, Any]) -> str:
    """A tick of a loss; what a gate asks for stands on a line of its own, so that neighbours do not run together."""
    if row["kind"] == "gate":
        return f"{charts.shown(row['loss'], 22)}<br>below {row['bound']:g}"
    return charts.shown(_loss(row), 22)


def _loss(row: dict[str, Any]) -> str:
    if row["kind"] == "gate":
        return f"{row['loss']} below {row['bound']:g}"
    return "unexplained" if row["kind"] == "rest" else str(row["loss"])
