"""The figure of the tail contracts page: the share over each limit, by step or by run. Frames in, figures out."""

from typing import Final

import pandas as pd
import plotly.graph_objects as go

from dashboard import charts
from dashboard.charts_curves import Looks, Series, panel_each
from queries.limits import parsed

SHARE: Final = Series("share_over", "share over the limit", "ci_low", "ci_high", digits=".1%")
MAX_PANELS: Final = 6


def over_limits(frame: pd.DataFrame, looks: Looks) -> go.Figure:
    """The share of rollouts over each limit with its interval, a panel a limit and a line a run.

    `frame` holds rows of `contract_shares`; runs without steps are levels. A share that is allowed is dashed.
    """
    limits = list(dict.fromkeys(frame["limit"]))[:MAX_PANELS]
    titles = {each: f"over {parsed(each)[0].amount}" for each in limits}
    drawn = panel_each(frame, looks, SHARE, "limit", titles)
    columns = 1 if len(limits) == 1 else 2
    for number, each in enumerate(limits):
        row, column = number // columns + 1, number % columns + 1
        own = frame[frame["limit"] == each]
        allowed = parsed(each)[0].allowed
        top = own[["share_over", "ci_high"]].max(axis=None)
        drawn.update_yaxes(
            tickformat=".2~p", range=[0, 1.08 * max(float(top) if pd.notna(top) else 0.0, 1.5 * allowed, 0.02)],
            row=row, col=column,
        )  # fmt: skip
        drawn.update_xaxes(ticklabelstandoff=5, row=row, col=column)  # points at 0 would lie on the labels
        if allowed:
            line = {"color": charts.BASELINE, "dash": "dash", "width": 1.2}
            drawn.add_hline(
                y=allowed, line=line, row=row, col=column, annotation_text=f"allowed: {100 * allowed:.3g} %",
                annotation_position="bottom right", annotation_font_size=12,
            )  # fmt: skip
    if columns == 1:
        drawn.update_yaxes(title_text=f"share of rollouts {titles[limits[0]]}")
    return drawn
