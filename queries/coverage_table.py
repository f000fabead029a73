"""The published coverage as a page to read: `COVERAGE.md`. Text only; the numbers are `queries.coverage`'s."""

from collections.abc import Iterable, Sequence
from typing import Final

from queries.cautious import ADDED
from queries.coverage import CONSERVATIVE, DIFFERENCE, IGNORED, SHORT, Coverage
from queries.pairing import PASS_OR_FAIL

CHOICES: Final = ("t", "percentile", "bca", "cautious")
_METHODS: Final = {
    "t": (PASS_OR_FAIL, "clustered t", "t"),
    "percentile": ("percentile bootstrap", "percentile cluster bootstrap"),
    "bca": ("BCa bootstrap",),
    "cautious": (
        *(PASS_OR_FAIL, ADDED, f"clustered {ADDED}"),
        *("studentised bootstrap", "studentised cluster bootstrap"),
    ),
    "unpaired": ("Welch t",),
}
"""Which method stands behind a choice, the first that the data have."""
_INTRODUCTION: Final = """\
# How often the intervals hold the true value

An interval called 95 % should hold the true value in 95 of 100 cases. Whether it does depends on the method, on how
many samples there are and on what the differences look like, so data of known truth were drawn many times and counted.

**How to read it.** A row is a kind of data and a number of samples; a column is a choice of `method` of
`observatory query compare` (*Interval* under *Options* on the page Baseline vs fine-tuned; `t` is the default). The
figure is the percentage of intervals that held the true difference. {short} to {conservative} is what was promised.
**Bold figures fall short**: such an interval is too narrow, and a difference is claimed too often. More than
{conservative} is on the safe side. × is the width in multiples of the default's, and "none" the percentage of data
sets for which there is no interval and the page says why. In short: the default holds with 100 samples or more unless
the differences are very skewed or nearly all zero; with fewer, or with such differences, choose `cautious`. The page
says so where it matters: it looks up the row whose n, skewness and share of unchanged samples are most like yours.
Where a row is bold in every column, no interval helps; only more samples do.
"""
_NOTES: Final = """\
`t` is Bonett and Price's interval where single attempts pass or fail, and clustered where samples come in clusters;
`cautious` is the same for single attempts, else t with two samples added for what lies between 0 and 1, one that gained
all and one that lost all, and for anything else the wider of t and the studentised bootstrap (t alone with more than
2 000 samples). `unpaired` is Welch's interval for arms on different samples.
"""


_OTHERS: Final = """\
## Other intervals

A percentile's interval and the band are for as many independent rollouts as the attempts at the samples are worth; of
attempts that are alike a percentile has none where samples are too few. The chosen checkpoint's is that of its reward
less the optimism of being chosen.
"""


def as_markdown(rows: Iterable[Coverage]) -> str:
    """The whole page; rows as `coverage` has them."""
    found = list(rows)
    text = _INTRODUCTION.format(short=f"{100 * SHORT:.0f}", conservative=f"{100 * CONSERVATIVE:.0f}")
    counts = sorted({row.num_data_sets for row in found if not row.share_none})
    drawn = (
        f"Each figure is from {_count(counts[-1])} seeded data sets, bootstraps from {_count(counts[-2])} and the "
        f"chosen checkpoint from {_count(counts[0])}:\ndrawn again, a figure of 95 differs by about "
        f"{_error(counts[-1])} ({_error(counts[-2])}, {_error(counts[0])}).\n"
    )
    parts = (text, "\n".join(_differences(found)), _NOTES, _OTHERS, "\n".join(_others(found)), drawn, _SOURCE)
    return "\n".join(parts)


_SOURCE: Final = """\
The kinds of data are in [`coverage_processes.py`](../tests/queries/coverage_processes.py), the numbers, with widths and
more digits, in [`coverage.csv`](coverage.csv). `python -m tests.queries.coverage_simulation` draws them anew.
"""


def _error(num: int) -> str:
    return f"{100 * (0.95 * 0.05 / num) ** 0.5:.1f}"


def _differences(rows: Sequence[Coverage]) -> list[str]:
    """One line per kind of data and n, a column per choice."""
    header = ["differences by sample", "n", *CHOICES, "unpaired"]
    lines = [_line(header), _line(["---", *["---:"] * (len(header) - 1)])]
    places = dict.fromkeys((row.process, row.num) for row in rows if row.target == DIFFERENCE)
    for process, num in places:
        here = {row.method: row for row in rows if (row.target, row.process, row.num) == (DIFFERENCE, process, num)}
        default = _of(here, "t")
        cells = [_cell(_of(here, choice), default if choice != "t" else None) for choice in _METHODS]
        lines.append(_line([process, _count(num), *cells]))
        if IGNORED in here:
            alone = _cell(here[IGNORED], default)
            lines.append(_line([f"{process}, taken as samples by themselves", _count(num), alone, "", "", "", ""]))
    return [*lines, ""]


def _of(here: dict[str, Coverage], choice: str) -> Coverage | None:
    return next((here[method] for method in _METHODS[choice] if method in here), None)


def _cell(row: Coverage | None, default: Coverage | None) -> str:
    if row is None:
        return "–"
    figure = f"{100 * row.share:.1f}"
    said = [f"**{figure}**" if row.falls_short else figure]
    if default is not None and default.width and row.method != default.method:
        said.append(f"× {row.width / default.width:.1f}")
    if row.share_none >= 0.005:
        said.append(f"{100 * row.share_none:.0f} none")
    return ", ".join(said)


def _others(rows: Sequence[Coverage]) -> list[str]:
    """One line per target, method and kind of data, a column per n."""
    others = [row for row in rows if row.target != DIFFERENCE]
    nums = sorted({row.num for row in others})
    header = ["what", "interval", "data", *(f"n = {_count(num)}" for num in nums)]
    lines = [_line(header), _line(["---"] * 3 + ["---:"] * len(nums))]
    keys = dict.fromkeys((row.target, row.method, row.process) for row in others)
    for target, method, process in sorted(keys):
        found = {row.num: row for row in others if (row.target, row.method, row.process) == (target, method, process)}
        lines.append(_line([target, method, process, *(_cell(found.get(num), None) for num in nums)]))
    return [*lines, ""]


def _count(num: int) -> str:
    return f"{num:,}".replace(",", " ")


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
