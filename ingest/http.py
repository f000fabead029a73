"""Talking to services: one way to build an `httpx.Client`, and one way to ask with it.

    with Service("https://api.example.com/v1", headers={"Authorization": f"Bearer {key}"}) as service:
        job = service.get_json("/jobs/1")
        for page in service.pages("/jobs/1/events", limit=100): …

Every request has timeouts; rate limits, server errors and dropped connections are tried again after the time the server
asks for (`Retry-After`), else with growing, jittered pauses. The headers given hold the key: they go to the service's
own origin only (never along a redirect), and their values are removed from every error. Nothing here knows a service.
"""

import contextlib
import random
import re
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cache
from types import TracebackType
from typing import Any, Self

import httpx

from ingest.errors import GoneError, ServiceError
from ingest.reading import parse_json

TIMEOUT = httpx.Timeout(60.0, connect=15.0)
ATTEMPTS = 6
LONGEST_PAUSE_S = 120.0
"""A server that asks for more patience than this is not waited for: the error says how long it asked for."""
_AGAIN = frozenset({408, 409, 425, 429, 500, 502, 503, 504})
Values = dict[str, Any]
_GONE = frozenset({403, 404, 410})
_KEYS = re.compile(r"\b(?:sk|pk|rk|hf|key)[-_][\w*.-]{6,}|(?<=Bearer )\S+")
_KEY_PARAMETERS = re.compile(r"([?&](?:[\w-]*(?:key|token|sig|signature|secret|credential)[\w-]*)=)[^&#\s\"']+", re.I)


def redact(message: str, secrets: tuple[str, ...] = ()) -> str:
    """The message without the given secrets, and without anything that looks like a key."""
    for secret in sorted(secrets, key=len, reverse=True):
        message = message.replace(secret, "[redacted]")
    return _KEY_PARAMETERS.sub(r"\1[redacted]", _KEYS.sub("[redacted]", message))


def client(
    base_url: str = "",
    *,
    headers: Mapping[str, str] | None = None,
    params: Mapping[str, str] | None = None,
    transport: httpx.BaseTransport | None = None,
) -> httpx.Client:
    """An HTTP client with timeouts that follows redirects, sending `headers` to the origin of `base_url` only.

    Raises:
        ServiceError: `base_url` is no URL.
    """
    try:
        home = httpx.URL(base_url)
    except httpx.InvalidURL as error:
        raise ServiceError(f"{redact(base_url)[:200]} is no URL ({error})") from None

    def keyed(request: httpx.Request) -> None:
        for name, value in (headers or {}).items():
            if _origin(request.url) == _origin(home):
                request.headers[name] = value
            else:
                request.headers.pop(name, None)

    return httpx.Client(
        base_url=base_url,
        params=params,
        timeout=TIMEOUT,
        verify=_tls(),
        follow_redirects=True,
        transport=transport,
        headers={"User-Agent": "rollout-observatory"},
        event_hooks={"request": [keyed]},
    )


@cache
def _tls() -> ssl.SSLContext:
    """One TLS context for all clients: loading the certificates takes longer than many a request."""
    return httpx.create_ssl_context()


