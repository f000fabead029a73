"""`--map field=path`: reads JSON objects of any shape as rollout lines of the neutral format.

Paths are dotted, numbers are list indices (`sample_id=meta.task`, `reward=scores.0.value`). What is mapped leaves its
place, everything else goes to `metadata`. Foreign files are not held to our types as strictly as our own: numbers
written as text are read as numbers, JSON written as text where a list is due as a list, `validation` is `valid`.
"""

from collections.abc import Mapping
from typing import Any

from ingest.errors import SourceError
from ingest.neutral_fields import ROLLOUT, Values, kind
from ingest.reading import number, parse_json, whole

_SPLITS = {
    "training": "train",
    "validation": "valid",
    "val": "valid",
    "dev": "valid",
    "eval": "valid",
    "testing": "test",
}
_LISTS = frozenset({"messages", "tool_calls", "scores", "tags"})


class Mapped:
    """A rule that makes a rollout line of an object."""

    def __init__(self, mapping: Mapping[str, str]) -> None:
        """Take the rule from the command line.

        Raises:
            SourceError: It names a field that the format does not have, or an empty path.
        """
        for field, path in mapping.items():
            if field not in ROLLOUT or field in ("type", "partial", "metadata"):
                known = ", ".join(sorted(ROLLOUT.keys() - {"type", "partial", "metadata"}))
                raise SourceError(f"--map {field}={path}: there is no field {field}; fields are {known}")
            if not path:
                raise SourceError(f"--map {field}=: the path is empty; write it like {field}=meta.task")
        self._paths = {field: path.split(".") for field, path in mapping.items()}

    def __call__(self, raw: Values) -> Values:
        """The rollout line an object stands for."""
        line: Values = {}
        rest = raw
        for field, path in self._paths.items():
            value = _dig(raw, path)
            if value is not None:
                line[field] = _as_ours(field, value)
                rest = _without(rest, path)
        line["metadata"] = rest or None
        return line


def _dig(value: Any, path: list[str]) -> Any:
    for step in path:
        if isinstance(value, dict):
            value = value.get(step)
        elif isinstance(value, list) and step.lstrip("-").isdigit() and -len(value) <= int(step) < len(value):
            value = value[int(step)]
        else:
            return None
    return value


def _without(value: Any, path: list[str]) -> Any:
    """A copy without what the path leads to (what stands inside lists is left there)."""
    if not isinstance(value, dict) or path[0] not in value:
        return value
    rest = {key: each for key, each in value.items() if key != path[0]}
    if len(path) > 1:
        inner = _without(value[path[0]], path[1:])
        if inner or inner == 0:
            rest[path[0]] = inner
    return rest


def _as_ours(field: str, value: Any) -> Any:
    if not isinstance(value, str):
        return value
    if field == "split":
        return _SPLITS.get(value.lower(), value.lower())
    if field in _LISTS:
        try:
            return parse_json(value)
        except ValueError:
            return value
    if kind(ROLLOUT, field) == "count":
        found = whole(value)
        return value if found is None else found
    if kind(ROLLOUT, field) == "number":
        try:
            return number(float(value))
        except ValueError:
            return value
    return value
