"""Short ways to log records and to look at what was stored."""

from typing import Any

from app.database.engine import Database
from tests.builders.queries import rows
from tests.service import RunningService

PAYLOAD = "/v1/deployments/credit-risk/payload-records"
FEEDBACK = "/v1/deployments/credit-risk/feedback-records"


def features(**changes: object) -> dict[str, Any]:
    return {"Age": 33, "Sex": "female", "Owner": True, **changes}


def record(**changes: object) -> dict[str, Any]:
    return {"features": features(), "prediction": 1, **changes}


def log_payload(service: RunningService, *records: dict[str, Any], **query: object) -> dict[str, Any]:
    """The receipt of native payload records, whatever its status."""
    answer: dict[str, Any] = service.client.post(PAYLOAD, json={"records": records}, params=query).json()
    return answer


def log_feedback(service: RunningService, *records: dict[str, Any], **query: object) -> dict[str, Any]:
    """The receipt of native feedback records, whatever its status."""
    answer: dict[str, Any] = service.client.post(FEEDBACK, json={"records": records}, params=query).json()
    return answer


def counts(receipt: dict[str, Any]) -> tuple[int, int, int, int]:
    """(sent, accepted, duplicate, rejected)."""
    return receipt["sent"], receipt["accepted"], receipt["duplicate"], receipt["rejected"]


def stored_ids(database: Database) -> list[str]:
    """The ids of the stored payload records; each key must have its record."""
    found = rows(
        database,
        "SELECT r.record_id FROM payload_records r JOIN payload_keys k USING (deployment_no, record_id, record_no, logged_at) ORDER BY 1",
    )
    assert rows(database, "SELECT (SELECT count(*) FROM payload_keys), (SELECT count(*) FROM payload_records)") == [
        (len(found), len(found))
    ]
    return [record_id for (record_id,) in found]
