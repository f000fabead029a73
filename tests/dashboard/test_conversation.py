from typing import Any

import pandas as pd

from dashboard.conversation import FOLD_CHARS, MAX_CHARS, conversation, folded
from dashboard.outline import outline, scores
from tests.dashboard.test_markup import EVIL, parsed

MESSAGE: dict[str, Any] = dict.fromkeys(
    (
        *("agent", "tool", "turn", "text", "num_text_bytes", "reasoning_text", "num_reasoning_bytes"),
        *("output_tokens", "reasoning_tokens", "latency_s", "finish_reason", "turn_reward", "branch"),
    )
)
CALL: dict[str, Any] = dict.fromkeys(
    (
        *("message_index", "result_index", "wrapper_id", "arguments", "num_argument_bytes", "repeat_of"),
        *("near_repeat_of", "repeat_output", "is_wasted", "output_text", "output_bytes", "is_executed"),
        *("is_error_inferred", "error_kind", "latency_s"),
    )
)


def messages(*rows: dict[str, Any]) -> pd.DataFrame:
    held = [{**MESSAGE, "message_index": number, **row} for number, row in enumerate(rows)]
    return pd.DataFrame(held, columns=["message_index", "role", *MESSAGE])


def calls(*rows: dict[str, Any]) -> pd.DataFrame:
    base = {**CALL, "tool": "cat", "requestor": "agent", "status": "ok", "is_error": False}
    held = [{**base, "call_index": number, **row} for number, row in enumerate(rows)]
    return pd.DataFrame(held, columns=["call_index", *base])


def said(source: str) -> str:
    return " ".join(" ".join(parsed(source).said).split())


def test_an_answer_stands_once_in_the_card_of_its_call() -> None:
    shown = messages(
        {"role": "user", "text": "find it"},
        {"role": "assistant", "turn": 0, "text": "looking", "output_tokens": 12, "latency_s": 0.5},
        {"role": "tool", "text": "the answer"},
    )
    asked = calls(
        {"message_index": 1, "result_index": 2, "arguments": '{"a":\n1}', "latency_s": 2.0, "output_bytes": 10}
    )
    text = said(conversation(shown, asked).source)
    assert text.count("the answer") == 1
    assert 'assistant turn 0 · 12 tokens · 0.50 s #1 looking #0 cat {"a": 1} 2.0 s · 10 B the answer' in text


def test_an_answer_without_a_call_stands_for_itself() -> None:
    shown = messages({"role": "tool", "tool": "cat", "text": "an answer"})
    assert "tool cat #0 an answer" in said(conversation(shown, calls()).source)


def test_marks_of_repeats_errors_and_parallel_calls() -> None:
    shown = messages({"role": "assistant", "turn": 3})
    asked = calls(
        {"message_index": 0, "wrapper_id": "w0"},
        {"message_index": 0, "repeat_of": 0, "repeat_output": "same", "is_wasted": True},
        {"message_index": 0, "near_repeat_of": 1},
        {"message_index": 0, "is_error": True, "error_kind": "file_not_found", "is_error_inferred": True},
        {"message_index": 0, "status": "no_result", "is_executed": False},
        {"message_index": 0, "requestor": "user"},
    )
    source = conversation(shown, asked).source
    text = said(source)
    assert "6 parallel calls in one wrapper" in text
    assert "⟳ repeat of #0, same output, wasted" in text
    assert "⟳ much like #1" in text
    assert "✕ file not found (recognised from the text)" in text
    assert "never answered not executed" in text
    assert "by the simulated user" in text
    assert source.count('class="call failed"') == 1
    assert 'href="#call-0"' in source


def test_calls_of_no_message_are_not_lost() -> None:
    text = said(conversation(messages(), calls({"output_text": "found"}, {"message_index": 7})).source)
    assert "Calls #0 cat" in text
    assert "found" in text
    assert "#1 cat" in text


def test_everything_hostile_is_text() -> None:
    row = dict.fromkeys(("role", "agent", "tool", "text", "reasoning_text", "finish_reason", "branch"), EVIL)
    call = dict.fromkeys(("tool", "arguments", "output_text", "error_kind", "wrapper_id", "repeat_output"), EVIL)
    shown = messages({**row}, {"role": "assistant", "text": EVIL})
    asked = calls(
        {**call, "message_index": 1, "is_error": True, "num_argument_bytes": 500}, {**call, "message_index": 1}
    )
    allowed = {"section", "article", "header", "strong", "span", "a", "details", "summary", "pre", "div", "code"}
    assert set(parsed(conversation(shown, asked).source).tags) == allowed
    side = outline(shown, asked, (0, 1), [("rollout", EVIL)]).source + scores([(EVIL, EVIL, EVIL)]).source
    assert set(parsed(side).tags) <= allowed | {"nav", "ol", "li", "dl", "dt", "dd"}
    assert "evil.example" not in side.replace("http://evil.example/x.png", "")


def test_short_texts_are_whole() -> None:
    made = folded("one\ntwo", 7)
    assert made is not None
    assert made.source == '<pre tabindex="0">one\ntwo</pre>'
    assert folded(None, None) is None
    assert folded("", 0) is None


def test_texts_fold_after_twenty_lines_with_their_size() -> None:
    text = "\n".join(f"line {number}" for number in range(25))
    made = folded(text, 4_500)
    assert made is not None
    found = parsed(made.source)
    assert found.said[0].endswith("line 19")
    assert found.said[1] == "5 more lines · 4.5 kB in all"
    assert found.said[2] == "line 20\nline 21\nline 22\nline 23\nline 24"


def test_very_long_lines_fold_at_a_blank() -> None:
    made = folded("word " * 1_000, None)
    assert made is not None
    shown = parsed(made.source).said
    assert len(shown[0]) <= FOLD_CHARS
    assert shown[0].endswith("word")
    assert (shown[0] + shown[2]).count("word") == 1_000


def test_what_no_page_can_bear_is_cut_and_says_so() -> None:
    made = folded("y" * (MAX_CHARS + 1), 5_000_000)
    assert made is not None
    text = said(made.source)
    assert f"First {MAX_CHARS // 1000} 000 characters · 5.0 MB in all" in text
    assert "The whole text can be downloaded below." in text
    assert text.count("y") < MAX_CHARS + 20
    assert len(made.source) < MAX_CHARS + 500


def test_the_outline_jumps_on_the_page_or_to_another() -> None:
    shown = messages(
        {"role": "user", "text": "find\nit"},
        {"role": "assistant"},
        {"role": "tool", "text": "x"},
        {"role": "assistant"},
    )
    asked = calls(
        {"message_index": 1, "result_index": 2, "tool": "cat", "arguments": '{"p":1}', "is_error": True},
        {"message_index": 3, "tool": "ls", "repeat_of": 0},
        {"message_index": 3, "tool": "ls"},
    )
    source = outline(shown, asked, (0, 2), [("rollout", "r 1"), ("run", "a"), ("run", "b")]).source
    assert said(source) == '0 user: find it 1 ✕ → cat {"p":1} 3 ⟳ → ls ×2'
    assert 'href="#message-1"' in source
    assert 'href="?rollout=r+1&amp;run=a&amp;run=b&amp;message=3"' in source
