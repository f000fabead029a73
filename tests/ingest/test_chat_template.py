"""Messages and calls recovered from decoded text."""

import pytest

from ingest.chat_template import blocks, segments
from ingest.dialects import from_text, prompt_hash, prompt_text


@pytest.mark.parametrize(
    ("decoded", "first", "expected"),
    [
        ("a\nuser\nb\nassistant\nc", "assistant", [("assistant", "a"), ("user", "b"), ("assistant", "c")]),
        ("system\ns\nuser\nq\nassistant\n", "user", [("system", "s"), ("user", "q")]),
        ("user\nassistant\nc", "assistant", [("assistant", "c")]),
        ("list:\nuser\nadmin", "assistant", [("assistant", "list:\nuser\nadmin")]),
        ("one\nassistant\ntwo", "assistant", [("assistant", "one\nassistant\ntwo")]),
        (
            "<|im_start|>user\nq<|im_end|>\n<|im_start|>assistant\na<|im_end|>",
            "user",
            [("user", "q\n"), ("assistant", "a")],
        ),
        (
            "<|start_header_id|>user<|end_header_id|>\n\nq<|eot_id|><|start_header_id|>ipython<|end_header_id|>\n\n7",
            "assistant",
            [("user", "q"), ("tool", "7")],
        ),
        ("", "user", []),
    ],
)
def test_segments(decoded: str, first: str, expected: list[tuple[str, str]]) -> None:
    assert segments(decoded, first) == expected


def test_blocks_that_never_close_are_text() -> None:
    assert list(blocks("<tool_call>a<tool_response>b</tool_response>")) == [(12, 44, "tool_response", "b")]
    assert list(blocks("<tool_call>" * 100_000)) == []
    call = from_text("<tool_call><function=f>" + "<parameter=a>" * 50_000 + "</function></tool_call>").tool_calls[0]
    assert call["tool"] == "f"


@pytest.mark.parametrize(
    ("said", "reasoning", "visible"),
    [
        ("<think>a</think>b", "a", "b"),
        ("a</think>b", "a", "b"),
        ("b<think>never closed", "never closed", "b"),
        ("<think></think>b", None, "b"),
        ("<think>a</think>b<think>c</think>", "a\nc", "b"),
    ],
)
def test_reasoning_is_taken_out_of_the_text(said: str, reasoning: str | None, visible: str) -> None:
    (message,) = from_text(said).messages
    assert (message.get("reasoning_text"), message["text"]) == (reasoning, visible)


@pytest.mark.parametrize(
    ("body", "tool", "arguments"),
    [
        ('<tool_call>{"name": "f", "arguments": {"a": 1}}</tool_call>', "f", '{"a":1}'),
        ('<tool_call>{"name": "f", "parameters": "x"}</tool_call>', "f", "x"),
        ('<function=f>{"a": 1}</function>', "f", '{"a": 1}'),
        ("<tool_call><function=f><parameter=a>\n1\n</parameter></function></tool_call>", "f", '{"a":"1"}'),
        ("<function=f></function>", "f", "{}"),
        ('<tool_call>{"name": "f", </tool_call>', "unknown", '{"name": "f",'),
    ],
)
def test_calls_in_text(body: str, tool: str, arguments: str) -> None:
    (call,) = from_text(f"I ask. {body}").tool_calls
    assert (call["tool"], call["arguments_raw"], call["parse_source"]) == (tool, arguments, "text")
    assert (call["status"], call["message_index"]) == ("no_result", 0)


def test_a_call_after_an_answer_begins_a_turn() -> None:
    call = '<tool_call>{"name": "f", "arguments": {}}</tool_call>'
    talk = from_text(f"{call}\n{call}\nuser\n<tool_response>1</tool_response>\nassistant\n{call}")
    assert [(each["turn"], each["status"], each.get("output_text")) for each in talk.tool_calls] == [
        (0, "ok", "1"),
        (0, "no_result", None),
        (1, "no_result", None),
    ]


def test_equal_prompts_have_equal_hashes() -> None:
    one = [{"role": "user", "text": "q"}]
    assert prompt_hash(one) == prompt_hash([{"role": "user", "text": "q", "turn": 3}])
    assert prompt_hash(one) != prompt_hash([{"role": "system", "text": "q"}])
    assert prompt_text([*one, {"role": "system", "text": None}]) == "user: q\n\nsystem: "
    assert prompt_text([]) is None
