"""Questions about graders: which there are, how far two of them agree, and on which rollouts they differ."""

from collections.abc import Hashable, Iterable
from typing import Any, Final

import numpy as np
import pandas as pd

from ingest.errors import QuestionError
from queries.agreement import (
    CELLS,
    ONE_VALUE_EACH,
    PAIRS,
    alpha_of,
    coincidences_of,
    interval_alpha_of,
    intervals,
    kappa_of,
    limits_of_agreement,
    pearson_of,
)
from queries.connection import Reading
from queries.filters import EVERYTHING, Filters
from queries.frames import floats
from queries.grader_rules import grader_rules
from queries.long_tail import share_interval
from queries.stats import Floats, Interval, sample_mean, seed_of

KEYS: Final = ["run_id", "split", "first_grader", "second_grader"]
WHICH: Final = ("differ", "both_right", "only_first", "only_second", "neither", "all")
MAX_PAIRS: Final = 40
BINS: Final = 20
LOPSIDED: Final = 0.9
"""From this share of one verdict on, κ is low however well two graders agree."""
_PLACES: Final = {"reward": 0, "metric": 1, "subscore": 2, "label": 3}
_COUNTS: Final = ["num_rollouts", "num_samples", *CELLS]
_NUMBERS: Final = [
    *("agreement", "agreement_low", "agreement_high", "kappa", "kappa_low", "kappa_high", "alpha", "alpha_low"),
    *("alpha_high", "right_share", "bias", "bias_low", "bias_high", "limit_low", "limit_high", "correlation"),
    *("interval_alpha", "interval_alpha_low", "interval_alpha_high"),
]

_OF_SCORES: Final = _NUMBERS[_NUMBERS.index("bias") :]


def graders(store: Reading, filters: Filters = EVERYTHING) -> pd.DataFrame:
    """One row per run and grader, by run, rewards and labels first: who says what of these runs?

    Of the filters only that on runs counts. `reward` stands for the rollouts' own reward where no score says it is the
    reward, `reader: NAME` for a reader whose labels say right or wrong (rules `graders`).
    Columns: run_id, grader, kind, origin (the grader it grades again for, or itself), is_again, is_part (of another,
    `grader/part`), marks_wrong (a high score says "not right"), threshold (a score from here on says "right", where
    the grader gives no verdict), versions (list), num_scores (rows; NULL of `reward` and readers).

    Raises:
        QuestionError: The rules in `graders.toml` cannot be read.
    """
    return store.ask("graders", {**filters.parameters(), "rules": grader_rules(store).parameter})


def pairs_of(known: pd.DataFrame, first: str | None = None, second: str | None = None) -> list[dict[str, Any]]:
    """Pairs of the graders that `graders` lists which can be compared, the most telling first, run by run.

    `relation`: `human` (a grader against a person's label), `humans` (two people), `again` (a grader against its own
    re-grade), `graders` (two whole graders), `chosen` (any others, both named). Only pairs with `first` and `second`
    where these are given.
    """
    found: list[dict[str, Any]] = []
    for run_id, rows in known.groupby("run_id", sort=True):
        given = [{str(name): each for name, each in row.items()} for row in rows.to_dict("records")]
        own = [each for each in given if each["kind"] != "assertion" or first is not None]
        own.sort(key=lambda each: (_PLACES.get(str(each["kind"]), 4), each["is_again"], each["grader"]))
        pairs = [(a, b) for at, a in enumerate(own) for b in own[at + 1 :]]
        listed = []
        for a, b in pairs:
            names = {str(a["grader"]), str(b["grader"])}
            is_named = first in names and second in names and first != second
            relation = _relation(a, b) or ("chosen" if is_named else None)
            if relation is None or not {first, second} - {None} <= names:
                continue
            one, two = (b, a) if a["grader"] == second or b["grader"] == first else (a, b)
            sides = {
                f"{side}_{name}": each[column]
                for side, each in (("first", one), ("second", two))
                for name, column in _OF
            }
            is_own = any(each["grader"] == "reward" and pd.isna(each["num_scores"]) for each in (one, two))
            listed.append({"run_id": str(run_id), **sides, "relation": relation, "is_own_reward": is_own})
        listed.sort(key=lambda each: _RELATIONS.index(each["relation"]))
        found += listed[:MAX_PAIRS]
    return found


_OF: Final = (("grader", "grader"), ("threshold", "threshold"), ("wrong", "marks_wrong"))
_RELATIONS: Final = ("human", "humans", "again", "graders", "chosen")


def _relation(a: dict[str, Any], b: dict[str, Any]) -> str | None:
    if a["is_again"] or b["is_again"]:
        return "again" if a["origin"] == b["origin"] and not (a["is_again"] and b["is_again"]) else None
    if a["is_part"] or b["is_part"]:
        return None
    labels = (a["kind"] == "label") + (b["kind"] == "label")
    if labels == 2:
        return "humans"
    if labels == 1:
        return "human" if {a["kind"], b["kind"]} <= {"reward", "label"} else None
    return "graders" if {a["kind"], b["kind"]} <= {"reward", "metric"} else None


