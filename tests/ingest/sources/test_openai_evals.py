"""OpenAI Evals output items: hand-built files with hand-computed rows, broken files, and the real ones."""

import json
import math
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from ingest.errors import UnreadableError
from ingest.facts import add_facts
from ingest.reading import Peek
from ingest.sources import openai_evals
from ingest.sources.base import Note, Options, Part, Reject, Rollout, Row

Json = dict[str, Any]
PARSE_ERROR = "content_type='system_error' name='MultiToolParseError' text='missing namespace or name'"


def at(second: float) -> str:
    return f"2026-01-01T00:00:{second:06.3f}+00:00"


def span(start: float, end: float, data: Json, **more: Any) -> Json:
    return {
        "id": f"span_{start}_{end}",
        "object": "trace.span",
        "trace_id": "trace_1",
        "started_at": at(start),
        "ended_at": at(end),
        "span_data": data,
        "error": None,
        **more,
    }


def generation(start: float, end: float, content: str, recipient: str = "all", **data: Any) -> Json:
    output = [{"role": "assistant", "content": content, "recipient": recipient}]
    return span(start, end, {"type": "GENERATION", "input": [], "output": output, **data})


def function(start: float, end: float, name: str, arguments: str, output: str, **more: Any) -> Json:
    return span(start, end, {"type": "FUNCTION", "name": name, "input": arguments, "output": output}, **more)


def item(spans: list[Json] | None = None, **more: Any) -> Json:
    row: Json = {"messages": [{"role": "user", "content": "How many?"}], "reference": "7"}
    if spans is not None:
        row["trace"] = {"type": "trace", "spans": spans}
    return {
        "id": "outputitem_1",
        "status": "pass",
        "datasource_item": row,
        "results": [{"name": "exact", "score": 1.0, "passed": True}],
        "sample": {"input": [], "output": [{"role": "assistant", "content": "7"}]},
        **more,
    }


def wrapped(*items: Json, **more: Any) -> Json:
    return {"run_id": "evalrun_3", "run_name": "Step 3", "status": "completed", "items": list(items), **more}


def records(path: Path, value: Any = None) -> list[Any]:
    if value is not None:
        path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return list(openai_evals.read(Part(path), Options()))


def rollouts(path: Path, value: Any = None) -> list[Rollout]:
    return [each for each in records(path, value) if isinstance(each, Rollout)]


def one(path: Path, value: Any) -> Rollout:
    (found,) = rollouts(path, value)
    return found


def rows(found: list[Any], table: str) -> list[Row]:
    return [each for each in found if isinstance(each, Row) and each.table == table]


def pages(object_kind: str, *data: Json, has_more: bool = False) -> Json:
    return {"object": "list", "data": [{"object": object_kind, **each} for each in data], "has_more": has_more}


SIMPLE = [
    generation(0, 1, '{"q":"x"}', "functions.sql"),
    function(1, 3, "functions.sql", '{"q":"x"}', "7"),
    generation(3, 4.5, "It is 7."),
]


def test_rollout_of_a_wrapped_item(tmp_path: Path) -> None:
    found = one(tmp_path / "a.json", wrapped(item(SIMPLE)))
    values = found.values
    assert values["native_id"] == "outputitem_1"
    assert (values["step"], values["split"]) == (3, "valid")
    assert (values["reward"], values["passed"], values["status"]) == (1.0, True, "completed")
    assert values["final_answer"] == "It is 7."
    assert values["latency_s"] == 4.5
    assert values["model_latency_s"] == 2.5
    assert values["sample_id_source"] == "item_hash"
    assert values["raw_ref"] == "a.json#items/0"
    assert found.run is None
    assert [row["role"] for row in found.messages or []] == ["user", "assistant", "tool", "assistant"]
    assert [row["text"] for row in found.messages or []] == ["How many?", None, "7", "It is 7."]
    (call,) = found.tool_calls
    assert (call["tool"], call["tool_raw"]) == ("sql", "functions.sql")
    assert (call["status"], call["is_executed"], call["latency_s"], call["latency_source"]) == ("ok", True, 2.0, "span")
    assert (call["turn"], call["message_index"], call["result_index"]) == (0, 1, 2)
    assert found.sample is not None
    assert (found.sample["prompt_text"], found.sample["reference"]) == ("user: How many?", "7")


