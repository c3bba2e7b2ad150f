"""The page of ingestion in a real browser: every number of an hour is in sight, whatever the sources."""

from pathlib import Path

from playwright.sync_api import Browser
from sqlalchemy import text

from app.base.clock import floor_to_hour, utc_now
from app.database.engine import Database
from app.domain.record_times import RecordSource
from tests.browsing import DESKTOP, PHONE, visiting
from tests.builders.bodies import deployment
from tests.service import running_service

ARRIVE = "INSERT INTO arrivals (deployment_no, hour, source, kind, records) SELECT no, :hour, :source, 'payload', 1234567 FROM deployments"
IS_CUT = "() => [...document.querySelectorAll('.scroll')].some((one) => one.scrollWidth > one.clientWidth + 1)"


def test_no_column_of_an_hour_is_cut_off(browser: Browser, database: Database, tmp_path: Path) -> None:
    with running_service(database, tmp_path) as service:
        service.client.post("/v1/deployments", json=deployment()).raise_for_status()
        with database.transaction() as session:
            for source in RecordSource:
                session.execute(text(ARRIVE), {"hour": floor_to_hour(utc_now()), "source": source.value})
        for width in (DESKTOP, PHONE):
            with visiting(browser, service.base_url, width=width) as visit:
                visit.log_in(service.admin_key)
                page = visit.go("/deployments/credit-risk/ingestion")
                assert page.get_by_text("1,234,567").count() == len(RecordSource)
                assert not page.evaluate(IS_CUT)
                assert not visit.overflows()
                assert visit.faults == []
