"""A real HTTP server on the loopback interface, whose answers a test scripts and whose requests it counts."""

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlsplit

import pytest


@dataclass
class Request:
    path: str
    params: dict[str, str]
    headers: dict[str, str]


@dataclass
class Answer:
    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    drop_after: int | None = None
    """Send that many bytes of the body, then drop the connection (0: before any answer)."""


@dataclass
class LocalServer:
    url: str
    handler: Callable[[Request], Answer] = lambda request: Answer(status=404)
    requests: list[Request] = field(default_factory=list)

    @property
    def paths(self) -> list[str]:
        return [request.path for request in self.requests]


@pytest.fixture
def http_server() -> Iterator[LocalServer]:
    """Set `handler`; every request is kept in `requests`."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            headers = {name.lower(): value for name, value in self.headers.items()}
            request = Request(parts.path, dict(parse_qsl(parts.query)), headers)
            server.requests.append(request)
            answer = server.handler(request)
            if answer.drop_after == 0:
                self.close_connection = True
                return
            self.send_response(answer.status)
            for name, value in {"Content-Length": str(len(answer.body)), **answer.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(answer.body[: answer.drop_after])
            if answer.drop_after is not None:
                self.close_connection = True

        def log_message(self, format: str, *args: object) -> None:
            """Keep the test's output clean."""

    listener = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    listener.daemon_threads = True
    server = LocalServer(f"http://127.0.0.1:{listener.server_address[1]}")
    thread = threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    listener.shutdown()
    thread.join()
    listener.server_close()
