"""Readers of records say that a month lies in files, or refuse: none gives a part of a period as the whole of it."""

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

import httpx
import pytest
from sqlalchemy import select

from app.domain.alerts import FailedChecksCondition, Resolution
from app.domain.archives import MonthsInFiles
from app.domain.checks import CheckRun, CheckState, Failure, Span, Trigger
from app.errors import MonthsAway
from app.store.checks.ended_checks import newest_record_at
from app.store.database.engine import Database
from app.store.overviews.overview import overview_entries
from app.store.subgroups.scans import SubgroupSettings, newest_scan
from app.store.tables import CheckRow
from app.tracking.subgroups.requests import request_scan
from app.tracking.subgroups.scanning import run_next_scan
from tests.builders.alert_history import History
from tests.builders.archived_months import COUNTED, bring, execute, store
from tests.builders.lender import UNFAIR
from tests.builders.queued_checks import reread
from tests.builders.workers import working
from tests.progress import wait_until
from tests.scenes import HOUR, NOON, Scene
from tests.service import RunningService, running_service

BASE = "/v1/deployments/a-model"
PAGES = "/deployments/a-model"
MESSAGE = MonthsInFiles("a-model", ["2026-03"]).message
IN_FILES = {"months": ["2026-03"], "message": MESSAGE}
SDK = "/openscale/v2/data_sets"


@pytest.fixture
def service(database: Database, tmp_path: Path, cold: Scene) -> Iterator[RunningService]:
    """The service; March of the scene lies in files, and there are two records of May."""
    store(cold, tmp_path / "files")
    cold.number_from(800_000)
    cold.log([{**row, "customer": "may"} for row in UNFAIR.applicants("rent", [50.0, 60.0])], COUNTED)
    with running_service(database, tmp_path) as service:
        yield service


@pytest.fixture
def client(service: RunningService) -> httpx.Client:
    """A client of the service, for an admin."""
    return service.client


@pytest.fixture
def browser(service: RunningService) -> Iterator[httpx.Client]:
    """A browser that is logged in as an admin."""
    with service.new_client(headers={"Accept": "text/html", "Sec-Fetch-Site": "same-origin"}) as browser:
        browser.post("/login", data={"key": service.admin_key})
        yield browser


def test_the_message_names_the_months_and_a_command() -> None:
    both = MonthsInFiles("a-model", ["2026-02", "2026-03"]).message

    assert "2026-02, 2026-03 lie in files" in both
    assert "evenhand archives bring-back --month 2026-02 --deployment a-model" in both


@pytest.mark.parametrize("kind", ["payload-records", "flagged-records"])
def test_lists_and_exports_name_the_month_where_their_times_reach_it(client: httpx.Client, kind: str) -> None:
    since = {"since": "2026-04-01T00:00:00Z"}

    assert client.get(f"{BASE}/{kind}").json()["months_in_files"] == IN_FILES
    assert client.get(f"{BASE}/{kind}", params=since).json()["months_in_files"] is None
    assert client.get(f"{BASE}/{kind}.csv").headers["Evenhand-Months-In-Files"] == "2026-03"
    assert "Evenhand-Months-In-Files" not in client.get(f"{BASE}/{kind}.csv", params=since).headers


def test_a_page_names_only_months_between_its_records_and_the_next_page(client: httpx.Client) -> None:
    first = client.get(f"{BASE}/payload-records", params={"limit": 1}).json()
    second = client.get(f"{BASE}/payload-records", params={"limit": 1, "cursor": first["next_cursor"]}).json()
    by_gap = client.get(f"{BASE}/payload-records", params={"limit": 1, "sort": "gap"}).json()

    assert (len(first["payload_records"]), first["months_in_files"]) == (1, None)
    assert (len(second["payload_records"]), second["next_cursor"], second["months_in_files"]) == (1, None, IN_FILES)
    assert by_gap["months_in_files"] == IN_FILES


def test_the_records_of_a_check_of_the_month_are_missing_and_named(client: httpx.Client) -> None:
    check = client.get(f"{BASE}/checks").json()["checks"][0]["id"]
    listed = client.get(f"{BASE}/payload-records", params={"check": check}).json()

    assert (listed["payload_records"], listed["months_in_files"]) == ([], IN_FILES)


