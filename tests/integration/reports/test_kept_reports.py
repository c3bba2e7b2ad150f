"""Reports that are kept: made once for each period, through crashes and downtime, announced, and never changed."""

import json
import uuid
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from typing import Any
from unittest.mock import patch
from zoneinfo import ZoneInfo

import psycopg
import pytest
from sqlalchemy import text

from app.base.errors import LeaseLost
from app.checks.days.period import cut_to_hours
from app.domain.check import Span
from app.reports.kept.schedules import CalendarPeriod, ReportRhythm, find_period, list_periods, queue_due_reports
from app.reports.regulator import regulator_report as making
from app.reports.regulator.regulator_report import find_file_differences, make_next_report, read_report_file
from app.reports.report_source import UTC_ZONE
from app.worker.looks import look_for_reports
from tests.golden import golden
from tests.integration.reports.reported import Reported
from tests.scenes import HOUR, NOON, PlainSealer

SCHEDULE = {"name": "Every month", "rhythm": "monthly", "preset": "ugesp", "controls": ["income"], "channels": ["audit"]}
SEALER = PlainSealer()
PERIOD = {"since": NOON.isoformat(), "until": (NOON + 5 * HOUR).isoformat()}


@pytest.fixture
def kept(reported: Reported) -> Reported:
    """The deployment with a monthly schedule since two and a half months, and a channel."""
    client = reported.service.client
    channel = {"name": "Audit", "kind": "webhook", "url": "https://example.com/hook"}
    client.put("/v1/alert-channels/audit", json=channel).raise_for_status()
    client.put("/v1/deployments/a-model/report-schedules/monthly", json=SCHEDULE).raise_for_status()
    run(reported, "UPDATE report_schedules SET since = date_trunc('month', now(), 'UTC') - interval '2 months'")
    return reported


def run(reported: Reported, statement: str) -> None:
    with psycopg.connect(reported.stage.database.url) as connection:
        connection.execute(statement.encode())


def listed(reported: Reported) -> list[dict[str, Any]]:
    return json.loads(reported.text("/kept-reports"))["reports"]


def test_calendar_periods_are_weeks_months_quarters_and_years() -> None:
    start, end = datetime(2026, 2, 28, 23, 59, tzinfo=UTC), datetime(2027, 4, 1, tzinfo=UTC)
    found = {rhythm: [(period.start, period.end) for period in list_periods(rhythm, UTC_ZONE, start, end)] for rhythm in ReportRhythm}

    assert found[ReportRhythm.WEEKLY][0] == (datetime(2026, 2, 23, tzinfo=UTC), datetime(2026, 3, 2, tzinfo=UTC))
    assert len(found[ReportRhythm.MONTHLY]) == 14
    assert found[ReportRhythm.MONTHLY][0] == (datetime(2026, 2, 1, tzinfo=UTC), datetime(2026, 3, 1, tzinfo=UTC))
    assert found[ReportRhythm.QUARTERLY][0] == (datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 4, 1, tzinfo=UTC))
    assert len(found[ReportRhythm.QUARTERLY]) == 5
    assert found[ReportRhythm.YEARLY] == [(datetime(2026, 1, 1, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC))]
    # A period that ended in this very moment began before.
    assert not list(list_periods(ReportRhythm.YEARLY, UTC_ZONE, datetime(2027, 1, 1, tzinfo=UTC), end))