def test_parallel_wrapper_is_expanded_and_its_answer_shared(tmp_path: Path) -> None:
    uses = json.dumps(
        {
            "tool_uses": [
                {"recipient_name": "functions.a", "parameters": {"x": 1}},
                {"recipient_name": "functions.b", "parameters": {}},
            ]
        }
    )
    spans = [
        generation(0, 1, uses, "multi_tool_use.parallel"),
        function(1, 5, "multi_tool_use.parallel", uses, '[{"n": 1}, "Error: no such b"]'),
        generation(5, 6, "done"),
    ]
    found = one(tmp_path / "a.json", wrapped(item(spans)))
    first, second = found.tool_calls
    assert (first["tool"], second["tool"]) == ("a", "b")
    assert first["wrapper_id"] == second["wrapper_id"]
    assert (first["output_text"], second["output_text"]) == ('{"n": 1}', "Error: no such b")
    assert (first["status"], second["status"]) == ("ok", "error")
    assert first["latency_s"] == 4.0
    assert second.get("latency_s") is None
    assert second.get("latency_source") is None
    add_facts(found)
    assert found.values["tool_latency_s"] == 4.0
    assert found.values["max_parallel_calls"] == 2
    assert found.values["num_tool_errors_inferred"] == 1


def test_answer_of_a_wrapped_call_is_kept_as_written(tmp_path: Path) -> None:
    # The same call, alone and within a wrapper, gives the same text: its repeat has the same output.
    alone = '{"b": 1.0, "a": [1, 2]}'
    uses = '{"tool_uses":[{"recipient_name":"functions.get","parameters":{"x":1}},{"recipient_name":"functions.name"}]}'
    spans = [
        generation(0, 1, '{"x":1}', "functions.get"),
        function(1, 2, "functions.get", '{"x":1}', alone),
        generation(2, 3, uses, "multi_tool_use.parallel"),
        function(3, 4, "multi_tool_use.parallel", uses, f'[ {alone} ,\n "Ann, \\"B\\"" ]'),
        generation(4, 5, "done"),
    ]
    found = one(tmp_path / "a.json", wrapped(item(spans)))
    assert [call["output_text"] for call in found.tool_calls] == [alone, alone, 'Ann, "B"']
    add_facts(found)
    assert (found.values["num_exact_repeats"], found.values["num_repeats_same_output"]) == (1, 1)


def test_wrapper_that_failed_to_parse_executed_none_of_its_calls(tmp_path: Path) -> None:
    uses = '{"tool_uses":[{"name":"a","parameters":{}},{"name":"b","parameters":{}},{"name":"c","parameters":{}}]}'
    spans = [
        generation(0, 1, uses, "multi_tool_use.parallel"),
        function(1, 1.5, "multi_tool_use.parallel", uses, PARSE_ERROR),
        generation(2, 3, "sorry"),
    ]
    found = one(tmp_path / "a.json", wrapped(item(spans)))
    assert [call["tool"] for call in found.tool_calls] == ["a", "b", "c"]
    assert {call["is_executed"] for call in found.tool_calls} == {False}
    assert {call["status"] for call in found.tool_calls} == {"error"}
    assert {call["error_kind"] for call in found.tool_calls} == {"parsing"}
    assert [call.get("latency_s") for call in found.tool_calls] == [0.5, None, None]


def test_system_errors_other_than_parsing_were_executed(tmp_path: Path) -> None:
    output = "content_type='system_error' name='ToolTimeoutError' text='too slow'"
    spans = [generation(0, 1, "{}", "functions.a"), function(1, 2, "functions.a", "{}", output), generation(2, 3, "x")]
    (call,) = one(tmp_path / "a.json", wrapped(item(spans))).tool_calls
    assert (call["status"], call["error_kind"], call["is_executed"]) == ("error", "system_error", True)
    assert (call["is_error_flagged"], call["is_error_inferred"]) == (None, True)


def test_refused_recipient_is_a_message_and_no_call(tmp_path: Path) -> None:
    uses = '{"tool_uses":[{"recipient_name":"functions.a","parameters":{}}]}'
    spans = [
        generation(0, 1, uses, "multi_tool_use.parallelThus"),
        generation(1, 2, uses, "multi_tool_use.parallel"),
        function(2, 3, "multi_tool_use.parallel", uses, '["ok"]'),
        generation(3, 4, "done"),
    ]
    found = one(tmp_path / "a.json", wrapped(item(spans)))
    assert len(found.tool_calls) == 1
    assert [row["text"] for row in found.messages or []][1] == uses
    assert json.loads(found.values["metadata"])["refused_recipients"] == ["multi_tool_use.parallelThus"]


