"""What is hostile stays text, whoever asks."""

import html
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.markup import element, safe

EVIL = "<script>alert(1)</script><img src=x onerror=alert(1)>\"' &lt; </pre> ![x](http://evil.example/x.png)"


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.said: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.said.append(data)


def parsed(source: str) -> Tags:
    found = Tags()
    found.feed(source)
    found.close()
    return found


def test_strings_are_text_and_elements_are_elements() -> None:
    inner = element("code", "a < b", None)
    assert inner.source == "<code>a &lt; b</code>"
    assert element("pre", inner, "&").source == "<pre><code>a &lt; b</code>&amp;</pre>"
    assert element("div", inner.source).source == "<div>&lt;code&gt;a &amp;lt; b&lt;/code&gt;</div>"


def test_attributes_are_quoted() -> None:
    made = element("div", "x", title='" onclick="alert(1)', aria_label="a<b", class_="m", id=None)
    assert made.source == '<div title="&quot; onclick=&quot;alert(1)" aria-label="a&lt;b" class="m">x</div>'


@given(st.text())
def test_any_text_comes_out_as_that_text_and_no_tag(text: str) -> None:
    found = parsed(element("pre", text, EVIL).source)
    assert found.tags == ["pre"]
    assert "".join(found.said) == html.unescape(safe(text)) + EVIL


def test_what_hides_or_turns_text_around_is_seen() -> None:
    assert safe("a\u202eb\x00\x1b[31m") == "a⟨U+202E⟩b⟨U+0000⟩⟨U+001B⟩[31m"
    assert safe("tab\tand\nline") == "tab\tand\nline"
    assert safe("half \ud800 pair") == "half ? pair"


@pytest.mark.parametrize(
    "href", ["javascript:alert(1)", "http://evil.example", "//evil.example", "#a b", "data:text/html,x", "?a=b\nc"]
)
def test_links_lead_nowhere_else(href: str) -> None:
    with pytest.raises(ValueError, match="leads away"):
        element("a", "x", href=href)


def test_links_within_the_site() -> None:
    assert element("a", "x", href="#message-5").source == '<a href="#message-5">x</a>'
    assert 'href="?rollout=a%2Fb&amp;message=3"' in element("a", "x", href="?rollout=a%2Fb&message=3").source


@pytest.mark.parametrize(("tag", "attribute"), [("script", "id"), ("img", "id"), ("iframe", "id"), ("a", "onclick")])
def test_nothing_else_can_be_made(tag: str, attribute: str) -> None:
    with pytest.raises(ValueError, match="is not used here"):
        element(tag, **{attribute: "x"})
