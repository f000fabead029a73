"""One look for all plots: template, colours, hover, and the builders that several pages share.

Frames in, figures out; asks nothing and draws nothing on the screen (`parts.plot` does).
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final

import pandas as pd
import plotly.graph_objects as go

from dashboard.words import shortened

BASELINE: Final = "#6B7280"
CANDIDATE: Final = "#0072B2"
GOOD: Final = "#009E8E"
BAD: Final = "#D55E00"
RUN_COLOURS: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
"""Okabe–Ito without black and yellow, which vanish on one of the two themes."""
DASHES: Final = ("solid", "dash", "dot", "dashdot", "longdash")
SYMBOLS: Final = ("circle", "square", "diamond", "triangle-up", "x")
DIVERGING: Final = ("#8C3A00", "#D9773A", "#F6D5BF", "#EEF0F2", "#BFE0DC", "#3F9F95", "#00564E")
SEQUENTIAL: Final = ("#E8F1F8", "#BBD7EA", "#86B8D9", "#4C95C4", "#1C6FA6", "#0B4A78", "#072F4F")
SEQUENTIAL_SCALE: Final = "sequential"
"""`meta` of a heatmap whose high values stand out: dark on light paper, light on dark (`parts.plot` turns it)."""
MAX_MARKS: Final = 5_000
"""More marks than this are binned or drawn as density."""
MAX_WHOLE: Final = 8
"""Whole numbers further apart than this have room for no tick each."""
_INK = {
    "light": {"text": "#1C2127", "muted": "#5B6470", "grid": "#E6E8EC", "zero": "#A9B0BA", "paper": "#FFFFFF"},
    "dark": {"text": "#E6E9EE", "muted": "#A3ACB8", "grid": "#2A3039", "zero": "#5A6470", "paper": "#14171C"},
}
FONT: Final = "Inter, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"


LEGEND: Final = 32
"""Letters of a name in a legend: two of them fit beside each other at a width of 768."""


def ink(theme: str) -> dict[str, str]:
    """Colours of text, grid, zero line and paper of a theme, `light` or `dark`."""
    return _INK[theme]


def template(theme: str) -> go.layout.Template:
    """The template of every plot in a theme, `light` or `dark`."""
    colours = ink(theme)
    axis = {
        "gridcolor": colours["grid"],
        "linecolor": colours["zero"],
        "zerolinecolor": colours["zero"],
        "zerolinewidth": 1,
        "zeroline": False,
        "ticks": "",
        "automargin": True,
        "title": {"font": {"size": 13, "color": colours["muted"]}, "standoff": 8},
        "tickfont": {"size": 12, "color": colours["muted"]},
        "exponentformat": "none",
        "separatethousands": True,
    }
    return go.layout.Template(
        layout={
            "font": {"family": FONT, "size": 13, "color": colours["text"]},
            "paper_bgcolor": colours["paper"],
            "plot_bgcolor": colours["paper"],
            "colorway": RUN_COLOURS,
            "colorscale": {"diverging": _scale(DIVERGING), "sequential": _scale(SEQUENTIAL)},
            "margin": {"l": 8, "r": 12, "t": 36, "b": 8},
            "height": 380,
            "separators": ".\u202f",
            "hoverlabel": {"font": {"family": FONT, "size": 12}, "align": "left", "namelength": -1},
            "hovermode": "closest",
            # Held to the figure, not to the plot: there a legend of several lines slides over what is drawn.
            "legend": {
                "orientation": "h",
                "yref": "container",
                "yanchor": "top",
                "y": 1,
                "xanchor": "left",
                "x": 0,
                "traceorder": "normal",
            },
            # Labels in a plot stay readable where a line runs through them.
            "annotationdefaults": {"bgcolor": rgba(colours["paper"], 0.75), "borderpad": 1},
            "xaxis": axis,
            "yaxis": axis | {"ticklabelstandoff": 5},
            "modebar": {"bgcolor": "rgba(0,0,0,0)", "color": colours["muted"], "activecolor": CANDIDATE},
        }
    )


def _scale(colours: Sequence[str]) -> list[list[Any]]:
    return [[index / (len(colours) - 1), colour] for index, colour in enumerate(colours)]


def run_colours(run_ids: Iterable[str], baseline: str | None = None) -> dict[str, str]:
    """Colour of each run; give all runs of the store in their fixed order (`data.run_names()`), not the shown.

    The baseline (`data.baseline()`), where the store has one, is grey as it is in a comparison.
    """
    others = [each for each in run_ids if each != baseline]
    found = {run_id: RUN_COLOURS[number % len(RUN_COLOURS)] for number, run_id in enumerate(others)}
    return found if baseline is None else found | {baseline: BASELINE}


def run_dashes(run_ids: Iterable[str]) -> dict[str, str]:
    """Line style of each run: tells apart runs whose colours had to come again."""
    return {run_id: DASHES[number // len(RUN_COLOURS) % len(DASHES)] for number, run_id in enumerate(run_ids)}


def run_symbols(run_ids: Iterable[str]) -> dict[str, str]:
    """Marker of each run, as `run_dashes`."""
    return {run_id: SYMBOLS[number // len(RUN_COLOURS) % len(SYMBOLS)] for number, run_id in enumerate(run_ids)}


SHARE_TICKS: Final = "~%"
"""Ticks of an axis of shares: as many digits as tell them apart, "5%", "0.2%"."""


def figure(x: str, y: str, *, height: int = 380, zero: bool = False, y_format: str | None = None) -> go.Figure:
    """An empty figure with axis titles (units included); `zero` draws the zero line of y, where 0 means something."""
    drawn = go.Figure()
    drawn.update_layout(height=height)
    drawn.update_xaxes(title_text=x)
    drawn.update_yaxes(title_text=y, zeroline=zero, tickformat=y_format)
    return drawn


def whole_ticks(values: Iterable[Any]) -> dict[str, Any]:
    """Options of an axis of whole numbers: where they are few, no tick stands between two of them."""
    known = [float(each) for each in values if not pd.isna(each)]
    if not known or any(each % 1 for each in known):
        return {}
    low, high = min(known), max(known)
    if low == high:
        return {"dtick": 1, "range": [low - 1, high + 1]}
    return {"dtick": 1} if high - low < MAX_WHOLE else {}


def points(frame: pd.DataFrame, columns: Sequence[str]) -> list[dict[str, Any]]:
    """`customdata` of a trace: one dictionary a point, which a click hands back and hover texts can name."""
    rows = zip(*(frame[name].astype(object) for name in columns), strict=True)
    return [
        {name: None if pd.isna(value) else _python(value) for name, value in zip(columns, row, strict=True)}
        for row in rows
    ]


def _python(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value


def rgba(colour: str, alpha: float) -> str:
    """A hex colour with an opacity."""
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return f"rgba({red},{green},{blue},{alpha:g})"


def band(drawn: go.Figure, x: Any, low: Any, high: Any, colour: str, group: str | None = None) -> None:
    """Add an interval as a band; where it is missing there is a gap."""
    common = {"x": x, "mode": "lines", "showlegend": False, "hoverinfo": "skip", "legendgroup": group}
    hidden = {"width": 0, "color": colour}
    drawn.add_trace(go.Scatter(y=low, line=hidden, connectgaps=False, **common))
    drawn.add_trace(
        go.Scatter(y=high, line=hidden, fill="tonexty", fillcolor=rgba(colour, 0.14), connectgaps=False, **common)
    )


def curve(
    drawn: go.Figure,
    frame: pd.DataFrame,
    *,
    x: str,
    y: str,
    name: str,
    colour: str,
    dash: str = "solid",
    symbol: str = "circle",
    low: str | None = None,
    high: str | None = None,
    customdata: Sequence[str] = (),
    hover: str | None = None,
) -> None:
    """Add one series with points to click; with `low` and `high` its interval as a band. Gaps stay gaps."""
    if low is not None and high is not None:
        band(drawn, _values(frame[x]), _values(frame[low]), _values(frame[high]), colour, name)
    drawn.add_trace(
        go.Scatter(
            x=_values(frame[x]),
            y=_values(frame[y]),
            name=shown(name, LEGEND),
            legendgroup=name,
            mode="lines+markers",
            line={"color": colour, "width": 2, "dash": dash},
            marker={"color": colour, "size": 7, "symbol": symbol},
            connectgaps=False,
            cliponaxis=False,
            customdata=points(frame, customdata) if customdata else None,
            hovertemplate=hover,
        )
    )


def _values(column: pd.Series) -> Any:
    """Numbers as a float array (NaN = gap), anything else as it is."""
    return column.to_numpy(float, na_value=float("nan")) if pd.api.types.is_numeric_dtype(column) else column.to_numpy()


def targets(x: Any, y: Any, customdata: list[dict[str, Any]], text: list[str], *, size: int) -> go.Scatter:
    """Invisible markers over the cells of a heatmap, which cannot be clicked itself; `text` is shown on hover.

    With very many cells they are drawn by WebGL.
    """
    kind = go.Scatter if len(customdata) <= MAX_MARKS else go.Scattergl
    unseen = {"color": "rgba(0,0,0,0)", "opacity": 0}
    return kind(
        x=x,
        y=y,
        mode="markers",
        marker={"size": size, "symbol": "square", "color": "rgba(0,0,0,0)", "line": {"width": 0}},
        selected={"marker": unseen},
        unselected={"marker": unseen},
        showlegend=False,
        customdata=customdata,
        text=text,
        hovertemplate="%{text}<extra></extra>",
    )


def colour_bar(title: str, **options: Any) -> dict[str, Any]:
    """The scale beside a heatmap, as quiet as an axis."""
    font = {"size": 12}
    return {
        "title": {"text": title, "side": "right", "font": font},
        "tickfont": font,
        "thickness": 12,
        "outlinewidth": 0,
        **options,
    }


def shown(text: str, length: int = 40) -> str:
    """A name as Plotly may show it: its little HTML made harmless, and its middle left out where it is long."""
    return shortened(text, length).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
