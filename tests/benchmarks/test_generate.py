"""The benchmark data is the neutral format, seeded, and of the size and shape it claims."""

import json
from pathlib import Path

import jsonschema

from ingest.sources import observatory_jsonl
from tests.benchmarks import generate


def test_lines_follow_the_schema_and_the_seed() -> None:
    schema = json.loads(Path(observatory_jsonl.__file__).with_suffix(".schema.json").read_text())
    validator = jsonschema.Draft202012Validator(schema)
    lines = list(generate.lines(20, seed=3))
    for line in lines:
        validator.validate(json.loads(line))
    assert list(generate.lines(10, seed=3, first=10)) == lines[10:]
    assert list(generate.lines(1, seed=4)) != lines[:1]


def test_shape(tmp_path: Path) -> None:
    rollouts = [json.loads(line) for line in generate.lines(300)]
    assert 9_000 < sum(map(len, generate.lines(300))) / 300 < 12_000
    assert 6 < sum(len(each["tool_calls"]) for each in rollouts) / 300 < 8
    assert len({(each["sample_id"], each["attempt"]) for each in rollouts}) == 300
    count = generate.write(tmp_path / "out.jsonl", 100_000)
    assert len((tmp_path / "out.jsonl").read_bytes().splitlines()) == count
