"""Questions about rollouts that may be rewarded for something else than the task: how many each rule names, and which.

The rules are the rulebook `integrity` (`integrity_rules`); the statements find, this module compares and says. A rule's
rate is a reason to read its rollouts, never a proof.
"""

from functools import lru_cache
from typing import Any, Final

import numpy as np
import pandas as pd

from ingest.errors import QuestionError
from queries.connection import Reading
from queries.filters import EVERYTHING, Filters
from queries.frames import floats, insert_after
from queries.integrity_rules import Rules, integrity_rulebook
from queries.long_tail import effective_number
from queries.stats import Floats, seed_of, wilson

RISES: Final = "rises"
FOUND: Final = "found"
NO_RISE: Final = "no rise shown"
NONE: Final = "none"
BASELINE_RUN: Final = "baseline run"
FIRST_STEPS: Final = "first steps"
_KEYS: Final = ["run_id", "split", "rule"]


def integrity_rules(store: Reading) -> pd.DataFrame:
    """One row per rule of the rulebook in force, in its order: which rollouts are worth reading, and by what rule?

    Columns: rule, title, concern (`hack`: paid for something else; `signal`: teaches nothing), method, about (what it
    says), kinds (names of its patterns, where it has several).

    Raises:
        QuestionError: The store's own rules (`integrity.toml`) are faulty.
    """
    rows = [
        {
            "rule": each.name,
            "title": each.title,
            "concern": each.concern,
            "method": each.method,
            "about": each.about,
            "kinds": ", ".join(kind.name for kind in each.kinds) or None,
        }
        for each in integrity_rulebook(store).rules
    ]
    return pd.DataFrame(rows, columns=["rule", "title", "concern", "method", "about", "kinds"])


def integrity_findings(store: Reading, filters: Filters = EVERYTHING) -> pd.DataFrame:
    """One row per run, split, step and rule, ordered by rule first: how many rollouts does each rule name at each step?

    Columns: run_id, split, step, rule, title, concern, num_flagged, num_rollouts (the rule applies to), num_samples,
    share (0–1), ci_low, ci_high (95 % Wilson interval, for as many independent rollouts as the samples' attempts are
    worth), base_share, base (what it is compared with: the `baseline run`, else the run's `first steps`; NULL where
    there is neither). A rule has no row where it applies to nothing; at most `max_rollouts` of the rulebook are looked
    at.

    Raises:
        QuestionError: The store's own rules are faulty.
    """
    rules = integrity_rulebook(store)
    found = _counted(store, filters, rules)
    steps = found[found["period"].isna()].drop(columns=["period", "first_step", "last_step", "share_sd"])
    bases = {_key(row): row for row in _verdicts(store, filters, rules).to_dict("records")}
    own = [bases[_key(row)] for row in steps[_KEYS].to_dict("records")]
    for name, kind in (("base_share", float), ("base", object)):
        steps[name] = pd.Series([each[name] for each in own], index=steps.index, dtype=kind)
    named = _titled(steps, rules)
    order = [
        "run_id",
        "split",
        "step",
        "rule",
        "title",
        "concern",
        "num_flagged",
        "num_rollouts",
        "num_samples",
        "share",
    ]
    return named[[*order, "ci_low", "ci_high", "base_share", "base"]].reset_index(drop=True)


def integrity_verdicts(store: Reading, filters: Filters = EVERYTHING) -> pd.DataFrame:
    """One row per run, split and rule, those that rise first: does a rule name more rollouts than it used to?

    A run's steps are told in a few periods of equal length. Columns: run_id, split, rule, title, concern, verdict
    (`rises`: some period has more than the base, beyond noise and by at least the rulebook's `min_rise`; `no rise
    shown`: it may be as in the base; `found`: there is nothing to compare with; `none`: none at all), num_flagged,
    num_rollouts (in all), share (0–1), base (as in `integrity_findings`), base_share, base_num (rollouts), peak_share,
    peak_num_flagged, peak_num, peak_first_step, peak_last_step (the period whose rise is surest), rise, rise_low (lower
    bound of peak minus base at the rulebook's confidence, all periods together; NULL without a base), last_share (in
    the last period).

    Raises:
        QuestionError: The store's own rules are faulty.
    """
    return _verdicts(store, filters, integrity_rulebook(store)).copy()


