"""The share of records that is logged where a record comes from is stored with it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import text
from syrupy.assertion import SnapshotAssertion

from app.database.engine import Database
from tests.builders.applicants import APPLICANT, SEX, monitor_of
from tests.builders.page_words import says
from tests.scenes import scene
from tests.service import RunningService, running_service


@pytest.fixture
def service(database: Database, tmp_path: Path) -> Iterator[RunningService]:
    """The service, running on a fresh database."""
    with running_service(database, tmp_path) as service:
        yield service


def test_the_rate_is_stored_and_another_one_is_a_conflict(service: RunningService, database: Database) -> None:
    deployment = scene(database, APPLICANT, monitor_of(SEX), endpoint=None).deployment
    address = f"/v1/deployments/{deployment.id}/payload-records"
    record = {"features": {"sex": "female", "income": 1, "age": 30}, "prediction": 1}
    rates = [None, 1, 0.25]

    first = service.client.post(
        address, json={"records": [{**record, "id": f"r{no}", "sample_rate": rate} for no, rate in enumerate(rates)]}
    )
    again = service.client.post(address, json={"records": [{**record, "id": "r2", "sample_rate": 0.25}]})
    other = service.client.post(address, json={"records": [{**record, "id": "r2", "sample_rate": 0.5}]})
    refused = service.client.post(address, json={"records": [{**record, "sample_rate": 0}]})

    assert (first.status_code, again.json()["duplicate"], other.status_code) == (200, 1, 409)
    assert refused.status_code == 422
    assert refused.json()["rejections"][0]["field"] == "sample_rate"
    with database.transaction() as session:
        stored = session.execute(text("SELECT sample_rate FROM payload_records ORDER BY record_id")).scalars().all()
    assert stored == [None, None, 0.25]


def test_a_note_says_what_the_records_represent(service: RunningService, database: Database, snapshot: SnapshotAssertion) -> None:
    from_sample = scene(database, APPLICANT, monitor_of(SEX), endpoint=None)
    record = {"features": {"sex": "female", "income": 1, "age": 30}, "prediction": 1, "sample_rate": 0.1}
    pages = service.client.post(f"/v1/deployments/{from_sample.deployment.id}/payload-records", json={"records": [record] * 20})
    assert pages.status_code == 200, pages.text
    with database.transaction() as session:
        logged = session.execute(text("SELECT max(logged_at) FROM payload_records")).scalar_one()
    check = from_sample.check(logged.replace(minute=0, second=0, microsecond=0)).run

    found = service.client.get(f"/v1/deployments/{from_sample.deployment.id}/checks/{check.id}/views/as_logged").json()

    assert says(found["notes"][0], "0.1", "20", "200")
    assert found["notes"][0] == snapshot
    page = service.client.get(f"/deployments/{from_sample.deployment.id}/checks/{check.id}?view=as_logged")
    assert "20 records represent 200" in page.text
