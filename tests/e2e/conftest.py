"""A running dashboard and a real browser. Where Chromium is missing these tests are skipped, saying so."""

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.conftest import ROOT
from tests.stores import call, rollout, write_store

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
WAIT_MS = 60_000
"""Generous: a cold server on a busy machine takes its time; a page that works never needs it."""
HOSTILE = ("'; DROP TABLE runs; --", "x" * 300, "🙂 run", "1", "![x](http://evil.example/x.png)")


@pytest.fixture(scope="session")
def small_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of three steps, a baseline, and runs with hostile names."""
    root = tmp_path_factory.mktemp("store")
    runs = {"job": (0, 5, 9), "base": (0,), **dict.fromkeys(HOSTILE, (0,))}
    write_store(
        root,
        [
            rollout(
                run,
                sample_id=sample,
                native_id=f"{run}-{step}-{sample}-{attempt}",
                split="valid",
                step=step,
                reward=(step + attempt) / 20,
                status="completed",
                output_tokens=100 + step,
                latency_s=4.0 + step,
                messages=[{"role": "user", "text": "q"}, {"role": "assistant", "text": "a", "turn": 0}],
                tool_calls=[call("search", f'{{"q": {attempt}}}', output_text="found", latency_s=1.0)],
            )
            for run, steps in runs.items()
            for step in steps
            for sample in ("a", "b", "c")
            for attempt in (0, 1)
        ],
    )
    return root


def serve(store: Path, *options: str) -> Iterator[str]:
    """Run the dashboard on a free port over a store; yields its address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "streamlit", "run", "dashboard/app.py", "--server.port", str(port), *options]
    environment = os.environ | {"OBSERVATORY_STORE": str(store)}
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as server:
        try:
            address = f"http://127.0.0.1:{port}"
            base = next((option.split("=")[1] for option in options if option.startswith("--server.baseUrlPath")), "")
            _wait(f"{address}/{base}".rstrip("/") + "/_stcore/health")
            yield f"{address}/{base}".rstrip("/")
        finally:
            server.terminate()


def _wait(address: str) -> None:
    until = time.monotonic() + 60
    while time.monotonic() < until:
        try:
            if httpx.get(address).status_code == 200:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.2)
    raise TimeoutError(f"{address} does not answer")


@pytest.fixture(scope="session")
def dashboard(small_store: Path) -> Iterator[str]:
    """Address of a dashboard over the small store."""
    yield from serve(small_store)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Headless Chromium."""
    if CHROMIUM is None:
        pytest.skip("no Chromium here: install the package `chromium` to run the browser tests")
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A fresh browser with nothing remembered, in which requests to anywhere else fail the test."""
    context = browser.new_context(viewport={"width": 1440, "height": 1000})
    context.set_default_timeout(WAIT_MS)
    opened = context.new_page()
    strangers: list[str] = []
    opened.on("request", lambda request: strangers.append(request.url) if _is_strange(request.url) else None)
    yield opened
    context.close()
    assert not strangers, f"the page called {strangers}"


def _is_strange(address: str) -> bool:
    return not address.startswith(("http://127.0.0.1", "ws://127.0.0.1", "data:", "blob:"))


def settled(page: Page) -> None:
    """Wait until the page has been drawn, and assert that nothing went wrong on it."""
    page.wait_for_selector("h1, h3")
    expect(page.get_by_test_id("stStatusWidget")).to_have_count(0, timeout=WAIT_MS)
    expect(page.get_by_test_id("stSkeleton")).to_have_count(0, timeout=WAIT_MS)
    expect(page.get_by_test_id("stException")).to_have_count(0)
    expect(page.get_by_text("Something unexpected happened")).to_have_count(0)
