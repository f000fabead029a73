"""Sentences of the page Drift, and of pages that warn of drift. Pure functions from frames to text."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import pandas as pd

from dashboard.parts import Figure
from dashboard.rows import records
from dashboard.words import number, percent, plural, shortened, signed, verb, whole

TITLES: Final[Mapping[str, str]] = {
    "prompt_bytes": "prompt length",
    "first_input_tokens": "input of the first model call",
    "output_tokens": "output per rollout",
    "tool_output_bytes": "tool output per rollout",
    "tool_calls": "tool calls per rollout",
    "tool_errors": "failed tool calls per rollout",
    "turns": "turns per rollout",
    "latency_s": "latency",
    "cost_usd": "cost per rollout",
    "reward": "reward",
    "environment": "environments",
    "tag": "tags",
    "tools_version": "tools offered",
    "prompt_version": "prompt version",
    "tool": "tools called",
    "status": "how rollouts end",
    "failure_cause": "why rollouts fail",
}
AXES: Final[Mapping[str, str]] = {
    "prompt_bytes": "prompt length, bytes",
    "first_input_tokens": "input of the first model call, tokens",
    "output_tokens": "output per rollout, tokens",
    "tool_output_bytes": "tool output per rollout, bytes",
    "latency_s": "latency, s",
    "cost_usd": "cost per rollout, US$",
}
SPLITS: Final[Mapping[str | None, str]] = {"valid": "validation", None: "rollouts without a split"}
SLICES: Final[Mapping[str, str]] = {
    "prompt_length": "",
    "environment": "environment",
    "tag": "tag",
    "cluster": "cluster",
}
NAMED: Final = 3
SMALL: Final = 30
"""With fewer samples in a selection only large shifts can be shown."""
TRAINING: Final = "train"

Row = Mapping[str, Any]


def named(row: Row) -> str:
    """A selection in words: "finqa-rft, train, steps 46 to 49"; `row` is of `drift_selections`."""
    words = [shortened(str(row["run_name"]), 40), split_name(row["split"])]
    if row["every_step"]:
        words.append("all steps")
    elif row["step_from"] is not None:
        low, high = whole(row["step_from"]), whole(row["step_to"])
        words.append(f"step {low}" if low == high else f"steps {low} to {high}")
    return ", ".join(words)


def split_name(split: str | None) -> str:
    """A split as sentences call it."""
    return SPLITS.get(split, str(split))


def side_names(selections: pd.DataFrame) -> tuple[str, str]:
    """Short names of both selections for legends: the splits where these differ, else steps or runs."""
    first, second = records(selections)
    if first["split"] != second["split"]:
        return split_name(first["split"]), split_name(second["split"])
    return named(first), named(second)


def verdict(selections: pd.DataFrame, frame: pd.DataFrame) -> str:
    """What is shown to have shifted, the data first, with n; or that no difference could be shown."""
    rows = records(frame)
    first, second = records(selections)
    lead = f"{capital(named(second))} ({_n(second)}), beside {named(first)} ({_n(first)})"
    if not any(row["p_value"] is not None for row in rows):
        return f"{lead}: nothing can be compared ({_why(rows)})."
    data = moves(rows, "data")
    behaviour = moves(rows, "behaviour")
    if not data and not behaviour:
        return f"{lead}: no difference could be shown in {plural(_tested(rows), 'measure')}."
    said = f"What goes in: {'; '.join(data)}." if data else "What goes in: no difference could be shown."
    done = (
        f"What the agent does: {'; '.join(behaviour)}."
        if behaviour
        else ("What the agent does: no difference could be shown.")
    )
    return f"{lead}. {said} {done}"


def _n(row: Row) -> str:
    return f"n = {plural(row['num_samples'], 'sample')}"


def _why(rows: list[dict[str, Any]]) -> str:
    return next((str(row["reason"]) for row in rows if row["reason"] is not None), "nothing is known of either")


def _tested(rows: list[dict[str, Any]]) -> int:
    return sum(row["p_value"] is not None for row in rows)


def moves(rows: list[dict[str, Any]], kind: str) -> list[str]:
    """What shifted of the data or of behaviour, the farthest first; three named, the rest counted."""
    shifted = sorted((row for row in rows if row["kind"] == kind and row["is_shifted"]), key=lambda row: -row["excess"])
    more = [f"and {len(shifted) - NAMED} more"] if len(shifted) > NAMED else []
    return [move(row) for row in shifted[:NAMED]] + more


def move(row: Row) -> str:
    """One shift: "prompts are 2.1 times as long", "tool search 41 % instead of 18 %"."""
    if row["statistic"] == "tv":
        value = shortened(str(row["category"]), 40).replace("_", " ")
        of = "of the calls " if row["measure"] == "tool" else ""
        share = f"{percent(row['category_second'])} {of}instead of {percent(row['category_first'])}"
        return f"{TITLES[row['measure']]}: {value} {share}"
    before, after = number(row["first_mean"]), number(row["second_mean"])
    title = TITLES[row["measure"]]
    interval = "" if row["ci_low"] is None else f" [{signed(row['ci_low'])}, {signed(row['ci_high'])}]"
    if row["ratio"] is not None and (row["ratio"] >= 1.2 or row["ratio"] <= 1 / 1.2):
        return f"{title} is {number(row['ratio'], 2)} times as much ({before} → {after})"
    if row["ci_low"] is not None and row["ci_low"] <= 0 <= row["ci_high"]:
        return f"{title} spread otherwise, its mean alike ({before} → {after})"
    return f"{title} {before} → {after}{interval}"


def cautions(selections: pd.DataFrame, frame: pd.DataFrame, overlap: pd.DataFrame) -> list[str]:
    """What could mislead in the comparison."""
    first, second = records(selections)
    rows = records(frame)
    return [
        *_leak(first, second, overlap),
        *_policies(first, second, rows),
        *_shared(first, second),
        *_small(first, second),
        *_missing(rows),
        *_clusters(first, second),
    ]


def _leak(first: Row, second: Row, overlap: pd.DataFrame) -> Iterator[str]:
    if overlap.empty:
        return
    if first["split"] == second["split"] and first["run_id"] == second["run_id"]:
        return  # one split at two steps holds the same samples by design
    row = records(overlap)[0]
    count = f"{whole(row['num_samples_shared'])} of {plural(row['num_samples_of_second'], 'sample')}"
    names = ", ".join(shortened(str(each), 30) for each in overlap["second_sample_id"].dropna()[:NAMED])
    example = f" ({names}{' …' if row['num_total'] > NAMED else ''})" if names else ""
    where = f"{split_name(first['split'])}{example}, whatever the step"
    learned = (first["split"] == TRAINING) != (second["split"] == TRAINING)
    text = f"{count} of {split_name(second['split'])} have a prompt that stands word for word in {where}"
    yield f"{text}: what was learned by heart counts as solved." if learned else f"{text}."


def _policies(first: Row, second: Row, rows: list[dict[str, Any]]) -> Iterator[str]:
    """That behaviour may differ because the policy does; nothing where it is one run at one step."""
    own = first["run_id"] == second["run_id"]
    is_one = own and first["step_from"] is not None and first["step_from"] == second["step_to"] == second["step_from"]
    is_one = is_one and first["step_to"] == first["step_from"]
    if is_one or not any(row["kind"] == "behaviour" and row["is_shifted"] for row in rows):
        return
    who = "Policies of different steps" if own else "Runs"
    may = "acted" if own else "that may have used different policies acted"
    yield (
        f"{who} {may} in the two selections: what the agent does may differ for that reason, on the same data too. "
        "Only differences in what goes in are drift of the data."
    )


def _shared(first: Row, second: Row) -> Iterator[str]:
    if first["num_shared"]:
        num = plural(first["num_shared"], "sample")
        yield (
            f"{num} {verb(first['num_shared'], 'is', 'are')} in both selections, which are taken as independent here: "
            "Baseline vs fine-tuned compares such samples one by one, and shows more."
        )


def _small(first: Row, second: Row) -> Iterator[str]:
    for row in (first, second):
        if row["num_samples"] < SMALL:
            num = plural(row["num_samples"], "sample")
            yield f"{capital(named(row))} has only {num}: only a large shift can be shown."


def _missing(rows: list[dict[str, Any]]) -> Iterator[str]:
    names = []
    for row in rows:
        rates = [
            row[f"num_unknown_{side}"] / max(row[f"num_{side}"] + row[f"num_unknown_{side}"], 1)
            for side in ("first", "second")
        ]
        if row["num_first"] and row["num_second"] and row["statistic"] == "ks" and abs(rates[1] - rates[0]) > 0.1:
            names.append(f"{TITLES[row['measure']]} ({percent(rates[0])} and {percent(rates[1])})")
    if names:
        yield f"Not known of equally many samples in both: {', '.join(names[:NAMED])}. What is missing may differ."


def _clusters(first: Row, second: Row) -> Iterator[str]:
    for row in (first, second):
        if row["num_clusters"] and row["num_samples"] >= 2 * row["num_clusters"]:
            yield (
                f"The {plural(row['num_samples'], 'sample')} of {named(row)} come from "
                f"{plural(row['num_clusters'], 'cluster')}: samples of one are alike, so chance gives more than said."
            )


def figures(frame: pd.DataFrame) -> list[Figure]:
    """Up to five measures: the second selection's value, beside the first one's."""
    rows = {row["measure"]: row for row in records(frame)}
    wanted = ("prompt_bytes", "tool", "tool_calls", "output_tokens", "latency_s", "reward", "turns")
    made = [_figure(rows[name]) for name in wanted if rows[name]["value"] is not None]
    return made[:5]


def _figure(row: Row) -> Figure:
    if row["statistic"] == "tv":
        help_ = f"Share of the calls that would have to go to other tools; chance alone: {percent(row['chance_mean'])}."
        return Figure(TITLES[row["measure"]], percent(row["value"]), "apart", help=help_)
    change = f"was {number(row['first_mean'])}"
    interval = "no interval" if row["ci_low"] is None else f"[{signed(row['ci_low'])}, {signed(row['ci_high'])}]"
    help_ = f"Mean over samples; difference {signed(row['difference'])} {interval} (95 %, Welch's t)."
    return Figure(AXES.get(row["measure"], TITLES[row["measure"]]), number(row["second_mean"]), change, help=help_)


def slices(frame: pd.DataFrame) -> str:
    """The slice whose share grew or fell most beyond chance, and what moved within it; or that none is shown."""
    rows = [row for row in records(frame) if row["p_value_bh"] is not None]
    if not rows:
        return "There are no slices to compare (no tags, environments, clusters or prompt lengths in both)."
    shown = sorted((row for row in rows if row["p_value_bh"] <= 0.05), key=lambda row: -abs(row["difference"]))
    if not shown:
        text = f"No slice of {len(rows)} is shown to have changed its share."
    else:
        told = [_slice(row) for row in shown[:NAMED]]
        text = f"Slices whose share changed: {'; '.join(told)}" + (
            f"; and {len(shown) - NAMED} more." if len(shown) > NAMED else "."
        )
    inner = [row for row in rows if row["moved_p_value_holm"] is not None and row["moved_p_value_holm"] <= 0.05]
    if inner:
        row = min(inner, key=lambda each: each["moved_p_value_holm"])
        before, after = number(row["moved_first_mean"]), number(row["moved_second_mean"])
        text += f" Within {_name(row)}, {TITLES[row['moved_measure']]} moved most: {before} → {after}."
    return text


def _slice(row: Row) -> str:
    interval = f"[{signed(100 * row['ci_low'], 2)}, {signed(100 * row['ci_high'], 2)}]"
    return f"{_name(row)} {percent(row['first_share'])} → {percent(row['second_share'])} {interval}"


def _name(row: Row) -> str:
    return f"{SLICES[row['by']]} {shortened(str(row['slice']), 50)}".strip()


def judged(frame: pd.DataFrame, samples: str = "validation samples") -> str:
    """What a checkpoint was judged on beside production, from `production_drift`; empty where there is none."""
    if frame.empty:
        return ""
    told = []
    for run, rows in frame.groupby("production_run", sort=False):
        known = records(rows)
        name = shortened(str(run), 40)
        n = f"n = {whole(max(row['num_first'] for row in known))} and {whole(max(row['num_second'] for row in known))}"
        data, behaviour = moves(known, "data"), moves([row for row in known if row["measure"] == "tool"], "behaviour")
        if data or behaviour:
            told.append(f"Judged on {samples} unlike production ({name}, {n}): {'; '.join([*data, *behaviour])}.")
        elif any(row["p_value"] is not None for row in known):
            told.append(f"Between the {samples} judged on and production ({name}, {n}) no difference could be shown.")
    return " ".join(told)


def address(frame: pd.DataFrame) -> dict[str, str]:
    """Parameters with which the page Drift opens what `judged` speaks of: the first production run that is unlike."""
    shifted = frame[frame["is_shifted"]]
    row = records(shifted if len(shifted) else frame)[0]
    first = f"{row['run_id']} · {row['split'] or 'none'}"
    second = f"{row['production_run']} · {row['production_split']}"
    return {"first": first, "second": second} | ({"first_steps": row["steps"]} if row["steps"] else {})


def is_unlike(frame: pd.DataFrame) -> bool:
    """Whether `judged` is a warning."""
    return "unlike production" in judged(frame)


def capital(text: str) -> str:
    """A sentence's first letter as a capital, unless it begins with a name in lower case."""
    return text[:1].upper() + text[1:] if text[:1].islower() and " " in text.split(",")[0] else text


def alt(frame: pd.DataFrame) -> str:
    """What the main plot shows, for a screen reader."""
    shifted = [TITLES[row["measure"]] for row in records(frame) if row["is_shifted"]]
    said = f"beyond chance: {', '.join(shifted)}" if shifted else "none lies beyond chance"
    return f"Plot of how far apart two selections lie in each measure, beside what chance alone gives; {said}"
