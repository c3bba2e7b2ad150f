"""A deployment made by the OpenScale SDK (its recorded calls), checked by the schedule, seen and changed on the pages, read again."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect
from sqlalchemy import text

from app.schedule.due import queue_due_checks
from app.store.database.engine import Database
from tests.browsing import Visit, visiting
from tests.builders.openscale import BASE, read
from tests.builders.openscale_replay import Replay
from tests.builders.workers import working
from tests.databases import Databases
from tests.models.lookup import LookupScorer
from tests.models.serving import serve
from tests.progress import wait_until
from tests.service import RunningService, running_service

RECORDED = json.loads((Path(__file__).parents[2] / "contract" / "openscale" / "tutorials.json").read_text())


@dataclass(frozen=True, slots=True)
class Made:
    """A subscription with a fairness instance whose check was run by the schedule."""

    service: RunningService
    id: str
    check: str


@pytest.fixture(scope="module")
def made(browser: Browser, databases: Databases, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Made]:  # noqa: ARG001 - first
    with databases.lent() as url:
        database = Database(url)
        with running_service(database, tmp_path_factory.mktemp("sdk")) as service, serve(LookupScorer()) as model, working(database):
            known = {"MODEL": model.url}
            replay = Replay(service.client, known)
            for call in RECORDED["calls"]:
                # The first tutorial, up to the run that it asks for itself.
                if call["method"] == "POST" and call["path"].endswith("/runs"):
                    break
                replay.learn(call, replay.send(call))
            subscription = known[RECORDED["subscriptions"]["binary"]]
            yield Made(service, subscription, check_on_schedule(service, database, subscription))
        database.close()


def check_on_schedule(service: RunningService, database: Database, subscription: str) -> str:
    """Lets the present hour end, as the ticker sees it, and returns the check that it queued, once it is over."""
    with database.transaction() as session:
        assert queue_due_checks(session, datetime.now(UTC) + timedelta(hours=1, minutes=1)) == 1
        # A worker claims it by the database's clock, on which the hour has not ended.
        session.execute(text("UPDATE checks SET claimable_at = now()"))
    runs: list[dict[str, dict[str, str]]] = []

    def is_over() -> bool:
        runs[:] = read(service.client, f"monitor_instances/fairness.{subscription}/runs")["runs"]
        return str(runs[0]["entity"]["status"]).find("running") < 0

    wait_until(is_over, "the scheduled check is over")
    assert runs[0]["entity"]["triggered_by"] == "scheduler"
    return runs[0]["metadata"]["id"]


@pytest.fixture
def visit(browser: Browser, made: Made) -> Iterator[Visit]:
    with visiting(browser, made.service.base_url) as visit:
        visit.log_in(made.service.admin_key)
        yield visit
        assert visit.faults == []


def test_the_check_that_the_sdk_reads_is_on_the_pages_with_the_same_figures(visit: Visit, made: Made) -> None:
    found = read(made.service.client, f"monitor_instances/fairness.{made.id}/measurements")["measurements"]
    # The instance began a first run by itself.
    (measurement,) = [one for one in found if made.check in str(one)]
    (value,) = measurement["entity"]["values"]
    assert (measurement["metadata"]["id"], value["metrics"][0]["value"]) == (made.check, 94.69999999999999)

    visit.go("/")
    expect(visit.page.get_by_text("binary").first).to_be_visible()
    visit.go(f"/deployments/{made.id}")
    expect(visit.page.get_by_text("female").first).to_be_visible()
    page = visit.go(f"/deployments/{made.id}/checks/{made.check}?attribute=Sex&group=female")
    # 72 of 100 women against 76 of 100 men, which OpenScale prints as 94.7 percent.
    expect(page.get_by_text("0.947").first).to_be_attached()
    assert not visit.overflows()


def test_what_is_changed_on_the_pages_is_read_again_by_the_sdk(visit: Visit, made: Made) -> None:
    address = f"monitor_instances/fairness.{made.id}"
    before = read(made.service.client, address)["entity"]
    page = visit.go(f"/deployments/{made.id}/configure/monitor")
    page.get_by_text("Edit the monitor").click()
    expect(page.locator("form[aria-busy=false]")).to_be_visible()  # it has the stored values, and can be filled in
    page.get_by_label("Fewest records for a verdict").fill("25")
    page.get_by_label("Scheduled checks").select_option("off")
    page.get_by_label("Lowest fair disparate impact").fill("0.9")
    page.get_by_role("button", name="Save the monitor").press("Enter")
    expect(page.get_by_text("Saved the fairness monitor.")).to_be_focused()

    after = read(made.service.client, address)["entity"]
    assert (before["parameters"]["min_records"], after["parameters"]["min_records"]) == (10, 25)
    assert ("schedule" in before, "schedule" in after) == (True, False)
    assert next((one["metric_id"], one["type"], one["value"]) for one in after["thresholds"]) == ("fairness_value", "lower_limit", 90.0)
    # And the other way round: a patch of the SDK is on the page.
    patch = [{"op": "replace", "path": "/parameters/min_records", "value": 31}]
    assert made.service.client.patch(f"{BASE}/{address}", json=patch).status_code == 200
    expect(visit.go(f"/deployments/{made.id}/configure/monitor").get_by_text("at least 31 records").first).to_be_visible()
