"""The measures of a single rollout that distributions and tails are drawn of, with what a screen calls them."""

from dataclasses import dataclass

from ingest.errors import QuestionError

GROUPINGS = ("run", "split", "step")
"""What a row stands for: a run, a split of a run, a step of a split of a run."""


@dataclass(frozen=True, slots=True)
class RolloutMeasure:
    """A number every rollout may have: its title with the unit, the unit alone, and the field a source must fill."""

    title: str
    unit: str
    field: str

    @property
    def axis(self) -> str:
        """The title of an axis, e.g. "latency, s"."""
        return f"{self.title}, {self.unit}" if self.unit in ("s", "bytes", "tokens", "US$") else self.title

    def amount(self, value: float) -> str:
        """So much of it: "10 tool calls", "1 turn", "30 s of latency", "8 000 tokens of output"."""
        noun = self.title.removesuffix(" per rollout").removesuffix(" of a rollout")
        number = f"{value:,.10g}".replace(",", "\u202f")
        if noun.endswith(self.unit):
            return f"{number} {noun.removesuffix('s') if value == 1 else noun}"
        return f"{number} {self.unit} of {noun}"

    @property
    def is_whole(self) -> bool:
        """Whether its values are counts."""
        return self.unit in ("calls", "rounds", "turns", "messages", "tokens", "bytes")


ROLLOUT_MEASURES: dict[str, RolloutMeasure] = {
    "tool_calls": RolloutMeasure("tool calls per rollout", "calls", "tool_calls"),
    "tool_errors": RolloutMeasure("failed tool calls per rollout", "calls", "tool_errors"),
    "repeats": RolloutMeasure("repeated calls per rollout", "calls", "tool_calls"),
    "sequential_rounds": RolloutMeasure("call rounds per rollout", "rounds", "tool_calls"),
    "turns": RolloutMeasure("turns per rollout", "turns", "messages"),
    "messages": RolloutMeasure("messages per rollout", "messages", "messages"),
    "output_tokens": RolloutMeasure("output per rollout", "tokens", "tokens"),
    "reasoning_tokens": RolloutMeasure("reasoning per rollout", "tokens", "reasoning_tokens"),
    "input_tokens": RolloutMeasure("input per rollout", "tokens", "tokens"),
    "tool_output_bytes": RolloutMeasure("tool output per rollout", "bytes", "tool_calls"),
    "latency_s": RolloutMeasure("latency of a rollout", "s", "latency"),
    "tool_latency_s": RolloutMeasure("tool time per rollout", "s", "tool_latency"),
    "cost_usd": RolloutMeasure("cost of a rollout", "US$", "cost"),
    "reward": RolloutMeasure("reward", "reward", "reward"),
}
"""By name; the columns they stand for are named in `views/rollouts_measured.sql`."""


def check(measure: str, by: str) -> None:
    """Check a measure and a grouping given by name.

    Raises:
        QuestionError: There is no such measure or grouping.
    """
    if measure not in ROLLOUT_MEASURES:
        raise QuestionError(f"measure must be one of {', '.join(ROLLOUT_MEASURES)}, not {measure!r}")
    check_grouping(by)


def check_grouping(by: str) -> None:
    """Check a grouping given by name.

    Raises:
        QuestionError: There is no such grouping.
    """
    if by not in GROUPINGS:
        raise QuestionError(f"by must be one of {', '.join(GROUPINGS)}, not {by!r}")