def grader_agreement(
    store: Reading, filters: Filters = EVERYTHING, *, first: str | None = None, second: str | None = None
) -> pd.DataFrame:
    """One row per run, split and pair of graders that judged the same rollouts: how far do they agree beyond chance?

    Pairs are a grader against people's labels, people among themselves, a grader against its re-grade, and whole
    graders; others where both are named. Verdicts are as the rules `graders` say.
    Columns: run_id, split, first_grader, second_grader, relation, is_opposite (one of them alone marks
    what is wrong: scores cannot be compared then, only verdicts), num_rollouts, num_samples, both_right, only_first,
    only_second, neither (rollouts by who says "right"), agreement (share of equal verdicts, 0–1, Wilson interval for as
    many independent rollouts as the samples' attempts are worth), kappa (Cohen's κ), alpha (Krippendorff's, nominal),
    right_share (of all verdicts, those that say "right"), bias (mean over samples of second − first score, t interval),
    limit_low, limit_high (between them 95 % of the differences of scores lie, if normal), correlation (Pearson),
    interval_alpha (Krippendorff's for scores), …_low, …_high (95 %, bootstrap over samples where not said otherwise),
    reason (why κ or its interval is missing), verdict (in words).

    Raises:
        QuestionError: A grader named is none of these runs, or the rules in `graders.toml` cannot be read.
    """
    known = graders(store, filters)
    check_graders(known, first, second)
    pairs = pairs_of(known, first, second)
    frame = pair_sums(store, filters, pairs)
    asked = {(each["run_id"], each["first_grader"], each["second_grader"]): each for each in pairs}
    rows = []
    for keys, own in frame.groupby(KEYS, dropna=False, sort=False):
        named = named_keys(keys)
        own_pair = asked[named["run_id"], named["first_grader"], named["second_grader"]]
        is_opposite = own_pair["first_wrong"] != own_pair["second_wrong"]
        seed = seed_of("grader_agreement", filters, named["first_grader"], named["second_grader"])
        found = _agreement(own, seed) | (dict.fromkeys(_OF_SCORES) if is_opposite else {})
        rows.append({**named, "relation": own_pair["relation"], "is_opposite": is_opposite, **found})
    columns = [*KEYS, "relation", "is_opposite", *_COUNTS, *_NUMBERS, "reason", "verdict"]
    order = [list(asked).index((row["run_id"], row["first_grader"], row["second_grader"])) for row in rows]
    rows = [rows[each] for each in np.argsort(order, kind="stable")]
    return pd.DataFrame(rows, columns=columns).astype(dict.fromkeys(_NUMBERS, float))


def named_keys(keys: Hashable) -> dict[str, Any]:
    """Run, split and graders of a group of rows, None where there is none."""
    values = keys if isinstance(keys, tuple) else (keys,)
    return {name: each if isinstance(each, str) else None for name, each in zip(KEYS, values, strict=True)}


def check_graders(known: pd.DataFrame, *names: str | None) -> None:
    """That graders named are among those known.

    Raises:
        QuestionError: One is not; the message says which there are.
    """
    there = list(dict.fromkeys(known["grader"]))
    for name in names:
        if name is not None and name not in there:
            raise QuestionError(f"there is no grader {name[:60]!r}; there is {', '.join(there[:20]) or 'none'}")


def pair_sums(store: Reading, filters: Filters, pairs: Iterable[dict[str, Any]]) -> pd.DataFrame:
    """Sums of every pair of graders over the rollouts of each sample, see `sql/grader_agreement.sql`."""
    return store.ask("grader_agreement", {**filters.parameters(), **pair_parameters(store, pairs)})


