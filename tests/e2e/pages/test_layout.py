"""What is where on the pages, in a real browser: rows that stay in one line, columns that have their words whole, and edges."""

import pytest
from playwright.sync_api import Browser, Locator, ViewportSize, expect

from tests.browsing import DESKTOP, FLAGS, HEIGHTS, PHONE, Visit, chromium, visiting
from tests.example_run import Example
from tests.layout import layout_faults
from tests.page_list import DEPLOYMENT, pages

SHEET: ViewportSize = {"width": 688, "height": 1000}
"""CSS pixels between the margins of A4."""

_LETTERS = """() => [...document.querySelectorAll('.chart text')].map((one) => parseFloat(getComputedStyle(one).fontSize))"""

_TOPS = "(ones) => [...new Set(ones.map((one) => Math.round(one.getBoundingClientRect().top)))]"
_CLIPPED = """(ones) => ones.filter((one) => one.scrollHeight > one.clientHeight + 1 || one.scrollWidth > one.clientWidth + 1)
    .map((one) => one.textContent)"""
_LINES = "(ones) => ones.map((one) => one.getBoundingClientRect().height / parseFloat(getComputedStyle(one).fontSize))"


def max_lines(ones: Locator) -> float:
    """Height of the tallest in ems of its own letters: below 1.9 it is one line."""
    heights: list[float] = ones.evaluate_all(_LINES)
    return max(heights)


@pytest.mark.parametrize("width", [DESKTOP, PHONE])
def test_the_state_of_every_figure_stays_in_one_line(browser: Browser, example: Example, width: int) -> None:
    with visiting(browser, example.base_url, width=width) as visit:
        visit.log_in(example.key)
        page = visit.go(f"{DEPLOYMENT}/explore")
        table = page.locator("section[aria-labelledby=evidence] table")

        assert table.locator(".badge").count() > 10
        assert max_lines(table.locator(".badge")) < 1.9
        assert layout_faults(page) == []


def test_the_list_of_checks_says_whole_who_asked(visit: Visit) -> None:
    asked = visit.go(f"{DEPLOYMENT}/checks").locator("td[data-label='Asked for by'] .clamp")

    assert asked.count() > 5
    assert asked.evaluate_all(_CLIPPED) == []


def test_the_parts_of_configure_are_in_one_row(visit: Visit) -> None:
    tabs = visit.go(f"{DEPLOYMENT}/configure/training").get_by_role("navigation", name="Parts of Configure").get_by_role("link")

    assert tabs.count() > 5
    assert len(tabs.evaluate_all(_TOPS)) == 1


def test_tabs_are_one_row_on_a_phone_that_scrolls_from_edge_to_edge(browser: Browser, example: Example) -> None:
    with visiting(browser, example.base_url, width=PHONE) as visit:
        visit.log_in(example.key)
        bar = visit.go(f"{DEPLOYMENT}/configure/training").locator(".tabs.many")
        frame = bar.bounding_box()
        assert frame is not None

        assert len(bar.locator("li").evaluate_all(_TOPS)) == 1
        assert bar.evaluate("(one) => one.scrollWidth > one.clientWidth && getComputedStyle(one).overflowX") == "auto"
        assert round(frame["x"] + frame["width"]) <= PHONE


def test_the_open_tab_of_each_row_is_in_sight_on_a_phone(browser: Browser, example: Example) -> None:
    with visiting(browser, example.base_url, width=PHONE) as visit:
        visit.log_in(example.key)
        tabs = visit.go(f"{DEPLOYMENT}/configure/mitigation").locator(".tabs [aria-current]")

        expect(tabs).to_have_count(2)
        for tab in tabs.all():
            expect(tab).to_be_in_viewport(ratio=0.99)


def test_pictures_of_groups_are_equally_wide_on_a_phone_however_many_records_there_are(browser: Browser, example: Example) -> None:
    with visiting(browser, example.base_url, width=PHONE) as visit:
        visit.log_in(example.key)
        page = visit.go(DEPLOYMENT)
        numbers = page.locator("table.forest td.number")
        numbers.nth(1).evaluate("(one) => { one.textContent = '1,234,567\u00a0/ 12,345,678'; }")

        assert numbers.count() > 2
        widths = "(all) => [...new Set(all.map((one) => Math.round(one.getBoundingClientRect().width)))]"
        assert len(page.locator("svg.forest-row").evaluate_all(widths)) == 1
        assert layout_faults(page) == []


