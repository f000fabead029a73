"""Names of runs: any text a person gives, and the safe short slug it is stored under."""

import hashlib
import re

MAX_SLUG = 64
_SAFE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_RESERVED = re.compile(r"__HIVE_DEFAULT_PARTITION__|\.*|(?:con|nul|aux|prn)(?:\..*)?", re.I)


def run_slug(name: str) -> str:
    """`run_id` of a run: its name where that is a safe short slug already, else a slug of it plus a hash."""
    if _SAFE.fullmatch(name) and not _RESERVED.fullmatch(name):
        return name
    digest = hashlib.blake2b(name.encode("utf-8", "replace"), digest_size=4).hexdigest()
    stem = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-._")[: MAX_SLUG - 10]
    return f"{stem or 'run'}-{digest}"