def test_a_record_of_the_month_is_refused_with_the_command_and_another_is_not_found(client: httpx.Client) -> None:
    away, unknown = client.get(f"{BASE}/payload-records/ada-1"), client.get(f"{BASE}/payload-records/nobody")

    assert (away.status_code, unknown.status_code) == (422, 404)
    assert "evenhand archives bring-back --month 2026-03 --deployment a-model" in away.json()["detail"]


def test_pages_name_the_month_and_do_not_call_the_rest_all(browser: httpx.Client) -> None:
    pages = [browser.get(f"{PAGES}/{name}").text for name in ("transactions", "second-look")]

    assert all(MESSAGE in page for page in pages)
    assert "2 records in the database." in pages[0]
    assert "as CSV</a>, without 2026-03" in pages[0]
    assert "No record in the database is flagged." in pages[1]
    empty = browser.get(f"{PAGES}/transactions", params={"until": "2026-04-01T00:00"}).text
    assert (MESSAGE in empty, "No record in the database fits." in empty) == (True, True)
    later = browser.get(f"{PAGES}/transactions", params={"since": "2026-04-01T00:00"}).text
    assert "data-months-in-files" not in later
    assert "bring-back --month 2026-03" in browser.get(f"{PAGES}/transactions/ada-1").text


def test_nothing_is_said_when_the_month_is_back(client: httpx.Client, cold: Scene) -> None:
    bring(cold)

    assert client.get(f"{BASE}/payload-records").json()["months_in_files"] is None
    assert client.get(f"{BASE}/payload-records/ada-1").status_code == 200


def test_code_to_log_says_whether_its_values_are_those_of_a_record(database: Database, tmp_path: Path, cold: Scene) -> None:
    with running_service(database, tmp_path) as service, service.new_client(headers={"Accept": "text/html"}) as browser:
        browser.post("/login", data={"key": service.admin_key}, headers={"Sec-Fetch-Site": "same-origin"})

        def found() -> tuple[bool, str, bool]:
            has_values: bool = service.client.get(f"{BASE}/logging-snippets").json()["has_values_of_record"]
            page = browser.get(f"{PAGES}/configure/log").text
            (words,) = re.findall(r"The values are (.+?): replace", page)
            return has_values, words, "First record received ✓" in page

        here = found()
        execute(cold, "UPDATE payload_records SET schema_version = schema_version + 1")
        of_other_columns = found()
        execute(cold, "UPDATE payload_records SET schema_version = schema_version - 1")
        store(cold, tmp_path / "files")
        away = found()
        parts = browser.get(f"{PAGES}/configure").text

    assert here == (True, "those of the newest record", True)
    assert of_other_columns == (False, "examples, because the newest record has other columns", True)
    assert away == (False, "examples, because no record is at hand: those of 2026-03 lie in files", True)
    assert ("Records are logged" in parts, "No record has come yet" in parts) == (True, False)


@pytest.mark.nightly
def test_a_report_to_a_regulator_of_the_month_is_refused_and_one_of_later_times_is_not(client: httpx.Client) -> None:
    times = {"until": "2026-06-01T00:00:00Z", "sheet": "evidence"}
    whole = client.get(f"{BASE}/regulator-report.json", params={"since": "2026-03-01T00:00:00Z"} | times)
    later = client.get(f"{BASE}/regulator-report.json", params={"since": "2026-05-01T00:00:00Z"} | times)

    assert (whole.status_code, later.status_code) == (422, 200), later.text
    assert "evenhand archives bring-back --month 2026-03" in whole.json()["detail"]


def test_the_sdk_gets_the_count_with_files_and_a_refusal_instead_of_a_part(client: httpx.Client, cold: Scene) -> None:
    records, labels = f"{SDK}/payload_logging.a-model/records", f"{SDK}/feedback.a-model/records"
    everything = cold.count("payload_keys")

    assert client.get(records, params={"limit": 0, "include_total_count": True}).json()["total_count"] == everything
    assert client.get(records, params={"limit": 2}).status_code == 200
    in_may = {"start": "2026-05-01T00:00:00Z", "end": "2026-06-01T00:00:00Z"}
    assert len(client.get(records, params={"limit": 9, **in_may}).json()["records"]) == 2
    part: dict[str, str | int] = {"start": "2026-03-02T00:00:00Z", "limit": 0, "include_total_count": True}
    for refused in (
        client.get(records, params={"limit": 3}),
        client.get(records, params=part),
        client.get(records, params={"limit": 1, "order": "housing:asc"}),
        client.get(f"{records}/ada-1"),
        client.get(labels, params={"limit": 3}),
        client.get(labels, params={"limit": 0, "include_total_count": True}),
    ):
        assert (refused.status_code, "bring-back --month 2026-03" in refused.text) == (422, True), refused.text


