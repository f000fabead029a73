"""Messages inside text that was decoded from tokens: what is left of a chat template, with or without its markers.

Knows markers only; calls and answers inside a message are read by `ingest.dialects`.
"""

import re
from itertools import pairwise

_MARKED = re.compile(
    r"(?:<\|im_start\|>|<\|start_header_id\|>)(system|user|assistant|tool|ipython)(?:<\|end_header_id\|>)?\n+"
)
_ROLE_LINE = re.compile(r"(?:^|\n)(system|user|assistant|tool)\n")
_SPECIAL = re.compile(r"<\|(?:im_start|im_end|endoftext|eot_id|end_of_text|begin_of_text)\|>|</?s>")


def segments(decoded: str, first_role: str) -> list[tuple[str, str]]:
    """Split decoded chat text into (role, text) where its template's markers, or the role lines left of them, stand.

    `<|im_start|>role` and Llama's headers are taken as they are. Where a tokenizer stripped them, a line that is only
    `user`, `tool` or `system` begins a message if an `assistant` line follows it: an answer that has such a line by
    chance stays whole. What stands before the first marker is of `first_role`.
    """
    marks = [(match.start(), match.end(), match[1]) for match in _MARKED.finditer(decoded)]
    if not marks:
        lines = [(match.start(), match.end(), match[1]) for match in _ROLE_LINE.finditer(decoded)]
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