def test_what_is_said_of_a_part_of_configure_is_clear_of_the_line_below_it(browser: Browser, example: Example) -> None:
    with visiting(browser, example.base_url, width=PHONE) as visit:
        visit.log_in(example.key)
        lines = visit.go(f"{DEPLOYMENT}/configure").locator(".parts li")

        gaps = lines.evaluate_all(
            "(all) => all.map((one) => one.getBoundingClientRect().bottom - one.querySelector('.hint').getBoundingClientRect().bottom)"
        )
        assert len(gaps) > 5
        assert min(gaps) >= 4


def test_a_sheet_has_every_column_of_the_lists_and_no_button(visit: Visit, example: Example) -> None:
    known = pages(example.client)
    wrong: dict[str, list[str]] = {}
    for name in ("checks", "transactions-of-check", "alert", "fairness"):
        page = visit.go(known[name])
        page.emulate_media(media="print")
        page.set_viewport_size(SHEET)
        found = [*(["is wider than the sheet"] if visit.overflows() else []), *layout_faults(page)]
        found += page.locator("main :is(a.button, input):visible").evaluate_all("(ones) => ones.map((one) => one.outerHTML)")
        wrong |= {name: found} if found else {}
        page.emulate_media(media="screen")

    assert wrong == {}


@pytest.mark.parametrize("width", [DESKTOP, PHONE])
def test_the_letters_of_a_chart_keep_their_size_on_a_phone_and_on_a_sheet(browser: Browser, example: Example, width: int) -> None:
    with visiting(browser, example.base_url, width=width) as visit:
        visit.log_in(example.key)
        page = visit.go(pages(example.client)["check-as_logged"])
        shown = page.evaluate(_LETTERS)
        page.emulate_media(media="print")
        page.set_viewport_size(SHEET)
        printed = page.evaluate(_LETTERS)

    assert shown
    assert min(shown) == 12
    assert printed == shown


def test_the_figures_of_a_group_keep_their_margin_next_to_a_scrollbar(browser: Browser, example: Example) -> None:
    """Playwright hides scrollbars; in a window as narrow as this one the drawer began to the left of the page."""
    other = browser.browser_type.launch(executable_path=chromium(), args=list(FLAGS), ignore_default_args=["--hide-scrollbars"])
    try:
        with visiting(other, example.base_url, width=PHONE) as visit:
            visit.log_in(example.key)
            drawer = visit.go(f"{DEPLOYMENT}?attribute=sex&group=female#drawer").locator("dialog.drawer").bounding_box()
    finally:
        other.close()

    assert drawer is not None
    assert drawer["x"] >= 0


def test_the_head_of_the_overview_and_the_filters_of_records_are_short_on_a_phone(browser: Browser, example: Example) -> None:
    with visiting(browser, example.base_url, width=PHONE) as visit:
        visit.log_in(example.key)
        heading = visit.go("/").locator(".inbox .heading")
        title, register = heading.locator("h1").bounding_box(), heading.get_by_role("link", name="Register").bounding_box()
        filters = visit.go(f"{DEPLOYMENT}/transactions").locator("main form.tools", has=visit.page.locator("#among"))

        assert title is not None
        assert register is not None
        assert register["y"] < title["y"] + title["height"]
        assert filters.locator("select").count() == 5
        assert len(filters.locator("select").evaluate_all(_TOPS)) == 3


def test_small_phones_and_enlarged_pages_have_no_faults_and_on_a_phone_the_links_of_all_pages_are_in_one_row(
    browser: Browser, example: Example
) -> None:
    with visiting(browser, example.base_url, width=PHONE) as visit:
        visit.log_in(example.key)
        rows = visit.go("/").locator(".top nav a").evaluate_all(_TOPS)
        found = []
        for width in (360, 640):
            visit.page.set_viewport_size({"width": width, "height": HEIGHTS[PHONE]})
            for path in ("/", DEPLOYMENT):
                found += [f"{path} at {width}: {fault}" for fault in layout_faults(visit.go(path))]

        assert len(rows) == 1
        assert found == []
