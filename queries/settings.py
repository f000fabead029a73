"""A run's configuration taken apart: one name and value a setting, compared as values and shown as text.

Pure functions: no SQL, no pages. Names are the keys on the way to a value, joined by `.`; equal numbers are equal
however they are written (1 and 1.0), the order of keys means nothing, and `true` is no text. Texts may be secret.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from queries.redaction import REDACTED, redacted

Settings = dict[str, Any]
MAX_DEPTH: Final = 20
"""Levels that are taken apart; what lies deeper is one value."""
SECTIONS: Final = (
    *("configuration", "hyperparameters", "limits", "prompts", "tools", "grader", "data", "code"),
    *("identity", "results"),
)
"""Sections of a run's settings in the order shown; the last two say which run it is and what came of it."""
FACTS: Final = ("identity", "results")
"""Sections that are no settings: that they differ between two runs is no difference in how these were made."""
_LIMIT: Final = re.compile(
    r"max_.*(?:tokens|length|len|calls|turns|steps|rounds|actions|iterations|seconds|latency_s|duration_s|errors)"
    r"|(?:\w+_)?(?:timeout|time_limit|timeout_s|timeout_seconds)|seq_len|context_length|token_budget"
)
_DECODING: Final = re.compile(
    r"temperature|top_[pka]|min_p|typical_p|(?:repetition|presence|frequency|length)_penalty|do_sample|greedy|num_beams"
    r"|reasoning(?:_effort)?|effort|enable_thinking|thinking(?:_budget)?|stop(?:_sequences|_token_ids)?|n_samples|best_of"
)
_SECTION_OF: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        ("system_prompt", "prompt", "prompts", "prompt_template", "instructions", "chat_template"), "prompts"
    ),
    **dict.fromkeys(("tools", "tool_defs", "oai_tools", "toolset", "functions", "mcp_servers"), "tools"),
    **dict.fromkeys(("grader", "graders", "rubric", "rubrics", "reward_funcs", "judge"), "grader"),
    **dict.fromkeys(("dataset", "datasets", "data", "training_file", "validation_file", "num_examples"), "data"),
    **dict.fromkeys(("dataset_name", "dataset_path", "dataset_split", "dataset_version", "train_files"), "data"),
    **dict.fromkeys(("git_commit", "git_sha", "git_hash", "commit", "commit_hash", "version_info"), "code"),
}
"""Words in a name that say what a setting is about, wherever it stands."""
_SECRET_NAME: Final = re.compile(
    r"(?:.*[_-])?(?:(?:api|access|secret|private)[_-]?keys?|secrets?|passwords?|passwd|credentials?"
    r"|authorization|(?:access|auth|api|bearer|hf|github|wandb|refresh|id)[_-]?token)",
    re.IGNORECASE,
)


def settings_of(texts: Iterable[str | None], whole: str) -> Settings:
    """Settings by name of several descriptions (JSON texts) of one thing: the first that has a name says what it is.

    What is no object is one setting, called `whole`; so is a text that is no JSON.
    """
    found: Settings = {}
    for text in texts:
        own: Settings = {}
        for name, value in _leaves(parsed(text), "", 0):
            key = name or whole
            while key in own:  # {"a.b": 1, "a": {"b": 2}}
                key += "′"
            own[key] = value
        found = own | found
    return found


def parsed(text: str | None) -> Any:
    """The value of a JSON text, {} for none; a text that is no JSON is its own value."""
    if text is None:
        return {}
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _leaves(value: Any, path: str, depth: int) -> Iterator[tuple[str, Any]]:
    """The values a name can be given to. Objects in a list go by their `name`, where all have one of their own."""
    items: list[tuple[str, Any]] = []
    if isinstance(value, dict):
        items = list(value.items())
    elif isinstance(value, list) and any(isinstance(each, dict | list) for each in value):
        names = [each.get("name") if isinstance(each, dict) else None for each in value]
        is_named = all(isinstance(each, str) and each for each in names) and len(set(names)) == len(names)
        items = list(zip(names if is_named else map(str, range(len(value))), value, strict=True))  # type: ignore[arg-type]  # is_named: all are texts
    if depth == MAX_DEPTH or not items:
        if path or value != {}:
            yield path, value
        return
    for key, each in items:
        yield from _leaves(each, f"{path}.{key or '(empty)'}" if path else key or "(empty)", depth + 1)


def canonical(value: Any) -> str:
    """A value as JSON that is the same for equal values: keys sorted, whole numbers without a point."""
    return json.dumps(_normal(value), sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def _normal(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    if isinstance(value, dict):
        return {str(key): _normal(each) for key, each in value.items()}
    return [_normal(each) for each in value] if isinstance(value, list) else value


def shown(name: str, value: Any) -> str:
    """A value as text, without secrets: texts as they stand, unless they read like another value ("true", "1")."""
    if isinstance(value, str):
        if value and any(map(_SECRET_NAME.fullmatch, name.split("."))):
            return REDACTED
        return redacted(json.dumps(value, ensure_ascii=False) if _reads_like_json(value) else value)
    return redacted(canonical(value))


def _reads_like_json(text: str) -> bool:
    if not text or text[0] in " \t\r\n" or text[-1] in " \t\r\n":
        return True
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def number(value: Any) -> float | None:
    """A value as a number, None where it is none (true is none)."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    try:
        return float(value) if is_number else None
    except OverflowError:
        return None


def section(name: str, otherwise: str) -> str:
    """What a setting is about, by the words in its name; `otherwise` where they say nothing."""
    if is_limit(name):
        return "limits"
    return next((_SECTION_OF[each] for each in reversed(name.lower().split(".")) if each in _SECTION_OF), otherwise)


def is_limit(name: str) -> bool:
    """Whether a name is that of a limit on rollouts: `max_tool_calls`, `sampling.max_tokens`, `timeout`."""
    return _LIMIT.fullmatch(name.lower().rpartition(".")[2]) is not None


def is_decoding(name: str) -> bool:
    """Whether a name says how tokens are sampled: `temperature`, `sampling.top_p`, `reasoning_effort`."""
    return _DECODING.fullmatch(name.lower().rpartition(".")[2]) is not None
