"""The registry of questions: everything a page, a report, an export or the shell may ask. One line each."""

from collections.abc import Callable

import pandas as pd

from queries.curves import reward_curve

Question = Callable[..., pd.DataFrame]
"""Called with a `Reading`, the shared `Filters` where its second parameter is so named, and its own parameters."""

QUESTIONS: dict[str, Question] = {
    "reward_curve": reward_curve,
}
