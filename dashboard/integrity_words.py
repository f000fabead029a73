"""Sentences of the pages Reward integrity and Reward parts. Pure functions from frames to text."""

from collections.abc import Mapping
from typing import Any, Final

import pandas as pd

from dashboard.rows import records
from dashboard.words import decimals, number, percent, plural, signed, whole

MAX_SAID: Final = 3
FEW: Final = 20
NOTHING_LEFT: Final = 0.005
"""What is unexplained of a reward and not worth a sentence."""
_SPLITS: Final = {"valid": "validation", "train": "train", "test": "test", "production": "production"}


def verdict(verdicts: pd.DataFrame, name: str) -> list[str]:
    """What the rules say of one run: those that rise, those that name something, and that the others name nothing."""
    rows = [row for row in records(verdicts) if row["concern"] == "hack"]
    if not rows:
        return [f"{name}: no rule applies to anything that was recorded."]
    rising = [row for row in rows if row["verdict"] == "rises"]
    said = [f"{name}: {_rise(row)}" if place == 0 else _rise(row) for place, row in enumerate(rising[:MAX_SAID])]
    if len(rising) > MAX_SAID:
        said.append(f"{plural(len(rising) - MAX_SAID, 'more rule')} rise; the table below has all.")
    rules = {row["rule"] for row in rising}
    others = [row for row in rows if row["num_flagged"] and row["rule"] not in rules]
    if others:
        listed = "; ".join(f"{_quoted(row)} {_of(row)}{_where(row)}" for row in others[:MAX_SAID])
        start = f"{name}: no rule rises beyond noise. " if not rising else ""
        more = f", and {len(others) - MAX_SAID} more" if len(others) > MAX_SAID else ""
        said.append(f"{start}Named without a rise that could be shown: {listed}{more}.")
    silent = {row["rule"] for row in rows} - rules - {row["rule"] for row in others}
    if silent:
        num = max(int(row["num_rollouts"]) for row in rows)
        start = f"{name}: " if not said else ""
        other = "other " if said else ""
        rules_words = f"{len(silent)} {other}{'rule that applies' if len(silent) == 1 else 'rules that apply'}"
        said.append(
            f"{start}{'nothing' if start else 'Nothing'} is named by {rules_words} (up to {plural(num, 'rollout')})."
        )
    return [*said, "Named is not guilty: read the rollouts."] if rising or others else said


def _rise(row: Mapping[str, Any]) -> str:
    base = "in the baseline" if row["base"] == "baseline run" else "in its first steps"
    peak = f"{percent(row['peak_share'])} {_steps(row)}".rstrip()
    counted = f"{whole(row['peak_num_flagged'])} of {plural(row['peak_num'], 'rollout')}"
    return f"{_quoted(row)} rises from {percent(row['base_share'])} {base} to {peak} ({counted}{_split(row)})."


def _quoted(row: Mapping[str, Any]) -> str:
    return f"“{row['title']}”"


def _of(row: Mapping[str, Any]) -> str:
    return f"{whole(row['num_flagged'])} of {plural(row['num_rollouts'], 'rollout')}"


def _where(row: Mapping[str, Any]) -> str:
    base = {"baseline run": "the baseline", "first steps": "its first steps"}.get(row["base"])
    split = f" ({_SPLITS.get(row['split'], row['split'])})" if row["split"] else ""
    return f"{split}, {percent(row['base_share'])} in {base}" if base else split


def _split(row: Mapping[str, Any]) -> str:
    return f", {_SPLITS.get(row['split'], row['split'])}" if row["split"] else ""


def _steps(row: Mapping[str, Any]) -> str:
    first, last = row["peak_first_step"], row["peak_last_step"]
    if first is None:
        return ""
    return f"at step {first}" if first == last else f"at steps {first} to {last}"


