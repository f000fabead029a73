"""Figures over training steps: reward, sub-scores, behaviour, how rollouts end. Frames in, figures out."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from dashboard import charts
from dashboard.rows import by, by_run
from queries.smoothing import ema

SMOOTH_FROM: Final = 20
"""Points from which a smoothed line is drawn over the raw ones."""
WEIGHT: Final = 0.6
_TITLE: Final = 30
"""Pixels for the title of a panel."""
MAX_BANDS: Final = 4
"""Runs whose intervals are drawn as bands; those of more drown one another and are left to the hover."""
POINT: Final = ("run_id", "split", "step", "subset", "environment", "limit")
"""What a selected point says of the rollouts behind it."""
STATUS_COLOURS: Final = {
    "completed": "#CBC3AE",
    "truncated": "#A89F5B",
    "budget_exceeded": "#6E7036",
    "infra_error": "#9B3A4A",
    "grader_error": "#C98A93",
    "cancelled": "#7A6652",
}
"""Earth tones, of no run: how a rollout ended must not look like a run."""
_PATTERNS: Final = ("", "/", ".", "x", "-")
"""Reasons of one status share its colour, and are told apart by these."""


@dataclass(frozen=True, slots=True)
class Looks:
    """How runs look on every page: name, colour, dash and symbol by run id, in the store's fixed order."""

    names: Mapping[str, str]
    baseline: str | None = None
    colours: dict[str, str] = field(init=False)
    dashes: dict[str, str] = field(init=False)
    symbols: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "colours", charts.run_colours(self.names, self.baseline))
        object.__setattr__(self, "dashes", charts.run_dashes(self.names))
        object.__setattr__(self, "symbols", charts.run_symbols(self.names))

    def name(self, run_id: str) -> str:
        """Name of a run."""
        return self.names.get(run_id, run_id)


@dataclass(frozen=True, slots=True)
class Series:
    """Columns of a frame that make one line: the number, its interval, what n it is over, and how it is written."""

    y: str
    title: str
    low: str | None = None
    high: str | None = None
    num: str = "num_rollouts"
    interval: str = "95 % interval"
    over: str = "rollouts"
    digits: str = ".3f"


class Scene(NamedTuple):
    """What the lines of a figure share: first and last step (None: nothing has steps), and whether bands drown."""

    span: tuple[float, float] | None
    is_crowded: bool


REWARD: Final = Series("reward_mean", "reward", "reward_ci_low", "reward_ci_high", "num_samples_scored", over="samples")
REWARD_MASKED: Final = Series(
    "reward_masked_mean",
    "reward, failures left out",
    "reward_masked_ci_low",
    "reward_masked_ci_high",
    "num_samples_masked",
    over="samples",
)


def reward_figure(
    frame: pd.DataFrame,
    looks: Looks,
    series: Series = REWARD,
    *,
    reported: pd.DataFrame | None = None,
    checkpoints: pd.DataFrame | None = None,
    best: pd.DataFrame | None = None,
) -> go.Figure:
    """Reward over steps, a line a run (and a panel an environment); runs without steps as levels.

    `frame` is a reward curve with `subset`; `reported` rows of `reported_metrics`, `checkpoints` and `best` (rows of
    `best_step` that are the best) are marked on it.
    """
    named = sorted(frame["environment"].dropna().unique())
    facets = [*named, None] if not named or frame["environment"].isna().any() else named
    titles = [charts.shown(each) if each else "environment not named" for each in facets] if named else [""]
    drawn = _grid(titles, series.title, frame["step"], height=400)
    for number, facet in enumerate(facets):
        part = frame[frame["environment"].isna() if facet is None else frame["environment"] == facet]
        for run_id, rows in by_run(part).items():
            for subset, line in rows.groupby("subset", sort=False):
                _line(drawn, line, looks, run_id, series, number, str(subset), number == 0, _scene(frame))
    if len(facets) > 1:
        drawn.update_yaxes(matches="y")
    if reported is not None and facets == [None]:
        _reported(drawn, reported, looks)
    if facets == [None]:
        _marks(drawn, frame, looks, series, checkpoints, best)
    return _with_legend(drawn)


