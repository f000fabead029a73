"""Configurations taken apart, compared as values, and shown without secrets."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from queries.settings import MAX_DEPTH, canonical, is_decoding, is_limit, number, section, settings_of, shown


def test_nested_keys_are_joined_and_lists_of_objects_go_by_name_or_place():
    text = json.dumps(
        {
            "lr": 1e-5,
            "sampling": {"top_p": 1, "stop": ["a", "b"], "extra": {}},
            "graders": [{"name": "answer", "weight": 1}, {"name": "format", "weight": 0.1}],
            "runs": [{"id": 7}, {"id": 8}],
            "same": [{"name": "x", "v": 1}, {"name": "x", "v": 2}],
        }
    )
    assert settings_of([text], "config") == {
        "lr": 1e-5,
        "sampling.top_p": 1,
        "sampling.stop": ["a", "b"],
        "sampling.extra": {},
        "graders.answer.name": "answer",
        "graders.answer.weight": 1,
        "graders.format.name": "format",
        "graders.format.weight": 0.1,
        "runs.0.id": 7,
        "runs.1.id": 8,
        "same.0.name": "x",
        "same.0.v": 1,
        "same.1.name": "x",
        "same.1.v": 2,
    }


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (None, {}),
        ("{}", {}),
        ("[1, 2]", {"config": [1, 2]}),
        ('"text"', {"config": "text"}),
        ("null", {"config": None}),
        ("no: json", {"config": "no: json"}),
        ('{"": 1, "a": {"": 2}}', {"(empty)": 1, "a.(empty)": 2}),
        ('{"a.b": 1, "a": {"b": 2}}', {"a.b": 1, "a.b′": 2}),
        ('[{"name": "x"}, 3]', {"0.name": "x", "1": 3}),
    ],
)
def test_what_is_no_plain_object_is_kept(text, expected):
    assert settings_of([text], "config") == expected


def test_several_sources_are_put_together_and_the_first_wins():
    assert settings_of(['{"a": 1, "b": {"c": 2}}', '{"a": 9, "b": {"d": 3}}'], "config") == {"a": 1, "b.c": 2, "b.d": 3}


def test_what_lies_too_deep_is_one_value():
    deep: object = 1
    for _ in range(MAX_DEPTH + 5):
        deep = {"k": deep}
    (name,) = settings_of([json.dumps(deep)], "config")
    assert name == ".".join(["k"] * MAX_DEPTH)
    endless = '{"a":' * 100_000
    assert settings_of([endless], "config") == {"config": endless}


def test_five_thousand_keys_are_five_thousand_settings():
    text = json.dumps({f"group{n // 50}": {f"key{m}": m for m in range(50)} for n in range(0, 5_000, 50)})
    assert len(settings_of([text], "config")) == 5_000


@pytest.mark.parametrize(
    ("one", "other"),
    [(1, 1.0), (-0.0, 0), ({"a": 1, "b": [2.0]}, {"b": [2], "a": 1.0}), (1e3, 1000), (2**60, 2**60)],
)
def test_equal_values_are_equal_however_written(one, other):
    assert canonical(one) == canonical(other)


@pytest.mark.parametrize(
    ("one", "other"), [(True, "true"), (1, "1"), (True, 1), (None, "null"), ([], {}), ("a", "A"), (1, 1.0000001)]
)
def test_other_values_are_not_equal_and_are_not_shown_alike(one, other):
    assert canonical(one) != canonical(other)
    assert shown("x", one) != shown("x", other)


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda each: st.lists(each)))
def test_what_is_shown_tells_values_apart(value):
    if isinstance(value, str):
        assert shown("x", value) in (value, json.dumps(value, ensure_ascii=False))
    else:
        assert json.loads(shown("x", value)) == value


def test_secrets_are_hidden_by_name_and_by_look():
    assert shown("openai.api_key", "abc") == "[redacted]"
    assert shown("headers.Authorization.value", "abc") == "[redacted]"
    assert shown("WANDB_API_KEY", "abc") == "[redacted]"
    assert shown("note", "use sk-abcdefghijklmnopqrstu please") == "use [redacted] please"
    assert shown("list", ["hf_abcdefghijklmnopqrstuv"]) == '["[redacted]"]'
    assert shown("pad_token", "<pad>") == "<pad>"
    assert shown("max_tokens", 512) == "512"
    assert shown("api_key", "") == '""'


def test_names_say_what_a_setting_is_about():
    cases = {
        "max_tool_calls": "limits",
        "sampling_args.max_tokens": "limits",
        "max_grad_norm": "otherwise",
        "method.reinforcement.grader.source": "grader",
        "agent.system_prompt": "prompts",
        "tools.search.description": "tools",
        "training_file": "data",
        "version_info.verifiers": "code",
        "learning_rate": "otherwise",
        "": "otherwise",
    }
    assert {name: section(name, "otherwise") for name in cases} == cases
    assert [is_decoding(each) for each in ("a.temperature", "top_p", "reasoning_effort", "seed")] == [True] * 3 + [
        False
    ]
    assert [is_limit(each) for each in ("max_turns", "timeout", "max_lr", "climax_turns")] == [True, True, False, False]


def test_what_is_a_number():
    assert [number(each) for each in (1, 2.5, True, "1", None, 10**400)] == [1.0, 2.5, None, None, None, None]
