"""Links between pages are plain links with their parameters, and hold names as text."""

import pytest

from dashboard import data, links
from dashboard.markup import element


@pytest.mark.parametrize(
    ("pinned", "expected"),
    [
        (None, "compare?baseline=a%26b%400&candidate=c"),
        (7, "compare?baseline=a%26b%400&candidate=c&snapshot=7"),
    ],
)
def test_an_address_keeps_the_pinned_snapshot(
    monkeypatch: pytest.MonkeyPatch, pinned: int | None, expected: str
) -> None:
    monkeypatch.setattr(data, "pinned", lambda: pinned)
    assert links.address("compare", {"baseline": "a&b@0", "candidate": "c"}) == expected


def test_several_values_and_hostile_names_make_an_allowed_link(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data, "pinned", lambda: None)
    found = links.address("reward_curves", {"run": ["a", "<b> ü/*'"]})
    assert found == "reward_curves?run=a&run=%3Cb%3E+%C3%BC%2F%2A%27"
    assert element("a", "go", href=found).source.startswith('<a href="reward_curves?run=a&amp;run=')