def test_weeks_of_a_zone_follow_each_other_without_a_gap_where_clocks_change() -> None:
    zone = ZoneInfo("Europe/Berlin")
    weeks = list(list_periods(ReportRhythm.WEEKLY, zone, datetime(2026, 3, 16, tzinfo=UTC), datetime(2026, 11, 9, tzinfo=UTC)))

    assert all(week.end == after.start for week, after in pairwise(weeks))
    assert {f"{week.start.astimezone(zone):%H:%M}" for week in weeks} == {"00:00"}
    lengths = [(week.end - week.start) // HOUR for week in weeks]
    assert (lengths.count(167), lengths.count(168), lengths.count(169)) == (1, len(weeks) - 2, 1)


def test_calendar_periods_have_the_golden_hours() -> None:
    for case in json.loads(golden("A9_accountability.json").read_text(encoding="utf-8"))["range"]["periods"]:
        found = find_period(CalendarPeriod(case["kind"]), date.fromisoformat(case["a_day_of_it"]), ZoneInfo(case["zone"]))
        assert found == Span(start=datetime.fromisoformat(case["start"]), end=datetime.fromisoformat(case["end"])), case
        hours = cut_to_hours(found, datetime(2030, 1, 1, tzinfo=UTC))
        assert (hours.end - hours.start) // HOUR == case["hours"], case
        if case["first_hour"]:
            assert hours.start == datetime.fromisoformat(case["first_hour"]), case


@pytest.mark.thorough
def test_periods_that_ended_while_nothing_ran_are_made_up_for_once(kept: Reported) -> None:
    database = kept.stage.database
    look_for_reports(database, SEALER)
    look_for_reports(database, SEALER)

    found = listed(kept)
    assert [report["state"] for report in found] == ["ready"] * len(found)
    # The first six hours of a month belong to the settling of the month before.
    assert len(found) in {1, 2}
    assert len({report["to"] for report in found}) == len(found)
    with database.transaction() as session:
        assert queue_due_reports(session, settling=timedelta(0)) in {0, 1}
        assert queue_due_reports(session, settling=timedelta(0)) == 0
        bodies = session.scalars(text("SELECT body FROM notifications WHERE deployment_no IS NULL ORDER BY no")).all()
    assert [one["report"]["seal"] for one in bodies] == [one["seal"] for one in reversed(found)]
    assert bodies[0]["type"] == "report.ready"
    assert "is ready" in bodies[0]["sentence"]


@pytest.mark.nightly
def test_a_kept_report_has_all_forms_and_never_changes(kept: Reported) -> None:
    client = kept.service.client
    asked = client.post("/v1/deployments/a-model/kept-reports", json=PERIOD | {"preset": "ugesp"})
    assert asked.status_code == 202
    again = client.post("/v1/deployments/a-model/kept-reports", json=PERIOD | {"preset": "ugesp"})
    assert again.json() == asked.json()
    address = asked.headers["Location"]
    assert client.get(f"{address}/file.json").status_code == 409
    while make_next_report(kept.stage.database, SEALER, token=str(uuid.uuid4())):
        pass

    files = {form: client.get(f"{address}/file.{form}").content for form in ("json", "html", "pdf", "csv")}
    report = read_report_file(files["json"])
    assert list(find_file_differences(report)) == []
    assert report.content["seal"] == client.get(address).json()["seal"]
    assert files["pdf"].startswith(b"%PDF")
    # Records that arrive later, and another monitor, are in later reports.
    kept.stage.log([{"id": "late", "sex": "male", "age": 40, "income": 1, "prediction": 1}], NOON)
    assert {form: client.get(f"{address}/file.{form}").content for form in files} == files
    for change in ("UPDATE kept_report_files SET content = ''", "UPDATE kept_reports SET seal = 'x'"):
        with pytest.raises(psycopg.errors.IntegrityConstraintViolation, match="never changed"):
            run(kept, change)
    client.delete("/v1/deployments/a-model/report-schedules/monthly").raise_for_status()
    assert client.get(f"{address}/file.csv").content == files["csv"]


@pytest.mark.nightly
def test_a_report_whose_worker_died_is_made_by_the_next_one(kept: Reported) -> None:
    database = kept.stage.database
    kept.service.client.post("/v1/deployments/a-model/kept-reports", json=PERIOD).raise_for_status()
    with patch.object(making, "keep_report", side_effect=KeyboardInterrupt), pytest.raises(KeyboardInterrupt):
        make_next_report(database, SEALER, token=str(uuid.uuid4()))
    assert [report["state"] for report in listed(kept)] == ["running"]
    assert not make_next_report(database, SEALER, token=str(uuid.uuid4()))

    real = making.keep_report

    def overtaken(*arguments: Any, **more: Any) -> Any:  # noqa: ANN401 - as it is called
        run(kept, "UPDATE kept_reports SET lease_token = 'other'")
        return real(*arguments, **more)

    run(kept, "UPDATE kept_reports SET claimable_at = now()")
    with patch.object(making, "keep_report", overtaken), pytest.raises(LeaseLost):
        make_next_report(database, SEALER, token=str(uuid.uuid4()))
    run(kept, "UPDATE kept_reports SET claimable_at = now()")
    assert make_next_report(database, SEALER, token=str(uuid.uuid4()))
    assert [report["state"] for report in listed(kept)] == ["ready"]

    # One that ends its worker every time ends as failed, and with the reason.
    kept.service.client.post("/v1/deployments/a-model/kept-reports", json=PERIOD | {"preset": "ll144"}).raise_for_status()
    run(kept, "UPDATE kept_reports SET attempts = 3 WHERE state = 'queued'")
    assert make_next_report(database, SEALER, token=str(uuid.uuid4()))
    assert "3 attempts" in listed(kept)[0]["reason"]


def test_a_report_that_cannot_be_made_any_more_fails_with_the_reason_and_is_announced(kept: Reported) -> None:
    kept.service.client.delete("/v1/deployments/a-model/fairness-monitor").raise_for_status()
    look_for_reports(kept.stage.database, SEALER)

    (one, *_) = listed(kept)
    assert (one["state"], one["seal"]) == ("failed", None)
    assert "no fairness monitor" in one["reason"]
    with kept.stage.database.transaction() as session:
        body = session.scalars(text("SELECT body FROM notifications ORDER BY no LIMIT 1")).one()
    assert body["type"] == "report.failed"
    assert "could not be made" in body["sentence"]


def test_a_schedule_that_cannot_work_is_refused(kept: Reported, subtests: pytest.Subtests) -> None:
    for change, named in (
        ({"controls": ["salary"]}, "control"),
        ({"attributes": ["income"]}, "attribute"),
        ({"rhythm": "daily"}, "rhythm"),
        ({"zone": "CEST"}, "zone"),
        ({"kind": "check"}, "kind"),
        ({"channels": ["nobody"]}, "channels[0]"),
        ({"name": ""}, "name"),
        ({"categories": {"sex": {"scheme": "sex", "values": {"female": "Women"}}}}, "categories.sex"),
        ({"categories": {"p": {"weights": {"salary": "White"}}}}, "categories.p"),
    ):
        with subtests.test(change=change, named=named):
            answer = kept.service.client.put("/v1/deployments/a-model/report-schedules/other", json=SCHEDULE | change)
            assert answer.status_code == 422
            assert [error["field"] for error in answer.json()["errors"]] == [named]
            assert len(json.loads(kept.text("/report-schedules"))["report_schedules"]) == 1


def test_a_schedule_that_is_set_again_has_the_same_version(kept: Reported) -> None:
    client, address = kept.service.client, "/v1/deployments/a-model/report-schedules/monthly"
    assert client.put(address, json=SCHEDULE).json()["version"] == 1
    off = client.put(address, json=SCHEDULE | {"enabled": False}).json()
    assert (off["version"], off["next_period_ends_at"]) == (2, None)
    look_for_reports(kept.stage.database, SEALER)
    assert listed(kept) == []


def test_a_period_that_is_not_over_is_not_kept(kept: Reported) -> None:
    later = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    answer = kept.service.client.post("/v1/deployments/a-model/kept-reports", json=PERIOD | {"until": later})
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "until")


@pytest.mark.thorough
def test_the_page_lists_schedules_and_kept_reports_with_their_files(kept: Reported) -> None:
    look_for_reports(kept.stage.database, SEALER)
    page = kept.service.client.get("/deployments/a-model/reports").text

    for report in listed(kept):
        assert f"/v1/deployments/a-model/kept-reports/{report['id']}/file.pdf" in page
    assert "Every month" in page
    assert 'data-api="PUT /v1/deployments/a-model/report-schedules/{schedule_id}"' in page