def test_malformed_name_that_was_executed_is_a_call(tmp_path: Path) -> None:
    spans = [
        generation(0, 1, "{}", "find_user"),
        function(1, 2, "find_user", "{}", "u1"),
        generation(2, 3, "done"),
    ]
    found = one(tmp_path / "a.json", wrapped(item(spans)))
    (call,) = found.tool_calls
    assert (call["tool"], call["turn"], call["status"]) == ("find_user", 0, "ok")
    assert "refused_recipients" not in found.values["metadata"]
    assert (found.messages or [])[1]["text"] is None


def test_function_without_generation_is_a_call_in_a_turn_of_its_own(tmp_path: Path) -> None:
    spans = [*SIMPLE[:2], function(4, 5, "functions.sql", "", "8"), generation(5, 6, "7 and 8")]
    found = one(tmp_path / "a.json", wrapped(item(spans)))
    first, second = found.tool_calls
    assert (first["turn"], second["turn"]) == (0, 1)
    assert (second["arguments_raw"], second["output_text"]) == (None, "8")
    assert json.loads(found.values["metadata"])["unrecorded_turns"] == 1


def test_speaking_and_calling_in_one_sampling_is_one_message(tmp_path: Path) -> None:
    spans = [
        generation(0, 2, "Let me look."),
        generation(0, 2, '{"q":"x"}', "functions.sql"),
        function(2, 3, "functions.sql", '{"q":"x"}', "7"),
        generation(3, 4, "7"),
    ]
    found = one(tmp_path / "a.json", wrapped(item(spans)))
    assert [row["role"] for row in found.messages or []] == ["user", "assistant", "tool", "assistant"]
    assert (found.messages or [])[1]["text"] == "Let me look."
    assert found.values["model_latency_s"] == 3.0
    assert found.tool_calls[0]["turn"] == 0


def test_two_calls_of_one_sampling_are_answered_each_by_its_own(tmp_path: Path) -> None:
    spans = [
        generation(0, 1, '{"n":1}', "functions.a"),
        generation(0, 1, '{"n":2}', "functions.a"),
        function(1, 2, "functions.a", '{"n":2}', "second"),
        function(1, 2.5, "functions.a", '{"n":1}', "first"),
        generation(3, 4, "done"),
    ]
    found = one(tmp_path / "a.json", wrapped(item(spans)))
    assert [(call["arguments_raw"], call["output_text"], call["turn"]) for call in found.tool_calls] == [
        ('{"n":1}', "first", 0),
        ('{"n":2}', "second", 0),
    ]


def test_call_that_nothing_answered_and_no_final_message(tmp_path: Path) -> None:
    found = one(tmp_path / "a.json", wrapped(item(SIMPLE[:1])))
    (call,) = found.tool_calls
    assert (call["status"], call["is_executed"]) == ("no_result", False)
    assert (found.values["status"], found.values["stop_reason"]) == ("truncated", "no final message")
    assert found.values["final_answer"] is None


def test_span_error_is_flagged(tmp_path: Path) -> None:
    spans = [
        generation(0, 1, "{}", "functions.a"),
        function(1, 2, "functions.a", "{}", "", error={"code": "timeout", "message": "slow"}),
        generation(2, 3, "done"),
    ]
    (call,) = one(tmp_path / "a.json", wrapped(item(spans))).tool_calls
    assert (call["is_error_flagged"], call["error_kind"], call["status"]) == (True, "timeout", "error")


def test_later_words_of_a_user_are_messages_whether_repeated_or_not(tmp_path: Path) -> None:
    prompt = {"role": "user", "content": "MultimodalText\n* How many?", "recipient": "all"}
    yes = {"role": "user", "content": "yes"}
    spans = [
        generation(0, 1, "Shall I?", input=[prompt]),
        generation(2, 3, "Now?", input=[yes]),
        generation(4, 5, "Done.", input=[prompt, {"role": "assistant", "content": "Now?"}, yes]),
    ]
    found = one(tmp_path / "a.json", wrapped(item(spans)))
    texts = [row["text"] for row in found.messages or []]
    assert texts == ["How many?", "Shall I?", "yes", "Now?", "yes", "Done."]


