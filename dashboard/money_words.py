"""Sentences of the page Time and money. Pure functions from rows to text."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import pandas as pd

from dashboard.rows import records, texts
from dashboard.words import decimals, number, percent, plural, seconds, shortened, signed, verb, whole

PART_WORDS: Final = {
    "model": "the model",
    "tools": "tools",
    "user": "waiting for the user",
    "queue": "queueing",
    "setup": "environment set-up",
    "grading": "grading",
    "rest": "not accounted for",
}
SMALL: Final = 0.005
"""Parts of less than this share are left out of a sentence."""
MAX_NAMED: Final = 3
_NOT_TOLD: Final = " is not told: "
_UNITS: Final = {"tokens": "token", "rollouts": "rollout", "hours": "rollout-hour", "steps": "step"}
Row = Mapping[str, Any]


def amount(value: float | None, unit: str) -> str:
    """So much of a unit: "$0.42", "1.9 M tokens", "24.5 rollout-hours", "1 600 rollouts"."""
    if value is None or pd.isna(value):
        return "–"
    if unit == "usd":
        return f"${_dollars(value)}"
    return f"{short(value)} {_UNITS[unit]}{'' if value == 1 else 's'}"


def _dollars(value: float) -> str:
    return whole(value) if abs(value) >= 1_000 else decimals(value, 2) if abs(value) >= 1 else number(value)


def short(value: float) -> str:
    """A count in few letters: 640, 12.4 k, 1.9 M, 3.2 G."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= size:
            return f"{number(value / (1e3 if letter == 'k' else size))} {letter}"
    return whole(value) if float(value).is_integer() else number(value)


def told(sentences: Sequence[str]) -> tuple[str, list[str]]:
    """What is said of a run, and apart from it the sentences that only say why something is not told."""
    known = [each for each in sentences if each]
    untold = [each for each in known if _NOT_TOLD in each]
    return " ".join(each for each in known if each not in untold), untold


def shares(rows: Sequence[Row]) -> str:
    """Where the seconds of one run's rollouts go, the largest part first."""
    first = rows[0]
    if not first["num_rollouts"]:
        return f"Of {plural(first['num_without_latency'], 'rollout')} none has a latency: where time goes is not known."
    known = [row for row in rows if row["share"] is not None and row["part"] != "rest" and row["share"] >= SMALL]
    known.sort(key=lambda row: -row["share"])
    told = [_share(row) for row in known]
    rest = next(row for row in rows if row["part"] == "rest")
    if rest["share"] is not None and rest["share"] >= SMALL:
        told.append(f"{percent(rest['share'])} are not accounted for")
    whole_time = (
        f"Of a rollout's {seconds(first['latency_mean_s'])} (mean of {plural(first['num_rollouts'], 'rollout')})"
    )
    return f"{whole_time}, {_and(told)}." if told else f"{whole_time} nothing is told apart."


def _share(row: Row) -> str:
    interval = (
        "" if row["share_ci_low"] is None else f" [{percent(row['share_ci_low'])}, {percent(row['share_ci_high'])}]"
    )
    least = "at least " if row["num_missing"] else ""
    return f"{least}{percent(row['share'])}{interval} are {PART_WORDS[row['part']]}"


def waits(frame: pd.DataFrame) -> str:
    """How long the last 5 % of rollouts hold the steps of one run up, in the median; or why that is not said."""
    held = frame[frame["held_s"].notna()]
    if held.empty:
        reasons = texts(frame["reason"])
        return f"Whether steps wait for their last rollouts is not told: {reasons[0]}." if reasons else ""
    step = "a step" if held["step"].notna().any() else "the whole"
    middle, span = held["held_s"].median(), held["span_s"].median()
    several = f" in the median of {plural(len(held), 'step')}, {seconds(held['held_s'].max())} at most" * (
        len(held) > 1
    )
    return f"The last 5 % of rollouts alone hold {step} up by {seconds(middle)} (of {seconds(span)}){several}."


def spent(by_step: pd.DataFrame) -> str:
    """Tokens and dollars of one run, a step where it has steps, else a rollout."""
    stepped = by_step[by_step["step"].notna()]
    rows = stepped if len(stepped) else by_step
    known = rows[rows["num_tokens_known"] > 0]
    said = []
    over = ("step", len(known)) if len(stepped) else ("rollout", int(known["num_tokens_known"].sum()))
    if len(known):
        tokens = known["input_tokens"].fillna(0).sum() + known["output_tokens"].fillna(0).sum()
        said.append(f"{amount(round(tokens / over[1]), 'tokens')} a {over[0]}")
    priced = rows[rows["usd"].notna()]
    if len(priced):
        over_usd = len(priced) if len(stepped) else int(priced["num_costed"].sum())
        least = "at least " if priced["is_lower_bound"].any() else ""
        said.append(f"{least}{amount(priced['usd'].sum() / over_usd, 'usd')} a {over[0]}")
    text = _and(said)
    return f"{text[0].upper()}{text[1:]}." if text else ""