def _origin(url: httpx.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port


def retry_after(value: str | None, now: datetime | None = None) -> float | None:
    """Seconds to wait by a `Retry-After` header, which holds seconds or an HTTP date; None where it holds neither."""
    if not value:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        when = parsedate_to_datetime(value)
    except (ValueError, TypeError):
        return None
    when = when.replace(tzinfo=UTC) if when.tzinfo is None else when
    return max(0.0, (when - (now or datetime.now(UTC))).total_seconds())


class Service:
    """A service behind a base URL, asked with retries. Use it as a context manager, or `close` it."""

    def __init__(
        self,
        base_url: str,
        *,
        headers: Mapping[str, str] | None = None,
        params: Mapping[str, str] | None = None,
        attempts: int = ATTEMPTS,
        sleep: Callable[[float], object] = time.sleep,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self.base_url = base_url.rstrip("/")
        values = [value for value in (headers or {}).values() if value]
        self.secrets = tuple({*values, *(value.removeprefix("Bearer ") for value in values)})
        self._client = client(self.base_url, headers=headers, params=params, transport=transport)
        self._attempts = attempts
        self._sleep = sleep

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def get(self, path: str, **params: str | int) -> bytes:
        """The body of an answer, without the service's key should it be in there.

        Raises:
            GoneError: The endpoint is closed, absent, or closed to this key (403, 404, 410).
            ServiceError: It cannot be reached, refuses the key or the request, or keeps failing.
        """
        asked = f"GET {self.base_url}{path}"
        body = with_retries(lambda: self._once(path, params), asked, self.secrets, self._attempts, self._sleep)
        for secret in self.secrets:
            body = body.replace(secret.encode(), b"[redacted]")
        return body

    def get_json(self, path: str, **params: str | int) -> Any:
        """The JSON value of an answer.

        Raises:
            GoneError: See `get`.
            ServiceError: See `get`; or the answer is no JSON.
        """
        return self.decoded(self.get(path, **params), path)

    def decoded(self, body: bytes, path: str) -> Any:
        """The JSON value of a body that `path` answered.

        Raises:
            ServiceError: It is no JSON.
        """
        try:
            return parse_json(body)
        except ValueError:
            start = redact(body[:80].decode("utf-8", "replace"), self.secrets)
            raise ServiceError(f"GET {self.base_url}{path} answered no JSON but {start!r}: is the URL right?") from None

    def pages(self, path: str, *, after: str | None = None, **params: str | int) -> Iterator[tuple[bytes, Values]]:
        """Pages of a list as (raw body, value), from behind the id `after` until `has_more` is false.

        Raises:
            GoneError: See `get`.
            ServiceError: See `get`; or a page is no list, or the list does not move on.
        """
        while True:
            cursor = {"after": after} if after else {}
            body = self.get(path, **params, **cursor)
            page = self.decoded(body, path)
            if not isinstance(page, dict) or not isinstance(page.get("data"), list):
                raise ServiceError(f"GET {self.base_url}{path} answered no list of objects: is the URL right?")
            yield body, page
            last = last_id(page)
            if not page.get("has_more") or last is None:
                return
            if last == after:
                raise ServiceError(f"GET {self.base_url}{path} keeps answering the page after {after}: stopped paging")
            after = last

    def _once(self, path: str, params: Mapping[str, str | int]) -> httpx.Response:
        return self._client.get(path, params=dict(params) or None)


def last_id(page: Values) -> str | None:
    """Id of a page's last object: the cursor of the next page."""
    data = page.get("data")
    last = data[-1] if isinstance(data, list) and data else None
    found = last.get("id") if isinstance(last, dict) else None
    return found if isinstance(found, str) else None


def with_retries(
    once: Callable[[], httpx.Response],
    asked: str,
    secrets: tuple[str, ...] = (),
    attempts: int = ATTEMPTS,
    sleep: Callable[[float], object] = time.sleep,
) -> bytes:
    """Ask until there is an answer to keep, and return its body.

    Raises:
        GoneError: 403, 404 or 410.
        ServiceError: Any other refusal, or still failing after all attempts.
    """
    trouble, pause = "", 0.0
    for attempt in range(attempts):
        if attempt:
            sleep(pause)
        pause = random.uniform(0.5, 1.0) * min(30.0, 0.5 * 2.0**attempt)
        try:
            response = once()
        except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
            raise ServiceError(redact(f"{asked}: {error}; check the URL", secrets)) from None
        except httpx.TransportError as error:
            trouble = f"{type(error).__name__}: {error}"
            continue
        except httpx.RequestError as error:
            raise ServiceError(redact(f"{asked}: {error}", secrets)) from None
        if response.is_success:
            return response.content
        trouble = f"{response.status_code} {_reason(response)}"
        if response.status_code not in _AGAIN:
            raise refusal(asked, response.status_code, trouble, secrets)
        wanted = retry_after(response.headers.get("Retry-After"))
        if wanted is not None and wanted > LONGEST_PAUSE_S:
            raise ServiceError(redact(f"{asked}: {trouble}; it asks to come back in {wanted:.0f} s", secrets))
        pause = pause if wanted is None else wanted
    message = f"{asked} failed {attempts} times, last with {trouble}; try again later, what was fetched is kept"
    raise ServiceError(redact(message, secrets))


def refusal(asked: str, status: int, trouble: str, secrets: tuple[str, ...] = ()) -> ServiceError:
    """The error that an answer of this status stands for."""
    if status in _GONE:
        why = "the endpoint is closed, absent, or not open to this key"
        return GoneError(redact(f"{asked} answered {trouble}: {why}", secrets))
    why = "check the key in the environment" if status == 401 else "the request is refused"
    return ServiceError(redact(f"{asked} answered {trouble}: {why}", secrets))


def _reason(response: httpx.Response) -> str:
    """What the server says about its refusal, in one short line."""
    found: Any = None
    with contextlib.suppress(ValueError):
        found = parse_json(response.content)
    if isinstance(found, dict):
        error = found.get("error", found)
        found = error.get("message") if isinstance(error, dict) else error
    said = found if isinstance(found, str) else response.reason_phrase
    return " ".join(said.split())[:200]