def small_multiples(
    frame: pd.DataFrame, looks: Looks, panels: Sequence[Series], *, select_as: str = "all"
) -> go.Figure:
    """One panel a series, a line a run, over steps; one legend for all."""
    drawn = _grid([each.title for each in panels], "", frame["step"], height=250 * ((len(panels) + 1) // 2) + 30)
    for number, series in enumerate(panels):
        for run_id, rows in by_run(frame).items():
            rows = rows.assign(environment=None)
            _line(drawn, rows, looks, run_id, series, number, select_as, number == 0, _scene(frame))
        row, column = _cell(number, len(panels))
        is_share = "%" in series.digits
        drawn.update_yaxes(rangemode="tozero", tickformat=".0%" if is_share else None, row=row, col=column)
        drawn.update_xaxes(ticklabelstandoff=5, row=row, col=column)  # points at 0 would lie on the labels
        reach = frame[[series.y, *([series.high] if series.high else [])]].to_numpy(float, na_value=float("nan"))
        if not (reach > 0).any():  # left alone, the axis of nothing but zeros would reach to 100 %
            drawn.update_yaxes(range=[0, 0.05 if is_share else 1], row=row, col=column)
    return _with_legend(drawn)


def score_figure(frame: pd.DataFrame, looks: Looks) -> go.Figure:
    """Each grader's score over steps, a panel a grader."""
    score = Series("score_mean", "", "score_ci_low", "score_ci_high", "num_samples_scored", over="samples")
    return panel_each(frame, looks, score, "grader", {each: each for each in dict.fromkeys(frame["grader"])})


def panel_each(frame: pd.DataFrame, looks: Looks, series: Series, column: str, titles: Mapping[str, str]) -> go.Figure:
    """The same series in a panel for each value of a column that has a title, a line a run, over steps."""
    shown = [charts.shown(each) for each in titles.values()]
    drawn = _grid(shown, "", frame["step"], height=230 * ((len(titles) + 1) // 2) + 30)
    for number, value in enumerate(titles):
        for run_id, rows in by_run(frame[frame[column] == value]).items():
            rows = rows.assign(environment=None)
            _line(drawn, rows, looks, run_id, series, number, "all", number == 0, _scene(frame))
    return _with_legend(drawn)


def stop_figure(frame: pd.DataFrame) -> go.Figure:
    """How the rollouts of one run and split end, as shares of every step."""
    drawn = charts.figure("step", "share of rollouts", height=300, y_format=".0%")
    labelled = frame.assign(label=[_ending(row) for row in frame.to_dict("records")])
    seen: Counter[str] = Counter()
    for label, rows in labelled.groupby("label", sort=False):
        status = str(rows["status"].iloc[0])
        drawn.add_bar(
            x=rows["step"].astype(float),
            y=rows["share"],
            name=charts.shown(str(label)),
            marker={
                "color": STATUS_COLOURS.get(status, "#E4E0D6"),
                "line": {"width": 0.5, "color": "white"},
                "pattern": {"shape": _PATTERNS[seen[status] % len(_PATTERNS)], "size": 6, "solidity": 0.3},
            },
            customdata=charts.points(rows.assign(subset="all"), ["run_id", "split", "step", "status", "num_rollouts"]),
            hovertemplate="step %{x}: %{y:.1%} (%{customdata.num_rollouts} rollouts)",
        )
        seen[status] += 1
    drawn.update_layout(barmode="stack", bargap=0.1)
    drawn.update_xaxes(**charts.whole_ticks(frame["step"]))
    return drawn


def _ending(row: Mapping[Any, Any]) -> str:
    status = "not known" if pd.isna(row["status"]) else str(row["status"]).replace("_", " ")
    return status if pd.isna(row["stop_reason"]) else f"{status} · {row['stop_reason']}"


def _cell(number: int, total: int) -> tuple[int, int]:
    columns = 1 if total == 1 else 2
    return number // columns + 1, number % columns + 1


def _grid(titles: Sequence[str], y: str, steps: Iterable[Any], *, height: int) -> go.Figure:
    columns = 1 if len(titles) == 1 else 2
    rows = (len(titles) + columns - 1) // columns
    shown = titles if columns == 2 else None
    spacing = min(0.34 / rows, 0.2)
    drawn = make_subplots(rows, columns, subplot_titles=shown, vertical_spacing=spacing, horizontal_spacing=0.09)
    drawn.update_layout(height=max(height, 300 if rows == 1 else 240 * rows + 40))
    for annotation in drawn.layout.annotations:
        annotation.update(font={"size": 13}, xanchor="left", x=annotation.x - (0.5 - 0.045) / columns)
    for number in range(len(titles)):
        row, column = _cell(number, len(titles))
        drawn.update_xaxes(title_text="step" if row == rows or number + 2 >= len(titles) else None, row=row, col=column)
        drawn.update_xaxes(**charts.whole_ticks(steps))
        drawn.update_yaxes(title_text=(y or None) if column == 1 else None, row=row, col=column)
    if columns == 2:
        _make_room(drawn, _TITLE / drawn.layout.height)
    return drawn


def _make_room(drawn: go.Figure, share: float) -> None:
    """Move the panels down by a share of the height, so that the titles of the first ones lie below the legend."""
    for axis in drawn.select_yaxes():
        axis.update(domain=[each * (1 - share) for each in axis.domain])
    for annotation in drawn.layout.annotations:
        annotation.update(y=annotation.y * (1 - share))


def _with_legend(drawn: go.Figure) -> go.Figure:
    """Higher by the lines that a legend of two columns takes beyond its first, so that panels keep their size."""
    entries = sum(bool(trace.name) and trace.showlegend is not False for trace in drawn.data)
    return drawn.update_layout(height=drawn.layout.height + 20 * max(0, (entries - 1) // 2))


def _line(
    drawn: go.Figure,
    frame: pd.DataFrame,
    looks: Looks,
    run_id: str,
    series: Series,
    number: int,
    subset: str,
    legend: bool,  # noqa: FBT001 - called within this module only, each time with a comparison that says what it is
    scene: Scene,
) -> None:
    """One series of one run: band, points, from 20 points on a smoothed line; without steps a level over the scene."""
    part = go.Figure()
    name = looks.name(run_id) + {"effective": ", trained on", "batch": ", all rollouts"}.get(subset, "")
    colour = looks.colours.get(run_id, charts.BASELINE)
    rows = frame[frame["step"].notna()].sort_values("step")
    row, column = _cell(number, len([axis for axis in drawn.layout if str(axis).startswith("yaxis")]))
    if rows.empty:
        if level := _level(frame.assign(subset=subset).head(1), series, name, colour, scene.span):
            level.update(showlegend=legend)
            drawn.add_trace(level, row=row, col=column)
        if scene.span is None:
            drawn.update_xaxes(title_text=None, row=row, col=column)
        return
    many = len(rows) >= SMOOTH_FROM
    charts.curve(
        part,
        rows.assign(subset=subset),
        x="step",
        y=series.y,
        name=name,
        colour=colour,
        dash="dot" if subset == "effective" else looks.dashes.get(run_id, "solid"),
        symbol=looks.symbols.get(run_id, "circle"),
        low=None if subset == "effective" or scene.is_crowded else series.low,
        high=None if subset == "effective" or scene.is_crowded else series.high,
        customdata=[*(each for each in POINT if each == "subset" or each in rows), *_hovered(series)],
        hover=_hover(name, series),
    )
    points = part.data[-1]
    if many:
        points.update(opacity=0.35, line={"width": 1})
        smooth = ema(rows[series.y].to_numpy(float, na_value=float("nan")), WEIGHT)
        part.add_scatter(
            x=rows["step"].astype(float),
            y=smooth,
            mode="lines",
            line={"color": colour, "width": 3, "dash": "dot" if subset == "effective" else "solid"},
            name=points.name,
            legendgroup=name,
            showlegend=legend,
            hoverinfo="skip",
        )
    points.update(showlegend=legend and not many)
    for trace in part.data:
        drawn.add_trace(trace, row=row, col=column)


def _scene(frame: pd.DataFrame) -> Scene:
    known = frame["step"].dropna().astype(float)
    span = (known.min(), known.max()) if len(known) else None
    return Scene(span, frame["run_id"].nunique() > MAX_BANDS)


def _level(
    rows: pd.DataFrame, series: Series, name: str, colour: str, span: tuple[float, float] | None
) -> go.Scatter | None:
    """A run without steps: its value across all steps, a point with its interval where nothing has any."""
    if rows.empty or pd.isna(rows[series.y].iloc[0]):
        return None
    value = float(rows[series.y].iloc[0])
    points = charts.points(rows, [*(each for each in POINT if each in rows), *_hovered(series)])
    common = {
        "name": charts.shown(name, charts.LEGEND),
        "legendgroup": name,
        "hovertemplate": _hover(name, series, stepped=False),
    }
    if span is not None:
        return go.Scatter(
            x=list(span),
            y=[value, value],
            mode="lines+markers",
            line={"color": colour, "width": 1.8, "dash": "dash"},
            marker={"color": colour, "size": [0, 8], "symbol": "line-ns-open"},
            customdata=points * 2,
            **common,
        )
    bounds = [rows[each].iloc[0] for each in (series.low, series.high) if each]
    reach = None
    if len(bounds) == 2 and all(pd.notna(each) for each in bounds):
        reach = {"array": [bounds[1] - value], "arrayminus": [value - bounds[0]], "width": 5, "thickness": 1.4}
    marker = {"color": colour, "size": 10}
    return go.Scatter(
        x=[charts.shown(name, 28)], y=[value], mode="markers", marker=marker, error_y=reach, customdata=points, **common
    )


def _hovered(series: Series) -> list[str]:
    return [each for each in (series.num, series.low, series.high) if each]


def _hover(name: str, series: Series, *, stepped: bool = True) -> str:
    lines = [
        f"<b>{charts.shown(name)}</b>{', step %{x}' if stepped else ''}",
        f"{series.title or 'score'} %{{y:{series.digits}}}",
    ]
    if series.low and series.high:
        bounds = f"%{{customdata.{series.low}:{series.digits}}} to %{{customdata.{series.high}:{series.digits}}}"
        lines.append(f"{series.interval} {bounds}")
    lines.append(f"n = %{{customdata.{series.num}}} {series.over}")
    return "<br>".join(lines) + "<extra></extra>"


def _reported(drawn: go.Figure, reported: pd.DataFrame, looks: Looks) -> None:
    """The trainer's own numbers as open diamonds."""
    for (run_id, name), rows in by(reported, "run_id", "name"):
        drawn.add_scatter(
            x=rows["step"].astype(float),
            y=rows["value"],
            mode="markers",
            name=f"{charts.shown(name, 28)}, reported",
            marker={
                "symbol": "diamond-open",
                "size": 9 if len(rows) < SMOOTH_FROM else 5,
                "color": looks.colours.get(run_id),
                "line": {"width": 1.5},
            },
            hovertemplate=f"{charts.shown(name)} as reported<br>step %{{x}}: %{{y:.3f}}<extra></extra>",
        )


def _marks(
    drawn: go.Figure,
    frame: pd.DataFrame,
    looks: Looks,
    series: Series,
    checkpoints: pd.DataFrame | None,
    best: pd.DataFrame | None,
) -> None:
    """Checkpoints as triangles on the step axis, the best step as a ring and a word."""
    if checkpoints is not None and len(saved := checkpoints[checkpoints["step"].notna()]):
        drawn.add_scatter(
            x=saved["step"].astype(float),
            y=[0.015] * len(saved),
            yaxis="y2",
            mode="markers",
            name="checkpoint",
            marker={"symbol": "triangle-up", "size": 9, "color": charts.BASELINE},
            text=[charts.shown(each, 60) for each in saved["checkpoint_id"].fillna("").astype(str)],
            hovertemplate="checkpoint at step %{x}<br>%{text}<extra></extra>",
        )
        drawn.update_layout(yaxis2={"overlaying": "y", "range": [0, 1], "visible": False, "fixedrange": True})
    if best is None or best.empty or best["run_id"].nunique() > 3:
        return
    values = frame.drop_duplicates(["run_id", "step"]).rename(columns={series.y: "drawn"})
    chosen = best["is_best"] & best.duplicated("run_id", keep=False)  # a run's only step is no choice
    marked = best[chosen].merge(values[["run_id", "step", "drawn"]], on=["run_id", "step"])
    for row in marked.to_dict("records"):
        drawn.add_annotation(
            x=float(row["step"]), y=row["drawn"], text=f"best: step {int(row['step'])}", showarrow=True, arrowhead=0,
            arrowcolor=looks.colours.get(row["run_id"]), ax=0, ay=-34, font={"size": 12},
        )  # fmt: skip
