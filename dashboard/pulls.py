"""Lands what a service or a URL holds as files, for `observatory pull` and `observatory ingest https://…`."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from ingest.download import download, is_url
from ingest.openai_pull import FetchReport, fetch, service

Notify = Callable[[str], object]


def land_openai(
    landed: Path,
    job: str,
    base_url: str | None,
    api_version: str | None,
    notify: Notify,
    *,
    is_azure: bool | None = None,
) -> FetchReport:
    """Land an OpenAI or Azure OpenAI fine-tuning job under `landed`.

    Raises:
        ServiceError: The key is missing, or the job itself cannot be fetched.
    """
    azure = speaks_azure(base_url, os.environ) if is_azure is None else is_azure
    with service(base_url=base_url, is_azure=azure, api_version=api_version) as client:
        report = fetch(client, job, landed, notify=notify)
    notify(f"{report.files_written} files landed, {report.files_kept} were there already: {report.folder}")
    return report


def speaks_azure(base_url: str | None, environment: Mapping[str, str]) -> bool:
    """Whether to send Azure's `api-key` header: an Azure host, or only Azure's key is in the environment."""
    host = urlsplit(base_url or "").hostname or ""
    if host.endswith(".azure.com"):
        return True
    return bool(base_url and environment.get("AZURE_OPENAI_API_KEY") and not environment.get("OPENAI_API_KEY"))


def landed_paths(paths: Sequence[str], landed: Path, notify: Notify) -> list[str]:
    """The paths as given, every http(s) URL replaced by the file it was downloaded to.

    Raises:
        ServiceError: A URL cannot be fetched.
    """
    return [str(download(each, landed / "http", notify=notify)) if is_url(each) else each for each in paths]
