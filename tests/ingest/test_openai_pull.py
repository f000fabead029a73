"""Landing a job from a local server that pages, limits, fails, drops connections and has endpoints gone."""

import base64
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from ingest import openai_pull
from ingest.errors import GoneError, ServiceError
from ingest.http import Service
from ingest.sources import openai_fine_tuning
from ingest.sources.base import Note, Options, Part, Reject, Rollout, Row

KEY = "sk-secret-0123456789"
JOB = "/fine_tuning/jobs/ftjob-x"
CSV = b"step,train_mean_reward\n1,0.25\n2,0.5\n"


class Platform:
    """A small fine-tuning service. `gone` are paths it has closed; `trouble` answers by path, each given once."""

    def __init__(self, server: Any) -> None:
        self.answer = type(server.handler(None))
        self.num_events, self.page_size = 7, 3
        self.status, self.result_files = "running", ["file-r"]
        self.csv = base64.b64encode(CSV)
        self.runs = {"r1": "completed", "r2": "in_progress"}
        self.items = {"r1": 4, "r2": 2}
        self.eval_id: str | None = "eval_x"
        self.gone: set[str] = set()
        self.trouble: dict[str, list[Any]] = {}
        server.handler = self

    def __call__(self, request: Any) -> Any:
        if request.headers.get("authorization") != f"Bearer {KEY}" and request.headers.get("api-key") != KEY:
            return self.answer(b'{"error": {"message": "no key"}}', 401)
        if self.trouble.get(request.path):
            return self.trouble[request.path].pop(0)
        if request.path in self.gone:
            return self.answer(b'{"error": {"message": "This endpoint is retired."}}', 410)
        found = self.found(request.path, request.params)
        if found is None:
            return self.answer(b"{}", 404)
        return self.answer(found if isinstance(found, bytes) else json.dumps(found).encode())

    def found(self, path: str, params: dict[str, str]) -> Any:
        if path == JOB:
            return {
                "object": "fine_tuning.job",
                "id": "ftjob-x",
                "model": "o4-mini",
                "status": self.status,
                "result_files": self.result_files,
                "eval_id": self.eval_id,
            }
        if path == f"{JOB}/events":
            return self.page([self.event(number) for number in range(self.num_events, 0, -1)], params)
        if path == f"{JOB}/checkpoints":
            return self.page([], params)
        if path == "/files/file-r/content":
            return self.csv
        if path == "/evals/eval_x/runs":
            return self.page([self.run(run_id) for run_id in self.runs], params)
        for run_id in self.runs:
            if path == f"/evals/eval_x/runs/{run_id}":
                return self.run(run_id)
            if path == f"/evals/eval_x/runs/{run_id}/output_items":
                return self.page([self.item(run_id, number) for number in range(self.items[run_id])], params)
        return None

    def page(self, entries: list[Any], params: dict[str, str]) -> Any:
        ids = [entry["id"] for entry in entries]
        start = ids.index(params["after"]) + 1 if "after" in params else 0
        data = entries[start : start + self.page_size]
        return {"object": "list", "data": data, "has_more": start + self.page_size < len(entries)}

    def event(self, number: int) -> Any:
        data = {"step": number, "train_mean_reward": number / 10}
        kind = {"object": "fine_tuning.job.event", "type": "metrics", "level": "info", "message": f"Step {number}"}
        return {**kind, "id": f"ftevent-{number}", "created_at": 1760000000 + number, "data": data}

    def run(self, run_id: str) -> Any:
        name = f"Step {run_id[1:]}"
        return {"object": "eval.run", "id": run_id, "eval_id": "eval_x", "name": name, "status": self.runs[run_id]}

    def item(self, run_id: str, number: int) -> Any:
        return {
            "object": "eval.run.output_item",
            "id": f"{run_id}-i{number}",
            "run_id": run_id,
            "status": "pass",
            "datasource_item_id": number,
            "datasource_item": {"messages": [{"role": "user", "content": "q"}]},
            "results": [{"name": "match", "score": 1.0}],
            "sample": {"output": [{"role": "assistant", "content": "a"}]},
        }


@pytest.fixture
def platform(http_server: Any) -> Platform:
    return Platform(http_server)


def client(server: Any, attempts: int = 6) -> Service:
    headers = {"Authorization": f"Bearer {KEY}"}
    return Service(server.url, headers=headers, attempts=attempts, sleep=lambda seconds: None)


def pull(server: Any, into: Path, attempts: int = 6) -> openai_pull.FetchReport:
    server.requests.clear()
    with client(server, attempts) as service:
        return openai_pull.fetch(service, "ftjob-x", into)


def read(folder: Path) -> list[Any]:
    found = list(openai_fine_tuning.read(Part(folder), Options()))
    assert [each for each in found if isinstance(each, Reject)] == []
    return found


def event_ids(found: list[Any]) -> list[str]:
    return [each.values["event_id"] for each in found if isinstance(each, Row) and each.table == "events"]


def rollouts(found: list[Any]) -> Counter[int]:
    return Counter(each.values["step"] for each in found if isinstance(each, Rollout))


