"""Deployments with one, three and 20 groups, of a regression and of several classes, failing, stale and empty, in a real browser."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from app.database.engine import Database
from tests.browsing import DESKTOP, HEIGHTS, PHONE, visiting
from tests.builders.heartbeats import let_a_worker_answer
from tests.builders.page_states import build_states
from tests.firefox import running_firefox
from tests.layout import layout_faults
from tests.service import RunningService, running_service

A4 = "A4"
SHEET = 688
"""CSS pixels between the margins of A4."""

MOST_PAPER = 400_000
"""Max bytes of one deployment's page on paper."""

FIGURES = (".fleet svg.glyph", "svg.forest-row", ".time-plot > svg")
_ARE_NARROW = """(figures) => [...document.querySelectorAll(figures)].some(
    (one) => !one.closest('details.more-panels') && one.getBoundingClientRect().width < 100)"""


@pytest.fixture
def service(browser: Browser, database: Database, tmp_path: Path) -> Iterator[RunningService]:  # noqa: ARG001 - first, lest it is made in vain
    """The service with every deployment of `build_states`."""
    let_a_worker_answer(database)
    build_states(database)
    with running_service(database, tmp_path) as service:
        yield service


@pytest.mark.nightly
def test_every_state_is_accessible_fits_its_window_and_prints(browser: Browser, service: RunningService) -> None:
    ids = [deployment["id"] for deployment in service.client.get("/v1/overview").json()["deployments"]]
    paths = ["/", *(f"/deployments/{id_}" for id_ in ids)]
    with_figures = {f"/deployments/{id_}" for id_ in ids if id_ != "empty"}
    wrong: dict[str, list[str]] = {}
    with (
        visiting(browser, service.base_url) as wide,
        visiting(browser, service.base_url, width=PHONE, scheme="dark") as narrow,
        visiting(browser, service.base_url, scale=2) as large,
        running_firefox(service.base_url) as tab,
    ):
        tab.log_in(service.admin_key)
        for visit in (wide, narrow, large):
            visit.log_in(service.admin_key)
        for path in paths:
            for visit in (wide, narrow, large):
                visit.go(path)
            tab.go(path)
            found = [f"in Firefox {fault}" for fault in tab.wrong_in_both_schemes()]
            found += wide.axe_findings() + narrow.axe_findings()
            found += [name for name, visit in (("1280", wide), ("390", narrow), ("200 %", large)) if visit.overflows()]
            found += [f"{name}: {fault}" for name, visit in (("1280", wide), ("390", narrow)) for fault in layout_faults(visit.page)]
            paper = wide.page.pdf(format=A4)
            wide.page.set_viewport_size({"width": SHEET, "height": 1000})
            wide.page.emulate_media(media="print")
            found += [f"{figure} is not on paper" for figure in FIGURES if wide.page.evaluate(_ARE_NARROW, figure)]
            found += [f"on paper {fault}" for fault in layout_faults(wide.page)]
            wide.page.emulate_media(media="screen")
            wide.page.set_viewport_size({"width": DESKTOP, "height": HEIGHTS[DESKTOP]})
            if narrow.page.locator("table.forest .ticks:visible").count() != (path in with_figures):
                found.append("the scale is not on a phone")
            found += [] if paper.startswith(b"%PDF") and len(paper) < MOST_PAPER else ["paper"]
            wrong |= {path: found} if found else {}
        assert wide.faults + narrow.faults + large.faults == []

    assert len(ids) == 9
    assert wrong == {}
