"""What the pages Reward integrity and Reward parts share: the run they speak of, and the lists under their plots."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

import pandas as pd
import streamlit as st

from dashboard import data, integrity_charts, integrity_words, jump_words, parts
from dashboard.choices import choice
from dashboard.rows import records
from dashboard.selection import narrowed, rollouts_behind
from dashboard.tables import rollout_list
from queries.filters import Filters
from queries.integrity_rules import integrity_rulebook

TO_READ: Final = 5
PAGE: Final = 50
_KINDS: Final = {"training": 0, "evaluation": 1, "production": 2}


def one_run() -> Filters | None:
    """The sidebar's filters on one of its runs, chosen here; a training run first. None where no run has rollouts."""
    filters = data.filters()
    known = data.ask("run_names")
    with_rollouts = set(data.ask("run_overview", filters)["run_id"])
    known = known[known["run_id"].isin(with_rollouts)]
    if filters.run_ids is not None:
        known = known[known["run_id"].isin(filters.run_ids)]
    if known.empty:
        return None
    names = data.run_names()
    ordered = known.assign(place=known["kind"].map(_KINDS).fillna(3)).sort_values("place", kind="stable")
    titles = {str(each): names.get(str(each), str(each)) for each in ordered["run_id"]}
    return filters.only(choice("Run", titles, "integrity_run"))


def rule_list(verdicts: pd.DataFrame, rules: pd.DataFrame, filters: Filters, points: list[dict[str, Any]]) -> None:
    """Rollouts to read of one rule: five, or all; those behind the selected point, where there is one."""
    named = verdicts[verdicts["num_flagged"] > 0]
    titles = {str(row["rule"]): str(row["title"]) for row in records(named)}
    if not titles:
        return
    left, right = st.columns([3, 1], vertical_alignment="bottom")
    with left:
        chosen = choice("Rollouts to read, named by", titles, "rule")
    with right:
        is_all = st.toggle("All of them", key="all_named", bind="query-params")
    rule = str(points[0]["rule"]) if points and points[0].get("rule") in titles else chosen
    own = narrowed(filters, points[0]) if points else filters
    limit = PAGE if is_all else TO_READ
    found = data.ask("suspicious_rollouts", own, rule=rule, limit=limit)
    about = str(rules.loc[rules["rule"] == rule, "about"].iloc[0])
    st.caption(parts.plain(integrity_words.to_read(found, titles[rule], about, shown=limit)))
    evidence(found)
    rollout_list(found.drop(columns=["num_total", "kind", "evidence"]), "named", rule=rule)


def opening(filters: Filters) -> Callable[[dict[str, Any]], None]:
    """What a row of the findings opens: the rollouts its rule names at that step."""

    def listed(row: dict[str, Any]) -> None:
        found = data.ask("suspicious_rollouts", narrowed(filters, row), rule=str(row["rule"]), limit=PAGE)
        evidence(found)
        rollout_list(found.drop(columns=["num_total", "kind", "evidence"]), "findings_row")

    return listed


def circumstances(filters: Filters) -> dict[str, Any]:
    """How many rollouts there are, how many rules look at most at, and whose rules they are."""
    rules = integrity_rulebook(data.reading())
    runs = data.ask("run_overview", replace(Filters(), run_ids=filters.run_ids))
    return {"num_left": int(runs["num_rollouts"].sum()), "most": rules.max_rollouts, "origin": rules.origin}


def jump_warnings(filters: Filters) -> None:
    """Warnings of sudden jumps, where there are any."""
    for each in jump_words.jumps(data.ask("reward_jumps", filters)):
        parts.warning(each)


def jumps(filters: Filters) -> None:
    """Where jumps were looked for, in words, and folded the jumps; a row opens the rollouts on both sides."""
    found = data.ask("reward_jumps", filters)
    st.caption(parts.plain(f"Sudden jumps: {jump_words.looked(data.ask('reward_jump_looks', filters))}"))
    if len(found):
        parts.table(found, "reward_jumps", label="Table of sudden jumps", on_row=_both_sides(filters))


def _both_sides(filters: Filters) -> Callable[[dict[str, Any]], None]:
    """What a row of the jumps opens: the rollouts of the step before it and of the step after it."""

    def listed(row: dict[str, Any]) -> None:
        sides = [{"run_id": row["run_id"], "split": row["split"], "step": row[at]} for at in ("from_step", "to_step")]
        rollouts_behind(sides, "jump_behind", filters=filters)

    return listed


def leading(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows of validation, else of test, else of the first split there is."""
    for split in ("valid", "test"):
        if (frame["split"] == split).any():
            return frame[frame["split"] == split]
    return (
        frame[frame["split"].isna()] if frame["split"].isna().any() else frame[frame["split"] == frame["split"].iloc[0]]
    )


def evidence(found: pd.DataFrame) -> None:
    """Why each of some rollouts is named, as text, the first few of them."""
    for number, row in enumerate(records(found)[:TO_READ], start=1):
        place = f"sample {row['sample_id']}" if row["sample_id"] is not None else f"rollout {row['rollout_id']}"
        at = "" if row["step"] is None else f", step {row['step']}"
        reward = "" if row["reward"] is None else f", reward {row['reward']:.3g}"
        st.markdown(parts.plain(f"{number}) {place}{at}{reward} · {row['kind']}: {row['evidence']}"))


def second_plot(filters: Filters) -> None:
    """The reward against a grader beside it over steps, and what it says."""
    known = data.ask("scores_by_step", filters)
    rewards = set(data.ask("reward_parts", filters, by="run").query("is_total")["grader"])
    names = [each for each in dict.fromkeys(known.loc[known["kind"] != "assertion", "grader"]) if each not in rewards]
    titles = {"": "chosen by itself: a label, or a metric without weight", **{str(each): str(each) for each in names}}
    grader = choice("Grader beside the reward", titles, "second_grader")
    frame = data.ask("second_grader", filters, grader=grader or None)
    if frame.empty:
        st.caption(
            "No grader judges beside the reward: no label, and no metric without a weight. Choose a part of the reward "
            "above, or give rollouts labels."
        )
        return
    st.markdown(parts.plain(integrity_words.second(frame)))
    points = parts.plot(integrity_charts.second(frame), "second_grader", frame, select=True)
    rollouts_behind(points, "second_behind", filters=filters)
    parts.table(frame, "second_grader_rows")


def whatif(filters: Filters, waterfall: pd.DataFrame, graders: list[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Weights and gates as the reader wants them, kept in the address; nothing where they were left as stored."""
    stored = {row["loss"]: row["weight"] for row in records(waterfall[waterfall["kind"] == "part"])}
    example = ", ".join(f"{each}={stored.get(each, 1):g}" for each in graders[:3])
    left, right = st.columns([2, 1])
    with left:
        weights = st.text_input("Weights", key="weights", placeholder=example, bind="query-params", max_chars=1000)
    with right:
        gates = st.text_input(
            "Gates",
            key="gates",
            placeholder=f"{graders[0]}>=0.5" if graders else "",
            bind="query-params",
            max_chars=1000,
        )
    return _listed(weights), _listed(gates)


def _listed(text: str | None) -> tuple[str, ...]:
    return tuple(each.strip() for each in (text or "").split(",") if each.strip())


def known_graders(frame: pd.DataFrame) -> list[str]:
    """The graders that can be weighed, as the answer to `reward_parts` has them."""
    rows: list[Mapping[str, Any]] = [*records(frame[~frame["is_total"].astype(bool)])]
    return [str(row["grader"]) for row in rows]
