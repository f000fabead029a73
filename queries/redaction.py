"""What looks like a key or a token, and its removal from texts that leave the store.

One expression for DuckDB (RE2) and for Python, so that an export and a download hide the same. Identifiers and hashes
are no texts: what joins tables together is never changed.
"""

import re
from typing import Any, Final

import pandas as pd

from ingest.columns import Column

SECRET: Final = (
    r"\b(?:sk|pk|rk)[-_][A-Za-z0-9_-]{16,}"
    r"|\bhf_[A-Za-z0-9]{20,}"
    r"|\b(?:gh[pousr]|github_pat)_[A-Za-z0-9_]{30,}"
    r"|\bglpat-[A-Za-z0-9_-]{20,}"
    r"|\bxox[abprs]-[A-Za-z0-9-]{10,}"
    r"|\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"
    r"|\bAIza[0-9A-Za-z_-]{35}"
    r"|\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"
    r"|\b[Bb]earer +[A-Za-z0-9._~+/-]{16,}=*"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----[^-\"]*(?:-----END [A-Z ]*PRIVATE KEY-----)?"
)
"""Keys by the prefixes their owners give them, JSON web tokens, bearer headers and private keys."""
REDACTED: Final = "[redacted]"
_NAMES: Final = ("_id", "_hash", "_key", "fingerprint", "_version")
_COMPILED: Final = re.compile(SECRET)


def redacted(text: str) -> str:
    """The text without what looks like a secret."""
    return _COMPILED.sub(REDACTED, text)


def is_text(column: Column) -> bool:
    """Whether a column of the contract may hold what somebody wrote."""
    return str(column.arrow) in ("string", "large_string") and not column.name.endswith(_NAMES)


def redacted_frame(frame: pd.DataFrame) -> pd.DataFrame:
    """An answer without what looks like a secret in its texts; identifiers stay."""
    found = frame.copy()
    for name, values in frame.items():
        if not str(name).endswith(_NAMES) and not pd.api.types.is_numeric_dtype(values.dtype):
            found[name] = values.map(_value) if values.dtype == object else _texts(values)
    return found


def _texts(values: "pd.Series[Any]") -> "pd.Series[Any]":
    is_string = pd.api.types.is_string_dtype(values.dtype)
    return values.str.replace(_COMPILED, REDACTED, regex=True) if is_string else values


def _value(value: Any) -> Any:
    return redacted(value) if isinstance(value, str) else value
