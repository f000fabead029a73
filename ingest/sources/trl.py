"""Hugging Face TRL output directories: logged completions, the trainer's log and its checkpoints.

Format (read in trl 1.16 `GRPOTrainer.log` and transformers' `TrainerState`, and in files made with both): with
`log_completions=True` a trainer writes `completions/completions_<step>.parquet`, read by `ingest.trl_completions`, and
always `trainer_state.json`: at the top when training has ended and in every `checkpoint-<step>/`. Its `log_history` is
cumulative, so only the newest one is read. GRPO, RLOO and distillation write completions, every trainer the log.

An output directory is one source; a single completions file or trainer state can be read alone, but a single file knows
neither the weights of its reward functions nor which of its rows are evaluation. `training_args.bin` is a pickle and is
never opened. TRL records neither tokens, times nor how a completion ended.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from ingest.errors import UnreadableError
from ingest.parquet_rows import DAMAGE
from ingest.reading import Peek, dump_json, number, parse_json, read_bytes, text, timestamp, whole
from ingest.sources.base import Note, Options, Part, Record, Reject, Row, Values
from ingest.trl_completions import read_completions
from ingest.trl_rewards import Rule, TrainerLog

NAME = "trl"
TITLE = "Hugging Face TRL output directory"
FILLS = frozenset(
    {
        "sample",
        "step",
        "split",
        "reward",
        "subscores",
        "messages",
        "tool_calls",
        "tool_errors",
        "metrics",
        "checkpoints",
    }
)
HINT = "a folder with completions/completions_*.parquet or trainer_state.json; Parquet with step, prompt, completion"

_STATE = "trainer_state.json"
_COMPLETIONS = re.compile(r"completions_(\d+)\.parquet")
_LOOKED_AT = 20
"""Completions files of a folder that are looked at to recognise it: the first may be empty or broken."""
_CHECKPOINT = re.compile(r"checkpoint-(\d+)")
_CONFIGS = ("training_args.json", "grpo_config.json", "trainer_config.json", "args.json", "config.json")
"""Where training scripts leave their arguments as JSON; one that holds `reward_weights` gives the weights."""
_BASE_MODEL = re.compile(r"^base_model:[ \t]*(\S+)[ \t]*$", re.M)
_SETTINGS = ("max_steps", "num_train_epochs", "train_batch_size", "logging_steps", "eval_steps", "save_steps")
_OUTCOMES = ("global_step", "epoch", "best_metric", "best_global_step", "num_input_tokens_seen", "total_flos")


def matches(peek: Peek) -> bool:
    """An output directory, its `completions` folder, one of its checkpoints, or a single file of these."""
    if not peek.is_dir:
        return _is_completions(peek.path) if peek.is_parquet else peek.keys >= {"log_history", "global_step"}
    output = _Output(peek.path)
    try:
        return output.state_path is not None or any(map(_is_completions, output.files[:_LOOKED_AT]))
    except OSError:
        return False


def _is_completions(path: Path) -> bool:
    """Whether it holds completions by its columns; one that is cut off, by its name: reading it says what is wrong."""
    try:
        names = set(pq.read_schema(path).names) if path.is_file() else set()
    except DAMAGE:
        return bool(_COMPLETIONS.fullmatch(path.name)) and Peek(path).is_parquet
    return names >= {"step", "prompt", "completion"} and (
        "advantage" in names or bool(_COMPLETIONS.fullmatch(path.name))
    )


def default_run(path: Path) -> str:
    """The name of the output directory, from whatever part of it is read."""
    folder = path if path.is_dir() else path.parent
    inside = folder.name == "completions" or _CHECKPOINT.fullmatch(folder.name)
    known = path.is_dir() or path.name == _STATE or _COMPLETIONS.fullmatch(path.name)
    return (folder.parent.name if inside else folder.name) if known else path.stem


@dataclass(frozen=True)
class _Output:
    """What an output directory holds."""

    root: Path

    @cached_property
    def files(self) -> list[Path]:
        """Completions files, by step."""
        found = [*self._glob("completions/completions_*.parquet"), *self._glob("completions_*.parquet")]
        steps = [(int(match[1]), file) for file in found if (match := _COMPLETIONS.fullmatch(file.name))]
        return [file for _, file in sorted(steps)]

    @cached_property
    def checkpoints(self) -> dict[int, Path]:
        """Checkpoint folders by step."""
        found = [(match, each) for each in self._glob("checkpoint-*") if (match := _CHECKPOINT.fullmatch(each.name))]
        return {int(match[1]): each for match, each in found if each.is_dir()}

    @cached_property
    def state_path(self) -> Path | None:
        """The newest trainer state: the one of the highest step (of the same step, the one at the top)."""
        top = [self.root / _STATE] if (self.root / _STATE).is_file() else []
        inner = [folder / _STATE for _, folder in sorted(self.checkpoints.items(), reverse=True)]
        inner = [each for each in inner if each.is_file()]
        if not top or not inner:
            return next(iter(top + inner), None)
        return max([top[0], inner[0]], key=_step_of)

    def _glob(self, pattern: str) -> list[Path]:
        try:
            return sorted(self.root.glob(pattern))
        except OSError:
            return []


def _step_of(path: Path) -> int:
    try:
        state = parse_json(read_bytes(path))
    except (ValueError, UnreadableError):
        return -1
    return (whole(state.get("global_step")) or 0) if isinstance(state, dict) else -1


@dataclass(slots=True)
class _State:
    """The trainer's state: settings, outcome and log."""

    values: Values = field(default_factory=dict)
    log: list[Any] = field(default_factory=list)