def suspicious_rollouts(
    store: Reading, filters: Filters = EVERYTHING, *, rule: str, limit: int = 50, offset: int = 0
) -> pd.DataFrame:
    """One row per rollout a rule names, in an order that chance and the question decide: which are to be read, and why?

    Columns: run_id, rollout_id, sample_id, attempt, split, step, status, reward, kind (which pattern, or what is
    meant), evidence (in words, with a piece of the text), num_tool_calls, output_tokens (tokens), num_total (how many
    in all). The order is random but the same for everyone, so that the first five are five to read.

    Raises:
        QuestionError: There is no such rule, or the store's own rules are faulty.
    """
    rules = integrity_rulebook(store)
    if rules.named(rule) is None:
        raise QuestionError(f"there is no rule {rule[:60]!r}; there are {', '.join(each.name for each in rules.rules)}")
    own = {"rule": rule, "limit": limit, "offset": offset, "seed": seed_of("suspicious_rollouts", rule)}
    return store.ask("suspicious_rollouts", {**filters.parameters(), **rules.parameters(), **own})


def _key(row: dict[Any, Any]) -> tuple[str | None, ...]:
    return tuple(None if pd.isna(row[name]) else str(row[name]) for name in _KEYS)


@lru_cache(maxsize=16)
def _counted(store: Reading, filters: Filters, rules: Rules) -> pd.DataFrame:
    """The answer of the statement, with intervals; kept, as two questions are made of it."""
    frame = store.ask("integrity_findings", {**filters.parameters(), **rules.parameters(), "periods": rules.periods})
    low, high, worth = _bounds(frame, 0.95)
    insert_after(frame, "share", {"ci_low": low, "ci_high": high, "worth": worth})
    return frame


def _bounds(frame: pd.DataFrame, confidence: float) -> tuple[Floats, Floats, Floats]:
    """Wilson bounds of shares, and for how many independent rollouts."""
    share, num = floats(frame, "share"), floats(frame, "num_rollouts")
    worth = effective_number(share, floats(frame, "share_sd"), num, floats(frame, "num_samples"))
    low, high = wilson(share * worth, worth, confidence=confidence)
    return low, high, worth


def _titled(frame: pd.DataFrame, rules: Rules) -> pd.DataFrame:
    titles = {each.name: each.title for each in rules.rules}
    concerns = {each.name: each.concern for each in rules.rules}
    return frame.assign(title=frame["rule"].map(titles), concern=frame["rule"].map(concerns))


@lru_cache(maxsize=16)
def _verdicts(store: Reading, filters: Filters, rules: Rules) -> pd.DataFrame:
    periods = _counted(store, filters, rules)
    periods = periods[periods["period"].notna()]
    baselines = _baselines(store, filters, rules, tuple(periods["run_id"].unique()))
    rows = []
    for (run_id, split, rule), own in periods.groupby(_KEYS, dropna=False, sort=False):
        # How often a group has no difference depends on its size, which a baseline does not share.
        is_of_groups = getattr(rules.named(str(rule)), "concern", "") == "signal"
        base = None if is_of_groups else baselines.get((str(run_id), str(rule)))
        rows.append({"run_id": run_id, "split": split, "rule": rule, **_verdict(own, base, rules)})
    frame = _titled(pd.DataFrame(rows, columns=[*_KEYS, *_VERDICT]), rules)
    place = {name: number for number, name in enumerate((RISES, FOUND, NO_RISE, NONE))}
    rank = [each.name for each in rules.rules]
    frame = frame.assign(
        place=frame["verdict"].map(place), concern_place=frame["concern"].ne("hack"), rank=frame["rule"].map(rank.index)
    )
    frame = frame.sort_values(["place", "concern_place", "rank", "run_id", "split"], kind="stable", na_position="last")
    order = ["run_id", "split", "rule", "title", "concern", *_VERDICT]
    return frame[order].reset_index(drop=True).astype({"peak_first_step": "Int64", "peak_last_step": "Int64"})


