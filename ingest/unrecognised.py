"""Says of a file that no source recognises what it looks like, which formats are near, and how to map it by hand."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ingest.parquet_rows import column_names
from ingest.reading import Peek
from ingest.sources import SOURCES
from ingest.sources.base import Source

_SHOWN = 12
_WORD = re.compile(r"[A-Za-z_]\w*")
_PLAIN_WORDS = frozenset({"JSON", "Parquet", "a", "data", "files", "folder", "list", "object", "result", "type"})
"""Words of hints that other formats have for keys: they say nothing."""
_NOT_READ: tuple[tuple[str, frozenset[str]], ...] = (
    ("letta-evals results", frozenset({"type", "result.sample"})),
    ("NeMo Gym rollouts", frozenset({"responses_create_params"})),
    ("ART trajectories", frozenset({"trajectories.messages_and_choices"})),
    ("ART trajectories", frozenset({"group_index", "messages", "reward"})),
    ("an rLLM episode", frozenset({"training_step", "episode_id"})),
    ("Tinker rollout summaries", frozenset({"schema_version", "traj_idx"})),
    ("an ATIF trajectory", frozenset({"schema_version", "steps", "agent"})),
    ("a Harbor trial", frozenset({"task_name", "trial_name"})),
    ("an OTLP trace export", frozenset({"resourceSpans"})),
    ("a mini-swe-agent trajectory", frozenset({"trajectory_format", "messages"})),
    ("a SWE-agent trajectory", frozenset({"trajectory", "history"})),
    ("OpenHands output", frozenset({"instance_id", "history"})),
    ("SkyRL evaluation dumps", frozenset({"input_prompt", "output_response"})),
    ("AReaL rollouts", frozenset({"sample_idx", "seqlen", "reward"})),
    ("NeMo-RL training data", frozenset({"content", "rewards", "idx"})),
    ("an Inspect log", frozenset({"version", "status", "eval"})),
    ("MLflow traces", frozenset({"info.trace_id"})),
    ("Langfuse observations", frozenset({"traceId", "startTime"})),
    ("Weave calls", frozenset({"op_name", "trace_id"})),
)
"""Formats of others that are known by their keys and not read."""


def explained(path: Path) -> str:
    """Why a file cannot be read, the nearest formats, and how to map its fields by hand."""
    peek = Peek(path)
    if not peek.head:
        return f"{path}: the file is empty or cannot be read"
    keys = list(_keys(peek))
    other = next((title for title, marks in _NOT_READ if marks <= set(keys)), None)
    looks = _looks(peek, [key for key in keys if "." not in key]) + (f"; {other}, by the look of it" if other else "")
    near = sorted(SOURCES, key=lambda source: -_likeness(source, keys))
    near = [source for source in near if _likeness(source, keys)][:3]
    hints = "; ".join(f"{source.NAME} ({source.HINT})" for source in near)
    nearest = hints or f"none; read are {', '.join(each.NAME for each in SOURCES)}"
    by_hand = (
        " If it is JSON lines, name the fields by hand: --map sample_id=PATH --map reward=PATH --map messages=PATH"
    )
    is_json = bool(keys) and not peek.is_parquet
    return f"{path}: no source recognises it ({looks}). Nearest formats: {nearest}.{by_hand if is_json else ''}"


def _looks(peek: Peek, keys: list[str]) -> str:
    shown = ", ".join(key[:80] for key in sorted(keys)[:_SHOWN]) + (" …" if len(keys) > _SHOWN else "")
    if peek.is_parquet:
        return f"it is Parquet with the columns {shown}" if keys else "it begins like Parquet but is not whole"
    if keys:
        return f"its first record has the keys {shown}"
    if peek.head[:2] == b"PK":
        return "it is a ZIP archive"
    if peek.head[:1] in (b"{", b"[") and peek.first is None:
        return "it begins like JSON but its first record is not whole, or too long to be looked at"
    return "its first record holds no object" if peek.first is not None else "it does not begin with JSON"


def _keys(peek: Peek) -> Iterator[str]:
    """Keys of the first record and of the objects in it (`outer.inner`), or the columns of a Parquet file."""
    if peek.is_parquet:
        yield from column_names(peek.path)
    first = _first_of(peek.first)
    for key, inner in first.items():
        yield key
        yield from (f"{key}.{each}" for each in _first_of(inner))


def _first_of(value: Any) -> dict[str, Any]:
    entry = value[0] if isinstance(value, list) and value else value
    return entry if isinstance(entry, dict) else {}


def _likeness(source: Source, keys: list[str]) -> int:
    """How many of the keys that a source's hint names are there; those within other objects count little."""
    words = set(_WORD.findall(source.HINT)) - _PLAIN_WORDS
    inner = {key.rpartition(".")[2] for key in keys if "." in key}
    return 10 * len(words & set(keys)) + len(words & inner)
