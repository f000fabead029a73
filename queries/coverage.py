"""How often intervals called 95 % hold the true value, by method, distribution and n: what may be promised of them.

Data only; tests draw each row again. Means of skewed or rare-event measures fall short at small n whatever the method;
order statistics are conservative. Pages warn from this table rather than from a rule of thumb.
"""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Coverage:
    """Share of 10 000 seeded data sets of `num` values whose interval held the true `target`; none counts as a miss."""

    method: str
    target: str
    distribution: str
    num: int
    share: float

    @property
    def falls_short(self) -> bool:
        """Whether a page should warn: less than 93 % where 95 % is claimed."""
        return self.share < 0.93


COVERAGE: Final = (
    Coverage("t", "mean", "normal", 20, 0.952),
    Coverage("t", "mean", "log-normal", 20, 0.869),
    Coverage("t", "mean", "log-normal", 100, 0.918),
    Coverage("t", "mean", "Bernoulli .5", 20, 0.959),
    Coverage("t", "mean", "Bernoulli .1", 20, 0.876),
    Coverage("Wilson", "mean", "Bernoulli .5", 20, 0.959),
    Coverage("Wilson", "mean", "Bernoulli .1", 20, 0.956),
    Coverage("percentile bootstrap", "mean", "normal", 20, 0.927),
    Coverage("percentile bootstrap", "mean", "log-normal", 20, 0.858),
    Coverage("percentile bootstrap", "mean", "log-normal", 100, 0.918),
    Coverage("BCa bootstrap", "mean", "log-normal", 20, 0.874),
    Coverage("BCa bootstrap", "mean", "log-normal", 100, 0.922),
    Coverage("order statistics", "P50", "log-normal", 20, 0.96),
    Coverage("order statistics", "P95", "log-normal", 100, 0.984),
)
