"""The tail contracts page in words: verdict, cautions, figures, tables. Pure functions from frames to text."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import pandas as pd

from dashboard.distribution_words import exact
from dashboard.parts import Figure
from dashboard.rows import records
from dashboard.words import percent, plural, shortened, verb, whole
from queries.contracts import BROKEN, KEPT, UNDECIDED
from queries.limits import parsed
from queries.measures import ROLLOUT_MEASURES

SHAPES: Final[Mapping[str, str]] = {KEPT: "▲ kept", BROKEN: "▼ broken", UNDECIDED: "? cannot be said"}
MAX_NAMED: Final = 3
MAX_FIGURES: Final = 5
WORTH_SAYING: Final = 0.005
"""Share of stopped rollouts from which on they are spoken of."""
FEW_SAMPLES: Final = 20
"""Fewer samples than this are few for an interval of a share."""
_MOVES: Final = (("num_left", "left the tail"), ("num_entered", "entered it"), ("num_stayed_in", "stayed in it"))


def amount(limit: str) -> str:
    """The bound of a limit, given as written, in words: "10 tool calls"."""
    return parsed(limit)[0].amount


def origins(held: pd.DataFrame, names: Mapping[str, str]) -> str:
    """Where each limit comes from."""
    rows = records(held)
    if not rows:
        return "No limits are set."
    if rows[0]["origin"] == "viewer":
        return f"{_limits(rows)}: as written here."
    if rows[0]["origin"] == "file":
        return f"{_limits(rows)}: from limits.toml in the store's folder, because none is written here."
    said = [f"{row['sentence']} ({row['name']} of {_configured(row, names)})" for row in rows]
    return f"{_capital('; '.join(said))}: from the configuration, because none is written here or in limits.toml."


def _limits(rows: Sequence[Mapping[str, Any]]) -> str:
    return _capital("; ".join(str(row["sentence"]) for row in rows))


def _configured(row: Mapping[str, Any], names: Mapping[str, str]) -> str:
    first = names.get(str(row["run_id"]), str(row["run_id"]))
    return first if row["num_runs"] == 1 else f"{first} and {plural(row['num_runs'] - 1, 'other run')}"


def verdict(judged: pd.DataFrame, groups: Sequence[str]) -> list[str]:
    """How many limits are kept and what is over them, a text a run for up to three; counts of runs for more.

    `judged` are rows of `contract_shares`, one a limit and run; `groups` names the run of each.
    """
    rows = records(judged.assign(group=groups))
    named = list(dict.fromkeys(row["group"] for row in rows))
    if len(named) > MAX_NAMED:
        return [_many(rows, named)]
    told = []
    for name in named:
        own = [row for row in rows if row["group"] == name]
        shown = own if len(named) == 1 else [row for row in own if row["verdict"] != KEPT] or own[:1]
        told.append(f"{name}: {_counted(own)}. {_capital('; '.join(_finding(row) for row in shown))}.")
    return told


def _counted(rows: Sequence[Mapping[str, Any]]) -> str:
    kept, unsaid = (sum(row["verdict"] == each for row in rows) for each in (KEPT, UNDECIDED))
    if len(rows) == 1:
        return {KEPT: "its limit is kept", BROKEN: "its limit is broken"}.get(
            str(rows[0]["verdict"]), "whether its limit is kept cannot be said"
        )
    text = f"{kept or 'none'} of {len(rows)} limits {verb(kept, 'is', 'are')} kept"
    return f"{text}; of {unsaid} it cannot be said" if unsaid else text


def _many(rows: Sequence[Mapping[str, Any]], named: Sequence[str]) -> str:
    broken = {row["group"] for row in rows if row["verdict"] == BROKEN}
    kept = [name for name in named if all(row["verdict"] == KEPT for row in rows if row["group"] == name)]
    rest = len(named) - len(broken) - len(kept)
    text = f"Of {len(named)} runs, {len(kept) or 'none'} {verb(len(kept), 'keeps', 'keep')} every limit and "
    text += f"{len(broken) or 'none'} {verb(len(broken), 'breaks', 'break')} at least one"
    text += f"; for {rest} it cannot be said." if rest else "."
    known = [row for row in rows if row["share_over"] is not None]
    if known:
        worst = max(known, key=lambda row: row["share_over"] - row["allowed_share"])
        text += f" Furthest from it is {worst['group']}: {_finding(worst)}."
    return text


def _finding(row: Mapping[str, Any]) -> str:
    """What is said of one limit: "4.1 % [2.2 %, 7.5 %] of 300 rollouts are over 10 tool calls"."""
    bound = amount(row["limit"])
    if not row["num_rollouts"]:
        return f"no rollout says whether it is over {bound}"
    if row["percentile_ci_low"] is not None:
        return _percentile(row, bound)
    allowed = f", {percent(row['allowed_share'])} may be" if row["allowed_share"] else ""
    if not row["num_over"]:
        up_to = f"95 % interval up to {percent(row['ci_high'])}"
        return f"none of {plural(row['num_rollouts'], 'rollout')} is over {bound} ({up_to}){allowed}"
    return f"{share(row)} of {plural(row['num_rollouts'], 'rollout')} are over {bound}{allowed}"


def _percentile(row: Mapping[str, Any], bound: str) -> str:
    limit = parsed(row["limit"])[0]
    value = f"{limit.statistic} is {at_percentile(row)}"
    if row["verdict"] == UNDECIDED:
        return (
            f"whether {limit.statistic} is at most {bound} cannot be said: {value} (n = {whole(row['num_rollouts'])})"
        )
    where = "above the limit of" if row["verdict"] == BROKEN else "within the limit of"
    return f"{value} (n = {whole(row['num_rollouts'])}), {where} {bound}"


def share(row: Mapping[str, Any]) -> str:
    """The share over a limit with its interval: "4.1 % [2.2 %, 7.5 %]"."""
    if row["share_over"] is None:
        return "–"
    return f"{percent(row['share_over'])} [{percent(row['ci_low'])}, {percent(row['ci_high'])}]"


def at_percentile(row: Mapping[str, Any]) -> str:
    """The limited percentile with its interval and unit: "74.0 s [70.0, 81.0]"; "–" where none is limited."""
    if row["percentile_value"] is None:
        return "–"
    unit = ROLLOUT_MEASURES[parsed(row["limit"])[0].measure].unit
    text = f"{exact(row['percentile_value'])} {unit}"
    if row["percentile_ci_low"] is None:
        return f"{text} (n too small)"
    return f"{text} [{exact(row['percentile_ci_low'])}, {exact(row['percentile_ci_high'])}]"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def cautions(judged: pd.DataFrame, groups: Sequence[str]) -> list[str]:
    """What could mislead: rollouts stopped by a budget, values missing, failures among those over, few rollouts."""
    rows = records(judged.assign(group=groups))
    return [*_stopped(rows), *_missing(rows), *_failed(rows), *_few(rows)]


def _stopped(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    at = {id(row): row["num_stopped_at"] / row["num_rollouts"] for row in rows if row["num_rollouts"]}
    cut = [row for row in rows if at.get(id(row), 0) > WORTH_SAYING]
    if cut:
        worst = max(cut, key=lambda row: at[id(row)])
        lead = f"{_most(cut)}{percent(at[id(worst)])} of {worst['group']}'s rollouts were stopped at the limit of"
        yield _capital(
            f"{lead} {amount(worst['limit'])}: the tail is cut off there, and how far they would go is not known."
        )
        return
    stopped = [row for row in rows if (row["stopped_share"] or 0) > WORTH_SAYING]
    if stopped:
        worst = max(stopped, key=lambda row: row["stopped_share"])
        lead = f"{_most(stopped)}{percent(worst['stopped_share'])} of {worst['group']}'s rollouts were stopped"
        yield _capital(f"{lead} by a budget or cut off: how far they would have gone is not known.")


def _most(rows: Sequence[Mapping[str, Any]]) -> str:
    return "up to " if len({row["group"] for row in rows}) > 1 else ""


def _missing(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for limit in dict.fromkeys(row["limit"] for row in rows):
        own = [row for row in rows if row["limit"] == limit]
        missing, known = (sum(int(row[name]) for row in own) for name in ("num_missing", "num_rollouts"))
        if missing and known:
            title = ROLLOUT_MEASURES[parsed(limit)[0].measure].title
            yield f"{whole(missing)} of {plural(missing + known, 'rollout')} do not tell {title} and are left out."


def _failed(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for limit in dict.fromkeys(row["limit"] for row in rows):
        own = [row for row in rows if row["limit"] == limit]
        failed, over = (sum(int(row[name]) for row in own) for name in ("num_failed_over", "num_over"))
        if failed:
            lead = f"{whole(failed)} of the {plural(over, 'rollout')} over {amount(limit)}"
            yield f"{lead} ended in an infrastructure or grader failure."


def _few(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    samples = [int(row["num_samples"]) for row in rows if row["num_rollouts"]]
    if samples and min(samples) < FEW_SAMPLES:
        yield (
            f"{plural(min(samples), 'sample')} only: attempts at a sample are alike, and intervals from so few samples "
            "are somewhat too narrow."
        )
    few = [row for row in rows if "n too small" in (row["percentile_reason"] or "")]
    if few:
        fewest = min(int(row["num_rollouts"]) for row in few)
        needed = str(few[0]["percentile_reason"]).removeprefix("n too small: ").replace(" needed for", " for")
        yield f"Too few rollouts for the interval of a percentile: {fewest}, where it takes {needed}."


def figures(judged: pd.DataFrame, groups: Sequence[str]) -> list[Figure]:
    """A figure a limit for the last run: the share over it, or its percentile, and whether it is kept."""
    rows = records(judged.assign(group=groups))
    several = len({row["group"] for row in rows}) > 1
    own = [row for row in rows if rows and row["group"] == rows[-1]["group"]][:MAX_FIGURES]
    return [_figure(row, several=several) for row in own]


def _figure(row: Mapping[str, Any], *, several: bool) -> Figure:
    limit = parsed(row["limit"])[0]
    label = f"Over {limit.amount}" if limit.percentile is None else limit.sentence
    value = percent(row["share_over"])
    if row["percentile_value"] is not None:
        value = f"{exact(row['percentile_value'])} {ROLLOUT_MEASURES[limit.measure].unit}"
    return Figure(
        f"{label}, {row['group']}" if several else label, value, SHAPES[str(row["verdict"])], help=str(row["reason"])
    )


def board(judged: pd.DataFrame, groups: Sequence[str]) -> pd.DataFrame:
    """What stands where: one row a limit and run, in words."""
    rows = records(judged.assign(group=groups))
    columns = ("limit", "run", "verdict", "share over", "percentile", "stopped by a budget", "rollouts")
    made = [
        (
            _capital(parsed(row["limit"])[0].sentence),
            row["group"],
            SHAPES[str(row["verdict"])],
            share(row),
            at_percentile(row),
            percent(row["stopped_share"]),
            row["num_rollouts"],
        )
        for row in rows
    ]
    frame = pd.DataFrame(made, columns=columns)
    return frame.drop(columns=[] if (frame["percentile"] != "–").any() else ["percentile"])


def drawn(total: int, at_most: int) -> str:
    """That not every limit is drawn; else nothing."""
    return f"The first {at_most} of {total} limits are drawn; the table has all." if total > at_most else ""


def moved(moves: pd.DataFrame, baseline: str, candidate: str) -> str:
    """Who left the tail, who entered and who stayed, for up to three limits: rows of `contract_moves`."""
    told = [_moved(row) for row in records(moves)[:MAX_NAMED]]
    more = f" {len(moves) - MAX_NAMED} more in the table." if len(moves) > MAX_NAMED else ""
    return f"{shortened(candidate, 40)} against {shortened(baseline, 40)}. {' '.join(told)}{more}"


def _moved(row: Mapping[str, Any]) -> str:
    bound = amount(row["limit"])
    if not row["num_paired"]:
        return f"Over {bound}: no sample says it in both arms."
    if not row["share_over_baseline"] and not row["share_over_candidate"]:
        return f"Over {bound}: no attempt at any of {plural(row['num_paired'], 'paired sample')}, in either arm."
    counts = ", ".join(f"{whole(row[name]) if row[name] else 'none'} {what}" for name, what in _MOVES)
    return f"Over {bound}: of {plural(row['num_paired'], 'paired sample')} {counts}; {_difference(row)}."


def _difference(row: Mapping[str, Any]) -> str:
    sides = f"{percent(row['share_over_baseline'])} to {percent(row['share_over_candidate'])} of attempts"
    if row["ci_low"] is None:
        return f"{sides} (no interval: {row['ci_reason']})"
    if row["ci_low"] <= 0 <= row["ci_high"]:
        return f"no difference in the share over it could be shown ({sides}, {points(row)})"
    return f"{sides}, {points(row)}"


def points(row: Mapping[str, Any]) -> str:
    """A difference of shares in percentage points with its interval: "−61 points [−68, −54]"."""
    if row["delta"] is None:
        return "–"
    numbers = [100 * row[name] for name in ("delta", "ci_low", "ci_high") if row[name] is not None]
    shown = [f"{each:+.1f}".replace("-", "−") if round(each, 1) else "0" for each in numbers]
    return f"{shown[0]} points" + (f" [{shown[1]}, {shown[2]}]" if shown[1:] else "")


def moves_board(moves: pd.DataFrame, verdicts: Mapping[str, Mapping[str, str]]) -> pd.DataFrame:
    """One row a limit: verdict of both arms, who moved, and how the share over it changed.

    `verdicts` has by arm the verdict of each limit.
    """
    rows = records(moves)
    return pd.DataFrame(
        {
            "limit": [_capital(parsed(row["limit"])[0].sentence) for row in rows],
            **{
                arm: [SHAPES.get(verdicts[arm].get(row["limit"], ""), "–") for row in rows]
                for arm in ("baseline", "candidate")
            },
            "left": moves["num_left"],
            "entered": moves["num_entered"],
            "stayed in": moves["num_stayed_in"],
            "stayed out": moves["num_stayed_out"],
            "change of the share over": [points(row) for row in rows],
            "p": moves["p_value"],
        }
    )
