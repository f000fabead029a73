"""What a prime-rl run directory says of the run itself: configuration, metrics, checkpoints."""

import re
from collections.abc import Iterator
from pathlib import Path

from ingest.reading import dump_json, number, timestamp, whole
from ingest.sources.base import Part, Record, Reject, Row, Values, objects
from ingest.sources.prime_rl_layout import Layout
from ingest.sources.verifiers_folder import model_of, numbers, read_settings
from ingest.sources.verifiers_trace import object_of

_VALID = re.compile(r"(?:evals?|val|valid|validation)[/_.]")
_TEST = re.compile(r"test[/_.]")
_TRAIN = re.compile(
    r"(?:train|rewards?|all|effective|loss|entropy|mismatch_kl|kl|kl_ent_ratio|advantages?|batch|seq_len|"
    r"completion_len|prompt_len|num_turns|is_truncated|errors?|solve_all|solve_none|off_policy_level|metrics|filters?|"
    r"masked\w*|importance_ratio|stop_condition|pool|effective_batch_size)(?:[/_.]|$)"
)
_TUNED = (
    *("max_steps", "batch_size", "rollouts_per_example", "group_size", "seq_len", "seed", "max_off_policy_steps"),
    *("async_level", "max_async_level", "optim", "scheduler", "loss", "advantage", "algorithm", "sampling", "filters"),
)
FILE_BASE = 2**40
"""Positions of the n-th file start at n times this, so that they stay in order."""


def split_of(name: str) -> str | None:
    """The split that a metric's name says it belongs to: by its prefix; None for timings, hardware and progress."""
    if _VALID.match(name):
        return "valid"
    if _TEST.match(name):
        return "test"
    return "train" if _TRAIN.match(name) else None


def run_row(layout: Layout, source_format: str) -> Row:
    """The row of `runs`: model and hyperparameters from the configuration of the last attempt."""
    configs = _settings(layout.configs)
    is_evaluation = bool(configs) and configs.keys() <= {"eval", "inference", "infer"}
    model = model_in(layout.configs)
    values = {
        "kind": "evaluation" if is_evaluation else "training",
        "provider": "prime-rl",
        "source_format": source_format,
        "base_model": None if is_evaluation else model,
        "model": model,
        "started_at": _first_time(layout.metrics),
        "reward_name": "reward",
        "hyperparameters": dump_json(_hyperparameters(configs) or None),
        "config": dump_json(configs or None),
        "precedence": 10,
    }
    return Row("runs", values)


def model_in(configs: list[Path]) -> str | None:
    """The model that configuration files name."""
    return next((found for settings in _settings(configs).values() if (found := _model(settings))), None)


def _settings(configs: list[Path]) -> dict[str, Values]:
    return {path.stem: settings for path in configs if (settings := read_settings(path))}


def _model(settings: Values) -> str | None:
    if found := model_of(settings):
        return found
    inner = (model_of(object_of(settings.get(name))) for name in ("trainer", "orchestrator", "inference"))
    return next((found for found in inner if found), None)


def _hyperparameters(configs: dict[str, Values]) -> Values:
    """By component, what tunes the training; the whole configuration is kept beside it."""
    found: Values = {}
    for name, settings in configs.items():
        parts = {name: settings} | {
            f"{name}.{inner}": object_of(settings.get(inner)) for inner in ("trainer", "orchestrator")
        }
        for part, values in parts.items():
            if kept := {key: values[key] for key in _TUNED if values.get(key) is not None}:
                found[part] = kept
    return found


def _first_time(paths: list[Path]) -> object:
    times = []
    for path in paths:
        first = next((found for found in objects(Part(path)) if not isinstance(found, Reject)), None)
        if first is not None and (time := timestamp(number(first[1].get("time")))) is not None:
            times.append(time)
    return min(times, default=None)


def checkpoint_rows(layout: Layout) -> Iterator[Row]:
    """One row per saved step; its id is its path below the run directory."""
    seen: set[int] = set()
    for step, folder in layout.checkpoints:
        if step not in seen:
            seen.add(step)
            yield Row("checkpoints", {"step": step, "checkpoint_id": layout.label(folder)})


def metric_rows(path: Path, label: str, base: int) -> Iterator[Record]:
    """Every numeric leaf of a metrics file. Trainer and orchestrator append rows of one step with different keys.

    Raises:
        UnreadableError: The file cannot be read, or is damaged.
    """
    for found in objects(Part(path)):
        if isinstance(found, Reject):
            found.file = label
            yield found
            continue
        offset, record = found
        producer = record.get("producer")
        shared = {
            "step": whole(record.get("step")),
            "recorded_at": timestamp(record.get("time")),
            "labels": dump_json({"producer": producer}) if producer else None,
            "position": base + offset,
        }
        reported = {key: value for key, value in record.items() if key not in ("step", "time", "producer")}
        for name, value in numbers(reported, ""):
            yield Row("metrics", {**shared, "split": split_of(name), "name": name, "value": value})
