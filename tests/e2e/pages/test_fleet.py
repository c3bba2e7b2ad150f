"""The overview with fifteen deployments in a real browser: its size, the keyboard, filters, and reading it again while a check ends."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, ViewportSize, expect
from sqlalchemy import text

from app.base.clock import HOUR, floor_to_hour, utc_now
from app.database.engine import Database
from app.domain.check import Trigger
from tests.browsing import DESKTOP, HEIGHTS, PHONE, WINDOWS, Scheme, Visit, visiting
from tests.builders.applicants import APPLICANT, SEX, applicants, monitor_of
from tests.builders.bodies import deployment
from tests.builders.heartbeats import let_a_worker_answer
from tests.builders.pdf_files import page_count
from tests.builders.queries import rows
from tests.layout import layout_faults
from tests.scenes import Scene, scene
from tests.service import RunningService, running_service

LONG = "Fraud screening of instant payments and wallet top-ups across all European subsidiaries and their branches"
HOSTILE = "<b>Loans</b> & co"
ARABIC = "نظام القروض"
LONG_PERSON = "Night desk of the group-wide model risk office, second line, Luxembourg and Frankfurt"
AGAIN = 30_000
"""Milliseconds after which the page is read again."""

SHEET: ViewportSize = {"width": 717, "height": 1046}
"""CSS pixels of A4 within the usual margins of Chromium."""

_HEIGHTS = "(ones) => ones.map((one) => one.getBoundingClientRect().height)"

_MIDDLES = """(both) => {
    const [one, other] = both.map((each) => each.getBoundingClientRect()).map((box) => box.y + box.height / 2);
    return Math.abs(one - other);
}"""
"""Pixels from the middle of one element to that of another; 0 in one row."""


_STARTS = """(row) => new Set([...row.querySelectorAll('th, .figure')]
    .map((one) => Math.round(one.getBoundingClientRect().left))).size"""
"""Number of places at which the lines of a row begin; 1 where they are in one column."""


@dataclass
class Fleet:
    """Fifteen deployments, one of which can be checked."""

    service: RunningService
    stage: Scene

    def end_a_check(self) -> None:
        """Logs an hour of records of a model that is unfair to women, and checks it."""
        hour = floor_to_hour(utc_now()) - HOUR
        self.stage.log(applicants(40, 60, 6), hour)
        self.stage.check(hour, trigger=Trigger.SCHEDULE)


@pytest.fixture
def fleet(browser: Browser, database: Database, tmp_path: Path) -> Iterator[Fleet]:  # noqa: ARG001 - first, so that nothing is made in vain
    let_a_worker_answer(database)
    with running_service(database, tmp_path) as service:
        stage = scene(database, APPLICANT, monitor_of(SEX), endpoint=None)
        for no, name in enumerate([LONG, HOSTILE, ARABIC, *(f"Model {no}" for no in range(11))]):
            service.client.post("/v1/deployments", json=deployment(id=f"m-{no}", name=name)).raise_for_status()
        yield Fleet(service, stage)


@pytest.fixture
def visit(browser: Browser, fleet: Fleet) -> Iterator[Visit]:
    """A person's tab at the overview, with a clock that the test moves; at the end nothing may have gone wrong in it."""
    with visiting(browser, fleet.service.base_url) as visit:
        visit.page.clock.install()
        visit.log_in(fleet.service.admin_key)
        visit.go("/")
        visit.page.evaluate("() => { window.isTheSamePage = true; }")
        yield visit
        assert visit.faults == []


def is_the_same(page: Page) -> bool:
    return bool(page.evaluate("() => window.isTheSamePage === true"))


def focused(page: Page) -> str:
    return str(page.evaluate("() => document.activeElement.closest('[data-id]')?.dataset.id ?? document.activeElement.id"))


def open_an_alert(fleet: Fleet) -> None:
    with fleet.service.database.transaction() as session:
        session.execute(
            text(
                "WITH opened AS (INSERT INTO alerts (id, deployment_no, subject, kind, opened_at)"
                " SELECT gen_random_uuid(), no, 's', 'failed_checks', now() - interval '2 hours' FROM deployments WHERE id = 'm-5'"
                " RETURNING no, opened_at)"
                " INSERT INTO alert_figures (alert_no, rule_id, rule_name, subject, kind, facts, opened_at, last_seen_at)"
                " SELECT no, 'r', 'Rule', 's', 'failed_checks', '{}', opened_at, now() FROM opened"
            )
        )


