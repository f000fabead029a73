"""Questions about what differs between runs: configuration, prompts, tools, graders, data, code, side by side."""

import difflib
from collections.abc import Iterable, Sequence
from hashlib import md5
from typing import Any, Final

import pandas as pd

from ingest.errors import QuestionError
from queries.connection import Reading
from queries.redaction import redacted
from queries.settings import FACTS, SECTIONS, canonical, number, parsed, section, settings_of, shown

Known = dict[tuple[str, str], Any]
"""What is known of one run: values by section and name."""
MAX_TEXT: Final = 100_000
"""Letters of a value that are kept: more are cut, after they were compared."""
MAX_RUNS: Final = 50
NUM_EXAMPLES: Final = 20
SYSTEM: Final = ("prompts", "system prompt")
_NOTHING: Final = object()
_COLUMNS: Final = (
    "section",
    "name",
    "baseline_value",
    "candidate_value",
    "is_changed",
    "change",
    "difference",
    "ratio",
)


def run_diff(store: Reading, *, baseline: str, candidate: str, changed_only: bool = False) -> pd.DataFrame:
    """One row per setting, those that changed first, then by section and name: what differs between two runs?

    `baseline` and `candidate` are ids or names of runs. Columns: section (`configuration`, `hyperparameters`, `limits`,
    `prompts`, `tools`, `grader`, `data`, `code`; `identity` and `results` are no settings), name (nested keys joined by
    `.`), baseline_value, candidate_value (as text, JSON where it is no text; NULL = not said), is_changed, change
    (`changed`, `only_baseline`, `only_candidate`, `same`), difference (candidate minus baseline), ratio (candidate /
    baseline), both where both are numbers. Equal numbers are the same however written; the order of keys means nothing.
    What several sources say of one run is put together. Secrets are hidden, long texts cut.

    Raises:
        QuestionError: There is no such run, or several have that name.
    """
    ids = run_ids(store, [baseline, candidate])
    known = _known(store, sorted(set(ids)))
    before, after = known[ids[0]], known[ids[1]]
    _put_prompts(store, ids, (before, after))
    keys = sorted(before.keys() | after.keys(), key=_place)
    rows = [_row(key, before.get(key, _NOTHING), after.get(key, _NOTHING)) for key in keys]
    rows.sort(key=lambda row: not row["is_changed"])
    frame = pd.DataFrame(rows, columns=_COLUMNS).astype({"is_changed": bool, "difference": float, "ratio": float})
    return frame[frame["is_changed"]].reset_index(drop=True) if changed_only else frame


def varying_settings(store: Reading, *, runs: tuple[str, ...], varying_only: bool = True) -> pd.DataFrame:
    """One row per run and setting, ordered by section, name, and the runs as asked: what varies among several runs?

    `runs` are ids or names, 50 at most. Columns: section, name (as in `run_diff`), run_id, run_name, value (text, NULL
    = not said), is_varying (not the same in all of them). With `varying_only` only settings that vary come, and none of
    `identity` and `results`.

    Raises:
        QuestionError: There is no such run, several have that name, or too many are asked for.
    """
    ids = list(dict.fromkeys(run_ids(store, runs)))
    if len(ids) > MAX_RUNS:
        raise QuestionError(f"{len(ids)} runs are too many to compare: {MAX_RUNS} at most")
    known, names = _known(store, sorted(ids)), _names(store)
    rows = []
    for key in sorted(set().union(*known.values()), key=_place):
        values = [known[each].get(key, _NOTHING) for each in ids]
        is_varying = len({_identity(value) for value in values}) > 1
        if not varying_only or (is_varying and key[0] not in FACTS):
            rows += [
                (key[0], redacted(key[1]), run_id, names[run_id], _text(key[1], value), is_varying)
                for run_id, value in zip(ids, values, strict=True)
            ]
    return pd.DataFrame(rows, columns=["section", "name", "run_id", "run_name", "value", "is_varying"])


def prompt_differences(store: Reading, *, baseline: str, candidate: str, limit: int = NUM_EXAMPLES) -> pd.DataFrame:
    """One row per sample whose prompt differs between two runs, by id, `limit` at most: which prompts were changed?

    `baseline` and `candidate` are ids or names of runs. Columns: sample_id, environment, baseline_prompt,
    candidate_prompt (text, NULL where only its hash is known), num_shared (samples in both runs), num_known (of these,
    with a prompt known in both), num_different (of these, with another prompt). Where none differs, one row without a
    sample carries the counts.

    Raises:
        QuestionError: There is no such run, or several have that name.
    """
    ids = run_ids(store, [baseline, candidate])
    own = {"baseline": ids[0], "candidate": ids[1], "run_ids": sorted(set(ids)), "limit": limit}
    frame = store.ask("prompt_differences", own)
    for side in ("baseline_prompt", "candidate_prompt"):
        frame[side] = [None if pd.isna(text) else _text("", text) for text in frame[side]]
    return frame


