"""Hostile text stays text."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard import parts
from dashboard.markup import INVISIBLE, visible

MARKUP = re.compile(r"(?<!\\)[`*_\[\]()<>#!|$:~^=&]")


def shown(text: str) -> str:
    """What is seen of escaped text: no backslashes, no word joiners."""
    return re.sub(r"\\(.)", r"\1", parts.plain(text), flags=re.S).replace("\u2060", "")


@pytest.mark.parametrize(
    "text", ["![x](http://evil.example/a.png)", "<b>x</b>", ":red[x]", "$a$", "# x", "`x`", "~~x~~"]
)
def test_nothing_of_markdown_is_left_unescaped(text: str) -> None:
    assert not MARKUP.search(parts.plain(text))
    assert shown(text) == text


@pytest.mark.parametrize("text", ["see https://evil.example/x", "www.evil.example", "a@evil.example"])
def test_addresses_do_not_become_links(text: str) -> None:
    assert "\u2060" in parts.plain(text)
    assert shown(text) == text


@pytest.mark.parametrize("text", ["a -- b", "a -> b", "a <- b", "a <-> b", "a >= b", "a <= b", "a ~= b"])
def test_no_name_is_shown_with_other_signs(text: str) -> None:
    assert "\u2060" in parts.plain(text)
    assert shown(text) == text


def test_no_line_ends_between_a_number_and_its_unit() -> None:
    assert shown("8.0 % (n = 12), 1 min 48 s") == "8.0\u00a0% (n\u00a0=\u00a012), 1\u00a0min 48\u00a0s"


def test_an_arm_can_be_copied_from_the_screen() -> None:
    assert "\u2060" not in parts.plain("zava@18 against zava@0: reward up.")


@given(st.text(max_size=60))
def test_escaping_loses_nothing_but_space(text: str) -> None:
    seen = INVISIBLE.sub(visible, parts._BLANKS.sub(" ", text.strip()))
    assert "".join(shown(text).split()) == "".join(seen.replace("\u2060", "").split())


def test_a_change_points_where_its_sign_does() -> None:
    assert [parts.direction(each) for each in ("+0.29", "−1.2", "-1.2", "no difference shown", None)] == [
        "up",
        "down",
        "down",
        "off",
        "off",
    ]