def read(part: Part, options: Options) -> Iterator[Record]:
    """Yield checkpoints, metrics, one rollout per logged completion, and the run, whose reward is known by then.

    Raises:
        UnreadableError: A file that was named itself is broken.
    """
    path = part.path
    is_folder = path.is_dir()
    output = _Output(path)
    state_path = output.state_path if is_folder else path if not Peek(path).is_parquet else None
    state = _State()
    if state_path is not None:
        try:
            state = _load_state(state_path)
        except UnreadableError as error:
            if not is_folder:
                raise
            yield Reject(str(error), "0", file=str(state_path))
    if is_folder:
        yield from _checkpoints(output, state)
    yield from _metrics(state.log, state_path)
    files = output.files if is_folder else [path] if state_path is None else []
    log = TrainerLog.of(state.log, _weights(path) if is_folder else None)
    rules: dict[tuple[str, ...], Rule] = {}
    yield from read_completions(files, path if is_folder else path.parent, log, options.mapping.get("reward"), rules)
    reward_name = next((rule.name for rule in rules.values() if rule.name), None)
    yield Row("runs", {**_run(output if is_folder else None, state), "reward_name": reward_name})


def _load_state(path: Path) -> _State:
    try:
        state = parse_json(read_bytes(path))
    except ValueError as error:
        raise UnreadableError(f"{path}: {error}") from None
    log = state.get("log_history") if isinstance(state, dict) else None
    if not isinstance(log, list):
        raise UnreadableError(f"{path}: a trainer state needs a list log_history")
    return _State(state, log)


def _run(output: _Output | None, state: _State) -> Values:
    settings = {key: state.values[key] for key in _SETTINGS if state.values.get(key) is not None}
    outcomes = {key: state.values[key] for key in _OUTCOMES if state.values.get(key) is not None}
    return {
        "kind": "training",
        "provider": "trl",
        "base_model": _base_model(output) if output else None,
        "hyperparameters": dump_json(settings or None),
        "config": dump_json(outcomes or None),
    }


def _base_model(output: _Output) -> str | None:
    """The base model where an adapter or the model card names it."""
    for folder in (output.root, *(each for _, each in sorted(output.checkpoints.items(), reverse=True)[:1])):
        adapter = _json_object(folder / "adapter_config.json")
        if isinstance(adapter.get("base_model_name_or_path"), str):
            return text(adapter["base_model_name_or_path"])
        card = folder / "README.md"
        try:
            found = _BASE_MODEL.search(card.read_text("utf-8", "replace")[:20_000]) if card.is_file() else None
        except OSError:
            continue
        if found:
            return text(found[1])
    return None


def _json_object(path: Path) -> Values:
    try:
        value = parse_json(read_bytes(path)) if path.is_file() and path.stat().st_size < 1024 * 1024 else None
    except (OSError, ValueError, UnreadableError):
        return {}
    return value if isinstance(value, dict) else {}


def _weights(root: Path) -> list[float] | None:
    for name in _CONFIGS:
        weights = _json_object(root / name).get("reward_weights")
        if isinstance(weights, list) and weights:
            numbers = [number(each) for each in weights]
            known = [each for each in numbers if each is not None]
            if len(known) == len(numbers):
                return known
    return None


def _checkpoints(output: _Output, state: _State) -> Iterator[Row]:
    evaluated: dict[int | None, Values] = {}
    for entry in state.log:
        if isinstance(entry, dict):
            found = {key: value for key, value in entry.items() if str(key).startswith("eval_")}
            evaluated.setdefault(whole(entry.get("step")), {}).update(found)
    for step, folder in sorted(output.checkpoints.items()):
        metrics = {key: number(value) for key, value in evaluated.get(step, {}).items()}
        yield Row("checkpoints", {"step": step, "checkpoint_id": folder.name, "metrics": dump_json(metrics or None)})


def _metrics(log: list[Any], path: Path | None) -> Iterator[Record]:
    """One row per number of the log; `eval_` and `test_` name the split, what is null or NaN keeps its row."""
    others: set[str] = set()
    for position, entry in enumerate(log):
        if not isinstance(entry, dict):
            yield Reject("an entry of log_history must be an object", f"log_history[{position}]", str(entry), str(path))
            continue
        for name, value in _leaves(entry):
            if name == "step":
                continue
            if isinstance(value, str | list):
                others.add(name)
                continue
            split = "valid" if name.startswith("eval_") else "test" if name.startswith("test_") else "train"
            row = {"step": whole(entry.get("step")), "split": split, "name": name, "value": number(value)}
            yield Row("metrics", {**row, "recorded_at": timestamp(entry.get("timestamp")), "position": position})
    if others:
        named = ", ".join(sorted(others))[:300]
        yield Note(f"The trainer's log holds text or lists under {named}: these are no metrics and were not kept.")


def _leaves(entry: Values, prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in entry.items():
        if isinstance(value, dict):
            yield from _leaves(value, f"{prefix}{key}/")
        else:
            yield f"{prefix}{key}", value
