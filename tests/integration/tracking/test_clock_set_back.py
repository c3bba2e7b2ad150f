"""Records of an hour that a clock shows again, after the evidence has counted it."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg

from app.base.clock import HOUR, floor_to_hour
from app.database.engine import Database
from app.evidence.update import update_evidence
from tests.crashes.checking import deployment, monitor
from tests.crashes.history import PastRecord, insert_records
from tests.service import running_service

SECOND = timedelta(seconds=1)


def test_an_hour_to_which_a_record_is_logged_after_it_was_counted_is_noted(database: Database, tmp_path: Path) -> None:
    past = floor_to_hour(datetime.now(UTC)) - HOUR
    records = [PastRecord(past + no * SECOND, sex, no % 2) for no in range(20) for sex in ("male", "female")]
    record = {"id": "r", "features": {"sex": "male", "income": 40_000, "age": 40}, "prediction": 1, "probability": 0.5}
    with running_service(database, tmp_path) as service, psycopg.connect(database.url) as connection:
        service.client.post("/v1/deployments", json=deployment("loans", None)).raise_for_status()
        insert_records(database.url, "loans", records, "t")
        service.client.put("/v1/deployments/loans/fairness-monitor", json=monitor()).raise_for_status()
        while update_evidence(database, grace=timedelta(0)):
            pass
        assert connection.execute("SELECT count(*) FROM changed_hours").fetchone() == (0,)
        connection.execute("UPDATE evidence_eras SET counted_until = now() + interval '5 hours'")
        connection.commit()

        service.client.post("/v1/deployments/loans/payload-records", json={"records": [record]}).raise_for_status()

        noted = connection.execute("SELECT hour FROM changed_hours").fetchall()
        assert noted == connection.execute("SELECT date_trunc('hour', logged_at) FROM payload_records WHERE record_id = 'r'").fetchall()
