"""What a failed call's text says of the kind of error, and the errors a rollout did not recover from."""

import pytest

from ingest.facts import add_facts
from ingest.sources.base import Rollout
from ingest.tool_errors import kind_of
from tests.stores import call


@pytest.mark.parametrize(
    ("kind", "output", "expected"),
    [
        ("error", "Error: 503 Service Unavailable", "server_error"),
        ("error", '{"error": {"status": 502, "message": "Bad Gateway"}}', "server_error"),
        (None, "HTTP 500: internal server error", "server_error"),
        ("exception", "requests.exceptions.HTTPError: 504 Server Error: Gateway Time-out", "server_error"),
        ("error", "Error: 429 Too Many Requests", "rate_limit"),
        ("exception", "ConnectionError: Connection refused", "connection"),
        ("error", "Error calling tool: the request timed out", "timeout"),
        ("error", "Error: Not enough seats on flight HAT139", "error"),
        ("error", "Error: order 5031 is already delivered", "error"),
        ("error", "Error: account 429 has no rates", "error"),
        ("sql_error", "Error: 503 Service Unavailable", "sql_error"),
        ("error", None, "error"),
    ],
)
def test_a_kind_that_says_little_is_told_from_the_text(kind: str | None, output: str | None, expected: str) -> None:
    assert kind_of(kind, output) == expected


def _facts(*calls: dict[str, object]) -> Rollout:
    rollout = Rollout({}, run="r", messages=[], tool_calls=[dict(each) for each in calls])
    add_facts(rollout)
    return rollout


def test_only_tools_whose_last_call_failed_are_named() -> None:
    failed = {"status": "error", "is_error_flagged": True, "error_kind": "error"}
    rollout = _facts(
        call("search", output_text="Error: HTTP 503", **failed),
        call("search", output_text="found"),
        call("book  it", output_text="Error: 502 Bad Gateway", **failed),
        call("run", output_text="7 failed", **{**failed, "error_kind": "nonzero_exit"}, exit_code=1),
        call("run", output_text="Killed", **{**failed, "error_kind": "nonzero_exit"}, exit_code=137),
    )
    assert rollout.values["unrecovered_errors"] == "book it: server_error\nrun: nonzero_exit (exit 137)"
    assert [each.get("error_kind") for each in rollout.tool_calls[:3]] == ["server_error", None, "server_error"]


def test_nothing_failed_is_not_the_same_as_nothing_known() -> None:
    assert _facts(call("search")).values["unrecovered_errors"] == ""
    bare = Rollout({}, run="r")
    add_facts(bare)
    assert "unrecovered_errors" not in bare.values