def pair_parameters(store: Reading, pairs: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Rules and pairs as parameters of statements; a pair that is nowhere stands for none, so that types are known."""
    given = [{name: each[name] for name in _PAIR} for each in pairs]
    names = sorted({each[name] for each in given for name in ("first_grader", "second_grader")})
    own = [each["run_id"] for each in pairs if each["is_own_reward"]]
    nothing = dict(zip(_PAIR, ("", "", 0.0, False, "", 0.0, False), strict=True))
    rules = grader_rules(store).parameter
    return {"rules": rules, "pairs": given or [nothing], "graders": names or [""], "own": own or [""]}


_PAIR: Final = (
    "run_id",
    *(f"{side}_{name}" for side in ("first", "second") for name in ("grader", "threshold", "wrong")),
)


def _agreement(own: pd.DataFrame, seed: int) -> dict[str, Any]:
    """Every figure of one pair in one run and split, from a row a sample."""
    table = np.column_stack([floats(own, name) for name in CELLS])
    numbers = np.column_stack([floats(own, name) for name in PAIRS])
    counts, total = table.sum(axis=0), float(table.sum())
    equal, num = table[:, 0] + table[:, 3], table.sum(axis=1)
    share, (low, high) = float(equal.sum()) / total, share_interval(equal, num)
    columns = np.hstack((table, numbers))
    found = intervals(
        columns,
        {
            "kappa": lambda sums: kappa_of(sums[..., :4]),
            "alpha": lambda sums: alpha_of(coincidences_of(sums[..., :4])),
            "interval_alpha": lambda sums: interval_alpha_of(sums[..., 4:]),
        },
        seed=seed,
    )
    values = {
        "kappa": _known(kappa_of(counts)),
        "alpha": _known(alpha_of(coincidences_of(counts))),
        "interval_alpha": _known(interval_alpha_of(numbers.sum(axis=0))),
    }
    bias = sample_mean((numbers[:, 2] - numbers[:, 1]) / numbers[:, 0])
    limits = limits_of_agreement(numbers.sum(axis=0)) or (None, None)
    right = (2 * counts[0] + counts[1] + counts[2]) / (2 * total)
    reason = ONE_VALUE_EACH if values["kappa"] is None else found["kappa"].reason
    row: dict[str, Any] = {
        "num_rollouts": int(total),
        "num_samples": len(own),
        **dict(zip(CELLS, counts.astype(int).tolist(), strict=True)),
        **{"agreement": share, "agreement_low": low, "agreement_high": high, "right_share": right},
        **{"bias": bias.value, "bias_low": bias.interval.low, "bias_high": bias.interval.high},
        **{"limit_low": limits[0], "limit_high": limits[1], "correlation": _known(pearson_of(numbers.sum(axis=0)))},
        **{"reason": reason, "verdict": said(values["kappa"], found["kappa"], right)},
    }
    for name, value in values.items():
        each = found[name] if value is not None else Interval.none("", "undefined")
        row |= {name: value, f"{name}_low": each.low, f"{name}_high": each.high}
    return row


def said(kappa: float | None, interval: Interval, right_share: float) -> str:
    """What κ lets one say: agreement beyond chance, none that could be shown, or less than chance."""
    if kappa is None:
        return "cannot be said: one verdict only"
    if interval.low is None or interval.high is None:
        return "cannot be said: no interval"
    word = "agree beyond chance" if interval.low > 0 else "agree less than chance would have it"
    if interval.low <= 0 <= interval.high:
        word = "no agreement beyond chance could be shown"
    if max(right_share, 1 - right_share) >= LOPSIDED:
        word += "; verdicts are nearly all one, which makes κ low however well they agree"
    return word


def _known(value: Floats) -> float | None:
    found = float(value)
    return found if np.isfinite(found) else None


def grader_confusion(
    store: Reading, filters: Filters = EVERYTHING, *, first: str, second: str, bins: int = BINS
) -> pd.DataFrame:
    """One row per run and cell of scores, ordered by them: which scores do two graders give the same rollouts?

    Columns: run_id, first_low, first_high, second_low, second_high (bounds of the cell; equal where a grader gives at
    most `bins` different scores), num_rollouts, num_samples, num_disagree (rollouts with opposite verdicts).

    Raises:
        QuestionError: A grader named is none of these runs, or `bins` is not 2 to 100.
    """
    if not 2 <= bins <= 100:
        raise QuestionError(f"bins must be 2 to 100, not {bins}")
    pairs = _chosen(store, filters, first, second)
    return store.ask("grader_confusion", {**filters.parameters(), **pair_parameters(store, pairs), "bins": bins})


def grader_disagreements(
    store: Reading,
    filters: Filters = EVERYTHING,
    *,
    first: str,
    second: str,
    which: str = "differ",
    first_low: float | None = None,
    first_high: float | None = None,
    second_low: float | None = None,
    second_high: float | None = None,
    limit: int = 50,
    offset: int = 0,
) -> pd.DataFrame:
    """One row per rollout, opposite verdicts and the widest gaps first, a page of them: where do two graders differ?

    `which`: opposite verdicts (`differ`), `both_right`, `only_first`, `only_second`, `neither`, or `all`; bounds
    keep scores from low to below high (equal bounds: exactly these).
    Columns: run_id, rollout_id, sample_id, attempt, split, step, first_grader, second_grader, first_value,
    second_value, first_right, second_right (verdicts), difference (second − first), num_total (how many in all).

    Raises:
        QuestionError: A grader named is none of these runs, or `which` is none of the above.
    """
    if which not in WHICH:
        raise QuestionError(f"which must be one of {', '.join(WHICH)}, not {which!r}")
    pairs = _chosen(store, filters, first, second)
    bounds = {"first_low": first_low, "first_high": first_high, "second_low": second_low, "second_high": second_high}
    own = {**pair_parameters(store, pairs), **bounds, "cell": which, "limit": limit, "offset": offset}
    return store.ask("grader_disagreements", {**filters.parameters(), **own})


def _chosen(store: Reading, filters: Filters, first: str, second: str) -> list[dict[str, Any]]:
    known = graders(store, filters)
    check_graders(known, first, second)
    return pairs_of(known, first, second)