@pytest.mark.parametrize(("width", "scheme"), WINDOWS)
def test_it_is_accessible_and_fits_its_window_in_every_state(browser: Browser, fleet: Fleet, width: int, scheme: Scheme) -> None:
    fleet.end_a_check()
    open_an_alert(fleet)
    made = fleet.service.client.post("/v1/api-keys", json={"name": LONG_PERSON, "role": "admin"}).raise_for_status()
    with visiting(browser, fleet.service.base_url, width=width, scheme=scheme) as visit:
        visit.log_in(made.json()["key"])
        visit.go("/")

        assert visit.page.locator(".fleet tbody tr").count() == 15
        assert visit.page.locator("header .brand, header .who").evaluate_all(_MIDDLES) <= 1
        assert visit.page.locator("header .who > form button").evaluate("one => one.offsetHeight") <= 46
        assert visit.axe_findings() == []
        assert not visit.overflows()
        assert layout_faults(visit.page) == []
        if width == PHONE:
            assert visit.page.locator(".fleet tbody tr").first.evaluate(_STARTS) == 1
        visit.page.locator(".fleet summary").first.click()
        assert visit.axe_findings() == []
        assert visit.faults == []


def test_fifteen_deployments_and_what_needs_a_person_take_one_sheet_or_two(visit: Visit, fleet: Fleet) -> None:
    fleet.end_a_check()
    open_an_alert(fleet)
    page = visit.go("/")

    pages = page_count(page.pdf(format="A4"))
    page.emulate_media(media="print")
    page.set_viewport_size(SHEET)
    line = page.locator(".fleet .badge").first.evaluate("(one) => parseFloat(getComputedStyle(one).fontSize) * 2")

    assert pages <= 2
    assert page.locator(".fleet thead").evaluate("(one) => getComputedStyle(one).display") == "table-header-group"
    assert max(page.locator(".fleet .badge").evaluate_all(_HEIGHTS)) < line
    assert not visit.overflows()


def test_fifteen_rows_of_40_pixels_fit_the_window_and_no_badge_is_broken(visit: Visit, fleet: Fleet) -> None:
    fleet.end_a_check()
    open_an_alert(fleet)
    page = visit.go("/")

    table = page.locator(".fleet tbody tr")
    assert table.evaluate_all(_HEIGHTS) == [40.0] * 15
    assert table.last.evaluate("(row) => row.getBoundingClientRect().bottom") <= HEIGHTS[DESKTOP]
    line = page.locator(".fleet .badge").first.evaluate("(one) => parseFloat(getComputedStyle(one).fontSize) * 2")
    assert max(page.locator(".badge").evaluate_all(_HEIGHTS)) < line
    assert page.locator("#needs li").count() == 5
    assert page.locator("bdi", has_text=LONG).first.evaluate("(one) => getComputedStyle(one.parentElement).webkitLineClamp") == "2"
    assert page.get_by_role("link", name=HOSTILE, exact=True).is_visible()


def test_the_head_of_the_table_stays_in_sight(visit: Visit) -> None:
    page = visit.page
    page.set_viewport_size({"width": DESKTOP, "height": 400})

    page.locator(".fleet tbody tr").last.scroll_into_view_if_needed()

    assert page.locator(".fleet thead th").first.evaluate("(one) => one.getBoundingClientRect().top") == 0


def test_j_and_k_move_through_the_rows_enter_opens_one_and_the_keys_can_be_switched_off(visit: Visit) -> None:
    page = visit.page
    ids = page.locator(".fleet tbody tr").evaluate_all("(all) => all.map((one) => one.dataset.id)")

    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    assert focused(page) == ids[1]
    page.get_by_role("checkbox", name="move through the deployments").uncheck()
    page.locator(".fleet th a").first.focus()
    page.keyboard.press("j")
    assert focused(page) == ids[0]
    with page.expect_navigation():
        page.keyboard.press("Enter")

    assert page.url.endswith(f"/deployments/{ids[0]}")


def test_control_k_jumps_to_a_deployment_by_its_name_from_every_page(visit: Visit) -> None:
    page = visit.go("/glossary")
    page.keyboard.press("Control+k")
    dialog = page.get_by_role("dialog", name="Jump to a deployment")
    expect(dialog).to_be_visible()
    assert visit.axe_findings() == []

    page.keyboard.type("القروض")
    expect(dialog.get_by_role("link")).to_have_count(1)
    expect(dialog.get_by_role("status")).to_contain_text("1 found")
    with page.expect_navigation():
        page.keyboard.press("Enter")

    assert page.url.endswith("/deployments/m-2")


