from datetime import UTC, datetime

from tests.builders.queries import rows
from tests.integration.ingest.logging import FEEDBACK, counts, features, log_feedback, log_payload, record
from tests.service import RunningService


def test_a_label_is_joined_to_its_record_which_came_before_or_waits_for_one_that_did_not(service: RunningService) -> None:
    log_payload(service, record(id="early"))

    receipt = log_feedback(
        service, {"id": "early", "label": "Risk"}, {"id": "late", "label": 1.0}, {"features": features(), "label": "No Risk"}
    )

    assert counts(receipt) == (3, 3, 0, 0)
    stored = rows(
        service.database,
        "SELECT f.label, f.record_no = k.record_no AND f.record_logged_at = k.logged_at, f.usable_at = f.logged_at, f.features"
        " FROM feedback_records f LEFT JOIN payload_keys k ON k.record_id = f.feedback_id ORDER BY f.feedback_no",
    )
    assert stored == [("Risk", True, True, None), (1, None, None, None), ("No Risk", None, True, [33, "female", True])]


def test_the_same_label_again_is_a_duplicate_and_another_one_a_conflict(service: RunningService) -> None:
    log_feedback(service, {"id": "a", "label": 1})

    again = log_feedback(service, {"id": "a", "label": 1.0}, {"id": "b", "label": 0}, {"id": "b", "label": 0}, {"id": "b", "label": 1})
    other = service.client.post(FEEDBACK, json={"records": [{"id": "a", "label": "1"}]})

    assert counts(again) == (4, 1, 2, 1)
    assert [conflict["index"] for conflict in again["conflicts"]] == [3]
    assert other.status_code == 409
    assert rows(service.database, "SELECT feedback_id, label FROM feedback_records ORDER BY 1") == [("a", 1), ("b", 0)]


def test_historical_labels_are_usable_from_when_both_halves_were_there(service: RunningService) -> None:
    log_payload(
        service, record(id="a", scored_at="2020-01-01T10:00:00Z"), record(id="b", scored_at="2020-03-01T10:00:00Z"), historical="true"
    )

    log_feedback(service, *({"id": name, "label": 1, "labelled_at": "2020-02-01T10:00:00Z"} for name in "ab"), historical="true")

    assert rows(service.database, "SELECT feedback_id, usable_at FROM feedback_records ORDER BY 1") == [
        ("a", datetime(2020, 2, 1, 10, tzinfo=UTC)),
        ("b", datetime(2020, 3, 1, 10, tzinfo=UTC)),
    ]


def test_csv_is_taken_with_the_label_column_that_is_named(service: RunningService) -> None:
    body = "Age,Sex,Owner,Postcode,Outcome,Extra\n33,female,true,8001,Risk,x\n44,male,,,No Risk,y\n"

    answer = service.client.post(FEEDBACK, content=body, headers={"Content-Type": "text/csv; charset=utf-8"}, params={"label": "Outcome"})

    assert counts(answer.json()) == (2, 2, 0, 0)
    assert rows(service.database, "SELECT features, meta, label FROM feedback_records ORDER BY feedback_no") == [
        ([33, "female", True], ["8001"], "Risk"),
        ([44, "male", None], [None], "No Risk"),
    ]
