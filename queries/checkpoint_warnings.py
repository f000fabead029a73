"""The question what speaks against taking the best checkpoint as it stands: overfitting, collapse, too short a run."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

import numpy as np
import pandas as pd

from queries.checkpoint_choices import checkpoint_figures
from queries.connection import Reading
from queries.curves import reward_curve, step_deltas
from queries.filters import EVERYTHING, Filters
from queries.pairing import unpaired_difference
from queries.stats import Floats, wilson

SMALL: Final = 20
"""Fewer samples than this are few: where rewards are skewed, intervals from them are known to be too narrow."""
NEARLY_NOTHING: Final = 0.1
"""Calls or output below this share of their highest mean count as collapsed."""
JUMP: Final = 0.2
"""A rise of the share of rollouts without a tool call by this much is a jump."""
ALIKE: Final = 0.95
"""From this share of samples on, attempts that all agree leave nothing to learn from."""
MIN_REPEATED: Final = 10
WINDOW: Final = 10
"""Train steps averaged at most, up to the best step and at the end, to say where the train reward went."""

Row = Mapping[Any, Any]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that speaks against a checkpoint, with its evidence: a measure at a step, and at another for reference.

    `difference` is value minus reference value, over `num_samples`, with its interval where it has one.
    """

    run_id: str
    warning: str
    measure: str
    step: int
    value: float
    reference_step: int | None = None
    reference_value: float = np.nan
    difference: float = np.nan
    ci_low: float = np.nan
    ci_high: float = np.nan
    num_samples: int | None = None


def checkpoint_warnings(store: Reading, filters: Filters = EVERYTHING, *, split: str = "valid") -> pd.DataFrame:
    """One row per run and warning, the most serious first: what speaks against shipping a run's best checkpoint?

    Columns: run_id, warning, measure, step, value (of the measure at the step), reference_step, reference_value,
    difference (value minus reference), ci_low, ci_high (95 %, NULL where the warning rests on none), num_samples.

    Warnings:
    collapse (reward at the last step below the first, or more than half of what was gained until the best is lost);
    overfit, fallen (reward at the last step below the best while the train reward, as mean of up to 10 steps, is not
    shown to fall, or does fall or is not known); calls_gone, output_gone (mean at the last step under a tenth of its
    highest); no_calls (share of rollouts without a tool call up by 0.2 or more); attempts_alike (attempts of nearly all
    samples have the same reward, which was not so at first); failures_decide (another step is best with failures left
    out); not_saved (the nearest saved checkpoint as reference); last_is_best (the reward rose until the end);
    few_samples (under 20). A fall from the best counts where its interval, which holds for all steps at once, excludes
    0, so in flat noise at most one run in forty is said to have fallen. No rows where nothing speaks against it.
    """
    return found_in(
        checkpoint_figures(store, filters, split=split),
        step_deltas(store, filters, split=split, reference="first"),
        reward_curve(store, replace(filters, splits=("train",))),
    )


def found_in(figures: pd.DataFrame, changes: pd.DataFrame, train: pd.DataFrame) -> pd.DataFrame:
    """The answer to `checkpoint_warnings` from the answers it is made of.

    These are `checkpoint_figures`, `step_deltas` against the first step, and `reward_curve` of the train batches.
    """
    if (figures["split"] == "train").any():  # beside itself the train batch says nothing of overfitting
        train = train.iloc[:0]
    found = [
        asdict(each)
        for run_id, steps in figures[figures["reward_mean"].notna()].groupby("run_id", sort=True)
        for each in _of_run(
            steps, changes[changes["run_id"] == run_id], train[(train["run_id"] == run_id) & train["step"].notna()]
        )
    ]
    frame = pd.DataFrame(found, columns=list(Finding.__dataclass_fields__))
    return frame.astype({"reference_step": "Int64", "num_samples": "Int64"})


