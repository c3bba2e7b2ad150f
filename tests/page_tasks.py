"""Six questions that people bring to the pages, answered by clicking.

Each begins on the overview, logged in. A click counts; reading, and the address bar, do not.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from playwright.sync_api import Locator, Page, expect

from tests.browsing import Visit

DEPLOYMENT_NAME = "Credit risk"


@dataclass
class Walk:
    """One person's way through the pages: what was clicked so far."""

    visit: Visit
    clicked: list[str] = field(default_factory=list)

    @property
    def page(self) -> Page:
        """The page that is open."""
        return self.visit.page

    def click(self, place: Locator) -> None:
        """Clicks, notes the words that were clicked, and waits until the page that follows has loaded."""
        self.clicked.append(" ".join(place.inner_text().split())[:60])
        place.click()
        self.visit.settle()


@dataclass(frozen=True)
class PageTask:
    """A question, the most clicks that an answer may take, and the walk, which returns the answer as it was read."""

    question: str
    most_clicks: int
    walk: Callable[[Walk], str]


def find_worst(walk: Walk) -> str:
    """Reads the first row: the model, its verdict, the group, the figure with its interval."""
    row = walk.page.locator(".fleet tbody tr").first
    text = " ".join(row.inner_text().split())
    assert DEPLOYMENT_NAME in text
    assert row.locator("td.verdict .badge").inner_text().strip()
    assert re.search(r"\d\.\d+ \d\.\d+ to \d+\.\d+", text), text
    return text


def find_since_when(walk: Walk) -> str:
    """Reads the first row: the day since which all hours together show it."""
    said = walk.page.locator('.fleet tbody td[data-label="Since"]').first.inner_text()
    assert re.search(r"\d+ \w{3}", said), said
    return said


def find_why(walk: Walk) -> str:
    """Opens the worst group, whose drawer has the drivers of its gap."""
    walk.click(walk.page.locator(".fleet tbody tr").first.get_by_role("link", name="Why"))
    drivers = walk.page.get_by_role("dialog").locator("table.drivers tbody tr")
    expect(drivers.first).to_be_in_viewport()
    return " ".join(drivers.first.inner_text().split())


def find_what_to_do(walk: Walk) -> str:
    """Opens the worst group with the steps of the cause of its gap."""
    walk.click(walk.page.locator(".fleet tbody tr").first.get_by_role("link", name="What now"))
    steps = walk.page.get_by_role("dialog").locator(".playbook li")
    expect(steps.first).to_be_visible()
    return " ".join(steps.first.inner_text().split())


def find_records(walk: Walk) -> str:
    """Opens the records of the worst group that have an unfavourable outcome."""
    walk.click(walk.page.locator(".fleet tbody tr").first.get_by_role("link", name="Records"))
    rows = walk.page.locator("main table tbody tr")
    expect(rows.first).to_be_visible()
    return f"{rows.count()} records on the first page; the first: {' '.join(rows.first.inner_text().split())[:80]}"


def hand_over(walk: Walk) -> str:
    """Opens the reports of the deployment, and downloads that of the newest check."""
    walk.click(walk.page.locator(".fleet tbody tr").first.get_by_role("link", name="Report"))
    with walk.page.expect_download() as started:
        walk.click(walk.page.get_by_role("link", name="PDF of The newest check"))
    path = started.value.path()
    assert path.read_bytes().startswith(b"%PDF")
    return f"{started.value.suggested_filename}, {path.stat().st_size:,} bytes"


TASKS = (
    PageTask("Which model is worst, and is that sure?", 0, find_worst),
    PageTask("Since when?", 0, find_since_when),
    PageTask("Why?", 1, find_why),
    PageTask("What now?", 1, find_what_to_do),
    PageTask("Which records?", 1, find_records),
    PageTask("Hand it to the regulator", 2, hand_over),
)
