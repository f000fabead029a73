"""Questions about failures that are not the policy's: what they cost the reward, when and where, under which load."""

from typing import Any, Final

import numpy as np
import pandas as pd

from queries.connection import Reading
from queries.failure_rules import failure_rules
from queries.failures import book_of
from queries.filters import EVERYTHING, Filters
from queries.frames import insert_after, mean_intervals
from queries.scanning import bursts, cells
from queries.stats import seed_of, wilson

NUM_SLICES: Final = 48
MAX_RUNS: Final = 20
MAX_PLACES: Final = 12
"""Runs, and hosts and tools of each, that are looked at: the busiest."""
NUM_GROUPS: Final = 8
TOOL_KINDS: Final = ("server_error", "rate_limit", "connection", "timeout", "system_error")
"""Kinds of error of a call that speak of the tool, not of what was asked of it."""
_KEYS: Final = ["run_id", "kind", "place"]
_BURSTS: Final = [*_KEYS, "from_at", "to_at", "num", "num_failed", "share", "num_expected", "p_value"]


def failure_bounds(store: Reading, filters: Filters = EVERYTHING) -> pd.DataFrame:
    """One row per run, split and step, ordered by them: what would the reward be had only the policy failed?

    Columns: run_id, split, step, num_rollouts, num_scored, num_left_out (what infrastructure or grader failed, by the
    rules in force), reward_mean (as graded: mean over samples of their mean reward) with reward_ci_low, reward_ci_high
    and num_samples_scored, reward_kept_mean (these left out) with reward_kept_ci_low, reward_kept_ci_high and
    num_samples_kept, bound_low and bound_high (had they earned the lowest, the highest reward of their environment)
    with bound_ci_low (lower end of the interval of bound_low), bound_ci_high (upper end of that of bound_high) and
    num_samples_bounded, lowest, highest (the rewards taken for these). Intervals: 95 % t over samples.

    Raises:
        QuestionError: The rules in `failures.toml` cannot be read.
    """
    rules = failure_rules(store)
    reach = {"lowest": rules.lowest, "highest": rules.highest}
    frame = store.ask("failure_bounds", {**filters.parameters(), **book_of(rules), **reach})
    for mean, num in (("reward", "num_samples_scored"), ("reward_kept", "num_samples_kept")):
        low, high = mean_intervals(frame, f"{mean}_mean", f"{mean}_sd", num)
        insert_after(frame, f"{mean}_mean", {f"{mean}_ci_low": low, f"{mean}_ci_high": high})
    low, _ = mean_intervals(frame, "bound_low", "bound_low_sd", "num_samples_bounded")
    _, high = mean_intervals(frame, "bound_high", "bound_high_sd", "num_samples_bounded")
    insert_after(frame, "bound_high", {"bound_ci_low": low, "bound_ci_high": high})
    return frame.drop(columns=["reward_sd", "reward_kept_sd", "bound_low_sd", "bound_high_sd"])


def failure_places(store: Reading, filters: Filters = EVERYTHING, *, kind: str = "host") -> pd.DataFrame:
    """One row per run and place (`kind`: run, host or tool), the highest share first: where does what fail?

    Columns: run_id, kind, place, num (rollouts that began there; calls of a tool), num_failed (of these, what
    infrastructure or grader failed; calls that ended in a server error, a rate limit, a lost connection or a timeout),
    share (0–1), ci_low, ci_high (95 % Wilson interval, rollouts and calls taken as independent). Only what has a start.

    Raises:
        QuestionError: The rules in `failures.toml` cannot be read.
    """
    found = _slices(store, filters, with_tools=kind == "tool")
    found = found[found["kind"] == kind].groupby(_KEYS, as_index=False)[["num", "num_failed"]].sum()
    found["share"] = found["num_failed"].astype(float) / found["num"].astype(float)
    found["ci_low"], found["ci_high"] = wilson(found["num_failed"].astype(float), found["num"].astype(float))
    return found.sort_values(["share", *_KEYS], ascending=[False, True, True, True], ignore_index=True)


def failure_timeline(store: Reading, filters: Filters = EVERYTHING, *, kind: str = "run") -> pd.DataFrame:
    """One row per run, place (`kind`: run, host or tool) and slice of time, ordered by them: when does what fail?

    A run's time, from the first start to the last, is cut into 48 equal slices. Columns: run_id, kind, place, slice
    (from 0), from_at, to_at, num, num_failed, share (0–1); as `failure_places`.

    Raises:
        QuestionError: The rules in `failures.toml` cannot be read.
    """
    found = _slices(store, filters, with_tools=kind == "tool")
    found = found[found["kind"] == kind].reset_index(drop=True)
    number = found["slice"].astype(float)
    for at, name, ahead in ((4, "from_at", 0), (5, "to_at", 1)):
        after = pd.to_timedelta(found["slice_s"] * (number + ahead), unit="s")
        found.insert(at, name, (found["first_at"] + after).dt.round("us"))
    found["share"] = found["num_failed"].astype(float) / found["num"].astype(float)
    return found.drop(columns=["first_at", "slice_s"])