def test_everything_is_landed_and_read(tmp_path: Path, http_server: Any, platform: Platform) -> None:
    said: list[str] = []
    with client(http_server) as service:
        report = openai_pull.fetch(service, "ftjob-x", tmp_path, notify=said.append)
    assert report.folder == tmp_path / "ftjob-x"
    assert report.notes == ()
    assert (report.files_written, report.files_kept) == (10, 0)
    assert len(said) == 10
    assert (report.folder / "results" / "file-r.csv").read_bytes() == base64.b64encode(CSV)
    found = read(report.folder)
    assert event_ids(found) == [f"ftevent-{number}" for number in range(1, 8)]
    assert rollouts(found) == {1: 4, 2: 2}
    assert openai_fine_tuning.default_run(report.folder) == "ftjob-x"
    rewards = [row.values["value"] for row in found if isinstance(row, Row) and row.table == "metrics"]
    assert rewards == [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]
    assert any(isinstance(each, Note) and "differ" in each.text for each in found)


def test_second_pull_asks_only_for_what_can_be_new(tmp_path: Path, http_server: Any, platform: Platform) -> None:
    pull(http_server, tmp_path)
    platform.num_events, platform.items["r2"], platform.runs["r2"] = 8, 5, "completed"
    platform.runs["r3"], platform.items["r3"] = "completed", 1
    report = pull(http_server, tmp_path)
    assert Counter(http_server.paths) == {
        JOB: 1,
        f"{JOB}/events": 1,
        f"{JOB}/checkpoints": 1,
        "/evals/eval_x/runs": 1,
        "/evals/eval_x/runs/r2": 1,
        "/evals/eval_x/runs/r2/output_items": 2,
        "/evals/eval_x/runs/r3": 1,
        "/evals/eval_x/runs/r3/output_items": 1,
    }
    found = read(report.folder)
    assert event_ids(found) == [f"ftevent-{number}" for number in range(1, 9)]
    assert rollouts(found) == {1: 4, 2: 5, 3: 1}


def test_pull_without_news_writes_nothing(tmp_path: Path, http_server: Any, platform: Platform) -> None:
    platform.runs["r2"] = "completed"
    first = pull(http_server, tmp_path)
    before = {path: path.stat().st_mtime_ns for path in first.folder.rglob("*")}
    second = pull(http_server, tmp_path)
    assert (second.files_written, second.files_kept) == (0, first.files_written)
    assert len(http_server.requests) == 4
    assert {path: path.stat().st_mtime_ns for path in first.folder.rglob("*")} == before


def test_many_new_events_are_followed_back_to_the_known_ones(
    tmp_path: Path, http_server: Any, platform: Platform
) -> None:
    pull(http_server, tmp_path)
    platform.num_events = 14
    report = pull(http_server, tmp_path)
    assert http_server.paths.count(f"{JOB}/events") == 3
    assert event_ids(read(report.folder)) == [f"ftevent-{number}" for number in range(1, 15)]
    pull(http_server, tmp_path)
    assert http_server.paths.count(f"{JOB}/events") == 1


def test_interrupted_pull_goes_on_where_it_broke_off(tmp_path: Path, http_server: Any, platform: Platform) -> None:
    platform.num_events = 12
    items = "/evals/eval_x/runs/r1/output_items"
    broken = platform.answer(b"", 500)
    for path, requests_before in ((f"{JOB}/events", 2), (items, 1)):
        good = platform.found
        left = [requests_before]

        def fail(asked: str, params: dict[str, str], path: str = path, good: Any = good, left: Any = left) -> Any:
            if asked == path:
                left[0] -= 1
                if left[0] < 0:
                    platform.trouble[path] = [broken] * 2
                    return b"no json"
            return good(asked, params)

        platform.found = fail  # type: ignore[method-assign]  # the server is made to fail
        with pytest.raises(ServiceError):
            pull(http_server, tmp_path, attempts=1)
        platform.found, platform.trouble = good, {}  # type: ignore[method-assign]  # the server is made to fail
    report = pull(http_server, tmp_path)
    assert http_server.paths.count(f"{JOB}/events") == 1
    assert [request.params.get("after") for request in http_server.requests if request.path == items] == ["r1-i2"]
    assert rollouts(read(report.folder)) == {1: 4, 2: 2}
    assert len(event_ids(read(report.folder))) == 12
    assert not list(report.folder.rglob("*.part"))


def test_events_go_on_from_the_page_where_they_broke_off(tmp_path: Path, http_server: Any, platform: Platform) -> None:
    platform.num_events = 12
    good = platform.found

    def fail(path: str, params: dict[str, str]) -> Any:
        return b"no json" if params.get("after") == "ftevent-7" else good(path, params)

    platform.found = fail  # type: ignore[method-assign]  # the server is made to fail
    with pytest.raises(ServiceError, match="no JSON"):
        pull(http_server, tmp_path)
    platform.found = good  # type: ignore[method-assign]  # the server is made to fail
    report = pull(http_server, tmp_path)
    cursors = [request.params.get("after") for request in http_server.requests if request.path == f"{JOB}/events"]
    assert cursors == [None, "ftevent-7", "ftevent-4"]
    assert len(event_ids(read(report.folder))) == 12


