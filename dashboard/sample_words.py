"""Sentences of the Samples page. Pure functions from frames to text."""

import json

import pandas as pd

from dashboard.words import number, plural, signed, whole

SORT_LABELS = {
    "reward": "lowest reward first",
    "loss": "largest fall first",
    "gain": "largest rise first",
    "spread": "most spread first",
    "tool_calls": "most tool calls first",
    "rollouts": "most rollouts first",
    "sample": "by id",
}


def verdict(cells: pd.DataFrame, where: str) -> str:
    """How many samples of one run and split got better or worse between their first and last shown step."""
    known = cells[cells["value"].notna()].sort_values("bin")
    ends = known.groupby("place")["value"].agg(["first", "last", "size"])
    ends = ends[ends["size"] > 1]
    total = int(cells["num_samples_all"].iloc[0])
    start = f"{where}: {plural(total, 'sample')} over {plural(cells['num_steps_all'].iloc[0], 'step')}."
    if ends.empty:
        return f"{start} None was attempted at two steps, so no change can be told."
    change = ends["last"] - ends["first"]
    up, down = int((change > 0).sum()), int((change < 0).sum())
    return (
        f"{start} Of {plural(len(ends), 'sample')} seen at two or more steps, {whole(up)} ended higher than they "
        f"began, {whole(down)} lower, {whole(len(ends) - up - down)} the same; mean change {signed(change.mean())}."
    )


def caution(cells: pd.DataFrame) -> str:
    """What the heatmap leaves out or puts together."""
    parts = []
    drawn, total = cells["place"].nunique(), int(cells["num_samples_all"].iloc[0])
    if drawn < total:
        rule = "those with the most rollouts, ties by a hash of their id"
        parts.append(f"Shown are {whole(drawn)} of {whole(total)} samples: {rule}.")
    columns, steps = cells["bin"].nunique(), int(cells["num_steps_all"].iloc[0])
    if columns < steps:
        parts.append(f"{whole(steps)} steps stand in {whole(columns)} columns: neighbouring steps are averaged.")
    return " ".join(parts)


def sample_verdict(attempts: pd.DataFrame, names: dict[str, str]) -> str:
    """How one sample goes in each run: attempts, mean reward, and where it has steps first to last."""
    said = []
    for run_id, part in attempts.groupby("run_id", sort=False):
        scored = part[part["reward"].notna()]
        text = f"{names.get(str(run_id), str(run_id))[:60]}: {plural(len(part), 'attempt')}"
        if len(scored):
            text += f", mean reward {number(scored['reward'].mean())}"
            steps = scored.dropna(subset=["step"]).groupby("step")["reward"].mean()
            if len(steps) > 1:
                first, last = steps.index.min(), steps.index.max()
                text += f" ({number(steps[first])} at step {first}, {number(steps[last])} at step {last})"
        said.append(text)
    shown = "; ".join(said[:4]) + (f"; and {plural(len(said) - 4, 'more run')}" if len(said) > 4 else "")
    return shown + "."


def tags(value: object) -> str:
    """A JSON list of tags in words; empty where there are none."""
    try:
        found = json.loads(value) if isinstance(value, str) else []
    except ValueError:
        return ""
    return ", ".join(str(each)[:40] for each in found[:12]) if isinstance(found, list) else ""


def about(facts: pd.DataFrame) -> list[tuple[str, str]]:
    """What is known of a sample: names and values."""
    if facts.empty:
        return []
    first = facts.iloc[0]
    named = (("Environment", "environment"), ("Shared with", "cluster_key"), ("Data set version", "dataset_version"))
    found = [(label, str(first[column])[:300]) for label, column in named if pd.notna(first[column])]
    if said := tags(first["tags"]):
        found.append(("Tags", said))
    return found
