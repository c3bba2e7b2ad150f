"""A label and a prediction are corrected on the page of their record, in a real browser."""

from pathlib import Path

from playwright.sync_api import Browser

from app.database.engine import Database
from tests.browsing import visiting_as
from tests.builders.evidence_worlds import START, Logged, log, watched
from tests.service import running_service


def test_values_are_corrected_with_a_reason(browser: Browser, database: Database, tmp_path: Path) -> None:
    log(watched(database), [Logged(START, "female", 0, 0)], first_no=1)
    with running_service(database, tmp_path) as service, visiting_as(browser, service.base_url, service.admin_key) as visit:
        page = visit.go("/deployments/a-model/transactions/1-0")
        for what in ("label", "prediction"):
            page.get_by_text(f"Correct the {what}").click()
            page.get_by_label(f"Right {what}").select_option("1")
            page.locator(f"#{what}-reason").fill("<mixed> up")
            page.get_by_role("button", name="Correct").click()
            page.get_by_text(f"{what} 0 to 1: <mixed> up").wait_for()

        assert visit.axe_findings() == []
        stored = service.client.get("/v1/deployments/a-model/corrections").json()["corrections"]
        assert [(change["what"], change["old"], change["new"]) for change in stored] == [("prediction", 0, 1), ("label", 0, 1)]
