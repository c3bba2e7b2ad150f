"""How large a value and a record may be, whatever way they come."""

from typing import Any

import pytest

from app.intake.logging.ingest_plan import MAX_RECORD_BYTES
from tests.builders.bodies import deployment
from tests.builders.queries import rows
from tests.integration.ingest.logging import FEEDBACK, PAYLOAD, counts, log_feedback, log_payload, stored_ids
from tests.service import RunningService

NAMES = [f"text_{position}" for position in range(30)]
COLUMNS = [{"name": name, "type": "string", "kind": "categorical"} for name in NAMES]
OTHERS = len('[[null],"a",1,null,null]')
"""Bytes of a record beside its features, at least."""


@pytest.fixture
def wide(service: RunningService) -> RunningService:
    """The service with a deployment of many columns of text."""
    service.client.delete("/v1/deployments/credit-risk")
    service.client.post("/v1/deployments", json=deployment() | {"features": COLUMNS, "meta": []}).raise_for_status()
    return service


def texts(length: int) -> list[str]:
    """The cells of a record, so long together."""
    whole, rest = divmod(length, 10_000)
    return ["x" * 10_000] * whole + ["x" * rest] + [""] * (len(NAMES) - whole - 1)


def test_a_record_beyond_the_bound_is_rejected_and_the_others_of_its_batch_are_stored(wide: RunningService) -> None:
    sizes = (10, 290_000, 20, 250_000, 280_000)
    records = [{"id": str(size), "features": dict(zip(NAMES, texts(size), strict=True)), "prediction": 1} for size in sizes]

    receipt = log_payload(wide, *records)

    assert counts(receipt) == (5, 3, 0, 2)
    assert [(rejection["index"], rejection["field"]) for rejection in receipt["rejections"]] == [(1, "record"), (4, "record")]
    assert f"may have at most {MAX_RECORD_BYTES:,}" in receipt["rejections"][0]["reason"]
    assert stored_ids(wide.database) == ["10", "20", "250000"]


@pytest.mark.thorough
def test_every_way_in_draws_the_line_at_the_same_byte(wide: RunningService) -> None:
    def native(cells: list[str]) -> dict[str, Any]:
        # An explicit null and an id do not change what is measured beside them.
        return {"records": [{"id": "n-1", "features": dict(zip(NAMES, cells, strict=True)), "prediction": 1, "meta": None}]}

    def pair(cells: list[str]) -> dict[str, Any]:
        answer = {"fields": ["prediction"], "values": [[1]]}
        return {"scoring_id": "p", "request": {"fields": NAMES, "values": [cells]}, "response": answer}

    def largest(form: Any) -> int:  # noqa: ANN401 - one of the above
        low, high = 250_000, 270_000
        while high - low > 1:
            middle = (low + high) // 2
            answer = wide.client.post(PAYLOAD, json=form(texts(middle)))
            low, high = (middle, high) if answer.status_code in (200, 409) else (low, middle)
        return low

    exact = largest(pair)

    assert exact == largest(native)
    # Quotes and commas of the cells, and the id, prediction and empty members.
    assert MAX_RECORD_BYTES - exact == 3 * len(NAMES) + 1 + len('["n-1",,null,1,null,null]')


def test_feedback_has_the_same_bounds(wide: RunningService) -> None:
    features = dict(zip(NAMES, texts(290_000), strict=True))

    receipt = log_feedback(wide, {"features": features, "label": "Risk"}, {"id": "a", "label": "Risk"})

    assert [(rejection["index"], rejection["field"]) for rejection in receipt["rejections"]] == [(0, "record")]
    assert rows(wide.database, "SELECT count(*) FROM feedback_records") == [(1,)]


@pytest.mark.nightly
def test_a_value_of_forty_million_characters_is_refused_by_its_field(service: RunningService) -> None:
    record = {"features": {"Age": 1, "Sex": "x" * 40_000_000, "Owner": True}, "prediction": 1}

    answer = service.client.post(PAYLOAD, json={"records": [record]})
    feedback = service.client.post(FEEDBACK, json={"records": [{"features": record["features"], "label": "Risk"}]})

    for response in (answer, feedback):
        assert response.status_code == 422
        assert response.json()["errors"] == [
            {"field": "records[0].features.Sex", "message": "must have at most 10,000 characters, found 40,000,000"}
        ]