def test_calls_in_the_prompt_are_history(tmp_path: Path) -> None:
    given = item(SIMPLE)
    call = {"id": "c", "type": "function", "function": {"name": "old", "arguments": "{}"}}
    given["datasource_item"]["messages"] = [
        {"role": "user", "content": "before"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "old answer"},
        {"role": "user", "content": "now"},
    ]
    found = one(tmp_path / "a.json", wrapped(given))
    assert [each["tool"] for each in found.tool_calls] == ["sql"]
    assert [row["is_sampled"] for row in found.messages or [] if row["role"] == "assistant"] == [False, True, True]


def test_sample_is_the_row_without_its_trace_and_native_where_there_is_an_id(tmp_path: Path) -> None:
    first, second = item(SIMPLE, id="a"), item([generation(0, 1, "8")], id="b")
    other = item(SIMPLE, id="c")
    other["datasource_item"]["reference"] = "9"
    found = rollouts(tmp_path / "a.json", wrapped(first, second, other, item(SIMPLE, id="d", datasource_item_id=4)))
    ids = [each.values["sample_id"] for each in found]
    assert ids[0] == ids[1] != ids[2]
    assert (ids[3], found[3].values["sample_id_source"]) == ("4", "native")
    assert found[0].values["group_id"] == f"evalrun_3/{ids[0]}"


def test_several_graders_and_their_parts(tmp_path: Path) -> None:
    results = [
        {
            "name": "style-22415264-f1de-4c39-aafa-684abd2d55d8",
            "score": 0.5,
            "passed": False,
            "parts": {"tone": 0.25, "polite": True},
            "sample": {"output": [{"role": "assistant", "content": "too short"}]},
        },
        {"name": "facts", "score": 1.0, "passed": True},
    ]
    found = one(tmp_path / "a.json", wrapped(item(SIMPLE, results=results, status=None)))
    assert (found.values["reward"], found.values["passed"]) == (0.75, False)
    by_name = {score["grader"]: score for score in found.scores}
    assert set(by_name) == {"style", "style/parts/tone", "style/parts/polite", "facts"}
    assert by_name["style"]["grader_version"] == "22415264-f1de-4c39-aafa-684abd2d55d8"
    assert by_name["style"]["explanation"] == "too short"
    assert by_name["style"]["kind"] == "subscore"
    assert by_name["style/parts/tone"]["value"] == 0.25
    assert by_name["style/parts/polite"]["passed"] is True


@pytest.mark.parametrize("score", [math.nan, math.inf, None, "0.5", [1]])
def test_score_that_is_no_number_is_not_scored(tmp_path: Path, score: Any) -> None:
    results = [{"name": "a", "score": score}, {"name": "b", "score": 1.0}]
    found = one(tmp_path / "a.json", wrapped(item(SIMPLE, results=results)))
    assert found.values["reward"] is None
    assert found.scores[0]["value"] is None
    assert found.scores[1]["value"] == 1.0


def test_item_without_results_is_a_rollout_without_reward(tmp_path: Path) -> None:
    given = item(SIMPLE)
    del given["results"], given["status"]
    found = one(tmp_path / "a.json", wrapped(given))
    assert (found.values["reward"], found.values["passed"], found.scores) == (None, None, [])


@pytest.mark.parametrize(
    ("change", "status", "error"),
    [
        ({"sample": {"output": [], "error": {"code": "server_error", "message": "boom"}}}, "infra_error", "boom"),
        ({"sample": {"output": [{"content": "x"}], "error": {"code": "", "message": ""}}}, "completed", None),
        ({"sample": {"output": [{"content": "x"}], "finish_reason": "length"}}, "truncated", None),
        (
            {"results": [{"name": "g", "score": None, "sample": {"error": {"code": "e", "message": "no"}}}]},
            "grader_error",
            "no",
        ),
        ({"status": "error", "results": []}, "grader_error", None),
        ({"sample": {}}, None, None),
        ({"sample": {"output": []}}, "truncated", None),
        ({"sample": {"output": [{"content": "", "tool_calls": [{}]}]}}, "truncated", None),
        (
            {"sample": {"output": [{"content": "", "tool_calls": [{}]}], "finish_reason": "tool_calls"}},
            "completed",
            None,
        ),
    ],
)
def test_endings(tmp_path: Path, change: Json, status: str | None, error: str | None) -> None:
    values = one(tmp_path / "a.json", wrapped(item(None, **change))).values
    assert (values["status"], values.get("error_message")) == (status, error)


