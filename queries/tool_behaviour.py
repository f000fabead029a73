"""Questions about how tools are used: calls at once and in rounds, mix, first call, failures and what follows."""

import numpy as np
import pandas as pd

from queries.connection import Reading, at_once
from queries.filters import EVERYTHING, Filters
from queries.frames import floats, insert_after, mean_intervals
from queries.rates import KEYS, add_share_interval, check_groups
from queries.stats import wilson
from queries.tool_rules import tool_rules


def tool_profile(
    store: Reading, filters: Filters = EVERYTHING, *, by: str = "run", apart: str | None = None
) -> pd.DataFrame:
    """One row per run (split, step, as `by` says; each `apart` by environment or agent): how are tools called, how often at once?

    Columns: run_id, split, step, environment, agent; num_rollouts (whose calls are known; told apart by agent, those in
    which it calls), num_unknown, num_samples, num_calls, num_failed, num_not_executed (handed to no tool),
    calls_per_turn (turn = assistant message), rounds_mean (turns with a call, mean over rollouts; ci_low and ci_high
    clustered by sample), calls_per_round, num_rounds, parallel_turn_rate (turns with two calls or more, of num_rounds),
    max_parallel_calls; num_parallel_calls, parallel_call_share (of num_calls), parallel_error_rate (failed of parallel
    calls), single_error_rate (of the others), error_rate_difference (parallel − single), num_wrappers and
    num_wrappers_refused (parallel wrappers, and those none of whose calls was executed); num_timed (rollouts whose tool
    times are known), critical_path_s, tool_latency_s (seconds), time_share (of the two). Rates 0–1 with …_ci_low and
    …_ci_high: 95 % Wilson for as many independent calls as the samples' attempts are worth; of the difference and of
    time_share 95 % t over samples. Told apart by agent, turns, rounds and times are those of rollouts it has to itself.

    Raises:
        QuestionError: There is no such grouping.
    """  # noqa: E501 - the first line is what the command line lists
    asked = {**filters.parameters(), **check_groups(by, apart)}
    calls, rounds = at_once(lambda name: store.ask(name, asked), ("tool_profile", "tool_rounds"))
    low, high = mean_intervals(rounds, "rounds_mean", "rounds_sd", "num_samples")
    insert_after(rounds, "rounds_mean", {"rounds_ci_low": low, "rounds_ci_high": high})
    low, high = mean_intervals(rounds, "time_share", "time_share_sd", "num_samples_timed")
    insert_after(rounds, "time_share", {"time_share_ci_low": np.maximum(low, 0), "time_share_ci_high": high})
    counts = {"parallel_turn_rate": ("num_rounds", "num_samples_calling")}
    _intervals(rounds, counts)
    calls["num_single_calls"] = calls["num_calls"] - calls["num_parallel_calls"]
    counts = {
        "parallel_call_share": ("num_calls", "num_samples"),
        "parallel_error_rate": ("num_parallel_calls", "num_samples_parallel"),
        "single_error_rate": ("num_single_calls", "num_samples_single"),
    }
    _intervals(calls, counts)
    name = "error_rate_difference"
    low, high = mean_intervals(calls, name, f"{name}_sd", "num_samples")
    insert_after(calls, name, {f"{name}_ci_low": low, f"{name}_ci_high": high})
    frame = _joined(rounds, calls)
    if apart == "agent":
        frame = frame[frame["num_calls"].fillna(0) > 0].reset_index(drop=True)
        frame["num_rollouts"] = frame["num_rollouts_calling"]
    return frame[_PROFILE]


_RATES = ("parallel_turn_rate", "parallel_call_share", "parallel_error_rate", "single_error_rate")


def _bounded(name: str) -> list[str]:
    return [name, f"{name}_ci_low", f"{name}_ci_high"]


_PROFILE = [
    *KEYS,
    *("num_rollouts", "num_unknown", "num_samples", "num_calls", "num_failed", "num_not_executed", "calls_per_turn"),
    *("rounds_mean", "rounds_ci_low", "rounds_ci_high", "calls_per_round", "num_rounds"),
    *(*_bounded("parallel_turn_rate"), "max_parallel_calls", "num_parallel_calls", *_bounded("parallel_call_share")),
    *(*_bounded("parallel_error_rate"), *_bounded("single_error_rate"), *_bounded("error_rate_difference")),
    *("num_wrappers", "num_wrappers_refused", "num_timed", "critical_path_s", "tool_latency_s"),
    *_bounded("time_share"),
]


def _intervals(frame: pd.DataFrame, counts: dict[str, tuple[str, str]]) -> None:
    for name, (num, samples) in counts.items():
        add_share_interval(frame, name, f"{name}_sd", num, samples, f"{name}_")


def _joined(rounds: pd.DataFrame, calls: pd.DataFrame) -> pd.DataFrame:
    """Both answers beside each other; a group without calls has counts of 0, one without rollouts of its own none."""
    # As objects: pyarrow cannot join columns of text that are empty, or NULL throughout.
    as_objects = dict.fromkeys(("run_id", "split", "environment", "agent"), object)
    rounds, calls = rounds.astype(as_objects), calls.astype(as_objects)
    both = calls.drop(columns=["num_samples"]).merge(
        rounds.drop(columns="num_calls"), how="outer", on=KEYS, validate="one_to_one"
    )
    own = calls[[*KEYS, "num_samples"]].rename(columns={"num_samples": "num_samples_calls"})
    both = both.merge(own, how="left", on=KEYS)
    both["num_samples"] = both["num_samples"].fillna(both["num_samples_calls"])
    counted = ["num_calls", "num_failed", "num_not_executed", "num_parallel_calls", "num_wrappers"]
    counted += ["num_wrappers_refused", "num_rollouts_calling"]
    known = both["num_rollouts"].fillna(0) > 0
    both.loc[known, counted] = both.loc[known, counted].fillna(0)
    order = both.assign(**{f"no_{each}": both[each].isna() for each in ("split", "environment", "agent")})
    names = ["run_id", "no_split", "split", "step", "no_environment", "environment", "no_agent", "agent"]
    return order.sort_values(names, kind="stable", na_position="first").reset_index(drop=True)


