"""Questions about what could mislead in a comparison: samples that do not pair, versions that differ, failures."""

import pandas as pd

from queries.comparison import comparison
from queries.connection import Reading


def compare_pairing(
    store: Reading,
    *,
    baseline: str,
    candidate: str,
    split: str | None = None,
    environments: tuple[str, ...] | None = None,
    pair_by: str = "sample_id",
) -> pd.DataFrame:
    """One row per key and field, ordered by kind and name: what would pair the samples, and what differs?

    Columns: kind, about, num_baseline, num_candidate (distinct values in that arm), num_shared (in both),
    example_baseline, example_candidate (the first value that the other arm lacks).
    Kind `key`: what `pair_by` may name; num_shared samples would pair. `position` pairs by order alone, whatever the
    samples are. Kind `field`: environment, agent, model, split, how samples were found, versions of grader, prompt and
    tools. Kind `paired`: of the samples paired now, those whose prompt is known in both arms; num_shared: is the same.

    Raises:
        QuestionError: An arm or `pair_by` is not one there is.
    """
    asked = comparison(store, baseline, candidate, split, environments, pair_by)
    return store.ask("compare_pairing", asked.parameters())


def compare_failures(
    store: Reading,
    *,
    baseline: str,
    candidate: str,
    split: str | None = None,
    environments: tuple[str, ...] | None = None,
) -> pd.DataFrame:
    """One row per arm, baseline first: did rollouts, tool calls or parallel wrappers fail more often in one of them?

    Columns: arm, label (`RUN@STEP`), run_id, split, step, num_rollouts, num_samples, num_with_sample (rollouts whose
    sample is known), num_scored (rollouts with a reward), num_environments, num_status_known, num_failed
    (infra_error or grader_error), failure_rate, infra_error_rate, grader_error_rate, truncation_rate,
    budget_exceeded_rate (0–1 over rollouts whose status is known), num_tool_calls, num_tool_calls_failed,
    tool_error_rate (failed calls / calls), num_wrappers, num_wrappers_failed (parallel wrappers of which no call ran).

    Raises:
        QuestionError: An arm is not there.
    """
    asked = comparison(store, baseline, candidate, split, environments)
    frame = store.ask("compare_failures", asked.parameters())
    sides = {"baseline": asked.baseline, "candidate": asked.candidate}
    arms = [sides[name] for name in frame["arm"]]
    frame.insert(1, "label", [each.label for each in arms])
    frame.insert(2, "run_id", [each.run_id for each in arms])
    frame.insert(3, "split", [each.split for each in arms])
    frame.insert(4, "step", pd.Series([each.step for each in arms], dtype="Int64"))
    return frame
