"""Asking services and fetching files, against a real local server that misbehaves in every known way."""

from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest

from ingest.download import download, is_url, safe_name
from ingest.errors import GoneError, ServiceError
from ingest.http import LONGEST_PAUSE_S, Service, redact, retry_after

KEY = "sk-secret-0123456789"


def service(server: Any, pauses: list[float] | None = None, **more: Any) -> Service:
    sleep: Callable[[float], object] = (pauses if pauses is not None else []).append
    return Service(server.url, headers={"Authorization": f"Bearer {KEY}"}, sleep=sleep, **more)


def script(answers: Iterable[Any]) -> Callable[[Any], Any]:
    """A handler that gives one answer after the other."""
    left = iter(answers)
    return lambda request: next(left)


@pytest.fixture
def answer(http_server: Any) -> Any:
    """The server's class of answers."""
    return type(http_server.handler(None))


def test_answer_is_read_and_the_key_sent(http_server: Any, answer: Any) -> None:
    http_server.handler = script([answer(b'{"a": NaN}')])
    with service(http_server, params={"api-version": "v9"}) as client:
        assert str(client.get_json("/x", limit=3)["a"]) == "nan"
    (request,) = http_server.requests
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.params == {"api-version": "v9", "limit": "3"}


def test_failures_that_pass_are_tried_again(http_server: Any, answer: Any) -> None:
    pauses: list[float] = []
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=50), usegmt=True)
    http_server.handler = script(
        [
            answer(b"slow down", 429, {"Retry-After": "7"}),
            answer(b"", 503, {"Retry-After": date}),
            answer(b"", 500),
            answer(drop_after=0),
            answer(b"0123456789", drop_after=4),
            answer(b"[1]"),
        ]
    )
    with service(http_server, pauses) as client:
        assert client.get_json("/x") == [1]
    assert len(http_server.requests) == 6
    assert pauses[0] == 7.0
    assert 40.0 < pauses[1] <= 50.0
    assert 1.0 <= pauses[2] <= 2.0
    assert 2.0 <= pauses[3] <= 4.0
    assert 4.0 <= pauses[4] <= 8.0


def test_failures_that_stay_are_an_error_that_says_so(http_server: Any, answer: Any) -> None:
    http_server.handler = lambda request: answer(b'{"error": {"message": "no luck"}}', 500)
    with service(http_server, attempts=3) as client, pytest.raises(ServiceError, match=r"failed 3 times.*no luck"):
        client.get("/x")
    assert len(http_server.requests) == 3


def test_a_server_that_wants_too_much_patience_is_not_waited_for(http_server: Any, answer: Any) -> None:
    pauses: list[float] = []
    http_server.handler = lambda request: answer(b"", 429, {"Retry-After": str(LONGEST_PAUSE_S + 1)})
    with service(http_server, pauses) as client, pytest.raises(ServiceError, match="come back in 121 s"):
        client.get("/x")
    assert pauses == []


@pytest.mark.parametrize(
    ("status", "kind"), [(403, GoneError), (404, GoneError), (410, GoneError), (401, ServiceError)]
)
def test_refusals_are_not_tried_again_and_name_no_key(
    http_server: Any, answer: Any, status: int, kind: type[ServiceError]
) -> None:
    body = f'{{"error": {{"message": "Incorrect key {KEY} of Bearer {KEY}"}}}}'.encode()
    http_server.handler = lambda request: answer(body, status)
    with service(http_server) as client, pytest.raises(kind) as caught:
        client.get("/x?api_key=abc")
    assert type(caught.value) is kind
    assert str(status) in str(caught.value)
    assert "secret" not in str(caught.value)
    assert "abc" not in str(caught.value)
    assert len(http_server.requests) == 1


def test_unreachable_service_and_wrong_url(http_server: Any, answer: Any) -> None:
    with (
        Service("http://127.0.0.1:9", attempts=2, sleep=lambda seconds: None) as client,
        pytest.raises(ServiceError, match="failed 2 times"),
    ):
        client.get("/x")
    with Service("nonsense://host") as client, pytest.raises(ServiceError, match="check the URL"):
        client.get("/x")
    http_server.handler = lambda request: answer(b"<html>hello</html>")
    with service(http_server) as client, pytest.raises(ServiceError, match="is the URL right"):
        client.get_json("/x")