def solved(row: Row) -> str:
    """What a solved sample of one run costs: dollars, else tokens, else rollouts; or why that is not said."""
    unit = solved_in(row)
    if unit is None:
        why = str(row["reason"] or "nothing of its cost is known").replace(
            ": say from which reward on (reward_at_least)", "; say from which reward on in the field below"
        )
        return f"What a solved sample costs is not told: {why}."
    low, high = row[f"{unit}_per_solved_ci_low"], row[f"{unit}_per_solved_ci_high"]
    interval = "" if low is None else f" [{_bare(low, unit)}, {_bare(high, unit)}]"
    least = "at least " if unit == "usd" and row["is_lower_bound"] else ""
    counts = f"{whole(row['num_solved'])} of {plural(row['num_samples'], 'sample')} solved"
    counts += "" if unit == "usd" else "; no price is stated"
    why = f"; no interval: {row['reason']}" if low is None and row["reason"] else ""
    text = f"{least}{amount(row[f'{unit}_per_solved'], unit)}{interval} per solved sample ({counts}{why})."
    return text[0].upper() + text[1:]


def solved_in(row: Row) -> str | None:
    """The first unit in which the cost of a solved sample is known."""
    return next((unit for unit in ("usd", "tokens", "rollouts") if row[f"{unit}_per_solved"] is not None), None)


def _bare(value: float, unit: str) -> str:
    return _dollars(value) if unit == "usd" else short(value)


def stop(row: Row) -> str:
    """Whether the last validations of one run show a gain, since when none is shown, and for how much."""
    if row["verdict"] == "too few":
        return f"When to stop is not told: {row['reason']}."
    if row["verdict"] == "gain":
        bounds = f"[{signed(row['window_ci_low'], 2)}, {signed(row['window_ci_high'], 2)}]"
        gain = f"{signed(row['window_gain'], 2)} {bounds}"
        return (
            f"The reward still rises: {gain} from step {row['window_from_step']} to {row['last_step']}, "
            f"for {amount(row['window_spent'], row['unit'])} (n = {plural(row['num_samples'], 'sample')})."
        )
    since = f"{signed(row['since_gain'], 2)} [{signed(row['since_ci_low'], 2)}, {signed(row['since_ci_high'], 2)}]"
    for_what = f"for {amount(row['since_spent'], row['unit'])} since step {row['stop_after_step']}"
    if row["since_ci_low"] is None:
        since = signed(row["since_gain"], 2)
    if row["verdict"] == "loss":
        return f"The reward fell: {since} {for_what}."
    steps = int(row["last_step"]) - int(row["stop_after_step"])
    left = "" if row["since_ci_high"] is None else f"; as much as {signed(row['since_ci_high'], 2)} may be there"
    return f"The last {plural(steps, 'step')} bought nothing that can be told from noise: {since} {for_what}{left}."


def regraded(stops: pd.DataFrame, names: Mapping[str, str]) -> str:
    """That other versions of graders took over between the validations compared; nothing where none did."""
    rows = [row for row in records(stops) if row["num_regraded"]]
    if not rows:
        return ""
    said = [
        f"{names.get(row['run_id'], row['run_id'])}: before the validation of step {row['regraded_step']} the grader "
        f"goes from version {shortened(row['version_before'])} to {shortened(row['version_after'])}"
        + (f" (the last of {whole(row['num_regraded'])} such changes)" if row["num_regraded"] > 1 else "")
        for row in rows[:MAX_NAMED]
    ]
    more = f"; {plural(len(rows) - MAX_NAMED, 'more run')} likewise" if len(rows) > MAX_NAMED else ""
    what = "what is gained or lost across that step may be the grader's, not the policy's"
    return f"{'; '.join(said)}{more}: {what}, and so may be when to stop."