def test_rate_limits_server_errors_and_dropped_connections(
    tmp_path: Path, http_server: Any, platform: Platform
) -> None:
    answer = platform.answer
    whole = json.dumps(platform.found(f"{JOB}/events", {})).encode()
    platform.trouble = {
        JOB: [answer(b"", 429, {"Retry-After": "1"}), answer(b"", 500)],
        f"{JOB}/events": [answer(drop_after=0), answer(whole, drop_after=40)],
    }
    report = pull(http_server, tmp_path)
    assert report.notes == ()
    assert Counter(http_server.paths)[JOB] == 3
    assert len(event_ids(read(report.folder))) == 7


def test_closed_endpoints_are_notes_and_the_rest_is_landed(
    tmp_path: Path, http_server: Any, platform: Platform
) -> None:
    platform.gone = {f"{JOB}/checkpoints", "/evals/eval_x/runs/r1/output_items"}
    platform.result_files = ["file-r", "file-lost"]
    report = pull(http_server, tmp_path)
    assert [note.split(":")[0] for note in report.notes] == ["checkpoints", "result file file-lost", "items of r1"]
    assert all("observatory ingest FOLDER" in note for note in report.notes)
    assert "This endpoint is retired." in report.notes[0]
    assert rollouts(read(report.folder)) == {2: 2}


def test_job_without_an_eval_says_so(tmp_path: Path, http_server: Any, platform: Platform) -> None:
    platform.eval_id = None
    report = pull(http_server, tmp_path)
    assert [note for note in report.notes if "names no eval" in note] == list(report.notes)
    assert rollouts(read(report.folder)) == {}


def test_job_that_is_gone_by_now_still_lands_what_is_left(tmp_path: Path, http_server: Any, platform: Platform) -> None:
    pull(http_server, tmp_path)
    platform.gone, platform.runs["r2"] = {JOB}, "completed"
    report = pull(http_server, tmp_path)
    assert [note.split(":")[0] for note in report.notes] == ["job ftjob-x"]
    assert "/evals/eval_x/runs/r2/output_items" in http_server.paths


def test_platform_that_is_closed_altogether(tmp_path: Path, http_server: Any, platform: Platform) -> None:
    platform.gone = {JOB, f"{JOB}/events", f"{JOB}/checkpoints"}
    with pytest.raises(GoneError, match="observatory ingest FOLDER"):
        pull(http_server, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_refused_key_fails_at_once_and_is_not_shown(tmp_path: Path, http_server: Any, platform: Platform) -> None:
    with (
        Service(http_server.url, headers={"Authorization": "Bearer sk-wrong-key"}) as service,
        pytest.raises(ServiceError, match="check the key") as caught,
    ):
        openai_pull.fetch(service, "ftjob-x", tmp_path)
    assert "sk-wrong" not in str(caught.value)
    assert len(http_server.requests) == 1


def test_azure_style(tmp_path: Path, http_server: Any, platform: Platform) -> None:
    platform.csv = CSV
    azure = openai_pull.service(
        http_server.url, is_azure=True, api_version="2025-04-01", environment={"AZURE_OPENAI_API_KEY": KEY}
    )
    with azure as service:
        report = openai_pull.fetch(service, "ftjob-x", tmp_path)
    assert {request.params["api-version"] for request in http_server.requests} == {"2025-04-01"}
    assert {request.headers.get("api-key") for request in http_server.requests} == {KEY}
    assert not any("authorization" in request.headers for request in http_server.requests)
    assert (report.folder / "results" / "file-r.csv").read_bytes() == CSV


def test_no_key_in_any_landed_file(tmp_path: Path, http_server: Any, platform: Platform) -> None:
    platform.csv = CSV + f"# {KEY}\n".encode()
    folder = pull(http_server, tmp_path).folder
    assert not [path for path in folder.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]


def test_key_comes_from_the_environment() -> None:
    with pytest.raises(ServiceError, match="OPENAI_API_KEY"):
        openai_pull.service(environment={})
    with pytest.raises(ServiceError, match="--base-url"):
        openai_pull.service(is_azure=True, environment={"AZURE_OPENAI_API_KEY": "k"})
    with openai_pull.service(environment={"OPENAI_API_KEY": "k"}) as service:
        assert service.base_url == "https://api.openai.com/v1"


def test_hostile_ids_stay_inside_the_folder(tmp_path: Path, http_server: Any, platform: Platform) -> None:
    platform.runs, platform.items = {}, {}
    good = platform.event
    platform.event = lambda number: {**good(number), "id": f"../../{number}"}  # type: ignore[method-assign]  # the server is made to fail
    report = pull(http_server, tmp_path / "into")
    assert {path.parent.parent for path in tmp_path.rglob("*") if path.is_file()} <= {report.folder, tmp_path / "into"}
    assert len(event_ids(read(report.folder))) == 7
