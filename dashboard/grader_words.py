"""Sentences of the Grader audit page. Pure functions from rows to text."""

from collections.abc import Mapping
from typing import Any, Final

import pandas as pd

from dashboard.parts import Figure
from dashboard.rows import records
from dashboard.words import number, percent, plural, signed, verb, whole
from queries.graders import LOPSIDED

FEW: Final = 30
"""Below about so many samples an interval of κ is known to be rough."""


def verdict(row: Mapping[str, Any]) -> str:
    """How far two graders agree, beyond chance, and in which direction they differ."""
    first, second = row["first_grader"], row["second_grader"]
    share = f"{percent(row['agreement'])} [{percent(row['agreement_low'])}, {percent(row['agreement_high'])}]"
    said = (
        f"{first} agrees with {second} on {share} of {plural(row['num_rollouts'], 'rollout')} "
        f"(κ {interval(row, 'kappa')}, {plural(row['num_samples'], 'sample')}): it passes "
        f"{plural(row['only_first'], 'answer')} that {second} calls wrong and fails {whole(row['only_second'])} that "
        f"it {'does not call wrong' if row['is_opposite'] else 'calls right'}."
    )
    if row["kappa"] is None or row["kappa_low"] is None:
        return f"{said} Whether that is more than chance cannot be said: {row['reason']}."
    if row["kappa_low"] > 0:
        return said
    if row["kappa_high"] < 0:
        return f"{said} That is less than two graders who know nothing of one another would agree."
    return f"{said} No agreement beyond chance could be shown."


def interval(row: Mapping[str, Any], name: str) -> str:
    """A number with its interval, or alone where there is none: 0.61 [0.48, 0.73]."""
    if row[name] is None:
        return "undefined"
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    return number(row[name], 2) if low is None else f"{number(row[name], 2)} [{number(low, 2)}, {number(high, 2)}]"


def cautions(row: Mapping[str, Any], known: pd.DataFrame) -> list[str]:
    """What could mislead: one-sided verdicts, few samples, graders of different things, where thresholds come in."""
    found = []
    most = max(row["right_share"], 1 - row["right_share"])
    if most >= LOPSIDED:
        found.append(
            f"{percent(most)} of all verdicts are the same: κ and α are low then however well two graders agree, and "
            "the share of equal verdicts is high however badly."
        )
    if row["num_samples"] < FEW:
        found.append(f"{plural(row['num_samples'], 'sample')} only: intervals of κ and α are rough below {FEW}.")
    if row["is_opposite"]:
        found.append("One of the two marks what is wrong: verdicts are compared, and scores are not.")
    if row["relation"] in ("graders", "chosen"):
        found.append("These two may measure different things: then that they differ is no fault of either.")
    for each in records(known[known["grader"].isin([row["first_grader"], row["second_grader"]])]):
        if each["marks_wrong"]:
            found.append(f"{each['grader']} marks what is wrong: where it says yes, the answer counts as not right.")
    return found


def thresholds(row: Mapping[str, Any], known: pd.DataFrame) -> str:
    """From which score on a grader says "right", where it gives no verdict itself."""
    own = known[known["grader"].isin([row["first_grader"], row["second_grader"]])]
    said = [f"{each['grader']} from {number(each['threshold'])} on" for each in records(own)]
    return f"Where a grader gives no verdict of its own, a score says right: {', '.join(said)} (rules: graders.toml)."


def figures(row: Mapping[str, Any]) -> list[Figure]:
    """Agreement, κ, α, the difference of scores, and their correlation."""
    share = f"{percent(row['agreement_low'])} to {percent(row['agreement_high'])}"
    return [
        Figure("Equal verdicts", percent(row["agreement"]), share, help="Wilson interval, by sample"),
        Figure("Cohen's κ", number(row["kappa"], 2), bounds(row, "kappa"), help=row["reason"] or "1 = all, 0 = chance"),
        Figure("Krippendorff's α", number(row["alpha"], 2), bounds(row, "alpha"), help="of verdicts; 0 = chance"),
        Figure("Score, second − first", signed(row["bias"], 2), bounds(row, "bias"), help="mean over samples"),
        Figure("α of the scores", number(row["interval_alpha"], 2), bounds(row, "interval_alpha"), help="by distance"),
    ]


def bounds(row: Mapping[str, Any], name: str) -> str:
    """The interval of a figure in words."""
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    return "no interval" if low is None else f"{number(low, 2)} to {number(high, 2)}"


def changes(frame: pd.DataFrame) -> list[str]:
    """Where another version of a grader took over, and what its scores did there; parts of graders left out."""
    found = []
    for row in records(frame[~frame["grader"].str.contains("/", regex=False)]):
        change = signed(row["change_mean"])
        inside = "" if row["ci_low"] is None else f" [{signed(row['ci_low'])}, {signed(row['ci_high'])}]"
        found.append(
            f"{row['grader']}, {row['split'] or 'no split'}: version {row['grader_version']} took over from "
            f"{row['earlier_version']} between steps {row['before_step']} and {row['first_step']}; on "
            f"{plural(row['num_samples'], 'sample')} scored at both the score changed by {change}{inside}. Grader and "
            "policy changed alike there: only grading the same rollouts again tells them apart."
        )
    return found


def again(frame: pd.DataFrame) -> list[str]:
    """What grading the same rollouts again changed, one sentence a re-grade."""
    found = []
    for row in records(frame):
        noise = (
            ""
            if row["noise_share"] is None
            else (
                f" One grading is off by {number(row['retest_sd'], 2)} (sd), "
                f"{percent(row['noise_share'])} of the variance between attempts at a sample."
            )
        )
        found.append(
            f"{row['first_grader']} against {row['second_grader']}: {percent(row['share_changed'])} of "
            f"{plural(row['num_rollouts'], 'rollout')} got another score, {whole(row['num_flipped'])} another verdict; "
            f"the mean changed by {signed(row['change_mean'])}.{noise}"
        )
    return found


def lost(frame: pd.DataFrame) -> str:
    """How many rollouts got no reward although something says that they are right."""
    if frame.empty:
        return "No rollout with a reward at its floor is called right by anything that was read."
    total, zeros = int(frame["num_total"].iloc[0]), int(frame["num_zero"].iloc[0])
    return (
        f"{whole(total)} of {plural(zeros, 'rollout')} without reward {verb(total, 'is', 'are')} called right by a "
        "verdict, a person, another grader, all assertions or the sample's reference: read them."
    )


def precision(frame: pd.DataFrame) -> list[str]:
    """Each rule's precision as far as readers looked."""
    return [
        f"{row['rule']}: {whole(row['num_real'])} of {plural(row['num_rollouts'], 'judged rollout')} are real, "
        f"{percent(row['precision'])} [{percent(row['ci_low'])}, {percent(row['ci_high'])}]"
        + (
            f"; readers contradict one another on {whole(row['num_conflicting'])} more."
            if row["num_conflicting"]
            else "."
        )
        for row in records(frame)
        if row["num_rollouts"]
    ]
