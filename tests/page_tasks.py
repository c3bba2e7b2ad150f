"""Five questions that people bring to the pages, answered by clicking.

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

    def open_deployment(self) -> None:
        """Clicks the first deployment of the overview, which is the most urgent one."""
        self.click(self.page.locator(".fleet tbody tr").first.get_by_role("link").first)


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
    """Opens the worst deployment and reads its headline."""
    walk.open_deployment()
    said = walk.page.locator("#forest-headline").inner_text()
    assert re.search(r"since \d{4}-\d\d-\d\d", said), said
    return said


def find_why(walk: Walk) -> str:
    """Opens the worst group: the drawer says what the counterfactual figure says about the cause, and the counts."""
    walk.open_deployment()
    walk.click(walk.page.locator("table.forest a[data-row]").nth(1))
    drawer = walk.page.get_by_role("dialog")
    expect(drawer).to_be_visible()
    said = " ".join(drawer.locator("> p[data-statement]").first.inner_text().split())
    assert said
    return said


def find_records(walk: Walk) -> str:
    """Goes on from the drawer to the records that another group would turn favourable."""
    find_why(walk)
    walk.click(walk.page.get_by_role("dialog").get_by_role("link", name="Records that another group would turn favourable"))
    rows = walk.page.locator("main table tbody tr")
    expect(rows.first).to_be_visible()
    return f"{rows.count()} records on the first page; the first: {' '.join(rows.first.inner_text().split())[:80]}"


def hand_over(walk: Walk) -> str:
    """Opens the reports of the deployment, and downloads that of the newest check."""
    walk.open_deployment()
    walk.click(walk.page.locator(".deployment-header").get_by_role("link", name="Report", exact=True))
    with walk.page.expect_download() as started:
        walk.click(walk.page.get_by_role("link", name="PDF of The newest check"))
    path = started.value.path()
    assert path.read_bytes().startswith(b"%PDF")
    return f"{started.value.suggested_filename}, {path.stat().st_size:,} bytes"


TASKS = (
    PageTask("Which model is worst, and is that sure?", 0, find_worst),
    PageTask("Since when?", 1, find_since_when),
    PageTask("Why?", 2, find_why),
    PageTask("Which records?", 3, find_records),
    PageTask("Hand it to the regulator", 3, hand_over),
)