def cautions(verdicts: pd.DataFrame, rules: pd.DataFrame, *, num_left: int, most: int, origin: str) -> list[str]:
    """What could mislead: a part of the rollouts, rules that do not apply, no base, own rules, few rollouts."""
    said = []
    if num_left > most:
        said.append(
            f"The rules looked at about {plural(most, 'rollout')} of {whole(num_left)}, the same ones every time."
        )
    lacking = [str(row["title"]) for row in records(rules) if row["rule"] not in set(verdicts["rule"])]
    if lacking and len(verdicts):
        named = "; ".join(f"“{each}”" for each in lacking[:MAX_SAID])
        more = f" and {len(lacking) - MAX_SAID} more" if len(lacking) > MAX_SAID else ""
        said.append(f"Cannot be said, for want of what they need: {named}{more}.")
    if len(verdicts) and verdicts.loc[verdicts["concern"] == "hack", "base"].isna().all():
        said.append("There is neither a baseline run nor an earlier step to compare with: a rate alone proves nothing.")
    if len(verdicts) and int(verdicts["num_rollouts"].max()) < FEW:
        said.append(f"Fewer than {FEW} rollouts: shares of so few can be chance.")
    if origin == "file":
        said.append("The rules are not the default: integrity.toml in the store's folder replaces them.")
    return said


def to_read(found: pd.DataFrame, title: str, about: str, *, shown: int) -> str:
    """What a list of named rollouts holds."""
    if found.empty:
        return f"No rollout is named by “{title}”."
    total = int(found["num_total"].iloc[0])
    which = f"{shown} to read of {plural(total, 'rollout')}" if total > shown else plural(total, "rollout")
    return f"“{title}”: {which}, in random order. {about}"


def second(frame: pd.DataFrame) -> str:
    """Whether the reward and the grader beside it go together, split by split."""
    said = []
    for _, own in frame.groupby("split", dropna=False, sort=False):
        rows = records(own)
        last, grader = rows[-1], rows[-1]["grader"]
        where = f" ({_SPLITS.get(last['split'], last['split'])})" if last["split"] else ""
        if len(rows) < 2:
            said.append(f"Reward and {grader}{where}: one step, so nothing can be said of a change.")
        elif last["first_parting_step"] is not None:
            how = "more than" if last["reading"] == "the reward rises more" else "less than"
            since = _versions(own, int(last["first_parting_step"]))
            said.append(
                f"From step {last['first_parting_step']} on the reward has risen {how} {grader}{where}: at step "
                f"{last['step']} by {number(abs(last['gap']), 2)} [{_bounds(last)}] standard deviations "
                f"(n = {last['num_samples']} samples){since}."
            )
        elif last["gap"] is None:
            said.append(f"Reward and {grader}{where}: {last['reason']}.")
        else:
            said.append(
                f"Reward and {grader}{where} are not told apart at the last step: the reward has risen by "
                f"{signed(last['gap'], 2)} [{signed(last['gap_ci_low'], 2)}, {signed(last['gap_ci_high'], 2)}] "
                f"standard deviations more (n = {last['num_samples']} samples)."
            )
    return " ".join(said)


def _bounds(row: Mapping[str, Any]) -> str:
    ends = sorted(abs(float(row[name])) for name in ("gap_ci_low", "gap_ci_high"))
    return ", ".join(number(each, 2) for each in ends)


def _versions(own: pd.DataFrame, step: int) -> str:
    """That the grader's version changes at the step at which the two part: then it is the grader that changed."""
    at = own[own["step"] == step]["grader_version"].dropna()
    before = own[own["step"] < step]["grader_version"].dropna()
    if at.empty or before.empty or at.iloc[0] == before.iloc[-1]:
        return ""
    return (
        f"; at that step the reward's grader changes from version {before.iloc[-1]} to {at.iloc[0]}, so it is the "
        "grader, not the policy"
    )


