"""Log-in at an issuer on another host in a real browser: its rules for cookies and forms hold on the way there and back."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from app.database.engine import Database
from tests.browsing import DESKTOP, PHONE, Visit, visiting
from tests.builders.issuers import LocalIssuer, running_issuer
from tests.service import RunningService, running_service

PICTURES = os.environ.get("EVENHAND_TEST_PICTURES")
"""Folder for pictures of the pages; without it none are taken."""


@pytest.fixture
def issuer() -> Iterator[LocalIssuer]:
    with running_issuer() as issuer:
        yield issuer


@pytest.fixture
def running(browser: Browser, issuer: LocalIssuer, database: Database, tmp_path: Path) -> Iterator[RunningService]:
    assert browser
    with running_service(database, tmp_path, **issuer.settings()) as service:
        # Another name than the issuer's, so that the browser takes the two for different sites.
        issuer.sends_back_to = service.base_url.replace("127.0.0.1", "localhost")
        yield service


def _shoot(page: Page, name: str) -> None:
    if PICTURES:
        page.screenshot(path=str(Path(PICTURES) / f"{name}.png"), full_page=True)


@pytest.mark.parametrize("width", [DESKTOP, PHONE])
def test_a_person_logs_in_at_another_site_rotates_a_key_and_logs_out_everywhere(
    browser: Browser, running: RunningService, issuer: LocalIssuer, width: int
) -> None:
    issuer.subject = {"sub": "1", "preferred_username": "ada", "groups": ["admins"]}
    made = running.client.post("/v1/api-keys", json={"name": "scorer", "role": "ingest", "expires_at": "2030-01-31T23:59:59Z"}).json()
    with visiting(browser, str(issuer.sends_back_to), width=width) as visit:
        visit.page.set_default_timeout(20_000)
        visit.go("/login?next=/settings")
        _shoot(visit.page, f"login-{width}")
        _look(visit)
        visit.page.get_by_role("link", name="Log in with your organisation's account").click()
        visit.page.wait_for_url("**/settings")
        _look(visit)
        visit.page.get_by_text(f"Rotate scorer {made['id']}").click()
        visit.page.get_by_label(f"Hours for which the old key {made['id']} stays valid").fill("2")
        visit.page.get_by_role("button", name=f"Make the new key for scorer {made['id']}").click()
        shown = visit.page.locator("#made-key-text")
        shown.wait_for()
        visit.page.wait_for_function("() => document.getElementById('made-key-text').textContent.startsWith('evk_')")
        key = shown.inner_text()
        _shoot(visit.page, f"settings-{width}")
        visit.page.get_by_role("button", name="Log out everywhere").click()
        link = visit.page.get_by_role("link", name="Log out of your organisation's account, too")
        link.wait_for()
        _shoot(visit.page, f"logged-out-{width}")
        _look(visit)
        target = str(link.get_attribute("href"))
        visit.go("/settings")
        again = visit.page.url
        faults = [fault for fault in visit.faults if issuer.url not in fault]

    assert target.startswith(f"{issuer.url}/logout?id_token_hint=")
    assert "/login?next=" in again
    assert running.client.get("/v1/me", headers={"Authorization": f"Bearer {key}"}).json()["role"] == "ingest"
    assert faults == []


def _look(visit: Visit) -> None:
    assert visit.axe_findings() == []
    assert not visit.overflows()
