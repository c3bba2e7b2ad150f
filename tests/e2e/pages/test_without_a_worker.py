"""Pages while no worker answers, checks that wait for one, and channels that are added while alerts are open; in a real browser."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial

import pytest
from playwright.sync_api import Browser, expect

from app.access.principals import Role
from app.checks.check import perform_check
from app.checks.schedule.worker_queries import SILENT_AFTER
from app.database.engine import Database
from app.mitigation.window.mitigate_window import mitigate_window
from app.pages import render
from app.worker.worker import Worker
from tests.browsing import DESKTOP, PHONE, Scheme, Visit, visiting, visiting_as
from tests.builders.heartbeats import let_a_worker_answer, silence_workers
from tests.page_list import DEPLOYMENT, pages
from tests.scenes import PlainSealer
from tests.service import RunningService

SINCE = datetime(2026, 3, 2, 12, tzinfo=UTC)
SENTENCE = "No worker has answered since 2026-03-02 12:00:00 UTC."


@pytest.fixture
def visit(browser: Browser, service: RunningService) -> Iterator[Visit]:
    with visiting_as(browser, service.base_url, service.admin_key) as visit:
        yield visit


@contextmanager
def a_worker(database: Database) -> Iterator[None]:
    """The checks' part of a worker, until the block ends."""
    perform = partial(perform_check, database=database, sealer=PlainSealer(), further=mitigate_window)
    stop = threading.Event()
    working = threading.Thread(target=Worker(database, perform, concurrency=1).run, args=(stop,))
    working.start()
    try:
        yield
    finally:
        stop.set()
        working.join()


@pytest.mark.parametrize("width", [DESKTOP, PHONE])
@pytest.mark.nightly
def test_every_page_says_in_both_schemes_that_no_worker_answers(browser: Browser, service: RunningService, width: int) -> None:
    silence_workers(service.database, since=SINCE)
    wrong: dict[tuple[str, Scheme], list[str]] = {}
    schemes: tuple[Scheme, ...] = ("light", "dark")
    with visiting(browser, service.base_url, width=width, scheme=schemes[0]) as visit:
        visit.go("/login")
        assert visit.page.get_by_text("worker").count() == 0
        visit.log_in(service.admin_key)
        for name, path in pages(service.client).items():
            page = visit.go(path)
            for scheme in schemes:
                visit.use_scheme(scheme)
                found = [] if page.locator("#workers").get_by_text(SENTENCE).is_visible() else ["says nothing"]
                found += [*visit.axe_findings(), *visit.faults, *(["too wide"] if visit.overflows() else [])]
                visit.faults.clear()
                wrong[name, scheme] = found
            schemes = schemes[::-1]  # the next page opens in the colours of this moment

    assert {where: found for where, found in wrong.items() if found} == {}


def test_a_page_that_is_open_learns_it_within_a_minute_and_keeps_what_is_typed(browser: Browser, service: RunningService) -> None:
    """The clock of the page is moved, so that nobody waits; the service needs `SILENT_AFTER` of the minute."""
    with visiting(browser, service.base_url) as visit:
        visit.log_in(service.admin_key)
        visit.page.clock.install()
        page = visit.go("/settings")
        typed = page.get_by_label("Name: what or who uses it")
        typed.fill("the scoring service")
        notice = page.locator("#workers")
        expect(notice).to_be_empty()

        silence_workers(service.database, since=SINCE)
        page.clock.run_for(60_000 - int(SILENT_AFTER.total_seconds() * 1000))
        expect(notice.get_by_text(SENTENCE)).to_be_visible()
        link = notice.get_by_role("link", name="What a worker does")
        expect(link).to_have_attribute("href", "/help/operations/runbook#no-worker-answers")
        expect(typed).to_have_value("the scoring service")
        expect(typed).to_be_focused()

        let_a_worker_answer(service.database)
        page.clock.run_for(15_000)
        expect(notice).to_be_empty()
        assert visit.faults == []


def test_a_tab_that_is_looked_at_again_asks_at_once(visit: Visit, service: RunningService) -> None:
    page = visit.go("/")
    silence_workers(service.database, since=SINCE)

    page.evaluate("() => document.dispatchEvent(new Event('visibilitychange'))")

    expect(page.locator("#workers").get_by_text(SENTENCE)).to_be_visible()


def test_a_session_that_is_over_does_not_take_the_page_away(browser: Browser, service: RunningService) -> None:
    with visiting(browser, service.base_url) as visit:
        visit.log_in(service.admin_key)
        visit.expected_statuses.add(401)
        page = visit.go("/settings")
        page.context.clear_cookies()
        with page.expect_response("**/v1/workers"):
            page.evaluate("() => document.dispatchEvent(new Event('visibilitychange'))")

        assert page.url.endswith("/settings")
        assert visit.faults == []