def parts_verdict(waterfall: pd.DataFrame, gates: pd.DataFrame, name: str) -> list[str]:
    """Where most of one run's reward is lost, whether a gate stands before it, and whether the weights explain it."""
    said = []
    for _, own in waterfall.groupby("split", dropna=False, sort=False):
        rows = records(own)
        where = f" ({_SPLITS.get(rows[0]['split'], rows[0]['split'])})" if rows[0]["split"] else ""
        worst = max(rows, key=lambda row: row["lost_mean"])
        actual, ideal = rows[-1]["actual_mean"], rows[-1]["ideal"]
        text = f"{name}{where}: of {number(ideal)} the reward keeps {decimals(actual, 3)}"
        if worst["lost_mean"] > 0 and worst["kind"] != "rest":
            what = {"gate": f"because {worst['loss']} is below {number(worst['bound'])}", "failures": "in failures"}
            lost = what.get(worst["kind"], f"for what {worst['loss']} lacks")
            text += f"; most is lost {lost}: {decimals(worst['lost_mean'], 3)}{_interval(worst)}"
        said.append(f"{text} (n = {plural(worst['num_samples'], 'sample')}).")
    for row in records(gates[gates["is_gate"].astype(bool)]):
        said.append(
            f"{row['grader']} is a gate: in all {plural(row['num_below'], 'rollout')} in which it is below "
            f"{number(row['bound'])} the reward is the lowest, whatever the other parts."
        )
    return said


def _interval(row: Mapping[str, Any]) -> str:
    low, high = row["lost_ci_low"], row["lost_ci_high"]
    return f" [{decimals(low, 3)}, {decimals(high, 3)}]" if low is not None else ""


def parts_cautions(waterfall: pd.DataFrame) -> list[str]:
    """That no weights are stored, or that they do not give the reward."""
    rest = waterfall[waterfall["kind"] == "rest"]
    if not len(waterfall):
        return []
    if not (waterfall["kind"] == "part").any():
        return ["No weights are stored, so what is lost cannot be given to parts. Give weights below to see it."]
    worst = max(records(rest), key=lambda row: abs(row["lost_mean"]))
    if abs(float(worst["lost_mean"])) < NOTHING_LEFT:
        return []
    return [
        f"The weighted parts give {decimals(abs(worst['lost_mean']), 3)} "
        f"{'more' if worst['lost_mean'] > 0 else 'less'} than the reward on average: the reward is made by a formula "
        "that the weights do not tell."
    ]


def whatif(frame: pd.DataFrame) -> str:
    """Whether other weights change which checkpoint is best, split by split."""
    said = []
    for split, own in frame.groupby("split", dropna=False, sort=False):
        rows = records(own)
        where = "" if pd.isna(split) else f"{str(_SPLITS.get(str(split), split)).capitalize()}: "
        if len(rows) < 2:
            said.append(
                f"{where}the reward would be {decimals(rows[0]['new_mean'], 3)} instead of "
                f"{decimals(rows[0]['stored_mean'], 3)}; there is one checkpoint."
            )
            continue
        new, old = (min(rows, key=lambda row: row[f"{name}_rank"] or len(rows)) for name in ("new", "stored"))
        order = f"the order agrees by τ = {number(new['kendall_tau'], 2)}" if new["kendall_tau"] is not None else ""
        if not new["best_changes"]:
            said.append(f"{where}{_at(old)} stays the best of {len(rows)}; {order}.")
        else:
            bounds = f"[{decimals(new['best_ci_low'], 3)}, {decimals(new['best_ci_high'], 3)}]"
            sure = "beyond noise" if new["is_beyond_noise"] else "which may be chance"
            said.append(
                f"{where}{_at(new)} would be the best of {len(rows)} instead of {_at(old)}, by "
                f"{signed(new['best_delta'])} {bounds}, {sure}; {order}."
            )
    return " ".join(said)


def _at(row: Mapping[str, Any]) -> str:
    return "the run" if row["step"] is None else f"step {row['step']}"
