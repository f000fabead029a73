"""Hostile text stays text."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard import parts

MARKUP = re.compile(r"(?<!\\)[`*_\[\]()<>#!|$:~^=&]")


@pytest.mark.parametrize(
    "text", ["![x](http://evil.example/a.png)", "<b>x</b>", ":red[x]", "$a$", "# x", "`x`", "~~x~~"]
)
def test_nothing_of_markdown_is_left_unescaped(text: str) -> None:
    assert not MARKUP.search(parts.plain(text))
    assert re.sub(r"\\(.)", r"\1", parts.plain(text)) == text


@given(st.text(max_size=60))
def test_escaping_loses_nothing_but_runs_of_space(text: str) -> None:
    unescaped = re.sub(r"\\(.)", r"\1", parts.plain(text), flags=re.S)
    assert unescaped == " ".join(text.split())


def test_a_change_points_where_its_sign_does() -> None:
    assert [parts.direction(each) for each in ("+0.29", "−1.2", "-1.2", "no difference shown", None)] == [
        "up",
        "down",
        "down",
        "off",
        "off",
    ]
