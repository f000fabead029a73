"""Lands what a service holds of a job, for `observatory pull`."""

from collections.abc import Callable
from pathlib import Path


def land_openai(
    landed: Path, job: str, base_url: str, api_version: str | None, notify: Callable[[str], None]
) -> Path:
    """Land an OpenAI or Azure OpenAI fine-tuning job under `landed`; returns its folder."""
    raise NotImplementedError