def test_a_queued_check_survives_a_reload_and_leads_to_its_page_when_it_ends(visit: Visit, service: RunningService) -> None:
    page = visit.go(DEPLOYMENT)
    page.get_by_role("button", name="Check now").click()
    step = page.locator("#check-now-step")
    expect(step).to_contain_text("It begins as soon as a worker is free.")

    visit.go(DEPLOYMENT)
    expect(step).to_contain_text("It begins as soon as a worker is free.")
    expect(page.get_by_text("Asked for now by tests")).to_be_visible()
    expect(page.get_by_label("How far the check is")).to_be_visible()
    silence_workers(service.database, since=SINCE)
    expect(step).to_contain_text(SENTENCE)
    expect(step).not_to_contain_text("as soon as a worker is free")
    let_a_worker_answer(service.database)
    expect(step).to_contain_text("It begins as soon as a worker is free.")
    with a_worker(service.database):
        page.wait_for_url("**/checks/*")
    visit.settle()
    assert len(service.client.get(f"/v1{DEPLOYMENT}/checks").json()["checks"]) == 2


def test_somebody_else_sees_the_check_and_how_it_ended_and_stays_on_the_page(browser: Browser, service: RunningService) -> None:
    service.client.post(f"/v1{DEPLOYMENT}/checks").raise_for_status()
    with visiting(browser, service.base_url) as visit:
        visit.log_in(service.key(Role.READ))
        page = visit.go(DEPLOYMENT)
        expect(page.get_by_text("Asked for now by tests")).to_be_visible()
        expect(page.get_by_role("button", name="Check now")).to_have_count(0)
        with a_worker(service.database):
            expect(page.locator("#check-now-step")).to_contain_text("The check ended: succeeded.")
        assert page.url.endswith(DEPLOYMENT)
        page.get_by_role("link", name="Show it").click()
        page.wait_for_url("**/checks/*")
        assert visit.faults == []


def test_the_page_of_a_waiting_check_says_when_no_worker_answers_any_more(visit: Visit, service: RunningService) -> None:
    check = service.client.post(f"/v1{DEPLOYMENT}/checks").raise_for_status().json()
    page = visit.go(f"{DEPLOYMENT}/checks/{check['id']}")
    expect(page.locator("[data-step]").last).to_contain_text("It begins as soon as a worker is free.")

    silence_workers(service.database, since=SINCE)

    expect(page.locator("#progress [data-step]")).to_contain_text(SENTENCE)


def test_a_channel_that_is_added_while_alerts_are_open_is_sent_them_with_one_button(visit: Visit, service: RunningService) -> None:
    many = len(service.client.get("/v1/alerts").json()["alerts"])
    page = visit.go("/alerts/channels")
    page.get_by_label("Id (small letters").fill("on-call")
    page.get_by_label("Name", exact=True).fill("On call")
    page.get_by_label("URL", exact=True).fill("https://alerts.example.com/evenhand")
    page.get_by_role("button", name="Add the channel").click()
    page.get_by_role("link", name="Continue: test it").click()
    offer = page.locator("form.offer")
    expect(offer).to_contain_text("No rule names this channel, so no alert is sent to it.")
    assert (visit.axe_findings(), visit.overflows()) == ([], False)

    offer.get_by_role("button", name="Name it in these rules and send").click()

    expect(page.get_by_role("group", name="Deliveries to On call").get_by_text("alert opened")).to_have_count(many)
    expect(offer).to_have_count(0)
    assert many > 0
    assert service.client.get(f"/v1{DEPLOYMENT}/alert-rules/unfair").json()["channels"] == ["on-call"]


def test_a_channel_that_is_named_in_a_rule_with_open_alerts_is_offered_there(visit: Visit, service: RunningService) -> None:
    channel = {"name": "On call", "kind": "webhook", "url": "https://alerts.example.com/evenhand"}
    service.client.put("/v1/alert-channels/on-call", json=channel).raise_for_status()
    page = visit.go(f"{DEPLOYMENT}/alerts")
    page.get_by_text("Change the rule").first.click()
    page.get_by_label("On call").first.check()
    page.get_by_role("button", name="Save the rule").click()
    offer = page.locator("form.offer")
    expect(offer).to_contain_text("not to on-call.")

    offer.get_by_role("button", name="Send them").click()

    expect(offer).to_have_count(0)
    assert service.client.post("/v1/alert-channels/on-call/notifications").json()["queued"] == 0


def test_the_page_asks_often_enough_to_be_within_a_minute() -> None:
    script = render._read_file("workers.js").decode()  # noqa: SLF001 - the file as it is served
    milliseconds = int(script.partition("const EVERY = ")[2].partition(";")[0].replace("_", ""))

    assert SILENT_AFTER.total_seconds() + milliseconds / 1000 < 60
