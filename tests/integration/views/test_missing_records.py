"""Records that Evenhand did not get, next to the figures of a check that they are missing from."""

import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from app.database.engine import Database
from app.retention.erase import perform_erasures
from app.retention.policy import RecordSelector
from app.retention.queries import request_erasure
from tests.builders.applicants import APPLICANT, SEX, applicants, monitor_of
from tests.scenes import NOON, Scene, scene
from tests.service import RunningService, running_service

SENDER = "0b9d6c1e-5f43-4d1a-9c55-3c8f5f0f9a71"
OTHER = "1c9d6c1e-5f43-4d1a-9c55-3c8f5f0f9a72"


@pytest.fixture
def service(database: Database, tmp_path: Path) -> Iterator[RunningService]:
    """The service, running on a fresh database."""
    with running_service(database, tmp_path) as service:
        yield service


@pytest.fixture
def stage(database: Database) -> Scene:
    """The watched deployment."""
    return scene(database, APPLICANT, monitor_of(SEX), endpoint=None)


def put(service: RunningService, stage: Scene, sender: str, *, hours: int = 0, rate: float = 1.0, **counts: int) -> None:
    at = (NOON + timedelta(hours=hours)).isoformat()
    body = {"sample_rate": rate, "hours": [{"hour": at, "not_received": 0, **counts}]}
    service.client.put(f"/v1/deployments/{stage.deployment.id}/missing-records/{sender}", json=body).raise_for_status()


def view(service: RunningService, stage: Scene, check_id: str) -> dict[str, Any]:
    answer = service.client.get(f"/v1/deployments/{stage.deployment.id}/checks/{check_id}/views/as_logged")
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def records_of(view: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = view["attributes"][0]["records"]
    return found


def page(service: RunningService, stage: Scene, check_id: str) -> str:
    answer = service.client.get(f"/deployments/{stage.deployment.id}/checks/{check_id}?view=as_logged")
    assert answer.status_code == 200, answer.text
    shown = re.sub(r"</?bdi>|<span popover.*?</span>", "", answer.text, flags=re.DOTALL)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", shown))


def test_where_nothing_is_missing_nothing_is_said(service: RunningService, stage: Scene) -> None:
    stage.log(applicants(20, 20, 5), NOON)
    check = stage.check(NOON).run
    put(service, stage, SENDER, hours=1, not_received=4)  # another hour's

    found = view(service, stage, check.id)
    assert (records_of(found)["not_among"], found["notes"]) == ({"rejected": 0, "dropped": 0, "erased": 0}, [])
    assert "All 40 records counted." in page(service, stage, check.id)
    assert "Not among them" not in page(service, stage, check.id)


def test_what_was_not_received_is_said_next_to_the_figures_also_afterwards(service: RunningService, stage: Scene) -> None:
    stage.log(applicants(20, 20, 5), NOON)
    check = stage.check(NOON).run
    put(service, stage, SENDER, not_received=1200)
    put(service, stage, OTHER, not_received=34)

    found, shown = view(service, stage, check.id), page(service, stage, check.id)
    assert records_of(found)["not_among"]["dropped"] == 1234
    assert records_of(found)["text"] == "All 40 records counted. Not among them: 1,234 dropped by clients."
    newest = service.client.get(f"/deployments/{stage.deployment.id}")
    for text in (shown, newest.text):
        assert records_of(found)["text"] in text


@pytest.mark.parametrize(("rates", "said"), [((0.1, 0.1), "Sampled at 0.1:"), ((0.1, 0.5), "Sampled at 0.1 to 0.5:")])
def test_a_sample_is_called_one_with_its_rate(service: RunningService, stage: Scene, rates: tuple[float, float], said: str) -> None:
    stage.log(applicants(20, 20, 5), NOON)
    check = stage.check(NOON).run
    for sender, rate in zip((SENDER, OTHER), rates, strict=True):
        put(service, stage, sender, rate=rate, left_out=450)

    found = view(service, stage, check.id)
    assert found["notes"][0].startswith(said)
    assert "900 records" in found["notes"][0]
    assert ("The rates differ" in found["notes"][0]) is (rates[0] != rates[1])
    assert said in page(service, stage, check.id)


def test_the_hours_of_additional_records_belong_to_the_window(service: RunningService, stage: Scene) -> None:
    stage.watch(monitor_of(SEX, min_records=40))
    stage.log(applicants(20, 20, 5), NOON - timedelta(hours=2))
    stage.log(applicants(5, 5, 2, prefix="late-"), NOON)
    put(service, stage, SENDER, hours=-2, not_received=7)
    check = stage.check(NOON).run

    found = view(service, stage, check.id)
    assert found["additional_records"]
    assert records_of(found)["not_among"]["dropped"] == 7


def test_records_erased_before_a_check_are_counted_as_not_among_its_own(service: RunningService, stage: Scene) -> None:
    stage.watch(monitor_of(SEX, min_records=40))
    stage.log(applicants(20, 20, 5), NOON - timedelta(hours=2))
    stage.log(applicants(20, 20, 5, prefix="late-"), NOON)
    checks = [stage.check(NOON).run]
    for hours, prefix, count in ((-2, "", 3), (0, "late-", 4)):
        people = tuple(record["id"] for record in applicants(20, 20, 5, prefix=prefix)[:count])
        with stage.database.transaction() as session:
            selector = RecordSelector(record_ids=people)
            request_erasure(session, stage.deployment.no, stage.deployment.id, erasure_id=str(hours), selector=selector, by="user:eve")
        perform_erasures(stage.database, settled_after=timedelta(0))
        checks.append(stage.check(NOON).run)

    found = [records_of(view(service, stage, check.id)) for check in checks]
    assert [(one["of"], one["not_among"]["erased"]) for one in found] == [(40, 0), (40, 0), (40, 7)]
    assert found[-1]["text"] == "All 40 records counted. Not among them: 7 erased since."


def test_the_report_of_the_check_says_so_too(service: RunningService, stage: Scene) -> None:
    stage.log(applicants(20, 20, 5), NOON)
    put(service, stage, SENDER, not_received=3)
    check = stage.check(NOON).run

    report = service.client.get(f"/v1/deployments/{stage.deployment.id}/checks/{check.id}/report.html")
    assert "Not among them: 3 dropped by clients." in report.text
