"""The main flows in Firefox: set a deployment up, see its check end, filter, jump, acknowledge, hand a report over."""

import json

import pytest

from tests.example_run import Example
from tests.firefox import FirefoxTab
from tests.page_list import DEPLOYMENT
from tests.progress import wait_until

CONTROL, ENTER = "\ue009", "\ue007"
"""Keys as WebDriver writes them."""

RECORD = {"sex": "female", "income": 20_000}
NEW = "/v1/deployments/in-firefox"


@pytest.mark.nightly
def test_a_deployment_is_set_up_in_steps_and_its_first_check_appears_without_a_reload(tab: FirefoxTab, shared_example: Example) -> None:
    client = shared_example.client
    tab.go("/register")
    tab.fill("#d-name", "In Firefox")
    tab.fill("#d-id", "in-firefox")
    tab.fill("#d-example", json.dumps(RECORD))
    tab.run("document.querySelector('[data-propose]').click()")
    tab.wait_for("document.querySelectorAll('[data-remove]').length === 2", "both columns are proposed")
    assert tab.wrong() == []
    tab.run("document.querySelector('main form [type=submit]:not(.quiet)').click()")
    tab.wait_for_page("location.pathname.endsWith('/in-firefox/configure')", "it is registered")
    steps = tab.run("return [...document.querySelectorAll('.stepper a')].map((one) => one.getAttribute('href'))")
    for step in steps:
        tab.go(f"/deployments/in-firefox/configure{step[step.index('?') :]}")
        assert tab.run("return document.querySelector('.stepper [aria-current=step]').getAttribute('href')") == step
        assert tab.wrong() == []
    monitor = {
        "favourable": [1],
        "unfavourable": [0],
        "min_records": 10,
        "schedule": "off",
        "attributes": [{"feature": "sex", "monitored": ["female"], "reference": ["male"]}],
    }
    client.put(f"{NEW}/fairness-monitor", json=monitor).raise_for_status()

    tab.go("/")
    row = "document.querySelector('tr[data-id=in-firefox]')"
    assert "waiting for records" in tab.run(f"return {row}.textContent")
    tab.run("window.isTheSamePage = true")
    people = [
        {"features": {**RECORD, "sex": sex}, "prediction": int(no % 4 > 0 or sex == "male")}
        for no in range(40)
        for sex in ("female", "male")
    ]
    client.post(f"{NEW}/payload-records", json={"records": people}).raise_for_status()
    check = client.post(f"{NEW}/checks", json={}).raise_for_status().json()["id"]
    wait_until(lambda: client.get(f"{NEW}/checks/{check}").json()["state"] == "succeeded", "the check ends")
    tab.wait_for(f"!{row}.textContent.includes('waiting for records')", "the check that ended is shown")
    assert tab.run("return window.isTheSamePage === true")
    assert tab.wrong() == []
    client.delete("/v1/deployments/in-firefox").raise_for_status()


@pytest.mark.nightly
def test_filters_act_at_once_and_have_an_address(tab: FirefoxTab) -> None:
    tab.go("/")
    tab.run("window.isTheSamePage = true")
    tab.fill("#text", "nothing")
    tab.wait_for("document.querySelectorAll('.fleet tbody tr').length === 0", "nothing fits")
    assert "text=nothing" in tab.run("return location.search")
    tab.fill("#text", "credit")
    tab.wait_for("document.querySelectorAll('.fleet tbody tr').length === 1", "one fits")

    assert tab.run("return window.isTheSamePage === true")
    tab.go(tab.run("return location.pathname + location.search"))
    assert tab.run("return document.getElementById('text').value") == "credit"
    assert tab.wrong() == []


@pytest.mark.nightly
def test_j_and_enter_open_a_deployment_and_control_k_jumps_to_one(tab: FirefoxTab) -> None:
    tab.go("/")
    tab.press("j")
    tab.wait_for("document.activeElement.closest('tr[data-id]')", "the keyboard is on a row")
    tab.press("k")
    opened = tab.run("return document.activeElement.closest('tr').dataset.id")
    tab.press(ENTER)
    tab.wait_for_page(f"location.pathname === '/deployments/{opened}'", "Enter opens it")

    tab.go("/glossary")
    tab.press(CONTROL, "k")
    tab.wait_for("document.querySelector('dialog.jump[open] a')", "the window has names")
    tab.type("#jump-text", "credit risk")
    tab.wait_for("document.querySelector('dialog.jump ul').dataset.of === 'credit risk'", "the name is found")
    assert tab.wrong() == []
    tab.press(ENTER)
    tab.wait_for_page(f"location.pathname === '{DEPLOYMENT}'", "Enter jumps to it")


@pytest.mark.nightly
def test_a_report_is_downloaded(tab: FirefoxTab) -> None:
    tab.go(DEPLOYMENT)
    tab.click(".deployment-header > a.button")
    tab.click("a[href$='/report.pdf'][download]")

    assert tab.saved("*.pdf").startswith(b"%PDF")
    assert tab.wrong() == []
