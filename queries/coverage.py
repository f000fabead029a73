"""How often intervals called 95 % hold the true value, by method, kind of data and n: what may be promised of them.

The table is data, `coverage.csv`, drawn by `tests/queries/coverage_simulation.py` and drawn again by its tests; pages
warn from it rather than from a rule of thumb. `coverage_table` shows it.
"""

import csv
from collections.abc import Iterable
from dataclasses import astuple, dataclass, fields
from functools import cache
from io import StringIO
from math import isnan, log, nan, sqrt
from pathlib import Path
from typing import Final

from queries.cautious import ADDED

PROMISED = 0.95
SHORT, CONSERVATIVE = 0.93, 0.97
"""Below the first an interval falls short of its promise, above the second it is wider than it had to be."""
DIFFERENCE: Final = "mean difference"
IGNORED: Final = "t, clusters ignored"
"""What t gives samples that come in clusters, taken as if each stood for itself."""
CAUTIOUS: Final = (ADDED, f"clustered {ADDED}", "studentised bootstrap", "studentised cluster bootstrap")
"""Methods of `queries.cautious`, of which a measure has one or the other."""
MOSTLY = 0.5
"""An interval that this share of data sets has not is no remedy."""
APART = 3.0
"""A difference in the share of zeros weighs so many times one in skewness."""
ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Coverage:
    """Of many seeded data sets of `num` samples: the share of intervals that held the true `target`.

    `process` is how the data came about, `num_units` the clusters where samples come in clusters. `share` is of the
    `num_data_sets` intervals there were; in `share_none` of the data sets there was none, with the reason. `width` is
    their mean width. `skewness` (median size of g₁) and `share_zero` say what differences by sample looked like; for
    other targets they are NaN.
    """

    target: str
    method: str
    process: str
    num: int
    num_units: int
    share: float
    share_none: float
    width: float
    skewness: float
    share_zero: float
    num_data_sets: int

    @property
    def falls_short(self) -> bool:
        """Whether a page should warn: less than 93 % where 95 % is claimed."""
        return self.share < SHORT

    @property
    def is_conservative(self) -> bool:
        """Whether the interval is wider than it had to be: more than 97 %."""
        return self.share > CONSERVATIVE

    @property
    def error(self) -> float:
        """Standard error of `share`: another set of draws would differ by so much."""
        return sqrt(max(self.share * (1 - self.share), 0.25 / self.num_data_sets) / self.num_data_sets)


@cache
def coverage() -> tuple[Coverage, ...]:
    """The published table, in the order of `COVERAGE.md`."""
    text = Path(__file__).with_suffix(".csv").read_text(encoding="utf-8")
    return tuple(_read(row) for row in csv.DictReader(StringIO(text)))


def _read(row: dict[str, str]) -> Coverage:
    return Coverage(
        target=row["target"],
        method=row["method"],
        process=row["process"],
        num=int(row["num"]),
        num_units=int(row["num_units"]),
        share=float(row["share"]),
        share_none=float(row["share_none"]),
        width=float(row["width"]),
        skewness=float(row["skewness"] or nan),
        share_zero=float(row["share_zero"] or nan),
        num_data_sets=int(row["num_data_sets"]),
    )


def as_csv(rows: Iterable[Coverage]) -> str:
    """The table as it is stored: a header and a line a row, shares to four places."""
    made = StringIO()
    writer = csv.writer(made, lineterminator="\n")
    writer.writerow([each.name for each in fields(Coverage)])
    writer.writerows([_rounded(each) for each in astuple(row)] for row in rows)
    return made.getvalue()


def _rounded(value: object) -> object:
    return ("" if isnan(value) else f"{value:.4g}") if isinstance(value, float) else value


def nearest(method: str, num: int, skewness: float, share_zero: float) -> Coverage | None:
    """The published row whose data look most like these: by n, then by skewness and the share of zero differences.

    `num` counts samples (clusters, where the method is by clusters), `skewness` is g₁ of their differences, whose sign
    does not matter; `share_zero` of them are zero. None where the method has no row.
    """
    rows = [row for row in coverage() if (row.target, row.method) == (DIFFERENCE, method)]
    if not rows or num < 1:
        return None
    closest = min(abs(log(row.num_units / num)) for row in rows)
    alike = [row for row in rows if abs(log(row.num_units / num)) <= closest + ROUNDING]
    return min(alike, key=lambda row: abs(row.skewness - abs(skewness)) + APART * abs(row.share_zero - share_zero))


def caution(method: str, num: int, skewness: float, share_zero: float) -> Coverage | None:
    """The nearest row (see `nearest`) where it falls short of what is promised; None where there is nothing to say."""
    row = nearest(method, num, skewness, share_zero)
    return row if row is not None and row.falls_short else None


def remedy(row: Coverage) -> Coverage | None:
    """The row of the cautious interval on the same data, where it holds more often and is mostly there."""
    for other in coverage():
        is_alike = (other.target, other.process, other.num) == (row.target, row.process, row.num)
        if is_alike and other.method in CAUTIOUS and other.share > row.share and other.share_none < MOSTLY:
            return other
    return None


def worst() -> Coverage:
    """The row of the fewest samples in which the default interval holds the true difference least often."""
    rows = [row for row in coverage() if (row.target, row.method) == (DIFFERENCE, "t")]
    return min(rows, key=lambda row: (row.num, row.share))