def _of_run(figures: pd.DataFrame, changes: pd.DataFrame, train: pd.DataFrame) -> Iterator[Finding]:
    steps: list[Row] = [*figures.sort_values("step").to_dict("records")]
    best = next((each for each in steps if each["is_best"]), None)
    if best is None:
        return
    candidates = [each for each in steps if pd.notna(each["chance_best"])] or steps
    if len(candidates) > 1:
        yield from _falls(candidates[0], best, candidates[-1], changes, train)
        yield from _gone(candidates, "tool_calls", "calls_gone")
        yield from _gone(candidates, "output_tokens", "output_gone")
        yield from _no_calls(candidates[0], candidates[-1])
        yield from _alike(candidates[0], candidates[-1])
        yield from _failures_decide(candidates, best)
    yield from _not_saved(steps, best)
    if len(candidates) > 1 and best is candidates[-1] and candidates[0]["delta_ci_high"] < 0:
        yield _over(candidates[0], best, "last_is_best")
    if best["num_samples_scored"] < SMALL:
        yield _finding("few_samples", "reward", best, num_samples=int(best["num_samples_scored"]))


def _falls(first: Row, best: Row, last: Row, changes: pd.DataFrame, train: pd.DataFrame) -> Iterator[Finding]:
    """A reward that has fallen from its first or best step to the last one."""
    since = changes[changes["step"] == last["step"]].to_dict("records")[0]
    fell, gained = last["delta_ci_high"] < 0, first["delta_ci_high"] < 0
    if since["delta_ci_high"] < 0:
        yield _finding(
            "collapse", "reward", last, reference_step=int(since["reference_step"]),
            reference_value=float(since["reward_mean"] - since["delta_mean"]), difference=float(since["delta_mean"]),
            ci_low=float(since["delta_ci_low"]), ci_high=float(since["delta_ci_high"]),
            num_samples=int(since["num_paired"]),
        )  # fmt: skip
    elif fell and gained and last["delta_mean"] < first["delta_mean"] / 2:
        yield _against(last, best, "collapse")
    if not fell:
        return
    before, after = _train_means(train, int(best["step"]))
    change = unpaired_difference(before, after)
    holds = change.value is not None and not (change.interval.high is not None and change.interval.high < 0)
    yield _against(last, best, "overfit" if holds else "fallen")
    if holds:
        low, high = change.interval.low, change.interval.high
        yield _finding(
            "overfit", "train_reward", last, value=float(after.mean()), reference_step=int(best["step"]),
            reference_value=float(before.mean()), difference=float(after.mean() - before.mean()),
            ci_low=np.nan if low is None else low, ci_high=np.nan if high is None else high, num_samples=None,
        )  # fmt: skip


def _train_means(train: pd.DataFrame, best: int) -> tuple[Floats, Floats]:
    """Train rewards of the steps up to the best one, and of the last ones after it: as many, at most `WINDOW` each."""
    scored = train[train["reward_mean"].notna()].sort_values("step")
    before = scored.loc[scored["step"] <= best, "reward_mean"].to_numpy(np.float64)
    after = scored.loc[scored["step"] > best, "reward_mean"].to_numpy(np.float64)
    return before[-WINDOW:], after[-WINDOW:]


def _gone(steps: list[Row], measure: str, name: str) -> Iterator[Finding]:
    """A mean that fell to nearly nothing, its interval wholly below that of its highest step."""
    mean, last = f"{measure}_mean", steps[-1]
    known = [each for each in steps if pd.notna(each[mean])]
    if not known or pd.isna(last[mean]):
        return
    top = max(known, key=lambda each: float(each[mean]))
    # Where all samples agree there is no interval, and the mean stands for it.
    low, high = (
        float(row[mean]) if pd.isna(row[f"{measure}_ci_{end}"]) else float(row[f"{measure}_ci_{end}"])
        for row, end in ((top, "low"), (last, "high"))
    )
    if last[mean] <= NEARLY_NOTHING * top[mean] and high < low:
        yield _finding(
            name, measure, last, value=float(last[mean]), reference_step=int(top["step"]),
            reference_value=float(top[mean]), difference=float(last[mean] - top[mean]),
        )  # fmt: skip


def _no_calls(first: Row, last: Row) -> Iterator[Finding]:
    """More rollouts without a tool call: Wilson intervals that count a sample's attempts as one lie apart."""
    rates = [first["no_tool_call_rate"], last["no_tool_call_rate"]]
    if _is_above(rates, [first["num_samples_calls_known"], last["num_samples_calls_known"]], JUMP):
        yield _share("no_calls", "no_tool_call_rate", first, last, int(last["num_samples_calls_known"]))


