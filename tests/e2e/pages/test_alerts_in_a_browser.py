"""Alerts are acknowledged, assigned and commented on in a real browser, each test with alerts of its own that no worker resolves."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Route, expect

from tests.browsing import Visit, visiting_as
from tests.firefox import running_firefox
from tests.service import RunningService


@pytest.fixture
def visit(browser: Browser, service: RunningService) -> Iterator[Visit]:
    with visiting_as(browser, service.base_url, service.admin_key) as visit:
        yield visit


def test_several_alerts_are_acknowledged_together_assigned_and_commented(visit: Visit, service: RunningService) -> None:
    page = visit.go("/alerts?state=open")
    ticks = page.locator("input[name=alerts]")
    opened = ticks.evaluate_all("(ticks) => ticks.map((tick) => tick.value)")
    bar = page.locator("[data-bulk]")
    expect(bar).to_be_hidden()
    page.get_by_role("checkbox", name="Choose all alerts").first.focus()
    page.keyboard.press("Space")
    expect(bar).to_contain_text("ticked.")
    page.keyboard.press("Escape")
    expect(bar).to_be_hidden()
    for tick in ticks.all():
        tick.check()
    bar.get_by_label("Owner").select_option(label="me")
    bar.get_by_role("button", name="Assign").click()
    expect(page.locator("td[data-label='Owner']").first).not_to_contain_text("nobody")
    assert all(one["assignee"] for one in service.client.get("/v1/alerts?state=open").json()["alerts"])
    for tick in ticks.all():
        tick.check()
    bar.get_by_label("Note").fill("On it.")
    bar.get_by_role("button", name="Acknowledge").click()
    expect(ticks).to_have_count(0)
    assert {alert["id"] for alert in service.client.get("/v1/alerts?state=acknowledged").json()["alerts"]} == set(opened)

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
