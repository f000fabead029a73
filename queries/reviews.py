"""Questions about readers' labels: are a rule's findings real, do readers agree, were right answers scored zero."""

from typing import Any

import numpy as np
import pandas as pd

from queries.agreement import alpha_of, intervals
from queries.connection import Reading
from queries.failure_rules import failure_rules
from queries.failures import book_of
from queries.filters import EVERYTHING, Filters
from queries.frames import floats, insert_after
from queries.grader_rules import grader_rules
from queries.long_tail import share_intervals
from queries.stats import seed_of


def rule_precision(store: Reading, filters: Filters = EVERYTHING) -> pd.DataFrame:
    """One row per rule and run whose findings readers judged, ordered by them: how many of its findings are real?

    A reader's last word counts. Rollouts on which readers contradict one another are counted apart and in no share.
    Columns: run_id, rule, num_judged (rollouts), num_real, num_false_alarm, num_conflicting, num_reviewers,
    num_rollouts (judged without conflict), num_samples, precision (num_real / num_rollouts, 0–1), ci_low, ci_high
    (95 % Wilson interval, for as many independent rollouts as the samples' attempts are worth: num_effective).

    Raises:
        QuestionError: The rules in `graders.toml` cannot be read.
    """
    frame = store.ask("rule_precision", {**filters.parameters(), "rules": grader_rules(store).parameter})
    low, high, effective = share_intervals(frame)
    insert_after(frame, "share", {"ci_low": low, "ci_high": high, "num_effective": effective})
    return frame.drop(columns="share_sd").rename(columns={"share": "precision"})


def reviewers(store: Reading, filters: Filters = EVERYTHING) -> pd.DataFrame:
    """One row per rule that two or more readers judged the same findings of: do readers agree with one another?

    A row without a rule is about answers (labels that say right or wrong).
    Columns: rule, num_items (judged by two or more), num_samples, reviewers (list), agreement (share of pairs of
    readers' verdicts that are equal, 0–1), alpha (Krippendorff's, nominal), alpha_low, alpha_high (95 %, bootstrap over
    samples), reason (why α or its interval is missing).

    Raises:
        QuestionError: The rules in `graders.toml` cannot be read.
    """
    frame = store.ask("reviewers", {**filters.parameters(), "rules": grader_rules(store).parameter})
    rows: list[dict[str, Any]] = []
    for rule, own in frame.groupby("rule", dropna=False, sort=False):
        columns = np.column_stack([floats(own, name) for name in ("both_yes", "mixed", "both_no")])
        sums = columns.sum(axis=0)
        alpha = float(alpha_of(sums))
        found = intervals(columns, {"alpha": alpha_of}, seed=seed_of("reviewers", filters, str(rule)))["alpha"]
        is_known = bool(np.isfinite(alpha))
        rows.append(
            {
                "rule": None if pd.isna(rule) else rule,
                "num_items": int(own["num_items"].sum()),
                "num_samples": len(own),
                "reviewers": sorted({name for names in own["reviewers"] for name in names}),
                "agreement": float((sums[0] + sums[2]) / sums.sum()),
                "alpha": alpha if is_known else None,
                "alpha_low": found.low if is_known else None,
                "alpha_high": found.high if is_known else None,
                "reason": found.reason if is_known else "there is one verdict only: nothing to agree on beyond chance",
            }
        )
    names = ["rule", "num_items", "num_samples", "reviewers", "agreement", "alpha", "alpha_low", "alpha_high", "reason"]
    return pd.DataFrame(rows, columns=names).astype(
        dict.fromkeys(("agreement", "alpha", "alpha_low", "alpha_high"), float)
    )


def zero_but_right(
    store: Reading, filters: Filters = EVERYTHING, *, witness: str | None = None, limit: int = 50, offset: int = 0
) -> pd.DataFrame:
    """One row per rollout with a reward at its floor whose answer something says is right, most witnesses first.

    The floor is that of the rules `failures` (0 by default). Witnesses: `verdict` (the rollout passed), `label: NAME`
    (a person), `grader: NAME` (another grader passed it, or a re-grade paid), `assertions` (all hold), `reference` (its
    final answer, or what follows "answer is" in it, equals the sample's reference but for case, signs and spaces).
    `witness` keeps those with this one, or with one of this kind.
    Columns: run_id, rollout_id, sample_id, attempt, split, step, status, reward, witnesses (list), num_zero (rollouts
    at the floor in all), num_total (of these, such rollouts).

    Raises:
        QuestionError: The rules in `graders.toml` or `failures.toml` cannot be read.
    """
    own: dict[str, Any] = {"witness": witness, "limit": limit, "offset": offset, "rules": grader_rules(store).parameter}
    return store.ask("zero_but_right", {**filters.parameters(), **book_of(failure_rules(store)), **own})
