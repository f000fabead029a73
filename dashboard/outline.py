"""The side of a trajectory: scores, facts and the outline that jumps to messages. Frames in, markup out."""

from collections.abc import Iterable
from urllib.parse import urlencode

import pandas as pd

from dashboard.markup import Markup, element
from dashboard.words import plural

_LABEL = 64


def outline(
    messages: pd.DataFrame, calls: pd.DataFrame, shown: tuple[int, int], address: list[tuple[str, str]]
) -> Markup:
    """One line per message: its number, role, beginning or tools, and whether a call failed or repeats.

    A line jumps within the page where its message is `shown` (first, last), else it opens the page that shows it:
    `address` holds the parameters of this page without `message`.
    """
    asked = calls[calls["message_index"].notna()]
    groups = {int(index): asked[asked["message_index"] == index] for index in asked["message_index"].unique()}
    held = {int(each) for each in calls["result_index"].dropna()}
    lines = []
    for message in messages.to_dict("records"):
        index = int(message["message_index"])
        if message["role"] == "tool" and index in held:
            continue
        here = shown[0] <= index <= shown[1]
        href = f"#message-{index}" if here else f"?{urlencode([*address, ('message', str(index))])}"
        group = groups.get(index)
        failed = group is not None and bool(group["is_error"].any())
        line = element(
            "a",
            element("span", str(index), class_="number"),
            element("span", _mark(group), class_="mark"),
            element("span", _beginning(message["role"], message["text"], group)),
            href=href,
            target=None if here else "_self",
            class_=f"{message['role']}{' failed' if failed else ''}" if message["role"] in _ROLES else "other",
        )
        lines.append(element("li", line))
    return element("nav", element("ol", *lines), class_="outline", aria_label="Outline")


def places(found: pd.DataFrame, text: str, shown: tuple[int, int], address: list[tuple[str, str]]) -> Markup:
    """Where a text was found, a line each that goes there, with the text marked in what is around it."""
    lines = []
    for place in found.to_dict("records"):
        index = None if pd.isna(place["message_index"]) else int(place["message_index"])
        call = None if pd.isna(place["call_index"]) else int(place["call_index"])
        where = str(place["place"]) if call is None else f"{place['place']} #{call}"
        inside = (
            element("span", "" if index is None else str(index), class_="number"),
            element("span", where, class_="place"),
            element("span", *_marked(" ".join(str(place["snippet"]).split()), text)),
        )
        here = index is None or shown[0] <= index <= shown[1]
        target = f"#message-{index}" if call is None else f"#call-{call}"
        href = target if here else f"?{urlencode([*address, ('message', str(index))])}"
        lines.append(element("li", element("a", *inside, href=href, target=None if here else "_self")))
    return element("nav", element("ol", *lines), class_="outline found", aria_label="Places found")


def _marked(snippet: str, text: str) -> Iterable[str | Markup]:
    at = snippet.lower().find(" ".join(text.lower().split()))
    if at < 0:
        return (snippet,)
    end = at + len(" ".join(text.split()))
    return (snippet[:at], element("strong", snippet[at:end]), snippet[end:])


_ROLES = ("system", "user", "assistant", "tool")


def _mark(group: pd.DataFrame | None) -> str:
    if group is None:
        return ""
    if group["is_error"].any():
        return "✕"
    return "⟳" if group["repeat_of"].notna().any() else ""


def _beginning(role: str, text: object, group: pd.DataFrame | None) -> str:
    if group is not None:
        tools = group["tool"].value_counts(sort=False)
        said = ", ".join(
            f"{str(tool)[:30]}{f' ×{count}' if count > 1 else ''}" for tool, count in tools.head(3).items()
        )
        first = group["arguments"].iloc[0] if len(group) == 1 else None
        return f"→ {said}" + (" …" if len(tools) > 3 else "") + (f" {_flat(first)}" if isinstance(first, str) else "")
    return f"{role}: {_flat(text)}" if isinstance(text, str) and text.strip() else str(role)


def _flat(text: str) -> str:
    return " ".join(text.split())[:_LABEL]


def facts(items: Iterable[tuple[str, str]]) -> Markup:
    """Names and values under one another."""
    return element("dl", *(part for name, value in items for part in (element("dt", name), element("dd", value))))


def scores(items: Iterable[tuple[str, str, str]]) -> Markup:
    """Graders with what they said; their reasons folded."""
    parts = []
    for grader, said, reasons in items:
        parts += [element("dt", grader), element("dd", said)]
        if reasons:
            label = f"Reasons · {plural(reasons.count(chr(10)) + 1, 'line')}"
            parts.append(element("dd", element("details", element("summary", label), element("pre", reasons))))
    return element("dl", *parts, class_="scores")