def tool_mix(
    store: Reading, filters: Filters = EVERYTHING, *, by: str = "run", apart: str | None = None
) -> pd.DataFrame:
    """One row per run (split, step, as `by` says; each `apart` by environment or agent) and tool, the most called first: which share of calls goes to each?

    Columns: run_id, split, step, environment, agent, tool, num_calls, num_all_calls (of the group), share (0–1),
    ci_low, ci_high (95 % Wilson, for as many independent calls as the samples' attempts are worth), num_samples (of
    the group, with a call), num_samples_calling (of these, that call the tool), num_failed.

    Raises:
        QuestionError: There is no such grouping.
    """  # noqa: E501 - the first line is what the command line lists
    frame = store.ask("tool_mix", {**filters.parameters(), **check_groups(by, apart)})
    add_share_interval(frame, "share", "share_sd", "num_all_calls", "num_samples")
    return frame


def first_calls(
    store: Reading, filters: Filters = EVERYTHING, *, by: str = "run", apart: str | None = None
) -> pd.DataFrame:
    """One row per run (split, step, as `by` says; each `apart` by environment or agent) and tool: which one is called first?

    Columns: run_id, split, step, environment, agent, tool (NULL = no call at all), num_first (rollouts that begin with
    it), num_rollouts (of the group, whose calls are known), share (0–1), ci_low, ci_high (95 % Wilson, for as many
    independent rollouts as the samples' attempts are worth), num_samples, reward_mean (of the rollouts that begin with
    it, mean over num_samples_scored samples: a relation, for samples differ).

    Raises:
        QuestionError: There is no such grouping.
    """  # noqa: E501 - the first line is what the command line lists
    frame = store.ask("first_calls", {**filters.parameters(), **check_groups(by, apart)})
    add_share_interval(frame, "share", "share_sd", "num_rollouts", "num_samples")
    return frame


def tool_errors(
    store: Reading, filters: Filters = EVERYTHING, *, by: str = "run", apart: str | None = None
) -> pd.DataFrame:
    """One row per run (split, step, as `by` says; each `apart` by environment or agent), tool and kind of error: which calls fail, of what?

    Columns: run_id, split, step, environment, agent, tool, kind (`not_executed`: handed to no tool, as the calls of a
    parallel wrapper that does not parse; `unknown_tool`, `invalid_arguments`, `timeout` as the rules `tools` tell them;
    `other`), source_kind (the source's own word), num_errors, num_rollouts, num_samples, share (of the group's failed
    calls, 0–1), num_tool_calls (of the tool in the group), rate (num_errors of these, 0–1).

    Raises:
        QuestionError: There is no such grouping, or the rules cannot be read.
    """  # noqa: E501 - the first line is what the command line lists
    own = {**check_groups(by, apart), "error_patterns": list(tool_rules(store).errors)}
    return store.ask("tool_errors", {**filters.parameters(), **own})


def unknown_tools(store: Reading, filters: Filters = EVERYTHING) -> pd.DataFrame:
    """One row per run and tool that was not offered, or never once answered: which tools are made up?

    Columns: run_id, tool, num_calls, num_failed, num_rollouts, is_offered (false: the run or its samples list the tools
    that are offered, and it is none of them; NULL: nothing lists them, and every call of it failed).
    """
    return store.ask("unknown_tools", filters.parameters())


def after_errors(
    store: Reading, filters: Filters = EVERYTHING, *, by: str = "run", apart: str | None = None
) -> pd.DataFrame:
    """One row per run (split, step, as `by` says; each `apart` by environment or agent) and what follows a failed call, most often first.

    What the same agent does in its next round of calls. Columns: run_id, split, step, environment, agent, what_follows
    (`same call` again, `changed arguments` of the same tool, `another tool`; with no further call `answers`, or `gives
    up`: the rollout ends without an answer), num_errors (failed calls), num_rollouts, num_all_errors (of the group),
    share (0–1), ci_low, ci_high (95 % Wilson, for as many independent calls as the samples' attempts are worth),
    num_samples, num_recovered_next (a call of that kind succeeds in the next round), num_recovered_later (the same tool
    succeeds in any later round), recovered_later_rate (0–1), recovered_ci_low, recovered_ci_high (95 % Wilson over
    rollouts).

    Raises:
        QuestionError: There is no such grouping.
    """  # noqa: E501 - the first line is what the command line lists
    frame = store.ask("after_errors", {**filters.parameters(), **check_groups(by, apart)})
    add_share_interval(frame, "share", "share_sd", "num_all_errors", "num_samples")
    errors, later, rollouts = (floats(frame, each) for each in ("num_errors", "num_recovered_later", "num_rollouts"))
    rate = later / errors
    low, high = wilson(rate * rollouts, rollouts)
    for name, values in (("recovered_later_rate", rate), ("recovered_ci_low", low), ("recovered_ci_high", high)):
        frame[name] = values
    return frame
