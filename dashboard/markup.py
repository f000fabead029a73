"""HTML made of text that may be hostile: the only way page content becomes HTML.

A plain string given to `element` is always text: it is escaped, and characters that hide or turn around what follows
are made visible. Only what `element` made itself passes as it is. Links lead to this site and nowhere else.
"""

import html
import re
from dataclasses import dataclass
from typing import Final

_TAGS: Final = frozenset(
    (
        *("a", "article", "code", "dd", "details", "div", "dl", "dt", "header", "li", "nav", "ol", "pre"),
        *("section", "span", "strong", "summary"),
    )
)
_ATTRIBUTES: Final = frozenset(("aria_label", "class_", "href", "id", "open", "role", "tabindex", "target", "title"))
_LINK: Final = re.compile(r"#[\w-]+|[a-z_]*\?[\w.~%&=+-]*")
INVISIBLE: Final = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u061c\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff"
    "\U000e0000-\U000e007f]"
)
"""Characters that cannot be seen, hide what follows or turn it around."""


@dataclass(frozen=True, slots=True)
class Markup:
    """HTML that `element` made."""

    source: str

    def _repr_html_(self) -> str:
        """What `st.html` takes as it is: no dedenting, no lookup of files."""
        return self.source


def safe(text: object) -> str:
    """Text as HTML that shows exactly this text."""
    encodable = str(text).encode("utf-8", "replace").decode()
    return html.escape(INVISIBLE.sub(visible, encodable), quote=True)


def visible(found: re.Match[str]) -> str:
    """A character by its number: ⟨U+001B⟩."""
    return f"⟨U+{ord(found[0]):04X}⟩"


def element(tag: str, *children: "str | Markup | None", **attributes: str | None) -> Markup:
    """An element; strings among its children and attributes are text, None is left out.

    Raises:
        ValueError: The tag, an attribute or the target of a link is none of those this site uses.
    """
    if tag not in _TAGS or not attributes.keys() <= _ATTRIBUTES:
        raise ValueError(f"<{tag} {' '.join(attributes)}> is not used here")
    href = attributes.get("href")
    if href is not None and not _LINK.fullmatch(href):
        raise ValueError(f"{href!r} leads away from this site")
    written = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{safe(value)}"'
        for name, value in attributes.items()
        if value is not None
    )
    inside = "".join(each.source if isinstance(each, Markup) else safe(each) for each in children if each is not None)
    return Markup(f"<{tag}{written}>{inside}</{tag}>")
