"""The checkers of `scripts/trial chaos` agree with the service where an hour, or a window, is an unusual one; and see what differs."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg
import pytest

from app.base.clock import HOUR, floor_to_hour
from app.database.engine import Database
from app.evidence.update import update_evidence
from tests.builders.workers import ended, working
from tests.crashes.checking import deployment, monitor
from tests.crashes.history import PastRecord, follow_again, insert_records
from tests.crashes.recomputing import recompute
from tests.models.rules import RuleScorer
from tests.models.serving import serve
from tests.service import RunningService, running_service

NAME = "history-000"


@pytest.fixture
def service(database: Database, tmp_path: Path) -> Iterator[RunningService]:
    with running_service(database, tmp_path) as service:
        yield service


@pytest.mark.thorough
def test_a_history_that_begins_with_an_hour_of_men_is_followed_as_the_service_does(service: RunningService) -> None:
    until = floor_to_hour(datetime.now(UTC))
    records = [
        PastRecord(until - (60 - hour) * HOUR + timedelta(seconds=no), sex, int((no + hour) % 3 > 0))
        for hour in range(60)
        for no in range(25)
        for sex in (("male",) if hour == 0 else ("male", "female"))
    ]
    service.client.post("/v1/deployments", json=deployment(NAME, None)).raise_for_status()
    insert_records(service.database.url, NAME, records, "t")
    service.client.put(f"/v1/deployments/{NAME}/fairness-monitor", json=monitor()).raise_for_status()
    while update_evidence(service.database, grace=timedelta(0)):
        pass

    with psycopg.connect(service.database.url) as connection:
        again = follow_again(connection, service.client, [NAME])
        assert (again.comparisons, again.wrong) == (4, ())
        connection.execute(
            "DELETE FROM payload_records WHERE record_no = (SELECT max(record_no) FROM payload_records WHERE features ->> 0 = 'female')"
        )
        assert follow_again(connection, service.client, [NAME]).wrong
        connection.rollback()


@pytest.mark.nightly
def test_a_window_that_was_topped_up_is_computed_again_from_the_same_records(service: RunningService) -> None:
    with serve(RuleScorer()) as model, working(service.database):
        document = deployment("checked-00", model.url) | {"outputs": {"prediction": "prediction"}}
        service.client.post("/v1/deployments", json=document).raise_for_status()
        service.client.put("/v1/deployments/checked-00/fairness-monitor", json=monitor()).raise_for_status()
        at = floor_to_hour(datetime.now(UTC)) - timedelta(seconds=1)
        records = [PastRecord(at, "female" if no % 3 else "male", no % 2) for no in range(40)]
        insert_records(service.database.url, "checked-00", records, "t")
        check = service.client.post("/v1/deployments/checked-00/checks").raise_for_status().json()
        assert ended(service, "/v1/deployments/checked-00", check)["state"] == "succeeded"

    with psycopg.connect(service.database.url) as connection:
        again = recompute(connection)
        assert (again.checks, again.wrong) == (1, ())
        assert again.figures > 0
        connection.execute("UPDATE payload_records SET prediction = '1'")
        assert recompute(connection).wrong
        connection.rollback()
