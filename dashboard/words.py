"""Numbers and findings in words, shared by all pages. Pure functions: no Streamlit, no questions."""

import math
from typing import TypeGuard

import pandas as pd

from queries.filters import Filters

_FIELDS = {
    "run_ids": "runs",
    "splits": "splits",
    "step_from": "first step",
    "step_to": "last step",
    "statuses": "status",
    "tools": "tools",
    "environments": "environments",
    "agents": "agents",
    "subset": "trained on",
}
NOTHING = "–"


def whole(value: float | None) -> str:
    """A whole number with thin spaces between thousands: 1 240; "–" where there is none."""
    return f"{round(float(value)):,}".replace(",", "\u202f") if _is_known(value) else NOTHING


def number(value: float | None, digits: int = 3) -> str:
    """A number to `digits` significant digits, thousands separated; "–" where there is none."""
    if not _is_known(value):
        return NOTHING
    # The last bits of a mean depend on the order in which it was summed: a tie must not be rounded two ways.
    exact = float(f"{float(value):.12g}")
    if exact == 0 or not math.isfinite(exact):
        return f"{exact:g}"
    return decimals(exact, max(0, digits - 1 - math.floor(math.log10(abs(exact)))))


def decimals(value: float | None, digits: int) -> str:
    """A number with so many decimals, thousands separated: 0.656, 1 618, −0.50; "–" where there is none."""
    if not _is_known(value):
        return NOTHING
    exact = float(f"{float(value):.12g}")
    text = f"{round(exact, digits):,.{digits}f}".replace(",", "\u202f").replace("-", "−")
    return text if text.strip("−0.") else text.removeprefix("−")


def ends(low: float, high: float, digits: int = 3) -> tuple[str, str]:
    """Both ends of an interval to the same decimals, those that the larger one takes for `digits`: 0.069, 0.500."""
    largest = max(abs(low), abs(high))
    if not math.isfinite(largest) or not largest:
        return number(low, digits), number(high, digits)
    places = max(0, digits - 1 - math.floor(math.log10(float(f"{largest:.12g}"))))
    return decimals(low, places), decimals(high, places)


def signed(value: float | None, digits: int = 3) -> str:
    """A difference, always with its sign: +0.291, −1.20."""
    text = number(value, digits)
    return text if text in (NOTHING, "0") or text.startswith("−") else f"+{text}"


def percent(value: float | None) -> str:
    """A share (0–1) as percent: 12 %, 0.4 %; "–" where there is none."""
    if not _is_known(value):
        return NOTHING
    share = 100 * float(value)
    digits = 0 if share == 0 or abs(share) >= 9.95 else 1
    return f"{share:.{digits}f} %".replace("-", "−")


def size(num_bytes: float | None) -> str:
    """A number of bytes: 512 B, 4.5 kB, 5.0 MB; "–" where there is none."""
    if not _is_known(num_bytes):
        return NOTHING
    left = float(num_bytes)
    for unit in ("B", "kB", "MB"):
        if left < 999.5:
            return f"{left:.0f} B" if unit == "B" else f"{left:.{0 if left >= 99.5 else 1}f} {unit}"
        left /= 1_000
    return f"{left:.1f} GB"


def seconds(value: float | None) -> str:
    """A duration: 3.1 ms, 0.62 s, 43 s, 5 min 20 s, 2 h 5 min; "–" where there is none."""
    if not _is_known(value):
        return NOTHING
    exact = float(value)
    if 0 < exact < 0.0995:
        return f"{number(1_000 * exact, 2)} ms"
    if exact < 99.5:
        return f"{number(exact, 2)} s"
    minutes, rest = divmod(round(exact), 60)
    hours, rest_minutes = divmod(minutes, 60)
    return f"{hours} h {rest_minutes} min" if hours else f"{minutes} min {rest} s"


def shortened(name: str, length: int = 60) -> str:
    """A name, its middle left out where it is long: names of one sweep differ at their ends."""
    if len(name) <= length:
        return name
    head = (length - 1) * 2 // 3
    return f"{name[:head]}…{name[head + 1 - length :]}"


def plural(count: float, word: str, words: str | None = None) -> str:
    """A count and its noun: "1 run", "2 runs"."""
    return f"{whole(count)} {word if round(float(count)) == 1 else words or word + 's'}"


def verb(count: float, one: str, many: str) -> str:
    """The form of a verb that agrees with a count: "1 … was", "2 … were"."""
    return one if round(float(count)) == 1 else many


def counted(left: int, total: int) -> str:
    """What filters leave: "1 240 of 9 600 rollouts"."""
    return plural(total, "rollout") if left == total else f"{whole(left)} of {plural(total, 'rollout')}"


def unknown(field: str, values: list[str]) -> str:
    """That a link asked for something that is not in this store."""
    shown = ", ".join(values[:3]) + (f" and {len(values) - 3} more" if len(values) > 3 else "")
    return f"The link asks for {_FIELDS[field]} that this store does not hold: {shown}. Shown is everything else."


def nothing_left(chosen: Filters, culprits: list[str]) -> str:
    """That the filters leave nothing, and which of them does it."""
    if culprits:
        named = " or on ".join(_FIELDS[each] for each in culprits)
        return f"No rollout is left. Without the filter on {named} some would be."
    return f"No rollout is left by these filters together: {chosen.sentence()}."


def _is_known(value: float | None) -> TypeGuard[float]:
    return not pd.isna(value)
