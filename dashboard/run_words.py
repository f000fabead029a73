"""Sentences of the Runs page. Pure functions from frames to text."""

import pandas as pd

from dashboard.words import number, plural, shortened, signed, whole

SPLIT_NAMES = {"valid": "validation", "test": "test", "train": "train", "production": "production"}
"""Words for splits, in the order in which a run's reward is looked for."""


def verdict(runs: pd.DataFrame) -> str:
    """How many runs there are, and between which rewards of one split they ended; a ranking would need a comparison."""
    start = f"{plural(len(runs), 'run')}, {plural(runs['num_rollouts'].sum(), 'rollout')}."
    scored = runs[runs["reward_last"].notna()]
    if scored.empty:
        return f"{start} Nothing in them is scored."
    split = next(each for each in (*SPLIT_NAMES, None) if len(_of(scored, each)))
    same = _of(scored, split).sort_values("reward_last", kind="stable")
    name = reward_name(split)
    if len(same) == 1:
        return f"{start} {name.capitalize()} of {_name(same.iloc[0])}: {_figure(same.iloc[0])}."
    low, high = same.iloc[0], same.iloc[-1]
    return f"{start} Latest {name}: lowest {_name(low)}, {_figure(low)}; highest {_name(high)}, {_figure(high)}."


def _name(run: pd.Series) -> str:
    return shortened(str(run["name"]))


def _of(runs: pd.DataFrame, split: str | None) -> pd.DataFrame:
    return runs[runs["reward_split"].isna()] if split is None else runs[runs["reward_split"] == split]


def _figure(run: pd.Series) -> str:
    at = "" if pd.isna(run["reward_step"]) else f" at step {whole(run['reward_step'])}"
    named = run["reward_num_samples"]
    n = f"n = {plural(named, 'sample')}" if named else "its samples have no id"
    text = f"{number(run['reward_last'])}{at} ({n})"
    if pd.notna(run["reward_change"]):
        text += f", {signed(run['reward_change'])} against step {whole(run['reward_first_step'])}"
    return text


def reward_name(split: str | None) -> str:
    """Name of the reward of a split: "validation reward"."""
    return f"{SPLIT_NAMES.get(split or '', '')} reward".strip()


def caution(runs: pd.DataFrame) -> str:
    """What could mislead: rewards of different splits side by side, and runs with remarks."""
    parts = []
    splits = runs.loc[runs["reward_last"].notna(), "reward_split"].fillna("an unnamed split").unique().tolist()
    if len(splits) > 1:
        parts.append(f"Rewards are not of one split: {', '.join(SPLIT_NAMES.get(each, each) for each in splits)}.")
    ailing = runs[runs["health"].map(len) > 0]
    if len(ailing) == 1:
        parts.append(f"{_name(ailing.iloc[0])}: {', '.join(ailing.iloc[0]['health'])}.")
    elif len(ailing):
        parts.append(f"{plural(len(ailing), 'run')} have remarks under health.")
    return " ".join(parts)


def arm(run: pd.Series) -> str:
    """A run at the step its reward is read from, as the comparison takes it: RUN@STEP."""
    step = run["reward_step"]
    return str(run["run_id"]) if pd.isna(step) else f"{run['run_id']}@{int(step)}"


def arms(chosen: pd.DataFrame) -> dict[str, str]:
    """Baseline and candidate of what was chosen: one run is its first step against its last, two are compared.

    Of two the one of kind `baseline` is the baseline, else the one with the lower reward step comes first as listed.
    """
    if len(chosen) == 1:
        run = chosen.iloc[0]
        first = run["reward_first_step"]
        before = run["run_id"] if pd.isna(first) else f"{run['run_id']}@{int(first)}"
        return {"baseline": str(before), "candidate": arm(run)}
    ordered = sorted((row for _, row in chosen.iterrows()), key=lambda row: row["kind"] != "baseline")
    return {"baseline": arm(ordered[0]), "candidate": arm(ordered[1])}