def test_endless_redirect_is_an_error(http_server: Any, answer: Any) -> None:
    http_server.handler = lambda request: answer(b"", 302, {"Location": "/x"})
    with service(http_server) as client, pytest.raises(ServiceError, match="redirect"):
        client.get("/x")


def test_key_does_not_follow_a_redirect_to_another_host(http_server: Any, answer: Any) -> None:
    elsewhere = http_server.url.replace("127.0.0.1", "localhost") + "/blob"
    http_server.handler = script([answer(b"", 302, {"Location": elsewhere}), answer(b"data")])
    with Service(http_server.url, headers={"api-key": KEY}) as client:
        assert client.get("/file") == b"data"
    assert [request.headers.get("api-key") for request in http_server.requests] == [KEY, None]


def test_key_in_an_answer_is_not_passed_on(http_server: Any, answer: Any) -> None:
    http_server.handler = lambda request: answer(f'{{"echo": "{KEY}"}}'.encode())
    with service(http_server) as client:
        assert client.get("/x") == b'{"echo": "[redacted]"}'


def test_pages_follow_the_last_id(http_server: Any, answer: Any) -> None:
    http_server.handler = script(
        [
            answer(b'{"data": [{"id": "a"}, {"id": "b"}], "has_more": true}'),
            answer(b'{"data": [{"id": "c"}], "has_more": false}'),
        ]
    )
    with service(http_server) as client:
        found = [page["data"] for _, page in client.pages("/x", limit=2)]
    assert found == [[{"id": "a"}, {"id": "b"}], [{"id": "c"}]]
    assert [request.params for request in http_server.requests] == [{"limit": "2"}, {"limit": "2", "after": "b"}]


def test_list_that_does_not_move_on_is_stopped(http_server: Any, answer: Any) -> None:
    http_server.handler = lambda request: answer(b'{"data": [{"id": "a"}], "has_more": true}')
    with service(http_server) as client, pytest.raises(ServiceError, match="stopped paging"):
        list(client.pages("/x"))
    assert len(http_server.requests) == 2
    http_server.handler = lambda request: answer(b'{"data": {}}')
    with service(http_server) as client, pytest.raises(ServiceError, match="no list of objects"):
        list(client.pages("/x"))


@pytest.mark.parametrize(
    ("value", "seconds"),
    [("3", 3.0), ("0.5", 0.5), ("-1", 0.0), ("Thu, 01 Jan 2026 00:01:00 GMT", 60.0), ("soon", None), (None, None)],
)
def test_retry_after(value: str | None, seconds: float | None) -> None:
    assert retry_after(value, datetime(2026, 1, 1, tzinfo=UTC)) == seconds


def test_redaction() -> None:
    assert redact("key sk-abc123def, Bearer tok.en", ()) == "key [redacted], Bearer [redacted]"
    assert redact("https://h/f?a=1&sig=xyz&X-Token=q#z", ()) == "https://h/f?a=1&sig=[redacted]&X-Token=[redacted]#z"
    assert redact("plain is hidden", ("hidden",)) == "plain is [redacted]"


def test_download_takes_the_served_name_and_leaves_nothing_beside(
    tmp_path: Path, http_server: Any, answer: Any
) -> None:
    http_server.handler = lambda request: answer(
        b"x" * 200_000, headers={"Content-Disposition": 'attachment; filename="../../etc/eval log.jsonl"'}
    )
    said: list[str] = []
    path = download(f"{http_server.url}/get?id=1", tmp_path, notify=said.append)
    assert path == tmp_path / "eval log.jsonl"
    assert path.read_bytes() == b"x" * 200_000
    assert [each.name for each in tmp_path.iterdir()] == ["eval log.jsonl"]
    assert said[-1] == "eval log.jsonl: 0.2 MB"


