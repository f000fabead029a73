"""The neutral format's schema and its reader know the same fields and accept the same lines."""

import json
from pathlib import Path
from typing import Any

import jsonschema
from hypothesis import given
from hypothesis import strategies as st

from ingest.sources import observatory_jsonl as source
from ingest.sources.base import Options, Part, Reject

SCHEMA = json.loads(Path(source.__file__).with_suffix(".schema.json").read_text())
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def test_the_schema_is_a_schema_and_its_examples_are_read(tmp_path: Path) -> None:
    VALIDATOR.check_schema(SCHEMA)
    path = tmp_path / "examples.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in SCHEMA["examples"]))
    for line in SCHEMA["examples"]:
        VALIDATOR.validate(line)
    records = list(source.read(Part(path), Options()))
    assert len(records) >= len(SCHEMA["examples"])
    assert not any(isinstance(record, Reject) for record in records)


def test_schema_and_reader_know_the_same_fields() -> None:
    from_schema = {name: set(SCHEMA["$defs"][name]["properties"]) for name in SCHEMA["$defs"] if name in KNOWN}
    assert from_schema == {name: set(known) - extra for name, (known, extra) in KNOWN.items()}


fields = source.neutral_lines.fields
KNOWN: dict[str, tuple[Any, set[str]]] = {
    "rollout": (fields.ROLLOUT, set()),
    "run": (fields.RUN, set()),
    "sample": (fields.SAMPLE, set()),
    "metric": (fields.METRIC, set()),
    "checkpoint": (fields.CHECKPOINT, set()),
    "event": (fields.EVENT, set()),
    "message": (fields.MESSAGE_LINE, set(fields.MESSAGE)),
    "tool_call": (fields.CALL_LINE, set(fields.CALL)),
    "score": (fields.SCORE_LINE, set(fields.SCORE)),
    "chat_message": (fields.MESSAGE, set()),
    "call": (fields.CALL, set()),
    "grade": (fields.SCORE, set()),
}
odd = st.sampled_from(
    [
        None,
        True,
        False,
        0,
        3,
        -1,
        3.0,
        1.5,
        2**63,
        "",
        "x",
        "train",
        "completed",
        "all",
        "user",
        "info",
        [],
        [1],
        ["x"],
        {},
        {"a": 1},
    ]
)
every = sorted({name for known, _ in KNOWN.values() for name in known} - {"type"} | {"extra", "type"})


@given(
    st.sampled_from([*source.neutral_lines.LINES, None]),
    st.dictionaries(st.sampled_from(every), odd, max_size=3),
    st.booleans(),
)
def test_schema_and_reader_agree(kind: str | None, given_fields: dict[str, Any], complete: bool) -> None:  # noqa: FBT001 - parametrised
    base: dict[str, Any] = {} if kind is None else {"type": kind}
    if complete:
        base |= {"rollout_id": "r", "sample_id": "s", "role": "user", "grader": "g", "name": "n", "value": 1, "step": 1}
    line = {**given_fields, **base} if not complete else {**base, **given_fields}
    try:
        source.neutral_lines.records(line, source.neutral_lines.Place("f"))
        is_read = True
    except fields.FieldError:
        is_read = False
    assert is_read == VALIDATOR.is_valid(line), line