def test_filters_act_at_once_without_a_reload_and_have_an_address(visit: Visit) -> None:
    page = visit.page

    page.get_by_label("Name, id or owner contains").fill("model 1")
    expect(page.locator(".fleet tbody tr")).to_have_count(2)
    assert "text=model+1" in page.url
    assert focused(page) == "text"
    page.get_by_label("Name, id or owner contains").fill("")
    expect(page.locator(".fleet tbody tr")).to_have_count(15)
    page.locator(".states a", has_text="waiting").click()
    expect(page.locator(".fleet tbody tr")).to_have_count(1)
    expect(page.locator(".states a[aria-current]")).to_contain_text("waiting")
    assert "state=waiting" in page.url
    assert is_the_same(page)
    page.reload()
    expect(page.locator(".fleet tbody tr")).to_have_count(1)


def test_a_click_on_a_head_sorts_by_value_and_the_address_keeps_it(visit: Visit) -> None:
    page = visit.page
    names = page.locator(".fleet tbody th a")
    first = names.all_inner_texts()
    heads = page.locator(".fleet thead button.order")
    button = page.get_by_role("button", name="Deployment", exact=True)

    button.click()
    expect(page.locator(".fleet thead th[aria-sort=ascending]")).to_have_text("Deployment")
    expect(names.nth(3)).to_have_text("Model 0")
    numbers = [name for name in names.all_inner_texts() if name.startswith("Model ")]
    assert numbers == [f"Model {no}" for no in range(11)]
    assert "order=0-0-up" in page.url
    page.reload()
    expect(names.nth(3)).to_have_text("Model 0")
    button.click()
    assert [name for name in names.all_inner_texts() if name.startswith("Model ")] == numbers[::-1]
    page.keyboard.press("ArrowRight")
    expect(heads.nth(1)).to_be_focused()
    assert page.locator(".fleet thead button.order[tabindex='0']").count() == 1
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")
    assert names.all_inner_texts() == first
    assert "order" not in page.url


def test_filters_work_without_scripts(browser: Browser, fleet: Fleet) -> None:
    context = browser.new_context(java_script_enabled=False)
    try:
        page = context.new_page()
        page.goto(fleet.service.base_url + "/")
        page.get_by_label("API key").fill(fleet.service.admin_key)
        page.get_by_role("button", name="Log in with the key").click()
        page.get_by_label("Name, id or owner contains").fill("model 1")
        page.get_by_role("button", name="Show", exact=True).click()

        expect(page.locator(".fleet tbody tr")).to_have_count(2)
    finally:
        context.close()


def test_a_check_that_ends_is_seen_without_a_reload_and_the_focus_stays(visit: Visit, fleet: Fleet) -> None:
    page = visit.page
    row = page.locator("tr[data-id='a-model']")
    expect(row).to_contain_text("waiting for records")
    page.locator("tr[data-id='m-7'] th a").focus()
    page.evaluate("() => scrollTo(0, 30)")

    fleet.end_a_check()
    page.clock.fast_forward(AGAIN)

    expect(row).to_contain_text("unfair")
    expect(page.locator("#needs")).to_contain_text("Unfair to female (sex)")
    expect(page.locator("#said")).to_have_text("A model: unfair.")
    assert focused(page) == "m-7"
    assert page.evaluate("() => scrollY") == 30
    assert is_the_same(page)


def test_it_is_not_read_again_while_it_is_paused(visit: Visit, fleet: Fleet) -> None:
    page = visit.page
    page.get_by_role("button", name="Pause").click()
    fleet.end_a_check()
    page.clock.fast_forward(2 * AGAIN)
    expect(page.locator("tr[data-id='a-model']")).to_contain_text("waiting for records")

    page.get_by_role("button", name="Go on").click()

    expect(page.locator("tr[data-id='a-model']")).to_contain_text("unfair")


def test_an_alert_is_acknowledged_from_its_line(visit: Visit, fleet: Fleet) -> None:
    open_an_alert(fleet)
    page = visit.go("/")
    line = page.locator("#needs li", has_text="Nobody is assigned for 2 h.")

    line.get_by_role("button", name="Acknowledge").click()

    expect(line).to_have_count(0)
    assert rows(fleet.service.database, "SELECT count(*) FROM alerts WHERE acknowledged_at IS NOT NULL") == [(1,)]
