"""Every page of the worked example, opened once in each kind of window, and what must hold of all of them."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise

import pytest
from playwright.sync_api import Browser

from tests.browsing import DESKTOP, PHONE, WINDOWS, Scheme, Visit, visiting
from tests.example_run import Example
from tests.layout import layout_faults
from tests.page_list import pages

LOGIN = "login"

SHOWN_THOUGH_HIDDEN = (
    "() => [...document.querySelectorAll('[hidden]')].filter((one) => getComputedStyle(one).display !== 'none').map((one) => one.outerHTML)"
)
"""A style that sets how an element is displayed wins over the attribute `hidden`, unless the style sheet says otherwise."""

_WRAPPED = """(ones) => ones.filter((one) => one.getBoundingClientRect().height > 1.9 * parseFloat(getComputedStyle(one).fontSize)
  || one.scrollWidth > one.clientWidth + 1).map((one) => one.textContent)"""
_HYPHENS = """() => {
  const found = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const { data, parentElement } = walker.currentNode;
    if (/(^|[\\s(:,→])-\\d/.test(data) && !parentElement.closest("code, pre, script, style, textarea")) found.push(data.trim());
  }
  return found;
}"""
"""Texts of the page, also of what opens on it, that write a negative number with a hyphen; not those of programs."""
_NARROWEST = """(tables) => tables.map((table) => {
  table.style.width = "1px";
  for (const cell of table.querySelectorAll("td[data-label=Records]"))
    cell.innerHTML += '<br><span class="hint">1,213 of them from earlier hours</span>';
  return table.offsetWidth;
})"""
_HEADINGS = (
    "() => [...document.querySelectorAll('main :is(h1,h2,h3,h4)')].filter((h) => h.checkVisibility()).map((h) => Number(h.tagName[1]))"
)


@dataclass(frozen=True)
class PageFacts:
    """Facts about a page as it was opened in one kind of window."""

    title: str
    heading_levels: list[int]
    wrapped_badges: list[str]
    hyphens: list[str]
    explained_words: set[str]
    """Their anchors in the glossary."""
    wrong: list[str]


@dataclass(frozen=True)
class Walks:
    """The facts of all pages by kind of window. Each walk takes a quarter of a minute, so the tests share it."""

    browser: Browser
    example: Example
    known: dict[tuple[int, Scheme], Mapping[str, PageFacts]] = field(default_factory=dict)

    def facts(self, width: int, scheme: Scheme = "light") -> Mapping[str, PageFacts]:
        """Returns the facts by the page's name, the form to log in first."""
        if (width, scheme) not in self.known:
            with visiting(self.browser, self.example.base_url, width=width, scheme=scheme) as visit:
                visit.go("/login")
                found = {LOGIN: _look(visit)}
                visit.log_in(self.example.key)
                for name, path in pages(self.example.client).items():
                    visit.go(path)
                    found[name] = _look(visit)
            self.known[width, scheme] = found
        return self.known[width, scheme]


@pytest.fixture(scope="module")
def walks(browser: Browser, request: pytest.FixtureRequest) -> Walks:
    """Walks through the example; the browser first, so that no example is run for nothing."""
    return Walks(browser, request.getfixturevalue("shared_example"))


@pytest.mark.parametrize(("width", "scheme"), WINDOWS)
def test_every_page_opens_without_a_fault_is_accessible_and_fits_its_window(walks: Walks, width: int, scheme: Scheme) -> None:
    facts = walks.facts(width, scheme)

    assert {name: page.wrong for name, page in facts.items() if page.wrong} == {}


@pytest.mark.parametrize(("width", "scheme"), [(DESKTOP, "light"), (PHONE, "dark")])
def test_no_badge_wraps(walks: Walks, width: int, scheme: Scheme) -> None:
    facts = walks.facts(width, scheme)

    assert {name: page.wrapped_badges for name, page in facts.items() if page.wrapped_badges} == {}


def test_no_negative_number_has_a_hyphen(walks: Walks) -> None:
    facts = walks.facts(DESKTOP)

    # The documentation shows requests and answers, in which a hyphen is the sign.
    assert {name: page.hyphens for name, page in facts.items() if page.hyphens and not name.startswith("help")} == {}


def test_every_page_has_a_title_of_its_own_and_headings_in_order(walks: Walks) -> None:
    titles, skipped = Counter[str](), {}
    for name, page in walks.facts(DESKTOP).items():
        titles[page.title] += not name.startswith(("fairness-", "transactions-"))  # the same page, another range
        skipped[name] = [later for earlier, later in pairwise(page.heading_levels) if later > earlier + 1]

    assert [title for title, many in titles.items() if many > 1] == []
    assert {name: levels for name, levels in skipped.items() if levels} == {}


def test_a_table_of_figures_has_room_for_longer_numbers(walks: Walks, visit: Visit) -> None:
    """A check is topped up and a figure has a third digit only at some hours of the day."""
    visit.go(pages(walks.example.client)["check-openscale"])

    assert max(visit.page.locator(".scroll > table.wrapped").evaluate_all(_NARROWEST)) <= 0.9 * DESKTOP


def test_every_word_that_is_explained_is_in_the_glossary(walks: Walks, visit: Visit) -> None:
    wanted = {word for page in walks.facts(DESKTOP).values() for word in page.explained_words}
    known = set(visit.go("/glossary").locator("[id]").evaluate_all("(ones) => ones.map((one) => one.id)"))

    assert wanted
    assert wanted <= known


def _look(visit: Visit) -> PageFacts:
    """Returns the facts of the page that is open."""
    page = visit.page
    return PageFacts(
        title=page.title(),
        heading_levels=page.evaluate(_HEADINGS),
        wrapped_badges=page.locator(".badge").evaluate_all(_WRAPPED),
        hyphens=page.evaluate(_HYPHENS),
        explained_words=set(page.locator(".word-text a").evaluate_all("(links) => links.map((one) => one.hash.slice(1))")),
        wrong=_wrong(visit),
    )


def _wrong(visit: Visit) -> list[str]:
    found = visit.axe_findings()
    found += visit.faults  # after the look at the page, which leaves time for a late one
    visit.faults.clear()
    if visit.page.locator("h1").count() != 1:
        found.append("has not exactly one main heading")
    found += [f"shows what is hidden: {text}" for text in visit.page.evaluate(SHOWN_THOUGH_HIDDEN)]
    found += layout_faults(visit.page)
    return [*found, "is wider than its window"] if visit.overflows() else found