def test_without_a_trace_calls_come_from_the_sample_and_a_note_says_so(tmp_path: Path) -> None:
    call = {"id": "", "type": "function", "function": {"name": "sql", "arguments": "{}"}}
    sample = {"output": [{"role": "assistant", "content": "7", "tool_calls": [call]}], "model": "o4"}
    found = records(tmp_path / "a.json", wrapped(item(None, sample=sample)))
    assert [each["tool"] for each in found[0].tool_calls] == ["sql"]
    assert (found[0].values["model"], found[0].values["final_answer"]) == ("o4", "7")
    assert any(isinstance(each, Note) and "sample.output" in each.text for each in found)


def test_tokens_are_summed_over_generations_else_taken_from_the_sample(tmp_path: Path) -> None:
    usages = [{"prompt_tokens": 10, "completion_tokens": 2}, {"prompt_tokens": 20, "completion_tokens": 3}]
    both = [generation(0, 1, "a", usage=usages[0]), generation(1, 2, "b", usage=usages[1])]
    sample = {"output": [], "usage": {"prompt_tokens": 5, "completion_tokens": 1, "cached_tokens": 4}}
    one_only = [generation(0, 1, "a", usage=usages[0]), generation(1, 2, "b")]
    given = wrapped(item(both, id="a", sample=sample), item(one_only, id="b", sample=sample))
    first, second = rollouts(tmp_path / "a.json", given)
    assert (first.values["input_tokens"], first.values["output_tokens"], first.values["context_tokens"]) == (30, 5, 23)
    assert (second.values["input_tokens"], second.values["cached_tokens"]) == (5, 4)
    zero = {"output": [], "usage": {"prompt_tokens": 0, "completion_tokens": 0}}
    assert "input_tokens" not in one(tmp_path / "b.json", wrapped(item(SIMPLE, sample=zero))).values


def test_graded_text_that_differs_from_the_last_message_is_kept_beside_it(tmp_path: Path) -> None:
    sample = {"output": [{"role": "assistant", "content": "This sample has been blocked."}]}
    values = one(tmp_path / "a.json", wrapped(item(SIMPLE, sample=sample))).values
    assert values["final_answer"] == "It is 7."
    assert json.loads(values["metadata"])["graded_answer"] == "This sample has been blocked."


def test_folder_of_raw_pages_takes_steps_from_the_runs(tmp_path: Path) -> None:
    runs = [
        {
            "id": "r1",
            "eval_id": "eval_x",
            "name": "Step 2",
            "status": "completed",
            "created_at": 1760000000,
            "model": "m",
        },
        {"id": "r2", "eval_id": "eval_x", "name": "Step 4", "result_counts": {"total": 2, "passed": 1}},
    ]
    (tmp_path / "zz_runs.json").write_text(json.dumps(pages("eval.run", *runs)))
    (tmp_path / "r1").mkdir()
    first, second = item(SIMPLE, id="a", run_id="r1"), item(SIMPLE, id="b", run_id="r2", eval_id="eval_x")
    (tmp_path / "r1" / "1.json").write_text(json.dumps(pages("eval.run.output_item", first, second, has_more=True)))
    (tmp_path / "r1" / "2.json").write_text(json.dumps(pages("eval.run.output_item", second)))
    (tmp_path / "notes.json").write_text('{"anything": 1}')
    assert openai_evals.matches(Peek(tmp_path))
    assert openai_evals.default_run(tmp_path) == "eval_x"
    found = records(tmp_path)
    read = [each for each in found if isinstance(each, Rollout)]
    assert [(each.values["step"], each.values["model"], each.run) for each in read] == [(2, "m", None), (4, None, None)]
    assert [each.values["raw_ref"] for each in read] == ["r1/1.json#data/0", "r1/1.json#data/1"]
    assert Note("Output items that stand in several pages were read once.") in found
    assert not [each for each in found if isinstance(each, Reject)]
    (run,) = rows(found, "runs")
    assert (run.values["kind"], run.values["reward_name"]) == ("training", "grader score: exact")
    figures = {(row.values["step"], row.values["name"]): row.values["value"] for row in rows(found, "metrics")}
    assert figures == {(4, "eval_run/result_counts/total"): 2.0, (4, "eval_run/result_counts/passed"): 1.0}


