"""Every page opens in a real browser, filters survive what readers do, and hostile names stay text."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from dashboard.site import PAGES
from tests.e2e.conftest import HOSTILE, WAIT_MS, serve, settled

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("smoke")]


@pytest.mark.parametrize("each", PAGES, ids=lambda each: each.title)
def test_the_page_opens_without_an_error(dashboard: str, page: Page, each: object) -> None:
    path = "" if each.default else each.file.removesuffix(".py")  # type: ignore[attr-defined]  # every page has a file
    page.goto(f"{dashboard}/{path}?run=job")
    settled(page)
    expect(page).to_have_title(re.compile(r"Rollout Observatory$"))


def test_filters_survive_pages_back_and_a_fresh_browser(dashboard: str, page: Page, browser: Browser) -> None:
    page.goto(f"{dashboard}/?run=job&split=valid&from=5")
    settled(page)
    said = page.get_by_test_id("stSidebar").get_by_text("job · valid · from step 5")
    expect(said).to_be_visible()
    expect(page.get_by_test_id("stSidebar").get_by_text("12 of 54 rollouts")).to_be_visible()
    page.get_by_role("link", name="Reward curves").click()
    page.wait_for_url(re.compile(r"/\w+\?.*run=job"))
    settled(page)
    expect(said).to_be_visible()
    page.go_back()
    settled(page)
    expect(page).to_have_title("Runs · job · Rollout Observatory")
    expect(said).to_be_visible()
    page.get_by_role("button", name="Copy link").click()
    link = page.get_by_test_id("stPopoverBody").get_by_test_id("stCode").inner_text().strip()
    assert link.endswith("run=job&split=valid&from=5&snapshot=0") or "snapshot=0" in link
    fresh = browser.new_page()
    fresh.goto(link)
    fresh.wait_for_selector("h1")
    expect(fresh.get_by_test_id("stSidebar").get_by_text("job · valid · from step 5")).to_be_visible(timeout=WAIT_MS)
    expect(fresh.get_by_text("(pinned)")).to_be_visible()
    fresh.close()


def test_hostile_names_are_text_and_call_nobody(dashboard: str, page: Page) -> None:
    page.goto(dashboard)
    settled(page)
    page.get_by_text("Filters", exact=True).click()
    page.get_by_test_id("stMultiSelect").first.locator("input").click()
    expect(page.get_by_role("option")).to_have_count(len(HOSTILE) + 2 + 1)  # and "select all"
    assert page.locator(".stMain img").count() == 0


def test_it_works_under_a_base_path(small_store: Path, page: Page) -> None:
    for address in serve(small_store, "--server.baseUrlPath=observatory"):
        page.goto(f"{address}/?run=job")
        settled(page)
        page.get_by_role("link", name="Reward curves").click()
        page.wait_for_url(re.compile(r"/observatory/\w+\?.*run=job"))
        settled(page)


def test_a_case_study_is_read_with_one_click_and_found_again(tmp_path: Path, page: Page) -> None:
    for address in serve(tmp_path):
        page.goto(address)
        settled(page)
        expect(page.get_by_role("heading", name="Nothing has been read yet")).to_be_visible()
        page.get_by_text("Published case studies, as synthetic data").click()
        page.locator(".st-key-case_study_slides").get_by_role("button", name="Read it").click()
        expect(page.get_by_role("heading", name="Runs")).to_be_visible(timeout=2 * WAIT_MS)
        settled(page)
        expect(page.get_by_text(re.compile(r"^3 runs, 1.340 rollouts\."))).to_be_visible()
        page.get_by_text("Published case studies, as synthetic data").click()
        page.locator(".st-key-case_study_slides").get_by_role("link", name="In this store: 3 runs").click()
        page.wait_for_url(re.compile(r"run=slides-baseline&run=slides-rft&run=slides-tuned"))
        settled(page)
