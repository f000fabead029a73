"""Questions about sudden jumps: where the reward, or a grader's score, changes level between two steps, and what else.

The statistics are `breaks`, the thresholds the table `[jumps]` of the rulebook `integrity`. What changed at the same
step is told beside a jump (`jump_causes`); that it caused the jump is a reader's conclusion.
"""

from functools import lru_cache
from typing import Any, Final

import numpy as np
import pandas as pd

from queries.breaks import Break, BreakRules, Series, breaks, candidates
from queries.connection import Reading
from queries.failure_rules import failure_rules
from queries.failures import book_of
from queries.filters import EVERYTHING, Filters
from queries.integrity_rules import integrity_rulebook
from queries.jump_causes import FACTS, facts_by_step, what_changed

_KEYS: Final = ["run_id", "split"]
_SCORE: Final = ["score", "kind"]
_JUMPS: Final = (
    *(*_KEYS, *_SCORE, "from_step", "to_step", "jump", "ci_low", "ci_high", "num_samples", "is_paired"),
    *("mean_before", "mean_after", "num_before", "num_after", "first_step", "last_step", *FACTS),
)
_LOOKS: Final = (*_KEYS, *_SCORE, "num_steps", "num_looked_at", "num_samples", "num_jumps", "reason")


def reward_jumps(store: Reading, filters: Filters = EVERYTHING) -> pd.DataFrame:
    """One row per run, split and jump, the reward's first: where does a score change its level between two steps?

    A jump exceeds the noise between samples and between steps and the slope of the steps around it, and lasts longer
    than one step; thresholds: `[jumps]` of the rulebook `integrity`. As graded: failures count as they were scored.
    Columns: run_id, split, score (`reward`, or a grader), kind, from_step, to_step (neighbours in the split), jump
    (beyond the local slope), ci_low, ci_high (t, clustered by sample, at the rulebook's confidence for all steps and
    scores of the run and split together), num_samples (on both sides where is_paired, else on either), is_paired
    (compared by sample), mean_before, mean_after (over samples, at from_step and to_step), num_before, num_after
    (samples there), first_step, last_step (looked at); and what else changes exactly there, as `before → after`, NULL
    where it does not or is not known: grader_version, prompt_version, tools_version, model, policy_lag (versions the
    policy is behind), environments (the one whose share moves most), failures (share that infrastructure or grader
    failed, by the rules), trained_on (share of rollouts trained on); shares only beyond noise. suspect: `grader`,
    `inputs` (prompt, tools), `model`, `failures`, `mix` (environments, trained on) or `unknown`.

    Raises:
        QuestionError: The store's own rules are faulty.
    """
    jumps, _ = _found(store, filters, integrity_rulebook(store).jumps, *_asked(store))
    return jumps.copy()


def reward_jump_looks(store: Reading, filters: Filters = EVERYTHING) -> pd.DataFrame:
    """One row per run, split and score, the reward first: where were jumps looked for, and where could none be shown?

    Columns: run_id, split, score, kind, num_steps (with a score), num_looked_at (places between two steps), num_samples
    (in all), num_jumps, reason (why nothing could be looked at; NULL where it was).

    Raises:
        QuestionError: The store's own rules are faulty.
    """
    _, looks = _found(store, filters, integrity_rulebook(store).jumps, *_asked(store))
    return looks.copy()


def _asked(store: Reading) -> tuple[str, str]:
    """What an answer depends on beside store, filters and thresholds: the graders left out, the rules on failures."""
    rules = failure_rules(store)
    return integrity_rulebook(store).not_a_judge, repr(rules.parameters)


@lru_cache(maxsize=8)
def _found(
    store: Reading, filters: Filters, rules: BreakRules, not_a_judge: str, _failures: str
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The jumps and where they were looked for; kept, as two questions are made of it."""
    values = store.ask("reward_jumps", {**filters.parameters(), "not_a_judge": not_a_judge})
    jumps: list[dict[str, Any]] = []
    looks: list[dict[str, Any]] = []
    for _, group in values.groupby(_KEYS, dropna=False, sort=False):
        key = {name: None if group[name].isna().all() else str(group[name].iloc[0]) for name in _KEYS}
        series = [({name: own[name].iloc[0] for name in _SCORE}, _series(own)) for own in _by_score(group)]
        together = max(sum(candidates(each, rules) for _, each in series), 1)
        confidence = 1 - (1 - rules.confidence) / together
        for name, each in series:
            found = breaks(each, rules, together)
            looks.append({**key, **name, **_look(each, rules, len(found))})
            jumps += [{**key, **name, **_jump(each, jump, confidence)} for jump in found]
    if jumps:
        facts = store.ask("reward_jump_facts", {**filters.parameters(), **book_of(failure_rules(store))})
        by_step = facts_by_step(facts)
        jumps = [each | what_changed(by_step[each["run_id"], each["split"]], each, each["score"]) for each in jumps]
    frame = pd.DataFrame(jumps, columns=_JUMPS)
    whole = [*("from_step", "to_step", "num_samples", "num_before", "num_after", "first_step", "last_step")]
    numbers = dict.fromkeys(("jump", "ci_low", "ci_high", "mean_before", "mean_after"), float)
    frame = frame.astype({**dict.fromkeys(whole, "Int64"), **numbers, **dict.fromkeys(FACTS, object)})
    return frame, pd.DataFrame(looks, columns=_LOOKS)


def _by_score(group: pd.DataFrame) -> list[pd.DataFrame]:
    return [own for _, own in group.groupby(_SCORE, dropna=False, sort=False)]


def _series(own: pd.DataFrame) -> Series:
    steps, place = np.unique(own["step"].to_numpy(np.int64), return_inverse=True)
    sample = np.unique(own["unit"].to_numpy(), return_inverse=True)[1]
    return Series(steps.astype(np.float64), place, sample, own["value"].to_numpy(np.float64))


def _look(series: Series, rules: BreakRules, num_jumps: int) -> dict[str, Any]:
    num, num_samples = candidates(series, rules), int(np.unique(series.sample).size)
    reason = None
    if not num:
        reason = f"fewer than {2 * rules.min_steps} steps"
    elif num_samples < rules.min_samples:
        reason = f"fewer than {rules.min_samples} samples"
    looked = {"num_steps": series.steps.size, "num_looked_at": 0 if reason else num, "num_samples": num_samples}
    return {**looked, "num_jumps": num_jumps, "reason": reason}


def _jump(series: Series, found: Break, confidence: float) -> dict[str, Any]:
    """What is said of one jump by itself."""
    low, high = found.interval(confidence)
    at = (found.place - 1, found.place)
    counts = np.bincount(series.place, minlength=series.steps.size)
    return {
        "from_step": int(series.steps[at[0]]),
        "to_step": int(series.steps[at[1]]),
        "jump": found.size,
        "ci_low": low,
        "ci_high": high,
        "num_samples": found.num_samples,
        "is_paired": found.is_paired,
        "mean_before": float(series.means[at[0]]),
        "mean_after": float(series.means[at[1]]),
        "num_before": int(counts[at[0]]),
        "num_after": int(counts[at[1]]),
        "first_step": int(series.steps[found.first]),
        "last_step": int(series.steps[found.last]),
    }