def test_ordinary_eval_runs_are_runs_of_their_own(tmp_path: Path) -> None:
    given = {
        "eval_id": "eval_x",
        "runs": [
            wrapped(item(SIMPLE, id="a"), run_id="r1", run_name="base"),
            wrapped(item(SIMPLE, id="b"), run_id="r2", run_name="tuned"),
        ],
    }
    found = records(tmp_path / "a.json", given)
    read = [each for each in found if isinstance(each, Rollout)]
    assert [(each.run, each.values["step"], each.values["split"]) for each in read] == [
        ("base", None, None),
        ("tuned", None, None),
    ]
    assert [(row.run, row.values["kind"]) for row in rows(found, "runs")] == [
        ("base", "evaluation"),
        ("tuned", "evaluation"),
    ]


def test_run_of_an_unknown_name_is_not_pooled_and_noted(tmp_path: Path) -> None:
    found = records(
        tmp_path / "a.json", pages("eval.run.output_item", item(SIMPLE, run_id="evalrun_9", eval_id="eval_x"))
    )
    assert found[0].run == "evalrun_9"
    assert any(isinstance(each, Note) and "step is unknown" in each.text for each in found)


def test_step_from_the_file_name_where_the_items_name_no_run(tmp_path: Path) -> None:
    found = records(tmp_path / "step_6.json", {"items": [item(SIMPLE)]})
    assert (found[0].values["step"], found[0].run) == (6, None)
    assert any(isinstance(each, Note) and "name of a file" in each.text for each in found)


def test_single_item_list_and_lines(tmp_path: Path) -> None:
    assert one(tmp_path / "one.json", item(SIMPLE)).values["raw_ref"] == "one.json"
    assert len(rollouts(tmp_path / "list.json", [item(SIMPLE, id="a"), item(SIMPLE, id="b")])) == 2
    lines = (
        "\ufeff" + json.dumps(item(SIMPLE, id="a")) + "\r\n\n" + json.dumps(item(SIMPLE, id="b")) + "\n" + '{"id": "c'
    )
    found = records(tmp_path / "lines.jsonl", lines)
    assert [each.values["native_id"] for each in found if isinstance(each, Rollout)] == ["a", "b"]
    (reject,) = (each for each in found if isinstance(each, Reject))
    assert reject.snippet == '{"id": "c'


def test_truncated_page_gives_its_whole_items_and_a_reject(tmp_path: Path) -> None:
    text = json.dumps(wrapped(item(SIMPLE, id="a"), item(SIMPLE, id="b")), indent=1)
    path = tmp_path / "cut.json"
    path.write_text(text[: text.rindex("reference")])
    assert openai_evals.matches(Peek(path))
    found = records(path)
    assert [(each.values["native_id"], each.values["step"]) for each in found if isinstance(each, Rollout)] == [
        ("a", 3)
    ]
    (reject,) = (each for each in found if isinstance(each, Reject))
    assert (reject.position, reject.file) == ("#items/1", "cut.json")


@pytest.mark.parametrize("text", ["", "   \n", "not json", '{"object": "list", "da', "7"])
def test_file_that_holds_nothing_is_unreadable(tmp_path: Path, text: str) -> None:
    (tmp_path / "bad.json").write_text(text)
    with pytest.raises(UnreadableError, match=r"bad\.json"):
        records(tmp_path / "bad.json")


def test_wrong_types_are_rejects_or_null_never_a_crash(tmp_path: Path) -> None:
    odd = {
        "id": 5,
        "status": 1,
        "datasource_item": {"messages": "x", "trace": {"spans": [None, 3, {"span_data": {"type": "?"}}]}},
        "results": "none",
        "sample": {"output": "text", "usage": [], "error": 3},
    }
    empty = {"object": "eval.run.output_item", "id": "e"}
    broken_span = generation(0, 1, "x")
    broken_span["started_at"] = "yesterday"
    broken_span["span_data"]["output"] = [None, {"content": {"a": 1}}]
    found = records(tmp_path / "a.json", wrapped(odd, "no item", empty, item([broken_span], id="z")))  # type: ignore[arg-type]  # hostile on purpose
    read = [each for each in found if isinstance(each, Rollout)]
    assert [each.values["native_id"] for each in read] == ["5", "z"]
    assert (read[0].values["reward"], read[0].values["passed"], read[0].values["status"]) == (None, None, "completed")
    assert read[0].values["final_answer"] == "text"
    assert json.loads(read[0].values["metadata"])["skipped_spans"] == 3
    assert [each.position for each in found if isinstance(each, Reject)] == ["#items/1", "#items/2"]


