"""A trajectory as a conversation: messages with a thin edge for their role, tool calls as compact cards.

Frames in, markup out; everything from a trace goes through `markup.element` and is only ever text.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, Final

import pandas as pd

from dashboard.markup import Markup, element
from dashboard.words import plural, seconds, size, whole

FOLD_LINES: Final = 20
FOLD_CHARS: Final = 1_800
MAX_CHARS: Final = 20_000
"""What of a text reaches the page; the rest is a download."""

Row = Mapping[Hashable, Any]


def conversation(messages: pd.DataFrame, calls: pd.DataFrame, *, current: int | None = None) -> Markup:
    """Messages in order with the calls they asked for; answers stand in their call's card.

    `current` is the message a link points to. Calls that no shown message asked for follow at the end.
    """
    by_message: defaultdict[int, list[Row]] = defaultdict(list)
    shown = set(messages["message_index"])
    loose: list[Row] = []
    for call in calls.to_dict("records"):
        asked = call["message_index"]
        if pd.isna(asked) or int(asked) not in shown:
            loose.append(call)
        else:
            by_message[int(asked)].append(call)
    answers = dict(zip(messages["message_index"], messages["text"], strict=True))
    held = {int(each) for each in calls["result_index"].dropna()}
    articles = [
        _message(each, by_message[int(each["message_index"])], answers, current)
        for each in messages.to_dict("records")
        if each["role"] != "tool" or int(each["message_index"]) not in held
    ]
    if loose:
        articles.append(_group("Calls that no message asks for" if len(messages) else "Calls", loose, answers))
    return element("section", *articles, class_="talk", aria_label="Conversation")


def _message(message: Row, calls: Sequence[Row], answers: Mapping[int, Any], current: int | None) -> Markup:
    index, role = int(message["message_index"]), str(message["role"])
    heading = element(
        "header",
        element("strong", _role(message)),
        element("span", " · ".join(_message_facts(message)), class_="facts"),
        element("a", f"#{index}", href=f"#message-{index}", class_="place", title="Link to this message"),
    )
    reasoning = None
    if _text(message["reasoning_text"]):
        label = f"Reasoning · {size(message['num_reasoning_bytes'])}"
        reasoning = element("details", element("summary", label), _whole(message["reasoning_text"]), class_="reasoning")
    return element(
        "article",
        heading,
        reasoning,
        folded(message["text"], message["num_text_bytes"]),
        _group(None, calls, answers) if calls else None,
        class_=f"message {role if role in ('system', 'user', 'assistant', 'tool') else 'other'}"
        + (" current" if index == current else ""),
        id=f"message-{index}",
        aria_label=f"Message {index}, {role}",
    )


def _role(message: Row) -> str:
    named = [each for each in (message["agent"], message["tool"]) if _text(each)]
    return f"{message['role']} {' '.join(map(str, named))}".strip()


def _message_facts(message: Row) -> Iterable[str]:
    if pd.notna(message["turn"]) and message["role"] == "assistant":
        yield f"turn {int(message['turn'])}"
    if pd.notna(message["output_tokens"]):
        yield plural(message["output_tokens"], "token")
    if pd.notna(message["reasoning_tokens"]):
        yield f"{whole(message['reasoning_tokens'])} of them reasoning"
    if pd.notna(message["latency_s"]):
        yield seconds(message["latency_s"])
    if _text(message["finish_reason"]):
        yield f"ended with {message['finish_reason']}"
    if pd.notna(message["turn_reward"]):
        yield f"turn reward {message['turn_reward']:g}"
    if _text(message["branch"]):
        yield f"branch {message['branch']}"


def _group(title: str | None, calls: Sequence[Row], answers: Mapping[int, Any]) -> Markup:
    if title is None and len(calls) > 1:
        wrapped = calls[0]["wrapper_id"]
        title = f"{len(calls)} parallel calls" + (" in one wrapper" if _text(wrapped) else "")
    heading = None if title is None else element("div", title, class_="group")
    return element("div", heading, *(_card(each, answers) for each in calls), class_="calls")


def _card(call: Row, answers: Mapping[int, Any]) -> Markup:
    output, num_bytes = call["output_text"], call["output_bytes"]
    if not _text(output) and pd.notna(call["result_index"]):
        output, num_bytes = answers.get(int(call["result_index"])), None
    line = element(
        "div",
        element("span", f"#{int(call['call_index'])}", class_="number"),
        element("strong", str(call["tool"])),
        element("code", _one_line(call["arguments"]), title=_one_line(call["arguments"], 600)),
        class_="line",
    )
    marks = element("div", *_marks(call), class_="marks")
    arguments = None
    if pd.notna(call["num_argument_bytes"]) and call["num_argument_bytes"] > 160:
        label = f"Arguments in full · {size(call['num_argument_bytes'])}"
        arguments = element("details", element("summary", label), _whole(call["arguments"]))
    return element(
        "div",
        line,
        marks,
        arguments,
        folded(output, num_bytes),
        class_="call" + (" failed" if call["is_error"] else ""),
        id=f"call-{int(call['call_index'])}",
    )


def _marks(call: Row) -> Iterable[Markup]:
    plain: list[str] = []
    if pd.notna(call["latency_s"]):
        plain.append(seconds(call["latency_s"]))
    if pd.notna(call["output_bytes"]):
        plain.append(size(call["output_bytes"]))
    if call["requestor"] == "user":
        plain.append("by the simulated user")
    if plain:
        yield element("span", " · ".join(plain))
    if pd.notna(call["repeat_of"]):
        yield element("a", _repeat(call), href=f"#call-{int(call['repeat_of'])}", class_="repeat")
    elif pd.notna(call["near_repeat_of"]):
        other = int(call["near_repeat_of"])
        yield element("a", f"⟳ much like #{other}", href=f"#call-{other}", class_="repeat")
    if call["is_error"]:
        kind = str(call["error_kind"]).replace("_", " ") if _text(call["error_kind"]) else "failed"
        guessed = " (recognised from the text)" if _yes(call["is_error_inferred"]) else ""
        yield element("span", f"✕ {kind}{guessed}", class_="error")
    if call["status"] == "no_result":
        yield element("span", "never answered", class_="error")
    if pd.notna(call["is_executed"]) and not call["is_executed"]:
        yield element("span", "not executed", class_="error")


def _repeat(call: Row) -> str:
    said = {"same": ", same output", "different": ", other output"}.get(str(call["repeat_output"]), "")
    wasted = ", wasted" if _yes(call["is_wasted"]) else ""
    return f"⟳ repeat of #{int(call['repeat_of'])}{said}{wasted}"


def folded(text: Any, num_bytes: float | None) -> Markup | None:
    """A text: its first lines, the rest folded with its size, what is longer than a page can bear cut with a word."""
    if not _text(text):
        return None
    shown = str(text)[:MAX_CHARS]
    total = len(shown.encode("utf-8", "replace")) if num_bytes is None or pd.isna(num_bytes) else int(num_bytes)
    cut = _fold_at(shown)
    if cut == len(shown):
        return element("pre", shown, tabindex="0")
    rest = shown[cut:].removeprefix("\n")
    ended = len(str(text)) > MAX_CHARS
    more = f"First {whole(len(shown))} characters" if ended else _more(rest)
    label = f"{more} · {size(total)} in all"
    note = element("div", "The whole text can be downloaded below.", class_="cut") if ended else None
    return element(
        "div",
        element("pre", shown[:cut], tabindex="0"),
        element("details", element("summary", label), element("pre", rest, tabindex="0"), note),
        class_="folded",
    )


def _more(rest: str) -> str:
    lines = rest.count("\n") + 1
    return plural(lines, "more line") if lines > 1 else "More"


def _fold_at(text: str) -> int:
    """Where a text is folded: after 20 lines, or earlier where they are very long; its length where it is not."""
    at = -1
    for _ in range(FOLD_LINES):
        at = text.find("\n", at + 1)
        if at == -1:
            break
    cut = len(text) if at == -1 else at
    if cut <= FOLD_CHARS:
        return cut
    breaks = max(text.rfind("\n", FOLD_CHARS // 2, FOLD_CHARS), text.rfind(" ", FOLD_CHARS - 200, FOLD_CHARS))
    return breaks if breaks > 0 else FOLD_CHARS


def _whole(text: Any) -> Markup:
    return element("pre", str(text)[:MAX_CHARS], tabindex="0")


def _one_line(text: Any, length: int = 160) -> str:
    flat = " ".join(str(text).split()) if _text(text) else ""
    return flat if len(flat) <= length else flat[: length - 1] + "…"


def _yes(value: Any) -> bool:
    return pd.notna(value) and bool(value)


def _text(value: Any) -> bool:
    return isinstance(value, str) and value != ""
