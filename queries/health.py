"""Questions about training health: what trainers report under whatever names, else what the rollouts themselves say."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import numpy as np
import pandas as pd

from ingest.errors import QuestionError
from queries.connection import Reading, at_once
from queries.filters import EVERYTHING, Filters
from queries.health_rules import Rules, health_rules

SOURCES: Final = ("best", "reported", "computed")
_SERIES: Final = ["run_id", "split", "measure", "step", "value", "num", "over", "source", "name", "recorded_at"]
_TOLD: Final = ("title", "unit", "panel")
_KEY: Final = ["run_id", "split", "measure"]
_ORDER: Final = ("train", "valid", "test", "production")


@dataclass(frozen=True, slots=True)
class _Computed:
    """How a measure is computed: from which question's columns, and what its n counts."""

    measure: str
    value: str
    num: str
    over: str


_OF_ROLLOUTS: Final = (
    _Computed("response_length", "output_tokens_mean", "num_output_tokens", "rollouts"),
    _Computed("truncation", "truncation_rate", "num_status", "rollouts"),
    _Computed("errors", "error_rate", "num_status", "rollouts"),
    _Computed("tool_errors", "tool_error_rate", "num_calls", "calls"),
    _Computed("latency", "latency_mean_s", "num_latency", "rollouts"),
    _Computed("waiting_time", "queue_latency_mean_s", "num_queue_latency", "rollouts"),
    _Computed("off_policy_age", "off_policy_age", "num_off_policy_age", "rollouts"),
)
_OF_REWARD: Final = (_Computed("reward", "reward_mean", "num_samples_scored", "samples"),)
_OF_GROUPS: Final = (_Computed("zero_variance_groups", "zero_variance_share", "num_groups", "groups"),)
_OF_TURNS: Final = (
    _Computed("mismatch", "mismatch_mean", "num_mismatch", "turns"),
    _Computed("entropy", "entropy_mean", "num_entropy", "turns"),
)


def health_series(store: Reading, filters: Filters = EVERYTHING, *, source: str = "best") -> pd.DataFrame:
    """One row per run, split, measure and step, ordered by run, measure, split, step: how does every measure go?

    Columns: run_id, split, measure (a key of the rulebook `health`), step, value (in its unit; NULL = reported as null,
    NaN or infinite, or as a share outside 0–1), num (n, where computed) and what it counts (over: samples, rollouts,
    calls, groups, turns), source (`reported` by the trainer, or `computed` from rollouts), name (as reported),
    recorded_at (UTC); title, unit and panel as the rulebook has them. With source `best` a measure of a run and split
    is what was reported, else what can be computed.
    Filters on anything but runs, splits and steps apply to what is computed alone.

    Raises:
        QuestionError: `source` is none of best, reported and computed, or the rulebook has a fault.
    """
    if source not in SOURCES:
        raise QuestionError(f"source must be one of {', '.join(SOURCES)}, not {source!r}")
    rules = health_rules(store.root)
    asked = [_reported] * (source != "computed") + [_computed] * (source != "reported")
    frames = [each(store, filters, rules) for each in asked]
    known = set(frames[0].groupby(_KEY, dropna=False).groups) if len(frames) == 2 else set()
    if known:
        keys = frames[1][_KEY].itertuples(index=False, name=None)
        frames[1] = frames[1][[key not in known for key in keys]]
    kept = [each for each in frames if len(each)]
    return _ordered(pd.concat(kept, ignore_index=True) if kept else _empty(), rules)


def health_names(store: Reading, filters: Filters = EVERYTHING) -> pd.DataFrame:
    """One row per run and reported name, recognised ones first: which name filled which measure, and which none?

    Columns: run_id, name, split (that the number is taken for), use (`used`, `other name used`: another name of the
    same measure comes first in the rulebook, `no step`, `labelled` or `not recognised`), measure, rule (as the rulebook
    has it), trainer (whose name that is), num_values, num_null, first_step, last_step. Only the filters on runs and
    steps apply.

    Raises:
        QuestionError: The rulebook has a fault.
    """
    rules = health_rules(store.root)
    frame = _named(store, filters, rules)
    found = frame[["run_id", "name", "taken_split", "use", "measure", "rule", "trainer"]]
    found = found.rename(columns={"taken_split": "split"})
    found = pd.concat([found, frame[["num_values", "num_null", "first_step", "last_step"]]], axis=1)
    place = found["measure"].map({each: at for at, each in enumerate(rules.measures)}).fillna(len(rules.measures))
    is_used = (found["use"] != "used").astype(int)
    return (
        found.assign(_place=place, _used=is_used)
        .sort_values(["run_id", "_place", "split", "_used", "name"], kind="stable", na_position="last")
        .drop(columns=["_place", "_used"])
        .reset_index(drop=True)
    )