def test_same_id_with_other_content_is_kept(tmp_path: Path) -> None:
    again = item(SIMPLE, status="fail")
    assert len(rollouts(tmp_path / "a.json", wrapped(item(SIMPLE), again, item(SIMPLE)))) == 2


@pytest.mark.parametrize(
    "text",
    [
        '{"messages": [], "tools": []}',
        '{"object": "list", "data": [{"object": "chat.completion"}]}',
        '{"note": "{\\"object\\": \\"eval.run\\"}"}',
        '{"evaluation_id": "eval_1", "runs_summary": [{"run_id": "evalrun_1"}]}',
        "step,loss\n1,2\n",
        "",
    ],
)
def test_other_files_are_not_recognised(tmp_path: Path, text: str) -> None:
    path = tmp_path / "other.json"
    path.write_text(text)
    assert not openai_evals.matches(Peek(path))


REAL = {
    0: {"reward": 0.430, "passed": 26, "spans": 3.18, "calls": 3.26, "wrappers": 4, "bad_spans": 1, "bad_calls": 2,
        "span_s": 18.3, "rollout_s": 90.3, "truncated": 4},
    3: {"reward": 0.338, "passed": 23, "spans": 3.14, "calls": 3.20, "wrappers": 3, "bad_spans": 1, "bad_calls": 2,
        "span_s": 16.2, "rollout_s": 77.6, "truncated": 3},
    9: {"reward": 0.561, "passed": 34, "spans": 3.46, "calls": 3.66, "wrappers": 8, "bad_spans": 3, "bad_calls": 7,
        "span_s": 21.2, "rollout_s": 89.0, "truncated": 0},
    18: {"reward": 0.721, "passed": 40, "spans": 3.56, "calls": 5.22, "wrappers": 38, "bad_spans": 17, "bad_calls": 50,
         "span_s": 17.3, "rollout_s": 108.5, "truncated": 0},
}  # fmt: skip


@pytest.mark.parametrize("step", REAL)
def test_real_validation_runs(real_data: Path, step: int) -> None:
    folder = real_data / "openai_evals_rft_zava"
    found = records(folder / f"Step_{step}.json")
    read = [each for each in found if isinstance(each, Rollout)]
    calls = [call for each in read for call in each.tool_calls]
    failed = [call for call in calls if call.get("error_kind") == "parsing"]
    latencies = [call["latency_s"] for call in calls if call.get("latency_s") is not None]
    wrappers = [
        (each.values["native_id"], call["wrapper_id"])
        for each in read
        for call in each.tool_calls
        if "wrapper_id" in call
    ]
    bad = [
        (each.values["native_id"], call["result_index"]) for each in read for call in each.tool_calls if call in failed
    ]
    assert {
        "reward": round(sum(each.values["reward"] for each in read) / 50, 3),
        "passed": sum(each.values["passed"] for each in read),
        "spans": len(latencies) / 50,
        "calls": len(calls) / 50,
        "wrappers": len(set(wrappers)),
        "bad_spans": len(set(bad)),
        "bad_calls": len(failed),
        "span_s": round(median(latencies), 1),
        "rollout_s": round(median(each.values["latency_s"] for each in read), 1),
        "truncated": sum(each.values["status"] == "truncated" for each in read),
    } == REAL[step]
    assert {(each.values["step"], each.values["split"], each.run) for each in read} == {(step, "valid", None)}
    assert all(call["is_executed"] is (call not in failed) for call in calls)
    assert not [each for each in found if isinstance(each, Reject)]


def test_real_samples_pair_across_steps_in_groups_of_five(real_data: Path) -> None:
    folder = real_data / "openai_evals_rft_zava"
    ids = {step: [each.values["sample_id"] for each in rollouts(folder / f"Step_{step}.json")] for step in (0, 18)}
    assert set(ids[0]) == set(ids[18])
    assert sorted(ids[0].count(each) for each in set(ids[0])) == [5] * 10
    runs = {openai_evals.default_run(folder / f"Step_{step}.json") for step in (0, 3, 9, 18)}
    assert runs == {"openai_evals_rft_zava"}


def test_real_configuration_files_are_not_recognised(real_data: Path) -> None:
    folder = real_data / "openai_evals_rft_zava"
    recognised = {path.name for path in folder.iterdir() if openai_evals.matches(Peek(path))}
    assert recognised == {"Step_0.json", "Step_3.json", "Step_9.json", "Step_18.json"}
