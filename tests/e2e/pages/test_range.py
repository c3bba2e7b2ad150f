"""The range bar and the panels over time in a browser: with mouse, keyboard, and without a script."""

import re
from collections.abc import Iterator
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browsing import PHONE, Visit, visiting
from tests.example_run import Example
from tests.page_list import DEPLOYMENT

DAY = f"{DEPLOYMENT}/explore?range=day"


@pytest.fixture
def panels(visit: Visit) -> Locator:
    """The panels of the last day, in sight."""
    visit.go(DAY)
    place = visit.page.locator(".timeline")
    place.scroll_into_view_if_needed()
    return place


def query(page: Page) -> dict[str, list[str]]:
    """The query of the page's address."""
    return parse_qs(urlsplit(page.url).query)


def drag(page: Page, plot: Locator, first: float, last: float) -> None:
    """Drags over the plot, between two shares of its width, without letting go."""
    box = plot.bounding_box()
    assert box is not None
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + first * box["width"], y)
    page.mouse.down()
    page.mouse.move(box["x"] + (first + last) / 2 * box["width"], y)
    page.mouse.move(box["x"] + last * box["width"], y)


def test_the_crosshair_is_on_every_panel_and_words_the_nearest_bar(visit: Visit, panels: Locator) -> None:
    plot = panels.locator(".time-plot").first
    box = plot.bounding_box()
    assert box is not None
    visit.page.mouse.move(box["x"] + box["width"] - 2, box["y"] + 10)

    hairs = panels.locator(".crosshair:visible")
    expect(hairs).to_have_count(panels.locator(".time-plot:visible").count())
    assert len({hair.evaluate("one => one.style.left") for hair in hairs.all()}) == 1
    expect(visit.page.locator(".time-tip")).to_contain_text("records")


def test_a_click_opens_the_check_of_the_nearest_bar_and_keeps_the_range(visit: Visit, panels: Locator) -> None:
    plot = panels.locator(".time-plot").first
    plot.click(position={"x": 900, "y": 20})

    visit.page.wait_for_url(re.compile(rf"{DEPLOYMENT}/checks/[0-9a-f-]{{36}}\?range=day$"))
    tabs = visit.page.get_by_role("navigation", name="Of this deployment")
    expect(tabs.get_by_role("link", name="Records")).to_have_attribute("href", f"{DEPLOYMENT}/transactions?range=day")


def test_a_drag_chooses_the_time_that_it_passed_over(visit: Visit, panels: Locator) -> None:
    drag(visit.page, panels.locator(".time-plot").first, 0.5, 0.9)
    expect(panels.locator(".brush")).to_be_visible()
    expect(visit.page.locator(".time-tip")).to_be_hidden()  # it would word the bar where the drag began
    visit.page.mouse.up()
    visit.page.wait_for_url(re.compile("from="))

    chosen = query(visit.page)
    assert set(chosen) == {"from", "to"}
    assert chosen["from"] < chosen["to"]
    expect(visit.page.locator(".range-custom > summary")).to_contain_text("–")


def test_the_keyboard_reads_bars_marks_a_time_and_opens_a_check(visit: Visit, panels: Locator) -> None:
    said, tip = visit.page.locator("#timeline-said"), visit.page.locator(".time-tip")
    panels.focus()
    visit.page.keyboard.press("ArrowLeft")
    expect(said).to_contain_text("records")
    first = said.inner_text()
    visit.page.keyboard.press("ArrowLeft")
    expect(said).not_to_have_text(first)
    visit.page.keyboard.press("ArrowDown")
    visit.page.keyboard.press("Shift+ArrowLeft")
    expect(panels.locator(".brush")).to_be_visible()
    visit.page.keyboard.press("Escape")
    expect(panels.locator(".brush")).to_be_hidden()
    expect(tip).to_be_hidden()
    visit.page.keyboard.press("End")
    visit.page.keyboard.press("Shift+Home")
    visit.page.keyboard.press("Enter")
    visit.page.wait_for_url(re.compile("from="))
    visit.page.locator(".timeline").focus()
    visit.page.keyboard.press("End")
    visit.page.keyboard.press("Enter")

    visit.page.wait_for_url(re.compile("/checks/[0-9a-f-]{36}"))


def test_the_page_has_no_finding_and_no_overflow(browser: Browser, example: Example, visit: Visit, panels: Locator) -> None:
    panels.locator(".time-plot").first.hover()
    wide = visit.axe_findings()
    with visiting(browser, example.base_url, width=PHONE, scheme="dark") as narrow:
        narrow.log_in(example.key)
        narrow.go(f"{DAY}&compare=period")
        found = (narrow.axe_findings(), narrow.overflows(), narrow.faults)

    assert (wide, found) == ([], ([], False, []))


def test_the_readers_zone_is_chosen_on_one_page_and_kept_for_all(browser: Browser, example: Example) -> None:
    context = browser.new_context(timezone_id="Europe/Berlin")
    context.set_default_timeout(0)
    visit = Visit(context.new_page(), example.base_url)
    visit.log_in(example.key)
    page = visit.go("/alerts")
    page.locator(".clock > summary").click()
    with page.expect_navigation():
        page.get_by_role("button", name="Europe/Berlin").click()
    visit.settle()

    assert query(page) == {}
    for path in ("/alerts", DAY, "/activity"):
        expect(visit.go(path).locator("main").get_by_text(re.compile(r"[\d-]+ [\d:]+ UTC\+0[12]:00")).first).to_be_attached()
    assert visit.faults == []
    context.close()


@pytest.fixture
def plain(browser: Browser, example: Example) -> Iterator[Visit]:
    """A tab without scripts, logged in."""
    context = browser.new_context(java_script_enabled=False)
    context.set_default_timeout(0)
    visit = Visit(context.new_page(), example.base_url)
    visit.page.goto(f"{example.base_url}/login")
    visit.page.get_by_label("API key").fill(example.key)
    visit.page.get_by_role("button", name="Log in with the key").click()
    yield visit
    context.close()


def test_without_a_script_the_range_is_chosen_by_links_and_a_form(plain: Visit, example: Example) -> None:
    page = plain.page
    page.goto(f"{example.base_url}{DEPLOYMENT}/explore")
    page.get_by_role("link", name="24 h").click()
    expect(page.locator(".time-panel svg[role=img]").first).to_be_visible()
    page.get_by_role("link", name="the period before").click()
    assert query(page) == {"range": ["day"], "compare": ["period"]}
    page.locator(".clock > summary").click()
    page.locator("#clock").fill("Europe/Berlin")
    page.locator(".clock").get_by_role("button", name="Show").click()
    page.locator(".range-custom > summary").click()
    page.locator(".range-custom").get_by_role("button", name="Show").click()
    page.get_by_role("link", name="Checks", exact=True).click()

    assert set(query(page)) == {"from", "to", "compare", "zone"}
    assert page.locator("#clock").input_value() == "Europe/Berlin"
