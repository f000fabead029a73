"""What a failed tool call says of itself: its kind of error, and the errors that a rollout did not recover from."""

import re
from collections.abc import Iterable

_SAYS_LITTLE = (None, "error", "exception", "system_error")
"""Kinds that say only that there was an error: the text is asked for more."""
_KINDS: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        "server_error",
        re.compile(
            r"\b5\d\d\b.{0,40}(?:server error|bad gateway|unavailable|gateway time)|internal.?server.?error|bad gateway"
            r"|service (?:is )?(?:temporarily )?unavailable"
            r"|\bhttp(?:/[\d.]+)?(?: ?(?:status|error))?(?: ?code)?[ :=]*5\d\d\b"
            r"|\bstatus(?:[ _]?code)?['\"]?[ :=]+5\d\d\b|upstream connect error|server (?:is )?overloaded",
            re.I | re.S,
        ),
    ),
    ("rate_limit", re.compile(r"too many requests|rate.?limit|quota exceeded", re.I)),
    (
        "connection",
        re.compile(
            r"connection ?(?:was )?(?:refused|reset|aborted|closed|error|lost)|\bECONN[A-Z]+|broken pipe"
            r"|name resolution|getaddrinfo|network is unreachable|no route to host|server disconnected",
            re.I,
        ),
    ),
    ("timeout", re.compile(r"timed? ?out\b|timeout(?:error|expired)?\b|deadline exceeded", re.I)),
)


def kind_of(kind: str | None, output: str | None) -> str | None:
    """The kind of an error that is known to be one: as given, or where that says little what the text speaks of.

    Of the text only the first 400 characters count. Kinds told by text: `server_error` (5xx), `rate_limit`,
    `connection`, `timeout`.
    """
    if kind not in _SAYS_LITTLE or not output:
        return kind
    head = output[:400]
    return next((found for found, pattern in _KINDS if pattern.search(head)), kind)


def error_line(tool: str, kind: str | None, exit_code: int | None) -> str:
    """One line of the column `unrecovered_errors`: `tool: kind`, with the exit code where there is one."""
    code = f" (exit {exit_code})" if exit_code is not None else ""
    return f"{' '.join(tool.split())}: {kind or 'error'}{code}"


def error_lines(lines: Iterable[str]) -> str:
    """The column `unrecovered_errors` of a rollout: each line once, in order of the calls."""
    return "\n".join(dict.fromkeys(lines))