def _alike(first: Row, last: Row) -> Iterator[Finding]:
    """Attempts that came to agree on nearly every sample."""
    shares = [first["agree_share"], last["agree_share"]]
    counts = [first["num_samples_repeated"], last["num_samples_repeated"]]
    if counts[1] >= MIN_REPEATED and last["agree_share"] >= ALIKE and _is_above(shares, counts, 0.0):
        yield _share("attempts_alike", "agree_share", first, last, int(counts[1]))


def _is_above(shares: list[float], counts: list[float], least: float) -> bool:
    """Whether the second of two shares is at least so much higher, with its interval wholly above the first's."""
    if pd.isna(shares).any() or not all(counts):
        return False
    low, high = wilson(np.array(shares, dtype=float) * np.array(counts, dtype=float), np.array(counts, dtype=float))
    return bool(shares[1] - shares[0] >= least and low[1] > high[0])


def _share(name: str, measure: str, first: Row, last: Row, num: int) -> Finding:
    value, before = float(last[measure]), float(first[measure])
    return _finding(
        name, measure, last, value=value, reference_step=int(first["step"]), reference_value=before,
        difference=value - before, num_samples=num,
    )  # fmt: skip


def _failures_decide(steps: list[Row], best: Row) -> Iterator[Finding]:
    """Another step is best once infrastructure and grader failures are left out."""
    known = [each for each in steps if pd.notna(each["reward_masked_mean"]) and pd.notna(each["reward_mean"])]
    graded = max(known, key=lambda each: _rank(each, "reward_mean"), default=best)
    masked = max(known, key=lambda each: _rank(each, "reward_masked_mean"), default=best)
    if graded is best and masked is not best:
        value, reference = float(masked["reward_masked_mean"]), float(best["reward_masked_mean"])
        yield _finding(
            "failures_decide", "reward_masked", masked, value=value, reference_step=int(best["step"]),
            reference_value=reference, difference=value - reference, num_samples=int(masked["num_samples_scored"]),
        )  # fmt: skip


def _rank(row: Row, column: str) -> tuple[float, int]:
    """By a number, of equal ones (but for rounding) the earlier step first."""
    return round(float(row[column]), 12), -int(row["step"])


def _not_saved(steps: list[Row], best: Row) -> Iterator[Finding]:
    """The best step was not saved, though others were; beside it the nearest that was (of two the better one)."""
    saved = [each for each in steps if pd.notna(each["is_saved"]) and each["is_saved"]]
    if pd.isna(best["is_saved"]) or best["is_saved"] or not saved:
        return
    nearest = min(saved, key=lambda each: (abs(int(each["step"]) - int(best["step"])), -float(each["reward_mean"])))
    yield _over(nearest, best, "not_saved")


def _against(row: Row, best: Row, name: str) -> Finding:
    """The reward of a step against the best one's, with the interval that holds for all steps at once."""
    return _finding(
        name, "reward", row, reference_step=int(best["step"]), reference_value=float(best["reward_mean"]),
        difference=float(row["delta_mean"]), ci_low=float(row["delta_ci_low"]), ci_high=float(row["delta_ci_high"]),
        num_samples=int(row["num_paired"]),
    )  # fmt: skip


def _over(row: Row, best: Row, name: str) -> Finding:
    """The best reward against a step's: as `_against`, seen from the other side."""
    return _finding(
        name, "reward", best, reference_step=int(row["step"]), reference_value=float(row["reward_mean"]),
        difference=-float(row["delta_mean"]), ci_low=-float(row["delta_ci_high"]), ci_high=-float(row["delta_ci_low"]),
        num_samples=int(row["num_paired"]),
    )  # fmt: skip


def _finding(name: str, measure: str, row: Row, *, value: float | None = None, **evidence: Any) -> Finding:
    own = float(row["reward_mean"]) if value is None else value
    return Finding(str(row["run_id"]), name, measure, int(row["step"]), own, **evidence)
