"""What readers really do, in a real browser on the sample data: read, filter, share, select, open, download."""

import io
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pandas as pd
import pytest
from playwright.sync_api import Browser, Page, TimeoutError, expect

from dashboard.sample import sample_data
from ingest.runner import Request, ingest
from ingest.store import Store
from queries.compare import compare
from queries.connection import open_store
from queries.curves import reward_curve
from queries.filters import Filters
from tests.e2e.conftest import WAIT_MS, serve, settled

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("journeys")]

ARMS = "baseline=finqa-baseline&candidate=finqa-tuned"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("sample")
    ingest(Store(root), Request([sample_data()]))
    return root


@pytest.fixture(scope="module")
def sample(store: Path) -> Iterator[str]:
    """Address of a dashboard over the sample data."""
    yield from serve(store)


def test_the_curve_is_read_filtered_and_shared(sample: str, page: Page, browser: Browser, store: Path) -> None:
    frame = reward_curve(open_store(store), Filters(run_ids=("finqa-rft",), splits=("valid",)))
    page.goto(f"{sample}/reward_curves")
    settled(page)
    page.get_by_test_id("stSidebar").get_by_text("Filters", exact=True).click()
    page.get_by_test_id("stMultiSelect").first.locator("input").click()
    page.get_by_role("option", name="finqa-rft").click()
    page.keyboard.press("Escape")
    page.wait_for_url(re.compile(r"run=finqa-rft"))
    settled(page)
    said = re.compile(r"finqa-rft: validation reward went from (0\.\d+) at step 0 to (0\.\d+) at step 50")
    expect(page.get_by_text(said)).to_be_visible(timeout=WAIT_MS)
    words = said.search(page.get_by_text(said).inner_text().replace("\u2060", ""))
    assert words is not None
    # A mean of 0.6565 may be rounded either way: the last bit of a sum depends on the order of the threads.
    for shown, asked in zip(words.groups(), frame["reward_mean"].iloc[[0, -1]], strict=True):
        assert float(shown) == pytest.approx(asked, abs=0.000_51)
    context = browser.new_context(viewport={"width": 1440, "height": 1000})
    fresh = context.new_page()
    fresh.goto(page.url)
    expect(fresh.get_by_text(said)).to_be_visible(timeout=WAIT_MS)
    expect(fresh).to_have_title("Reward curves · finqa-rft · Rollout Observatory")
    context.close()


def test_a_point_of_the_scatter_leads_to_a_trajectory(sample: str, page: Page) -> None:
    page.goto(f"{sample}/compare?{ARMS}")
    settled(page)
    expect(page.get_by_text(re.compile(r"finqa-tuned against finqa-baseline: reward \+0\.13"))).to_be_visible()
    point = page.locator(".stPlotlyChart .scatterlayer .point").first
    point.scroll_into_view_if_needed()
    box = point.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    heading = page.get_by_text(re.compile(r"Rollouts of sample valid-\d+"))
    expect(heading).to_be_visible(timeout=WAIT_MS)
    settled(page)
    picked = heading.inner_text()
    assert "pick=compare_scatter." in page.url
    grid = page.get_by_test_id("stDataFrame").first
    grid.scroll_into_view_if_needed()
    grid.click(position={"x": 17, "y": 52})  # it is a canvas: this is the box before its first row
    page.get_by_role("link", name=re.compile(r"Open rollout \w+")).click()
    expect(page.get_by_role("heading", name="Trajectory")).to_be_visible(timeout=WAIT_MS)
    settled(page)
    expect(page.get_by_text(re.compile("sample valid-"))).to_be_visible()
    page.go_back()
    expect(page.get_by_role("heading", name="Baseline vs fine-tuned")).to_be_visible(timeout=WAIT_MS)
    expect(heading).to_have_text(picked, timeout=WAIT_MS)


def test_a_slice_opens_the_rollouts_of_its_samples(sample: str, page: Page) -> None:
    page.goto(f"{sample}/compare?{ARMS}")
    settled(page)
    expect(page.get_by_text(re.compile(r"higher reward: this is shown, both at once\."))).to_be_visible()
    page.get_by_text("Where it differs: by environment, tag, difficulty and cluster", exact=True).click()
    plot = page.get_by_test_id("stExpander").filter(has_text="Worst slice of").locator(".stPlotlyChart")
    point = plot.locator(".scatterlayer .point").first
    heading = page.get_by_text(re.compile(r"Rollouts of \d+ samples"))
    for _ in range(20):  # a plot that was folded is drawn again when it opens: clicks before that are lost
        point.scroll_into_view_if_needed()
        page.wait_for_timeout(500)
        box = point.bounding_box()
        assert box is not None
        page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        with suppress(TimeoutError):
            heading.wait_for(timeout=3_000)
            break
    expect(heading).to_be_visible(timeout=WAIT_MS)
    assert "pick=compare_slices." in page.url


def test_a_link_opens_with_the_cell_that_was_selected(sample: str, page: Page, browser: Browser) -> None:
    page.goto(f"{sample}/repeated_calls?run=finqa-baseline")
    settled(page)
    page.get_by_text("Which tool follows which", exact=True).click()
    plot = page.locator(".stPlotlyChart", has=page.locator(".heatmaplayer .hm"))
    plot.scroll_into_view_if_needed()
    box = plot.locator(".nsewdrag").bounding_box()
    assert box is not None
    place = box["x"] + 3 * box["width"] / 8, box["y"] + 3 * box["height"] / 8  # four by four: cat after search
    page.mouse.move(*place)
    page.wait_for_timeout(500)
    page.mouse.click(*place)
    said = re.compile(r"252 rollouts with a call of cat right after search; listed are 1 to 50\.")
    expect(page.get_by_text(said)).to_be_visible(timeout=WAIT_MS)
    context = browser.new_context(viewport={"width": 1440, "height": 1000})
    fresh = context.new_page()
    fresh.goto(page.url)
    expect(fresh.get_by_text(said)).to_be_attached(timeout=WAIT_MS)
    context.close()


def test_a_downloaded_table_holds_the_numbers_of_the_question(sample: str, page: Page, store: Path) -> None:
    page.goto(f"{sample}/compare?{ARMS}")
    settled(page)
    page.get_by_text("Paired difference of every measure", exact=True).click()
    table = page.get_by_test_id("stExpander").filter(has_text="Paired difference of every measure")
    with page.expect_download() as waiting:
        table.get_by_role("button", name="Parquet").click()
    got = pd.read_parquet(io.BytesIO(Path(waiting.value.path()).read_bytes()))
    asked = compare(open_store(store), baseline="finqa-baseline", candidate="finqa-tuned")
    assert got["measure"].tolist() == asked["measure"].tolist()
    for name in ("num_paired", "baseline_mean", "candidate_mean", "delta_mean", "ci_low", "ci_high"):
        column = next(each for each in got.columns if each.split(" (")[0].split(",")[0] == name)
        pd.testing.assert_series_equal(got[column], asked[name], check_names=False, check_dtype=False)


def test_the_sample_store_is_read_with_one_click(tmp_path: Path, page: Page) -> None:
    for address in serve(tmp_path / "empty"):
        page.goto(address)
        page.get_by_role("button", name=re.compile("sample data", re.I)).click()
        expect(page.get_by_text(re.compile("3 runs"))).to_be_visible(timeout=2 * WAIT_MS)
