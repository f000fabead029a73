"""What could mislead in a comparison, in words. Pure functions from frames to text: no Streamlit, no questions."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import pandas as pd

from dashboard import comparability_words
from dashboard.comparability_words import Checks, both, by_check, chance
from dashboard.compare_words import TITLES, by_measure, cut, fixed, with_interval
from dashboard.words import number, percent, plural, verb, whole
from queries import coverage
from queries.coverage import Coverage

_KEYS: Final = {
    "sample_id": "sample_id",
    "sample_suffix": "the last part of the sample_id",
    "prompt_hash": "the prompt",
    "position": "their order alone",
}
SMALL = 10
"""With fewer paired samples nobody can tell whether differences are skewed."""
_JUDGED: Final = ("reward", "pass_rate", "tool_calls", "turns", "output_tokens", "latency_s", "cost_usd")
_NAMED = 3
"""Measures of which a sentence gives the figures."""


def cautions(measures: pd.DataFrame, failures: pd.DataFrame, checks: pd.DataFrame) -> list[str]:
    """Sentences about what could mislead, what was compared first; empty where nothing is known to.

    The frames are the answers to `compare`, `compare_failures` and `comparability`.
    """
    found = by_check(checks)
    reward = by_measure(measures)["reward"]
    said = [
        *comparability_words.warnings(found),
        *_call_failures(found, failures),
        *_rollout_failures(found, reward),
        *comparability_words.endings(found),
        *_queueing(by_measure(measures)),
        *_alike(reward),
        *_intervals(measures),
    ]
    return [_sentence(each) for each in said]


def nothing_pairs(pairing: pd.DataFrame, checks: pd.DataFrame, pair_by: str) -> str:
    """Why no sample pairs: what each arm has by this key, which keys would pair, and what else differs."""
    keys = {row["about"]: row for row in pairing[pairing["kind"] == "key"].to_dict("records")}
    row = keys.get(pair_by)
    if row is not None and row["num_shared"]:
        return (
            f"{plural(row['num_shared'], 'sample')} {verb(row['num_shared'], 'pairs', 'pair')} by {_KEYS[pair_by]}, "
            "but nothing that is compared (reward, tool calls, turns, tokens, latency, cost) is known of one in both "
            "arms."
        )
    text = f"No sample pairs by {_KEYS[pair_by]}"
    if row is not None and row["num_baseline"] and row["num_candidate"]:
        examples = f"{cut(row['example_baseline'])}, the candidate {cut(row['example_candidate'])}"
        text += f": the baseline has {examples}"
    found = by_check(checks)
    is_other = found["environments"]["is_same"] is False  # order alone would then pair samples of different tasks
    would = [
        f"{_KEYS[name]} ({plural(key['num_shared'], 'sample')})"
        for name, key in keys.items()
        if name != pair_by and key["num_shared"] and not (is_other and name == "position")
    ]
    text += (
        f". What would pair: {', '.join(would)}; choose it under Options." if would else ". No other key would pair."
    )
    different = comparability_words.differences(found)
    return " ".join([text, *map(_sentence, different)])


def _intervals(measures: pd.DataFrame) -> Iterator[str]:
    """Whether intervals of such data are known to hold the true value less often than they say (`COVERAGE.md`)."""
    rows = by_measure(measures)
    num = rows["reward"]["num_paired"]
    if 0 < num < SMALL:
        row = coverage.worst()
        least = f", and if they are, a 95 % interval may hold the true value in only {percent(row.share)} of cases"
        yield f"only {plural(num, 'paired sample')}: too few to tell whether their differences are skewed{least}."
        return
    found = {name: _caution(rows[name]) for name in _JUDGED}
    short = {name: row for name, row in found.items() if row is not None}
    if not short:
        return
    figures = [f"{percent(row.share)} of cases for {TITLES[name]}" for name, row in list(short.items())[:_NAMED]]
    more = f" and fewer than {percent(coverage.SHORT)} for {len(short) - _NAMED} more" if len(short) > _NAMED else ""
    why = "differences by sample are so skewed, or so many are 0"
    text = f"{why}, that intervals called 95 % hold the true value in about "
    yield f"{text}{', '.join(figures)}{more}{_remedies(short)}."


def _caution(row: Mapping[str, Any]) -> Coverage | None:
    if pd.isna(row["ci_low"]) or pd.isna(row["skewness"]):
        return None
    unchanged = 1 - (row["num_up"] + row["num_down"]) / row["num_paired"]
    return coverage.caution(row["ci_method"], row["num_clusters"], row["skewness"], unchanged)


def _remedies(short: Mapping[str, Coverage]) -> str:
    """Whether the cautious interval would do, or comes closer, or only more samples help."""
    remedies = {name: coverage.remedy(row) for name, row in short.items()}
    found = {name: row for name, row in remedies.items() if row is not None}
    if not found:
        return "; no other interval does better, only more samples help"
    if len(found) == len(short) and not any(row.falls_short for row in found.values()):
        return "; the interval “cautious” (under Options) keeps what it says"
    closer = ", ".join(f"{percent(row.share)} for {TITLES[name]}" for name, row in found.items())
    return f"; the interval “cautious” (under Options) comes closer: {closer}"


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:]


def _queueing(rows: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """That a difference in latency is mostly time in the queue, which says nothing of the policy."""
    latency, queue = rows["latency_s"], rows["queue_latency_s"]
    total, waited = latency["delta_mean"], queue["delta_mean"]
    if latency["num_paired"] and queue["num_paired"] and abs(total) > 0 and waited / total >= 0.5:
        yield (
            f"{with_interval(queue)} s of the difference in latency of {with_interval(latency)} s is time in the "
            "queue: it says how busy the machines were, not how the agent behaves."
        )


def _alike(reward: Mapping[str, Any]) -> Iterator[str]:
    """That samples of one cluster resemble one another, where intervals do not say so yet."""
    if pd.notna(reward["design_effect"]) and reward["design_effect"] > 1.2 and "cluster" not in reward["ci_method"]:
        yield (
            f"the {plural(reward['num_paired'], 'paired sample')} come from {whole(reward['num_cluster_keys'])} "
            "clusters (cluster_key) and resemble one another within them: by cluster the interval is "
            f"{number(reward['design_effect'] ** 0.5, 2)} times as wide; choose cluster_key under Options."
        )


def _rollout_failures(found: Checks, reward: Mapping[str, Any]) -> Iterator[str]:
    row = found["failure_rate"]
    rates = [row["baseline_number"], row["candidate_number"]]
    if row["severity"] == "warns" or any(each is not None and each > 0.05 for each in rates):
        text = f"infrastructure and grader failures end {both(row)}"
        if row["severity"] == "warns":
            text += chance(row)
        if pd.notna(reward["bound_low"]):
            low, high = fixed(reward["bound_low"], reward), fixed(reward["bound_high"], reward)
            text += f"; whatever those would have scored, the mean reward differs by {low} to {high}"
        yield f"{text}."


def _call_failures(found: Checks, failures: pd.DataFrame) -> Iterator[str]:
    row = found["tool_error_rate"]
    if row["severity"] == "warns":
        lost = failures.set_index("arm")["num_wrappers_failed"]["candidate"]
        of_these = f" ({plural(lost, 'parallel wrapper')} failed)" if lost else ""
        before, after = percent(row["baseline_number"]), percent(row["candidate_number"])
        yield f"failed tool calls rose from {before} to {after}{of_these}."