_VERDICT: Final = (
    *("verdict", "num_flagged", "num_rollouts", "share", "base", "base_share", "base_num", "peak_share"),
    *("peak_num_flagged", "peak_num", "peak_first_step", "peak_last_step", "rise", "rise_low", "last_share"),
)


def _baselines(
    store: Reading, filters: Filters, rules: Rules, run_ids: tuple[str, ...]
) -> dict[tuple[str, str], pd.DataFrame]:
    """What the rules say of each run's baseline, by run and rule; nothing for runs without one."""
    known = store.ask("baselines_of_runs", {"run_ids": list(run_ids)}) if run_ids else pd.DataFrame({"run_id": []})
    pairs = {str(row["run_id"]): str(row["baseline_id"]) for row in known.to_dict("records")}
    if not pairs:
        return {}
    asked = Filters(run_ids=tuple(sorted(set(pairs.values()))), environments=filters.environments)
    found = _counted(store, asked, rules)
    found = found[found["period"].notna()]
    by_run = [(str(key[0]), str(key[1]), rows) for key, rows in found.groupby(["run_id", "rule"], sort=False)]
    return {(run_id, rule): rows for run_id, baseline in pairs.items() for of, rule, rows in by_run if of == baseline}


def _verdict(own: pd.DataFrame, base: pd.DataFrame | None, rules: Rules) -> dict[str, Any]:
    """What can be said of one rule in one split of a run, from its periods and those of its baseline."""
    flagged, num = int(own["num_flagged"].sum()), int(own["num_rollouts"].sum())
    said: dict[str, Any] = {"num_flagged": flagged, "num_rollouts": num, "share": flagged / num}
    said["last_share"] = float(own["share"].iloc[-1])
    compared, source = own, None
    if base is not None:
        source = BASELINE_RUN
    elif len(own) > 1:
        base, compared, source = own.iloc[:1], own.iloc[1:], FIRST_STEPS
    if base is None:
        peak = own.iloc[int(np.argmax(floats(own, "share")))]
        return said | _peak(peak) | {"verdict": FOUND if flagged else NONE}
    rise, low = _rises(compared, base, rules.confidence)
    at = int(np.argmax(low))
    base_num = int(base["num_rollouts"].sum())
    said |= {"base": source, "base_share": float(base["num_flagged"].sum()) / base_num, "base_num": base_num}
    said |= _peak(compared.iloc[at]) | {"rise": float(rise[at]), "rise_low": float(low[at])}
    if low[at] > 0 and rise[at] >= rules.min_rise:
        return said | {"verdict": RISES}
    return said | {"verdict": NO_RISE if flagged or base["num_flagged"].sum() else NONE}


def _peak(row: "pd.Series[Any]") -> dict[str, Any]:
    names = {"peak_share": "share", "peak_num_flagged": "num_flagged", "peak_num": "num_rollouts"}
    names |= {"peak_first_step": "first_step", "peak_last_step": "last_step"}
    return {name: row[column] for name, column in names.items()}


def _rises(own: pd.DataFrame, base: pd.DataFrame, confidence: float) -> tuple[Floats, Floats]:
    """Every period's share minus the base's, and its lower bound, all periods together; shape (periods,).

    Source: Newcombe 1998, method 10 (from Wilson's bounds), for as many independent rollouts as attempts are worth;
    one-sided, Bonferroni over the periods.
    """
    together = 1 - 2 * (1 - confidence) / len(own)
    low, _, _ = _bounds(own, together)
    num, worth = float(base["num_rollouts"].sum()), float(base["worth"].sum())
    before = float(base["num_flagged"].sum()) / num
    _, high = wilson(before * worth, worth, confidence=together)
    share = floats(own, "share")
    rise = share - before
    return rise, rise - np.sqrt((share - low) ** 2 + (float(high) - before) ** 2)