def health_turns(store: Reading, filters: Filters = EVERYTHING) -> pd.DataFrame:
    """One row per run, split, step and is_after_tool, ordered by them: do turns after tool results differ from others?

    Columns: run_id, split, step, is_after_tool (NULL: read by an older version), num_turns (assistant messages whose
    token figures were kept), num_rollouts, mismatch_mean (distance of the trainer's from the sampler's log-probability,
    nats), mismatch_p95 (mean over turns of each turn's 95th percentile), num_mismatch, entropy_mean, entropy_p95,
    num_entropy, logprob_mean, logprob_p05, num_logprob (turns it is known of).
    """
    return store.ask("health_turns", filters.parameters())


@dataclass(frozen=True, slots=True)
class Gathered:
    """What the statements say of runs, before any rule is applied: nothing here may be changed in place."""

    names: pd.DataFrame
    rollouts: pd.DataFrame
    rewards: pd.DataFrame
    groups: pd.DataFrame
    turns: pd.DataFrame


@lru_cache(maxsize=8)
def gathered(store: Reading, filters: Filters) -> Gathered:
    """The statements' answers, kept: the series, the patterns in them and the names come from the same ones."""
    parameters = {**filters.parameters(), "by_environment": False, "leave_out_failures": False}
    statements = ("health_names", "health_computed", "reward_curve", "signal_by_step", "health_turns")
    return Gathered(*at_once(lambda each: store.ask(each, parameters), statements))


def _named(store: Reading, filters: Filters, rules: Rules) -> pd.DataFrame:
    """Reported names with what they stand for (`taken_split`, `measure`, `rule` …) and whether they are used."""
    frame = gathered(store, filters).names.copy()
    pairs = [
        (name, None if pd.isna(split) else split) for name, split in zip(frame["name"], frame["split"], strict=True)
    ]
    known = {pair: rules.match(*pair) for pair in dict.fromkeys(pairs)}
    found = [known[pair] for pair in pairs]
    frame["measure"] = pd.Series([each and each.measure for each in found], dtype=object, index=frame.index)
    frame["taken_split"] = pd.Series([each and each.split for each in found], dtype=object, index=frame.index)
    for column in ("written", "trainer"):
        values = [each and getattr(each.name, column) for each in found]
        frame["rule" if column == "written" else column] = pd.Series(values, dtype=object, index=frame.index)
    frame["plus"] = [each.name.plus if each else np.nan for each in found]
    frame["times"] = [each.name.times if each else np.nan for each in found]
    labelled = frame["num_labelled"] == frame["num_values"] + frame["num_null"]
    usable = frame["measure"].notna() & (frame["num_with_step"] > 0) & ~labelled
    ranked = frame.assign(rank=[each.rank if each else 0 for each in found], is_empty=frame["num_values"] == 0)
    ordered = ranked[usable.astype(bool)].sort_values(["is_empty", "rank", "name"], kind="stable")
    chosen = ordered.drop_duplicates(["run_id", "taken_split", "measure"])
    frame["use"] = "other name used"
    frame.loc[frame["num_with_step"] == 0, "use"] = "no step"
    frame.loc[labelled, "use"] = "labelled"
    frame.loc[frame["measure"].isna(), "use"] = "not recognised"
    frame.loc[chosen.index, "use"] = "used"
    return frame


