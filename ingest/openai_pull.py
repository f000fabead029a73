"""Landing a fine-tuning job of OpenAI or Azure OpenAI as files: raw answers, one file per page, parsed by nobody here.

    with service() as client:                                   # key from OPENAI_API_KEY
        report = fetch(client, "ftjob-…", Path("landed"), notify=print)

    service(base_url="https://NAME.openai.azure.com/openai", api_version="2025-04-01-preview", is_azure=True)

The folder `INTO/<job id>` is what `ingest.sources.openai_fine_tuning` reads:

    job.json · events/ and checkpoints/ {head-<id>,after-<id>}.json · results/<file id>.csv
    evals/runs-<n>.json · evals/<eval run id>/items-<n>.json and, once all its items are there, run.json

Every file is written aside and renamed. Pulling again asks only for what can be new: events and checkpoints are read
from the newest back to what is known (an interrupted pull goes on where it broke off), finished eval runs and result
files are not asked for again. An endpoint that the service has closed is a note, not a failure of the rest.
"""

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx

from ingest.errors import GoneError, ServiceError
from ingest.http import Service, last_id
from ingest.reading import parse_json

OPENAI_URL = "https://api.openai.com/v1"
_PAGE = 100
_DONE = frozenset({"completed", "failed", "canceled", "cancelled", "expired"})
_SAFE = re.compile(r"[^\w.-]+")


@dataclass(frozen=True, slots=True)
class FetchReport:
    """What a pull did: the folder to ingest, files written and files that were there already, and what to know."""

    folder: Path
    files_written: int
    files_kept: int
    notes: tuple[str, ...]


def service(
    base_url: str | None = None,
    *,
    is_azure: bool = False,
    api_version: str | None = None,
    environment: Mapping[str, str] | None = None,
    transport: httpx.BaseTransport | None = None,
) -> Service:
    """The client for `fetch`. The key comes from the environment and is sent as `Bearer`, or (Azure) as `api-key`.

    `base_url` ends where `/fine_tuning/jobs` begins. Azure's v1 API takes no `api_version`, its dated ones need it.

    Raises:
        ServiceError: The environment holds no key, or Azure's base URL is missing.
    """
    known = os.environ if environment is None else environment
    name = "AZURE_OPENAI_API_KEY" if is_azure else "OPENAI_API_KEY"
    key = known.get(name, "").strip()
    if not key:
        raise ServiceError(f"the environment variable {name} holds no key: set it, it is neither stored nor shown")
    if is_azure and not base_url:
        raise ServiceError("Azure OpenAI needs --base-url, such as https://NAME.openai.azure.com/openai")
    headers = {"api-key": key} if is_azure else {"Authorization": f"Bearer {key}"}
    params = {"api-version": api_version} if api_version else None
    return Service(base_url or OPENAI_URL, headers=headers, params=params, transport=transport)


def fetch(
    client: Service, job_id: str, into: Path, *, notify: Callable[[str], object] = lambda message: None
) -> FetchReport:
    """Land everything the service still has of a job in `into/<job id>`; `notify` is told of every step.

    Raises:
        GoneError: The service has closed all of it and nothing was landed before.
        ServiceError: It cannot be reached, refuses the key, or keeps failing; what came before is kept.
    """
    folder = into / (_safe(job_id).strip(".") or "job")
    pull = _Pull(client, folder, notify)
    job = pull.job(job_id)
    path = f"/fine_tuning/jobs/{_quoted(job_id)}"
    pull.attempt("events", lambda: pull.newest_first(f"{path}/events", folder / "events"))
    pull.attempt("checkpoints", lambda: pull.newest_first(f"{path}/checkpoints", folder / "checkpoints"))
    for file_id in _texts(job.get("result_files")):
        pull.attempt(f"result file {file_id}", lambda file_id=file_id: pull.result_file(file_id))  # type: ignore[misc]  # mypy infers no lambda with a default
    eval_id = job.get("eval_id")
    if isinstance(eval_id, str) and eval_id:
        pull.attempt("validation runs", lambda: pull.eval_runs(eval_id))
    elif job:
        pull.notes.append(
            "The job names no eval, so it has no validation rollouts to fetch (metrics are not affected)."
        )
    if not pull.written and not pull.kept:
        raise GoneError("; ".join(pull.notes) or f"{job_id}: nothing could be fetched")
    return FetchReport(folder, pull.written, pull.kept, tuple(pull.notes))


