"""From a sample to a trajectory in a real browser: clicks, keys, places in the address, and nothing that calls home."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
from playwright.sync_api import Page, expect

from queries.connection import open_store
from tests.e2e.conftest import WAIT_MS, serve, settled
from tests.stores import call, rollout, write_store

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("traces")]
EVIL = "<script>document.title='taken'</script><img src=http://evil.example/x.png onerror=\"document.title='taken'\">"
EVIL += " ![x](http://evil.example/y.png) </pre></article><h1>big</h1>"


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("traces")
    words = "word " * 150
    long = [{"role": "tool" if each % 2 else "assistant", "turn": each // 2, "text": words} for each in range(200)]
    calls = [
        call("search", f'{{"q": {each}}}', message_index=2 * each, result_index=2 * each + 1, output_text=words)
        | ({"status": "error", "is_error_flagged": True} if each in (5, 70) else {})
        for each in range(100)
    ]
    evil = [{"role": "user", "text": EVIL}, {"role": "assistant", "turn": 0, "text": EVIL, "reasoning_text": EVIL}]
    common = {"split": "valid", "status": "completed"}
    write_store(
        root,
        [
            rollout(
                "job", native_id="0-long", sample_id="a", step=0, reward=0.0, messages=long, tool_calls=calls, **common
            ),
            rollout("job", native_id="1-evil", sample_id="b", step=0, reward=1.0, messages=evil, **common),
            rollout("job", native_id="2-later", sample_id="a", step=5, reward=1.0, messages=evil, **common),
            rollout("job", native_id="3-later", sample_id="b", step=5, reward=0.5, messages=evil, **common),
        ],
    )
    return root


@pytest.fixture(scope="module")
def address(traces: Path) -> Iterator[str]:
    yield from serve(traces)


def id_of(traces: Path, native_id: str) -> str:
    sql = "SELECT rollout_id FROM rollouts WHERE native_id = $native_id"
    return str(open_store(traces).connection.sql(sql, params={"native_id": native_id}).fetchall()[0][0])


def test_keys_go_to_errors_and_rollouts_and_back(traces: Path, address: str, page: Page) -> None:
    first = id_of(traces, "0-long")
    page.goto(f"{address}/trajectory?rollout={first}")
    settled(page)
    expect(page.locator("article")).to_have_count(30)
    for key, place in (("n", 10), ("n", 140), ("p", 10)):
        page.keyboard.press(key)
        page.wait_for_url(f"**message={place}")
        expect(page.locator(f"#message-{place}")).to_be_in_viewport(timeout=WAIT_MS)
    page.keyboard.press("j")
    page.wait_for_url(f"**rollout={id_of(traces, '1-evil')}")
    settled(page)
    page.go_back()
    expect(page.get_by_test_id("stPagination")).to_be_visible(timeout=WAIT_MS)


def test_the_key_s_searches_and_a_match_leads_to_its_message(traces: Path, address: str, page: Page) -> None:
    page.goto(f"{address}/trajectory?rollout={id_of(traces, '0-long')}")
    settled(page)
    page.keyboard.press("s")
    page.keyboard.type('"q": 93')
    page.keyboard.press("Enter")
    expect(page.get_by_text(re.compile("1 match in 1 place"))).to_be_visible(timeout=WAIT_MS)
    page.locator(".found a").click()
    page.wait_for_url("**message=186**")
    expect(page.locator("#call-93")).to_be_in_viewport(timeout=WAIT_MS)


def test_a_link_to_a_message_and_the_outline_go_there(traces: Path, address: str, page: Page) -> None:
    page.goto(f"{address}/trajectory?rollout={id_of(traces, '0-long')}&message=110")
    settled(page)
    expect(page.locator("#message-110")).to_be_in_viewport(timeout=WAIT_MS)
    page.locator(".outline a", has_text="116").first.click()
    expect(page.locator("#message-116")).to_be_in_viewport(timeout=WAIT_MS)
    page.locator('.outline a[href*="message=190"]').click()
    expect(page.locator("#message-190")).to_be_in_viewport(timeout=WAIT_MS)


def test_a_hostile_trace_runs_nothing_and_calls_nobody(traces: Path, address: str, page: Page) -> None:
    page.goto(f"{address}/trajectory?rollout={id_of(traces, '1-evil')}")
    settled(page)
    expect(page.get_by_text("onerror").first).to_be_visible()
    page.locator(".reasoning summary").click()
    for tag in ("img", "script", "h1", "iframe"):
        assert page.locator(f".talk {tag}, .outline {tag}").count() == 0
    assert "taken" not in page.title()


def test_a_click_on_a_cell_opens_its_sample_and_its_rollouts(address: str, page: Page) -> None:
    page.goto(f"{address}/samples?run=job")
    settled(page)
    plane = page.locator(".js-plotly-plot .nsewdrag").first
    box = plane.bounding_box()
    assert box is not None
    # two samples by two steps: lower left is sample b (the higher mean) at step 0
    page.mouse.move(box["x"] + box["width"] / 4, box["y"] + 3 * box["height"] / 4)
    page.wait_for_timeout(500)
    page.mouse.click(box["x"] + box["width"] / 4, box["y"] + 3 * box["height"] / 4)
    page.wait_for_url("**sample=b**")
    expect(page.get_by_role("heading", name="Sample b")).to_be_visible(timeout=WAIT_MS)
    expect(page.get_by_text("job: 2 attempts, mean reward 0.750")).to_be_visible()
    page.reload()
    expect(page.get_by_role("heading", name="Sample b")).to_be_visible(timeout=WAIT_MS)


def test_downloads_hold_the_whole(traces: Path, address: str, page: Page, tmp_path: Path) -> None:
    page.goto(f"{address}/trajectory?rollout={id_of(traces, '0-long')}")
    settled(page)
    with page.expect_download() as waiting:
        page.get_by_role("button", name="This rollout as JSON").click()
    waiting.value.save_as(tmp_path / "rollout.json")
    held = json.loads((tmp_path / "rollout.json").read_text())
    assert (len(held["messages"]), len(held["tool_calls"]), held["rollout"]["native_id"]) == (200, 100, "0-long")

    page.goto(f"{address}/export?run=job")
    settled(page)
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Parquet", exact=False).first.click()
    waiting.value.save_as(tmp_path / "curve.parquet")
    assert pd.read_parquet(tmp_path / "curve.parquet")["reward_mean"].tolist() == [0.5, 0.75]
