"""What axe-core cannot see: names of pages, the keyboard, strange windows, paper, and what is said when something fails."""

import re

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.browsing import DESKTOP, HEIGHTS, Scheme, Visit, visiting
from tests.example_run import Example
from tests.examples import QUICK
from tests.page_list import DEPLOYMENT, pages

NARROW = 320
PAPER = {"width": 794, "height": 1123}
SPACED = """* { line-height: 1.5 !important; letter-spacing: .12em !important; word-spacing: .16em !important }
    p { margin-bottom: 2em !important }"""
MOST_STOPS = 400

TABLE_WITH_PALE_CELLS = """<html lang="en"><title>A table</title><main><h1>A table</h1><style>
    td { color: black } .hidden { display: none } .pale { color: #bbb } .grey { background: #555 }</style><table>
    <tr class="hidden"><td class="pale">hidden</td></tr><tr><td class="pale">x</td></tr>
    <tr><td>first</td></tr><tr><td>second</td></tr><tr><td>third</td></tr>
    <tr class="grey"><td id="on-grey">fourth</td></tr><tr class="grey"><td>fifth</td></tr>
    <tr><td class="pale" id="pale">sixth</td></tr><tr><td class="pale">seventh</td></tr></table></main>"""

_ADD_STYLE = "(text) => { const sheet = new CSSStyleSheet(); sheet.replaceSync(text); document.adoptedStyleSheets = [sheet]; }"
_FOCUSED = """() => {
    const focused = document.activeElement, style = getComputedStyle(focused);
    return { body: focused === document.body, outline: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2,
             name: `${focused.tagName} ${focused.id || focused.innerText || focused.name || ""}`.slice(0, 60) };
}"""


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.nightly)])
def test_the_tab_key_reaches_the_end_of_a_page_and_every_stop_is_seen(browser: Browser, example: Example, scheme: Scheme) -> None:
    unseen = {}
    with visiting(browser, example.base_url, scheme=scheme) as visit:
        visit.log_in(example.key)
        for path in ("/", DEPLOYMENT, "/alerts", "/activity", "/settings", "/glossary"):
            page = visit.go(path)
            unseen[path] = [stop["name"] for stop in _stops(page) if not stop["outline"]]

    assert {path: stops for path, stops in unseen.items() if stops} == {}


def test_a_pale_text_is_found_among_others_of_its_kind(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(QUICK, raising=False)
    with visiting(browser, "http://127.0.0.1") as visit:
        visit.page.set_content(TABLE_WITH_PALE_CELLS)

        each = visit.axe_findings()
        monkeypatch.setenv(QUICK, "1")
        of_each_kind = visit.axe_findings()

    assert [finding.partition(":")[0] for finding in each] == ["color-contrast"]
    assert "#on-grey" in of_each_kind[0]
    assert "#pale" in of_each_kind[0]
    assert len(of_each_kind[0]) < len(each[0])


def test_a_figure_opens_over_the_page_and_closing_it_leads_back_to_its_link(visit: Visit, example: Example) -> None:
    page = visit.go(pages(example.client)["check-as_logged"])
    link = page.locator("a[data-figure]").first
    link.focus()

    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_be_visible()
    within = page.evaluate("() => document.activeElement.closest('dialog') !== null")
    page.keyboard.press("Escape")

    assert within
    expect(dialog).to_be_hidden()
    expect(link).to_be_focused()


@pytest.mark.nightly
def test_wide_letters_in_a_narrow_window_do_not_widen_a_page(browser: Browser, example: Example) -> None:
    context = browser.new_context(viewport={"width": NARROW, "height": 640}, reduced_motion="reduce")
    try:
        visit = _logged_in(context, example)
        wide = []
        for name, path in {**pages(example.client), "glossary": "/glossary"}.items():
            visit.go(path).evaluate(_ADD_STYLE, SPACED)
            wide += [name] if visit.overflows() else []

        assert wide == []
    finally:
        context.close()


def test_with_colours_of_the_readers_own_the_current_page_and_verdicts_still_stand_out(browser: Browser, example: Example) -> None:
    context = browser.new_context(viewport={"width": DESKTOP, "height": HEIGHTS[DESKTOP]}, forced_colors="active")
    try:
        page = _logged_in(context, example).go(DEPLOYMENT)

        current = page.locator(".tabs a[aria-current]").evaluate("(element) => getComputedStyle(element).borderBottomColor")
        other = page.locator(".tabs a:not([aria-current])").first.evaluate("(element) => getComputedStyle(element).borderBottomColor")
        assert current != other
        assert page.locator(".badge").first.evaluate("(element) => getComputedStyle(element).borderTopWidth") == "1px"
    finally:
        context.close()


def test_what_a_dark_page_prints_is_dark_on_white_and_fits_the_paper(browser: Browser, example: Example) -> None:
    with visiting(browser, example.base_url, scheme="dark") as visit:
        visit.log_in(example.key)
        page = visit.go(f"{DEPLOYMENT}/explore?rollup=day")
        page.emulate_media(media="print")
        page.set_viewport_size({"width": PAPER["width"], "height": PAPER["height"]})
        visit.settle()

        colour = page.locator("h1").evaluate("(element) => getComputedStyle(element).color")
        assert max(int(channel) for channel in re.findall(r"\d+", colour)[:3]) < 0x60
        assert page.locator("header.top").is_hidden()
        assert page.locator(".time-frame").first.evaluate("(element) => element.getBoundingClientRect().right") <= PAPER["width"]


def test_what_was_typed_stays_when_the_session_ends_in_the_middle_of_a_form(browser: Browser, example: Example) -> None:
    with visiting(browser, example.base_url) as visit:
        visit.log_in(example.key)
        visit.expected_statuses.add(401)
        page = visit.go("/settings")
        page.get_by_label("Name: what or who uses it").fill("the scoring service")
        page.context.clear_cookies()

        page.get_by_role("button", name="Create the key").click()

        expect(page.get_by_text("you are no longer logged in")).to_be_visible()
        expect(page.get_by_role("link", name="Log in (opens a new tab)")).to_be_visible()
        expect(page.get_by_label("Name: what or who uses it")).to_have_value("the scoring service")


def _logged_in(context: BrowserContext, example: Example) -> Visit:
    visit = Visit(context.new_page(), example.base_url)
    visit.log_in(example.key)
    return visit


def _stops(page: Page) -> list[dict[str, object]]:
    """What the Tab key stops at, until it leaves the page."""
    stops: list[dict[str, object]] = []
    for _ in range(MOST_STOPS):
        page.keyboard.press("Tab")
        stop = page.evaluate(_FOCUSED)
        if stop["body"]:
            return stops
        stops.append(stop)
    raise AssertionError(f"Tab does not leave the page; it is at {stops[-1]}")