def _reported(store: Reading, filters: Filters, rules: Rules) -> pd.DataFrame:
    named = _named(store, filters, rules)
    used = named[named["use"] == "used"]
    if filters.splits is not None:
        used = used[used["taken_split"].isin(filters.splits)]
    if used.empty:
        return _empty()
    columns = {"run_id": "run_id", "split": "reported_split", "taken_split": "split", "measure": "measure"}
    columns |= {each: each for each in ("name", "plus", "times")}
    chosen = used[list(columns)].rename(columns=columns).astype(object)
    chosen = chosen.where(chosen.notna(), None)
    frame = store.ask("health_reported", {**filters.parameters(), "chosen": chosen.to_dict("records")})
    shares = [each.key for each in rules.measures.values() if each.unit == "share"]
    outside = frame["measure"].isin(shares) & ~frame["value"].between(0, 1)
    frame.loc[outside, "value"] = np.nan
    return frame.assign(num=np.nan, over=None, source="reported")[_SERIES]


def _computed(store: Reading, filters: Filters, rules: Rules) -> pd.DataFrame:
    found = gathered(store, filters)
    groups = found.groups[(found.groups["scope"] == "all") & (found.groups["num_groups"] > 0)]
    groups = groups.assign(zero_variance_share=groups["num_zero_variance"] / groups["num_groups"])
    frames = [*_long(found.rollouts, _OF_ROLLOUTS), *_long(found.rewards, _OF_REWARD), *_long(groups, _OF_GROUPS)]
    frames += _by_turn(found.turns)
    kept = [each for each in frames if len(each)]
    series = pd.concat(kept, ignore_index=True) if kept else _empty()
    return series[series["measure"].isin(rules.measures)]


def _by_turn(turns: pd.DataFrame) -> Iterable[pd.DataFrame]:
    """Measures of tokens: over all turns, and of mismatch after tool results and elsewhere."""
    after = turns["is_after_tool"].fillna(value=False).astype(bool)
    apart = turns["is_after_tool"].notna()
    for name, rows in (("mismatch_after_tool", turns[apart & after]), ("mismatch_elsewhere", turns[apart & ~after])):
        yield from _long(rows, (_Computed(name, "mismatch_mean", "num_mismatch", "turns"),))
    for each in _OF_TURNS:
        known = turns[turns[each.num] > 0]
        weights = known[each.num].astype(float)
        sums = known.assign(total=known[each.value] * weights, num=weights)
        pooled = sums.groupby(["run_id", "split", "step"], dropna=False, as_index=False)[["total", "num"]].sum()
        pooled[each.value], pooled[each.num] = pooled["total"] / pooled["num"], pooled["num"]
        yield from _long(pooled, (each,))


def _long(frame: pd.DataFrame, measures: Iterable[_Computed]) -> Iterable[pd.DataFrame]:
    """The rows of some measures, each below the other, where they have a value and a step."""
    for each in measures:
        rows = frame[frame[each.value].notna() & frame["step"].notna()]
        yield pd.DataFrame(
            {
                **{name: rows[name] for name in ("run_id", "split")},
                "measure": each.measure,
                "step": rows["step"],
                "value": rows[each.value].astype(float),
                "num": rows[each.num].astype(float),
                "over": each.over,
                "source": "computed",
                "name": None,
                "recorded_at": pd.Series(pd.NaT, index=rows.index, dtype="datetime64[us, UTC]"),
            }
        )


def _ordered(frame: pd.DataFrame, rules: Rules) -> pd.DataFrame:
    places = {each: at for at, each in enumerate(rules.measures)}
    splits = {each: at for at, each in enumerate(_ORDER)}
    frame = frame.assign(_place=frame["measure"].map(places), _split=frame["split"].map(splits).fillna(len(splits)))
    frame = frame.sort_values(["run_id", "_place", "_split", "step"], kind="stable").drop(columns=["_place", "_split"])
    for column in _TOLD:
        frame[column] = frame["measure"].map({key: getattr(each, column) for key, each in rules.measures.items()})
    return frame.astype({"num": "Int64", "step": "Int64"}).reset_index(drop=True)


def _empty() -> pd.DataFrame:
    types: dict[str, Any] = dict.fromkeys(_SERIES, object)
    types |= {"value": float, "num": float, "step": "Int64", "recorded_at": "datetime64[us, UTC]"}
    return pd.DataFrame({name: pd.Series(dtype=of) for name, of in types.items()})