def run_ids(store: Reading, asked: Sequence[str]) -> list[str]:
    """Ids of runs that are named by id or name.

    Raises:
        QuestionError: There is no such run, or several have that name.
    """
    names = _names(store)
    found = []
    for text in asked:
        own = [text] if text in names else [run_id for run_id, name in names.items() if name == text]
        if len(own) > 1:
            raise QuestionError(f"several runs are named {text!r}; name one by its id: {', '.join(own)}")
        if not own:
            near = difflib.get_close_matches(text, sorted({*names, *names.values()}), 3)
            raise QuestionError(f"there is no run {text!r}" + (f"; there is {', '.join(near)}" if near else ""))
        found += own
    return found


def _names(store: Reading) -> dict[str, str]:
    frame = store.ask("run_names", {})
    return dict(zip(frame["run_id"], frame["name"].fillna(frame["run_id"]), strict=True))


def _known(store: Reading, ids: list[str]) -> dict[str, Known]:
    """What is known of each run: facts of the store, then what its sources say of configuration."""
    found: dict[str, Known] = {each: {} for each in ids}
    facts = store.ask("run_diff", {"run_ids": ids})
    for run_id, part, name, value in facts.itertuples(index=False):
        found[run_id][part, name] = parsed(value)
    described = store.ask("run_descriptions", {"run_ids": ids})
    for run_id, rows in described.groupby("run_id"):
        for origin, otherwise in (("hyperparameters", "hyperparameters"), ("config", "configuration")):
            for name, value in settings_of(rows[origin].dropna(), f"({origin})").items():
                _put(found[str(run_id)], (section(name, otherwise), name), value, origin)
    prompts = store.ask("run_system_prompts", {"run_ids": ids})
    if prompts["is_shared"].any():  # a prompt may name its sample: only those of the same samples can be compared
        prompts = prompts[prompts["is_shared"]]
    for run_id, rows in prompts.groupby("run_id"):
        texts = rows["prompt"].astype(object).where(rows["prompt"].notna(), None)
        found[str(run_id)][SYSTEM] = dict(zip(rows["sample_id"], texts, strict=True))
    return {run_id: _one_prompt(known) for run_id, known in found.items()}


def _put(known: Known, key: tuple[str, str], value: Any, origin: str) -> None:
    """Add a setting. The same name may stand in hyperparameters and configuration: only another value is told apart."""
    if key in known and _identity(known[key]) != _identity(value):
        key = (key[0], f"{key[1]} ({origin})")
    known[key] = value


def _one_prompt(known: Known) -> Known:
    """Instead of system messages by sample the one that all have, else how many there are, with a digest of them.

    Where there is none, the source may not have kept it: then nothing is known.
    """
    by_sample = known.pop(SYSTEM, {})
    texts = set(by_sample.values())
    if len(texts) == 1 and None not in texts:
        known[SYSTEM] = texts.pop()
    elif len(texts) > 1:
        digest = _digest(f"{sample}\n{text}" for sample, text in sorted(by_sample.items()))
        known["prompts", "system prompts"] = f"{len(texts)} in {len(by_sample)} samples, digest {digest}"
    return known


def _put_prompts(store: Reading, ids: list[str], sides: tuple[Known, Known]) -> None:
    """Add to both runs how many samples they share, and how many of these have the same prompt."""
    own = {"baseline": ids[0], "candidate": ids[1], "run_ids": sorted(set(ids)), "limit": 1}
    counts = store.ask("prompt_differences", own).iloc[0]
    different = int(counts["num_different"])
    for known, others in zip(sides, (0, different), strict=True):
        if counts["num_shared"]:
            known["data", "samples in both runs"] = int(counts["num_shared"])
        if counts["num_known"]:
            told = f"{counts['num_known']} known"
            known["prompts", "prompts of samples in both runs"] = told + (
                f", {others} of them others" if others else ""
            )


def _place(key: tuple[str, str]) -> tuple[int, str]:
    return SECTIONS.index(key[0]), key[1]


def _row(key: tuple[str, str], before: Any, after: Any) -> dict[str, Any]:
    """One setting of both runs."""
    is_changed = _identity(before) != _identity(after)
    change = "changed" if is_changed else "same"
    if before is _NOTHING or after is _NOTHING:
        change = "only_candidate" if before is _NOTHING else "only_baseline"
    first, second = number(before), number(after)
    return {
        "section": key[0],
        "name": redacted(key[1]),
        "baseline_value": _text(key[1], before),
        "candidate_value": _text(key[1], after),
        "is_changed": is_changed,
        "change": change,
        "difference": second - first if first is not None and second is not None else None,
        "ratio": second / first if first and second is not None else None,
    }


def _identity(value: Any) -> str | None:
    """What equal values have in common; None for one that is not there."""
    return None if value is _NOTHING else canonical(value)


def _text(name: str, value: Any) -> str | None:
    """A value as it is shown, cut where it is very long."""
    if value is _NOTHING:
        return None
    text = shown(name, value)
    return text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]} … ({len(text)} letters)"


def _digest(lines: Iterable[str]) -> str:
    return md5("\n".join(lines).encode(errors="surrogatepass"), usedforsecurity=False).hexdigest()[:8]
