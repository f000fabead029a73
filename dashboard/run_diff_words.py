"""What differs between two runs, in words, and the differences of long texts. Pure functions: no Streamlit."""

import difflib
import json
import re
from collections.abc import Iterable
from typing import Any, Final

import pandas as pd

from dashboard.parts import Figure
from dashboard.rows import records
from dashboard.words import number, plural, shortened, verb, whole
from queries.settings import FACTS, SECTIONS, parsed

NUM_NAMED: Final = 5
"""Settings named in the verdict."""
LONG: Final = 80
"""Letters from which on a value is read beside the table, not in it."""
MAX_LINES: Final = 2_000
"""Lines of a text that are compared."""
_SENTENCES: Final = re.compile(r"(?<=[.!?;:]) +")
_CHANGES: Final = {"only_baseline": "only in the baseline", "only_candidate": "only in the candidate"}
TITLES: Final = {"all": "all", "settings": "settings", **{each: each for each in SECTIONS}}
"""What may be listed: everything, what is a setting, or one section."""


def verdict(found: pd.DataFrame, baseline: str, candidate: str) -> str:
    """How many settings differ, and which; results and what tells runs apart are no settings."""
    settings = found[~found["section"].isin(FACTS)]
    changed = settings[settings["is_changed"]]
    pair = f"{shortened(candidate)} and {shortened(baseline)}"
    total = plural(len(settings), "setting")
    if settings.empty:
        return f"Nothing is known of how {pair} were made."
    if changed.empty:
        return f"{pair} do not differ in any of {total} that are known."
    named = [shortened(str(each), 40) for each in changed["name"][:NUM_NAMED]]
    rest = len(changed) - len(named)
    listed = f"{', '.join(named)} and {whole(rest)} more" if rest else _and(named)
    return f"{pair} differ in {whole(len(changed))} of {total}: {listed}."


def silences(found: pd.DataFrame, baseline: str, candidate: str) -> str:
    """Sections of which one run says nothing: what differs there is only that. Empty where there is none."""
    said = []
    for name, side in ((baseline, "baseline"), (candidate, "candidate")):
        other = "candidate" if side == "baseline" else "baseline"
        lacking = [
            section
            for section in SECTIONS
            if section not in FACTS
            and (rows := found[found["section"] == section])[f"{side}_value"].isna().all()
            and rows[f"{other}_value"].notna().any()
        ]
        if lacking:
            said.append(f"{shortened(name)} says nothing of its {_and(lacking)}.")
    return " ".join([*said, "What the other run says there counts as different."]) if said else ""


def figures(found: pd.DataFrame) -> list[Figure]:
    """How many settings changed, are named by one run only, or are the same."""
    counts = found.loc[~found["section"].isin(FACTS), "change"].value_counts()
    labels = {"changed": "settings with another value", **_CHANGES, "same": "the same in both"}
    return [Figure(label, whole(int(counts.get(name, 0)))) for name, label in labels.items()]


def listed(found: pd.DataFrame, kind: str, *, changed_only: bool) -> pd.DataFrame:
    """The rows of `run_diff` that are asked for, in its order."""
    kept = found[found["is_changed"]] if changed_only else found
    if kind == "settings":
        kept = kept[~kept["section"].isin(FACTS)]
    elif kind != "all":
        kept = kept[kept["section"] == kind]
    return kept.reset_index(drop=True)


def table(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows of `run_diff` as a table to read: long values cut, the change in words."""
    return pd.DataFrame(
        {
            "section": rows["section"],
            "setting": rows["name"],
            "baseline": [_shown(*each) for each in zip(rows["section"], rows["baseline_value"], strict=True)],
            "candidate": [_shown(*each) for each in zip(rows["section"], rows["candidate_value"], strict=True)],
            "what changed": [_changed(row) for row in records(rows)],
        }
    )


def _shown(section: str, value: Any) -> str | None:
    """A value as the table shows it: results that are numbers as on other pages, settings as they were written."""
    if section == "results" and pd.notna(value):
        try:
            known = float(value)
            return whole(known) if known.is_integer() and abs(known) < 1e15 else number(known, 4)
        except ValueError:
            return _cut(value)
    return _cut(value)


def _cut(value: Any) -> str | None:
    return None if pd.isna(value) else shortened(" ".join(str(value).split()), LONG)


def _changed(row: dict[str, Any]) -> str:
    if row["change"] == "same":
        return "the same"
    if row["change"] != "changed":
        return _CHANGES[row["change"]]
    if row["difference"] is None:
        return "changed"
    by = abs(row["difference"])
    sign = "−" if row["difference"] < 0 else "+"
    times = f", × {number(row['ratio'])}" if row["ratio"] is not None else ""
    return f"{sign}{whole(by) if by.is_integer() and by < 1e15 else f'{by:.4g}'}{times}"


def is_long(row: dict[str, Any]) -> bool:
    """Whether a row's values are too long to be read in the table."""
    return any(len(str(row[side] or "")) > LONG for side in ("baseline_value", "candidate_value"))


def text_diff(before: str, after: str) -> str:
    """What differs between two texts, as lines with − and + before them, one a sentence or value of JSON."""
    first, second = _lines(before), _lines(after)
    kept = first[:MAX_LINES], second[:MAX_LINES]
    found = list(difflib.unified_diff(*kept, "baseline", "candidate", lineterm="", n=2))
    if max(len(first), len(second)) > MAX_LINES:
        found.append(f"(only the first {MAX_LINES} lines were compared)")
    return "\n".join(found) or "The texts are the same, but for blanks at the ends of their lines."


def _lines(text: str) -> list[str]:
    value = parsed(text)
    if isinstance(value, list | dict):
        return json.dumps(value, indent=1, ensure_ascii=False).splitlines()
    return [piece for line in text.splitlines() for piece in (_SENTENCES.split(line) if len(line) > LONG else [line])]


def prompts(found: pd.DataFrame) -> str:
    """How many of the shared samples have another prompt; empty where no sample is shared."""
    row = records(found)[0]
    if not row["num_shared"]:
        return "The two runs share no sample."
    if not row["num_known"]:
        return f"Of {plural(row['num_shared'], 'shared sample')} no prompt is known."
    different = row["num_different"]
    known = plural(row["num_known"], "shared sample")
    if not different:
        return f"None of {known} whose prompt is known has another prompt in the candidate."
    more = f" The first {whole(len(found))} are listed." if different > len(found) else ""
    return f"{whole(different)} of {known} {verb(different, 'has', 'have')} another prompt in the candidate.{more}"


def matrix(found: pd.DataFrame, run_ids: Iterable[str]) -> pd.DataFrame:
    """The answer to `varying_settings` as a table: a row a setting, a column a run (headed by its id)."""
    known = [each for each in run_ids if (found["run_id"] == each).any()]
    by_setting: dict[tuple[str, str], dict[str, Any]] = {}
    for section, name, run_id, value in found[["section", "name", "run_id", "value"]].itertuples(index=False):
        by_setting.setdefault((section, name), {})[run_id] = None if pd.isna(value) else value
    rows = [[*key, *(values.get(each) for each in known)] for key, values in by_setting.items()]
    return pd.DataFrame(rows, columns=["section", "setting", *known], dtype=object)


def varying(found: pd.DataFrame, num_runs: int) -> str:
    """How many settings vary among several runs."""
    num = found[["section", "name"]].drop_duplicates().shape[0]
    runs = plural(num_runs, "run")
    return (
        f"{plural(num, 'setting')} {verb(num, 'varies', 'vary')} among {runs}."
        if num
        else f"No setting varies among {runs}."
    )


def _and(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
