"""The main flows in Firefox: set a deployment up, see its check end, filter, sort, jump, read a chart, hand a report over."""

import json

import pytest

from tests.builders.mail_servers import Inbox, assert_report_arrives
from tests.example_run import Example
from tests.firefox import FirefoxTab
from tests.page_list import DEPLOYMENT
from tests.progress import wait_until

CONTROL, ENTER, ESCAPE, SHIFT, LEFT, RIGHT = "\ue009", "\ue007", "\ue00c", "\ue008", "\ue012", "\ue014"
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
def test_a_report_is_downloaded_and_sent_by_mail(tab: FirefoxTab, risk_mails: Inbox) -> None:
    tab.go(DEPLOYMENT)
    tab.click(".deployment-header > a.button")
    tab.click("a[href$='/report.pdf'][download]")

    assert tab.saved("*.pdf").startswith(b"%PDF")
    assert tab.wrong() == []

    tab.click("#of-check ~ .tools [type=submit]")
    tab.wait_for_page("document.querySelector('#kept tbody').textContent.includes('sent to risk')", "the report is kept")
    assert_report_arrives(risk_mails)
    assert tab.wrong() == []


@pytest.mark.nightly
def test_a_head_sorts_by_click_and_keyboard_and_the_address_keeps_it(tab: FirefoxTab) -> None:
    tab.go(DEPLOYMENT)
    names = "return [...document.querySelectorAll('table.forest .row-link > bdi')].map((one) => one.textContent)"
    first = tab.run(names)
    tab.click("table.forest th:first-child .order")
    rising = tab.run(names)
    assert tab.run("return document.querySelector('table.forest th:first-child').ariaSort") == "ascending"
    assert sorted(rising) == sorted(first)
    tab.click("table.forest th:first-child .order")
    assert tab.run(names) == rising[::-1]
    tab.go(tab.run("return location.pathname + location.search"))
    assert tab.run(names) == rising[::-1]

    tab.run("document.querySelector('table.forest th:first-child .order').focus()")
    tab.press(RIGHT)
    tab.press(ENTER)
    assert tab.run("return document.querySelector('table.forest th:nth-child(2)').ariaSort") == "ascending"
    rates = [float(text.partition(" ")[0]) for text in tab.run(names.replace(".row-link > bdi", "td[data-label=Rate]"))]
    assert rates == sorted(rates)
    assert tab.wrong() == []


@pytest.mark.nightly
def test_the_keyboard_reads_a_chart_marks_a_time_and_opens_a_check(tab: FirefoxTab) -> None:
    tab.go(DEPLOYMENT)
    tab.run("document.querySelector('.timeline').focus()")
    tab.press(LEFT)
    newest = tab.run("return document.getElementById('timeline-said').textContent")
    tab.press(LEFT)
    assert "95 % interval" in newest
    assert tab.run("return document.getElementById('timeline-said').textContent") != newest
    assert tab.run("return !document.querySelector('.crosshair').hidden && !document.querySelector('.time-tip').hidden")
    tab.press(SHIFT, RIGHT)
    assert tab.run("return !document.querySelector('.brush').hidden")
    assert tab.wrong() == []
    tab.press(ESCAPE)
    assert tab.run("return document.querySelector('.brush').hidden && document.querySelector('.time-tip').hidden")
    tab.press(LEFT)
    tab.press(ENTER)
    tab.wait_for_page(f"location.pathname.startsWith('{DEPLOYMENT}/checks/')", "Enter opens the check")
    assert tab.wrong() == []
