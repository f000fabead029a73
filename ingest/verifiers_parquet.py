"""Parquet rows of verifiers: data sets pushed to the Hugging Face hub, and what prime-rl uploads to its platform.

Part of the source `verifiers_legacy`, whose rows they are, in other clothes: messages as structs, or JSON as text.
The platform's columns: `run_id, step, tag, problem_id, sample_id, prompt, completion, trajectory, answer, env_name,
task, info, reward, advantage, metrics, timing` (JSON texts) `, num_input_tokens, num_output_tokens, created_at`.
"""

import re
from pathlib import Path

from ingest.parquet_rows import column_names
from ingest.reading import parse_json
from ingest.sources.base import Values

_HUB = frozenset({"example_id", "prompt", "completion", "reward"})
_PLATFORM = frozenset({"problem_id", "sample_id", "prompt", "completion", "reward", "env_name"})
_AS_TEXT = ("trajectory", "info", "metrics", "timing", "error", "token_usage")
_SHARD = re.compile(r"\w+-\d+-of-\d+")


def is_rows(path: Path) -> bool:
    """Whether a Parquet file holds rows of verifiers."""
    names = column_names(path)
    return names >= _PLATFORM or (names >= _HUB and not names >= {"step", "advantage"})


def run_of(path: Path) -> str:
    """The file's name, its folder's where that is a shard's (`data/train-00000-of-00001.parquet`)."""
    stem = path.name.split(".", 1)[0]
    if not _SHARD.fullmatch(stem):
        return stem or path.name
    folder = path.resolve().parent
    return (folder.parent if folder.name == "data" else folder).name or stem


def plain(record: Values) -> Values:
    """The row as `results.jsonl` has it: JSON texts parsed, the platform's columns by the names of the rows."""
    for name in _AS_TEXT:
        value = record.get(name)
        if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
            try:
                record[name] = parse_json(value)
            except ValueError:
                continue
    if "problem_id" in record and "example_id" not in record:
        record["example_id"] = record.pop("problem_id")
    counts = record.pop("num_input_tokens", None), record.pop("num_output_tokens", None)
    if "token_usage" not in record and counts != (None, None):
        record["token_usage"] = {"input_tokens": counts[0], "output_tokens": counts[1]}
    return record
