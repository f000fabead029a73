"""Messages inside text that was decoded from tokens: what is left of a chat template, with or without its markers.

Knows markers only; calls and answers inside a message are read by `ingest.dialects`.
"""

import re
from collections.abc import Iterator
from itertools import pairwise

_MARKED = re.compile(
    r"(?:<\|im_start\|>|<\|start_header_id\|>)(system|user|assistant|tool|ipython)(?:<\|end_header_id\|>)?\n+"
)
_ROLE_LINE = re.compile(r"\n(system|user|assistant|tool)(?=\n)")
_BLOCK = re.compile(r"<(?:(?P<kind>tool_call|tool_response)|(?P<function>function)=[^<>]{1,200})>")
_SPECIAL = re.compile(r"<\|(?:im_start|im_end|endoftext|eot_id|end_of_text|begin_of_text)\|>|</?s>")


def segments(decoded: str, first_role: str) -> list[tuple[str, str]]:
    """Split decoded chat text into (role, text) where its template's markers, or the role lines left of them, stand.

    `<|im_start|>role` and Llama's headers are taken as they are. Where a tokenizer stripped them, a line that is only
    `user`, `tool` or `system` begins a message if an `assistant` line follows it: an answer that has such a line by
    chance stays whole. What stands before the first marker is of `first_role`.
    """
    marks = [(match.start(), match.end(), match[1]) for match in _MARKED.finditer(decoded)]
    if not marks:
        found = _ROLE_LINE.finditer(f"\n{decoded}")
        lines = [(max(match.start() - 1, 0), match.end(), match[1]) for match in found]
        last = max((start for start, _, role in lines if role == "assistant"), default=-1)
        inside = first_role != "assistant"  # an assistant line closes what another role's line opened
        for start, end, role in lines:
            if start <= last and (role != "assistant" or inside):
                marks.append((start, end, role))
                inside = role != "assistant"
    bounds = [(0, 0, first_role), *marks, (len(decoded), len(decoded), "")]
    pieces = [(role, decoded[end:after]) for (_, end, role), (after, _, _) in pairwise(bounds)]
    cleaned = [(role.replace("ipython", "tool"), _SPECIAL.sub("", piece)) for role, piece in pieces]
    return [(role, piece) for role, piece in cleaned if piece.strip()]


def blocks(piece: str) -> Iterator[tuple[int, int, str, str]]:
    """Closed `<tool_call>`, `<tool_response>` and bare `<function=…>` blocks, as (start, end, kind, body).

    The body of a function block is the block itself, because its name stands in the tag. One pass, whatever the text:
    a closing tag that is missing once is not looked for again.
    """
    position = 0
    missing: set[str] = set()
    for match in _BLOCK.finditer(piece):
        kind = match["kind"] or match["function"]
        if match.start() < position or kind in missing:
            continue
        closing = f"</{kind}>"
        end = piece.find(closing, match.end())
        if end < 0:
            missing.add(kind)
            continue
        position = end + len(closing)
        body = piece[match.end() : end] if match["kind"] else piece[match.start() : position]
        yield match.start(), position, kind, body