def failure_bursts(store: Reading, filters: Filters = EVERYTHING) -> pd.DataFrame:
    """One row per burst, the clearest first, five at most: did failures come at one time or place beyond chance?

    A burst is a stretch of at most a quarter of a run's time (or all of it, on one host) in which more rollouts of the
    run or of a host, or more calls of a tool, failed than chance explains: Kulldorff's scan statistic, events dealt out
    anew 199 times among all rollouts of the run, or all calls of the tool. Of at most 20 runs, and 12 hosts and tools
    of each, the busiest are looked at. Failures are those of `failure_places`.
    Columns: run_id, kind (run, host or tool), place, from_at, to_at, num, num_failed, share (0–1), num_expected (had
    they come evenly), p_value (over all stretches and places; 0.005 at least).

    Raises:
        QuestionError: The rules in `failures.toml` cannot be read.
    """
    found = _busiest(_slices(store, filters, with_tools=True))
    if found.empty:
        return pd.DataFrame(columns=_BURSTS).astype({"p_value": float, "share": float})
    places = np.asarray(found.groupby(_KEYS, sort=True).ngroup(), dtype=np.int64)
    shape = (int(places.max()) + 1, NUM_SLICES)
    slices = found["slice"].to_numpy(int)
    trials = cells(places, slices, found["num"].to_numpy(int), shape)
    events = cells(places, slices, found["num_failed"].to_numpy(int), shape)
    about = found.assign(row=places).drop_duplicates("row").set_index("row").sort_index()
    is_tool = about["kind"] == "tool"
    stratum: pd.Series[Any] = about["run_id"] + " " + np.where(is_tool, "tool " + about["place"], "")
    _, strata = np.unique(stratum.to_numpy(str), return_inverse=True)
    rows = [
        _burst(about.loc[each.place], each.first, each.length)
        | {"num": each.num_trials, "num_failed": each.num_events, "share": each.num_events / each.num_trials}
        | {"num_expected": each.expected, "p_value": each.p_value}
        for each in bursts(trials, events, strata, seed=seed_of("failure_bursts", filters))
    ]
    return pd.DataFrame(rows, columns=_BURSTS)


def failures_in_flight(store: Reading, filters: Filters = EVERYTHING) -> pd.DataFrame:
    """At most eight rows per run, ordered by run and load: do rollouts fail more often when many run at once?

    A run's rollouts are put into groups of about equal size by how many were in flight when they began, itself
    included. Columns: run_id, in_flight_from, in_flight_to, num, num_failed (what infrastructure or grader failed),
    share (0–1), ci_low, ci_high (95 % Wilson interval, rollouts taken as independent). Only with start and end.

    Raises:
        QuestionError: The rules in `failures.toml` cannot be read.
    """
    frame = store.ask("failures_in_flight", {**filters.parameters(), **book_of(failure_rules(store))})
    num = frame["num"].astype(float)
    of_run = num.groupby(frame["run_id"])
    middle = (of_run.cumsum() - num / 2) / of_run.transform("sum")
    group = np.floor(NUM_GROUPS * middle).clip(upper=NUM_GROUPS - 1).astype(int)
    grouped = frame.assign(group=group).groupby(["run_id", "group"], sort=True)
    found = grouped.agg(
        in_flight_from=("in_flight", "min"),
        in_flight_to=("in_flight", "max"),
        num=("num", "sum"),
        num_failed=("num_failed", "sum"),
    ).reset_index()
    found["share"] = found["num_failed"].astype(float) / found["num"].astype(float)
    found["ci_low"], found["ci_high"] = wilson(found["num_failed"].astype(float), found["num"].astype(float))
    return found.drop(columns="group")


def _slices(store: Reading, filters: Filters, *, with_tools: bool) -> pd.DataFrame:
    own = {"with_tools": with_tools, "kinds": list(TOOL_KINDS)}
    return store.ask("failure_places", {**filters.parameters(), **book_of(failure_rules(store)), **own})


def _busiest(found: pd.DataFrame) -> pd.DataFrame:
    """The slices of the busiest runs, and in each of the busiest hosts and tools."""
    total = found.groupby(_KEYS, as_index=False)["num"].sum()
    runs = total[total["kind"] == "run"].sort_values(["num", "run_id"], ascending=[False, True])["run_id"][:MAX_RUNS]
    total = total[total["run_id"].isin(set(runs))].sort_values(["num", "place"], ascending=[False, True])
    kept = total.groupby(["run_id", "kind"], sort=False).head(MAX_PLACES)
    return found.merge(kept[_KEYS], on=_KEYS)


def _burst(about: Any, first: int, length: int) -> dict[str, Any]:
    begins, ends = (
        (about["first_at"] + pd.Timedelta(seconds=float(about["slice_s"]) * number)).round("us")
        for number in (first, first + length)
    )
    return {**{name: about[name] for name in _KEYS}, "from_at": begins, "to_at": ends}
