"""Sentences of the checkpoints page: which is best, what that is worth, who else may be. Pure functions from frames."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

import pandas as pd

from dashboard.parts import Figure
from dashboard.rows import records
from dashboard.run_words import reward_name
from dashboard.words import decimals, ends, number, percent, plural, signed, verb, whole

MAX_LISTED: Final = 10
"""Steps listed one by one; more are counted."""
Row = Mapping[str, Any]


def verdict(choice: Row, figures: pd.DataFrame, name: str) -> str:
    """Which step is best, what its reward is worth after having been chosen, and which cannot be told from it.

    `choice` is the run's row of `checkpoint_choice`, `figures` its rows of `checkpoint_figures`.
    """
    what, best = reward_name(choice["split"]), whole(choice["best_step"])
    n = f"n = {plural(choice['num_samples'], 'sample')}"
    if choice["num_steps"] == 1:
        (row,) = records(figures[figures["is_best"]])
        level = f"{number(row['reward_mean'])}{_brackets(row['reward_ci_low'], row['reward_ci_high'])}"
        return f"{name}: only step {best} can be judged, so there is nothing to choose. Its {what} is {level} ({n})."
    digits = _digits(choice)
    lead = f"{name}: step {best} has the highest {what}, {decimals(choice['reward_mean'], digits)} ({n})."
    return " ".join([lead, _worth(choice, digits), _again(choice), ties(figures)]).replace("  ", " ")


def held_out(choice: Row) -> str:
    """What the step chosen on one half of the samples has on the other, beside what the bootstrap expects."""
    if choice["reward_held_out"] is None or choice["reward_expected"] is None:
        return ""
    digits = _digits(choice)
    return (
        f"Held out: a step chosen on one half of the samples has {decimals(choice['reward_held_out'], digits)} on the "
        f"other, against {decimals(choice['reward_expected'], digits)} expected of one chosen on all."
    )


def _worth(choice: Row, digits: int) -> str:
    if choice["optimism"] is None:
        return f"How much the choice flatters it cannot be told: {choice['reason']}."
    least = 10.0**-digits / 2
    by = f"about {decimals(choice['optimism'], digits)}"
    if choice["optimism"] < least:
        by = f"less than {decimals(2 * least, digits)}"
    most = ""
    if choice["optimism_if_equal"] >= max(choice["optimism"], least):
        most = f" (at most {decimals(choice['optimism_if_equal'], digits)}, were all steps equally good)"
    expected = f"expect {decimals(choice['reward_expected'], digits)}"
    if choice["ci_low"] is None:
        expected += f", without an interval ({choice['reason']})"
    else:
        expected += f" [{decimals(choice['ci_low'], digits)}, {decimals(choice['ci_high'], digits)}]"
    return f"Chosen as the best of {whole(choice['num_steps'])} steps it flatters itself by {by}{most}: {expected}."


def _again(choice: Row) -> str:
    chance = choice["chance_best"]
    if chance is None:
        return ""
    often = _chance(chance)
    about = "about " if often[0].isdigit() else ""
    return f"With other samples like these it would be chosen again {about}{often} of the time."


def _chance(share: float | None) -> str:
    """A share of resamples in percent, never quite 0 or 100: resamples know only the samples at hand."""
    if share is not None and share > 0.99:
        return "over 99 %"
    return "under 1 %" if share is not None and share < 0.01 else percent(share)


def ties(figures: pd.DataFrame) -> str:
    """Which steps cannot be told from the best one."""
    others = figures[figures["reward_mean"].notna() & ~figures["is_best"]]
    tied = [whole(each) for each in sorted(others.loc[others["is_tied"], "step"])]
    if not len(others):
        return ""
    if not tied:
        return "It can be told from every other step."
    if len(tied) > MAX_LISTED:
        return f"{len(tied)} of the {len(others)} other steps cannot be told from it."
    return f"{'Step' if len(tied) == 1 else 'Steps'} {_and(tied)} cannot be told from it."


def cautions(choice: Row, warnings: pd.DataFrame, environments: Sequence[str]) -> list[str]:
    """What could mislead, most serious first: the warnings, then how samples were compared."""
    rows = records(warnings)
    train = next((row for row in rows if row["measure"] == "train_reward"), None)
    said = [_warning(row, choice["split"], train) for row in rows if row["measure"] != "train_reward"]
    if choice["split"] == "train":
        said.append("Train batches hold the very samples the policy was trained on: judge checkpoints on validation.")
    if not choice["is_common"]:
        said.append(
            "Too few samples are scored at every step, so each step counts with its own: part of a difference between "
            "steps may be the samples'."
        )
    elif choice["num_samples_left_out"]:
        left = plural(choice["num_samples_left_out"], "sample")
        are = verb(choice["num_samples_left_out"], "is", "are")
        said.append(f"{left} {are} not scored at every step and {are} left out of the choice.")
    if choice["num_steps_left_out"]:
        left = plural(choice["num_steps_left_out"], "step")
        have = verb(choice["num_steps_left_out"], "has", "have")
        said.append(f"{left} {have} under half of the samples of the fullest one and cannot be chosen.")
    if len(environments) > 1:
        listed = ", ".join(environments[:3])
        said.append(f"The reward pools {len(environments)} environments ({listed}): choose one in the sidebar.")
    return said


def _warning(row: Row, split: str, train: Row | None) -> str:
    """One warning with its evidence."""
    what, step, other = reward_name(split), whole(row["step"]), whole(row["reference_step"])
    value, reference = number(row["value"]), number(row["reference_value"])
    over = "" if row["num_samples"] is None else f" (n = {plural(row['num_samples'], 'sample')})"
    bounds = _brackets(row["ci_low"], row["ci_high"])
    change = f"{signed(row['difference'])}{bounds}"
    match row["warning"]:
        case "collapse":
            return (
                f"Collapse: at the last step, {step}, {what} is {value}, against {reference} at step {other}: "
                f"{change}{over}."
            )
        case "overfit":
            return (
                f"Overfitting: from step {other} to the last step, {step}, {what} fell by {change}{over}"
                f"{_train(train)}."
            )
        case "fallen":
            return f"From its best, step {other}, to the last step, {step}, {what} fell: {change}{over}."
        case "calls_gone":
            return (
                f"The agent has all but stopped calling tools: {value} calls a rollout at the last step, {step}, "
                f"against {reference} at step {other}."
            )
        case "output_gone":
            return (
                f"Output has all but vanished: {whole(row['value'])} tokens a rollout at the last step, {step}, "
                f"against {whole(row['reference_value'])} at step {other}."
            )
        case "no_calls":
            return (
                f"At the last step, {step}, {percent(row['value'])} of rollouts call no tool; at step {other} it was "
                f"{percent(row['reference_value'])}{over}."
            )
        case "attempts_alike":
            return (
                f"At the last step, {step}, all attempts have the same reward on {percent(row['value'])} of samples, "
                f"against {percent(row['reference_value'])} at step {other}{over}: little is left to learn from them, "
                "or the policy has collapsed onto one answer."
            )
        case "failures_decide":
            return (
                f"With infrastructure and grader failures left out step {step} is highest, {value} against {reference} "
                f"of step {other}: failures may decide the choice; read the failed rollouts of both first."
            )
        case "not_saved":
            return f"Step {step} was not saved as a checkpoint; the nearest that was is step {other}, {_saved(row)}."
        case "last_is_best":
            return (
                f"The best step is the last: since step {other} {what} rose by {change}{over}, and it may go on "
                "rising. Training may not have been finished."
            )
        case _:
            n = plural(row["num_samples"] or 0, "sample")
            return f"Only {n}: where rewards are skewed, intervals from so few are somewhat too narrow."


def _train(train: Row | None) -> str:
    """Where the train reward went meanwhile."""
    if train is None:
        return ""
    before, after = number(train["reference_value"]), number(train["value"])
    rose = train["ci_low"] is not None and train["ci_low"] > 0
    how = "rose" if rose else "held (no fall could be shown)"
    return f", while the train reward {how}: {before} up to step {whole(train['reference_step'])}, {after} at the end"


def _saved(row: Row) -> str:
    reward = f"with {number(row['reference_value'])}"
    lower = f"{signed(-row['difference'])}{_brackets(_minus(row['ci_high']), _minus(row['ci_low']))}"
    if row["ci_low"] is not None and row["ci_low"] > 0:
        return f"{reward}, which is lower: {lower}"
    return f"{reward}, which cannot be told from it: {lower}"


def figures(choice: Row, steps: pd.DataFrame) -> list[Figure]:
    """The figures on top: what the best step is worth, how sure the choice is, what was gained, what it costs."""
    digits = _digits(choice)
    scored = records(steps[steps["reward_mean"].notna()].sort_values("step"))
    first, best = scored[0], next(row for row in scored if row["is_best"])
    at = whole(choice["best_step"])
    observed = decimals(choice["reward_mean"], digits)
    items = []
    if choice["reward_expected"] is None:
        items.append(Figure(f"Reward of step {at}", observed, help=choice["reason"]))
    else:
        low, high = (decimals(choice[each], digits) for each in ("ci_low", "ci_high"))
        bounds = f"no interval, observed {observed}" if choice["ci_low"] is None else f"{low} to {high}"
        why = f"Observed {observed}, less what the choice flatters it by. {choice['reason'] or '95 % interval'}."
        items.append(Figure(f"Expected of step {at}", decimals(choice["reward_expected"], digits), bounds, help=why))
        tied = int(steps["is_tied"].sum())
        others = f"{tied} of {len(scored) - 1} others may be as good"
        items.append(Figure("Chosen again", _chance(choice["chance_best"]), others, help=_AGAIN))
    if best is not first:
        gain = f"{_brackets(_minus(first['delta_ci_high']), _minus(first['delta_ci_low'])).strip() or 'no interval'}"
        told = first["delta_ci_high"] is not None and first["delta_ci_high"] < 0
        value = signed(None if first["delta_mean"] is None else -first["delta_mean"])
        items.append(Figure(f"Gain since step {whole(first['step'])}", value, gain, help=_GAIN, good=None))
        if not told:
            items[-1] = Figure(items[-1].label, value, f"{gain}, not shown", help=_GAIN)
    if best["tool_calls_mean"] is not None:
        before = f"{number(first['tool_calls_mean'])} at step {whole(first['step'])}" if best is not first else None
        items.append(Figure("Tool calls", number(best["tool_calls_mean"]), before, help="Mean over rollouts."))
    if best["latency_p95_s"] is not None:
        before = f"{number(first['latency_p95_s'])} s at step {whole(first['step'])}" if best is not first else None
        items.append(Figure("Latency, P95", f"{number(best['latency_p95_s'])} s", before, help=best["p95_reason"]))
    return items


_AGAIN: Final = "Share of resamples of the samples in which this step is chosen."
_GAIN: Final = (
    "Reward of the best step less that of the first, sample by sample; the interval holds for all steps at once."
)
STANDINGS: Final = {"best": "best", "tied": "cannot be told from it", "apart": "lower", "none": "not scored"}
"""What a step is beside the best one."""


def standing(row: Row) -> str:
    """Which of `STANDINGS` a row of `checkpoint_figures` has."""
    if row["reward_mean"] is None:
        return "none"
    return "best" if row["is_best"] else "tied" if row["is_tied"] else "apart"


def interval(low: float | None, high: float | None) -> str | None:
    """Both ends of a reward's interval in one cell; None where there is none."""
    return None if low is None or high is None else f"{decimals(low, 3)} to {decimals(high, 3)}"


def alt(choice: Row, steps: pd.DataFrame) -> str:
    """The plot for a screen reader."""
    best, num = whole(choice["best_step"]), int(steps["reward_mean"].notna().sum())
    return (
        f"{reward_name(choice['split'])} of {plural(num, 'step')} with intervals; highest at step {best}. {ties(steps)}"
    )


def selected(points: Sequence[Row], choice: Row) -> int:
    """The step a comparison is offered for: the selected one, else the best."""
    steps = [int(each["step"]) for each in points if each.get("split") == choice["split"]]
    return steps[0] if steps else int(choice["best_step"])


def _digits(choice: Row) -> int:
    """Decimals that an interval of this width deserves; three where there is none."""
    if choice["ci_low"] is None:
        return 3
    width = choice["ci_high"] - choice["ci_low"]
    return min(max(0, 1 - math.floor(math.log10(width))), 6) if width > 0 else 3


def _brackets(low: float | None, high: float | None) -> str:
    """An interval in brackets, or nothing where there is none."""
    return "" if low is None or high is None else f" [{', '.join(ends(low, high))}]"


def _minus(value: float | None) -> float | None:
    return None if value is None else -value


def _and(items: Sequence[str]) -> str:
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"
