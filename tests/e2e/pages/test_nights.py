"""Attributions, also of every night, and groups that nobody listed, by the pages."""

import re
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from app.cli.example.story import DEPLOYMENT_BODY, MONITOR_BODY
from tests.browsing import DESKTOP, HEIGHTS, PHONE, Visit
from tests.example_run import Example
from tests.layout import layout_faults
from tests.progress import wait_until

API = "/v1/deployments/credit-risk"
COST = r"By the records of .* a night asks the model about [\d,]+ rows? in|no record of"


@pytest.mark.nightly
def test_a_scan_is_started_and_followed_by_the_page(visit: Visit, example: Example) -> None:
    page = visit.go("/deployments/credit-risk/explore")
    page.get_by_label("Groups that get the favourable outcome").select_option("above")
    page.get_by_role("button", name="Scan now").press("Enter")
    expect(page.locator("#scan-step")).to_be_visible()
    expect(page.get_by_role("button", name="Scan now")).to_be_visible()

    (scan,) = example.client.get(f"{API}/subgroup-scans").json()["scans"]
    assert scan["state"] in {"succeeded", "failed"}
    assert scan["direction"] == "above"
    expect(page.get_by_text(scan["words"])).to_be_visible()
    assert (visit.axe_findings(), visit.overflows()) == ([], False)


def manual_attributions(example: Example) -> list[dict[str, Any]]:
    """The newest first."""
    return list(example.client.get(f"{API}/attributions", params={"trigger": "manual"}).json()["attributions"])


def explain_again(place: Page | Locator) -> None:
    """Asks for the number of rows, and then the model."""
    place.get_by_role("button", name="Explain again", exact=True).press("Enter")
    place.get_by_role("button", name=re.compile(r"Explain again: ask the model about [\d,]+ rows")).press("Enter")


@pytest.mark.nightly
def test_an_attribution_is_started_and_deleted_by_the_page(visit: Visit, example: Example) -> None:
    page = visit.go("/deployments/credit-risk/explore")
    (of_example,) = manual_attributions(example)
    explain_again(page)
    wait_until(lambda: [run["state"] for run in manual_attributions(example)] == ["done"] * 2)
    page = visit.go("/deployments/credit-risk/explore")
    expect(page.get_by_role("button", name="Cancel this attribution")).to_be_hidden()
    assert (visit.axe_findings(), visit.overflows()) == ([], False)
    page.set_viewport_size({"width": PHONE, "height": HEIGHTS[PHONE]})
    assert (layout_faults(page), visit.overflows()) == ([], False)
    page.set_viewport_size({"width": DESKTOP, "height": HEIGHTS[DESKTOP]})
    assert layout_faults(page) == []

    page.once("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Delete this attribution").press("Enter")
    wait_until(lambda: [run["id"] for run in manual_attributions(example)] == [of_example["id"]])


@pytest.mark.nightly
def test_the_drawer_says_the_rows_before_its_one_click_and_shows_drivers_and_what_to_do(visit: Visit, example: Example) -> None:
    page = visit.go("/deployments/credit-risk")
    page.get_by_role("link", name="women (sex)", exact=True).click()
    drawer = page.locator("#drawer")
    expect(drawer.locator("table.drivers tbody tr").first).to_contain_text("sex")
    expect(drawer.get_by_text("widens the gap", exact=True)).to_be_visible()
    explain_again(drawer)
    wait_until(lambda: [run["state"] for run in manual_attributions(example)] == ["done"] * 2)
    run = manual_attributions(example)[0]
    assert run["comparisons"] == [["sex"]]

    page = visit.go("/deployments/credit-risk")
    page.get_by_role("link", name="women (sex)", exact=True).click()
    drawer.get_by_text("What now").click()
    expect(drawer.get_by_role("heading", name="The attribute itself")).to_be_visible()
    for width in (PHONE, DESKTOP):
        page.set_viewport_size({"width": width, "height": HEIGHTS[width]})
        assert (layout_faults(page), visit.overflows(), visit.axe_findings()) == ([], False, [])
    page = visit.go("/deployments/credit-risk")
    page.get_by_role("link", name="What now").click()
    expect(page.locator("#what-now summary")).to_be_focused()
    example.client.delete(f"{API}/attributions/{run['id']}").raise_for_status()


def test_the_form_of_the_monitor_says_what_a_night_costs_and_keeps_what_it_does_not_show(visit: Visit, example: Example) -> None:
    # A deployment of its own: another version of the monitor would end the example's alerts about evidence.
    path = "/v1/deployments/by-night"
    endpoint = example.client.get(API).json()["endpoint"]
    example.client.post(
        "/v1/deployments", json={**DEPLOYMENT_BODY, "id": "by-night", "endpoint": {"url": endpoint["url"]}}
    ).raise_for_status()
    own = {"person": None, "label_horizon_hours": 200, "false_alarm_hours": 5000}
    stored = example.client.put(f"{path}/fairness-monitor", json={**MONITOR_BODY, "evidence": own}).raise_for_status().json()
    page = visit.go("/deployments/by-night/configure/monitor")
    page.get_by_text("Edit the monitor").click()
    expect(page.locator("#m-night-cost")).to_have_text(re.compile(COST))

    visit.settle()
    page.get_by_label("Attribute the gaps of each day").check()
    page.get_by_label("Most rows a night").fill("4321")
    page.get_by_role("button", name="Save the monitor").press("Enter")
    expect(page.get_by_text("Saved the fairness monitor.")).to_be_focused()
    after = example.client.get(f"{path}/fairness-monitor").json()

    assert after["attribution"] == {"nightly": True, "max_rows": 4321}
    assert {name: value for name, value in after.items() if name != "attribution"} == {
        name: value for name, value in stored.items() if name != "attribution"
    }
    expect(page.get_by_text("the model is asked about at most 4,321 rows")).to_be_visible()
    example.client.delete(path).raise_for_status()
