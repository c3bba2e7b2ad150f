"""A deployment whose records lie in files, in a real browser: its pages, an alert, and its report."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from app.alerts.evaluate import evaluate_ended_checks
from app.database.engine import Database
from app.domain.check import Trigger
from app.domain.deployment import Endpoint
from app.worker.looks import look_for_late_files
from tests.browsing import DESKTOP, PHONE, running_browser, visiting
from tests.builders.alerts import judge_single_checks
from tests.builders.applicants import AGE, APPLICANT, SEX, applicants, monitor_of
from tests.builders.lakes import lake_of
from tests.models.rules import RuleScorer
from tests.models.serving import serve
from tests.scenes import HOUR, NOON, scene
from tests.service import RunningService, running_service


@dataclass
class Watched:
    """A service with the deployment, and the address of an alert of it."""

    service: RunningService
    alert: str


@pytest.fixture
def watched(database: Database, tmp_path: Path) -> Iterator[Watched]:
    """Three hours, of which the last two have an alert."""
    with serve(RuleScorer()) as server, running_service(database, tmp_path / "data", table_roots=str(tmp_path)) as service:
        lake = lake_of(scene(database, APPLICANT, monitor_of(SEX, AGE), endpoint=Endpoint(url=server.url)), tmp_path / "lake")
        judge_single_checks(database, lake.stage.deployment.no)
        for no in range(3):
            lake.write(applicants(40, 40, 30 if no == 0 else 10, prefix=f"h{no}-"), NOON + no * HOUR)
        look_for_late_files(database, lake.stage.places.roots)
        for no in range(3):
            lake.stage.check(NOON + no * HOUR, trigger=Trigger.SCHEDULE)
        evaluate_ended_checks(database)
        (alert,) = service.client.get("/v1/alerts?state=open").json()["alerts"]
        yield Watched(service, f"/alerts/{alert['id']}")


@pytest.mark.parametrize("width", [DESKTOP, PHONE])
@pytest.mark.nightly
def test_a_deployment_with_tables_is_seen_from_the_overview_to_the_report(watched: Watched, width: int) -> None:
    # Checks are run in this thread, so the browser starts after them.
    with running_browser() as browser, visiting(browser, watched.service.base_url, width=width) as visit:
        visit.log_in(watched.service.admin_key)
        base = "/deployments/in-files"
        for path in ("/", base, *(f"{base}/{part}" for part in ("checks", "alerts", "ingestion", "configure/log", "second-look"))):
            visit.go(path)
            assert not visit.overflows(), path
            assert visit.axe_findings() == [], path
        page = visit.go(watched.alert)
        assert page.get_by_text("They are not shown: the records of this deployment lie in your own tables").is_visible()
        page.get_by_role("link", name="The check", exact=True).click()
        visit.settle()
        assert page.get_by_text("flags of records that need a second look").is_visible()
        assert not visit.overflows()
        assert visit.axe_findings() == []
        report = page.get_by_role("link", name="Report", exact=True).get_attribute("href")
        assert report
        address = visit.go(report).get_by_role("link", name="HTML of The newest check").get_attribute("href")
        assert address
        assert "female" in visit.go(address).content()
        assert not visit.overflows()
        assert visit.faults == []
