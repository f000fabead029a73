"""What a line of the neutral format may hold: every field, the column it fills and how its value is checked.

The same rules as `sources/observatory_jsonl.schema.json`; a test holds the two against each other. Nothing here reads
a file.
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ingest.dialects import content_text
from ingest.reading import dump_json, number, text, timestamp
from ingest.schema import KINDS, SPLITS, STATUSES, table
from ingest.token_streams import STREAMS

Values = dict[str, Any]
Check = Callable[[str, Any], Any]
Fields = Mapping[str, tuple[str, Check]]
"""Column to fill and check by field name."""

_LARGEST = 2**63 - 1
_ISO = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}([.,][0-9]{1,9})?)?(Z|[+-][0-9]{2}:?[0-9]{2})?)?"
)
_JSON_NAMES = {
    dict: "an object",
    list: "a list",
    str: "text",
    bool: "true or false",
    int: "a number",
    float: "a number",
}


class FieldError(ValueError):
    """A field breaks a rule of the format; the message says which and how."""

    def __init__(self, key: str, expected: str, value: Any) -> None:
        shown = repr(value) if isinstance(value, str | int | float) else _JSON_NAMES.get(type(value), "null")
        super().__init__(f"{key} must be {expected}, not {shown[:60]}")

    def inside(self, where: str) -> "FieldError":
        """The same error, of a field inside another."""
        self.args = (f"{where}.{self}",)
        return self


def _text(key: str, value: Any) -> str:
    if isinstance(value, str):
        return value
    raise FieldError(key, "text", value)


def _id(key: str, value: Any) -> str:
    if isinstance(value, str) and value:
        return value
    if isinstance(value, float) and value.is_integer():  # pandas turns ids into 3.0 where one is missing
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise FieldError(key, "text (not empty) or a whole number", value)


def _name(key: str, value: Any) -> str:
    return _id(key, _text(key, value))


def _integer(key: str, value: Any) -> int:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool) and -_LARGEST - 1 <= value <= _LARGEST:
        return value
    raise FieldError(key, "a whole number", value)


def _count(key: str, value: Any) -> int:
    if value.__class__ is int and 0 <= value <= _LARGEST:
        return int(value)
    whole = _integer(key, value)
    if whole < 0:
        raise FieldError(key, "a whole number from 0", value)
    return whole


def _number(key: str, value: Any) -> float | None:
    if value.__class__ is float and -math.inf < value < math.inf:
        return float(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return number(value)
    raise FieldError(key, "a number", value)


def _flag(key: str, value: Any) -> bool:
    if isinstance(value, bool):
        return value
    raise FieldError(key, "true or false", value)


def _time(key: str, value: Any) -> Any:
    time = timestamp(value) if not isinstance(value, str) or _ISO.fullmatch(value) else None
    if time is None:
        raise FieldError(key, "a time (ISO 8601, or seconds since 1970)", value)
    return time


def _as_text(_: str, value: Any) -> str | None:
    return text(value)


def _as_json(_: str, value: Any) -> str | None:
    return dump_json(value)


def as_is(_: str, value: Any) -> Any:
    """Let a value through, to be looked at elsewhere."""
    return value


def _content(key: str, value: Any) -> str | None:
    if isinstance(value, str):
        return value
    if isinstance(value, list | dict):
        return content_text(value)
    raise FieldError(key, "text, a list of parts or an object", value)


def _list(key: str, value: Any) -> list[Any]:
    if isinstance(value, list):
        return value
    raise FieldError(key, "a list", value)


def _tags(key: str, value: Any) -> str | None:
    return dump_json(_list(key, value))


def _object(key: str, value: Any) -> Values:
    if isinstance(value, dict):
        return value
    raise FieldError(key, "an object", value)


def _prompt(key: str, value: Any) -> Any:
    if isinstance(value, str | list):
        return value
    raise FieldError(key, "text or a list of messages", value)


def _scores(key: str, value: Any) -> Any:
    if isinstance(value, list | dict):
        return value
    raise FieldError(key, "a list or an object", value)


def _score_value(key: str, value: Any) -> Any:
    if isinstance(value, str | bool | int | float):
        return value
    raise FieldError(key, "a number, true, false or text", value)


class _OneOf:
    """Checks for one of a few words."""

    def __init__(self, words: Iterable[str]) -> None:
        self.words = tuple(words)

    def __call__(self, key: str, value: Any) -> str:
        if isinstance(value, str) and value in self.words:
            return value
        raise FieldError(key, "one of " + ", ".join(self.words), value)


_BY_TYPE: dict[str, Check] = {
    "string": _text,
    "int": _count,
    "float": _number,
    "bool": _flag,
    "time": _time,
    "json": _as_json,
}


def _columns(name: str, columns: str, **other: Check) -> dict[str, tuple[str, Check]]:
    types = {column.name: column.type for column in table(name).columns}
    return {each: (each, other.get(each) or _BY_TYPE[types[each]]) for each in columns.split()}


_LINE: dict[str, tuple[str, Check]] = {"type": ("type", as_is), "run": ("run", _id)}
_SAMPLE = _columns(
    "samples",
    "reference environment tags cluster_key dataset_version",
    reference=_as_text,
    tags=_tags,
    cluster_key=_id,
)
SAMPLE_COLUMNS = ("reference", "tags", "cluster_key", "dataset_version")
"""Fields of a rollout line that speak of its sample."""

ROLLOUT: Fields = {
    **_LINE,
    **_SAMPLE,
    **_columns(
        "rollouts",
        "sample_id environment agent host group_id step split subset model policy_version_start policy_version_end "
        "grader_version prompt_version tools_version status stop_reason error_type error_message reward passed "
        "advantage final_answer input_tokens cached_tokens output_tokens reasoning_tokens context_tokens "
        "tool_output_tokens cost_usd started_at ended_at latency_s model_latency_s queue_latency_s grading_latency_s",
        sample_id=_id,
        group_id=_id,
        split=_OneOf(SPLITS),
        subset=_OneOf(("all", "effective")),
        status=_OneOf(STATUSES),
        final_answer=_as_text,
    ),
    "rollout_id": ("native_id", _id),
    "attempt": ("native_attempt", _count),
    "partial": ("partial", _flag),
    "time": ("time", _time),
    "metadata": ("metadata", as_is),
    "prompt": ("prompt", _prompt),
    "messages": ("messages", _list),
    "tool_calls": ("tool_calls", _list),
    "scores": ("scores", _scores),
}
RUN: Fields = {
    **_LINE,
    **_columns(
        "runs",
        "name kind provider base_model model parent_run status created_at started_at ended_at reward_name "
        "hyperparameters tags code_reference error_message",
        kind=_OneOf(KINDS),
        tags=_tags,
        parent_run=_id,
    ),
    "config": ("config", as_is),
}
SAMPLE: Fields = {
    **_LINE,
    **_SAMPLE,
    "sample_id": ("sample_id", _id),
    "prompt": ("prompt", _prompt),
    "metadata": ("metadata", as_is),
}
METRIC: Fields = {
    **_LINE,
    **_columns("metrics", "step split value recorded_at", split=_OneOf(SPLITS)),
    "name": ("name", _name),
    "metrics": ("metrics", _object),
    "labels": ("labels", as_is),
}
CHECKPOINT: Fields = {
    **_LINE,
    **_columns("checkpoints", "step checkpoint_id model created_at", checkpoint_id=_id),
    "metrics": ("metrics", as_is),
}
EVENT: Fields = {
    **_LINE,
    **_columns("events", "created_at step level message", level=_OneOf(("info", "warn", "error"))),
    "event_id": ("event_id", _id),
    "event_type": ("event_type", _text),
    "data": ("data", as_is),
}
_PIECE: dict[str, tuple[str, Check]] = {**_LINE, "rollout_id": ("rollout_id", _id), "time": ("time", _time)}
MESSAGE: Fields = {
    "role": ("role", _OneOf(("system", "developer", "user", "assistant", "tool", "function"))),
    "content": ("text", _content),
    "reasoning_content": ("reasoning_text", _text),
    "tool_calls": ("tool_calls", _list),
    "tool_call_id": ("tool_call_id", _id),
    "name": ("tool", _text),
    "error": ("error", _flag),
    "error_kind": ("error_kind", _text),
    **_columns(
        "messages",
        "agent input_tokens output_tokens reasoning_tokens started_at ended_at latency_s finish_reason turn_reward "
        "is_sampled branch logprob_mean logprob_p05 entropy_mean mismatch_mean entropy_p95 mismatch_abs_mean "
        "mismatch_p95 is_after_tool",
    ),
    **{name: (name, _list) for name in STREAMS},
}
CALL: Fields = {
    "id": ("tool_call_id", _id),
    "name": ("tool_raw", _text),
    "arguments": ("arguments", as_is),
    "output": ("output_text", _as_text),
    "error": ("is_error_flagged", _flag),
    "requestor": ("requestor", _OneOf(("agent", "user"))),
    **_columns(
        "tool_calls",
        "turn agent error_kind started_at ended_at latency_s exit_code is_executed branch",
        exit_code=_integer,
    ),
}
SCORE: Fields = {
    "grader": ("grader", _id),
    "value": ("value", _score_value),
    **_columns(
        "scores",
        "weight passed explanation kind grader_version",
        kind=_OneOf(("reward", "subscore", "metric", "assertion", "label")),
    ),
}
MESSAGE_LINE: Fields = {**MESSAGE, **_PIECE, "index": ("index", _count)}
CALL_LINE: Fields = {**CALL, **_PIECE}
SCORE_LINE: Fields = {**SCORE, **_PIECE}


_NAMES: dict[Check, str] = {
    _text: "text",
    _as_text: "text",
    _id: "id",
    _count: "count",
    _number: "number",
    _flag: "flag",
    _time: "time",
}


def kind(known: Fields, field: str) -> str:
    """What a field holds: `text`, `id`, `word` (one of a few), `count`, `number`, `flag`, `time`, or `other`."""
    check = known[field][1]
    return "word" if isinstance(check, _OneOf) else _NAMES.get(check, "other")


def take(fields: Fields, line: Values, extras: Values) -> Values:
    """Checked values by column; null counts as left out, fields that are unknown go to `extras`.

    Raises:
        FieldError: A value breaks its rule.
    """
    values: Values = {}
    for key, value in line.items():
        field = fields.get(key)
        if field is None:
            extras[key] = value
        elif value is not None:
            column, check = field
            values[column] = value if check is _text and value.__class__ is str else check(key, value)
    return values


def take_nth(fields: Fields, entries: str, index: int, entry: Any, unknown: set[str]) -> Values:
    """The same of an entry of a list in a line; names of fields without a column go to `unknown`.

    Raises:
        FieldError: The entry is no object, or a value in it breaks its rule.
    """
    if not isinstance(entry, dict):
        raise FieldError(f"{entries}[{index}]", "an object", entry)
    extras: Values = {}
    try:
        values = take(fields, entry, extras)
    except FieldError as error:
        raise error.inside(f"{entries}[{index}]") from None
    if extras:
        unknown.update(f"{entries}[].{key}" for key in extras)
    return values
