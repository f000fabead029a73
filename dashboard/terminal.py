"""Text of files on a terminal: as it is, but never obeyed.

A name or an error message may hold escape sequences, line breaks, characters that turn text around, and what looks like
Rich's markup. They are shown, and change neither the colours nor the lines. Rich's emoji codes (`:smile:`) stay text.
"""

import re
from typing import Final

import rich.markup
from rich.console import Console

from dashboard.markup import INVISIBLE, visible

PIPE_WIDTH: Final = 100_000
"""Columns where the output is no terminal: whoever reads a file or a pipe gets whole cells."""
_OBEYED: Final = re.compile(r"[\r\x80-\x9f\u2028\u2029]")


def console(*, stderr: bool = False) -> Console:
    """Standard output or standard error, lines unbroken."""
    return Console(stderr=stderr, soft_wrap=True, emoji=False)


def wide() -> Console:
    """Standard output as wide as what is printed: Rich takes a pipe for 80 columns, and would cut a table there."""
    return Console(soft_wrap=True, emoji=False, width=PIPE_WIDTH)


def harmless(text: object) -> str:
    """Text with what a terminal would obey made visible; tabs and line breaks stay, as a cell of a table may hold."""
    encodable = str(text).encode("utf-8", "replace").decode()
    return _OBEYED.sub(visible, INVISIBLE.sub(visible, encodable))


def shown(text: object) -> str:
    """Text that Rich prints exactly so: one harmless line, its square brackets no markup."""
    return rich.markup.escape(harmless(text).replace("\n", "\\n").replace("\t", "\\t"))
