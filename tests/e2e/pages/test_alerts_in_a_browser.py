"""Alerts are acknowledged, assigned and commented on in a real browser, each test with alerts of its own that no worker resolves."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Route, expect

from app.store.database.engine import Database
from tests.browsing import Visit, visiting
from tests.builders.heartbeats import let_a_worker_answer
from tests.builders.open_alerts import open_alerts
from tests.firefox import firefox, running_firefox
from tests.models.rules import RuleScorer
from tests.models.serving import serve
from tests.service import RunningService, running_service


@pytest.fixture
def service(database: Database, tmp_path: Path) -> Iterator[RunningService]:
    with serve(RuleScorer()) as model, running_service(database, tmp_path) as service:
        open_alerts(database, model.url)
        let_a_worker_answer(database)
        yield service


@pytest.fixture
def visit(browser: Browser, service: RunningService) -> Iterator[Visit]:
    """A person's tab, logged in; at the end nothing may have gone wrong in it."""
    with visiting(browser, service.base_url) as visit:
        visit.log_in(service.admin_key)
        yield visit
        assert visit.faults == []


def test_several_alerts_are_acknowledged_together_assigned_and_commented(visit: Visit, service: RunningService) -> None:
    page = visit.go("/alerts?state=open")
    ticks = page.locator("input[name=alerts]")
    # One tick is for all alerts of one kind about one figure.
    opened = ticks.evaluate_all("(ticks) => ticks.flatMap((tick) => tick.value.split(' '))")
    assert len(opened) > 1
    for tick in ticks.all():
        tick.check()
    page.get_by_text("Acknowledge the ticked alerts").first.click()
    page.get_by_role("button", name="Acknowledge").first.click()
    expect(ticks).to_have_count(0)
    assert {one["id"] for one in service.client.get("/v1/alerts?state=acknowledged").json()["alerts"]} == set(opened)

    page = visit.go(f"/alerts/{opened[0]}")
    expect(page.locator("main")).to_contain_text("Acknowledged by")
    page.get_by_label("Who works on it").select_option(label="nobody")
    page.get_by_role("button", name="Assign").click()
    expect(page.locator("main")).to_contain_text("Nobody is assigned.")
    page.get_by_label("Add a comment").fill("Pricing <b>looks</b> at it.")
    page.get_by_role("button", name="Comment").click()

    expect(page.get_by_text("Pricing <b>looks</b> at it.")).to_be_visible()
    assert len(service.client.get(f"/v1/alerts/{opened[0]}/comments").json()["comments"]) == 1


def test_an_alert_is_acknowledged_with_a_note_that_others_see(visit: Visit, service: RunningService) -> None:
    page = visit.go("/alerts?state=open")
    page.get_by_role("row").nth(1).get_by_role("link").last.click()
    page.get_by_label("What is being done").fill("Looking into <b>it</b>")

    page.get_by_role("button", name="Acknowledge").click()
    expect(page.get_by_text("Looking into <b>it</b>")).to_be_visible()

    assert "alert.acknowledged" in visit.go("/activity").content()
    taken = service.client.get("/v1/alerts?state=acknowledged").json()["alerts"]
    assert [alert["note"] for alert in taken] == ["Looking into <b>it</b>"]


def test_a_click_that_comes_before_the_scripts_counts_when_they_have_run(visit: Visit, service: RunningService) -> None:
    held: list[Route] = []
    alert = _any_open(service)
    page = visit.page
    page.route(re.compile(r"/forms\.js$"), lambda route: held.append(route))  # noqa: PLW0108 - Playwright marks the function
    page.goto(f"{visit.base_url}/alerts/{alert}", wait_until="commit")
    before = page.url

    page.get_by_label("What is being done").fill("Early")
    page.get_by_role("button", name="Acknowledge").click()
    assert page.url == before
    held[0].continue_()
    expect(page.get_by_text(": Early")).to_be_visible()

    assert service.client.get(f"/v1/alerts/{alert}").json()["note"] == "Early"


@pytest.mark.nightly
def test_an_alert_is_acknowledged_with_a_note_in_firefox(service: RunningService) -> None:
    firefox()
    alert = _any_open(service)
    with running_firefox(service.base_url) as tab:
        tab.log_in(service.admin_key)
        tab.go(f"/alerts/{alert}")
        tab.type("#note", "Seen in Firefox")
        tab.click("form:has(#note) button")
        tab.wait_for_page(
            "document.querySelector('main').textContent.includes('Seen in Firefox') && !document.getElementById('note')",
            "it is acknowledged",
        )

        assert service.client.get(f"/v1/alerts/{alert}").json()["note"] == "Seen in Firefox"
        assert tab.wrong() == []


def _any_open(service: RunningService) -> str:
    return str(service.client.get("/v1/alerts?state=open&limit=1").json()["alerts"][0]["id"])