def ranged(answer: Any, body: bytes, etag: str = '"v1"', drops: int = 1) -> Callable[[Any], Any]:
    """A server of ranges that drops its first connections half-way."""
    left = [drops]

    def handler(request: Any) -> Any:
        start, status, headers = 0, 200, {"ETag": etag}
        if "range" in request.headers and request.headers.get("if-range") == etag:
            start, status = int(request.headers["range"][6:-1]), 206
            headers["Content-Range"] = f"bytes {start}-{len(body) - 1}/{len(body)}"
        drop = None if left[0] <= 0 else (len(body) - start) // 2
        left[0] -= 1
        return answer(body[start:], status, headers, drop)

    return handler


def test_dropped_download_goes_on_where_it_stopped(tmp_path: Path, http_server: Any, answer: Any) -> None:
    body = bytes(range(256)) * 4000
    http_server.handler = ranged(answer, body, drops=2)
    path = download(f"{http_server.url}/a.bin", tmp_path, sleep=lambda seconds: None)
    assert path.read_bytes() == body
    starts = [int(request.headers.get("range", "bytes=0-")[6:-1]) for request in http_server.requests]
    assert starts[0] == 0
    assert 300_000 < starts[1] < starts[2]


def test_interrupted_download_resumes_in_a_later_run_unless_the_file_changed(
    tmp_path: Path, http_server: Any, answer: Any
) -> None:
    body, url = b"0123456789" * 50_000, f"{http_server.url}/a.bin"
    for etag, resumed in (('"v1"', True), ('"v2"', False)):
        http_server.handler = ranged(answer, body)
        with pytest.raises(ServiceError, match="what was fetched is kept"):
            download(url, tmp_path, attempts=1)
        assert not (tmp_path / "a.bin").exists()
        changed = body if resumed else body[::-1]
        http_server.handler = ranged(answer, changed, etag, drops=0)
        assert download(url, tmp_path, attempts=1).read_bytes() == changed
        assert "range" in http_server.requests[-1].headers
        (tmp_path / "a.bin").unlink()


def test_server_without_ranges_is_asked_from_the_start(tmp_path: Path, http_server: Any, answer: Any) -> None:
    body = b"ab" * 100_000
    http_server.handler = script([answer(body, drop_after=90_000), answer(body)])
    assert download(f"{http_server.url}/a", tmp_path, sleep=lambda seconds: None).read_bytes() == body
    assert [request.headers.get("range") for request in http_server.requests] == [None, None]


def test_range_that_is_gone_starts_anew(tmp_path: Path, http_server: Any, answer: Any) -> None:
    body = b"ab" * 100_000
    tagged = {"ETag": '"v1"'}
    http_server.handler = script([answer(body, 200, tagged, 150_000), answer(b"", 416), answer(b"new", 200, tagged)])
    assert download(f"{http_server.url}/a", tmp_path, sleep=lambda seconds: None).read_bytes() == b"new"


def test_download_that_is_gone_or_no_url(tmp_path: Path, http_server: Any) -> None:
    with pytest.raises(GoneError, match="404"):
        download(f"{http_server.url}/a", tmp_path)
    with pytest.raises(ServiceError, match="not an http"):
        download("file:///etc/passwd", tmp_path)
    assert is_url("HTTPS://host/a")
    assert not is_url("/data/https://x")


@pytest.mark.parametrize(
    ("disposition", "url", "name"),
    [
        (None, "https://h/a/b.jsonl?x=1", "b.jsonl"),
        ("attachment; filename*=UTF-8''r%C3%A9sum%C3%A9%2F..%2Fx.json", "https://h/", "x.json"),
        ('inline; filename="C:\\\\temp\\\\a.json"', "https://h/", "a.json"),
        ("attachment; filename=../..", "https://h/ok.csv", "ok.csv"),
        ('attachment; filename=".bashrc"', "https://h/", "bashrc"),
        ("attachment; filename=con.txt", "https://h/", "download"),
        (None, "https://h", "download"),
        (None, "https://h/%2e%2e%2fpasswd", "passwd"),
        ('attachment; filename="a<b>|\n.json"', "https://h/", "a_b_.json"),
        (None, "https://h/" + "a" * 300 + ".jsonl", "a" * 100 + ".jsonl"),
    ],
)
def test_names_stay_inside_the_folder(disposition: str | None, url: str, name: str) -> None:
    assert safe_name(disposition, url) == name