def cautions(
    by_run: pd.DataFrame, waits_frame: pd.DataFrame, costs: pd.DataFrame, names: Mapping[str, str]
) -> list[str]:
    """What could mislead: parts that are missing or overlap, latencies not known, prices not stated."""
    found = []
    rows = records(by_run)
    absent: dict[str, list[str]] = {run: [] for run in texts(by_run["run_id"])}
    for row in rows:
        if row["num_rollouts"] and row["seconds_mean"] is None and row["part"] in ("model", "tools"):
            absent[str(row["run_id"])].append(PART_WORDS[row["part"]])
    lacking = [run for run, each in absent.items() if each]
    if lacking:
        parts = _and(list(dict.fromkeys(each for run in lacking for each in absent[run])))
        found.append(f"{_listed(lacking, names)}: no seconds of {parts}; they are in what is not accounted for.")
    partly = [row for row in rows if row["num_known"] and row["num_missing"] and row["part"] in ("model", "tools")]
    if partly:
        worst = max(partly, key=lambda row: row["num_missing"] / row["num_rollouts"])
        share = f"{whole(worst['num_missing'])} of {plural(worst['num_rollouts'], 'rollout')}"
        found.append(f"{share} lack the seconds of {PART_WORDS[worst['part']]}, which then are not accounted for.")
    heads = [row for row in rows if row["part"] == "rest"]
    without = sum(int(row["num_without_latency"]) for row in heads)
    if without and without < sum(int(row["num_rollouts"]) for row in heads) + without:
        found.append(
            f"{plural(without, 'rollout')} without a latency {verb(without, 'is', 'are')} left out of the times."
        )
    over = sum(int(row["num_overlapping"]) for row in heads)
    if over:
        found.append(
            f"In {plural(over, 'rollout')} the parts exceed the latency: they ran side by side, or grading came after."
        )
    loose = waits_frame["is_batch"].eq(other=False).fillna(value=False)
    if loose.any() and not loose.all():
        found.append(f"{plural(int(loose.sum()), 'step')} of {len(loose)} are no batch: rollouts start as others end.")
    bound = costs[costs["is_lower_bound"].astype(bool)]
    if len(bound):
        what = list(dict.fromkeys(each for text in texts(bound["unpriced"]) for each in text.split(", ")))
        found.append(
            f"Dollars are a lower bound: {_and(what) or 'some rollouts'} {verb(len(what), 'has', 'have')} no price."
        )
    return found


def prices(frame: pd.DataFrame, costs: pd.DataFrame) -> str:
    """Where dollars come from, and which models have no price."""
    num, reported = int(costs["num_costed"].sum()), int(costs["num_reported"].sum())
    origin = "" if frame.empty else str(frame["origin"].iloc[0])
    dated = None if frame.empty else frame["dated"].iloc[0]
    said = []
    if reported:
        said.append(f"The cost of {plural(reported, 'rollout')} is as the source reports it; nothing is added to it.")
    if num - reported:
        day = "" if dated is None or pd.isna(dated) else f", of {dated}"
        said.append(f"That of {plural(num - reported, 'rollout')} is computed from your prices{day}.")
    if not num:
        said.append("No dollars: the source reports no cost, and no price is stated.")
    bare = texts(frame[(frame["kind"] == "model") & ~frame["is_priced"].astype(bool)]["name"].replace("", "not named"))
    if bare and reported < int(costs["num_rollouts"].sum()):
        said.append(f"Without a price: {_and([*bare[:MAX_NAMED]])}{' and more' if len(bare) > MAX_NAMED else ''}.")
    if origin == "file":
        said.append("The prices are not the default: prices.toml in the store's folder.")
    return " ".join(said)


def stragglers(frame: pd.DataFrame, what: str) -> str:
    """Which are slow beyond chance, of how many; or that none is."""
    if frame.empty:
        return (
            f"No step has 20 rollouts with a latency, or no {what} is named: who is slow again and again is not told."
        )
    tested = int(frame.drop_duplicates("run_id")["num_tested"].sum())
    found = records(frame[frame["is_beyond_chance"].astype(bool)])
    if not found:
        return f"None of {plural(tested, what)} is among the slowest 5 % of its steps more often than chance explains."
    named = [f"{row['name']} ({whole(row['num_slow'])} of {plural(row['num_rollouts'], 'rollout')})" for row in found]
    more = f" and {len(named) - MAX_NAMED} more" if len(named) > MAX_NAMED else ""
    who = f"{plural(len(named), what)} of {whole(tested)} {verb(len(named), 'is', 'are')}"
    said = "among the slowest 5 % of their steps more often than chance explains"
    return f"{who} {said}: {', '.join(named[:MAX_NAMED])}{more}."


def _listed(runs: Sequence[str], names: Mapping[str, str]) -> str:
    shown = [names.get(each, each) for each in runs[:MAX_NAMED]]
    return ", ".join(shown) + (f" and {len(runs) - MAX_NAMED} more" if len(runs) > MAX_NAMED else "")


def _and(parts: Sequence[str]) -> str:
    return "".join(parts) if len(parts) < 2 else f"{', '.join(parts[:-1])} and {parts[-1]}"