def _texts(value: Any) -> list[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


@dataclass(slots=True)
class _Pull:
    client: Service
    folder: Path
    notify: Callable[[str], object]
    written: int = 0
    kept: int = 0
    notes: list[str] = field(default_factory=list)

    def attempt(self, what: str, step: Callable[[], None]) -> None:
        """Do one part; where the service has closed it, say so and how else its data comes in."""
        try:
            step()
        except GoneError as error:
            note = f"{what}: {error}; if you saved these answers earlier, read them with `observatory ingest FOLDER`"
            self.notes.append(note)
            self.notify(note)

    def write(self, path: Path, body: bytes) -> None:
        """Write a file aside and rename it; the very same content is left alone."""
        if path.is_file() and path.read_bytes() == body:
            self.kept += 1
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        aside = path.with_name(f".{path.name}.part")
        aside.write_bytes(body)
        aside.replace(path)
        self.written += 1
        self.notify(f"landed {path.relative_to(self.folder.parent).as_posix()}")

    def job(self, job_id: str) -> dict[str, Any]:
        """The job as it is now, else as it was landed before."""
        file = self.folder / "job.json"

        def ask() -> None:
            path = f"/fine_tuning/jobs/{_quoted(job_id)}"
            body = self.client.get(path)
            self.client.decoded(body, path)
            self.write(file, body)

        self.attempt(f"job {job_id}", ask)
        landed = _landed(file)
        return landed if isinstance(landed, dict) else {}

    def newest_first(self, path: str, folder: Path) -> None:
        """Land a list that is served newest first: its head, then page by page back to its end.

        Only the head and what no landed page covers are asked for: such a list never changes behind its head.
        """
        landed = _LandedPages(folder)
        self.kept += landed.count
        body, head = next(self.client.pages(path, limit=_PAGE))
        if any(each not in landed.page_of for each in _ids(head)):
            self.write(folder / f"head-{_safe(_ids(head)[0])}.json", body)
        page = head
        while page.get("has_more") and (cursor := last_id(page)):
            known = landed.behind(cursor)
            if known is None:
                body, known = next(self.client.pages(path, after=cursor, limit=_PAGE))
                if last_id(known) == cursor:
                    raise ServiceError(f"{path} keeps answering the page after {cursor}: stopped paging")
                self.write(folder / f"after-{_safe(cursor)}.json", body)
            page = known

    def result_file(self, file_id: str) -> None:
        """Land a result file, as it comes: plain CSV or base64."""
        file = self.folder / "results" / f"{_SAFE.sub('_', file_id)}.csv"
        if file.is_file():
            self.kept += 1
        else:
            self.write(file, self.client.get(f"/files/{_quoted(file_id)}/content"))

    def eval_runs(self, eval_id: str) -> None:
        """Land the eval runs of a job and the items of those that are new or were unfinished."""
        folder = self.folder / "evals"
        runs: list[dict[str, Any]] = []
        for number, (body, page) in enumerate(
            self.client.pages(f"/evals/{_quoted(eval_id)}/runs", limit=_PAGE, order="asc"), 1
        ):
            self.write(folder / f"runs-{number:04}.json", body)
            runs += [run for run in page["data"] if isinstance(run, dict) and isinstance(run.get("id"), str)]
        for run in runs:
            self.attempt(f"items of {run['id']}", lambda run=run: self._items(eval_id, run, folder))  # type: ignore[misc]  # mypy infers no lambda with a default

    def _items(self, eval_id: str, run: dict[str, Any], above: Path) -> None:
        """Land the items of one run; its own answer is landed last and says that they are all there."""
        folder = above / _safe(run["id"])
        pages = sorted(folder.glob("items-*.json"))
        if (folder / "run.json").is_file():
            self.kept += len(pages) + 1
            return
        path = f"/evals/{_quoted(eval_id)}/runs/{_quoted(run['id'])}"
        whole = [page for page in map(_landed, pages) if isinstance(page, dict) and page.get("has_more")]
        after = last_id(whole[-1]) if whole else None  # the last page may have grown since: it is asked for again
        self.kept += len(whole)
        items = self.client.pages(f"{path}/output_items", after=after, limit=_PAGE, order="asc")
        for number, (body, _) in enumerate(items, len(whole) + 1):
            self.write(folder / f"items-{number:04}.json", body)
        if run.get("status") in _DONE:
            self.write(folder / "run.json", self.client.get(path))


class _LandedPages:
    """Pages landed of a list that is served newest first, by the ids on them and by the cursor they follow."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.page_of: dict[str, dict[str, Any]] = {}
        self.count = 0
        for file in sorted(folder.glob("*.json")):
            page = _landed(file)
            if isinstance(page, dict):
                self.count += 1
                self.page_of.update({each: page for each in _ids(page) if each != last_id(page)})
                self.page_of.setdefault(last_id(page) or "", page)

    def behind(self, cursor: str) -> dict[str, Any] | None:
        """The landed page that goes on behind an id: the one that followed it, or one that holds it and more."""
        page = _landed(self._folder / f"after-{_safe(cursor)}.json")
        if isinstance(page, dict):
            return page
        holder = self.page_of.get(cursor)
        return holder if holder is not None and (last_id(holder) != cursor or not holder.get("has_more")) else None


def _quoted(name: str) -> str:
    """An id as one segment of a path, whatever it holds."""
    return quote(name, safe="")


def _safe(name: str) -> str:
    return _SAFE.sub("_", name)


def _ids(page: dict[str, Any]) -> list[str]:
    data = page.get("data")
    entries = data if isinstance(data, list) else []
    return [each["id"] for each in entries if isinstance(each, dict) and isinstance(each.get("id"), str)]


def _landed(file: Path) -> Any:
    """A landed answer; None where there is none, or it is damaged."""
    try:
        return parse_json(file.read_bytes())
    except (OSError, ValueError):
        return None
