"""Two arms and how their samples are paired: what all comparing questions share. Asks nothing but which arms exist.

The questions: `compare` (means by measure), `compare_samples` and `compare_quadrants` (sample by sample), and
`compare_pairing` and `compare_failures` (what could mislead). Differences are candidate minus baseline.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from ingest.errors import QuestionError
from queries.arms import Arm, arm, arms
from queries.connection import Reading
from queries.stats import seed_of

MEASURES: Final[Mapping[str, str]] = {
    "reward": "reward",
    "pass_rate": "0–1",
    "tool_calls": "calls per rollout",
    "tool_calls_succeeded": "calls per rollout",
    "tool_calls_failed": "calls per rollout",
    "tool_error_rate": "0–1",
    "repeats": "calls per rollout",
    "turns": "turns per rollout",
    "sequential_rounds": "turns per rollout",
    "reasoning_tokens": "tokens per rollout",
    "output_tokens": "tokens per rollout",
    "input_tokens": "tokens per rollout",
    "tool_output_tokens": "tokens per rollout",
    "tool_output_bytes": "bytes per rollout",
    "latency_s": "s",
    "queue_latency_s": "s",
    "cost_usd": "US$ per rollout",
}
"""Unit of every measure that is compared, in the order shown."""
PAIR_BY: Final = ("sample_id", "sample_suffix", "prompt_hash", "position")
"""What samples may be paired by: their id, the id after its last `/`, `:` or `#`, their prompt, or their order."""
CLUSTER_BY: Final = ("sample", "cluster_key", "environment")
"""What samples that are alike share, beside `metadata.KEY`: nothing, a document or repository, an environment."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two arms and how their samples are paired: the parameters all comparing questions share."""

    baseline: Arm
    candidate: Arm
    environments: tuple[str, ...] | None = None
    pair_by: str = "sample_id"
    leave_out_failures: bool = False
    cluster_by: str = "sample"

    def parameters(self) -> dict[str, Any]:
        """Values by parameter name of the SQL."""
        sides = {"baseline": self.baseline.parameter(), "candidate": self.candidate.parameter()}
        return {
            **sides,
            "arms": [{**each, "arm": name} for name, each in sides.items()],
            "environments": None if self.environments is None else list(self.environments),
            "pair_by": self.pair_by,
            "leave_out_failures": self.leave_out_failures,
        }

    def seed(self, *parts: object) -> int:
        """Seed of what is drawn at random for this comparison: everyone who asks sees the same figures."""
        return seed_of(asdict(self), *parts)


def comparison(
    store: Reading,
    baseline: str,
    candidate: str,
    split: str | None = None,
    environments: tuple[str, ...] | None = None,
    pair_by: str = "sample_id",
    leave_out_failures: bool = False,  # noqa: FBT001, FBT002 - in the order in which the questions pass them on
    cluster_by: str = "sample",
) -> Comparison:
    """The two arms as written (`RUN@STEP`, see `queries.arms`), found in the store.

    Raises:
        QuestionError: An arm is not there, `pair_by` is none of `PAIR_BY`, or `cluster_by` none of `CLUSTER_BY`.
    """
    check_clusters(cluster_by)
    if pair_by not in PAIR_BY:
        raise QuestionError(f"pair_by must be one of {', '.join(PAIR_BY)}, not {pair_by!r}")
    known = arms(store)
    sides = arm(known, baseline, split), arm(known, candidate, split)
    return Comparison(*sides, environments, pair_by, leave_out_failures, cluster_by)


def check_clusters(cluster_by: str) -> None:
    """Check what samples are clustered by.

    Raises:
        QuestionError: `cluster_by` is none of `CLUSTER_BY`, nor a key of the samples' metadata.
    """
    if cluster_by not in CLUSTER_BY and not (cluster_by.startswith("metadata.") and cluster_by != "metadata."):
        raise QuestionError(f"cluster_by must be one of {', '.join(CLUSTER_BY)} or metadata.KEY, not {cluster_by!r}")


def metadata_path(cluster_by: str) -> str | None:
    """Where in the samples' metadata their clusters are named; None where these are not in there."""
    key = cluster_by.removeprefix("metadata.")
    return None if key == cluster_by else '$."' + key.replace("\\", "\\\\").replace('"', '\\"') + '"'
