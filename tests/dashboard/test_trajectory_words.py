import pandas as pd
import pytest

from dashboard import trajectory_words as words
from ingest.schema import table

NOTHING = {**dict.fromkeys(table("rollouts").names), "run_name": None, "source_format": "trl"}


def facts(**known: object) -> pd.Series:
    return pd.Series({**NOTHING, "run_id": "r", "rollout_id": "x", **known}, dtype=object)


def test_the_verdict_says_which_and_how() -> None:
    full = facts(
        run_name="zava", step=18, split="valid", sample_id="s", attempt=2, reward=0.625, passed=True,
        status="completed", num_messages=10, num_tool_calls=16, num_turns=5, output_tokens=1_200, latency_s=192.0,
    )  # fmt: skip
    assert words.verdict(full) == (
        "zava, step 18, valid, sample s, attempt 2 was rewarded 0.625 (passed). "
        "It completed after 16 tool calls, 5 turns, 1\u202f200 output tokens, 3 min 12 s."
    )
    assert words.verdict(facts()) == "r was not scored. How it ended is unknown."
    assert "It ended with budget exceeded" in words.verdict(facts(status="budget_exceeded"))


def test_what_could_mislead() -> None:
    assert words.caution(facts(num_tool_errors=0, num_wasted_calls=0)) == ""
    failed = facts(num_tool_errors=7, num_tool_errors_inferred=3, num_wasted_calls=1, status="infra_error", reward=0.0)
    assert words.caution(failed) == (
        "7 tool calls failed, 3 recognised only from the text. 1 call repeated an earlier one for the same output. "
        "It failed for no fault of the policy, and was scored all the same."
    )


def test_only_known_facts_are_shown() -> None:
    known = facts(
        run_name="zava",
        step=0,
        tool_output_bytes=9_200,
        cost_usd=0.0125,
        started_at=pd.Timestamp("2026-01-02T03:04:05Z"),
    )
    assert list(words.facts_shown(known)) == [
        ("Run", "zava"),
        ("Step", "0"),
        ("Tool output", "9.2 kB"),
        ("Began, UTC", "2026-01-02 03:04:05"),
        ("Cost, US$", "0.0125"),
    ]


def test_scores_with_and_without_numbers() -> None:
    frame = pd.DataFrame(
        {
            "grader": ["all", "label", "broken"],
            "value": [0.5, None, None],
            "text_value": [None, "good", None],
            "weight": [1.0, None, None],
            "passed": pd.array([True, None, None], dtype="boolean"),
            "explanation": ["because", None, None],
        }
    )
    assert list(words.scores_shown(frame)) == [
        ("all", "0.500 · passed · weight 1.00", "because"),
        ("label", "good", ""),
        ("broken", "not scored", ""),
    ]


def outline(*roles: str) -> pd.DataFrame:
    return pd.DataFrame({"message_index": range(len(roles)), "role": roles})


def test_pages_do_not_part_a_call_from_its_answer() -> None:
    assert words.windows(outline("user", "assistant", "tool", "tool", "assistant"), 2) == [(0, 3), (4, 4)]
    assert words.windows(outline(), 2) == []
    assert words.windows(outline(*["tool"] * 9), 2) == [(0, 3), (4, 7), (8, 8)]
    pages = words.windows(outline(*["user"] * 500))
    assert (len(pages), pages[0], pages[-1]) == (9, (0, 59), (480, 499))


@pytest.mark.parametrize(("message", "page"), [(None, 0), (0, 0), (59, 0), (60, 1), (499, 8), (10_000, 8)])
def test_the_page_of_a_message(message: int | None, page: int) -> None:
    assert words.window_of(words.windows(outline(*["user"] * 500)), message) == page


def test_errors_before_and_after() -> None:
    calls = pd.DataFrame(
        {"is_error": [True, False, True, True], "message_index": pd.array([9, 1, 3, None], dtype="Int64")}
    )
    places = words.error_places(calls)
    assert places == [3, 9]
    assert words.next_place(places, None) == 3
    assert words.next_place(places, 3) == 9
    assert words.next_place(places, 9) is None
    assert words.next_place(places, 9, back=True) == 3
    assert words.next_place(places, None, back=True) is None


def test_an_empty_rollout_says_why() -> None:
    assert words.nothing_said(facts()) == "No messages and no tool calls of this rollout were kept by its source (trl)."
    assert words.nothing_said(facts(num_messages=0)) == "This rollout ended before a message was written."