def test_figures_are_not_carried_forward_over_a_month_in_files(cold: Scene, tmp_path: Path) -> None:
    cold.number_from(900_000)
    february = NOON - timedelta(days=20)
    cold.log([{**row, "customer": "feb"} for row in UNFAIR.applicants("rent", [30.0 + no for no in range(40)])], february)
    assert cold.check(february, trigger=Trigger.SCHEDULE).run.state is CheckState.SUCCEEDED
    execute(cold, "UPDATE checks SET state = 'failed' WHERE span_start >= '2026-03-01 00:00+00'")  # so February's is the newest one
    store(cold, tmp_path)

    with pytest.raises(MonthsAway, match="2026-03"):
        cold.check(COUNTED + HOUR, trigger=Trigger.SCHEDULE)


@pytest.mark.thorough
def test_an_hourly_check_that_lacks_the_month_names_it_and_ends_at_once_and_later_ones_go_through_again(
    cold: Scene, tmp_path: Path
) -> None:
    history = History(cold.database, cold)
    history.rule("failing", FailedChecksCondition())
    store(cold, tmp_path)
    run = cold.queue(Span(start=COUNTED, end=COUNTED + HOUR), Trigger.SCHEDULE)
    execute(cold, "UPDATE checks SET state = 'queued', attempts = 0, lease_token = NULL, claimable_at = now() WHERE state = 'running'")
    with working(cold.database):
        wait_until(partial(_has_failed, cold, run), "the check has failed")
    ended = reread(cold.database, run)
    history.evaluate()

    assert (ended.failure, ended.attempts, ended.next_attempt_at) == (Failure.MONTHS_AWAY, 1, None)
    # A process of the previous release reads this column alone.
    with cold.database.transaction() as session:
        assert session.scalar(select(CheckRow.failure).where(CheckRow.no == run.no)) == Failure.INVALID_INPUT
    assert ended.reason is not None
    assert "evenhand archives bring-back --month 2026-03 --deployment a-model" in ended.reason
    assert [(one.rule_id, ended.reason in str(one.facts["sentence"])) for one in history.alerts()] == [("failing", True)]

    bring(cold)
    cold.perform(cold.queue(Span(start=COUNTED + HOUR, end=COUNTED + 2 * HOUR), Trigger.SCHEDULE))
    history.evaluate()
    assert [one.resolution for one in history.alerts() if one.rule_id == "failing"] == [Resolution.RECOVERED]


def test_a_scan_for_subgroups_is_refused_where_its_hours_reach_the_month(cold: Scene, tmp_path: Path) -> None:
    def scan(hours: int) -> tuple[str, str]:
        with cold.database.transaction() as session:
            request_scan(session, cold.deployment.no, SubgroupSettings(), hours=hours, requested_by="test")
        assert run_next_scan(cold.database, token=str(hours))
        with cold.database.transaction() as session:
            found = newest_scan(session, cold.deployment.no)
        assert found is not None
        return found.state, found.reason or ""

    store(cold, tmp_path)
    state, reason = scan(24 * 90)
    assert (state, "evenhand archives bring-back --month 2026-03" in reason) == ("failed", True)
    assert "a scan needs that many" in scan(24)[1]  # of May, which has no records
    bring(cold)
    assert scan(24 * 90)[0] == "succeeded"


def test_the_newest_record_of_a_deployment_may_lie_in_files(cold: Scene, tmp_path: Path) -> None:
    def newest() -> list[datetime | None]:
        with cold.database.transaction() as session:
            (of_overview,) = overview_entries(session, only_no=None)
            return [newest_record_at(session, cold.deployment.no), of_overview.newest_record_at]

    there = newest()
    store(cold, tmp_path)
    assert newest() == there
    cold.log([{**row, "customer": "feb"} for row in UNFAIR.applicants("own", [50.0])], NOON - timedelta(days=20))
    assert newest() == there
    bring(cold)
    assert (newest(), None in there) == (there, False)


def _has_failed(stage: Scene, run: CheckRun) -> bool:
    return reread(stage.database, run).state is CheckState.FAILED
